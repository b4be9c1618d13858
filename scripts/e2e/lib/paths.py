"""Everything that a server of today does for its clients, once: publish, play by each protocol, republish under the eyes of the
players, kick, every path of the API and the pages, and clients that break off or send nonsense. For the tools that must stay
silent meanwhile.
"""

import json
import signal
import subprocess

from diag import wait_until

PLAYERS = {"rtmp": "rtmp-play", "http-flv": "flv-play", "ws-flv": "flv-play"}
API = ["versions", "summaries", "streams", "streams?start=0&count=1", "clients", "objects", "memory", "leaks/capabilities", "profile"]
API_WRONG = {"streams/nobody": 404, "clients/nobody": 404, "streams?count=none": 400, "no-such-thing": 404, "leaks?check=no": 400,
             "valgrind?check=no": 400, "leaks/4711": 404}
PAGES = {"/": 200, "/live.json": 200, "/no-such-file": 404, "/../etc/passwd": 400}
PLAYED_BYTES = 50_000  # 2 s of what is published here
KICK_SECONDS = 60  # under valgrind, with a server that is busy


def whole_path(row, server):
    """Checks each part; when it returns, no client is connected."""
    row.stream(server, clients=2, rate="200k", fps=15)
    republish(row, server)
    kick(row, server)
    ask(row, server)
    break_off(row, server)
    wait_until(lambda: clients(server) == [], KICK_SECONDS, "all clients are gone")


def clients(server):
    return json.loads(server.get("clients")[1])["clients"]


def play(row, server, kind, stream, *more):
    url = {"rtmp": server.rtmp_url(stream), "http-flv": server.flv_url(stream), "ws-flv": server.flv_url(stream, "ws")}[kind]
    return row.bench(PLAYERS[kind], "--url", url, "--no-verify", "--clients", "1", "--connect-timeout", "60s", "--only-expect", *more,
                     log=f"{stream}-{kind}")


def publish(row, server, stream, log):
    return row.bench("rtmp-publish", "--url", server.rtmp_url(stream), "--bitrate", "200k", "--fps", "15", "--duration", "0", log=log)


def stop(process):
    process.send_signal(signal.SIGINT)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def publishers(server):
    return {client["id"] for client in clients(server) if client["publish"]}


def sent(server):
    """Bytes that each player was sent."""
    return {client["id"]: client["send_bytes"] for client in clients(server) if not client["publish"]}


def republish(row, server):
    """The second publisher's frames reach the players of the first."""
    first = publish(row, server, "again", "again-first")
    players = [play(row, server, kind, "again", "--duration", "60s") for kind in PLAYERS]
    wait_until(lambda: len(clients(server)) == 1 + len(PLAYERS), KICK_SECONDS, "the publisher and its players are there")
    wait_until(lambda: min(sent(server).values()) > PLAYED_BYTES, KICK_SECONDS, "they play")
    before = publishers(server)
    stop(first)
    wait_until(lambda: not publishers(server), KICK_SECONDS, "the first publisher is gone")
    told, second = sent(server), publish(row, server, "again", "again-second")
    wait_until(lambda: all(bytes_sent > told[player] + PLAYED_BYTES for player, bytes_sent in sent(server).items()), KICK_SECONDS,
               "the players are sent what the second publisher sends")
    row.check(f"republished: {', '.join(PLAYERS)} players of the first publisher play the second",
              sent(server).keys() == told.keys() and len(told) == len(PLAYERS) and publishers(server).isdisjoint(before), clients(server))
    for process in [*players, second]:
        stop(process)


def kick(row, server):
    publisher = publish(row, server, "kick", "kick")
    players = [play(row, server, kind, "kick", "--duration", "60s") for kind in PLAYERS]
    wait_until(lambda: len(clients(server)) == 1 + len(PLAYERS), KICK_SECONDS, "the publisher and its players are there")
    answers = [server.request(server.api, f"/api/v1/clients/{client['id']}", "DELETE")[0]
               for client in sorted(clients(server), key=lambda client: client["publish"])]
    wait_until(lambda: clients(server) == [], KICK_SECONDS, "they are gone")
    row.check(f"kicked: {', '.join(PLAYERS)} players, then the publisher", answers == [200] * (1 + len(PLAYERS)), answers)
    for process in [publisher, *players]:
        stop(process)


def ask(row, server):
    answers = {path: server.get(path)[0] for path in API}
    answers["/metrics"] = server.request(server.api, "/metrics")[0]
    row.check(f"the API answers {len(answers)} paths with 200", set(answers.values()) == {200}, answers)
    answers = {path: server.get(path)[0] for path in API_WRONG}
    row.check("and says what is wrong with a wrong one", all(answers[path] in (status, 501) for path, status in API_WRONG.items()), answers)
    answers = {path: server.request(server.http, path)[0] for path in PAGES}
    row.check("pages, and what is none", answers == PAGES, answers)
    answers = [server.request(server.http, "/", method, headers)[0] for method, headers in (
        ("HEAD", {}), ("GET", {"Range": "bytes=10-19"}), ("OPTIONS", {"Origin": "http://a.example"}), ("PUT", {}))]
    row.check("HEAD, a range, CORS, a method that is none", answers == [200, 206, 204, 405], answers)


def break_off(row, server):
    for name, port in (("RTMP", server.rtmp), ("HTTP", server.http)):
        broken = row.bench("garbage", "--port", str(port), "--connections", "50", "--concurrency", "10", "--duration", "60s",
                           log=f"garbage-{name.lower()}")
        row.check(f"50 clients that speak no {name}", broken.wait(120) == 0, broken.args)
