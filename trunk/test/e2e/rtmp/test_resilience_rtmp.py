"""RTMP peers that mean harm: each attack leaves the server's memory bounded, the API answering and a stream playing."""

import contextlib
import os
import random
import struct
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from flv import HttpFlv
from hostile import AVC_CONFIG, FULL, Feed, Peak, Peer, chunk, command, frame, resident_kib
from rtmp import amf
from weir import SANITIZED, patience, wait_until

MIB = 1024  # KiB
SECONDS = 5 if FULL else 1.0  # of each flood
MEMORY = 48 * MIB  # that any of these may take at most, with what an idle server has
ANSWER = 2.0 if SANITIZED else 0.4  # seconds of work before the API answers


class WorkProbe(threading.Thread):
    """Asks the API all the time. `worst`: the most processor time, in seconds, that the server took before an answer; how long
    others of the machine kept the processor from it does not count. `took`: each answer by the clock."""

    def __init__(self, weir):
        super().__init__(daemon=True)
        self.url, self.worst, self.took, self.errors = f"http://127.0.0.1:{weir.api_port}/api/v1/versions", 0.0, [], []
        self.stat = Path(f"/proc/{weir.process.pid}/stat")
        self.ending = threading.Event()

    def worked(self):
        user, system = self.stat.read_text().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def run(self):
        while not self.ending.wait(0.02):
            before, began = self.worked(), time.monotonic()
            try:
                urllib.request.urlopen(self.url, timeout=5).read()
            except OSError as error:  # also that it took 5 s
                self.errors.append(error)
            self.worst = max(self.worst, self.worked() - before)
            self.took.append(time.monotonic() - began)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.join(10)


