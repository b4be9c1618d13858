"""WebRTC of several processes by one UDP and TCP port (`single_port`)."""

import asyncio
import contextlib
import os
import socket
import struct
import time
import zlib
from pathlib import Path

import pytest

from aio_peers import AioPeer
from media import encoded, publisher
from processes import COUNT, all_run, kill, pids, process_of, start
from rtc import http, whep_path, whip_path
from test_webrtc_pion import clip, decode, finish, pion  # noqa: F401  (a fixture)
from test_webrtc_tcp import PLAY, browser, figures, open_page  # noqa: F401  (a fixture)
from weir import free_port, is_free, wait_until

MARKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def start_single(new_weir):
    port = free_port(COUNT)
    many = start(new_weir, f"process_max_busy 100;\nrtc_server {{ enabled on; listen 127.0.0.1:{port}; candidate 127.0.0.1; single_port on; }}")
    many.rtc_port = port
    return many


def metric(many, name):
    """Its values by process."""
    return {int(line.split('process="')[1].split('"')[0]): float(line.rsplit(" ", 1)[1])
            for line in many.metrics().splitlines() if line.startswith(name + "{")}


def total(many, name):
    return sum(float(line.rsplit(" ", 1)[1]) for line in many.metrics().splitlines() if line.startswith(name + "{"))


def seated(many, count):
    """Sessions by process, once so many are connected and have their sockets. A peer may choose another address of this machine: its
    datagrams cannot be told apart by a socket whose own address is 127.0.0.1."""
    links = [(client["process"], client["link"]) for client in many.clients() if client["protocol"] == "webrtc"]
    at, near = dict.fromkeys(range(COUNT), 0), dict.fromkeys(range(COUNT), 0)
    for process, link in links:
        if link["state"] == "connected":
            at[process] += 1
            near[process] += link["remote"].startswith("127.")
    return at if sum(at.values()) == count and metric(many, "weir_rtc_peer_sockets") == near else None


@pytest.fixture(scope="module")
def film():
    """10 s without B-frames, which WebRTC cannot show, and a key frame each second."""
    return encoded("-t", "10", "-c:v", "libx264", "-preset", "veryfast", "-profile:v", "baseline", "-b:v", "300k", "-g", "25", "-keyint_min", "25",
                   "-sc_threshold", "0", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix="flv", ffmpeg="ffmpeg",
                   inputs=("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000"))


def publish_in_each(many, folder, stack, film):
    """A stream in each process, by its number."""
    found = {}
    for i in range(40):
        name = f"s{i}"
        program = stack.enter_context(publisher(many.rtmp(f"live/{name}"), folder, film, name))
        many.wait_live(name)
        at = process_of(many, "publisher", name)[0]
        if at in found:
            program.kill()
        else:
            found[at] = name
        if len(found) == COUNT:
            return found
    raise AssertionError(found)


def check(ufrag, number=1):
    """A STUN binding request of somebody without the password."""
    username = f"{ufrag}:peer".encode()
    attributes = struct.pack(">HH", 6, len(username)) + username + b"\0" * (-len(username) % 4)
    attributes += struct.pack(">HH", 8, 20) + os.urandom(20)
    head = struct.pack(">HHI", 1, len(attributes) + 8, 0x2112A442) + struct.pack(">Q", number) + b"test"
    fingerprint = (zlib.crc32(head + attributes) ^ 0x5354554E) & 0xFFFFFFFF
    return head + attributes + struct.pack(">HHI", 0x8028, 4, fingerprint)


def test_publishers_and_players_of_all_processes_by_one_port(new_weir, folder, film, clip):  # noqa: F811
    many = start_single(new_weir)
    video, audio, sent = clip
    for i in range(1, COUNT):
        assert is_free(many.rtc_port + i), "there is no other port"
    with contextlib.ExitStack() as stack:
        streams = list(publish_in_each(many, folder, stack, film).values())
        for name in ("w0", "w1"):
            stack.enter_context(pion("publish", many, whip_path(name), folder, video, audio, 30, name=f"pub-{name}"))
            many.wait_live(name, 15)
            streams.append(name)
        players = {f"p{i}": (streams[i % len(streams)]) for i in range(12)}
        running = {name: stack.enter_context(pion("play", many, whep_path(stream), folder, folder / f"{name}.h264",
                                                  folder / f"{name}.ogg", 10, name=name))
                   for name, stream in players.items()}
        at = wait_until(lambda: seated(many, 14), 15, "each has its socket")
        assert all(at.values()) and metric(many, "weir_rtc_sessions") == at, at
        reports = {name: finish(program, 40) for name, program in running.items()}
        assert total(many, "weir_rtc_passed_total") > 0, "some came to another process first"
        limited = [line for line in many.metrics().splitlines() if line.startswith("weir_rtc_pass_drops_total{") and "limit" in line]
        assert limited and all(line.endswith(" 0") for line in limited), limited
    for name, stream in players.items():
        frames = decode(folder / f"{name}.h264")
        assert len(frames) >= 100 and reports[name]["missing"] == 0, (name, stream, len(frames), reports[name])
        if stream.startswith("w"):
            assert set(frames) <= set(sent), "the publisher's own pictures"
    wait_until(lambda: sum(metric(many, "weir_rtc_peer_sockets").values()) == 0, 20, "their sockets are closed")


