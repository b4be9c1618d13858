"""HTTP and WebSocket peers that mean harm, beside a stream that plays on."""

import os
import socket
import struct
import time

import pytest

from flv import HttpFlv, WsFlv
from hostile import FULL, Feed, Peak, descriptors, resident_kib, settled_kib
from weir import SANITIZED, wait_until

MIB = 1024  # KiB
PORTS = ["http_port", "api_port"]
HOST = b"Host: x\r\n"


@pytest.fixture
def survivor(weir):
    """A stream and an HTTP-FLV player that must not fall behind, and a server that stays small."""
    with Feed(weir.rtmp_port), HttpFlv(weir.http_port) as player:
        reader = player.reader()
        first = reader.tags_until(lambda tag: tag.is_key_frame())[-1].time_ms
        with Peak(weir.process.pid) as peak:
            begun = time.monotonic()
            yield weir
            tags = reader.tags(time.monotonic() - begun + 0.3) if FULL else reader.tags_until(
                lambda tag: tag.time_ms - first > (time.monotonic() - begun) * 1000 - 500, 20)
    assert tags, "the player beside the attack got nothing"
    print(f"\n    RSS at most {peak.highest // MIB} MiB, then {resident_kib(weir.process.pid) // MIB}", end="")
    if not SANITIZED:
        assert peak.highest < 40 * MIB, f"{peak.highest} KiB resident"


