"""What the parts of a run found: counts, failures, times; and the lanes that run side by side."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, NamedTuple

from suite import programs



class Failure(NamedTuple):
    name: str
    why: str
    again: str  # the command that runs it again


class Suspect(NamedTuple):
    """A test that failed beside others. It is repeated alone: repeats.py."""
    failure: Failure
    repeat: Callable  # repeat(running part) runs it alone; returns null if it passed, its Failure if not
    folder: str  # of the files that the test left, below the top folder; empty: none
    text: str  # the failure in full


class Part(NamedTuple):
    name: str
    wall: float
    cpu: float


class Tally:
    def __init__(self):
        self.passed = 0
        self.failures = []
        self.suspects = []
        self.unstable = []  # (name, path of what is kept of the failure)
        self.cases = []  # (seconds, name) of each test
        self.parts = []
        self.stages = []  # (Part, the lanes in it: lists of parts)

    def fail(self, name, why, command):
        self.failures.append(Failure(name, why, command))

    def add(self, other):
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def start(self, name):
        return RunningPart(self, name)


class RunningPart:
    """`with tally.start("unit") as part`: prints the line of a part at its end, and notes its times. `part.run` is
    programs.run; the processor time of its programs counts for the part. It may be called from several threads."""

    def __init__(self, tally, name):
        self.tally, self.name, self.cpu = tally, name, 0.0

    def __enter__(self):
        self.started, self.before = time.monotonic(), (self.tally.passed, len(self.tally.failures), len(self.tally.suspects))
        return self

    def run(self, *arguments):
        done = programs.run(*arguments)
        self.cpu += done.cpu
        return done

    def __exit__(self, kind, error, trace):
        wall = time.monotonic() - self.started
        self.tally.parts.append(Part(self.name, wall, self.cpu))
        passed, failed, suspect = (now - before for now, before in zip(
            (self.tally.passed, len(self.tally.failures), len(self.tally.suspects)), self.before))
        state = "FAIL" if failed or error else "ok  "
        again = f", {suspect} to be repeated alone" if suspect else ""
        print(f"{state} {self.name}: {passed} passed, {failed} failed{again} ({wall:.0f} s)", flush=True)


def side_by_side(tally, lanes):
    """Runs the lanes at a time; the steps of a lane, (function, arguments...), one after the other."""
    def run_lane(lane):
        own = Tally()
        for function, *arguments in lane:
            function(own, *arguments)
        return own

    lanes = [lane for lane in lanes if lane]
    if not lanes:
        return
    started = time.monotonic()
    with ThreadPoolExecutor(len(lanes)) as pool:
        results = list(pool.map(run_lane, lanes))
    found = [own.parts for own in results]
    for own in results:
        own.parts = []
        tally.add(own)
    whole = Part("side by side", time.monotonic() - started, sum(part.cpu for lane in found for part in lane))
    tally.stages.append((whole, found))


def cores():
    return len(os.sched_getaffinity(0))
