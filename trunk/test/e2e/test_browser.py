"""mpegts.js in headless Chromium, through the page that the server serves."""

import time

import pytest

from browser import Browser, nearest, sample_pictures, watch
from media import SAMPLE, publisher
from weir import wait_until

# Mean difference of a colour value (0 to 255) between what the browser draws and ffmpeg decodes. Their colour maths
# differ by 12; a black or grey picture is off by more than 80.
SIMILAR = 25


@pytest.mark.parametrize("transport", ["http", "ws"])
def test_page_plays_what_was_sent(weir, folder, transport):
    pictures = sample_pictures()
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        with Browser(folder) as browser:
            browser.open(weir.http(f"/?play=live/livestream&transport={transport}&autoplay=1"))
            first, last = watch(browser, 4)
            assert (last["width"], last["height"]) == (640, 360)
            assert last["audio_bytes"] > first["audio_bytes"], "sound is decoded too"
            seen = []
            for _ in range(4):
                index, difference = nearest(browser.picture(), pictures)
                assert difference < SIMILAR, f"looks like no frame of the sample: {difference:.1f} from frame {index}"
                seen.append(index)
                time.sleep(0.4)
            steps = [(b - a) % len(pictures) for a, b in zip(seen, seen[1:])]
            assert all(2 < step < 60 for step in steps), f"frames seen: {seen}"
            browser.screenshot(folder / "page.png")
            kinds = {(client.get("type") or "").lower() for client in weir.clients() if not client["publish"]}
            assert len(kinds) == 1 and (("ws" in kinds.copy().pop()) == (transport == "ws")), kinds


def test_page_lists_what_is_live(weir, folder):
    with publisher(weir.rtmp("live/listed"), folder), Browser(folder) as browser:
        weir.wait_live("listed")
        browser.open(weir.http("/"))
        deadline = time.monotonic() + 10
        while "listed" not in (browser.evaluate("document.body?.innerText") or ""):
            assert time.monotonic() < deadline, (browser.evaluate("document.body?.innerText"), browser.console)
            time.sleep(0.2)


def test_page_plays_on_through_a_republish(weir, folder):
    with publisher(weir.rtmp(), folder, SAMPLE, name="first") as first:
        weir.wait_live()
        with Browser(folder) as browser:
            browser.open(weir.http("/?play=live/livestream&transport=http&autoplay=1"))
            watch(browser, 1)
            first.kill()
            with publisher(weir.rtmp(), folder, name="second"):
                before = browser.video()
                time.sleep(4)
                after = browser.video()
                assert not after["error"] and after["time"] > before["time"] + 1.5, (before, after)


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
        wait_until(lambda: not players(), 3, "the player is gone")
        browser.evaluate("history.back()")
        watch(browser, 1)
        assert len(players()) == 1
        browser.evaluate("[...document.querySelectorAll('button')].find((each) => each.innerText.trim() === 'Stop').click()")
        wait_until(lambda: not players(), 3, "the player is stopped")
