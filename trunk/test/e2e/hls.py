"""A reader of HLS playlists that checks them against the rules of RFC 8216 and of its successor's draft, and a plain player."""

import datetime
import re
import time
import urllib.error
import urllib.parse
import urllib.request

RULES = """
the first line is #EXTM3U (§4.3.1.1), no byte order mark, UTF-8, LF, no control characters (§4.1)
EXT-X-VERSION once, and high enough: 3 for decimal EXTINF, 6 for EXT-X-MAP, 9 for EXT-X-SKIP (§7)
EXT-X-TARGETDURATION once; each EXTINF, rounded, is not above it (§4.3.3.1)
EXT-X-MEDIA-SEQUENCE before the first segment, at most once (§4.3.3.2); DISCONTINUITY-SEQUENCE too (§4.3.3.3)
an address behind each EXTINF (§4.3.2.1), and no address without one
MP4 segments have an EXT-X-MAP before them (§3.3), and another one behind a discontinuity with other codecs
EXT-X-PROGRAM-DATE-TIME is an ISO 8601 time with a zone and milliseconds, and rises (§4.3.2.6)
a live playlist holds at least three target durations once it has lost a segment (§6.2.2)
EXT-X-PART only with EXT-X-PART-INF and CAN-BLOCK-RELOAD; DURATION at most PART-TARGET; at least 85 % of it but for the last
  of a segment and what a discontinuity ends (bis §4.4.4.9); parts of a segment are together as long as it
PART-HOLD-BACK at least twice, should be three times PART-TARGET (bis §4.4.3.8); CAN-SKIP-UNTIL at least six target durations
EXT-X-PRELOAD-HINT names a part that is not there yet (bis §4.4.5.3); none behind EXT-X-ENDLIST
EXT-X-RENDITION-REPORT names each other variant, once, in a playlist with parts (bis §4.4.5.4)
EXT-X-STREAM-INF has BANDWIDTH, at least AVERAGE-BANDWIDTH, and an address behind it (§4.3.4.2)
of two versions of a playlist: numbers go on, a segment keeps address and length, the target duration stays (§6.2.1, §6.2.2),
  the discontinuity sequence counts what has left (§6.2.2)
"""

ATTRIBUTE = re.compile(r'([A-Z0-9-]+)=("[^"]*"|[^",]*)(?:,|$)')


def attributes(text):
    found = {name: value.strip('"') for name, value in ATTRIBUTE.findall(text)}
    assert ",".join(m.group(0).rstrip(",") for m in ATTRIBUTE.finditer(text)) == text, f"attributes: {text}"
    return found


def check_text(data):
    text = data.decode("utf-8")
    assert text.startswith("#EXTM3U\n") and text.endswith("\n"), text[:80]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), "control characters"
    return text.splitlines()


class Segment:
    def __init__(self):
        self.uri = self.duration = self.date = self.map = None
        self.discontinuity = self.gap = False
        self.parts = []


