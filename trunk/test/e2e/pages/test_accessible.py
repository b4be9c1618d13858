"""Names, roles and contrast of the pages for people who hear them or see little, by axe-core, at both widths, light and dark."""

import json

import pytest

from browser import Browser
from media import publisher
from test_addresses import opened
from test_console import shows
from web_players import LIBRARIES
from weir import wait_until

RUN = "axe.run(document, {resultTypes: ['violations']}).then((done) => JSON.stringify(done.violations))"
GRAVE = ("serious", "critical")


def findings(browser):
    """What axe-core finds grave: a line each."""
    browser.evaluate((LIBRARIES / "axe-core" / "axe.min.js").read_text())
    return [f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes'][:4]]}"
            for one in json.loads(browser.evaluate(RUN)) if one["impact"] in GRAVE]


def looks_like(browser, width, scheme):
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_pages_have_no_grave_finding(weir, folder, width, scheme):
    with publisher(weir.rtmp("live/one"), folder), Browser(folder) as browser:
        looks_like(browser, width, scheme)
        for path in ("/", "/publish.html", "/phone.html"):
            browser.open(weir.http(path))
            wait_until(lambda: browser.evaluate("document.readyState") == "complete", 20, "the page is there")
            assert not findings(browser), path
        browser.open(weir.http("/"))
        shows(browser, "H264 + AAC")
        browser.evaluate("document.querySelector('.card button.play').click()")
        wait_until(lambda: browser.evaluate("document.querySelector('.card').dataset.state") == "playing", 20, "it plays")
        assert not findings(browser), "with a player"
        opened(browser)
        assert not findings(browser), "with the addresses"
        browser.open(f"http://127.0.0.1:{weir.api_port}/console/")
        shows(browser, "by rtmp")
        assert not findings(browser), "the console"
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing stands out of the window"
