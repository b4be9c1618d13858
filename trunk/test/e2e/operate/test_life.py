"""Life and death: drain, signals, crashes, what the service manager hears."""

import ctypes
import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from flv import HttpFlv
from media import publisher
from weir import BINARY, SANITIZED, STOP_SECONDS_ALONE, TOP, accepts, is_late, wait_until
from weir import wait_end as wait_process

BENCH = TOP / os.environ.get("WEIR_BENCH", "objs/weir-bench")


def health(port, path="/healthz"):
    """(status, body)"""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def wait_end(server, seconds):
    code = wait_process(server.process, seconds)
    server.process = None
    return code


@pytest.mark.smoke
def test_a_drain_keeps_who_is_there_and_ends_after_the_last(weir, folder):
    assert health(weir.api_port) == (200, "ok\n")
    assert health(weir.http_port) == (200, "ok\n")
    assert health(weir.http_port, "/readyz") == health(weir.api_port, "/readyz") == (200, "ok\n")
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        with HttpFlv(weir.http_port) as player:
            reader = player.reader()
            reader.tags_until(lambda tag: tag.is_key_frame())
            weir.process.send_signal(signal.SIGQUIT)
            wait_until(lambda: not accepts(weir.rtmp_port) and not accepts(weir.http_port), 10, "nobody new is taken")
            status, body = health(weir.api_port, "/readyz")
            assert status == 503 and body.startswith("draining "), body
            assert health(weir.api_port) == (200, "ok\n"), "it works, so nobody may restart it"
            status, body = health(weir.api_port, "/api/v1/health")
            data = json.loads(body)["data"]
            assert status == 200 and data["status"] == "draining" and not data["ready"]
            assert data["players"] == 1 and data["publishers"] == 1
            for _ in range(2):
                reader.tags_until(lambda tag: tag.is_key_frame())  # it still plays
            assert weir.process.poll() is None
    assert wait_end(weir, 10) == 0
    assert "draining publishers=1 players=1" in weir.log() and "drained=all" in weir.log(), weir.log()


@pytest.mark.config("drain_timeout 1s;")
def test_a_drain_ends_at_its_deadline(weir, folder):
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        weir.process.send_signal(signal.SIGQUIT)
        started = time.monotonic()
        assert wait_end(weir, 20) == 0
        assert time.monotonic() - started > 0.9 and not is_late(started, 10)
    weir.wait_log("stopping after drain_timeout publishers=1")


def test_sigterm_ends_a_drain(weir, folder):
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        weir.process.send_signal(signal.SIGQUIT)
        weir.wait_log("draining")
        weir.stop()


def test_an_idle_server_drains_at_once(weir):
    weir.process.send_signal(signal.SIGQUIT)
    assert wait_end(weir, 10) == 0


def test_signals_that_mean_nothing_do_no_harm(weir):
    weir.process.send_signal(signal.SIGUSR2)
    weir.process.send_signal(signal.SIGUSR1)
    weir.process.send_signal(signal.SIGPIPE)
    weir.wait_log("signal=USR2")
    assert accepts(weir.rtmp_port)


@pytest.mark.alone
def test_it_ends_in_a_second_with_a_thousand_players(weir, folder):
    load = subprocess.Popen([BENCH, "rtmp-play", "--url", weir.rtmp("live/load"), "--clients", "1000", "--ramp", "2s",
                             "--publish", "300k", "--duration", "60s", "--quiet"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: weir.api("/api/v1/summaries")["data"]["clients"] > 1000, 30, "1,000 players")
        weir.stop(seconds=STOP_SECONDS_ALONE)  # checks the time and the exit code
    finally:
        load.kill()
        load.wait()


def test_a_second_signal_while_it_stops_ends_it_at_once(weir):
    # Both wait for a process that is stopped: the first one begins the end, and then the second one kills.
    weir.process.send_signal(signal.SIGSTOP)
    weir.process.send_signal(signal.SIGTERM)
    weir.process.send_signal(signal.SIGINT)
    weir.process.send_signal(signal.SIGCONT)
    assert wait_end(weir, 10) in (-signal.SIGTERM, -signal.SIGINT)


# ---- crashes ----


def send_to_media_thread(server, number):
    """kill() lets the kernel choose the thread."""
    assert ctypes.CDLL(None).tgkill(server.process.pid, server.process.pid, number) == 0


@pytest.mark.skipif(SANITIZED, reason="the sanitizer reports crashes itself")
@pytest.mark.parametrize("log, number", [
    *(("stderr", number) for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)),
    ("file", signal.SIGSEGV), ("json", signal.SIGABRT)])
def test_a_crash_leaves_a_stack_and_dies_of_its_signal(new_weir, folder, number, log):
    server = new_weir({"stderr": "", "file": "log_file own.log;", "json": "log_file own.log; log_format json;"}[log])
    server.start()
    server.api("/api/v1/versions")  # who is answered comes behind "ready"
    send_to_media_thread(server, number)
    assert wait_end(server, 20) == -number
    text = server.log()
    assert f"crashed signal={number.name}" in text and "thread=weir" in text, text
    assert re.search(r"build=[0-9a-f]{40}", text), text
    offsets = re.findall(r"#\d+ [^\n(]+/weir\(\+(0x[0-9a-f]+)\)", text)
    assert offsets, text
    if log == "file":
        own = (folder / "own.log").read_text()
        assert own.index("ready") < own.index(f"crashed signal={number.name}"), "what was logged before is there"
        assert "  #0 " in own
    if log == "json":
        rows = [json.loads(line) for line in (folder / "own.log").read_text().splitlines()]
        assert rows[-1]["message"] == "crashed" and rows[-1]["signal"] == number.name and rows[-1]["stack"]
        assert rows[-2]["message"] == "ready"
    names = subprocess.run(["addr2line", "-Cfipe", BINARY, *offsets], capture_output=True, text=True).stdout
    assert "trunk/src/" in names, names


