"""Recordings are played back at /vod/: the same frames as were published, by whoever may play their stream."""

import time
import urllib.error
from datetime import UTC, datetime

import pytest

from browser import Browser
from hls import fetch, status_of
from hooks import HookServer
from media import Program, Recording, check_frames, publisher, run
from test_record import recordings, short_gops
from weir import wait_until


@pytest.fixture
def place(folder):
    path = folder / "recordings"
    path.mkdir()
    return path


def config(place, more="", rest=""):
    return f"record {{ enabled on; path {place}; playback on; {more} }}\n{rest}"


def recorded(server, folder, seconds=5, times=1):
    """The files of a stream that was published so often, faster than it is played: (source, list of the API, the oldest first)."""
    source, files = short_gops(folder), []
    for number in range(times):
        if files:  # their times do not overlap
            time.sleep(max(files[-1]["started_ms"] / 1000 + seconds + 0.5 - time.time(), 0))
        run(["ffmpeg", "-v", "error", "-nostdin", "-readrate", "8", "-i", source, "-t", seconds, "-c", "copy", "-f", "flv", server.rtmp()])
        wait_until(lambda: len(recordings(server)) == number + 1, 20, "the recording is finished")  # noqa: B023
        files = sorted(recordings(server), key=lambda file: file["started_ms"])
    return source, files


def frames(url, folder, name, tool="ffmpeg"):
    """Decoded from what ffmpeg got of this address."""
    out = folder / f"{name}.mkv"
    run([tool, "-v", "error", "-i", url, "-c", "copy", "-y", out])
    return Recording(out).frames()


def refusal(url):
    with pytest.raises(urllib.error.HTTPError) as refused:
        fetch(url)
    return refused.value.code, refused.value.read().decode()


def at(ms):
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.works_with("ffmpeg", plays="recordings by HTTP", codecs="H.264, AAC", checked="every frame; seeking by ranges",
                        set="`record { playback on; }`")
@pytest.mark.works_with("ffmpeg", plays="recordings by HLS", codecs="H.264, AAC", checked="every frame", set="`record { playback on; }`")
def test_a_file_is_played_whole_by_ranges_and_by_hls(new_weir, folder, place):
    server = new_weir(config(place)).start()
    source, (file,) = recorded(server, folder)
    path, url = place / file["file"], server.http(file["play"])
    own = Recording(path).frames()
    check_frames(Recording(path), source, least=100)
    with fetch(url) as answer:
        assert answer.headers["Content-Type"] == "video/mp4" and answer.read() == path.read_bytes()
    with fetch(url, Range="bytes=1000-1999") as answer:
        assert answer.status == 206 and answer.headers["Content-Range"] == f"bytes 1000-1999/{file['bytes']}"
        assert answer.read() == path.read_bytes()[1000:2000]
    assert status_of(url, Range=f"bytes={file['bytes']}-") == 416
    assert frames(url, folder, "file") == own
    assert frames(url.removesuffix(".mp4") + ".m3u8", folder, "list") == own
    # A player that seeks by ranges gets the frames from there on.
    late = folder / "late.mkv"
    run(["ffmpeg", "-v", "error", "-ss", "2.5", "-i", url, "-c", "copy", late])
    assert Recording(late).frames()[-50:] == own[-50:] and len(Recording(late).frames()) < len(own)
    # A file that is gone from the disk, and one that is broken.
    path.rename(folder / "away.mp4")
    assert refusal(url)[0] == 404
    path.write_bytes(b"\0" * 5000)
    code, reason = refusal(url.removesuffix(".mp4") + ".m3u8")
    assert code == 404 and "cannot be read" in reason
    assert "neither an index nor a whole fragment" in server.log()


def test_files_of_a_stream_are_one_presentation(new_weir, folder, place):
    server = new_weir(config(place)).start()
    _, files = recorded(server, folder, times=2)
    first, second = (Recording(place / file["file"]).frames() for file in files)
    url = server.http("/vod/live/livestream.m3u8")
    with fetch(url) as answer:
        text = answer.read().decode()
    assert text.count("#EXT-X-DISCONTINUITY\n") == 1 and text.count("#EXT-X-MAP:") == 2 and text.endswith("#EXT-X-ENDLIST\n")
    assert frames(url, folder, "both") == first + second
    # From within the first to within the second: whole segments of a second each.
    begin, end = files[0]["started_ms"] + 2_500, files[1]["started_ms"] + 1_500
    span = frames(f"{url}?from={at(begin)}&to={at(end)}", folder, "span")
    assert span == first[50:] + second[:50], (len(span), len(first), len(second))
    assert frames(f"{url}?from={begin / 1000:.3f}&to={end / 1000:.3f}", folder, "seconds") == span
    assert refusal(f"{url}?to={at(files[0]['started_ms'] - 1000)}")[0] == 404
    for query in ("from=yesterday", "from=2026-11-25T17:00:00Z&to=2026-11-25T16:00:00Z", "to="):
        code, reason = refusal(f"{url}?{query}")
        assert code == 400 and "points in time" in reason, (query, reason)
    assert refusal(server.http("/vod/live/other.m3u8"))[0] == 404


