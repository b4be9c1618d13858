"""WebRTC for the tests: a server with it, a clock that a picture shows, bad paths, and peers in a browser."""

import contextlib
import heapq
import json
import random
import re
import select
import socket
import statistics
import subprocess
import threading
import time
import urllib.error
import urllib.request

from media import Program
from weir import free_port, is_late, wait_until

SESSION_PATH = re.compile(r"/rtc/v1/session/\w+$")


def free_udp_port():
    """A UDP port of 127.0.0.1 that nobody is bound to."""
    return free_port()


def rtc_weir(new_weir, extra="", name="server"):
    """A running server with WebRTC; its UDP port is `rtc_port`."""
    port = free_udp_port()
    server = new_weir(f"rtc_server {{ enabled on; listen 127.0.0.1:{port}; candidate 127.0.0.1; }}\n{extra}", name)
    server.rtc_port = port
    return server.start()


def whip_path(stream):
    return f"/rtc/v1/whip/?app=live&stream={stream}"


def whep_path(stream):
    return f"/rtc/v1/whep/?app=live&stream={stream}"


def http(weir, path, method="POST", body=b"", kind="application/sdp", **headers):
    """(status, headers, text) of one request to the server's HTTP port."""
    body = body.encode() if isinstance(body, str) else body
    request = urllib.request.Request(weir.http(path), data=body or None, method=method,
                                     headers={"Content-Type": kind, **headers})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode(errors="replace")


def objects(weir):
    """Live objects by the name of their class."""
    return {one["class"]: one["live"] for one in weir.api("/api/v1/objects")["objects"] if one["live"]}


def through(sdp, link):
    """An answer whose only way leads through that link (or another port)."""
    port = getattr(link, "port", link)
    lines = [line for line in sdp.splitlines() if not (line.startswith("a=candidate:") and " udp " not in line.lower())]
    return "\r\n".join(re.sub(r"^(a=candidate:\S+ \d+ \S+ \d+ )\S+ \d+ ", rf"\g<1>127.0.0.1 {port} ", line)
                       for line in lines) + "\r\n"


# ---- a picture that tells when it was made ---------------------------------------------------------------------------

WIDTH, HEIGHT, FPS, BITS, CELL = 640, 360, 25, 32, 20


