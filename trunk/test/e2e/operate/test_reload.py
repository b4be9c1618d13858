"""The configuration of a running server: reload by signal, API and file watch; the environment; include; explain."""

import os
import re
import signal
import subprocess
import time

import pytest

from flv import HttpFlv
from media import check_both, play_ffmpeg, publisher
from reloads import Reloads
from weir import BINARY, accepts, free_port, wait_until

TEN_ERRORS = """listne 1935;
max_connections lots;
chunk_size 1;
log_level loud;
http_server { listen 8080; listen 8080; }
http_api { listen nowhere:1985; enabled maybe; }
vhost a/b { }
play { queue_length 10 parsecs; }
security { allow publsh 10.0.0.0/8; deny play 10.1.2.3/8; }
include more.conf;
"""


def run(*arguments, environment=None):
    done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout, done.stderr


def test_all_errors_of_all_files_are_told_at_once(folder):
    (folder / "bad.conf").write_text(TEN_ERRORS)
    (folder / "more.conf").write_text("listen 1935\nbogus on;\npublish { first_timeout 3s; }\n")
    code, _, said = run("-t", "-c", folder / "bad.conf", environment={"WEIR_LISTN": "1", "WEIR_MAX_CONNECTIONS": "x"})
    assert code == 1
    for place in [f"bad.conf:{line}:" for line in (1, 2, 3, 4, 5, 6, 7, 8, 9)] + ["more.conf:2:", "more.conf:3:"]:
        assert place in said, f"nothing about {place}\n{said}"
    assert "WEIR_MAX_CONNECTIONS in the environment" in said
    assert "did you mean WEIR_LISTEN?" in said, "warnings are shown, too"
    assert "did you mean 'listen'?" in said
    count = int(said.rstrip().splitlines()[-1].split(": ")[-1].split()[0])
    assert count >= 12, said


def test_api_and_signal_apply_differences_and_tell_them(weir, folder):
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        with HttpFlv(weir.http_port) as player:
            reader = player.reader()
            reader.tags_until(lambda tag: tag.is_key_frame())
            ids = {each["id"] for each in weir.clients()}
            text = weir.config_path.read_text()
            old, new = weir.rtmp_port, free_port()
            weir.config_path.write_text(text.replace(str(old), str(new)) + "play { queue_length 5s; }\npid x.pid;\n")
            answer = weir.api("/api/v1/reload", method="POST")
            assert answer["http_status"] == 200 and answer["code"] == 0, answer
            changes = {each["directive"]: each for each in answer["data"]["changes"]}
            assert changes["listen"]["to"].endswith(str(new)) and changes["listen"]["effect"] == "applied"
            assert changes["play queue_length"]["from"] == "10s" and changes["play queue_length"]["to"] == "5s"
            assert changes["pid"]["effect"] == "needs a restart" and answer["data"]["needs_restart"]
            assert accepts(new) and not accepts(old)
            assert ids <= {each["id"] for each in weir.clients()}, "nobody was disconnected"
            reader.tags_until(lambda tag: tag.is_key_frame())
            weir.config_path.write_text(text + "bogus;\nmax_connections x;\n")
            answer = weir.api("/api/v1/reload", method="POST")
            assert answer["http_status"] == 400 and answer["code"] == 400
            assert [(each["line"], each["column"]) for each in answer["errors"]] == [(5, 1), (6, 17)] or \
                [each["line"] for each in answer["errors"]] == sorted(each["line"] for each in answer["errors"])
            assert len(answer["errors"]) == 2 and all(each["file"].endswith("weir.conf") for each in answer["errors"])
            assert accepts(new), "the configuration before holds"
            weir.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "reload refused by=SIGHUP" in weir.log(), 10, "the log tells")
            weir.config_path.write_text(text)
            weir.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "reloaded by=SIGHUP" in weir.log(), 10, "the log tells")
            assert accepts(old) and not accepts(new)
            reader.tags_until(lambda tag: tag.is_key_frame())
    assert weir.api("/api/v1/reload")["http_status"] == 405, "a page cannot do it by a link"


