"""Cores: cpu_affinity and worker_cpu_affinity."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from weir import BINARY

CORES = sorted(os.sched_getaffinity(0))
FIRST, LAST = CORES[0], CORES[-1]


def cores_of(server):
    """Of the media thread, and of the workers together."""
    pid = server.process.pid
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        status = (task / "status").read_text()
        found[int(task.name)] = re.search(r"^Cpus_allowed_list:\s*(\S+)$", status, re.M)[1]
    workers = {cores for task, cores in found.items() if task != pid}
    assert workers, "the server has worker threads"
    return found[pid], workers


def inherited():
    return re.search(r"^Cpus_allowed_list:\s*(\S+)$", Path("/proc/self/status").read_text(), re.M)[1]


@pytest.mark.config(f"cpu_affinity {LAST};")
def test_media_thread_moves_and_the_workers_stay(weir):
    assert cores_of(weir) == (str(LAST), {inherited()})
    assert weir.api("/api/v1/summaries")["data"]["self"]["cpu_affinity"] == str(LAST)
    weir.wait_log(f"cores media={LAST} workers={inherited()}")


@pytest.mark.config(f"worker_cpu_affinity {FIRST};")
def test_workers_move_and_the_media_thread_stays(weir):
    assert cores_of(weir) == (inherited(), {str(FIRST)})


def test_without_a_directive_all_stay_where_the_process_was_put(weir):
    assert cores_of(weir) == (inherited(), {inherited()})


@pytest.mark.parametrize("arguments", [["-t"], []])
def test_core_that_does_not_exist_is_refused_with_its_place(folder, arguments):
    path = folder / "cores.conf"
    path.write_text(f"listen 127.0.0.1:0;\ncpu_affinity {FIRST} 1000;\n")
    done = subprocess.run([BINARY, *arguments, "-c", path], capture_output=True, text=True, timeout=15)
    assert done.returncode == 1
    assert re.search(r"cores\.conf:2:\d+: found core 1000, .*; expected cores of \d", done.stderr), done.stderr
