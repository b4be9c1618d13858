"""weir-bench rtsp-play: frames of a stream that a camera sends on, and streams of GStreamer's server."""

import contextlib
import json
import signal
from pathlib import Path

import pytest

from flv import HttpFlv, write_flv
from media import SAMPLE, Program, Recording, check_rising, run
from rtmp import RtmpPlayer
from rtsp import rtsp_weir
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
        assert result.report["media"]["video_frames"] > 20 * 25
        assert result.report["media"]["unstamped"] == 0
        assert result.report["rtsp"]["response_ms"]["count"] == 20
        wait_until(lambda: [each[0] for each in camera.seen.requests].count("TEARDOWN") == 20, 10, "all take their leave")


def record(weir, path):
    """Some seconds of a stamped stream, which end with a whole frame."""
    with Program("publisher", [BENCH, "rtmp-publish", "--url", weir.rtmp(), "--bitrate", "300k", "--gop", "15",
                               "--duration", "0"], path.parent):
        weir.wait_live("livestream")
        with HttpFlv(weir.http_port) as player:
            write_flv(path, player.reader().tags(4))
    assert path.stat().st_size > 100_000


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_gstreamers_server(folder, transport):
    source = folder / "long.flv"  # the clock of each client's media runs from when it connects
    run(["ffmpeg", "-v", "error", "-stream_loop", "4", "-i", SAMPLE, "-c", "copy", source])
    with gst_server(folder, source) as url:
        result = bench(folder, "--url", url, "--transport", transport, "--clients", "10", "--duration", "3s", "--no-verify",
                       subcommand="rtsp-play")
        assert result.exit_code == 0, result.text
        figures = result.report["rtsp"]
        assert figures["packets"] > 0 and figures["loss_percent"] == 0 and figures["reports"] > 0
        assert result.report["media"]["audio_frames"] > 0


def test_players_pause_and_go_on(folder):
    with Camera(folder) as camera:
        camera.flaws.public += ", PAUSE"
        result = bench(folder, "--url", camera.url, "--clients", "3", "--duration", "4s", "--no-verify", "--pause-after", "500ms",
                       "--pause-for", "500ms", "--only-expect", "--expect", "clients.playing == 3", subcommand="rtsp-play")
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
        wait_until(lambda: listens(port), 20, "ffmpeg listens")
        result = bench(folder, "--url", f"rtsp://127.0.0.1:{port}/live/x", "--bitrate", "500k", "--gop", "15",
                       "--duration", "4s", subcommand="rtsp-publish")
        assert result.exit_code == 0, result.text
        program.wait(20)
    written = Recording(recording)
    assert written.streams() == {"video": ["h264"], "audio": ["aac"]}
    check_rising(written)
    assert len(written.frames()) > 30 and written.audio_seconds() > 1


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_what_is_published_by_rtsp_arrives_whole(new_weir, folder, transport):
    weir = rtsp_weir(new_weir)
    with Program("publisher", [BENCH, "rtsp-publish", "--url", weir.rtsp(), "--transport", transport, "--bitrate", "500k",
                               "--gop", "15", "--duration", "0"], folder):
        weir.wait_live("livestream")
        result = bench(folder, "--url", weir.rtmp(), "--clients", "3", "--duration", "3s", "--only-expect", "--expect",
                       "clients.playing == 3 and corrupted == 0 and loss == 0")
        assert result.exit_code == 0, result.text
        assert result.report["media"]["unstamped"] == 0 and result.report["media"]["video_frames"] > 3 * 30, result.text


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_cameras_are_pulled_and_one_that_fails_costs_the_others_nothing(new_weir, folder, transport):
    port = free_port()
    weir = new_weir(f"application camera {{ source rtsp://127.0.0.1:{port}/camera {{ transport {transport}; }} }}").start()
    report = folder / "cameras.json"
    cameras = [BENCH, "rtsp-publish", "--serve", port, "--cameras", "6", "--bitrate", "500k", "--gop", "15", "--duration", "0",
               "--outage-every", "1s", "--outage-for", "500ms", "--json", report]

    def came_back():
        """An outage costs two tries at most; so there were two, and it was played again."""
        found = next((each for each in weir.api("/api/v1/sources")["sources"] if each["name"] == "5"), None)
        return found and found["failures"] >= 3 and found["state"] == "live"

    with Program("cameras", cameras, folder) as program, contextlib.ExitStack() as stack:
        wait_until(lambda: listens(port), 20, "the cameras listen")
        stack.enter_context(RtmpPlayer(weir.rtmp_port, app="camera", stream="5"))  # the one that fails
        result = bench(folder, "--url", weir.rtmp("camera/%d"), "--streams", "5", "--clients", "5", "--duration", "4s",
                       "--only-expect", "--expect", "clients.playing == 5 and corrupted == 0 and loss == 0")
        assert result.exit_code == 0, result.text
        assert result.report["media"]["unstamped"] == 0 and result.report["media"]["video_frames"] >= 5 * 30, result.text
        wait_until(came_back, 30, "the one that fails comes back")
        program.end(signal.SIGINT, 20)
    served = json.loads(report.read_text())["publishers"]
    assert served["outages"] >= 2 and served["sessions"] > 6 and served["unknown"] == 0, served


def listens(port):
    """Without a connection, which would be the publisher's."""
    return f":{port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text()
