"""What the suite says of a machine on which it cannot run: scripts/lib/suite/surroundings.py."""

import os
import sys
from types import SimpleNamespace

import pytest

from weir import TOP

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from suite import places, surroundings  # noqa: E402


@pytest.fixture
def top(folder, monkeypatch):
    (folder / "trunk" / "src").mkdir(parents=True)
    (folder / "trunk" / "src" / "a.cc").write_text("")
    monkeypatch.setattr(places, "TOP", folder)
    return folder


def test_a_good_machine_has_no_problem(top):
    assert surroundings.problems(everything=True, builds=True) == []


def test_a_disk_that_is_nearly_full_is_told_before_the_build(top, monkeypatch):
    monkeypatch.setattr(surroundings.shutil, "disk_usage", lambda path: SimpleNamespace(free=100 << 20))
    (problem,) = surroundings.problems(everything=False, builds=True)
    assert "100 MiB free" in problem and "needs 3072 MiB" in problem and str(top / "objs") in problem
    assert surroundings.problems(everything=False, builds=False) == [], "what is built needs no more"


def test_a_folder_that_nobody_may_write_to(top, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(surroundings.tempfile, "TemporaryFile", refuse)
    (problem,) = surroundings.problems(everything=False, builds=True)
    assert "cannot write into" in problem and "Permission denied" in problem


def test_a_clock_that_went_back(top):
    os.utime(top / "trunk" / "src" / "a.cc", (4e9, 4e9))
    (problem,) = surroundings.problems(everything=False, builds=True)
    assert "set the clock" in problem


def test_what_needs_root_is_left_out_with_a_line_but_never_from_a_run_of_everything(monkeypatch, capsys):
    monkeypatch.setattr(surroundings, "has_namespaces", lambda: False)
    assert surroundings.note_left_out(everything=False)
    assert "tests marked root are left out" in capsys.readouterr().out
    assert not surroundings.note_left_out(everything=True)
