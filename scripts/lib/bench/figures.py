"""What the runs gave: rows, medians and spreads, and ratios between servers of the same round."""

from statistics import median
from typing import NamedTuple

# A row is a dictionary: case, policy, server, round, and the figures of the run, or "problem" and no figures.


class Spread(NamedTuple):
    median: float
    low: float
    high: float
    count: int


def spread(values):
    """Of the values that are there; None when there are none."""
    known = [value for value in values if value is not None]
    return Spread(median(known), min(known), max(known), len(known)) if known else None


class Results:
    def __init__(self, rows):
        self.rows = rows

    def of(self, case, policy, server):
        """The rows of one server in one group, without failed runs."""
        return [row for row in self.rows if (row["case"], row["policy"], row["server"]) == (case, policy, server)
                and "problem" not in row]

    def problems(self):
        return [row for row in self.rows if "problem" in row]

    def spread(self, case, policy, server, figure):
        return spread(row.get(figure) for row in self.of(case, policy, server))

    def median(self, case, policy, server, figure):
        found = self.spread(case, policy, server, figure)
        return found.median if found else None

    def ratio(self, case, policy, server, peers, figure):
        """Spread over the rounds of: the server's figure by the lowest of its peers' in the same round."""
        ratios = []
        for row in self.of(case, policy, server):
            others = [other.get(figure) for peer in peers for other in self.of(case, policy, peer)
                      if other["round"] == row["round"]]
            others = [value for value in others if value]
            if others and row.get(figure) is not None:
                ratios.append(row[figure] / min(others))
        return spread(ratios)

    def groups(self):
        """(case, policy) in the order of their first run, each with its servers."""
        found = {}
        for row in self.rows:
            servers = found.setdefault((row["case"], row["policy"]), [])
            if row["server"] not in servers:
                servers.append(row["server"])
        order = ["weir", "weir+idle", "weir+off", "weir+direct", "weir+processes", "weir+unix", "before", "floor", "nginx"]
        return {key: sorted(servers, key=order.index) for key, servers in found.items()}
