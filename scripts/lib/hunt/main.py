"""Command line of scripts/leak-hunt, and the seven steps: build, start, warm up, check until it is clean, load, settle,
check again."""

import argparse
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

from bench.problem import Problem
from bench.processes import Processes
from hunt import judge
from hunt.build import FLAGS, build, variant_of
from hunt.everything import Everything
from hunt.load import SCENARIOS, Load
from hunt.page import page
from hunt.server import Server, ServerEnded

TOP = Path(__file__).resolve().parents[3]
EXIT_CLEAN, EXIT_LEAK, EXIT_NOT_RUN = 0, 1, 2
PLANTS = ("leak-block", "grow-container", "session-cycle")
MAX_FIRST_CHECKS = 8  # until two in a row are clean
STUCK_SECONDS = 3     # the deadline of later waits, once one has passed: what stays, stays
POLL_SECONDS = 0.25
IDLE_SECONDS = 0.6

ABOUT = """Hunts for leaks in a running server: builds it with the chosen tool, starts it on free ports, warms it up, checks until
two checks in a row are clean, loads it, waits until all sessions and streams are gone, checks again, and says what
stayed. Exit code: 0 nothing, 1 something, 2 it could not be run. doc/memory.md"""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/leak-hunt", description=ABOUT)
    parser.add_argument("--tool", choices=list(FLAGS), default="sanitizer",
                        help="valgrind: all kinds of leaks with stacks, slow; sanitizer: lost blocks with stacks; gperf: "
                             "growth by stack; objects: counts only, of any build, fast [sanitizer]")
    parser.add_argument("--scenario", choices=[*SCENARIOS, "all"], default="all", help="[all]")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="rounds of load [3]")
    parser.add_argument("--clients", type=int, default=10, metavar="N", help="players of a scenario [10]")
    parser.add_argument("--seconds", type=float, default=4, help="of each scenario in a round [4]")
    parser.add_argument("--settle", type=float, default=40, metavar="SECONDS",
                        help="for all sessions and streams to be gone [40]")
    parser.add_argument("--report", type=Path, metavar="FILE.html", help="write a page with memory over time and the records")
    parser.add_argument("--plant", choices=[*PLANTS, ""], metavar="NAME", default="",
                        help="build with planted defects and activate this one: leak-block, grow-container, session-cycle")
    parser.add_argument("--everything", action="store_true",
                        help="what make leak-hunt does: clean by each tool, and red with each planted leak; at most 10 minutes "
                        "besides the builds")
    parser.add_argument("--weir", type=Path, metavar="FILE", help="this server; nothing of it is built")
    parser.add_argument("--client", type=Path, metavar="FILE", help="this load client [objs/release/weir-bench]")
    parser.add_argument("--ports", default="20000-31999", metavar="FIRST-LAST", help="[20000-31999]")
    args = parser.parse_args(arguments)
    first, _, last = args.ports.partition("-")
    if not (first.isdigit() and last.isdigit() and 1024 <= int(first) and int(first) + 2 <= int(last) < 32768):
        parser.error(f"--ports: expected FIRST-LAST of 1024 to 32767, found '{args.ports}'")
    args.ports = int(first), int(last)
    if args.report and not args.report.resolve().parent.is_dir():
        parser.error(f"--report: there is no folder {args.report.resolve().parent}")
    if args.repeat < 1 or args.clients < 1 or args.seconds < 0.5:
        parser.error("--repeat and --clients must be at least 1, --seconds at least 0.5")
    return args


