"""RTMP clients with habits of their own: gortmplib, rtmpdump with a duration, players that come before the publisher."""

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from media import Recording, check_both, play_ffmpeg, play_rtmpdump, publisher
from weir import TOP, wait_until

GORTMPLIB = TOP / "objs" / "tools" / "gortmplib-peer"


@pytest.mark.works_with("gortmplib", publishes="RTMP", codecs="H.264, AAC", checked="every frame")
@pytest.mark.works_with("gortmplib", plays="RTMP", codecs="H.264, AAC", checked="every frame, which it publishes again")
def test_gortmplib_publishes_and_plays_with_an_empty_stream_name(weir, folder):
    # It says all of "/live/x/" as the application and an empty name, with the key behind it or without.
    with publisher(weir.rtmp("live/source"), folder):
        weir.wait_live("source")
        with subprocess.Popen([GORTMPLIB, "relay", weir.rtmp("live/source/"), weir.rtmp("live/relayed/"), "8"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as relay:
            try:
                weir.wait_live("relayed", 20)
                check_both(play_ffmpeg(weir.rtmp("live/relayed"), folder))
                said, trouble = relay.communicate(timeout=60)
            finally:
                relay.kill()
        assert relay.returncode == 0, trouble
        passed = json.loads(said)
        assert passed["video"] > 50 and passed["audio"] > 50, passed


@pytest.mark.parametrize("live", [[], ["--live"]], ids=["recorded", "live"])
@pytest.mark.works_with("rtmpdump", plays="RTMP", codecs="H.264, AAC", checked="`--stop`, with and without `--live`")
def test_rtmpdump_ends_at_its_stop(weir, folder, live):
    out = folder / "dump.flv"
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        started = time.monotonic()
        done = subprocess.run(["rtmpdump", *live, "--rtmp", weir.rtmp(), "--stop", "3", "-o", out],
                              capture_output=True, text=True, timeout=60)
        assert time.monotonic() - started < 45
        assert done.returncode == 0, done.stderr[-2000:]
    seconds = [float(packet["dts_time"]) for packet in Recording(out).packets()]
    assert 2.5 < max(seconds) - min(seconds) <= 3.0, seconds[-1]


@pytest.mark.works_with("rtmpdump", plays="RTMP", codecs="H.264, AAC", checked="comes before the publisher")
@pytest.mark.works_with("ffmpeg", plays="RTMP", codecs="H.264, AAC", checked="comes before the publisher")
@pytest.mark.works_with("ffmpeg", plays="HTTP-FLV", codecs="H.264, AAC", checked="comes before the publisher")
def test_players_wait_for_the_publisher_and_are_told(weir, folder):
    waiting = [lambda: play_ffmpeg(weir.rtmp(), folder, 4, "rtmp-waits"), lambda: play_rtmpdump(weir.rtmp(), folder, 4),
               lambda: play_ffmpeg(weir.http(), folder, 4, "http-waits")]
    with ThreadPoolExecutor(len(waiting)) as pool:
        jobs = [pool.submit(play) for play in waiting]
        wait_until(lambda: weir.log().count("waits for a publisher stream=/live/livestream") == 3, 20, "three that wait")
        with publisher(weir.rtmp(), folder):
            recordings = [job.result(60) for job in jobs]
    for recording in recordings:
        check_both(recording)
