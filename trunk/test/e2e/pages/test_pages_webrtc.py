"""The pages with WebRTC, in headless Chromium: which transport plays and why, and publishing from the browser."""

import json
import time

import pytest

import rtc
from browser import Browser, nearest, sample_pictures, watch
from media import SAMPLE, Recording, check_rising, encoded, play_ffmpeg, publisher
from weir import is_late, wait_until

SIMILAR = 25  # as in test_browser.py


@pytest.fixture(scope="session")
def pyramid():
    """The sample with B-frames that others refer to, as x264 makes them by default."""
    return encoded("-c:v", "libx264", "-preset", "veryfast", "-bf", "3", "-b_strategy", "0", "-x264-params", "b-pyramid=normal", "-g", "25",
                   "-c:a", "copy", inputs=("-i", SAMPLE), suffix="flv", ffmpeg="ffmpeg")


@pytest.fixture
def rtc_weir(new_weir):
    return rtc.rtc_weir(new_weir)


def player(browser):
    """Of the page's player: what it says itself, and what the card shows."""
    return json.loads(browser.evaluate("""(() => {
        const p = window.weirPlayer, text = (selector) => document.querySelector('.card.open ' + selector)?.textContent;
        return JSON.stringify(!p ? {state: 'none'} : {state: p.state, transport: p.transport, message: p.message,
            figures: p.figures, first_ms: p.firstPictureMs, shown: text('[data-figure=transport]'),
            latency: text('[data-figure=latency]'), rate: text('[data-figure=rate]'), size: text('[data-figure=size]'),
            reason: document.querySelector('.card.open .reason')?.hidden ? '' : text('.reason'), overlay: text('.overlay')});
    })()"""))


def wait_playing(browser, transport, seconds=20):
    def playing():
        now = player(browser)
        return now if (now["state"], now.get("transport")) == ("playing", transport) else None
    try:
        return wait_until(playing, seconds, f"it plays over {transport}")
    except AssertionError as error:
        raise AssertionError(f"{error}: {player(browser)}; the page said {browser.console[-10:]}")


def wait_figures(browser, usual=lambda figures: True):
    """What the player says, once the latency is known and the figures, which are of the last second, are the usual ones."""
    def told():
        now = player(browser)
        return now if now.get("latency", "-") != "-" and now["figures"] and usual(now["figures"]) else None
    try:
        return wait_until(told, 20, "figures")
    except AssertionError as error:
        raise AssertionError(f"{error}: {player(browser)}")


def say(browser, element):
    """What is shown in an element of that id, empty while it is hidden."""
    return browser.evaluate(f"document.getElementById('{element}').hidden ? '' : document.getElementById('{element}').textContent")


# ---- watching --------------------------------------------------------------------------------------------------------


def test_page_plays_an_rtmp_stream_by_webrtc(rtc_weir, folder):
    pictures = sample_pictures()
    with publisher(rtc_weir.rtmp(), folder), Browser(folder) as browser:
        rtc_weir.wait_live()
        browser.open(rtc_weir.http("/"))
        wait_until(lambda: browser.evaluate("Boolean(document.querySelector('.card button.play'))"), 20, "the stream is listed")
        browser.evaluate("document.querySelector('.card button.play').click()")
        wait_playing(browser, "webrtc")
        first, last = watch(browser, 3)
        assert (last["width"], last["height"]) == (640, 360)
        index, difference = nearest(browser.picture(), pictures)
        assert difference < SIMILAR, f"looks like no frame of the sample: {difference:.1f} from frame {index}"
        now = wait_figures(browser, lambda figures: 0 <= figures["latencyMs"] < 2000 and figures["kilobits"] > 100)
        assert now["shown"] == "WebRTC" and now["size"] == "640 × 360" and "bit/s" in now["rate"], now
        assert now["figures"]["codecs"] == ["H264", "opus"] and now["figures"]["over"] == "udp", now
        assert 0 < now["first_ms"] < 10_000, now
        assert browser.evaluate("weirPlayer.engine.session.pc.localDescription.sdp.match(/a=fmtp:.*stereo=1/g)?.length") == 1
        assert not browser.console, browser.console
        assert [client["type"] for client in rtc_weir.clients() if not client["publish"]] == ["webrtc-play"]


def test_leaving_the_page_ends_its_session_at_once(rtc_weir, folder):
    with publisher(rtc_weir.rtmp(), folder), Browser(folder) as browser:
        rtc_weir.wait_live()
        browser.open(rtc_weir.http("/?play=live/livestream&autoplay=1"))
        wait_playing(browser, "webrtc")
        browser.open("about:blank")
        wait_until(lambda: all(client["publish"] for client in rtc_weir.clients()), 10, "the player is gone")
        rtc_weir.wait_log('reason=peer_closed detail="peer closed"')


