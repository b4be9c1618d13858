"""Multicast groups and UDP ports as streams (source udp://, rtp://), sent by ffmpeg, played by real players."""

import contextlib
import json
import os
import socket
import threading
import time
from pathlib import Path

import pytest

from flv import HttpFlv
from media import SAMPLE, Program, check_both, check_frames, check_rising, play_ffmpeg
from test_sources import edge_of, sources, wait_state
from test_sources_api import post
from weir import free_port, wait_until


def free_udp_port():
    """Not one that the kernel gives to whoever asks for any."""
    return free_port()


def sender(url, folder, form="mpegts", name="sender"):
    return Program(name, ["ffmpeg", "-hide_banner", "-nostdin", "-re", "-stream_loop", "-1", "-i", SAMPLE, "-c", "copy", "-f", form,
                          url], folder)


def check_play(url, folder, most_runs=1, name="player", **options):
    recording = play_ffmpeg(url, folder, name=name, **options)
    check_frames(recording, most_runs=most_runs)
    check_rising(recording)
    return recording


def joined(group):
    """Whether anybody in this network namespace is a member."""
    number = "".join(f"{int(part):02X}" for part in reversed(group.split(".")))
    return number in Path("/proc/net/igmp").read_text()


def note_pause(relay):
    """`relay` has got a packet."""
    now = time.monotonic()
    relay.pause, relay.came = max(relay.pause, now - (relay.came or now)), now


class Relay:
    """Takes the packets of one RTP sender, and sends on what `change(sequence, packet)` gives, a list."""

    def __init__(self, to, change):
        self.to, self.change = to, change
        self.pause, self.came = 0.0, None  # the longest time in which nothing came, and when something came last
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)  # this thread may stand still
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.2)
        self.url = f"rtp://127.0.0.1:{self.socket.getsockname()[1]}"
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.is_set():
            with contextlib.suppress(TimeoutError):
                packet = self.socket.recv(2048)
                note_pause(self)
                for each in self.change(int.from_bytes(packet[2:4], "big"), packet):
                    self.socket.sendto(each, self.to)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.socket.close()


@pytest.mark.works_with("ffmpeg", publishes="multicast", codecs="H.264, AAC", checked="every frame", set="`source udp://GROUP:PORT`")
def test_a_group_is_a_stream(new_weir, folder):
    group = f"udp://239.11.0.1:{free_udp_port()}"
    edge = edge_of(new_weir, f"source {group} {{ stream tv1; }}").start()
    with sender(group, folder):
        state = wait_state(edge, "tv1", "live")
        assert state["url"] == group and not state["on_demand"]
        for url in (edge.http("/live/tv1.flv"), edge.rtmp("live/tv1")):
            check_both(check_play(url, folder, name=f"player-{url[:4]}"))
        assert wait_state(edge, "tv1", "live")["bytes"] > 100_000
        stream = edge.wait_live("tv1")
        assert stream["video"]["codec"] and stream["publish"]["transport"] == "udp", stream


# The datagrams show what they are, whatever the scheme says. 1000 bytes are no whole number of packets.
@pytest.mark.parametrize("scheme, form, query", [("rtp", "rtp_mpegts", ""), ("udp", "rtp_mpegts", ""), ("rtp", "mpegts", ""),
                                                 ("udp", "mpegts", "?pkt_size=1000")])
def test_rtp_and_plain_datagrams_are_told_apart(new_weir, folder, scheme, form, query):
    address = f"239.11.0.2:{free_udp_port()}"
    edge = edge_of(new_weir, f"source {scheme}://{address};").start()
    name = address.replace(":", "-")
    with sender(f"{'rtp' if form.startswith('rtp') else 'udp'}://{address}{query}", folder, form):
        wait_state(edge, name, "live")
        check_both(check_play(edge.http(f"/live/{name}.flv"), folder))


def test_a_port_of_this_host_on_demand(new_weir, folder):
    port = free_udp_port()
    edge = edge_of(new_weir, f"source udp://127.0.0.1:{port} {{ stream tv1; on_demand on; linger 1s; }}").start()
    with sender(f"udp://127.0.0.1:{port}", folder):
        assert wait_state(edge, "tv1", "idle")["bytes"] == 0
        check_play(edge.http("/live/tv1.flv"), folder)
        wait_state(edge, "tv1", "idle")


def test_joins_an_interface_and_a_source_and_leaves(new_weir, folder):
    port = free_udp_port()
    edge = edge_of(new_weir, f"source udp://127.0.0.1@232.11.0.3:{port}@lo {{ stream tv1; on_demand on; linger 0; }}").start()
    with sender(f"udp://232.11.0.3:{port}?localaddr=127.0.0.1", folder):
        assert not joined("232.11.0.3")
        with HttpFlv(edge.http_port, "/live/tv1.flv") as player:
            assert player.reader().tags_until(lambda tag: tag.type == 9)
            assert joined("232.11.0.3")
        wait_until(lambda: not joined("232.11.0.3"), 10, "the group is left")


