"""Shaka and VHS (video.js) in headless Chromium play a stream that nobody watched before, with video and audio, by DASH and
low-latency HLS.

hls.js is in test_hls_browser.py, dash.js in test_dash.py. Delays and stalls are measured by scripts/web-players."""

import pytest

from browser import Browser
from media import SAMPLE
from weir import wait_until
from web_players import PlayerPage, publish_many, site

FRAMES = 40
FORMATS = ("dash", "ll-hls")
STARTS_IN = 8


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