class Hunt:
    def __init__(self, args):
        self.args = args
        self.processes = Processes()
        self.began = time.monotonic()
        self.findings = []
        self.checks = []       # (when, data) of the leak API
        self.phases = []       # (begin, end, name) on the server's clock
        self.heap_points = []  # (seconds, bytes in use)
        self.rounds = []       # (heap in use, objects) of the settled states
        self.samples = []
        self.objects_before, self.objects_after = {}, {}
        self.reachable = None
        self.stuck = {}        # class -> how many stayed, told already

    # ---- telling ----

    def say(self, text):
        print(f"[{time.monotonic() - self.began:5.0f} s] {text}", flush=True)

    @property
    def verdict(self):
        return judge.verdict_of(self.findings)

    def about(self):
        args = self.args
        return (f"tool {args.tool}, scenario {args.scenario}, {args.repeat} rounds of {args.seconds:g} s each, "
                f"{args.clients} clients of each kind{f', planted: {args.plant}' if args.plant else ''}; "
                f"{time.monotonic() - self.began:.0f} s in all")

    # ---- steps ----

    def programs(self):
        """(server, load client), built unless they were given."""
        args = self.args
        client = args.client or TOP / "objs" / "release" / "weir-bench"
        if args.weir:
            server = args.weir.resolve()
        else:
            server = build(TOP, args.tool, bool(args.plant), ["weir"], self.say) / "weir"
        if not args.client:
            build(TOP, "objects", False, ["weir-bench"], self.say)
        for program in (server, client):
            if not program.exists():
                raise Problem(f"{program} is not there")
        if args.plant and "WITH PLANTED" not in subprocess.run([server, "-v"], capture_output=True, text=True,
                                                               timeout=30).stdout:
            raise Problem(f"{server} has no planted defects: it was built without --plants=on")
        return server, client.resolve()

    def folder(self):
        name = variant_of(self.args.tool, bool(self.args.plant)) + (f"-{self.args.plant}" if self.args.plant else "")
        folder = TOP / "objs" / "leak-hunt" / f"{name}-{self.args.ports[0]}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def phase(self, name, work):
        begin = self.server.seconds()
        try:
            return work()
        finally:
            self.phases.append((begin, self.server.seconds(), name))

    def idle_objects(self):
        """The least of each class within a moment: the connections by which we saw that it listens are going."""
        least, deadline = self.server.api.objects(), time.monotonic() + IDLE_SECONDS
        while time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            least = {name: min(row, least.get(name, row), key=lambda each: each["live"])
                     for name, row in self.server.api.objects().items()}
        return least

    def settle(self, before, ignore):
        """Waits until nothing is there that was not before; what stays beyond the deadline is a finding."""
        deadline = time.monotonic() + (STUCK_SECONDS if self.stuck else self.args.settle)
        told = 0.0
        while True:
            self.server.alive()
            left = [row for row in judge.leftovers(before, self.server.api.objects(), ignore)
                    if row[2] > self.stuck.get(row[0], 0)]
            if not left:
                return
            now = time.monotonic()
            if now > deadline:
                new = [row for row in left if row[0] not in self.stuck]  # how many more there are is told at the end
                if new:
                    self.findings.append({"kind": "leaking", "stack": [], "what":
                                          f"still alive although every client has left: {judge.leftovers_text(new)}"})
                self.say(f"still alive: {judge.leftovers_text(left)}")
                self.stuck.update({name: live for name, _, live in left})
                return
            if now - told > 5:
                told = now
                self.say(f"waiting for {judge.leftovers_text(left)}; at most {deadline - now:.0f} s more")
            time.sleep(POLL_SECONDS)

    def note_memory(self):
        api = self.server.api
        api.memory()  # the first of a kind may fill a table
        used = api.memory()["heap"].get("in_use_bytes")
        objects = api.objects()
        if used is not None:
            self.heap_points.append((self.server.seconds(), used))
            self.rounds.append((used, objects))
        return objects

    def check(self, when):
        """One check of the leak API, when this build has a tool; None otherwise."""
        if not self.leak_tool:
            return None
        found = self.phase("check", lambda: self.server.api.leaks("added"))
        self.checks.append((when, found))
        self.say(f"check after {when}: {found['verdict']}; {found.get('reason') or ''} ({found['seconds']:.2f} s)")
        return found

    def first_checks(self):
        """Step 4. Whatever the warm up left is known after this; True when two checks in a row brought nothing new."""
        clean = 0
        for number in range(MAX_FIRST_CHECKS):
            found = self.check(f"warm up, {number + 1}")
            clean = clean + 1 if found is None or found["verdict"] == "clean" else 0
            if clean >= 2 or found is None:
                return True
        return False

    def warm_up(self, load, scenarios):
        load.run(list(dict.fromkeys(["rtmp", "flv", *scenarios])), 1, 2)

    def hunt(self):
        args = self.args
        binary, client = self.programs()
        folder = self.folder()
        self.server = Server(self.processes, binary, args.tool, folder, args.ports, args.plant)
        api = self.server.api
        self.leak_tool = api.leak_tool() if args.tool != "objects" else None
        self.say(f"server: pid {self.server.process.pid}, rtmp {self.server.rtmp_port}, http {self.server.http_port}, "
                 f"api {self.server.api_port}; leak checks by {self.leak_tool or 'object counts and heap'}")
        if args.tool != "objects" and not self.leak_tool:
            raise Problem(f"/api/v1/leaks of this {args.tool} server has no tool; see /api/v1/leaks/capabilities")
        load = Load(self.processes, client, self.server, folder, self.say)
        scenarios = list(SCENARIOS) if args.scenario == "all" else [args.scenario]

        start = self.idle_objects()
        self.say("warm up: publish once, play once by RTMP and FLV, a little of each scenario")
        self.phase("warm up", lambda: self.warm_up(load, scenarios))
        # A coroutine that the fan-out keeps from its first player on is none of the sessions.
        self.phase("settle", lambda: self.settle(start, judge.KEPT | {"coroutine"}))
        if not self.first_checks():
            self.findings.append({"kind": "leaking", "what": f"no two clean checks in a row among {MAX_FIRST_CHECKS} "
                                  "without any load", "stack": []})
        self.objects_before = self.note_memory()
        warm_up_checks = len(self.checks)

        for number in range(1, args.repeat + 1):
            self.say(f"load, round {number} of {args.repeat}: {', '.join(scenarios)}, {args.clients} clients or a few more of each kind, "
                     f"{args.seconds:g} s")
            self.phase("load", lambda: load.run(scenarios, args.seconds, args.clients, number))
            self.phase("settle", lambda: self.settle(self.objects_before, judge.KEPT))
            self.objects_after = self.note_memory()
            self.check(f"round {number}")
            self.say(f"settled: heap in use {self.rounds[-1][0]:,} bytes"
                     if self.rounds else "settled: the allocator does not tell what is in use")

        self.findings += judge.judge_objects(self.objects_before, self.objects_after)
        self.findings += judge.judge_checks([data for _, data in self.checks[warm_up_checks:]])
        self.findings += judge.judge_heap(self.rounds)
        self.samples = list(self.server.samples)
        self.findings += self.server.end()

    def tell(self):
        for finding in self.findings:
            print(f"\n{finding['kind']}: {finding['what']}")
            for line in finding["stack"]:
                print(f"    {line}")
        print(f"\nverdict: {self.verdict} ({self.about()})", flush=True)
        if self.args.report:
            self.args.report.write_text(page(self))
            print(f"report: {self.args.report}")


def run(args):
    """One hunt; gives it when it came to a verdict, and ends what it started in any case. A Problem otherwise."""
    hunt = Hunt(args)
    try:
        try:
            hunt.hunt()
        except ServerEnded as ended:
            hunt.findings.append(ended.finding)
        hunt.tell()
        return hunt
    finally:
        hunt.processes.end_all()


def main(arguments=None):
    args = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_NOT_RUN))
    try:
        if args.everything:
            return Everything(TOP, args).run()
        return EXIT_CLEAN if run(args).verdict == "clean" else EXIT_LEAK
    except Problem as problem:
        print(f"leak-hunt: {problem}", file=sys.stderr)
        return EXIT_NOT_RUN
    except KeyboardInterrupt:
        print("leak-hunt: interrupted", file=sys.stderr)
        return EXIT_NOT_RUN
    except Exception:  # an accident of ours is no leak
        traceback.print_exc()
        return EXIT_NOT_RUN
