"""What SRT callers cost that nobody knows: limits of connections, and a window that is only named."""

import collections
import socket
import struct
import time
from pathlib import Path

from srt import figures, srt_weir
from weir import free_port

CONCLUSION, KINDS, OVERLOAD, NO_ANSWER = 0xFFFFFFFF, 1000, 1402, -1
STRANGERS, MOST_KB = 10_000, 50_000
# HSREQ (libsrt 1.5.1, latency 120 ms), and the stream id as words turned around.
STREAM_ID = b"#!::r=live/none,m=request".ljust(28, b"\0")
EXTENSIONS = (struct.pack(">5I", 0x00010003, 0x00010501, 0xBF, 0x00780078, 0x00050000 | len(STREAM_ID) // 4)
              + b"".join(STREAM_ID[at:at + 4][::-1] for at in range(0, len(STREAM_ID), 4)))


class Caller:
    """A caller that says what no library says: a handshake over a bare socket (draft-sharabayko-srt-01 3.2.1)."""

    def __init__(self, port, window=8192, number=1, address="127.0.0.1"):
        self.window, self.number = window, number
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(0.5)
        self.socket.bind((address, 0))
        self.socket.connect(("127.0.0.1", port))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, kind, cookie=0, extensions=b"", tries=40):
        """None: no answer."""
        version, field = (5, 5) if extensions else (4, 2)
        packet = struct.pack(">16I", 0x80000000, 0, 0, 0, version, field, 1000, 1500, self.window, kind, self.number, cookie,
                             0x0100007F, 0, 0, 0) + extensions
        for _ in range(tries):
            try:
                self.socket.send(packet)
                return self.socket.recv(1500)
            except OSError:
                continue
        return None

    def call(self, tries=40):
        """None: accepted. Else the code of the refusal, or NO_ANSWER."""
        cookie = self.ask(1, tries=tries)
        answer = cookie and self.ask(CONCLUSION, struct.unpack_from(">I", cookie, 44)[0], EXTENSIONS, tries)
        if answer is None:
            return NO_ANSWER
        kind = struct.unpack_from(">I", answer, 36)[0]
        return None if kind == CONCLUSION else kind - KINDS


def memory_kb(server):
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))


def test_a_window_that_a_caller_names_costs_nothing(new_weir):
    server = srt_weir(new_weir)
    with Caller(server.srt_port) as first:
        assert first.call() is None
    before = memory_kb(server)
    with Caller(server.srt_port, window=8_000_000, number=2) as second:
        assert second.call() is None
    assert memory_kb(server) - before < 20_000


def test_ten_thousand_strangers_cost_little(new_weir):
    """Each from an address of its own, which it proves, without the key to play. The memory is the most that the process ever had."""
    server = srt_weir(new_weir, "security { play_key nobody-has-it; }\n")
    with Caller(server.srt_port) as first:
        assert first.call() is None  # it is told later
    before, begun = memory_kb(server), time.monotonic()
    answers = collections.Counter()
    for number in range(2, STRANGERS + 2):
        address = f"127.{1 + number // 60_000}.{number // 250 % 240}.{1 + number % 250}"
        with Caller(server.srt_port, number=number, address=address) as caller:
            caller.socket.settimeout(0.02)
            answers[caller.call(tries=1)] += 1
    grown = memory_kb(server) - before
    print(f"{STRANGERS} strangers in {time.monotonic() - begun:.0f} s: {grown / 1000:.1f} MB; accepted {answers[None]}, "
          f"refused {answers[OVERLOAD]}, not answered {answers[NO_ANSWER]}")
    assert answers[None] > 200, answers
    assert grown < MOST_KB


def test_connections_in_all_are_limited(new_weir):
    port = free_port()
    server = new_weir(f"srt_server {{ listen 127.0.0.1:{port}; max_connections 2; }}\n").start()
    with Caller(port, number=1) as first, Caller(port, number=2) as second, Caller(port, number=3) as third:
        assert first.call() is None
        assert second.call() is None
        assert third.call() == OVERLOAD
    assert figures(server)["refused_full"] >= 1  # on a slow machine it asks again