def talk(port, data, seconds=10.0):
    """Sends and reads to the end, or until nothing comes for that long; what came."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), 5) as peer:
        peer.settimeout(seconds)
        try:
            peer.sendall(data)
        except ConnectionError:
            pass  # it has answered and closed before all was sent
        try:
            while more := peer.recv(65536):
                answer += more
        except (TimeoutError, ConnectionError):
            pass
    return answer


def status(answer):
    assert answer.startswith(b"HTTP/1."), answer[:100]
    return int(answer.split()[1])


ODD = {
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
    "TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(508),
    "RTMP handshake": b"\x03" + bytes(1536),
    "line feeds only": b"\n" * 5000,
    "a line without end": b"GET /" + b"a" * 2_000_000,
    "a header without end": b"GET / HTTP/1.1\r\nX: " + b"a" * 2_000_000,
    "headers without end": b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * 300_000,
    "a query of 60 KB": b"GET /?" + b"a=b&" * 15_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a bare CR": b"GET / HTTP/1.1\r" + HOST + b"\r\n\r\n",
    "zeros": bytes(10_000),
    "a body that is not wanted": b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 5000000\r\n\r\n" + bytes(5_000_000),
    "chunks without end": b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" +
                          (b"ffff\r\n" + bytes(65535) + b"\r\n") * 60,
    "a chunk of 2^64": b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
    "both framings": b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    "chunk extensions": b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"a" * 100_000 + b"\r\nx\r\n",
    "an encoding of noise": b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, banana\r\n\r\nxx",
    "dots": b"GET /../../../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n",
    "escaped dots": b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n",
    "a name of 60 KB": b"GET /live/" + b"x" * 60_000 + b".flv HTTP/1.1\r\n" + HOST + b"\r\n",
}


@pytest.mark.smoke
@pytest.mark.parametrize("port", PORTS)
def test_whatever_comes_gets_an_http_answer(survivor, port):
    wrong = []
    for name, request in ODD.items():
        answer = talk(getattr(survivor, port), request)
        if not answer.startswith(b"HTTP/1.") or not 400 <= int(answer.split()[1]) <= 599:
            wrong.append((name, answer[:80]))
    assert not wrong, wrong


ROUTES = ["/", "/live/livestream.flv", "/live/nobody.flv", "/live.json", "/api/v1/versions", "/api/v1/summaries", "/api/v1/streams",
          "/api/v1/clients", "/api/v1/clients/none", "/metrics", "/player.html", "*", "/.flv", "//.flv", "/a/.flv"]
METHODS = ["HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PROPFIND", "get", "X" * 500]


@pytest.mark.config("play { wait_publisher 0s; }")
@pytest.mark.parametrize("port", PORTS)
def test_every_method_on_every_route_is_answered(survivor, port):
    for route in ROUTES:
        for method in METHODS:
            answer = talk(getattr(survivor, port), f"{method} {route} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            code = status(answer)
            assert 200 <= code < 506, (method, route, answer[:100])
            if method == "HEAD" and route != "*":  # that is no request at all
                assert answer.endswith(b"\r\n\r\n"), (route, answer[-100:])
    assert len(survivor.clients()) == 2, "nobody was kicked"


@pytest.mark.parametrize("port, path", [("http_port", b"/live.json"), ("api_port", b"/api/v1/clients"), ("http_port", b"/")])
def test_pipelined_requests_are_answered_in_order_and_do_not_pile_up(survivor, port, path):
    """A peer that asks 20,000 times at once, then one that never reads what it asked for."""
    count = 20_000 if FULL else 3000
    one = b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    with socket.create_connection(("127.0.0.1", getattr(survivor, port)), 5) as peer:
        peer.settimeout(20)
        answers, sent, answer_tail = 0, 0, b""
        while answers < count:
            if sent < count and sent - answers < 500:
                peer.sendall(one * 100)
                sent += 100
            data = answer_tail + peer.recv(1 << 20)
            answers += data.count(b"HTTP/1.1 200")
            answer_tail = data[-11:] if not data.endswith(b"HTTP/1.1 200") else b""
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", getattr(survivor, port)))
        deaf.settimeout(1)
        with pytest.raises((TimeoutError, ConnectionError)):
            while True:
                deaf.sendall(one * 1000)


@pytest.mark.timeout(200)
def test_many_requests_leave_no_trace(survivor):
    count = 10_000 if FULL else 1000

    def ask(_):
        for _ in range(count):
            assert talk(survivor.api_port, b"GET /api/v1/summaries HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    after = settled_kib(ask, lambda: resident_kib(survivor.process.pid), limit=16 * MIB if SANITIZED else 128)
    print(f"\n    RSS after rounds of {count} requests: {after} KiB", end="")


def masked(first, payload, length=None, mask=b"\1\2\3\4"):
    size = len(payload) if length is None else length
    head = bytes([first, 0x80 | size]) if size < 126 else bytes([first, 0xFE]) + struct.pack(">H", size) if size < 65536 else \
        bytes([first, 0xFF]) + struct.pack(">Q", size)
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


WS_BAD = {
    "noise": os.urandom(5000).replace(b"\x88", b"\xff"),
    "not masked": b"\x82\x05hello",
    "reserved bits": masked(0xF2, b"x"),
    "unknown opcode": masked(0x83, b"x"),
    "a long ping": masked(0x89, b"x" * 126),
    "a split ping": masked(0x09, b"x"),
    "a continuation of nothing": masked(0x80, b"x"),
    "2^63 bytes": masked(0x82, b"", 1 << 63),
    "a message too large": masked(0x82, b"x" * 70_000),
    "fragments without end": masked(0x02, b"") + masked(0x00, b"") * 2000,
    "a close of one byte": masked(0x88, b"x"),
}


@pytest.mark.smoke
@pytest.mark.parametrize("name", WS_BAD)
def test_websocket_garbage_ends_that_player_only(survivor, name):
    with WsFlv(survivor.ws()) as player:
        player.reader().tags_until(lambda tag: tag.is_key_frame())
        player.socket.sock.sendall(WS_BAD[name])
        wait_until(lambda: len(survivor.clients()) == 2, 15, "it is closed")


def test_websocket_pings_are_answered_and_a_flood_of_them_is_bounded(survivor):
    with WsFlv(survivor.ws()) as player:
        player.reader().tags_until(lambda tag: tag.is_key_frame())
        player.socket.sock.sendall(masked(0x89, b"are you there"))
        deadline, found = time.monotonic() + 20, False
        while not found and time.monotonic() < deadline:
            opcode, frame = player.socket.recv_data_frame(True)
            found = opcode == 0xA and frame.data == b"are you there"
        assert found
        player.socket.sock.settimeout(1)
        with pytest.raises((TimeoutError, ConnectionError)):
            while True:  # and reads nothing
                player.socket.sock.sendall(masked(0x89, b"x" * 100) * 1000)


def test_players_that_talk_are_not_listened_to(survivor):
    """A second request behind the first, without end."""
    with HttpFlv(survivor.http_port) as player:
        reader = player.reader()
        for _ in range(200):
            player.socket.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
        start = reader.tag().time_ms
        reader.tags_until(lambda tag: tag.time_ms > start + 500)


@pytest.mark.config("handshake_timeout 2s;")
def test_requests_a_byte_at_a_time_end_with_the_timeout(survivor):
    peers = [socket.create_connection(("127.0.0.1", getattr(survivor, port)), 5) for port in PORTS for _ in range(100)]
    text, begun = b"GET / HTTP/1.1\r\nHost: " + b"x" * 1000, time.monotonic()
    for at in range(30):
        for peer in peers:
            try:
                peer.sendall(text[at:at + 1])
            except OSError:
                pass
        time.sleep(0.1)
    assert time.monotonic() - begun > 2.5
    wait_until(lambda: descriptors(survivor.process.pid) < 30, 15, "all were closed")
    assert peers[0].recv(1000).startswith(b"HTTP/1.1 408")
    for peer in peers:
        peer.close()
