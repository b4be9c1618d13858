"""The test suite: builds, unit and component tests, lints, end to end; with --all also everything under the sanitizers.

Each part prints one line with its counts. At the end: the slowest tests, where the time went, what failed with the command
that runs it again, and the line "N passed, N failed". A tool that is not there, a skipped or a disabled test is a failure.
A test that fails beside others is repeated alone at the end.

  make test               the release build and its tests: build lint unit component e2e
  make test FAST=1        build unit component
  make test AREA=rtsp     the same as make test for one area; AREA=rtsp,sip for two
  make test-all           all parts; builds, unit and component tests also under the sanitizers
  make test-soak N=20     the tests of all areas or of AREA, N times, with the rate of failures of each test
"""

import argparse
import sys
import time
from pathlib import Path

from suite import areas, builds, e2e, fuzzing, gtests, repeats, soak, surroundings
from suite.programs import how, shell, tail
from suite.summary import print_summary
from suite.tally import Tally, side_by_side

PARTS = ["lint", "headers", "build", "unit", "component", "fuzz", "fuzz-search", "e2e", "smoke"]
DEFAULT = ["lint", "build", "unit", "component", "e2e"]
FAST = ["build", "unit", "component"]
SANITIZED = ["fuzz", "smoke"]  # parts that run the sanitizer variant only
LINTS = {"lint": [["scripts/layers"], ["scripts/reach", "--quiet"], ["scripts/lint", "--own"]], "headers": [["scripts/headers"]]}
LINT_LIMIT = 1800  # seconds
AREA_TARGETS = ["weir", "weir-bench", *(program for program, _ in gtests.PROGRAMS.values())]


def lint(tally, part):
    with tally.start(part) as running:
        for command in LINTS[part]:
            done = running.run(command, f"{Path(command[0]).name}.log", LINT_LIMIT)
            if done.code == 0:
                tally.passed += 1
            else:
                tally.fail(command[0], how(done.code, LINT_LIMIT) + "\n" + tail(done.text, 40), shell(command))


def parts_of(args):
    if args.only:
        chosen = args.only
    else:
        chosen = PARTS if args.all else FAST if args.fast else DEFAULT
    return [part for part in PARTS if part in chosen and part not in args.skip]


def targets_of(args):
    """What is built; everything when empty."""
    if args.fast and not args.only:
        return [program for program, _ in gtests.PROGRAMS.values()]
    return AREA_TARGETS if args.area or args.soak else []


def build_parts(tally, args, parts):
    """Builds the release variant. Returns the variants of the run, and those of them that can be built."""
    variants = list(builds.VARIANTS) if args.all or any(part in SANITIZED for part in parts) else ["release"]
    ready = builds.prepare(tally, variants) if "build" in parts else []
    if "release" in ready:
        side_by_side(tally, [[(builds.build, "release", targets_of(args))]])
        builds.links(tally)
    return variants, ready


def run_parts(tally, args):
    parts, chosen = parts_of(args), areas.areas_of(args.area)
    rootless = " and not root" if "e2e" in parts and surroundings.note_left_out(args.all) else ""
    variants, ready = build_parts(tally, args, parts)

    # The tests wait: what computes goes on beside them. The shares of one variant are enough for the load client's tests,
    # which need some part of a core.
    def tests(variant):
        return [[(gtests.gtest, part, variant, chosen)] for part in gtests.PROGRAMS if part in parts and variant in variants]

    side_by_side(tally, [*tests("release"), [(lint, part) for part in LINTS if part in parts]])
    side_by_side(tally, [
        [(e2e.e2e, "e2e", "release", "not alone" + rootless, chosen)] if "e2e" in parts else [],
        [(builds.build, "sanitizer", targets_of(args), "e2e" in parts)] if "sanitizer" in ready else []])
    side_by_side(tally, [*tests("sanitizer"), [(fuzzing.replay,)] if "fuzz" in parts else [],
                         [(fuzzing.search, args.fuzz == "all")] if "fuzz-search" in parts else []])
    if "smoke" in parts:
        side_by_side(tally, [[(e2e.e2e, "smoke", "sanitizer", "smoke", chosen)]])
    if "e2e" in parts:
        side_by_side(tally, [[(e2e.e2e, "e2e-alone", "release", "alone" + rootless, chosen)]])
    side_by_side(tally, [[(repeats.repeat, tally.suspects)]])


def options():
    parser = argparse.ArgumentParser(prog="scripts/test", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="all parts, and the sanitizer variant beside the release build")
    parser.add_argument("--fast", action="store_true", help="builds and runs the unit and component tests, nothing else")
    parser.add_argument("--area", action="append", metavar="AREA", help="only the tests of an area; may be repeated, or name "
                        "several with commas: " + ", ".join(areas.AREAS))
    parser.add_argument("--soak", type=int, metavar="N", help="repeat unit, component and end-to-end tests N times")
    parser.add_argument("--fuzz", choices=["changed", "all"], default="changed", help="targets that fuzz-search searches: those "
                        "whose sources changed since the last search, or all")
    parser.add_argument("--only", action="append", choices=PARTS, help="run this part only; may be repeated")
    parser.add_argument("--skip", action="append", choices=PARTS, default=[], help="leave this part out")
    parser.add_argument("--deps", choices=["ok", "failed"], default="ok", help=argparse.SUPPRESS)
    parser.add_argument("--check-options", action="store_true", help=argparse.SUPPRESS)
    return parser


def main(words=None):
    parser = options()
    args = parser.parse_args(words)
    if args.all and (args.fast or args.area or args.soak):
        parser.error("--all goes with none of --fast, --area, --soak")
    try:
        areas.areas_of(args.area)
    except areas.UnknownArea as error:
        sys.exit(f"test: {error}")
    if args.check_options:
        return
    started, tally = time.monotonic(), Tally()
    if args.deps != "ok":
        tally.fail("dependencies", "scripts/install-deps.sh could not install them", "scripts/install-deps.sh --tests")
    hopeless = surroundings.problems(args.all, "build" in parts_of(args))
    for problem in hopeless:
        tally.fail("surroundings", problem, "make test")
    try:
        if hopeless:
            pass
        elif args.soak:
            parts = parts_of(args)
            build_parts(tally, args, parts)
            soak.soak(tally, args.soak, parts, areas.areas_of(args.area))
        else:
            run_parts(tally, args)
    except OSError as error:  # a disk that is full now
        tally.fail("files of the run", f"{error.filename or 'objs/'}: {error.strerror}", "make test")
    print_summary(tally, time.monotonic() - started)
    sys.exit(1 if tally.failures or tally.passed == 0 else 0)
