"""Which cells run: by pattern, or a sample by a seed; and those that are known to be wrong."""

import fnmatch
import random
from pathlib import Path

from zoo.cells import outputs_of, rows
from zoo.row import Row

KNOWN = Path(__file__).with_name("known-wrong.txt")


def matching(patterns, table=None):
    """Rows with the outputs that a pattern names; a pattern without / is one of deformations."""
    def wanted(cell):
        return not patterns or any(fnmatch.fnmatch(cell, pattern if "/" in pattern else f"{pattern}/*") for pattern in patterns)

    found = [Row(name, source, [output for output in outputs_of(name) if wanted(f"{name}/{source}/{output}")]) for name, source in table or rows()]
    return [row for row in found if row.outputs]


def sample(found, cells, seed):
    """Rows with all of their outputs, of different inputs as far as possible, until there are so many cells."""
    chance = random.Random(seed)
    chance.shuffle(found)
    chosen, count = [], 0
    while count < cells and found:
        rare = min((sum(row.input == each.input for row in chosen), number) for number, each in enumerate(found))[1]
        row = found.pop(rare)
        row.outputs = row.outputs[:cells - count]
        chosen.append(row)
        count += len(row.outputs)
    return chosen


def known_wrong():
    """{pattern of cells: reason}."""
    lines = KNOWN.read_text().splitlines() if KNOWN.exists() else []
    return dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))


def reason_of(cell, known):
    return next((reason for pattern, reason in known.items() if fnmatch.fnmatch(cell, pattern)), None)


HEAD = """# Cells of the zoo that are wrong, and what is wrong with them: DEFORMATION/INPUT/OUTPUT reason. `make zoo ZOO=--known` writes this file.
"""


def rewrite_known(rows):
    """Lists the cells of these rows that are wrong; what is said of other cells, and the reasons of those that were listed, stay."""
    known = known_wrong()
    lines = {}
    ran = {row.cell(output): problems for row in rows for output, problems in row.found.items()}
    for pattern, reason in known.items():
        if pattern not in ran:
            lines[pattern] = reason
    for cell, problems in ran.items():
        if problems:
            lines[cell] = known.get(cell) or problems[0]
    KNOWN.write_text(HEAD + "".join(f"{cell} {reason}\n" for cell, reason in sorted(lines.items())))