def test_reference_b_frames_are_played_over_flv_and_the_page_says_why(rtc_weir, folder, pyramid):
    with publisher(rtc_weir.rtmp(), folder, pyramid), Browser(folder) as browser:
        rtc_weir.wait_live()
        browser.open(rtc_weir.http("/?play=live/livestream&autoplay=1"))
        now = wait_playing(browser, "http")
        assert "B-frames" in now["reason"] and "bframes=0" in now["reason"], now
        watch(browser, 2)
        now = wait_figures(browser, lambda figures: 0 < figures["latencyMs"] < 10_000 and figures["kilobits"] > 50)
        assert now["shown"] == "HTTP-FLV" and now["size"] == "640 × 360", now


def test_without_webrtc_on_the_server_the_page_plays_over_flv(weir, folder):
    with publisher(weir.rtmp(), folder), Browser(folder) as browser:
        weir.wait_live()
        browser.open(weir.http("/?play=live/livestream&autoplay=1"))
        now = wait_playing(browser, "http")
        assert "WebRTC is off" in now["reason"], now
        watch(browser, 1)
        # Asked for by hand it is not replaced: the page says so, and waits.
        browser.open(weir.http("/?play=live/livestream&transport=webrtc&autoplay=1"))
        wait_until(lambda: player(browser)["state"] == "waiting", 20, "it is refused")
        assert "WebRTC is off" in player(browser)["overlay"], player(browser)


def test_media_that_does_not_get_through_is_played_over_flv(rtc_weir, folder):
    with publisher(rtc_weir.rtmp(), folder), Browser(folder) as browser:
        rtc_weir.wait_live()
        # As a firewall would have it: the answer's candidates lead nowhere.
        dead = rtc.free_udp_port()
        browser.call("Page.addScriptToEvaluateOnNewDocument", source="""
            const real = window.fetch;
            window.fetch = async (url, options) => {
                const answer = await real(url, options);
                if (!String(url).includes('/rtc/v1/whep/') || answer.status !== 201) return answer;
                const sdp = (await answer.text()).replace(/^(a=candidate:\\S+ \\d+ \\S+ \\d+ \\S+) \\d+/gm, '$1 %d');
                return new Response(sdp, {status: 201, headers: answer.headers});
            };""" % dead)
        started = time.monotonic()
        browser.open(rtc_weir.http("/?play=live/livestream&autoplay=1"))
        now = wait_playing(browser, "http")
        assert time.monotonic() - started > 3.5 and not is_late(started, 15)
        assert f"127.0.0.1:{dead}/udp" in now["reason"] and "within 4 s" in now["reason"], now
        watch(browser, 1)
        # The session that came to nothing has been taken back.
        wait_until(lambda: [client["type"] for client in rtc_weir.clients() if not client["publish"]] == ["flv-play"], 10,
                   "one session is left")


def test_transport_can_be_chosen_by_hand(rtc_weir, folder):
    with publisher(rtc_weir.rtmp(), folder), Browser(folder) as browser:
        rtc_weir.wait_live()
        browser.open(rtc_weir.http("/?play=live/livestream&autoplay=1"))
        wait_playing(browser, "webrtc")
        for transport in ("ws", "http", "webrtc"):
            browser.evaluate("""(() => { const select = document.querySelector('.card select.transport');
                select.value = '%s'; select.dispatchEvent(new Event('change')); })()""" % transport)
            wait_playing(browser, transport)
            watch(browser, 1)


def test_webrtc_comes_back_after_a_republish_and_after_a_restart(rtc_weir, folder):
    with Browser(folder) as browser:
        with publisher(rtc_weir.rtmp(), folder, name="first") as first:
            rtc_weir.wait_live()
            browser.open(rtc_weir.http("/?play=live/livestream&autoplay=1"))
            wait_playing(browser, "webrtc")
            watch(browser, 1)
            first.kill()
        with publisher(rtc_weir.rtmp(), folder, name="second"):
            rtc_weir.wait_live()
            before = browser.video()
            wait_until(lambda: (browser.video() or before)["frames"] > before["frames"] + 25, 20, "it goes on")
            wait_playing(browser, "webrtc")
        rtc_weir.stop()
        wait_until(lambda: player(browser)["state"] == "waiting", 20, "the page waits")
        rtc_weir.start()
        with publisher(rtc_weir.rtmp(), folder, name="third"):
            rtc_weir.wait_live()
            wait_playing(browser, "webrtc", 30)
            watch(browser, 1)


# ---- publishing ------------------------------------------------------------------------------------------------------


def go_live(browser, weir, stream, what=""):
    browser.open(weir.http(f"/publish.html?app=live&stream={stream}"))
    wait_until(lambda: browser.evaluate("Boolean(window.weirPublisher)"), 20, "the page is there")
    browser.evaluate(f"{what}; document.getElementById('size').value = '640x360'; document.getElementById('go').click()")


def wait_publisher(browser, state):
    try:
        wait_until(lambda: browser.evaluate("weirPublisher.state") == state, 20, f"the publisher is {state}")
    except AssertionError as error:
        raise AssertionError(f"{error}: {browser.evaluate('weirPublisher.state')} {say(browser, 'error')}")


