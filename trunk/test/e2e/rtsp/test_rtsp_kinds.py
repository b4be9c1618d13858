"""RTSP beside other protocols and with other codecs than H.264 and AAC: what is decoded is what was sent."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from aio_peers import AioPeer, TONE_HZ, read_code, tone_of
from media import BRIEF, PLAY_SECONDS, QUICK, check_frames, encoded, listed_frames, modern_ffmpeg, play_ffmpeg, publisher, record, run
from rtc import ClockPublisher, rtc_weir
from rtsp import play_rtsp, publish_rtsp, rtsp_weir
from test_rtsp import most_runs
from weir import free_port

PICTURES = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=6"]
SOUND = ["-f", "lavfi", "-i", "sine=frequency=500:sample_rate=48000:duration=6"]

# name: (encoder arguments, codecs that a player must find)
KINDS = {
    "hevc-opus": (["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:keyint=25:bframes=2", "-c:a", "libopus"],
                  {"video": "hevc", "audio": "opus"}),
    "av1-aac": (["-c:v", "libsvtav1", "-preset", "12", "-g", "25", "-c:a", "aac"], {"video": "av1", "audio": "aac"}),
    "vp9-mp3": (["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "25", "-c:a", "libmp3lame", "-ar", "44100"],
                {"video": "vp9", "audio": "mp3"}),
    "vp8-pcma": (["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-g", "25", "-c:a", "pcm_alaw", "-ar", "8000", "-ac", "1"],
                 {"video": "vp8", "audio": "pcm_alaw"}),
    "h264-pcmu": (["-c:v", "libx264", "-preset", "fast", "-bf", "2", "-g", "25", "-c:a", "pcm_mulaw", "-ar", "8000", "-ac", "1"],
                  {"video": "h264", "audio": "pcm_mulaw"}),
}


def clips(kind):
    """A clip of this kind."""
    return encoded(*KINDS[kind][0], inputs=(*PICTURES, *SOUND))


class Decoded:
    """What ffmpeg decoded while it played: a file of packets would need the decoding times that RTP does not have."""

    def __init__(self, url, folder, name, transport="tcp"):
        self.ffmpeg = modern_ffmpeg()
        self.list = folder / f"{name}.framemd5"
        command = [self.ffmpeg, *QUICK, "-y", *BRIEF, "-rtsp_transport", transport, "-i", url,
                   "-map", "0:v:0", "-map", "0:a:0", "-fps_mode", "passthrough", "-ac", "1", "-ar", "8000", "-flush_packets", "1",
                   "-f", "framemd5", self.list]
        self.said = record(name, command, folder, PLAY_SECONDS, output=self.list, least=1_000).said

    def frames(self):
        return [digest for _, digest in listed_frames(self.list.read_text(), 2)[0]]

    def codecs(self):
        found = re.search(r"Input #0.*?Stream mapping", self.said, re.S)[0]
        return {kind.lower(): name for kind, name in re.findall(r"(Video|Audio): (\w+)", found)}

    def audio_seconds(self):
        return sum(size for size, _ in listed_frames(self.list.read_text(), 2)[1]) / 2 / 8000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.works_with("newer ffmpeg", publishes="RTSP", codecs="H.264, HEVC, AV1, VP9, VP8, AAC, MP3, Opus, G.711",
                        checked="every frame by TCP", set="`-strict experimental` for AV1")
@pytest.mark.works_with("newer ffmpeg", plays="RTSP", codecs="H.264, HEVC, AV1, VP9, VP8, AAC, MP3, Opus, G.711",
                        checked="every frame by TCP and UDP")
def test_kind_goes_in_and_out_by_rtsp(new_weir, folder, kind):
    server = rtsp_weir(new_weir)
    clip, codecs = clips(kind), KINDS[kind][1]
    with publish_rtsp(server.rtsp(), folder, source=clip, output=("-c", "copy", "-strict", "experimental"), ffmpeg=modern_ffmpeg()):
        server.wait_live()
        with ThreadPoolExecutor() as both:
            players = both.map(lambda transport: Decoded(server.rtsp(), folder, f"player-{transport}", transport), ("tcp", "udp"))
        for played in players:
            assert played.codecs() == codecs, played.codecs()
            check_frames(played, clip, least=40, most_runs=most_runs(server))
            assert played.audio_seconds() > 1.0


@pytest.mark.parametrize("kind", ["hevc-opus", "av1-aac"])
def test_kind_comes_by_rtmp_and_goes_by_rtsp(new_weir, folder, kind):
    server = rtsp_weir(new_weir)
    with publisher(server.rtmp(), folder, clips(kind), ffmpeg=modern_ffmpeg()):
        server.wait_live()
        played = Decoded(server.rtsp(), folder, "player")
    assert played.codecs() == KINDS[kind][1], played.codecs()
    check_frames(played, clips(kind), least=40)


# ---- with WebRTC -----------------------------------------------------------------------------------------------------


def rtsp_and_rtc(new_weir):
    port, media = free_port(), free_port(2)  # RTCP is behind RTP
    server = rtc_weir(new_weir, f"rtsp_server {{ listen 127.0.0.1:{port}; rtp_listen 127.0.0.1:{media}; }}")
    server.rtsp = lambda path="live/livestream": f"rtsp://127.0.0.1:{port}/{path}"
    return server


def codes_of(path):
    """(seconds, code) of each picture of a recording."""
    import av
    with av.open(str(path)) as file:
        return [(float(frame.pts * frame.time_base), read_code(frame)) for frame in file.decode(video=0)]


def check_codes(frames, least, tolerance=7):
    """
    What pictures say and their times rise alike. A publisher's sender reports may move a frame of 40 ms by an eighth,
    5 ms, and both times that are compared are rounded to milliseconds.
    """
    assert len(frames) >= least, len(frames)
    for (a, first), (b, second) in zip(frames, frames[1:]):
        assert second > first and abs((second - first) - round((b - a) * 1000)) <= tolerance, ((a, first), (b, second))


@pytest.mark.parametrize("codec, found", [("video/H264", "h264"), ("video/VP8", "vp8")])
@pytest.mark.works_with("aiortc", publishes="WebRTC", codecs="H.264, VP8, Opus", checked="pictures and their times")
@pytest.mark.works_with("ffmpeg", plays="RTSP", codecs="H.264, VP8, Opus", checked="a WebRTC publisher")
def test_a_webrtc_publisher_is_played_by_rtsp(new_weir, folder, codec, found):
    server = rtsp_and_rtc(new_weir)

    async def scenario():
        async with AioPeer() as peer:
            await peer.publish(server, "aio", codec=codec)
            await peer.wait_state("connected")
            await asyncio.to_thread(server.wait_live, "aio")
            return [await asyncio.to_thread(play_rtsp, server.rtsp("live/aio"), folder, transport, name=transport, least=5_000)
                    for transport in ("tcp", "udp")]

    for recording in asyncio.run(scenario()):
        assert recording.streams() == {"video": [found], "audio": ["opus"]}, recording.streams()
        run(["ffmpeg", "-v", "error", "-xerror", "-err_detect", "explode", "-i", recording.path, "-f", "null", "-"])
        # Without the first picture: ffmpeg takes the first packets of both tracks for one moment, until it has used a sender report.
        check_codes(codes_of(recording.path)[1:], least=40)
        assert recording.audio_seconds() > 1.5


@pytest.mark.works_with("aiortc", plays="WebRTC", codecs="H.264, Opus", checked="an RTSP publisher")
def test_an_rtsp_publisher_is_played_by_whep(new_weir, folder):
    server = rtsp_and_rtc(new_weir)

    async def scenario():
        async with AioPeer() as peer:
            await peer.play(server)
            await peer.wait_video()
            await asyncio.sleep(1)
            del peer.video[:], peer.audio[:]
            await peer.wait_video(75, 20)
            async with asyncio.timeout(30):
                while len(peer.audio) < 120:
                    await asyncio.sleep(0.05)
            return peer.video[:], peer.audio[:], peer.sizes

    with ClockPublisher(server.rtsp(), folder, gop=25, muxer=("-f", "rtsp", "-rtsp_transport", "tcp")):
        server.wait_live()
        video, audio, sizes = asyncio.run(scenario())
        recording = play_ffmpeg(server.rtmp(), folder, least=5_000)
    assert sizes == {(640, 360)}
    check_codes([(seconds, code) for _, seconds, code in video], least=60)
    gaps = [(a, b) for (_, a, _), (_, b, _) in zip(audio, audio[1:]) if b - a > 0.03]
    assert len(gaps) < len(audio) / 15, gaps  # where somebody stood still there are some
    assert abs(tone_of(audio) - TONE_HZ) < 5, tone_of(audio)
    check_codes(codes_of(recording.path), least=40)
