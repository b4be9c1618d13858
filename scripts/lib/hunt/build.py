"""Builds what a hunt needs, and leaves the configured variant as it was."""

import os
import shutil
import subprocess

from bench.problem import Problem
from bench.processes import tail

BUILD_SECONDS = 2400
FLAGS = {"objects": [], "sanitizer": ["--sanitizer=on"], "valgrind": ["--valgrind=on"], "gperf": ["--gperf=on"]}


def variant_of(tool, plants):
    return ("release" if tool == "objects" else tool) + ("-plants" if plants else "")


def build(top, tool, plants, targets, say):
    """Builds the targets; gives the folder of the variant."""
    flags = FLAGS[tool] + (["--plants=on"] if plants else [])
    variant = variant_of(tool, plants)
    config = top / "objs" / "config.mk"
    before = config.read_text() if config.exists() else None
    log = top / "objs" / f"leak-hunt-build-{variant}.log"
    if shutil.which("ccache"):
        os.environ.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
    say(f"build: ./configure {' '.join(flags)} && make ({', '.join(targets)}) in objs/{variant}")
    try:
        with open(log, "wb") as out:
            for command in (["./configure", *flags, f"--variant={variant}"],
                            ["make", "--no-print-directory", "build", f"TARGETS={' '.join(targets)}"]):
                done = subprocess.run(command, cwd=top, stdout=out, stderr=subprocess.STDOUT, timeout=BUILD_SECONDS)
                if done.returncode != 0:
                    raise Problem(f"{' '.join(command)} failed, {log}:\n{tail(log, 15)}")
    finally:
        if before is not None:
            config.write_text(before)
        else:
            subprocess.run(["./configure"], cwd=top, stdout=subprocess.DEVNULL, check=False)
        subprocess.run(["make", "--no-print-directory", "links"], cwd=top, stdout=subprocess.DEVNULL, check=False)
    return top / "objs" / variant