@pytest.fixture
def survivor(weir):
    """A stream with a player beside the attack; both must be well at its end, and the attack must have been cheap."""
    with Feed(weir.rtmp_port, "survivor") as feed, Peer(weir.rtmp_port) as player:
        player.play("survivor").wait_for(b"Play.Start")
        with Peak(weir.process.pid) as peak, WorkProbe(weir) as probe:
            yield weir
            time.sleep(0.2)
        assert player.drain(), "the player beside the attack was closed"
        assert player._recv(65536), "and plays on"
        assert feed.error is None, feed.error
    print(f"\n    RSS at most {peak.highest // MIB} MiB, then {resident_kib(weir.process.pid) // MIB}; at most "
          f"{probe.worst * 1000:.0f} ms of work before an API answer; log {len(weir.log()) // 1024} KiB", end="")
    assert not probe.errors, probe.errors[:3]
    assert probe.worst < ANSWER, f"{probe.worst:.2f} s of work before an API answer"
    took = sorted(probe.took)
    assert took[len(took) * 9 // 10] < ANSWER * patience() and took[-1] < 3 * patience(), f"answers took {took[-10:]} s"
    assert len(weir.log()) < 64 * 1024, "the log does not grow with the attack"
    if not SANITIZED:
        assert peak.highest < MEMORY, f"{peak.highest} KiB resident"


def flood(peer, data, seconds=SECONDS):
    """The same bytes again and again; how many went, and whether the server had enough of it."""
    sent, end = 0, time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            peer.send(data)
            sent += len(data)
    except (OSError, EOFError):
        return sent, True
    return sent, False


# ---- sizes that are claimed -------------------------------------------------------------------------------------------


def test_announced_lengths_cost_nothing(survivor):
    """16 MB announced on each of 60 chunk streams, by 20 peers."""
    peers = [Peer(survivor.rtmp_port).publish(f"p{number}") for number in range(20)]
    for peer in peers:
        for chunk_stream in range(3, 63):
            peer.send(chunk(9, b"x" * 128, chunk_stream=chunk_stream, length=0xFFFFFF))
    time.sleep(0.3)


def test_unfinished_messages_are_limited_together(survivor):
    peer = Peer(survivor.rtmp_port).publish("partial").set_chunk_size(65536)
    with pytest.raises(OSError):
        for number in range(60 * 255):
            basic = 3 + number % 60
            head = bytes([basic]) + bytes(3) + b"\xff\xff\xff\x09" + struct.pack("<I", 1) if number < 60 else \
                bytes([0xC0 | basic])
            peer.send(head + bytes(65536))


def big_metadata(entries, size, mark=b"x"):
    text = mark * size
    return amf("@setDataFrame") + amf("onMetaData") + b"\x08" + struct.pack(">I", entries) + b"".join(
        struct.pack(">H", 4) + b"%04d" % number + b"\x02" + struct.pack(">H", size) + text
        for number in range(entries)) + b"\0\0\x09"


@pytest.mark.smoke
def test_large_configurations_and_metadata_are_not_kept_for_players(survivor):
    """33 tracks with 8 MB of configuration each, and metadata of 12 MB: players that join cost no copy of them."""
    with Peer(survivor.rtmp_port).publish("large", configs=False) as peer:
        peer.set_chunk_size(0xFFFFFF)
        for track in range(33):
            peer.send(chunk(9, b"\x96\0avc1" + bytes([track]) + bytes(8 << 20), chunk_stream=6, chunk_size=0xFFFFFF))
        peer.send(chunk(18, big_metadata(200, 60000), chunk_stream=5, chunk_size=0xFFFFFF))
        peer.video(0, True, chunk_size=0xFFFFFF)
        players = [Peer(survivor.rtmp_port, receive_buffer=4096).play("large") for _ in range(10)]
        time.sleep(0.5)
        assert all(player.drain() for player in players)
        survivor.wait_log("dropped")
    assert survivor.log().count("dropped") == 1, "the log says so, once"


def test_metadata_of_a_megabyte_with_each_frame(survivor):
    with Peer(survivor.rtmp_port).publish("meta") as peer, Peer(survivor.rtmp_port).play("meta") as player:
        peer.set_chunk_size(0xFFFFFF)
        for number in range(200 if FULL else 60):
            peer.send(chunk(18, big_metadata(20, 50000, b"%c" % (65 + number % 26)), time_ms=number * 40, chunk_stream=5,
                            chunk_size=0xFFFFFF))
            peer.video(number * 40, number % 50 == 0, 100, chunk_size=0xFFFFFF)
            assert peer.drain() and player.drain()


def test_endless_group_of_tiny_frames_is_not_kept(survivor):
    """2 bytes of picture a frame: what a frame costs beside its bytes counts towards the cap."""
    tiny = b"\x27\x01\0\0\0" + b"\0\0\0\2\x41\x9a"
    with Peer(survivor.rtmp_port).publish("tiny") as peer:
        peer.video(0, True)
        peer.send(chunk(9, tiny, time_ms=1, chunk_stream=6))
        rounds = 300 if FULL else 100
        for _ in range(rounds):
            peer.send((b"\xc6" + tiny) * 10_000)
        wait_until(lambda: any(stream["name"] == "tiny" and stream["recv_bytes"] > rounds * 10_000 * len(tiny)
                               for stream in survivor.streams()), 20, "all frames have come")
        assert peer.drain()


@pytest.mark.skipif(SANITIZED, reason="memory is the sanitizer's")
def test_memory_of_large_streams_is_given_back(weir):
    """Many small frames in GOPs that fill their caps, with players: some seconds after they have gone, so has the memory."""
    pid, start = weir.process.pid, resident_kib(weir.process.pid)
    body = frame(False, 100)
    peers = []
    for name in ("large1", "large2", "large3"):
        source = Peer(weir.rtmp_port).publish(name)
        source.video(0, True)
        source.send(chunk(9, body, time_ms=1, chunk_stream=6) + (b"\xc6" + body) * 100_000)
        peers += [source, Peer(weir.rtmp_port).play(name)]
    wait_until(lambda: resident_kib(pid) > start + 40 * MIB, 20, "the GOPs are there")
    for peer in peers:
        peer.socket.close()
    wait_until(lambda: resident_kib(pid) < start + 6 * MIB, 40, "the memory is given back")


# ---- floods -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, body", [(8, b"\xaf"), (8, b""), (18, b"\x05"), (99, b""), (1, b"\0\0\1\0"),
                                        (2, b"\0\0\0\7"), (3, b"\0\0\0\7"), (4, b"\0\3\0\0\0\1\0\0\0\1")])
