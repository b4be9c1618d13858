"""Plays an address by HLS as different players do, and checks every rule of hls_rules.py on the way."""

import gzip
import time
import urllib.error
import urllib.parse
import urllib.request

import hls_media
from hls_rules import MediaPlaylist, Multivariant, Report, is_multivariant

PATIENCE = 20  # s that an answer may take
TYPES = ("application/vnd.apple.mpegurl", "audio/mpegurl", "application/x-mpegurl")


def with_query(url, **query):
    for name, value in query.items():
        url += f"{'&' if '?' in url else '?'}{name}={value}"
    return url


class Source:
    """What an address gives."""

    def __init__(self, base, report):
        self.base, self.report = base, report

    def url(self, reference):
        return urllib.parse.urljoin(self.base, reference)

    def bytes(self, reference, span=None):
        """`span`: (length, offset)"""
        headers = {"Range": f"bytes={span[1]}-{span[1] + span[0] - 1}"} if span else {}
        with urllib.request.urlopen(urllib.request.Request(self.url(reference), headers=headers), timeout=PATIENCE) as answer:
            return answer.read()

    def list(self, **query):
        request = urllib.request.Request(with_query(self.base, **query), headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            kind = answer.headers.get_content_type()
            self.report.check("content-type", kind in TYPES, kind)
            data = answer.read()
            return gzip.decompress(data) if answer.headers.get("Content-Encoding") == "gzip" else data

    def status(self, **query):
        try:
            with urllib.request.urlopen(with_query(self.base, **query), timeout=PATIENCE) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code


class Variant:
    """One media playlist, read again and again."""

    def __init__(self, url, info, report):
        self.source, self.report = Source(url, report), report
        self.checker = hls_media.Checker(report, self.source.bytes, info)
        self.playlist = None
        self.done, self.left = set(), []  # addresses that were read; (when it was listed last, segment) that left the playlist
        self.read = 0.0  # when the playlist was
        self.turn = 0

    def ended(self):
        return self.playlist is not None and self.playlist.ended

    def reload(self):
        """One more reading, blocked where that is offered; each fifth is a delta update where there is one."""
        earlier, query = self.playlist, {}
        if earlier is not None and earlier.control.get("CAN-BLOCK-RELOAD") == "YES" and not earlier.ended:
            query["_HLS_msn"] = earlier.last() + 1
            if earlier.part_target:
                query["_HLS_part"] = len(earlier.open.parts)
        try:
            data = self.source.list(**query)
        except urllib.error.HTTPError as refused:
            if refused.code != 503 or not query:
                raise
            # What was asked for did not come within three target durations (§6.2.5.2): nobody publishes.
            query, data = {}, self.source.list()
        playlist = MediaPlaylist(data, self.report)
        if earlier is not None:
            playlist.follows(earlier)
            self.left += [(self.read, segment) for segment in earlier.segments if segment.number < playlist.sequence]
        self.read = time.monotonic()
        if query and not playlist.ended:
            there = playlist.last() >= query["_HLS_msn"] or len(playlist.open.parts) > query.get("_HLS_part", 1 << 30)
            self.report.check("blocking", there, f"{query}, but the last segment is {playlist.last()}")
        self.turn += 1
        if self.turn % 5 == 0 and "CAN-SKIP-UNTIL" in playlist.control and not playlist.ended:
            delta = MediaPlaylist(self.source.list(_HLS_skip="YES"), self.report, delta=True)
            delta.follows(playlist)
            whole = MediaPlaylist(self.source.list(), self.report)
            if delta.sequence == whole.sequence:
                delta.is_delta_of(whole, playlist)
        self.playlist = playlist

    def read_media(self):
        """What is new. The first reading begins at most three segments before the end of a live playlist."""
        playlist = self.playlist
        segments = playlist.segments
        if not self.done and not playlist.ended:
            segments = segments[-3:]
        for segment in [*segments, playlist.open]:
            if (segment.uri, segment.range) in self.done:
                continue
            for part in segment.parts:
                if part.uri not in self.done and not part.gap:
                    self.done.add(part.uri)
                    self.checker.part(segment, part)
            if segment.uri is not None and not segment.gap:
                self.done.add((segment.uri, segment.range))
                self.checker.segment(segment, "INDEPENDENT-SEGMENTS" in playlist.tags)

    def check_refusals(self):
        if self.playlist.control.get("CAN-BLOCK-RELOAD") != "YES" or self.playlist.ended:
            return
        code = self.source.status(_HLS_msn=self.playlist.last() + 10)
        self.report.check("blocking", code == 400, f"ten segments ahead: {code}")
        code = self.source.status(_HLS_part=0)
        self.report.check("blocking", code == 400, f"a part without a segment: {code}")

    def check_left(self):
        """Segments that have just left must still be there."""
        for _, segment in [each for each in self.left if time.monotonic() - each[0] < segment_life(each[1])][-2:]:
            try:
                self.report.check("stays", self.source.bytes(segment.uri), segment.uri)
            except urllib.error.HTTPError as refused:
                self.report.check("stays", False, f"{segment.uri}: {refused.code}")


def segment_life(segment):
    """Seconds for which it must be there since it was listed last: it has left later, and then stays as long as the playlist."""
    return 2 * (segment.duration or 0.0)


def examine(url, seconds, known=()):
    """Reads for so long, or to the end of what was recorded; the Report."""
    report = Report(known)
    first = Source(url, report)
    data = first.list()
    variants = [Variant(url, {}, report)]
    if is_multivariant(data):
        variants = [Variant(first.url(uri), info, report) for info, uri in Multivariant(data, report).variants]
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not all(variant.ended() and variant.done for variant in variants):
        blocked = False
        for variant in variants:
            variant.reload()
            variant.read_media()
            variant.check_left()
            blocked |= variant.playlist.control.get("CAN-BLOCK-RELOAD") == "YES"
        if not blocked:
            time.sleep(0.3)
    for variant in variants:
        variant.check_refusals()
    return report
