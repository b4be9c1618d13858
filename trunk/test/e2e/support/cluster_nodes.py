"""A cluster in a network of namespaces (network.py): Redis at place r, a node at each of a, b and c, publishers at p, viewers at v."""

import contextlib
import json
import os
import signal
import subprocess
import urllib.request

from marked_media import MarkedPublisher, Sessions, Viewer
from network import Network
from processes import pids
from redis_server import Redis
from relays import metric
from weir import BINARY, Weir, wait_end, wait_until

SECRET = "0123456789abcdef-of-the-network"
RTMP, HTTP, API, REDIS = 1935, 8080, 1985, 6379  # everywhere: each is alone in its namespace
LEASE_S = 5.0
LINGER_S = 2.0
BENCH = BINARY.parent / "weir-bench"


class Node(Weir):
    """Its API is asked from inside, so that no cut of the network is in the way."""

    def __init__(self, folder, place, registry, cluster="", play="wait_publisher 20s;", more="", processes=1):
        self.folder, self.place, self.name = folder / place.name, place, place.name
        self.folder.mkdir(exist_ok=True)
        self.rtmp_port, self.http_port, self.api_port = RTMP, HTTP, API
        self.log_path, self.config_path = self.folder / "weir.log", self.folder / "weir.conf"
        self.config_path.write_text(
            f"listen 0.0.0.0:{RTMP};\nhttp_server {{ listen 0.0.0.0:{HTTP}; }}\nhttp_api {{ listen 127.0.0.1:{API}; }}\n"
            f"cluster {{ node {self.name}; registry redis://{registry}:{REDIS}; advertise http://{place.address}:{HTTP}; "
            f"secret {SECRET}; lease {LEASE_S:.0f}s; relay_linger {LINGER_S:.0f}s; {cluster} }}\n"
            f"security {{ allow publish 10.77.0.0/16; }}\nplay {{ mw_latency 0; {play} }}\n{more}\n")
        if processes > 1:
            self.config_path.write_text(self.config_path.read_text() + f"processes {processes};\n")
        self.process, self.wrapper, self.processes = None, [], processes
        self.starts = 0  # of the node, or of one of its processes

    def start(self, wait=True):
        self.starts += 1
        with self.place.inside():
            super().start()
        if wait:
            self.wait_registered()
        return self

    def wait_registered(self, seconds=20):
        wait_until(self.is_registered, seconds, f"{self.name} has its lease")

    def is_registered(self):
        """Each of its processes, where there are several, which are nodes then."""
        if self.processes == 1:
            all_ = [self.api("/api/v1/cluster")]
        else:
            all_ = [self.api(f"/api/v1/cluster?process={process}") for process in range(self.processes)]
        return all("cluster" in each and each["cluster"]["registry"]["state"] == "up" and each["cluster"]["registry"]["lease"]
                   for each in all_)

    def api(self, path, method="GET"):
        with self.place.inside():
            return super().api(path, method)

    def metrics(self):
        with self.place.inside():
            return super().metrics()

    def metric(self, name):
        return metric(self, name)

    def healthy(self):
        """Whether /healthz says so."""
        with contextlib.suppress(OSError), self.place.inside(), \
                urllib.request.urlopen(f"http://127.0.0.1:{API}/healthz", timeout=5) as answer:
            return answer.status == 200
        return False

    def registry(self):
        return self.api("/api/v1/cluster")["cluster"]["registry"]

    def claims(self):
        return self.api("/api/v1/cluster")["cluster"]["claims"]

    def is_away(self):
        return self.registry()["state"] == "away"

    def pulls(self):
        return [each for each in self.api("/api/v1/sources?count=1000")["sources"] if each["role"] == "pull"]

    def published(self):
        """Names of the streams whose publisher is here."""
        return {stream["name"] for stream in self.streams() if stream["publish"]["active"] and not stream["publish"]["origin"]}

    def pids(self):
        """With several processes, its own is that of the supervisor."""
        return [self.process.pid, *(pids(self).values() if self.processes > 1 else ())]

    def freeze(self):
        self.signal_all(signal.SIGSTOP)

    def thaw(self):
        self.signal_all(signal.SIGCONT)

    def signal_all(self, number):
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def rtmp(self, path="live/cam"):
        return f"rtmp://{self.place.address}:{RTMP}/{path}"

    def http(self, path="/live/cam.flv"):
        return f"http://{self.place.address}:{HTTP}{path}"


class PlacedRedis(Redis):
    def __init__(self, folder, place):
        super().__init__(folder, "--bind", "0.0.0.0", "--protected-mode", "no", port=REDIS)
        self.place = place

    def start(self):
        with self.place.inside():
            return super().start()

    def command(self, *words):
        with self.place.inside():
            return super().command(*words)


class Bench:
    """weir-bench, begun at a place."""

    def __init__(self, folder, name, place, words):
        self.report_path, self.log_path = folder / f"{name}.json", folder / f"{name}.log"
        command = [BENCH, *map(str, words), "--json", self.report_path, "--quiet"]
        with place.inside(), open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def report(self, seconds):
        """What it found; fails where it did not end well by then."""
        code = wait_end(self.process, seconds)
        assert code == 0, f"weir-bench: exit code {code}\n{self.log_path.read_text(errors='replace')[-3000:]}"
        return json.loads(self.report_path.read_text())

    def end(self):
        if self.process.poll() is None:
            self.process.kill()

    def join(self):
        self.process.wait()


class Cluster:
    """Within `with`, Redis runs; nodes run from start() on. `returns`: of Sessions; `options`: of Node."""

    def __init__(self, folder, names="abc", returns=0, **options):
        self.folder = folder
        self.network = Network(*names, "r", "p", "v")
        self.redis = PlacedRedis(folder, self.network.r)
        self.nodes = {name: Node(folder, self.network.places[name], self.network.r.address, **options) for name in names}
        self.sessions = Sessions(returns)
        self.clients = []

    def __enter__(self):
        try:
            self.redis.start()
        except BaseException:
            self.redis.end()
            self.network.__exit__()
            raise
        return self

    def start(self):
        for node in self.nodes.values():
            node.start(wait=False)
        for node in self.nodes.values():
            node.wait_registered()
        return tuple(self.nodes.values())

    def publisher(self, node, name="cam", **options):
        """A publisher, begun."""
        return self._begin(self.network.p, lambda: MarkedPublisher(self.sessions, name, node, **options))

    def viewer(self, node, name="cam", **options):
        return self._begin(self.network.v, lambda: Viewer(self.sessions, name, node, **options))

    def _begin(self, place, make):
        client = make()
        self.clients.append(client)
        with place.inside():  # a thread begins in the network of whoever starts it
            client.start()
        return client

    def bench(self, name, *words, place="v"):
        self.clients.append(Bench(self.folder, name, self.network.places[place], words))
        return self.clients[-1]

    def wait_live(self, publisher, seconds=20):
        """Until it publishes; its session."""
        return wait_until(lambda: publisher.session, seconds, f"{publisher.name_} is published at {publisher.node.name}")

    def check(self):
        """What no viewer may see."""
        assert not self.sessions.faults, "\n".join(self.sessions.faults[:20])

    def __exit__(self, kind, *_):
        for client in self.clients:
            client.end()
        for client in self.clients:
            client.join()
        errors = []
        for node in self.nodes.values():
            try:
                if node.process is not None and node.process.poll() is None:
                    node.thaw()
                node.stop()
            except Exception as error:
                errors.append(f"{node.name}: {error}")
            finally:
                node.kill()
        self.redis.end()
        self.network.__exit__()
        assert kind or not errors, "\n".join(errors)
