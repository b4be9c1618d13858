"""How fast a new player gets its first picture: a key frame at once, whatever the distance of key frames."""

import time

import pytest

from flv import HttpFlv, WsFlv
from media import publisher, run
from rtmp import RtmpPlayer
from weir import SANITIZED, patience

FIRST_KEY_FRAME_MS = 50 if not SANITIZED else 500
TRIES = 5


@pytest.fixture(scope="module")
def long_gop(tmp_path_factory):
    path = tmp_path_factory.mktemp("gop") / "gop10.flv"
    run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25:duration=30", "-f", "lavfi",
         "-i", "sine=sample_rate=44100:duration=30", "-c:v", "libx264", "-preset", "veryfast", "-g", "250",
         "-keyint_min", "250", "-sc_threshold", "0", "-c:a", "aac", path])
    return path


@pytest.mark.alone
def test_first_key_frame_comes_at_once(weir, folder, long_gop):
    with publisher(weir.rtmp(), folder, long_gop):
        weir.wait_live()
        time.sleep(3)  # into the GOP: the next key frame is 7 s away
        took = {"rtmp": [], "http": [], "ws": []}
        for _ in range(TRIES):
            with RtmpPlayer(weir.rtmp_port) as player:
                took["rtmp"].append(player.first_key_frame()[0])
            with HttpFlv(weir.http_port) as player:
                tag = player.reader().tags_until(lambda tag: tag.is_key_frame())[-1]
                took["http"].append((tag.arrived - player.started) * 1000)
            started = time.monotonic()
            with WsFlv(weir.ws()) as player:
                tag = player.reader().tags_until(lambda tag: tag.is_key_frame())[-1]
                took["ws"].append((tag.arrived - started) * 1000)
    for way, times in took.items():
        assert sorted(times)[TRIES // 2] < FIRST_KEY_FRAME_MS * patience(), (way, [round(ms, 1) for ms in times])


def test_rtmp_player_time_starts_near_zero(weir, folder, long_gop):
    with publisher(weir.rtmp(), folder, long_gop):
        weir.wait_live()
        time.sleep(2)
        with RtmpPlayer(weir.rtmp_port) as player:
            assert player.first_key_frame()[1] < 1000