def test_order_is_restored_and_duplicates_are_dropped(new_weir, folder):
    port = free_udp_port()

    def change(sequence, packet):
        """Two packets of each, in the wrong order, and one of them twice."""
        first, second = (packet[:2] + (2 * sequence + more & 0xFFFF).to_bytes(2, "big") + packet[4:12] + part
                         for more, part in enumerate((packet[12:12 + 3 * 188], packet[12 + 3 * 188:])))
        return [second, first, second]

    edge = edge_of(new_weir, f"source rtp://127.0.0.1:{port} {{ stream tv1; on_demand on; linger 0; }}").start()
    with Relay(("127.0.0.1", port), change) as relay, sender(relay.url, folder, "rtp_mpegts"):
        check_both(check_play(edge.http("/live/tv1.flv"), folder))
        wait_state(edge, "tv1", "idle")
    edge.wait_log("group datagrams=")
    said = edge.log().split("group datagrams=")[1].splitlines()[0]
    counted = dict(each.split("=") for each in said.split()[1:])
    assert int(counted["reordered"]) > 20 and int(counted["duplicates"]) > 20, said
    assert counted["lost"] == counted["continuity_errors"] == counted["foreign"] == "0", said
    assert int(counted["late"]) <= 1, f"the first one of all comes behind its successor: {said}"


def test_loss_costs_frames_and_never_shows_broken_ones(new_weir, folder):
    port = free_udp_port()
    edge = edge_of(new_weir, f"source rtp://127.0.0.1:{port} {{ stream tv1; on_demand on; linger 0; }}").start()
    with Relay(("127.0.0.1", port), lambda sequence, packet: [packet] if sequence % 50 else []) as relay:
        with sender(relay.url, folder, "rtp_mpegts"):
            # A GOP ends where it lost something, so more than one is played.
            check_play(edge.http("/live/tv1.flv"), folder, most_runs=1000, seconds=6)
            wait_state(edge, "tv1", "idle")
    edge.wait_log("group datagrams=")
    said = edge.log().split("group datagrams=")[1].splitlines()[0]
    assert int(dict(each.split("=") for each in said.split()[1:])["lost"]) > 0, said


@pytest.mark.parametrize("form", ["mpegts", "rtp_mpegts"])
def test_garbage_on_the_group_disturbs_nobody(new_weir, folder, form):
    port = free_udp_port()
    edge = edge_of(new_weir, f"source udp://127.0.0.1:{port} {{ stream tv1; }}").start()
    ended = threading.Event()

    def throw():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            while not ended.wait(0.01):
                for size in (0, 1, 12, 188, 1316, 1400):
                    stranger.sendto(b"\x80" + os.urandom(size), ("127.0.0.1", port))

    thread = threading.Thread(target=throw)
    thread.start()
    try:
        with sender(f"{form[:3] if form.startswith('rtp') else 'udp'}://127.0.0.1:{port}", folder, form):
            wait_state(edge, "tv1", "live")
            check_both(check_play(edge.http("/live/tv1.flv"), folder))
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize("form", ["mpegts", "rtp_mpegts"])
def test_a_sender_that_restarts_is_followed(new_weir, folder, form):
    port = free_udp_port()
    url = f"{form[:3] if form.startswith('rtp') else 'udp'}://239.11.0.4:{port}"
    edge = edge_of(new_weir, f"source {url} {{ stream tv1; }}").start()
    with sender(url, folder, form, "first"), HttpFlv(edge.http_port, "/live/tv1.flv") as player:
        reader = player.reader()
        assert reader.tags_until(lambda tag: tag.type == 9 and tag.time_ms > 500)
    with sender(url, folder, form, "second"):
        # A player that comes now begins with what the first one sent last; the second one takes a while to begin.
        assert check_frames(play_ffmpeg(edge.http("/live/tv1.flv"), folder, 5), most_runs=2)[-1][2] > 40
    assert wait_state(edge, "tv1", "live")["failures"] == 0


def test_silence_is_told_and_the_sender_may_come_later(new_weir, folder):
    port = free_udp_port()
    edge = edge_of(new_weir, f"publish {{ firstpkt_timeout 4s; normal_timeout 1s; }} source udp://239.11.0.5:{port} {{ stream tv1; }}").start()
    assert "firstpkt_timeout" in wait_state(edge, "tv1", "backing_off")["last_error"]
    with sender(f"udp://239.11.0.5:{port}", folder):
        wait_state(edge, "tv1", "live")
    assert "normal_timeout" in wait_state(edge, "tv1", "backing_off")["last_error"]
    edge = edge_of(new_weir, f"source udp://239.11.0.5:{port}@nothere0 {{ stream tv1; }}", "other").start()
    assert "no interface nothere0" in wait_state(edge, "tv1", "backing_off")["last_error"]


def test_a_group_by_the_api(new_weir, folder):
    edge = edge_of(new_weir, "").start()
    url = f"udp://239.11.0.6:{free_udp_port()}"

    new = {"app": "live", "name": "tv1", "url": url}
    refused = post(edge, {**new, "url": url + "?fcc=5002"})
    assert refused["http_status"] == 400 and "?fcc is not supported" in json.dumps(refused), refused
    assert post(edge, new)["source"]["url"] == url
    with sender(url, folder):
        wait_state(edge, "tv1", "live")
        check_play(edge.http("/live/tv1.flv"), folder)
    assert len(sources(edge)) == 1
