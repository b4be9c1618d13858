"""Transport streams in RTP (MP2T, RFC 2250): GStreamer publishes and serves them, what is decoded is what was sent."""

import pytest

from media import check_frames, check_rising, encoded, modern_ffmpeg, play_ffmpeg
from rtsp import gst, rtsp_weir
from test_sources import sources, wait_state
from test_rtsp_pull import gst_server

PICTURES = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=20"]
SOUND = ["-f", "lavfi", "-i", "sine=frequency=500:sample_rate=48000:duration=20"]
H264 = ["-c:v", "libx264", "-preset", "fast", "-bf", "2", "-g", "25"]

# name: (encoder arguments, codecs that a player must find)
KINDS = {
    "h264-aac": ([*H264, "-c:a", "aac"], {"video": ["h264"], "audio": ["aac"]}),
    "hevc-aac": (["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:keyint=25:bframes=2", "-c:a", "aac"],
                 {"video": ["hevc"], "audio": ["aac"]}),
    "h264-mp3": ([*H264, "-c:a", "libmp3lame", "-ar", "44100"], {"video": ["h264"], "audio": ["mp3"]}),
    "h264-latm": ([*H264, "-c:a", "aac", "-mpegts_flags", "latm"], {"video": ["h264"], "audio": ["aac"]}),
    "open-gop": (["-c:v", "libx264", "-preset", "fast", "-x264-params", "open-gop=1:keyint=25:bframes=2", "-an"], {"video": ["h264"]}),
    "video-mp2": ([*H264, "-c:a", "mp2"], {"video": ["h264"]}),
}


def clips(kind):
    """A transport stream of this kind."""
    return encoded(*KINDS[kind][0], inputs=(*PICTURES, *SOUND), suffix="ts")


def from_file(clip):
    """Packets of the file in real time."""
    return ["filesrc", f"location={clip}", "!", "tsparse", "set-timestamps=true", "alignment=7", "!", "identity", "sync=true"]


def check(recording, clip, kind, least=40):
    codecs = KINDS[kind][1]
    assert recording.streams() == codecs, recording.streams()
    check_rising(recording)
    check_frames(recording, clip, least)
    if "audio" in codecs:
        assert recording.audio_seconds() > 1.0


@pytest.mark.parametrize("kind, transport", [*((kind, "tcp") for kind in KINDS), ("h264-aac", "udp"), ("hevc-aac", "udp")])
@pytest.mark.works_with("GStreamer", publishes="RTSP", codecs="H.264, HEVC, AAC, MP3", checked="every frame, MPEG-TS in RTP by TCP and UDP")
def test_a_publisher_sends_a_transport_stream(new_weir, folder, kind, transport):
    server, clip = rtsp_weir(new_weir), clips(kind)
    with gst("gst-publisher", folder, "rtspclientsink", "name=s", f"location={server.rtsp()}", f"protocols={transport}", "latency=0",
             *from_file(clip), "!", "queue", "!", "s."):
        server.wait_live()
        recording = play_ffmpeg(server.http("/live/livestream.flv"), folder, 2.5, ffmpeg=modern_ffmpeg(), suffix="mkv", least=5_000)
    recording.ffmpeg = modern_ffmpeg()
    check(recording, clip, kind)


@pytest.mark.parametrize("kind, transport", [("h264-aac", "tcp"), ("h264-aac", "udp"), ("hevc-aac", "tcp"), ("h264-latm", "udp")])
@pytest.mark.works_with("GStreamer", serves="RTSP", codecs="H.264, HEVC, AAC", checked="every frame, MPEG-TS in RTP by TCP and UDP")
def test_a_server_that_has_a_transport_stream_is_pulled(new_weir, folder, kind, transport):
    clip = clips(kind)
    launch = " ".join([*from_file(clip), "!", "rtpmp2tpay", "name=pay0", "pt=33"])
    with gst_server(folder, None, launch=launch) as url:
        server = new_weir(f"application live {{ source {url} {{ stream cam; transport {transport}; }} }}").start()
        wait_state(server, "cam", "live")
        recording = play_ffmpeg(server.http("/live/cam.flv"), folder, 2.5, ffmpeg=modern_ffmpeg(), suffix="mkv", least=5_000)
        assert sources(server)[0]["failures"] == 0, sources(server)
    recording.ffmpeg = modern_ffmpeg()
    check(recording, clip, kind)
