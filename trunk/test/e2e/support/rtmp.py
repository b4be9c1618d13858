"""A small RTMP player: enough to see when the first messages arrive, which no program shows."""

import os
import socket
import struct
import time


def amf(value):
    """AMF0 of a number, a text, None, a truth or a dict."""
    if value is None:
        return b"\x05"
    if isinstance(value, bool):
        return bytes([1, value])
    if isinstance(value, (int, float)):
        return b"\0" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"\x02" + struct.pack(">H", len(value)) + value.encode()
    body = b"".join(struct.pack(">H", len(name)) + name.encode() + amf(part) for name, part in value.items())
    return b"\x03" + body + b"\0\0\x09"


class RtmpPlayer:
    """Connects and plays; `message()` gives (type, time in ms, payload, time of arrival)."""

    AUDIO, VIDEO, COMMAND = 8, 9, 20

    def __init__(self, port, app="live", stream="livestream", timeout=10, play=True, host="127.0.0.1", caps_ex=None):
        self.socket = socket.create_connection((host, port), timeout)
        self.buffer = b""
        self.chunk_size = 128
        self.streams = {}  # chunk stream id -> [time, length, type, message stream, partial payload]
        self.socket.sendall(b"\x03" + bytes(8) + os.urandom(1528))
        answer = self._take(1 + 1536 + 1536)
        self.socket.sendall(answer[1:1537])
        enhanced = {} if caps_ex is None else {"capsEx": caps_ex}  # of Enhanced RTMP v2: 2 takes tracks
        self.command("connect", 1, {"app": app, "tcUrl": f"rtmp://{host}:{port}/{app}", **enhanced}, stream=0)
        self.command("createStream", 2, None, stream=0)
        self.wait_command(b"_result", 2)
        if play:
            self.play_sent = time.monotonic()
            self.command("play", 3, None, stream, -2000, stream=1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def command(self, *values, stream):
        payload = b"".join(amf(value) for value in values)
        head = b"\x03" + bytes(3) + len(payload).to_bytes(3, "big") + bytes([20]) + struct.pack("<I", stream)
        parts = [payload[at:at + 128] for at in range(0, len(payload), 128)]
        self.socket.sendall(head + b"\xc3".join(parts))

    def wait_command(self, name, count):
        """Until that many commands of that name have come."""
        while count:
            kind, _, payload, _ = self.message()
            if kind == self.COMMAND and payload[3:3 + len(name)] == name:
                count -= 1

    def _take(self, size):
        while len(self.buffer) < size:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError("closed")
            self.buffer += more
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def message(self):
        while True:
            first = self._take(1)[0]
            form, chunk_stream = first >> 6, first & 63
            if chunk_stream == 0:
                chunk_stream = 64 + self._take(1)[0]
            elif chunk_stream == 1:
                chunk_stream = 64 + int.from_bytes(self._take(2), "little")
            state = self.streams.setdefault(chunk_stream, [0, 0, 0, 0, b"", 0, False])
            head = self._take([11, 7, 3, 0][form])
            if form < 3:
                state[5] = int.from_bytes(head[:3], "big")
                state[6] = state[5] == 0xFFFFFF
            if form < 2:
                state[1], state[2] = int.from_bytes(head[3:6], "big"), head[6]
            extended = int.from_bytes(self._take(4), "big") if state[6] else state[5]
            if not state[4]:  # the first chunk of a message
                state[0] = extended if form == 0 else state[0] + extended
            state[4] += self._take(min(self.chunk_size, state[1] - len(state[4])))
            if len(state[4]) < state[1]:
                continue
            payload, state[4] = state[4], b""
            if state[2] == 1:
                self.chunk_size = int.from_bytes(payload[:4], "big")
            return state[2], state[0] & 0xFFFFFFFF, payload, time.monotonic()

    def first_key_frame(self):
        """(milliseconds from play to its arrival, its time)."""
        while True:
            kind, when, payload, arrived = self.message()
            if kind == self.VIDEO and len(payload) > 5 and payload[0] == 0x17 and payload[1] == 1:
                return (arrived - self.play_sent) * 1000, when
