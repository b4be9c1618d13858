"""Which sources are compiled as one: trunk/cmake/batches.py on small trees of its own."""

import os
import subprocess
import sys

import pytest

from weir import TOP

SCRIPT = TOP / "trunk" / "cmake" / "batches.py"


class Tree:
    """Sources in src/, and the folder build/batches/TARGET where batches are written."""

    def __init__(self, root):
        self.root = root
        self.made = root / "build" / "batches" / "target"
        self.objects = root / "build" / "CMakeFiles" / "target.dir" / "batches" / "target"
        self.objects.mkdir(parents=True)
        (root / "src").mkdir()

    def source(self, name, text="int {0}_value();\n"):
        path = self.root / "src" / f"{name}.cc"
        path.write_text(text.format(name))
        os.utime(path, (1000, 1000))

    def run(self, files=4, lines=100):
        """{what is to be compiled: the sources in it}; a source that is compiled alone stands for itself."""
        names = sorted(str(path.relative_to(self.root)) for path in (self.root / "src").glob("*.cc"))
        done = subprocess.run([sys.executable, SCRIPT, self.made, str(files), str(lines), *names], cwd=self.root,
                              capture_output=True, text=True, check=True)
        found = {}
        for line in done.stdout.splitlines():
            place = self.root / line
            text = place.read_text() if self.made in place.parents else f'#include "src/{place.name}"\n'
            found[place.name] = [part.split('"')[1].removeprefix("src/").removesuffix(".cc") for part in text.splitlines()]
        return found

    def compile(self):
        for path in self.made.glob("*.cc"):
            (self.objects / f"{path.name}.o").write_text("")

    def edit(self, name):
        path = self.root / "src" / f"{name}.cc"
        path.write_text(path.read_text() + "// edited\n")


@pytest.fixture
def tree(folder):
    made = Tree(folder)
    for name in "abcdef":
        made.source(name)
    return made


def test_as_many_as_the_limits_allow(tree):
    assert tree.run(files=4) == {"0.cc": ["a", "b", "c", "d"], "1.cc": ["e", "f"]}
    assert tree.run(files=4, lines=2) == {"0.cc": ["a", "b"], "1.cc": ["c", "d"], "2.cc": ["e", "f"]}


def test_two_that_name_something_the_same_are_apart(tree):
    tree.source("b", "namespace {{\n\nint helper() {{\n    return 1;\n}}\n\n}}  // namespace\n")
    tree.source("a", "namespace {{\n\nint helper() {{\n    return 2;\n}}\n\n}}  // namespace\n")
    found = tree.run()
    assert not any({"a", "b"} <= set(names) for names in found.values()), found


def test_a_name_that_another_source_only_uses_keeps_them_apart(tree):
    """std::quoted of one source must not become the quoted() that another one has for itself."""
    tree.source("a", "namespace {{\n\nint quoted() {{\n    return 1;\n}}\n\n}}  // namespace\n")
    tree.source("b", "int use() {{\n    return std::quoted(3);\n}}\n")
    found = tree.run()
    assert not any({"a", "b"} <= set(names) for names in found.values()), found


def test_a_new_source_moves_no_other(tree):
    before = tree.run(files=4)
    tree.source("aa")
    after = tree.run(files=4)
    assert after == {"0.cc": before["0.cc"], "1.cc": ["e", "f", "aa"]}


def test_an_edited_source_is_compiled_alone_from_then_on(tree):
    tree.run()
    tree.compile()
    tree.edit("b")
    apart = {"0.cc": ["a", "c", "d"], "1.cc": ["e", "f"], "b.cc": ["b"]}
    assert tree.run() == apart
    tree.compile()
    tree.edit("b")
    assert tree.run() == apart


def test_many_changed_sources_stay_where_they_are(tree):
    for number in range(12):
        tree.source(f"many{number}")
    before = tree.run()
    tree.compile()
    for number in range(12):
        tree.edit(f"many{number}")
    assert tree.run() == before


def test_a_removed_source_leaves_the_others_in_place(tree):
    tree.run(files=2)
    (tree.root / "src" / "c.cc").unlink()
    (tree.root / "src" / "d.cc").unlink()
    found = tree.run(files=2)
    assert found["0.cc"] == ["a", "b"] and found["2.cc"] == ["e", "f"], found


def test_other_limits_begin_from_nothing(tree):
    tree.run(files=2)
    assert tree.run(files=6) == {"0.cc": ["a", "b", "c", "d", "e", "f"]}
