"""The machine that is measured on: cores, descriptors, ports, and how it is described in a report."""

import os
import platform
import re
import resource
import shutil
import socket
import subprocess
import time
from datetime import date

from bench.problem import Problem

CHIP = re.compile(r"^model name\s*:\s*(.+)$", re.M)


def choose_cores(wanted):
    """(core of the server, core of the client); `wanted`: "0,1" or None for the first two that we may use."""
    usable = sorted(os.sched_getaffinity(0))
    if wanted:
        try:
            cores = [int(core) for core in wanted.split(",")]
        except ValueError:
            cores = []
        if len(cores) != 2 or cores[0] == cores[1] or not set(cores) <= set(usable):
            raise Problem(f"--cores {wanted}: two different ones of {', '.join(map(str, usable))} are needed, as 0,1")
        return tuple(cores)
    if len(usable) < 2:
        raise Problem("the server needs a core of its own and the client another one, and there is only one here: "
                      "figures of programs that share a core mean nothing")
    return usable[0], usable[1]


def ensure_descriptors(players):
    """Raises the limit of open files for us and the programs that we start."""
    needed = players + 256
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = hard if hard == resource.RLIM_INFINITY else max(hard, needed)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))
        except (ValueError, OSError):
            raise Problem(f"{players} players need {needed} open files in each process, the limit is {hard}: raise it "
                          f"('ulimit -n {needed}' as root, or 'nofile' in /etc/security/limits.conf), or leave the "
                          f"large cases out with CASES='...' (scripts/bench --list)") from None


class Ports:
    """Gives free TCP ports of 127.0.0.1 out of a range, each one once until all were used. `other`: how to name another range."""

    def __init__(self, first, last, other="--ports FIRST-LAST"):
        self.range = range(first, last + 1)
        self.other = other
        self.next = os.getpid() * 7 % len(self.range)

    def take(self):
        for _ in self.range:
            port = self.range[self.next % len(self.range)]
            self.next += 1
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                    return port
                except OSError:
                    continue
        raise Problem(f"no free port from {self.range[0]} to {self.range[-1]}; {self.other} names others")


def first_line(command):
    """What a program says first, on either output; empty when it cannot be run."""
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=10, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).strip().split("\n")[0]


def package_version(name):
    """Empty when it is not installed."""
    found = shutil.which("dpkg-query") and subprocess.run(["dpkg-query", "-W", "-f=${Version}", name], text=True,
                                                          capture_output=True, timeout=10, stdin=subprocess.DEVNULL)
    return found.stdout.strip() if found and found.returncode == 0 else ""


def describe(cores):
    """Date, machine and kernel, without any name of the host."""
    with open("/proc/cpuinfo") as info:
        chip = CHIP.search(info.read())
    with open("/proc/meminfo") as info:
        memory_kib = int(re.search(r"MemTotal:\s+(\d+)", info.read())[1])
    return {
        "date": date.today().isoformat(),
        "cpu": chip[1] if chip else platform.machine(),
        "cores": os.cpu_count(),
        "server_core": cores[0],
        "client_core": cores[1],
        "memory_gib": round(memory_kib / 2**20, 1),
        "kernel": f"{platform.system()} {re.split('[-+]', platform.release())[0]}",
    }


def busy_percent(cores, seconds=1.0):
    """What others use of these cores right now, in % of one, over all of them."""
    def used():
        total = 0
        with open("/proc/stat") as stat:
            for line in stat:
                name, *ticks = line.split()
                if name in {f"cpu{core}" for core in cores}:
                    user, nice, system, _idle, _wait, interrupt, soft = map(int, ticks[:7])
                    total += user + nice + system + interrupt + soft
        return total / os.sysconf("SC_CLK_TCK")

    began, before = time.monotonic(), used()
    time.sleep(seconds)
    return 100 * (used() - before) / (time.monotonic() - began)
