"""A player that takes nothing among players that do."""

import re
import time

import pytest

from flv import HttpFlv
from media import publisher
from rtmp import RtmpPlayer
from test_publish import TagCollector, check_tag_times
from tls import certificate, connect, tls_weir
from weir import SANITIZED, wait_until

OTHERS = 20


@pytest.fixture(scope="module")
def heavy(tmp_path_factory):
    """A stream of some Mbit/s, so that a stalled player's buffers fill soon."""
    from media import run
    path = tmp_path_factory.mktemp("heavy") / "heavy.flv"
    run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25:duration=10", "-f", "lavfi",
         "-i", "sine=sample_rate=44100:duration=10", "-vf", "noise=alls=40:allf=t", "-c:v", "libx264", "-preset",
         "ultrafast", "-g", "50", "-b:v", "6M", "-maxrate", "6M", "-bufsize", "3M", "-c:a", "aac", path])
    return path


@pytest.mark.alone
@pytest.mark.config("write_stall_timeout 4s; play { queue_length 2s; }")
def test_stalled_player_costs_nothing_and_goes(weir, folder, heavy):
    with publisher(weir.rtmp(), folder, heavy):
        weir.wait_live()
        players = [HttpFlv(weir.http_port) for _ in range(OTHERS)]
        collectors = [TagCollector(player.reader()) for player in players]
        time.sleep(2)
        before = weir.private_kib()
        with HttpFlv(weir.http_port, receive_buffer=4096), RtmpPlayer(weir.rtmp_port) as stalled:
            stalled.first_key_frame()
            assert len(weir.clients()) == OTHERS + 3
            # Both are dropped when nothing could be sent for the stall timeout.
            wait_until(lambda: len(weir.clients()) == OTHERS + 1, 25, "the stalled players are dropped")
            grown = weir.private_kib() - before
        for collector in collectors:
            assert collector.error is None, collector.error
        for player in players:
            player.socket.shutdown(2)
    for collector in collectors:
        collector.join(20)
        assert not collector.is_alive()
        check_tag_times(collector.tags)
        gaps = [b.arrived - a.arrived for a, b in zip(collector.video(), collector.video()[1:])]
        assert max(gaps) < 3, f"another player waited {max(gaps):.2f} s"  # as long as one that is stalled stays, or the machine
    if not SANITIZED:
        assert grown < 8 * 1024, f"{grown} KiB more with two stalled players"
    assert re.findall(r"closed role=player .* reason=(\w+)", weir.log()).count("stalled") == 2, "the log says why"


def test_who_takes_nothing_of_a_thin_stream_has_stalled(new_weir, folder):
    """Its send buffer would not be full for minutes: the reason and the counter are those of a stalled player all the same."""
    certificate(folder)
    weir = tls_weir(new_weir, folder, "write_stall_timeout 3s; send_buffer 8m;").start()
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        with RtmpPlayer(weir.rtmp_port), HttpFlv(weir.http_port, receive_buffer=4096), connect(weir.https_port, tls=True) as secure:
            secure.sendall(b"GET /live/livestream.flv HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_until(lambda: "\nweir_player_stalled_total 3\n" in weir.metrics(), 30, "three players have stalled")
            wait_until(lambda: len(weir.clients()) == 1, 20, "they are dropped")
        metrics = weir.metrics()
    ended = re.findall(r"closed role=player transport=(\w+) .* reason=(\w+) detail=\"(.*)\"", weir.log())
    assert sorted(ended) == [(each, "stalled", "write stalled: the player took nothing") for each in ("flv", "flv", "rtmp")]
    assert re.search(r'weir_clients_ended_total\{[^}]*stalled[^}]*\} 3', metrics), re.findall(r".*stalled.*", metrics)
    assert "\nweir_player_write_stalls_total 0\n" in metrics, "a send buffer was full: nothing shown here"


@pytest.mark.config("write_stall_timeout 5s;")
def test_who_does_not_read_the_answers_to_its_commands_has_stalled(weir):
    with RtmpPlayer(weir.rtmp_port, play=False) as player:
        player.socket.settimeout(30)
        with pytest.raises(OSError):  # its answers are not read, so the server reads no more either
            while True:
                player.command("createStream", 2, None, "longer than its answer" * 5, stream=0)
        wait_until(lambda: not weir.clients(), 20, "it is dropped")
    ended = [line for line in weir.metrics().splitlines() if line.startswith("weir_clients_ended_total") and line.endswith(" 1")]
    assert 'weir_clients_ended_total{role="connecting",reason="stalled"} 1' in ended, ended


@pytest.mark.config("write_stall_timeout 20s; play { queue_length 1s; } send_buffer 32k;")
def test_slow_player_is_moved_to_a_key_frame(weir, folder, heavy):
    """It pauses for longer than its queue, then reads on: whole tags, later times, and a key frame after the gap."""
    with publisher(weir.rtmp(), folder, heavy):
        weir.wait_live()
        with HttpFlv(weir.http_port, receive_buffer=8192) as player:
            reader = player.reader()
            tags = reader.tags(1)
            time.sleep(4)
            tags += reader.tags(3)
    video = [tag for tag in tags if tag.type == 9 and not tag.is_avc_config()]
    jumps = [(a, b) for a, b in zip(video, video[1:]) if b.time_ms - a.time_ms > 500]
    assert jumps, "nothing was skipped"
    assert all(after.is_key_frame() for _, after in jumps), [(a.time_ms, b.time_ms) for a, b in jumps]
    check_tag_times(tags)
