"""The rules of HLS that a server can break, each with its section, and a check of each.

Sections are those of draft-pantos-hls-rfc8216bis, which holds all of RFC 8216 under other numbers. `must` is a failure, `should` a
warning. By hand, of a running server, live or recorded: `python hls_rules.py URL [SECONDS]`.
"""

import datetime
import re
import sys

# name: (section, level, what it says)
RULES = {
    # The text.
    "text": ("4.1", "must", "UTF-8 without a byte order mark and control characters, lines end with LF or CR LF"),
    "first-line": ("4.4.1.1", "must", "the first line is #EXTM3U"),
    "known-tags": ("4.4", "should", "no #EXT tag that the draft does not have"),
    "one-kind": ("4.1", "must", "no tags of media and of multivariant playlists in one playlist"),
    "attributes": ("4.2", "must", "attribute lists are well formed, and name an attribute once"),
    "once": ("4.4.3", "must", "tags of the whole playlist stand once"),
    "version": ("8", "must", "EXT-X-VERSION is there where needed, and as high as the tags that are used"),
    # Media playlists.
    "target": ("4.4.3.1", "must", "EXT-X-TARGETDURATION is there; each EXTINF, rounded, is not above it"),
    "media-sequence": ("4.4.3.2", "must", "EXT-X-MEDIA-SEQUENCE stands before the first segment"),
    "discontinuity-sequence": ("4.4.3.3", "must", "EXT-X-DISCONTINUITY-SEQUENCE stands before the first segment and discontinuity"),
    "extinf": ("4.4.4.1", "must", "one EXTINF before each address"),
    "byterange": ("4.4.4.2", "must", "EXT-X-BYTERANGE without offset goes on behind a range of the same resource"),
    "map": ("3.1.2", "must", "segments of MP4 have an EXT-X-MAP, with an address"),
    "date": ("4.4.4.6", "must", "EXT-X-PROGRAM-DATE-TIME is an ISO 8601 time, should have a zone and milliseconds, and rises between discontinuities"),
    "date-lengths": ("4.4.4.6", "should", "dates advance by the lengths of the segments between discontinuities, to 0.5 s"),
    "playlist-type": ("4.4.3.5", "must", "EXT-X-PLAYLIST-TYPE is EVENT or VOD; VOD has an end"),
    "window": ("6.2.2", "must", "a live playlist that lost a segment is three target durations long at least"),
    "key": ("4.4.4.4", "must", "EXT-X-KEY: a method that exists; NONE alone, else an address; IV of 128 bits"),
    "map-key": ("4.4.4.5", "must", "an EXT-X-MAP that AES-128 encrypts has an IV"),
    "daterange": ("4.4.5.1", "must", "EXT-X-DATERANGE has ID and START-DATE, an end not before it, and no negative duration"),
    # Low latency.
    "part-inf": ("4.4.3.7", "must", "parts need EXT-X-PART-INF with PART-TARGET"),
    "part-length": ("4.4.3.7", "must", "a part is not longer than PART-TARGET"),
    "part-least": ("4.4.3.7", "must", "it has 85 % of it, but for the last of a segment, gaps, and what a discontinuity ends"),
    "part-sum": ("4.4.4.9", "must", "the parts of a segment are as long as the segment"),
    "part-old": ("4.4.4.9", "should", "parts leave the playlist three target durations before its end, or soon after"),
    "server-control": ("4.4.3.8", "must", "with parts: PART-HOLD-BACK of two PART-TARGETs; HOLD-BACK of three targets; CAN-SKIP-UNTIL of six"),
    "hold-back": ("B.1", "should", "PART-HOLD-BACK is three PART-TARGETs at least; CAN-BLOCK-RELOAD and EXT-X-PROGRAM-DATE-TIME are there"),
    "hint": ("4.4.5.3", "must", "EXT-X-PRELOAD-HINT: PART or MAP with an address, one of a type, of what is not in the playlist, none at the end"),
    "report": ("4.4.5.4", "must", "EXT-X-RENDITION-REPORT: a relative address, once; LAST-MSN, and LAST-PART with parts"),
    "skip": ("4.4.5.2", "must", "EXT-X-SKIP only where it was asked for; behind it six target durations and more are left"),
    # Two readings of a playlist.
    "sequence-grows": ("6.2.2", "must", "the media sequence, and the number of the last segment, never go back"),
    "segments-stay": ("6.2.1", "must", "a segment never changes: address, length, discontinuity, header, key, parts"),
    "target-constant": ("6.2.1", "must", "the target duration never changes"),
    "discontinuities-counted": ("6.2.2", "must", "the discontinuity sequence counts the discontinuities that have left"),
    "ended": ("6.2.1", "must", "nothing changes behind EXT-X-ENDLIST"),
    "hint-kept": ("6.2.2", "should", "the part that a hint named is the next one that comes"),
    "delta": ("6.2.5.1", "must", "a delta update and what was read before make the whole playlist"),
    # Multivariant playlists.
    "stream-inf": ("4.4.6.2", "must", "EXT-X-STREAM-INF: BANDWIDTH, not under AVERAGE-BANDWIDTH, an address behind it; forms of RESOLUTION, FRAME-RATE"),
    "codecs": ("4.4.6.2", "should", "EXT-X-STREAM-INF has CODECS, and with video RESOLUTION and FRAME-RATE"),
    "media": ("4.4.6.1", "must", "EXT-X-MEDIA: TYPE, GROUP-ID, NAME; a name is once in a group, DEFAULT too; DEFAULT is AUTOSELECT"),
    "captions": ("4.4.6.1", "must", "CLOSED-CAPTIONS: INSTREAM-ID CC1 to 4 or SERVICE1 to 63, no address; SUBTITLES have an address"),
    "groups": ("4.4.6.2", "must", "AUDIO, VIDEO, SUBTITLES, CLOSED-CAPTIONS of a variant name a group that is there; NONE holds for all"),
    # HTTP, and the media itself (hls_media.py).
    "content-type": ("4", "must", "playlists come as application/vnd.apple.mpegurl or audio/mpegurl"),
    "blocking": ("6.2.5.2", "must", "a blocked reload has what was asked for; far ahead is a 400; a part without a segment too"),
    "stays": ("6.2.2", "must", "a segment that left the playlist can be had for as long as it and the playlist last"),
    "m-fragment": ("3.1.2", "must", "MP4: a header with ftyp and moov; fragments with tfdt, moof-relative offsets, and tracks of the header"),
    "m-ts": ("3.1.1", "must", "a segment of a transport stream is whole packets, and begins with PAT and PMT"),
    "m-extinf": ("4.4.4.1", "must", "the media is as long as EXTINF says, to 0.1 s"),
    "m-part": ("4.4.4.9", "must", "a part is as long as it says; with INDEPENDENT=YES it begins with a key frame"),
    "m-whole": ("4.4.4.9", "must", "the parts of a segment have the bytes of the segment"),
    "m-independent": ("4.4.2.1", "must", "with EXT-X-INDEPENDENT-SEGMENTS each segment begins with a key frame"),
    "m-times": ("4.4.4.3", "must", "times go on from segment to segment, but for a discontinuity"),
    "m-codecs": ("4.4.6.2", "must", "CODECS names the codecs that are there"),
    "m-bandwidth": ("4.4.6.2", "should", "no segment has more than 1.25 times BANDWIDTH"),
    "m-key": ("4.4.4.4", "must", "a key has 16 octets; what AES-128 encrypts is whole blocks with PKCS7 at the end"),
}