def test_a_port_that_is_taken_changes_nothing(weir, new_weir):
    other = new_weir(name="other").start()
    text = weir.config_path.read_text()
    weir.config_path.write_text(f"max_connections 3;\n{text}listen 127.0.0.1:{other.rtmp_port};\n")
    answer = weir.api("/api/v1/reload", method="POST")
    assert answer["http_status"] == 409, answer
    assert answer["errors"][0]["line"] == len(text.splitlines()) + 2 and "in use" in answer["errors"][0]["message"]
    assert weir.api("/api/v1/summaries")["data"]["connections"]["limit"] == 10000


def test_http_and_webrtc_are_switched_on_and_off(weir, folder):
    text = weir.config_path.read_text()
    rtc = free_port()
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        with HttpFlv(weir.http_port) as player:
            reader = player.reader()
            reader.tags_until(lambda tag: tag.is_key_frame())
            weir.config_path.write_text(text.replace("http_server {", "http_server { enabled off;") +
                                        f"rtc_server {{ enabled on; listen 127.0.0.1:{rtc}; }}\n")
            assert weir.api("/api/v1/reload", method="POST")["http_status"] == 200
            assert not accepts(weir.http_port) and accepts(rtc)
            assert weir.api("/api/v1/summaries")["data"]["webrtc"]["candidates"]
            reader.tags_until(lambda tag: tag.is_key_frame())
            weir.config_path.write_text(text)
            assert weir.api("/api/v1/reload", method="POST")["http_status"] == 200
            assert accepts(weir.http_port) and not accepts(rtc)


def test_vhosts_come_and_go_and_a_disabled_one_lets_nobody_in(weir, folder):
    text = weir.config_path.read_text()
    url = weir.rtmp("live/livestream?vhost=a.example")
    weir.config_path.write_text(text + "vhost a.example { }\n")
    assert weir.api("/api/v1/reload", method="POST")["http_status"] == 200
    with publisher(url, folder):
        weir.wait_live()
        assert weir.streams()[0]["vhost"] == "a.example"
        for more in ("vhost a.example { enabled off; }\n", ""):
            weir.config_path.write_text(text + more)
            assert weir.api("/api/v1/reload", method="POST")["http_status"] == 200
            before = weir.streams()[0]["recv_bytes"]
            wait_until(lambda: weir.streams()[0]["recv_bytes"] > before, 10, "who publishes goes on")
            if more:
                with HttpFlv(weir.http_port, "/live/livestream.flv?vhost=a.example") as player:
                    assert player.status == 403


@pytest.mark.config("config_watch on;")
def test_the_file_watch_follows_editors_and_includes(weir):
    text = weir.config_path.read_text()
    extra = weir.folder / "extra.conf"
    new = weir.folder / "weir.conf.swp"
    new.write_text(text + "include extra*.conf;\nmax_connections 11;\n")
    new.rename(weir.config_path)

    def limit():
        return weir.api("/api/v1/summaries")["data"]["connections"]["limit"]
    wait_until(lambda: limit() == 11, 15, "the renamed file is read")
    port = free_port()
    extra.write_text(f"listen 127.0.0.1:{port};\n")
    wait_until(lambda: accepts(port), 15, "a new file that the pattern matches is read")
    extra.write_text("bogus;\n")
    wait_until(lambda: "reload refused by=config_watch" in weir.log(), 15, "a broken one is told")
    time.sleep(2.5)
    assert weir.log().count("reload refused by=config_watch") == 1, "once"
    extra.unlink()
    wait_until(lambda: not accepts(port), 15, "and one that goes")


def test_environment_holds_at_start_and_on_reload(new_weir, monkeypatch):
    server = new_weir("max_connections 5;")
    port = free_port()
    monkeypatch.setenv("WEIR_MAX_CONNECTIONS", "77")
    monkeypatch.setenv("WEIR_HTTP_API_LISTEN", f"127.0.0.1:{port} 127.0.0.1:{server.api_port}")
    monkeypatch.setenv("WEIR_BOGUS_NAME", "1")
    server.start()
    assert accepts(port)
    assert server.log().count("WEIR_BOGUS_NAME") == 1
    server.config_path.write_text(server.config_path.read_text().replace("max_connections 5", "max_connections 6"))
    answer = server.api("/api/v1/reload", method="POST")
    assert answer["http_status"] == 200 and answer["data"]["changes"] == [], answer
    assert server.api("/api/v1/summaries")["data"]["connections"]["limit"] == 77


