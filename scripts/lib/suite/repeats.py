"""Tests that failed beside others run once more, each alone. The reasons of the first failure are kept.

A test that passes then is unstable: it counts as passed and is listed, and more than MOST_UNSTABLE of them fail the run. A
test that fails again has failed, with both reasons.
"""

import re
import shutil
from pathlib import Path

from suite import places
from suite.tally import Failure

MOST_UNSTABLE = 3
MOST_REPEATED = 12  # where more than so many failed, the server is broken and not the tests: none is repeated


def repeat(tally, suspects):
    shutil.rmtree(places.LOGS / "unstable", ignore_errors=True)
    if not suspects:
        return
    if len(suspects) > MOST_REPEATED:
        tally.failures += [suspect.failure for suspect in suspects]
        return
    with tally.start("what failed beside others, repeated alone") as running:
        for suspect in suspects:
            kept = keep(suspect)
            again = suspect.repeat(running)
            if again is None:
                tally.passed += 1
                tally.unstable.append((suspect.failure.name, kept))
            else:
                tally.failures.append(Failure(again.name, f"alone: {again.why}\nbeside others: {suspect.failure.why}\n"
                                              f"the first failure in full: {kept}", again.again))
    if len(tally.unstable) > MOST_UNSTABLE:
        tally.fail("unstable tests", f"{len(tally.unstable)} tests passed only alone, at most {MOST_UNSTABLE} may",
                   "scripts/test --soak 20 --area AREA, with the area of such a test")


def keep(suspect, place="unstable"):
    """Puts the failure and the files of the test into objs/test/PLACE/, where the next run of the test does not overwrite
    them; returns their folder."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", suspect.failure.name.removeprefix("trunk/test/e2e/")).strip("-")
    kept = places.LOGS / place / name
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "failure.txt").write_text(suspect.text or suspect.failure.why)
    if suspect.folder and (places.TOP / suspect.folder).is_dir():
        shutil.copytree(places.TOP / suspect.folder, kept / "files", symlinks=True, ignore=special, ignore_dangling_symlinks=True)
    return str(kept.relative_to(places.TOP))


def special(folder, names):
    """Sockets and pipes cannot be copied."""
    return [name for name in names if not (Path(folder) / name).is_dir() and not (Path(folder) / name).is_file()]
