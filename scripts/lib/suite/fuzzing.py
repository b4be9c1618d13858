"""Fuzz targets: the stored inputs of each with gcc's sanitizers, and the search for new ones with clang."""

import re

import fuzz_sources
from suite import places, programs
from suite.programs import SANITIZER_ENV, how, shell, tail

LIMITS = {"replay": 900, "search": 5400, "culprit": 30}  # seconds
MIN_CORPUS = 20  # inputs that a fuzz target must have
OUTCOME = re.compile(r"^(ok  |FAIL) (\S+): (.*)$", re.M)


def inputs_of(kind, target):
    """Files of trunk/fuzz/<kind>/<target>/; the folder may be spelled with '-' or '_'."""
    for spelling in (target, target.replace("-", "_")):
        for folder in (places.FUZZ / kind / spelling, places.FUZZ / kind / spelling.removesuffix("-fuzz").removesuffix("_fuzz")):
            if folder.is_dir():
                return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return []


def replay(tally):
    with tally.start("fuzz replays") as running:
        sources = sorted(places.FUZZ.glob("*_fuzz.cc"))
        if not sources:
            tally.fail("fuzz", "trunk/fuzz/ holds no target", "ls trunk/fuzz")
        for source in sources:
            replay_target(tally, running, source.stem.replace("_", "-"))


def replay_target(tally, running, target):
    binary = f"objs/sanitizer/{target}"
    corpus, regress = inputs_of("corpus", target), inputs_of("regress", target)
    name = f"fuzz replay {target}"
    if not (places.TOP / binary).exists():
        tally.fail(name, f"{binary} is not there", "scripts/test --only build --all")
        return
    if len(corpus) < MIN_CORPUS:
        tally.fail(name, f"{len(corpus)} inputs in its corpus, at least {MIN_CORPUS} wanted", f"ls {places.FUZZ}/corpus")
        return
    files = [str(path.relative_to(places.TOP)) for path in corpus + regress]
    done = running.run([binary, *files], f"{target}.log", LIMITS["replay"], SANITIZER_ENV)
    if done.code == 0:
        tally.passed += 1
        return
    culprit = find_culprit(binary, files) if done.code is not None else None
    again = [binary, culprit or str(corpus[0].parent.relative_to(places.TOP)) + "/*"]
    tally.fail(name, how(done.code, LIMITS["replay"]) + "\n" + tail(done.text, 25), shell(again, SANITIZER_ENV))


def find_culprit(binary, files):
    for path in files:
        if programs.run([binary, path], "culprit.log", LIMITS["culprit"], SANITIZER_ENV).code != 0:
            return path
    return None


def search(tally, every=False):
    """Builds targets with clang and lets each search for a few seconds; an input that is found fails the suite. The targets
    are those whose sources changed since the last complete search, or `every` one."""
    with tally.start("fuzz search with clang") as running:
        targets = fuzz_sources.targets()
        chosen = targets if every else fuzz_sources.changed()
        if unchanged := len(targets) - len(chosen):
            print(f"     fuzz search: {unchanged} targets unchanged since the last complete search (FUZZ=all searches them, too)",
                  flush=True)
        if not chosen:
            tally.passed += 1
            return
        command = ["scripts/fuzz", "--smoke", *chosen]
        done = running.run(command, "fuzz-search.log", LIMITS["search"])
        if count_search(tally, done, chosen, command):
            print("     fuzz search: scripts/fuzz --record notes it in trunk/fuzz/searched, which belongs to the change", flush=True)


def count_search(tally, done, chosen, command):
    """Whether every target ran, and found nothing."""
    outcomes, failed = list(OUTCOME.finditer(done.text)), False
    for outcome, following in zip(outcomes, outcomes[1:] + [None]):
        state, target, what = outcome.groups()
        if state != "FAIL":
            tally.passed += 1
            continue
        failed = True
        log = done.text[outcome.end():following.start() if following else len(done.text)]
        again = re.search(r"^again: (.*)$", log, re.M)
        tally.fail(f"fuzz search {target}", f"{what}\n{tail(log, 30)}", again.group(1) if again else shell(command))
    missing = len(chosen) - len(outcomes)
    if missing or (done.code != 0 and not failed):
        why = f"{how(done.code, LIMITS['search'])}, {missing} targets did not run"
        failed = True
        tally.fail("fuzz search", f"{why}\n{tail(done.text, 30)}", shell(command))
    return not failed
