"""Whatever comes to the UDP port or as an offer: the stream that plays does not notice, and nothing of it stays."""

import asyncio
import binascii
import contextlib
import hashlib
import hmac
import json
import random
import re
import socket
import struct
import sys
import threading
import time

import pytest

from aio_peers import AioPeer
from aio_peers import __file__ as aio_script
from media import Program
from rtc import ClockPublisher, Link, http, objects, rtc_weir, whep_path, whip_path
from test_webrtc_aiortc import check_codes
from weir import SANITIZED, patience, wait_until

SEED = 20240611
FLOOD = 10_000 if SANITIZED else 100_000
SESSION = ("rtc_session", "rtc_player", "rtc_publisher", "rtc_sender", "rtc_ingest", "ice_agent", "dtls_transport", "client")


def sessions_of(weir):
    """Live objects of what one session is made of."""
    live = objects(weir)
    return {name: live.get(name, 0) for name in SESSION}


@contextlib.contextmanager
def bystander(weir, link=None):
    """A stream that an aiortc player decodes while the block runs; every picture of it must come, at its time."""
    ready, ending, result = threading.Event(), threading.Event(), {}

    async def watch():
        async with AioPeer() as peer:
            await peer.play(weir, link=link)
            await peer.wait_video(10, 20)
            await asyncio.sleep(1)
            del peer.video[:]
            ready.set()
            while not ending.is_set():
                await asyncio.sleep(0.05)
            result["video"] = peer.video[:]

    def body():
        try:
            asyncio.run(watch())
        except BaseException as error:
            result["error"] = error
            ready.set()

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    assert ready.wait(60) and "error" not in result, result
    began = time.monotonic()
    try:
        yield result
    finally:
        ending.set()
        thread.join(20)
    seconds = time.monotonic() - began
    assert "error" not in result, result
    check_codes(result["video"], least=int(20 * (seconds - 2)))
    gaps = [b - a for (a, *_), (b, *_) in zip(result["video"], result["video"][1:])]
    # The machine may stand still, too, but not as long as what disturbs goes on.
    assert max(gaps) < 2.5 * patience(), f"the player stood still for {max(gaps):.2f} s"


def stun(kind, attributes, transaction=None, key=None):
    """A STUN message with its integrity and fingerprint."""
    body = b""
    for number, value in attributes:
        body += struct.pack(">HH", number, len(value)) + value + bytes(-len(value) % 4)
    transaction = transaction or random.randbytes(12)

    def head(length):
        return struct.pack(">HHI", kind, length, 0x2112A442) + transaction
    if key is not None:
        body += struct.pack(">HH", 8, 20) + hmac.new(key, head(len(body) + 24) + body, hashlib.sha1).digest()
    crc = binascii.crc32(head(len(body) + 8) + body) ^ 0x5354554E
    return head(len(body) + 8) + body + struct.pack(">HHI", 0x8028, 4, crc)


def check_of(ufrag, key, nominate=True):
    """An ICE check for that user name."""
    return stun(1, [(6, f"{ufrag}:peer".encode()), (0x802A, bytes(8)), (0x24, b"\x6e\x7f\x1e\xff"),
                    *([(0x25, b"")] if nominate else [])], key=key)


def evil_datagrams(source):
    """Noise and damaged packets of all kinds that share the port."""
    rtp = b"\x80\x60" + source.randbytes(30)
    rtcp = b"\x80\xc8\0\x06" + source.randbytes(24)
    dtls = b"\x16\xfe\xfd" + bytes(8) + b"\0\x40" + b"\x01\0\0\x34" + source.randbytes(60)
    alert = b"\x15\xfe\xfd\0\x01" + source.randbytes(6) + b"\0\x02\x01\0"
    good = check_of("x" * 8, b"k" * 24)
    base = source.choice([rtp, rtcp, dtls, alert, good, source.randbytes(source.choice([1, 12, 100, 1400]))])
    cut = base[:source.randrange(1, len(base) + 1)]
    spoilt = bytearray(base)
    spoilt[source.randrange(len(spoilt))] ^= 1 << source.randrange(8)
    return [base, cut, bytes(spoilt), base + source.randbytes(50)]


def test_garbage_on_the_port_disturbs_nobody(new_weir, folder):
    weir = rtc_weir(new_weir)
    source = random.Random(SEED)
    with ClockPublisher(weir.rtmp(), folder, gop=25), Link(weir.rtc_port) as link:
        weir.wait_live()
        with bystander(weir, link):
            before = sessions_of(weir)
            strangers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(20)]
            for number in range(5000):
                for datagram in evil_datagrams(source):
                    source.choice(strangers).sendto(datagram, ("127.0.0.1", weir.rtc_port))
                    if number % 4 == 0:  # also from the player's own address
                        for own in list(link.peers):
                            own.sendto(datagram, ("127.0.0.1", weir.rtc_port))
                if number % 100 == 0:
                    time.sleep(0.05)
            for stranger in strangers:
                stranger.close()
            assert sessions_of(weir) == before
    assert len(weir.log().splitlines()) < 60, "no flood of lines"


