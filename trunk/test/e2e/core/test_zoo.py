"""A sample of the zoo (trunk/test/zoo/): deformed streams by each input, read at each output by programs that are not ours.

WEIR_ZOO_SEED=N takes another sample; `make zoo` runs all cells.
"""

import os
import sys

import pytest

from weir import TOP

sys.path.append(str(TOP / "trunk" / "test"))
from zoo.chosen import known_wrong, matching, sample  # noqa: E402
from zoo.run import run_again, run_rows  # noqa: E402
from zoo.table import summary, text_of  # noqa: E402

CELLS = 60
SEED = int(os.environ.get("WEIR_ZOO_SEED", "1"))
ROWS = sample(matching([]), CELLS, SEED)


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda number: ROWS[number].name)
def test_a_deformed_stream_is_right_at_every_output(folder, number):
    row = ROWS[number]
    run_rows([row], folder)
    run_again([row], folder, known_wrong())
    found = summary([row], known_wrong())
    print(text_of([row], known_wrong()))
    assert not found.surprises, "; ".join(f"{cell}: {row.found[cell.split('/')[2]]}" for cell in found.surprises)


def test_the_same_seed_takes_the_same_cells():
    def cells(seed):
        return [row.cell(output) for row in sample(matching([]), CELLS, seed) for output in row.outputs]

    assert len(cells(1)) == CELLS and cells(1) == cells(1)
    assert cells(1) != cells(2)


def test_every_listed_cell_exists():
    """A pattern of known-wrong.txt that names no cell hides nothing and misleads its reader."""
    assert [pattern for pattern in known_wrong() if not matching([pattern])] == []
