"""`make test AREA=rtsp` (scripts/lib/suite/areas.py): which tests an area has, and that every test has an area."""

import configparser
import subprocess
import sys

import pytest

from weir import TOP

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from suite import areas, gtests, main, places  # noqa: E402
from suite.tally import Tally  # noqa: E402

CMAKE = "weir_test_binary(weir-unit-tests FOLDERS base proto\n  DEPS x)\nweir_test_binary(weir-component-tests FOLDERS net\n  DEPS x)\n"


@pytest.fixture
def tree(folder, monkeypatch):
    """A tree with two areas."""
    files = {"trunk/cmake/tests.cmake": CMAKE, "trunk/test/e2e/one/test_one.py": "", "trunk/test/e2e/two/test_two.py": "",
             "trunk/test/proto/one/a_test.cc": "TEST(ReaderTest, Reads) {}\nTEST_F(ReaderTest, Ends) {}\n",
             "trunk/test/proto/one/b_test.cc": "TEST_P(\n    EveryWayTest, Works) {}\n",
             "trunk/test/net/one_test.cc": "TEST_F(SocketTest, Opens) {}\n"}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(places, "TOP", folder)
    monkeypatch.setattr(places, "LOGS", folder / "objs" / "test")
    monkeypatch.setattr(places, "TESTS", folder / "trunk" / "test")
    monkeypatch.setattr(places, "E2E", folder / "trunk" / "test" / "e2e")
    monkeypatch.setattr(areas, "AREAS", {"one": "net proto/one", "two": ""})
    return folder


def test_every_test_of_this_tree_has_an_area():
    assert areas.problems() == []


def test_pytest_finds_the_helpers_and_the_tests_of_every_area():
    ini = configparser.ConfigParser()
    ini.read(TOP / "trunk/test/e2e/pytest.ini")
    assert ini["pytest"]["pythonpath"].split() == ["support", *sorted(areas.AREAS)]


@pytest.mark.parametrize("name, said", [
    ("trunk/test/proto/three/c_test.cc", "trunk/test/proto/three belongs to no area"),
    ("trunk/test/e2e/three/test_three.py", "trunk/test/e2e/three belongs to no area"),
    ("trunk/test/e2e/test_nowhere.py", "belongs to no area")])
def test_a_folder_of_no_area_is_found(tree, name, said):
    assert areas.problems() == []
    (tree / name).parent.mkdir(exist_ok=True)
    (tree / name).write_text("")
    [problem] = areas.problems()
    assert said in problem


def test_an_area_without_its_folders_is_found(tree, monkeypatch):
    monkeypatch.setattr(areas, "AREAS", {"one": "net proto/one proto/gone", "two": "", "three": ""})
    assert len(areas.problems()) == 2


def test_an_area_has_the_tests_of_its_folders(tree):
    assert areas.gtest_suites(["one"], "weir-unit-tests") == {"ReaderTest.*": 2, "*/EveryWayTest.*": 1}
    assert areas.gtest_suites(["two", "one"], "weir-component-tests") == {"SocketTest.*": 1}
    assert areas.gtest_suites(["two"], "weir-unit-tests") == {}
    assert areas.e2e_folders(["two", "one"]) == ["trunk/test/e2e/two", "trunk/test/e2e/one"]
    assert areas.e2e_folders([]) == ["trunk/test/e2e"]


def test_a_test_program_gets_the_filter_of_the_area(tree):
    program = tree / "objs/release/weir-unit-tests"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$@" >>ran\necho "[==========] Running 1 test"\n')
    program.chmod(0o755)
    tally = Tally()
    gtests.gtest(tally, "unit", "release", ["one"])
    gtests.gtest(tally, "unit", "release", ["two"])  # has no unit test: the program does not run
    assert tally.failures == [] and [part.name for part in tally.parts] == ["weir-unit-tests (release)"]
    assert (tree / "ran").read_text().split() == ["--gtest_filter=ReaderTest.*:*/EveryWayTest.*", "--gtest_color=no"]


@pytest.mark.parametrize("values, found", [(None, []), (["rtsp"], ["rtsp"]), (["rtsp,sip", "rtsp hls"], ["rtsp", "sip", "hls"])])
def test_areas_are_named_with_commas_blanks_or_more_options(values, found):
    assert areas.areas_of(values) == found


def test_an_area_builds_what_its_tests_run():
    def targets(*words):
        return main.targets_of(main.options().parse_args(words))

    assert targets("--area", "rtsp") == ["weir", "weir-bench", "weir-unit-tests", "weir-component-tests"]
    assert targets("--area", "rtsp", "--fast") == ["weir-unit-tests", "weir-component-tests"]
    assert targets() == []


def test_an_unknown_area_is_answered_with_the_known_ones():
    done = subprocess.run([TOP / "scripts/test", "--area", "nosuch"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == f"test: there is no area nosuch; the areas are {', '.join(areas.AREAS)}\n"
