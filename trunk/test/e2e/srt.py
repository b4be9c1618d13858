"""SRT: a server with its port, real publishers and players, and a relay that loses datagrams."""

import contextlib
import random
import re
import selectors
import socket
import threading
import time

from media import PLAY_SECONDS, SAMPLE, Program, record
from weir import free_port

PASSPHRASE = "a-passphrase-of-tests"


def srt_weir(new_weir, extra="", name=None):
    port = free_port()
    text = f"srt_server {{ listen 127.0.0.1:{port}; }}\n{extra}"
    server = new_weir(text, name) if name else new_weir(text)
    server.srt_port = port
    return server.start()


def srt_url(port, stream_id, more=""):
    return f"srt://127.0.0.1:{port}?streamid={stream_id}{more}"


def figures(server):
    """weir_srt_*_total of /metrics, by what stands between."""
    return {name: int(float(value)) for name, value in re.findall(r"^weir_srt_(\w+?)(?:_total)? ([0-9.e+]+)$", server.metrics(), re.M)}


def publish_srt(url, folder, source=SAMPLE, name="srt-publisher"):
    return Program(name, ["ffmpeg", "-hide_banner", "-nostdin", "-re", "-stream_loop", "-1", "-i", source, "-c", "copy",
                          "-f", "mpegts", url], folder)


def play_srt(url, folder, seconds=PLAY_SECONDS, name="srt-player"):
    """srt-live-transmit, to a file: the bytes as they came."""
    return record(name, ["srt-live-transmit", "-q", url, "file://con"], folder, seconds, stdout=folder / f"{name}.ts")


class LossyRelay:
    """Passes datagrams both ways between one client and a server, and loses a share of each. `bytes_a_second`: what the client's
    network takes; more is lost."""

    def __init__(self, port, loss, seed=1, bytes_a_second=None):
        self.server = ("127.0.0.1", port)
        self.rate, self.room, self.filled = bytes_a_second, 0, time.monotonic()
        self.loss, self.random = loss, random.Random(seed)
        self.near, self.far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.near.bind(("127.0.0.1", 0))
        self.far.bind(("127.0.0.1", 0))
        self.port = self.near.getsockname()[1]
        self.client = None
        self.lost = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def fits(self, size):
        if self.rate is None:
            return True
        now = time.monotonic()
        self.room = min(self.rate, self.room + (now - self.filled) * self.rate)
        self.filled = now
        if self.room < size:
            return False
        self.room -= size
        return True

    def run(self):
        selector = selectors.DefaultSelector()
        for each in (self.near, self.far):
            selector.register(each, selectors.EVENT_READ)
        while not self.ended.is_set():
            for key, _ in selector.select(0.2):
                with contextlib.suppress(OSError):
                    data, peer = key.fileobj.recvfrom(2048)
                    if key.fileobj is self.near:
                        self.client = peer
                    if self.random.random() < self.loss:
                        self.lost += 1
                    elif key.fileobj is self.near:
                        self.far.sendto(data, self.server)
                    elif self.client and self.fits(len(data)):
                        self.near.sendto(data, self.client)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.near.close()
        self.far.close()
