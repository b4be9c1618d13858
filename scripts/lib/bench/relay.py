"""What a hop from node to node costs: processor time at both ends, delay, and how soon players that come at once have a picture. Beside
the same players at the node of the publisher ("weir+direct"), and at a server of several processes: "weir+processes", where players go
to their stream, and "weir+unix", where they stay, so that a stream comes to them by a unix socket unless it is there by chance."""

import json
import time
import urllib.request

from bench import client
from bench.processes import children, cpu_seconds, wait_until
from bench.servers import START_SECONDS, Weir
from bench.targets import Target

DIRECT, PROCESSES, UNIX = "weir+direct", "weir+processes", "weir+unix"
OF_PROCESSES = {PROCESSES: (4, 60), UNIX: (2, 0)}  # how many, process_max_busy
UNIX_CPU_LIMIT, UNIX_CPU_FLOOR = 0.6, 0.37
PROCESSES_LIMIT = 1.1  # x one process with the same load
RELAYS_LIMIT = 0.05    # of the streams, where players go to them
CPU_LIMIT = {"0": 1.0, "100": 0.35}  # s a Gbit, both ends, by TCP
CPU_FLOOR = {"0": 0.69, "100": 0.19}  # a send and a receive alone, measured on another machine
P50_LIMIT_MS, P99_LIMIT_MS = 2, 15    # beside the node of the publisher
JOIN_LIMIT_MS = 50
MARGIN_S = 0.5  # of the window, at both of its ends


def config(name, origin=None):
    """What a node has beside the usual."""
    return f"cluster {{ node {name}; secret a-secret-of-the-benchmark; }}\n" + (f"origin http://127.0.0.1:{origin.http_port};\n" if origin else "")


def processes_config(server, name):
    """Of a server of several processes, with an API."""
    count, busy = OF_PROCESSES[name]
    server.api_port = server.rtsp_port
    return f"processes {count};\nprocess_max_busy {busy};\nhttp_api {{ listen 127.0.0.1:{server.api_port}; }}\n"


def ask(server, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.api_port}/api/v1/{path}", timeout=5) as answer:
        return json.load(answer)


def wait_processes(server, count):
    def run():
        try:
            found = ask(server, "processes")["processes"]
        except OSError:
            return False
        return len(found) == count and all(each["running"] for each in found)
    wait_until(run, START_SECONDS, "all processes run", server.process, server.log)


def run(tools, processes, ports, cores, folder, origin, case, window_s, name, idle):
    """Figures of one run as a dictionary. `origin` runs."""
    servers = [origin]
    if name in OF_PROCESSES:
        wait_processes(origin, OF_PROCESSES[name][0])
    elif name != DIRECT:
        edge = Weir(tools, folder / "edge", ports, origin.policy, case.protocol)
        edge.extra = config("edge", origin)
        servers.append(edge.start(processes, cores[0]))
    report, log = folder / "client.json", folder / "client.log"
    stream = "bench%d" if case.streams > 1 else "bench"
    command = client.play_command(tools, servers[-1], case, window_s, report)
    command[command.index("--publish-url") + 1] = origin.rtmp_url(stream)
    began = time.monotonic()
    load = processes.start(command, cores[1], log)
    first = began + client.WARM_UP_S + case.ramp() + client.SETTLE_S + MARGIN_S
    last = first + window_s - 2 * MARGIN_S
    pids = [pid for each in servers for pid in (each.pid, *children(each.pid))]
    seen, pulls = [], []

    def meanwhile():
        idle()
        if len(seen) < 2 and time.monotonic() >= (first, last)[len(seen)] and load.poll() is None:
            seen.append((time.monotonic(), sum(map(cpu_seconds, pids))))
            if name in OF_PROCESSES and len(seen) == 2:
                pulls.append(sum(each["state"] == "live" for each in ask(origin, "sources?count=1000")["sources"]))

    client.wait_for(load, client.limit_s(case, window_s), meanwhile, log)
    row = client.figures(report) | {"relay": True}
    if len(seen) == 2:
        (start, before), (end, after) = seen
        row["both_per_gbit"] = (after - before) / (end - start) / (row["bits_per_second"] / 1e9)
    if pulls:
        row["relayed"] = pulls[-1] / case.streams
    return row


