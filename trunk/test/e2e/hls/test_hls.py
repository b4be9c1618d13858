"""HLS and low-latency HLS: real players get every frame as it was sent, playlists keep the rules, viewers are counted once."""

import http.client
import re
import time

import pytest

from browser import Browser, watch
from hls import Viewer, fetch, status_of
from media import Recording, check_frames, encoded, hear_vlc, modern_ffmpeg, play_ffmpeg, play_vlc, publisher
from rtsp import gst
from test_load_client import bench
from test_ts import KINDS
from weir import wait_until


def play(server, folder, seconds=4, suffix="mkv", **options):
    return play_ffmpeg(server.http("/live/livestream.m3u8"), folder, seconds, suffix=suffix, **options)


def short_gops(folder, *output):
    """The sample with a key frame each second."""
    return encoded(*(output or ("-c:v", "libx264", "-preset", "fast", "-bf", "2", "-g", "25", "-c:a", "aac")))


@pytest.mark.parametrize("container", ["fmp4", "ts"])
@pytest.mark.works_with("ffmpeg", plays="HLS", codecs="H.264, AAC", checked="every frame, fMP4 and MPEG-TS")
def test_ffmpeg_plays_every_frame(new_weir, folder, container):
    server = new_weir(f"hls {{ container {container}; }}").start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        recording = play(server, folder)
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_frames(recording, source, least=75)
    assert recording.audio_seconds() > 3


def test_the_playlist_keeps_the_rules(new_weir, folder):
    server = new_weir("").start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        viewer = Viewer(server.http("/live/livestream.m3u8"))
        info = viewer.multivariant.info
        assert info["RESOLUTION"] == "640x360" and abs(float(info["FRAME-RATE"]) - 25) < 1, info
        assert info["CODECS"].startswith("avc1.64") and info["CODECS"].endswith(",mp4a.40.2"), info
        playlist = first = viewer.reload()
        deadline = time.monotonic() + 60
        while playlist.sequence < first.sequence + 2 and time.monotonic() < deadline:
            playlist = viewer.reload()
            time.sleep(0.1)
        assert len(playlist.segments) >= 3 and playlist.segments[-1].duration == pytest.approx(2, abs=0.05), playlist.text
        assert abs(time.time() - (playlist.open.date or playlist.segments[-1].date)) < 10
        assert "INDEPENDENT-SEGMENTS" in playlist.tags, "the first segment has gone by now"


def test_a_session_of_a_stranger_s_link_is_for_who_began_it(new_weir, folder):
    server = new_weir("security { allow play 127.0.0.2; deny play all; }").start()

    def status(source, path):
        connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=10, source_address=(source, 0))
        connection.request("GET", path)
        try:
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    with publisher(server.rtmp(), folder, short_gops(folder)):
        server.wait_live()
        told = "/live/livestream.hls/index.m3u8?session=aaaaaaaaaaaaaaaaaaaa"
        assert status("127.0.0.3", told)[0] == 403
        begun, playlist = status("127.0.0.2", told)
        assert begun == 200 and status("127.0.0.2", told)[0] == 200
        header = re.search(r'EXT-X-MAP:URI="([^"]+)"', playlist)[1]
        assert status("127.0.0.3", told)[0] == 403
        assert status("127.0.0.3", f"/live/livestream.hls/{header}")[0] == 403


