"""A cluster in a network whose parts fail: nodes, Redis and clients in namespaces of their own (cluster_nodes.py)."""

import contextlib
import os
import re
import signal
import threading
import time

import pytest

from cluster_nodes import LEASE_S, Cluster
from weir import patience, wait_until

pytestmark = [pytest.mark.alone, pytest.mark.root]  # they measure time, in network namespaces

FULL = "WEIR_FULL" in os.environ
OUTAGE_MS = 5.0  # more delay than before, at the 99th percentile
LONG_TURN_MS = 20  # of the media thread


@pytest.fixture
def cluster(folder):
    with Cluster(folder) as made:
        yield made


# ---- many players at an edge ----


def join(cluster, name, node, stream, clients):
    """So many players come within a second; weir-bench compares every byte. Its report."""
    return cluster.bench(name, "flv-play", "--url", node.http(f"/live/{stream}.flv"), "--clients", clients, "--ramp", "1s",
                         "--duration", "3s", "--read-at-once", "--only-expect", "--expect", "loss==0").report(60)


def test_many_players_come_to_an_edge_within_a_second(cluster):
    """The best of three streams: the machine may stand still while they come."""
    clients = 500 if FULL else 150
    a, b, _ = cluster.start()
    cluster.bench("publisher", "rtmp-publish", "--url", a.rtmp("live/cam%d"), "--streams", 3, "--bitrate", "500k", "--fps", 25, "--gop", 25,
                  "--duration", "80s", place="p")
    later = []
    for number in range(3):
        stream = f"cam{number}"
        a.wait_live(stream)
        reports = [join(cluster, f"{stream}-{node.name}", node, stream, clients) for node in (a, b)]
        assert b.metric('weir_source_attempts_total{role="pull"}') == number + 1, "one pull"
        assert b.metric("weir_cluster_lookups_total") <= 2 * (number + 1)
        assert a.metric("weir_relay_answered_total") == number + 1
        for report in reports:
            assert report["clients"]["playing"] == clients
            media = report["media"]
            assert media["lost"] == media["corrupted"] == media["reordered"] == media["duplicated"] == 0, media
        first = [report["clients"]["first_key_ms"]["p99"] for report in reports]
        later.append(first[1] - first[0])
        if later[-1] <= 50 * patience():
            return
    raise AssertionError(f"the first key frame comes later at the edge, ms: {later}")


# ---- Redis goes and comes ----


class Beside:
    """Threads beside a test: one asks /healthz of nodes, one finds out how late this machine wakes programs."""

    def __init__(self, nodes):
        self.nodes, self.answers, self.late, self.done = nodes, [], [], threading.Event()
        self.threads = [threading.Thread(target=each, daemon=True) for each in (self.ask, self.sleep)]

    def ask(self):
        while not self.done.wait(0.2):
            for node in self.nodes:
                began = time.monotonic()
                healthy = node.healthy()
                self.answers.append((node.name, healthy, time.monotonic() - began))

    def sleep(self):
        due = time.monotonic()
        while not self.done.is_set():
            due += 0.005  # a pause is as many late wakings as it is long
            time.sleep(max(0, due - time.monotonic()))
            self.late.append(time.monotonic() - due)

    def bad(self):
        """What was not healthy, or took longer than a second and what this machine itself took."""
        most = 1 * patience() + self.late_ms(1) / 1000
        return [answer for answer in self.answers if not answer[1] or answer[2] > most]

    def late_ms(self, share):
        """So late was that share of all wakings, at most."""
        return sorted(self.late)[int((len(self.late) - 1) * share)] * 1000

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        for thread in self.threads:
            thread.join()


def killed(redis, seconds):
    """It comes back empty."""
    redis.end()
    time.sleep(seconds)
    redis.start()


def stopped(redis, seconds):
    """It is there, and does not answer."""
    redis.signal(signal.SIGSTOP)
    time.sleep(seconds)
    redis.signal(signal.SIGCONT)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("outage, seconds", [(killed, 60 if FULL else 8), (stopped, 30 if FULL else 5)])
