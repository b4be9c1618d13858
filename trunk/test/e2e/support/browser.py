"""A headless Chromium, driven by its DevTools protocol: no driver program whose version must match."""

import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import websocket

from media import SAMPLE, run
from weir import wait_until

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
         "--disable-dev-shm-usage", "--autoplay-policy=no-user-gesture-required", "--mute-audio",
         "--remote-debugging-port=0", "--remote-allow-origins=*", "--window-size=1000,800",
         # A camera and a microphone that need no hardware and ask nobody.
         "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]
# WebRTC leaves out loopback, where there may be nothing else (a container without a network).
LONELY = ["--allow-loopback-in-peer-connection"]
GRID = (32, 18)  # pixels that pictures are compared at


def has_network():
    """Whether there is more than loopback."""
    routes = Path("/proc/net/route").read_text().splitlines()[1:]
    addresses = Path("/proc/net/if_inet6")
    return bool(routes) or addresses.exists() and any(line.split()[-1] != "lo" for line in addresses.read_text().splitlines())


def first_page(port):
    """The page that the browser begins with, None as long as it is not there."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
        return next((target for target in json.load(answer) if target["type"] == "page"), None)


class Browser:
    """A fresh profile and one page. Ends with the `with` block."""

    def __init__(self, folder, *flags):
        self.flags = flags
        self.profile = Path(folder) / "chromium"
        self.log_path = Path(folder) / "chromium.log"
        self.process = self.page = None
        self.id = 0
        self.console = []  # what the page said
        self.events = []  # of the domains that a test enabled

    def __enter__(self):
        self.profile.mkdir(parents=True)
        with open(self.log_path, "wb") as log:
            flags = [*FLAGS, *([] if has_network() else LONELY), *self.flags, f"--user-data-dir={self.profile}"]
            self.process = subprocess.Popen(["chromium", *flags, "about:blank"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            port_file = self.profile / "DevToolsActivePort"
            wait_until(lambda: port_file.exists() and len(port_file.read_text().split()) > 1, 30, "chromium starts")
            port = port_file.read_text().split()[0]
            page = wait_until(lambda: first_page(port), 30, "chromium has a page")
            self.page = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=60)
            self.call("Page.enable")
            self.call("Runtime.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.page:
            try:
                self.call("Browser.close")
            except (OSError, ValueError, websocket.WebSocketException):  # it closes before it answers, or in the middle
                pass
            self.page.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **parameters):
        self.id += 1
        self.page.send(json.dumps({"id": self.id, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.page.recv())
            if message.get("method") == "Runtime.consoleAPICalled":
                self.console.append(" ".join(str(part.get("value", part.get("description", "")))
                                             for part in message["params"]["args"]))
            elif message.get("method") == "Runtime.exceptionThrown":
                self.console.append("exception: " + json.dumps(message["params"]["exceptionDetails"])[:600])
            elif "method" in message:
                self.events.append(message)
            if message.get("id") == self.id:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]

    def open(self, url):
        result = self.call("Page.navigate", url=url)
        assert "errorText" not in result, f"{url}: {result['errorText']}"

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, json.dumps(result["exceptionDetails"])[:800]
        return result["result"].get("value")

    def screenshot(self, path):
        import base64
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    # ---- the page's video element ----

    def video(self):
        """Its state, None while there is none."""
        return self.evaluate("""(() => {
            const v = document.querySelector('video');
            if (!v) return null;
            const q = v.getVideoPlaybackQuality();
            return {time: v.currentTime, width: v.videoWidth, height: v.videoHeight, paused: v.paused,
                    frames: q.totalVideoFrames, dropped: q.droppedVideoFrames, error: v.error && v.error.message,
                    audio_bytes: v.webkitAudioDecodedByteCount, ready: v.readyState};
        })()""")

    def picture(self):
        """What the video shows now, as GRID pixels of red, green, blue."""
        return self.evaluate("""(() => {
            const [columns, rows] = [%d, %d];
            const v = document.querySelector('video'), c = document.createElement('canvas');
            const [w, h] = [c.width, c.height] = [v.videoWidth, v.videoHeight];
            const g = c.getContext('2d');
            g.drawImage(v, 0, 0);
            const data = g.getImageData(0, 0, w, h).data, sum = new Float64Array(columns * rows * 3);
            for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) {
                const cell = Math.floor(y * rows / h) * columns + Math.floor(x * columns / w);
                for (let i = 0; i < 3; i++) sum[cell * 3 + i] += data[(y * w + x) * 4 + i];
            }
            return Array.from(sum, (value) => Math.round(value * columns * rows / (w * h)));
        })()""" % GRID)


def sample_pictures(source=SAMPLE):
    """Each frame of the sample, as GRID pixels. Colours by BT.709, as browsers take them where a stream says nothing."""
    raw = run(["ffmpeg", "-v", "error", "-i", source, "-map", "0:v:0", "-fps_mode", "passthrough", "-vf",
               f"scale={GRID[0]}:{GRID[1]}:flags=area:in_color_matrix=bt709", "-pix_fmt", "rgb24", "-f", "rawvideo", "-"])
    size = GRID[0] * GRID[1] * 3
    return [raw[at:at + size] for at in range(0, len(raw), size)]


def nearest(picture, pictures):
    """(index, mean difference of a colour value) of the most similar picture."""
    def difference(other):
        return sum(abs(a - b) for a, b in zip(picture, other)) / len(picture)
    best = min(range(len(pictures)), key=lambda index: difference(pictures[index]))
    return best, difference(pictures[best])


def watch(browser, seconds=3):
    """Lets the page's video run; its state before and after. It must advance, and show frames."""
    def started():
        state = browser.video()
        assert not (state and state["error"]), state["error"]
        return state if state and state["time"] > 0 and state["frames"] > 5 and not state["paused"] else None
    try:
        first = wait_until(started, 20, "the video plays")
    except AssertionError as error:
        raise AssertionError(f"{error}; state {browser.video()}; the page said: {browser.console[-10:]}")

    def advanced():
        state = browser.video()
        assert not state["error"], state["error"]
        return state if state["time"] - first["time"] > 0.6 * seconds and state["frames"] - first["frames"] > 0.5 * 25 * seconds else None
    time.sleep(seconds)
    try:
        return first, wait_until(advanced, 3, f"the video has advanced by {seconds} s")  # a pause may fall on the end
    except AssertionError as error:
        raise AssertionError(f"{error}; {first}, then {browser.video()}")