FATAL = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


def check_crash(server, number, thread):
    """It died of that signal, and its report has a stack."""
    assert wait_end(server, 20) == -number, server.log()[-3000:]
    text = server.log()
    assert f"crashed signal={number.name}" in text and f"thread={thread}" in text, text[-3000:]
    assert re.search(r"^  #0 .*\(\+0x[0-9a-f]+\)", text, re.M) and "lines of the program" in text, text[-3000:]


@pytest.mark.skipif(SANITIZED, reason="the sanitizer reports crashes itself")
@pytest.mark.parametrize("thread", ["weir-log", "weir-worker"])
@pytest.mark.parametrize("number", [signal.SIGILL, signal.SIGSEGV])
def test_a_crash_of_a_helper_thread_is_reported(new_weir, thread, number):
    server = new_weir().start()

    def named():  # a thread names itself
        return {(task / "comm").read_text().strip(): int(task.name) for task in Path(f"/proc/{server.process.pid}/task").iterdir()}

    tasks = wait_until(lambda: thread in (found := named()) and found, 10, f"a thread {thread}")
    assert ctypes.CDLL(None).tgkill(server.process.pid, tasks[thread], number) == 0
    check_crash(server, number, thread)


@pytest.mark.skipif(SANITIZED, reason="the sanitizer reports crashes itself")
def test_a_crash_of_a_signal_that_was_ignored_at_the_start_ends_it_too(new_weir, folder):
    server = new_weir()
    with open(server.log_path, "ab") as log:
        server.process = subprocess.Popen([BINARY, "-c", server.config_path], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                          cwd=folder, preexec_fn=lambda: signal.signal(signal.SIGILL, signal.SIG_IGN))
    server.wait_ready()
    send_to_media_thread(server, signal.SIGILL)
    check_crash(server, signal.SIGILL, "weir")


@pytest.mark.timeout(240)
@pytest.mark.skipif(SANITIZED, reason="the sanitizer reports crashes itself")
def test_a_crash_at_any_moment_under_load_is_reported(new_weir, folder):
    moments = random.Random(1)
    for turn in range(int(os.environ.get("WEIR_CRASHES", "15"))):
        server = new_weir(name=f"{turn}").start()
        load = subprocess.Popen([BENCH, "rtmp-play", "--url", server.rtmp("live/load"), "--clients", "50", "--publish", "2m",
                                 "--duration", "60s", "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: server.api("/api/v1/summaries")["data"]["clients"] > 40, 20, "they play")
            time.sleep(moments.random() / 10)
            number = moments.choice(FATAL)
            server.process.send_signal(number)
            check_crash(server, number, "weir")
        finally:
            load.kill()
            load.wait()


@pytest.mark.skipif(SANITIZED, reason="the sanitizer reports crashes itself")
def test_a_crash_makes_a_core_file(new_weir, folder):
    pattern = open("/proc/sys/kernel/core_pattern").read().strip()
    server = new_weir()
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    # The kernel's setting is the machine's, and so may be the limit: then nobody can have a file in this folder.
    can_have_file = not pattern.startswith(("|", "/")) and hard != 0
    with open(server.log_path, "ab") as log:
        server.process = subprocess.Popen(
            [BINARY, "-c", server.config_path], stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)))
    server.wait_ready()
    limit = re.search(r"^Max core file size\s+(\S+)", (Path("/proc") / str(server.process.pid) / "limits").read_text(), re.M)[1]
    assert limit == ("unlimited" if hard == resource.RLIM_INFINITY else str(hard)), "the server leaves the limit alone"
    server.process.send_signal(signal.SIGSEGV)
    assert wait_end(server, 20) == -signal.SIGSEGV, "it dies of the signal itself, which is when the kernel writes the file"
    cores = list(folder.glob(re.split("%", pattern)[0] + "*")) if can_have_file else []
    assert not can_have_file or cores and cores[0].stat().st_size > 0
    for core in cores:
        core.unlink()


# ---- the service manager ----


class Manager:
    """The socket that NOTIFY_SOCKET names."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(20)
        self.heard = []

    def wait_for(self, start, seconds=20):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            message = self.socket.recv(4096).decode()
            self.heard.append((time.monotonic(), message))
            if message.startswith(start):
                return message
        raise AssertionError(f"no {start} in {self.heard}")


@pytest.fixture
def managed(new_weir, tmp_path, monkeypatch):
    manager = Manager(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "400000")
    yield new_weir().start(), manager
    manager.socket.close()


def test_the_service_manager_hears_of_start_life_and_end(managed):
    server, manager = managed
    ready = manager.wait_for("READY=1")
    assert f"MAINPID={server.process.pid}" in ready and "STATUS=" in ready
    times = []
    for _ in range(8):
        manager.wait_for("WATCHDOG=1")
        times.append(time.monotonic())
    # Most of them: somebody may have stood still.
    assert sorted(b - a for a, b in zip(times, times[1:]))[3] < 0.3, f"at half of what it waits: {times}"
    server.stop()
    manager.wait_for("STOPPING=1")


def test_a_hung_media_thread_is_silent(managed):
    server, manager = managed
    manager.wait_for("WATCHDOG=1")
    server.process.send_signal(signal.SIGSTOP)
    manager.socket.settimeout(0.3)
    with pytest.raises(TimeoutError):
        for _ in range(5):
            manager.wait_for("WATCHDOG=1")
    server.process.send_signal(signal.SIGCONT)
    manager.socket.settimeout(20)
    manager.wait_for("WATCHDOG=1")
