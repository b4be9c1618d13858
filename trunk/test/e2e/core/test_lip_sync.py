"""Picture and sound stay together, by whatever way they come and go."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from lipsync import check_lip_sync, make_clip
from media import play_ffmpeg, publisher
from rtsp import gst_play, play_rtsp, publish_rtsp, rtsp_weir


PLAY_SECONDS = 4  # three flashes at least, and those of the beginning


@pytest.fixture(scope="module")
def clip():
    return make_clip()


@pytest.mark.parametrize("way", ["rtmp", "rtsp-tcp", "rtsp-udp"])
@pytest.mark.works_with("ffmpeg", plays="RTMP", codecs="H.264, AAC", checked="audio in time with video")
@pytest.mark.works_with("ffmpeg", plays="HTTP-FLV", codecs="H.264, AAC", checked="audio in time with video")
@pytest.mark.works_with("ffmpeg", plays="RTSP", codecs="H.264, AAC", checked="audio in time with video")
def test_ffmpeg_hears_what_it_sees(new_weir, folder, clip, way):
    weir = rtsp_weir(new_weir)
    publishes = (publisher(weir.rtmp(), folder, clip) if way == "rtmp" else
                 publish_rtsp(weir.rtsp(), folder, way.removeprefix("rtsp-"), clip))
    with publishes:
        weir.wait_live()
        with ThreadPoolExecutor() as together:
            players = [*(together.submit(play_rtsp, weir.rtsp(), folder, transport, PLAY_SECONDS, name=f"by-{transport}", least=5_000)
                         for transport in ("tcp", "udp")),
                       *(together.submit(play_ffmpeg, url, folder, PLAY_SECONDS, name=name, least=5_000)
                         for url, name in ((weir.rtmp(), "by-rtmp"), (weir.http(), "by-flv")))]
        for player in players:
            check_lip_sync(player.result(), clip)


@pytest.mark.works_with("GStreamer", plays="RTSP", codecs="H.264, AAC", checked="audio in time with video")
def test_gstreamer_hears_what_it_sees(new_weir, folder, clip):
    weir = rtsp_weir(new_weir)
    with publisher(weir.rtmp(), folder, clip):
        weir.wait_live()
        check_lip_sync(gst_play(weir.rtsp(), folder, "gstreamer", 6), clip)
