"""More players of HLS: hls.js with other codecs and over a discontinuity, ffmpeg with every codec and over one, GStreamer's hlsdemux2.
WEIR_FULL=1 for all of them."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from browser import Browser, watch
from hls import Viewer
from media import Recording, check_frames, encoded, frames_of, modern_ffmpeg, play_ffmpeg, publisher
from rtsp import gst
from test_hls import MORE, short_gops
from weir import wait_until

AUDIO = (["-vn", "-c:a", "aac", "-b:a", "96k"], {"audio": ["aac"]})
KINDS = {**MORE, "audio": AUDIO}


def sources(kinds):
    return {kind: encoded(*KINDS[kind][0], **({"suffix": "m4a"} if kind == "audio" else {})) for kind in kinds}


def publish_all(stack, server, folder, made):
    for kind, source in made.items():
        stack.enter_context(publisher(server.rtmp(f"live/{kind}"), folder, source, name=f"publish-{kind}", ffmpeg=modern_ffmpeg()))
    for kind in made:
        server.wait_live(kind, 15)


@pytest.mark.timeout(180)  # it encodes eight times
@pytest.mark.works_with("newer ffmpeg", plays="HLS", codecs="H.264, HEVC, AV1, VP9, AAC, MP3, AC-3, Opus",
                        checked="every frame; one track alone")
def test_ffmpeg_plays_every_codec(new_weir, folder):
    server = new_weir("hls { fragment 1s; }").start()
    made = sources(("hevc", "av1", "vp9", "ac3", "opus", "mp3", "audio", "video"))
    with ExitStack() as stack:
        publish_all(stack, server, folder, made)
        with ThreadPoolExecutor(len(made)) as pool:
            jobs = {kind: pool.submit(play_ffmpeg, server.http(f"/live/{kind}.m3u8"), folder, 3.5, name=f"play-{kind}", ffmpeg=modern_ffmpeg(),
                                      suffix="mkv") for kind in made}
            played = {kind: job.result() for kind, job in jobs.items()}
    for kind, recording in played.items():
        recording.ffmpeg = modern_ffmpeg()
        assert recording.streams() == KINDS[kind][1], (kind, recording.streams())
        if "video" in KINDS[kind][1]:
            check_frames(recording, made[kind], least=60)
        if "audio" in KINDS[kind][1]:
            assert recording.audio_seconds() > 2.5, kind


@pytest.mark.full
def test_hls_js_plays_other_codecs(new_weir, folder):
    """One behind the other in the same browser. MP3 in MP4 is not among them: Chromium takes it for no codec of Media Source Extensions."""
    server = new_weir("hls { fragment 1s; }").start()
    made = sources(("av1", "vp9", "opus", "video", "audio"))
    with ExitStack() as stack:
        publish_all(stack, server, folder, made)
        browser = stack.enter_context(Browser(folder))
        for kind in made:
            browser.open(server.http(f"/?play=live/{kind}&transport=hls&autoplay=1"))
            if kind == "audio":
                first = wait_until(lambda: (state := browser.video()) and state["time"] > 0.5 and state, 20, "it plays")
                time.sleep(2)
                last = browser.video()
                assert last["time"] - first["time"] > 1.2 and last["audio_bytes"] > first["audio_bytes"], (first, last)
            else:
                watch(browser, 2)


@pytest.mark.works_with("hls.js", plays="HLS", codecs="H.264, AAC", checked="goes on with a new publisher")
def test_hls_js_plays_over_a_discontinuity(new_weir, folder):
    server = new_weir("hls { fragment 1s; }").start()
    source = short_gops(folder)
    with Browser(folder) as browser:
        with publisher(server.rtmp(), folder, source):
            server.wait_live()
            browser.open(server.http("/?play=live/livestream&transport=hls&autoplay=1"))
            watch(browser, 3)
        with publisher(server.rtmp(), folder, source, name="second"):
            before = browser.video()
            wait_until(lambda: (state := browser.video()) and (state["error"] or state["frames"] > before["frames"] + 100), 30, "it plays on")
            after = browser.video()
            assert not after["error"] and after["time"] > before["time"] + 3, (before, after)


@pytest.mark.full
def test_ffmpeg_plays_over_a_discontinuity(new_weir, folder):
    server = new_weir("hls { fragment 1s; }").start()
    source = short_gops(folder)
    with ThreadPoolExecutor(1) as pool:
        with publisher(server.rtmp(), folder, source):
            server.wait_live()
            job = pool.submit(play_ffmpeg, server.http("/live/livestream.m3u8"), folder, 12, suffix="ts")
            time.sleep(5)
        with publisher(server.rtmp(), folder, source, name="second"):
            recording = job.result()
    # A seam; B-frames that the first publisher did not send any more are missing right before it.
    check_frames(recording, source, least=175, most_runs=3)


@pytest.mark.full
@pytest.mark.parametrize("container", ["fmp4", "ts"])
def test_hlsdemux2_plays(new_weir, folder, container):
    """GStreamer's new demuxer. That of 1.22 loses its place where a playlist begins with the first request, so segments are there before."""
    server = new_weir(f"hls {{ always on; fragment 1s; container {container}; }}").start()
    out, source = folder / "gst.y4m", short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        wait_until(lambda: server.wait_live() and len(Viewer(server.http("/live/livestream.m3u8")).reload().segments) >= 4, 15, "a window of segments")
        with gst("gst", folder, "uridecodebin3", f"uri={server.http('/live/livestream.m3u8')}", "name=u", "u.", "!", "video/x-raw", "!", "queue",
                 "!", "videoconvert", "!", "video/x-raw,format=I420", "!", "y4menc", "!", "filesink", f"location={out}") as program:
            wait_until(lambda: out.exists() and out.stat().st_size > 25_000_000 or not program.running(), 30, "GStreamer receives")
            program.end(2)
    # Its decoder here does not draw every frame to the bit as ffmpeg does: those that are equal follow each other.
    frames, sent = Recording(out).frames(), frames_of(source)
    known = [sent.index(frame) for frame in frames if frame in sent]
    back = sum(after < before for before, after in zip(known, known[1:]))  # where the source begins again
    assert len(frames) >= 60 and len(known) >= 3 and back <= len(frames) // len(sent) + 1, (len(frames), known)