def test_nobody_notices_that_redis_is_away(cluster, outage, seconds):
    """Streams are published at a and played at a and b; another process measures the delay before the outage and during it."""
    streams, viewers = (20, 50) if FULL else (4, 5)
    a, b, _ = cluster.start()
    before, settle = 4, 2
    window = seconds + 4
    cluster.bench("publishers", "rtmp-publish", "--url", a.rtmp("live/cam%d"), "--streams", streams, "--bitrate", "300k",
                  "--fps", 25, "--gop", 25, "--duration", f"{before + window + 20}s", place="p")
    names = {f"live/cam{number}" for number in range(streams)}
    wait_until(lambda: set(cluster.redis.records()) == names, 10, "all streams are claimed")

    def measure(name, duration):
        return [cluster.bench(f"{name}-{node.name}", "flv-play", "--url", node.http("/live/cam%d.flv"), "--streams", streams,
                              "--clients", streams * viewers, "--ramp", "1s", "--settle", f"{settle}s", "--duration", f"{duration}s",
                              "--read-at-once", "--only-expect", "--expect", "loss==0")
                for node in (a, b)]

    quiet = [bench.report(before + settle + 30) for bench in measure("before", before)]
    records = cluster.redis.records()
    running = measure("during", window)
    time.sleep(1 + settle)
    turns = [slow_turns(node) for node in (a, b)]
    with Beside((a, b)) as beside:
        outage(cluster.redis, seconds)
        began = time.monotonic()
        wait_until(lambda: same_or_newer(records, cluster.redis.records()), 20, "all records are back, with no lower epoch")
        back = time.monotonic() - began
        slow = [slow_turns(node) - before for node, before in zip((a, b), turns)]
        loud = [bench.report(window + 30) for bench in running]
    assert len(beside.answers) > 4 * seconds / (3 * patience()) and not beside.bad(), (len(beside.answers), beside.bad())
    assert back <= 2 * patience() + beside.late_ms(1) / 1000, back
    for node in (a, b):
        wait_until(lambda: not node.is_away(), 10, f"{node.name} has its registry")
        assert node.registry()["last_error"], "it has noticed"
        assert node.metric('weir_claims_total{result="lost"}') == 0
    for was, now in zip(quiet, loud):
        media = now["media"]
        assert now["clients"]["playing"] == streams * viewers and now["clients"]["broken"] == 0
        assert media["lost"] == media["corrupted"] == media["reordered"] == media["duplicated"] == 0, media
        delays = [report["latency"]["all_ms"]["p99"] for report in (was, now)]
        # A frame is handled by three programs one after the other, each of which this machine may wake late.
        assert delays[1] <= delays[0] + OUTAGE_MS + 3 * beside.late_ms(0.999), (delays, beside.late_ms(0.999))
    # Where the machine itself keeps programs waiting for so long, it proves nothing.
    assert max(slow) == 0 or beside.late_ms(1) > LONG_TURN_MS, (slow, beside.late_ms(1))


def slow_turns(node):
    """How often the media thread took longer than LONG_TURN_MS."""
    counts = {le: float(count) for le, count in re.findall(r'weir_media_thread_turn_seconds_bucket\{le="([^"]+)"\} (\S+)', node.metrics())}
    return counts["+Inf"] - max(count for le, count in counts.items() if le != "+Inf" and float(le) <= LONG_TURN_MS / 1000)


def same_or_newer(before, after):
    return all(name in after and after[name][:2] == record[:2] and after[name][2] >= record[2] for name, record in before.items())


# ---- a node goes ----


@contextlib.contextmanager
def edge_viewers(cluster, node, session, count=3):
    viewers = [cluster.viewer(node) for _ in range(count)]
    wait_until(lambda: all(viewer.shows() == session.number for viewer in viewers), 20, "the edge shows it")
    yield viewers
    assert [viewer.connections for viewer in viewers] == [1] * count, "they have kept their connections"
    assert [viewer.lost() for viewer in viewers] == [0] * count
    cluster.check()


@pytest.mark.parametrize("how", ["kill", "drop"])
def test_the_publisher_of_a_lost_node_comes_to_another(cluster, how):
    """Its publisher tries again each 0.2 s, at another node. The edge's viewers see it soon, with times that go on."""
    a, b, c = cluster.start()
    network = cluster.network
    publisher = cluster.publisher(a)
    first = cluster.wait_live(publisher)
    with edge_viewers(cluster, b, first) as viewers:
        if how == "kill":
            a.kill()
        else:
            for place in (network.b, network.c, network.r, network.p):
                network.cut(network.a, place)
        lost = time.monotonic()
        publisher.move(c)
        second = wait_until(lambda: publisher.session if publisher.session is not first else None, LEASE_S + 10, "it publishes at c")
        assert second.began - lost <= (LEASE_S + 1) * patience(), "the name was free when the lease had ended"
        wait_until(lambda: all(second.number in viewer.seen for viewer in viewers), 20, "the edge shows what c has")
        late = [viewer.seen[second.number] - second.began for viewer in viewers]
        assert max(late) <= 1.0 * patience(), late
    if how == "drop":
        network.heal()
        wait_until(lambda: not a.published(), 20, "a's publisher has ended")
        a.wait_registered()
        assert cluster.redis.records()["live/cam"][0] == "c"
        assert viewers[0].shows() == second.number
        cluster.check()
    else:
        a.start()


