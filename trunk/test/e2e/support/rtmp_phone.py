"""An RTMP client that is a telephone, as those of siprtmp are: it says a tone in PCMU and keeps what it hears."""

import contextlib
import hashlib
import math
import os
import re
import socket
import struct
import threading
import time

from rtmp import RtmpPlayer
from sip import PLAYED_HZ, RATE, tone_share
from weir import wait_until

PCMU = 0x82  # the first byte of FLV's audio


def ulaw(sample):
    sign, value = (0x80, -sample) if sample < 0 else (0, sample)
    value = min(value, 32635) + 132
    exponent = value.bit_length() - 8
    return ~(sign | exponent << 4 | value >> exponent + 3 & 0x0F) & 0xFF


def linear(byte):
    byte = ~byte & 0xFF
    value = ((byte & 0x0F) * 8 + 132 << (byte >> 4 & 7)) - 132
    return -value if byte & 0x80 else value


def unpack_amf(payload):
    """The plain values of a command."""
    values = []
    while payload:
        kind, payload = payload[0], payload[1:]
        if kind == 0:
            values.append(struct.unpack(">d", payload[:8])[0])
            payload = payload[8:]
        elif kind == 1:
            values.append(bool(payload[0]))
            payload = payload[1:]
        elif kind == 2:
            size = int.from_bytes(payload[:2], "big")
            values.append(payload[2:2 + size].decode())
            payload = payload[2 + size:]
        elif kind == 5:
            values.append(None)
        elif kind == 3:  # what a client needs of an object: its texts
            values.append(payload)
            break
        else:
            raise ValueError(kind)
    return values