WHOLE = ("VERSION", "TARGETDURATION", "MEDIA-SEQUENCE", "DISCONTINUITY-SEQUENCE", "PLAYLIST-TYPE", "PART-INF", "SERVER-CONTROL",
         "INDEPENDENT-SEGMENTS", "I-FRAMES-ONLY", "ENDLIST", "SKIP")
OF_MEDIA = {*WHOLE, "BYTERANGE", "DISCONTINUITY", "KEY", "MAP", "PROGRAM-DATE-TIME", "GAP", "BITRATE", "PART", "DATERANGE",
            "PRELOAD-HINT", "RENDITION-REPORT", "EXTINF"} - {"VERSION", "INDEPENDENT-SEGMENTS"}
OF_VARIANTS = {"MEDIA", "STREAM-INF", "I-FRAME-STREAM-INF", "SESSION-DATA", "SESSION-KEY", "CONTENT-STEERING"}
OF_BOTH = {"VERSION", "INDEPENDENT-SEGMENTS", "START", "DEFINE"}
ATTRIBUTE = re.compile(r'([A-Z0-9-]+)=("[^"\r\n]*"|[^",\s][^",]*)(?:,(?=[A-Z])|$)')
MP4 = (".m4s", ".mp4", ".cmfv", ".cmfa")


