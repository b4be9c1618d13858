"""The qualities of a stream stand in its multivariant playlist wherever each of them is published; by DASH they are one AdaptationSet, on one
timeline."""

import contextlib
import subprocess
import time
import xml.etree.ElementTree as xml

from browser import Browser
from hls import Viewer
from media import QUICK, Program, modern_ffmpeg, play_ffmpeg, publisher
from processes import publish_elsewhere, start
from redis_server import Redis
from relays import SECRET, node
from test_dash import NAMESPACE, listed, page  # noqa: F401 (page is a fixture)
from test_dash import read as read_url
from weir import wait_until

LADDER = "hls { part 200ms; variants live/low live/lower live/nobody; }"
BEGINS_IN = 1.5  # seconds; a quality that does not come would be waited for 2 s


def check_ladder(viewer):
    """Three qualities, each with media of its own."""
    names = [uri.split("?")[0] for _, uri in viewer.multivariant.variants]
    assert names == ["cam.hls/index.m3u8", "cam.hls/1/index.m3u8", "cam.hls/2/index.m3u8"], names


def read(viewer):
    """As if it were the first time: of a stream that has just begun the target duration may still grow."""
    viewer.playlist = None
    return viewer.reload()


def play(url):
    with contextlib.suppress(OSError):  # the first one begins the relays
        Viewer(url)
    took = []
    for _ in range(3):
        began = time.monotonic()
        check_ladder(Viewer(url))
        took.append(time.monotonic() - began)
    assert min(took) < BEGINS_IN, f"{took} s: nobody waits for a quality that nobody publishes"
    for variant in range(3):
        viewer = Viewer(url, variant=variant)
        first = read(viewer)
        assert viewer.get(first.header)[4:8] == b"ftyp" and viewer.get(first.segments[-1].uri)[4:8] in (b"moof", b"styp")
        wait_until(lambda: read(viewer).segments[-1].number > first.segments[-1].number, 15, "it goes on")
        assert len(viewer.playlist.reports) == 2, "the present of the other two"


def publish_all(stack, folder, nodes):
    """Each quality at the next of them."""
    for place, name in enumerate(("cam", "low", "lower")):
        at = nodes[place % len(nodes)]
        stack.enter_context(publisher(at.rtmp(f"live/{name}"), folder, name=f"publisher-{name}"))
        at.wait_live(name)


def test_of_a_server_that_has_them_all(new_weir, folder):
    a = node(new_weir, "a").start()
    b = node(new_weir, "b", a, more=LADDER).start()
    with contextlib.ExitStack() as stack:
        publish_all(stack, folder, [a])
        play(b.http("/live/cam.m3u8"))


def test_of_nodes_that_have_one_each(new_weir, folder):
    with Redis(folder) as redis, contextlib.ExitStack() as stack:
        nodes = []
        for name in "abc":
            server = new_weir("", name)
            server.config_path.write_text(
                server.config_path.read_text() + f"cluster {{ node {name}; registry {redis.url}; secret {SECRET}; allow_nodes 127.0.0.0/8;\n"
                f"advertise http://127.0.0.1:{server.http_port}; }}\n{LADDER}\n")
            nodes.append(server.start())
        for each in nodes:
            wait_until(lambda each=each: each.api("/api/v1/cluster")["cluster"]["registry"]["lease"], 10, "the node has its lease")
        publish_all(stack, folder, nodes)
        for each in nodes:
            play(each.http("/live/cam.m3u8"))


def test_of_processes_that_have_one_each(new_weir, folder):
    weir = start(new_weir, LADDER)
    with contextlib.ExitStack() as stack:
        taken = []
        for name in ("cam", "low", "lower"):
            program, process = publish_elsewhere(weir, folder, name, taken)
            stack.enter_context(program)
            taken.append(process)
        for _ in range(3):
            play(weir.http("/live/cam.m3u8"))


# ---- DASH ------------------------------------------------------------------------------------------------------------

SIZES = {"cam": (640, 360), "low": (320, 180), "lower": (160, 90)}
PICTURES = ("-re", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25", "-re", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000")


def quality(server, name, *output):
    """One output of an encoder: a key frame each second."""
    width, height = SIZES[name]
    return ["-map", "0:v", "-map", "1:a" if not output else "0:a", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-s",
            f"{width}x{height}", "-b:v", f"{width}k", "-pix_fmt", "yuv420p", *(output or ("-g", "25", "-sc_threshold", "0")), "-c:a", "aac",
            "-f", "flv", server.rtmp(f"live/{name}")]


def encoder(server, folder):
    """All three qualities, of one program."""
    return Program("encoder", ["ffmpeg", *QUICK, *PICTURES, *(word for name in SIZES for word in quality(server, name))], folder)


def representations(server, query=""):
    """Of the one AdaptationSet of video of the last period: size to (offset, template, segments)."""
    period = list(xml.fromstring(read_url(server.http("/live/cam.mpd" + query))).iterfind("d:Period", NAMESPACE))[-1]
    sets = list(period.iterfind("d:AdaptationSet[@contentType='video']", NAMESPACE))
    assert len(sets) == 1 and len(period.findall("d:AdaptationSet", NAMESPACE)) == 2, "one of video, one of audio"
    found = {}
    for each in sets[0].iterfind("d:Representation", NAMESPACE):
        template = each.find("d:SegmentTemplate", NAMESPACE)
        if template is not None:  # with a single quality it stands in the set
            found[int(each.get("width"))] = (int(template.get("presentationTimeOffset")), template, listed(template))
    return found


