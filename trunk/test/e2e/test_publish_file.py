"""weir-bench publishes a file in a loop: players decode it without an error, and every frame is verified."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from media import (Program, check_frames, check_rising, encoded, modern_ffmpeg, play_curl, play_ffmpeg, SAMPLE)
from weir import TOP

BENCH = TOP / os.environ.get("WEIR_BENCH", "objs/weir-bench")
CLIP_SECONDS = 2


def clip(name, *codecs):
    """The first seconds of the sample, so that a short test sees several turns."""
    return encoded("-t", str(CLIP_SECONDS), *(codecs or ("-c", "copy")), inputs=("-i", SAMPLE), suffix=name.rpartition(".")[2], ffmpeg="ffmpeg")


def bench_publisher(url, folder, path, *more):
    return Program("bench-publisher", [BENCH, "rtmp-publish", "--url", url, "--file", path, "--duration", "60s", *more],
                   folder)


def bench_play(weir, folder, *more, subcommand="rtmp-play", url=None):
    report = folder / "report.json"
    # Who stands still for a moment does not fall behind for good.
    done = subprocess.run([str(word) for word in (BENCH, subcommand, "--url", url or weir.rtmp(), "--quiet", "--behind", "20s", "--stall", "20s",
                                                  "--json", report, *more)], capture_output=True, text=True, timeout=60)
    return done, json.loads(report.read_text()) if report.exists() else {}


def errors_of(recording, ffmpeg="ffmpeg"):
    """What a full decode complains about."""
    done = subprocess.run([ffmpeg, "-v", "warning", "-xerror", "-i", recording.path, "-f", "null", "-"],
                          capture_output=True, text=True, timeout=60)
    return done.stderr + ("" if done.returncode == 0 else f"exit code {done.returncode}")


@pytest.mark.parametrize("name", ["clip.flv", "clip.mp4", "fragmented.mp4"])
def test_looped_file_decodes_without_an_error(weir, folder, name):
    path = clip(name, "-c", "copy", *(["-movflags", "frag_keyframe+empty_moov"] if "frag" in name else []))
    with bench_publisher(weir.rtmp(), folder, path):
        weir.wait_live()
        with ThreadPoolExecutor() as pool:
            players = [pool.submit(play, url, folder, 3 * CLIP_SECONDS) for play, url in ((play_ffmpeg, weir.rtmp()), (play_curl, weir.http()))]
        rtmp, http = (player.result() for player in players)
    for recording in (rtmp, http):
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}
        check_rising(recording)
        assert errors_of(recording) == ""
        check_frames(recording, path, least=25 * CLIP_SECONDS)
    assert rtmp.audio_seconds() >= 2 * CLIP_SECONDS


def test_time_does_not_jump_where_the_file_repeats(weir, folder):
    path = clip("clip.mp4", "-c:v", "libx264", "-bf", "2", "-c:a", "aac")  # the copy would be cut between B-frames
    with bench_publisher(weir.rtmp(), folder, path):
        weir.wait_live()
        recording = play_ffmpeg(weir.rtmp(), folder, seconds=3 * CLIP_SECONDS)
    times = {}
    for packet in recording.packets():
        times.setdefault(packet["codec_type"], []).append(float(packet["dts_time"]))
    steps = {kind: [b - a for a, b in zip(each, each[1:])] for kind, each in times.items()}
    assert max(steps["video"]) < 0.0415 and min(steps["video"]) > 0.0385, steps["video"]
    assert max(steps["audio"]) < 0.0475 and min(steps["audio"]) > 0, steps["audio"]


@pytest.mark.smoke
@pytest.mark.parametrize("subcommand", ["rtmp-play", "flv-play"])
def test_frames_of_a_file_are_verified(weir, folder, subcommand):
    path = clip("clip.mp4")
    url = {"rtmp-play": weir.rtmp("live/s%d"), "flv-play": weir.http("/live/s%d.flv")}[subcommand]
    where = ["--publish-url", weir.rtmp("live/s%d")] if subcommand == "flv-play" else []
    done, report = bench_play(weir, folder, "--publish-file", path, "--streams", "2", "--clients", "6", "--duration", "4s",
                              *where, subcommand=subcommand, url=url)
    assert done.returncode == 0, done.stdout
    media = report["media"]
    assert media["lost"] == 0 and media["corrupted"] == 0 and media["unstamped"] == 0
    assert media["video_frames"] >= 6 * 25 * 2
    assert report["latency"]["all_ms"]["p50"] < 1000


def test_hevc_is_stamped_and_decodes(weir, folder):
    path = clip("hevc.mp4", "-c:v", "libx265", "-x265-params", "log-level=error", "-preset", "ultrafast", "-c:a",
                "copy", "-tag:v", "hvc1")
    with bench_publisher(weir.rtmp(), folder, path):
        weir.wait_live()
        done, report = bench_play(weir, folder, "--clients", "2", "--duration", "2s")
        assert done.returncode == 0, done.stdout
        recording = play_curl(weir.http(), folder, seconds=2 * CLIP_SECONDS)
    assert errors_of(recording, modern_ffmpeg()) == ""


def test_a_file_that_cannot_be_stamped_is_counted_and_said_to_be_unverified(weir, folder):
    path = clip("clip.flv", "-c:v", "flv", "-c:a", "libmp3lame")
    done, report = bench_play(weir, folder, "--publish-file", path, "--clients", "2", "--duration", "2s")
    assert done.returncode == 0, done.stdout
    assert report["media"]["video_frames"] > 25 and report["media"]["stalls"] == 0
    assert report["media"]["unverified"] == "rtmp-play: frames of these codecs carry no stamps"
    assert "lost" not in report["media"], "a figure that nothing was compared for"


def test_a_broken_file_is_explained(weir, folder):
    whole = clip("clip.mp4")
    cut = folder / "cut.mp4"
    cut.write_bytes(whole.read_bytes()[:-100])
    for path, words in ((cut, ("cut.mp4", "at byte", "moov")), (folder / "none.flv", ("none.flv", "No such file"))):
        done, _ = bench_play(weir, folder, "--publish-file", path, "--clients", "2")
        assert done.returncode == 2
        assert all(word in done.stderr for word in words), done.stderr
