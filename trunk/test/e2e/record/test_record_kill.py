"""kill -9 while many streams are recorded: every file plays, before the repair and after it, and lacks at most its last fragment.
WEIR_KILL_STREAMS=20 WEIR_KILL_ROUNDS=20 for many times as much."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from media import Program, probe
from test_load_client import BENCH
from test_record import FORMATS, recordings
from weir import TOP, wait_until

sys.path.insert(0, str(TOP / "scripts/lib"))
from bench.segments import sequences  # noqa: E402

STREAMS = int(os.environ.get("WEIR_KILL_STREAMS", "9"))
ROUNDS = int(os.environ.get("WEIR_KILL_ROUNDS", "1"))
APPS = ("live", "flv", "ts")  # mp4 and these
FPS = 30
FRAGMENT_S = 2
SLACK_S = 0.5  # from the count of what came to the kill: what a slow disk may cost
SEED = 18


def publishers(server, folder, stack):
    """Stamped streams, a third of them in each format."""
    names = []
    for place, app in enumerate(APPS):
        count = len(range(place, STREAMS, len(APPS)))
        names += [f"{app}{number}" for number in range(count)]
        stack.enter_context(Program(f"publish-{app}", [BENCH, "rtmp-publish", "--url", server.rtmp(f"{app}/{app}%d"), "--streams", count, "--bitrate",
                                                       "300k", "--gop", FPS, "--ramp", "500ms", "--duration", "60s", "--quiet"], folder))
    return names


def decoded(path):
    """How many pictures ffmpeg makes of it; what it complains of."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "framemd5", "-"],
                          capture_output=True, timeout=60, check=False)
    return sum(not line.startswith(b"#") for line in done.stdout.splitlines()), done.stderr.decode()[-500:] or f"code {done.returncode}" * bool(done.returncode)


def check_playable(paths):
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(paths, pool.map(decoded, paths)))
    bad = {path.name: each for path, each in found.items() if each[0] < FPS or each[1]}
    assert not bad, bad
    return {path: pictures for path, (pictures, _) in found.items()}


def kill_and_repair(server, folder, place, seconds):
    """One round; frames that were received and are in no file, of each stream."""
    with ExitStack() as stack:
        names = publishers(server, folder, stack)
        wait_until(lambda: len([p for p in place.rglob("*.part") if p.stat().st_size > 150_000]) == STREAMS, 30, "all files grow")
        time.sleep(seconds)
        received = {stream["name"]: stream["frames"] for stream in server.streams()}
        time.sleep(SLACK_S)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        server.process = None
    growing = sorted(place.rglob("*.part"))
    assert len(growing) == STREAMS and set(received) == set(names), growing
    copies = []
    for path in growing:
        copies.append(folder / f"crashed-{path.parent.name}-{path.name.removesuffix('.part')}")
        shutil.copy(path, copies[-1])
    check_playable(copies)
    for copy in copies:
        copy.unlink()
    server.start()
    files = wait_until(lambda: len(found := recordings(server)) == STREAMS and found, 30, "all are repaired")
    assert not list(place.rglob("*.part")) and all(file["repaired"] and file["reason"] == "repaired" for file in files), files
    pictures = check_playable([place / file["file"] for file in files])
    assert f"weir_record_repaired_total {STREAMS}" in server.metrics() and "is repaired" in server.log()
    lost = {}
    for file in files:
        path = place / file["file"]
        lost[file["stream"]] = received[file["stream"]] - pictures[path]
        if file["format"] == "mp4":
            for track, numbers in sequences(path.read_bytes()).items():
                assert numbers == list(range(len(numbers))), f"track {track} of {path}: {numbers[:50]}"
        if file["format"] != "ts":
            assert float(probe(path, "-show_format")["format"]["duration"]) == pytest.approx(pictures[path] / FPS, abs=0.4), file
    return lost


@pytest.mark.timeout(60 + 60 * ROUNDS)
def test_kill_9_costs_a_fragment_at_most(new_weir, folder):
    place, chance, worst = folder / "recordings", random.Random(SEED), []
    server = new_weir(f"record {{ enabled on; path {place}; }}\n{FORMATS}")
    for number in range(ROUNDS):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        server.start()
        lost = kill_and_repair(server, folder, place, chance.uniform(0.5, 3.5))
        worst.append(max(lost.values()))
        assert worst[-1] <= FRAGMENT_S * FPS, f"round {number}: {lost}"
        server.stop()
    print(f"{ROUNDS} rounds of {STREAMS} files: at most {max(worst)} frames of {FPS} a second were lost, round by round {worst}")
