"""Command line of the benchmark: plans the runs, does them round by round, prints and writes what came out."""

import argparse
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from bench import machine, mcast, relay, report, segments, sip
from bench.cases import CASES, FULL, SHORT, groups, seconds_of
from bench.figures import Results
from bench.problem import Problem
from bench.processes import Processes
from bench.progress import Progress
from bench.runs import Runs
from bench.servers import KINDS, Tools
from bench.syscalls import SyscallCounter

TOP = Path(__file__).resolve().parents[3]
OBJS = TOP / "objs" / "bench"
BUSY_PERCENT = 10  # of a core, used by others, from which figures are doubtful
EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130


def words(text):
    return [word for word in text.replace(",", " ").split() if word]


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all cases and policies, and write doc/benchmarks.md")
    parser.add_argument("--cases", type=words, default=[], metavar="'A B@100'", help="these only; see --list")
    parser.add_argument("--servers", type=words, default=[], metavar="A,B", help="of weir, before, floor, nginx")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--window", type=float, default=8, metavar="SECONDS", help="measured in each run [8]")
    parser.add_argument("--players", type=int, default=0, help="so many in every case, to try something out")
    parser.add_argument("--cores", metavar="S,C", help="core of the server and of the client [the first two]")
    parser.add_argument("--ports", default="24000-24999", metavar="FIRST-LAST")
    parser.add_argument("--weir", metavar="FILE", help="another build of the server [objs/weir]")
    parser.add_argument("--before", metavar="FILE", help="an older build of the server, measured beside it")
    parser.add_argument("--client", metavar="FILE", help="[objs/weir-bench]")
    parser.add_argument("--floor", metavar="FILE", help="[objs/bench/floor]")
    parser.add_argument("--out", type=Path, default=OBJS, metavar="FOLDER", help="for results and logs [objs/bench]")
    parser.add_argument("--write", action="store_true", help="write doc/benchmarks.md (the short form does not)")
    parser.add_argument("--no-write", action="store_true", help="do not write doc/benchmarks.md")
    parser.add_argument("--render", type=Path, metavar="JSON", help="measure nothing, show these results again")
    parser.add_argument("--list", action="store_true", help="show the cases of both forms")
    args = parser.parse_args(arguments)
    unknown = [name for name in args.servers if name not in KINDS]
    if unknown:
        parser.error(f"--servers: '{unknown[0]}' is none of {', '.join(KINDS)}")
    if args.rounds < 1 or args.window < 1:
        parser.error("--rounds and --window must be at least 1")
    first, _, last = args.ports.partition("-")
    if not (first.isdigit() and last.isdigit() and int(first) + 2 < int(last) < 65536):
        parser.error(f"--ports: expected FIRST-LAST, found '{args.ports}'")
    args.ports = int(first), int(last)
    return args


def show_list():
    for name, case in CASES.items():
        forms = []
        for form, plan in (("bench", SHORT), ("bench-full", FULL)):
            policies = [policy for each, policy, _ in plan if each == name]
            forms.append(f"{form}: {' '.join(policies) or '-'}")
        print(f"{name:<12} {case.title}\n{'':<12} merge windows, ms: {'; '.join(forms)}")


def plan_of(chosen, rounds):
    """(round, group, server) in the order of running; the order of servers turns with the round."""
    plan = []
    for number in range(1, rounds + 1):
        for group in chosen:
            if number <= (group.case.rounds or rounds):
                turn = (number - 1) % len(group.servers)
                plan += [(number, group, server) for server in group.servers[turn:] + group.servers[:turn]]
    return plan


def possible(chosen):
    """The groups that can be measured here, and notes of those that cannot."""
    why_not = mcast.why_not() if any(group.case.kind == "mcast" for group in chosen) else ""
    return [group for group in chosen if not why_not or group.case.kind != "mcast"], [why_not] if why_not else []


def measure(args, chosen, tools, cores, processes, notes):
    """The rows of all runs, and notes; as far as it got when it is interrupted."""
    counter = SyscallCounter(cores[1])
    notes = notes + ([counter.why_not] if counter.why_not else [])
    busy = machine.busy_percent(cores)
    if busy > BUSY_PERCENT:
        notes.append(f"others used {busy:.0f} % of a core before the first run: figures are noise until it is quiet")
    runs = Runs(tools, processes, machine.Ports(*args.ports), cores, args.out / "run", counter, args.window)
    plan = plan_of(chosen, args.rounds)
    progress = Progress([seconds_of(group, args.window) for _, group, _ in plan])
    print(f"bench: {len(plan)} runs of {len(chosen)} comparisons, about {progress.left_text()}", flush=True)
    for note in notes:
        print(f"bench: {note}", flush=True)
    rows, interrupted = [], False
    try:
        for number, group, server in plan:
            row = {"case": group.case.name, "policy": group.policy, "server": server, "round": number}
            progress.begin(f"round {number}/{args.rounds}  {group.name}  {server}")
            try:
                row.update(runs.run(group, server, number == 1, progress.tick))
            except Problem as problem:
                row["problem"] = str(problem)
            rows.append(row)
            progress.done(summary(row))
    except KeyboardInterrupt:
        interrupted = True
    progress.finish()
    if interrupted:
        notes.append(f"interrupted after {len(rows)} of {len(plan)} runs")
    return rows, notes, interrupted