def test_millions_of_tiny_messages_leave_time_for_others(survivor, kind, body):
    with Peer(survivor.rtmp_port).publish("flood") as peer:
        peer.send(chunk(kind, body, chunk_stream=7))
        _, closed = flood(peer, (b"\xc7" + body) * 20_000)
        assert not closed and peer.drain()


def test_chunk_size_of_one(survivor):
    with Peer(survivor.rtmp_port).publish("one").set_chunk_size(1) as peer:
        _, closed = flood(peer, chunk(9, frame(True, 30_000), chunk_stream=6, chunk_size=1))
        assert not closed and peer.drain()


@pytest.mark.parametrize("size", [0, 0x80000000, 0xFFFFFFFF])
def test_impossible_chunk_size_ends_the_connection(survivor, size):
    assert Peer(survivor.rtmp_port).set_chunk_size(size).closed_within(10)


QUESTIONS = {
    "ping": chunk(4, b"\0\6\0\0\0\1", 0, chunk_stream=2),
    "createStream": command("createStream", 2, None),
    "unknown command": command("hello", 2, None),
    "peer bandwidth": chunk(6, b"\0\0\1\0\2", 0, chunk_stream=2) + chunk(6, b"\0\0\2\0\2", 0, chunk_stream=2),
    "getStreamLength": command("getStreamLength", 2, None, "x"),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("reads", [False, True])
def test_questions_without_end(survivor, question, reads):
    """100,000 of them; a peer that does not read the answers is not read from, or closed."""
    with Peer(survivor.rtmp_port, receive_buffer=0 if reads else 4096, timeout=2) as peer:
        try:
            for _ in range(1000 if FULL else 200):
                peer.send(QUESTIONS[question] * 100)
                if reads and not peer.drain():
                    break
        except OSError:
            pass


def test_window_acknowledgement_sizes_of_nothing(survivor):
    for size in (0, 1, 2, 0xFFFFFFFF):
        with Peer(survivor.rtmp_port).publish(f"window{size}") as peer:
            peer.send(chunk(5, struct.pack(">I", size), 0, chunk_stream=2) +
                      chunk(6, struct.pack(">IB", size, 2), 0, chunk_stream=2))
            for number in range(200):
                peer.video(number * 40, number % 50 == 0, 5000)
            assert peer.drain()


def part(kind, body):
    return bytes([kind]) + len(body).to_bytes(3, "big") + bytes(7) + body + struct.pack(">I", len(body) + 11)


AGGREGATES = [part(9, b"") * 900_000, part(22, part(9, b"") * 10) * 10_000, b"\x09\xff\xff\xff" + bytes(100),
              part(9, frame(True, 50)) * 5000, part(20, amf("connect")) * 100, b"\x09", bytes(11) * 1_000_000,
              part(9, b"\x17") * 60_000]


@pytest.mark.smoke
def test_aggregates_of_anything(survivor):
    with Peer(survivor.rtmp_port).publish("aggregate").set_chunk_size(0xFFFFFF) as peer:
        for body in AGGREGATES:
            peer.send(chunk(22, body[:0xFFFFFE], chunk_stream=6, chunk_size=0xFFFFFF))
            assert peer.drain()


# ---- commands ----------------------------------------------------------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.parametrize("body", [b"\x03\0\1a" * 3000, b"\x0a\0\0\0\1" * 13_000, b"\x08\0\0\0\1\0\1a" * 7000,
                                  b"\x0a\xff\xff\xff\xff", b"\x0c\xff\xff\xff\xff", b"\x05" * 65_000],
                         ids=["objects", "arrays", "ecma arrays", "long array", "long string", "many values"])
def test_values_nested_or_long_without_end_close_the_connection(survivor, body):
    with Peer(survivor.rtmp_port, connect=False) as peer:
        peer.send(chunk(20, amf("connect") + amf(1) + body, 0, chunk_stream=3))
        assert peer.closed_within(10)


@pytest.mark.parametrize("size", [6000, 60_000, 65_535])
def test_long_names_are_refused(survivor, size):
    for what in ("publish", "play"):
        with Peer(survivor.rtmp_port) as peer:
            peer.send(command("createStream", 2, None) + command(what, 3, None, "x" * size, stream=1))
            with contextlib.suppress(EOFError, ConnectionError):  # closed: it is longer than any command may be
                peer.wait_for(b"Publish.BadName" if what == "publish" else b"Play.Failed")
    with Peer(survivor.rtmp_port, connect=False) as peer:
        peer.send(command("connect", 1, {"app": "a" * size, "tcUrl": "rtmp://x/"}))
        assert peer.closed_within(10)


