"""weir-bench rtsp-play: frames of a stream that a camera sends on, and streams of GStreamer's server."""

import subprocess
from pathlib import Path

import pytest

from media import SAMPLE, Program, Recording, check_rising
from rtsp_camera import Camera
from test_load_client import BENCH, bench
from test_rtsp_pull import gst_server
from weir import free_port, wait_until


@pytest.mark.parametrize("transport", ["tcp", "udp", "multicast"])
def test_every_frame_is_verified(new_weir, folder, transport):
    """The frames go to Weir by RTMP, and from there through a camera to the players."""
    weir = new_weir().start()
    recording = folder / "stamped.flv"
    record(weir, recording)
    with Camera(folder, source=recording) as camera:
        result = bench(folder, "--url", camera.url, "--transport", transport, "--clients", "20", "--duration", "3s",
                       "--only-expect", "--expect", "clients.playing == 20 and corrupted == 0 and packets.lost == 0",
                       subcommand="rtsp-play")
        assert result.exit_code == 0, result.text
        assert result.report["media"]["video_frames"] > 20 * 3 * 25
        assert result.report["media"]["unstamped"] == 0
        assert result.report["rtsp"]["response_ms"]["count"] == 20
        wait_until(lambda: [each[0] for each in camera.seen.requests].count("TEARDOWN") == 20, 10, "all take their leave")


def record(weir, path):
    """Six seconds of a stamped stream."""
    with Program("publisher", [BENCH, "rtmp-publish", "--url", weir.rtmp(), "--bitrate", "300k", "--gop", "15",
                               "--duration", "0"], path.parent):
        weir.wait_live("livestream")
        subprocess.run(["curl", "-s", "--max-time", "6", "-o", path, weir.http("/live/livestream.flv")], timeout=60)
    assert path.stat().st_size > 100_000


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_gstreamers_server(folder, transport):
    with gst_server(folder, SAMPLE) as url:
        result = bench(folder, "--url", url, "--transport", transport, "--clients", "10", "--duration", "3s", "--no-verify",
                       subcommand="rtsp-play")
        assert result.exit_code == 0, result.text
        figures = result.report["rtsp"]
        assert figures["packets"] > 0 and figures["loss_percent"] == 0 and figures["reports"] > 0
        assert result.report["media"]["audio_frames"] > 0


def test_players_pause_and_go_on(folder):
    with Camera(folder) as camera:
        camera.flaws.public += ", PAUSE"
        result = bench(folder, "--url", camera.url, "--clients", "3", "--duration", "4s", "--no-verify", "--pause-after", "1s",
                       "--pause-for", "1s", "--only-expect", "--expect", "clients.playing == 3", subcommand="rtsp-play")
        assert result.exit_code == 0, result.text
        asked = [each[0] for each in camera.seen.requests]
        assert asked.count("PAUSE") == 3 and asked.count("PLAY") == 6, asked


def test_wrong_words_are_explained(folder):
    for words, said in ((("--transport", "smoke"), "expected tcp, udp or multicast"),
                        (("--url", "rtmp://127.0.0.1/live/x"), "expected rtsp://")):
        result = bench(folder, *words, subcommand="rtsp-play")
        assert result.exit_code != 0 and said in result.text, result.text


def test_a_synthetic_stream_is_published(folder):
    """ffmpeg takes it as an RTSP server, and what it has written decodes."""
    port, recording = free_port(), folder / "published.flv"
    server = ["ffmpeg", "-hide_banner", "-nostdin", "-y", "-rtsp_flags", "listen", "-i", f"rtsp://127.0.0.1:{port}/live/x",
              "-c", "copy", recording]
    with Program("server", server, folder) as program:
        wait_until(lambda: listens(port), 10, "ffmpeg listens")
        result = bench(folder, "--url", f"rtsp://127.0.0.1:{port}/live/x", "--bitrate", "500k", "--gop", "15",
                       "--duration", "4s", subcommand="rtsp-publish")
        assert result.exit_code == 0, result.text
        program.wait(10)
    written = Recording(recording)
    assert written.streams() == {"video": ["h264"], "audio": ["aac"]}
    check_rising(written)
    assert len(written.frames()) > 60 and written.audio_seconds() > 2


def listens(port):
    """Without a connection, which would be the publisher's."""
    return f":{port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text()
