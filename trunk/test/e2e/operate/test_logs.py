"""The log: text and JSON, rotation, a full disk, a reader that is slow or asleep."""

import contextlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

from media import play_curl, publisher
from weir import BINARY, STOP_SECONDS_ALONE, TOP, patience, wait_end, wait_until

BENCH = TOP / os.environ.get("WEIR_BENCH", "objs/weir-bench")


def metric(server, name, labels=""):
    found = re.search(rf"^{name}{re.escape(labels)} (\S+)$", server.metrics(), re.M)
    assert found, f"no {name}{labels} in /metrics"
    return float(found[1])


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.smoke
def test_json_lines_carry_the_fields_and_the_clients_id(new_weir, folder):
    server = new_weir("log_file log.json; log_format json; log_level debug;").start()
    with publisher(server.rtmp("live/a=b"), folder):
        server.wait_live("a=b")
        ids = {client["id"] for client in server.clients()}
        play_curl(server.http("/live/a=b.flv"), folder, 1)
    wait_until(lambda: server.clients() == [], 20, "everybody has left")
    server.stop()
    rows = [json.loads(line) for line in lines_of(folder / "log.json")]
    for row in rows:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row["time"]), row
        assert row["level"] in ("debug", "info", "warn", "error") and row["message"], row
    ends = {row["role"]: row for row in rows if row["message"] == "closed"}
    assert ends["publisher"]["id"] in ids and ends["publisher"]["stream"] == "/live/a=b", ends
    assert ends["player"]["bytes"] > 0 and ends["player"]["reason"] == "peer_closed", ends
    assert any(row["message"] == "http request" and row["status"] == 200 for row in rows)
    assert rows[-1]["message"] == "stopped"


def test_reasons_are_words_that_metrics_count(weir, folder):
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        name = next(client["id"] for client in weir.clients())
        weir.api(f"/api/v1/clients/{name}", "DELETE")
        weir.wait_log("reason=kicked")
        assert metric(weir, "weir_clients_ended_total", '{role="publisher",reason="kicked"}') == 1


def test_a_rename_and_sigusr1_lose_no_line(new_weir, folder):
    server = new_weir("log_file weir-own.log; log_level debug;").start()
    log = folder / "weir-own.log"
    asked = 300
    for number in range(asked):
        assert server.api(f"/api/v1/versions?n={number}")["code"] == 0
        if number % 100 == 50:
            wait_until(log.exists, 20, "it was reopened")
            log.rename(folder / f"weir-own.log.{number // 100}")
            server.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "log reopened" in log.read_text() if log.exists() else False, 20, "the third reopening")
    server.stop()
    text = "".join(path.read_text() for path in sorted(folder.glob("weir-own.log*")))
    assert len(re.findall(r"path=/api/v1/versions", text)) == asked
    assert (log.stat().st_mode & 0o777) in (0o640, 0o600)
    assert log.read_text().endswith("stopped\n")


def test_a_log_file_that_cannot_be_had_ends_the_start(folder):
    conf = folder / "bad.conf"
    conf.write_text("log_file nowhere/weir.log;\n")
    done = subprocess.run([BINARY, "-c", conf], capture_output=True, text=True, timeout=10)
    assert done.returncode == 1
    assert "nowhere/weir.log" in done.stderr and "No such file" in done.stderr, done.stderr


def test_a_start_that_fails_is_told_on_the_terminal_too(new_weir, folder):
    holder = new_weir().start()
    second = new_weir("log_file own.log;", name="second")
    text = second.config_path.read_text()
    second.config_path.write_text(text.replace(str(second.rtmp_port), str(holder.rtmp_port)))
    done = subprocess.run([BINARY, "-c", second.config_path], capture_output=True, text=True, timeout=10)
    assert done.returncode == 1 and "in use" in done.stderr, done.stderr
    assert "in use" in (second.folder / "own.log").read_text()


# A disk that is full, without the right to make one: a file may grow no further, and then it may.
SMALL = 64 * 1024


@pytest.fixture
def cramped(new_weir):
    """A server whose log file may have so many bytes."""
    server = new_weir("log_file own.log; log_level debug;")
    server.wrapper = ["prlimit", f"--fsize={SMALL}:unlimited"]
    return server.start()


def ask_until_full(server):
    def ask_on():
        for _ in range(10):
            server.api("/api/v1/versions")
        return server.api("/api/v1/summaries")["data"]["log"]["failing"]
    return wait_until(ask_on, 60, "the file is full")


