"""Repeats tests many times and tells how often each failed: tests that fail now and then are found this way.

Nothing is repeated alone: a failure beside others counts. The logs of round 3 are in objs/test/soak/3/, with the files that
each failed end-to-end test left.
"""

import shutil
import time

from suite import e2e, gtests, places, repeats
from suite.tally import Tally, side_by_side


def soak(tally, rounds, parts, chosen):
    shutil.rmtree(places.LOGS / "soak", ignore_errors=True)
    failed = {}  # test -> [(what is kept of it, the command that runs it again)]
    for number in range(1, rounds + 1):
        print(f"round {number} of {rounds}", flush=True)
        own = one_round(parts, chosen, f"soak/{number}")
        for suspect in own.suspects:
            kept = repeats.keep(suspect, f"soak/{number}")
            failed.setdefault(suspect.failure.name, []).append((kept, suspect.failure))
        for failure in own.failures:
            failed.setdefault(failure.name, []).append((f"objs/test/soak/{number}", failure))
        own.failures, own.suspects = [], []
        tally.add(own)
    for name, all_of_them in sorted(failed.items(), key=lambda each: -len(each[1])):
        places_kept = "\n".join(kept for kept, _ in all_of_them)
        last = all_of_them[-1][1]
        tally.fail(f"{len(all_of_them)}/{rounds} {name}", f"{last.why}\n{places_kept}", last.again)


def one_round(parts, chosen, logs):
    own, started = Tally(), time.time()
    side_by_side(own, [[(gtests.gtest, part, "release", chosen)] for part in gtests.PROGRAMS if part in parts])
    if "e2e" in parts:
        side_by_side(own, [[(e2e.e2e, "e2e", "release", "not alone", chosen)]])
        side_by_side(own, [[(e2e.e2e, "e2e-alone", "release", "alone", chosen)]])
    (places.LOGS / logs).mkdir(parents=True, exist_ok=True)
    for log in places.LOGS.glob("*.log"):
        if log.stat().st_mtime >= started:
            shutil.copy(log, places.LOGS / logs)
    return own
