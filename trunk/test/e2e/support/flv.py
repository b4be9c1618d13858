"""Reads FLV as it arrives, over HTTP or WebSocket: for checks of tags and of time that no player would show."""

import socket
import struct
import time
from dataclasses import dataclass

import websocket

from weir import is_late

AUDIO, VIDEO, SCRIPT = 8, 9, 18
# What is received for some seconds goes on for so much longer where less than this share of it has come.
LATE_SECONDS, LEAST_SHARE = 5, 0.8


@dataclass
class Tag:
    type: int
    time_ms: int
    data: bytes
    arrived: float  # time.monotonic()

    def is_avc_config(self):
        return self.type == VIDEO and self.data[0] & 0x0F == 7 and self.data[1] == 0

    def is_key_frame(self):
        """A frame of AVC, or of an Enhanced RTMP codec, that decoding can start at."""
        if self.type != VIDEO or len(self.data) < 2 or self.data[0] >> 4 & 7 != 1:
            return False
        if self.data[0] & 0x80:  # Enhanced: packet types 1 and 3 carry frames
            return self.data[0] & 0x0F in (1, 3)
        return self.data[1] == 1

    def is_aac_config(self):
        return self.type == AUDIO and self.data[0] >> 4 == 10 and self.data[1] == 0

    def is_head(self):
        """What stands before all frames, whatever its time says."""
        return self.type == SCRIPT or len(self.data) < 2 or self.is_avc_config() or self.is_aac_config()


class FlvReader:
    """`read(size)` gives some bytes, b"" at the end. Checks the framing while it goes."""

    def __init__(self, read):
        self.read = read
        self.buffer = b""
        header = self._take(9)
        assert header[:4] == b"FLV\x01", header
        assert struct.unpack(">I", header[5:])[0] == 9
        self.has_audio, self.has_video = bool(header[4] & 4), bool(header[4] & 1)
        assert self._take(4) == b"\0\0\0\0"

    def _take(self, size):
        while len(self.buffer) < size:
            more = self.read(65536)
            if not more:
                raise EOFError(f"end of stream, {size} bytes wanted, {len(self.buffer)} there")
            self.buffer += more
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def tag(self):
        head = self._take(11)
        kind, size = head[0], int.from_bytes(head[1:4], "big")
        assert kind in (AUDIO, VIDEO, SCRIPT), f"tag type {kind}"
        data = self._take(size)
        assert struct.unpack(">I", self._take(4))[0] == size + 11, "previous tag size"
        return Tag(kind, head[7] << 24 | int.from_bytes(head[4:7], "big"), data, time.monotonic())

    def tags(self, seconds):
        """All tags that arrive within that time; more of them where the media is shorter, as someone stood still at its end."""
        end, found, times = time.monotonic() + seconds, [], []

        def is_short():
            return times and times[-1] - times[0] < LEAST_SHARE * seconds * 1000

        while (now := time.monotonic()) < end or now < end + LATE_SECONDS and is_short():
            found.append(self.tag())
            if not found[-1].is_head():
                times.append(found[-1].time_ms)
        return found

    def tags_until(self, wanted, seconds=10):
        """All tags up to the first one for which wanted(tag) is true."""
        started, found = time.monotonic(), []
        while not is_late(started, seconds):
            found.append(self.tag())
            if wanted(found[-1]):
                return found
        raise AssertionError(f"not within {seconds} s; {len(found)} tags came")


class HttpFlv:
    """One GET, with its answer's head and an FlvReader on its body."""

    def __init__(self, port, path="/live/livestream.flv", receive_buffer=0, timeout=10):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(("127.0.0.1", port))
        self.started = time.monotonic()
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            more = self.socket.recv(4096)
            assert more, f"closed in the head of the answer: {head!r}"
            head += more
        head, self.rest = head.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
        self.chunked = "chunked" in self.headers.get("transfer-encoding", "")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _recv(self, size):
        if self.rest:
            data, self.rest = self.rest, b""
            return data
        return self.socket.recv(size)

    def reader(self):
        assert self.status == 200 and not self.chunked, (self.status, self.headers)
        return FlvReader(self._recv)


class WsFlv:
    """The same stream over WebSocket; every message is binary."""

    def __init__(self, url, timeout=10):
        self.socket = websocket.create_connection(url, timeout=timeout)
        self.messages = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _recv(self, _):
        try:
            opcode, data = self.socket.recv_data()
        except websocket.WebSocketConnectionClosedException:
            return b""
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            return b""
        assert opcode == websocket.ABNF.OPCODE_BINARY, f"opcode {opcode}"
        self.messages.append(len(data))
        return data

    def reader(self):
        return FlvReader(self._recv)


def write_flv(path, tags):
    """A file of these tags, for the programs."""
    with open(path, "wb") as out:
        out.write(b"FLV\x01\x05\0\0\0\x09\0\0\0\0")
        for tag in tags:
            size = len(tag.data)
            out.write(bytes([tag.type]) + size.to_bytes(3, "big") + (tag.time_ms & 0xFFFFFF).to_bytes(3, "big") +
                      bytes([tag.time_ms >> 24]) + b"\0\0\0" + tag.data + struct.pack(">I", size + 11))
    return path
