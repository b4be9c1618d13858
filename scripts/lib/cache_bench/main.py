"""Measures caches in front of a Weir, each with its configuration in doc/protocols/hls.md, and prints a table.

500 low-latency HLS players play directly, then through each cache that is installed. A round has one run of each; the table has the
medians of the rounds.

  requests/s       of all players together, and those that arrive at Weir
  delay            from the publisher to the last byte of the part at the player
  added            delay beyond the direct run of the same round
  cache, of a core processor time of all processes of the cache
  errors           players that were refused or lost their connection, frames that were lost, players that had nothing left to show

Everything runs in a network namespace of its own, the caches as the user nobody if root calls this. With two cores, weir-bench has
the second one. The exit code is 1 if a cache is missing, does not start, or loses players or frames.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.machine import busy_percent, choose_cores, ensure_descriptors
from bench.problem import Problem
from bench.processes import Processes

from . import report
from .caches import CACHES
from .runs import Runs

TOP = Path(__file__).resolve().parents[3]
INSIDE = "WEIR_CACHE_BENCH_INSIDE"
BUSY_PERCENT = 10  # of a core, used by others, from which figures are doubtful
EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130


def words(text):
    return [word for word in text.replace(",", " ").split() if word]


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/cache-bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--caches", type=words, default=list(CACHES), metavar="A,B", help=f"of {', '.join(CACHES)}")
    parser.add_argument("--players", type=int, default=500, help="[500]")
    parser.add_argument("--seconds", type=float, default=10, help="measured in each run, which takes 12 s more [10]")
    parser.add_argument("--rounds", type=int, default=2, help="[2]")
    parser.add_argument("--bitrate", default="500k", metavar="RATE", help="of the stream [500k]")
    parser.add_argument("--weir", type=Path, default=TOP / os.environ.get("WEIR_BIN", "objs/weir"), metavar="FILE", help="[objs/weir]")
    parser.add_argument("--client", type=Path, default=TOP / "objs/weir-bench", metavar="FILE", help="[objs/weir-bench]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the figures of each run")
    parser.add_argument("--write", action="store_true", help="writes the table into doc/protocols/hls.md")
    args = parser.parse_args(arguments)
    for name in args.caches:
        if name not in CACHES:
            parser.error(f"--caches: '{name}' is none of {', '.join(CACHES)}")
    if args.seconds < 4 or args.rounds < 1 or args.players < 1:
        parser.error("--seconds must be at least 4, --rounds and --players at least 1")
    for path in (args.weir, args.client):
        if not path.exists():
            parser.error(f"there is no {path}; `make` builds it")
    args.weir, args.client = args.weir.resolve(), args.client.resolve()
    return args


def enter_namespace():
    """Runs this program again in a network namespace of its own. Returns there."""
    if INSIDE not in os.environ:
        user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
        os.environ[INSIDE] = "1"
        try:
            os.execvp("unshare", ["unshare", *user, "--net", sys.executable, *sys.argv])
        except OSError as error:
            raise Problem(f"unshare (util-linux) cannot be run: {error.strerror}") from None
    done = subprocess.run(["ip", "link", "set", "lo", "up"], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Problem(f"the loopback of a network namespace cannot be used: {done.stderr.strip()}")


def say(text):
    print(f"cache-bench: {text}", file=sys.stderr, flush=True)


def measure(args, cores, folder, results):
    """Fills {name: {round: figures}}, run by run. Returns whether all went well."""
    processes, good = Processes(), True
    runs = Runs(args, processes, cores, folder)
    if (busy := busy_percent(set(cores))) > BUSY_PERCENT:
        say(f"others use {busy:.0f} % of a core: figures are noise until it is quiet")
    try:
        for number in range(1, args.rounds + 1):
            for name in results:
                try:
                    row = runs.run(CACHES[name] if name else None)
                except Problem as problem:
                    say(f"round {number}, {name or 'direct'}: {problem}")
                    good = False
                    continue
                results[name][number] = row
                good = good and not row["broken"] and not row["lost"]
                say(f"round {number}/{args.rounds}, {name or 'direct'}: {row['weir_requests']:.0f} requests/s to Weir, "
                    f"delay p50 {row['p50_ms']:.0f} ms, p99 {row['p99_ms']:.0f} ms")
    finally:
        processes.end_all()
    return good


def installed(names):
    """Those of the caches that are there; says which Debian package the others need."""
    for name in names:
        if not CACHES[name].path():
            say(f"{name} is not installed and left out: apt-get install {CACHES[name].package}")
    return [name for name in names if CACHES[name].path()]


def main(arguments=None):
    args = parse(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="weir-cache-bench-")) if INSIDE in os.environ else None
    try:
        enter_namespace()
        folder.chmod(0o711)  # the caches have folders of their own in it
        ensure_descriptors(3 * args.players)
        usable = sorted(os.sched_getaffinity(0))
        cores = choose_cores(None) if len(usable) > 1 else (usable[0], usable[0])
        names = installed(args.caches)
        results = {name: {} for name in ("", *names)}
        good = measure(args, cores, folder, results) and names == args.caches
    except Problem as problem:
        say(problem)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    labels = {"": "nothing", **{name: f"{CACHES[name].title} {CACHES[name].version()}" for name in names}}
    text = f"{report.summary(args, cores)}\n\n{report.table(labels, results)}"
    print(text)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    if args.write and good:
        report.write(text)
    elif args.write:
        say("the page is not written: not all runs went well")
    return EXIT_OK if good else EXIT_FAILED