def test_the_dump_is_the_configuration_in_force(folder):
    path = folder / "a.conf"
    path.write_text("listen 127.0.0.1:1;\nhttp_server { dir www; }\nvhost a.example { play { mw_latency 5ms; } }\n")
    code, dump, _ = run("--dump-config", "-c", path, environment={"WEIR_CHUNK_SIZE": "4096"})
    assert code == 0 and "a.conf:1" in dump and "WEIR_CHUNK_SIZE in the environment" in dump, dump
    (folder / "b.conf").write_text(dump)
    code, again, said = run("--dump-config", "-c", folder / "b.conf")
    assert code == 0, said
    without = [[line.split("#")[0].rstrip() for line in text.splitlines()] for text in (dump, again)]
    assert without[0] == without[1]


SRS = """listen 1935;
max_connections 1000;
srs_log_tank console;
daemon off;
http_api { enabled on; listen 1985; }
http_server { enabled on; listen 8080; dir ./objs/nginx/html; }
rtc_server { enabled on; listen 8000; candidate *; }
vhost __defaultVhost__ {
    hls { enabled on; hls_fragment 10; }
    play { gop_cache off; queue_length 30; mw_latency 350; }
    publish { normal_timeout 5000; }
    security { enabled on; allow publish 10.0.0.0/8; deny publish all; }
    rtc { enabled on; rtmp_to_rtc on; }
    http_remux { enabled on; }
}
"""

NGINX = """worker_processes auto;
events { worker_connections 1024; }
rtmp {
    server {
        listen 1935;
        chunk_size 4096;
        application live { live on; record off; allow publish 127.0.0.1; deny publish all; allow play all; }
        application vip { live on; allow play 10.1.0.0/16; deny play all; on_publish http://127.0.0.1/auth; }
    }
}
http { server { listen 8080; location /stat { rtmp_stat all; } } }
"""


@pytest.mark.parametrize("text, expected, words", [
    (SRS, 3, ["viewers of HLS and DASH were asked no rule", "# All that restricted access is taken over", "fragment 10s;",
              "queue_length 30s;", "mw_latency 350ms;", "normal_timeout 5s;", "allow publish 10.0.0.0/8;"]),
    (NGINX, 0, ["chunk_size 4096;", "deny publish all;", "max_connections 1024;", "rtmp_stat all: becomes http_api",
             "application vip {", "deny play all;", "on_publish http://127.0.0.1/auth;"]),
])
def test_explained_configurations_pass_the_check(folder, text, expected, words):
    path = folder / "theirs.conf"
    path.write_text(text)
    code, said, errors = run("--explain", path)
    assert code == expected, errors
    for word in words:
        assert word.replace("{file}", str(path)) in said, f"{word}\n{said}"
    (folder / "ours.conf").write_text(said)
    code, _, errors = run("-t", "-c", folder / "ours.conf")
    assert code == 0, errors
    path.write_text(text[:-3])  # without its last '}'
    code, _, errors = run("--explain", path)
    assert code == 1 and "theirs.conf:" in errors, errors


MEDIAMTX = """logLevel: info
webrtcAdditionalHosts: [203.0.113.7]
pathDefaults: {record: yes, recordPath: ./rec/%path/%Y}
paths:
  ~^live/(.+)$:
    forward: [{dest: "rtmp://cdn.example/app#key"}]
  cams/door: {source: "rtsp://192.0.2.1/1", sourceOnDemand: yes}
"""


@pytest.mark.parametrize("name, text, code, words", [
    ("m.yml", MEDIAMTX, 0, ["candidate 203.0.113.7;", "forward rtmp://cdn.example/app/key;", "stream door; on_demand on;", "path ./rec;"]),
    ("m.yml", MEDIAMTX + "  x/y: {alwaysAvailable: yes}\n", 3, ["alwaysAvailable yes: Nothing is played while nobody publishes"]),
    ("n.conf", NGINX.replace("record off;", "record all; record_path rec; push cdn.example; hls on;"), 0,
     ["forward rtmp://cdn.example/[app];", "path rec;", "format flv;", "listen 0.0.0.0:8080;"]),
    ("n.conf", NGINX.replace("record off;", "exec_static ffmpeg;"), 3, ["# LOST: one function in "]),
    ("s.conf", SRS.replace("rtc { enabled on;", "forward { enabled on; destination cdn.example; } dvr { enabled on; } rtc { enabled on;"), 3,
     ["forward rtmp://cdn.example/[app]/[stream];", "window 6;", "enabled on;"]),
    ("s.conf", SRS + "heartbeat { enabled on; url http://127.0.0.1/; }", 3, ["# LOST: 2 functions in "])])
