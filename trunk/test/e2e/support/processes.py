"""Servers of several processes."""

import contextlib
import os
import signal
from pathlib import Path

from media import publisher
from weir import free_port, wait_until

COUNT = 3


def start(new_weir, more="", count=COUNT, tls_port=None):
    """A running server of so many processes. `tls_port`: also https there."""
    rtsp = free_port()
    rtp = free_port(2 * count + 1)
    rtp += rtp % 2  # a pair for each process
    weir = new_weir(f"processes {count}; play {{ mw_latency 0; }}\n"
                    f"rtsp_server {{ listen 127.0.0.1:{rtsp}; rtp_listen 127.0.0.1:{rtp}; enabled on; }}\n{more}")
    weir.rtsp_port = rtsp
    if tls_port:
        text = weir.config_path.read_text()
        weir.config_path.write_text(text.replace("http_server {", f"http_server {{ listen 127.0.0.1:{tls_port} ssl;"))
    weir.start()
    wait_until(lambda: all_run(weir, count), 20, "all processes run")
    return weir


def all_run(weir, count=COUNT):
    answer = weir.api("/api/v1/processes")
    return answer["http_status"] == 200 and len(answer["processes"]) == count and \
        all(each["running"] for each in answer["processes"])


def pids(weir):
    """Of the processes, by their numbers."""
    found = {}
    for task in Path("/proc").glob("[0-9]*"):
        try:
            words = (task / "cmdline").read_bytes().split(b"\0")
            parent = int((task / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        seat = [word for word in words if word.startswith(b"--seat=")]
        if parent == weir.process.pid and seat:
            found[int(seat[0][len(b"--seat="):].split(b"/")[0])] = int(task.name)
    return found


def kill(weir, process, number=signal.SIGKILL):
    os.kill(pids(weir)[process], number)


def process_of(weir, role, stream="cam"):
    """Where the clients of that role are."""
    return sorted(client["process"] for client in weir.clients()
                  if client["name"] == stream and client["role"] == role)


def publish_elsewhere(weir, folder, name, taken):
    """A publisher in a process that is not among `taken`, begun, and that process. The kernel says where a connection
    goes, so it is tried again where it comes to one of these."""
    for _ in range(60):
        with contextlib.ExitStack() as attempt:
            attempt.enter_context(publisher(weir.rtmp(f"live/{name}"), folder, name=f"publisher-{name}"))
            found = wait_until(lambda: process_of(weir, "publisher", name), 20, f"{name} is published")
            if found[0] not in taken:
                return attempt.pop_all(), found[0]
        wait_until(lambda: not process_of(weir, "publisher", name), 20, f"{name} has gone")
    raise AssertionError(f"{name} always comes to one of {taken}")
