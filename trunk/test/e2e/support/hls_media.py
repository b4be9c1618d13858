"""What the segments of HLS hold: small readers of fragmented MP4 and of transport streams, and the rules of hls_rules.py about media."""

import re
import subprocess

PACKET = 188
WRAP = 1 << 33  # of the clock of transport streams
FULL_BOXES = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"mvex", b"moof", b"traf"}


def boxes(data, begin=0, end=None):
    """(kind, begin of the body, end) of each box."""
    end = len(data) if end is None else end
    while begin + 8 <= end:
        size, head = int.from_bytes(data[begin:begin + 4], "big"), 8
        if size == 1:
            size, head = int.from_bytes(data[begin + 8:begin + 16], "big"), 16
        if size < head or begin + size > end:
            raise ValueError(f"a box of {size} bytes at {begin} of {end}")
        yield data[begin + 4:begin + 8], begin + head, begin + size
        begin += size
    if begin != end:
        raise ValueError(f"{end - begin} bytes behind the last box")


def every(data, path, begin=0, end=None):
    """The boxes at a path of kinds."""
    for kind, first, last in boxes(data, begin, end):
        if kind == path[0]:
            if len(path) == 1:
                yield first, last
            else:
                yield from every(data, path[1:], first, last)


def u32(data, at):
    return int.from_bytes(data[at:at + 4], "big")


class Header:
    """An initialization section: tracks by id."""

    def __init__(self, data):
        kinds = [kind for kind, _, _ in boxes(data)]
        if b"ftyp" not in kinds or b"moov" not in kinds or b"mdat" in kinds or b"moof" in kinds:
            raise ValueError(f"boxes of the header: {kinds}")
        self.tracks = {}
        for first, last in every(data, [b"moov", b"trak"]):
            at, _ = next(every(data, [b"tkhd"], first, last))
            track = u32(data, at + (12 if data[at] == 0 else 20))
            at, _ = next(every(data, [b"mdia", b"mdhd"], first, last))
            scale = u32(data, at + (12 if data[at] == 0 else 20))
            at, _ = next(every(data, [b"mdia", b"hdlr"], first, last))
            kind = data[at + 8:at + 12].decode()
            at, _ = next(every(data, [b"mdia", b"minf", b"stbl", b"stsd"], first, last))
            self.tracks[track] = {"scale": scale, "kind": kind, "entry": data[at + 12:at + 16].decode(), "duration": 0, "flags": 0}
        for at, _ in every(data, [b"moov", b"mvex", b"trex"]):
            self.tracks[u32(data, at + 4)].update(duration=u32(data, at + 12), flags=u32(data, at + 20))

    def main(self):
        """The track that lengths are measured by: video, else audio."""
        return next((t for t, of in self.tracks.items() if of["kind"] == "vide"), next(iter(self.tracks)))


class Media:
    """A piece of media: `start` and `seconds` of the main track, whether it begins with a key frame, codecs."""

    def __init__(self):
        self.start = self.seconds = None
        self.key = True
        self.wrong = []  # why it is none


def of_mp4(data, header):
    media, main = Media(), header.main()
    kinds = [kind for kind, _, _ in boxes(data)]
    if b"moof" not in kinds or b"mdat" not in kinds:
        media.wrong.append(f"boxes {kinds}")
        return media
    units = 0
    for first, last in every(data, [b"moof", b"traf"]):
        at, _ = next(every(data, [b"tfhd"], first, last))
        flags, track = u32(data, at) & 0xffffff, u32(data, at + 4)
        if track not in header.tracks:
            media.wrong.append(f"track {track} is not in the header")
            continue
        if flags & 1 or not flags & 0x20000:
            media.wrong.append(f"tfhd flags {flags:#x}: offsets are not relative to the moof")
        of, at = header.tracks[track], at + 8
        at += (8 if flags & 1 else 0) + (4 if flags & 2 else 0)
        length = u32(data, at) if flags & 8 else of["duration"]
        at += (4 if flags & 8 else 0) + (4 if flags & 16 else 0)
        usual = u32(data, at) if flags & 32 else of["flags"]
        times = list(every(data, [b"tfdt"], first, last))
        if len(times) != 1:
            media.wrong.append(f"{len(times)} tfdt in a traf")
            continue
        at = times[0][0]
        start = int.from_bytes(data[at + 4:at + (12 if data[at] == 1 else 8)], "big")
        for at, _ in every(data, [b"trun"], first, last):
            flags, count, at = u32(data, at) & 0xffffff, u32(data, at + 4), at + 8
            at += 4 if flags & 1 else 0
            flag_of_first = u32(data, at) if flags & 4 else None
            at += 4 if flags & 4 else 0
            row = [4 if flags & bit else 0 for bit in (0x100, 0x200, 0x400, 0x800)]
            if track != main or not count:
                continue
            if media.start is None:
                media.start = start / of["scale"]
                state = u32(data, at + row[0] + row[1]) if flags & 0x400 else usual
                media.key = not (flag_of_first if flag_of_first is not None else state) & 0x10000
            for _ in range(count):
                units += u32(data, at) if flags & 0x100 else length
                at += sum(row)
    media.seconds = units / header.tracks[main]["scale"]
    return media


