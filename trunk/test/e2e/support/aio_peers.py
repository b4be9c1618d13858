"""aiortc as a publisher and as a player: everything is decoded and kept with its times."""

import asyncio
import fractions
import json
import math
import struct
import time

import aioice.ice
import av
from aiortc import MediaStreamTrack, RTCPeerConnection, RTCRtpSender, RTCSessionDescription

from rtc import BITS, http, through, whep_path, whip_path
from weir import is_late

# It leaves out loopback, where there may be nothing else (a container without a network).
other_addresses = aioice.ice.get_host_addresses
aioice.ice.get_host_addresses = lambda **kinds: other_addresses(**kinds) or ["127.0.0.1"]

WIDTH, HEIGHT, FPS, CELL = 320, 180, 25, 10
TONE_HZ, RATE, CHUNK = 440, 48000, 960


def clock_frame(code, number):
    """A picture whose first rows are the bits of `code`, as ClockPublisher draws them."""
    frame = av.VideoFrame(WIDTH, HEIGHT, "yuv420p")
    row = b"".join((b"\xeb" if code >> (BITS - 1 - bit) & 1 else b"\x10") * CELL for bit in range(BITS))
    below = b"".join(bytes((column + line + number * 2) // 4 % 200 for column in range(WIDTH))
                     for line in range(8)) * ((HEIGHT - CELL) // 8 + 1)
    for plane, rows, fill in zip(frame.planes, (HEIGHT, HEIGHT // 2, HEIGHT // 2), (None, b"\x80", b"\x80")):
        data = row * CELL + below[:(HEIGHT - CELL) * WIDTH] if fill is None else fill * (rows * WIDTH // 2)
        width = WIDTH if fill is None else WIDTH // 2
        padded = b"".join(data[at:at + width].ljust(plane.line_size, b"\0") for at in range(0, rows * width, width))
        plane.update(padded)
    return frame


def read_code(frame):
    """What clock_frame or ClockPublisher wrote."""
    plane = frame.planes[0]
    cell = frame.width // BITS
    line = bytes(plane)[plane.line_size * (cell // 2):][:frame.width]
    return sum(1 << (BITS - 1 - bit) for bit in range(BITS) if line[bit * cell + cell // 2] > 127)


class ClockTrack(MediaStreamTrack):
    kind = "video"

    def __init__(self):
        super().__init__()
        self.begun, self.clock, self.number = time.monotonic(), time.time(), 0

    async def recv(self):
        await asyncio.sleep(max(0.0, self.begun + self.number / FPS - time.monotonic()))
        frame = clock_frame(int((self.clock + self.number / FPS) * 1000) % (1 << BITS), self.number)
        frame.pts, frame.time_base = self.number * 90000 // FPS, fractions.Fraction(1, 90000)
        self.number += 1
        return frame


class ToneTrack(MediaStreamTrack):
    kind = "audio"

    def __init__(self):
        super().__init__()
        self.begun, self.number = time.monotonic(), 0

    async def recv(self):
        await asyncio.sleep(max(0.0, self.begun + self.number * CHUNK / RATE - time.monotonic()))
        first = self.number * CHUNK
        samples = [int(8000 * math.sin(2 * math.pi * TONE_HZ * (first + index) / RATE)) for index in range(CHUNK)]
        frame = av.AudioFrame(format="s16", layout="mono", samples=CHUNK)
        frame.planes[0].update(struct.pack(f"<{CHUNK}h", *samples))
        frame.sample_rate, frame.pts, frame.time_base = RATE, first, fractions.Fraction(1, RATE)
        self.number += 1
        return frame


class AioPeer:
    """Use as `async with`. `closing`: says goodbye at the end."""

    def __init__(self):
        self.pc = RTCPeerConnection()
        self.location = None
        self.began = time.monotonic()
        self.video, self.audio = [], []  # of a player: (arrival, seconds, code), (arrival, seconds, samples)
        self.sizes = set()
        self.tasks = []

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        for task in self.tasks:
            task.cancel()
        await self.pc.close()

    async def offer(self, weir, path, link=None, **headers):
        await self.pc.setLocalDescription(await self.pc.createOffer())
        status, fields, text = await asyncio.to_thread(http, weir, path, "POST", self.pc.localDescription.sdp, **headers)
        assert status == 201, (status, text)
        self.location = fields["Location"]
        answer = through(text, link) if link else text
        await self.pc.setRemoteDescription(RTCSessionDescription(answer, "answer"))

    async def play(self, weir, stream="livestream", link=None):
        for kind in ("audio", "video"):
            self.pc.addTransceiver(kind, direction="recvonly")
        self.pc.on("track", lambda track: self.tasks.append(asyncio.ensure_future(self._consume(track))))
        await self.offer(weir, whep_path(stream), link)
        return self

    async def publish(self, weir, stream, link=None, codec="video/H264"):
        codecs = [one for one in RTCRtpSender.getCapabilities("video").codecs if one.mimeType in (codec, "video/rtx")]
        self.pc.addTrack(ToneTrack())
        self.pc.addTrack(ClockTrack())
        self.pc.getTransceivers()[1].setCodecPreferences(codecs)
        await self.offer(weir, whip_path(stream), link)
        return self

    async def _consume(self, track):
        while True:
            frame = await track.recv()
            if track.kind == "video":
                self.sizes.add((frame.width, frame.height))
                self.video.append((time.monotonic(), float(frame.pts * frame.time_base), read_code(frame)))
            else:
                self.audio.append((time.monotonic(), float(frame.pts * frame.time_base), 
                                   bytes(frame.planes[0])[:frame.samples * 4]))  # packed, stereo

    async def wait_video(self, least=1, seconds=20):
        started = time.monotonic()
        while len(self.video) < least:
            assert not is_late(started, seconds), \
                f"{len(self.video)} pictures of {least} within {seconds} s; {self.pc.connectionState}"
            await asyncio.sleep(0.02)

    async def wait_state(self, state, seconds=15):
        started = time.monotonic()
        while self.pc.connectionState != state:
            assert not is_late(started, seconds), f"{self.pc.connectionState}, not {state}, after {seconds} s"
            await asyncio.sleep(0.02)


def tone_of(audio):
    """Hz of decoded sound (s16, stereo), by its zero crossings."""
    samples = [value for _, _, data in audio for value in struct.unpack(f"<{len(data) // 2}h", data)[::2]]
    crossings = sum(1 for a, b in zip(samples, samples[1:]) if a < 0 <= b)
    return crossings * RATE / max(1, len(samples))


def main():
    """A peer that can be killed, `SERVER STREAM [play]`: prints a line when it is connected."""
    import sys
    host, stream = sys.argv[1:3]

    class Server:
        def http(self, path):
            return host + path

    async def work():
        async with AioPeer() as peer:
            await (peer.play if sys.argv[3:] == ["play"] else peer.publish)(Server(), stream)
            await peer.wait_state("connected")
            print(json.dumps({"connected": True}), flush=True)
            await asyncio.sleep(120)

    asyncio.run(work())


if __name__ == "__main__":
    main()
