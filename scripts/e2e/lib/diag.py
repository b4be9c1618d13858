"""What the scripts of scripts/e2e/ share: builds a variant, runs a server of it, streams RTMP and HTTP-FLV through it,
makes it do what was planted, and counts what was checked.

Nothing is installed; a missing package is named by ./configure. Everything that a run leaves is in objs/e2e/NAME/.
"""

import argparse
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "scripts" / "lib"))
from bench.machine import Ports  # noqa: E402
from bench.processes import Processes, wait_until  # noqa: E402
from variant import another_variant  # noqa: E402

OBJS = TOP / "objs"
PORTS = Ports(*(int(end) for end in os.environ.get("WEIR_PORTS", "22000-22199").split("-")), other="WEIR_PORTS=FIRST-LAST")

BUILD_SECONDS = 2400
STREAM_SECONDS = 5
SHOWN_LINES = 14  # of a tool's report


class Row:
    """One row of the table: prints each check, and ends the program with 0 when all held."""

    def __init__(self, name, doc, parents=()):
        parser = argparse.ArgumentParser(prog=Path(sys.argv[0]).name, description=doc, parents=list(parents),
                                         formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--seconds", type=int, default=STREAM_SECONDS, help="how long to stream [%(default)s]")
        parser.add_argument("--no-build", action="store_true", help="take the binaries that are there")
        self.args = parser.parse_args()
        self.name = name
        self.folder = OBJS / "e2e" / name
        self.passed, self.failed, self.processes, self.client = 0, 0, Processes(), None
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def check(self, what, holds, detail=""):
        """`detail`: text that explains a failure."""
        print(f"{'ok  ' if holds else 'FAIL'} {what}", flush=True)
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            for line in str(detail).strip().splitlines()[-30:]:
                print(f"       {line}", flush=True)
        return bool(holds)

    def show(self, title, lines):
        """The part of a report that decides, for the reader."""
        print(f"     {title}:")
        for line in list(lines)[:SHOWN_LINES]:
            print(f"       {line.rstrip()}")
        sys.stdout.flush()

    def run(self, body):
        """body(row), then the end: no program that was started stays, the exit code says whether all held."""
        signal.signal(signal.SIGTERM, terminated)
        try:
            body(self)
        except KeyboardInterrupt:
            self.check("not interrupted", False)
        except Exception as error:  # whatever it is, the row has failed, and the rest is told
            self.check(type(error).__name__, False, traceback.format_exc())
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):  # a second one must not leave programs behind; this is bounded
                signal.signal(number, signal.SIG_IGN)
            self.processes.end_all()
        print(f"{self.name}: {self.passed} checks held, {self.failed} failed; logs are in {self.folder.relative_to(TOP)}/")
        sys.exit(1 if self.failed or not self.passed else 0)

    # ---- build ----

    def build(self, *flags, targets="weir"):
        """Builds a variant and gives its folder; what was configured before (or a release build) is configured again afterwards."""
        print(f"     ./configure {' '.join(flags)} && make TARGETS={targets!r}", flush=True)
        with another_variant(TOP):
            text = output(["./configure", *flags])
            variant = re.search(r"^variant: (\S+)", text, re.M)[1]
            if not self.args.no_build:
                output(["make", "--no-print-directory", "build", f"TARGETS={targets}"], limit=BUILD_SECONDS)
        return OBJS / variant

    def gtest(self, variant, program, tests, among):
        """Runs some tests of a build; `among` is one that no other build has."""
        text = output([variant / program, f"--gtest_filter={tests}", "--gtest_color=no"], cwd=TOP / "trunk", codes=(0, 1))
        passed = re.search(r"\[  PASSED  \] (\d+) test", text)
        self.check(f"{tests} of this build: {passed[1] if passed else 0} passed",
                   f"[       OK ] {among} " in text and "[  FAILED  ]" not in text and "[  SKIPPED ]" not in text, text)

    # ---- server ----

    def server(self, variant, name="weir", **options):
        return Server(self.processes, variant / "weir", self.folder / name, **options).start()

    def bench(self, *words, log):
        """Starts the load client; what it says is in `log`.log in the folder."""
        if self.client is None:
            self.client = self.build(targets="weir-bench") / "weir-bench"
        said = self.folder / f"{log}.log"
        said.unlink(missing_ok=True)
        return self.processes.start([self.client, *words, "--quiet"], None, said, self.folder)

    def stream(self, server, clients=3, rate="500k", fps=30):
        """Publishers by RTMP, and players by RTMP, HTTP-FLV and WebSocket-FLV; every frame is checked by the load client."""
        runs = []
        for kind, command, url in (("rtmp", "rtmp-play", server.rtmp_url("rtmp")), ("http-flv", "flv-play", server.flv_url("http-flv")),
                                   ("ws-flv", "flv-play", server.flv_url("ws-flv", "ws"))):
            runs.append((kind, self.bench(
                command, "--url", url, "--clients", str(clients), "--publish", rate, "--fps", str(fps), "--publish-url", server.rtmp_url(kind),
                "--duration", f"{self.args.seconds}s", "--connect-timeout", "60s", "--only-expect",
                "--expect", "loss==0 and corrupted==0 and publishers.failed==0", "--json", str(self.folder / f"{kind}.json"), log=kind)))
        for kind, process in runs:
            code = process.wait(self.args.seconds + 120)
            text = (self.folder / f"{kind}.log").read_text()
            frames = re.search(r"frames\s+([\d,]+)", text)
            self.check(f"{kind}: {clients} players got every frame ({frames[1] if frames else 'no report'})", code == 0 and frames, text)


