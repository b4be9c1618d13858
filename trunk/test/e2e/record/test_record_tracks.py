"""Recordings of a stream with several audio tracks have all of them, and are played with the default one."""

import pytest

from browser import Browser
from media import Recording, probe, run
from rtsp import rtsp_weir
from srt import srt_url, srt_weir
from test_hls_tracks import TONES, has_tone, publish_tracks
from test_record import duration_of, recorded, recordings, wait_recorded
from weir import wait_until
from web_players import PlayerPage, site

FORMATS = "vhost __defaultVhost__ {{ application live {{ record {{ enabled on; path {}; playback on; format {}; fragment 1s; }} }} }}"


@pytest.fixture
def place(folder):
    path = folder / "recordings"
    path.mkdir()
    return path


def audio_streams(path):
    return [each for each in probe(path, "-show_streams")["streams"] if each["codec_type"] == "audio"]


def split(path, number, folder):
    """One audio track of the file, decoded."""
    out = folder / f"{path.stem}-{number}.wav"
    run(["ffmpeg", "-v", "error", "-xerror", "-i", path, "-map", f"0:a:{number}", "-y", out])
    return out


def record(server, folder, url, kind="mpegts", seconds=5):
    with publish_tracks(url, folder, kind):
        wait_recorded(server, seconds)
    wait_until(lambda: recordings(server), 20, "the recording is finished")


@pytest.mark.parametrize("kind", ["mp4", "ts"])
def test_every_track_is_recorded_with_its_language(new_weir, folder, place, kind):
    server = srt_weir(new_weir, FORMATS.format(place, kind))
    record(server, folder, srt_url(server.srt_port, "publish:live/cam"))
    (path,) = recorded(place, kind)
    tracks = audio_streams(path)
    assert [each["tags"]["language"] for each in tracks] == list(TONES), tracks
    for number, language in enumerate(TONES):
        assert has_tone(split(path, number, folder), language), language
    if kind == "mp4":
        assert [each["disposition"]["default"] for each in tracks] == [1, 0, 0], tracks
        assert [each["tags"]["handler_name"] for each in tracks] == ["English", "German", "French"], tracks
    assert abs(duration_of(path) - recordings(server)[0]["duration_ms"] / 1000) < 0.5


def test_tracks_of_enhanced_rtmp_are_recorded(new_weir, folder, place):
    server = new_weir(FORMATS.format(place, "mp4")).start()
    record(server, folder, server.rtmp(), kind="flv")
    (path,) = recorded(place)
    for number, language in enumerate(TONES):
        assert has_tone(split(path, number, folder), language), language


def test_an_flv_file_has_the_default_track(new_weir, folder, place):
    server = srt_weir(new_weir, FORMATS.format(place, "flv"))
    record(server, folder, srt_url(server.srt_port, "publish:live/cam"))
    (path,) = recorded(place, "flv")
    assert len(audio_streams(path)) == 1
    assert has_tone(path, "eng")


@pytest.fixture(name="played")
def server_with_a_recording(new_weir, folder, place):
    """And the file, as the API lists it."""
    server = rtsp_weir(new_weir, extra=FORMATS.format(place, "mp4"))
    record(server, folder, server.rtmp(), kind="flv")
    return server, recordings(server)[0]["file"]


def test_players_of_a_recording_get_the_default_track(played, folder):
    server, file = played
    urls = [server.http(f"/vod/{file}"), server.http(f"/vod/{file.removesuffix('.mp4')}.m3u8"), server.rtsp(f"vod/{file}"),
            server.rtmp(f"vod/{file}")]
    for number, url in enumerate(urls):
        path = folder / f"played-{number}.mkv"
        run(["ffmpeg", "-v", "error", "-nostdin", "-i", url, "-t", "4", "-c", "copy", "-y", path])
        assert Recording(path).streams() == {"video": ["h264"], "audio": ["aac"]}, url
        assert has_tone(path, "eng"), url


@pytest.mark.parametrize("way", ["file", "hls.js"])
def test_a_browser_plays_a_recording_with_several_tracks(played, folder, way):
    server, file = played
    with site() as address, Browser(folder) as browser:
        if way == "file":
            browser.open(server.http(f"/vod/{file}"))
        else:
            page = PlayerPage(browser, address)
            page.begin("hls.js", "hls", server.http(f"/vod/{file.removesuffix('.mp4')}"))
        wait_until(lambda: browser.evaluate("document.querySelector('video')?.currentTime > 3"), 20, "it plays")
        assert browser.evaluate("document.querySelector('video').webkitAudioDecodedByteCount") > 10_000
