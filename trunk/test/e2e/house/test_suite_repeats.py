"""End-to-end tests that fail beside others run once more alone (scripts/lib/suite/repeats.py), and soaks count failures."""

import sys

import pytest

from weir import TOP

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from suite import e2e, main, places, repeats, soak  # noqa: E402
from suite.tally import Tally  # noqa: E402

INI = "[pytest]\nmarkers =\n    alone:\naddopts = -p no:schemathesis -p no:hypothesispytest -p no:anyio\n"
TESTS = """
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def fails(name, most):
    with open(FOLDER / name, "a+") as file:
        file.write(".")
        assert file.tell() > most, f"try {file.tell()} of {name}"


def test_good():
    pass
"""
SHAKY = """
@pytest.mark.parametrize("way", WAYS)
def test_shaky(way, record_property):
    record_property("folder", "objs/of-" + way)
    fails(way, 1)
"""
ENDS_BADLY = """
@pytest.fixture
def bad_end():
    yield
    fails("end", 1)


def test_ends_badly(bad_end):
    fails("call", 1)
"""
BAD = """
def test_bad():
    fails("bad", 9)
"""
CRASHES = """
def test_crashes():
    with open(FOLDER / "crash", "a+") as file:
        file.write(".")
        assert file.tell() > 1, "the server had ended by itself, exit code -11"
"""
ALONE = """
@pytest.mark.alone
def test_alone():
    fails("alone", 1)
"""


@pytest.fixture
def tree(folder, monkeypatch):
    """A tree with end-to-end tests of the area srt."""
    (folder / "objs" / "tools").mkdir(parents=True)
    (folder / "objs" / "tools" / "venv").symlink_to(sys.prefix)
    place = folder / "trunk" / "test" / "e2e"
    (place / "srt").mkdir(parents=True)
    (place / "pytest.ini").write_text(INI)
    monkeypatch.setattr(places, "TOP", folder)
    monkeypatch.setattr(places, "LOGS", folder / "objs" / "test")
    monkeypatch.setattr(e2e, "SIDE_BY_SIDE", [])  # workers take a second to start

    def write(*texts):
        (place / "srt" / "test_some.py").write_text("".join((TESTS, *texts)))
        return folder
    return write


def run(name="e2e", marks="not alone", chosen=("srt",)):
    tally = Tally()
    e2e.e2e(tally, name, "release", marks, chosen)
    suspects, tally.suspects = tally.suspects, []
    repeats.repeat(tally, suspects)
    return tally


def shaky(count):
    return SHAKY.replace("WAYS", repr([f"way{number}" for number in range(count)]))


def test_a_test_that_passes_when_it_is_repeated_is_unstable(tree, monkeypatch):
    monkeypatch.setattr(e2e, "SIDE_BY_SIDE", ["-n", "2", "--dist", "worksteal"])
    top = tree(shaky(1))
    (top / "objs" / "of-way0").mkdir(parents=True)
    (top / "objs" / "of-way0" / "weir.log").write_text("what the server said")
    tally = run()
    assert (tally.passed, tally.failures) == (2, [])
    [(name, kept)] = tally.unstable
    assert name == "trunk/test/e2e/srt/test_some.py::test_shaky[way0] (release)" and kept.startswith("objs/test/unstable/")
    assert "try 1 of way0" in (top / kept / "failure.txt").read_text()
    assert (top / kept / "files" / "weir.log").read_text() == "what the server said"
    assert {test for _, test in tally.cases} == {f"srt/test_some.py::test_{test} (release)" for test in ("good", "shaky[way0]")}


def test_a_test_that_fails_again_has_failed_with_both_reasons(tree):
    top = tree(BAD)
    tally = run()
    assert (tally.passed, tally.unstable) == (1, [])
    [(name, why, again)] = tally.failures
    assert name == "trunk/test/e2e/srt/test_some.py::test_bad (release)" and "srt/test_some.py::test_bad" in again
    assert "try 1 of bad" in why and "try 2 of bad" in why
    kept = why.rpartition(": ")[2]
    assert "try 1 of bad" in (top / kept / "failure.txt").read_text()


def test_a_test_whose_end_fails_as_well_counts_once(tree):
    tree(ENDS_BADLY)
    tally = run()
    assert tally.passed == 2 and [name for name, _ in tally.unstable] == ["trunk/test/e2e/srt/test_some.py::test_ends_badly (release)"]


@pytest.mark.parametrize("count, failed", [(3, 0), (4, 1)])
def test_more_than_three_unstable_tests_fail_the_run(tree, count, failed):
    tree(shaky(count))
    tally = run()
    assert tally.passed == 1 + count and len(tally.unstable) == count
    assert [name for name, _, _ in tally.failures] == ["unstable tests"] * failed


def test_nothing_is_repeated_where_nearly_everything_fails(tree):
    top = tree(shaky(repeats.MOST_REPEATED + 1))
    tally = run()
    assert tally.passed == 1 and len(tally.failures) == repeats.MOST_REPEATED + 1
    assert (top / "trunk/test/e2e/srt/way0").read_text() == "."


def test_a_server_that_crashed_is_never_excused(tree):
    tree(CRASHES)
    tally = run()
    [(name, why, _)] = tally.failures
    assert name.endswith("test_crashes (release)") and "exit code -11" in why and not tally.unstable


def test_a_test_that_ran_alone_is_not_repeated(tree):
    tree(ALONE)
    tally = run("e2e-alone", "alone")
    assert tally.passed == 0 and len(tally.failures) == 1
    assert run().failures == []


def test_an_area_may_have_no_test_that_runs_alone_but_must_have_others(tree):
    tree()
    assert run("e2e-alone", "alone").failures == []
    assert len(run("e2e-alone", "alone", ()).failures) == 1
    (places.TOP / "trunk/test/e2e/srt/test_some.py").write_text("import pytest\n@pytest.mark.alone\ndef test_only():\n    pass\n")
    assert len(run().failures) == 1


@pytest.mark.parametrize("texts, code, said", [
    ([shaky(1), ALONE.replace('fails("alone", 1)', "pass")], 0, ["Unstable, failed beside others and passed alone:", "3 passed, 0 failed"]),
    ([BAD], 1, ["Failures:", "alone: failure: AssertionError: try 2 of bad", "1 passed, 1 failed"])])
def test_a_whole_run_repeats_at_its_end_and_says_what_came_of_it(tree, capsys, texts, code, said):
    tree(*texts)
    with pytest.raises(SystemExit) as ended:
        main.main(["--area", "srt", "--only", "e2e"])
    out = capsys.readouterr().out
    assert (ended.value.code or 0) == code, out
    for words in (*said, "Slowest tests:", "Where the time went", "e2e-alone (release):", "what failed beside others, repeated alone:"):
        assert words in out, out
    assert out.index("e2e-alone (release):") < out.index("what failed beside others, repeated alone:")
    assert out.splitlines()[-1] == said[-1]


def test_a_soak_tells_the_rate_of_each_test(tree, capsys):
    top = tree(shaky(1), BAD)
    tally = Tally()
    soak.soak(tally, 3, ["e2e"], ["srt"])
    assert tally.passed == 3 + 2 and tally.unstable == []
    (bad, why, _), (once, _, _) = tally.failures
    assert bad == "3/3 trunk/test/e2e/srt/test_some.py::test_bad (release)"
    assert once == "1/3 trunk/test/e2e/srt/test_some.py::test_shaky[way0] (release)"
    kept = why.splitlines()[-1]
    assert kept.startswith("objs/test/soak/3/") and "try 3 of bad" in (top / kept / "failure.txt").read_text()
