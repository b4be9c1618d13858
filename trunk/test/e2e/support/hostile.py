"""A peer that says what it likes: RTMP by hand, publishers of chosen frames, and measurements of the server beside it."""

import contextlib
import json
import os
import re
import select
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

from rtmp import amf
from weir import TOP, is_late

FULL = bool(os.environ.get("WEIR_FULL"))  # the sizes of the acceptance run instead of those of every day
BENCH = TOP / os.environ.get("WEIR_BENCH", "objs/weir-bench")

HANDSHAKE = b"\x03" + bytes(1536) + bytes(1536)

AVC_CONFIG = b"\x17\0\0\0\0\x01\x64\0\x1e\xff\xe1\0\x04\x67\x64\0\x1e\x01\0\x02\x68\xee"
AAC_CONFIG = b"\xaf\0\x12\x10"


def chunk(kind, body=b"", stream=1, time_ms=0, chunk_stream=4, chunk_size=128, length=None):
    """One message in chunks with a full header; `length`: claimed instead of the true one."""
    stamp = min(time_ms, 0xFFFFFF)
    extended = struct.pack(">I", time_ms) if stamp == 0xFFFFFF else b""
    basic = bytes([chunk_stream]) if chunk_stream < 64 else b"\0" + bytes([chunk_stream - 64])
    again = bytes([basic[0] | 0xC0]) + basic[1:] + extended
    head = basic + stamp.to_bytes(3, "big") + (len(body) if length is None else length).to_bytes(3, "big") + \
        bytes([kind]) + struct.pack("<I", stream) + extended
    return head + again.join([body[at:at + chunk_size] for at in range(0, len(body), chunk_size)] or [b""])


def command(*values, stream=0, chunk_size=128):
    return chunk(20, b"".join(amf(value) for value in values), stream, chunk_stream=3, chunk_size=chunk_size)


def frame(key, size, fill=b"\x65"):
    """A body of H.264 in FLV, of `size` bytes or more."""
    return (b"\x17" if key else b"\x27") + b"\x01\0\0\0" + struct.pack(">I", max(size - 9, 1)) + fill * max(size - 9, 1)


class Peer:
    """A connection with the handshake done. Nothing is read unless asked: see drain()."""

    def __init__(self, port, app="live", timeout=10, connect=True, receive_buffer=0, host="127.0.0.1"):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.said = b""
        self.socket.sendall(HANDSHAKE)
        left = 3073
        while left:
            left -= len(self._recv(left))
        if connect:
            self.send(command("connect", 1, {"app": app, "tcUrl": f"rtmp://127.0.0.1:{port}/{app}"}))
            self.wait_for(b"Connect.Success")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _recv(self, size):
        got = self.socket.recv(size)
        if not got:
            raise EOFError("closed")
        return got

    def send(self, data):
        self.socket.sendall(data)

    def wait_for(self, *words):
        """Reads until one of these came (not across what came before)."""
        while not (found := [each for each in words if each in self.said]):
            self.said += self._recv(65536)
        self.said = self.said[self.said.index(found[0]) + len(found[0]):]

    def drain(self):
        """Takes what there is without waiting; False when the server has closed."""
        try:
            poll = select.poll()
            poll.register(self.socket, select.POLLIN)
            while poll.poll(0):
                if not self.socket.recv(1 << 20):
                    return False
        except ConnectionError:
            return False
        return True

    def closed_within(self, seconds):
        """Reads until the server closes; whether it did in time."""
        started = time.monotonic()
        self.socket.settimeout(0.2)
        try:
            while not is_late(started, seconds):
                with contextlib.suppress(TimeoutError):
                    if not self.socket.recv(1 << 20):
                        return True
        except ConnectionError:
            return True
        return False

    def publish(self, name="livestream", number=1, configs=True):
        """createStream and publish; answers have come when this returns."""
        self.send(command("createStream", 2, None) + command("publish", 3, None, name, "live", stream=number))
        self.wait_for(b"Publish.Start")
        if configs:
            self.send(chunk(9, AVC_CONFIG, number, chunk_stream=6) + chunk(8, AAC_CONFIG, number, chunk_stream=4))
        return self

    def play(self, name="livestream", number=1):
        self.send(command("createStream", 2, None) + command("play", 3, None, name, -2000, stream=number))
        return self

    def set_chunk_size(self, size):
        self.send(chunk(1, struct.pack(">I", size), 0, chunk_stream=2))
        return self

    def video(self, time_ms, key=False, size=1000, number=1, chunk_size=128):
        self.send(chunk(9, frame(key, size), number, time_ms, chunk_stream=6, chunk_size=chunk_size))


