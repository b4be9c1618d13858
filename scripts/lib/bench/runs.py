"""One run: a fresh server, its load, the figures. What was started is ended whatever happens."""

import json
import shutil
import signal
import time

from bench import client, mcast, relay, segments, sip
from bench.cases import policy_of
from bench.problem import Problem
from bench.processes import cpu_seconds, descriptors, private_kib, tail, wait_until
from bench.servers import KINDS

SILENT = "silent"          # the stream whose publisher says nothing more
SILENT_RATE = "100k"
SILENT_GOP = 15            # frames; what a player of it gets to begin with is small
PUBLISH_SECONDS = 1.5      # of it, so that its GOP is there
CALM_SECONDS = 2.0         # between the last connection and the measurement
LEAVE_SECONDS = 30
PACKET_BENCHMARKS = "ProtectAndSend|FlushPlayers"
FLOOR_LIMIT_S = 30
UDP_FLOOR_PORT = 40000     # and those after it, one for each receiver
PACKET_TURNS = 12
PACKET_LIMIT_S = 300
BITS = {"k": 1_000, "M": 1_000_000}


def bits_of(rate):
    return int(rate[:-1]) * BITS[rate[-1]]


class Runs:
    """Takes what all runs share; run() does one."""

    def __init__(self, tools, processes, ports, cores, folder, counter, window_s):
        self.tools, self.processes, self.ports, self.cores = tools, processes, ports, cores
        self.folder, self.counter, self.window_s = folder, counter, window_s

    def run(self, group, server_name, count_syscalls, idle=lambda: None):
        """Figures of one run as a dictionary. `idle` is called while it waits. Raises Problem."""
        shutil.rmtree(self.folder, ignore_errors=True)
        case, kind = group.case, KINDS[server_name.split("+")[0]]
        server = kind(self.tools, self.folder, self.ports, policy_of(kind.name, group.policy), case.protocol)
        before = len(self.processes.running)
        try:
            if case.kind == "packet":
                return self.packet_cost(idle)
            if case.kind == "sip-aac":
                return sip.aac_cost(self.tools, self.processes, self.cores[0], self.folder, idle)
            if case.kind == "mcast":
                return mcast.run(self.tools, self.processes, self.cores, self.folder, server_name, case,
                                 case.window_s or self.window_s, idle)
            off = server_name == segments.OFF
            server.extra = segments.config(case, self.folder, off) if case.kind == "segments" else ""
            if case.kind == "relay":
                server.extra = relay.config("origin") if server_name not in relay.OF_PROCESSES else relay.processes_config(server, server_name)
            server.start(self.processes, self.cores[0])
            if case.kind == "relay":
                return relay.run(self.tools, self.processes, self.ports, self.cores, self.folder, server, case,
                                 case.window_s or self.window_s, server_name, idle)
            if case.kind == "segments":
                return segments.run(self.tools, self.processes, self.cores[1], self.folder, server, case,
                                    case.window_s or self.window_s, off, idle)
            if case.kind == "sip":
                return sip.run(self.tools, self.processes, self.cores[1], self.folder, server, case,
                               case.window_s or self.window_s, idle)
            if case.kind == "silent":
                return self.silent(server, case, idle)
            if case.kind == "stream":
                return self.stream_memory(server, case, idle)
            if server_name.endswith("+idle"):
                self.publish_silent(server, idle)
                self.connect_idle(server, case.idle, case.idle / 2000, "idle", idle)
            return self.play(server, case, count_syscalls, idle)
        except (FileNotFoundError, ProcessLookupError):  # its folder in /proc
            raise Problem(f"{server.name} ended during the run: {tail(server.log, 2)}") from None
        finally:
            for process in reversed(self.processes.running[before:]):
                self.processes.end(process)

    # ---- players of a live stream ----

    def play(self, server, case, count_syscalls, idle):
        window_s = case.window_s or self.window_s
        report, log = self.folder / "client.json", self.folder / "client.log"
        began = time.monotonic()
        load = self.processes.start(client.play_command(self.tools, server, case, window_s, report), self.cores[1],
                                    log)
        sample_at = began + client.WARM_UP_S + case.ramp() + client.SETTLE_S + 0.4 * window_s
        syscalls = None

        def meanwhile():
            nonlocal syscalls, count_syscalls
            idle()
            if count_syscalls and time.monotonic() > sample_at:
                count_syscalls = False
                syscalls = self.counter.per_second(server.pid)

        client.wait_for(load, client.limit_s(case, window_s), meanwhile, log)
        row = client.figures(report)
        if syscalls is not None and row["connected"] > row["broken"]:
            row["syscalls_per_player"] = syscalls / (row["connected"] - row["broken"])
        if case.protocol == "rtsp-udp":
            row["floor"] = self.udp_floor(case.players, window_s, idle)
        return row

    # ---- players of a stream that fell silent ----

    def publish_silent(self, server, idle):
        """A publisher that is stopped after a moment: it stays connected, and says nothing more."""
        publisher = self.processes.start(
            [self.tools.client, "rtmp-publish", "--url", server.rtmp_url(SILENT), "--bitrate", SILENT_RATE, "--gop",
             SILENT_GOP, "--duration", "0", "--quiet"], self.cores[1], self.folder / "publisher.log")
        self.calm(PUBLISH_SECONDS, idle)
        publisher.send_signal(signal.SIGSTOP)

    def connect_idle(self, server, players, ramp_s, name, idle):
        had, log = descriptors(server.pid), self.folder / f"{name}.log"
        load = self.processes.start(
            [self.tools.client, "rtmp-play", "--url", server.rtmp_url(SILENT), "--clients", players, "--ramp",
             client.milliseconds(ramp_s), "--no-verify", "--duration", "10m", "--quiet"], self.cores[1], log)

        def connected():
            idle()
            return descriptors(server.pid) >= had + players

        wait_until(connected, ramp_s + client.CONNECT_TIMEOUT_S, f"{players} idle players connect", load, log)
        self.calm(CALM_SECONDS, idle)
        return load

    def calm(self, seconds, idle):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            idle()
            time.sleep(0.1)

    def silent(self, server, case, idle):
        self.calm(0.5, idle)
        at_start = private_kib(server.pid)
        self.publish_silent(server, idle)
        alone = descriptors(server.pid)
        memory, left, busy = [], [], []
        for number in (1, 2):
            load = self.connect_idle(server, case.players, case.ramp(), f"round-{number}", idle)
            began, cpu = time.monotonic(), cpu_seconds(server.pid)
            self.calm(self.window_s / 2, idle)
            busy.append(100 * (cpu_seconds(server.pid) - cpu) / (time.monotonic() - began))
            memory.append(private_kib(server.pid))
            self.processes.end(load, signal.SIGKILL)
            wait_until(lambda: descriptors(server.pid) <= alone, LEAVE_SECONDS, "the players leave")
            self.calm(1, idle)
            left.append(private_kib(server.pid))
        return {
            "connected": case.players,
            "idle_cpu_percent": max(busy),
            "kib_per_player": (memory[0] - at_start) / case.players,
            "kib_per_player_again": (memory[1] - at_start) / case.players,
            "idle_process_kib": at_start, "round_1_kib": memory[0], "round_2_kib": memory[1],
            "left_1_kib": left[0], "left_2_kib": left[1],
        }

    # ---- what a packet costs ----

    def udp_floor(self, receivers, window_s, idle):
        """The reference program with the packets of the same stream: what it printed."""
        if not self.tools.udp_floor.exists():
            raise Problem("udp_floor is not built; `make bench` builds it")
        log = self.folder / "udp_floor.log"
        load = self.processes.start([self.tools.udp_floor, "-n", receivers, "-d", window_s, "-p", UDP_FLOOR_PORT, "-S",
                                     self.cores[0], "-R", self.cores[1]], None, log)
        wait_until(lambda: idle() or load.poll() is not None, window_s + FLOOR_LIMIT_S, "udp_floor ends")
        if load.poll() != 0:
            raise Problem(f"udp_floor, exit code {load.poll()}: {tail(log, 2)}")
        return json.loads(log.read_text())

    def packet_cost(self, idle):
        """The micro-benchmark, its two halves in turns; the best of the turns, since only disturbances make it worse."""
        out = self.folder / "micro.json"
        load = self.processes.start(
            [self.tools.micro, f"--benchmark_filter={PACKET_BENCHMARKS}", f"--benchmark_repetitions={PACKET_TURNS}",
             "--benchmark_min_time=0.08", "--benchmark_enable_random_interleaving=true", f"--benchmark_out={out}",
             "--benchmark_out_format=json"], self.cores[0], self.folder / "micro.log")
        wait_until(lambda: idle() or load.poll() is not None, PACKET_LIMIT_S, "the micro-benchmark ends")
        if load.poll() != 0:
            raise Problem(f"weir-micro, exit code {load.poll()}: {tail(self.folder / 'micro.log', 2)}")
        best = {}
        for each in json.loads(out.read_text())["benchmarks"]:
            if each["run_type"] == "iteration":
                what, burst = each["run_name"].split("/")[0], int(each["run_name"].rsplit(":", 1)[1])
                cost = 1e9 / each["items_per_second"]
                best[what, burst] = min(cost, best.get((what, burst), cost))
        return {"bursts": [{"packets": burst, "loop_ns": cost, "player_ns": best["BM_FlushPlayers", burst]}
                           for (what, burst), cost in sorted(best.items()) if what == "BM_ProtectAndSend"]}

    # ---- memory of streams ----

    def stream_memory(self, server, case, idle):
        self.calm(0.5, idle)
        at_start = most = private_kib(server.pid)
        report, log = self.folder / "client.json", self.folder / "client.log"
        window_s = max(self.window_s, 3 * case.gop / 30)  # three GOPs see the fullest moment
        load = self.processes.start(client.play_command(self.tools, server, case, window_s, report), self.cores[1], log)

        def meanwhile():
            nonlocal most
            idle()
            most = max(most, private_kib(server.pid)) if load.poll() is None else most

        client.wait_for(load, client.limit_s(case, window_s), meanwhile, log)
        return {
            **client.figures(report),
            "gop_kib": bits_of(case.bitrate) / 8 * case.gop / 30 / 1024,
            "kib_per_stream": (most - at_start) / case.streams,
            "idle_process_kib": at_start,
        }