def ladder_of(server, count):
    """When each of them has three segments."""
    def look():
        found = representations(server)
        return len(found) == count and all(len(segments) > 3 for _, _, segments in found.values()) and found
    return wait_until(look, 30, "all qualities")


def first_picture(server, template, start, folder):
    """Of the segment, in gray and small."""
    base = server.http("/live/")
    path = folder / "segment.mp4"
    path.write_bytes(read_url(base + template.get("initialization")) + read_url(base + template.get("media").replace("$Time$", str(start))))
    return subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-frames:v", "1", "-vf", "scale=160:90,format=gray", "-f", "rawvideo", "-"],
                          check=True, capture_output=True, timeout=60).stdout


def distance(one, other):
    assert len(one) == len(other) == 160 * 90
    return sum(abs(a - b) for a, b in zip(one, other)) / len(one)


def check_pictures(server, found, folder):
    """The same presentation time shows the same picture in each quality, and not that of the segment before."""
    offset, template, segments = found[SIZES["cam"][0]]
    # The last one grows, and the first may have gone by the time it is asked for.
    starts = [start for start, _ in segments[1:-1]]
    for width, (other_offset, other, others) in found.items():
        same = [(ours, theirs) for theirs, _ in others[:-1] for ours in starts if abs(theirs - other_offset - ours + offset) <= 5]
        assert same, f"{width}: {[start - offset for start in starts]}, {[start - other_offset for start, _ in others]}"
        ours, theirs = same[-1]
        before = max((start for start, _ in segments if start < ours))
        picture = first_picture(server, other, theirs, folder)
        near = distance(first_picture(server, template, ours, folder), picture)
        far = distance(first_picture(server, template, before, folder), picture)
        assert near < far / 2, f"{width}: {near} from the picture of its time, {far} from the one a segment earlier"


def test_dash_offers_the_qualities_of_one_encoder(new_weir, folder):
    server = new_weir("hls { part 200ms; fragment 1s; always on; sessions off; variants live/low live/lower live/nobody; }").start()
    with encoder(server, folder):
        for name in SIZES:
            server.wait_live(name)
        found = ladder_of(server, 3)
        assert b'segmentAlignment="false"' not in read_url(server.http("/live/cam.mpd"))
        check_pictures(server, found, folder)


def test_dash_aligns_what_another_program_makes_of_the_stream(new_weir, folder):
    """It begins later than the stream, so the stream times of both differ; key frames are those of the stream."""
    server = new_weir("hls { part 200ms; fragment 2s; always on; sessions off; variants live/low; }").start()
    source = ["ffmpeg", *QUICK, *PICTURES, *quality(server, "cam", "-g", "50", "-sc_threshold", "0")]
    source[source.index("0:a")] = "1:a"
    with Program("source", source, folder):
        server.wait_live("cam")
        time.sleep(3)
        again = [modern_ffmpeg(), *QUICK, "-i", server.rtmp("live/cam"), *quality(server, "low", "-force_key_frames", "source", "-g", "1000")]
        with Program("ladder", again, folder):
            server.wait_live("low")
            check_pictures(server, ladder_of(server, 2), folder)


def test_ffmpeg_reads_every_quality(new_weir, folder):
    server = new_weir(LADDER).start()
    with encoder(server, folder):
        for name in SIZES:
            wait_until(lambda name=name: server.wait_live(name)["gop"]["key_frames"] > 1, 20, "the length of a GOP is known")
        recording = play_ffmpeg(server.http("/live/cam.mpd"), folder, 4, suffix="mkv", ffmpeg=modern_ffmpeg())
        assert server.wait_live("cam")["viewers"]["dash"] == 1, "one viewer, of all qualities"
    assert recording.streams() == {"video": ["h264"] * 3, "audio": ["aac"]}, recording.streams()
    times = {}
    for packet in recording.packets():
        times.setdefault(packet["stream_index"], []).append(float(packet["pts_time"]))
    assert len(times) == 4 and min(len(each) for each in times.values()) > 50, {index: len(each) for index, each in times.items()}


def test_dash_js_switches(new_weir, folder, page):  # noqa: F811
    server = new_weir(LADDER).start()
    with encoder(server, folder), Browser(folder) as browser:
        for name in SIZES:
            wait_until(lambda name=name: server.wait_live(name)["gop"]["key_frames"] > 1, 20, "the length of a GOP is known")

        def state():
            return browser.evaluate("window.state ? {...state(), width: v.videoWidth} : {frames: 0}")

        browser.open(f"{page}#{server.http('/live/cam.mpd')}")
        wait_until(lambda: state()["frames"] > 75, 30, "dash.js plays")
        ids = browser.evaluate("Object.fromEntries(player.getRepresentationsByType('video').map(each => [each.width, each.id]))")
        assert set(ids) == {str(width) for width, _ in SIZES.values()}, ids
        browser.evaluate("player.updateSettings({streaming: {abr: {autoSwitchBitrate: {video: false}}}})")
        before = state()
        for width in (160, 640, 320, 640, 160):
            browser.evaluate(f"player.setRepresentationForTypeById('video', {ids[str(width)]!r})")
            wait_until(lambda width=width: state()["width"] == width, 20, f"dash.js shows {width} pixels")
            shown = state()["frames"]
            wait_until(lambda shown=shown: state()["frames"] > shown + 40, 10, "it goes on")
        after = state()
        assert not after["errors"], after
        assert after["waits"] - before["waits"] <= 1, (before, after)
        assert abs(after["latency"] - before["latency"]) < 1, (before, after)
        assert server.wait_live("cam")["viewers"]["dash"] == 1, "one viewer, whichever it plays"
