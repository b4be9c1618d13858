"""The validator of HLS itself: each rule holds for playlists and media that keep it, and fails for such as break it."""

import http.server
import re
import threading

import pytest

from hls_examine import examine
from hls_media import Checker
from hls_rules import RULES, MediaPlaylist, Multivariant, Report
from media import SAMPLE, run

LIVE = """#EXTM3U
#EXT-X-VERSION:6
#EXT-X-TARGETDURATION:1
#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=6.0,PART-HOLD-BACK=0.6,HOLD-BACK=3
#EXT-X-PART-INF:PART-TARGET=0.2
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MEDIA-SEQUENCE:10
#EXT-X-DISCONTINUITY-SEQUENCE:2
#EXT-X-MAP:URI="init.mp4"
#EXT-X-PROGRAM-DATE-TIME:2026-11-25T17:00:00.000Z
#EXTINF:1.0,
10.m4s
#EXT-X-DISCONTINUITY
#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x00112233445566778899aabbccddeeff
#EXT-X-MAP:URI="init2.mp4"
#EXT-X-PROGRAM-DATE-TIME:2026-11-25T17:00:07.000Z
#EXT-X-DATERANGE:ID="a",START-DATE="2026-11-25T17:00:07.000Z",END-DATE="2026-11-25T17:00:09.000Z",DURATION=2
#EXTINF:1.0,
11.m4s
#EXT-X-PROGRAM-DATE-TIME:2026-11-25T17:00:08.000Z
#EXTINF:1.0,
12.m4s
#EXT-X-PROGRAM-DATE-TIME:2026-11-25T17:00:09.000Z
#EXT-X-PART:DURATION=0.2,URI="13.0.m4s",INDEPENDENT=YES
#EXT-X-PART:DURATION=0.2,URI="13.1.m4s"
#EXT-X-PART:DURATION=0.1,URI="13.2.m4s"
#EXTINF:0.5,
13.m4s
#EXT-X-PROGRAM-DATE-TIME:2026-11-25T17:00:09.500Z
#EXT-X-PART:DURATION=0.18,URI="14.0.m4s",INDEPENDENT=YES
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="14.1.m4s"
#EXT-X-RENDITION-REPORT:URI="other.m3u8",LAST-MSN=14,LAST-PART=0
"""
# One part and one segment later.
LATER = LIVE.replace("""#EXT-X-PRELOAD-HINT:TYPE=PART,URI="14.1.m4s"
""", """#EXT-X-PART:DURATION=0.2,URI="14.1.m4s"
#EXTINF:0.38,
14.m4s
#EXT-X-PROGRAM-DATE-TIME:2026-11-25T17:00:09.880Z
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="15.0.m4s"
""")
# Two have left, one of them behind a discontinuity.
GONE = re.sub(r"#EXT-X-MAP:URI=\"init.mp4\"\n.*11.m4s\n", '#EXT-X-KEY:METHOD=AES-128,URI="k",IV=0x00112233445566778899aabbccddeeff\n'
              '#EXT-X-MAP:URI="init2.mp4"\n', LATER, flags=re.S).replace("SEQUENCE:10", "SEQUENCE:12").replace("SEQUENCE:2\n", "SEQUENCE:3\n") \
    .replace("#EXTINF:1.0,\n12.m4s", "#EXTINF:1.0,\n12.m4s").replace("#EXTINF:0.38,\n14.m4s\n", "#EXTINF:0.38,\n14.m4s\n#EXTINF:1.0,\n15.m4s\n"
                                                                     "#EXTINF:0.5,\n16.m4s\n").replace("15.0.m4s", "17.0.m4s")
