"""Everything a publisher may send: one track, B-frames or none, old and new codecs."""

import pytest

from flv import AUDIO, VIDEO, HttpFlv
from media import (SAMPLE, Recording, check_frames, check_rising, encoded, modern_ffmpeg, play_curl, play_ffmpeg, publisher)

VIDEO_INPUT = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=6"]
AUDIO_INPUT = ["-f", "lavfi", "-i", "sine=frequency=500:sample_rate=48000:duration=6"]

# name: (encoder arguments, codecs that a player must find)
KINDS = {
    "hevc-aac": (["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:keyint=25:bframes=2",
                  "-c:a", "aac"], {"video": ["hevc"], "audio": ["aac"]}),
    "av1-opus": (["-c:v", "libsvtav1", "-preset", "12", "-g", "25", "-c:a", "libopus"],
                 {"video": ["av1"], "audio": ["opus"]}),
    "vp9-aac": (["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "25", "-c:a", "aac"],
                {"video": ["vp9"], "audio": ["aac"]}),
    "h264-mp3": (["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "libmp3lame", "-ar", "44100"],
                 {"video": ["h264"], "audio": ["mp3"]}),
    "h264-no-b-frames": (["-c:v", "libx264", "-preset", "fast", "-bf", "0", "-g", "25", "-c:a", "aac"],
                         {"video": ["h264"], "audio": ["aac"]}),
    "h264-many-b-frames": (["-c:v", "libx264", "-preset", "medium", "-bf", "8", "-b_strategy", "2", "-g", "50",
                            "-c:a", "aac"], {"video": ["h264"], "audio": ["aac"]}),
    "video-only": (["-c:v", "libx264", "-preset", "fast", "-g", "25", "-an"], {"video": ["h264"]}),
    "audio-only": (["-vn", "-c:a", "aac"], {"audio": ["aac"]}),
}


def clips(kind):
    """A clip of this kind."""
    return encoded(*KINDS[kind][0], inputs=(*VIDEO_INPUT, *AUDIO_INPUT))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["rtmp", "http"])
@pytest.mark.works_with("newer ffmpeg", publishes="RTMP", codecs="H.264, HEVC, AV1, VP9, AAC, MP3, Opus",
                        checked="every frame; one track alone")
@pytest.mark.works_with("newer ffmpeg", plays="RTMP", codecs="H.264, HEVC, AV1, VP9, AAC, MP3, Opus",
                        checked="every frame; one track alone")
@pytest.mark.works_with("newer ffmpeg", plays="HTTP-FLV", codecs="H.264, HEVC, AV1, VP9, AAC, MP3, Opus",
                        checked="every frame; one track alone")
def test_kind_is_played_as_it_was_sent(weir, folder, kind, way):
    clip, codecs = clips(kind), KINDS[kind][1]
    with publisher(weir.rtmp(), folder, clip, ffmpeg=modern_ffmpeg()):
        weir.wait_live()
        url = weir.rtmp() if way == "rtmp" else weir.http()
        recording = play_ffmpeg(url, folder, 2, ffmpeg=modern_ffmpeg(), suffix="mkv", least=5_000)
    recording.ffmpeg = modern_ffmpeg()
    assert recording.streams() == codecs, recording.streams()
    check_rising(recording)
    if "video" in codecs:
        check_frames(recording, clip, least=25)
    if "audio" in codecs:
        assert recording.audio_seconds() > 1.0


@pytest.mark.parametrize("kind, audio, video", [("video-only", False, True), ("audio-only", True, False)])
def test_flags_of_flv_say_what_is_there(weir, folder, kind, audio, video):
    with publisher(weir.rtmp(), folder, clips(kind)):
        weir.wait_live()
        with HttpFlv(weir.http_port) as player:
            reader = player.reader()
            assert (reader.has_audio, reader.has_video) == (audio, video)
            tags = reader.tags(1)
    assert {tag.type for tag in tags} & {AUDIO, VIDEO} == ({AUDIO} if audio else {VIDEO})


def test_debian_ffmpeg_plays_what_it_can_of_a_modern_stream(weir, folder):
    """A player that cannot decode HEVC in FLV still gets a stream that it can read to the end."""
    with publisher(weir.rtmp(), folder, clips("hevc-aac"), ffmpeg=modern_ffmpeg()):
        weir.wait_live()
        recording = play_curl(weir.http(), folder, 2, least=5_000)
    check_frames(Recording(recording.path, ffmpeg=modern_ffmpeg()), clips("hevc-aac"), least=25)


def test_sequence_header_that_changes_reaches_players(weir, folder):
    """A publisher that comes back with another picture size: the player that stayed decodes both."""
    other = clips("h264-no-b-frames")
    with publisher(weir.rtmp(), folder, SAMPLE, name="first") as first:
        weir.wait_live()
        with HttpFlv(weir.http_port, timeout=20) as player:
            reader = player.reader()
            before = reader.tags_until(lambda tag: tag.is_key_frame())
            first.kill()
            with publisher(weir.rtmp(), folder, other, name="second"):
                config = next(tag.data for tag in before if tag.is_avc_config())
                changed = reader.tags_until(lambda tag: tag.is_avc_config() and tag.data != config, 20)
                after = reader.tags_until(lambda tag: tag.is_key_frame(), 20)
    assert not any(tag.type == VIDEO and tag.time_ms > after[-1].time_ms for tag in changed)
