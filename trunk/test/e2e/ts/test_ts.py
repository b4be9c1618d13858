"""HTTP-TS: real players get every frame as it was sent, with B-frames, HEVC, audio alone, and codecs that change."""

import json
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from media import (BRIEF, PLAY_SECONDS, Program, Recording, check_both, check_frames, check_rising, encoded, modern_ffmpeg, play_curl,
                   play_ffmpeg, play_vlc, publisher, run)
from rtsp import gst, rtsp_weir
from test_load_client import BENCH, bench
from weir import wait_until


def play(server, folder, seconds=PLAY_SECONDS, **options):
    return play_ffmpeg(server.http("/live/livestream.ts"), folder, seconds, suffix="ts", **options)


def check_packets(data, slow=False):
    """Sync, continuity counters of each PID, PCR at most 100 ms apart, PAT 200 ms. Without payload, at which go2rtc 1.9 ends, only packets
    of `slow` video."""
    assert len(data) > 100 * 188 and len(data) % 188 == 0, len(data)
    counters, pcrs, pats = {}, [], []
    for at in range(0, len(data), 188):
        packet = data[at:at + 188]
        assert packet[0] == 0x47, at
        pid, counter = (packet[1] & 0x1F) << 8 | packet[2], packet[3] & 0x0F
        field = packet[5] if packet[3] & 0x20 and packet[4] else 0
        assert slow or packet[3] & 0x10, (at // 188, pid)
        assert not field & 0x80, (at // 188, pid, "a new player has no discontinuity")
        if pid in counters:
            assert counter == (counters[pid] + (1 if packet[3] & 0x10 else 0)) % 16, (at // 188, pid)
        counters[pid] = counter
        if field & 0x10:
            pcrs.append(int.from_bytes(packet[6:11], "big") >> 7)
        if pid == 0 and pcrs:
            pats.append(pcrs[-1])
    steps = [b - a for a, b in zip(pcrs, pcrs[1:])]
    assert steps and min(steps) > 0 and max(steps) <= 9000, (min(steps), max(steps))
    assert max(b - a for a, b in zip(pats, pats[1:])) <= 18000, pats
    return pcrs


@pytest.mark.works_with("ffmpeg", plays="HTTP-TS", codecs="H.264, AAC", checked="every frame")
@pytest.mark.works_with("curl", plays="HTTP-TS", codecs="H.264, AAC", checked="every frame")
def test_players_get_what_was_sent(new_weir, folder):
    server = new_weir("").start()
    with publisher(server.rtmp(), folder):
        server.wait_live()
        with ThreadPoolExecutor() as both:
            played = both.submit(play, server, folder)
            recording = play_curl(server.http("/live/livestream.ts"), folder)
        check_both(played.result())
        data = recording.path.read_bytes()
        check_packets(data[:len(data) // 188 * 188])
        check_both(recording)
        run(["ffmpeg", "-v", "error", "-xerror", "-err_detect", "explode", "-i", recording.path, "-map", "0", "-c", "copy",
             "-f", "null", "-"])


def test_ffprobe_knows_the_stream_at_once(new_weir, folder):
    server = new_weir("").start()
    with publisher(server.rtmp(), folder):
        server.wait_live()
        said = json.loads(run(["ffprobe", "-v", "error", *BRIEF, "-show_streams", "-show_programs", "-of", "json",
                               server.http("/live/livestream.ts")], 30))
        found = {stream["codec_type"]: stream for stream in said["streams"]}
        assert found["video"]["codec_name"] == "h264" and found["video"]["width"] == 640, found
        assert found["audio"]["codec_name"] == "aac" and found["audio"]["sample_rate"] == "44100", found
        assert len(said["programs"]) == 1 and said["programs"][0]["nb_streams"] == 2, said["programs"]


@pytest.mark.works_with("VLC", plays="HTTP-TS", codecs="H.264, AAC", checked="every frame")
def test_vlc_plays(new_weir, folder):
    server = new_weir("").start()
    with publisher(server.rtmp(), folder):
        server.wait_live()
        recording = play_vlc(server.http("/live/livestream.ts"), folder)
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
        check_frames(recording)


@pytest.mark.works_with("GStreamer", plays="HTTP-TS", codecs="H.264, AAC", checked="every frame")
def test_gstreamer_plays(new_weir, folder):
    server = new_weir("").start()
    out = folder / "gst.mkv"
    with publisher(server.rtmp(), folder):
        server.wait_live()
        with gst("gst", folder, "souphttpsrc", f"location={server.http('/live/livestream.ts')}", "is-live=true", "!", "tsdemux", "name=d",
                 "matroskamux", "name=m", "!", "filesink", f"location={out}",
                 "d.", "!", "queue", "!", "h264parse", "!", "m.", "d.", "!", "queue", "!", "aacparse", "!", "m.") as program:
            wait_until(lambda: out.exists() and out.stat().st_size > 150_000 or not program.running(), 20, "GStreamer receives")
            program.end(2)
    recording = Recording(out)
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_frames(recording)


KINDS = {
    "b-frames": (["-c:v", "libx264", "-preset", "fast", "-bf", "3", "-g", "50", "-c:a", "aac"], {"video": ["h264"], "audio": ["aac"]}),
    "hevc": (["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error:keyint=25:bframes=2", "-c:a", "aac"],
             {"video": ["hevc"], "audio": ["aac"]}),
    "mp3": (["-c:v", "libx264", "-preset", "fast", "-bf", "2", "-g", "25", "-c:a", "libmp3lame", "-ar", "44100"],
            {"video": ["h264"], "audio": ["mp3"]}),
    "ac3": (["-c:v", "libx264", "-preset", "fast", "-g", "25", "-c:a", "ac3"], {"video": ["h264"], "audio": ["ac3"]}),
    "eac3": (["-c:v", "libx264", "-preset", "fast", "-g", "25", "-c:a", "eac3"], {"video": ["h264"], "audio": ["eac3"]}),
    "opus": (["-c:v", "libx264", "-preset", "fast", "-g", "25", "-c:a", "libopus"], {"video": ["h264"], "audio": ["opus"]}),
    "video": (["-c:v", "libx264", "-preset", "fast", "-g", "25", "-an"], {"video": ["h264"]}),
    "slow": (["-c:v", "libx264", "-preset", "fast", "-r", "5", "-g", "10", "-c:a", "aac"], {"video": ["h264"], "audio": ["aac"]}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.works_with("newer ffmpeg", plays="HTTP-TS", codecs="H.264, HEVC, AAC, MP3, AC-3, E-AC-3, Opus", checked="every frame")
def test_kinds(new_weir, folder, kind):
    server = new_weir("").start()
    output, codecs = KINDS[kind]
    source = encoded(*output)
    with publisher(server.rtmp(), folder, source, ffmpeg=modern_ffmpeg()):
        server.wait_live()
        with ThreadPoolExecutor() as both:
            played = both.submit(play, server, folder, 3.2, ffmpeg=modern_ffmpeg(), least=10_000)
            raw = play_curl(server.http("/live/livestream.ts"), folder, 3.2, least=20_000).path.read_bytes()
        recording = played.result()
    recording.ffmpeg = modern_ffmpeg()
    assert recording.streams() == codecs, recording.streams()
    check_rising(recording)
    check_frames(recording, source, least=15 if kind == "slow" else 60)
    check_packets(raw[:len(raw) // 188 * 188], kind == "slow")
    if "audio" in codecs:
        assert recording.audio_seconds() > 2.5


def test_audio_alone(new_weir, folder):
    server = new_weir("").start()
    source = encoded("-vn", "-c:a", "aac", "-b:a", "96k", suffix="m4a")
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        recording = play_curl(server.http("/live/livestream.ts"), folder, 4, least=50_000)  # of 12,000 a second
    assert recording.streams() == {"audio": ["aac"]}, recording.streams()
    data = recording.path.read_bytes()
    check_packets(data[:len(data) // 188 * 188])
    assert recording.audio_seconds() > 3


def test_a_publisher_with_another_codec_goes_on_in_the_same_answer(new_weir, folder):
    server = new_weir("").start()
    hevc = encoded(*KINDS["hevc"][0])
    out = folder / "curl.ts"
    with open(out, "wb") as file:
        player = subprocess.Popen(["curl", "-sN", "-m", "80", server.http("/live/livestream.ts")], stdout=file)
    try:
        with publisher(server.rtmp(), folder):
            wait_until(lambda: out.stat().st_size > 100_000, 20, "H.264 comes")
        size = out.stat().st_size
        with publisher(server.rtmp(), folder, hevc, name="second", ffmpeg=modern_ffmpeg()):
            wait_until(lambda: out.stat().st_size > size + 200_000, 20, "HEVC comes")
    finally:
        player.kill()
        player.wait()
    data = out.read_bytes()
    check = data[:len(data) // 188 * 188]
    versions = {}
    for at in range(0, len(check), 188):
        packet = check[at:at + 188]
        if (packet[1] & 0x1F) << 8 | packet[2] == 0x1000:
            section = packet[5 + (packet[4] + 1 if packet[3] & 0x20 else 0):]
            versions.setdefault(section[5] >> 1 & 31, section[12])
    assert [0x1B, 0x24] == [kind for _, kind in sorted(versions.items()) if kind in (0x1B, 0x24)][:2], versions
    tail = folder / "tail.ts"
    tail.write_bytes(check[len(check) - 150_000 // 188 * 188:])
    assert Recording(tail).streams()["video"] == ["hevc"], "the newest PMT names HEVC"


def test_keys_are_asked_for(new_weir, folder):
    server = new_weir("security { play_key OPEN-SESAME-1; }").start()
    with publisher(server.rtmp(), folder):
        server.wait_live()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(server.http("/live/livestream.ts"), timeout=10)
        assert refused.value.code == 403
        with urllib.request.urlopen(server.http("/live/livestream.ts?key=OPEN-SESAME-1"), timeout=10) as answer:
            assert answer.headers["Content-Type"] == "video/mp2t" and answer.read(188)[0] == 0x47
            viewers = server.wait_live()["viewers"]
            assert viewers["ts"] == 1, viewers


@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_every_frame_is_verified(new_weir, folder, scheme):
    server = new_weir("").start()
    url = server.http("/live/bench.ts").replace("http", scheme, 1)
    result = bench(folder, "--url", url, "--publish-url", server.rtmp("live/bench"), "--publish", "500k", "--clients", "30",
                   "--duration", "3s", subcommand="ts-play")
    assert result.exit_code == 0, result.text
    media = result.report["media"]
    assert media["video_frames"] > 30 * 30 and media["unstamped"] == 0 and media["corrupted"] == 0, media


def test_a_transport_stream_by_rtsp_keeps_every_frame(new_weir, folder):
    """Stamped frames: Weir writes them as a transport stream, GStreamer sends it by RTSP, Weir reads it, players verify them."""
    first, second = new_weir("").start(), rtsp_weir(new_weir)
    recording = folder / "stamped.ts"
    with Program("publisher", [BENCH, "rtmp-publish", "--url", first.rtmp(), "--bitrate", "300k", "--gop", "15", "--duration", "0"],
                 folder):
        first.wait_live()
        subprocess.run(["curl", "-s", "--max-time", "9", "-o", recording, first.http("/live/livestream.ts")], timeout=60)
    with gst("gst-publisher", folder, "rtspclientsink", "name=s", f"location={second.rtsp()}", "protocols=tcp", "latency=0",
             "filesrc", f"location={recording}", "!", "tsparse", "set-timestamps=true", "alignment=7", "!",
             "identity", "sync=true", "!", "queue", "!", "s."):
        second.wait_live()
        result = bench(folder, "--url", second.http("/live/livestream.flv"), "--clients", "5", "--duration", "3s",
                       "--only-expect", "--expect", "clients.playing == 5 and corrupted == 0 and loss == 0", subcommand="flv-play")
    assert result.exit_code == 0, result.text
    media = result.report["media"]
    assert media["video_frames"] > 5 * 30 and media["unstamped"] == 0, media
