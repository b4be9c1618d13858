"""Troubles at random in a cluster (cluster_nodes.py), by a seed, and what must hold all along and after each round of them.

A round is trouble for a while, then everything is healed, and the cluster has to be whole again. All that is done is written into
a log, one line each; each round ends with one line of figures.
"""

import heapq
import os
import random
import re
import threading
import time
from pathlib import Path

from cluster_nodes import Cluster
from processes import pids
from redis_server import RedisError
from weir import BAD_LOG, patience, wait_end, wait_until

STREAMS = 4
ROUND_S = 45.0  # of trouble
WHOLE_S = 15.0  # until all is as it should be, once it is healed: a publisher that vanished counts as there for normal_timeout
RECORD_LIFE_S = 60.0
MOST_PATIENCE = 3.0  # then it is still shorter than the life of a record that nobody renews
BEHIND_S = 1.0
DRAIN_S = 3.0
ANY = 1_000_000
MORE_MIB = 48  # of memory than when a node was idle before all
OPTIONS = {"returns": 1, "play": "wait_publisher 10s;", "more": f"drain_timeout {DRAIN_S:.0f}s; publish {{ normal_timeout 5s; }}"}


def usage(node):
    """(resident MiB, descriptors, coroutines) of a node, all of its processes."""
    places = [Path(f"/proc/{pid}") for pid in node.pids()]
    resident = [int(re.search(r"VmRSS:\s+(\d+)", (place / "status").read_text())[1]) / 1024 for place in places]
    return sum(resident), sum(len(list((place / "fd").iterdir())) for place in places), int(node.metric("weir_coroutines"))


class Epochs(threading.Thread):
    """Asks the nodes for the epochs of what they pull: none goes back while a node runs."""

    def __init__(self, chaos):
        super().__init__(daemon=True)
        self.chaos, self.newest, self.done = chaos, {}, threading.Event()

    def run(self):
        while not self.done.wait(0.3):
            for node in self.chaos.cluster.nodes.values():
                if node.name not in self.chaos.hindered:
                    self.look(node)

    def look(self, node):
        start = node.starts
        try:
            pulls = node.pulls()
        except (OSError, ValueError, KeyError):
            return  # it was killed or stopped meanwhile
        for pull in pulls:
            key = node.name, start, pull.get("process", 0), pull["name"]
            if pull["state"] != "live" or start != node.starts or pull["epoch"] == 0:  # of a process of the same node
                continue
            if pull["epoch"] < self.newest.get(key, 0):
                self.chaos.cluster.sessions.fault(f"{key}: epoch {pull['epoch']} of {pull['node']} after {self.newest[key]}")
            self.newest[key] = max(pull["epoch"], self.newest.get(key, 0))


