"""What the pages show to whom, and whose pages may do what: the list of streams, keys of players, pages of other ports and of
other hosts, frames, https."""

import contextlib
import functools
import http.server
import json
import threading
import urllib.request

import pytest

from browser import Browser
from media import SAMPLE, encoded, modern_ffmpeg, publisher, run
from rtc import rtc_weir
from test_access import ask, guarded
from test_console import shows
from tls import certificate, tls_weir
from weir import wait_until

KEY = "watch-me-0123"
KEYED = 'vhost __defaultVhost__ { security { play_key %s; } }' % KEY
CARDS = "[...document.querySelectorAll('.card h3')].map((title) => title.textContent)"
STATE = "document.querySelector('.card')?.dataset.state"


def live(url, **headers):
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def plays(browser):
    wait_until(lambda: browser.evaluate(STATE) == "playing", 30, "the stream plays")


def choose(transport):
    return f"(() => {{ const one = document.querySelector('select.transport'); one.value = '{transport}'; " \
           "one.dispatchEvent(new Event('change')); })()"


# ---- the list

def test_the_list_says_what_whoever_asks_may_know(new_weir, folder):
    server = guarded(new_weir, api="token read look-0123;", top=KEYED)
    server.start()
    url = server.http("/live.json?history=1")
    with publisher(server.rtmp(), folder):
        wait_until(lambda: len(live(url, Authorization="Bearer look-0123")["streams"]) == 1, 20, "a login sees all")
        told = live(url)
        assert told["list"] == "open" and told["streams"] == [], "it plays by a key only"
        wait_until(lambda: live(url)["health"]["history"], 20, "asked over loopback")  # a point comes every other second
        for headers in ({"Host": "evil.example"}, {"X_Forwarded_For": "203.0.113.9"}, {"Via": "1.1 proxy"},
                        {"CF_Connecting_IP": "203.0.113.9"}, {"Authorization": "Bearer wrong-0123"}):
            told = live(url, **headers)
            assert told["streams"] == [] and (told["health"] is None or "Authorization" in headers), (headers, told)
        assert live(url, Host="evil.example", Authorization="Bearer look-0123")["health"] is not None
        assert ask(server, "/live.json")[0] == 401, "on the API's port nothing without a login"
    assert 'weir_refused_total{reason="key_missing"} 0' in ask(server, "/metrics", Authorization="Bearer look-0123")[2]


def test_a_name_of_a_stranger_lists_no_stream_that_only_this_machine_plays(new_weir, folder):
    """DNS rebinding: a page of evil.example, whose name points here, reads what its visitor's address may see."""
    server = new_weir("server_name media.example;\nvhost __defaultVhost__ { security { allow play 127.0.0.0/8; deny play all; } }")
    server.start()
    with publisher(server.rtmp(), folder):
        server.wait_live()
        url = server.http("/live.json")
        for host in ("evil.example", "127.0.0.1.evil.example"):
            assert live(url, Host=host)["streams"] == [], host
        for host in ("127.0.0.1:8080", "localhost", "media.example:8080"):
            wait_until(lambda: len(live(url, Host=host)["streams"]) == 1, 20, f"listed for {host}")
    server.stop()
    server.config_path.write_text(server.config_path.read_text().replace("allow play 127.0.0.0/8; deny play all;", "deny play 127.0.0.0/8;"))
    server.start()
    with publisher(server.rtmp(), folder):
        server.wait_live()
        for host in ("evil.example", "localhost"):
            assert live(url, Host=host)["streams"] == [], "nor one that this address may not play"


# ---- keys

def test_a_viewer_types_the_key_and_nobody_reads_it(new_weir, folder):
    server = rtc_weir(new_weir, KEYED)
    with publisher(server.rtmp(), folder), Browser(folder) as browser:
        server.wait_live()
        browser.open(server.http("/"))
        shows(browser, "Nothing is live that plays without a key")
        browser.evaluate("document.getElementById('other-name').value = 'live/livestream';"
                         "document.getElementById('other').requestSubmit()")
        wait_until(lambda: browser.evaluate("document.querySelector('.card .key-form')?.hidden === false"), 20,
                   "the card asks for the key")
        shows(browser, "needs a key")
        for key in ("wrong-0123", KEY):
            browser.evaluate(f"document.querySelector('.key-form input').value = '{key}';"
                             "document.querySelector('.key-form').requestSubmit()")
            if key != KEY:
                shows(browser, "key is wrong")
        plays(browser)
        assert browser.evaluate(CARDS) == ["live/livestream"]
        assert browser.evaluate("document.querySelector('.card .key-form').hidden")
        assert KEY not in browser.evaluate("document.documentElement.outerHTML")
        assert KEY not in browser.evaluate("document.querySelector('a.link').href")
        browser.open(browser.evaluate("document.querySelector('a.link').href"))
        plays(browser)  # the tab remembers it
        browser.evaluate(choose("http"))
        wait_until(lambda: browser.evaluate("document.querySelector('.card').dataset.transport") == "http", 20, "by HTTP")
        plays(browser)


