"""RTSP with real programs: what they decode is what was sent, by whatever protocol it came."""

import json
import re

import pytest

from media import check_both, check_frames, play_ffmpeg, publisher, run
from rtsp import Client, gst_publisher, play_rtsp, publish_rtsp, rtp_header, rtp_info, rtsp_weir
from weir import wait_until


@pytest.fixture
def server(new_weir):
    return rtsp_weir(new_weir)


@pytest.fixture
def live(server, folder):
    with publisher(server.rtmp(), folder):
        server.wait_live()
        yield server


def most_runs(server):
    """Of frames that follow each other, when all players have left: by UDP, and with SRTP, a player goes on with the newest key frame where it
    is more than a second behind, as its publisher or the server stood still for so long."""
    wait_until(lambda: not any((each["protocol"], each["role"]) == ("rtsp", "player") for each in server.clients()), 15, "players have left")
    return 1 + 2 * sum(int(jumps) for jumps in re.findall(r" role=player transport=rtsp .* resyncs=(\d+) ", server.log()))


def check_rtsp(server, recording, seconds=2.0):
    """As check_both(), for a file that ffmpeg made of RTP, which has times of presentation only."""
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_frames(recording, least=int(25 * seconds), most_runs=most_runs(server))
    assert recording.audio_seconds() >= seconds


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.works_with("ffmpeg", plays="RTSP", codecs="H.264, AAC", checked="every frame by TCP and UDP")
def test_ffmpeg_plays(live, folder, transport):
    check_rtsp(live, play_rtsp(live.rtsp(), folder, transport))


def test_ffprobe_reads_the_description(live):
    seen = json.loads(run(["ffprobe", "-v", "error", "-rtsp_transport", "tcp", "-show_streams", "-of", "json", live.rtsp()], 30))
    assert sorted(stream["codec_name"] for stream in seen["streams"]) == ["aac", "h264"]
    video = next(stream for stream in seen["streams"] if stream["codec_name"] == "h264")
    assert (video["width"], video["height"], video["profile"]) == (640, 360, "Main")


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.works_with("ffmpeg", publishes="RTSP", codecs="H.264, AAC", checked="every frame by TCP and UDP")
def test_ffmpeg_publishes(server, folder, transport):
    with publish_rtsp(server.rtsp(), folder, transport):
        server.wait_live()
        check_both(play_ffmpeg(server.rtmp(), folder))
        check_both(play_ffmpeg(server.http(), folder, name="flv-player"))
        check_rtsp(server, play_rtsp(server.rtsp(), folder, transport))


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.works_with("GStreamer", publishes="RTSP", codecs="H.264, AAC", checked="every frame by TCP and UDP")
def test_gstreamer_publishes(server, folder, transport):
    with gst_publisher(server.rtsp(), folder, transport) as gstreamer:
        wait_until(lambda: any(stream["name"] == "livestream" and stream["publish"]["active"] for stream in server.streams()) or
                   not gstreamer.running(), 15, "GStreamer publishes")
        assert gstreamer.running(), gstreamer.log()
        check_rtsp(server, play_rtsp(server.rtsp(), folder, transport))


def test_rtp_info_is_of_the_first_packets(live):
    with Client(live.rtsp_port, live.rtsp()) as client:
        _, answers = client.set_up(["RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP/TCP;unicast;interleaved=2-3"])
        assert [answer.status for answer in answers] == [200, 200]
        played = client.request("PLAY", Range="npt=0.000-")
        assert played.status == 200 and "range" in played.fields
        first = {channel: rtp_header(client.frame(channel)) for channel in (0, 2)}
        assert rtp_info(played) == [first[0][1:3], first[2][1:3]]


def test_pause_and_play_again(live):
    with Client(live.rtsp_port, live.rtsp()) as client:
        client.set_up(["RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP/TCP;unicast;interleaved=2-3"])
        assert client.request("PLAY").status == 200
        client.frame(0)
        assert client.request("PAUSE").status == 200
        assert client.request("GET_PARAMETER").status == 200
        client.frames.clear()
        again = client.request("PLAY")
        assert again.status == 200 and "rtp-info" in again.fields
        assert not client.frames, "no media while it is paused"
        assert rtp_info(again)[0] == rtp_header(client.frame(0))[1:3]
        assert client.request("TEARDOWN").status == 200
        client.session = None
        assert client.request("OPTIONS").status == 200, "the connection goes on"
        assert client.request("DESCRIBE").status == 200


def test_clients_are_shown(live, folder):
    with Client(live.rtsp_port, live.rtsp()) as client:
        client.set_up(["RTP/AVP/TCP;unicast;interleaved=0-1"])
        client.request("PLAY")
        client.frame(0)
        shown = [each for each in live.clients() if each["protocol"] == "rtsp"]
        assert len(shown) == 1, live.clients()


def test_what_is_not_there(server):
    with Client(server.rtsp_port, server.rtsp("live/nothing")) as client:
        assert client.request("DESCRIBE").status == 404
        assert client.request("PLAY").status == 455
        assert client.request("SETUP", Transport="RTP/AVP/TCP;interleaved=0-1").status == 404
        assert client.request("TEARDOWN").status == 454
        assert client.request("FLY").status == 501
        assert client.request("OPTIONS", Session="4711").status == 454
        client.send(f"OPTIONS {client.url} RTSP/2.0\r\nCSeq: 99\r\n\r\n")
        assert client.answer().status == 505
