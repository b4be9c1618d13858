"""HLS and DASH by programs that people watch and record with: three versions of ffmpeg, streamlink, yt-dlp. Each gets the pictures that were
sent, and audio without a gap."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from hls import Viewer
from media import check_both, modern_ffmpeg, older_ffmpeg, play_ffmpeg, publisher, record
from test_hls import short_gops
from weir import TOP, wait_until

TOOLS = TOP / "objs/tools/venv/bin"
FORMATS = {"hls": "m3u8", "dash": "mpd"}
SECONDS = 3
FRAME = 1024 / 44_100  # of AAC


@pytest.fixture
def source(folder):
    return short_gops(folder)


@pytest.fixture
def server(new_weir, folder, source):
    server = new_weir("hls { fragment 1s; }").start()
    with publisher(server.rtmp(), folder, source):
        # Before, nobody knows where the first segment will end, and players of DASH guess wrong.
        wait_until(lambda: server.wait_live()["gop"]["key_frames"] > 1, 20, "the length of a GOP is known")
        yield server


def address(server, form):
    return server.http(f"/live/livestream.{FORMATS[form]}")


def check(recording, source):
    check_both(recording, SECONDS - 0.8, source)  # some players are ended after so long, with less
    times = [float(each["pts_time"]) for each in recording.packets() if each["codec_type"] == "audio"]
    steps = [after - before for before, after in zip(times, times[1:])]
    assert all(abs(step - FRAME) < 0.003 for step in steps), f"audio has gaps: {sorted(steps)[:3]} to {sorted(steps)[-3:]}"


@pytest.mark.works_with("ffmpeg", plays="HLS", codecs="H.264, AAC", checked="every frame, audio without a gap")
@pytest.mark.works_with("ffmpeg", plays="DASH", codecs="H.264, AAC", checked="every frame, audio without a gap")
@pytest.mark.works_with("ffmpeg 7", plays="HLS", codecs="H.264, AAC", checked="every frame, audio without a gap")
@pytest.mark.works_with("ffmpeg 7", plays="DASH", codecs="H.264, AAC", checked="every frame, audio without a gap")
@pytest.mark.works_with("newer ffmpeg", plays="HLS", codecs="H.264, AAC", checked="every frame, audio without a gap")
@pytest.mark.works_with("newer ffmpeg", plays="DASH", codecs="H.264, AAC", checked="every frame, audio without a gap")
@pytest.mark.timeout(180)  # three programs at a time, and what each of them got is decoded
@pytest.mark.parametrize("form", FORMATS)
def test_three_versions_of_ffmpeg_play(server, folder, source, form):
    if form == "hls":  # where a playlist begins with a single short segment, ffmpeg 7.0 sometimes stands still behind it
        viewer = Viewer(address(server, form))
        wait_until(lambda: len(viewer.reload().segments) > 2, 20, "segments")
    versions = {"debian": "ffmpeg", "older": older_ffmpeg(), "newer": modern_ffmpeg()}
    with ThreadPoolExecutor(len(versions)) as pool:
        jobs = [pool.submit(play_ffmpeg, address(server, form), folder, SECONDS, name=version, ffmpeg=program, suffix="ts")
                for version, program in versions.items()]
        played = [job.result() for job in jobs]
    for recording in played:
        check(recording, source)


def test_a_stream_that_hls_has_begun_plays_by_dash(server, folder, source):
    """The first segment is cut short for the first viewer of HLS. ffmpeg looks for the next one by the second in which the last one begins, and
    would read the first again and again."""
    Viewer(address(server, "hls"))
    check(play_ffmpeg(address(server, "dash"), folder, SECONDS, suffix="ts"), source)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.works_with("yt-dlp", plays="HLS", codecs="H.264, AAC", checked="every frame, audio without a gap; with Debian's ffmpeg")
@pytest.mark.works_with("yt-dlp", plays="DASH", codecs="H.264, AAC", checked="every frame, audio without a gap; with Debian's ffmpeg")
def test_yt_dlp_records(server, folder, source, form):
    """It reads the playlist or MPD, chooses, and lets ffmpeg fetch what it chose."""
    command = [TOOLS / "yt-dlp", "--ignore-config", "--no-cache-dir", "--output", "-", address(server, form)]
    check(record("yt-dlp", command, folder, SECONDS, stdout=folder / "yt-dlp.ts"), source)


@pytest.mark.works_with("streamlink", plays="HLS", codecs="H.264, AAC", checked="every frame, audio without a gap")
def test_streamlink_records(server, folder, source):
    command = [TOOLS / "streamlink", "--loglevel", "warning", "--stdout", f"hls://{address(server, 'hls')}", "best"]
    check(record("streamlink", command, folder, SECONDS, stdout=folder / "streamlink.mp4"), source)
