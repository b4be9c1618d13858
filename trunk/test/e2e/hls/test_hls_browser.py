"""hls.js in headless Chromium plays low latency near the live edge, without a stall. WEIR_HLS_SECONDS=300 for five minutes of it."""

import os
import time

import pytest

from browser import Browser, watch
from media import Program
from weir import SANITIZED, patience

pytestmark = pytest.mark.alone

SECONDS = float(os.environ.get("WEIR_HLS_SECONDS", "10"))
LATENCY_LIMIT_MS = 1200
TRIES = 3  # one of which must be good: the machine itself may stand still
# The player comes near to the edge in its first seconds.
SETTLE_SECONDS = 5

COUNT_STALLS = """(() => {
    const v = document.querySelector('video');
    window.stalls = [];
    v.addEventListener('waiting', () => window.stalls.push(v.currentTime));
})()"""
STATE = """(() => {
    const v = document.querySelector('video');
    return {said: document.querySelector('[data-figure="latency"]').textContent, stalls: window.stalls.length, time: v.currentTime,
            rate: v.playbackRate, error: v.error && v.error.message};
})()"""


def camera(url, folder):
    """A source that never ends and has no seams, as those of a file in a loop are."""
    return Program("camera", ["ffmpeg", "-hide_banner", "-loglevel", "warning", "-nostdin", "-re", "-f", "lavfi", "-i",
                              "testsrc2=size=640x360:rate=25", "-f", "lavfi", "-i", "sine=sample_rate=44100", "-c:v", "libx264", "-preset",
                              "ultrafast", "-tune", "zerolatency", "-g", "50", "-b:v", "800k", "-c:a", "aac", "-f", "flv", url], folder)


def milliseconds(said):
    """What the page says: "about 0.9 s", "870 ms"."""
    number, unit = said.removeprefix("about ").split()
    return float(number.replace(",", "")) * (1000 if unit == "s" else 1)


def measure(browser):
    """What is to be: no stall, near the edge. Gives whether, and what was."""
    browser.evaluate("window.stalls = []")
    first, latencies = browser.evaluate(STATE), []
    started = time.monotonic()
    while time.monotonic() < started + SECONDS:
        time.sleep(0.5)
        state = browser.evaluate(STATE)
        assert not state["error"], state
        latencies.append(milliseconds(state["said"]))
    took, played = time.monotonic() - started, state["time"] - first["time"]
    latencies.sort()
    figures = (f"latency p50 {latencies[len(latencies) // 2]:.0f} ms, p95 {latencies[int(len(latencies) * 0.95)]:.0f} ms, longest "
               f"{latencies[-1]:.0f} ms, {played:.1f} s played in {took:.1f} s, stalls {state['stalls']}")
    print(figures)
    near = state["stalls"] == 0 and latencies[-1] <= LATENCY_LIMIT_MS * patience()
    return played > 0.97 * SECONDS and (near or SANITIZED), figures


@pytest.mark.timeout(TRIES * SECONDS + 90)
@pytest.mark.works_with("hls.js", plays="HLS", codecs="H.264, AAC", checked="10 s without a stall, at most 1.2 s late")
def test_low_latency_without_a_stall(new_weir, folder):
    server = new_weir("").start()
    with camera(server.rtmp(), folder):
        server.wait_live()
        with Browser(folder) as browser:
            browser.open(server.http("/?play=live/livestream&transport=hls&autoplay=1"))
            watch(browser, SETTLE_SECONDS)
            browser.evaluate(COUNT_STALLS)
            tries = [measure(browser)]
            while not tries[-1][0] and len(tries) < TRIES:
                tries.append(measure(browser))
    assert tries[-1][0], tries
