"""DASH: real players get every frame as it was sent, live and with low latency, and each is one viewer."""

import functools
import http.server
import re
import threading
import xml.etree.ElementTree as xml

import pytest

from browser import Browser
from hls import fetch, status_of
from media import Recording, check_frames, encoded, frames_of, modern_ffmpeg, play_ffmpeg, play_vlc, publisher, record
from rtsp import gst
from test_hls import MORE, short_gops
from weir import TOP, wait_until

STREAMLINK = TOP / "objs/tools/venv/bin/streamlink"
NAMESPACE = {"d": "urn:mpeg:dash:schema:mpd:2011"}
DASH_JS = TOP / "objs/tools/web-players/dashjs/dash.mediaplayer.min.js"
PAGE = """<video id="v" muted autoplay playsinline></video><script src="dash.mediaplayer.min.js"></script><script>
const player = dashjs.MediaPlayer().create(), errors = [];
let waits = 0;
player.on("error", e => errors.push(String(e.error && e.error.message)));
v.addEventListener("waiting", () => waits++);
player.initialize(v, location.hash.slice(1), true);
window.state = () => ({time: v.currentTime, latency: player.getCurrentLiveLatency(), waits, errors,
  frames: v.getVideoPlaybackQuality().totalVideoFrames, sound: v.webkitAudioDecodedByteCount});
</script>"""


def mpd(server):
    return server.http("/live/livestream.mpd")


def read(url):
    with fetch(url) as answer:
        return answer.read()


def templates(server):
    return list(xml.fromstring(read(mpd(server))).iterfind(".//d:SegmentTemplate", NAMESPACE))


def listed(template):
    """(begin, length) of each segment."""
    found = []
    for line in template.iterfind(".//d:S", NAMESPACE):
        begin, length = int(line.get("t")), int(line.get("d"))
        found += [(begin + again * length, length) for again in range(int(line.get("r", 0)) + 1)]
    return found


@pytest.mark.parametrize("kind", ["h264", "b-frames", "hevc", "av1", "opus", "video"])
@pytest.mark.works_with("newer ffmpeg", plays="DASH", codecs="H.264, HEVC, AV1, AAC, Opus", checked="every frame")
def test_ffmpeg_plays_every_frame(new_weir, folder, kind):
    server = new_weir("").start()
    output, codecs = MORE.get(kind, (("-c:v", "libx264", "-g", "50", "-c:a", "aac"), {"video": ["h264"], "audio": ["aac"]}))
    source = encoded(*output)
    with publisher(server.rtmp(), folder, source, ffmpeg=modern_ffmpeg()):
        # Before, nobody knows where the first segment will end, and ffmpeg guesses wrong.
        wait_until(lambda: server.wait_live()["gop"]["key_frames"] > 1, 20, "the length of a GOP is known")
        recording = play_ffmpeg(mpd(server), folder, 4, suffix="mkv", ffmpeg=modern_ffmpeg())
        assert server.wait_live()["viewers"]["dash"] == 1, "ffmpeg asks again and again, and is one viewer"
    assert recording.streams() == codecs, recording.streams()
    check_frames(recording, source, least=75)
    if "audio" in codecs:
        assert recording.audio_seconds() > 3


@pytest.mark.works_with("ffmpeg", plays="DASH", codecs="AAC", checked="audio alone")
def test_audio_alone(new_weir, folder):
    server = new_weir("").start()
    with publisher(server.rtmp(), folder, encoded("-vn", "-c:a", "aac", suffix="m4a")):
        server.wait_live()
        recording = play_ffmpeg(mpd(server), folder, 3.5, suffix="mkv", least=5_000)
    assert recording.streams() == {"audio": ["aac"]}, recording.streams()
    assert recording.audio_seconds() > 3


@pytest.mark.parametrize("hls", ["", "sessions off;"], ids=["session", "no-session"])
@pytest.mark.works_with("streamlink", plays="DASH", codecs="H.264, AAC", checked="every frame, with sessions on and off")
def test_streamlink_plays(new_weir, folder, hls):
    server = new_weir(f"hls {{ {hls} }}").start()
    out, source = folder / "streamlink.mkv", short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        command = [STREAMLINK, "--loglevel", "warning", "--stdout", f"dash://{mpd(server)}", "best"]
        recording = record("streamlink", command, folder, 4, stdout=out)
        assert server.wait_live()["viewers"]["dash"] == (0 if hls else 1), "it asks again and again, and is one viewer"
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_frames(recording, source)