class Feed(threading.Thread):
    """Publishes at a bit rate in real time until stop(). `error` tells why it ended by itself."""

    FPS = 25
    CHUNK = 60000

    def __init__(self, port, name="livestream", bits_per_second=500_000, gop=50, start_ms=0):
        super().__init__(daemon=True)
        self.peer = Peer(port).publish(name).set_chunk_size(self.CHUNK)
        self.size = max(20, bits_per_second // 8 // self.FPS)
        self.gop, self.start_ms, self.error, self.frames = gop, start_ms, None, 0
        self.longest_send = 0.0
        self.ending = threading.Event()
        self.start()

    def run(self):
        begun = time.monotonic()
        try:
            while not self.ending.is_set():
                due = begun + self.frames / self.FPS
                time.sleep(max(0.0, due - time.monotonic()))
                sent = time.monotonic()
                self.peer.video(self.start_ms + self.frames * 1000 // self.FPS, self.frames % self.gop == 0, self.size,
                                chunk_size=self.CHUNK)
                self.longest_send = max(self.longest_send, time.monotonic() - sent)
                self.frames += 1
                if not self.peer.drain():
                    raise EOFError("the server closed the publisher")
        except (OSError, EOFError) as error:
            if not self.ending.is_set():
                self.error = error

    def stop(self):
        self.ending.set()
        self.join(5)
        self.peer.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        assert self.error is None, f"the publisher was thrown out: {self.error}"


# ---- the server's process --------------------------------------------------------------------------------------------


def resident_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def anonymous_kib(pid):
    """Of it, what is of no file: heap, stacks, data that was written."""
    return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def settled_kib(round_of_load, look, least_rounds=2, most_rounds=6, limit=128):
    """Plays rounds of the same load until two in a row end with the same memory, and gives what each ended with (KiB).

    How far the first ones get depends on how many connections happened to be open at once; a leak never settles.
    """
    after = []
    while len(after) < least_rounds or after[-1] > after[-2] + limit:
        assert len(after) < most_rounds, f"memory grows with every round: {after} KiB"
        round_of_load(len(after))
        after.append(look())
    return after


def voluntary_switches(pid):
    """Of all threads: how often the process went to sleep."""
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.M)[1])
               for task in Path(f"/proc/{pid}/task").iterdir())


def descriptors(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class Peak:
    """Samples resident memory in the background; `highest` in KiB."""

    def __init__(self, pid):
        self.pid, self.highest, self.ending = pid, resident_kib(pid), threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.ending.wait(0.02):
            with contextlib.suppress(OSError, TypeError):
                self.highest = max(self.highest, resident_kib(self.pid))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join(2)


def bench(*arguments, folder, name="bench", seconds=120):
    """Runs weir-bench to its end; its report, with `exit_code` and `text`."""
    report = Path(folder) / f"{name}.json"
    done = subprocess.run([BENCH, *map(str, arguments), "--json", report, "--quiet"], capture_output=True, text=True,
                          timeout=seconds, stdin=subprocess.DEVNULL)
    found = json.loads(report.read_text()) if report.exists() else {}
    return {**found, "exit_code": done.returncode, "text": done.stdout + done.stderr}


@contextlib.contextmanager
def bench_beside(*arguments, folder, name="bench"):
    """The same beside the test; the report is in the dictionary that this gives, after the block."""
    report, result = Path(folder) / f"{name}.json", {}
    with open(Path(folder) / f"{name}.log", "wb") as log:
        process = subprocess.Popen([BENCH, *map(str, arguments), "--json", report, "--quiet"], stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL)
    result["process"] = process
    try:
        yield result
        process.wait(120)
        result["exit_code"] = process.returncode
        result["text"] = (Path(folder) / f"{name}.log").read_text(errors="replace")
        if report.exists():
            result.update(json.loads(report.read_text()))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