class Report:
    """What was checked how often, and what failed. `known`: rules whose failures are listed as exceptions."""

    def __init__(self, known=()):
        self.known = set(known)
        self.checked, self.failed = dict.fromkeys(RULES, 0), {}

    def check(self, rule, holds, detail=""):
        self.checked[rule] += 1
        if not holds:
            self.failed.setdefault(rule, []).append(str(detail))
        return bool(holds)

    def errors(self):
        return {rule: seen for rule, seen in self.failed.items() if RULES[rule][1] == "must" and rule not in self.known}

    def warnings(self):
        return {rule: seen for rule, seen in self.failed.items() if RULES[rule][1] == "should" and rule not in self.known}

    def unchecked(self):
        return [rule for rule, count in self.checked.items() if count == 0]

    def text(self):
        lines = []
        for rule, (section, level, what) in RULES.items():
            seen = self.failed.get(rule, [])
            state = ("not checked" if not self.checked[rule] else "holds" if not seen else
                     "exception" if rule in self.known else "FAILS" if level == "must" else "warning")
            lines.append(f"{state:11} {self.checked[rule]:6}  §{section:8} {rule:24} {what}")
            lines += [f"{'':20}{detail[:300]}" for detail in seen[:3]]
            lines += [f"{'':20}and {len(seen) - 3} more"] if len(seen) > 3 else []
        return "\n".join(lines)


def attributes(text, report):
    """The attributes of a tag. Values of strings come without their quotes; which had some is not told."""
    found, at = {}, 0
    while at < len(text):
        match = ATTRIBUTE.match(text, at)
        if not report.check("attributes", match and match[1] not in found, text):
            break
        found[match[1]] = match[2].strip('"')
        at = match.end()
    report.check("attributes", text != "", "an empty list")
    return found


def lines_of(data, report):
    """(name without #EXT-X-, value) of each tag, (None, address) of each address."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        report.check("text", False, error)
        text = data.decode("utf-8", "replace")
    report.check("text", not re.search("[\0-\x09\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\ufeff]", text) and not re.search("\r(?!\n)", text), text[:40])
    lines = text.splitlines()
    report.check("first-line", lines[:1] == ["#EXTM3U"], lines[:1])
    for line in lines[1:]:
        if line.startswith("#EXT"):
            name, _, value = line.partition(":")
            name = name.removeprefix("#EXT-X-").removeprefix("#")
            report.check("known-tags", name in OF_MEDIA | OF_VARIANTS | OF_BOTH, line)
            yield name, value
        elif line and not line.startswith("#"):
            yield None, line


def number(text, kind=float):
    """The value of a number, None for what is none."""
    form = r"\d{1,20}" if kind is int else r"-?\d+(\.\d+)?"
    return kind(text) if text is not None and re.fullmatch(form, text) else None


def date_of(text):
    """Seconds since 1970, None for what is no time of ISO 8601 with a zone."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\d*(Z|[+-]\d\d:?\d\d)", text or ""):
        return None
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


