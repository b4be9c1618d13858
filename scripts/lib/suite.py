"""The test suite: builds, unit and component tests, lints, end to end; with --all also everything under the sanitizers.

Run by scripts/test. Each part prints one line with its counts; what failed is listed at the end with the command that
runs it again, and the last line is "N passed, N failed". A tool that is not there, a skipped or a disabled test is a
failure.

  make test          the release build and what is tested with it: build lint unit component e2e
  make test FAST=1   build unit component
  make test-all      all parts; builds, unit and component tests also under the sanitizers
"""

import argparse
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from variant import another_variant

TOP = Path(__file__).resolve().parents[2]
OBJS = TOP / "objs"
LOGS = OBJS / "test"
FUZZ = TOP / "trunk" / "fuzz"

# part -> seconds that one of its programs may take, also beside as much other work: only what hangs ends by them
LIMITS = {"build": 7200, "unit": 900, "component": 1800, "fuzz": 900, "fuzz-search": 5400, "lint": 1800, "headers": 1800, "e2e": 7200,
          "e2e-alone": 3600, "smoke": 1200}
PARTS = ["lint", "headers", "build", "unit", "component", "fuzz", "fuzz-search", "e2e", "smoke"]
DEFAULT = ["lint", "build", "unit", "component", "e2e"]
FAST = ["build", "unit", "component"]
SANITIZED = ["fuzz", "smoke"]  # parts that run the sanitizer variant only
VARIANTS = {"release": [], "sanitizer": ["--sanitizer=on"]}
LINTS = {"lint": [["scripts/layers"], ["scripts/lint", "--own"]], "headers": [["scripts/headers"]]}
# part -> its program, and how many of it run side by side, each with a share of the tests: they mostly wait
GTESTS = {"unit": ("weir-unit-tests", 1), "component": ("weir-component-tests", 4)}
# End-to-end tests mostly wait, so four files of them run side by side (ports: trunk/test/e2e/weir.py).
SIDE_BY_SIDE = ["-n", "4", "--dist", "loadfile"]
IDLE = ["chrt", "--idle", "0"]
MIN_CORPUS = 20  # inputs that a fuzz target must have