@pytest.mark.parametrize("name", ["play", "publish", "createStream", "deleteStream", "pause", "nothing", ""])
def test_commands_before_connect_close_the_connection(survivor, name):
    with Peer(survivor.rtmp_port, connect=False) as peer:
        peer.send(command(name, 1, None, "x", stream=1))
        assert peer.closed_within(10)


@pytest.mark.smoke
def test_streams_of_nobody_and_publishing_twice(survivor):
    with Peer(survivor.rtmp_port) as peer:
        peer.publish("twice")
        peer.send(command("publish", 4, None, "again", "live", stream=1))
        peer.wait_for(b"Publish.BadName")
        peer.send(command("play", 5, None, "twice", stream=1))
        peer.wait_for(b"Play.Failed")
        for number in (0, 7, -1, 1e300, float("nan"), 4294967296):
            peer.send(command("deleteStream", 6, None, number))
        peer.send(command("play", 5, None, "x", stream=9) + command("publish", 5, None, "x", stream=9))
        peer.wait_for(b"Publish.BadName")
        peer.video(0, True)
        assert peer.drain()
        assert {stream["name"] for stream in survivor.streams()} >= {"twice", "survivor"}


@pytest.mark.smoke
def test_commands_while_playing(survivor):
    with Peer(survivor.rtmp_port).play("survivor") as player:
        for number in range(200):
            player.send(command("seek", 0, None, 1, stream=1) + command("pause", 0, None, number % 2 == 0, 0, stream=1) +
                        command("play", 0, None, "survivor", stream=1) + command("publish", 0, None, "zz", stream=1) +
                        command("createStream", 5, None) + command("nothing", 9, None) + chunk(9, b"x" * 100))
            player.wait_for(b"_result", b"Too many streams")  # a peer that asks on without reading is ended: another test
        came = 0
        while came < 20_000:  # it still plays
            came += len(player._recv(65536))


@pytest.mark.smoke
def test_pausing_without_reading_is_bounded(survivor):
    """Each resume owes the player a start with 60 KB of metadata."""
    with Peer(survivor.rtmp_port).publish("pause") as peer:
        peer.send(chunk(18, big_metadata(1, 60_000), chunk_stream=5))
        peer.video(0, True)
        with Peer(survivor.rtmp_port, receive_buffer=4096).play("pause") as player:
            time.sleep(0.3)
            pair = [command("pause", 0, None, on, 0, stream=1) for on in (True, False)]
            with pytest.raises(OSError):
                for _ in range(3000):
                    for one in pair:
                        player.send(one)
                        time.sleep(0.001)


@pytest.mark.config("send_buffer 16k;")
def test_player_may_ask_while_its_start_is_on_the_way(survivor):
    """240 KB of configurations come first; a ping meanwhile is answered behind them."""
    with Peer(survivor.rtmp_port).publish("start", configs=False) as peer:
        for track in range(4):
            peer.send(chunk(9, b"\x96\0avc1" + bytes([track]) + bytes(60_000), chunk_stream=6))
        peer.video(0, True)
        with Peer(survivor.rtmp_port, receive_buffer=4096).play("start") as player:
            time.sleep(0.3)
            player.send(chunk(4, b"\0\6\1\2\3\4", 0, chunk_stream=2))
            time.sleep(0.3)
            player.wait_for(b"\0\7\1\2\3\4")


def test_playing_and_leaving_in_a_loop(survivor):
    with Peer(survivor.rtmp_port) as peer:
        for number in range(1, 1000):
            peer.play("survivor", number).wait_for(b"Play.Start")  # which is logged ten times, not each time
            peer.send(command("deleteStream", 4, None, number))
            peer.drain()