@pytest.mark.parametrize("source", ["camera", "screen"])
def test_what_the_browser_publishes_is_played_by_another_and_by_rtmp(rtc_weir, folder, source):
    (folder / "viewer").mkdir()
    with Browser(folder) as browser, Browser(folder / "viewer") as viewer:
        go_live(browser, rtc_weir, "cam", f"document.querySelector('[name=source][value={source}]').click()")
        wait_publisher(browser, "live")
        rtc_weir.wait_live("cam")
        assert say(browser, "link-rtmp") == rtc_weir.rtmp("live/cam")
        viewer.open(browser.evaluate("document.getElementById('link-page').href"))
        wait_playing(viewer, "webrtc")
        last = viewer.video()
        wait_until(lambda: viewer.video()["frames"] > last["frames"] + 20, 20, "the video advances")
        assert wait_figures(viewer)["figures"]["codecs"] == ["H264", "opus"]
        recording = play_ffmpeg(rtc_weir.rtmp("live/cam"), folder, 3)
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}
        check_rising(recording)
        assert len(Recording(recording.path).frames()) > 20

        def figures():
            return json.loads(browser.evaluate("JSON.stringify(weirPublisher.figures)"))
        wait_until(lambda: (now := figures())["kilobits"] > 30 and now["frames"] > 20, 20, "the publisher's figures")
        assert figures()["codecs"] == ["H264", "opus"], figures()
        assert browser.console == [], browser.console
        browser.evaluate("document.getElementById('go').click()")
        wait_until(lambda: all(stream["name"] != "cam" or not stream["publish"]["active"] for stream in rtc_weir.streams()), 10,
                   "stopping is heard of at once")


def test_server_without_simulcast_gets_one_size(rtc_weir, folder):
    with Browser(folder) as browser:
        go_live(browser, rtc_weir, "cam", "document.getElementById('simulcast').click()")
        wait_publisher(browser, "live")
        layers = wait_until(lambda: browser.evaluate("weirPublisher.figures?.layers"), 20, "figures")
        takes = browser.evaluate("/^a=simulcast:/m.test(weirPublisher.session.answer)")
        assert takes or (layers == ["360p"] and "simulcast is off" in say(browser, "note")), (layers, say(browser, "note"))


def test_a_name_that_is_taken_is_refused_with_advice(rtc_weir, folder):
    with publisher(rtc_weir.rtmp(), folder), Browser(folder) as browser:
        rtc_weir.wait_live()
        go_live(browser, rtc_weir, "livestream")
        wait_publisher(browser, "failed")
        assert "is being published by" in say(browser, "error") and "another stream name" in say(browser, "error")


def test_publishing_that_is_not_allowed_says_what_to_change(new_weir, folder):
    weir = rtc.rtc_weir(new_weir, "vhost __defaultVhost__ { security { deny publish all; } }")
    with Browser(folder) as browser:
        go_live(browser, weir, "cam")
        wait_publisher(browser, "failed")
        assert "allow publish" in say(browser, "error") and "key" in say(browser, "error"), say(browser, "error")


def test_a_camera_that_is_not_allowed_says_so(rtc_weir, folder):
    with Browser(folder, "--use-fake-ui-for-media-stream=deny") as browser:
        go_live(browser, rtc_weir, "cam")
        error = wait_until(lambda: say(browser, "error"), 20, "an error is shown")
        assert "not allowed to use camera or microphone" in error, error
        assert browser.evaluate("weirPublisher.state") == "idle" and not rtc_weir.streams()


def test_an_insecure_page_says_what_helps_and_that_helps(new_weir, folder):
    rtc_weir = rtc.rtc_weir(new_weir, "server_name weir.test;")  # else it could be a stranger's name that points here
    origin = f"http://weir.test:{rtc_weir.http_port}"
    resolve = "--host-resolver-rules=MAP weir.test 127.0.0.1"
    with Browser(folder, resolve) as browser:
        browser.open(f"{origin}/publish.html")
        wait_until(lambda: browser.evaluate("document.getElementById('insecure')?.hidden === false"), 20, "it is said")
        text = browser.evaluate("document.getElementById('insecure').innerText")
        assert "http_server { listen 8443 ssl; }" in text and "ssl_certificate_key FILE;" in text, text
        assert origin in text and f"http://localhost:{rtc_weir.http_port}/publish.html" in text and "HTTPS" in text, text
        assert browser.evaluate("document.getElementById('go').disabled")
    (folder / "flagged").mkdir()
    with Browser(folder / "flagged", resolve, f"--unsafely-treat-insecure-origin-as-secure={origin}") as browser:
        browser.open(f"{origin}/publish.html?stream=cam")
        wait_until(lambda: browser.evaluate("Boolean(window.weirPublisher)"), 20, "the page is there")
        assert browser.evaluate("document.getElementById('insecure').hidden")
        browser.evaluate("document.getElementById('go').click()")
        wait_publisher(browser, "live")
        rtc_weir.wait_live("cam")
