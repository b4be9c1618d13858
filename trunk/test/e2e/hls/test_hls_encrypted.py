"""HLS with AES-128: players that are let in get keys, and every frame."""

import re

import pytest

from browser import Browser, watch
from hls import fetch, status_of
from media import check_frames, play_ffmpeg, play_vlc, publisher
from test_hls import short_gops
from weir import wait_until

CONFIG = "hls { encrypt on; rotate 1; fragment 1s; container %s; }"


def play(server, folder, player, seconds, **options):
    return player(server.http("/live/livestream.m3u8"), folder, seconds, **options)


@pytest.mark.parametrize("container", ["fmp4", "ts"])
@pytest.mark.works_with("ffmpeg", plays="HLS", codecs="H.264, AAC", checked="AES-128, fMP4 and MPEG-TS",
                        set="`hls { encrypt on; }` for AES-128")
def test_ffmpeg_decrypts_every_frame(new_weir, folder, container):
    server = new_weir(CONFIG % container).start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        recording = play(server, folder, play_ffmpeg, 4, suffix="mkv")
    assert "Opening 'crypto" in recording.said, "ffmpeg says which addresses it decrypts"
    assert len(set(re.findall(r"[0-9]+\.key", recording.said))) >= 3, "a key for each segment"
    check_frames(recording, source, least=75)


@pytest.mark.works_with("VLC", plays="HLS", codecs="H.264, AAC", checked="AES-128, MPEG-TS", set="`hls { encrypt on; }` for AES-128")
def test_vlc_decrypts(new_weir, folder):
    server = new_weir(CONFIG % "ts").start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        recording = play(server, folder, play_vlc, 3)
    check_frames(recording, source)


@pytest.mark.works_with("hls.js", plays="HLS", codecs="H.264, AAC", checked="AES-128, fMP4", set="`hls { encrypt on; }` for AES-128")
def test_the_page_decrypts(new_weir, folder):
    server = new_weir("hls { encrypt on; rotate 1; always on; fragment 1s; }").start()
    with publisher(server.rtmp(), folder, short_gops(folder)):
        # Whole segments: without a few of them a player stops at the end of the first.
        wait_until(lambda: server.wait_live()["gop"]["key_frames"] > 4, 30, "four segments are over")
        with Browser(folder) as browser:
            browser.open(server.http("/?play=live/livestream&transport=hls&autoplay=1"))
            watch(browser)


def test_keys_are_for_who_may_play(new_weir, folder):
    server = new_weir("hls { encrypt on; sessions off; } security { play_key OPEN-SESAME-1; }").start()
    with publisher(server.rtmp(), folder, short_gops(folder)):
        server.wait_live()
        folder_url = server.http("/live/livestream.hls/")
        with fetch(server.http("/live/livestream.m3u8?key=OPEN-SESAME-1")):
            pass
        with fetch(folder_url + "index.m3u8?key=OPEN-SESAME-1") as answer:
            key = re.search(r'METHOD=AES-128,URI="([^"]+)"', answer.read().decode()).group(1)
        with fetch(folder_url + key) as answer:
            assert len(answer.read()) == 16 and answer.headers["Cache-Control"] == "no-store"
        assert status_of(folder_url + key.split("?")[0]) == 403
