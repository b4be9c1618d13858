"""Which sources a fuzz target depends on, and whether they changed since its last search without a finding.

The sources of a target are its own .cc and, from there on, every header of trunk/src/ that one of them includes, with each
.cc of the same folder that includes this header first: the .cc files that implement it. base/ is left out: all targets use it, and a change there would mark all of them. A fault of base/
shows in its own tests and in the replays of the corpora, which always run for every target. The digest ignores comments and
white space.

trunk/fuzz/searched has a line for each target: its name and the digest. A search without a finding leaves the digest in
objs/, and `scripts/fuzz --record` copies those that are still right into the file, which is committed.
"""

import functools
import hashlib
import re
import sys

from sources import LITERAL_OR_COMMENT, TOP, TRUNK, includes

FUZZ = TRUNK / "fuzz"
SEARCHED = FUZZ / "searched"
CLEAN = TOP / "objs" / "fuzz-clean"  # TARGET: the digest of the sources that were searched without a finding
LEFT_OUT = ("base/",)


def targets():
    return sorted(path.stem.replace("_", "-") for path in FUZZ.glob("*_fuzz.cc"))


@functools.cache
def implementations():
    """{header: the .cc files of its folder that include it first}."""
    found = {}
    for path in (TRUNK / "src").rglob("*.cc"):
        first = next((name for _, kind, name in includes(path.read_text()) if kind == '"'), None)
        if first and (TRUNK / "src" / first).parent == path.parent:
            found.setdefault(first, []).append(path)
    return found


def sources_of(target):
    """The files that the digest of a target covers."""
    implement = implementations()
    found, waiting = set(), [FUZZ / f"{target.replace('-', '_')}.cc"]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        if path.suffix == ".h":
            waiting += implement.get(str(path.relative_to(TRUNK / "src")), [])
        for _, kind, name in includes(path.read_text()):
            if kind == '"' and not name.startswith(LEFT_OUT):
                waiting.append(TRUNK / "src" / name)
    return sorted(found)


def code_of(text):
    """Without comments, and with one blank for white space."""
    kept = LITERAL_OR_COMMENT.sub(lambda match: " " if match[0].startswith("/") else match[0], text)
    return re.sub(r"\s+", " ", kept).strip()


def digest(target):
    total = hashlib.sha256()
    for path in sources_of(target):
        total.update(f"{path.relative_to(TRUNK)}\n{code_of(path.read_text())}\n".encode())
    return total.hexdigest()[:16]


def searched():
    lines = SEARCHED.read_text().splitlines() if SEARCHED.exists() else []
    return dict(line.split() for line in lines if line and not line.startswith("#"))


def changed():
    """The targets whose sources are not those of their last search."""
    before = searched()
    return [target for target in targets() if before.get(target) != digest(target)]


def note_clean(target, sum_of_sources):
    CLEAN.mkdir(parents=True, exist_ok=True)
    (CLEAN / target).write_text(sum_of_sources)


def record():
    """Writes SEARCHED; returns the targets whose sources were not searched as they are."""
    before, lines, missing = searched(), [], []
    for target in targets():
        now, clean = digest(target), CLEAN / target
        if before.get(target) != now and not (clean.exists() and clean.read_text() == now):
            missing.append(target)
            now = before.get(target)
        if now:
            lines.append(f"{target} {now}\n")
    SEARCHED.write_text("# Written by scripts/fuzz --record: the sources with which each target found nothing.\n" + "".join(lines))
    return missing


def main(words):
    if words[0] == "changed":
        for target in changed():
            print(target)
    elif words[0] == "digests":
        for target in words[1:]:
            print(target, digest(target))
    elif words[0] == "clean":
        note_clean(*words[1:])
    elif words[0] == "record":
        missing = record()
        for target in missing:
            print(f"fuzz: {target} was not searched with its present sources: scripts/fuzz --smoke {target}", file=sys.stderr)
        return 1 if missing else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