class ClockPublisher:
    """Publishes (by RTMP, or with another muxer) what a page can measure delay with: 32 cells at the top of each picture are the bits of the
    time (ms, modulo 2^32) at which it was due, white for 1. A sine for sound."""

    def __init__(self, url, folder, name="clock", gop=50, video=("-tune", "zerolatency"), bitrate="1M", sound=True, muxer=("-f", "flv")):
        audio = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000"] if sound else []
        encoded = ["-c:a", "aac", "-ac", "2", "-b:a", "96k"] if sound else ["-an"]
        self.program = Program(name, [
            "ffmpeg", "-hide_banner", "-loglevel", "warning", "-probesize", "32", "-fflags", "nobuffer", "-f", "rawvideo",
            "-pix_fmt", "yuv420p", "-video_size", f"{WIDTH}x{HEIGHT}", "-framerate", FPS, "-i", "pipe:0", *audio,
            "-c:v", "libx264", "-preset", "ultrafast", "-threads", "1", "-g", gop, "-keyint_min", gop, "-sc_threshold", 0,
            "-b:v", bitrate, "-maxrate", bitrate, "-bufsize", bitrate, *video, *encoded, "-flush_packets", "1",
            *muxer, url], folder)
        self.thread = threading.Thread(target=self._feed, daemon=True)
        self.ending = threading.Event()
        self.error = None

    def __enter__(self):
        with open(self.program.log_path, "wb") as log:
            self.program.process = subprocess.Popen(self.program.command, stdin=subprocess.PIPE,
                                                    stdout=subprocess.DEVNULL, stderr=log)
        self.thread.start()
        return self

    def _feed(self):
        noise = random.Random(1).randbytes(WIDTH * 4)
        below = bytearray()
        for row in range(HEIGHT - CELL):
            below += bytes((column + row) // 4 % 220 for column in range(WIDTH))
        chroma = bytes([128]) * (WIDTH * HEIGHT // 2)
        begun, clock, number = time.monotonic(), time.time(), 0
        pipe = self.program.process.stdin
        try:
            while not self.ending.is_set():
                time.sleep(max(0.0, begun + number / FPS - time.monotonic()))
                code = int((clock + number / FPS) * 1000) % (1 << BITS)
                row = b"".join((b"\xeb" if code >> (BITS - 1 - bit) & 1 else b"\x10") * CELL for bit in range(BITS))
                at = 60 + number * 3 % 200 * WIDTH  # something that moves
                below[at:at + len(noise)] = noise
                pipe.write(row * CELL + below + chroma)
                pipe.flush()
                number += 1
        except (OSError, ValueError) as error:
            self.error = error

    def kill(self):
        self.ending.set()
        self.program.kill()

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join(5)
        if self.thread.is_alive():
            self.program.kill()  # nobody reads what is written
        with contextlib.suppress(OSError):
            self.program.process.stdin.close()  # ffmpeg takes no signal while it reads from there
        self.program.end()


# ---- a path with loss and delay --------------------------------------------------------------------------------------


class Link(threading.Thread):
    """A UDP path to a port of this machine that loses and delays, in both directions; `port` is its near end. Each near
    address has one of its own at the far end. As `tc netem` does it, but seeded, with no privileges, and on kernels
    that have no netem.

    drop(up, datagram): further datagrams to lose; `up`: towards the server."""

    def __init__(self, far_port, loss=0.0, delay_ms=0, jitter_ms=0, seed=1, drop=None):
        super().__init__(daemon=True)
        self.far = ("127.0.0.1", far_port)
        self.loss, self.delay, self.jitter, self.drop = loss, delay_ms / 1000, jitter_ms / 1000, drop
        self.random = random.Random(seed)
        self.near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
        self.near.bind(("127.0.0.1", 0))
        self.port = self.near.getsockname()[1]
        self.far_sockets = {}  # by near address
        self.peers = {}  # near address by far socket
        self.queue, self.count = [], 0  # (due, number, socket, datagram, address)
        self.gone = []  # far sockets that nothing comes through any more
        self.passed = self.lost = 0
        self.rebinding = threading.Event()
        self.ending = threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.join(5)
        for one in (self.near, *self.peers, *self.gone):
            one.close()

    def rebind(self):
        """All peers get another address at the far end, as behind a NAT that forgot them."""
        self.rebinding.set()

    def run(self):
        while not self.ending.is_set():
            if self.rebinding.is_set():
                self.rebinding.clear()
                for one in self.far_sockets.values():
                    del self.peers[one]
                    self.gone.append(one)
                self.far_sockets.clear()
            now = time.monotonic()
            wait = min(0.05, max(0.0, self.queue[0][0] - now)) if self.queue else 0.05
            for ready in select.select([self.near, *self.peers], [], [], wait)[0]:
                self._take(ready)
            now = time.monotonic()
            while self.queue and self.queue[0][0] <= now:
                _, _, out, datagram, to = heapq.heappop(self.queue)
                try:
                    out.sendto(datagram, to)
                except OSError:
                    pass  # nobody is there any more

    def _take(self, ready):
        try:
            datagram, source = ready.recvfrom(4096)
        except OSError:
            return
        up = ready is self.near
        if up and source not in self.far_sockets:
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
            made.bind(("127.0.0.1", 0))
            self.far_sockets[source] = made
            self.peers[made] = source
        if self.random.random() < self.loss or (self.drop is not None and self.drop(up, datagram)):
            self.lost += 1
            return
        self.passed += 1
        self.count += 1
        due = time.monotonic() + self.delay + self.random.random() * self.jitter
        out, to = (self.far_sockets[source], self.far) if up else (self.near, self.peers[ready])
        heapq.heappush(self.queue, (due, self.count, out, datagram, to))


# ---- peers in a browser ----------------------------------------------------------------------------------------------

SCRIPT = """
window.peers = {};
window.rtcError = async (work) => { try { return await work(); } catch (e) { return {error: String(e)}; } };
async function connectPeer(name, pc, path, port, prepare) {
    await pc.setLocalDescription(await pc.createOffer());
    if (prepare) prepare(pc.localDescription.sdp);
    const reply = await fetch(path, {method: 'POST', headers: {'Content-Type': 'application/sdp'},
                                     body: pc.localDescription.sdp});
    let text = await reply.text();
    peers[name].location = reply.headers.get('Location');
    if (reply.status != 201) { pc.close(); return {status: reply.status, text}; }
    if (port) text = text.replace(/^a=candidate:\\S+ \\d+ tcp .*\\r\\n/gim, '')
        .replace(/^(a=candidate:\\S+ \\d+ \\S+ \\d+ )\\S+ \\d+ /gm, '$1127.0.0.1 ' + port + ' ');
    await pc.setRemoteDescription({type: 'answer', sdp: text});
    return {status: reply.status, text};
}
window.playPeer = (name, path, port) => rtcError(async () => {
    const pc = new RTCPeerConnection(), video = document.createElement('video'), stream = new MediaStream();
    const peer = peers[name] = {pc, video, frames: [], began: performance.now(), first: null};
    video.autoplay = video.muted = true;
    video.width = 320;
    document.body.append(video);
    video.srcObject = stream;
    pc.ontrack = (event) => stream.addTrack(event.track);
    const canvas = new OffscreenCanvas(%(bits)d, 1), g = canvas.getContext('2d', {willReadFrequently: true});
    const onFrame = (now, meta) => {
        if (peer.first === null) peer.first = now - peer.began;
        g.drawImage(video, 0, 0, video.videoWidth, video.videoHeight / 18, 0, 0, %(bits)d, 1);
        const pixels = g.getImageData(0, 0, %(bits)d, 1).data;
        let code = 0;
        for (let bit = 0; bit < %(bits)d; bit++) code = code * 2 + (pixels[bit * 4 + 1] > 127 ? 1 : 0);
        // When it is shown, on the clock of the code; what the code says; its time.
        const wall = performance.timeOrigin + performance.now();
        peer.frames.push([wall, code, meta.rtpTimestamp ?? null, video.videoWidth]);
        video.requestVideoFrameCallback(onFrame);
    };
    video.requestVideoFrameCallback(onFrame);
    pc.addTransceiver('audio', {direction: 'recvonly'});
    pc.addTransceiver('video', {direction: 'recvonly'});
    return connectPeer(name, pc, path, port);
});
window.publishPeer = (name, path, port, codec, width, height) => rtcError(async () => {
    const pc = new RTCPeerConnection();
    const peer = peers[name] = {pc, frames: []};
    const media = peer.media = await navigator.mediaDevices.getUserMedia({audio: true, video: {width, height, frameRate: 25}});
    for (const track of media.getTracks()) {
        const transceiver = pc.addTransceiver(track, {direction: 'sendonly', streams: [media]});
        if (codec && track.kind == 'video') transceiver.setCodecPreferences(RTCRtpSender.getCapabilities('video').codecs
            .filter((one) => [codec, 'video/rtx'].includes(one.mimeType)));
    }
    return connectPeer(name, pc, path, port);
});
window.peerStats = async (name) => {
    const peer = peers[name], found = {connection: peer.pc.connectionState, first: peer.first, shown: peer.frames.length};
    (await peer.pc.getStats()).forEach((one) => {
        if (one.type == 'inbound-rtp' || one.type == 'outbound-rtp') found[one.kind] = one;
        if (one.type == 'candidate-pair' && one.nominated) found.pair = one;
        if (one.type == 'codec') found[one.mimeType] = one.sdpFmtpLine ?? '';
    });
    return found;
};
window.takeFrames = (name) => peers[name].frames.splice(0);
window.closePeer = async (name, say) => {
    const peer = peers[name];
    const status = say && peer.location ? (await fetch(peer.location, {method: 'DELETE'})).status : 0;
    peer.pc.close();
    peer.media?.getTracks().forEach((track) => track.stop());
    peer.video?.remove();
    delete peers[name];
    return status;
};
""" % {"bits": BITS}


class Page:
    """Peers of one page of a browser, which a server gave (so that the page may use the camera)."""

    def __init__(self, browser, weir):
        self.browser = browser
        browser.open(weir.http("/nothing-is-here"))
        wait_until(lambda: browser.evaluate("location.port") == str(weir.http_port), 10, "the page is there")
        browser.evaluate("document.readyState == 'loading' ? new Promise(go => addEventListener('load', go)) : 0")
        browser.evaluate(SCRIPT)

    def _connect(self, call):
        reply = self.browser.evaluate(call)
        assert "error" not in reply, reply
        return reply

    def play(self, name, path, link=None):
        """{status, text} of the answer."""
        port = getattr(link, "port", 0)
        return self._connect(f"playPeer({json.dumps(name)}, {json.dumps(path)}, {port})")

    def publish(self, name, path, link=None, codec="", width=640, height=360):
        port = getattr(link, "port", 0)
        return self._connect(f"publishPeer({json.dumps(name)}, {json.dumps(path)}, {port}, {json.dumps(codec)}, "
                             f"{width}, {height})")

    def stats(self, name):
        return self.browser.evaluate(f"peerStats({json.dumps(name)})")

    def frames(self, name):
        """What was shown since the last call: [wall clock ms, code, RTP time, width]."""
        return self.browser.evaluate(f"takeFrames({json.dumps(name)})")

    def wait_frames(self, name, least=1, seconds=10):
        started = time.monotonic()
        while True:
            stats = self.stats(name)
            if stats["shown"] >= least and stats.get("video"):
                return stats
            if is_late(started, seconds):
                raise AssertionError(f"{name}: no {least} pictures within {seconds} s: {stats}")
            time.sleep(0.05)

    def wait_state(self, name, state, seconds=15):
        started = time.monotonic()
        while self.stats(name)["connection"] != state:
            assert not is_late(started, seconds), f"{name}: not {state} within {seconds} s: {self.stats(name)}"
            time.sleep(0.05)

    def close(self, name, say=True):
        return self.browser.evaluate(f"closePeer({json.dumps(name)}, {json.dumps(say)})")


def delays(frames):
    """Milliseconds from when a picture was due at the camera to when it was shown."""
    return [(wall - code) % (1 << BITS) for wall, code, *_ in frames]


def median_delay(frames):
    return statistics.median(delays(frames))


def longest_freeze(frames):
    """Seconds."""
    return max((b[0] - a[0] for a, b in zip(frames, frames[1:])), default=0) / 1000


def change(before, after, kind, *names):
    """How much counters of a track grew."""
    values = [after[kind].get(name, 0) - before[kind].get(name, 0) for name in names]
    return values[0] if len(values) == 1 else values
