"""scripts/lib/suite/, which `make test` runs: what belongs to which command, and that no failure gets lost."""

import sys

import pytest

from weir import TOP

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from suite import gtests, main, places, programs, repeats, summary  # noqa: E402
from suite.tally import Part, Tally, side_by_side  # noqa: E402

# Four tests, shared out as googletest does it; --gtest_filter has effect when it is the name of one.
PROGRAM = """#!/bin/bash
echo "[==========] Running tests"
number=0
for name in Life.Begins Life.Ends Media.Flows Media.Stops; do
  if [[ "$*" == *--gtest_filter=$name* || "$*" != *--gtest_filter=* && $((number++ % ${GTEST_TOTAL_SHARDS:-1})) = "${GTEST_SHARD_INDEX:-0}" ]]; then
    echo "[ RUN      ] $name"
    BEHAVIOUR
    echo "[       OK ] $name (1 ms)"
  fi
done
"""
FAILS = 'if [ $name = Media.Flows ]; then echo "why it failed"; echo "[  FAILED  ] $name (1 ms)"; continue; fi'


def parts(*words):
    return main.parts_of(main.options().parse_args(words))


def test_a_command_has_its_parts():
    assert parts("--all") == main.PARTS
    assert parts() == parts("--area", "rtsp") == ["lint", "build", "unit", "component", "e2e"]
    assert parts("--fast") == ["build", "unit", "component"]
    assert parts("--all", "--skip", "smoke") == main.PARTS[:-1]
    assert parts("--only", "e2e", "--only", "build") == ["build", "e2e"]


# ---- googletest ------------------------------------------------------------------------------------------------------


@pytest.fixture
def tests_of(folder, monkeypatch):
    def run(behaviour, part="component"):
        program = folder / "objs" / "release" / "some-tests"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(PROGRAM.replace("BEHAVIOUR", behaviour))
        program.chmod(0o755)
        monkeypatch.setattr(places, "TOP", folder)
        monkeypatch.setattr(places, "LOGS", folder / "objs" / "test")
        monkeypatch.setitem(gtests.PROGRAMS, part, ("some-tests", 3))
        tally = Tally()
        gtests.gtest(tally, part, "release")
        suspects, tally.suspects = tally.suspects, []
        repeats.repeat(tally, suspects)
        return tally
    return run


def test_every_share_of_the_tests_is_run_and_counted(tests_of):
    tally = tests_of(":")
    assert (tally.passed, tally.failures, tally.unstable) == (4, [], [])


def test_a_failure_in_a_share_is_named(tests_of):
    tally = tests_of(FAILS)
    assert tally.passed == 3 and tally.unstable == []
    [(name, why, again)] = tally.failures
    assert name == "Media.Flows (release)" and "why it failed" in why and "--gtest_filter=Media.Flows" in again


def test_a_component_test_that_fails_beside_others_only_is_unstable(tests_of, folder):
    tally = tests_of(f'if [[ "$*" != *--gtest_filter* ]]; then {FAILS}; fi')
    assert tally.passed == 4 and tally.failures == []
    [(name, kept)] = tally.unstable
    assert name == "Media.Flows (release)" and "why it failed" in (folder / kept / "failure.txt").read_text()


def test_a_unit_test_that_fails_is_not_repeated(tests_of):
    tally = tests_of(f'if [[ "$*" != *--gtest_filter* ]]; then {FAILS}; fi', "unit")
    assert tally.passed == 3 and len(tally.failures) == 1 and tally.unstable == []


def test_a_crash_in_a_share_is_named(tests_of):
    tally = tests_of('if [ $name = Life.Ends ]; then kill -SEGV $$; fi')
    assert tally.passed == 3
    assert ["Life.Ends: killed by signal 11" in why for _, why, _ in tally.failures] == [True]


def test_a_share_without_a_test_is_a_failure(tests_of):
    tally = tests_of("exit 0")
    assert tally.passed == 0 and len(tally.failures) == 3


# ---- lanes and times -------------------------------------------------------------------------------------------------


def test_lanes_run_side_by_side_and_all_count():
    def step(tally, passed, failed):
        with tally.start(f"part {passed}"):
            tally.passed += passed
            for number in range(failed):
                tally.fail(str(number), "why", "again")

    tally = Tally()
    side_by_side(tally, [[(step, 1, 0), (step, 2, 1)], [(step, 4, 2)], []])
    assert (tally.passed, len(tally.failures)) == (7, 3)
    [(whole, lanes)] = tally.stages
    assert [[part.name for part in lane] for lane in lanes] == [["part 1", "part 2"], ["part 4"]]


def test_a_program_has_its_processor_time_and_its_limit(folder, monkeypatch):
    monkeypatch.setattr(places, "LOGS", folder)
    busy = programs.run(["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; exit 3"], "busy.log", 60)
    assert busy.code == 3 and busy.cpu > 0.01
    assert programs.run(["sleep", "60"], "late.log", 0.2).code is None


def test_the_summary_names_the_ten_slowest_tests():
    tally = Tally()
    tally.cases = [(number, f"test {number}") for number in range(30)]
    lines = summary.slowest(tally)
    assert len(lines) == 11 and lines[1].endswith("29.0 s  test 29") and lines[10].endswith("20.0 s  test 20")


def test_the_summary_tells_how_busy_each_lane_was(monkeypatch):
    monkeypatch.setattr(summary, "cores", lambda: 2)
    tally = Tally()
    tally.stages = [(Part("side by side", 10, 0), [[Part("build", 10, 1)]]),
                    (Part("side by side", 700, 0), [[Part("e2e", 700, 532)], [Part("lint", 5, 5), Part("unit", 10, 10)]])]
    tally.stages[1] = (tally.stages[1][0]._replace(cpu=547), tally.stages[1][1])
    assert summary.times(tally) == [
        "Where the time went (of 2 cores):", "  build: 10 s, 5 %", "  side by side: 700 s, 39 %",
        "    lane 1: e2e: 700 s, 38 %", "    lane 2: lint: 5 s, 50 %", "    lane 2: unit: 10 s, 50 %"]