SANITIZER_ENV = {
    "ASAN_OPTIONS": "halt_on_error=1:detect_stack_use_after_return=1:detect_leaks=1:leak_check_at_exit=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


class Tally:
    def __init__(self):
        self.passed = 0
        self.failures = []  # (name, why, command to run it again)

    def fail(self, name, why, command):
        self.failures.append((name, why, command))

    def part(self, name, started, before):
        """Prints the line of a part; `before` is (passed, failed) when it started."""
        passed, failed = self.passed - before[0], len(self.failures) - before[1]
        state = "ok  " if failed == 0 else "FAIL"
        print(f"{state} {name}: {passed} passed, {failed} failed ({time.monotonic() - started:.0f} s)", flush=True)

    def now(self):
        return self.passed, len(self.failures)

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures


def run(command, log, limit, env=None):
    """Runs a program with its output in a file. Gives (exit code or None when it took too long, output)."""
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / log
    with open(path, "wb") as out:
        process = subprocess.Popen(command, cwd=TOP, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env={**os.environ, **(env or {})}, start_new_session=True)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:  # whatever it left behind, too
                os.killpg(process.pid, 9)
            except ProcessLookupError:
                pass
            process.wait()
    return code, path.read_text(errors="replace")


def tail(text, lines=15):
    return "\n".join(text.strip().splitlines()[-lines:])


def how(code, limit):
    if code is None:
        return f"was not done after {limit} s"
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def shell(command, env=None):
    prefix = "".join(f"{name}={value} " for name, value in (env or {}).items())
    return prefix + " ".join(str(word) for word in command)


# ---- build -----------------------------------------------------------------------------------------------------------


def prepare(tally, variants):
    """Makes each variant ready to be built; those that are. The one that the user had configured is the configured one afterwards."""
    ready = []
    with another_variant(TOP):
        for variant in variants:
            configure = ["./configure", *VARIANTS[variant]]
            code, text = run(configure, f"configure-{variant}.log", 60)
            if code == 0:
                code, text = run(["make", "--no-print-directory", "configured"], f"cmake-{variant}.log", LIMITS["build"])
            if code != 0:
                tally.fail(f"configure {variant}", how(code, LIMITS["build"]) + "\n" + tail(text, 30), shell(configure) + " && make")
            else:
                ready.append(variant)
    return ready


def build(tally, variant, targets, idle=False):
    """One that is prepared. The links to programs stay as they are: tests may be using them. `idle`: by what of the processors
    nobody else uses."""
    started = time.monotonic()
    command = ["cmake", "--build", f"objs/{variant}", *(["--target", *targets] if targets else [])]
    code, text = run([*IDLE * idle, *command], f"build-{variant}.log", LIMITS["build"])
    if code != 0:
        tally.fail(f"build {variant}", how(code, LIMITS["build"]) + "\n" + tail(text, 30),
                   shell(["./configure", *VARIANTS[variant]]) + " && make")
    print(f"{'ok  ' if code == 0 else 'FAIL'} build {variant} ({time.monotonic() - started:.0f} s)", flush=True)


# ---- gtest -----------------------------------------------------------------------------------------------------------

GTEST_LINE = re.compile(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([^\s,(]+).*?(\(\d+ ms\))?$", re.M)
GTEST_DISABLED = re.compile(r"YOU HAVE (\d+) DISABLED TEST")


def gtest(tally, part, variant):
    """One program, in as many shares as GTESTS says, side by side."""
    (program, shares), limit = GTESTS[part], LIMITS[part]
    started, before, name = time.monotonic(), tally.now(), f"{program} ({variant})"
    binary = f"objs/{variant}/{program}"
    if not (TOP / binary).exists():
        tally.fail(name, f"{binary} is not there", "scripts/test --only build" + " --all" * (variant != "release"))
    else:
        with ThreadPoolExecutor(shares) as pool:
            runs = [pool.submit(run_gtest, binary, variant, limit, share, shares) for share in range(shares)]
        for share in runs:
            count_gtest(tally, name, binary, variant, limit, *share.result())
    tally.part(name, started, before)


def run_gtest(binary, variant, limit, share, shares):
    env = {**environment(variant), "GTEST_TOTAL_SHARDS": str(shares), "GTEST_SHARD_INDEX": str(share)}
    log = f"{Path(binary).name}-{variant}{f'-{share}' if shares > 1 else ''}.log"
    return run([binary, "--gtest_color=no"], log, limit, env)


def environment(variant):
    return SANITIZER_ENV if variant == "sanitizer" else {}


def count_gtest(tally, name, binary, variant, limit, code, text):
    env = environment(variant)
    running, failed, problems = None, False, []
    for match in GTEST_LINE.finditer(text):
        what, case, timing = match.groups()
        if what == "RUN":
            running = case
        elif timing and case == running:  # the summary repeats the names without a time
            running = None
            if what == "OK":
                tally.passed += 1
            else:
                failed = True
                why = "skipped" if what == "SKIPPED" else case_output(text, case)
                tally.fail(f"{case} ({variant})", why, shell([binary, f"--gtest_filter={case}"], env))
    if running:
        problems.append(f"{running}: {how(code, limit)}")
    elif code != 0 and not failed:
        problems.append(how(code, limit) + " after the last test")
    if "[==========] Running" not in text or "Running 0 tests" in text:
        problems.append("ran no test")
    if GTEST_DISABLED.search(text):
        problems.append("has disabled tests")
    for problem in problems:
        again = shell([binary] + ([f"--gtest_filter={running}"] if running else []), env)
        tally.fail(name, problem + "\n" + tail(text, 25), again)


def case_output(text, case):
    """The lines between RUN and FAILED of one case."""
    begin = text.find(f"] {case}\n")
    end = text.find(f"[  FAILED  ] {case}", begin)
    return tail(text[begin + len(case) + 3:end], 12)


# ---- fuzz ------------------------------------------------------------------------------------------------------------


def inputs_of(kind, target):
    """Files of trunk/fuzz/<kind>/<target>/; the folder may be spelled with '-' or '_'."""
    for spelling in (target, target.replace("-", "_")):
        for folder in (FUZZ / kind / spelling, FUZZ / kind / spelling.removesuffix("-fuzz").removesuffix("_fuzz")):
            if folder.is_dir():
                return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return []


def fuzz(tally):
    started, before = time.monotonic(), tally.now()
    sources = sorted(FUZZ.glob("*_fuzz.cc"))
    if not sources:
        tally.fail("fuzz", "trunk/fuzz/ holds no target", "ls trunk/fuzz")
    for source in sources:
        target = source.stem.replace("_", "-")
        binary = f"objs/sanitizer/{target}"
        corpus, regress = inputs_of("corpus", target), inputs_of("regress", target)
        name = f"fuzz replay {target}"
        if not (TOP / binary).exists():
            tally.fail(name, f"{binary} is not there", "scripts/test --only build --all")
            continue
        if len(corpus) < MIN_CORPUS:
            tally.fail(name, f"{len(corpus)} inputs in its corpus, at least {MIN_CORPUS} wanted", f"ls {FUZZ}/corpus")
            continue
        files = [str(path.relative_to(TOP)) for path in corpus + regress]
        code, text = run([binary, *files], f"{target}.log", LIMITS["fuzz"], SANITIZER_ENV)
        if code == 0:
            tally.passed += 1
            continue
        culprit = find_culprit(binary, files) if code is not None else None
        again = [binary, culprit or str(corpus[0].parent.relative_to(TOP)) + "/*"]
        tally.fail(name, how(code, LIMITS["fuzz"]) + "\n" + tail(text, 25), shell(again, SANITIZER_ENV))
    tally.part("fuzz replays", started, before)


FUZZ_OUTCOME = re.compile(r"^(ok  |FAIL) (\S+): (.*)$", re.M)


def fuzz_search(tally):
    """Builds the targets with clang and lets each search for a few seconds; an input that is found fails the suite."""
    started, before = time.monotonic(), tally.now()
    command = ["scripts/fuzz", "--smoke"]
    code, text = run(command, "fuzz-search.log", LIMITS["fuzz-search"])
    outcomes = list(FUZZ_OUTCOME.finditer(text))
    for outcome, following in zip(outcomes, outcomes[1:] + [None]):
        state, target, what = outcome.groups()
        if state != "FAIL":
            tally.passed += 1
            continue
        log = text[outcome.end():following.start() if following else len(text)]
        again = re.search(r"^again: (.*)$", log, re.M)
        tally.fail(f"fuzz search {target}", f"{what}\n{tail(log, 30)}", again.group(1) if again else shell(command))
    missing = len(list(FUZZ.glob("*_fuzz.cc"))) - len(outcomes)
    if missing or (code != 0 and len(tally.failures) == before[1]):
        why = f"{how(code, LIMITS['fuzz-search'])}, {missing} targets did not run"
        tally.fail("fuzz search", f"{why}\n{tail(text, 30)}", shell(command))
    tally.part("fuzz search with clang", started, before)


def find_culprit(binary, files):
    for path in files:
        if run([binary, path], "culprit.log", 30, SANITIZER_ENV)[0] != 0:
            return path
    return None


# ---- lints -----------------------------------------------------------------------------------------------------------


def lint(tally, part):
    started, before = time.monotonic(), tally.now()
    for command in LINTS[part]:
        code, text = run(command, f"{Path(command[0]).name}.log", LIMITS[part])
        if code == 0:
            tally.passed += 1
        else:
            tally.fail(command[0], how(code, LIMITS[part]) + "\n" + tail(text, 40), shell(command))
    tally.part(part, started, before)


# ---- end to end ------------------------------------------------------------------------------------------------------


def e2e(tally, name, variant, options):
    started, before = time.monotonic(), tally.now()
    report = LOGS / f"{name}.xml"
    report.unlink(missing_ok=True)
    python = "objs/tools/venv/bin/python"
    env = {"WEIR_BIN": f"objs/{variant}/weir", **(SANITIZER_ENV if variant == "sanitizer" else {})}
    base = [python, "-m", "pytest", "-p", "no:cacheprovider"]
    if not (TOP / python).exists():
        tally.fail(name, f"{python} is not there", "scripts/install-deps.sh --tests")
        tally.part(name, started, before)
        return
    command = [*base, "-q", *options, f"--junitxml={report}", "trunk/test/e2e"]
    code, text = run(command, f"{name}.log", LIMITS[name], env)
    failed = False
    cases = ElementTree.parse(report).iter("testcase") if report.exists() else []
    for case in cases:
        problem = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        if problem is None:
            tally.passed += 1
            continue
        failed = True
        place = case.get("classname", "").split(".")[-1]
        test = f"trunk/test/e2e/{place}.py::{case.get('name')}"
        why = f"{problem.tag}: {problem.get('message', '')[:800]}"
        tally.fail(f"{test} ({variant})", why, shell([*base, f"'{test}'"], env))
    if not report.exists() or (code != 0 and not failed):
        tally.fail(f"{name} ({variant})", how(code, LIMITS[name]) + "\n" + tail(text, 30), shell(command, env))
    tally.part(f"{name} ({variant})", started, before)


FUZZ_PARTS = {"fuzz": fuzz, "fuzz-search": fuzz_search}


# ---- main ------------------------------------------------------------------------------------------------------------


def side_by_side(tally, lanes):
    """Runs the lanes at a time; the steps of a lane, (function, arguments...), one after the other."""
    def run_lane(lane):
        own = Tally()
        for function, *arguments in lane:
            function(own, *arguments)
        return own

    with ThreadPoolExecutor(max(len(lanes), 1)) as pool:
        for own in pool.map(run_lane, lanes):
            tally.add(own)


def parts_of(args):
    if args.only:
        chosen = args.only
    else:
        chosen = PARTS if args.all else FAST if args.fast else DEFAULT
    return [part for part in PARTS if part in chosen and part not in args.skip]


def run_parts(tally, args):
    parts = parts_of(args)
    variants = list(VARIANTS) if args.all or any(part in SANITIZED for part in parts) else ["release"]
    targets = [program for program, _ in GTESTS.values()] if args.fast and not args.only else []
    ready = prepare(tally, variants) if "build" in parts else []
    if "release" in ready:
        build(tally, "release", targets)
        links = ["make", "--no-print-directory", "links"]
        code, text = run(links, "links.log", 60)
        if code != 0:
            tally.fail("links to the programs", how(code, 60) + "\n" + tail(text), shell(links))

    # The tests wait: what computes goes on beside them. The shares of one variant are enough for the load client's tests,
    # which need some part of a core.
    def gtests(variant):
        return [[(gtest, part, variant)] for part in GTESTS if part in parts and variant in variants]

    side_by_side(tally, [*gtests("release"), [(lint, part) for part in LINTS if part in parts]])
    side_by_side(tally, [
        [(e2e, "e2e", "release", ["-m", "not alone", *SIDE_BY_SIDE])] if "e2e" in parts else [],
        [(build, "sanitizer", targets, "e2e" in parts)] if "sanitizer" in ready else []])
    side_by_side(tally, [*gtests("sanitizer"), [(function,) for part, function in FUZZ_PARTS.items() if part in parts]])
    if "e2e" in parts:
        e2e(tally, "e2e-alone", "release", ["-m", "alone"])
    if "smoke" in parts:
        e2e(tally, "smoke", "sanitizer", ["-m", "smoke", *SIDE_BY_SIDE])


def main():
    parser = argparse.ArgumentParser(prog="scripts/test", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="all parts, and the sanitizer variant beside the release build")
    parser.add_argument("--fast", action="store_true", help="builds and runs the unit and component tests, nothing else")
    parser.add_argument("--only", action="append", choices=PARTS, help="run this part only; may be repeated")
    parser.add_argument("--skip", action="append", choices=PARTS, default=[], help="leave this part out")
    parser.add_argument("--deps", choices=["ok", "failed"], default="ok", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.all and args.fast:
        parser.error("--all and --fast: one of them")
    started, tally = time.monotonic(), Tally()

    if args.deps != "ok":
        tally.fail("dependencies", "scripts/install-deps.sh could not install them", "scripts/install-deps.sh --tests")
    run_parts(tally, args)

    if tally.failures:
        print("\nFailures:")
    for name, why, command in tally.failures:
        indented = "\n".join("    " + line for line in why.strip().splitlines())
        print(f"\n* {name}\n{indented}\n  again: {command}")
    print(f"\n{time.monotonic() - started:.0f} s; logs are in objs/test/")
    print(f"{tally.passed} passed, {len(tally.failures)} failed", flush=True)
    sys.exit(1 if tally.failures or tally.passed == 0 else 0)


if __name__ == "__main__":
    main()