def test_a_process_that_dies_takes_its_own_sessions_only(new_weir, folder, film):
    many = start_single(new_weir)
    with contextlib.ExitStack() as stack:
        streams = publish_in_each(many, folder, stack, film)
        players = {}
        for process, stream in streams.items():
            for i in range(2):
                name = f"p{process}-{i}"
                players[name] = (process, stack.enter_context(pion(
                    "play", many, whep_path(stream), folder, folder / f"{name}.h264", folder / f"{name}.ogg", 10, name=name)))
        assert wait_until(lambda: seated(many, 2 * COUNT), 15, "all play") == dict.fromkeys(range(COUNT), 2)
        before = pids(many)
        kill(many, 1)
        wait_until(lambda: all_run(many), 20, "it is there again")
        assert pids(many)[0] == before[0] and pids(many)[2] == before[2]
        # Somebody new, while the old ones play on: also in the process that has begun again.
        name = "again"
        stack.enter_context(publisher(many.rtmp("live/again"), folder, film, "again-pub"))
        many.wait_live("again")
        late = stack.enter_context(pion("play", many, whep_path("again"), folder, folder / f"{name}.h264",
                                        folder / f"{name}.ogg", 4, name=name))
        for name, (process, program) in players.items():
            if process != 1:
                report = finish(program, 40)
                assert report["frames"] >= 170 and report["missing"] == 0, (name, report)
        assert finish(late, 40)["frames"] > 25


def test_garbage_and_checks_of_nobody_do_nothing_but_count(new_weir, folder, film):
    many = start_single(new_weir)
    with contextlib.ExitStack() as stack:
        streams = publish_in_each(many, folder, stack, film)
        player = stack.enter_context(pion("play", many, whep_path(streams[0]), folder, folder / "p.h264", folder / "p.ogg", 8,
                                          name="p"))
        wait_until(lambda: seated(many, 1), 15, "it plays")
        before = {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in pids(many).values()}
        with contextlib.ExitStack() as sockets:
            strangers = [sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(20)]
            for number in range(16000):
                stranger = strangers[number % len(strangers)]
                mark = MARKS[number % (COUNT + 1)]  # a process that there is not, too
                stranger.sendto(check(mark + "1234567", number), ("127.0.0.1", many.rtc_port))
                stranger.sendto(os.urandom(60), ("127.0.0.1", many.rtc_port))
                if number % 200 == 0:
                    time.sleep(0.01)
        for name, least in (("weir_rtc_pass_drops_total", 0), ("weir_rtc_passed_total", 500), ("weir_rtc_udp_app_drops_total", 3000)):
            wait_until(lambda name=name, least=least: total(many, name) > least, 10, f"{name} counts; one address has a limit")
        assert seated(many, 1)
        time.sleep(1.1)  # the limit is one of each second
        late = stack.enter_context(pion("play", many, whep_path(streams[1]), folder, folder / "q.h264", folder / "q.ogg", 3,
                                        name="q"))
        assert finish(late, 40)["frames"] > 25
        report = finish(player, 40)
        assert report["frames"] > 125 and report["missing"] == 0, report
        after = {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in pids(many).values()}
        assert all(after[pid] <= before[pid] + 3 for pid in before), (before, after)


def test_a_session_is_ended_by_its_url_wherever_that_is_asked(new_weir, folder, film):
    many = start_single(new_weir)
    with publisher(many.rtmp("live/cam"), folder, film):
        many.wait_live("cam")
        for _ in range(4):
            asyncio.run(play_and_delete(many))
            wait_until(lambda: sum(metric(many, "weir_rtc_sessions").values()) == 0, 10, "no session is left")


async def play_and_delete(many):
    async with AioPeer() as peer:
        await peer.play(many, "cam")
        await peer.wait_video(10)
        assert (await asyncio.to_thread(http, many, peer.location, "DELETE"))[0] == 200
        await asyncio.to_thread(wait_until, lambda: sum(metric(many, "weir_rtc_peer_sockets").values()) == 0, 15, "it has ended")


def test_a_browser_by_tcp_comes_to_the_process_of_its_session(new_weir, folder, film, browser):  # noqa: F811
    many = start_single(new_weir)
    with publisher(many.rtmp("live/cam"), folder, film):
        many.wait_live("cam")
        for _ in range(4):  # the kernel puts a connection into any process
            open_page(browser, many)
            browser.evaluate(PLAY % "cam")
            wait_until(lambda: figures(browser).get("in_video", {}).get("frames", 0) > 25, 30, "pictures come over TCP")
            assert figures(browser)["pair"]["remote"] == "tcp", figures(browser)


def test_frames_without_end_take_no_memory(new_weir):
    many = start_single(new_weir)

    def resident():
        return sum(int(line.split()[1]) for pid in pids(many).values() for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                   if line.startswith("VmRSS:"))

    before = resident()
    with socket.create_connection(("127.0.0.1", many.rtc_port), 5) as stranger:
        stranger.settimeout(10)
        for _ in range(64):
            stranger.sendall(bytes(1 << 20))  # empty frames
    assert resident() < before + 16 * 1024
