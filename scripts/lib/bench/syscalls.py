"""System calls per second of a process, counted by perf for a moment; blank where perf may not look."""

import re
import subprocess

EVENT = "raw_syscalls:sys_enter"
COUNT = re.compile(r"^(\d+),[^,]*," + EVENT, re.M)


class SyscallCounter:
    def __init__(self, core):
        self.core = core
        # A program that certainly makes some, to see whether we may.
        self.why_not = "" if self._count([], "true") is not None else \
            "system calls are not counted: perf with raw_syscalls needs root and the package linux-perf"

    def _count(self, options, *command):
        try:
            done = subprocess.run(["taskset", "-c", str(self.core), "perf", "stat", "-x,", "-e", EVENT, *options,
                                   "--", *command], text=True, capture_output=True, timeout=20,
                                  stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired):
            return None
        found = COUNT.search(done.stderr)
        return int(found[1]) if found else None

    def per_second(self, pid):
        """Blocks for a second. None when it cannot be told."""
        if self.why_not:
            return None
        return self._count(["-p", str(pid)], "sleep", "1")
