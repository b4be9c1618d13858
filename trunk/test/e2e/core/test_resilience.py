"""Peers that are slow, gone, many or silent: memory stays where it was and nobody else notices.

WEIR_FULL=1 runs the sizes of the acceptance (minutes); without it everything is smaller. -s prints the figures.
"""

import os
import signal
import socket
import threading
import time

import pytest

from flv import HttpFlv, WsFlv, write_flv
from hostile import FULL, Feed, Peak, Peer, anonymous_kib, bench, bench_beside, descriptors, resident_kib, settled_kib, voluntary_switches
from media import Recording, publisher
from rtmp import RtmpPlayer
from test_publish import TagCollector, check_tag_times
from test_resilience_rtmp import WorkProbe
from weir import SANITIZED, STOP_SECONDS_ALONE, patience, wait_until

MIB = 1024  # KiB
SETTLED_KIB = 16 * MIB if SANITIZED else 128  # the sanitizer keeps what was freed for a while


def full(large, small):
    return large if FULL else small


def figure(text):
    print(f"\n    {text}", end="")


def plays_on(reader, milliseconds):
    """Media for so long comes, and not much later than it is made."""
    start = reader.tag()
    last = reader.tags_until(lambda tag: tag.time_ms > start.time_ms + milliseconds, 15)[-1]
    late = last.arrived - start.arrived - (last.time_ms - start.time_ms) / 1000
    assert late < 5 * patience(), f"{late:.1f} s behind"


# ---- slow players ----------------------------------------------------------------------------------------------------


