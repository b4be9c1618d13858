"""Streams that come from another server (source) and go to one (forward), with real players and publishers."""

import contextlib
import json
import shutil
import socket
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flv import HttpFlv
from media import Program, check_both, play_ffmpeg, publisher
from rtc import http, rtc_weir, whep_path
from rtmp import RtmpPlayer
from test_api_schema import check
from weir import TOP, free_port, wait_until


def sources(weir):
    return weir.api("/api/v1/sources?count=1000")["sources"]


def wait_state(weir, name, state, seconds=20, role="pull"):
    def found():
        return next((each for each in sources(weir)
                     if (each["name"], each["state"], each["role"]) == (name, state, role)), None)
    return wait_until(found, seconds, f"{role} of {name} is {state}: {sources(weir)}")


def edge_of(new_weir, text, name="edge"):
    return new_weir(f"application live {{\n{text}\n}}\n", name)


@pytest.mark.parametrize("way", ["rtmp", "http"])
def test_a_named_stream_is_brought_whole(new_weir, folder, way):
    origin = new_weir().start()
    url = origin.rtmp("live/cam") if way == "rtmp" else origin.http("/live/cam.flv")
    edge = edge_of(new_weir, f"source {url} {{ stream cam1; }}").start()
    with publisher(origin.rtmp("live/cam"), folder):
        state = wait_state(edge, "cam1", "live")
        assert state["bytes"] > 0 and state["url"] == url and not state["on_demand"]
        with ThreadPoolExecutor() as both:
            for recording in both.map(lambda url: play_ffmpeg(url, folder, name=f"player-{url[:4]}"),
                                      (edge.rtmp("live/cam1"), edge.http("/live/cam1.flv"))):
                check_both(recording)
        check(edge, "/api/v1/sources", "Sources")
        stream = edge.wait_live("cam1")
        assert stream["video"]["codec"] and stream["audio"]["codec"], stream


def test_on_demand_begins_with_the_first_viewer_and_lingers(new_weir, folder):
    origin = new_weir().start()
    edge = edge_of(new_weir, f"source {origin.rtmp('live')} {{ on_demand on; linger 1s; }}").start()
    with publisher(origin.rtmp("live/cam"), folder):
        origin.wait_live("cam")
        assert sources(edge) == []
        with RtmpPlayer(edge.rtmp_port, stream="cam") as player:
            while player.message()[0] != player.VIDEO:
                pass
            assert wait_state(edge, "cam", "live")["on_demand"]
        wait_until(lambda: sources(edge) == [], 15, "the source ends after the last viewer")
        wait_until(lambda: origin.streams()[0]["clients"] == 1, 10, "the origin has its publisher alone")
        with HttpFlv(edge.http_port, "/live/cam.flv") as player:
            assert player.reader().tags_until(lambda tag: tag.type == 9)
        wait_until(lambda: sources(edge) == [], 15, "the source ends after the last viewer")


def test_who_does_not_wait_waits_for_a_source(new_weir, folder):
    origin = new_weir("play { wait_publisher 0; }").start()
    edge = edge_of(new_weir, f"play {{ wait_publisher 0; }} source {origin.rtmp('live')};").start()
    with publisher(origin.rtmp("live/cam"), folder):
        origin.wait_live("cam")
        with HttpFlv(edge.http_port, "/live/cam.flv") as player:
            assert player.reader().tags_until(lambda tag: tag.type == 9)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(edge.http("/live/nobody.flv"), timeout=40)
    assert refused.value.code == 404


def offer():
    """Of a browser that plays video and sound; no more is said than the server must hear."""
    lines = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0 1"]
    for mid, kind, codec in (("0", "audio", "111 opus/48000/2"), ("1", "video", "102 H264/90000")):
        number, name = codec.split()
        lines += [f"m={kind} 9 UDP/TLS/RTP/SAVPF {number}", "c=IN IP4 0.0.0.0", "a=ice-ufrag:abcd",
                  "a=ice-pwd:abcdefghijklmnopqrstuvwx", "a=fingerprint:sha-256 " + ":".join(["AB"] * 32),
                  "a=setup:actpass", f"a=mid:{mid}", "a=recvonly", "a=rtcp-mux", f"a=rtpmap:{number} {name}"]
        if kind == "video":
            lines.append(f"a=fmtp:{number} level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f")
    return "\r\n".join(lines + [""]).encode()


