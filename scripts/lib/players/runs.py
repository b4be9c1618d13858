"""Runs one player on one format of one case: a long play, then cold starts."""

import contextlib
import itertools
import time
import urllib.error

from weir import wait_until
from web_players import PLAYERS, publish_many

from .cases import AWAY_SECONDS, CANNOT
from .target import target_of

FIRST_SECONDS = 12  # a start that takes longer has failed
COLD_AFTER_SECONDS = 20  # the server makes segments for 15 s after the last request
FAILED_STARTS = 2  # in a row, after which no more are tried


class Streams:
    """The streams of one case. next() gives one that nobody watches."""

    def __init__(self, case, server, folder, count, ffmpeg):
        self.case, self.server, self.folder, self.ffmpeg = case, server, folder, ffmpeg
        self.names = [f"s{number}" for number in range(count)]
        self.used = dict.fromkeys(self.names, float("-inf"))
        self.clips = case.sources()
        self.program, self.turn = None, 0

    def __enter__(self):
        self.publish()
        return self

    def __exit__(self, *_):
        self.program.end()

    def publish(self):
        if self.case.settings:
            sources, suffixes = self.clips, self.case.suffixes()
        else:
            sources, suffixes = [self.clips[self.turn % len(self.clips)]], ("",)
        urls = [(self.server.rtmp(f"live/{name}{suffix}"), place) for name in self.names for place, suffix in enumerate(suffixes)]
        self.program = publish_many(urls, self.folder, sources, name=f"publisher-{self.turn}", ffmpeg=self.ffmpeg).__enter__()
        self.turn += 1
        for name in self.names:
            self.server.wait_live(name)

    def again(self):
        """The publisher leaves, and comes back with the next clip."""
        self.program.end()
        time.sleep(AWAY_SECONDS)
        self.publish()

    def next(self):
        """Its address without a suffix, and its name."""
        name = min(self.names, key=self.used.get)
        time.sleep(max(0.0, self.used[name] + COLD_AFTER_SECONDS - time.monotonic()))
        return self.server.http(f"/live/{name}"), name

    def left(self, name):
        self.used[name] = time.monotonic()


class Run:
    def __init__(self, page, streams, args):
        self.page, self.streams, self.args = page, streams, args
        self.case = streams.case

    def row(self, player, form):
        """What the page has seen, as a dictionary for JSON."""
        row = {"player": player, "format": form, "state": None, "target_s": None, "step_s": 0.0, "cold_ms": [], "failed_starts": 0}
        with self.stream() as url:
            started = self.begin(player, form, url)
            if started:
                self.play(row, player, form, url)
            row["state"] = self.page.state()
            self.count(row, row["state"])
        if self.case.cold:
            for _ in itertools.repeat(None, self.args.cold - 1):
                if row["failed_starts"] >= FAILED_STARTS:
                    break
                with self.stream() as url:
                    self.begin(player, form, url)
                    self.count(row, self.page.state())
        return row

    def count(self, row, state):
        if state["first_ms"] is None:
            row["failed_starts"] += 1
        else:
            row["cold_ms"].append(state["first_ms"])

    @contextlib.contextmanager
    def stream(self):
        url, name = self.streams.next()
        try:
            yield url
        finally:
            self.page.leave()
            self.streams.left(name)

    def begin(self, player, form, url):
        """Whether the first frame comes in time."""
        self.page.begin(player, form, url, self.args.set.get(player), audio_only=not self.case.video)
        deadline = time.monotonic() + FIRST_SECONDS
        while time.monotonic() < deadline:
            if self.page.state()["first_ms"] is not None:
                return True
            time.sleep(0.1)
        return False

    def play(self, row, player, form, url):
        """Plays for --seconds. In the middle, the publisher or the quality changes. The delay counts when the player has settled."""
        began, half = time.monotonic(), self.args.seconds / 2
        settled = self.page.state()["first_ms"] + 1000 * min(5.0, self.args.seconds / 4)
        time.sleep(half)
        middle = self.page.state()
        row["levels"] = middle["levels"]
        if len(self.streams.clips) > 1:
            if self.case.settings and middle["levels"] > 1:
                small = middle["sizes"][-1:] == ["320x180"]
                self.page.choose(0 if small else 1)
            elif not self.case.settings:
                self.streams.again()
                settled = middle["samples"][-1][0] + 1000 * (time.monotonic() - began - half + min(5.0, self.args.seconds / 4)) \
                    if middle["samples"] else settled
                began += AWAY_SECONDS
        time.sleep(max(0.0, began + self.args.seconds - time.monotonic()))
        row["settled_ms"] = settled
        row["audio_bytes_before"] = middle["audio_bytes"]
        with contextlib.suppress(urllib.error.URLError, StopIteration, AttributeError):
            target = target_of(url, form)
            if target:
                row["target_s"], row["step_s"] = target.seconds, target.step


def plan(args, cases):
    """(case, player, format) in the order of the table."""
    return [(name, player, form) for name in args.cases for player in args.players
            for form in PLAYERS[player][0]
            if form in cases[name].formats and form in args.formats and (name, player) not in CANNOT]