class RtmpPhone(RtmpPlayer):
    """`told`: what the server has called, as ["ringing", "180 Ringing"]."""

    def __init__(self, port, address, login="", password="", display="", timeout=10):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.buffer, self.chunk_size, self.streams = b"", 128, {}
        self.told, self.heard, self.codes, self.closed = [], [], [], False
        self.lock = threading.Lock()
        self.socket.sendall(b"\x03" + bytes(8) + os.urandom(1528))
        self.socket.sendall(self._take(1 + 1536 + 1536)[1:1537])
        app = f"sip/{address}"
        self.command("connect", 1, {"app": app, "tcUrl": f"rtmp://127.0.0.1:{port}/{app}"}, login, password, display, stream=0)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.speaker = None

    def _read(self):
        try:
            self.socket.settimeout(None)
            while True:
                kind, _, payload, _ = self.message()
                if kind == self.AUDIO and payload and payload[0] == PCMU:
                    self.heard.append((time.monotonic(), payload[1:]))
                elif kind == self.COMMAND:
                    name, _, *rest = unpack_amf(payload)
                    if name in ("onStatus", "_error", "_result"):
                        self.codes += re.findall(r"Net(?:Connection|Stream)\.[A-Za-z.]+", payload.decode(errors="replace"))
                    else:
                        self.told.append([name, *rest[1:]])
        except (EOFError, OSError):
            self.closed = True

    def say(self, *values, stream=0):
        with self.lock:
            self.command(*values, stream=stream)

    def do(self, name, *arguments):
        self.say(name, 0, None, *arguments)

    def sees(self, code, seconds=10):
        wait_until(lambda: code in self.codes, seconds, f"{code} comes: {self.codes}")
        return self

    def waits_for(self, *what, seconds=10):
        wait_until(lambda: any(each[:len(what)] == list(what) for each in self.told), seconds, f"{what} is called: {self.told}")
        return next(each for each in self.told if each[:len(what)] == list(what))

    def open(self, says=PLAYED_HZ):
        """Plays `remote` and publishes `local`, a tone of `says` Hz."""
        self.sees("NetConnection.Connect.Success")
        for number in (2, 3):
            self.say("createStream", number, None)
        self.say("play", 0, None, "remote", stream=2)
        self.sees("NetStream.Play.Start")
        self.say("publish", 0, None, "local", "live", stream=1)
        self.sees("NetStream.Publish.Start")
        self.speaker = threading.Thread(target=self._speak, args=(says,), daemon=True)
        self.speaker.start()
        return self

    def _speak(self, hz, size=RATE // 50):
        begin, number = time.monotonic(), 0
        while not self.closed:
            at = number * size
            body = bytes([PCMU]) + bytes(ulaw(int(8000 * math.sin(2 * math.pi * hz * (at + i) / RATE))) for i in range(size))
            head = b"\x04" + (number * 20 & 0xFFFFFF).to_bytes(3, "big") + len(body).to_bytes(3, "big") + bytes([8]) + struct.pack("<I", 1)
            parts = [body[i:i + 128] for i in range(0, len(body), 128)]
            try:
                with self.lock:
                    self.socket.sendall(head + b"\xc4".join(parts))
            except OSError:
                return
            number += 1
            time.sleep(max(0, begin + number * 0.02 - time.monotonic()))

    def hears(self, hz, seconds=3, least=0.95, spare=1):
        """The next seconds are nothing but that tone; `spare` of them may have a gap, since both ends play in real time."""
        begin = len(self.heard)
        wait_until(lambda: len(self.heard) - begin >= 50 * (seconds + 1), 10 + 2 * seconds, f"{seconds} s of sound come")
        samples = [linear(byte) for _, packet in self.heard[begin:] for byte in packet]
        shares = [tone_share(samples[at:at + RATE], hz, RATE) for at in range(RATE, RATE * (seconds + 1), RATE)]
        assert sorted(shares)[spare] > least, (hz, shares)

    def close(self):
        self.closed = True
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # its reader would keep it open
        self.socket.close()

    def __exit__(self, *_):
        self.close()


class Registrar(threading.Thread):
    """The server of a domain that lets one user register; `contact`: where that one is."""

    def __init__(self, user="alice", password="secret"):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.domain = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.user, self.password, self.contact, self.ended, self.asked = user, password, None, False, 0
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _proven(self, text):
        fields = dict(re.findall(r'(\w+)="?([^",\r\n]*)"?', next((line for line in text.split("\r\n") if line.startswith("Authorization:")), "")))
        if fields.get("username") != self.user:
            return False
        md5 = lambda value: hashlib.md5(value.encode()).hexdigest()  # noqa: E731
        first, second = md5(f"{self.user}:test:{self.password}"), md5(f"REGISTER:{fields['uri']}")
        return fields["response"] == md5(f"{first}:1234:{fields['nc']}:{fields['cnonce']}:{fields['qop']}:{second}")

    def run(self):
        while True:
            try:
                data, peer = self.socket.recvfrom(4096)
            except OSError:
                return
            text = data.decode(errors="replace")
            if not text.startswith("REGISTER"):
                continue
            self.asked += 1
            lines = text.split("\r\n")
            same = [line + (";tag=1" if line.startswith("To:") else "") for line in lines[1:] if line.startswith(("Via:", "From:", "To:", "Call-ID:", "CSeq:"))]
            contact = next(line for line in lines if line.startswith("Contact:"))
            if "Authorization:" not in text:
                head, more = "SIP/2.0 401 Unauthorized", ['WWW-Authenticate: Digest realm="test", nonce="1234", qop="auth", algorithm=MD5']
            elif not self._proven(text):
                head, more = "SIP/2.0 403 Forbidden", []
            else:
                self.ended = "expires=0" in contact
                self.contact = re.search(r"<([^>]*)>", contact).group(1)
                head, more = "SIP/2.0 200 OK", [] if self.ended else [contact]
            with contextlib.suppress(OSError):  # the test has ended
                self.socket.sendto("\r\n".join([head, *same, *more, "Content-Length: 0", "", ""]).encode(), peer)


__all__ = ["Registrar", "RtmpPhone", "amf"]