COLUMNS = ["case", "merge window", "server", "CPU of all servers, s/Gbit", "relayed", "delay p50, ms", "p99", "first key frame p50, ms", "p99", "lost",
           "wrong", "client CPU %"]


def rows(results, cases, policy_text, number):
    for (case, policy), servers in results.groups().items():
        for server in servers if cases[case].kind == "relay" else []:
            for row in results.of(case, policy, server):
                yield [case, policy_text(policy), server, number(row.get("both_per_gbit"), 3),
                       f"{row['relayed']:.0%}" if "relayed" in row else "", number(row["p50_ms"]), number(row["p99_ms"]),
                       number(row["key_p50_ms"]), number(row["key_p99_ms"]), number(row["lost"], 0), number(row["wrong"], 0),
                       number(row["client_cpu_percent"], 0)]


def summary(row):
    return (f"CPU {row.get('both_per_gbit', 0):.3f} s/Gbit in all, delay {row['p50_ms']:.1f} / {row['p99_ms']:.1f} ms, first key frame "
            f"{row['key_p50_ms']:.0f} / {row['key_p99_ms']:.0f} ms, lost {row['lost']}, wrong {row['wrong']}")


def beside_direct(results, case, policy, figure):
    """How much more than at the node of the publisher; None: it was not measured."""
    there, here = (results.median(case, policy, server, figure) for server in ("weir", DIRECT))
    return None if there is None or here is None else there - here


def processes_targets(results):
    found = []
    for policy in CPU_LIMIT:
        direct, unix = (results.median("relay-cpu", policy, server, "both_per_gbit") for server in (DIRECT, UNIX))
        share = results.median("relay-cpu", policy, UNIX, "relayed")
        if None not in (direct, unix, share) and share > 0:
            hop = (unix - direct) / share
            found.append(Target(f"CPU of a hop by unix socket, both ends, merge window {policy} ms (a send and a receive alone: "
                                f"{UNIX_CPU_FLOOR})", f"<= {UNIX_CPU_LIMIT} s/Gbit", f"{hop:.2f} s/Gbit", hop <= UNIX_CPU_LIMIT))
        one, several = (results.median("processes-cpu", policy, server, "both_per_gbit") for server in (DIRECT, PROCESSES))
        if None not in (one, several):
            found.append(Target(f"CPU of four processes in all, merge window {policy} ms", f"<= {PROCESSES_LIMIT} x one",
                                f"{several / one:.2f} x", several / one <= PROCESSES_LIMIT))
        relayed = results.median("relay-cpu", policy, PROCESSES, "relayed")
        if relayed is not None:
            found.append(Target(f"Streams of one player that are relayed between four processes, merge window {policy} ms",
                                f"<= {RELAYS_LIMIT:.0%}", f"{relayed:.0%}", relayed <= RELAYS_LIMIT))
    return found


def targets(results):
    found = []
    for policy, limit in CPU_LIMIT.items():
        more = beside_direct(results, "relay-cpu", policy, "both_per_gbit")
        if more is not None:
            found.append(Target(f"CPU of a hop, both ends, merge window {policy} ms (a send and a receive alone: {CPU_FLOOR[policy]})",
                                f"<= {limit} s/Gbit", f"{more:.2f} s/Gbit", more <= limit))
    found += processes_targets(results)
    for figure, limit, what in (("p50_ms", P50_LIMIT_MS, "p50"), ("p99_ms", P99_LIMIT_MS, "p99")):
        more = beside_direct(results, "relay-delay", "0", figure)
        if more is not None:
            found.append(Target(f"Delay that a hop adds, {what}", f"<= {limit} ms", f"{more:.1f} ms", more <= limit))
    latest = results.median("relay-join", "0", "weir", "key_p99_ms")
    if latest is not None:
        found.append(Target("First key frame of 500 players that come to an edge within a second, p99",
                            f"<= {JOIN_LIMIT_MS} ms", f"{latest:.0f} ms", latest <= JOIN_LIMIT_MS))
    return found
