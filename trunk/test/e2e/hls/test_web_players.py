"""Shaka and VHS (video.js) in headless Chromium play a stream that nobody watched before, with video and audio, by DASH and
low-latency HLS.

hls.js is in test_hls_browser.py, dash.js in test_dash.py, but for its start. Delays and stalls are measured by scripts/web-players."""

import time

import pytest

from browser import Browser
from media import SAMPLE, encoded, publisher
from weir import wait_until
from web_players import PlayerPage, publish_many, site

FRAMES = 40
FORMATS = ("dash", "ll-hls")
STARTS_IN = 8
LONG_GOP_SECONDS = 10


def watched(page):
    """The state of a player that plays video and audio, or None."""
    state = page.state()
    return state if state["frames"] > FRAMES and state["audio_bytes"] > 0 else None


@pytest.mark.parametrize("sessions", ["on", "off"])
@pytest.mark.parametrize("player", ["shaka", "vhs"])
def test_a_stream_that_nobody_watched_plays(new_weir, folder, player, sessions):
    server = new_weir(f"hls {{ sessions {sessions}; }}").start()
    wrong = {}
    urls = [(server.rtmp(f"live/{form}"), 0) for form in FORMATS]
    with publish_many(urls, folder, [SAMPLE]), site() as address, Browser(folder) as browser:
        for form in FORMATS:
            server.wait_live(form)
        page = PlayerPage(browser, address)
        for form in FORMATS:
            page.begin(player, form, server.http(f"/live/{form}"))
            try:
                state = wait_until(lambda: watched(page), STARTS_IN, f"{player} plays {form}")
            except AssertionError as error:
                state = {**page.state(), "late": str(error)}
            if found := {key: state[key] for key in ("late", "errors", "refused") if state.get(key)}:
                wrong[form] = found
    assert not wrong, wrong


def test_dash_js_does_not_wait_for_the_end_of_the_first_segment(new_weir, folder):
    """It comes when the second GOP has just begun: where it is late, that is no fault of the server, and it plays as well."""
    server = new_weir("").start()
    clip = encoded("-c:v", "libx264", "-preset", "ultrafast", "-g", 25 * LONG_GOP_SECONDS, "-b:v", "300k", "-c:a", "aac", inputs=(
        "-t", 3 * LONG_GOP_SECONDS, "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25",
        "-t", 3 * LONG_GOP_SECONDS, "-f", "lavfi", "-i", "sine=sample_rate=48000"))
    with site() as address, Browser(folder) as browser, publisher(server.rtmp(), folder, clip):
        server.wait_live()
        begun = time.monotonic()
        page = PlayerPage(browser, address)
        page.load("dash.js")
        time.sleep(max(0, begun + LONG_GOP_SECONDS + 0.2 - time.monotonic()))  # of the stream
        page.start("dash", server.http("/live/livestream"))
        state = wait_until(lambda: (now := page.state())["first_ms"] is not None and now, 2 * LONG_GOP_SECONDS, "dash.js shows a picture")
        assert state["first_ms"] < 500 * LONG_GOP_SECONDS, state
        assert not state["errors"], state
