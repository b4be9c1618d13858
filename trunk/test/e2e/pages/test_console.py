"""The page as a console, in headless Chromium: plots, streams that come and go, and at /console/ of the API's port who is
connected. Other tests play with it."""

import contextlib
import re
import time
import urllib.request

import pytest

from browser import Browser
from flv import HttpFlv
from media import publisher
from rtmp import RtmpPlayer
from tls import certificate, tls_weir
from weir import is_late, wait_until

TEXT = "document.body?.innerText ?? ''"
POINTS = "Object.fromEntries([...document.querySelectorAll('#plots li')].map((li) => [li.dataset.plot, Number(li.dataset.points ?? 0)]))"
# Clicks on a button that asks first, after some seconds again.
SURE = "(() => {{ const one = {}; if (!('sure' in one.dataset)) one.click(); one.click(); }})()"
PLOTS = {"players", "send_kbps", "recv_kbps", "cpu", "busy", "memory_kib", "drops"}
BAD_NAME = "<img src=x onerror=window.hurt=1>"
# Publishers without media and viewers that read nothing stay as long as the test.
STAY = "write_stall_timeout 5m;"
PATIENT = f"publish {{ firstpkt_timeout 5m; }} {STAY}"
pytestmark = pytest.mark.config(PATIENT)


def shows(browser, text, seconds=10):
    wait_until(lambda: text in browser.evaluate(TEXT), seconds, f"{text!r} is on the page; it said {browser.console[-5:]}")


def value(browser, plot):
    return browser.evaluate(f"document.querySelector('[data-plot={plot}] .value').textContent")


