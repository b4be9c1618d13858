"""A disk that stalls while streams are recorded: players see nothing of it, and the recording has a gap that says so.
WEIR_STALL_SECONDS=10 for a stall of that length."""

import os
import subprocess
import time
from contextlib import contextmanager

import pytest

from test_load_client import bench
from test_record import recordings
from weir import patience, wait_until

pytestmark = pytest.mark.alone

STALL_SECONDS = float(os.environ.get("WEIR_STALL_SECONDS", "3.5"))
# 16 MiB of a recording may wait: at this rate that is 3 s.
RATE = "45M"
PLAYERS = 20
SLACK_MS = 30


@contextmanager
def disk(folder):
    """A file system of its own, whose writes stop while it is frozen; None where this machine has none."""
    image, place = folder / "disk.img", folder / "disk"
    place.mkdir()
    for command in (["truncate", "-s", "600M", image], ["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, place]):
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True, timeout=30, check=False).returncode != 0:
            yield None
            return
    try:
        yield place
    finally:
        freeze(place, "-u")
        subprocess.run(["umount", "-l", place], check=False, timeout=10)


def freeze(place, how):
    return subprocess.run(["fsfreeze", how, place], capture_output=True, check=False, timeout=30).returncode


def play(server, folder, seconds):
    return bench(folder, "--url", server.rtmp("live/bench"), "--clients", PLAYERS, "--publish", RATE, "--gop", "30", "--duration", f"{seconds}s",
                 timeout=90)


@pytest.mark.full
def test_live_players_do_not_feel_a_disk_that_stalls(new_weir, folder):
    with disk(folder) as place:
        if place is None:
            pytest.skip("a file system can only be frozen by root, with loop devices")
        server = new_weir(f"record {{ enabled on; path {place}; }}").start()
        seconds = int(STALL_SECONDS + 2)
        usual = play(server, folder, seconds)
        wait_until(lambda: len(recordings(server)) == 1, 30, "the first recording is finished")
        stalled = subprocess.Popen(["sh", "-c", f"sleep 1; fsfreeze -f {place}; sleep {STALL_SECONDS}; fsfreeze -u {place}"])
        try:
            slow = play(server, folder, seconds)
        finally:
            stalled.wait(STALL_SECONDS + 20)
        files = wait_until(lambda: len(found := recordings(server)) >= 2 and not recordings(server, "recording") and found, 30,
                           "the second recording is finished")
        assert server.api("/api/v1/summaries")["data"]["record"]["gaps"] >= 1, files
        server.wait_log("has a gap")
        metrics = server.metrics()
        server.stop()
        time.sleep(0.1)
    p99 = [each.report["latency"]["all_ms"]["p99"] for each in (usual, slow)]
    figures = f"p99 {p99[0]:.1f} ms without, {p99[1]:.1f} ms with a stall of {STALL_SECONDS:.0f} s, {PLAYERS} players of {RATE}bit/s"
    print(figures)
    assert all(each.report["media"]["lost"] + each.report["media"]["corrupted"] == 0 for each in (usual, slow)), slow.text
    assert p99[1] < p99[0] + SLACK_MS * patience(), figures
    assert "weir_record_gaps_total 0" not in metrics
