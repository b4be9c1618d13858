"""scripts/lib/suite.py, which `make test` runs: what belongs to which command, and that no failure gets lost."""

import sys
from argparse import Namespace

import pytest

from weir import TOP

sys.path.insert(0, str(TOP / "scripts" / "lib"))
import suite  # noqa: E402

# Four tests, shared out as googletest does it.
PROGRAM = """#!/bin/bash
echo "[==========] Running tests"
number=0
for name in Life.Begins Life.Ends Media.Flows Media.Stops; do
  if [ $((number++ % ${GTEST_TOTAL_SHARDS:-1})) = "${GTEST_SHARD_INDEX:-0}" ]; then
    echo "[ RUN      ] $name"
    BEHAVIOUR
    echo "[       OK ] $name (1 ms)"
  fi
done
"""


def parts(**chosen):
    return suite.parts_of(Namespace(**{"all": False, "fast": False, "only": None, "skip": [], **chosen}))


def test_a_command_has_its_parts():
    assert parts(all=True) == suite.PARTS
    assert parts() == ["lint", "build", "unit", "component", "e2e"]
    assert parts(fast=True) == ["build", "unit", "component"]
    assert parts(all=True, skip=["smoke"]) == suite.PARTS[:-1]
    assert parts(only=["e2e", "build"]) == ["build", "e2e"]


@pytest.fixture
def tests_of(folder, monkeypatch):
    def run(behaviour):
        program = folder / "objs" / "release" / "some-tests"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(PROGRAM.replace("BEHAVIOUR", behaviour))
        program.chmod(0o755)
        monkeypatch.setattr(suite, "TOP", folder)
        monkeypatch.setattr(suite, "LOGS", folder / "logs")
        monkeypatch.setitem(suite.GTESTS, "component", ("some-tests", 3))
        tally = suite.Tally()
        suite.gtest(tally, "component", "release")
        return tally
    return run


def test_every_share_of_the_tests_is_run_and_counted(tests_of):
    tally = tests_of(":")
    assert (tally.passed, tally.failures) == (4, [])


def test_a_failure_in_a_share_is_named(tests_of):
    tally = tests_of('if [ $name = Media.Flows ]; then echo "why it failed"; echo "[  FAILED  ] $name (1 ms)"; continue; fi')
    assert tally.passed == 3
    [(name, why, again)] = tally.failures
    assert name == "Media.Flows (release)" and "why it failed" in why and "--gtest_filter=Media.Flows" in again


def test_a_crash_in_a_share_is_named(tests_of):
    tally = tests_of('if [ $name = Life.Ends ]; then kill -SEGV $$; fi')
    assert tally.passed == 3
    assert ["Life.Ends: killed by signal 11" in why for _, why, _ in tally.failures] == [True]


def test_a_share_without_a_test_is_a_failure(tests_of):
    tally = tests_of("exit 0")
    assert tally.passed == 0 and len(tally.failures) == 3


def test_lanes_run_side_by_side_and_all_count():
    def step(tally, passed, failed):
        tally.passed += passed
        for number in range(failed):
            tally.fail(str(number), "why", "again")

    tally = suite.Tally()
    suite.side_by_side(tally, [[(step, 1, 0), (step, 2, 1)], [(step, 4, 2)], []])
    assert (tally.passed, len(tally.failures)) == (7, 3)
