"""scripts/diagnose: what is in the archive, and that no secret is."""

import json
import re
import socket
import subprocess
import sys
import tarfile
import threading

import pytest

from media import publisher
from weir import TOP, free_port, wait_until

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from diagnose.redact import REMOVED, Redactor  # noqa: E402

SECRET = "hunter2-S3cr3t"


def diagnose(folder, *arguments, code=0):
    """Its words, and the parts of the archive by name."""
    output = folder / "bundle.tar.gz"
    output.unlink(missing_ok=True)
    done = subprocess.run([TOP / "scripts" / "diagnose", "--output", output, *arguments], capture_output=True, text=True,
                          timeout=60, stdin=subprocess.DEVNULL, cwd=folder)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    parts = {}
    if output.exists():
        with tarfile.open(output) as tar:
            for entry in tar:
                assert entry.isfile() and re.fullmatch(r"weir-diagnose-[\d-]+/[\w.-]+(/[\w.-]+)?", entry.name), entry.name
                parts[entry.name.split("/", 1)[1]] = tar.extractfile(entry).read().decode()
    return done.stdout + done.stderr, parts


def own_files():
    """Not all of scripts/: other programs write what Python compiled for them there."""
    paths = [TOP / "scripts" / "diagnose", *(TOP / "scripts" / "lib" / "diagnose").rglob("*")]
    return {path: path.stat().st_mtime_ns for path in paths}


def test_collects_from_a_running_server_and_leaves_out_what_is_secret(weir, folder):
    # The same secret where an operator may have it: in a directive (of a newer version, perhaps), in a comment, in the URL
    # of a publisher, and from there in the log.
    other = folder / "with-secrets.conf"
    other.write_text(weir.config_path.read_text() + f"# the old one was {SECRET}-old\n"
                     f'hook_token "{SECRET}-a";\non_publish http://user:{SECRET}-b@127.0.0.1/x?sign={SECRET}-c;\n')
    with publisher(weir.rtmp(f"live/livestream?key={SECRET}-d"), folder):
        weir.wait_live()
        with open(weir.log_path, "a") as log:
            log.write(f"a line that has {SECRET}-a as it is, and token={SECRET}-e and Authorization: Bearer {SECRET}-f\n")
        before = own_files()
        said, parts = diagnose(folder, "--pid", str(weir.process.pid), "--config", other)
    assert own_files() == before, "it writes nothing but the archive"
    whole = "".join(f"{name}\n{text}" for name, text in parts.items())
    assert SECRET not in whole and SECRET not in said

    assert f"pid={weir.process.pid}" in parts["log.txt"] and f"a line that has {REMOVED} as it is" in parts["log.txt"]
    assert f"hook_token {REMOVED};" in parts["weir.conf"] and f"listen 127.0.0.1:{weir.rtmp_port};" in parts["weir.conf"]
    assert f"-c {weir.config_path}" in parts["version.txt"] and "weir 0." in parts["version.txt"]
    assert "Max open files" in parts["process.txt"] and "weir-worker nice 0 cores" in parts["process.txt"]
    assert re.search(r"^net\.core\.somaxconn = \d+$", parts["kernel.txt"], re.M) and "vm.max_map_count" in parts["kernel.txt"]
    assert re.search(r"^Udp: \d+", parts["network-counters.txt"], re.M) and "InErrors" in parts["network-counters.txt"]
    assert json.loads(parts["api/versions.json"])["pid"] == str(weir.process.pid)
    assert json.loads(parts["api/streams.json"])["streams"][0]["name"] == "livestream"
    assert json.loads(parts["api/clients.json"])["total"] == 1
    assert "weir_clients" in parts["api/metrics.txt"]
    assert "stacks.txt: left out: not asked for" in said and "stacks.txt" in parts["README.txt"]
    for name in parts:
        assert name == "README.txt" or f"  {name}" in said, f"it says that it collected {name}"


def test_finds_configuration_api_and_log_by_the_process(weir, folder):
    weir.wait_log("ready")
    said, parts = diagnose(folder, "--pid", str(weir.process.pid), "--lines", "1")
    assert f"API http://127.0.0.1:{weir.api_port}" in said
    assert parts["log.txt"].endswith("ready\n") and parts["log.txt"].count("\n") == 1
    _, by_api = diagnose(folder, "--api", f"http://127.0.0.1:{weir.api_port}/")
    assert by_api["weir.conf"] == parts["weir.conf"], "the API names the process"


def test_says_what_is_missing_and_writes_the_rest(folder):
    port = free_port()
    said, parts = diagnose(folder, "--api", f"127.0.0.1:{port}", "--config", folder / "nowhere.conf")
    assert "weir.conf: left out: [Errno 2] No such file" in said
    assert f"api/streams (http://127.0.0.1:{port}/api/v1/streams?count=1000): left out: no answer" in said
    assert "process.txt: left out: the API names no process of this machine: give --pid" in said
    assert "somaxconn" in parts["kernel.txt"] and "left out" in parts["README.txt"].lower()


def test_server_that_does_not_answer_costs_a_bounded_time(weir, folder):
    weir.process.send_signal(19)  # SIGSTOP
    try:
        wait_until(lambda: "T (stopped)" in open(f"/proc/{weir.process.pid}/status").read(), 10, "the server is stopped")
        said, parts = diagnose(folder, "--pid", str(weir.process.pid))
    finally:
        weir.process.send_signal(18)
    assert "api/versions (" in said and "timed out" in said and "Max open files" in parts["process.txt"]


@pytest.mark.parametrize("arguments, words", [
    (["--pid", "4194305"], "no such process"),
    (["--lines", "0"], "--lines"),
    (["--frob"], "unrecognized"),
])
def test_refuses_what_makes_no_sense(folder, arguments, words):
    said, parts = diagnose(folder, *arguments, code=2)
    assert words in said and not parts


