"""weir-bench over WebRTC against the real server: every frame of a stream by WHEP, by WHIP, and with loss."""

import pytest

from test_load_client import bench
from weir import free_port, wait_until

# None of these tests is about delay: a process that stands still for a moment is not one that falls behind.
PUBLISH = ("--publish", "300k", "--gop", "15", "--behind", "20s", "--stall", "20s")


@pytest.fixture
def rtc(new_weir):
    return new_weir(f"rtc_server {{ enabled on; listen {free_port()}; candidate 127.0.0.1; }}").start()


def whep(server, stream="livestream"):
    return server.http(f"/rtc/v1/whep/?app=live&stream={stream}")


def whip(server, stream="livestream"):
    return server.http(f"/rtc/v1/whip/?app=live&stream={stream}")


def play(folder, server, *words, stream="livestream", **more):
    return bench(folder, "--url", whep(server, stream), *words, subcommand="rtc-play", **more)


def live_objects(server, name):
    return next(each["live"] for each in server.api("/api/v1/objects")["objects"] if each["class"] == name)


def test_fifty_players_get_every_frame(rtc, folder):
    result = play(folder, rtc, *PUBLISH, "--publish-url", rtc.rtmp(), "--clients", "50", "--duration", "5s",
                  "--expect", "packets.lost == 0 and clients.playing == 50 and rtt.p50 < 2s and loss == 0")
    assert result.exit_code == 0, result.text
    assert result.report["clients"]["connected"] == 50
    assert result.report["media"]["video_frames"] > 50 * 2 * 25
    assert result.report["media"]["audio_frames"] > 0, "the sound comes as Opus"
    assert result.report["webrtc"]["transport_feedback"] > 50
    assert result.report["latency"]["all_ms"]["count"] > 0
    wait_until(lambda: live_objects(rtc, "rtc_session") == 0, 10, "each player took its leave")


@pytest.mark.alone  # a retransmission that comes too late is a loss
def test_what_is_thrown_away_comes_again(rtc, folder):
    result = play(folder, rtc, *PUBLISH, "--publish-url", rtc.rtmp(), "--clients", "10", "--duration", "4s",
                  "--drop", "30", "--only-expect", "--expect", "packets.loss_before > 0.01 and loss == 0")
    assert result.exit_code == 0, result.text
    figures = result.report["webrtc"]  # sound is not asked for again, as with browsers
    assert figures["packets_recovered"] > 0 and figures["packets_retransmitted"] > 0 and figures["nacks"] > 0
    assert result.report["media"]["corrupted"] == 0


def test_without_nack_a_loss_stays(rtc, folder):
    result = play(folder, rtc, *PUBLISH, "--publish-url", rtc.rtmp(), "--clients", "5", "--duration", "3s",
                  "--drop", "30", "--no-nack", "--no-transport-cc", "--only-expect", "--expect", "packets.lost > 0")
    assert result.exit_code == 0, result.text
    assert result.report["webrtc"]["nacks"] == 0 and result.report["webrtc"]["transport_feedback"] == 0
    assert result.report["media"]["corrupted"] == 0, "a frame that lost a packet is none"


def test_what_is_published_by_webrtc_is_played_by_both(rtc, folder):
    by_webrtc = play(folder, rtc, *PUBLISH, "--publish-url", whip(rtc, "a"), "--clients", "5", "--duration", "2s",
                     stream="a")
    assert by_webrtc.exit_code == 0, by_webrtc.text
    assert by_webrtc.report["publishers"]["packets"] > 0
    by_rtmp = bench(folder, "--url", rtc.rtmp("live/b"), *PUBLISH, "--publish-url", whip(rtc, "b"), "--clients", "5",
                    "--duration", "2s")
    assert by_rtmp.exit_code == 0, by_rtmp.text
    assert by_rtmp.report["media"]["video_frames"] > 5 * 15 and by_rtmp.report["media"]["audio_frames"] > 0


def test_publishers_come_and_go(rtc, folder):
    result = bench(folder, "--url", whip(rtc, "p%d"), "--streams", "10", "--bitrate", "200k", "--duration", "2s",
                   subcommand="rtc-publish")
    assert result.exit_code == 0, result.text
    assert result.report["publishers"]["failed"] == 0
    wait_until(lambda: live_objects(rtc, "rtc_session") == 0, 10, "each publisher took its leave")


@pytest.mark.parametrize("leave", ["close", "vanish"])
def test_players_leave_as_they_are_told(rtc, folder, leave):
    result = play(folder, rtc, *PUBLISH, "--publish-url", rtc.rtmp(), "--clients", "5", "--duration", "1s",
                  "--leave", leave)
    assert result.exit_code == 0, result.text
    if leave == "close":
        wait_until(lambda: live_objects(rtc, "rtc_session") == 0, 10, "the sessions are gone")
    else:
        assert live_objects(rtc, "rtc_session") == 5, "the server cannot know yet"


def test_a_refusal_is_told(rtc, folder):
    refused = bench(folder, "--url", rtc.http("/rtc/v1/whep/?app=live"), "--clients", "3", "--duration", "1s",
                    subcommand="rtc-play")
    assert refused.exit_code == 1
    assert "refused with status 400: 400 Bad Request: which stream?" in refused.text
    wrong = bench(folder, "--url", rtc.rtmp(), subcommand="rtc-play")
    assert wrong.exit_code == 2 and "expected an http:// URL" in wrong.text
    unknown = play(folder, rtc, "--leave", "loudly")
    assert unknown.exit_code == 2 and "expected delete, close or vanish" in unknown.text