RECORDED = """#EXTM3U
#EXT-X-VERSION:6
#EXT-X-TARGETDURATION:2
#EXT-X-PLAYLIST-TYPE:VOD
#EXT-X-MAP:URI="a.mp4",BYTERANGE="700@0"
#EXT-X-BYTERANGE:1000@700
#EXTINF:2,
a.mp4
#EXT-X-BYTERANGE:1000
#EXTINF:2,
a.mp4
#EXT-X-ENDLIST
"""
LONG = """#EXTM3U
#EXT-X-VERSION:9
#EXT-X-TARGETDURATION:1
#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=6
#EXT-X-MEDIA-SEQUENCE:5
""" + "".join(f"#EXTINF:1.0,\n{n}.ts\n" for n in range(5, 14))
DELTA = LONG.replace("#EXTINF:1.0,\n5.ts\n#EXTINF:1.0,\n6.ts\n#EXTINF:1.0,\n7.ts\n", "#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n")
MANY = """#EXTM3U
#EXT-X-VERSION:7
#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="English",INSTREAM-ID="CC1",DEFAULT=YES,AUTOSELECT=YES
#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="French",INSTREAM-ID="SERVICE2"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="English",URI="text.m3u8",FORCED=NO
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="English",URI="audio.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=2000,AVERAGE-BANDWIDTH=1000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=25.000,CLOSED-CAPTIONS="cc",SUBTITLES="text",AUDIO="sound"
high.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=1000,CODECS="mp4a.40.2",CLOSED-CAPTIONS="cc"
low.m3u8
"""

