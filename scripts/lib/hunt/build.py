"""Builds what a hunt needs, and leaves the configured variant as it was."""

import subprocess

from bench.problem import Problem
from bench.processes import tail
from variant import another_variant

BUILD_SECONDS = 2400
FLAGS = {"objects": [], "sanitizer": ["--sanitizer=on"], "valgrind": ["--valgrind=on"], "gperf": ["--gperf=on"]}


def variant_of(tool, plants):
    return ("release" if tool == "objects" else tool) + ("-plants" if plants else "")


def build(top, tool, plants, targets, say):
    """Builds the targets; gives the folder of the variant."""
    flags = FLAGS[tool] + (["--plants=on"] if plants else [])
    variant = variant_of(tool, plants)
    log = top / "objs" / f"leak-hunt-build-{variant}.log"
    say(f"build: ./configure {' '.join(flags)} && make ({', '.join(targets)}) in objs/{variant}")
    with another_variant(top), open(log, "wb") as out:
        for command in (["./configure", *flags, f"--variant={variant}"],
                        ["make", "--no-print-directory", "build", f"TARGETS={' '.join(targets)}"]):
            done = subprocess.run(command, cwd=top, stdout=out, stderr=subprocess.STDOUT, timeout=BUILD_SECONDS)
            if done.returncode != 0:
                raise Problem(f"{' '.join(command)} failed, {log}:\n{tail(log, 15)}")
    return top / "objs" / variant