@pytest.mark.full
@pytest.mark.timeout(150)
@pytest.mark.parametrize("watched", [False, True], ids=["cold", "warm"])
def test_gstreamer_plays(new_weir, folder, watched):
    """It shows nothing before it has buffered 30 s."""
    server = new_weir(f"hls {{ fragment 1s; always {'on' if watched else 'off'}; }}").start()
    out, source = folder / "gst.y4m", short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        if watched:
            wait_until(lambda: len(listed(templates(server)[0])) > 3, 20, "a window of segments")
        with gst("gst", folder, "uridecodebin3", f"uri={mpd(server)}", "name=u", "u.", "!", "video/x-raw", "!", "queue",
                 "!", "videoconvert", "!", "video/x-raw,format=I420", "!", "y4menc", "!", "filesink", f"location={out}") as program:
            wait_until(lambda: out.exists() and out.stat().st_size > 25_000_000 or not program.running(), 90, "GStreamer plays")
            program.end(2)
    # Its decoder here does not draw every frame to the bit as ffmpeg does.
    frames, sent = Recording(out).frames(), frames_of(source)
    known = [sent.index(frame) for frame in frames if frame in sent]
    assert len(frames) >= 60 and len(set(known)) >= 3, (len(frames), known)


@pytest.mark.works_with("VLC", plays="DASH", codecs="H.264, AAC", checked="every frame")
def test_vlc_plays(new_weir, folder):
    server = new_weir("").start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        recording = play_vlc(mpd(server), folder)
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    assert recording.audio_seconds() > 2, "VLC has no sound"
    check_frames(recording, source)


def test_a_description_fits_the_media(new_weir, folder):
    """Each listed segment is there, begins and ends when the list says, and the next follows without a gap."""
    server = new_weir("hls { always on; }").start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        # Three that are whole and one that grows: 8 s of media at most, as where the clip begins anew it has a seam.
        found = wait_until(lambda: (now := templates(server)) and all(len(listed(each)) > 3 for each in now) and now, 30, "segments")
        names = {}
        for template in found:
            base, segments = server.http("/live/"), listed(template)
            data, now = read(base + template.get("initialization")), segments[0][0]
            for start, length in segments:
                assert start == now, "the list has a gap"
                now = start + length
                data += read(base + template.get("media").replace("$Time$", str(start)))
            track = re.search(r"\.(video|audio)\.", template.get("media")).group(1)
            path = folder / f"{track}.mp4"
            path.write_bytes(data)
            names[track] = (Recording(path), now - segments[0][0])
    assert set(names) == {"video", "audio"}, names
    for track, (recording, listed_ms) in names.items():
        assert list(recording.streams()) == [track]
        times = [float(packet["dts_time"]) for packet in recording.packets()]
        assert max(b - a for a, b in zip(times, times[1:])) < 0.045, "media have a gap"
        # The last segment may have been cut a frame earlier or later than was expected.
        assert abs((times[-1] - times[0]) * 1000 - listed_ms) < 100, (track, times[0], times[-1], listed_ms)
    check_frames(names["video"][0], source, least=100)


def test_keys_are_carried(new_weir, folder):
    server = new_weir("security { play_key OPEN-SESAME-1; }").start()
    with publisher(server.rtmp(), folder, short_gops(folder)):
        server.wait_live()
        assert status_of(mpd(server)) == 403
        text = read(mpd(server) + "?key=OPEN-SESAME-1").decode()
        assert text.count("key=OPEN-SESAME-1") == 5, text
        session = re.search("session=[a-z0-9]+", text).group()
        assert status_of(mpd(server) + "?" + session) == 200, "it was let in"
        assert status_of(mpd(server) + "?session=" + "a" * 20) == 403


class QuietFiles(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def page(folder):
    """The address of a page with dash.js, from another origin than the server's."""
    assert DASH_JS.exists(), "dash.js is missing: run scripts/install-deps.sh --tests"
    site = folder / "site"
    site.mkdir()
    (site / DASH_JS.name).write_bytes(DASH_JS.read_bytes())
    (site / "index.html").write_text(PAGE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietFiles, directory=site)) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{files.server_address[1]}/index.html"
        files.shutdown()


@pytest.mark.works_with("dash.js", plays="DASH", codecs="H.264, AAC", checked="less than 2.5 s late; goes on with a new publisher")
def test_dash_js_plays_with_low_latency_and_over_a_new_publisher(new_weir, folder, page):
    server = new_weir("").start()
    source = short_gops(folder)
    with Browser(folder) as browser:
        def state():
            return browser.evaluate("window.state ? state() : {frames: 0}")

        with publisher(server.rtmp(), folder, source):
            server.wait_live()
            for turn in range(4):  # it stays as late as its start was, which may have been held up
                browser.open(f"{page}?{turn}#{mpd(server)}")
                before = wait_until(lambda: (now := state())["frames"] > 75 and now["latency"] and now, 20, "dash.js plays")
                if before["latency"] < 2.5:
                    break
            assert before["latency"] < 2.5 and not before["errors"], before
            assert before["sound"] > 0
            wait_until(lambda: server.wait_live()["viewers"]["dash"] == 1, 25, "it is one viewer")
        with publisher(server.rtmp(), folder, source, name="second"):
            wait_until(lambda: state()["frames"] > before["frames"] + 100, 30, "dash.js goes on with the next period")
            assert not state()["errors"], state()