class Part:
    def __init__(self, found):
        self.uri, self.duration = found.get("URI"), number(found.get("DURATION")) or 0.0
        self.independent, self.gap = found.get("INDEPENDENT") == "YES", found.get("GAP") == "YES"

    def __eq__(self, other):
        return vars(self) == vars(other)


class Segment:
    def __init__(self):
        self.uri = self.duration = self.date = self.map = self.map_range = self.key = None
        self.range = None  # (length, offset)
        self.number = 0
        self.discontinuity = self.gap = False
        self.parts = []

    def what(self):
        return self.uri, self.duration, self.discontinuity, self.map, self.map_range, self.key and self.key["TEXT"], self.range


class MediaPlaylist:
    """A media playlist as it was read; `open` is the segment that is not complete. `delta`: a delta update was asked for."""

    def __init__(self, data, report, delta=False):
        self.report, self.delta = report, delta
        self.text = data.decode("utf-8", "replace")
        self.tags, self.segments, self.hints, self.reports, self.ended, self.skipped = {}, [], {}, [], False, 0
        self.open = Segment()
        self.needs = 1  # version
        self.header = self.header_range = self.key = None
        self.last_range = None  # (address, end)
        for name, value in lines_of(data, report):
            self.take(name, value)
        report.check("extinf", self.open.duration is None, "EXTINF without an address")
        if not self.segments:
            self.take_headers()
        self.target = number(self.tags.get("TARGETDURATION"), int) or 0
        self.sequence = number(self.tags.get("MEDIA-SEQUENCE", "0"), int) or 0
        self.discontinuity_sequence = number(self.tags.get("DISCONTINUITY-SEQUENCE", "0"), int) or 0
        self.control = attributes(self.tags["SERVER-CONTROL"], report) if "SERVER-CONTROL" in self.tags else {}
        self.part_target = number(attributes(self.tags["PART-INF"], report).get("PART-TARGET")) if "PART-INF" in self.tags else None
        for at, segment in enumerate([*self.segments, self.open]):
            segment.number = self.sequence + self.skipped + at
        self.hint = self.hints.get("PART")
        self.check()

    # ---- reading ----

    def take(self, name, value):
        report, segment = self.report, self.open
        begun = bool(self.segments or segment.parts or segment.duration is not None)
        if name in OF_VARIANTS:
            report.check("one-kind", False, name)
        elif name in WHOLE:
            report.check("once", name not in self.tags, name)
            self.tags.setdefault(name, value)
            if name == "MEDIA-SEQUENCE":
                report.check("media-sequence", not begun, "too late")
                report.check("media-sequence", number(value, int) is not None, value)
            elif name == "DISCONTINUITY-SEQUENCE":
                report.check("discontinuity-sequence", not begun and not segment.discontinuity, "too late")
                report.check("discontinuity-sequence", number(value, int) is not None, value)
            elif name == "SKIP":
                self.skipped = number(attributes(value, report).get("SKIPPED-SEGMENTS"), int) or 0
                report.check("skip", self.delta and self.skipped > 0 and not begun, value)
                self.needs = max(self.needs, 9)
            self.ended |= name == "ENDLIST"
        elif name is None:
            report.check("extinf", segment.duration is not None, f"an address without EXTINF: {value}")
            segment.uri, segment.duration = value, segment.duration or 0.0
            self.take_headers()
            self.end_range()
            self.segments.append(segment)
            self.open = Segment()
        else:
            reader = getattr(self, "take_" + name.lower().replace("-", "_"), None)
            if reader:
                reader(value)

    def take_extinf(self, value):
        length = value.split(",")[0]
        self.report.check("extinf", self.open.duration is None, "two EXTINF")
        self.report.check("extinf", number(length) is not None and "," in value, value)
        self.open.duration = number(length) or 0.0
        self.needs = max(self.needs, 3 if "." in length else 1)

    def take_headers(self):
        self.open.map, self.open.map_range, self.open.key = self.header, self.header_range, self.key

    def end_range(self):
        """A range without an offset begins where that of the segment before has ended."""
        segment = self.open
        if segment.range is None:
            self.last_range = None
            return
        if segment.range[1] is None:
            known = self.last_range is not None and self.last_range[0] == segment.uri
            self.report.check("byterange", known, f"{segment.uri}: no range of it before")
            segment.range = (segment.range[0], self.last_range[1] if known else 0)
        self.last_range = (segment.uri, sum(segment.range))

    def take_byterange(self, value):
        self.open.range = self.range_of(value)
        self.needs = max(self.needs, 4)

    def range_of(self, text):
        found = re.fullmatch(r"(\d+)(?:@(\d+))?", text)
        self.report.check("byterange", found, text)
        return (int(found[1]), int(found[2]) if found[2] else None) if found else None

    def take_discontinuity(self, _):
        self.open.discontinuity = True

    def take_gap(self, _):
        self.open.gap = True

    def take_map(self, value):
        found = attributes(value, self.report)
        self.report.check("map", found.get("URI"), value)
        self.header = found.get("URI")
        self.header_range = self.range_of(found["BYTERANGE"]) if "BYTERANGE" in found else None
        self.needs = max(self.needs, 6)
        if self.key and self.key.get("METHOD") == "AES-128":
            self.report.check("map-key", "IV" in self.key, self.key)

    def take_key(self, value):
        found = attributes(value, self.report)
        method = found.get("METHOD")
        self.report.check("key", method in ("NONE", "AES-128", "SAMPLE-AES", "SAMPLE-AES-CTR"), value)
        if method == "NONE":
            self.report.check("key", len(found) == 1, value)
        else:
            self.report.check("key", found.get("URI"), value)
        if "IV" in found:
            self.report.check("key", re.fullmatch(r"0[xX][0-9a-fA-F]{32}", found["IV"]), value)
            self.needs = max(self.needs, 2)
        if "KEYFORMAT" in found or "KEYFORMATVERSIONS" in found:
            self.needs = max(self.needs, 5)
        self.key = {**found, "TEXT": value} if method != "NONE" else None

    def take_program_date_time(self, value):
        self.open.date = date_of(value)
        self.report.check("date", self.open.date is not None, value)

    def take_daterange(self, value):
        found = attributes(value, self.report)
        start, end = date_of(found.get("START-DATE", "")), date_of(found.get("END-DATE", ""))
        self.report.check("daterange", found.get("ID") and "START-DATE" in found, value)
        self.report.check("daterange", start is None or end is None or end >= start, value)
        self.report.check("daterange", not found.get("DURATION", "").startswith("-"), value)

    def take_part(self, value):
        found = attributes(value, self.report)
        part = Part(found)
        self.report.check("part-inf", part.uri and number(found.get("DURATION")) is not None, value)
        self.open.parts.append(part)
        self.take_headers()

    def take_preload_hint(self, value):
        found = attributes(value, self.report)
        kind = found.get("TYPE")
        self.report.check("hint", kind in ("PART", "MAP") and found.get("URI") and kind not in self.hints, value)
        self.hints[kind] = found.get("URI")

    def take_rendition_report(self, value):
        found = attributes(value, self.report)
        uri = found.get("URI", "")
        self.report.check("report", uri and "://" not in uri and uri not in self.reports, value)
        self.report.check("report", number(found.get("LAST-MSN"), int) is not None, value)
        if "PART-INF" in self.tags:
            self.report.check("report", number(found.get("LAST-PART"), int) is not None, value)
        self.reports.append(uri)

    # ---- checks ----

    def check(self):
        report = self.report
        version = number(self.tags.get("VERSION", "1"), int)
        report.check("version", version is not None and version >= self.needs, f"{version}, {self.needs} is needed")
        report.check("target", self.target > 0, self.tags.get("TARGETDURATION"))
        report.check("one-kind", True)
        for segment in self.segments:
            report.check("target", int(segment.duration + 0.5) <= self.target, f"{segment.uri}: {segment.duration} of {self.target}")
            if segment.uri.split("?")[0].endswith(MP4):
                report.check("map", segment.map or self.skipped, f"{segment.uri} has none")
        kind = self.tags.get("PLAYLIST-TYPE")
        if kind is not None:
            report.check("playlist-type", kind == "EVENT" or kind == "VOD" and self.ended, kind)
        self.check_dates()
        if any(s.parts for s in [*self.segments, self.open]) or self.part_target:
            self.check_parts()
        self.check_control()
        if self.skipped:
            left = sum(s.duration for s in self.segments) + sum(part.duration for part in self.open.parts)  # to the end
            report.check("skip", left >= 6 * self.target - 0.001, f"{left} s are left")
        named = {part.uri for s in [*self.segments, self.open] for part in s.parts}
        if self.hints:
            report.check("hint", not self.ended, "behind the end")
            report.check("hint", self.hints.get("PART") not in named, self.hint)

    def check_dates(self):
        dated = [s for s in [*self.segments, self.open] if s.date is not None]
        for before, after in zip(dated, dated[1:]):
            self.report.check("date", after.date > before.date or after.discontinuity, f"{after.date} behind {before.date}")
            if after.number == before.number + 1 and not after.discontinuity and before.duration is not None:
                step = after.date - before.date
                self.report.check("date-lengths", abs(step - before.duration) < 0.5, f"{before.uri}: {step:.3f} for {before.duration}")

    def check_parts(self):
        report, every = self.report, [*self.segments, self.open]
        if not report.check("part-inf", self.part_target, "parts without it"):
            return
        for at, segment in enumerate(every):
            complete = segment is not self.open
            for index, part in enumerate(segment.parts):
                report.check("part-length", part.duration <= self.part_target + 0.0005, f"{part.uri}: {part.duration}")
                last = complete and index == len(segment.parts) - 1
                ends = at + 1 < len(every) and every[at + 1].discontinuity or self.ended
                if not (last or ends or part.gap):
                    report.check("part-least", part.duration >= 0.85 * self.part_target - 0.0005, f"{part.uri}: {part.duration} of {self.part_target}")
            if complete and segment.parts:
                total = sum(part.duration for part in segment.parts)
                report.check("part-sum", abs(total - segment.duration) < 0.02, f"{segment.uri}: {total} of {segment.duration}")
        behind = 0.0
        for segment in reversed(self.segments):
            if segment.parts:
                report.check("part-old", behind <= 3 * self.target + segment.duration, f"{segment.uri} has parts, {behind} s before the end")
            behind += segment.duration

    def check_control(self):
        report, control = self.report, self.control
        for name, least in (("HOLD-BACK", 3 * self.target), ("CAN-SKIP-UNTIL", 6 * self.target)):
            if name in control:
                value = number(control[name])
                report.check("server-control", value is not None and value >= least - 0.001, f"{name}={control[name]}, {least} at least")
        if "CAN-SKIP-DATERANGES" in control:
            report.check("server-control", "CAN-SKIP-UNTIL" in control, control)
        if self.part_target:
            back = number(control.get("PART-HOLD-BACK")) or 0.0
            report.check("server-control", back >= 2 * self.part_target - 0.001, f"PART-HOLD-BACK={back}")
            report.check("hold-back", back >= 3 * self.part_target - 0.001, f"PART-HOLD-BACK={back}")
            report.check("hold-back", control.get("CAN-BLOCK-RELOAD") == "YES" or self.ended, control)
            report.check("hold-back", not self.segments or any(s.date for s in self.segments), "no date")

    def last(self):
        """Number of the last complete segment."""
        return self.sequence + self.skipped + len(self.segments) - 1

    def follows(self, earlier):
        """Checks what must hold between two readings."""
        report = self.report
        report.check("sequence-grows", self.sequence >= earlier.sequence, f"{self.sequence} behind {earlier.sequence}")
        report.check("sequence-grows", self.last() >= earlier.last(), f"last {self.last()} behind {earlier.last()}")
        report.check("target-constant", self.target == earlier.target, f"{earlier.target}, then {self.target}")
        if earlier.ended:
            report.check("ended", self.ended and [s.what() for s in self.segments] == [s.what() for s in earlier.segments], "it changed")
        old = {s.number: s for s in [*earlier.segments, earlier.open]}
        for segment in [*self.segments, self.open]:
            before = old.get(segment.number)
            if before is None:
                continue
            if segment.uri is not None and before.uri is not None:
                same = segment.what() == before.what() or self.skipped and segment.what()[:3] == before.what()[:3]
                report.check("segments-stay", same, f"{before.what()}, then {segment.what()}")
            if segment.parts:
                report.check("segments-stay", before.parts == segment.parts[:len(before.parts)], f"parts of {segment.number}")
        gone = sum(s.discontinuity for s in earlier.segments if s.number < self.sequence)
        if self.sequence <= earlier.last() + 1:  # else some have come and left between the readings
            report.check("discontinuities-counted", self.discontinuity_sequence == earlier.discontinuity_sequence + gone,
                         f"{earlier.discontinuity_sequence}, {gone} left, then {self.discontinuity_sequence}")
        if self.sequence > earlier.sequence and not self.ended and not self.skipped:
            total = sum(s.duration for s in self.segments)
            report.check("window", total >= 3 * self.target - 0.001, f"{total} s of {self.target} each")
        if earlier.hint and not self.ended:
            new = [p.uri for s in [*self.segments, self.open] for p in s.parts]
            known = {p.uri for s in [*earlier.segments, earlier.open] for p in s.parts}
            came = [uri for uri in new if uri not in known]
            if came and any(s.number == earlier.open.number and s.parts for s in [*self.segments, self.open]):  # its parts have not left
                report.check("hint-kept", came[0] == earlier.hint, f"{earlier.hint} was said, {came[0]} came")

    def is_delta_of(self, whole, earlier):
        """Checks a delta update against what was read before and the whole playlist of the same state."""
        old = {s.number: s for s in earlier.segments}
        first = self.sequence + self.skipped
        wanted = [(s.number, s.uri, s.duration) for s in whole.segments]
        merged = [(n, old[n].uri, old[n].duration) for n in range(self.sequence, first) if n in old]
        merged += [(s.number, s.uri, s.duration) for s in self.segments]
        # The whole playlist was read a moment later and may have gone on.
        common = [each for each in wanted if each[0] <= self.last()]
        have = [each for each in merged if each[0] >= whole.sequence]
        self.report.check("delta", common == have, f"{len(have)} segments of {len(common)}")