# rule: [(playlist, what is replaced, by what)]
BROKEN = {
    "text": [(LIVE, "10.m4s", "10\t.m4s"), (MANY, "#EXTM3U", "\ufeff#EXTM3U")],
    "first-line": [(LIVE, "#EXTM3U\n", ""), (MANY, "#EXTM3U\n", "#EXT-X-VERSION:7\n")],
    "known-tags": [(LIVE, "#EXT-X-INDEPENDENT-SEGMENTS", "#EXT-X-OWN")],
    "one-kind": [(LIVE, "#EXTINF:0.5,", "#EXT-X-STREAM-INF:BANDWIDTH=1\n#EXTINF:0.5,"), (MANY, "high.m3u8", "high.m3u8\n#EXT-X-TARGETDURATION:2")],
    "attributes": [(LIVE, 'DURATION=0.18,URI', 'DURATION=0.18 ,,URI'), (MANY, 'NAME="French"', 'NAME="French",NAME="Two"')],
    "once": [(LIVE, "#EXT-X-VERSION:6", "#EXT-X-VERSION:6\n#EXT-X-VERSION:6")],
    "version": [(LIVE, "VERSION:6", "VERSION:5"), (MANY, "VERSION:7", "VERSION:6"), (DELTA, "VERSION:9", "VERSION:8")],
    "target": [(LIVE, "#EXTINF:1.0,\n12", "#EXTINF:1.6,\n12"), (LIVE, "#EXT-X-TARGETDURATION:1\n", "")],
    "media-sequence": [(LIVE, "10.m4s\n", "10.m4s\n#EXT-X-MEDIA-SEQUENCE:11\n"), (LIVE, "SEQUENCE:10", "SEQUENCE:x")],
    "discontinuity-sequence": [(RECORDED, "a.mp4\n#EXT-X-END", "a.mp4\n#EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXT-X-END")],
    "extinf": [(LIVE, "#EXTINF:0.5,\n", ""), (LIVE, "12.m4s\n", ""), (LIVE, "#EXTINF:0.5,", "#EXTINF:0.5")],
    "byterange": [(RECORDED, "#EXT-X-BYTERANGE:1000@700", "#EXT-X-BYTERANGE:1000"), (RECORDED, "1000@700", "x@700")],
    "map": [(LIVE, '#EXT-X-MAP:URI="init.mp4"\n', ""), (RECORDED, 'URI="a.mp4",', "")],
    "date": [(LIVE, "17:00:08.000Z", "17:00:08.000"), (LIVE, "17:00:08.000Z", "17:00:03.000Z")],
    "date-lengths": [(LIVE, "17:00:08.000Z", "17:00:07.300Z")],
    "playlist-type": [(RECORDED, "#EXT-X-ENDLIST\n", ""), (RECORDED, "TYPE:VOD", "TYPE:LIVE")],
    "key": [(LIVE, "METHOD=AES-128,", "METHOD=DES,"), (LIVE, 'URI="k",', ""), (LIVE, "00112233", "0011"), (LIVE, "METHOD=AES-128", "METHOD=NONE")],
    "map-key": [(LIVE, ",IV=0x00112233445566778899aabbccddeeff", "")],
    "daterange": [(LIVE, 'ID="a",', ""), (LIVE, "17:00:09.000Z\",", "17:00:06.000Z\","), (LIVE, "DURATION=2", "DURATION=-2")],
    "part-inf": [(LIVE, "#EXT-X-PART-INF:PART-TARGET=0.2\n", ""), (LIVE, "DURATION=0.18,", "")],
    "part-length": [(LIVE, "DURATION=0.18", "DURATION=0.21")],
    "part-least": [(LIVE, "DURATION=0.18", "DURATION=0.16")],
    "part-sum": [(LIVE, "DURATION=0.1,", "DURATION=0.14,")],
    "part-old": [(LIVE, "#EXTINF:1.0,\n10", '#EXT-X-PART:DURATION=1.0,URI="9.0"\n' + 3 * "#EXTINF:1.0,\n9.m4s\n" + "#EXTINF:1.0,\n10")],
    "server-control": [(LIVE, "PART-HOLD-BACK=0.6", "PART-HOLD-BACK=0.3"), (LIVE, ",HOLD-BACK=3", ",HOLD-BACK=2"), (LIVE, "UNTIL=6.0", "UNTIL=5"),
                       (LIVE, "CAN-SKIP-UNTIL=6.0", "CAN-SKIP-DATERANGES=YES")],
    "hold-back": [(LIVE, "PART-HOLD-BACK=0.6", "PART-HOLD-BACK=0.5"), (LIVE, "CAN-BLOCK-RELOAD=YES,", "")],
    "hint": [(LIVE, "14.1.m4s", "14.0.m4s"), (LIVE, "TYPE=PART", "TYPE=ALL"), (LIVE, "#EXT-X-RENDITION", "#EXT-X-ENDLIST\n#EXT-X-RENDITION")],
    "report": [(LIVE, ",LAST-PART=0", ""), (LIVE, "other.m3u8", "http://else/other.m3u8"), (LIVE, "LAST-MSN=14", "LAST-MSN=x")],
    "skip": [(DELTA, "SEGMENTS=3\n", "SEGMENTS=0\n"), (DELTA, "#EXTINF:1.0,\n8.ts\n", "#EXTINF:0.9,\n8.ts\n")],
    "stream-inf": [(MANY, "AVERAGE-BANDWIDTH=1000", "AVERAGE-BANDWIDTH=3000"), (MANY, "INF:BANDWIDTH=1000,", "INF:"), (MANY, "\nlow.m3u8", ""),
                   (MANY, "640x360", "640"), (MANY, "high.m3u8\n", "high.m3u8\nhigher.m3u8\n")],
    "codecs": [(MANY, 'CODECS="mp4a.40.2",', ""), (MANY, ",RESOLUTION=640x360", "")],
    "media": [(MANY, "TYPE=AUDIO", "TYPE=SOUND"), (MANY, 'NAME="French"', 'NAME="English"'), (MANY, 'GROUP-ID="text",', ""),
              (MANY, "AUTOSELECT=YES", "AUTOSELECT=NO"), (MANY, 'ID="SERVICE2"', 'ID="SERVICE2",DEFAULT=YES')],
    "captions": [(MANY, "CC1", "CC5"), (MANY, "SERVICE2", "SERVICE64"), (MANY, ',URI="text.m3u8"', ""), (MANY, '"CC1"', '"CC1",URI="x"')],
    "groups": [(MANY, 'AUDIO="sound"', 'AUDIO="other"'), (MANY, 'CLOSED-CAPTIONS="cc"\nlow', "CLOSED-CAPTIONS=NONE\nlow")],
}
# rule: [(earlier, later, what is replaced in the later one, by what)]
BROKEN_BETWEEN = {
    "sequence-grows": [(LATER, LIVE, "", ""), (LIVE, LATER, "SEQUENCE:10", "SEQUENCE:9")],
    "segments-stay": [(LIVE, LATER, "11.m4s", "11b.m4s"), (LIVE, LATER, "#EXTINF:1.0,\n12", "#EXTINF:1.1,\n12"), (LIVE, LATER, 'URI="k"', 'URI="l"'),
                      (LIVE, LATER, 'DURATION=0.18,URI="14.0', 'DURATION=0.19,URI="14.0'), (LIVE, LATER, "init2", "init3"),
                      (LIVE, LATER, "#EXT-X-DISCONTINUITY\n", "")],
    "target-constant": [(LIVE, LATER, "TARGETDURATION:1", "TARGETDURATION:2")],
    "discontinuities-counted": [(LATER, GONE, "SEQUENCE:3\n", "SEQUENCE:2\n"), (LIVE, LATER, "SEQUENCE:2\n", "SEQUENCE:3\n")],
    "ended": [(RECORDED, RECORDED, "#EXT-X-ENDLIST\n", ""), (RECORDED, RECORDED, "#EXTINF:2,\na.mp4\n#EXT-X-END", "#EXTINF:1,\na.mp4\n#EXT-X-END")],
    "hint-kept": [(LIVE.replace('URI="14.1.m4s"', 'URI="15.0.m4s"'), LATER, "", "")],
    "window": [(LATER, GONE, "#EXTINF:1.0,\n15.m4s\n", "#EXTINF:0.1,\n15.m4s\n")],
}
MEDIA_RULES = {rule for rule in RULES if rule.startswith("m-")}
BY_HTTP = {"content-type", "blocking", "stays"}