def test_publishing_and_leaving_in_a_loop(survivor):
    """It does not fill the log."""
    with Peer(survivor.rtmp_port) as peer:
        peer.send(command("createStream", 2, None))
        for _ in range(400):
            peer.send(command("publish", 3, None, "free", "live", stream=1) + command("closeStream", 4, None, stream=1))
            peer.wait_for(b"NetStream.Publish.")  # a peer that asks on without reading is ended: another test
            assert peer.drain()


def test_asking_for_a_name_that_is_taken_in_a_loop(survivor):
    """A connection may be refused 16 times, then it ends."""
    for _ in range(25):
        with Peer(survivor.rtmp_port) as peer:
            peer.send(command("createStream", 2, None))
            for _ in range(16):
                peer.send(command("publish", 3, None, "survivor", "live", stream=1))
                peer.wait_for(b"NetStream.Publish.BadName")
            assert peer.closed_within(10)


# ---- media ---------------------------------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_media_of_random_bytes(survivor):
    source = random.Random(7)
    with Peer(survivor.rtmp_port).publish("noise") as peer, Peer(survivor.rtmp_port).play("noise") as player:
        for number in range(20_000 if FULL else 4000):
            when = source.choice((number * 3, source.getrandbits(32), 0xFFFFFFFF, 0, 1 << 31))
            peer.send(chunk(source.choice((8, 9, 9, 18, 15, 22)), source.randbytes(source.choice((0, 1, 2, 3, 5, 12, 100, 3000))),
                            time_ms=when, chunk_stream=source.choice((4, 5, 6))))
            if number % 50 == 0:
                assert peer.drain() and player.drain(), number
        assert peer.drain() and player.drain()


def test_configuration_that_changes_with_every_frame(survivor):
    with Peer(survivor.rtmp_port).publish("changing") as peer, Peer(survivor.rtmp_port).play("changing") as player:
        for number in range(20_000 if FULL else 2000):
            peer.send(chunk(9, AVC_CONFIG + struct.pack(">I", number), time_ms=number, chunk_stream=6))
            peer.video(number, True, 100)
            if number % 50 == 0:
                assert peer.drain() and player.drain(), number


@pytest.mark.smoke
def test_tracks_without_end(survivor):
    with Peer(survivor.rtmp_port).publish("tracks") as peer, Peer(survivor.rtmp_port).play("tracks") as player:
        for track in range(256):
            peer.send(chunk(9, b"\x96\0avc1" + bytes([track]) + bytes(40), chunk_stream=6) +
                      chunk(9, b"\x96\1avc1" + bytes([track]) + bytes(43), chunk_stream=6))
        time.sleep(0.2)
        assert peer.drain() and player.drain()


TIMES = {
    "wrap": [0xFFFFF000 + number * 40 & 0xFFFFFFFF for number in range(300)],
    "backwards": [10_000 - number * 40 & 0xFFFFFFFF for number in range(300)],
    "half the range": [number * 0x7FFFFFFF & 0xFFFFFFFF for number in range(300)],
    "random": [random.Random(3).getrandbits(32) for _ in range(300)],
    "hours": [number * 3_600_000 for number in range(300)],
}


@pytest.mark.parametrize("times", TIMES)
def test_players_see_rising_times_whatever_comes(survivor, times):
    """No step back and no leap of more than 2 s, as an HTTP-FLV player sees it."""
    began = time.monotonic()
    with Peer(survivor.rtmp_port).publish("times") as peer:
        peer.video(TIMES[times][0], True, 200)
        with HttpFlv(survivor.http_port, "/live/times.flv") as player:
            reader, seen = player.reader(), []
            collector = threading.Thread(target=lambda: seen.extend(reader.tags_until(lambda tag: len(tag.data) == 77, 20)))
            collector.start()
            for number, when in enumerate(TIMES[times][1:], 1):
                peer.video(when, number % 25 == 0, 200)
            peer.video(TIMES[times][-1], True, 77)
            sent = time.monotonic()
            collector.join(30)
    most = 2000 + (sent - began) * 1000  # what came late may count as so much later
    video = [tag.time_ms for tag in seen if tag.type == 9 and not tag.is_avc_config()]
    assert len(video) > 290, len(video)
    assert all(0 <= b - a <= most for a, b in zip(video, video[1:])), [(a, b) for a, b in zip(video, video[1:])
                                                                        if not 0 <= b - a <= most][:5]
