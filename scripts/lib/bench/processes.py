"""Programs that a benchmark or a leak hunt starts: on a core of their own, ended by their id, never outliving us."""

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

from bench.problem import Problem

END_SECONDS = 5
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Processes:
    def __init__(self):
        self.running = []

    def start(self, command, core, log, folder=None, env=None):
        """Runs a program on one core (None: on any) with its output in a file. It is killed should we die first."""
        def prepare():
            if core is not None:
                os.sched_setaffinity(0, {core})
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

        with open(log, "ab") as out:
            try:
                process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
                                           stderr=subprocess.STDOUT, cwd=folder, preexec_fn=prepare, env=env,
                                           start_new_session=True)  # Ctrl+C is ours to pass on
            except OSError as error:
                raise Problem(f"{command[0]} cannot be run: {error.strerror}") from None
        self.running.append(process)
        return process

    def end(self, process, number=signal.SIGTERM, seconds=END_SECONDS):
        """Asks it to end, then makes it."""
        if process.poll() is None:
            process.send_signal(number)
            if number != signal.SIGKILL:
                process.send_signal(signal.SIGCONT)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process in self.running:
            self.running.remove(process)
        return process.returncode

    def end_all(self):
        for process in list(reversed(self.running)):
            self.end(process)


def tail(path, lines=5):
    try:
        return "\n".join(Path(path).read_text(errors="replace").strip().splitlines()[-lines:])
    except OSError:
        return ""


# ---- what a process uses ---------------------------------------------------------------------------------------------


def cpu_seconds(pid):
    """Time on a core of all its threads, exact to microseconds."""
    total_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total_ns += int((task / "schedstat").read_text().split()[0])
        except (OSError, IndexError):
            continue
    return total_ns / 1e9


def children(pid):
    """The processes that it started, and that run."""
    return [int(word) for task in Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()]


def private_kib(pid):
    """Memory that it wrote to and shares with nobody."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1])
    return 0


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def wait_until(condition, seconds, what, process=None, log=None, every=0.05):
    """Polls until condition() is true. A process that ends meanwhile, or no time left: a Problem with its log."""
    deadline = time.monotonic() + seconds
    while not condition():
        if process is not None and process.poll() is not None:
            raise Problem(f"{what}: the program ended, exit code {process.returncode}\n{tail(log)}")
        if time.monotonic() > deadline:
            raise Problem(f"{what}: not within {seconds:.0f} s\n{tail(log) if log else ''}".rstrip())
        time.sleep(every)