class Chaos:
    def __init__(self, cluster, seed, log_path):
        self.cluster, self.random, self.log_path = cluster, random.Random(seed), log_path
        self.nodes = list(cluster.nodes.values())
        self.network = cluster.network
        self.hindered = set()  # names of nodes that are killed, stopped or drain; "redis"
        self.undo = []  # (when, number, function): the other half of each trouble
        self.count = 0
        self.began = time.monotonic()
        self.publishers, self.viewers, self.guests = {}, [], []
        self.dead = {}  # records of nodes that are not there -> since when
        self.counts = {}
        self.say(f"seed {seed}")

    def say(self, text):
        with open(self.log_path, "a") as log:
            log.write(f"{time.strftime('%H:%M:%S')} {time.monotonic() - self.began:7.2f} {text}\n")

    # ---- the players of the piece ----

    def start(self):
        self.cluster.start()
        self.idle = {node.name: usage(node) for node in self.nodes}
        for number in range(STREAMS):
            name = f"cam{number}"
            self.publishers[name] = self.cluster.publisher(self.nodes[number % len(self.nodes)], name, retry=0.5)
            self.viewers += [self.cluster.viewer(node, name, stall=6, retry=0.3) for node in self.nodes]
        self.epochs = Epochs(self)
        self.epochs.start()
        self.wait_whole()

    def name(self):
        return self.random.choice(list(self.publishers))

    def free_node(self):
        """One that is not in trouble already."""
        free = [node for node in self.nodes if node.name not in self.hindered]
        return self.random.choice(free) if free else None

    def later(self, seconds, what, function):
        self.count += 1
        heapq.heappush(self.undo, (time.monotonic() + seconds, self.count, what, function))

    def undo_due(self, now):
        while self.undo and self.undo[0][0] <= now:
            _, _, what, function = heapq.heappop(self.undo)
            self.say(what)
            function()

    # ---- troubles ----

    def kill_node(self):
        node, seconds = self.free_node(), self.random.uniform(0.2, 4)
        if node is None:
            return None
        self.hindered.add(node.name)
        self.check_log(node)
        node.kill()
        self.later(seconds, f"start {node.name}", lambda: self.restart(node))
        return f"kill -9 {node.name}"

    def restart(self, node):
        node.start(wait=False)
        self.hindered.discard(node.name)

    def kill_process(self):
        """One of several. The supervisor begins it anew."""
        node = self.free_node()
        if node is None or node.processes == 1:
            return None
        there = sorted(pids(node).items())
        if not there:
            return None
        node.starts += 1
        number, pid = self.random.choice(there)
        os.kill(pid, 9)
        return f"kill -9 process {number} of {node.name}"

    def stop_node(self):
        node, seconds = self.free_node(), self.random.uniform(0.2, 8)
        if node is None:
            return None
        self.hindered.add(node.name)
        node.freeze()

        def go_on():
            node.thaw()
            self.hindered.discard(node.name)

        self.later(seconds, f"SIGCONT {node.name}", go_on)
        return f"SIGSTOP {node.name}"

    def drain_node(self):
        node = self.free_node()
        if node is None or len(self.hindered - {"redis"}) > 0:
            return None
        self.hindered.add(node.name)
        node.process.send_signal(3)

        def again():
            code = wait_end(node.process, DRAIN_S + 2)
            if code != 0:
                self.cluster.sessions.fault(f"{node.name} drained with exit code {code}")
            self.check_log(node)
            self.restart(node)

        self.later(DRAIN_S + 0.5, f"start {node.name} after its drain", again)
        return f"drain {node.name}"

    def cut(self):
        network = self.network
        one = self.random.choice(self.nodes).place
        other = self.random.choice([place for place in network.places.values() if place is not one])
        how, seconds = self.random.choice(["drop", "one-way", "reject"]), self.random.uniform(0.5, 9)
        network.cut(one, other, how)
        self.later(seconds, f"heal {one}-{other}", lambda: network.heal(one, other))
        return f"{how} {one}-{other}"

    def flush_redis(self):
        if "redis" in self.hindered:
            return None
        self.cluster.redis.command("FLUSHALL")
        return "FLUSHALL"

    def old_redis(self):
        """As after a failover to a replica that is behind: what it has is some seconds old, and all connections are new."""
        if "redis" in self.hindered:
            return None
        self.hindered.add("redis")
        redis = self.cluster.redis
        copy = redis.copy()

        def fail_over():
            redis.fail_over_to(copy)
            self.hindered.discard("redis")

        self.later(self.random.uniform(1, 6), "Redis has what it had then", fail_over)
        return "what Redis has is kept"

    def kill_redis(self):
        if "redis" in self.hindered:
            return None
        self.hindered.add("redis")
        self.cluster.redis.end()

        def again():
            self.cluster.redis.start()
            self.hindered.discard("redis")

        self.later(self.random.uniform(0.3, 8), "start Redis, empty", again)
        return "kill -9 Redis"

    def stop_redis(self):
        if "redis" in self.hindered:
            return None
        self.hindered.add("redis")
        self.cluster.redis.signal(19)

        def go_on():
            self.cluster.redis.signal(18)
            self.hindered.discard("redis")

        self.later(self.random.uniform(0.2, 8), "SIGCONT Redis", go_on)
        return "SIGSTOP Redis"

    def move_publisher(self):
        name, node = self.name(), self.random.choice(self.nodes)
        self.publishers[name].move(node)
        return f"{name} moves to {node.name}"

    def second_publisher(self):
        name, node = self.name(), self.random.choice(self.nodes)
        guest = self.cluster.publisher(node, name, retry=0.5)
        self.guests.append(guest)
        self.later(self.random.uniform(1, 9), f"the second publisher of {name} leaves", guest.end)
        return f"a second publisher of {name} at {node.name}"

    def pass_by(self):
        """A publisher of a name that nobody else wants: no trace of it may stay."""
        node = self.random.choice(self.nodes)
        guest = self.cluster.publisher(node, f"guest{self.count}", retry=0.3)
        self.guests.append(guest)
        self.later(self.random.uniform(0.3, 2), f"{guest.name_} leaves", guest.end)
        return f"{guest.name_} comes to {node.name}"

    def change_viewer(self):
        at, name, node = self.random.randrange(len(self.viewers)), self.name(), self.random.choice(self.nodes)
        self.viewers[at].end()
        self.viewers[at] = self.cluster.viewer(node, name, stall=6, retry=0.3)
        return f"a viewer of {name} comes to {node.name}, another leaves"

    TROUBLES = ((kill_node, 3), (kill_process, 3), (stop_node, 3), (drain_node, 1), (cut, 5), (flush_redis, 1), (old_redis, 1), (kill_redis, 1), (stop_redis, 1),
                (move_publisher, 3), (second_publisher, 3), (pass_by, 3), (change_viewer, 3))

    def trouble(self):
        kinds, weights = zip(*self.TROUBLES)
        kind = self.random.choices(kinds, weights)[0]
        what = kind(self)
        if what:
            self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
            self.say(what)

    # ---- what must hold ----

    def check(self):
        """All along."""
        self.cluster.check()
        for node in self.nodes:
            if node.name not in self.hindered:
                assert node.process.poll() is None, f"{node.name} has ended: {node.process.returncode}\n{node.log()[-3000:]}"

    def check_log(self, node):
        log = node.log_path.read_text(errors="replace")
        bad = BAD_LOG.search(log)
        assert not bad, log[max(0, bad.start() - 500):][:4000]

    def heal(self):
        for guest in self.guests:
            guest.end()
        self.guests = []
        self.undo_due(float("inf"))
        self.network.heal()

    def what_is_missing(self):
        """Why the cluster is not whole; empty when it is."""
        published = {}
        for name, publisher in self.publishers.items():
            session = publisher.session
            if session is None:
                return f"{name} has no publisher, wanted at {publisher.node.name}"
            published[name] = session
        records = self.records()
        if {name: record[0].split("-p")[0] for name, record in records.items()} != {name: session.node for name, session in published.items()}:
            return f"the registry has {records}, published are {published}"
        for node in self.nodes:
            if not node.is_registered():
                return f"{node.name} is without its lease"
            here = {name for name, session in published.items() if session.node == node.name}
            if node.published() != here:
                return f"{node.name} has the publishers of {node.published()}, and should have {here}"
        for viewer in self.viewers:
            wanted = published[viewer.name_].number
            if viewer.shows() != wanted:
                return (f"a viewer of {viewer.name_} at {viewer.node.name} sees session {viewer.shows()}, "
                        f"{time.monotonic() - viewer.newest:.1f} s ago, and should see {wanted} of {published[viewer.name_].node}; "
                        f"{self.pulls_of(viewer)}")
        return ""

    def records(self):
        """Those that count. The others are of nodes that were killed: they count for nothing, and are gone after their life."""
        boots = {}
        for key in self.cluster.redis.command("KEYS", "{weir}:n:*"):
            lease = self.cluster.redis.command("GET", key)
            boots[key.decode().rpartition(":")[2]] = lease.decode().split()[0] if lease else ""
        found, now = {}, time.monotonic()
        dead = {}
        for name, record in self.cluster.redis.records().items():
            if boots.get(record[0]) == record[1]:
                found[name.removeprefix("live/")] = record
            else:
                dead[name, record] = self.dead.get((name, record), now)
        self.dead = dead
        assert all(now - since < RECORD_LIFE_S + 2 for since in dead.values()), f"records of nobody: {dead}"
        return found

    @staticmethod
    def pulls_of(viewer):
        return [pull for pull in viewer.node.pulls() if pull["name"] == viewer.name_]

    def wait_whole(self):
        """Until the cluster is whole, and stays so; seconds that it took."""
        began, missing = time.monotonic(), "?"
        while missing:
            self.check()
            try:
                missing = self.what_is_missing()
            except (OSError, ValueError, KeyError, RedisError) as error:  # an answer of a process that begins has no list
                missing = f"{type(error).__name__} {error}"
            assert not missing or time.monotonic() - began < WHOLE_S * min(patience(), MOST_PATIENCE), \
                f"not whole after {time.monotonic() - began:.1f} s without trouble: {missing}"
            time.sleep(0.1)
        took = time.monotonic() - began
        sessions = {name: publisher.session for name, publisher in self.publishers.items()}
        frames = {viewer: viewer.frames for viewer in self.viewers}
        wait_until(lambda: all(viewer.frames > frames[viewer] + 5 for viewer in self.viewers), 10, "all viewers see more of it")
        wait_until(lambda: max(viewer.delay for viewer in self.viewers) < BEHIND_S, 10, "no viewer stays behind")
        self.check()
        for name, publisher in self.publishers.items():
            assert publisher.session is sessions[name], f"{name} has lost its publisher again"
        for viewer in self.viewers:
            assert viewer.shows() == sessions[viewer.name_].number, f"a viewer of {viewer.name_} at {viewer.node.name} sees another one"
        return took

    # ---- the whole ----

    def round(self, seconds):
        """Trouble for that long, then none."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.trouble()
            pause = time.monotonic() + self.random.uniform(0.4, 1.4)
            while time.monotonic() < pause:
                self.undo_due(time.monotonic())
                self.check()
                time.sleep(0.05)
        self.heal()
        took = self.wait_whole()
        figures = " ".join(f"{node.name}: {mib:.0f} MiB {fds} fds {coroutines} coroutines, longest turn "
                           f"{node.metric('weir_media_thread_longest_turn_seconds') * 1000:.0f} ms;"
                           for node in self.nodes for mib, fds, coroutines in [usage(node)])
        self.say(f"== whole after {took:.1f} s; {figures} sessions {len(self.cluster.sessions.all)}, "
                 f"viewers' connections {sum(viewer.connections for viewer in self.viewers)}, troubles {self.counts}")

    def finish(self):
        """Everybody leaves: nothing may be left of it."""
        self.epochs.done.set()
        self.epochs.join()
        for client in (*self.publishers.values(), *self.viewers):
            client.end()
        wait_until(lambda: not self.records(), 15, "all names are free")
        for node in self.nodes:
            # One that was begun for a player who never came stays for as long as it could have waited (kSourceWait).
            wait_until(lambda: not node.pulls(), 10 + 5, f"{node.name} pulls nothing that nobody watches")
            # A stream whose publisher was lost to another node stays for a minute (Registry::kLostStay).
            wait_until(lambda: not node.clients() and not node.streams(), 75, f"{node.name} has no client and no stream")
            mib, fds, coroutines = self.idle[node.name]

            def has_let_go():
                now = usage(node)
                return now[1] <= fds + 3 * node.processes and now[2] <= coroutines + 2 * node.processes

            wait_until(has_let_go, 10, f"{node.name} has let go of everything: {usage(node)}, before {self.idle[node.name]}")
            assert usage(node)[0] < mib + MORE_MIB, f"{node.name} has grown: {usage(node)}, before {self.idle[node.name]}"
        self.check()


def run(folder, seed, seconds, log_path, processes=1):
    """Rounds for about so many seconds. Nodes of several processes: where a viewer is, nobody can say, so it may see anything
    again; what each process pulls is looked at all the same."""
    options = OPTIONS if processes == 1 else {**OPTIONS, "returns": ANY}
    with Cluster(folder, **options, processes=processes) as cluster:
        chaos = Chaos(cluster, seed, log_path)
        try:
            chaos.start()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                chaos.round(min(ROUND_S, max(end - time.monotonic(), 1)))
            chaos.finish()
        except BaseException as error:
            chaos.say(f"FAILED: {error}")
            raise
        finally:
            chaos.epochs.done.set()
