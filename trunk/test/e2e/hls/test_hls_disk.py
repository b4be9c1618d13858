"""HLS on disk: a web server over the folder plays it live, the playlist of the live stream reaches back by it, and trouble of
the disk touches nobody who watches from memory."""

import contextlib
import functools
import http.server
import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from hls import Media, Multivariant, Viewer, fetch, status_of
from hooks import HookServer
from media import Recording, check_frames, check_rising, encoded, play_ffmpeg, publisher
from weir import wait_until

SEEK = float(os.environ.get("WEIR_DVR_SECONDS", "11"))  # of history that a viewer goes back


@pytest.fixture
def place(folder):
    path = folder / "hls"
    path.mkdir()
    return path


def short_gops(folder):
    return encoded("-c:v", "libx264", "-preset", "fast", "-bf", "2", "-g", "25", "-c:a", "aac")


def disk(server):
    return server.api("/api/v1/summaries")["data"]["hls"]["disk"]


def lists(place, name="live/livestream"):
    """The playlist of a stream, checked; None: it is not there yet."""
    try:
        return Media((place / name / "index.m3u8").read_bytes())
    except FileNotFoundError:
        return None


def wait_segments(place, count, name="live/livestream"):
    return wait_until(lambda: (found := lists(place, name)) and len(found.segments) >= count and found, 20, f"{count} segments")


class WebServer:
    """Serves the folder and nothing else; remembers each status."""

    def __init__(self, place):
        outer = self
        self.seen = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_request(self, code="-", size="-"):
                outer.seen.append((int(code), self.path))

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(place)))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_address[1]}/{path}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Watch:
    """Looks at the folder all the time: each playlist names files that are there, whole ones."""

    def __init__(self, place):
        self.place, self.wrong, self.looks, self.sizes = place, [], 0, {}
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.done.wait(0.01):
            try:
                for path in self.place.glob("*/*/index.m3u8"):
                    self.look(path)
            except Exception as error:  # noqa: BLE001  a playlist that breaks a rule, or that is cut
                self.wrong.append(repr(error))

    def look(self, path):
        text = path.read_bytes()
        playlist = Media(text)
        self.looks += 1
        there = [segment for segment in playlist.segments if not segment.gap]
        named = {segment.uri for segment in there} | {segment.map for segment in there if segment.map}
        for name in named:
            try:
                size = (path.parent / name).stat().st_size
            except FileNotFoundError:
                if path.read_bytes() == text:
                    self.wrong.append(f"{name} is in the playlist and not in the folder")
                continue
            if self.sizes.setdefault(name, size) != size or size == 0:
                self.wrong.append(f"{name} has {size} bytes, and had {self.sizes[name]}")

    def stop(self):
        self.done.set()
        self.thread.join()
        assert not self.wrong, self.wrong[:5]
        assert self.looks > 10, self.looks


@pytest.mark.parametrize("container", ["fmp4", "ts"])
def test_a_web_server_plays_it_live(new_weir, folder, place, container):
    hooks = HookServer()
    server = new_weir(f"hls {{ path {place}; fragment 1s; container {container}; }} play {{ wait_publisher 1s; }}"
                      f"http_hooks {{ on_hls {hooks.url()}; }}").start()
    source, web, watch = short_gops(folder), WebServer(place), Watch(place)
    with publisher(server.rtmp(), folder, source):
        wait_segments(place, 3)
        recording = play_ffmpeg(web.url("live/livestream.m3u8"), folder, 5 if container == "fmp4" else 3, suffix="mkv")
        wait_until(lambda: (now := lists(place)).sequence > 1 and now.last() > 6, 20, "segments have left the playlist")
        info = Multivariant((place / "live/livestream.m3u8").read_bytes())
        assert info.uri == "livestream/index.m3u8" and info.info["RESOLUTION"] == "640x360", info.info
        playlist, stream = lists(place), place / "live/livestream"
        wholes = [((stream / segment.map).read_bytes() if segment.map else b"") + (stream / segment.uri).read_bytes()
                  for segment in playlist.segments]
        kept = [path for path in stream.iterdir() if path.suffix in (".m4s", ".ts")]
        assert len(playlist.segments) < len(kept) <= 3 * len(playlist.segments) + 2, [path.name for path in kept]
    for data in wholes:  # each plays by itself, behind its header
        whole = folder / "whole.mp4"
        whole.write_bytes(data)
        assert len(Recording(whole).frames()) >= 20, playlist.text
    wait_until(lambda: lists(place).ended, 40, "the end is in the playlist")
    end = lists(place).last()
    wait_until(lambda: any(event["seq_no"] == end for event in hooks.heard()), 20, "the last segment is told of")
    watch.stop()
    web.stop()
    hooks.stop()
    assert {status for status, _ in web.seen} == {200}, [entry for entry in web.seen if entry[0] != 200]
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_frames(recording, source, least=75 if container == "fmp4" else 40)
    check_rising(recording)
    events = [event for event in hooks.heard() if event["action"] == "on_hls"]
    numbers = [event["seq_no"] for event in events]
    assert len(numbers) >= 6 and numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers
    last = events[-2]  # the very last ends where the publisher has left
    numbers.pop()
    assert last["url"] == f"live/livestream/{numbers[-1]}.{'m4s' if container == 'fmp4' else 'ts'}", last
    assert last["file"] == str(place / last["url"]) and last["m3u8"] == str(place / "live/livestream/index.m3u8"), last
    assert last["m3u8_url"] == "live/livestream/index.m3u8" and 0.5 < last["duration"] < 1.6 and last["stream"] == "livestream", last
    assert Path(last["file"]).exists() and last["cwd"] == str(server.folder), last
    assert disk(server)["segments"] == len(events) and disk(server)["lost"] == 0


