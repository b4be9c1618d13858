"""`make cluster-demo`: what it shows is so, and nothing of it stays."""

import os
import re
import signal
import subprocess
from collections import Counter

import pytest

from weir import TOP, accepts, free_port, wait_end, wait_until

DEMO = TOP / "scripts" / "cluster-demo"
PROGRAMS = Counter({"redis-server": 1, "weir": 2, "ffmpeg": 1})


def command(folder, *words):
    return [DEMO, "--no-build", "--folder", folder / "demo", "--port", str(free_port(count=9)), *words]


@pytest.mark.parametrize("how", [["--static"], []], ids=["source", "registry"])
def test_a_stream_of_one_node_plays_at_the_other(folder, how):
    done = subprocess.run(command(folder, *how, "--check"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=90)
    assert done.returncode == 0, done.stdout
    assert "75 frames came from node b, as node a has them" in done.stdout


def children(pid):
    listed = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(pid)], stdout=subprocess.PIPE, text=True).stdout
    return {int(line.split()[0]): line.split()[1] for line in listed.splitlines()}


def is_alive(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


def test_it_ends_all_that_it_has_started(folder):
    demo = subprocess.Popen(command(folder, "--seconds", "60"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        lines = []
        for line in demo.stdout:
            lines.append(line)
            if line.startswith("Logs:"):
                break
        text = "".join(lines)
        ports = [int(port) for port in re.findall(r"(?:localhost|127\.0\.0\.1):(\d+)", text)]
        assert ports, text
        wait_until(lambda: all(accepts(port) for port in ports), 10, f"all ports are served: {text}")
        secrets = [folder / "demo" / name for name in ("redis-password", "cluster-secret")]
        assert all(path.stat().st_mode & 0o077 == 0 for path in secrets), "nobody else may read them"

        def all_run():  # a child is a shell until it has become its program
            found = children(demo.pid)
            return found if not PROGRAMS - Counter(found.values()) else None
        started = wait_until(all_run, 10, "all of it runs")
        demo.send_signal(signal.SIGINT)
        assert wait_end(demo, 40) == 0
        assert not any(is_alive(pid) for pid in started), started
        assert not any(path.exists() for path in secrets)
    finally:
        demo.kill()
        demo.wait()


def test_it_says_what_is_missing(folder, tmp_path):
    for program in ("bash", "dirname", "env"):
        (tmp_path / program).symlink_to(f"/usr/bin/{program}")
    done = subprocess.run(command(folder), env={"PATH": str(tmp_path)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30)
    assert done.returncode == 1 and "apt-get install redis-server" in done.stdout, done.stdout


@pytest.mark.parametrize("words", [["--seconds"], ["--seconds", "soon"], ["--what"]])
def test_wrong_arguments_are_named(folder, words):
    done = subprocess.run([DEMO, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30)
    assert done.returncode != 0 and words[0] in done.stdout, done.stdout
