"""The table, as it is printed and as it is in the documentation."""

import re
from statistics import median

from bench.problem import Problem

from .recipes import PAGE

BEGIN, END = "<!-- from here on: scripts/cache-bench --write -->", "<!-- to here: scripts/cache-bench --write -->"
HEAD = ("in front of Weir", "requests/s of the players", "requests/s to Weir", "delay p50", "delay p99", "added p50", "added p99",
        "cache, of a core", "errors")
ERRORS = {"broken": "players lost", "lost": "frames lost", "stalls": "stalls"}


def difference(rows, direct, name):
    """Median over the rounds of what is more than without a cache in the same round; None if a round has no such run."""
    pairs = [(row[name], direct[number][name]) for number, row in rows.items() if number in direct]
    return median(one - other for one, other in pairs) if pairs else None


def cells(label, rows, direct):
    """`rows`, `direct`: {round: figures}"""
    def middle(name):
        return median(row[name] for row in rows.values())

    wrong = [f"{sum(row[name] for row in rows.values()):,} {word}" for name, word in ERRORS.items() if any(row[name] for row in rows.values())]
    added = [None, None] if rows is direct else [difference(rows, direct, name) for name in ("p50_ms", "p99_ms")]
    return (label, f"{middle('player_requests'):,.0f}", f"{middle('weir_requests'):,.0f}", f"{middle('p50_ms'):.0f} ms", f"{middle('p99_ms'):.0f} ms",
            *("-" if each is None else f"{each:+.0f} ms" for each in added),
            "-" if rows is direct else f"{100 * middle('cache_cores'):.0f} %", ", ".join(wrong) or "none")


def table(labels, results):
    """Markdown. `labels`: {name: label}, "" is the run without a cache; `results`: {name: {round: figures}}"""
    direct = results.get("", {})
    lines = [HEAD, tuple("---" for _ in HEAD), *(cells(labels[name], rows, direct) for name, rows in results.items() if rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(args, cores):
    """What was measured, a sentence for above the table."""
    place = "on one core and the players on the other" if cores[0] != cores[1] else "and the players on one core"
    rate = re.sub(r"([kKMG]?)$", r" \1bit/s", args.bitrate, count=1)
    return (f"{args.players:,} low-latency players of a stream of {rate} with parts of 200 ms; Weir and the cache {place}; "
            f"{args.rounds} round{'s'[:args.rounds > 1]} of {args.seconds:g} s.")


def write(text):
    """Puts the text between the markers of the page."""
    page = PAGE.read_text()
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise Problem(f"{PAGE} has no place between\n{BEGIN}\n{END}")
    PAGE.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
