"""Says what the figures of two settled states mean. Plain values in and out: tested without a server.

A *finding* is {"kind": "leaking" or "growing", "what": one line, "stack": [lines]}.
"""

import re

# Files of the standard library's templates; valgrind names them without their folder.
LIBRARY_FILE = re.compile(r"/include/c\+\+/|^(stl_\w+|std_\w+|alloc\w*|new_allocator|invoke|unique_ptr|shared_ptr\w*|"
                          r"basic_string|hashtable\w*|vector|deque)\.(h|tcc)$")

# Classes whose number follows the load of the past: stacks stay for reuse, waits come and go.
KEPT = {"stack", "stack_kept", "timer"}

# The heap is counted exactly (the thread caches of glibc are off): a round that
# leaves nothing leaves 0 bytes.
HEAP_ROUND_BYTES = 256
# A single round that grew proves nothing: 240 to 2,112 bytes were measured in one of six rounds beside other loads.
LATER_ROUNDS = 2
# How many coroutines ran at once differs from round to round, and each stack that is mapped for good has its books: at most
# so many bytes (136 measured under the sanitizer).
STACK_BOOKS_BYTES = 160


def leftovers(before, now, ignore=KEPT):
    """[(class, live before, live now)] of what there is more of than before, the most first."""
    found = [(name, before[name]["live"] if name in before else 0, row["live"]) for name, row in now.items()
             if name not in ignore]
    return sorted([row for row in found if row[2] > row[1]], key=lambda row: row[1] - row[2])


def leftovers_text(rows):
    return ", ".join(f"{name} {now} (was {before})" for name, before, now in rows)


def judge_objects(before, now):
    """Findings of two settled states: objects that there are more of."""
    return [{"kind": "leaking", "stack": [],
             "what": f"{now_live - was} more {name} than before the load: {now_live}, were {was}; "
                     f"{now[name]['bytes'] - before.get(name, {'bytes': 0})['bytes']:,} bytes"}
            for name, was, now_live in leftovers(before, now)]


def object_bytes(objects):
    """What the counted objects have on the heap; stacks are mapped."""
    return sum(row["bytes"] for name, row in objects.items() if name not in KEPT)


# A class that fits: the growth per object made is the same in every round, but for this share.
IN_STEP = 0.01
MAX_FITTING = 3


def stacks(objects):
    """How many are mapped, in use or kept."""
    return sum(objects.get(name, {"live": 0})["live"] for name in ("stack", "stack_kept"))


def in_step(growth, made):
    """[(class, bytes per object made)] of the classes that the heap grew in step with, the best first. `growth`: bytes of
    each round; `made`: for each round, {class: how many were made}. The rounds have different numbers of clients, so that
    classes can be told apart."""
    fitting = []
    for name in made[0]:
        counts = [each.get(name, 0) for each in made]
        if name in KEPT or min(counts) == 0 or len(counts) < 2:
            continue
        each = [bytes_ / count for bytes_, count in zip(growth, counts)]
        spread = max(each) / min(each) - 1
        if spread <= IN_STEP and min(each) >= 16:
            fitting.append((spread, name, sum(growth) / sum(counts)))
    return [(name, each) for _, name, each in sorted(fitting)[:MAX_FITTING]]


def judge_heap(rounds):
    """`rounds`: (heap in use, objects) of the settled states, the first after the warm up. What grows in one round may be a
    table that found its size, in the first round of load most of all, in a later one when more happened at once. What grows in
    every later one, of at least two, is never given back."""
    pairs = list(zip(rounds[1:], rounds[2:]))
    later = [after[0] - before[0] for before, after in pairs]
    mapped = [max(0, stacks(after[1]) - stacks(before[1])) for before, after in pairs]
    if len(later) < LATER_ROUNDS or any(grown - STACK_BOOKS_BYTES * new < HEAP_ROUND_BYTES for grown, new in zip(later, mapped)):
        return []
    counted = object_bytes(rounds[-1][1]) - object_bytes(rounds[1][1])
    made = [{name: row["made"] - before[1].get(name, {"made": 0})["made"] for name, row in after[1].items()}
            for before, after in pairs]
    fitting = ", ".join(f"{name} ({each:,.0f} bytes for each one made)" for name, each in in_step(later, made))
    step = f"in step with {fitting or 'no class that is counted'}"
    return [{"kind": "growing", "stack": [],
             "what": f"the heap grew in every round of load: {' + '.join(f'{bytes_:,}' for bytes_ in later)} bytes; "
                     f"counted objects account for {counted:,} of it; {step}"}]


def frame_text(frame):
    place = re.sub(r"^(\.\./)+", "", frame.get("file") or "")
    if place and frame.get("line"):
        place += f":{frame['line']}"
    return f"{frame.get('function') or '???'}{f' ({place})' if place else ''}"


def stack_lines(stack):
    """The frames as text, without those of the standard library's templates between ours."""
    return [frame_text(frame) for frame in stack if not LIBRARY_FILE.search(frame.get("file") or "")]


def record_title(record):
    blocks = f"{record['blocks']:,} block{'' if record['blocks'] == 1 else 's'}"
    kind = record["kind"] if record["kind"] == "reachable" else f"{record['kind']} lost"
    return f"{record['bytes']:,} bytes in {blocks}, {kind} ({record['bytes_delta']:+,} bytes)"


def grown_records(check):
    """The records of a check that are new or have grown, the most first."""
    return sorted((record for record in check.get("records", []) if record.get("bytes_delta", 0) > 0),
                  key=lambda record: -record["bytes_delta"])


MAX_RECORDS = 20
# How many coroutines ran at once differs from round to round, and each stack that is mapped for good has some hundred bytes
# of books. What grows with the load grows faster.
GROWTH_RECORD_BYTES = 1024


def judge_checks(checks):
    """Findings of the leak checks after each round of load. Lost memory counts at once. Memory that can still be reached
    counts when the last two rounds both had more of it, since the first one fills tables."""
    findings = []
    lost = [check for check in checks if check["verdict"] == "leaking"]
    growing = bool(checks) and checks[-1]["verdict"] == "growing"
    for check in lost[-1:] if lost else (checks[-1:] if growing else []):
        kind = check["verdict"]
        records = grown_records(check)
        if kind == "growing":
            if not checks[-1].get("records"):
                findings.append({"kind": kind, "what": check.get("reason") or kind, "stack": []})
                continue
            # Only what grew in the round before, too.
            earlier = {tuple(map(frame_text, record["stack"])) for check in checks[-2:-1] for record in grown_records(check)}
            records = [each for each in records if tuple(map(frame_text, each["stack"])) in earlier
                       and each["bytes_delta"] >= GROWTH_RECORD_BYTES]
        else:
            records = [each for each in records if each["kind"] != "reachable"] or records
        if not records and kind != "growing":
            findings.append({"kind": kind, "what": check.get("reason") or kind, "stack": []})
        for record in records[:MAX_RECORDS]:
            findings.append({"kind": kind, "what": record_title(record),
                             "stack": stack_lines(record["stack"])})
    return findings


def verdict_of(findings):
    kinds = {finding["kind"] for finding in findings}
    return next((kind for kind in ("broken", "leaking", "growing") if kind in kinds), "clean")
