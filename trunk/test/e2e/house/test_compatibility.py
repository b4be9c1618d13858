"""scripts/compatibility: the page is current, every marked test has a result, and what the script takes from reports."""

import importlib.util
import json
import subprocess
import sys
from importlib.machinery import SourceFileLoader

import pytest

from weir import TOP

SCRIPT = TOP / "scripts" / "compatibility"
MARK = '@pytest.mark.works_with("VLC", plays="DASH", codecs="AAC, H.264", checked="every frame")\n'
TEST = f'import pytest\n\n\n@pytest.mark.parametrize("way", ["tcp", "udp"])\n{MARK}def test_vlc(way):\n    pass\n'


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """The script for a small tree with one area and one marked test; every program has version 1.2."""
    loader = SourceFileLoader("compatibility", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compatibility", loader))
    monkeypatch.setitem(sys.modules, "compatibility", module)  # dataclasses look there
    loader.exec_module(module)
    monkeypatch.setattr(module, "TOP", tmp_path)
    monkeypatch.setattr(module, "E2E", tmp_path / "e2e")
    monkeypatch.setattr(module, "PAGE", tmp_path / "doc" / "page.md")
    monkeypatch.setattr(module, "PROGRAMS", {name: "echo version 1.2" for name in module.PROGRAMS})
    (tmp_path / "e2e" / "hls").mkdir(parents=True)
    (tmp_path / "e2e" / "hls" / "test_one.py").write_text(TEST)
    (tmp_path / "doc").mkdir()
    (tmp_path / "doc" / "page.md").write_text(f"# Page\n\n{module.BEGIN}\nold\n{module.END}\n\nby hand\n")
    return module


def report(tool, *cases, name="report", day="2026-11-28"):
    """A report of cases: (name, "" or "failure")."""
    path = tool.TOP / f"{name}.xml"
    path.write_text(f'<testsuites><testsuite timestamp="{day}T08:00:00">' + "".join(
        f'<testcase classname="hls.test_one" name="{case}">{f"<{end}/>" if end else ""}</testcase>' for case, end in cases) +
        "</testsuite></testsuites>")
    return str(path)


def results(tool):
    return json.loads((tool.E2E / "hls" / "compatibility.json").read_text())


def said(tool, *words):
    with pytest.raises(SystemExit) as ended:
        tool.main(list(words))
    return str(ended.value)


def test_the_page_of_this_tree_is_current():
    done = subprocess.run([SCRIPT, "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_run_becomes_a_row(tool):
    tool.main(["--take", report(tool, ("test_vlc[tcp]", ""), ("test_vlc[udp]", ""), ("test_other", "failure"))])
    assert results(tool) == {"run": "2026-11-28", "versions": {"VLC": "1.2"}, "tests": {"test_one.py::test_vlc": "passed"}}
    page = tool.PAGE.read_text()
    assert "| VLC 1.2 | DASH | H.264, AAC | every frame | - | works ([one](../e2e/hls/test_one.py)) |" in page
    assert page.startswith("# Page\n") and page.endswith("\nby hand\n") and "old" not in page
    tool.main(["--check"])


def test_one_case_that_fails_is_in_the_row(tool):
    tool.main(["--take", report(tool, ("test_vlc[tcp]", ""), ("test_vlc[udp]", "failure"))])
    assert results(tool)["tests"] == {"test_one.py::test_vlc": "failed: udp"}
    assert "| **fails**: `test_vlc` (failed: udp) ([one]" in tool.PAGE.read_text()
    # Repeated alone it passes: the later report counts.
    both = [report(tool, ("test_vlc[tcp]", ""), ("test_vlc[udp]", "error")), report(tool, ("test_vlc[udp]", ""), name="repeat")]
    tool.main(["--take", *both])
    assert results(tool)["tests"] == {"test_one.py::test_vlc": "passed"}


def test_a_run_of_other_tests_changes_nothing(tool):
    tool.main(["--take", report(tool, ("test_vlc[tcp]", ""))])
    before = results(tool)
    tool.main(["--take", report(tool, ("test_other", ""), ("test_vlc[tcp]", "skipped"), day="2026-12-24")])
    assert results(tool) == before


def test_a_marked_test_without_a_result_is_found(tool):
    assert said(tool, "--check").startswith("hls/test_one.py:5: test_vlc has no result: run it")


def test_a_page_that_was_changed_by_hand_is_found(tool):
    tool.main(["--take", report(tool, ("test_vlc[tcp]", ""))])
    tool.PAGE.write_text(tool.PAGE.read_text().replace("works", "flies"))
    assert said(tool, "--check") == f"doc/{tool.PAGE.name} is not what the markers and results say: run scripts/compatibility"


def test_a_result_whose_marker_has_gone_is_found_and_removed(tool):
    (tool.E2E / "hls" / "test_one.py").write_text(TEST + f"\n\n{MARK}def test_more():\n    pass\n")
    tool.main(["--take", report(tool, ("test_vlc[tcp]", ""), ("test_more", ""))])
    (tool.E2E / "hls" / "test_one.py").write_text(TEST)
    assert "hls/compatibility.json: no marker is at test_one.py::test_more" in said(tool, "--check")
    tool.main(["--take", report(tool, ("test_vlc[tcp]", ""))])
    assert list(results(tool)["tests"]) == ["test_one.py::test_vlc"]


@pytest.mark.parametrize("old, new, words", [
    ('"VLC"', '"WinAmp"', "WinAmp is not in PROGRAMS"),
    ('"VLC"', "PLAYER", "literals only"),
    ("plays=", "watches=", "a marker has one of publishes, plays"),
    (', checked="every frame"', "", "then codecs, checked"),
    ('"DASH"', '"Dash"', "Dash is none of RTMP"),
    ("H.264", "AVC", "AVC is none of H.264")])
def test_a_marker_that_cannot_be_read_is_found(tool, old, new, words):
    (tool.E2E / "hls" / "test_one.py").write_text(TEST.replace(old, new))
    found = said(tool, "--check")
    assert "hls/test_one.py:5: " in found and words in found, found


def test_a_version_that_nothing_prints_is_said(tool, monkeypatch):
    monkeypatch.setitem(tool.PROGRAMS, "VLC", "echo no number")
    assert said(tool, "--take", report(tool, ("test_vlc[tcp]", ""))).startswith("compatibility: no version of VLC in what this prints")
    assert not (tool.E2E / "hls" / "compatibility.json").exists()
