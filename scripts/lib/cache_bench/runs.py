"""One run: a Weir, a cache in front of it or none, the publisher and the players of weir-bench. Gives a row of figures."""

import json
import socket
import time
import urllib.request

from bench.client import wait_for
from bench.problem import Problem
from bench.processes import children, cpu_seconds, wait_until

from .caches import is_valid, without_privileges

RTMP, HTTP, API, CACHE = 1935, 8080, 1985, 8090  # of a network namespace of its own, where nobody else listens
WARM_UP_S, RAMP_S, SETTLE_S = 6.0, 1.0, 2.0
LIMIT_S = 40  # beyond the window
SAMPLE_S = 0.5
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def tree(pid):
    """The process and all that descend from it."""
    return [pid, *(each for child in children(pid) for each in tree(child))]


def answered():
    """Requests for HLS that Weir has answered, refused ones included."""
    with OPENER.open(f"http://127.0.0.1:{API}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if line.startswith("weir_hls_"))
    return sum(float(values[f"weir_hls_{kind}_total"]) for kind in ("playlists", "segments", "parts", "refused"))


class Samples:
    """Weir's requests and the processor time of the cache, twice a second."""

    def __init__(self, cache):
        self.cache = cache  # process or None
        self.taken = []

    def take(self):
        now = time.monotonic()
        if not self.taken or now - self.taken[-1][0] >= SAMPLE_S:
            used = sum(cpu_seconds(pid) for pid in tree(self.cache.pid)) if self.cache else 0.0
            self.taken.append((now, answered(), used))

    def rates(self, seconds):
        """(requests per second, cores) of the last `seconds` but one sample, when the players may have left."""
        last = self.taken[-2]
        first = next(each for each in self.taken if each[0] >= last[0] - seconds)
        passed = last[0] - first[0]
        return (last[1] - first[1]) / passed, (last[2] - first[2]) / passed


class Runs:
    def __init__(self, args, processes, cores, folder):
        self.args, self.processes, self.cores, self.folder = args, processes, cores, folder
        self.number = 0

    def run(self, kind):
        """A row of figures; `kind` is a class of caches.py, or None for no cache."""
        self.number += 1
        place = self.folder / f"{self.number}-{kind.program if kind else 'direct'}"
        (place / "cache").mkdir(parents=True)
        started = []
        try:
            started.append(self.start_weir(place))
            cache = self.start_cache(kind, place) if kind else None
            started += [cache] if cache else []
            return self.load(place, cache, CACHE if kind else HTTP)
        finally:
            for process in reversed(started):
                self.processes.end(process)

    def start_weir(self, place):
        (place / "weir.conf").write_text(
            f"listen 127.0.0.1:{RTMP};\nmax_connections {3 * self.args.players + 100};\n"
            f'http_server {{ listen 127.0.0.1:{HTTP}; dir "{place}"; }}\nhttp_api {{ listen 127.0.0.1:{API}; }}\n'
            "vhost __defaultVhost__ { hls { sessions off; } }\n")
        return self.start([self.args.weir, "-c", place / "weir.conf"], place / "weir.log", (RTMP, HTTP, API), "weir")

    def start_cache(self, kind, place):
        cache = kind(place / "cache", CACHE, HTTP)
        cache.write()
        good, text = is_valid(cache)
        if not good:
            raise Problem(f"{kind.program} does not accept its configuration:\n{text.strip()[-2000:]}")
        return self.start(without_privileges(cache.command(), cache.folder), place / "cache.log", (CACHE,), kind.program)

    def start(self, command, log, ports, name):
        process = self.processes.start(command, self.cores[0], log, log.parent)
        wait_until(lambda: all(accepts(port) for port in ports), 15, f"{name} starts", process, log)
        return process

    def load(self, place, cache, port):
        client = self.processes.start([
            self.args.client, "hls-play", "--url", f"http://127.0.0.1:{port}/live/bench.m3u8",
            "--publish-url", f"rtmp://127.0.0.1:{RTMP}/live/bench", "--publish", self.args.bitrate, "--gop", 60,
            "--clients", self.args.players, "--warm-up", f"{WARM_UP_S}s", "--ramp", f"{RAMP_S}s", "--settle", f"{SETTLE_S}s",
            "--duration", f"{self.args.seconds}s", "--json", place / "client.json", "--quiet"], self.cores[1], place / "client.log", place)
        samples = Samples(cache)
        try:
            wait_for(client, LIMIT_S + self.args.seconds, samples.take, place / "client.log")
        finally:
            self.processes.end(client)
        return figures(json.loads((place / "client.json").read_text()), *samples.rates(self.args.seconds - 1))


def figures(report, weir_requests, cache_cores):
    hls, media, clients, delay = report["hls"], report["media"], report["clients"], report["latency"]["all_ms"]
    return {
        "player_requests": hls["requests_per_second"], "weir_requests": weir_requests, "cache_cores": cache_cores,
        "p50_ms": delay["p50"], "p99_ms": delay["p99"], "stalls": hls["viewer_stalls"],
        "lost": media["lost"] + media["corrupted"] + media["unstamped"], "broken": clients["broken"] + clients["refused"],
    }
