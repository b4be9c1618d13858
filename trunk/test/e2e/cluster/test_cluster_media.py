"""Published at one node of a cluster by any protocol, played at another by any."""

import concurrent.futures

import pytest

from media import PLAY_SECONDS, check_frames, check_rising, encoded, play_ffmpeg, publisher
from redis_server import Redis
from relays import metric
from rtc import whep_path, whip_path
from rtsp import play_rtsp, publish_rtsp
from srt import play_srt, publish_srt, srt_url
from test_webrtc_pion import decode, finish, pion
from weir import free_port, wait_until

SECRET = "0123456789abcdef-of-all-nodes"


@pytest.fixture(scope="module")
def clip():
    """(H.264 without B-frames, Opus in Ogg) of 40 s, a key frame each second."""
    video = encoded("-t", "40", "-c:v", "libx264", "-preset", "veryfast", "-profile:v", "baseline", "-b:v", "300k", "-g", "25", "-pix_fmt",
                    "yuv420p", inputs=("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25"), suffix="h264", ffmpeg="ffmpeg")
    audio = encoded("-t", "40", "-ac", "2", "-c:a", "libopus", "-page_duration", "20000",
                    inputs=("-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000"), suffix="ogg", ffmpeg="ffmpeg")
    return video, audio


@pytest.fixture
def nodes(new_weir, folder):
    """Two that know each other by Redis alone, with all protocols."""

    def make(name, registry):
        rtsp, rtp, srt, rtc = free_port(), free_port(3), free_port(), free_port()
        server = new_weir("", name)
        text = (f"cluster {{ node {name}; registry {registry}; advertise http://127.0.0.1:{server.http_port}; secret {SECRET};\n"
                f"allow_nodes 127.0.0.0/8; relay_linger 1m; }}\nplay {{ mw_latency 0; }}\n"
                f"rtsp_server {{ listen 127.0.0.1:{rtsp}; rtp_listen 127.0.0.1:{rtp + rtp % 2}; enabled on; }}\n"
                f"srt_server {{ listen 127.0.0.1:{srt}; }}\n"
                f"rtc_server {{ enabled on; listen 127.0.0.1:{rtc}; candidate 127.0.0.1; }}\n")
        server.config_path.write_text(server.config_path.read_text() + text)
        server.rtsp_port, server.srt_port = rtsp, srt
        return server.start()

    with Redis(folder) as redis:
        both = [make(name, redis.url) for name in ("a", "b")]
        for each in both:
            wait_until(lambda each=each: each.api("/api/v1/cluster")["cluster"]["registry"]["lease"], 20, "the node has its lease")
        yield both


def publish(way, node, folder, clip):
    """A program that does, under the name cam."""
    if way == "rtmp":
        return publisher(node.rtmp("live/cam"), folder)
    if way == "rtsp":
        return publish_rtsp(f"rtsp://127.0.0.1:{node.rtsp_port}/live/cam", folder)
    if way == "srt":
        return publish_srt(srt_url(node.srt_port, "publish:live/cam"), folder)
    return pion("publish", node, whip_path("cam"), folder, *clip, 60, name="publisher")


@pytest.mark.parametrize("way", ["rtmp", "rtsp", "srt", "whip"])
def test_a_stream_of_another_node_is_played_by_every_protocol(nodes, folder, clip, way):
    a, b = nodes
    with publish(way, a, folder, clip):
        a.wait_live("cam", 20)
        ways = [(play_ffmpeg, b.http("/live/cam.flv"), folder, PLAY_SECONDS, "flv"),
                (play_ffmpeg, b.rtmp("live/cam"), folder, PLAY_SECONDS, "rtmp"),
                (play_ffmpeg, b.http("/live/cam.ts"), folder, PLAY_SECONDS, "ts"),
                (play_ffmpeg, b.http("/live/cam.m3u8"), folder, PLAY_SECONDS, "hls"),
                (play_rtsp, f"rtsp://127.0.0.1:{b.rtsp_port}/live/cam", folder, "tcp", PLAY_SECONDS, "rtsp"),
                (play_srt, srt_url(b.srt_port, "request:live/cam"), folder, PLAY_SECONDS, "srt")]
        first, *others = ways  # it brings the stream with its sound: ffmpeg's times by RTSP begin anew where that comes later
        recordings = [first[0](*first[1:])]
        with concurrent.futures.ThreadPoolExecutor(len(ways)) as pool, \
                pion("play", b, whep_path("cam"), folder, folder / "whep.h264", folder / "whep.ogg", 3, name="whep") as player:
            recordings += [each.result() for each in [pool.submit(*way) for way in others]]
            report = finish(player)
        assert len([each for each in b.api("/api/v1/sources")["sources"] if each["role"] == "pull"]) == 1
        assert sum(each["role"] == "player" for each in a.clients()) == 1, "one pull for all of them"
        assert metric(b, 'weir_source_attempts_total{role="pull"}') == 1, "and no other before it"
        for each in recordings:
            assert set(each.streams()) == {"video", "audio"} and each.streams()["video"] == ["h264"], each.streams()
            check_rising(each)
            if way != "whip":
                check_frames(each)
        if way == "whip":  # RTSP has the original audio, the others the AAC made of it
            assert [each.streams()["audio"] for each in recordings] == [["aac"]] * 4 + [["opus"], ["aac"]]
        assert report["frames"] > 25 and len(decode(folder / "whep.h264")) > 25, report
