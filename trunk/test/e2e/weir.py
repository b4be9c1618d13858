"""Starts and ends a server for one test, and asks its API."""

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
import urllib.error
import urllib.request
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
BINARY = TOP / os.environ.get("WEIR_BIN", "objs/weir")
SANITIZED = "sanitizer" in str(BINARY)
LANES = 4  # that pytest-xdist may run at a time, each with ports of its own


def ports_of_lane():
    """Tried in turn, so that no two tests of a run share one soon. WEIR_PORTS=FIRST-LAST for another range.

    Nothing else of the tests takes any of these: a server's calls by SIP have 20000 to 29999, telephones 30000 and more.
    """
    first, last = (int(end) for end in os.environ.get("WEIR_PORTS", "14000-15999").split("-"))
    lane = os.environ.get("PYTEST_XDIST_WORKER")
    if lane is None:
        return range(first, last)
    share = (last - first) // LANES
    begin = first + int(lane.removeprefix("gw")) % LANES * share
    return range(begin, begin + share)


PORTS = ports_of_lane()

START_SECONDS = 20
# Less than a second is promised, which tests with nothing beside them measure; beside others a process may stand still for longer.
# The leak check at exit takes its time.
STOP_SECONDS, STOP_SECONDS_ALONE = (15, 15) if SANITIZED else (3.0, 1.0)
BAD_LOG = re.compile(r"bug:|AddressSanitizer|LeakSanitizer|UndefinedBehavior|runtime error:")

# What was started in the background ignores SIGINT, and so would every program of the tests: curl that is to end, the demo of a cluster.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

_next_port = os.getpid() * 7 % len(PORTS)


