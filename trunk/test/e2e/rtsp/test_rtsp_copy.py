"""ffmpeg copies streams with B-frames from RTSP to files (`-c copy`), though the first picture that it gets has no time."""

import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from media import BRIEF, Recording, check_frames, encoded, modern_ffmpeg, publisher
from rtsp import publish_rtsp, rtsp_weir
from test_rtsp import most_runs
from test_rtsp_kinds import PICTURES, SOUND

SECONDS = "3"
CLIPS = {
    "h264": ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-bf", "2", "-x264-params", "b-adapt=0:b-pyramid=normal", "-c:a", "aac"],
    "hevc": ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:keyint=25:bframes=3:b-adapt=0:open-gop=0", "-c:a", "aac"],
    # The GOPs begin with leading pictures, which decoders drop at the start.
    "hevc-open": ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:keyint=25:bframes=3:b-adapt=0:open-gop=1", "-c:a", "aac"],
}


@pytest.fixture(params=CLIPS)
def live(request, new_weir, folder):
    """A server with the stream, and its clip."""
    server = rtsp_weir(new_weir)
    clip = encoded(*CLIPS[request.param], inputs=(*PICTURES, *SOUND))
    program = (publisher(server.rtmp(), folder, clip) if request.param == "h264" else
               publish_rtsp(server.rtsp(), folder, source=clip, ffmpeg=modern_ffmpeg()))
    with program:
        server.wait_live()
        yield server, clip, request.param


def play(ffmpeg, url, transport, *output):
    """What ffmpeg says meanwhile: errors."""
    command = [ffmpeg, "-v", "error", "-nostdin", "-y", *BRIEF, "-rtsp_transport", transport, "-i", url, "-t", SECONDS, *output]
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=60)
    said = done.stderr.decode(errors="replace")
    assert done.returncode == 0, said
    return [line for line in said.splitlines() if "max delay reached" not in line and "RTP: " not in line]  # of a busy machine, by UDP


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_ffmpeg_copies_b_frames(live, folder, transport):
    server, clip, kind = live
    wanted = [(ffmpeg, folder / f"{name}.{suffix}") for name, ffmpeg in (("debian", "ffmpeg"), ("newer", modern_ffmpeg())) for suffix in ("mkv", "ts")]

    def copy(each):
        ffmpeg, out = each
        return play(ffmpeg, server.rtsp(), transport, "-map", "0", "-c", "copy", out)

    with ThreadPoolExecutor() as pool:
        said = list(pool.map(copy, wanted))
    assert said == [[]] * len(wanted), said
    for _, out in wanted:
        recording = Recording(out, ffmpeg=modern_ffmpeg())
        video = [packet for packet in recording.packets() if packet["codec_type"] == "video"]
        assert video[0]["flags"].startswith("K") and len(video) >= 50, (out, video[0], len(video))
        if kind != "hevc-open":
            assert len(recording.frames()) == len(video), "each packet is a picture: the lead-in is not among them"
        check_frames(recording, clip, least=50, most_runs=most_runs(server) + (kind == "hevc-open"))


def test_decoders_do_not_mind(live, folder):
    server, _, _ = live
    with ThreadPoolExecutor() as pool:
        said = list(pool.map(lambda ffmpeg: play(ffmpeg, server.rtsp(), "tcp", "-f", "null", "-"), ("ffmpeg", modern_ffmpeg())))
    # Of a live stream on a busy machine the list of frames may have two of one time.
    said = [[line for line in lines if "non monotonically" not in line] for lines in said]
    assert said == [[], []], said
