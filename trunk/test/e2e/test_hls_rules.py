"""HLS by the rules, each with its section (hls_rules.py), for every kind of playlist that the server makes."""

import threading
import time

import pytest

from hls_examine import examine
from media import encoded, modern_ffmpeg, publisher
from test_hls import short_gops
from test_record import recordings
from weir import wait_until

ALWAYS = ("content-type", "target", "media-sequence", "sequence-grows", "segments-stay", "target-constant", "m-extinf", "m-times")
LIVE = (*ALWAYS, "window", "stays", "date", "date-lengths", "discontinuities-counted")
MP4 = ("m-fragment", "map")
LOW = (*LIVE, *MP4, "blocking", "part-inf", "part-length", "part-least", "part-sum", "part-old", "server-control", "hint", "hint-kept", "m-part", "m-whole")


def check(report, *checked):
    """No rule is broken, and these were looked at."""
    assert not report.errors() and not report.warnings() and not set(checked) & set(report.unchecked()), report.text()


def check_live(url, seconds, *checked):
    """The same of a stream, read for longer where somebody stood still and too little was seen."""
    report = examine(url, seconds)
    if not report.failed and set(checked) & set(report.unchecked()):
        report = examine(url, 2 * seconds)
    check(report, *checked)


@pytest.mark.parametrize(("settings", "seconds", "checked"), [
    ("container fmp4; fragment 1s;", 6, (*LOW, "m-independent", "m-codecs", "m-bandwidth")),
    ("container ts; fragment 1s;", 6, (*LIVE, "m-ts", "m-independent", "m-bandwidth")),
    ("fragment 1s; window 12;", 15, (*LOW, "skip", "delta"))])
def test_live(new_weir, folder, settings, seconds, checked):
    server = new_weir(f"hls {{ {settings} }}").start()
    with publisher(server.rtmp(), folder, short_gops(folder)):
        server.wait_live()
        check_live(server.http("/live/livestream.m3u8"), seconds, *checked)


def test_variants(new_weir, folder):
    server = new_weir("hls { fragment 1s; variants live/[stream]_low; }").start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source), publisher(server.rtmp("live/livestream_low"), folder, source, name="low"):
        for name in ("livestream", "livestream_low"):
            server.wait_live(name)
        check_live(server.http("/live/livestream.m3u8"), 6, *LOW, "stream-inf", "codecs", "report", "m-codecs")


def test_audio_alone(new_weir, folder):
    server = new_weir("hls { fragment 1s; }").start()
    with publisher(server.rtmp(), folder, encoded("-vn", "-c:a", "aac", "-b:a", "96k", suffix="m4a")):
        server.wait_live()
        check_live(server.http("/live/livestream.m3u8"), 6, *LOW, "m-codecs")


@pytest.mark.parametrize("container", ["fmp4", "ts"])
def test_another_publisher(new_weir, folder, container):
    """With another codec where the container has it: a discontinuity that comes, and leaves the playlist."""
    server = new_weir(f"hls {{ fragment 1s; container {container}; }}").start()
    first, second = short_gops(folder), folder / "second"
    second.mkdir()
    hevc = encoded("-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:keyint=25:bframes=0", "-c:a", "aac")
    reports = []
    with publisher(server.rtmp(), folder, first):
        server.wait_live()
        viewer = threading.Thread(target=lambda: reports.append(examine(server.http("/live/livestream.m3u8"), 12)))
        viewer.start()
        time.sleep(4)
    with publisher(server.rtmp(), folder, hevc, name="second", ffmpeg=modern_ffmpeg()):
        viewer.join()
    assert reports, "the viewer was refused"
    check(reports[0], *LIVE, "discontinuity-sequence")


def test_recordings(new_weir, folder):
    """A file, and two of them as one presentation."""
    place = folder / "recordings"
    place.mkdir()
    server = new_weir(f"record {{ enabled on; path {place}; playback on; }}").start()
    source = short_gops(folder)
    for _ in range(2):
        with publisher(server.rtmp(), folder, source):
            server.wait_live()
            time.sleep(4)
        time.sleep(0.5)
    files = wait_until(lambda: len(found := recordings(server)) == 2 and found, 10, "the recordings are finished")
    for address in (files[0]["play"].removesuffix(".mp4") + ".m3u8", "/vod/live/livestream.m3u8"):
        report = examine(server.http(address), 10)
        check(report, "content-type", "target", "media-sequence", "byterange", "map", "playlist-type", "date", "m-extinf", "m-times", "m-fragment",
              "m-independent")