def read(text, report=None, delta=None):
    report = report or Report()
    data = text.encode()
    if text is MANY or "STREAM-INF" in text and "EXTINF" not in text:
        Multivariant(data, report)
    else:
        MediaPlaylist(data, report, delta="SKIP:" in text if delta is None else delta)
    return report


@pytest.mark.parametrize("text", [LIVE, LATER, GONE, RECORDED, LONG, DELTA, MANY])
def test_a_good_playlist_keeps_every_rule(text):
    report = read(text)
    assert not report.failed, report.text()


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_playlist_is_found(rule):
    for text, old, new in BROKEN[rule]:
        assert old in text, (rule, old)
        report = read(text.replace(old, new, 1))
        assert rule in report.failed, (old, new, report.failed)
        assert (rule in report.errors()) == (RULES[rule][1] == "must")


def between(earlier, later):
    report = Report()
    first = MediaPlaylist(earlier.encode(), report)
    MediaPlaylist(later.encode(), report).follows(first)
    return report


def test_good_readings_follow_each_other():
    for earlier, later in ((LIVE, LIVE), (LIVE, LATER), (LATER, GONE), (RECORDED, RECORDED)):
        report = between(earlier, later)
        assert not report.failed and report.checked["segments-stay"], report.text()


@pytest.mark.parametrize("rule", BROKEN_BETWEEN)
def test_a_playlist_that_changes_what_it_said_is_found(rule):
    for earlier, later, old, new in BROKEN_BETWEEN[rule]:
        assert old in later, (rule, old)
        report = between(earlier, later.replace(old, new, 1))
        assert rule in report.failed, (old, new, report.failed)


def test_delta_updates_are_compared_with_the_whole():
    def update(text):
        report = Report()
        whole = MediaPlaylist(LONG.encode(), report)
        MediaPlaylist(text.encode(), report, delta=True).is_delta_of(whole, whole)
        return report
    assert not update(DELTA).failed
    assert "delta" in update(DELTA.replace("9.ts", "90.ts")).failed and "delta" in update(DELTA.replace("SEGMENTS=3", "SEGMENTS=2")).failed
    assert "skip" in read(DELTA, delta=False).failed, "nobody asked for it"


