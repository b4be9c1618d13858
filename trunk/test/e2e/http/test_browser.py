"""mpegts.js in headless Chromium, through the page that the server serves."""

import contextlib

import pytest

from browser import Browser, nearest, sample_pictures, watch
from media import SAMPLE, publisher
from weir import wait_until

# Mean difference of a colour value (0 to 255) between what the browser draws and ffmpeg decodes. Their colour maths
# differ by 12; a black or grey picture is off by more than 80.
SIMILAR = 25
FPS = 25  # of the sample
# Until when the video has its media, seconds.
BUFFERED = "(() => { const ranges = document.querySelector('video').buffered; return ranges.end(ranges.length - 1); })()"


@pytest.mark.parametrize("transport", ["http", "ws"])
@pytest.mark.works_with("mpegts.js", plays="HTTP-FLV", codecs="H.264, AAC", checked="pictures of the page, audio is decoded")
@pytest.mark.works_with("mpegts.js", plays="WebSocket-FLV", codecs="H.264, AAC", checked="pictures of the page, audio is decoded")
def test_page_plays_what_was_sent(weir, folder, transport):
    pictures = sample_pictures()
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        with Browser(folder) as browser:
            browser.open(weir.http(f"/?play=live/livestream&transport={transport}&autoplay=1"))
            first, last = watch(browser, 4)
            assert (last["width"], last["height"]) == (640, 360)
            assert last["audio_bytes"] > first["audio_bytes"], "sound is decoded too"
            seen = []  # (the video's time before it was looked at, the frame, the time after)
            for _ in range(4):
                before, picture, after = browser.video()["time"], browser.picture(), browser.video()["time"]
                index, difference = nearest(picture, pictures)
                assert difference < SIMILAR, f"looks like no frame of the sample: {difference:.1f} from frame {index}"
                seen.append((before, index, after))
                wait_until(lambda: browser.video()["time"] > after + 0.4, 10, "it plays on")
            for (before, a, _), (_, b, after) in zip(seen, seen[1:]):
                assert 0 < (b - a) % len(pictures) < FPS * (after - before) + FPS, f"frames seen: {seen}"
            browser.screenshot(folder / "page.png")
            kinds = {(client.get("type") or "").lower() for client in weir.clients() if not client["publish"]}
            assert len(kinds) == 1 and (("ws" in kinds.copy().pop()) == (transport == "ws")), kinds


def test_page_lists_what_is_live(weir, folder):
    with publisher(weir.rtmp("live/listed"), folder), Browser(folder) as browser:
        weir.wait_live("listed")
        browser.open(weir.http("/"))
        wait_until(lambda: "listed" in (browser.evaluate("document.body?.innerText") or ""), 20, f"it is listed; {browser.console}")


@pytest.mark.works_with("mpegts.js", plays="HTTP-FLV", codecs="H.264, AAC", checked="goes on with a new publisher")
def test_page_plays_on_through_a_republish(weir, folder):
    with publisher(weir.rtmp(), folder, SAMPLE, name="first") as first:
        weir.wait_live()
        with Browser(folder) as browser:
            browser.open(weir.http("/?play=live/livestream&transport=http&autoplay=1"))
            watch(browser, 1)
            first.kill()
            with publisher(weir.rtmp(), folder, name="second"):
                buffered = browser.evaluate(BUFFERED)

                def plays_on():
                    state = browser.video()
                    assert not state["error"], state
                    return state["time"] > buffered + 1.5
                wait_until(plays_on, 20, f"it shows more than the {buffered} s that it had: {browser.video()}")


@pytest.mark.parametrize("transport", ["http", "ws"])
def test_a_page_that_is_left_is_no_player_any_more(weir, folder, transport):
    def players():
        return [client for client in weir.clients() if not client["publish"]]

    with publisher(weir.rtmp(), folder), Browser(folder) as browser:
        weir.wait_live()
        browser.open(weir.http(f"/?play=live/livestream&transport={transport}&autoplay=1"))
        watch(browser, 1)
        assert len(players()) == 1
        browser.open("about:blank")
        wait_until(lambda: not players(), 10, "the player is gone")
        browser.evaluate("setTimeout(() => history.back())")

        def is_back():
            with contextlib.suppress(AssertionError):  # what is asked while the page changes has no answer
                return browser.evaluate("document.readyState === 'complete' && location.protocol") == "http:"
        wait_until(is_back, 20, "the page is there again")
        watch(browser, 1)
        assert len(players()) == 1
        browser.evaluate("[...document.querySelectorAll('button')].find((each) => each.innerText.trim() === 'Stop').click()")
        wait_until(lambda: not players(), 10, "the player is stopped")