def test_functions_of_other_servers_are_written_or_lost(folder, name, text, code, words):
    path = folder / name
    path.write_text(text)
    found, said, errors = run("--explain", path)
    assert found == code, errors + said
    assert (code == 3) == said.startswith("# LOST: "), said
    assert all(word in said for word in words), said
    (folder / "ours.conf").write_text(said)
    code, _, errors = run("-t", "-c", folder / "ours.conf")
    assert code == 0, errors


@pytest.mark.parametrize("name, text", [
    ("s.conf", SRS.replace("10.0.0.0/8", "127.0.0.0/8").replace("deny publish all;", "allow play all;")),
    ("n.conf", NGINX),
    ("m.yml", MEDIAMTX.replace("rtmp://cdn.example/app#key", "rtmp://127.0.0.1:9/app#key")),
], ids=["srs", "nginx-rtmp", "mediamtx"])
def test_explained_configurations_run(new_weir, folder, name, text):
    path = folder / name
    path.write_text(text)
    code, said, errors = run("--explain", path)
    assert code in (0, 3), errors  # perhaps with a function less
    weir = new_weir()
    weir.config_path.write_text(on_free_ports(said, weir.rtmp_port))
    weir.launch()  # perhaps without HTTP and the API
    wait_until(lambda: accepts(weir.rtmp_port) or weir.process.poll() is not None, 20, "the server listens")
    with publisher(weir.rtmp(), folder):
        weir.wait_log("publish stream=")
        check_both(play_ffmpeg(weir.rtmp(), folder))


def on_free_ports(text, rtmp_port):
    """A configuration without TLS, with all its addresses on loopback, at ports of the test."""
    text, changed = re.subn(r"^listen [^;]+;", f"listen 127.0.0.1:{rtmp_port};", text, flags=re.M)
    assert changed == 1, text
    text = re.sub(r"^( +)listen [^;]+;", lambda found: f"{found[1]}listen 127.0.0.1:{free_port()};", text, flags=re.M)
    return re.sub(r"^ +rtp_listen [^;]+;\n", "", text, flags=re.M)


@pytest.mark.parametrize("arguments", [
    ["--explain", "{}"], ["--explain", "/nowhere/x"], ["--explain=srs"], ["--explain=other", "{}"]])
def test_what_cannot_be_explained_is_no_configuration(folder, arguments):
    path = folder / "theirs.conf"
    path.write_text("vhost a {")
    code, said, _ = run(*[each.format(path) for each in arguments])
    assert code == 1
    (folder / "ours.conf").write_text(said)
    code, _, errors = run("-t", "-c", folder / "ours.conf")
    assert code == 1 and "could not be explained" in errors, said + errors


def test_what_cannot_be_explained_is_to_be_decided(folder):
    path = folder / "theirs.conf"
    path.write_text(NGINX.replace("live on; record off;", "live on; on_update http://127.0.0.1/update?token=hush-hush;"))
    code, said, errors = run("--explain", path)
    assert code == 2 and "1 thing" not in errors and "one thing to decide" in errors, errors
    assert said.startswith("# TO DECIDE: one thing in "), said
    assert "hush-hush" not in said
    (folder / "ours.conf").write_text(said)
    code, _, errors = run("-t", "-c", folder / "ours.conf")
    assert code == 1 and f"found something to decide: {path}:7: " in errors and "on_update" in errors, errors
    decided = "\n".join(line for line in said.splitlines() if not line.startswith("unresolved"))
    (folder / "ours.conf").write_text(decided)
    code, _, errors = run("-t", "-c", folder / "ours.conf")
    assert code == 0, errors


def test_nobody_is_lost_by_reloads_under_load(new_weir):
    server = new_weir()
    load = Reloads(server, players=4, rtc_players=2)
    try:
        load.start()
        load.run(24)
    finally:
        reports = load.end()
    assert load.rounds == {"good": 16, "refused": 8}
    lost = [report["publishers"]["failed"] if "publishers" in report else report["clients"]["broken"] for _, report in reports]
    assert lost == [0] * 7, lost
