"""Multicast groups to HTTP: a gateway in one network namespace, the sender and its clients in another, joined by a pair of
virtual interfaces. Weir and the reference program (trunk/bench/floor/mcast_floor.c) get the same load."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from bench import client
from bench.problem import Problem
from bench.processes import tail, wait_until

SERVER_IP, CLIENT_IP, BITS = "10.99.0.1", "10.99.0.2", 24
SERVER_PORT, RTMP_PORT = 8080, 1935  # of a namespace of its own: always free
START_SECONDS = 10
SETTLE_S = 1.0
LISTENS = "0A"  # TCP_LISTEN in /proc/PID/net/tcp


def why_not():
    """Why these cases cannot be run here; empty when they can."""
    if not shutil.which("ip") or not shutil.which("unshare") or not shutil.which("nsenter"):
        return "the multicast cases are left out: they need ip (iproute2), unshare and nsenter (util-linux)"
    try:
        done = subprocess.run(["unshare", "-n", "ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"],
                              text=True, capture_output=True, timeout=10, stdin=subprocess.DEVNULL)
        said = done.stderr.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        said, done = str(error), None
    if done is None or done.returncode != 0:
        return f"the multicast cases are left out: they need network namespaces with veth interfaces, as root ({said})"
    return ""


class Network:
    """Two namespaces, each as long as a process that only holds it. `inside(name, command)` runs there."""

    def __init__(self, processes, folder):
        self.holders = {}
        for name in ("server", "client"):
            holder = processes.start(["unshare", "-n", "sleep", "1h"], None, folder / "network.log")
            own = os.readlink("/proc/self/ns/net")
            wait_until(lambda pid=holder.pid, own=own: os.readlink(f"/proc/{pid}/ns/net") != own, START_SECONDS,
                       "a network namespace is there", holder, folder / "network.log")
            self.holders[name] = holder.pid
        self.ip("server", f"link add group0 type veth peer name group1 netns {self.holders['client']}")
        for name, device, address in (("server", "group0", SERVER_IP), ("client", "group1", CLIENT_IP)):
            self.ip(name, "link set lo up")
            self.ip(name, f"addr add {address}/{BITS} dev {device}")
            self.ip(name, f"link set {device} up")
            self.ip(name, f"route add 224.0.0.0/4 dev {device}")

    def inside(self, name, command):
        return ["nsenter", f"--net=/proc/{self.holders[name]}/ns/net", "--", *command]

    def ip(self, name, words):
        done = subprocess.run(self.inside(name, ["ip", *words.split()]), text=True, capture_output=True, timeout=10)
        if done.returncode != 0:
            raise Problem(f"ip {words}: {done.stderr.strip()}")


def weir_command(tools, folder):
    config = folder / "weir.conf"
    config.write_text(f"listen 127.0.0.1:{RTMP_PORT};\nmax_connections 2000;\n"
                      f'http_server {{ listen {SERVER_IP}:{SERVER_PORT}; dir "{folder}"; }}\n'
                      f"http_api {{ enabled off; }}\n"
                      f"vhost __defaultVhost__ {{ allow_groups 239.0.0.0/8; }}\n")
    return [tools.weir, "-c", config]


def floor_command(tools, _folder):
    return [tools.mcast_floor, "-a", SERVER_IP, "-p", SERVER_PORT, "-i", SERVER_IP]


def listens(pid):
    """Whether the port is open in the process's namespace, where we cannot connect to it."""
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == LISTENS and int(fields[1].split(":")[1], 16) == SERVER_PORT:
            return True
    return False


def load_command(tools, case, window_s, pid, report):
    return [tools.client, "mcast", "--group", "239.255.0.1:5000", "--groups", case.streams, "--rate", case.bitrate, "--rtp",
            "--clients", case.players // case.streams, "--interface", "group1", "--url", f"http://{SERVER_IP}:{SERVER_PORT}",
            "--settle", client.milliseconds(SETTLE_S), "--duration", client.milliseconds(window_s), "--server-pid", pid,
            "--json", report, "--quiet"]


def run(tools, processes, cores, folder, server_name, case, window_s, idle):
    """Figures of one run as a dictionary."""
    folder.mkdir(parents=True, exist_ok=True)
    network = Network(processes, folder)
    command = weir_command if server_name == "weir" else floor_command
    log, report = folder / f"{server_name}.log", folder / "client.json"
    server = processes.start(network.inside("server", command(tools, folder)), cores[0], log, folder)
    wait_until(lambda: listens(server.pid), START_SECONDS, f"{server_name} starts", server, log)
    load = processes.start(network.inside("client", load_command(tools, case, window_s, server.pid, report)), cores[1],
                           folder / "client.log")
    client.wait_for(load, SETTLE_S + window_s + 2 * client.CONNECT_TIMEOUT_S, idle, folder / "client.log")
    if server.poll() is not None:
        raise Problem(f"{server_name} ended during the run: {tail(log, 2)}")
    return figures(report)


def figures(path):
    try:
        report = json.loads(path.read_text())
        sender, clients, media, server = report["sender"], report["clients"], report["media"], report["server"]
        delay = report["latency"]["all_ms"]
        return {
            "ts_lost": media["lost"],
            "ts_wrong": media["duplicated"] + media["foreign"] + media["corrupted"],
            "kernel_drops": media["kernel_drops"],
            "not_playing": clients["asked"] - clients["playing"],
            "bits_per_second": media["bits_per_second"],
            "sender_late": sender["late"],
            "delay_p50_ms": delay["p50"], "delay_p99_ms": delay["p99"], "delay_max_ms": delay["max"],
            "cpu_percent": server["cpu_percent"],
            "cpu_per_gbit": server.get("cpu_s_per_gbit", 0.0),
            "private_mib": server["private_kib"] / 1024,
            "client_cpu_percent": report["client"]["cpu_percent"],
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Problem(f"the report of weir-bench is not as expected: {type(error).__name__} {error}") from None
