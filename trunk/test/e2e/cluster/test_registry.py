"""The registry of a cluster in Redis: who has which name, and what becomes of all when Redis goes, comes, or lies.

test_registry_away.py has the tests in which nodes start or meet without it."""

import concurrent.futures
import contextlib
import os
import socket
import threading
import time
import urllib.request

import pytest

from media import publisher
from redis_server import Path, Redis, stopped
from rtmp import RtmpPlayer
from tls import certificate
from weir import free_port, patience, wait_until

pytestmark = pytest.mark.alone  # a Redis that does not answer within 200 ms is away: everybody may publish then
SECRET = "0123456789abcdef-of-all-nodes"
SHORT = "3s"  # lease of nodes whose lease is to end


@pytest.fixture
def redis(folder):
    with Redis(folder) as server:
        yield server


@pytest.fixture
def node(new_weir):
    """Makes nodes of a cluster, started, that have the registry."""

    def make(name, registry, more="", top="", wait=True, advertise=True, lease="30s"):
        server = new_weir("", name=name)
        address = f"advertise http://127.0.0.1:{server.http_port};" if advertise else ""
        text = (f"cluster {{ node {name}; registry {registry}; {address} secret {SECRET}; lease {lease};\n"
                f"allow_nodes 127.0.0.0/8; {more} }}\n"
                f"publish {{ firstpkt_timeout 2m; }}\n{top}\n")  # publishers of these tests send nothing
        server.config_path.write_text(server.config_path.read_text() + text)
        server.start()
        if wait:
            wait_registered(server)
        return server

    return make


def status(server):
    return server.api("/api/v1/cluster")["cluster"]


def wait_registered(server, seconds=15):
    def there():
        registry = status(server)["registry"]
        return registry["state"] == "up" and registry["lease"]
    wait_until(there, seconds, "the node has its lease")


def wait_heard(redis, count):
    """Until so many nodes hear what others say: nobody hears what was said before."""
    wait_until(lambda: redis.command("PUBSUB", "NUMSUB", "{weir}:ev")[1] == count, 15, f"{count} nodes listen")


def is_away(server):
    return status(server)["registry"]["state"] == "away"


def healthy(server):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.api_port}/healthz", timeout=5) as answer:
        return answer.status == 200


class Publisher(RtmpPlayer):
    """Asks to publish a stream, and sends nothing."""

    def __init__(self, port, name):
        super().__init__(port, play=False)
        self.name = name

    def ask(self):
        self.command("publish", 3, None, self.name, "live", stream=1)
        return self

    def answer(self):
        """Whether it may."""
        while True:
            kind, _, payload, _ = self.message()
            if kind == self.COMMAND and b"onStatus" in payload:
                if b"NetStream.Publish.Start" in payload:
                    return True
                assert b"error" in payload, payload
                return False

    def wait_end(self, seconds):
        """What the server says before it closes the connection."""
        self.socket.settimeout(max(seconds * patience(), 0.1))
        said = b""
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                said += self.message()[2]
        return said


@contextlib.contextmanager
def publishing(server, name):
    with Publisher(server.rtmp_port, name).ask() as one:
        yield one, one.answer()