@pytest.mark.parametrize("query", [f"play=live/livestream&key={KEY}", f"play=live/livestream%3Fkey%3D{KEY}",
                                   f"play=live/livestream&token={KEY}"])
def test_a_link_with_the_key_plays_and_hides_it(new_weir, folder, query):
    server = new_weir(KEYED)  # without WebRTC: the key is in the address of the FLV
    server.config_path.write_text(server.config_path.read_text().replace("http_server {", "http_server { stream_list all;"))
    server.start()
    with publisher(server.rtmp(), folder), Browser(folder) as browser:
        server.wait_live()
        browser.open(server.http(f"/?{query}&autoplay=1"))
        plays(browser)
        shows(browser, "watching")
        assert browser.evaluate(CARDS) == ["live/livestream"], "the stream of the list is the same one"
        assert KEY not in browser.evaluate("window.location.href + document.documentElement.outerHTML")
        assert "play=live/livestream" in browser.evaluate("window.location.href")


# ---- pages of others

PAGE = """<!doctype html><title>a developer's page</title><script type="module">
import {{ WebRtcSession, preferH264 }} from '{origin}/webrtc.js';
window.result = 'begun';
try {{
  const media = await navigator.mediaDevices.getUserMedia({{ video: true, audio: true }});
  const session = window.session = new WebRtcSession('{origin}/rtc/v1/whip/?app=live&stream=dev', {{
    prepare: (pc) => media.getTracks().forEach((track) => {{
      const one = pc.addTransceiver(track, {{ direction: 'sendonly', streams: [media] }});
      if (track.kind === 'video') preferH264(one);
    }}),
    lost: (error) => {{ window.result = 'lost: ' + error.message; }},
  }});
  await session.open();
  window.result = 'live';
}} catch (error) {{
  window.result = `${{error.status ?? error.name}}: ${{error.message}}`;
}}
</script>"""


@contextlib.contextmanager
def pages(folder):
    """A web server of somebody else on a port of this machine; gives the port."""
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("host, allowed", [("127.0.0.1", True), ("localhost", True), ("evil.example", False)])
def test_a_page_of_another_port_of_this_machine_publishes_and_no_other(new_weir, folder, host, allowed):
    weir = rtc_weir(new_weir)
    site = folder / "site"
    site.mkdir()
    site.joinpath("index.html").write_text(PAGE.format(origin=f"http://127.0.0.1:{weir.http_port}"))
    with pages(site) as port:
        flags = ["--host-resolver-rules=MAP evil.example 127.0.0.1",
                 f"--unsafely-treat-insecure-origin-as-secure=http://evil.example:{port}"]
        with Browser(folder, *flags) as browser:
            browser.open(f"http://{host}:{port}/")
            said = wait_until(lambda: (text := browser.evaluate("window.result")) not in (None, "begun") and text, 30,
                              "the page has an answer")
            if allowed:
                assert said == "live", said
                wait_until(lambda: any(stream["publish"]["active"] for stream in weir.streams()), 20, "it is on the air")
            else:
                assert said.startswith("403: ") and "not allowed" in said, said
                assert not weir.streams()


def test_pages_are_framed_by_this_server_and_by_whom_it_names(new_weir, folder):
    for directive, expected in (("", "frame-ancestors 'self'"),
                                ("frame_ancestors self https://example.org;", "frame-ancestors 'self' https://example.org")):
        server = new_weir()
        server.config_path.write_text(server.config_path.read_text().replace("http_server {", f"http_server {{ {directive}"))
        server.start()
        for path in ("/", "/publish.html", "/page.js"):
            headers = ask(server, path, port=server.http_port)[1]
            assert headers["Content-Security-Policy"] == expected, path
            assert headers["X-Frame-Options"] == ("SAMEORIGIN" if not directive else None), path
        assert ask(server, "/console/")[1]["Content-Security-Policy"] == "frame-ancestors 'none'"
        server.stop()