def summary(row):
    if "problem" in row:
        return "FAILED: " + row["problem"].splitlines()[0]
    if "idle_cpu_percent" in row:
        return f"{row['kib_per_player']:.2f} KiB a player, CPU {row['idle_cpu_percent']:.1f} %"
    if "bursts" in row:
        return ", ".join(f"bursts of {each['packets']}: {each['player_ns']:.0f} by {each['loop_ns']:.0f} ns"
                         for each in row["bursts"])
    if "spoken" in row:
        return ", ".join(f"{each['codec']} {each['mhz_each']:.1f} MHz a call" for each in row["spoken"])
    if "core_mhz" in row:
        return sip.summary(row)
    if "relay" in row:
        return relay.summary(row)
    if "segments" in row:
        return segments.summary(row)
    if "ts_lost" in row:
        return (f"CPU {row['cpu_percent']:.1f} %, {row['private_mib']:.1f} MiB, delay {row['delay_p50_ms']:.1f} / "
                f"{row['delay_p99_ms']:.1f} ms, lost {row['ts_lost']}, wrong {row['ts_wrong']}")
    text = (f"CPU {row['cpu_percent']:.1f} %, {row['cpu_per_gbit']:.3f} s/Gbit, delay {row['p50_ms']:.1f} / "
            f"{row['p99_ms']:.1f} ms, lost {row['lost']}, wrong {row['wrong']}")
    return text + (f", {row['kib_per_stream']:.0f} KiB a stream" if "kib_per_stream" in row else "")


def publish(args, results, about, notes):
    """Prints the tables and writes the files."""
    print("\n" + report.terminal(results, notes) + "\n")
    args.out.mkdir(parents=True, exist_ok=True)
    if not args.render:
        name = f"{about['form']}-{time.strftime('%Y%m%d-%H%M%S')}.json"
        (args.out / name).write_text(report.to_json(results, about))
        print(f"bench: raw figures in {shown(args.out / name)}")
    documented = args.write or (args.full and not args.no_write and not args.cases)
    folder, images = (TOP / "doc", TOP / "doc" / "img") if documented else (args.out, args.out)
    picture = report.picture_of(results)
    if picture:
        (images / "mw-latency-auto.svg").write_text(picture)
    where = (images / "mw-latency-auto.svg").relative_to(folder) if picture else ""
    (folder / "benchmarks.md").write_text(report.page(results, about, notes, where))
    print(f"bench: page in {shown(folder / 'benchmarks.md')}")


def shown(path):
    return path.relative_to(TOP) if path.is_relative_to(TOP) else path


def render(args):
    about = json.loads(args.render.read_text())
    rows = about.pop("runs")
    publish(args, Results(rows), about, about.get("notes", []))
    return EXIT_OK


def run(args, processes):
    chosen = groups(args.full, args.cases, args.servers, args.players, args.before is not None)
    if not chosen:
        raise Problem("no case is left with these --cases and --servers")
    chosen, left_out = possible(chosen)
    if not chosen:
        raise Problem(left_out[0])
    servers = {server.split("+")[0] for group in chosen for server in group.servers}
    cores = machine.choose_cores(args.cores)
    tools = Tools(TOP, args.weir, args.client, args.floor, args.before)
    tools.missing(servers)
    os.sched_setaffinity(0, {cores[1]})  # out of the server's way
    machine.ensure_descriptors(max(group.case.players + group.case.idle + 2 * group.case.streams for group in chosen))
    args.out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    rows, notes, interrupted = measure(args, chosen, tools, cores, processes, left_out)
    about = {"form": "bench-full" if args.full else "bench", "rounds": args.rounds, "window_s": args.window,
             "minutes": (time.monotonic() - began) / 60, "machine": machine.describe(cores),
             "versions": tools.versions(servers), "notes": notes}
    if interrupted:
        args.no_write, args.write = True, False  # half a run is no page of the documentation
    if not rows:
        print("bench: interrupted before the first run was done", file=sys.stderr)
    else:
        publish(args, Results(rows), about, notes)
    shutil.rmtree(args.out / "run", ignore_errors=True)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAILED if any("problem" in row for row in rows) else EXIT_OK


def terminated(_number, _frame):
    raise KeyboardInterrupt


def main(arguments=None):
    args = parse(arguments)
    if args.list:
        show_list()
        return EXIT_OK
    signal.signal(signal.SIGTERM, terminated)
    processes = Processes()
    try:
        return render(args) if args.render else run(args, processes)
    except Problem as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):  # a second one must not leave programs behind; this is bounded
            signal.signal(number, signal.SIG_IGN)
        processes.end_all()