def test_a_recording_is_played_while_it_grows(new_weir, folder, place):
    """By ranges as far as it is, and as an HLS playlist that ends when the recording does."""
    server = new_weir(config(place)).start()
    source = short_gops(folder)
    out = folder / "growing.mkv"
    with publisher(server.rtmp(), folder, source, output=("-c", "copy", "-t", "8")) as sender:
        name = wait_until(lambda: [each["file"] for each in recordings(server, "recording") if each.get("duration_ms", 0) > 3_000], 15, "it grows")[0]
        url = server.http(f"/vod/{name.removesuffix('.part')}")
        with fetch(url, Range="bytes=0-999") as answer:
            assert answer.status == 206 and answer.read(8)[4:] == b"ftyp"
        with fetch(url.removesuffix(".mp4") + ".m3u8") as answer:
            text = answer.read().decode()
        assert "#EXT-X-PLAYLIST-TYPE:EVENT\n" in text and "#EXT-X-ENDLIST" not in text and text.count("#EXTINF") >= 1
        with Program("follower", ["ffmpeg", "-v", "error", "-nostdin", "-live_start_index", "0", "-i", url.removesuffix(".mp4") + ".m3u8",
                                  "-c", "copy", "-y", out], folder) as follower:
            wait_until(lambda: not follower.running() or not sender.running(), 20, "one of them ends")
            assert sender.process.poll() == 0, "the follower ended first"
            assert follower.wait(20) == 0, follower.log()
    file, = wait_until(lambda: recordings(server), 20, "it is finished")
    with fetch(url.removesuffix(".mp4") + ".m3u8") as answer:
        whole = answer.read().decode()
    assert "TYPE:VOD" in whole and whole.endswith("#EXT-X-ENDLIST\n")
    own = Recording(place / file["file"]).frames()
    assert Recording(out).frames() == own and len(own) == pytest.approx(200, abs=5)


def test_who_may_not_play_the_stream_may_not_play_its_recordings(new_weir, folder, place):
    hooks = HookServer()
    server = new_weir(config(place, rest=f"security {{ play_key s3cret; }}\n http_hooks {{ on_play http://127.0.0.1:{hooks.port}/;"
                                         f" on_stop http://127.0.0.1:{hooks.port}/; }}")).start()
    _, (file,) = recorded(server, folder, seconds=3)
    url = server.http(file["play"])
    lists = [url.removesuffix(".mp4") + ".m3u8", server.http("/vod/live/livestream.m3u8")]
    for address in (url, *lists):
        assert refusal(address)[0] == 403 and refusal(f"{address}?key=wrong")[0] == 403
    assert not hooks.events
    own = Recording(place / file["file"]).frames()
    for index, address in enumerate(lists):  # the key goes on in the playlist
        assert frames(f"{address}?key=s3cret", folder, f"list{index}") == own
    wait_until(lambda: [event["action"] for event in hooks.events].count("on_stop") ==
               [event["action"] for event in hooks.events].count("on_play") >= 4, 20, "each request begins and ends")
    assert {(event["stream"], event["transport"]) for event in hooks.events} == {("livestream", "vod")}
    wait_until(lambda: not server.clients(), 10, "all have gone")
    hooks.mode = "refuse"
    for address in (url, *lists):
        assert refusal(f"{address}?key=s3cret")[0] == 403


def test_nothing_else_is_played(new_weir, folder, place):
    server = new_weir(config(place, rest="vhost __defaultVhost__ { application private { record { playback off; } } }")).start()
    (place / "secret.mp4").write_bytes(b"not in the list")
    _, (file,) = recorded(server, folder, seconds=2)
    with publisher(server.rtmp("private/cam"), folder):
        server.wait_live("cam")
        wait_until(lambda: recordings(server, "recording"), 20, "it is recorded")
        time.sleep(1)
    private, = wait_until(lambda: [each for each in recordings(server) if each["app"] == "private"], 20, "it is finished")
    assert private["play"] == "" and file["play"] != ""
    code, reason = refusal(server.http(f"/vod/{private['file']}"))
    assert code == 404 and "playback on" in reason
    for name in ("secret.mp4", ".weir-recordings", f"{place.name}/{file['file']}", "../recordings/secret.mp4", "..%2f..%2fetc/passwd",
                 "%2fetc/passwd", "", "x.m3u8", "a/b.m3u8", f"{file['file']}.part"):
        assert status_of(server.http(f"/vod/{name}")) in (400, 404), name
    # A live stream of an app of that name is another one's where recordings are not played.
    other = new_weir("", "other").start()
    with publisher(other.rtmp("vod/cam"), folder):
        other.wait_live("cam")
        with fetch(other.http("/vod/cam.flv")) as answer:
            assert answer.read(3) == b"FLV"


def test_the_console_lists_and_plays_recordings(new_weir, folder, place):
    server = new_weir(config(place)).start()
    _, (file,) = recorded(server, folder, seconds=3)
    with publisher(server.rtmp("live/now"), folder):
        server.wait_live("now")
        with Browser(folder) as browser:
            browser.open(f"http://127.0.0.1:{server.api_port}/console/")

            def rows():
                return browser.evaluate("[...document.querySelectorAll('#recordings tbody tr')].map((row) => row.innerText)")
            now, before = wait_until(lambda: len(found := rows()) == 2 and found, 20, "both are listed")
            assert "live/now" in now and "recorded now" in now and file["file"] in before and "finished" in before, (now, before)
            browser.open(browser.evaluate("document.querySelector('#recordings a').href"))
            wait_until(lambda: browser.evaluate("document.querySelector('video')?.currentTime > 1"), 20, "it plays")
            assert not browser.console, browser.console