class Server:
    """A server process with a folder of its own as its working folder, where the tools leave their files."""

    def __init__(self, processes, binary, folder, wrapper=(), env=None, start_seconds=60, stop_seconds=60):
        self.processes = processes
        self.binary, self.folder, self.wrapper, self.env = binary, Path(folder), list(wrapper), env or {}
        self.start_seconds, self.stop_seconds = start_seconds, stop_seconds
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rtmp, self.http, self.api = PORTS.take(), PORTS.take(), PORTS.take()
        self.log_path = self.folder / "weir.log"
        self.process = None

    def start(self):
        (self.folder / "weir.conf").write_text(
            f"listen 127.0.0.1:{self.rtmp};\nhttp_server {{ listen 127.0.0.1:{self.http}; dir \"{OBJS}/www\"; }}\n"
            f"http_api {{ listen 127.0.0.1:{self.api}; }}\n")
        self.log_path.unlink(missing_ok=True)
        self.process = self.processes.start([*self.wrapper, self.binary, "-c", "weir.conf"], None, self.log_path, self.folder,
                                            {**os.environ, **self.env})
        wait_until(lambda: " ready" in self.log() or self.process.poll() is not None, self.start_seconds, "the server is ready")
        assert self.process.poll() is None, f"the server ended at its start:\n{self.log()}"
        return self

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        return self.log_path.read_text(errors="replace")

    def rtmp_url(self, stream):
        return f"rtmp://127.0.0.1:{self.rtmp}/live/{stream}"

    def flv_url(self, stream, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.http}/live/{stream}.flv"

    def request(self, port, path, method="GET", headers=None, seconds=90):
        """(status, body); http.client and not urllib, which would change a path such as /../x."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path, seconds=90):
        """(status, body) of GET /api/v1/<path>; (0, b"") when the server went away."""
        try:
            return self.request(self.api, f"/api/v1/{path}", seconds=seconds)
        except (OSError, http.client.HTTPException) as error:
            if self.process.poll() is None and isinstance(error, TimeoutError):
                raise
            return 0, b""

    def plant(self, what):
        """Makes the server do what was planted. True when it lives on and says so."""
        status, body = self.get(f"plant?what={what}")
        return status == 200 and json.loads(body)["data"]["planted"] == what

    def wait_end(self):
        return self.process.wait(self.stop_seconds)

    def interrupt(self):
        """Ctrl+C; gives the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.wait_end()

    def kill(self):
        if self.process is not None:
            self.processes.end(self.process, signal.SIGKILL)


def terminated(_number, _frame):
    raise KeyboardInterrupt


def output(command, limit=300, env=None, cwd=TOP, codes=(0,)):
    """Standard output and error of a program; fails with them when its exit code is another. What it started (make: compilers)
    ends with it when the time is over."""
    with subprocess.Popen([str(word) for word in command], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True) as process:
        try:
            text = process.communicate(timeout=limit)[0]
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode in codes, f"{' '.join(map(str, command))}: exit code {process.returncode}\n{text[-4000:]}"
    return text


def block_of(text, first, last=r"^\s*$"):
    """Lines of `text` from the one that matches `first` to the next one that matches `last`."""
    lines = iter(text.splitlines())
    found = []
    for line in lines:
        if found or re.search(first, line):
            if found and re.search(last, line):
                break
            found.append(line)
    return found


def shares(report):
    """{function: (flat percent, cumulative percent)} of google-pprof --text."""
    row = re.compile(r"^\s*[\d.]+\s+([\d.]+)%\s+[\d.]+%\s+[\d.]+\s+([\d.]+)%\s+(.+?)(?: \(inline\))?$")
    found = {}
    for line in report.splitlines():
        match = row.match(line)
        if match:
            flat, cumulative = float(match[1]), float(match[2])
            before = found.get(match[3], (0.0, 0.0))  # an inlined function has two rows
            found[match[3]] = (before[0] + flat, max(before[1], cumulative))
    return found