@contextlib.contextmanager
def page(folder, url, own, *flags):
    """A browser at the address; at the end: no word on the console, no request to another server than `own`."""
    with Browser(folder, *flags) as browser:
        browser.call("Network.enable")
        browser.open(url)
        yield browser
        browser.evaluate("1")
        asked = {event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"}
        assert asked and all(one.startswith((own, "data:", "blob:")) for one in asked), asked
        assert browser.console == [], browser.console


@contextlib.contextmanager
def publishing(weir, names):
    """Streams of these names, whatever is in them; without media."""
    with contextlib.ExitStack() as stack:
        for name in names:
            peer = stack.enter_context(RtmpPlayer(weir.rtmp_port, play=False))
            peer.command("publish", 3, None, name, "live", stream=1)
        wait_until(lambda: len(weir.streams()) == len(names), 10, f"{len(names)} publish")
        yield


def test_plots_get_points_and_a_stream_that_ends_disappears(weir, folder):
    with page(folder, weir.http("/"), weir.http("/")) as browser:
        shows(browser, "Nothing is live")
        with publisher(weir.rtmp("live/one"), folder):
            shows(browser, "live/one")
            with HttpFlv(weir.http_port, "/live/one.flv"):
                wait_until(lambda: value(browser, "players") == "1", 10, "a viewer is counted")
                shows(browser, "1 watching")
                wait_until(lambda: "bit/s" in value(browser, "recv_kbps") and value(browser, "recv_kbps") != "0 kbit/s", 10,
                           "the publisher's bit rate")
                before = browser.evaluate(POINTS)
                assert set(before) == PLOTS, before
                wait_until(lambda: browser.evaluate(POINTS)["cpu"] >= before["cpu"] + 2, 10, "points are added")
                lines = browser.evaluate("[...document.querySelectorAll('#plots .line')].map((path) => path.getAttribute('d'))")
                assert all(line.startswith("M") and line.count("L") >= 2 and "NaN" not in line for line in lines), lines
        wait_until(lambda: "live/one" not in browser.evaluate(TEXT).split("Publish")[0], 10, "the stream is gone")
        shows(browser, "Nothing is live")


def test_plots_begin_with_what_was_before(weir, folder):
    wait_until(lambda: len(weir_history(weir)) >= 3, 15, "the server has a history")
    with page(folder, weir.http("/"), weir.http("/")) as browser:
        points = wait_until(lambda: browser.evaluate(POINTS).get("memory_kib"), 20, "plots are drawn")
        assert points >= 3, "they have a past"


def weir_history(weir):
    import json
    import urllib.request
    with urllib.request.urlopen(weir.http("/live.json?history=1"), timeout=20) as answer:
        return json.load(answer)["health"]["history"]["time_ms"]


def test_names_are_text_and_nothing_else(weir, folder):
    with publishing(weir, [BAD_NAME]):
        for url in (weir.http("/"), f"http://127.0.0.1:{weir.api_port}/console/"):
            with page(folder, url, url.split("console/")[0]) as browser:
                shows(browser, BAD_NAME)
                time.sleep(1)
                assert browser.evaluate("window.hurt === undefined && document.querySelector('main img:not(.poster)') === null")


def test_the_public_page_tells_nothing_of_people(weir, folder):
    with publisher(weir.rtmp(), folder), HttpFlv(weir.http_port), page(folder, weir.http("/"), weir.http("/")) as browser:
        shows(browser, "live/livestream")
        text = browser.evaluate(TEXT)
        for client in weir.clients():
            assert client["id"] not in text
        assert browser.evaluate("document.getElementById('console').hidden")
        assert not browser.evaluate("[...document.querySelectorAll('button')].some((button) => /kick|end/i.test(button.textContent))")
        for path in ("/api/v1/clients", "/api/v1/streams", "/console/", "/metrics"):
            assert browser.evaluate(f"fetch('{path}').then((answer) => answer.status)") == 404
        browser.console.clear()  # the browser's own words on these


@pytest.mark.parametrize("width", [1100, 360])
def test_the_console_shows_and_kicks(weir, folder, width):
    api = f"http://127.0.0.1:{weir.api_port}/"
    with publisher(weir.rtmp(), folder) as sender, HttpFlv(weir.http_port) as player:
        weir.wait_live()
        reader = player.reader()
        reader.tags(1)
        with page(folder, api + "console/", api, f"--window-size={width},900") as browser:
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            for client in wait_until(lambda: len(weir.clients()) == 2 and weir.clients(), 10, "two clients"):
                shows(browser, client["id"])
                shows(browser, client["type"])
            shows(browser, "127.0.0.1 by rtmp")
            shows(browser, "H264 Main 3.1")
            wait_until(lambda: value(browser, "players") == "1", 10, "a viewer is counted")
            wait_until(lambda: browser.evaluate(POINTS)["cpu"] >= 2, 10, "points")
            browser.screenshot(folder / f"console-{width}.png")
            assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it fits the window"
            victim = next(client["id"] for client in weir.clients() if not client["publish"])
            button = f"[...document.querySelectorAll('#clients tr')].find((row) => row.textContent.includes('{victim}')).querySelector('.kick')"
            browser.evaluate(button + ".click()")
            time.sleep(0.5)
            assert len(weir.clients()) == 2, "the first click only asks"
            browser.evaluate(SURE.format(button))
            wait_until(lambda: len(weir.clients()) == 1, 10, "the player is gone")
            wait_until(lambda: victim not in browser.evaluate(TEXT), 20, "and off the list")
            browser.evaluate(SURE.format("document.querySelector('.card .publisher .kick')"))
            sender.wait(20)
            wait_until(lambda: "live/livestream" not in browser.evaluate("document.getElementById('streams').innerText"), 10, "its stream is gone")
            shows(browser, "nobody")


def test_links_keep_the_scheme_and_a_token_opens_the_console(new_weir, folder):
    certificate(folder)
    server = tls_weir(new_weir, folder)
    text = server.config_path.read_text()
    server.config_path.write_text(text.replace("http_api {", "http_api { token admin open-sesame-0123;"))
    server.start()
    publish_link = "document.getElementById('publish-link').href"
    watched = "window.open = (url) => { window.asked = url; }; document.querySelector('.card button.play').click(); window.asked"
    with publisher(server.rtmps(), folder), Browser(folder, "--ignore-certificate-errors") as browser:
        for scheme, port, public in (("https", server.apis_port, server.https_port), ("http", server.api_port, server.http_port)):
            browser.open(f"{scheme}://127.0.0.1:{port}/console/")
            wait_until(lambda: browser.evaluate("document.getElementById('login')?.hidden === false"), 10, "a login is asked for")
            assert browser.evaluate("document.querySelectorAll('.card').length") == 0, "nothing is told without it"
            assert "no connection" not in browser.evaluate(TEXT)
            log_in(browser, "open-sesame-0123")
            shows(browser, "127.0.0.1 by rtmp")
            assert browser.evaluate("document.getElementById('login').hidden")
            origin = f"{scheme}://127.0.0.1:{public}"
            assert browser.evaluate(publish_link) == origin + "/publish.html"
            assert browser.evaluate(watched) == origin + "/?play=live%2Flivestream&autoplay=1"
            browser.open(browser.evaluate(publish_link))
            shows(browser, "Publish")


def log_in(browser, secret, user=""):
    browser.evaluate(f"document.getElementById('login-user').value = '{user}';"
                     f"document.getElementById('login-secret').value = '{secret}';"
                     "document.getElementById('login').requestSubmit()")


def test_one_box_takes_a_token_or_a_user_and_a_wrong_one_costs_one_try(new_weir, folder):
    server = new_weir()
    text = server.config_path.read_text()
    server.config_path.write_text(text.replace(
        "http_api {", "http_api { token read look-0123; user admin alice 'wonder land';"))
    server.start()

    def wrong_logins():
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{server.api_port}/metrics",
                                                           headers={"Authorization": "Bearer look-0123"}), timeout=20) as answer:
            found = re.search(r'weir_refused_total{reason="api_wrong_login"} (\d+)', answer.read().decode())
            return int(found.group(1))

    with publisher(server.rtmp(), folder), Browser(folder) as browser:
        browser.open(f"http://127.0.0.1:{server.api_port}/console/")
        shows(browser, "asks for a login")
        log_in(browser, "guess-0123")
        shows(browser, "is wrong")
        time.sleep(5)  # of the page's periods: a wrong login must not be shown again and again
        assert wrong_logins() == 1, "else ten periods later the address is refused"
        assert browser.evaluate("sessionStorage.length") == 0
        log_in(browser, "look-0123")
        shows(browser, "127.0.0.1 by rtmp")
        browser.evaluate("document.getElementById('logout').click()")
        shows(browser, "asks for a login")
        assert browser.evaluate("document.querySelectorAll('.card, #clients tbody tr').length") == 0
        log_in(browser, "wonder land", "alice")
        shows(browser, "127.0.0.1 by rtmp")
        assert wrong_logins() == 1