def test_a_viewer_seeks_back(new_weir, folder, place):
    """By players' requests, without low latency and with delta updates; what memory does not have comes from the disk."""
    server = new_weir(f"hls {{ path {place}; dvr 1h; fragment 1s; }}").start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        wait_segments(place, 3)
        viewer = Viewer(server.http("/live/livestream.m3u8"))
        first = viewer.reload()
        wait_until(lambda: sum(s.duration for s in viewer.reload().segments) >= SEEK, SEEK + 20, "a playlist that reaches back")
        playlist = viewer.playlist
        assert playlist.sequence == first.sequence, "nothing has left it"
        with fetch(viewer.list_url + "&_HLS_skip=YES") as answer:
            skipped = Media(answer.read(), delta=True)
        assert skipped.skipped >= len(playlist.segments) - 9, (skipped.skipped, len(playlist.segments))
        assert skipped.sequence == playlist.sequence and skipped.last() >= playlist.last()
        before = disk(server)["reads"]
        whole = folder / "whole.mp4"
        with open(whole, "wb") as out:
            out.write(viewer.get(playlist.segments[0].map))
            for segment in playlist.segments:
                assert segment.map == playlist.segments[0].map
                out.write(viewer.get(segment.uri))
        assert disk(server)["reads"] >= before + SEEK - 9, disk(server)
        assert status_of(viewer.list_url.replace("index.m3u8", f"{playlist.sequence - 1}.m4s")) == 404
        # The folder's own playlist says the same.
        assert lists(place).sequence == playlist.sequence and lists(place).last() >= playlist.last()
    recording = Recording(whole)
    check_frames(recording, source, least=int(25 * SEEK) - 25)
    check_rising(recording)
    times = sorted(float(packet["pts_time"]) for packet in recording.packets() if packet["codec_type"] == "video")
    steps = [b - a for a, b in zip(times, times[1:])]
    assert max(steps) < 0.06, f"a hole of {max(steps)} s"  # where the clip begins anew it is 48 ms


def test_kill_9_leaves_no_stale_playlist(new_weir, folder, place):
    (place / "live").mkdir()
    (place / "live/of-somebody-else.txt").write_text("stays")
    server = new_weir(f"hls {{ path {place}; fragment 1s; }}").start()
    second = new_weir(f"hls {{ path {place}; fragment 1s; }}", name="second").start()
    second.wait_log("another server writes into")
    with publisher(server.rtmp(), folder):
        with publisher(second.rtmp("live/other"), folder, name="other"):
            wait_segments(place, 2)
            wait_until(lambda: disk(second)["lost"] > 0, 20, "the second server has a segment")
            assert not list(place.glob("live/other*")), "the second server has written"
        second.stop()
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    assert (place / "live/livestream/index.m3u8").exists()
    server.process = None
    server.start()
    wait_until(lambda: not list(place.glob("live/livestream*")), 10, "what the crash left has gone")
    assert [path.name for path in place.rglob("*") if path.is_file()].count("of-somebody-else.txt") == 1
    with publisher(server.rtmp(), folder):
        wait_segments(place, 2)


def test_a_second_publisher_goes_on(new_weir, folder, place):
    """A short absence is a discontinuity; a longer one is an end, and then there is a playlist that has none."""
    server = new_weir(f"hls {{ path {place}; fragment 1s; }} play {{ wait_publisher 6s; }}").start()
    with publisher(server.rtmp(), folder):
        old = wait_segments(place, 2)
    with publisher(server.rtmp(), folder, name="again"):
        wait_until(lambda: any(segment.discontinuity for segment in lists(place).segments), 20, "a discontinuity")
        assert not lists(place).ended
    ended = wait_until(lambda: (found := lists(place)).ended and found, 30, "the end")
    assert ended.last() > old.last() and ended.text.endswith("#EXT-X-ENDLIST\n")
    with publisher(server.rtmp(), folder, name="third"):
        fresh = wait_until(lambda: (found := lists(place)) and not found.ended and found, 25, "a playlist without an end")
        assert fresh.last() > ended.last()
        assert all((place / "live/livestream" / segment.uri).exists() for segment in fresh.segments)


