"""A cluster in random trouble. WEIR_CHAOS_SECONDS=3600 goes on for an hour, WEIR_CHAOS_SEED=N repeats the troubles of a run,
WEIR_CHAOS_PROCESSES=2 has nodes of several processes."""

import os
import random
import shutil
import time

import pytest

import chaos
from conftest import RUNS
from flv import VIDEO, Tag
from marked_media import Sessions, Viewer, Watch, read_frame, write_frame

PROCESSES = int(os.environ.get("WEIR_CHAOS_PROCESSES", "1"))
SECONDS = int(os.environ.get("WEIR_CHAOS_SECONDS", "45"))
SEED = int(os.environ.get("WEIR_CHAOS_SEED", random.SystemRandom().randrange(1_000_000)))


# ---- what is seen is what is there -------------------------------------------------------------------------------------


class At:
    name = "c"


def seen(frames, sessions, opened=0.0, watch=None):
    """A viewer at node c of these frames: (session, number, time in ms)."""
    viewer, watch = Viewer(sessions, "cam", At), watch or Watch(opened, ("c", 1))
    viewer.watch = watch
    for session, number, time_ms in frames:
        data = write_frame(session.number, number, number == 0, 200)
        assert read_frame(data)[:2] == (session.number, number)
        viewer.take(Tag(VIDEO, time_ms, data, time.monotonic()), watch)
    return viewer


@pytest.mark.parametrize("frames, fault", [
    ("a0@0 a1@40 b0@80 b1@120", ""), ("a0@0 a1@40 b0@30", "goes back"), ("a0@0 b0@40 a1@80", "shown again"), ("a0@0 a1@40 a1@80", "comes after"),
    ("a0@0 o0@40", "which is")])
def test_viewers_say_what_is_wrong(frames, fault):
    sessions = Sessions()
    known = {"a": sessions.begin("cam", "a"), "b": sessions.begin("cam", "b"), "o": sessions.begin("other", "b")}
    seen([(known[text[0]], int(text[1]), int(text[3:])) for text in frames.split()], sessions)
    assert [fault in each for each in sessions.faults] == ([True] if fault else []), sessions.faults


def test_a_session_that_was_followed_is_not_shown_to_who_comes_later():
    sessions = Sessions()
    a, b = sessions.begin("cam", "a"), sessions.begin("cam", "b")
    seen([(a, 0, 0), (b, 0, 40)], sessions, time.monotonic())
    assert seen([(a, 0, 0), (a, 2, 40)], sessions, time.monotonic() - 1).lost() == 1
    assert not sessions.faults, "this one was there before, and is late"
    seen([(a, 0, 0)], sessions, time.monotonic())
    assert len(sessions.faults) == 1


# ---- chaos ------------------------------------------------------------------------------------------------------------


@pytest.mark.root
@pytest.mark.timeout(SECONDS * 3 + 240)
def test_a_cluster_comes_through_random_trouble(folder):
    log = folder / "chaos.log"
    try:
        chaos.run(folder, SEED, SECONDS, log, PROCESSES)
    except Exception as error:
        raise AssertionError(f"WEIR_CHAOS_SEED={SEED} WEIR_CHAOS_SECONDS={SECONDS}: {type(error).__name__} {error}") from error
    finally:
        if "WEIR_CHAOS_SECONDS" in os.environ:
            shutil.copy(log, RUNS / f"chaos-{SEED}.log")
