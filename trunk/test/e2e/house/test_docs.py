"""The lint's checks of the pages: what they must find in a small tree, and that they are silent about this one."""

import importlib.util
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader

import pytest

from hostile import BENCH
from weir import TOP

sys.path.insert(0, str(TOP / "scripts" / "lib"))
import docs  # noqa: E402


class Found:
    def __init__(self):
        self.all = []

    def add(self, path, line, message):
        self.all.append(f"{path.name}:{line}: {message}")


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository with two pages; write(path, text) adds a file, and check() says what is wrong with it."""
    monkeypatch.setattr(docs, "TOP", tmp_path)
    monkeypatch.setattr(docs, "TRUNK", tmp_path / "trunk")
    monkeypatch.setattr(docs, "NAMING", ["trunk/src", "doc", "README.md"])

    class Tree:
        @staticmethod
        def write(path, text):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)

        @staticmethod
        def check():
            found = Found()
            docs.check_docs(found)
            return found.all

    Tree.write("README.md", "# Name\n\nSee [the page](doc/page.md#what-it-does) and [itself](#name).\n")
    Tree.write("doc/page.md", "# Page\n\n## What it *does*?\n\n## Twice\n\n## Twice\n\n    [not a link](in/code.md)\n")
    Tree.write("trunk/src/a.h", "// How: doc/page.md, adr/0001.\n")
    Tree.write("doc/adr/0001-first.md", "# 0001\n")
    return Tree


def test_right_links_are_silent(tree):
    tree.write("doc/other.md", "[a](page.md#twice), [b](page.md#twice-1), [c](https://example.org/x.md), `[d](nowhere.md)`\n")
    assert tree.check() == []


@pytest.mark.parametrize("text, said", [
    ("[a](nowhere.md)", "the link to nowhere.md leads nowhere"),
    ("![plot](img/none.svg)", "the link to img/none.svg leads nowhere"),
    ("[a](page.md#missing)", "page.md has no such heading"),
    ("[a](page.md#twice-2)", "page.md has no such heading"),
    ("[a](#missing)", "other.md has no such heading"),
])
def test_a_wrong_link_is_found_with_its_place(tree, text, said):
    tree.write("doc/other.md", f"# Other\n\n{text}\n")
    wrong = tree.check()
    assert len(wrong) == 1 and wrong[0].startswith("other.md:3: ") and said in wrong[0], wrong


@pytest.mark.parametrize("text, said", [
    ("// doc/gone.md", "names doc/gone.md, which is not there"),
    ('print("read doc/page.md#gone")', "names doc/page.md#gone, which has no such heading"),
    ("// /usr/share/doc/weir/gone.md", "names doc/gone.md, which is not there"),
    ("// adr/0002 says why", "names adr/0002, which is not there"),
])
def test_a_source_that_names_a_missing_page_is_found(tree, text, said):
    tree.write("trunk/src/b.cc", f"\n{text}\n")
    assert tree.check() == [f"b.cc:2: {said}"]


@pytest.fixture
def limits(tmp_path, monkeypatch):
    loader = SourceFileLoader("gen_limits", str(TOP / "scripts" / "gen-limits"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gen_limits", loader))
    loader.exec_module(module)
    monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(module, "DIRECTIVES", tmp_path / "directives.md")
    monkeypatch.setattr(module, "SOURCES", tmp_path / "src")
    (tmp_path / "src" / "net").mkdir(parents=True)
    (tmp_path / "directives.md").write_text("| `max_things` | number | `10000` | 1 to 2 | Things. |\n")
    (tmp_path / "src" / "net" / "a.h").write_text(
        "inline constexpr size_t kMaxBytes = 64 * 1024;\nconstexpr size_t kTwo = 2;\nconstexpr size_t kMaxParts = kTwo * 1'000;\n"
        "constexpr Millis kWait{2'500};\nOptions ice{.timeout = Millis(15'000)};\nsize_t big_bytes = size_t{1} << 20;\n")
    return module


@pytest.mark.parametrize("names, value", [
    ("`kMaxBytes` (net/a.h)", "64 KiB"),
    ("`kMaxParts` (a.h)", "2,000"),
    ("`kWait` (a.h), `timeout` (a.h)", "2,500 ms; 15 s"),
    ("`big_bytes` (a.h), `max_things` (directive)", "1 MiB; 10,000"),
])
def test_limits_are_those_of_the_code(limits, names, value):
    limits.PAGE.write_text(f"| what | old | {names} |\n| a row | of another | table |\n")
    assert limits.filled() == (f"| what | {value} | {names} |\n| a row | of another | table |\n", [])


@pytest.mark.parametrize("names", ["`kGone` (a.h)", "`kTwo` (b.h)", "`gone` (directive)"])
def test_a_limit_that_is_gone_is_found(limits, names):
    limits.PAGE.write_text(f"\n| what | old | {names} |\n")
    (line, said), = limits.filled()[1]
    assert line == 2 and names.split("`")[1] in said


def test_the_pages_of_this_tree_are_right():
    found = Found()
    docs.check_docs(found)
    assert found.all == []
    done = subprocess.run([TOP / "scripts" / "gen-limits", "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_every_subcommand_of_the_load_client_is_on_its_pages():
    said = subprocess.run([BENCH, "--help"], capture_output=True, text=True, timeout=20, check=True).stdout
    names = re.findall(r"^  ([a-z-]+) +\S", said, re.MULTILINE)
    assert len(names) > 10, said
    manual = (TOP / "doc/man/weir-bench.1").read_text().split(".SH COMMANDS")[1].split(".PP")[0].replace("\\-", "-")
    assert re.findall(r"^\.B (.*)$", manual, re.MULTILINE) == names
    table = (TOP / "doc/load-client.md").read_text()
    assert not [name for name in names if f"\n| `{name}` | " not in table]
