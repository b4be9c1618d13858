"""Web players in headless Chromium, with the versions of trunk/test/web-players/package.json: starts one in a page, and returns what
the page has seen. The tests and scripts/web-players use it."""

import contextlib
import functools
import http.server
import json
import threading

from media import publisher
from weir import TOP, wait_until

PAGE = TOP / "trunk/test/web-players"
LIBRARIES = TOP / "objs/tools/web-players"
SUFFIX = {"ll-hls": ".m3u8", "hls": ".m3u8", "dash": ".mpd", "flv": ".flv"}
#Name : its formats, and its name on npm.
PLAYERS = {"hls.js": (("ll-hls", "hls"), "hls.js"), "shaka": (("ll-hls", "hls", "dash"), "shaka-player"), "dash.js": (("dash",), "dashjs"),
           "vhs": (("ll-hls", "hls", "dash"), "video.js"), "mpegts.js": (("flv",), "mpegts.js"), "xgplayer": (("flv",), "xgplayer-flv")}


def version(player):
    return json.loads((PAGE / "package.json").read_text())["dependencies"][PLAYERS[player][1]]


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def translate_path(self, path):
        self.directory = str(LIBRARIES if path.startswith("/libraries/") else PAGE)
        return super().translate_path(path.removeprefix("/libraries"))


@contextlib.contextmanager
def site():
    """The address of the page's folder. Its origin is not the server's."""
    assert (LIBRARIES / ".stamp").exists(), "the web players are missing: run scripts/install-deps.sh --web-players"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=PAGE)) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{files.server_address[1]}"
        files.shutdown()


class PlayerPage:
    """One player in the browser's page. Each begin() is a new page."""

    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        self.pages = 0

    def begin(self, player, form, url, settings=None, audio_only=False):
        """Loads the player, and then starts it on a stream. `url` has no suffix."""
        self.load(player)
        self.start(form, url, settings, audio_only)

    def load(self, player):
        self.pages += 1
        self.browser.open(f"{self.address}/page.html?player={player}&page={self.pages}")
        wait_until(lambda: self.browser.evaluate("typeof loaded == 'object' && loaded"), 20, f"{player} is loaded")

    def start(self, form, url, settings=None, audio_only=False):
        options = {"low": form != "hls", "settings": settings or {}, "audioOnly": audio_only}
        self.browser.evaluate(f"begin({json.dumps(url + SUFFIX[form])}, {json.dumps(options)})")

    def state(self):
        return self.browser.evaluate("state()")

    def choose(self, level):
        self.browser.evaluate(f"handle.choose({level})")

    def leave(self):
        self.browser.open("about:blank")


def publish_many(urls, folder, sources, **options):
    """One ffmpeg that sends files unchanged to many addresses: a list of (url, number of the source)."""
    words = []
    for each in sources[1:]:
        words += ["-re", "-stream_loop", "-1", "-i", each]
    for url, number in urls[:-1]:
        words += ["-map", number, "-c", "copy", "-f", "flv", url]
    last, number = urls[-1]
    return publisher(last, folder, sources[0], output=(*words, "-map", number, "-c", "copy"), **options)