def is_free(port):
    """Whether nobody has it on 127.0.0.1, by TCP or UDP."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as probe:
            if kind == socket.SOCK_STREAM:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def free_port(count=1):
    """A port of 127.0.0.1 that nobody has, the first of so many."""
    global _next_port
    for _ in PORTS:
        first = _next_port % len(PORTS)
        wanted = PORTS[first:first + count]
        if len(wanted) == count and all(is_free(port) for port in wanted):
            _next_port += count
            return wanted[0]
        _next_port += 1
    taken = sum(not is_free(port) for port in PORTS)
    raise RuntimeError(f"no {count} free ports beside each other in {PORTS[0]} to {PORTS[-1]}, {taken} of them are taken: "
                       "WEIR_PORTS=FIRST-LAST names others")


def patience():
    """By how much more everything takes on this machine now than on one that has nothing else to do: the programs that want
    to run for each core, at least 1. Limits of time are meant for a factor of 1."""
    try:
        load, _, _, running, *_ = Path("/proc/loadavg").read_text().split()
        wanting = max(float(load), int(running.split("/")[0]))
    except (OSError, ValueError):
        return 3.0
    return min(max(wanting / (os.cpu_count() or 1), 1.0), 8.0)


def is_late(started, seconds):
    """Whether more than that has passed since, and more than it would be here."""
    waited = time.monotonic() - started
    return waited > seconds and waited > seconds * patience()


def looks(seconds):
    """Yields for each look at something that is to be so within that time. What a look takes beyond half a second is not counted:
    this process or the one that it asks stood still, and the others may have, too; five seconds at most."""
    started, spared = time.monotonic(), 0.0
    while True:
        begun = time.monotonic()
        yield
        if is_late(started + spared, seconds):
            return
        time.sleep(0.02)
        spared = min(spared + max(time.monotonic() - begun - 0.5, 0.0), 5.0)


def wait_until(condition, seconds, what):
    """Polls until condition() is true; gives its value."""
    started = time.monotonic()
    for _ in looks(seconds):
        if value := condition():
            return value
    raise AssertionError(f"not within {time.monotonic() - started:.1f} s ({seconds} s on an idle machine): {what}")


def wait_end(process, seconds):
    """The exit code of a program that is to end within that time."""
    for _ in looks(seconds):
        if process.poll() is not None:
            return process.returncode
    raise subprocess.TimeoutExpired(process.args, seconds)


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Weir:
    """One server process with its own folder, ports and configuration."""

    def __init__(self, folder, extra=""):
        self.folder = Path(folder)
        self.rtmp_port, self.http_port, self.api_port = free_port(), free_port(), free_port()
        self.log_path = self.folder / "weir.log"
        self.config_path = self.folder / "weir.conf"
        self.config_path.write_text(
            f"listen 127.0.0.1:{self.rtmp_port};\n"
            f'http_server {{ listen 127.0.0.1:{self.http_port}; dir "{TOP}/objs/www"; }}\n'
            f"http_api {{ listen 127.0.0.1:{self.api_port}; }}\n"
            f"{extra}\n")
        self.process = None
        self.wrapper = []  # a command that runs the server

    # ---- life ----

    def start(self):
        self.launch()
        return self.wait_ready()

    def launch(self, descriptors=None):
        """Starts the process and no more. `descriptors`: hard limit on open files."""
        limit = None if descriptors is None else \
            lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([*self.wrapper, BINARY, "-c", self.config_path], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, cwd=self.folder, preexec_fn=limit,
                                            # A clean end must have freed everything; the server's own default is not to ask.
                                            env={"ASAN_OPTIONS": "leak_check_at_exit=1", **os.environ})

    def wait_ready(self):
        for port in (self.rtmp_port, self.http_port, self.api_port):
            wait_until(lambda: accepts(port) or self.process.poll() is not None, START_SECONDS,
                       f"the server listens on {port}")
        assert self.process.poll() is None, f"the server ended at start:\n{self.log()}"
        return self

    def stop(self, number=signal.SIGTERM, seconds=STOP_SECONDS):
        """Ends it; fails when that takes too long, gives a bad exit code or left something ugly in the log."""
        if self.process is None:
            return
        if self.process.poll() is not None:
            code, self.process = self.process.returncode, None
            raise AssertionError(f"the server had ended by itself, exit code {code}:\n{self.log()[-3000:]}")
        started = time.monotonic()
        self.process.send_signal(number)
        try:
            code = wait_end(self.process, seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server had not ended {time.monotonic() - started:.1f} s after the signal")
        finally:
            self.process = None
        log = self.log()
        bad = BAD_LOG.search(log)
        assert not bad, log[max(0, bad.start() - 500):][:6000]
        assert code == 0, f"exit code {code} after {number!r}:\n{log[-3000:]}"

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process = None

    def log(self):
        """All that the server has said up to now: its writer, a thread, has nothing left to write."""
        wait_until(self.log_is_written, 20, "the log is written")
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def wait_log(self, text, seconds=20):
        """Until the text is in the log: where a client may see what happened before the server says it."""
        try:
            wait_until(lambda: text in self.log(), seconds, f"the log says: {text}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()[-3000:]}") from None

    def log_is_written(self):
        """The writer sleeps only when nothing is left; a line wakes it before its sender goes on."""
        if self.process is None or self.process.poll() is not None:
            return True
        for task in Path(f"/proc/{self.process.pid}/task").glob("*"):
            with contextlib.suppress(OSError):  # a thread that ends
                name, state = re.search(r"\((.*)\) (\w)", (task / "stat").read_text()).groups()
                if name == "weir-log":
                    return state not in "RD"
        return True

    # ---- addresses ----

    def rtmp(self, path="live/livestream"):
        return f"rtmp://127.0.0.1:{self.rtmp_port}/{path}"

    def http(self, path="/live/livestream.flv"):
        return f"http://127.0.0.1:{self.http_port}{path}"

    def ws(self, path="/live/livestream.flv"):
        return f"ws://127.0.0.1:{self.http_port}{path}"

    # ---- API ----

    def api(self, path, method="GET"):
        """The parsed answer; for an HTTP error its body too, with the status as `http_status`."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.api_port}{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return {"http_status": answer.status, **json.load(answer)}
        except urllib.error.HTTPError as error:
            return {"http_status": error.code, **json.load(error)}

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.api_port}/metrics", timeout=20) as answer:
            return answer.read().decode()

    def streams(self):
        return self.api("/api/v1/streams?count=1000")["streams"]

    def clients(self):
        return self.api("/api/v1/clients?count=1000")["clients"]

    def wait_live(self, name="livestream", seconds=20):
        """Until a stream of that name has a publisher and video or audio."""
        def live():
            return next((stream for stream in self.streams()
                         if stream["name"] == name and stream.get("publish", {}).get("active")
                         and (stream.get("video") or stream.get("audio"))), None)
        return wait_until(live, seconds, f"{name} is live")

    # ---- memory ----

    def private_kib(self):
        """Private memory of the process, KiB."""
        text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return sum(int(kib) for kib in re.findall(r"^Private_\w+:\s+(\d+) kB", text, re.M))