class Multivariant:
    """A multivariant playlist; `variants` are (attributes, address)."""

    def __init__(self, data, report):
        self.report, self.text = report, data.decode("utf-8", "replace")
        self.variants, self.media = [], []
        pending, seen = None, set()
        for name, value in lines_of(data, report):
            if name in OF_MEDIA:
                report.check("one-kind", False, name)
            if name is None:
                report.check("stream-inf", pending is not None, f"an address without EXT-X-STREAM-INF: {value}")
                self.variants.append((pending or {}, value))
                pending = None
                continue
            report.check("stream-inf", pending is None, f"no address behind EXT-X-STREAM-INF, but {name}")
            if name == "STREAM-INF":
                pending = {**attributes(value, report), "TEXT": value}
            elif name == "MEDIA":
                self.media.append(attributes(value, report))
            elif name in ("VERSION", "INDEPENDENT-SEGMENTS"):
                report.check("once", name not in seen, name)
                seen.add(name)
        report.check("one-kind", True)
        report.check("stream-inf", pending is None and self.variants, "no variant, or the last has no address")
        for info, uri in self.variants:
            self.check_variant(info, uri)
        for each in self.media:
            self.check_media(each)
        self.check_groups()
        self.info, self.uri = self.variants[0] if self.variants else ({}, "")

    def check_variant(self, info, uri):
        report = self.report
        most, mean = number(info.get("BANDWIDTH"), int), number(info.get("AVERAGE-BANDWIDTH", "0"), int)
        report.check("stream-inf", most and mean is not None and mean <= most, f"{uri}: {info}")
        report.check("stream-inf", re.fullmatch(r"\d+x\d+", info.get("RESOLUTION", "1x1")), f"{uri}: {info}")
        report.check("stream-inf", number(info.get("FRAME-RATE", "1")), f"{uri}: {info}")
        codecs = info.get("CODECS", "")
        report.check("codecs", codecs, f"{uri} has no CODECS")
        if re.search("avc|hvc|hev|av01|vp0", codecs):
            report.check("codecs", "RESOLUTION" in info and "FRAME-RATE" in info, f"{uri}: {info}")

    def check_media(self, info):
        report, kind = self.report, info.get("TYPE")
        report.check("media", kind in ("AUDIO", "VIDEO", "SUBTITLES", "CLOSED-CAPTIONS"), info)
        report.check("media", info.get("GROUP-ID") and info.get("NAME"), info)
        report.check("media", info.get("DEFAULT") != "YES" or info.get("AUTOSELECT", "YES") == "YES", info)
        report.check("media", "FORCED" not in info or kind == "SUBTITLES", info)
        group = [m for m in self.media if (m.get("TYPE"), m.get("GROUP-ID")) == (kind, info.get("GROUP-ID"))]
        report.check("media", sum(m.get("NAME") == info.get("NAME") for m in group) == 1, f"{info.get('NAME')} twice in a group")
        report.check("media", sum(m.get("DEFAULT") == "YES" for m in group) <= 1, f"two defaults in {info.get('GROUP-ID')}")
        if kind == "CLOSED-CAPTIONS":
            form = r"CC[1-4]|SERVICE([1-9]|[1-5]\d|6[0-3])"
            report.check("captions", re.fullmatch(form, info.get("INSTREAM-ID", "")) and "URI" not in info, info)
            if info.get("INSTREAM-ID", "").startswith("SERVICE"):
                found = re.search(r"#EXT-X-VERSION:(\d+)", self.text)
                report.check("version", found and int(found[1]) >= 7, "SERVICE needs 7")
        else:
            report.check("captions", "INSTREAM-ID" not in info and (kind != "SUBTITLES" or info.get("URI")), info)

    def check_groups(self):
        have = {(m.get("TYPE"), m.get("GROUP-ID")) for m in self.media}
        none = []
        for info, uri in self.variants:
            for kind in ("AUDIO", "VIDEO", "SUBTITLES", "CLOSED-CAPTIONS"):
                group = info.get(kind)
                if kind == "CLOSED-CAPTIONS":
                    none.append(f"{kind}=NONE" in info.get("TEXT", ""))
                    if none[-1]:
                        continue
                if group is not None:
                    self.report.check("groups", (kind, group) in have, f"{uri}: {kind}={group}")
        if any(none):
            self.report.check("groups", all(none), "CLOSED-CAPTIONS=NONE of some variants only")


def is_multivariant(data):
    return b"#EXT-X-STREAM-INF" in data or b"#EXT-X-MEDIA:" in data


if __name__ == "__main__":
    from hls_examine import examine
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    result = examine(sys.argv[1], float(sys.argv[2]) if len(sys.argv) == 3 else 15)
    print(result.text())
    sys.exit(1 if result.errors() else 0)
