#!/usr/bin/env python3
"""How far a cluster reaches: what 10, 100 and 1,000 nodes ask of the registry and of each other.

  trunk/bench/scaling/simulate.py            prints the tables of doc/scaling.md
  trunk/bench/scaling/simulate.py --write    puts them into that page
  trunk/bench/scaling/simulate.py --check    fails when the page has others

A steady state is computed; failures are simulated, event by event, with a fixed seed, so that every run gives the same.
"""

import argparse
import heapq
import math
import random
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "doc" / "scaling.md"
BEGIN, END = "<!-- simulate.py: {} -->", "<!-- end -->"
SEED = 19

# What a site is.
NODES = (10, 100, 1_000)
STREAMS = 200            # published at each node
VIEWERS = 1_000          # at each node
STREAM_MBIT = 2.0
GOP_S = 2.0              # a pull begins at the newest key frame
ZIPF = 1.0               # how viewers choose among all streams: the k-th has 1/k of the first
WATCH_S = 600.0          # how long a viewer stays
PUBLISH_S = 3_600.0      # how long a publisher stays

# What the design says (reference: directives of cluster { }, trunk/src/proto/cluster/).
HEARTBEAT_S = 1.0
RENEW_S = 20.0
LEASE_S = 5.0
LINGER_S = 10.0
INPUT_TIMEOUT_S = 3.0
PULL_BACKOFF_S = (0.1, 3.0)   # the first, the longest; doubled, and shortened at random by up to a half
REDIS_BACKOFF_S = 1.0         # the longest, likewise
RECORD_BYTES = 200            # of a stream in Redis
EVENT_BYTES = 120             # with its frame

# Microseconds of Redis' processor time (redis_cost.py).
COST_US = {"heartbeat": 8.5, "claim": 13.5, "renew": 3.0, "restore": 4.0, "lookup": 11.5, "event": 7.0}

# Processor time of both ends of a relay over TCP, a half each, and links.
RELAY_CPU_S_PER_GBIT = 0.69 / 2
PUBLISHER_RETRY_S = 2.0


def harmonic(count):
    return sum(1 / rank ** ZIPF for rank in range(1, count + 1))


def viewers_by_rank(nodes):
    """Of each stream of the cluster, the most popular first."""
    streams, viewers = nodes * STREAMS, nodes * VIEWERS
    first = viewers / harmonic(streams)
    return [first / rank ** ZIPF for rank in range(1, streams + 1)]


def edges_of(viewers, nodes):
    """Nodes beside the origin that have one of so many viewers, who are spread at random."""
    return (nodes - 1) * -math.expm1(viewers * math.log1p(-1 / nodes))


class Steady:
    """A cluster in which nothing fails."""

    def __init__(self, nodes):
        self.nodes = nodes
        popularity = viewers_by_rank(nodes)
        self.most = popularity[0]
        self.pulls = sum(edges_of(viewers, nodes) for viewers in popularity)
        per_edge = [viewers / nodes for viewers in popularity]
        # A pull begins when a viewer comes to a node that has nobody else of that stream, and does not linger either.
        begins = sum((nodes - 1) * mean / WATCH_S * math.exp(-mean * (1 + LINGER_S / WATCH_S)) for mean in per_edge)
        publishers = nodes * STREAMS
        self.rates = {"heartbeat": nodes / HEARTBEAT_S, "renew": publishers / RENEW_S, "claim": 2 * publishers / PUBLISH_S,
                      "lookup": begins}
        self.events = 2 * publishers / PUBLISH_S * nodes
        self.redis = (sum(COST_US[name] * rate for name, rate in self.rates.items()) + COST_US["event"] * self.events) / 1e6

    def row(self):
        rate = self.rates
        return [f"{self.nodes:,}", f"{self.nodes * STREAMS:,}", f"{rate['heartbeat']:,.0f}", f"{rate['renew']:,.0f}",
                f"{rate['claim']:,.1f}", f"{rate['lookup']:,.0f}", f"{self.events:,.0f}", f"{self.events * EVENT_BYTES * 8 / 1e6:,.1f}",
                f"{self.redis:.1%}", f"{self.nodes * STREAMS * RECORD_BYTES / 1e6:,.1f}"]


def relay_row(nodes):
    steady = Steady(nodes)
    per_node = steady.pulls / nodes
    hottest = edges_of(steady.most, nodes)
    gbit = hottest * STREAM_MBIT / 1000
    return [f"{nodes:,}", f"{per_node:,.0f}", f"{per_node * STREAM_MBIT / 1000:.2f}", f"{VIEWERS * STREAM_MBIT / 1000:.2f}",
            f"{steady.most:,.0f}", f"{hottest:,.0f}", f"{gbit:.2f}", f"{gbit * RELAY_CPU_S_PER_GBIT:.2f}",
            f"{gbit * GOP_S / 8 * 1000:,.0f}"]


