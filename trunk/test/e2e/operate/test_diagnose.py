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
    # The same secret where an operator may have it: in a directive, in a comment, in the URL of a publisher, and from there in
    # the log. Every secret of every directive: test_secrets.py.
    other = folder / "with-secrets.conf"
    other.write_text(weir.config_path.read_text() + f"# the old one was {SECRET}-old\n"
                     f'security {{ publish_key "{SECRET}-a"; }}\nforward rtmp://127.0.0.1:9/live2/{SECRET}-b?sign={SECRET}-c;\n')
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
    assert "publish_key (secret);" in parts["weir.conf"] and f"listen 127.0.0.1:{weir.rtmp_port};" in parts["weir.conf"]
    assert "forward rtmp://127.0.0.1:9/live2/***?***;" in parts["weir.conf"]
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


def test_a_configuration_that_the_server_refuses_is_left_out_and_its_errors_are_not(weir, folder):
    other = folder / "broken.conf"
    other.write_text(f"lisen 1935;\nhttp_api {{ token read {SECRET}{{x; }} }}\n")
    with open(weir.log_path, "a") as log:
        log.write(f"a line with {SECRET} alone\n")
    said, parts = diagnose(folder, "--pid", str(weir.process.pid), "--config", other)
    assert "weir.conf" not in parts and "refuses it (weir.conf-messages.txt)" in said
    assert "did you mean 'listen'?" in parts["weir.conf-messages.txt"]
    assert "perhaps not all that is secret in it is known" in said
    assert f"a line with {REMOVED} alone" in parts["log.txt"], "what was found of its secrets is removed"
    assert SECRET not in "".join(parts.values()) + said


def test_settings_of_the_environment_are_in_the_configuration(new_weir, folder, monkeypatch):
    monkeypatch.setenv("WEIR_HTTP_API_TOKEN", f"read {SECRET}")
    monkeypatch.setenv("WEIR_CHUNK_SIZE", "4096")
    weir = new_weir().start()
    monkeypatch.delenv("WEIR_HTTP_API_TOKEN")
    monkeypatch.delenv("WEIR_CHUNK_SIZE")
    said, parts = diagnose(folder, "--pid", str(weir.process.pid))
    assert "chunk_size 4096;" in parts["weir.conf"] and "WEIR_CHUNK_SIZE in the environment" in parts["weir.conf"]
    assert "WEIR_HTTP_API_TOKEN is set" in parts["environment.txt"]
    assert SECRET not in "".join(parts.values()) + said


def test_a_full_disk_leaves_no_half_archive(weir, folder):
    full = folder / "full"
    full.mkdir()
    # A file system of its own, of 4 KiB, where this may be; the archive is larger.
    command = f"mount -t tmpfs -o size=4k none {full} && {TOP}/scripts/diagnose --pid {weir.process.pid} --output {full}/a.tar.gz; " \
              f"echo code $?; ls {full}"
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, text=True, timeout=60, cwd=folder)
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(f"no file system may be mounted here: {done.stderr}")
    assert "a.tar.gz: No space left on device; nothing was written" in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert done.stdout.endswith("code 1\n"), done.stdout


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
    for secret in ("a/b c", "zyxw", 'q"{u}', "http"):
        redactor.learn(secret)
    assert redactor.text("got a/b c, a%2Fb%20c and zyxw as json by http") == \
        f"got {REMOVED}, {REMOVED} and {REMOVED} as json by http"
    assert redactor.text('{"x": "q\\"{u}"}') == f'{{"x": "{REMOVED}"}}'
    assert redactor.json({"x": ["say zyxw"], "token": "t", "keys": ["a"], "password": 123, "auth": True, "n": None}) == \
        {"x": [f"say {REMOVED}"], "token": REMOVED, "keys": REMOVED, "password": REMOVED, "auth": True, "n": None}


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
