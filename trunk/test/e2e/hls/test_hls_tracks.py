"""Several audio tracks of a stream: players choose by language, and plain protocols have the first one."""

import subprocess
import urllib.parse

import pytest

from browser import Browser
from hls import Viewer
from media import Program, modern_ffmpeg, play_ffmpeg
from rtsp import rtsp_weir
from srt import srt_url, srt_weir
from weir import wait_until
from web_players import PlayerPage, site

TONES = {"eng": 300, "deu": 900, "fra": 2700}  # Hz, by language


def publish_tracks(url, folder, kind="mpegts", more=()):
    """A picture with a key frame each second, and a tone for each language."""
    words = [modern_ffmpeg(), "-v", "error", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc=size=320x180:rate=25"]
    for hertz in TONES.values():
        words += ["-f", "lavfi", "-i", f"sine=frequency={hertz}:sample_rate=48000"]
    words += ["-map", "0:v"]
    for place, language in enumerate(TONES):
        words += ["-map", f"{place + 1}:a", f"-metadata:s:a:{place}", f"language={language}"]
    words += ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac", *more, "-f", kind, url]
    return Program("tracks", words, folder)


def loudest(path, hertz):
    """Mean volume in dB of what is left of that frequency."""
    said = subprocess.run([modern_ffmpeg(), "-hide_banner", "-i", path, "-af", f"bandpass=f={hertz}:w=60:t=h,volumedetect", "-f", "null", "-"],
                          capture_output=True, timeout=60, check=True).stderr.decode()
    return float(said.split("mean_volume:")[1].split("dB")[0])


def has_tone(path, language):
    levels = {each: loudest(path, hertz) for each, hertz in TONES.items()}
    return max(levels, key=levels.get) == language and levels[language] > max(v for k, v in levels.items() if k != language) + 15


@pytest.fixture(name="server")
def server_with_tracks(new_weir, folder):
    server = srt_weir(new_weir)
    with publish_tracks(srt_url(server.srt_port, "publish:live/cam"), folder):
        server.wait_live("cam", 20)
        yield server


def test_each_language_is_a_rendition(server, folder):
    url = server.http("/live/cam.m3u8")
    viewer = Viewer(url)
    media = viewer.multivariant.media
    assert [each["LANGUAGE"] for each in media] == ["en", "de", "fr"], media
    assert [each["DEFAULT"] for each in media] == ["YES", "NO", "NO"], media
    assert viewer.multivariant.info["AUDIO"] == "audio"
    for each, language in zip(media, TONES):
        viewer.list_url, viewer.playlist = urllib.parse.urljoin(url, each["URI"]), None
        path = folder / f"{language}.mp4"
        viewer.record(path, 4)
        assert has_tone(path, language), language


def test_plain_protocols_have_the_first_one(server, folder):
    for suffix in ("flv", "ts"):
        recording = play_ffmpeg(server.http(f"/live/cam.{suffix}"), folder, 3, suffix="mkv", name=f"plain-{suffix}")
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, suffix
        assert has_tone(recording.path, "eng"), suffix


def test_tracks_of_enhanced_rtmp_are_renditions(new_weir, folder):
    server = new_weir("").start()
    with publish_tracks(server.rtmp(), folder, kind="flv"):
        server.wait_live()
        url = server.http("/live/livestream.m3u8")
        viewer = Viewer(url)
        media = viewer.multivariant.media
        assert len(media) == 3 and len({each["NAME"] for each in media}) == 3, media
        for each, language in zip(media, TONES):
            viewer.list_url, viewer.playlist = urllib.parse.urljoin(url, each["URI"]), None
            path = folder / f"{language}.mp4"
            viewer.record(path, 4)
            assert has_tone(path, language), language


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_tracks_of_rtsp_are_renditions(new_weir, folder, transport):
    server = rtsp_weir(new_weir)
    with publish_tracks(server.rtsp(), folder, "rtsp", ["-rtsp_transport", transport]):
        server.wait_live()
        url = server.http("/live/livestream.m3u8")
        viewer = Viewer(url)
        media = viewer.multivariant.media
        assert len(media) == 3 and len({each["NAME"] for each in media}) == 3, media
        for each, language in zip(media, TONES):
            viewer.list_url, viewer.playlist = urllib.parse.urljoin(url, each["URI"]), None
            path = folder / f"{language}.mp4"
            viewer.record(path, 4)
            assert has_tone(path, language), language
        played = play_ffmpeg(server.rtsp(), folder, 3, suffix="mkv", name="plain")
        assert played.streams() == {"video": ["h264"], "audio": ["aac"]}
        assert has_tone(played.path, "eng")


def goes_on(page):
    """The player shows pictures and decodes sound, both more than a moment ago."""
    before = page.state()

    def both():
        now = page.state()
        return now["frames"] > before["frames"] + 25 and now["audio_bytes"] > before["audio_bytes"]

    return wait_until(both, 30, "pictures and sound go on")


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("player", "form"), [("hls.js", "ll-hls"), ("dash.js", "dash")])
def test_a_web_player_changes_the_track(new_weir, folder, player, form):
    server = new_weir("").start()
    with publish_tracks(server.rtmp(), folder, kind="flv"), site() as address, Browser(folder) as browser:
        server.wait_live()
        page = PlayerPage(browser, address)
        page.begin(player, form, server.http("/live/livestream"))
        goes_on(page)
        assert browser.evaluate("handle.voices()") == len(TONES)
        for number in (1, 0):
            browser.evaluate(f"handle.speak({number})")
            wait_until(lambda wanted=number: browser.evaluate("handle.spoken()") == wanted, 5, f"track {number} is chosen")
            goes_on(page)
        state = page.state()
        assert not [each for each in state["errors"] if each.startswith("fatal")] and not state["refused"], state
