"""Chromium plays and publishes by WebRTC; what it decodes, and what others decode of it."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from browser import Browser
from media import Program, check_rising, play_curl, play_ffmpeg, run
from rtc import (ClockPublisher, Page, change, delays, longest_freeze, median_delay, rtc_weir, whep_path, whip_path)
from weir import patience, wait_until


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("webrtc")) as one:
        yield one


@pytest.mark.alone
@pytest.mark.works_with("Chromium", plays="WebRTC", codecs="H.264, Opus",
                        checked="an RTMP publisher without a freeze, less than 0.3 s late",
                        set="encoder: `bframes=0`, or B-frames without `b-pyramid`")
def test_rtmp_plays_by_whep(new_weir, folder, browser):
    weir = rtc_weir(new_weir)
    with ClockPublisher(weir.rtmp(), folder, gop=50):
        weir.wait_live()
        page = Page(browser, weir)
        waits = []  # for the first picture; a browser's first player also loads what it needs
        for name in ("two", "three", "one"):
            time.sleep(0.7)  # somewhere in a GOP
            assert page.play(name, whep_path("livestream"))["status"] == 201
            waits.append(page.wait_frames(name)["first"])
            if name != "one":
                assert page.close(name) == 200
        assert sorted(waits)[1] < 1000 * patience(), f"the first pictures came after {waits} ms"
        time.sleep(3)  # catching up
        page.frames("one")
        before = page.stats("one")
        time.sleep(4)
        after, shown = page.stats("one"), page.frames("one")
        seconds = (after["video"]["timestamp"] - before["video"]["timestamp"]) / 1000
        decoded, lost, freezes = change(before, after, "video", "framesDecoded", "packetsLost", "freezeCount")
        assert decoded > 0.94 * 25 * seconds, (decoded, seconds)
        assert lost == 0 and freezes == 0 and longest_freeze(shown) < 0.5 * patience(), (lost, freezes, longest_freeze(shown))
        samples, concealed, lost = change(before, after, "audio", "totalSamplesReceived", "concealedSamples", "packetsLost")
        assert samples > 0.95 * 48000 * seconds and concealed < 0.03 * samples and lost == 0, (samples, concealed, lost)
        buffered, emitted = change(before, after, "video", "jitterBufferDelay", "jitterBufferEmittedCount")
        print(f"first {sorted(waits)[1]:.0f} ms, buffer {1000 * buffered / emitted:.0f} ms, delay {median_delay(shown):.0f} ms")
        assert buffered / emitted < 0.3 * patience(), f"jitter buffer {1000 * buffered / emitted:.0f} ms"
        assert median_delay(shown) < 300 * patience(), f"camera to screen: {sorted(delays(shown))}"
        assert page.close("one") == 200


def check_bridged(recording, seconds=2.5):
    """H.264 and AAC that decode without a word, begin together and rise."""
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_rising(recording)
    run(["ffmpeg", "-v", "error", "-xerror", "-err_detect", "explode", "-i", recording.path, "-f", "null", "-"])
    begins = {}
    for packet in recording.packets():
        begins.setdefault(packet["codec_type"], float(packet["pts_time"]))
    assert abs(begins["audio"] - begins["video"]) < 0.2, begins
    assert len(recording.frames()) > 0.8 * 25 * seconds and recording.audio_seconds() > seconds


@pytest.mark.alone
@pytest.mark.works_with("Chromium", publishes="WebRTC", codecs="H.264, Opus",
                        checked="RTMP and HTTP-FLV players decode it without an error")
@pytest.mark.works_with("Chromium", plays="WebRTC", codecs="H.264, Opus", checked="a WebRTC publisher")
def test_camera_goes_to_rtmp_flv_and_whep(new_weir, folder, browser):
    weir = rtc_weir(new_weir)
    page = Page(browser, weir)
    assert page.publish("camera", whip_path("cam"))["status"] == 201
    weir.wait_live("cam")
    assert page.play("mirror", whep_path("cam"))["status"] == 201
    page.wait_frames("mirror")
    # AAC is made while somebody needs it, so whoever comes first gets the sound from then on.
    with Program("first", ["curl", "--silent", "--no-buffer", weir.http("/live/cam.flv")], folder):
        wait_until(lambda: any(one.get("type") == "http-flv" or "flv" in str(one.get("type")).lower()
                               for one in weir.clients()), 20, "the first plays")
        time.sleep(0.3)
        with ThreadPoolExecutor() as pool:
            rtmp = pool.submit(play_ffmpeg, weir.rtmp("live/cam"), folder, 4, least=5000)
            flv = pool.submit(play_curl, weir.http("/live/cam.flv"), folder, 4, least=5000)
            check_bridged(rtmp.result())
            check_bridged(flv.result())
    stats, sent = page.stats("mirror"), page.stats("camera")
    assert stats["video"]["framesDecoded"] > 60 and stats["video"]["packetsLost"] == 0, stats
    assert stats["audio"]["totalSamplesReceived"] > 3 * 48000, stats
    assert "video/H264" in sent and "audio/opus" in sent, sent
    assert page.close("camera") == 200
    wait_until(lambda: not any(one["name"] == "cam" and one["publish"]["active"] for one in weir.streams()), 10,
               "the stream ends with its publisher")
    page.close("mirror")


@pytest.mark.alone
@pytest.mark.works_with("Chromium", publishes="WebRTC", codecs="VP8", checked="decoded by another page")
@pytest.mark.works_with("Chromium", plays="WebRTC", codecs="VP8", checked="a WebRTC publisher")
def test_vp8_goes_through(new_weir, folder, browser):
    weir = rtc_weir(new_weir)
    page = Page(browser, weir)
    assert page.publish("camera", whip_path("vp8"), codec="video/VP8")["status"] == 201
    weir.wait_live("vp8")
    assert page.play("mirror", whep_path("vp8"))["status"] == 201
    page.wait_frames("mirror", 30)
    stats = page.stats("mirror")
    assert "video/VP8" in stats and stats["video"]["framesDecoded"] >= 30 and stats["video"]["packetsLost"] == 0, stats


def test_referenced_b_frames_are_refused(new_weir, folder, browser):
    weir = rtc_weir(new_weir)
    with ClockPublisher(weir.rtmp(), folder, video=("-bf", "3", "-x264-params", "b-pyramid=normal:b-adapt=0")):
        weir.wait_live()
        page = Page(browser, weir)
        early = page.play("early", whep_path("livestream"))  # maybe before the first of them: sent away when it comes
        if early["status"] == 201:
            wait_until(lambda: page.stats("early")["connection"] in ("closed", "disconnected", "failed"), 20,
                       "whoever came before is sent away")
        for number in range(4):  # wherever in a GOP
            reply = page.play(f"late {number}", whep_path("livestream"))
            assert reply["status"] == 422 and "b-pyramid" in reply["text"], reply
            time.sleep(0.3)


@pytest.mark.alone
@pytest.mark.works_with("Chromium", plays="WebRTC", codecs="H.264", checked="B-frames are left out")
def test_other_b_frames_are_left_out(new_weir, folder, browser):
    weir = rtc_weir(new_weir)
    options = ("-bf", "2", "-x264-params", "b-pyramid=none:b-adapt=0:rc-lookahead=0")
    with ClockPublisher(weir.rtmp(), folder, video=options):
        weir.wait_live()
        page = Page(browser, weir)
        assert page.play("one", whep_path("livestream"))["status"] == 201
        page.wait_frames("one", 10)
        page.frames("one")
        time.sleep(4)
        frames = page.frames("one")
        assert len(frames) > 4 * 25 / 3 * 0.85, len(frames)
        # What the picture says and its time rise alike: the right pictures, each at its time.
        for a, b in zip(frames, frames[1:]):
            by_code, by_time = b[1] - a[1], ((b[2] - a[2]) % (1 << 32)) / 90
            assert by_code > 0 and abs(by_code - by_time) <= 3, (a, b)
        assert longest_freeze(frames) < 0.6 * patience()
