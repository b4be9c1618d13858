"""RTSP clients that mean no good, in numbers: the server stays as it is, and others play on."""

import contextlib
import random
import re
import resource
import select
import socket
import threading

import pytest

from hostile import Feed, descriptors
from rtsp import Client, rtsp_weir
from weir import wait_until

MOST = 10_000
SPARE = 200  # connections and descriptors that the test itself and the other clients need


@pytest.fixture
def playing(new_weir):
    """A server whose stream is played over TCP: (server, the player)."""
    server = rtsp_weir(new_weir)
    with Feed(server.rtmp_port, gop=25):
        server.wait_live()
        with Client(server.rtsp_port, server.rtsp()) as player:
            _, answers = player.set_up(["RTP/AVP/TCP;unicast;interleaved=0-1"])
            assert player.request("PLAY").status == 200, answers
            player.frame(0)
            with Watcher(player.socket) as watcher:
                yield server, watcher


class Watcher(threading.Thread):
    """Reads what a player gets."""

    def __init__(self, stream):
        super().__init__(daemon=True)
        self.stream, self.bytes = stream, 0

    def run(self):
        self.stream.settimeout(None)
        with contextlib.suppress(OSError):
            while data := self.stream.recv(65536):
                self.bytes += len(data)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stream.shutdown(socket.SHUT_RDWR)
        self.join(10)


def plays_on(player):
    before = player.bytes
    wait_until(lambda: player.bytes > before + 20_000, 20, "the player gets more")
    return True


def test_connections_that_only_say_options(playing):
    server, player = playing
    most = min(MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0]) - SPARE
    before = descriptors(server.process.pid)
    crowd, waiting = [], {}
    try:
        for _ in range(most):
            one = socket.create_connection(("127.0.0.1", server.rtsp_port), 10)
            one.sendall(b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n")
            crowd.append(one)
        poll = select.poll()
        for one in crowd:
            waiting[one.fileno()] = one
            poll.register(one, select.POLLIN)
        answered = 0
        while waiting:
            ready = poll.poll(10_000)
            assert ready, f"{answered} of {most} were answered"
            for number, _ in ready:
                answered += waiting.pop(number).recv(4096).startswith(b"RTSP/1.0 200")
                poll.unregister(number)
        assert answered == most
        assert plays_on(player)
        # They go, though nobody closes them: no PLAY came.
        wait_until(lambda: descriptors(server.process.pid) < before + SPARE, 60, "the crowd is gone")
    finally:
        for one in crowd:
            one.close()
    assert plays_on(player)


def test_many_options_on_one_connection(playing):
    server, player = playing
    with Client(server.rtsp_port, "*") as client:
        client.request("OPTIONS")
        before = server.private_kib()
        for _ in range(100):
            for _ in range(100):
                client.say("OPTIONS")
            for _ in range(100):
                found = client.answer()
                assert found.status == 200
            assert int(found.fields["cseq"]) == client.cseq, "answered in their order"
        assert server.private_kib() - before < 1024
    assert plays_on(player)


def test_a_flood_of_datagrams_from_strangers(playing):
    server, player = playing
    noise = random.Random(1)
    mine = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    mine.bind(("127.0.0.1", 0))
    port = mine.getsockname()[1]

    def strangers():
        return int(re.search(r"^weir_rtsp_udp_strangers_total (\d+)", server.metrics(), re.M).group(1))

    with Client(server.rtsp_port, server.rtsp()) as by_udp:
        by_udp.set_up([f"RTP/AVP;unicast;client_port={port}-{port + 1}"])
        assert by_udp.request("PLAY").status == 200
        mine.settimeout(10)
        mine.recv(2048)
        before, grown = server.private_kib(), strangers()
        sent = 0
        for stranger in range(2, 12):
            counted = strangers()
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
                flood.bind((f"127.0.0.{stranger}", 0))
                for number in range(2000):
                    flood.sendto(noise.randbytes(noise.randrange(1, 1400)), ("127.0.0.1", server.rtsp_media_port + number % 2))
                    sent += 1
            # The kernel drops what does not fit the socket's buffer; each that came in is counted.
            wait_until(lambda: strangers() > counted + 50, 15, "strangers are counted")
        assert strangers() - grown <= sent
        assert server.private_kib() - before < 2048
        for _ in range(50):
            mine.recv(2048)
        assert by_udp.request("GET_PARAMETER").status == 200
        assert by_udp.request("TEARDOWN").status == 200
    mine.close()
    assert plays_on(player)


class Wanderer(threading.Thread):
    """Opens sessions of any kind, and leaves them at any point; has up to `most` open. A session by UDP outlives its connection
    by a minute, so those are ended by TEARDOWN."""

    def __init__(self, server, seed, sessions, most):
        super().__init__(daemon=True)
        self.server, self.random, self.sessions, self.most, self.error = server, random.Random(seed), sessions, most, None

    def begin(self):
        client = Client(self.server.rtsp_port, self.server.rtsp())
        steps = self.random.randrange(4)
        port = self.random.randrange(61000, 65000, 2)  # where no other test has sockets
        udp = self.random.randrange(2)
        transport = f"RTP/AVP;unicast;client_port={port}-{port + 1}" if udp else "RTP/AVP/TCP;unicast;interleaved=0-1"
        if steps == 0:
            client.send("SETUP rtsp://")  # and never the rest
        if steps > 0:
            client.set_up([transport] if steps > 1 else [])
        if steps > 2:
            assert client.request("PLAY").status == 200
        client.stays = udp and steps > 2
        return client

    def run(self):
        try:
            opened = []
            for number in range(self.sessions):
                opened.append(self.begin())
                while len(opened) > self.most or (opened and number == self.sessions - 1):
                    client = opened.pop(self.random.randrange(len(opened)))
                    with client:
                        if client.session and (client.stays or self.random.randrange(2)):
                            client.request("TEARDOWN")
        except Exception as error:  # is raised in the test's own thread
            self.error = error


def test_sessions_that_come_and_go_leave_nothing(playing):
    server, player = playing
    before = descriptors(server.process.pid)
    memory = []
    for turn in range(3):
        wanderers = [Wanderer(server, 10 * turn + number, sessions=1000, most=200) for number in range(4)]
        for wanderer in wanderers:
            wanderer.start()
        for wanderer in wanderers:
            wanderer.join(120)
            assert wanderer.error is None, wanderer.error
        wait_until(lambda: len(server.clients()) == 2, 20, "only the publisher and the player are there")
        wait_until(lambda: descriptors(server.process.pid) <= before, 20, "no descriptor is left open")
        memory.append(server.private_kib())
    assert memory[2] - memory[1] < 512, memory
    assert plays_on(player)
