"""The load of a hunt: what clients of a server do, each kind as a scenario, all of it over when it returns."""

import http.client
import subprocess
import threading
import time

from bench.problem import Problem
from bench.processes import tail

KICK_SECONDS = 20    # for those who are to be kicked to come: the load client begins with its publisher
GRACE_SECONDS = 90  # for a load client beyond its own time: valgrind makes a server slow
READS = ["/api/v1/versions", "/api/v1/summaries", "/api/v1/streams", "/api/v1/streams?start=0&count=5",
         "/api/v1/clients", "/api/v1/objects", "/api/v1/memory", "/metrics"]
WRONGS = ["/api/v1/streams/no-such-stream", "/api/v1/clients/nobody", "/api/v1/streams?count=none", "/no/such/path"]
PAGES = ["/", "/live.json", "/no-such-file", "/no-such-app/no-such-stream.txt"]


class Load:
    """`say(text)` tells what is going on."""

    def __init__(self, processes, client, server, folder, say):
        self.processes, self.client, self.server, self.say = processes, client, server, say
        self.remembers = False  # the server has as many ended calls as it keeps
        self.log = folder / "load.log"
        self.log.unlink(missing_ok=True)

    def run(self, scenarios, seconds, clients, turn=0):
        """All of them at the same time; returns when all their clients have left. Each scenario has up to four clients more, in
        the first turn all four and later 0, 2 or 4, other ones than its neighbours: what grows with a kind of client is told
        from the rest by that, and what has the size of the largest crowd has it from the first turn on."""
        problems = []

        def one(scenario):
            more = (0, 4)[turn] if turn < 2 else (turn + scenarios.index(scenario)) % 3 * 2
            try:
                SCENARIOS[scenario](self, seconds, clients + more)
            except Problem as problem:
                problems.append(problem)

        threads = [threading.Thread(target=one, args=(scenario,)) for scenario in scenarios]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.server.alive()
        if problems:
            raise problems[0]

    # ---- parts ----

    def _start(self, *words):
        return self.processes.start([self.client, *words, "--quiet"], None, self.log)

    def _wait(self, process, seconds, what, codes=(0,)):
        try:
            code = process.wait(seconds + GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        self.processes.end(process)
        self.server.alive()
        if code not in codes:
            raise Problem(f"the load did not work: {what}, exit code {code}; {self.log}:\n{tail(self.log, 12)}")

    def _play(self, kind, url, stream, seconds, clients, *more, expect="clients.playing>0"):
        return self._start(kind, "--url", url, "--publish", "500k", "--publish-url",
                           f"rtmp://127.0.0.1:{self.server.rtmp_port}/live/{stream}", "--clients", clients,
                           "--duration", f"{seconds}s", "--connect-timeout", "30s", "--only-expect", "--expect", expect,
                           *more)

    def rtmp_url(self, stream):
        return f"rtmp://127.0.0.1:{self.server.rtmp_port}/live/{stream}"

    def flv_url(self, stream, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.server.http_port}/live/{stream}.flv"

    def rtsp_url(self, stream):
        return f"rtsp://127.0.0.1:{self.server.rtsp_port}/live/{stream}"

    # ---- scenarios ----

    def rtmp(self, seconds, clients):
        """A publisher, and players by RTMP."""
        self._wait(self._play("rtmp-play", self.rtmp_url("hunt-rtmp"), "hunt-rtmp", seconds, clients), seconds, "rtmp-play")

    def flv(self, seconds, clients):
        """A publisher each, and players by HTTP-FLV and by WebSocket-FLV."""
        running = [self._play("flv-play", self.flv_url(stream, scheme), stream, seconds, clients)
                   for stream, scheme in (("hunt-flv", "http"), ("hunt-ws", "ws"))]
        for process in running:
            self._wait(process, seconds, "flv-play")

    def reconnect(self, seconds, clients):
        """Players who come and go, a publisher who does, players of nothing, and clients that break off anywhere."""
        half = max(seconds / 2, 1)
        players = [self._play(kind, url, stream, seconds, clients * 4, "--ramp", f"{half}s", "--stay", "400ms",
                              expect="clients.left>0")
                   for kind, url, stream in (("rtmp-play", self.rtmp_url("hunt-re"), "hunt-re"),
                                             ("flv-play", self.flv_url("hunt-re-flv"), "hunt-re-flv"))]
        for _ in range(max(1, min(3, int(seconds)))):
            publisher = self._start("rtmp-publish", "--url", self.rtmp_url("hunt-again"), "--duration", "300ms")
            # A player that waits for a publisher who does not come, and leaves.
            alone = self._start("rtmp-play", "--url", self.rtmp_url("hunt-nobody"), "--no-verify", "--clients", 2,
                                "--duration", "500ms", "--connect-timeout", "500ms", "--only-expect")
            self._wait(publisher, 1, "rtmp-publish")
            self._wait(alone, 1, "rtmp-play of nothing", (0, 1))
        for port in (self.server.rtmp_port, self.server.http_port):
            broken = self._start("garbage", "--port", port, "--connections", clients * 10, "--concurrency", 10)
            self._wait(broken, 30, "garbage")
        for process in players:
            self._wait(process, seconds + half, "players who come and go")

    def rtsp(self, seconds, clients):
        """Players over TCP and by UDP, who stay or come and go, publishers by RTSP, and clients that break off anywhere."""
        half = max(seconds / 2, 1)
        running = []
        for way in ("tcp", "udp"):
            stream = f"hunt-rtsp-{way}"
            running.append(self._play("rtsp-play", self.rtsp_url(stream), stream, seconds, clients, "--transport", way))
            running.append(self._play("rtsp-play", self.rtsp_url(stream + "-re"), stream + "-re", seconds, clients * 4,
                                      "--transport", way, "--ramp", f"{half}s", "--stay", "400ms", expect="clients.left>0"))
        for _ in range(max(1, min(3, int(seconds)))):
            publisher = self._start("rtsp-publish", "--url", self.rtsp_url("hunt-again-rtsp"), "--duration", "300ms")
            self._wait(publisher, 1, "rtsp-publish")
        broken = self._start("garbage", "--port", self.server.rtsp_port, "--connections", clients * 10, "--concurrency", 10)
        self._wait(broken, 30, "garbage")
        for process in running:
            self._wait(process, seconds + half, "rtsp-play")

    def sip(self, seconds, clients):
        """Phones that hear a line and are one, phones that come and go, a conference, and clients that break off anywhere."""
        def call(number, calls, *words, rate=20):
            return self._start("sip-call", f"sip:{number}@127.0.0.1:{self.server.sip_port}", "--calls", calls, "--rate", rate,
                               "--connect-timeout", "30s", "--only-expect", *words)

        if not self.remembers:  # the last 500 calls are kept for the API: from now on each takes the place of one
            self.remembers = True
            first = call("live/hunt-sip-re", 520, "--lines", self.rtmp_url("hunt-sip-re"), "--no-listen", "--talk", "20ms", "--expect",
                         "clients.connected>0", rate=150)
            self._wait(first, 30, "sip-call")

        stay = ("--duration", f"{seconds}s", "--expect", "clients.connected>0")
        come = ("--talk", "400ms", "--no-listen", "--expect", "clients.connected>0")
        running = [call("live/hunt-sip%d", clients, "--lines", self.rtmp_url("hunt-sip%d"), *stay),
                   call("live/hunt-sip-re", clients * 2, "--lines", self.rtmp_url("hunt-sip-re"), "--transport", "tcp", *come),
                   call("300", min(clients, 8), *stay)]
        broken = self._start("garbage", "--port", self.server.sip_port, "--connections", clients * 10, "--concurrency", 10)
        self._wait(broken, 30, "garbage")
        for process in running:
            self._wait(process, seconds + clients / 10, "sip-call")

    def api(self, seconds, clients):
        """Everything that the HTTP API and the pages answer, over kept and over fresh connections; clients are kicked."""
        players = self._play("rtmp-play", self.rtmp_url("hunt-api"), "hunt-api", seconds + 1, clients,
                             expect="clients.wanted>0")
        publisher = self._start("rtmp-publish", "--url", self.rtmp_url("hunt-kick"), "--duration", f"{seconds}s")
        failures = []
        threads = [threading.Thread(target=self._ask, args=(time.monotonic() + seconds, kept, failures))
                   for kept in (True, False) * max(1, min(clients, 8) // 2)]
        for thread in threads:
            thread.start()
        time.sleep(seconds / 2)
        for stream, count in (("hunt-kick", 1), ("hunt-api", max(1, clients // 2))):
            if not self._kick(stream, count, time.monotonic() + KICK_SECONDS, failures):
                failures.append(f"nobody of {stream} was there to be kicked")
        for thread in threads:
            thread.join()
        # Those who were kicked count as broken there.
        self._wait(players, seconds + 1, "rtmp-play", (0, 1))
        self._wait(publisher, seconds, "rtmp-publish", (0, 1))
        if failures:
            raise Problem(f"the load did not work: {failures[0]}")

    def _ask(self, until, kept, failures):
        connections = {}
        try:
            while time.monotonic() < until:
                for port, path, wanted in [(self.server.api_port, path, 200) for path in READS] + \
                        [(self.server.api_port, path, None) for path in WRONGS] + \
                        [(self.server.http_port, path, None) for path in PAGES]:
                    if port not in connections or not kept:
                        if port in connections:
                            connections[port].close()
                        connections[port] = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                    connections[port].request("GET", path)
                    answer = connections[port].getresponse()
                    answer.read()
                    if wanted and answer.status != wanted:
                        failures.append(f"GET {path}: HTTP {answer.status}")
                time.sleep(0.02)
        except (OSError, http.client.HTTPException) as error:
            failures.append(f"the API: {error!r}")
        for connection in connections.values():
            connection.close()

    def _kick(self, stream, count, until, failures):
        """The publisher of a stream that nobody plays, or players of one that must go on being published: as soon as there are
        some. Gives how many it was."""
        publishes = stream == "hunt-kick"
        kicked = 0
        connection = http.client.HTTPConnection("127.0.0.1", self.server.api_port, timeout=30)
        try:
            while not kicked and time.monotonic() < until:
                clients = self.server.api.get("/api/v1/clients?count=1000")[1].get("clients", [])
                for client in [each for each in clients if each.get("name", "").endswith(stream)
                               and each.get("publish") == publishes][:count]:
                    connection.request("DELETE", f"/api/v1/clients/{client['id']}")
                    connection.getresponse().read()
                    kicked += 1
                if not kicked:
                    time.sleep(0.05)
        except (OSError, http.client.HTTPException) as error:
            failures.append(f"kicking: {error!r}")
        connection.close()
        return kicked


SCENARIOS = {"rtmp": Load.rtmp, "flv": Load.flv, "reconnect": Load.reconnect, "rtsp": Load.rtsp, "sip": Load.sip,
             "api": Load.api}
