"""End-to-end tests: pytest with several workers, or one test after the other."""

import re
import xml.etree.ElementTree as ElementTree

from suite import areas, places
from suite.programs import environment, how, shell, tail
from suite.tally import Failure, Suspect, Tally, cores

# Tests mostly wait, so there are more workers than cores. A worker that has nothing to do takes tests of another one, so the
# tests of one file may run side by side (ports: trunk/test/e2e/support/weir.py).
WORKERS = min(8, 3 * cores())
SIDE_BY_SIDE = ["-n", str(WORKERS), "--dist", "worksteal"]
LIMITS = {"e2e": 7200, "e2e-alone": 3600, "smoke": 1200}  # seconds
PYTHON = "objs/tools/venv/bin/python"
BASE = [PYTHON, "-m", "pytest", "-p", "no:cacheprovider"]
# What no other load excuses: such a test has failed, and is not repeated. See support/weir.py.
CRASH = re.compile(r"bug:|AddressSanitizer|LeakSanitizer|UndefinedBehavior|runtime error:|had ended by itself|exit code -?\d+ after ")
NO_TESTS = 5  # exit code of pytest


def e2e(tally, name, variant, marks, chosen=()):
    """The tests with these marks, of the areas or of all."""
    beside = name != "e2e-alone"
    options = ["-m", f"'{marks}'", *(SIDE_BY_SIDE if beside else [])]
    with tally.start(f"{name} ({variant})") as running:
        if not (places.TOP / PYTHON).exists():
            tally.fail(name, f"{PYTHON} is not there", "scripts/install-deps.sh --tests")
            return
        run_pytest(tally, running, name, variant, options, areas.e2e_folders(chosen), LIMITS[name],
                   may_be_empty=bool(chosen) and not beside, suspect=beside)


def run_pytest(tally, running, name, variant, options, tests, limit, may_be_empty=False, suspect=False):
    report = places.LOGS / f"{name}.xml"
    report.unlink(missing_ok=True)
    env = {"WEIR_BIN": f"objs/{variant}/weir", **environment(variant)}
    command = [*BASE, "-q", *options, f"--junitxml={report}", *tests]
    done = running.run([word.strip("'") for word in command], f"{name}.log", limit, env)
    failed, seen = False, set()
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else []:
        test = node_of(case)
        tally.cases.append((float(case.get("time", 0)), f"{test.removeprefix('trunk/test/e2e/')} ({variant})"))
        problem = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        if problem is None:
            tally.passed += 1
            continue
        failed = True
        if test in seen:  # it failed, and then its end failed, too
            continue
        seen.add(test)
        failure = Failure(f"{test} ({variant})", f"{problem.tag}: {problem.get('message', '')[:800]}",
                          shell([*BASE, f"'{test}'"], env))
        if suspect and problem.tag != "skipped" and case.get("classname") and not CRASH.search(failure.why + (problem.text or "")):
            tally.suspects.append(Suspect(failure, Repeat(test, variant), folder_of(case), problem.text or ""))
        else:
            tally.failures.append(failure)
    if may_be_empty and done.code == NO_TESTS:
        return
    if not report.exists() or (done.code != 0 and not failed):
        tally.fail(f"{name} ({variant})", how(done.code, limit) + "\n" + tail(done.text, 30), shell(command, env))


def node_of(case):
    """The test as pytest names it: the report has the folder and the file of a test as names with dots."""
    place = case.get("classname", "").replace(".", "/")
    return f"trunk/test/e2e/{place}.py::{case.get('name')}"


def folder_of(case):
    """Where the test put its files (conftest.py says so), below the top folder."""
    found = [each.get("value") for each in case.iter("property") if each.get("name") == "folder"]
    return found[0] if found else ""


class Repeat:
    """Runs one test alone."""

    def __init__(self, test, variant):
        self.test, self.variant = test, variant

    def __call__(self, running):
        own = Tally()
        run_pytest(own, running, "repeat", self.variant, [], [self.test], LIMITS["smoke"])
        return next(iter(own.failures), None)