def tree_rows():
    """One stream that every node wants."""
    for nodes in (*NODES, 2_000, 5_000):
        edges = nodes - 1
        parents = math.ceil(math.sqrt(edges))
        children = math.ceil((edges - parents) / parents)
        flat, tree = edges * STREAM_MBIT / 1000, max(parents, children) * STREAM_MBIT / 1000
        yield [f"{nodes:,}", f"{edges:,}", f"{flat:.2f}", f"{flat * RELAY_CPU_S_PER_GBIT:.2f}", f"{parents:,} x {children:,}",
               f"{tree:.3f}", f"{tree * RELAY_CPU_S_PER_GBIT:.3f}"]


class Events:
    """What happens, in order of time."""

    def __init__(self):
        self.queue, self.number, self.now = [], 0, 0.0

    def at(self, when, what, *arguments):
        self.number += 1
        heapq.heappush(self.queue, (when, self.number, what, arguments))

    def run(self):
        while self.queue:
            self.now, _, what, arguments = heapq.heappop(self.queue)
            what(*arguments)


def backoffs(chance):
    wait = PULL_BACKOFF_S[0]
    while True:
        yield wait * chance.uniform(0.5, 1)
        wait = min(wait * 2, PULL_BACKOFF_S[1])


class Failover:
    """A node ends at once, with the hottest stream and STREAMS - 1 others. Its publishers come back at other nodes, edges look for
    them, and its viewers go elsewhere. `silent`: the machine is gone and nobody is told; else connections are reset."""

    def __init__(self, nodes, silent, takeover):
        self.chance = random.Random(SEED)
        self.events, self.nodes, self.silent, self.takeover = Events(), nodes, silent, takeover
        popularity = viewers_by_rank(nodes)
        others = self.chance.sample(range(1, len(popularity)), STREAMS - 1)
        self.lease_end = LEASE_S - self.chance.uniform(0, HEARTBEAT_S)
        self.asked = []       # (when, "claim" or "lookup")
        self.back = {}        # stream -> when it was published again
        self.waiting = {}     # stream -> edges that look for it
        self.pulled = []      # when each edge had it again
        for stream, rank in enumerate([0, *others]):
            self.begin(stream, popularity[rank])
        # Whoever watched at the dead node goes to another one. At most: none of their streams is pulled there yet.
        for _ in range(VIEWERS):
            self.events.at(self.chance.uniform(0.2, 3), self.ask, "lookup")
        self.events.run()

    def begin(self, stream, viewers):
        count = min(self.nodes - 1, self.poisson(edges_of(viewers, self.nodes)))
        self.waiting[stream] = set(range(count))
        for edge in range(count):
            notices = INPUT_TIMEOUT_S - self.chance.uniform(0, 0.04) if self.silent else self.chance.uniform(0, 0.005)
            self.events.at(notices, self.look, stream, edge, backoffs(self.chance))
        first = self.chance.uniform(0.2, 1) * PUBLISHER_RETRY_S + (INPUT_TIMEOUT_S if self.silent else 0)
        self.events.at(first, self.publish, stream)

    def poisson(self, mean):
        if mean > 50:
            return max(0, round(self.chance.gauss(mean, math.sqrt(mean))))
        limit, product, count = math.exp(-mean), self.chance.random(), 0
        while product > limit:
            product *= self.chance.random()
            count += 1
        return count

    def ask(self, what):
        self.asked.append((self.events.now, what))

    def publish(self, stream):
        self.ask("claim")
        if not self.takeover and self.events.now < self.lease_end:
            self.events.at(self.events.now + PUBLISHER_RETRY_S * self.chance.uniform(0.8, 1.2), self.publish, stream)
            return
        self.back[stream] = self.events.now
        for edge in sorted(self.waiting[stream]):  # the event wakes them
            self.events.at(self.events.now + self.chance.uniform(0.001, 0.01), self.look, stream, edge, None)

    def look(self, stream, edge, pauses):
        if edge not in self.waiting[stream]:
            return
        self.ask("lookup")
        if stream in self.back:
            self.waiting[stream].remove(edge)
            self.pulled.append(self.events.now)
        elif pauses is not None:
            self.events.at(self.events.now + next(pauses), self.look, stream, edge, pauses)

    def peak(self):
        """(commands in the busiest 100 ms, as a rate; share of Redis then)"""
        slots = {}
        for when, what in self.asked:
            slots.setdefault(int(when * 10), []).append(what)
        busiest = max(slots.values(), key=len)
        cost = sum(COST_US[what] for what in busiest)
        claims = sum(what == "claim" for what in busiest)
        return len(busiest) * 10, (cost + claims * self.nodes * COST_US["event"]) * 10 / 1e6

    def row(self):
        claims = sum(what == "claim" for _, what in self.asked)
        peak, share = self.peak()
        back, pulled = sorted(self.back.values()), sorted(self.pulled)
        return [f"{self.nodes:,}", ("silence" if self.silent else "reset") + (", takeover" if self.takeover else ""), f"{len(pulled):,}",
                f"{claims:,}", f"{len(self.asked) - claims:,}", f"{peak:,}", f"{share:.1%}", f"{quantile(back, 0.5):.1f}",
                f"{back[-1]:.1f}", f"{quantile(pulled, 0.99):.1f}"]


