"""make leak-hunt: a hunt with each tool and nothing planted, which must be clean, and one with each planted leak, which must
come out red and name it. Two at a time, in bounded time."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from bench.problem import Problem
from hunt.build import build

AT_ONCE = 2
LIMIT_SECONDS = 600  # for all hunts; the builds come before
STOP_SECONDS = 20

LOST = "lose_a_block_per_connection"
GROWS = "grow_a_container_per_frame"
CYCLE = "tie_session_into_a_cycle"
STAYED = "more rtmp_connection than before"
# {tool: {planted leak: what the findings must name it by}}. Counts alone know no stack: a class is named, and of a container
# that belongs to no class only that it grows.
EXPECTED = {
    "sanitizer": {"session-cycle": CYCLE, "leak-block": LOST, "grow-container": GROWS},
    "valgrind": {"session-cycle": CYCLE, "leak-block": LOST, "grow-container": GROWS},
    "gperf": {"session-cycle": STAYED, "leak-block": LOST, "grow-container": GROWS},
    "objects": {"session-cycle": STAYED, "leak-block": "client (1,0",
                "grow-container": "the heap grew in every round of load"},
}
SHORT = ["--scenario", "all", "--clients", "5", "--seconds", "2", "--settle", "10"]
ROUNDS = {"objects": 3}  # a class is told by two rounds that differ; elsewhere the stack tells
OTHER_ROUNDS = 2


class Case:
    def __init__(self, tool, plant, named):
        self.tool, self.plant, self.named = tool, plant, named
        self.lines, self.seconds, self.code, self.process = [], 0.0, None, None
        self.name = f"{tool}, {plant or 'nothing planted'}"

    def result(self):
        """(good, words)"""
        findings = [line for line in self.lines if not line.startswith("[")]
        text = "\n".join(findings)
        if self.code not in (0, 1):
            return False, f"could not be run: {self.lines[-1] if self.lines else 'no time was left'}"
        if not self.plant:
            return self.code == 0, "clean" if self.code == 0 else "NOT CLEAN:\n" + text
        if self.code == 0:
            return False, "NOT FOUND"
        named = next((line.strip() for line in findings if self.named in line), None)
        return named is not None, f"found: {named}" if named else f"found, NOT NAMED ({self.named}):\n" + text


def cases():
    """The slow ones first."""
    planted = [Case(tool, plant, named) for plant in ("session-cycle", "leak-block", "grow-container")
               for tool, each in EXPECTED.items() for named in (each[plant],)]
    return planted + [Case(tool, "", "") for tool in EXPECTED]


def sub_range(ports, index, count):
    """Ports of its own for each hunt, where there are enough."""
    first, last = ports
    width = (last - first + 1) // count
    return (first + index * width, first + (index + 1) * width - 1) if width >= 16 else ports


class Everything:
    def __init__(self, top, args):
        self.top, self.args = top, args
        self.began = time.monotonic()
        self.lock = threading.Lock()
        self.ended = False

    def say(self, text):
        with self.lock:
            print(f"[{time.monotonic() - self.began:5.0f} s] {text}", flush=True)

    def command(self, case, server, client, ports):
        pages = self.top / "objs" / "leak-hunt"
        pages.mkdir(parents=True, exist_ok=True)
        return [sys.executable, self.top / "scripts" / "leak-hunt", "--tool", case.tool, "--plant", case.plant, "--weir", server,
                "--client", client, "--ports", f"{ports[0]}-{ports[1]}", "--repeat", str(ROUNDS.get(case.tool, OTHER_ROUNDS)),
                "--report", pages / f"{case.tool}-{case.plant or 'clean'}.html", *SHORT]

    def run_case(self, case, command, deadline):
        with self.lock:
            if self.ended or time.monotonic() >= deadline:
                return
            began = time.monotonic()
            case.process = subprocess.Popen([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        timer = threading.Timer(deadline - time.monotonic(), case.process.terminate)
        timer.start()
        for line in case.process.stdout:
            case.lines.append(line.rstrip("\n"))
            if line.startswith("["):
                self.say(f"{case.name}: {line.partition('] ')[2].rstrip()}")
        case.code = case.process.wait()
        timer.cancel()
        case.seconds = time.monotonic() - began
        self.say(f"{case.name}: {case.result()[1].splitlines()[0]} ({case.seconds:.0f} s)")

    def servers(self):
        """{(tool, planted?): server}. Counting needs no build of its own: with valgrind's, outside valgrind."""
        build_ = lambda tool, plants: build(self.top, tool, plants, ["weir"], self.say) / "weir"  # noqa: E731
        found = {("objects", False): build_("objects", False)}
        for tool in ("sanitizer", "valgrind", "gperf"):
            found[tool, True] = found[tool, False] = build_(tool, True)
        found["objects", True] = found["valgrind", True]
        return found

    def run(self):
        """The exit code is that of main: 0 all as expected, 1 not; a Problem when it could not be run."""
        client = self.args.client or build(self.top, "objects", False, ["weir-bench"], self.say) / "weir-bench"
        servers = self.servers()
        every = cases()
        deadline = time.monotonic() + LIMIT_SECONDS
        self.say(f"{len(every)} hunts, {AT_ONCE} at a time, at most {LIMIT_SECONDS} s")
        try:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                running = [pool.submit(self.run_case, case,
                                       self.command(case, servers[case.tool, bool(case.plant)], client,
                                                    sub_range(self.args.ports, index, len(every))), deadline)
                           for index, case in enumerate(every)]
                try:
                    for each in running:
                        each.result()
                except BaseException:
                    self.end(every)
                    raise
        finally:
            self.end(every)
        return self.tell(every)

    def end(self, every):
        """Of an interrupted run: no hunt begins any more, and those under way end what they started."""
        with self.lock:
            self.ended = True
        for case in every:
            if case.process and case.process.poll() is None:
                case.process.terminate()
                try:
                    case.process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    case.process.kill()

    def tell(self, every):
        print()
        for case in sorted(every, key=lambda each: (list(EXPECTED).index(each.tool), each.plant)):
            good, words = case.result()
            print(f"{'ok  ' if good else 'FAIL'} {case.tool:<9} {case.plant or '-':<14} {case.seconds:4.0f} s  {words}")
        bad = [case for case in every if not case.result()[0]]
        print(f"\n{len(every)} hunts in {time.monotonic() - self.began:.0f} s: "
              + (f"{len(bad)} NOT as expected" if bad else "clean by each tool, and every planted leak was found")
              + "; pages: objs/leak-hunt/*.html", flush=True)
        missing = [case.name for case in bad if case.code not in (0, 1)]
        if missing:
            raise Problem(f"not run to the end: {'; '.join(missing)}")
        return 1 if bad else 0