def test_a_node_that_was_cut_off_never_alternates_with_its_successor(cluster):
    """a cannot reach Redis, and everybody else; its publisher stays. Another publisher of the name comes to b."""
    a, b, c = cluster.start()
    network = cluster.network
    one = cluster.publisher(a)
    first = cluster.wait_live(one)
    with edge_viewers(cluster, c, first) as viewers:
        before = time.monotonic()
        left = cluster.redis.command("PTTL", "{weir}:n:a") / 1000  # at least: a may say something until it is cut off
        network.cut(network.a, network.r)
        cut = time.monotonic()
        other = cluster.publisher(b)
        second = wait_until(lambda: other.session, LEASE_S + 10, "b has the name")
        assert second.began - before > left > 0, "no earlier than the lease of a has ended"
        assert second.began - cut <= (LEASE_S + 1) * patience(), "and soon after that"
        wait_until(lambda: all(second.number in viewer.seen for viewer in viewers), 20, "the edge is on b's epoch")
        late = [viewer.seen[second.number] - second.began for viewer in viewers]
        assert max(late) <= 1.0 * patience(), late
        assert one.session is first, "a's publisher goes on, for those who are there"
        late_comer = cluster.viewer(c)
        wait_until(lambda: late_comer.shows() == second.number, 20, "who comes now sees b's")
        one.retry = 60  # once ended, it stays away
        network.heal()
        healed = time.monotonic()
        wait_until(lambda: first.ended, 20, "a's publisher is ended")
        assert first.ended - healed <= 2.0 * patience(), first.ended - healed
        at_a = cluster.viewer(a)
        wait_until(lambda: at_a.shows() == second.number, 20, "a brings the stream from b")
        assert all(viewer.shows() == second.number for viewer in (*viewers, late_comer))
        assert cluster.redis.records()["live/cam"][0] == "b"


def test_a_name_whose_newer_publisher_has_left_again_is_found(cluster):
    """While a was cut off, b had the name for a while, and c saw that. Then a's publisher is the only one again."""
    cluster.sessions.returns = 1
    a, b, c = cluster.start()
    network = cluster.network
    one = cluster.publisher(a)
    cluster.wait_live(one)
    viewer = cluster.viewer(c, stall=3)
    network.cut(network.a, network.r)
    other = cluster.publisher(b)
    second = wait_until(lambda: other.session, LEASE_S + 10, "b has the name")
    wait_until(lambda: viewer.shows() == second.number, 20, "c has it from b")
    other.end()
    wait_until(lambda: "live/cam" not in cluster.redis.records(), 20, "the name is free")
    network.heal()
    wait_until(lambda: viewer.shows() and cluster.sessions.all[viewer.shows()].node == "a", 10, "c shows what a has")
    cluster.check()


def test_what_was_lost_on_the_way_to_redis_does_not_come_later(cluster):
    """A claim was lost on its way, and its publisher has left. The kernel may not send it again when the way is free."""
    a, b, _ = cluster.start()
    earlier = cluster.publisher(a, "earlier")  # Redis knows the scripts from now on
    cluster.wait_live(earlier)
    earlier.end()
    wait_until(lambda: not cluster.redis.records(), 20, "the name is free")
    cluster.network.cut(cluster.network.a, cluster.network.r)
    one = cluster.publisher(a)
    cluster.wait_live(one)
    one.end()
    time.sleep(1.6)  # sent again after 0.2, 0.4, 0.8 s, and 1.6 s later
    cluster.network.heal()
    wait_until(lambda: not a.is_away() and a.claims()["held"] == 0, 20, "a has given back what it had")
    time.sleep(3)
    assert cluster.redis.records() == {}
    late = cluster.publisher(b)
    cluster.wait_live(late)
    assert late.refused == 0, "the name was free"
