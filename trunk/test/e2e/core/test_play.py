"""One publisher, real players: what they decode is what was sent."""

import json
import threading

import pytest

from flv import AUDIO, VIDEO, HttpFlv, WsFlv, write_flv
from media import (Recording, check_both, check_frames, check_rising, play_curl, play_ffmpeg, play_rtmpdump, play_vlc,
                   publisher, run)
from weir import wait_until


@pytest.fixture
def live(weir, folder):
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        wait_until(lambda: all(weir.streams()[0].get(kind) for kind in ("video", "audio")), 20, "both tracks are known")
        yield weir


@pytest.mark.smoke
@pytest.mark.works_with("ffmpeg", publishes="RTMP", codecs="H.264, AAC", checked="every frame")
@pytest.mark.works_with("ffmpeg", plays="RTMP", codecs="H.264, AAC", checked="every frame")
def test_ffmpeg_plays_rtmp(live, folder):
    check_both(play_ffmpeg(live.rtmp(), folder))


@pytest.mark.smoke
@pytest.mark.works_with("ffmpeg", plays="HTTP-FLV", codecs="H.264, AAC", checked="every frame")
def test_ffmpeg_plays_http_flv(live, folder):
    check_both(play_ffmpeg(live.http(), folder))


def test_ffprobe_reads_rtmp(live):
    seen = json.loads(run(["ffprobe", "-v", "error", "-show_streams", "-show_packets", "-read_intervals", "%+2",
                           "-of", "json", live.rtmp()], seconds=30))
    assert sorted(stream["codec_name"] for stream in seen["streams"]) == ["aac", "h264"]
    video = next(stream for stream in seen["streams"] if stream["codec_name"] == "h264")
    assert (video["width"], video["height"], video["profile"]) == (640, 360, "Main")
    for stream in seen["streams"]:
        packets = [packet for packet in seen["packets"] if packet["stream_index"] == stream["index"]]
        times = [packet["dts"] for packet in packets]
        assert len(times) > 25 and times == sorted(set(times)), times
        assert times[0] < 1000, "a player's time starts near 0"
    first = next(packet for packet in seen["packets"] if packet["codec_type"] == "video")
    assert "K" in first["flags"], "the first frame is a key frame"


@pytest.mark.works_with("rtmpdump", plays="RTMP", codecs="H.264, AAC", checked="every frame")
def test_rtmpdump_plays_rtmp(live, folder):
    check_both(play_rtmpdump(live.rtmp(), folder))


@pytest.mark.works_with("VLC", plays="RTMP", codecs="H.264, AAC", checked="every frame")
def test_vlc_plays_rtmp(live, folder):
    check_both(play_vlc(live.rtmp(), folder))


@pytest.mark.works_with("VLC", plays="HTTP-FLV", codecs="H.264, AAC", checked="every frame")
def test_vlc_plays_http_flv(live, folder):
    check_both(play_vlc(live.http(), folder))


@pytest.mark.smoke
@pytest.mark.works_with("curl", plays="HTTP-FLV", codecs="H.264, AAC", checked="every frame")
def test_curl_receives_flv_that_decodes(live, folder):
    check_both(play_curl(live.http(), folder))


def test_http_flv_announces_what_it_is(live):
    with HttpFlv(live.http_port) as player:
        assert player.status == 200
        assert player.headers["content-type"] == "video/x-flv"
        assert "content-length" not in player.headers and not player.chunked
        assert player.headers.get("access-control-allow-origin") == "*"
        reader = player.reader()
        assert reader.has_audio and reader.has_video
        reader.tags_until(lambda tag: tag.is_key_frame())


def test_flv_starts_with_configuration_and_a_key_frame(live):
    with HttpFlv(live.http_port) as player:
        tags = player.reader().tags_until(lambda tag: tag.is_key_frame())
    kinds = [tag.type for tag in tags]
    assert kinds[0] == 18, "metadata first"
    assert any(tag.is_avc_config() for tag in tags) and any(tag.is_aac_config() for tag in tags)
    video = [tag for tag in tags if tag.type == VIDEO and not tag.is_avc_config()]
    assert video == [tags[-1]], "no frame before the first key frame"


@pytest.mark.smoke
def test_websocket_carries_the_same_flv(live, folder):
    with WsFlv(live.ws()) as player:
        reader = player.reader()
        assert reader.has_audio and reader.has_video
        tags = reader.tags(3)
    assert {AUDIO, VIDEO} <= {tag.type for tag in tags}
    check_both(Recording(write_flv(folder / "ws.flv", tags)))


def test_players_of_every_kind_share_one_stream(live, folder):
    jobs = {
        "rtmp": lambda: play_ffmpeg(live.rtmp(), folder, 4, name="p-rtmp"),
        "http": lambda: play_ffmpeg(live.http(), folder, 4, name="p-http"),
        "curl": lambda: play_curl(live.http(), folder, 4, name="p-curl"),
        "rtmpdump": lambda: play_rtmpdump(live.rtmp(), folder, 4),
    }
    got = {}
    threads = [threading.Thread(target=lambda name=name, job=job: got.update({name: job()})) for name, job in jobs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(got) == set(jobs), f"only {sorted(got)} played"
    for recording in got.values():
        check_rising(recording)
        check_frames(recording, least=50)


@pytest.mark.parametrize("path", ["live/sub/deep/stream", "a/b-c_d.e"])
def test_app_and_stream_names_survive(weir, folder, path):
    with publisher(weir.rtmp(path), folder):
        weir.wait_live(path.split("/")[-1])
        check_rising(play_ffmpeg(weir.rtmp(path), folder, 1, least=1_000))
        check_rising(play_curl(weir.http(f"/{path}.flv"), folder, 1, least=1_000))


def test_query_strings_are_not_part_of_the_name(weir, folder):
    with publisher(weir.rtmp("live/livestream?key=secret&x=1"), folder):
        weir.wait_live()
        check_both(play_ffmpeg(weir.rtmp("live/livestream?token=other"), folder))
        check_both(play_curl(weir.http("/live/livestream.flv?x=2"), folder))
    assert "secret" not in weir.log()
