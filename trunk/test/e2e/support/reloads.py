"""Reloads a server again and again under load, every third time with a broken file, and watches that nobody is lost.

Publishers and players of weir-bench run over RTMP, HTTP-FLV and WebRTC. Each round writes another configuration: the
listeners of all of them move, others come and go, vhosts come, change and go. The server must answer as it should, listen
where the file says, and have every client that it had at the beginning, with bytes that go on.
"""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

from weir import TOP, accepts, free_port, wait_until

BENCH = TOP / os.environ.get("WEIR_BENCH", "objs/weir-bench")
BROKEN_EVERY = 3
CHECK_EVERY = 5  # rounds, that bytes have gone on

# (what is wrong, text behind a good configuration, status of the answer); {taken} is a port that somebody else has.
BROKEN = [
    ("unknown directive", "listne 1936;", 400),
    ("bad value", "play {{ queue_length 10 parsecs; }}", 400),
    ("block without end", "vhost open.example {{", 400),
    ("missing include", "include nowhere.conf;", 400),
    ("port taken", "listen 127.0.0.1:{taken};", 409),
    ("blocks twice", "rtc_server {{ }}\nhttp_server {{ }}", 400),
    ("no host name", "vhost a/b {{ }}", 400),
]


class Reloads:
    """`server`: a Weir of weir.py that is not started, whose configuration is written here."""

    def __init__(self, server, players=8, rtc_players=4):
        self.server, self.players, self.rtc_players = server, players, rtc_players
        self.ports = {kind: [free_port() for _ in range(3)] for kind in ("rtmp", "http", "api", "rtc")}
        self.more = [free_port() for _ in range(3)]
        self.holder = socket.create_server(("127.0.0.1", free_port()))
        self.bench = []
        self.rounds = {"good": 0, "refused": 0}
        self.took_ms = []
        self.changes = 0

    # ---- configuration ----

    def text(self, number):
        """The configuration of that round: every listener on one of its ports, more of them now and then, some vhosts."""
        at = {kind: ports[(number // step) % 3] for (kind, ports), step
              in zip(self.ports.items(), (1, 1, 2, 4), strict=True)}
        self.server.rtmp_port, self.server.http_port, self.server.api_port = at["rtmp"], at["http"], at["api"]
        self.expected = [at["rtmp"], at["http"], at["api"]]
        more = self.more[:number % 4 and number % 3]
        self.expected += more
        self.gone = [port for kind in ("rtmp", "http", "api") for port in self.ports[kind] if port != at[kind]]
        vhosts = "".join(f"vhost v{(number + i) % 7}.example {{ play {{ queue_length {number % 9 + 1}s; }} "
                         f"enabled {'off' if i == 2 else 'on'}; }}\n" for i in range(number % 5))
        return (f"listen 127.0.0.1:{at['rtmp']};\n"
                + "".join(f"listen 127.0.0.1:{port};\n" for port in more)
                + f'http_server {{ listen 127.0.0.1:{at["http"]}; dir "{TOP}/objs/www"; }}\n'
                f"http_api {{ listen 127.0.0.1:{at['api']}; }}\n"
                f"rtc_server {{ enabled on; listen 127.0.0.1:{at['rtc']}; candidate 127.0.0.1; }}\n"
                f"play {{ mw_latency {'auto' if number % 2 else '20ms'}; }}\n"
                f"chunk_size {60000 + number % 4 * 1000};\n{vhosts}")

    def write(self, text):
        """As editors do: a new file that takes the place of the old one."""
        new = self.server.config_path.with_suffix(".new")
        new.write_text(text)
        new.rename(self.server.config_path)

    # ---- load ----

    def start_bench(self, subcommand, url, *words):
        report = self.server.folder / f"bench-{len(self.bench)}.json"
        line = [str(word) for word in (BENCH, subcommand, "--url", url, "--duration", "3000s", "--quiet",
                                       "--json", report, *words)]
        log = open(self.server.folder / f"bench-{len(self.bench)}.log", "w")
        self.bench.append((subprocess.Popen(line, stdout=log, stderr=log, stdin=subprocess.DEVNULL), subcommand, report))

    def start(self):
        self.write(self.text(0))
        self.server.start()
        server, rtc = self.server, "/rtc/v1/{}/?app=live&stream={}"
        self.start_bench("rtmp-publish", server.rtmp("live/a"), "--bitrate", "300k", "--gop", "15")
        self.start_bench("rtc-publish", server.http(rtc.format("whip", "w")), "--bitrate", "300k", "--gop", "15")
        server.wait_live("a")
        server.wait_live("w")
        self.start_bench("rtmp-play", server.rtmp("live/a"), "--clients", self.players)
        self.start_bench("flv-play", server.http("/live/a.flv"), "--clients", self.players)
        self.start_bench("rtc-play", server.http(rtc.format("whep", "a")), "--clients", self.rtc_players)
        self.start_bench("rtmp-play", server.rtmp("live/w"), "--clients", 2)
        self.start_bench("rtc-play", server.http(rtc.format("whep", "w")), "--clients", 2)
        count = 2 + 2 * self.players + self.rtc_players + 4
        self.first = wait_until(lambda: self.clients() if len(self.clients()) == count and all(
            self.bytes(each) > 10_000 for each in self.clients().values()) else None, 30, f"{count} clients have media")
        self.last = self.first

    def clients(self):
        return {each["id"]: each for each in self.server.clients()}

    @staticmethod
    def bytes(client):
        return client["send_bytes"] + client["recv_bytes"]

    # ---- rounds ----

    def reload(self, by_signal, api_port):
        """Status and answer of the API; by a signal the log tells, and the answer is None."""
        if by_signal:
            before = self.server.log().count("reloaded by=") + self.server.log().count("reload refused by=")
            self.server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: self.server.log().count("reloaded by=") + self.server.log().count("reload refused by=")
                       > before, 20, "the signal is answered in the log")
            line = [line for line in self.server.log().splitlines() if " by=SIGHUP" in line][-1]
            return (200 if "reloaded by=" in line else 400), None
        request = urllib.request.Request(f"http://127.0.0.1:{api_port}/api/v1/reload", method="POST")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def check_listeners(self):
        for port in self.expected:
            assert accepts(port), f"nobody listens on {port}"
        for port in self.gone:
            assert not accepts(port), f"{port} is still open"

    def check_clients(self, bytes_too):
        now = self.clients()
        lost = [f"{each['id']} ({each['type']})" for key, each in self.first.items() if key not in now]
        assert not lost, f"clients that are gone: {lost}\n{self.server.log()[-3000:]}"
        for process, subcommand, _ in self.bench:
            assert process.poll() is None, f"weir-bench {subcommand} has ended"
        if bytes_too:
            def all_go_on():
                clients = self.clients()
                return clients if all(self.bytes(clients[key]) > self.bytes(self.last[key]) for key in self.first) else None
            self.last = wait_until(all_go_on, 20, "every client gets or sends more")

    def round(self, number):
        api_port = self.server.api_port
        broken = number % BROKEN_EVERY == 0
        by_signal = number % 5 == 0
        if broken:
            what, text, wanted = BROKEN[number // BROKEN_EVERY % len(BROKEN)]
            before = (self.expected, self.gone, self.server.rtmp_port, self.server.http_port, self.server.api_port)
            good = self.text(number)
            self.expected, self.gone, self.server.rtmp_port, self.server.http_port, self.server.api_port = before
            self.write(good + text.format(taken=self.holder.getsockname()[1]) + "\n")
        else:
            what, wanted = "good", 200
            self.write(self.text(number))
        status, answer = self.reload(by_signal, api_port)
        if by_signal and wanted == 409:
            wanted = 400  # the log does not tell them apart
        assert status == wanted, f"round {number} ({what}): {status} instead of {wanted}: {answer}"
        if answer is not None and broken:
            assert answer["errors"] and all(each["message"] for each in answer["errors"]), answer
        if answer is not None and not broken:
            self.took_ms.append(answer["data"]["took_ms"])
            self.changes += len(answer["data"]["changes"])
        self.rounds["refused" if broken else "good"] += 1
        self.check_listeners()
        self.check_clients(number % CHECK_EVERY == 0)

    def run(self, rounds):
        began = time.monotonic()
        for number in range(1, rounds + 1):
            self.round(number)
        self.check_clients(True)
        self.seconds = time.monotonic() - began

    def end(self):
        """Ends the load; gives what its clients saw."""
        reports = []
        for process, _, _ in reversed(self.bench):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process, subcommand, report in self.bench:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise
            reports.append((subcommand, json.loads(report.read_text()) if report.exists() else {}))
        self.holder.close()
        return reports

    def table(self, reports):
        took = sorted(self.took_ms)
        roles = {}
        for each in self.first.values():
            roles[each["type"]] = roles.get(each["type"], 0) + 1
        rows = [("reloads", sum(self.rounds.values())),
                ("  in force", self.rounds["good"]),
                ("  refused, as they should be", self.rounds["refused"]),
                ("changes that were reported", self.changes),
                ("time of a reload, median / longest", f"{took[len(took) // 2]} / {took[-1]} ms" if took else "-"),
                ("sessions at the beginning", len(self.first)),
                *((f"  {role}", count) for role, count in sorted(roles.items())),
                ("of them at the end, ids and bytes going on", len([key for key in self.first if key in self.last])),
                ("connections that weir-bench lost",
                 sum(report.get("clients", {}).get("broken", 0) for _, report in reports)),
                ("seconds", f"{self.seconds:.1f}")]
        return "\n".join(f"{name:45} {value}" for name, value in rows)
