"""make zoo: runs the cells of the zoo and prints a table. A cell is DEFORMATION/INPUT/OUTPUT."""

import argparse
import shutil
import sys
import time

from weir import TOP
from zoo.cells import mixes
from zoo.chosen import known_wrong, matching, rewrite_known, sample
from zoo.run import run_again, run_rows
from zoo.table import summary, text_of


def main():
    parser = argparse.ArgumentParser(prog="make zoo", description=__doc__)
    parser.add_argument("cells", nargs="*", default=[], metavar="CELL", help="patterns of cells, as 'split*/rtmp/*' or hole; all by default")
    parser.add_argument("--sample", type=int, help="so many of them")
    parser.add_argument("--seed", type=int, default=1, help="of the sample and of the mixes (1)")
    parser.add_argument("--mixes", type=int, help="so many mixes of three deformations in place of the table's")
    parser.add_argument("--together", type=int, default=6, help="publishers at a time (6)")
    parser.add_argument("--write", help="a file for the table")
    parser.add_argument("--known", action="store_true", help="list what is wrong in known-wrong.txt, and take out what is right")
    parser.add_argument("--list", action="store_true", help="print the cells and end")
    options = parser.parse_args()
    rows = matching(options.cells, mixes(options.mixes, options.seed)) if options.mixes else matching(options.cells)
    if options.sample:
        rows = sample(rows, options.sample, options.seed)
    if options.list:
        for row in rows:
            print(*(f"{row.deformation}/{row.input}/{output}" for output in row.outputs), sep="\n")
        return 0
    folder = TOP / "objs" / "test" / "zoo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    begun = time.monotonic()

    def say(row):
        wrong = sum(bool(found) for found in row.found.values())
        print(f"{time.monotonic() - begun:6.0f} s  {row.deformation}/{row.input}: {len(row.found) - wrong} right, {wrong} wrong", flush=True)

    run_rows(rows, folder, options.together, done=say)
    if not options.known:
        run_again(rows, folder, known_wrong())
    text = text_of(rows, known_wrong())
    print(text)
    if options.write:
        with open(options.write, "w") as out:
            out.write(text)
    if options.known:
        rewrite_known(rows)
    return 1 if summary(rows, known_wrong()).surprises else 0


if __name__ == "__main__":
    sys.exit(main())