class SlowReader(threading.Thread):
    """Takes some bytes per second; None: nothing at all. `ended`: the server closed it."""

    def __init__(self, port, bytes_per_second):
        super().__init__(daemon=True)
        # A window of a few KB would make the sender wait for whole windows: much less than half the rate.
        self.peer = Peer(port, receive_buffer=4096 if (bytes_per_second or 0) < 1000 else 65536).play()
        self.rate, self.ended, self.taken = bytes_per_second, False, 0
        self.ending = threading.Event()
        self.start()

    def run(self):
        step = max(1, (self.rate or 0) // 20)
        while not self.ending.wait(step / self.rate if self.rate else 0.2):
            if self.rate:
                try:
                    got = self.peer.socket.recv(step)
                except TimeoutError:
                    continue
                except OSError:
                    got = b""
                self.taken += len(got)
                if not got:
                    self.ended = True
                    return


@pytest.mark.timeout(180)
def test_slow_players_among_a_hundred_cost_nothing(new_weir, folder):
    """One takes nothing, one a byte a second, one half of what comes: dropped, dropped, moved to newer key frames."""
    weir = new_weir("" if FULL else "write_stall_timeout 4s; play { queue_length 2s; } send_buffer 64k;").start()
    pid = weir.process.pid
    seconds = full(60, 18)
    with bench_beside("rtmp-play", "--url", weir.rtmp(), "--publish", "4M", "--clients", 100, "--duration", f"{seconds}s",
                      "--stall", "4s", "--behind", "3s", folder=folder) as result:
        weir.wait_live()
        wait_until(lambda: len(weir.clients()) == 101, 20, "all play")
        time.sleep(3)
        before = resident_kib(pid)
        with Peak(pid) as peak:
            slow = [SlowReader(weir.rtmp_port, rate) for rate in (None, 1, 4_000_000 // 8 // 2)]
            wait_until(lambda: weir.log().count("write stalled") >= 2, full(50, 15), "the two that take nothing are dropped")
            wait_until(lambda: any(client["resyncs"] > 0 for client in weir.clients()), full(20, 10),
                       "the one at half the rate is moved to a newer key frame")
            time.sleep(full(10, 2))
            dropped = weir.log().count("write stalled")
        for reader in slow:
            reader.ending.set()
    figure(f"RSS {before // MIB} MiB before, at most {peak.highest // MIB} with the slow ones; {result['text'][-900:]}")
    assert result["exit_code"] == 0, result["text"]
    assert dropped == 2, "those that take nothing are dropped, the one at half the rate is not"
    if not SANITIZED:
        assert peak.highest - before < 8 * MIB, f"{before} KiB before, {peak.highest} with the slow players"


# ---- the publisher goes and comes --------------------------------------------------------------------------------------


class RtmpCollector(threading.Thread):
    """Times and key frames as one RTMP player sees them."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.player, self.times, self.keys, self.error = RtmpPlayer(port, timeout=30), [], 0, None
        self.start()

    def run(self):
        try:
            while True:
                kind, when, payload, _ = self.player.message()
                if kind == RtmpPlayer.VIDEO and len(payload) > 5 and payload[1] == 1:
                    self.times.append(when)
                    self.keys += payload[0] == 0x17
        except (OSError, EOFError) as error:
            self.error = error


@pytest.mark.timeout(600)
def test_players_stay_through_many_kills_of_the_publisher(weir, folder):
    """RTMP, HTTP-FLV and WebSocket players: nobody is disconnected, time never steps back nor leaps, pictures return."""
    rounds = full(50, 4)
    current = publisher(weir.rtmp(), folder, name="publisher").__enter__()
    try:
        weir.wait_live(seconds=20)
        http, ws = HttpFlv(weir.http_port, timeout=30), WsFlv(weir.ws(), timeout=30)
        collectors = [TagCollector(http.reader()), TagCollector(ws.reader())]
        rtmp = RtmpCollector(weir.rtmp_port)

        def keys():
            return [rtmp.keys, *(sum(tag.is_key_frame() for tag in collector.tags) for collector in collectors)]

        wait_until(lambda: min(keys()) > 0, 15, "everybody plays")
        for number in range(rounds):
            current.kill()
            seen = keys()
            current = publisher(weir.rtmp(), folder, name="publisher").__enter__()
            wait_until(lambda: all(now > then for now, then in zip(keys(), seen)) or rtmp.error, 20,
                       f"key frames after republish {number}: {seen}, {keys()}")
            for collector in (rtmp, *collectors):
                assert collector.error is None, f"republish {number}: {collector.error}"
        time.sleep(1)
    finally:
        current.kill()
    http.socket.shutdown(socket.SHUT_RDWR)
    ws.socket.sock.shutdown(socket.SHUT_RDWR)
    rtmp.player.socket.shutdown(socket.SHUT_RDWR)
    lists = [rtmp.times]
    for name, collector in zip(("http", "ws"), collectors):
        collector.join(5)
        check_tag_times(collector.tags)
        lists.append([tag.time_ms for tag in collector.video() if not tag.is_avc_config()])
        frames = Recording(write_flv(folder / f"{name}.flv", collector.tags)).frames()
        # B-frames and what follows a cut without its reference may be lost, not more.
        assert len(frames) >= len(lists[-1]) - 3 * (rounds + 1), f"{len(frames)} of {len(lists[-1])} frames decoded over {name}"
    for times in lists:
        jumps = [(a, b) for a, b in zip(times, times[1:]) if b < a or b - a > 2000]
        assert not jumps, f"time steps back or leaps: {jumps[:5]}"
    figure(f"{rounds} republishes, largest step of time {max(b - a for t in lists for a, b in zip(t, t[1:]))} ms, "
           f"RSS {resident_kib(weir.process.pid) // MIB} MiB")


# ---- many connections --------------------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_random_bytes_from_many_connections_leave_no_trace(weir, folder):
    """On every port, again and again: the memory settles; publishing works during and after."""
    pid, count = weir.process.pid, full(10_000, 1000)

    def everywhere(number):
        for port in (weir.rtmp_port, weir.http_port, weir.api_port):
            result = bench("garbage", "--port", port, "--connections", count, "--seed", number + 1, "--duration", "90s",
                           folder=folder, seconds=150)
            assert result["exit_code"] == 0, result["text"]
        wait_until(lambda: descriptors(pid) < 30, 20, "all have gone")

    with Feed(weir.rtmp_port):
        after = settled_kib(everywhere, lambda: resident_kib(pid), limit=SETTLED_KIB)
        weir.wait_live()
    figure(f"RSS after rounds of {count} connections on 3 ports: {after} KiB")
    assert SANITIZED or after[-1] < 25 * MIB, after
    assert len(weir.log().splitlines()) < 400, "what is refused is logged once a second, not once a connection"
    with publisher(weir.rtmp(), folder):
        weir.wait_live()


def hold(port, count, first=b""):
    """That many connections that say this and no more."""
    held = []
    for _ in range(count):
        held.append(socket.create_connection(("127.0.0.1", port), 10))
        held[-1].sendall(first)
    return held


@pytest.mark.timeout(300)
@pytest.mark.parametrize("what, port, first", [
    ("silent", "rtmp_port", b""), ("half a handshake", "rtmp_port", b"\x03" + bytes(700)), ("silent", "http_port", b""),
    ("slow request", "http_port", b"GET / HTTP/1.1\r\nX: a")])
def test_connections_that_say_nothing_are_closed(new_weir, what, port, first):
    """They cost little and end after the handshake timeout; a second crowd costs no more; others are served meanwhile."""
    count, during, after = full(5000, 300), [], []
    weir = new_weir("" if FULL else "handshake_timeout 3s;").start()
    pid = weir.process.pid
    with Feed(weir.rtmp_port):
        weir.wait_live()
        [lone] = hold(getattr(weir, port), 1, first)  # the first one also costs the pages of the program that it needs
        with Peer(weir.rtmp_port) as player:
            player.play().wait_for(b"Play.Start")
        lone.close()
        start = resident_kib(pid)
        for _ in range(2):
            held = hold(getattr(weir, port), count, first)
            wait_until(lambda: descriptors(pid) > count, 60, "all are accepted")
            with Peer(weir.rtmp_port) as player:
                player.play().wait_for(b"Play.Start")
            during.append(resident_kib(pid))
            wait_until(lambda: descriptors(pid) < 30, 30, "all are closed by the server")
            if after and not SANITIZED:  # stacks are dropped and the heap is tidied some seconds later
                wait_until(lambda: resident_kib(pid) < after[0] + MIB, 15, "the memory is that of the first crowd")
            if not after:
                time.sleep(1)
            after.append(resident_kib(pid))
            if port == "http_port" and first:
                assert held[0].recv(100).startswith(b"HTTP/1.1 408")
            for peer in held:
                peer.close()
    figure(f"{what} x {count} on {port}, RSS in KiB: {start} before, {during} during ({(during[0] - start) / count:.1f} each), "
           f"{after} after")
    if not SANITIZED:
        assert (during[0] - start) / count < 12
        assert during[1] < during[0] + 2 * MIB


@pytest.mark.timeout(300)
def test_handshakes_and_joins_without_end_leave_no_trace(weir):
    """Peers that complete the handshake and leave, players that come and go, publishers that flap."""
    pid, count = weir.process.pid, full(10_000, 500)

    def come_and_go(_):
        for number in range(count):
            with Peer(weir.rtmp_port, connect=False):
                pass
            with Peer(weir.rtmp_port) as player:
                player.play()
                if number % 10 == 0:
                    player.wait_for(b"Play.Start")
            if number % 20 == 0:
                with Peer(weir.rtmp_port).publish(f"flap{number % 7}") as flap:
                    flap.video(0, True)
        wait_until(lambda: len(weir.clients()) == 1 and len(weir.streams()) == 1, 20, "all have gone")

    with Feed(weir.rtmp_port):
        weir.wait_live()
        after = settled_kib(come_and_go, lambda: resident_kib(pid), limit=SETTLED_KIB)
    figure(f"RSS after rounds of {count} handshakes, {count} joins, {count // 20} publishes: {after} KiB")
    assert SANITIZED or after[-1] < 25 * MIB, after
    assert descriptors(pid) < 30


@pytest.mark.smoke
def test_publish_and_play_cycles_do_not_grow_the_heap(weir):
    def cycles(_):
        for number in range(full(500, 60)):
            with Peer(weir.rtmp_port).publish() as source, Peer(weir.rtmp_port).play() as player:
                for frame in range(10):
                    source.video(frame * 40, frame == 0, 5000)
                player.wait_for(b"Play.Start")
        wait_until(lambda: not weir.clients() and not weir.streams(), 20, "all have gone")

    figure(f"private memory after each round: {settled_kib(cycles, weir.private_kib, limit=SETTLED_KIB)} KiB")


def test_idle_server_sleeps(weir):
    pid = weir.process.pid
    time.sleep(1)
    begun, before = time.monotonic(), voluntary_switches(pid)
    time.sleep(full(10, 3))
    rate = (voluntary_switches(pid) - before) / (time.monotonic() - begun)
    figure(f"idle: RSS {resident_kib(pid)} KiB, {rate:.1f} wake-ups a second")
    assert rate < 30
    if not SANITIZED:
        # Its program and libraries, as far as they are used, and what it has for itself.
        assert resident_kib(pid) < 15 * MIB
        assert anonymous_kib(pid) < 3 * MIB


# ---- load ----------------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(240)
def test_a_thousand_streams_come_and_go(weir, folder):
    count, pid = full(1000, 100), weir.process.pid
    with WorkProbe(weir) as probe:
        result = bench("rtmp-publish", "--url", weir.rtmp("live/s%d"), "--streams", count, "--bitrate", "50k", "--audio", 0,
                       "--fps", 10, "--gop", 20, "--duration", "5s", "--ramp", "3s", folder=folder)
        wait_until(lambda: not weir.streams(), 20, "all streams have gone")
    figure(f"{count} publishers: at most {probe.worst * 1000:.0f} ms of work before an API answer, RSS {resident_kib(pid) // MIB} MiB after")
    assert result["exit_code"] == 0, result["text"]
    assert not probe.errors and probe.worst < 2, (probe.errors[:3], probe.worst)


def test_extreme_bit_rate_leaves_time_for_others(weir):
    """A publisher as fast as the loopback takes it, and players: the API answers all the while."""
    with Peer(weir.rtmp_port).publish() as source, WorkProbe(weir) as probe, Peak(weir.process.pid) as peak:
        source.set_chunk_size(0xFFFFFF)
        players = [Peer(weir.rtmp_port).play() for _ in range(full(50, 20))]
        reading = threading.Event()

        def read():
            while not reading.wait(0.005):
                for player in players:
                    player.drain()
        threading.Thread(target=read, daemon=True).start()
        end, number, sent = time.monotonic() + full(10, 4), 0, 0
        while time.monotonic() < end:
            source.video(number * 10, number % 50 == 0, 250_000, chunk_size=0xFFFFFF)
            number, sent = number + 1, sent + 250_000
        alive = source.drain()
        reading.set()
    figure(f"{sent * 8 // full(10, 4) // 1_000_000} Mbit/s in, at most {probe.worst * 1000:.0f} ms of work before an API answer, "
           f"RSS at most {peak.highest // MIB} MiB")
    assert alive and not probe.errors, probe.errors[:3]
    assert probe.worst < 1, f"{probe.worst:.2f} s of work before an API answer"
    if not SANITIZED:
        assert peak.highest < 300 * MIB


# ---- signals and limits ----------------------------------------------------------------------------------------------------


@pytest.mark.alone
@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_in_under_a_second_with_many_players(weir, folder, number):
    with bench_beside("rtmp-play", "--url", weir.rtmp(), "--publish", "500k", "--clients", full(2000, 200), "--ramp",
                      full("5s", "1s"), "--duration", "60s", "--connect-timeout", "30s", folder=folder) as load:
        wait_until(lambda: weir.api("/api/v1/summaries")["data"]["clients"] >= full(2000, 200), 60, "all play")
        time.sleep(0.5)
        begun = time.monotonic()
        weir.stop(number, STOP_SECONDS_ALONE)  # checks time and exit code
        figure(f"{full(2000, 200)} players: ended {time.monotonic() - begun:.2f} s after signal {number}")
        load["process"].kill()


def test_signal_during_the_start_ends_it_well(new_weir):
    for delay in (0.0, 0.005, 0.01, 0.02, 0.05, 0.1):
        weir = new_weir(name=f"early-{delay}")
        weir.launch()
        time.sleep(delay)
        weir.process.send_signal(signal.SIGTERM)
        code = weir.process.wait(20)
        weir.process = None
        assert code in (0, -signal.SIGTERM), f"{delay}: {code}\n{weir.log()}"  # before it can take signals, it just ends


def test_paused_players_disturb_nobody(weir, folder):
    """kill -STOP of a load of players, later -CONT: the rest plays on, and they come back."""
    with Feed(weir.rtmp_port), bench_beside("rtmp-play", "--url", weir.rtmp(), "--no-verify", "--clients", 50, "--duration",
                                            "6s", "--stall", "20s", "--behind", "20s", folder=folder) as load:
        weir.wait_live()
        with HttpFlv(weir.http_port) as player:
            reader = player.reader()
            wait_until(lambda: len(weir.clients()) >= 52, 10, "all play")
            os.kill(load["process"].pid, signal.SIGSTOP)
            try:
                plays_on(reader, 3000)
            finally:
                os.kill(load["process"].pid, signal.SIGCONT)
    assert load["exit_code"] == 0, load["text"]


@pytest.mark.skipif(SANITIZED, reason="UBSan's vptr check needs descriptors itself (it opens a pipe) and reports without")
def test_out_of_descriptors_is_survived(new_weir):
    """Sessions go on, what comes is closed, and once there is room again newcomers are served."""
    weir = new_weir()
    weir.launch(descriptors=200)
    weir.wait_ready()
    with Feed(weir.rtmp_port), HttpFlv(weir.http_port) as player:
        reader = player.reader()
        reader.tags_until(lambda tag: tag.is_key_frame())
        held = [connection for port in (weir.rtmp_port, weir.http_port, weir.api_port) for connection in hold(port, 120)]
        plays_on(reader, 2000)
        for peer in held:
            peer.close()
        wait_until(lambda: descriptors(weir.process.pid) < 40, 20, "the descriptors are free again")
        assert weir.api("/api/v1/versions")["code"] == 0
        with Peer(weir.rtmp_port) as newcomer:
            newcomer.play().wait_for(b"Play.Start")
        plays_on(reader, 500)
    # A start line, and of each listener one in 10 s.
    assert 2 <= weir.log().count("raise the descriptor limit") < 10, weir.log()


@pytest.mark.config("max_connections 20;")
def test_connection_limit_is_told_and_ends_with_its_cause(weir):
    with Feed(weir.rtmp_port), HttpFlv(weir.http_port) as player:
        reader = player.reader()
        reader.tags_until(lambda tag: tag.is_key_frame())
        before = descriptors(weir.process.pid)
        held = hold(weir.rtmp_port, 30)
        weir.wait_log("max_connections 20 reached")
        with socket.create_connection(("127.0.0.1", weir.http_port), 5) as refused:
            refused.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert refused.recv(100).startswith(b"HTTP/1.1 503")
        plays_on(reader, 1000)
        for peer in held:
            peer.close()
        wait_until(lambda: descriptors(weir.process.pid) <= before, 10, "their places are free again")
        with Peer(weir.rtmp_port) as newcomer:
            newcomer.play().wait_for(b"Play.Start")


def test_a_server_that_stood_still_does_not_take_its_publishers_for_silent(new_weir, folder):
    """A debugger, a moved virtual machine: more publishers than one turn of the server hears."""
    weir = new_weir("vhost __defaultVhost__ { publish { normal_timeout 4s; } }").start()
    with bench_beside("rtmp-publish", "--url", weir.rtmp("live/s%d"), "--streams", 600, "--bitrate", "20k", "--audio", 0,
                      "--fps", 5, "--gop", 5, "--ramp", "1s", "--duration", "10s", folder=folder) as result:
        wait_until(lambda: len(weir.streams()) == 600, 20, "all publish")
        weir.process.send_signal(signal.SIGSTOP)
        time.sleep(6)  # longer than normal_timeout: what is tried here
        weir.process.send_signal(signal.SIGCONT)
    assert result["exit_code"] == 0, result["text"]
    assert "was silent for" not in weir.log()
