"""Picture and sound stay together, by whatever way they come and go."""

import pytest

from lipsync import check_lip_sync, make_clip
from media import play_ffmpeg, publisher
from rtsp import gst_play, play_rtsp, publish_rtsp, rtsp_weir


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("lip-sync"))


@pytest.mark.parametrize("way", ["rtmp", "rtsp-tcp", "rtsp-udp"])
def test_ffmpeg_hears_what_it_sees(new_weir, folder, clip, way):
    weir = rtsp_weir(new_weir)
    publishes = (publisher(weir.rtmp(), folder, clip) if way == "rtmp" else
                 publish_rtsp(weir.rtsp(), folder, way.removeprefix("rtsp-"), clip))
    with publishes:
        weir.wait_live()
        for transport in ("tcp", "udp"):
            check_lip_sync(play_rtsp(weir.rtsp(), folder, transport, 5, name=f"by-{transport}"), clip)
        check_lip_sync(play_ffmpeg(weir.rtmp(), folder, 5), clip)
        check_lip_sync(play_ffmpeg(weir.http(), folder, 5, name="by-flv"), clip)


def test_gstreamer_hears_what_it_sees(new_weir, folder, clip):
    weir = rtsp_weir(new_weir)
    with publisher(weir.rtmp(), folder, clip):
        weir.wait_live()
        check_lip_sync(gst_play(weir.rtsp(), folder, "gstreamer", 6), clip)