def of_ts(data):
    """`seconds` is from the first frame to the last, a frame's length short."""
    media = Media()
    if not data or len(data) % PACKET or any(data[at] != 0x47 for at in range(0, len(data), PACKET)):
        media.wrong.append("no whole packets")
        return media
    pids = [int.from_bytes(data[at + 1:at + 3], "big") & 0x1fff for at in range(0, len(data), PACKET)]
    begin = 1 if pids[0] == 17 else 0  # what the programme is called may stand before
    table = data[begin * PACKET + 5 + data[begin * PACKET + 4]:(begin + 1) * PACKET]
    programme = int.from_bytes(table[10:12], "big") & 0x1fff
    if pids[begin:begin + 2] != [0, programme]:
        media.wrong.append(f"begins with PIDs {pids[:3]}")
    times, first = {}, {}
    for index, pid in enumerate(pids):
        packet = data[index * PACKET:(index + 1) * PACKET]
        payload = 4 + (1 + packet[4] if packet[3] & 0x20 else 0)
        body = packet[payload:]
        if not packet[1] & 0x40 or body[:3] != b"\0\0\1" or len(body) < 19:
            continue
        at = 14 if body[7] & 0x40 else 9  # DTS, else PTS
        dts = (body[at] & 14) << 29 | body[at + 1] << 22 | (body[at + 2] & 254) << 14 | body[at + 3] << 7 | body[at + 4] >> 1
        video = body[3] & 0xf0 == 0xe0
        if pid not in first:
            first[pid] = (video, bool(packet[3] & 0x20 and packet[4] and packet[5] & 0x40))
        times.setdefault(pid, []).append(dts)
    if not times:
        media.wrong.append("no frame")
        return media
    main = next((pid for pid, (video, _) in first.items() if video), next(iter(times)))
    media.key = first[main][1] or not first[main][0]
    media.start = times[main][0] / 90_000
    media.seconds = (times[main][-1] - times[main][0]) % WRAP / 90_000
    return media


def decrypted(data, key, iv):
    """What AES-128 (CBC, PKCS7) had encrypted; None where the padding is wrong."""
    done = subprocess.run(["openssl", "enc", "-d", "-aes-128-cbc", "-K", key.hex(), "-iv", iv.hex()], input=data, capture_output=True,
                          check=False, timeout=20)
    return done.stdout if done.returncode == 0 else None


ENTRIES = {"avc1": "avc1", "avc3": "avc3", "hvc1": "hvc1", "hev1": "hev1", "av01": "av01", "vp08": "vp08", "vp09": "vp09", "mp4a": "mp4a",
           "Opus": "Opus", "ac-3": "ac-3", "ec-3": "ec-3", ".mp3": "mp4a.40.34", "fLaC": "fLaC"}


