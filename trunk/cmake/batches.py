#!/usr/bin/env python3
"""Puts sources into groups that can be compiled as one file each: no two of a group give the same name to something of their own.

  batches.py FOLDER GROUP-SIZE LINES FILE...      writes FOLDER/NUMBER.cc for each group, and prints their names

Names are those at the beginning of a line, where the formatted sources have all that stands in a namespace. Overloads count as the
same name: they would compile, but perhaps another one would be called. Files of one folder stay together: they share headers.
"""

import re
import sys
from pathlib import Path

# Their headers open a namespace test of their own, in which names of weir::test are then looked for in vain.
SINGLE = ("test/proto/rtp", "test/proto/sdp")

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


INCLUDE = re.compile(r'^#include "(test/[^"]+)"', re.M)


def names_of_headers(text, known):
    """Of the headers of tests that it includes, directly or not."""
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


def batches(files, most_files, most_lines):
    """Lists of files, in order; those of one folder only."""
    made, known = [], {}
    for folder in sorted({Path(name).parent for name in files}):
        open_ones = []  # [files, names, names of their headers, lines]
        for name in sorted(each for each in files if Path(each).parent == folder):
            text = Path(name).read_text()
            names, shared, lines = own_names(text), names_of_headers(text, known), text.count("\n")
            for batch in open_ones if not str(folder).endswith(SINGLE) else []:
                clash = names & (batch[1] | batch[2]) or batch[1] & shared
                if len(batch[0]) < most_files and batch[3] + lines <= most_lines and not clash:
                    batch[0].append(name)
                    batch[1] |= names
                    batch[2] |= shared
                    batch[3] += lines
                    break
            else:
                open_ones.append([[name], names, shared, lines])
        made += [batch[0] for batch in open_ones]
    return made


def write(path, text):
    """Not where it is there: what is newer is compiled again."""
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def main():
    folder, most_files, most_lines, *files = sys.argv[1:]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, batch in enumerate(batches(files, int(most_files), int(most_lines))):
        written.append(folder / f"{number}.cc")
        write(written[-1], "".join(f'#include "{name}"\n' for name in batch))
    for old in set(folder.glob("*.cc")) - set(written):
        old.unlink()
    print("\n".join(map(str, written)))


if __name__ == "__main__":
    main()
