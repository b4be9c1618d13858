"""Which fuzz targets `make test-all` searches: those whose sources changed since their last search (scripts/fuzz)."""

import sys

import pytest

from weir import TOP

sys.path.insert(0, str(TOP / "scripts" / "lib"))
import fuzz_sources  # noqa: E402
from suite import fuzzing, places  # noqa: E402
from suite.programs import Done  # noqa: E402
from suite.tally import Tally  # noqa: E402

FILES = {
    "fuzz/one_fuzz.cc": '#include <map>\n#include "base/bytes.h"\n#include "proto/one/reader.h"\n',
    "fuzz/two_words_fuzz.cc": '#include "proto/two/reader.h"\n',
    "src/base/bytes.h": "int bytes;\n",
    "src/proto/one/reader.h": '// What it is.\n#include "proto/shared/parts.h"\n',
    "src/proto/one/reader.cc": '#include "proto/one/reader.h"\n#include "proto/one/deep.h"\n',
    "src/proto/one/reader_more.cc": '#include "proto/one/reader.h"\nchar more[] = "// no comment";\n',
    "src/proto/one/deep.h": "int deep;\n",
    "src/proto/two/reader.h": '#include "proto/shared/parts.h"\n',
    "src/proto/shared/parts.h": "int parts;\n",
    "src/app/uses.cc": '#include "proto/two/reader.h"\n',
}


@pytest.fixture
def tree(folder, monkeypatch):
    """trunk/ of a tree whose two targets were searched."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(fuzz_sources, "TRUNK", folder)
    monkeypatch.setattr(fuzz_sources, "FUZZ", folder / "fuzz")
    monkeypatch.setattr(fuzz_sources, "SEARCHED", folder / "fuzz/searched")
    monkeypatch.setattr(fuzz_sources, "CLEAN", folder / "clean")
    monkeypatch.setattr(places, "LOGS", folder / "logs")
    fuzz_sources.implementations.cache_clear()
    assert fuzz_sources.record() == fuzz_sources.targets() == ["one-fuzz", "two-words-fuzz"]
    searched_well("one-fuzz", "two-words-fuzz")
    assert fuzz_sources.record() == fuzz_sources.changed() == []
    yield folder
    fuzz_sources.implementations.cache_clear()


def searched_well(*targets):
    for target in targets:
        fuzz_sources.main(["clean", target, fuzz_sources.digest(target)])


@pytest.mark.parametrize("name, marked", [
    ("fuzz/one_fuzz.cc", ["one-fuzz"]), ("src/proto/one/reader.h", ["one-fuzz"]), ("src/proto/one/reader_more.cc", ["one-fuzz"]),
    ("src/proto/one/deep.h", ["one-fuzz"]), ("src/proto/two/reader.h", ["two-words-fuzz"]),
    ("src/proto/shared/parts.h", ["one-fuzz", "two-words-fuzz"]), ("src/base/bytes.h", []), ("src/app/uses.cc", [])])
def test_a_change_marks_the_targets_that_reach_it(tree, name, marked):
    with open(tree / name, "a") as file:
        file.write("int changed;\n")
    assert fuzz_sources.changed() == marked


def test_words_and_white_space_mark_no_target(tree):
    path = tree / "src/proto/one/reader.h"
    path.write_text(path.read_text().replace("What it is.", "What this is.") + "\n\n/* more */\n")
    assert fuzz_sources.changed() == []
    path = tree / "src/proto/one/reader_more.cc"
    path.write_text(path.read_text().replace("no comment", "a string"))
    assert fuzz_sources.changed() == ["one-fuzz"]


def test_only_what_was_searched_as_it_is_now_is_recorded(tree):
    for name in ("src/proto/one/deep.h", "src/proto/two/reader.h"):
        (tree / name).write_text(FILES[name] + "int changed;\n")
    searched_well("one-fuzz")
    (tree / "clean" / "two-words-fuzz").write_text("0123456789abcdef")
    assert fuzz_sources.record() == fuzz_sources.changed() == ["two-words-fuzz"]


def test_the_suite_searches_what_changed_or_everything(tree, monkeypatch, capsys):
    ran = []

    def run(command, *_):
        ran.append(command)
        return Done(0, "".join(f"ok   {target}: 9 runs\n" for target in command[2:]))

    monkeypatch.setattr("suite.programs.run", run)
    tally = Tally()
    fuzzing.search(tally)
    assert ran == [] and (tally.passed, tally.failures) == (1, [])
    assert "2 targets unchanged since the last complete search" in capsys.readouterr().out
    fuzzing.search(tally, every=True)
    (tree / "src/proto/two/reader.h").write_text("int changed;\n")
    fuzzing.search(tally)
    assert ran == [["scripts/fuzz", "--smoke", "one-fuzz", "two-words-fuzz"], ["scripts/fuzz", "--smoke", "two-words-fuzz"]]
    assert (tally.passed, tally.failures) == (4, [])


def test_a_target_that_found_something_or_did_not_run_fails_the_suite(tree, monkeypatch):
    monkeypatch.setattr("suite.programs.run", lambda *_: Done(1, "FAIL one-fuzz: crash-1\nagain: objs/one crash-1\n"))
    tally = Tally()
    fuzzing.search(tally, every=True)
    assert [(name, again) for name, _, again in tally.failures] == [
        ("fuzz search one-fuzz", "objs/one crash-1"), ("fuzz search", "scripts/fuzz --smoke one-fuzz two-words-fuzz")]
