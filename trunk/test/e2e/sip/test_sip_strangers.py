"""SIP: what somebody gets who has proven nothing, and what others get meanwhile."""

import contextlib
import multiprocessing
import secrets
import socket
import statistics
import time

import pytest

from sip import sip_weir
from sip_raw import ELSEWHERE, HERE, NoMessage, RawPhone
from test_sip import PCMU, tone_publisher

FACTOR = 3  # bytes out by bytes in of an address that has proven nothing
FLOOD = 5_000  # requests a second
REGISTRATIONS = 20


def received(sock, seconds):
    """Datagrams that come in that time."""
    out, end = [], time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        sock.settimeout(left)
        with contextlib.suppress(TimeoutError):
            out.append(sock.recv(65536))
    return out


def message(method, port, number=None):
    """As a phone sends it, without a login."""
    number = number or secrets.token_hex(8)
    return (f"{method} sip:100@{HERE}:{port} SIP/2.0\r\nVia: SIP/2.0/UDP {HERE}:5070;branch=z9hG4bK{number};rport\r\n"
            f"Max-Forwards: 70\r\nFrom: <sip:x@{HERE}>;tag=a73kszlfl\r\nTo: <sip:100@{HERE}>\r\nCall-ID: {number}\r\n"
            f"CSeq: 1 {method}\r\nContact: <sip:x@{HERE}:5070>\r\nContent-Length: 0\r\n\r\n").encode()


@pytest.mark.parametrize("config", ["user alice geheim;", "digest both; user alice geheim;", "trunk 127.0.0.1;", ""],
                         ids=["users", "both digests", "trunk", "nobody"])
def test_a_refusal_is_sent_once(new_weir, config):
    """At T1 of 50 ms a refusal that is sent again would come seven times in these seconds."""
    server = sip_weir(new_weir, f"{config} timer_t1 50ms;")
    for method in ("INVITE", "REGISTER", "OPTIONS", "MESSAGE", "SUBSCRIBE", "BYE", "NONSENSE"):
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
            sock.connect((HERE, server.sip_port))
            request = message(method, server.sip_port)
            sock.send(request)
            answers = received(sock, 3 if method == "INVITE" else 0.5)
            assert len(answers) == 1, (method, [each.split(b"\r\n")[0] for each in answers])
            assert len(answers[0]) <= FACTOR * len(request), (method, len(request), answers[0])
            sock.send(request)  # it was lost: each request has an answer
            assert len(received(sock, 0.5)) == 1, method


def send_flood(port, a_second, sent, over):
    """INVITEs of nobody, each another call, until `over`."""
    pattern = message("INVITE", port, "%012x")
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
        sock.bind((ELSEWHERE, 0))
        begun = time.monotonic()
        while not over.is_set():
            while not over.is_set() and sent.value < (time.monotonic() - begun) * a_second:
                sock.sendto(pattern.replace(b"%012x", b"%012x" % sent.value), (HERE, port))
                sent.value += 1
            time.sleep(0.002)


@contextlib.contextmanager
def flood(port, a_second=FLOOD):
    """A process of its own sends, until the end of the block. Gives the number that it has sent."""
    sent, over = multiprocessing.Value("q", 0, lock=False), multiprocessing.Event()
    process = multiprocessing.Process(target=send_flood, args=(port, a_second, sent, over))
    process.start()
    try:
        yield sent
    finally:
        over.set()
        process.join()


class ImpatientPhone(RawPhone):
    """Sends again, in another dialog, what gets no answer in half a second (timer E)."""

    def next(self, seconds=0.5):
        return super().next(seconds)


def register(server):
    """Seconds until a phone that begins now is registered, at most 5."""
    begun = time.monotonic()
    while time.monotonic() - begun < 5:
        with ImpatientPhone(server.sip_port, user="alice") as phone:
            with contextlib.suppress(NoMessage, AssertionError, AttributeError):
                phone.register("geheim")
                return time.monotonic() - begun
        time.sleep(0.1)
    return time.monotonic() - begun


@pytest.mark.timeout(200)
def test_a_phone_registers_during_a_flood(new_weir):
    """It has lasted eleven seconds then: a table of 50,000 that held each of them would be full."""
    server = sip_weir(new_weir, "user alice geheim; dial 100 live/livestream;")
    with flood(server.sip_port) as sent:
        deadline = time.monotonic() + 30
        while sent.value < 55_000 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert sent.value >= 55_000, "the flood is none"
        begun, before = time.monotonic(), sent.value
        took = sorted(register(server) for _ in range(REGISTRATIONS))
        rate = (sent.value - before) / (time.monotonic() - begun)
    print(f"{len(took)} registrations during {rate:.0f} INVITEs a second: p50 {statistics.median(took) * 1000:.0f} ms, "
          f"max {took[-1] * 1000:.0f} ms")
    assert statistics.median(took) < 1, took


def test_no_media_before_the_ack(new_weir, folder):
    """Nor to a host that an acknowledged call only names, until something comes from there."""
    server = sip_weir(new_weir, "trunk 127.0.0.1; dial 100 live/livestream;")
    with tone_publisher(server.rtmp(), folder, PCMU), RawPhone(server.sip_port) as phone:
        server.wait_live()
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as victim:
            victim.bind((ELSEWHERE, 0))
            offer = (f"v=0\r\no=- 1 1 IN IP4 {ELSEWHERE}\r\ns=-\r\nc=IN IP4 {ELSEWHERE}\r\nt=0 0\r\n"
                     f"m=audio {victim.getsockname()[1]} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na=recvonly\r\n")
            phone.invite("100", offer)
            answer = phone.wait_status()
            assert answer.status == 200, answer.first
            assert received(victim, 3) == []
            phone.ack()
            assert sum(len(each) for each in received(victim, 3)) <= FACTOR * len(offer)
            victim.sendto(b"\x80\xc9\0\x01\0\0\0\x01", phone.to_media[:1] + (phone.to_media[1] + 1,))  # an empty report of RTCP
            assert len(received(victim, 3)) > 50