class Media:
    """A media playlist, checked."""

    def __init__(self, data):
        lines = check_text(data)
        self.text = data.decode()
        self.tags, self.segments, self.hint, self.ended, self.skipped = {}, [], None, False, 0
        self.reports = []
        segment, header = Segment(), None
        for line in lines[1:]:
            name, _, value = line.partition(":")
            if name in ("#EXT-X-VERSION", "#EXT-X-TARGETDURATION", "#EXT-X-MEDIA-SEQUENCE", "#EXT-X-DISCONTINUITY-SEQUENCE",
                        "#EXT-X-SERVER-CONTROL", "#EXT-X-PART-INF", "#EXT-X-INDEPENDENT-SEGMENTS"):
                assert name not in self.tags and not self.segments and not segment.parts, f"{name} twice or too late"
                self.tags[name] = value
            elif name == "#EXT-X-MAP":
                header = attributes(value)["URI"]
            elif name == "#EXT-X-DISCONTINUITY":
                segment.discontinuity = True
            elif line == "#EXT-X-GAP":
                segment.gap = True
            elif name == "#EXT-X-PROGRAM-DATE-TIME":
                assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value), value
                segment.date = datetime.datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
            elif name == "#EXT-X-PART":
                part = attributes(value)
                segment.parts.append((part["URI"], float(part["DURATION"]), part.get("INDEPENDENT") == "YES"))
            elif name == "#EXTINF":
                assert segment.duration is None, "two EXTINF"
                segment.duration = float(value.split(",")[0])
            elif name == "#EXT-X-PRELOAD-HINT":
                assert self.hint is None
                self.hint = attributes(value)["URI"]
            elif name == "#EXT-X-ENDLIST":
                self.ended = True
            elif name == "#EXT-X-RENDITION-REPORT":
                report = attributes(value)
                assert int(report["LAST-MSN"]) > 0 and int(report["LAST-PART"]) >= 0, report
                self.reports.append(report["URI"])
            elif name == "#EXT-X-SKIP":
                self.skipped = int(attributes(value)["SKIPPED-SEGMENTS"])
            elif line.startswith("#"):
                raise AssertionError(f"a tag that nobody knows: {line}")
            else:
                assert segment.duration is not None, f"an address without EXTINF: {line}"
                segment.uri, segment.map = line, header
                self.segments.append(segment)
                segment = Segment()
        self.open = segment
        assert segment.duration is None, "EXTINF without an address"
        self.target = int(self.tags["#EXT-X-TARGETDURATION"])
        self.sequence = int(self.tags.get("#EXT-X-MEDIA-SEQUENCE", 0))
        self.part_target = float(attributes(self.tags["#EXT-X-PART-INF"])["PART-TARGET"]) if "#EXT-X-PART-INF" in self.tags else None
        self.check()

    def check(self):
        version = int(self.tags["#EXT-X-VERSION"])
        assert version >= (9 if self.skipped else 6 if any(s.map for s in self.segments) else 3), version
        dates = [s.date for s in self.segments if s.date is not None]
        assert dates == sorted(dates), dates
        for segment in self.segments:
            assert int(segment.duration + 0.5) <= self.target, (segment.duration, self.target)
            assert self.skipped or segment.map or not segment.uri.split("?")[0].endswith(".m4s"), "no EXT-X-MAP"
            if segment.parts:
                total = sum(part[1] for part in segment.parts)
                assert abs(total - segment.duration) < 0.01, (total, segment.duration)
        every = [*self.segments, self.open]
        assert self.part_target or not any(s.parts for s in every), "parts without EXT-X-PART-INF"
        for at, segment in enumerate(every):
            ends = at + 1 < len(every)
            for index, (_, duration, _) in enumerate(segment.parts):
                assert duration <= self.part_target + 0.0005, (duration, self.part_target)
                last = ends and index == len(segment.parts) - 1
                assert last or duration >= 0.85 * self.part_target, (index, duration, self.part_target)
        if self.part_target:
            control = attributes(self.tags["#EXT-X-SERVER-CONTROL"])
            assert control["CAN-BLOCK-RELOAD"] == "YES"
            assert float(control["PART-HOLD-BACK"]) >= 3 * self.part_target - 0.001, control
            assert float(control["CAN-SKIP-UNTIL"]) >= 6 * self.target, control
            named = {part[0] for s in every for part in s.parts}
            assert (self.hint is None) == self.ended and self.hint not in named, self.hint

    def last(self):
        """Number of the last complete segment."""
        return self.sequence + self.skipped + len(self.segments) - 1

    def check_follows(self, earlier):
        assert self.sequence >= earlier.sequence, (self.sequence, earlier.sequence)
        assert self.last() >= earlier.last()
        assert self.target == earlier.target, (earlier.target, self.target)
        old = {earlier.sequence + i: s for i, s in enumerate(earlier.segments)}
        for number, segment in ((self.sequence + i, s) for i, s in enumerate(self.segments)):
            if number in old and not self.skipped:
                assert (segment.uri, segment.duration, segment.discontinuity) == \
                    (old[number].uri, old[number].duration, old[number].discontinuity), number
        gone = sum(s.discontinuity for n, s in old.items() if n < self.sequence)
        before, after = (int(p.tags.get("#EXT-X-DISCONTINUITY-SEQUENCE", 0)) for p in (earlier, self))
        assert after == before + gone, (before, gone, after)
        if self.sequence > earlier.sequence:
            assert sum(s.duration for s in self.segments) >= 3 * self.target - 0.5, "the window is too short"


class Multivariant:
    def __init__(self, data):
        lines = check_text(data)
        self.variants = []
        for at, line in enumerate(lines):
            if line.startswith("#EXT-X-STREAM-INF:"):
                info, uri = attributes(line.partition(":")[2]), lines[at + 1]
                assert not uri.startswith("#") and uri
                assert int(info["BANDWIDTH"]) >= int(info.get("AVERAGE-BANDWIDTH", 0)), info
                self.variants.append((info, uri))
        self.info, self.uri = self.variants[0]


def fetch(url, seconds=20, **headers):
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=seconds)


def status_of(url, seconds=20, **headers):
    try:
        with fetch(url, seconds, **headers) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


class Viewer:
    """Begins with the multivariant playlist; reads and checks media playlists."""

    def __init__(self, url, seconds=20, variant=0):
        with fetch(url, seconds) as answer:
            assert answer.headers["Content-Type"] == "application/vnd.apple.mpegurl"
            self.multivariant = Multivariant(answer.read())
        self.list_url = urllib.parse.urljoin(url, self.multivariant.variants[variant][1])
        self.playlist = None

    def reload(self, **query):
        url = self.list_url
        for name, value in query.items():
            url += ("&" if "?" in url else "?") + f"{name}={value}"
        with fetch(url) as answer:
            playlist = Media(answer.read())
        if self.playlist is not None:
            playlist.check_follows(self.playlist)
        self.playlist = playlist
        return playlist

    def get(self, uri):
        with fetch(urllib.parse.urljoin(self.list_url, uri)) as answer:
            return answer.read()

    def record(self, path, seconds, parts=False):
        """Reads segments, or parts as low-latency players do, one behind the other; the file begins with the header."""
        playlist = self.reload()
        deadline, seen, delays = time.monotonic() + seconds, set(), []
        with open(path, "wb") as out:
            header = None
            while time.monotonic() < deadline:
                every = [*playlist.segments, *([playlist.open] if parts else [])]
                for segment in every:
                    for uri in [part[0] for part in segment.parts] if parts and segment.parts else [segment.uri]:
                        if uri is None or uri in seen:
                            continue
                        name = segment.map or (playlist.segments[-1].map if playlist.segments else None)
                        if name and name != header:
                            header = name
                            out.write(self.get(name))
                        seen.add(uri)
                        out.write(self.get(uri))
                if parts:
                    number, part = re.match(r"(\d+)\.(\d+)\.", playlist.hint).groups()
                    asked = time.monotonic()
                    playlist = self.reload(_HLS_msn=number, _HLS_part=part)
                    delays.append(time.monotonic() - asked)
                else:
                    time.sleep(0.3)
                    playlist = self.reload()
        return delays
