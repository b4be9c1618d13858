"""Unit and component tests: programs of googletest, in shares that run side by side."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from suite import areas, places
from suite.programs import environment, how, shell, tail
from suite.tally import Failure, Suspect, Tally

# part -> its program, and how many of it run side by side, each with a share of the tests: they mostly wait
PROGRAMS = {"unit": ("weir-unit-tests", 1), "component": ("weir-component-tests", 4)}
REPEATED = {"component"}  # parts whose tests wait for real time: what fails beside others is repeated alone
LIMITS = {"unit": 900, "component": 1800}  # seconds that a program may take, also beside as much other work

LINE = re.compile(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([^\s,(]+).*?(?:\((\d+) ms\))?$", re.M)
DISABLED = re.compile(r"YOU HAVE (\d+) DISABLED TEST")


def gtest(tally, part, variant, chosen=()):
    """One program, in as many shares as PROGRAMS says. `chosen`: the areas whose tests run, all when empty."""
    (program, shares), limit = PROGRAMS[part], LIMITS[part]
    suites = areas.gtest_suites(chosen, program) if chosen else {}
    if chosen and not suites:
        return  # the areas have no such tests
    options = [f"--gtest_filter={':'.join(suites)}"] if suites else []
    if suites:
        shares = min(shares, sum(suites.values()))
    name, binary = f"{program} ({variant})", f"objs/{variant}/{program}"
    with tally.start(name) as running:
        if not (places.TOP / binary).exists():
            tally.fail(name, f"{binary} is not there", "scripts/test --only build" + " --all" * (variant != "release"))
            return
        with ThreadPoolExecutor(shares) as pool:
            runs = [pool.submit(run_share, running, [binary, *options], variant, limit, share, shares) for share in range(shares)]
        for share in runs:
            count(tally, part, binary, variant, share.result())


def run_share(running, command, variant, limit, share, shares):
    env = {**environment(variant), "GTEST_TOTAL_SHARDS": str(shares), "GTEST_SHARD_INDEX": str(share)}
    log = f"{Path(command[0]).name}-{variant}{f'-{share}' if shares > 1 else ''}.log"
    return running.run([*command, "--gtest_color=no"], log, limit, env)


def count(tally, part, binary, variant, done):
    env, limit, text = environment(variant), LIMITS[part], done.text
    running, failed, problems = None, False, []
    for match in LINE.finditer(text):
        what, case, took = match.groups()
        if what == "RUN":
            running = case
        elif took and case == running:  # the summary repeats the names without a time
            running = None
            tally.cases.append((int(took) / 1000, f"{case} ({variant})"))
            if what == "OK":
                tally.passed += 1
                continue
            failed = True
            why = "skipped" if what == "SKIPPED" else case_output(text, case)
            failure = Failure(f"{case} ({variant})", why, shell([binary, f"--gtest_filter={case}"], env))
            if part in REPEATED and what == "FAILED":
                tally.suspects.append(Suspect(failure, Repeat(part, binary, variant, case), "", why))
            else:
                tally.failures.append(failure)
    if running:
        problems.append(f"{running}: {how(done.code, limit)}")
    elif done.code != 0 and not failed:
        problems.append(how(done.code, limit) + " after the last test")
    if "[==========] Running" not in text or "Running 0 tests" in text:
        problems.append("ran no test")
    if DISABLED.search(text):
        problems.append("has disabled tests")
    for problem in problems:
        again = shell([binary] + ([f"--gtest_filter={running}"] if running else []), env)
        tally.fail(f"{Path(binary).name} ({variant})", problem + "\n" + tail(text, 25), again)


def case_output(text, case):
    """The lines between RUN and FAILED of one case."""
    begin = text.find(f"] {case}\n")
    end = text.find(f"[  FAILED  ] {case}", begin)
    return tail(text[begin + len(case) + 3:end], 12)


class Repeat:
    """Runs one test alone."""

    def __init__(self, part, binary, variant, case):
        self.part, self.binary, self.variant, self.case = part, binary, variant, case

    def __call__(self, running):
        own = Tally()
        done = running.run([self.binary, "--gtest_color=no", f"--gtest_filter={self.case}"], "repeat.log", LIMITS[self.part],
                           environment(self.variant))
        count(own, self.part, self.binary, self.variant, done)
        return next((each.failure for each in own.suspects), next(iter(own.failures), None))