class Viewer(threading.Thread):
    """Reads a stream by HTTP-FLV; knows its longest pause, and whether it has ended."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.answer = urllib.request.urlopen(url, timeout=10)
        self.longest, self.bytes, self.ended, self.done = 0.0, 0, False, False
        self.start()

    def run(self):
        last = None
        with contextlib.suppress(OSError, ValueError, AttributeError):
            while data := self.answer.read1(65536):
                now = time.monotonic()
                self.longest = max(self.longest, now - last if last else 0)
                last = now
                self.bytes += len(data)
        self.ended = not self.done

    def __enter__(self):
        wait_until(lambda: self.bytes > 20_000, 10, "the viewer gets bytes")
        return self

    def __exit__(self, *_):
        self.done = True
        with contextlib.suppress(OSError):
            self.answer.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        self.join(5)


# ---- names ----


def test_of_all_that_want_a_name_at_once_one_gets_it(node, redis):
    names = [f"cam{number}" for number in range(1000 if "WEIR_FULL" in os.environ else 200)]
    nodes = [node("a", redis.url), node("b", redis.url)]
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(32))
        wanted = [(server.rtmp_port, name) for server in nodes for name in names]
        all_ = [stack.enter_context(each) for each in pool.map(lambda one: Publisher(*one), wanted)]
        both = all_[:len(names)], all_[len(names):]
        for one, other in zip(*both):
            one.ask()
            other.ask()
        results = [[each.answer() for each in side] for side in both]
        assert [sum(pair) for pair in zip(*results)] == [1] * len(names)
        for server, side in zip(nodes, results):
            claims = status(server)["claims"]
            assert (claims["held"], claims["won"], claims["refused"]) == (sum(side), sum(side), len(names) - sum(side))
        assert len(redis.records()) == len(names)
    wait_until(lambda: not redis.records(), 20, "all names are free again")


def test_a_name_is_free_when_its_publisher_or_its_node_has_gone(node, redis):
    a, b = node("a", redis.url, lease=SHORT), node("b", redis.url)
    with publishing(a, "cam") as (_, let_in):
        assert let_in
        first = redis.records()["live/cam"]
        assert first[0] == "a"
        with publishing(b, "cam") as (_, too):
            assert not too
        b.wait_log("code=busy: /live/cam is being published at another node")
    wait_until(lambda: not redis.records(), 10, "the name is free")
    with publishing(a, "cam") as (_, let_in):
        assert let_in
        assert redis.records()["live/cam"][2] > first[2]
        a.kill()  # its lease ends
        def taken():
            with publishing(b, "cam") as (_, let_in):
                return let_in and redis.records()["live/cam"][0] == "b"
        wait_until(taken, 15, "the name goes over to b")


def test_takeover_ends_the_publisher_at_the_other_node(node, redis):
    a, b = node("a", redis.url), node("b", redis.url, top="publish_conflict takeover;")
    wait_heard(redis, 2)
    with publishing(a, "cam") as (old, _):
        before = redis.records()["live/cam"][2]
        with publishing(b, "cam") as (_, let_in):
            assert let_in
            assert b"BadName" in old.wait_end(10)
            node_, _, after = redis.records()["live/cam"]
            assert (node_, after > before) == ("b", True)
    a.wait_log("reason=replaced")
    assert status(a)["claims"]["lost"] == 1


def test_a_node_that_was_cut_off_gives_way_to_its_successor(node, redis):
    with Path(redis.port) as path:
        a, b = node("a", f"redis://127.0.0.1:{path.port}", lease=SHORT), node("b", redis.url)
        with publishing(a, "cam") as (old, _):
            first = redis.records()["live/cam"][2]
            path.cut()
            wait_until(lambda: is_away(a), 10, "a knows that it is cut off")
            wait_until(lambda: redis.nodes() == {"b"}, 10, "a's lease ends")
            assert a.streams()[0]["publish"]["active"], "its publisher goes on"
            with publishing(b, "cam") as (_, let_in):
                assert let_in
                assert redis.records()["live/cam"][0] == "b"
                path.heal()
                healed = time.monotonic()
                assert b"BadName" in old.wait_end(10)
                assert time.monotonic() - healed < 2.0 * patience()
                node_, _, epoch = redis.records()["live/cam"]
                assert (node_, epoch > first) == ("b", True)


def test_a_source_that_several_nodes_have_runs_at_one(node, redis, new_weir, folder):
    origin = new_weir("", name="origin").start()
    with publisher(origin.rtmp("live/cam"), folder):
        origin.wait_live("cam")
        source = f"application live {{ source {origin.rtmp('live/cam')} {{ stream cam; }} }}"
        a = node("a", redis.url, top=source)
        a.wait_live("cam")
        b = node("b", redis.url, top=source)

        def of(server):
            return server.api("/api/v1/sources")["sources"][0]

        wait_until(lambda: of(b)["state"] == "backing_off", 15, "b leaves it to a")
        assert "another node of the cluster" in of(b)["last_error"]
        assert of(a)["state"] == "live" and redis.records()["live/cam"][0] == "a"
        with Viewer(b.http("/live/cam.flv")) as viewer:  # b's viewers have it all the same
            stand_in = next(each for each in b.api("/api/v1/sources")["sources"] if each.get("node"))
            assert (stand_in["node"], stand_in["state"]) == ("a", "live")
            a.stop()
            wait_until(lambda: redis.records().get("live/cam", ("",))[0] == "b", 15, "b runs it")
            before = viewer.bytes
            wait_until(lambda: viewer.bytes > before + 20_000, 15, "the viewer goes on")
            assert not viewer.ended


def test_two_nodes_of_one_name_are_told_apart(node, redis):
    a = node("a", redis.url)
    other = node("a2", redis.url, wait=False, lease=SHORT)  # so long the lease could be that of an earlier run
    other.stop()
    other.config_path.write_text(other.config_path.read_text().replace("node a2;", "node a;"))
    other.start()
    other.wait_log("another node is named a as well", 20)
    assert status(other)["registry"]["name_taken"]
    assert status(a)["registry"]["lease"]


# ---- Redis goes and comes ----


def test_media_does_not_notice_what_becomes_of_redis(node, redis, folder):
    a = node("a", redis.url, lease="5s")
    with publisher(a.rtmp(), folder):
        a.wait_live()
        before = redis.records()["live/livestream"]
        with Viewer(a.http()) as viewer:
            def back():
                return not is_away(a) and redis.records().get("live/livestream") == before and "a" in redis.nodes()

            threads = threading.Thread(target=stopped, args=(redis, 3))
            threads.start()
            wait_until(lambda: is_away(a), 2.5, "a Redis that stands still is away")
            assert healthy(a)
            threads.join()
            wait_until(back, 2, "all is there after a stop")

            redis.command("FLUSHALL")
            wait_until(back, 2, "all is there after FLUSHALL")

            redis.end()
            wait_until(lambda: is_away(a), 2, "a Redis that was killed is away")
            assert healthy(a)
            time.sleep(0.5)
            redis.start()  # empty
            wait_until(back, 2, "all is there in an empty Redis, with its epoch")
        assert not viewer.ended and viewer.longest < 1.0 * patience()
    assert status(a)["claims"]["lost"] == 0


def test_a_failover_to_a_copy_of_earlier_blocks_no_name(node, redis):
    """Redis has the record of a publisher again that has left, and no longer that of one who came since."""
    a, b = node("a", redis.url), node("b", redis.url)
    with publishing(a, "left") as (_, let_in):
        assert let_in
        copy = redis.copy()
    wait_until(lambda: not redis.records(), 10, "the name is free")
    with publishing(a, "came") as (_, let_in):
        assert let_in
        redis.fail_over_to(copy)
        wait_until(lambda: set(redis.records()) == {"live/came"}, 10, "Redis has what is published, and no more")
        with publishing(b, "left") as (_, let_in):
            assert let_in


def test_publishers_are_refused_without_redis_where_the_operator_wants_that(node, redis):
    a = node("a", redis.url, more="on_registry_loss refuse;")
    with publishing(a, "first") as (_, let_in):
        assert let_in
        redis.end()
        wait_until(lambda: is_away(a), 10, "Redis is away")
        with publishing(a, "cam") as (_, let_in):
            assert not let_in
        a.wait_log("on_registry_loss refuse")
        assert [each["name"] for each in a.streams() if each["publish"]["active"]] == ["first"], "who is there stays"


def test_scripts_that_redis_has_forgotten_are_sent_again(node, redis):
    a = node("a", redis.url)
    redis.command("SCRIPT", "FLUSH")
    with publishing(a, "cam") as (_, let_in):
        assert let_in and redis.records()["live/cam"][0] == "a"
    assert not is_away(a)


# ---- ways to Redis ----


def test_a_password_comes_from_a_file_and_is_shown_nowhere(node, folder):
    (folder / "secret").write_text("very-secret-of-redis\n")
    with Redis(folder, password="very-secret-of-redis") as redis:
        a = node("a", redis.url, more=f'registry_password "file:{folder}/secret";')
        with publishing(a, "cam") as (_, let_in):
            assert let_in and redis.records()
        assert "very-secret" not in a.log() + str(status(a)) + a.metrics()
        wrong = node("b", f"redis://:wrong-one-too@127.0.0.1:{redis.port}", wait=False)
        wrong.wait_log("refuses AUTH")
        assert "wrong-one-too" not in wrong.log() + str(status(wrong))


def test_redis_by_tls_has_to_show_its_certificate(node, folder, monkeypatch):
    pem = certificate(folder, "redis")
    port = free_port()
    with Redis(folder, "--port", 0, "--tls-port", port, "--tls-cert-file", pem, "--tls-key-file", pem.with_suffix(".key"),
               "--tls-auth-clients", "no", port=port):
        stranger = node("b", f"rediss://127.0.0.1:{port}", wait=False)
        stranger.wait_log("cluster registry=away")
        assert "certificate" in stranger.log()
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        a = node("a", f"rediss://127.0.0.1:{port}")
        with publishing(a, "cam") as (_, let_in):
            assert let_in and status(a)["claims"]["won"] == 1


def test_sentinels_say_where_the_master_is(node, folder):
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(Redis(folder, name="first"))
        second = stack.enter_context(Redis(folder, "--replicaof", "127.0.0.1", first.port, name="second"))
        conf = folder / "sentinel.conf"
        conf.write_text(f"sentinel monitor mymaster 127.0.0.1 {first.port} 1\nsentinel down-after-milliseconds mymaster 2000\n"
                        "sentinel failover-timeout mymaster 2000\n")
        sentinel = Redis(folder, name="sentinel")
        sentinel.args = []
        stack.callback(sentinel.end)
        start_sentinel(sentinel, conf)
        wait_until(lambda: b"online" in first.command("INFO", "replication"), 15, "the replica follows")
        wait_until(lambda: sentinel.command("SENTINEL", "replicas", "mymaster"), 30, "the sentinel knows the replica")
        a = node("a", f"redis+sentinel://127.0.0.1:{sentinel.port}/mymaster")
        with publishing(a, "cam") as (_, let_in):
            assert let_in
            before = first.records()["live/cam"]
            wait_until(lambda: second.records() == first.records(), 10, "the replica has it")
            first.end()
            wait_until(lambda: is_master(second), 30, "failover")
            second.command("FLUSHALL")  # as if the claim had not reached it
            wait_until(lambda: second.records().get("live/cam") == before, 15, "the stream is at the new master")
            assert status(a)["claims"]["lost"] == 0


def is_master(redis):
    with contextlib.suppress(OSError):  # who becomes master closes its connections
        return redis.command("ROLE")[0] == b"master"
    return False


def start_sentinel(sentinel, conf):
    import subprocess
    with open(sentinel.folder / "redis.log", "ab") as log:
        sentinel.process = subprocess.Popen(["redis-server", conf, "--sentinel", "--port", str(sentinel.port), "--bind", "127.0.0.1"],
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    wait_until(sentinel.answers, 15, "the sentinel answers")


def test_a_cluster_of_redis_is_followed_to_the_keys(node, folder):
    with contextlib.ExitStack() as stack:
        one, other = (stack.enter_context(Redis(folder, "--cluster-enabled", "yes", "--cluster-node-timeout", 5000, name=name))
                      for name in ("one", "other"))
        slot = one.command("CLUSTER", "KEYSLOT", "{weir}:x")
        one.command("CLUSTER", "ADDSLOTSRANGE", 0, slot - 1, slot + 1, 16383)
        other.command("CLUSTER", "ADDSLOTS", slot)
        other.command("CLUSTER", "SET-CONFIG-EPOCH", 2)
        one.command("CLUSTER", "MEET", "127.0.0.1", other.port)
        wait_until(lambda: all(b"cluster_state:ok" in each.command("CLUSTER", "INFO") for each in (one, other)), 20,
                   "the cluster has all slots")
        a = node("a", f"redis+cluster://127.0.0.1:{one.port}")
        b = node("b", f"redis+cluster://127.0.0.1:{one.port}")
        with publishing(a, "cam") as (_, let_in), publishing(b, "cam") as (_, too):
            assert let_in and not too
            assert other.records()["live/cam"][0] == "a"
            assert a.api("/api/v1/cluster/streams")["total"] == 1


# ---- what others write into Redis ----


def test_what_is_no_record_is_counted_and_does_no_harm(node, redis):
    a = node("a", redis.url)
    wait_heard(redis, 1)
    hostile = {"huge": b"x" * 3_000_000, "control": b"n\n\r\0 " * 10, "half": b"n 0123456789abcdef", "epoch": b"n 0123456789abcdef 9e9 1"}
    for name, value in hostile.items():
        redis.command("SET", "{weir}:s:__defaultVhost__/live/" + name, value)
    redis.command("LPUSH", "{weir}:s:__defaultVhost__/live/list", "x")
    redis.command("SET", "{weir}:n:liar", b"y" * 2_000_000)
    redis.command("SADD", "{weir}:n:set", "x")
    for event in (b"", b"claim", b"z" * 1_000_000, b"claim v/a/n 99999999999999999999 n", b"claim \xff\xfe 1 n"):
        redis.command("PUBLISH", "{weir}:ev", event)
    for name in (*hostile, "list"):
        with publishing(a, name) as (_, let_in):
            assert let_in, name
            assert redis.records()["live/" + name][0] == "a"
    wait_until(lambda: "weir_cluster_unreadable_total 5" in a.metrics(), 10, "events that cannot be read are counted")
    assert a.log().count("the registry holds what is not ours") == 1
    assert [each["node"] for each in a.api("/api/v1/nodes")["nodes"]] == ["a"]
    assert healthy(a) and not is_away(a)
    assert len(a.log()) < 20_000


# ---- API ----


def test_the_api_shows_the_cluster(node, redis):
    a, b = node("a", redis.url), node("b", redis.url)
    with publishing(a, "cam"), publishing(b, "cam2"):
        nodes = b.api("/api/v1/nodes")
        assert (nodes["total"], [each["node"] for each in nodes["nodes"]]) == (2, ["a", "b"])
        assert nodes["nodes"][0]["url"] == f"http://127.0.0.1:{a.http_port}"
        assert [each["self"] for each in nodes["nodes"]] == [False, True]
        streams = a.api("/api/v1/cluster/streams?count=1000")["streams"]
        assert [(each["name"], each["node"], each["self"]) for each in streams] == [("cam", "a", True), ("cam2", "b", False)]
        assert a.api("/api/v1/cluster/streams?count=1&start=1")["streams"][0]["name"] == "cam2"
        own = status(a)
        assert own["registry"]["lease_age_ms"] < 2000 and own["claims"]["held"] == 1
        metrics = a.metrics()
        for line in ("weir_cluster_registry_up 1", 'weir_claims_total{result="won"} 1', "weir_epoch_conflicts_total 0"):
            assert line in metrics
    a.stop()
    wait_until(lambda: redis.nodes() == {"b"}, 5, "a node that ends gives its lease back")


def test_the_api_ends_a_publisher_at_another_node(node, redis):
    a, b = node("a", redis.url), node("b", redis.url)
    wait_heard(redis, 2)
    with publishing(a, "cam") as (one, _):
        assert b.api("/api/v1/cluster/streams?app=live&stream=cam", "DELETE")["code"] == 0
        one.wait_end(10)
        wait_until(lambda: not redis.records(), 10, "the name is free")
    assert b.api("/api/v1/cluster/streams?app=live&stream=cam", "DELETE")["http_status"] == 404
    assert b.api("/api/v1/cluster/streams?app=live", "DELETE")["http_status"] == 400
