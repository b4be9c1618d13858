"""Configures and builds the variants."""

import re

from suite import places, programs
from suite.programs import how, shell, tail
from variant import another_variant

VARIANTS = {"release": [], "sanitizer": ["--sanitizer=on"]}
LIMIT = 7200  # seconds
WARNING = re.compile(r"^(?!.*/trunk/test/).*: warning: .*$", re.M)  # those of tests are not looked at
IDLE = ["chrt", "--idle", "0"]


def prepare(tally, variants):
    """Makes each variant ready to be built; returns those that are. The variant that the user had configured is the
    configured one afterwards."""
    ready = []
    with another_variant(places.TOP):
        for variant in variants:
            configure = ["./configure", *VARIANTS[variant]]
            done = programs.run(configure, f"configure-{variant}.log", 60)
            if done.code == 0:
                done = programs.run(["make", "--no-print-directory", "configured"], f"cmake-{variant}.log", LIMIT)
            if done.code != 0:
                tally.fail(f"configure {variant}", how(done.code, LIMIT) + "\n" + tail(done.text, 30), shell(configure) + " && make")
            else:
                ready.append(variant)
    return ready


def build(tally, variant, targets, idle=False):
    """Builds a variant that is prepared. The links to programs stay as they are: tests may be using them. `idle`: only with
    processor time that no other program uses."""
    with tally.start(f"build {variant}") as part:
        command = ["cmake", "--build", f"objs/{variant}", *(["--target", *targets] if targets else [])]
        done = part.run([*IDLE * idle, *command], f"build-{variant}.log", LIMIT)
        warnings = WARNING.findall(done.text) if variant == "release" else []
        if done.code == 0 and not warnings:
            tally.passed += 1
        elif done.code == 0:
            tally.fail(f"build {variant}", f"{len(warnings)} warnings of the compiler\n" + "\n".join(warnings[:20]), "make check")
        else:
            tally.fail(f"build {variant}", how(done.code, LIMIT) + "\n" + tail(done.text, 30),
                       shell(["./configure", *VARIANTS[variant]]) + " && make")


def links(tally):
    command = ["make", "--no-print-directory", "links"]
    done = programs.run(command, "links.log", 60)
    if done.code != 0:
        tally.fail("links to the programs", how(done.code, 60) + "\n" + tail(done.text), shell(command))
