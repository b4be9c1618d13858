"""make zoo."""

import argparse
import shutil
import sys

from weir import TOP
from zoo.deformations import DEFORMED
from zoo.outputs import OUTPUTS
from zoo.run import Row, run_rows
from zoo.senders import KINDS


def main():
    rows = []
    for name in sys.argv[1].split(",") if len(sys.argv) > 1 else DEFORMED:
        for kind in sys.argv[2].split(",") if len(sys.argv) > 2 else KINDS:
            rows.append(Row(name, kind, sys.argv[3].split(",") if len(sys.argv) > 3 else list(OUTPUTS)))
    folder = TOP / "objs" / "test" / "zoo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run_rows(rows, folder)
    for row in rows:
        for output, found in row.found.items():
            print(row.name, output, found or "right")


main()
