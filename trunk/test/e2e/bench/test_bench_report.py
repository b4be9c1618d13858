"""The page of weir-bench --report: it stands alone, shows its plots, and says what came out."""

import re
import subprocess
import xml.etree.ElementTree as xml

import pytest

from browser import Browser
from hostile import BENCH
from weir import Weir

PAGE = """(() => {
    const plots = [...document.querySelectorAll('figure > svg')];
    return {
        verdict: document.querySelector('#verdict').textContent,
        failed: document.querySelector('#failed')?.innerText ?? '',
        titles: [...document.querySelectorAll('figcaption b')].map((each) => each.textContent),
        sizes: plots.map((each) => [each.getBoundingClientRect().width, each.getBoundingClientRect().height]),
        // What a line covers on the screen, not what its path says.
        lines: plots.map((plot) => [...plot.querySelectorAll('.line')].map((line) => line.getBoundingClientRect().width)),
        hover: document.querySelector('.hover title').textContent,
        command: document.querySelector('#command').textContent,
        loaded: performance.getEntriesByType('resource').map((each) => each.name),
        wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
        back: getComputedStyle(document.body).backgroundColor,
    };
})()"""


def run_bench(weir, folder, *arguments):
    page = folder / "report.html"
    done = subprocess.run([BENCH, "rtmp-play", "--url", weir.rtmp(), "--clients", "5", "--publish", "300k", "--duration", "3s",
                           "--behind", "30s", "--stall", "30s",  # how fast it goes beside other tests is no fault
                           "--quiet", "--server-pid", str(weir.process.pid), "--report", page, *arguments],
                          text=True, capture_output=True, timeout=60)
    assert page.exists(), done.stdout + done.stderr
    return done, page


@pytest.fixture(scope="module")
def passed(tmp_path_factory):
    """The page of a run that has passed."""
    folder = tmp_path_factory.mktemp("report")
    server = Weir(folder)
    try:
        server.start()
        done, page = run_bench(server, folder)
        server.stop()
    finally:
        server.kill()
    assert done.returncode == 0, done.stdout
    return page


def look(browser, page):
    """What the page shows, once all is quiet, and what it said or asked for meanwhile."""
    for domain in ("Network", "Log"):
        browser.call(f"{domain}.enable")
    browser.events.clear()
    browser.open(page.as_uri())
    found = browser.evaluate(f"new Promise((done) => {{ if (document.readyState === 'complete') done(); "
                             f"else addEventListener('load', done); }}).then(() => {PAGE})")
    asked = [event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"]
    said = [event["params"]["entry"]["text"] for event in browser.events if event["method"] == "Log.entryAdded"]
    return found, asked, said + browser.console


def check_alone(page, found, asked, said):
    assert found["loaded"] == [] and [url for url in asked if not url.startswith("data:")] == [page.as_uri()]
    assert said == []
    assert not found["wide"], "fits without scrolling sideways"


def test_report_of_a_run_that_passed(passed, folder):
    xml.fromstring(passed.read_text())
    with Browser(folder) as browser:
        found, asked, said = look(browser, passed)
        browser.screenshot(folder / "report.png")
    check_alone(passed, found, asked, said)
    assert found["verdict"] == "PASS" and not found["failed"]
    for title in ("Clients", "Bit rate", "End-to-end latency", "CPU, of one core", "Memory"):
        assert title in found["titles"]
    assert all(width > 500 and height > 100 for width, height in found["sizes"]), found["sizes"]
    assert all(lines and max(lines) > 50 for lines in found["lines"]), found["lines"]
    assert re.match(r"[\d.]+ s\n\w+: \d", found["hover"]), found["hover"]
    assert "rtmp-play --url" in found["command"]


def test_report_says_what_failed(weir, folder):
    done, page = run_bench(weir, folder, "--expect", "latency.p99<1us")
    assert done.returncode == 1, done.stdout
    with Browser(folder) as browser:
        found, asked, said = look(browser, page)
    check_alone(page, found, asked, said)
    assert found["verdict"] == "FAIL"
    assert "latency.p99" in found["failed"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_report_follows_the_scheme_of_the_reader(passed, folder, scheme):
    with Browser(folder) as browser:
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        found, _, _ = look(browser, passed)
    level = sum(int(part) for part in re.findall(r"\d+", found["back"])[:3])
    assert level > 600 if scheme == "light" else level < 150, found["back"]


def test_report_fits_a_phone(passed, folder):
    with Browser(folder) as browser:
        browser.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=2, mobile=True)
        found, _, _ = look(browser, passed)
        browser.screenshot(folder / "phone.png")
    assert not found["wide"]
    assert all(300 < width <= 390 for width, _ in found["sizes"]), found["sizes"]