def quantile(values, share):
    return values[min(len(values) - 1, int(len(values) * share))]


def return_row(nodes):
    """Redis was away, and is back, empty: every node comes at a time of its own and writes all of its records."""
    chance = random.Random(SEED)
    comes = sorted(chance.uniform(0, REDIS_BACKOFF_S * chance.uniform(0.5, 1)) for _ in range(nodes))
    free, done, busy = 0.0, [], 0.0
    for when in comes:
        work = (COST_US["heartbeat"] + STREAMS * COST_US["restore"]) / 1e6
        free = max(free, when) + work
        busy += work
        done.append(free)
    return [f"{nodes:,}", f"{nodes * STREAMS:,}", f"{busy:.2f}", f"{quantile(done, 0.5):.2f}", f"{quantile(done, 0.99):.2f}", f"{done[-1]:.2f}"]


def limit_rows():
    """Where one Redis ends: the number of nodes at which half of its core is used, by what grows fastest."""
    def most_nodes(streams, events):
        def load(nodes):
            publishers = nodes * streams
            changes = 2 * publishers / PUBLISH_S
            cost = nodes * COST_US["heartbeat"] + publishers / RENEW_S * COST_US["renew"] + changes * COST_US["claim"]
            cost += nodes * VIEWERS / WATCH_S * COST_US["lookup"]  # at most: each viewer is the first of its stream
            return (cost + (changes * nodes * COST_US["event"] if events else 0)) / 1e6
        low, high = 1, 1_000_000
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if load(middle) <= 0.5 else (low, middle - 1)
        return low
    for streams in (20, STREAMS, 2_000):
        yield [f"{streams:,}", f"{most_nodes(streams, True):,}", f"{most_nodes(streams, False):,}",
               f"{most_nodes(streams, True) * streams:,}"]


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows)])


def tables():
    failovers = [(silent, takeover) for silent in (False, True) for takeover in (False, True)]
    return {
        "registry": table(["nodes", "streams", "heartbeats/s", "renewals/s", "claims and releases/s", "lookups/s", "events/s, to all nodes",
                           "Mbit/s of events", "Redis' core", "MB in Redis"], [Steady(nodes).row() for nodes in NODES]),
        "relays": table(["nodes", "pulls per node", "Gbit/s of these, in and out", "Gbit/s to viewers", "viewers of the first stream",
                         "its pulls", "Gbit/s from its origin", "cores there", "MB there if all begin at once"], map(relay_row, NODES)),
        "trees": table(["nodes", "pulls from the origin", "Gbit/s", "cores", "in two hops", "Gbit/s at each", "cores at each"], tree_rows()),
        "failover": table(["nodes", "the node's end", "edges that pulled from it", "claims", "lookups", "most commands/s", "Redis' core then",
                           "half of the streams back, s", "all", "99 % of the edges have them, s"],
                          [Failover(nodes, *how).row() for nodes in NODES for how in failovers]),
        "return": table(["nodes", "records", "Redis works, s", "half of the nodes, s", "99 %", "all"], map(return_row, NODES)),
        "limit": table(["streams per node", "nodes, with events to all", "nodes, without", "streams, with events"], limit_rows()),
    }


def filled(page, made):
    for name, text in made.items():
        begin = page.index(BEGIN.format(name)) + len(BEGIN.format(name))
        page = page[:begin] + "\n" + text + "\n" + page[page.index(END, begin):]
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="into doc/scaling.md")
    parser.add_argument("--check", action="store_true", help="fail when doc/scaling.md has other tables")
    args = parser.parse_args()
    made = tables()
    if args.write or args.check:
        page = PAGE.read_text()
        if args.check and filled(page, made) != page:
            sys.exit(f"simulate.py: the tables of {PAGE.name} are not those of the program: simulate.py --write")
        PAGE.write_text(filled(page, made)) if args.write else None
    else:
        print("\n\n".join(f"{name}:\n\n{text}" for name, text in made.items()))


if __name__ == "__main__":
    main()