def test_https_is_told_to_stay_https(new_weir, folder):
    certificate(folder)
    server = tls_weir(new_weir, folder)
    text = server.config_path.read_text()
    server.config_path.write_text(text.replace("http_server {", "http_server { hsts 30d;", 1))
    server.start()

    def field(port, scheme, host):
        said = run(["curl", "-sk", "-D-", "-o", "/dev/null", "-H", f"Host: {host}", f"{scheme}://127.0.0.1:{port}/live.json"])
        return [line.split(":", 1)[1].strip() for line in said.decode().splitlines()
                if line.lower().startswith("strict-transport-security:")]

    assert field(server.https_port, "https", "media.example.org") == ["max-age=2592000"]
    assert field(server.https_port, "https", "127.0.0.1") == [] and field(server.https_port, "https", "localhost") == []
    assert field(server.http_port, "http", "media.example.org") == [], "without TLS anybody could say so"


# ---- what cannot be played

def hevc_file():
    return encoded("-t", "3", "-an", "-c:v", "libx265", "-x265-params", "log-level=error:bframes=0", "-preset", "ultrafast", "-tag:v", "hvc1",
                   inputs=("-i", SAMPLE), suffix="mp4", ffmpeg="ffmpeg")


def test_a_player_that_finds_out_by_itself_leaves_no_errors_behind(new_weir, folder):
    server = new_weir()
    server.config_path.write_text(server.config_path.read_text().replace("http_server {", "http_server { stream_list none;"))
    server.start()
    with publisher(server.rtmp(), folder, hevc_file(), ffmpeg=modern_ffmpeg()), Browser(folder) as browser:
        server.wait_live()
        for transport in ("http", "ws"):
            browser.open(server.http(f"/?play=live/livestream&transport={transport}&autoplay=1"))
            wait_until(lambda: browser.evaluate(STATE) == "failed", 20, f"{transport} says that it cannot")
            shows(browser, "cannot play the codecs of this stream")
            shows(browser, "does not say what is live")
        assert browser.console == [], browser.console


def test_what_this_browser_cannot_decode_is_said_in_one_sentence(new_weir, folder):
    weir = rtc_weir(new_weir)
    hevc = hevc_file()
    with publisher(weir.rtmp(), folder, hevc, ffmpeg=modern_ffmpeg()), Browser(folder) as browser:
        wait_until(lambda: any(one["video"] == "HEVC" for one in live(weir.http("/live.json"))["streams"]), 20, "HEVC is live")
        browser.call("Log.enable")
        browser.open(weir.http("/"))
        shows(browser, "live/livestream")
        wait_until(lambda: browser.evaluate("document.querySelector('.card .play') !== null"), 20, "it has a card")
        for transport in ("auto", "http", "ws", "webrtc"):
            browser.evaluate("document.querySelector('.card .play').click()" if transport == "auto" else choose(transport))
            wait_until(lambda: browser.evaluate(STATE) == "failed", 20, f"{transport} says that it cannot")
            said = browser.evaluate("document.querySelector('.card .error').textContent")
            assert "H.265 (HEVC)" in said and "his browser" in said, said
        entries = [event["params"]["entry"] for event in browser.events if event["method"] == "Log.entryAdded"]
        assert entries == [] and browser.console == [], (entries, browser.console)


def test_the_console_says_whether_webrtc_can_play_it(new_weir, folder):
    weir = rtc_weir(new_weir)
    pyramid = encoded("-t", "4", "-c:a", "copy", "-c:v", "libx264", "-preset", "veryfast", "-g", "50", "-bf", "3", "-x264-params",
                      "b-pyramid=normal:b-adapt=0", inputs=("-i", SAMPLE), suffix="mp4", ffmpeg="ffmpeg")
    with publisher(weir.rtmp("live/pyramid"), folder, pyramid), publisher(weir.rtmp("live/plain"), folder, name="plain"):
        def told():
            return {stream["name"]: stream["webrtc"] for stream in weir.streams()}
        wait_until(lambda: set(told()) == {"pyramid", "plain"} and None not in [one["playable"] for one in told().values()], 20,
                   "it is known")
        assert told()["plain"] == {"playable": True, "why": ""} or "B-frames are left out" in told()["plain"]["why"], told()
        assert told()["pyramid"]["playable"] is False and "bframes=0" in told()["pyramid"]["why"], told()
        with Browser(folder) as browser:
            browser.open(f"http://127.0.0.1:{weir.api_port}/console/")
            shows(browser, "By WebRTC: no, its B-frames are referred to by others")
            shows(browser, "By WebRTC: yes")
            browser.open(weir.http("/?play=live/pyramid&autoplay=1"))
            plays(browser)
            assert browser.evaluate("document.querySelector('.card').dataset.transport") == "http"
            shows(browser, "Playing over HTTP-FLV")
            assert browser.console == [], "nothing had to fail first"