def test_overwrites_nothing(folder):
    (folder / "there").write_text("mine")
    done = subprocess.run([TOP / "scripts" / "diagnose", "--output", folder / "there"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "exists already" in done.stderr
    assert (folder / "there").read_text() == "mine"


@pytest.mark.parametrize("text, out", [
    ('key "a b";', f"key {REMOVED};"),
    ("hook_secret a\n  'b;c' d ;", f"hook_secret {REMOVED}\n  {REMOVED} {REMOVED} ;"),
    ("auth { user joe; x { y z; } }\nlisten 1;", f"auth {{ user {REMOVED}; x {{ y {REMOVED}; }} }}\nlisten 1;"),
    ("listen 1; # key abc\nlisten 2;", "listen 1; \nlisten 2;"),
    ("dir a#b;", "dir a#b;"),
    ('password "not closed\nlisten 1;', f"password {REMOVED}\n{REMOVED} {REMOVED};"),
    ('token "a\\"b;c";', f"token {REMOVED};"),
    ("on_play rtmp://u:p%40ss@h/a?x=1&sig=2&vhost=v;", f"on_play rtmp://{REMOVED}@h/a?x={REMOVED}&sig={REMOVED}&vhost=v;"),
    ("rtc_server { ice_server turn:t.example 'joe b' hunter2; ice_server stun:s.example; tcp off; }",
     f"rtc_server {{ ice_server turn:t.example {REMOVED} {REMOVED}; ice_server stun:s.example; tcp off; }}"),
    ("play { mw_latency 100ms; }", "play { mw_latency 100ms; }"),
    ("api { pass hunter2; bypass on; jwt_file /a; }", f"api {{ pass {REMOVED}; bypass on; jwt_file {REMOVED}; }}"),
    ("on_play http://h/hook/S3cretPath; hook_token S3cretPath;", f"on_play http://h/hook/{REMOVED}; hook_token {REMOVED};"),
])
def test_configuration_loses_values_and_comments(text, out):
    assert Redactor().config(text) == out


@pytest.mark.parametrize("text, out", [
    ("play stream=/live/s?token=abc ip=1.2.3.4", f"play stream=/live/s?token={REMOVED} ip=1.2.3.4"),
    ("GET /live/s.flv?e=1&k=a;b HTTP/1.1", f"GET /live/s.flv?e={REMOVED}&k={REMOVED} HTTP/1.1"),
    ("rtmp://joe:pa@ss@host/x and more", f"rtmp://{REMOVED}@host/x and more"),
    ('{"passphrase": "a \\" b", "n": 1}', f'{{"passphrase": "{REMOVED}", "n": 1}}'),
    ("Authorization: Digest a=b, c=d\nnext", f"Authorization: {REMOVED}\nnext"),
    ("curl -H 'X: Bearer abcdefgh12'", f"curl -H 'X: Bearer {REMOVED}'"),
    ("stream_key=abc,next", f"stream_key={REMOVED},next"),
    ("key_frames=12 keyint=60 keyframe: yes", "key_frames=12 keyint=60 keyframe: yes"),
    ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nrest", f"{REMOVED}\nrest"),
    ("-----BEGIN RSA PRIVATE KEY-----\nabc, cut off", REMOVED),
    ("what=full&check=added", "what=full&check=added"),
    ("tcUrl=rtmp://h/live?S3CRET page", f"tcUrl=rtmp://h/live?{REMOVED} page"),
    ("pass=hunter2 psk=x sign=y passed=3 bypass=1 design=2 side=4",
     f"pass={REMOVED} psk={REMOVED} sign={REMOVED} passed=3 bypass=1 design=2 side=4"),
])
def test_text_loses_what_is_named_a_secret(text, out):
    assert Redactor().text(text) == out


def test_what_the_configuration_calls_secret_is_found_elsewhere():
    redactor = Redactor()
    redactor.config('api_token "a/b c";\non_play http://h/?key=zyxw&format=json;\nauth http;\n'
                    'header "Authorization: Bearer b3arer-x";\npush http://l0ne-user@h/;')
    assert redactor.text("b3arer-x of l0ne-user") == f"{REMOVED} of {REMOVED}"
    assert redactor.text("got a/b c, a%2Fb%20c and zyxw as json by http") == \
        f"got {REMOVED}, {REMOVED} and {REMOVED} as json by http"
    assert redactor.json({"x": ["say zyxw"], "token": "t", "keys": ["a"], "password": 123, "auth": True, "n": None}) == \
        {"x": [f"say {REMOVED}"], "token": REMOVED, "keys": REMOVED, "password": REMOVED, "auth": True, "n": None}


def test_variable_that_is_a_secret_goes_whole():
    redactor = Redactor()
    assert redactor.variable("WEIR_PASSWORD", "ab,cd;ef gh") == REMOVED
    assert redactor.variable("WEIR_LISTEN", "1935") == "1935" and redactor.variable("WEIR_API_KEY", "") == ""


def test_password_in_the_address_of_the_api_goes_nowhere(folder):
    said, parts = diagnose(folder, "--api", f"http://joe:{SECRET}@127.0.0.1:{free_port()}")
    assert SECRET not in said and SECRET not in "".join(parts.values())


def test_api_that_speaks_no_http_is_left_out(folder):
    with socket.create_server(("127.0.0.1", 0)) as other:
        def answer():
            while True:
                try:
                    connection, _ = other.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(4096)
                    connection.sendall(b"220 mail.example ESMTP\r\n")
        threading.Thread(target=answer, daemon=True).start()
        said, parts = diagnose(folder, "--api", f"127.0.0.1:{other.getsockname()[1]}")
    assert "left out: no answer" in said and "kernel.txt" in parts