def test_what_is_known_is_an_exception():
    report = Report(known=["target-constant"])
    first = MediaPlaylist(LIVE.encode(), report)
    MediaPlaylist(LATER.replace("DURATION:1\n", "DURATION:2\n").encode(), report).follows(first)
    assert "target-constant" not in report.errors() and "exception" in report.text()


def test_every_rule_is_tried_here():
    assert set(BROKEN) | set(BROKEN_BETWEEN) | MEDIA_RULES | BY_HTTP | {"delta"} == set(RULES)


# ---- media -----------------------------------------------------------------------------------------------------------


class Files:
    """What ffmpeg makes of the sample, as addresses."""

    def __init__(self, folder, kind):
        run(["ffmpeg", "-v", "error", "-i", SAMPLE, "-c", "copy", "-hls_time", "2", "-hls_list_size", "0", "-hls_segment_type", kind,
             "-hls_flags", "independent_segments", "-f", "hls", "list.m3u8"], cwd=folder)
        self.bytes = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.list = self.bytes["list.m3u8"].decode()

    def fetch(self, uri, span=None):
        return self.bytes[uri][span[1]:span[1] + span[0]] if span else self.bytes[uri]

    def check(self, text=None, info=None, **other):
        """The report of the first three segments, with other bytes for some addresses."""
        report, old = Report(), self.bytes
        self.bytes = {**old, **{name.replace("_", "."): data for name, data in other.items()}}
        playlist = MediaPlaylist((text or self.list).encode(), report)
        checker = Checker(report, self.fetch, info or {})
        for segment in playlist.segments[:3]:
            for part in segment.parts:
                checker.part(segment, part)
            checker.segment(segment, "INDEPENDENT-SEGMENTS" in playlist.tags)
        self.bytes = old
        return report


@pytest.fixture
def mp4(tmp_path):
    return Files(tmp_path, "fmp4")


@pytest.fixture
def ts(tmp_path):
    return Files(tmp_path, "mpegts")


GOOD = {"BANDWIDTH": "3000000", "CODECS": "avc1.4d401e,mp4a.40.2"}


def test_good_media_keeps_every_rule(mp4, ts):
    for files in (mp4, ts):
        report = files.check(info=GOOD)
        assert not report.failed and report.checked["m-times"] == 2 and report.checked["m-extinf"] == 3, report.text()


def test_broken_mp4_is_found(mp4):
    init, first = mp4.bytes["init.mp4"], mp4.bytes["list0.m4s"]
    flags = first.index(b"tfhd") + 4
    for broken in ({"init_mp4": init[:-8]}, {"init_mp4": first}, {"list0_m4s": first[:-20]}, {"list0_m4s": first.replace(b"tfdt", b"free")},
                   {"list0_m4s": first.replace(b"moof", b"free")}, {"list0_m4s": first[:flags + 1] + b"\0" + first[flags + 2:]},
                   {"init_mp4": init.replace(b"tkhd\0\0\0\3" + init[init.index(b"tkhd") + 8:][:8] + b"\0\0\0\1",
                                             b"tkhd\0\0\0\3" + init[init.index(b"tkhd") + 8:][:8] + b"\0\0\0\7")}):
        assert "m-fragment" in mp4.check(**broken).failed, broken.keys()


def test_broken_transport_streams_are_found(ts):
    first = ts.bytes["list0.ts"]
    for broken in (first[:-1], first[376:], first[564:], b"", first[:564] + b"\0" + first[565:]):
        assert "m-ts" in ts.check(list0_ts=broken).failed, len(broken)


