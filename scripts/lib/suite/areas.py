"""What belongs to an area: `make test AREA=rtsp`.

AREAS is the only table. An area NAME has the end-to-end tests in trunk/test/e2e/NAME/ and the unit and component tests in
the folders of trunk/test/ that it lists, without their subfolders. A folder may belong to several areas. scripts/lint
fails on a folder with tests that belongs to none.
"""

import re

from suite import places

AREAS = {
    "core": "base io media net session stream transcode",  # what all protocols share
    "rtmp": "proto/amf proto/flv proto/rtmp session/flv session/rtmp",
    "http": "net/http proto/http proto/proxy proto/ws",
    "rtsp": "net/rtp proto/rtcp proto/rtp proto/rtsp proto/sdp proto/srtp session/rtsp",
    "webrtc": "net/rtp proto/dtls proto/ice proto/rtcp proto/rtp proto/sdp proto/srtp proto/stun proto/webrtc session/webrtc",
    "hls": "net/segments proto/dash proto/hls proto/mp4 proto/mpegts session/hls",
    "record": "net/segments proto/flv proto/mp4 session/record",  # and what is played from files
    "ts": "net/ts proto/fcc proto/fec proto/m3u proto/mpegts session/ts",  # and multicast groups
    "srt": "io/srt proto/mpegts proto/srt session/srt",
    "sip": "proto/rtp proto/sdp proto/sip session/phone session/sip",
    "cluster": "app/cluster net/cluster net/redis net/source proto/cluster proto/redis",  # and source, forward
    "access": "app/access app/hooks",
    "operate": "app/api app/processes app/protocols app/run config config/explain diagnosis net/api session/exec",
    "pages": "app/api",
    "bench": "bench/core bench/run",  # the load client and scripts/bench
    "house": "",  # scripts, packages, configure, the suite itself
}

SUITE = re.compile(r"^\s*TEST(_F|_P)?\(\s*(\w+)\s*,", re.M)
PROGRAM = re.compile(r"^weir_test_binary\((\S+) FOLDERS ([^\n)]+)", re.M)


class UnknownArea(Exception):
    def __str__(self):
        return f"there is no area {self.args[0]}; the areas are {', '.join(AREAS)}"


def areas_of(values):
    """The areas that options name: each value has one or more, with commas or spaces between them."""
    names = [name for value in values or [] for name in re.split(r"[\s,]+", value) if name]
    for name in names:
        if name not in AREAS:
            raise UnknownArea(name)
    return list(dict.fromkeys(names))


def folders_of(areas):
    return sorted({folder for area in areas for folder in AREAS[area].split()})


def programs_of(folder):
    """The test programs that contain a folder of trunk/test/, by trunk/cmake/tests.cmake."""
    text = (places.TOP / "trunk" / "cmake" / "tests.cmake").read_text()
    return [program for program, inside in PROGRAM.findall(text)
            if any(folder == top or folder.startswith(f"{top}/") for top in inside.split())]


def gtest_suites(areas, program):
    """{pattern of --gtest_filter: number of tests in the sources} for the tests of the areas in a program."""
    found = {}
    for folder in folders_of(areas):
        if program not in programs_of(folder):
            continue
        for source in sorted((places.TESTS / folder).glob("*_test.cc")):
            for kind, suite in SUITE.findall(source.read_text()):
                pattern = f"*/{suite}.*" if kind == "_P" else f"{suite}.*"
                found[pattern] = found.get(pattern, 0) + 1
    return found


def e2e_folders(areas):
    return [f"trunk/test/e2e/{area}" for area in areas] or ["trunk/test/e2e"]


def problems():
    """What is wrong with the table: sentences."""
    found = []
    listed = set(folders_of(AREAS))
    with_tests = {str(path.parent.relative_to(places.TESTS)) for path in places.TESTS.rglob("*_test.cc")}
    for folder in sorted(with_tests - listed):
        found.append(f"trunk/test/{folder} belongs to no area (AREAS in scripts/lib/suite/areas.py)")
    for folder in sorted(listed - with_tests):
        found.append(f"AREAS in scripts/lib/suite/areas.py lists {folder}, and trunk/test/{folder} has no test")
    there = {path.parent.relative_to(places.E2E).parts[:1] for path in places.E2E.rglob("test_*.py")}
    for folder in sorted(there - {(area,) for area in AREAS}):
        found.append(f"trunk/test/e2e/{'/'.join(folder)} belongs to no area (AREAS in scripts/lib/suite/areas.py)")
    for area in AREAS:
        if (area,) not in there:
            found.append(f"area {area} has no end-to-end test: trunk/test/e2e/{area}/")
    return found
