"""Any bytes on any port: an error or a close, and nobody else notices."""

import random
import socket
import struct
import time

import pytest

from flv import HttpFlv
from media import check_both, play_ffmpeg, publisher
from relays import metric
from rtmp import amf
from weir import is_late, wait_until

ROUNDS = 60
SEED = 20240611


def send(port, data, linger=0.05, receive=False):
    """Sends bytes, reads for a moment, leaves. What came back."""
    answer = b""
    try:
        with socket.create_connection(("127.0.0.1", port), 20) as peer:
            peer.sendall(data)
            peer.settimeout(20 if receive else linger)
            while True:
                more = peer.recv(65536)
                if not more:
                    break
                answer += more
                if receive and b"\r\n\r\n" in answer:
                    break
    except (TimeoutError, ConnectionError):
        pass
    return answer


def garbage(random_source):
    """Inputs of many shapes: noise, a good start and then noise, one byte, nothing at all."""
    noise = random_source.randbytes(random_source.choice([0, 1, 9, 100, 1537, 4000, 70000]))
    handshake = b"\x03" + random_source.randbytes(1536) + random_source.randbytes(1536)
    starts = [b"", b"\x03", b"\x06", handshake, b"GET / HTTP/1.1\r\n", b"GET /live/livestream.flv HTTP/1.1\r\nHost: x\r\n",
              b"POST /api/v1/clients HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"]
    return random_source.choice(starts) + noise


@pytest.mark.smoke
def test_garbage_on_every_port_disturbs_nobody(weir, folder):
    source = random.Random(SEED)
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        with HttpFlv(weir.http_port) as player:
            reader = player.reader()
            reader.tags_until(lambda tag: tag.is_key_frame())
            for _ in range(ROUNDS):
                for port in (weir.rtmp_port, weir.http_port, weir.api_port):
                    send(port, garbage(source), linger=0.01)
            tags = reader.tags(1.5)
        times = [tag.time_ms for tag in tags if tag.type == 9]
        assert len(times) > 20 and times == sorted(times)
        check_both(play_ffmpeg(weir.rtmp(), folder, 2), 1.5)
    # One throttled line each at most, not a flood.
    assert len(weir.log().splitlines()) < 6 * ROUNDS * 3


def rtmp_message(kind, payload, chunk=128):
    head = b"\x03" + bytes(3) + len(payload).to_bytes(3, "big") + bytes([kind]) + bytes(4)
    return head + b"\xc3".join(payload[at:at + chunk] for at in range(0, len(payload), chunk))


HANDSHAKE = b"\x03" + bytes(8) + bytes(1528) + bytes(1536)
NESTED = b"\x02\0\x07connect\0" + struct.pack(">d", 1) + b"\x03\0\x01a" * 3000
EVIL_RTMP = {
    "amf objects nested 3000 deep": rtmp_message(20, NESTED),
    "a stream name of 6 KB": rtmp_message(20, amf("connect") + amf(1) + amf({"app": "live"})) +
    rtmp_message(20, amf("createStream") + amf(2) + amf(None)) +
    rtmp_message(20, amf("publish") + amf(3) + amf(None) + amf("x" * 6000) + amf("live")),
    "a message of 16 MB announced": b"\x03" + bytes(3) + b"\xff\xff\xff" + bytes([20]) + bytes(4) + bytes(100000),
    "chunk size 0": rtmp_message(1, bytes(4)) + rtmp_message(20, amf("connect")),
    "chunk size 2^31": rtmp_message(1, b"\x80\0\0\0"),
    "a string longer than its message": rtmp_message(20, b"\x02\xff\xff"),
    "type 3 chunk first": b"\xc5" + bytes(200),
    "many chunk streams": b"".join(b"\x01" + struct.pack("<H", number) + bytes(3) + b"\0\xff\xff\x09" + bytes(4) + bytes(128)
                                   for number in range(2000)),
    "media before publish": rtmp_message(9, b"\x17\0\0\0\0") * 50,
    "unknown message types": b"".join(rtmp_message(kind, b"xyz") for kind in range(23, 200)),
}


@pytest.mark.parametrize("name", EVIL_RTMP)
def test_evil_rtmp_is_survived(weir, name):
    for _ in range(3):
        send(weir.rtmp_port, HANDSHAKE + EVIL_RTMP[name], linger=0.3)
    assert weir.process.poll() is None, weir.log()[-2000:]
    assert weir.api("/api/v1/versions")["code"] == 0


BAD_REQUESTS = {
    "no version": b"GET /\r\n\r\n",
    "version 9.9": b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "a method of noise": b"\x01\x02\x03 / HTTP/1.1\r\nHost: x\r\n\r\n",
    "unknown method": b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a line of 100 KB": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "a header of 100 KB": b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    "2000 headers": b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(2000)) + b"\r\n",
    "a header without colon": b"GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n",
    "a space before the colon": b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    "a body too large": b"POST /api/v1/clients HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n",
    "a length that is no number": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "a bad chunk": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a bad escape": b"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
    "an escaped zero": b"GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n",
    "not WebSocket after all": b"GET /live/a.flv HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "a short WebSocket key": b"GET /live/a.flv HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: abc\r\n\r\n",
}


@pytest.mark.smoke
@pytest.mark.parametrize("port", ["http_port", "api_port"])
def test_every_malformed_request_is_answered(weir, port):
    unanswered, wrong = [], []
    for name, request in BAD_REQUESTS.items():
        answer = send(getattr(weir, port), request, receive=True)
        if not answer.startswith(b"HTTP/1."):
            unanswered.append((name, answer[:60]))
        elif not 400 <= int(answer.split()[1]) <= 599:
            wrong.append((name, answer[:60]))
    assert not unanswered and not wrong, (unanswered, wrong)
    assert weir.process.poll() is None


def test_request_byte_by_byte_is_understood(weir):
    with socket.create_connection(("127.0.0.1", weir.api_port), 20) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in b"GET /api/v1/versions HTTP/1.1\r\nHost: x\r\n\r\n":
            peer.sendall(bytes([byte]))
        assert peer.recv(4096).startswith(b"HTTP/1.1 200")


@pytest.mark.config("handshake_timeout 1s;")
def test_silent_connection_is_closed(weir):
    for port in (weir.rtmp_port, weir.http_port):
        with socket.create_connection(("127.0.0.1", port), 60) as peer:
            started = time.monotonic()
            try:
                while peer.recv(4096):
                    pass
            except ConnectionError:
                pass
            assert not is_late(started, 5), "the default is 10 s"


def test_many_connections_come_and_go_without_a_trace(weir, folder):
    """Random bytes from many connections, twice: the second round ends with the memory of the first."""
    source, after = random.Random(SEED), []
    for _ in range(2):
        for _ in range(1000):
            with socket.create_connection(("127.0.0.1", weir.rtmp_port), 20) as peer:
                peer.sendall(source.randbytes(source.choice([1, 100, 2000])))
        wait_until(lambda: metric(weir, "weir_connections") <= 1, 20, "all have gone but for who asks")
        time.sleep(1)
        after.append(weir.private_kib())
    assert after[1] < after[0] + 1024 and after[1] < 25 * 1024, after
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
