#!/usr/bin/env python3
"""Puts sources into batches that are compiled as one file each: no two sources of a batch give the same name to something of their own.

  batches.py FOLDER FILES LINES SOURCE...   writes FOLDER/NUMBER.cc for each batch, and prints what is to be compiled

FILES and LINES are the most that a batch has. Names are those at the beginning of a line, where the formatted sources have everything
that stands in a namespace. Overloads count as the same name: they would compile, but perhaps another one would be called.

A batch stays as it is while its sources allow that, so an edit recompiles one batch. A source that was edited after its batch was
compiled leaves the batch and is compiled alone from then on: the first build after the edit compiles both, every further one the source
alone. When many sources changed (a merge, another branch), all stay where they are.
"""

import re
import sys
from pathlib import Path

# Their headers open a namespace test of their own, in which names of weir::test are then looked for in vain.
SINGLE = ("test/proto/rtp", "test/proto/sdp")

MOST_ALONE = 8  # more changed sources than this at a time are not one person's edits

DEFINES = [
    re.compile(r"^#define (\w+)"),
    re.compile(r"^#include <(?:linux|netinet)/(tcp\.h)>"),  # one excludes the other
    re.compile(r"^(?:class|struct|union|enum class|enum) (?:\[\[\w+\]\] )?(\w+)\b(?!.*;$)"),
    re.compile(r"^using (\w+) ="),
    re.compile(r"^using (?!testing\b|std\b|namespace\b)(?:\w+::)+(\w+);"),
    re.compile(r"^namespace (\w+) ="),
    re.compile(r"^(?:inline |static |thread_local )*(?:constexpr|const|constinit) [^=({;]*?(\w+)(?:\[\w*\])*(?:\{| =|;|\()"),
    re.compile(r"^(?!using|namespace|TEST|INSTANTIATE|return|template|extern|#|//)[\w:<>,&*\[\]() ]*?[ *&](\w+)\("),
    re.compile(r"^(?!using|namespace|TEST|INSTANTIATE|return|template|extern|#|//|class|struct|enum)[\w:<>,&* ]+[ *&](\w+)(?:\[\w*\])*(?: =|;|\{)"),
    re.compile(r"^(?:MATCHER|MATCHER_P\d?)\((\w+)"),
]
WORD = re.compile(r"\b[A-Za-z_]\w+")
INCLUDE = re.compile(r'^#include "(test/[^"]+)"', re.M)
IN_BATCH = re.compile(r'^#include "([^"]+)"$', re.M)


class Source:
    def __init__(self, name, known):
        text = Path(name).read_text()
        self.name = name
        self.names = own_names(text)
        header = Path(name).with_suffix(".h")
        self.mentioned = set(WORD.findall(text + (header.read_text() if header.is_file() else "")))
        self.shared = names_of_headers(text, known)
        self.lines = text.count("\n")
        self.single = str(Path(name).parent).endswith(SINGLE)


class Batch:
    def __init__(self):
        self.sources = []
        self.names = set()
        self.mentioned = set()
        self.shared = set()  # names of the test headers that they include
        self.lines = 0

    def takes(self, source, most_files, most_lines):
        if self.sources and (source.single or self.sources[0].single):
            return False
        if len(self.sources) >= most_files or self.lines + source.lines > most_lines:
            return not self.sources
        # A name that another source mentions may be meant for something else, in a header or in std.
        return not (source.names & (self.mentioned | self.shared) or self.names & (source.mentioned | source.shared))

    def add(self, source):
        self.sources.append(source)
        self.names |= source.names
        self.mentioned |= source.mentioned
        self.shared |= source.shared
        self.lines += source.lines


def names_of_headers(text, known):
    """Names of the test headers that the text includes, directly or not."""
    found = set()
    for name in INCLUDE.findall(text):
        if name not in known:
            known[name] = set()  # two may include each other
            path = Path(__file__).resolve().parent.parent / name
            header = path.read_text() if path.is_file() else ""
            known[name] = own_names(header, unnamed=False) | names_of_headers(header, known)
        found |= known[name]
    return found


def own_names(text, unnamed=True):
    """Names at the beginning of a line; `unnamed`: only those that nobody else sees, of unnamed namespaces."""
    found, inside = set(), not unnamed
    for line in text.splitlines():
        if not line or not (line[0].isalpha() or line[0] in "_#}"):
            continue
        if unnamed and line in ("namespace {", "}  // namespace"):
            inside = line == "namespace {"
        if not inside and not line.startswith(("#", "using", "static", "namespace")):
            continue
        for pattern in DEFINES:
            match = pattern.match(line)
            if match:
                found.add(match[1])
    return found


def batches(sources, most_files, most_lines, before=()):
    """Batches in order. `before`: the names in each batch of the last time; a source stays in its batch unless a name forbids it."""
    left = {source.name: source for source in sources}
    made = []
    for names in before:
        batch = Batch()
        for name in names:
            # A batch of before may have grown by a third.
            if name in left and batch.takes(left[name], most_files, most_lines * 4 // 3):
                batch.add(left.pop(name))
        made.append(batch)
    for name in sorted(left):
        source = left[name]
        place = next((batch for batch in made if batch.takes(source, most_files, most_lines)), None)
        if place is None:
            made.append(place := Batch())
        place.add(source)
    return made


def object_of(batch):
    """The object that CMake's Ninja generator makes of FOLDER/NUMBER.cc, where FOLDER is build/batches/TARGET."""
    target, build = batch.parent.name, batch.parent.parent.parent
    return build / "CMakeFiles" / f"{target}.dir" / "batches" / target / f"{batch.name}.o"


def edited(folder, names_of):
    """Sources that are newer than the object of their batch."""
    found = set()
    for batch, names in names_of.items():
        path = object_of(folder / batch)
        if path.is_file():
            built = path.stat().st_mtime_ns
            found |= {name for name in names if Path(name).is_file() and Path(name).stat().st_mtime_ns > built}
    return found


def write(path, text):
    """Not when it is there already: what is newer is compiled again."""
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def numbered(folder):
    return sorted(folder.glob("*.cc"), key=lambda path: int(path.stem))


def main():
    folder, most_files, most_lines, *files = sys.argv[1:]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    limits = folder / "limits.txt"
    if limits.is_file() and limits.read_text() == f"{most_files} {most_lines}\n":
        names_of = {path.name: IN_BATCH.findall(path.read_text()) for path in numbered(folder)}
    else:
        names_of = {}
    write(limits, f"{most_files} {most_lines}\n")
    alone_list = folder / "alone.txt"
    alone = set(alone_list.read_text().split()) if alone_list.is_file() else set()
    changed = edited(folder, names_of)
    if len(changed) <= MOST_ALONE:
        alone |= changed
    alone &= set(files)

    known = {}
    sources = [Source(name, known) for name in files if name not in alone]
    made = batches(sources, int(most_files), int(most_lines), names_of.values())
    written = []
    for number, batch in enumerate(made):
        path = folder / f"{number}.cc"
        if batch.sources:
            write(path, "".join(f'#include "{source.name}"\n' for source in batch.sources))
            written.append(str(path))
        elif path.is_file():
            write(path, "")  # keeps its number: the others must not move
            written.append(str(path))
    for old in set(map(str, folder.glob("*.cc"))) - set(written):
        Path(old).unlink()
    write(alone_list, "".join(f"{name}\n" for name in sorted(alone)))
    print("\n".join([*written, *(str(Path(name).resolve()) for name in sorted(alone))]))


if __name__ == "__main__":
    main()