def test_wrong_lengths_and_times_are_found(mp4, ts):
    for files, kind in ((mp4, "m4s"), (ts, "ts")):
        assert "m-extinf" in files.check(files.list.replace("EXTINF:2.", "EXTINF:1.5", 1)).failed
        again = {f"list1_{kind}": files.bytes[f"list2.{kind}"]}
        assert "m-times" in files.check(**again).failed
        cut = files.list.replace("#EXTINF", "#EXT-X-DISCONTINUITY\n#EXTINF")
        assert "m-times" not in files.check(cut, **again).failed, "a discontinuity may jump"


def test_segments_that_need_others_are_found(mp4):
    data = mp4.bytes["list1.m4s"]
    at = data.index(b"trun") + 4
    assert data[at + 3] & 4, "ffmpeg says the flags of the first sample"
    late = data[:at + 12] + b"\1\1\0\0" + data[at + 16:]
    assert set(mp4.check(list1_m4s=late).failed) == {"m-independent"}
    parts = mp4.list.replace("#EXTINF", '#EXT-X-PART:DURATION=2.0,URI="list1.m4s",INDEPENDENT=YES\n#EXTINF', 1)
    assert "m-part" in mp4.check(parts, list1_m4s=late).failed
    assert "m-part" not in mp4.check(parts).failed
    assert "m-part" in mp4.check(parts.replace("DURATION=2.0", "DURATION=1.0")).failed
    assert "m-whole" in mp4.check(parts).failed, "the part is another segment's"
    assert "m-whole" not in mp4.check(parts.replace('URI="list1', 'URI="list0')).failed


def test_wrong_variants_are_found(mp4):
    assert "m-codecs" in mp4.check(info={**GOOD, "CODECS": "hvc1.1,mp4a.40.2"}).failed
    assert "m-bandwidth" in mp4.check(info={**GOOD, "BANDWIDTH": "3000"}).failed


def test_keys_are_used(ts, tmp_path):
    key, iv = bytes(range(16)), "00112233445566778899aabbccddeeff"
    sealed = {}
    for n in range(3):
        sealed[f"list{n}_ts"] = run(["openssl", "enc", "-aes-128-cbc", "-K", key.hex(), "-iv", iv, "-in", tmp_path / f"list{n}.ts"])
    text = ts.list.replace("#EXTINF", f'#EXT-X-KEY:METHOD=AES-128,URI="key",IV=0x{iv}\n#EXTINF', 1)
    report = ts.check(text, key=key, **sealed)
    assert not report.failed and report.checked["m-key"] == 6, report.text()
    assert "m-key" in ts.check(text, key=key[:8], **sealed).failed
    assert "m-key" in ts.check(text, key=key).failed, "not encrypted"
    assert {"m-key", "m-ts"} & set(ts.check(text.replace("0x0011", "0x1111"), key=key, **sealed).failed), "another IV"


# ---- HTTP ------------------------------------------------------------------------------------------------------------


class Broken(http.server.BaseHTTPRequestHandler):
    """Live, and wrong in every way that only HTTP shows: never waits, says yes to all, has forgotten what has left."""

    def do_GET(self):  # noqa: N802
        path = self.path.partition("?")[0].lstrip("/")
        if path == "list.m3u8":
            self.server.turn += 1
            begin = self.server.turn // 2
            text = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES\n" \
                   f"#EXT-X-MEDIA-SEQUENCE:{begin}\n" + "".join(f"#EXTINF:2,\nlist{n}.ts\n" for n in range(begin, begin + 3))
            body = text.encode()
        else:
            name = int(re.findall(r"\d+", path)[0])
            body = self.server.files.get(f"list{name % 6}.ts") if name >= self.server.turn // 2 else None
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


def test_wrong_answers_are_found(ts):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Broken)
    server.turn, server.files = 0, ts.bytes
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        report = examine(f"http://127.0.0.1:{server.server_port}/list.m3u8", 1)
    finally:
        server.shutdown()
        server.server_close()
    assert BY_HTTP <= set(report.failed), report.text()
