"""The hunted server: a process of its own, on free ports, with nothing of the operator's configuration."""

import os
import re
import shutil
import socket
import threading
import time

from bench.machine import Ports
from bench.problem import Problem
from bench.processes import private_kib, tail, wait_until
from hunt.api import Api

START_SECONDS = {"valgrind": 60}
STOP_SECONDS = {"valgrind": 60, "sanitizer": 30}
SAMPLE_SECONDS = 0.25
# What a tool says of memory that is used wrongly: as bad as a leak, and cheap to see here.
TROUBLE = re.compile(r"ERROR: AddressSanitizer|runtime error:|bug: |Invalid (?:read|write|free) |"
                     r"uninitialised value|client switching stacks|memory stomping")


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class ServerEnded(Problem):
    """In the middle of a hunt: that is what the hunt has found."""

    def __init__(self, what, lines):
        super().__init__("\n".join([what, *lines]))
        self.finding = {"kind": "broken", "what": what, "stack": lines}


class Server:
    def __init__(self, processes, binary, tool, folder, ports, plants):
        self.processes, self.tool = processes, tool
        free = Ports(*ports)
        self.rtmp_port, self.http_port, self.api_port, self.rtsp_port, self.sip_port = (free.take() for _ in range(5))
        rtp_port = free.take()  # and the next one, which as a port of UDP is nobody's
        self.log = folder / "weir.log"
        self.tool_log = folder / "valgrind.log"
        for old in (self.log, self.tool_log):
            old.unlink(missing_ok=True)
        config = folder / "weir.conf"
        config.write_text(f"listen 127.0.0.1:{self.rtmp_port};\n"
                          f'http_server {{ listen 127.0.0.1:{self.http_port}; dir "{binary.parents[1]}/www"; }}\n'
                          f"http_api {{ listen 127.0.0.1:{self.api_port}; }}\n"
                          f"rtsp_server {{ listen 127.0.0.1:{self.rtsp_port}; rtp_listen 127.0.0.1:{rtp_port}; }}\n"
                          # Transactions outlive their calls by 64 times T1.
                          f"sip_server {{ listen 127.0.0.1:{self.sip_port}; rtp_ports {ports[0]}-{ports[1]}; rtp_timeout 2s; "
                          f"timer_t1 50ms; trunk 127.0.0.1; user hunt secret; conference 300 live/hunt-round; }}\n")
        command = [binary, "-c", config]
        env = {**os.environ, "WEIR_PLANT": plants,
               # Blocks in a thread's cache count as used: without the caches the heap is counted exactly.
               "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
        if tool == "valgrind":
            if not shutil.which("valgrind"):
                raise Problem("valgrind is not there: apt-get install valgrind, or scripts/install-deps.sh --tools")
            command = ["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=40", "--error-limit=no",
                       f"--log-file={self.tool_log}", *command]
        elif tool == "sanitizer":
            env["ASAN_OPTIONS"] = "detect_leaks=1:leak_check_at_exit=0:halt_on_error=0:" + env.get("ASAN_OPTIONS", "")
        self.process = processes.start(command, None, self.log, folder, env)
        self.api = Api(self.api_port)
        for port in (self.rtmp_port, self.http_port, self.api_port, self.rtsp_port, self.sip_port):
            wait_until(lambda: accepts(port), START_SECONDS.get(tool, 10), f"the server listens on {port}", self.process,
                       self.log)
        self.began = time.monotonic()
        self.samples = []  # (seconds since the start, private KiB)
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def seconds(self):
        return time.monotonic() - self.began

    def _sample(self):
        while not self._ended.wait(SAMPLE_SECONDS):
            try:
                self.samples.append((self.seconds(), private_kib(self.process.pid)))
            except OSError:
                return

    def alive(self):
        if self.process.poll() is not None:
            raise ServerEnded(f"the server ended by itself, exit code {self.process.returncode}; {self.log}",
                              tail(self.log, 20).splitlines())

    def end(self):
        """Ends it; gives what it, or its tool, said of its end and of wrongly used memory, as findings."""
        self._ended.set()
        self._sampler.join()
        code = self.processes.end(self.process, seconds=STOP_SECONDS.get(self.tool, 10))
        findings = []
        if code != 0:
            findings.append({"kind": "broken", "what": f"the server did not end well: exit code {code}",
                             "stack": tail(self.log, 12).splitlines()})
        for log in (self.log, self.tool_log):
            lines = log.read_text(errors="replace").splitlines() if log.exists() else []
            at = next((index for index, line in enumerate(lines) if TROUBLE.search(line)), None)
            if at is not None:
                findings.append({"kind": "broken", "what": f"memory is used wrongly, {log}: {lines[at].strip()}",
                                 "stack": [line.strip() for line in lines[at + 1:at + 25]]})
        return findings
