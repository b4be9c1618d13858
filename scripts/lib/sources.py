"""What the lint scripts share: finding the sources, reading them, reporting."""

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
TRUNK = TOP / "trunk"
SUFFIXES = {".cc", ".h"}
FOLDERS = ["src", "test", "fuzz", "bench", "tools"]
OTHER = TRUNK / "bench" / "floor"  # the reference program: C, and on purpose not a part of ours

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def sources(*folders):
    """Every .cc and .h below folders of trunk/ (all of them by default), sorted."""
    found = []
    for folder in folders or FOLDERS:
        found += [path for path in (TRUNK / folder).rglob("*")
                  if path.suffix in SUFFIXES and path.is_file() and not path.is_relative_to(OTHER)]
    return sorted(found)


def name_of(path):
    return str(path.relative_to(TOP))


def includes(text):
    """(line number, '"' or '<', path) of each include."""
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1], match[2]


LITERAL_OR_COMMENT = re.compile(
    r'R"([^(\s]*)\(.*?\)\1"'          # raw string
    r'|"(?:\\.|[^"\\\n])*"'           # string
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"  # character, but not the separator in 1'000
    r'|//[^\n]*|/\*.*?\*/', re.S)


def code_only(text):
    """The text with comments and literals blanked; line numbers stay."""
    return LITERAL_OR_COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


class Report:
    """Collects problems, prints them as file:line: message, ends with one summary line."""

    def __init__(self, tool):
        self.tool = tool
        self.problems = []

    def add(self, path, line, message):
        where = f"{name_of(path)}:{line}: " if path else ""
        self.problems.append(f"{where}{message}")

    def finish(self, checked):
        for problem in self.problems:
            print(problem)
        state = "ok" if not self.problems else f"{len(self.problems)} problems"
        print(f"{self.tool}: {checked}: {state}")
        sys.exit(1 if self.problems else 0)
