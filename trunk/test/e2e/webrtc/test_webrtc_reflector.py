"""Media goes where the peer was shown to be: not to an address in whose name somebody sends, and soon to a new one of
the peer's own."""

import asyncio
import re
import socket
import time

from aio_peers import AioPeer
from rtc import ClockPublisher, Link, rtc_weir
from test_webrtc_attacks import check_of
from weir import wait_until

SECONDS = 8  # of media that a reflector would have got


class Victim:
    """Who never answers. Its datagrams are what an attacker sends in its name."""

    def __init__(self, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.port, self.sent, self.got = port, 0, []

    def forge(self, datagram):
        self.sent += len(datagram)
        self.socket.sendto(datagram, ("127.0.0.1", self.port))

    def look(self):
        try:
            while True:
                self.got.append(self.socket.recv(4096))
        except BlockingIOError:
            pass
        got = sum(len(one) for one in self.got)
        assert got <= 3 * self.sent, f"{self.sent} bytes in its name brought it {got}"
        assert all(one[0] < 64 for one in self.got), "media"


def credentials(peer):
    """Of the server's side of a session, as whoever made the offer knows them."""
    sdp = peer.pc.remoteDescription.sdp
    return re.search(r"a=ice-ufrag:(\S+)", sdp)[1], re.search(r"a=ice-pwd:(\S+)", sdp)[1].encode()


def test_a_playing_session_is_no_reflector(new_weir, folder):
    weir = rtc_weir(new_weir)

    async def attack():
        async with AioPeer() as peer:
            await peer.play(weir)
            await peer.wait_video(10)
            victim = Victim(weir.rtc_port)
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                victim.forge(check_of(*credentials(peer)))
                await asyncio.sleep(0.2)
                victim.look()
            seen = len(peer.video)
            await peer.wait_video(seen + 10)  # it goes on where it was
            # Nor when the player has gone without a word.
            await peer.pc.getTransceivers()[0].receiver.transport.transport.stop()
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                victim.forge(check_of(*credentials(peer)))
                await asyncio.sleep(0.2)
                victim.look()
            assert victim.got, "it was answered, within the limit"
            print(f"{victim.sent} bytes sent in its name, {sum(len(one) for one in victim.got)} came")

    with ClockPublisher(weir.rtmp(), folder, gop=25):
        weir.wait_live()
        asyncio.run(attack())


def test_an_offer_is_no_reflector_of_handshakes(new_weir, folder):
    weir = rtc_weir(new_weir)

    async def attack():
        async with AioPeer() as peer:
            hello = []
            # What the peer sends never arrives, and an attacker sends its ClientHello in the victim's name, once: the
            # server repeats its flight by itself.
            with Link(weir.rtc_port, drop=lambda up, one: up and one[0] == 22 and bool(hello.append(one) or True)) as link:
                await peer.play(weir, link=link)
                deadline = time.monotonic() + 20
                while not hello:
                    assert time.monotonic() < deadline, "no ClientHello"
                    await asyncio.sleep(0.05)
                victim = Victim(weir.rtc_port)
                victim.forge(check_of(*credentials(peer)))
                victim.forge(hello[0])
                for _ in range(25):
                    await asyncio.sleep(0.2)
                    victim.look()
                assert victim.got

    with ClockPublisher(weir.rtmp(), folder, gop=25):
        weir.wait_live()
        asyncio.run(attack())


def test_a_player_behind_a_nat_that_forgot_it_gets_its_media_soon_after_its_first_check(new_weir, folder):
    """aiortc checks every five seconds and nominates only once: its media from the new port has to be enough."""
    weir = rtc_weir(new_weir)
    check_seen, media_seen = [], []

    def watch(up, datagram):
        if rebound:
            if up and datagram[0] <= 3 and not check_seen:
                check_seen.append(time.monotonic())
            if not up and datagram[0] >= 128 and check_seen and not media_seen:
                media_seen.append(time.monotonic())
        return False

    rebound = []

    async def move(link):
        async with AioPeer() as peer:
            await peer.play(weir, link=link)
            await peer.wait_video(10)
            link.rebind()
            rebound.append(time.monotonic())
            deadline = time.monotonic() + 30
            while not media_seen:
                assert time.monotonic() < deadline, f"no media at the new address; check: {bool(check_seen)}"
                await asyncio.sleep(0.02)
            await peer.wait_video(len(peer.video) + 10)

    with ClockPublisher(weir.rtmp(), folder, gop=25), Link(weir.rtc_port, delay_ms=20, drop=watch) as link:
        weir.wait_live()
        asyncio.run(move(link))
    took = media_seen[0] - check_seen[0]
    print(f"media {took:.2f} s after the first check from the new address")
    assert took < 4.5, took  # half a second if nothing stands still; its second check comes after five
    wait_until(lambda: len(weir.clients()) <= 1, 20, "the session ends")