def test_a_log_that_cannot_grow_is_told_and_over_when_there_is_room(cramped, folder):
    assert ask_until_full(cramped) == "File too large"
    assert metric(cramped, "weir_log_failing") == 1
    cramped.wait_log("File too large")
    resource.prlimit(cramped.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    wait_until(lambda: metric(cramped, "weir_log_failing") == 0, 20, "it is written again")
    log = folder / "own.log"
    wait_until(lambda: "the log could not be written for" in log.read_text(), 20, "the log says so")
    assert all(re.match(r"\d{4}-", line) for line in lines_of(log)), "no line is torn"
    assert metric(cramped, "weir_log_write_errors_total") == 1
    assert cramped.log().count("File too large") == 1, "stderr has it, once"


@pytest.mark.alone
def test_it_ends_in_a_second_with_a_log_that_cannot_grow(cramped):
    ask_until_full(cramped)
    cramped.stop(seconds=STOP_SECONDS_ALONE)


def test_a_full_disk_is_told_by_its_name(new_weir):
    server = new_weir("log_file /dev/full;").start()
    server.wait_log("log_file /dev/full cannot be written: No space left on device")
    server.stop()


class SlowReader(threading.Thread):
    """Reads a descriptor at so many bytes a second."""

    def __init__(self, descriptor, rate):
        super().__init__(daemon=True)
        self.descriptor, self.rate, self.seen, self.ended = descriptor, rate, b"", False

    def run(self):
        while not self.ended:
            part = os.read(self.descriptor, max(1, self.rate // 10))
            if not part:
                return
            self.seen += part
            time.sleep(0.1)


def flood(server, stop):
    """Requests that each make a line of the debug log, until told to stop."""
    done = 0
    while not stop.is_set():
        with socket.create_connection(("127.0.0.1", server.api_port), 5) as connection:
            for _ in range(20):
                connection.sendall(b"GET /nothing/" + b"x" * 900 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
                connection.recv(65536)
                done += 1
    return done


@contextlib.contextmanager
def flooded(server):
    stop = threading.Event()
    asker = threading.Thread(target=flood, args=(server, stop), daemon=True)
    asker.start()
    try:
        yield
    finally:
        stop.set()
        asker.join(10)


# What is looked for is a media thread that waits for the log: for as long as the reader sleeps, so for seconds. Every
# machine has moments of its own.
MORE_MS = 200
TRIES = 3  # a log that is in the way is so each time


def fan_out(server, folder, name):
    """Latency in ms of 100 players of one stream, as the load client measures it."""
    report = folder / f"{name}.json"
    subprocess.run([BENCH, "rtmp-play", "--url", server.rtmp("live/load"), "--clients", "100", "--publish", "500k",
                    "--duration", "5s", "--quiet", "--json", report], check=True, timeout=60, stdout=subprocess.DEVNULL)
    return json.loads(report.read_text())["latency"]["all_ms"]


def fan_out_within(server, folder, before):
    """The latency while the log cannot be written, at most so much more than before."""
    for _ in range(TRIES):
        during = fan_out(server, folder, "during")
        if during["p99"] < 1.5 * before["p99"] + MORE_MS * patience():
            return during
    raise AssertionError(f"before {before}, during {during}")


@pytest.mark.alone
@pytest.mark.parametrize("target", ["stderr", "log_file"])
def test_a_slow_reader_of_the_log_does_not_touch_the_fan_out(new_weir, folder, target):
    extra = "log_level debug; play { mw_latency 0; }"
    quiet = new_weir(extra).start()
    before = fan_out(quiet, folder, "before")
    quiet.stop()
    fifo = folder / "log.fifo"
    os.mkfifo(fifo)
    server = new_weir(extra + (f'log_file "{fifo}";' if target == "log_file" else ""), name="slow")
    if target == "stderr":
        server.log_path = fifo
    reader = SlowReader(os.open(fifo, os.O_RDWR), 10_000)
    server.start()
    reader.start()
    stop = threading.Event()
    askers = [threading.Thread(target=flood, args=(server, stop), daemon=True) for _ in range(2)]
    for asker in askers:
        asker.start()
    try:
        wait_until(lambda: metric(server, "weir_log_dropped_total") > 0, 30, "lines are lost")
        dropped = metric(server, "weir_log_dropped_total")
        stop.set()
        for asker in askers:
            asker.join(10)
        # The queue stays full while the reader crawls: the lines of the players go into the same queue.
        during = fan_out_within(server, folder, before)
        assert metric(server, "weir_log_queue_bytes") > 400_000, "the log was behind all the time"
        print(f"{target}: before {before}, during {during}, lost {dropped}")
        server.process.send_signal(signal.SIGTERM)
        assert wait_end(server.process, STOP_SECONDS_ALONE) == 0
        server.process = None
    finally:
        stop.set()
        reader.ended = True
        server.kill()


@pytest.mark.alone
def test_a_log_that_cannot_grow_does_not_touch_the_fan_out(new_weir, folder):
    # The same flood of lines both times; without a merge window, which follows the load.
    extra = "log_level debug; play { mw_latency 0; } log_file own.log;"
    server = new_weir(extra).start()
    full = new_weir(extra, name="full")
    full.wrapper = ["prlimit", f"--fsize={SMALL}:unlimited"]
    full.start()
    with flooded(server):
        before = fan_out(server, folder, "before")
    with flooded(full):
        wait_until(lambda: metric(full, "weir_log_failing") == 1, 60, "the file is full")
        during = fan_out_within(full, folder, before)
    print(f"full file: before {before}, during {during}, lost {metric(full, 'weir_log_dropped_total')}")
    assert metric(full, "weir_log_failing") == 1