# Answers wait for `gate`.
HOLD_ANSWERS = """(() => {
  const real = window.fetch;
  window.held = 0;
  const gate = new Promise((open) => { window.openGate = open; });
  window.fetch = async (...what) => {
    const answer = await real(...what);
    window.held++;
    await gate;
    return answer;
  };
})()"""


def test_an_answer_that_comes_after_the_logout_shows_nothing(new_weir, folder):
    server = new_weir()
    text = server.config_path.read_text()
    server.config_path.write_text(text.replace("http_api {", "http_api { token read look-0123;"))
    server.start()
    with publisher(server.rtmp(), folder), Browser(folder) as browser:
        browser.open(f"http://127.0.0.1:{server.api_port}/console/")
        shows(browser, "asks for a login")
        log_in(browser, "look-0123")
        shows(browser, "127.0.0.1 by rtmp")
        browser.evaluate(HOLD_ANSWERS)
        wait_until(lambda: browser.evaluate("window.held") > 0, 10, "an answer is on its way")
        browser.evaluate("document.getElementById('logout').click()")
        shows(browser, "asks for a login")
        browser.evaluate("window.openGate(); new Promise((done) => setTimeout(done, 100))")  # all that waited have run
        assert "asks for a login" in browser.evaluate(TEXT)
        assert browser.evaluate("document.querySelectorAll('.card, #clients tbody tr').length") == 0


def test_the_phone_shows_streams_first_and_each_kick_button(weir, folder):
    with publisher(weir.rtmp(), folder), HttpFlv(weir.http_port) as player:
        player.reader().tags(1)
        with Browser(folder) as browser:
            browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
            browser.open(f"http://127.0.0.1:{weir.api_port}/console/")
            wait_until(lambda: browser.evaluate("document.querySelectorAll('#clients tbody tr').length") == 2, 10, "two clients")
            wait_until(lambda: browser.evaluate("document.querySelectorAll('.card').length") == 1, 10, "a stream")
            wait_until(lambda: browser.evaluate(POINTS).get("cpu", 0) >= 2, 10, "plots")
            assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it fits the window"
            box = "const box = one.getBoundingClientRect(); return box.width > 20 && box.left >= 0 && box.right <= innerWidth;"
            assert browser.evaluate(f"[...document.querySelectorAll('#clients .kick')].every((one) => {{ {box} }})")
            assert browser.evaluate("document.querySelector('.card').getBoundingClientRect().bottom < innerHeight"), "on the first screen"
            assert browser.evaluate("document.getElementById('health').getBoundingClientRect().top > "
                                    "document.querySelector('#clients').getBoundingClientRect().bottom"), "plots come last"
            tops = browser.evaluate("Object.fromEntries([...document.querySelectorAll('#plots li')].map("
                                    "(li) => [li.dataset.plot, li.querySelector('.top').textContent]))")
            assert tops["cpu"] == "100 %" and tops["players"] == "10" and "it/s" in tops["send_kbps"], tops


def test_a_hundred_streams_are_listed(weir, folder):
    with publishing(weir, [f"s{number:03}" for number in range(100)]):
        with page(folder, weir.http("/"), weir.http("/")) as browser:
            shows(browser, "100 live")
            assert browser.evaluate("document.querySelectorAll('.card').length") == 100
            shows(browser, "live/s099")
            began = time.monotonic()
            browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert not is_late(began, 5), "the page is not busy with itself"