def tmpfs(place, size):
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place],
                                           check=False, capture_output=True).returncode != 0:
        return False
    return True


def fill(place, left):
    """All but so many bytes, though somebody writes there as well."""
    filler = place / "filler"
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as out:
        while out.write(bytes(4096)) == 4096:
            pass
    os.truncate(filler, filler.stat().st_size - left)
    return filler


@pytest.mark.root
def test_a_full_disk_touches_no_viewer(new_weir, folder, place):
    assert tmpfs(place, "2m"), "the test needs root and mount(2)"  # twice what is there at a time
    try:
        server = new_weir(f"hls {{ path {place}; fragment 1s; }}").start()
        watch = Watch(place)
        with publisher(server.rtmp(), folder, short_gops(folder)):
            wait_segments(place, 2)
            filler = fill(place, 20_000)
            wait_until(lambda: disk(server)["lost"] >= 2, 20, "segments do not fit")
            assert "No space left" in disk(server)["folders"][0]["trouble"], disk(server)
            viewer = Viewer(server.http("/live/livestream.m3u8"))
            assert viewer.get(viewer.reload().segments[-1].uri), "memory has it"
            assert not list(place.rglob("*.part")), "half a file stays"
            filler.unlink()
            there = disk(server)["segments"]
            wait_until(lambda: disk(server)["segments"] >= there + 4, 20, "it goes on")
            wait_until(lambda: not any(s.gap for s in lists(place).segments), 20, "the lost ones have left the playlist")
        assert server.log().count("segments are not written into") == 1, "one line for one trouble"
        assert "are written into" in server.log() and "No space left" in server.log()
        watch.stop()
        server.stop()
    finally:
        subprocess.run(["umount", "-l", place], check=False)


def test_a_folder_that_vanishes_and_comes_back(new_weir, folder, place):
    server = new_weir(f"hls {{ path {place}; fragment 1s; dvr 1h; }}").start()
    with publisher(server.rtmp(), folder, short_gops(folder)):
        wait_segments(place, 2)
        place.rename(folder / "elsewhere")
        wait_until(lambda: "is not there any more" in disk(server)["folders"][0]["trouble"]
                   or "No such file" in disk(server)["folders"][0]["trouble"], 20, "it is said")
        viewer = Viewer(server.http("/live/livestream.m3u8"))
        assert viewer.get(viewer.reload().segments[-1].uri), "memory has it"
        place.mkdir()
        wait_segments(place, 2)
        playlist = lists(place)
        assert all((place / "live/livestream" / s.uri).exists() for s in playlist.segments), playlist.text
        (place / "live/livestream").rename(folder / "removed")  # at once, as the server may write a file meanwhile
        wait_until(lambda: (found := lists(place)) and len(found.segments) >= 2, 20, "a folder that was removed is made again")
        assert all((place / "live/livestream" / s.uri).exists() for s in lists(place).segments if not s.gap)


def test_what_cannot_be_written_to_is_said(new_weir, folder, place):
    """A read-only folder, and links that lead out of it."""
    outside, refused = folder / "outside", folder / "nothing-here"
    outside.mkdir()
    (place / "live").symlink_to(outside)
    (place / "deep").mkdir()
    (place / "deep/livestream").symlink_to(outside)
    (place / "file").mkdir()
    secret = folder / "secret"
    secret.write_text("stays")
    (place / "file/livestream.m3u8").symlink_to(secret)
    (place / "file/livestream.m3u8.part").symlink_to(secret)
    server = new_weir(f"hls {{ path {place}; fragment 1s; }}\n"
                      f"vhost __defaultVhost__ {{ application gone {{ hls {{ path {refused}; }} }} }}").start()
    with publisher(server.rtmp(), folder), publisher(server.rtmp("deep/livestream"), folder, name="deep"), \
            publisher(server.rtmp("file/livestream"), folder, name="file"), publisher(server.rtmp("gone/livestream"), folder, name="gone"):
        wait_segments(place, 2, "file/livestream")
        wait_until(lambda: disk(server)["lost"] >= 4, 20, "it is counted")
        viewer = Viewer(server.http("/live/livestream.m3u8"))
        assert viewer.get(viewer.reload().segments[-1].uri)

        def trouble():
            return {each["path"]: each["trouble"] for each in disk(server)["folders"]}.get(str(refused), "")

        wait_until(lambda: "No such file" in trouble(), 20, f"it is said: {disk(server)['folders']}")
    assert not list(outside.iterdir()) and secret.read_text() == "stays"
    assert not (place / "file/livestream.m3u8").is_symlink()
    assert re.search(r"the folder .*hls/live", server.log()) or "Not a directory" in server.log(), server.log()[-2000:]


def test_configuration(new_weir, folder):
    server = new_weir("hls { dvr 2h; } http_hooks { on_hls http://127.0.0.1:1/; }").start()
    assert "dvr; } does nothing" in server.log() and "on_hls is never told" in server.log(), server.log()