def test_low_latency_players_get_every_part_as_it_is_made(new_weir, folder):
    server = new_weir("").start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        viewer = Viewer(server.http("/live/livestream.m3u8"))
        delays = viewer.record(folder / "parts.mp4", 8, parts=True)
        assert status_of(f"{viewer.list_url}&_HLS_msn={viewer.playlist.last() + 10}") == 400
        summary = server.api("/api/v1/summaries")["data"]
        assert summary["hls"]["blocked_playlists"] > 10, summary["hls"]
    recording = Recording(folder / "parts.mp4")
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_frames(recording, source, least=150)
    # One answer each 200 ms: hundreds would come at once, and most are not late.
    assert 15 <= len(delays) <= 100 and sorted(delays)[len(delays) // 2] < 0.3, delays


def test_the_first_request_is_answered_at_once(new_weir, folder):
    server = new_weir("").start()
    with publisher(server.rtmp(), folder, encoded("-c:v", "libx264", "-preset", "fast", "-g", "250", "-c:a", "aac")):
        server.wait_live()
        time.sleep(1)  # the next key frame is 9 s away
        started = time.monotonic()
        viewer = Viewer(server.http("/live/livestream.m3u8"))
        playlist = viewer.reload()
        (folder / "first.mp4").write_bytes(viewer.get(playlist.segments[0].map) + viewer.get(playlist.segments[0].uri))
        took = time.monotonic() - started
    assert took < 5, took
    assert len(Recording(folder / "first.mp4").frames()) >= 5


MORE = {**{kind: KINDS[kind] for kind in ("b-frames", "hevc", "mp3", "ac3", "eac3", "opus", "video")},
        "vp9": (["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "25", "-c:a", "aac"],
                {"video": ["vp9"], "audio": ["aac"]}),
        "av1": (["-c:v", "libsvtav1", "-preset", "12", "-g", "25", "-vf", "scale=320:-2", "-c:a", "aac"],
                {"video": ["av1"], "audio": ["aac"]})}
NAMES = {"hevc": "hvc1.", "mp3": "mp4a.40.34", "ac3": "ac-3", "eac3": "ec-3", "opus": "Opus", "vp9": "vp09.", "av1": "av01."}


@pytest.mark.parametrize("kind", MORE)
def test_kinds(new_weir, folder, kind):
    server = new_weir("").start()
    output, codecs = MORE[kind]
    source = encoded(*output)
    with publisher(server.rtmp(), folder, source, ffmpeg=modern_ffmpeg()):
        server.wait_live()
        viewer = Viewer(server.http("/live/livestream.m3u8"))
        viewer.record(folder / "kind.mp4", 4)
    recording = Recording(folder / "kind.mp4", ffmpeg=modern_ffmpeg())
    assert recording.streams() == codecs, recording.streams()
    assert NAMES.get(kind, "avc1.") in viewer.multivariant.info["CODECS"], viewer.multivariant.info
    check_frames(recording, source, least=50)
    if "audio" in codecs:
        assert recording.audio_seconds() > 2


def test_audio_alone(new_weir, folder):
    server = new_weir("").start()
    # So long that it does not begin again, where its times have a seam.
    source = encoded("-c:a", "aac", "-b:a", "96k", inputs=("-f", "lavfi", "-i", "sine=sample_rate=44100:duration=60"), suffix="m4a")
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        viewer = Viewer(server.http("/live/livestream.m3u8"))
        assert viewer.multivariant.info["CODECS"] == "mp4a.40.2" and "RESOLUTION" not in viewer.multivariant.info
        viewer.record(folder / "audio.mp4", 4)
    recording = Recording(folder / "audio.mp4")
    assert recording.streams() == {"audio": ["aac"]}, recording.streams()
    assert recording.audio_seconds() > 3
    times = [float(packet["dts_time"]) for packet in recording.packets()]
    steps = [b - a for a, b in zip(times, times[1:])]
    assert max(steps) - min(steps) < 0.0001, "audio has gaps"


@pytest.mark.works_with("VLC", plays="HLS", codecs="H.264, AAC", checked="every frame")
def test_vlc_plays(new_weir, folder):
    server = new_weir("").start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        recording = play_vlc(server.http("/live/livestream.m3u8"), folder)
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
        check_frames(recording, source)


@pytest.mark.parametrize("container", ["fmp4", "ts"])
@pytest.mark.works_with("VLC", plays="HLS", codecs="AAC", checked="sound in real time, fMP4 and MPEG-TS")
def test_vlc_is_heard(new_weir, folder, container):
    """It drops what it takes for late."""
    server = new_weir(f"hls {{ container {container}; }}").start()
    with publisher(server.rtmp(), folder, short_gops(folder)):
        server.wait_live()
        hear_vlc(server.http("/live/livestream.m3u8"), folder)


@pytest.mark.parametrize("container", ["fmp4", "ts"])
@pytest.mark.works_with("GStreamer", plays="HLS", codecs="H.264", checked="every frame, fMP4 and MPEG-TS (`hlsdemux`)")
def test_gstreamer_plays(new_weir, folder, container):
    server = new_weir(f"hls {{ container {container}; }}").start()
    out, source = folder / "gst.mkv", short_gops(folder)
    demux = "qtdemux" if container == "fmp4" else "tsdemux"
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        with gst("gst", folder, "souphttpsrc", f"location={server.http('/live/livestream.m3u8')}", "!", "hlsdemux", "!", demux, "name=d",
                 "matroskamux", "name=m", "!", "filesink", f"location={out}", "d.", "!", "queue", "!", "h264parse", "!", "m.") as program:
            wait_until(lambda: out.exists() and out.stat().st_size > 150_000 or not program.running(), 30, "GStreamer receives")
            program.end(2)
    check_frames(Recording(out), source)


def test_a_second_publisher_is_a_discontinuity(new_weir, folder):
    server = new_weir("").start()
    first, second = short_gops(folder), folder / "second"
    second.mkdir()
    hevc = encoded(*KINDS["hevc"][0])
    with publisher(server.rtmp(), folder, first):
        server.wait_live()
        viewer = Viewer(server.http("/live/livestream.m3u8"))
        playlist = viewer.reload()
        time.sleep(3)
        playlist = viewer.reload()
    with publisher(server.rtmp(), folder, hevc, name="second", ffmpeg=modern_ffmpeg()):
        wait_until(lambda: any(s.discontinuity for s in viewer.reload().segments), 20, "a discontinuity")
        segment = next(s for s in viewer.playlist.segments if s.discontinuity)
        (folder / "hevc.mp4").write_bytes(viewer.get(segment.map) + viewer.get(segment.uri))
        before = next(s for s in viewer.playlist.segments if s.map != segment.map)
        (folder / "h264.mp4").write_bytes(viewer.get(before.map) + viewer.get(before.uri))
    assert Recording(folder / "hevc.mp4").streams()["video"] == ["hevc"]
    assert Recording(folder / "h264.mp4").streams()["video"] == ["h264"]
    assert viewer.playlist.sequence >= playlist.sequence


def test_viewers_are_clients(new_weir, folder):
    server = new_weir("").start()
    with publisher(server.rtmp(), folder, short_gops(folder)):
        server.wait_live()
        viewers = [Viewer(server.http("/live/livestream.m3u8")) for _ in range(3)]
        for viewer in viewers:
            playlist = viewer.reload()
            viewer.get(playlist.segments[0].uri)
        stream = server.wait_live()
        assert stream["viewers"]["hls"] == 3, stream["viewers"]
        assert server.log().count("transport=hls") == 3
        wait_until(lambda: server.wait_live()["viewers"]["hls"] == 0, 25, "viewers who ask for nothing are gone")


def test_keys_are_carried(new_weir, folder):
    server = new_weir("security { play_key OPEN-SESAME-1; }").start()
    with publisher(server.rtmp(), folder, short_gops(folder)):
        server.wait_live()
        assert status_of(server.http("/live/livestream.m3u8")) == 403
        viewer = Viewer(server.http("/live/livestream.m3u8?key=OPEN-SESAME-1"))
        playlist = viewer.reload()
        assert "key=OPEN-SESAME-1" in playlist.segments[0].uri and "key=OPEN-SESAME-1" in playlist.segments[0].map
        assert viewer.get(playlist.segments[0].uri)
        assert status_of(server.http("/live/livestream.hls/index.m3u8")) == 403
        assert "OPEN-SESAME" not in server.log()


@pytest.mark.parametrize("container", ["fmp4", "ts"])
@pytest.mark.parametrize("plain", [False, True])
def test_every_frame_of_many_viewers_is_verified(new_weir, folder, container, plain):
    server = new_weir(f"hls {{ container {container}; fragment 1s; }}").start()
    result = bench(folder, "--url", server.http("/live/bench.m3u8"), "--publish-url", server.rtmp("live/bench"), "--publish", "500k",
                   "--gop", "15", "--clients", "30", "--warm-up", "4s", "--duration", "5s", *(["--plain"] if plain else []),
                   subcommand="hls-play")
    media, hls = result.report["media"], result.report["hls"]
    assert media["video_frames"] > 30 * 2 * 25 and media["lost"] + media["corrupted"] + media["unstamped"] == 0, result.text
    assert result.report["clients"]["broken"] == 0, result.text
    by_parts = not plain and container == "fmp4"
    assert (hls["parts"] > hls["segments"]) == by_parts and (hls["blocked"] > 0) == by_parts, hls
    assert hls["parts"] + hls["segments"] > 30 * 2, hls


def test_bad_requests(new_weir, folder):
    server = new_weir("play { wait_publisher 0; }").start()
    assert status_of(server.http("/live/nobody.m3u8")) == 404
    assert status_of(server.http("/live/nobody.hls/index.m3u8?session=aaaaaaaaaaaaaaaaaaaa")) == 404
    with publisher(server.rtmp(), folder, short_gops(folder)):
        server.wait_live()
        viewer = Viewer(server.http("/live/livestream.m3u8"))
        playlist = viewer.reload()
        for query in ("_HLS_msn=99999999999999", "_HLS_msn=-1", "_HLS_msn=", "_HLS_part=0", "_HLS_msn=1&_HLS_part=x"):
            assert status_of(f"{viewer.list_url}&{query}") == 400, query
        session = viewer.list_url.partition("?")[2]
        for name in ("0.m4s", "99999999999.m4s", f"{playlist.last()}.999.m4s", f"{playlist.last()}.ts", "init-1.mp4", "%2e%2e/x",
                     "a%00b.m4s", "%F0%9F%98%80.m4s"):
            code = status_of(server.http(f"/live/livestream.hls/{name}?{session}"))
            assert code in (400, 404), (name, code)
        assert status_of(viewer.list_url, **{"Range": "bytes=99999999-"}) in (200, 416)
        with fetch(viewer.list_url) as answer:
            tag = answer.headers["ETag"]
        assert tag


def test_without_sessions_all_addresses_are_the_same(new_weir, folder):
    server = new_weir("hls { sessions off; }").start()
    with publisher(server.rtmp(), folder, short_gops(folder)):
        server.wait_live()
        one, other = (Viewer(server.http("/live/livestream.m3u8")) for _ in range(2))
        assert one.list_url == other.list_url and "?" not in one.list_url
        playlist = one.reload()
        assert "?" not in playlist.segments[0].uri
        with fetch(one.list_url + f"?_HLS_msn={playlist.last()}") as answer:
            assert re.fullmatch(r"max-age=\d+, stale-while-revalidate=0", answer.headers["Cache-Control"]), answer.headers["Cache-Control"]
        for path in ("livestream.m3u8", "livestream.mpd", "livestream.hls/index.m3u8"):
            with fetch(server.http(f"/live/{path}")) as answer:
                assert re.fullmatch(r"max-age=\d+, stale-while-revalidate=0", answer.headers["Cache-Control"]), path


@pytest.mark.works_with("hls.js", plays="HLS", codecs="H.264, AAC", checked="low latency by parts")
def test_the_page_plays_with_low_latency(new_weir, folder):
    server = new_weir("").start()
    with publisher(server.rtmp(), folder, short_gops(folder)):
        server.wait_live()
        with Browser(folder) as browser:
            browser.open(server.http("/?play=live/livestream&transport=hls&autoplay=1"))
            first, last = watch(browser, 8)
            assert (last["width"], last["height"]) == (640, 360) and last["time"] > first["time"] + 5, (first, last)
            shown = browser.evaluate("""document.querySelector('[data-figure="transport"]').textContent + ' ' +
                                        document.querySelector('[data-figure="latency"]').textContent""")
            assert shown.startswith("HLS "), shown
            parts = server.api("/api/v1/summaries")["data"]["hls"]
            assert parts["parts"] > 15, parts
            print(shown, parts)


def test_segments_are_there_before_the_first_viewer(new_weir, folder):
    server = new_weir("hls { always on; }").start()
    with publisher(server.rtmp(), folder, short_gops(folder)):
        wait_until(lambda: "weir_hls_streams 1" in server.metrics(), 10, "segments are made")
        wait_until(lambda: server.wait_live()["gop"]["key_frames"] > 7, 30, "three segments of two GOPs each are over")
        assert len(Viewer(server.http("/live/livestream.m3u8")).reload().segments) >= 3
    wait_until(lambda: "weir_hls_streams 0" in server.metrics(), 30, "they go with the publisher")