def test_a_whep_player_starts_the_source(new_weir, folder):
    origin = new_weir("play { wait_publisher 0; }").start()
    edge = rtc_weir(new_weir, f"application live {{ source {origin.rtmp('live')}; }}", "edge")
    with publisher(origin.rtmp("live/cam"), folder,
                   output=("-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "25", "-c:a", "aac")):
        origin.wait_live("cam")
        status, _, answer = http(edge, whep_path("cam"), body=offer())
        assert status == 201, answer
        assert wait_state(edge, "cam", "live")
    assert http(edge, whep_path("nobody"), body=offer())[0] == 404


def test_players_keep_their_place_when_the_origin_is_killed(new_weir, folder):
    origin = new_weir().start()
    edge = edge_of(new_weir, f"source {origin.rtmp('live/cam')} {{ stream cam; on_demand on; }}").start()
    with publisher(origin.rtmp("live/cam"), folder):
        origin.wait_live("cam")
        with HttpFlv(edge.http_port, "/live/cam.flv", timeout=60) as player:
            reader = player.reader()
            before = reader.tags_until(lambda tag: tag.type == 9)[-1]
            origin.kill()
            assert wait_state(edge, "cam", "backing_off")["last_error"]
            origin.start()
            with publisher(origin.rtmp("live/cam"), folder, name="again"):
                # Much more of the stream than there was before the end of the first origin.
                tags = reader.tags_until(lambda tag: tag.type == 9 and tag.time_ms > before.time_ms + 3000, 60)
                times = [before.time_ms] + [tag.time_ms for tag in tags if tag.type == 9]
                assert times == sorted(times), "the stream's clock goes on"
    assert sources(edge)[0]["attempts"] >= 2


class BadOrigin:
    """Takes connections and does with each what `serve` says."""

    def __init__(self, serve):
        self.port = free_port()
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.serve = serve
        self.taken = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        kept = []
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.taken += 1
                with contextlib.suppress(OSError):
                    self.serve(connection)
                kept.append(connection)

    def close(self):
        self.listener.close()


@pytest.mark.parametrize("way", ["rtmp", "http"])
def test_an_origin_that_sends_garbage_is_given_up(new_weir, way):
    origin = BadOrigin(lambda connection: connection.sendall(b"\x99garbage\r\n\r\n" * 2000))
    edge = edge_of(new_weir, f"source {way}://127.0.0.1:{origin.port}/live/cam {{ stream cam; }}").start()
    state = wait_state(edge, "cam", "backing_off")
    assert state["last_error"] and state["failures"] >= 1, state
    wait_until(lambda: origin.taken >= 2, 15, "it is tried again")
    origin.close()


@pytest.mark.parametrize("way", ["rtmp", "http"])
def test_an_origin_that_hangs_is_given_up(new_weir, way):
    origin = BadOrigin(lambda connection: None)
    edge = edge_of(new_weir, f"source {way}://127.0.0.1:{origin.port}/live/cam {{ stream cam; }}").start()
    assert wait_state(edge, "cam", "connecting")
    assert wait_state(edge, "cam", "backing_off", 25)["last_error"]
    origin.close()


def test_a_refusal_and_secrets_are_told_right(new_weir):
    port = free_port()
    edge = edge_of(new_weir, f"source rtmp://127.0.0.1:{port}/live/cam?token=hush-hush {{ stream cam; }}\n"
                             f"forward rtmp://127.0.0.1:{port}/live/hush-key;").start()
    state = wait_state(edge, "cam", "backing_off")
    assert "refused" in state["last_error"]
    assert state["url"].endswith("?***")
    assert "hush" not in json.dumps(sources(edge)) + edge.log()


def test_the_same_stream_of_this_server_is_a_loop(new_weir):
    edge = new_weir()
    text = edge.config_path.read_text()
    edge.config_path.write_text(f"{text}\napplication live {{ source {edge.rtmp('live/cam')} {{ stream cam; }} }}\n")
    edge.start()
    assert "loop" in wait_state(edge, "cam", "backing_off")["last_error"]


def test_a_forward_sends_what_is_published(new_weir, folder):
    other = new_weir().start()
    origin = edge_of(new_weir, f"forward {other.rtmp('live')};\nforward {other.rtmp('copy/[app]-[stream]')};", "origin").start()
    with publisher(origin.rtmp("live/cam"), folder):
        for name in ("cam", "live-cam"):
            other.wait_live(name)
        states = sources(origin)
        assert [each["role"] for each in states] == ["forward", "forward"]
        check_both(play_ffmpeg(other.http("/live/cam.flv"), folder))
        wait_until(lambda: all(each["bytes"] > 10_000 and each["state"] == "live" for each in sources(origin)), 10, "both flow")
        other.kill()
        wait_state(origin, "cam", "backing_off", role="forward")
        other.start()
        other.wait_live("cam", 20)
    wait_until(lambda: sources(origin) == [], 15, "forwards end with the publisher")
    wait_until(lambda: not any(each["publish"]["active"] for each in other.streams()), 15, "and are unpublished there")


def nginx():
    """Debian's, or the one that install-deps.sh --tests unpacked: (program, RTMP module)."""
    unpacked = TOP / "objs/tools/nginx"
    for binary, root in ((shutil.which("nginx"), Path("/")), (unpacked / "usr/sbin/nginx", unpacked)):
        module = root / "usr/lib/nginx/modules/ngx_rtmp_module.so"
        if binary and module.exists():
            return binary, module
    raise FileNotFoundError("nginx with its RTMP module is not there; scripts/install-deps.sh --tests")


@pytest.mark.works_with("nginx", takes="RTMP", codecs="H.264, AAC", checked="every frame", set="its RTMP module; `forward rtmp://...`")
def test_nginx_takes_a_forward(new_weir, folder):
    binary, module = nginx()
    port = free_port()
    (folder / "logs").mkdir()
    (folder / "nginx.conf").write_text(
        f"load_module {module};\ndaemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx-error.log;\n"
        f"events {{ }}\nrtmp {{ access_log off; server {{ listen 127.0.0.1:{port}; application live {{ live on; }} }} }}\n")
    with Program("nginx", [binary, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "nginx-error.log"], folder):
        origin = edge_of(new_weir, f"forward rtmp://127.0.0.1:{port}/live;", "origin").start()
        with publisher(origin.rtmp("live/cam"), folder):
            wait_state(origin, "cam", "live", role="forward")
            check_both(play_ffmpeg(f"rtmp://127.0.0.1:{port}/live/cam", folder))


def test_a_reload_changes_sources(new_weir, folder):
    origin = new_weir().start()
    edge = edge_of(new_weir, f"source {origin.rtmp('live/cam')} {{ stream a; }}").start()
    with publisher(origin.rtmp("live/cam"), folder):
        kept = wait_state(edge, "a", "live")
        text = edge.config_path.read_text()
        edge.config_path.write_text(text.replace("application live {", f"application live {{ source {origin.http('/live/cam.flv')} {{ stream b; }}"))
        assert edge.api("/api/v1/reload", "POST")["code"] == 0
        wait_state(edge, "b", "live")
        assert wait_state(edge, "a", "live")["id"] == kept["id"], "what is the same goes on"
        edge.config_path.write_text(text.replace(f"source {origin.rtmp('live/cam')} {{ stream a; }}", ""))
        assert edge.api("/api/v1/reload", "POST")["code"] == 0
        wait_until(lambda: sources(edge) == [], 10, "both are gone")
