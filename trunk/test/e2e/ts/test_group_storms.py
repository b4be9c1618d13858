"""Groups that are asked for by many, and groups that send what is wrong: everything is bounded, and comes back."""

import contextlib
import socket
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from test_group_gateway import continuity_errors, gateway
from test_group_sources import free_udp_port, joined, sender
from test_sources import sources
from weir import wait_until


def resident_kib(server):
    return int(next(line for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines() if line.startswith("VmRSS")).split()[1])


def test_a_storm_of_a_thousand_requests_leaves_nothing(new_weir, folder):
    """1,000 requests over 50 groups, 20 at a time, most of which nobody sends to: sockets, memberships and memory come back."""
    server = gateway(new_weir).start()
    port = free_udp_port()
    group = f"239.12.5.1:{port}"

    def zap(number):
        group = number % 50
        try:
            with urllib.request.urlopen(server.http(f"/udp/239.12.5.{1 + group}:{port}"), timeout=0.2 if group else 20) as reply:
                return len(reply.read(10_000))
        except OSError:
            return 0

    def storm():
        with ThreadPoolExecutor(20) as pool:
            got = list(pool.map(zap, range(1000)))
        wait_until(lambda: not server.clients() and not any(joined(f"239.12.5.{1 + each}") for each in range(50)), 20, "all groups are left")
        return got

    def descriptors():
        return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))

    with sender(f"udp://{group}", folder):
        with urllib.request.urlopen(server.http(f"/udp/{group}"), timeout=20) as reply:
            reply.read(10_000)  # it sends
        got = storm()
        assert all(size == 10_000 for size in got[::50]), got[::50]
        sockets, memory = descriptors(), resident_kib(server)
        storm()
        wait_until(lambda: descriptors() <= sockets + 2, 10, "sockets are closed")
        assert resident_kib(server) < memory + 2048, (memory, resident_kib(server))
    wait_until(lambda: sources(server) == [], 20, "no source is left")


def crc32_mpeg(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value & 0x80000000 else 0)) & 0xFFFFFFFF
    return value


class HostileStream:
    """Packets of a transport stream that is wrong in one way."""

    def __init__(self):
        self.counters = {}

    def packet(self, pid, payload, start=False):
        counter = self.counters[pid] = (self.counters.get(pid, -1) + 1) % 16
        return bytes([0x47, 0x40 * start | pid >> 8, pid & 0xFF, 0x10 | counter]) + payload.ljust(184, b"\xFF")[:184]

    def section(self, pid, table, number, body, wrong=False):
        data = bytes([table, 0xB0 | (len(body) + 9) >> 8, (len(body) + 9) & 0xFF]) + number.to_bytes(2, "big") + b"\xC1\x00\x00" + body
        data += (crc32_mpeg(data) ^ wrong).to_bytes(4, "big")
        data = b"\0" + data
        return b"".join(self.packet(pid, data[at:at + 184], at == 0) for at in range(0, len(data), 184))

    def tables(self, programmes=1, wrong=False):
        pat = b"".join(number.to_bytes(2, "big") + (0xE000 | 0x100 + number).to_bytes(2, "big") for number in range(1, programmes + 1))
        data = b"".join(self.section(0, 0, 1, pat[at:at + 1000], wrong) for at in range(0, len(pat), 1000))
        for number in range(1, min(programmes, 100) + 1):
            data += self.section(0x100 + number, 2, number, b"\xEF\xFF\xF0\x00\x1B\xEF\xFF\xF0\x00", wrong)
        return data

    def endless_frame(self):
        """A picture that never ends: the PES packet has no length."""
        yield self.tables() + self.packet(0xFFF, b"\0\0\1\xE0\0\0\x80\x80\5\x21\0\1\0\1\0\0\0\1\x65" + b"\x11" * 160, True)
        while True:
            yield b"".join(self.packet(0xFFF, b"\x11" * 184) for _ in range(7))

    def many_programmes(self):
        while True:
            yield self.tables(1000)

    def wrong_crc(self):
        while True:
            yield self.tables(3, wrong=True)

    def without_sync(self):
        while True:
            yield b"\0" * 188 * 7


@pytest.mark.parametrize("kind", ["endless_frame", "many_programmes", "wrong_crc", "without_sync"])
def test_a_hostile_group_is_bounded_and_nobody_else_notices(new_weir, folder, kind):
    server = gateway(new_weir, "publish { firstpkt_timeout 3s; } play { wait_publisher 4s; }").start()
    bad, good, port = "239.12.7.1", "239.12.7.2", free_udp_port()
    ended = threading.Event()

    def throw():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for data in getattr(HostileStream(), kind)():
                for at in range(0, len(data), 1316):
                    out.sendto(data[at:at + 1316], (bad, port))
                if ended.wait(0.001):
                    return

    def watch_bad(suffix):
        with contextlib.suppress(OSError), urllib.request.urlopen(server.http(f"/udp/{bad}:{port}{suffix}"), timeout=8) as player:
            while not ended.is_set() and player.read(1000):
                pass

    threads = [threading.Thread(target=throw), *(threading.Thread(target=watch_bad, args=(suffix,)) for suffix in ("", ".flv"))]
    with sender(f"udp://{good}:{port}", folder), urllib.request.urlopen(server.http(f"/udp/{good}:{port}"), timeout=15) as player:
        assert continuity_errors(player.read(188 * 500)) == 0
        before = server.private_kib()
        for each in threads:
            each.start()
        try:
            data = player.read(188 * 1000)  # less than the sample, where ffmpeg begins again
            grown = server.private_kib() - before
        finally:
            ended.set()
            for each in threads:
                each.join()
        assert continuity_errors(data) == 0
        assert grown < 64 * 1024, grown
        assert all(each["state"] == "live" for each in sources(server) if good in each["url"])
