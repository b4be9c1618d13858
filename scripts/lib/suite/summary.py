"""What a run prints at its end: the slowest tests, where the time went, what failed."""

from suite.tally import cores

SLOWEST = 10


def slowest(tally):
    longest = {}  # a soak runs each several times
    for seconds, name in tally.cases:
        longest[name] = max(seconds, longest.get(name, 0))
    lines = [f"  {seconds:7.1f} s  {name}" for name, seconds in sorted(longest.items(), key=lambda each: -each[1])[:SLOWEST]]
    return ["Slowest tests:", *lines] if lines else []


def times(tally):
    """The parts of each lane: seconds, and how much of the cores their programs used. What they did not use they waited
    for, or other lanes used it."""
    lines = []
    for whole, lanes in tally.stages:
        if len(lanes) > 1:
            lines.append(share(whole, "  "))
        for number, lane in enumerate(lanes, 1):
            for part in lane:
                lines.append(share(part, f"    lane {number}: " if len(lanes) > 1 else "  "))
    return [f"Where the time went (of {cores()} cores):", *lines] if lines else []


def share(part, indent):
    used = 100 * part.cpu / max(part.wall * cores(), 1e-9)
    return f"{indent}{part.name}: {part.wall:.0f} s, {used:.0f} %"


def unstable(tally):
    return ["Unstable, failed beside others and passed alone:",
            *(f"  {name}  {kept}" for name, kept in tally.unstable)] if tally.unstable else []


def failures(tally):
    lines = []
    for name, why, command in tally.failures:
        lines += ["", f"* {name}", *("    " + line for line in why.strip().splitlines()), f"  again: {command}"]
    return ["Failures:", *lines] if lines else []


def print_summary(tally, seconds):
    for block in (slowest(tally), times(tally), unstable(tally), failures(tally)):
        if block:
            print("\n" + "\n".join(block))
    print(f"\n{seconds:.0f} s; logs are in objs/test/")
    print(f"{tally.passed} passed, {len(tally.failures)} failed", flush=True)