def test_floods_of_checks_with_wrong_credentials_cost_nothing(new_weir, folder):
    weir = rtc_weir(new_weir)
    with ClockPublisher(weir.rtmp(), folder, gop=25):
        weir.wait_live()
        with bystander(weir):
            # A session that waits for its peer: its user name is right, the password is not.
            offer = asyncio.run(make_offer())
            status, fields, answer = http(weir, whep_path("livestream"), body=offer)
            assert status == 201, answer
            ufrag = re.search(r"a=ice-ufrag:(\S+)", answer)[1]
            flood = [check_of(random.randbytes(4).hex(), b"p" * 24) for _ in range(200)] + \
                [check_of(ufrag, random.randbytes(24)) for _ in range(200)]
            time.sleep(1)
            before, memory = sessions_of(weir), weir.private_kib()
            with contextlib.ExitStack() as stack:
                ports = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(50)]
                answers, began = 0, time.monotonic()
                for number in range(FLOOD):
                    ports[number % 50].sendto(flood[number * 7 % len(flood)], ("127.0.0.1", weir.rtc_port))
                    if number % 500 == 0:
                        time.sleep(0.01)
                        if time.monotonic() - began > 10:  # the session that waits must not end before the flood does
                            break
                took = time.monotonic() - began
                assert number > 5000, number
                for port in ports:
                    port.setblocking(False)
                    with contextlib.suppress(BlockingIOError):
                        while port.recv(2000):
                            answers += 1
            after = sessions_of(weir)
            print(f"{number + 1} checks in {took:.1f} s, {answers} answers, {weir.private_kib() - memory:+} KiB")
            assert after == before and weir.private_kib() - memory < 1024, (before, after, weir.private_kib() - memory)
            assert answers <= 8, answers
            assert http(weir, fields["Location"], "DELETE")[0] == 200


async def make_offer():
    async with AioPeer() as peer:
        peer.pc.addTransceiver("audio", direction="recvonly")
        peer.pc.addTransceiver("video", direction="recvonly")
        await peer.pc.setLocalDescription(await peer.pc.createOffer())
        return peer.pc.localDescription.sdp


def test_offers_of_any_kind_are_answered_and_leave_nothing(new_weir, folder):
    weir = rtc_weir(new_weir)
    source = random.Random(SEED)
    with ClockPublisher(weir.rtmp(), folder):
        weir.wait_live()
        time.sleep(0.5)
        before = sessions_of(weir)
        offer = asyncio.run(make_offer())
        lines = offer.splitlines()
        evil = {"nothing": b"", "noise": source.randbytes(2000), "one line": b"v=0\r\n", "html": b"<html></html>" * 50,
                "huge": offer.encode() + b"a=x:" + b"y" * 300_000, "a line of 60 KB": offer + "a=x:" + "y" * 60_000 + "\r\n",
                "many lines": offer + "a=x\r\n" * 12_000, "many sections": offer + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n" * 100,
                "zeros": bytes(5000), "no fingerprint": "\r\n".join(one for one in lines if "fingerprint" not in one) + "\r\n",
                "no ICE": "\r\n".join(one for one in lines if "ice-" not in one) + "\r\n"}
        for size in range(0, len(offer), 97):
            evil[f"cut at {size}"] = offer[:size]
        for number in range(100):
            spoilt = bytearray(offer.encode())
            for _ in range(source.randrange(1, 20)):
                spoilt[source.randrange(len(spoilt))] = source.randrange(256)
            evil[f"spoilt {number}"] = bytes(spoilt)
        statuses = {}
        for name, body in evil.items():
            for path in (whep_path("livestream"), whip_path("evil")):
                status, fields, text = http(weir, path, body=body)
                statuses[status] = statuses.get(status, 0) + 1
                assert status in (201, 400, 413, 422), (name, status, text)
                assert status == 201 or len(text) > 10, (name, status, text)
                if status == 201:
                    assert name.startswith(("spoilt", "cut")), (name, text)
                    assert http(weir, fields["Location"], "DELETE")[0] == 200
        print(statuses)
        wait_until(lambda: sessions_of(weir) == before, 10, f"nothing stays: {before}")


def test_slow_offers_hold_nobody_up(new_weir, folder):
    weir = rtc_weir(new_weir)
    with ClockPublisher(weir.rtmp(), folder), contextlib.ExitStack() as stack:
        weir.wait_live()
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", weir.http_port))) for _ in range(100)]
        for one in slow:
            one.sendall(f"POST {whep_path('livestream')} HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\n"
                        f"Content-Length: 60000\r\n\r\nv=0\r\n".encode())

        async def play():
            began = time.monotonic()
            async with AioPeer() as peer:
                await peer.play(weir)
                await peer.wait_video()
                return time.monotonic() - began

        took = asyncio.run(play())
        for one in slow:
            one.sendall(b"o")
        took = min(took, asyncio.run(play()))
        assert took < 3 * patience(), f"{took:.1f} s to the first picture beside 100 slow offers"
        wait_until(lambda: sessions_of(weir)["rtc_session"] == 0, 15, "both players are gone")


@pytest.mark.timeout(120)
def test_vanished_peers_are_gone_within_their_consent(new_weir, folder):
    weir = rtc_weir(new_weir)
    with ClockPublisher(weir.rtmp(), folder):
        weir.wait_live()
        time.sleep(0.5)
        before = sessions_of(weir)
        with Program("aio-publisher", [sys.executable, aio_script, weir.http(""), "vanishing"], folder,
                     stdout=folder / "aio.json") as peer:
            wait_until(lambda: "connected" in (folder / "aio.json").read_text(), 30, "it publishes")
            player = Program("aio-player", [sys.executable, aio_script, weir.http(""), "livestream", "play"], folder,
                             stdout=folder / "player.json")
            with player:
                wait_until(lambda: "connected" in (folder / "player.json").read_text(), 30, "it plays")
                assert sessions_of(weir)["rtc_session"] == before["rtc_session"] + 2
                peer.kill()
                player.kill()
                killed = time.monotonic()
        publishers = wait_until(lambda: not any(one["name"] == "vanishing" and one["publish"]["active"]
                                                for one in weir.streams()), 15, "the publisher is found silent")
        assert publishers
        wait_until(lambda: sessions_of(weir) == before, 36, f"nothing of them stays: {before}")
        print(f"gone after {time.monotonic() - killed:.1f} s")
    assert json.loads((folder / "player.json").read_text())["connected"]