class Checker:
    """Checks the media of one playlist as it is fetched. `fetch`: bytes of an address, or of a range (length, offset) of it; `info`: of EXT-X-STREAM-INF, or {}."""

    def __init__(self, report, fetch, info):
        self.report, self.fetch, self.info = report, fetch, info
        self.headers, self.keys, self.parts = {}, {}, {}
        self.before = None  # (segment, media)

    def header(self, segment):
        name = (segment.map, segment.map_range)
        if name not in self.headers:
            data = self.fetch(segment.map, segment.map_range)
            if segment.key and segment.key["METHOD"] == "AES-128" and "IV" in segment.key:
                data = self.plain(data, segment) or data
            try:
                self.headers[name] = Header(data)
                self.report.check("m-fragment", self.headers[name].tracks, f"{segment.map}: no tracks")
                self.check_codecs(self.headers[name])
            except (ValueError, StopIteration, KeyError) as error:
                self.headers[name] = None
                self.report.check("m-fragment", False, f"{segment.map}: {error!r}")
        return self.headers[name]

    def check_codecs(self, header):
        names = [name.strip() for name in self.info.get("CODECS", "").split(",") if name]
        if names and len(self.headers) == 1:  # another one comes with a discontinuity, behind the multivariant playlist
            for of in header.tracks.values():
                wanted = ENTRIES.get(of["entry"], of["entry"])
                self.report.check("m-codecs", any(name.startswith(wanted) for name in names), f"{of['entry']} is not in {names}")

    def plain(self, data, segment):
        uri = segment.key["URI"]
        if uri not in self.keys:
            self.keys[uri] = self.fetch(uri)
        key = self.keys[uri]
        if not self.report.check("m-key", len(key) == 16, f"{uri}: {len(key)} octets"):
            return None
        iv = bytes.fromhex(segment.key["IV"][2:]) if "IV" in segment.key else segment.number.to_bytes(16, "big")
        whole = decrypted(data, key, iv) if len(data) % 16 == 0 else None
        self.report.check("m-key", whole is not None, f"{segment.uri}: {len(data)} bytes cannot be decrypted")
        return whole

    def read(self, data, segment, uri):
        """The Media, None where it is none."""
        if segment.key and segment.key["METHOD"] == "AES-128":
            data = self.plain(data, segment)
            if data is None:
                return None
        rule = "m-fragment" if segment.map else "m-ts"
        try:
            header = self.header(segment) if segment.map else None
            if segment.map and header is None:
                return None
            media = of_mp4(data, header) if header else of_ts(data)
        except (ValueError, StopIteration, IndexError, KeyError) as error:
            self.report.check(rule, False, f"{uri}: {error!r}")
            return None
        self.report.check(rule, not media.wrong, f"{uri}: {media.wrong}")
        return media if not media.wrong and media.start is not None else None

    def part(self, segment, part):
        data = self.fetch(part.uri)
        self.parts.setdefault(segment.number, {})[part.uri] = data
        media = self.read(data, segment, part.uri)
        if media is not None:
            # The main track may have less than the part's length: a part ends with a frame of any track.
            self.report.check("m-part", abs(media.seconds - part.duration) < 0.1, f"{part.uri}: {media.seconds:.3f} of {part.duration}")
            self.report.check("m-part", media.key or not part.independent, f"{part.uri}: no key frame, but INDEPENDENT=YES")

    def segment(self, segment, independent):
        data = self.fetch(segment.uri, segment.range)
        parts = self.parts.pop(segment.number, {})
        if segment.parts and all(part.uri in parts for part in segment.parts) and not segment.key:
            self.report.check("m-whole", b"".join(parts[part.uri] for part in segment.parts) == data, segment.uri)
        self.parts = {number: of for number, of in self.parts.items() if number > segment.number}
        most = int(self.info.get("BANDWIDTH", 0)) if re.fullmatch(r"\d+", self.info.get("BANDWIDTH", "")) else 0
        if most and segment.duration >= 0.5:
            rate = 8 * len(data) / segment.duration
            self.report.check("m-bandwidth", rate <= 1.25 * most, f"{segment.uri}: {rate:.0f} of {most}")
        media = self.read(data, segment, segment.uri)
        if media is not None:
            if independent:
                self.report.check("m-independent", media.key, segment.uri)
            short = 0.0 if segment.map else 0.1  # see of_ts
            self.report.check("m-extinf", -0.1 - short < media.seconds - segment.duration < 0.1,
                              f"{segment.uri}: {media.seconds:.3f} of {segment.duration}")
            self.check_times(segment, media)
        self.before = (segment, media)

    def check_times(self, segment, media):
        if self.before is None or self.before[1] is None or segment.discontinuity or self.before[0].number + 1 != segment.number:
            return
        before, earlier = self.before
        step = (media.start - earlier.start) % (WRAP / 90_000)
        self.report.check("m-times", abs(step - before.duration) < 0.1, f"{segment.uri} begins {step:.3f} s behind a segment of {before.duration}")
