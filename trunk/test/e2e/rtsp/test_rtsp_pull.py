"""Streams of cameras and RTSP servers (source rtsp://...), with what is wrong with them."""

import contextlib
import signal
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

import pytest

from flv import HttpFlv
from media import PLAY_SECONDS, SAMPLE, Program, check_both, check_frames, check_rising, encoded, modern_ffmpeg, play_ffmpeg, publisher
from rtsp import rtsp_weir
from rtsp_camera import H264_IN_BAND, Camera
from test_sources import sources, wait_state
from tls import certificate
from weir import SUPPORT, free_port, wait_until


def pulled(new_weir, camera, more="", url=None):
    text = f"application live {{ source {url or camera.url} {{ stream cam; {more} }} }}"
    return new_weir(text).start()


def play(weir, folder, seconds=PLAY_SECONDS, **options):
    return play_ffmpeg(weir.http("/live/cam.flv"), folder, seconds, **options)


@pytest.mark.parametrize("transport", ["tcp", "udp", "multicast", "auto"])
def test_every_transport_brings_what_was_sent(new_weir, folder, transport):
    with Camera(folder) as camera:
        weir = pulled(new_weir, camera, f"transport {transport};")
        wait_state(weir, "cam", "live")
        check_both(play(weir, folder))
        asked = camera.seen.transports
        assert len(asked) == 2 and all({"tcp": "/TCP", "multicast": "multicast"}.get(transport, "client_port") in each
                                       for each in asked), asked
        if transport != "multicast":
            wait_until(lambda: camera.seen.reports > 0, 15, "receiver reports came")
        stream = weir.wait_live("cam")
        assert stream["publish"]["transport"] == "rtsp", stream


FLAWS = {
    "no content base": {"content_base": None},
    "wrong content base": {"content_base": "wrong"},
    "relative content base": {"content_base": "relative", "control": "absolute"},
    "doubled content base": {"content_base": "doubled"},
    "broken lines": {"broken_lines": True},
    "absolute controls": {"control": "absolute"},
    "controls behind a NAT": {"control": "inner"},
    "two session controls": {"session_control": "twice"},
    "no session control": {"session_control": None},
    "no cseq": {"cseq": False},
    "no session timeout": {"timeout": None, "public": None},
    "other channels": {"channels": 4, "transports": ("tcp",)},
    "no server port": {"server_port": False, "transports": ("udp",)},
    "wrong ssrc": {"ssrc": "deadbeef"},
    "no parameter sets": {"sprop": False, "video": H264_IN_BAND},
    "late reports": {"report_delay": 5.0},
    "no reports": {"report_delay": None},
    "no range": {"refuses_range": True},
    "mixed answers": {"mixed": True, "transports": ("tcp",)},
    "udp is refused": {"transports": ("tcp",)},
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_flaws_of_cameras(new_weir, folder, flaw):
    with Camera(folder, **FLAWS[flaw]) as camera:
        weir = pulled(new_weir, camera)
        wait_state(weir, "cam", "live")
        check_both(play(weir, folder))
        assert sources(weir)[0]["failures"] == 0, sources(weir)


def test_a_clock_that_never_runs(new_weir, folder):
    with Camera(folder, zero_times=True, audio=None) as camera:
        weir = pulled(new_weir, camera)
        wait_state(weir, "cam", "live")
        wait_until(lambda: sources(weir)[0]["bytes"] > 120_000, 30, "some seconds of media came")
        recording = play(weir, folder)
        check_frames(recording)
        check_rising(recording)
        times = [float(packet["pts_time"]) for packet in recording.packets()]
        span = (len(times) - 1) / 25  # in real time, as they came
        assert 0.8 * span - 1.5 < times[-1] - times[0] < 1.2 * span + 1.5, times


def test_b_frames_have_times_of_decoding(new_weir, folder):
    source = encoded("-c:v", "libx264", "-preset", "fast", "-bf", "3", "-g", "50", "-c:a", "aac", suffix="mp4", ffmpeg="ffmpeg")
    with Camera(folder, source=source) as camera:
        weir = pulled(new_weir, camera)
        wait_state(weir, "cam", "live")
        recording = play(weir, folder)
        check_rising(recording)
        check_frames(recording, source)
        shown = [packet for packet in recording.packets() if packet["codec_type"] == "video" and packet["pts"] != packet["dts"]]
        assert shown, "there are B-frames"


AUDIO = {
    "aac in fragments": (("-c:a", "aac", "-b:a", "320k", "-ac", "2", "-pkt_size", "300"), "aac"),
    "latm": (("-c:a", "aac", "-rtpflags", "latm"), "aac"),
    "g711": (("-c:a", "pcm_alaw", "-ar", "8000", "-ac", "1"), "pcm_alaw"),
    "mp3": (("-c:a", "libmp3lame", "-ar", "44100"), "mp3"),
}


@pytest.mark.parametrize("kind", AUDIO)
def test_audio_of_cameras(new_weir, folder, kind):
    output, codec = AUDIO[kind]
    with Camera(folder, audio=output) as camera:
        weir = pulled(new_weir, camera)
        wait_state(weir, "cam", "live")
        recording = play(weir, folder)
        assert recording.streams() == {"video": ["h264"], "audio": [codec]}, recording.streams()
        check_frames(recording)
        check_rising(recording)
        assert recording.audio_seconds() > 2


def test_parameter_sets_that_change(new_weir, folder):
    other = encoded("-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-s", "320x180", "-c:a", "aac", suffix="mp4",
                    ffmpeg="ffmpeg")
    with Camera(folder, sprop=False, video=H264_IN_BAND) as camera:
        weir = pulled(new_weir, camera)
        wait_state(weir, "cam", "live")
        def width():
            return (weir.wait_live("cam")["video"] or {}).get("width")
        wait_until(lambda: width() == 640, 20, "the first size")
        camera.media.end()
        camera.begin_media(other, H264_IN_BAND, ("-c:a", "copy"))
        wait_until(lambda: width() == 320, 30, "the second size")
        recording = play(weir, folder)
        check_frames(recording, other)
        assert sources(weir)[0]["failures"] == 0


def test_hevc(new_weir, folder):
    source = encoded("-c:v", "libx265", "-preset", "ultrafast", "-g", "25", "-x265-params", "log-level=1", "-c:a", "aac",
                     ffmpeg="ffmpeg")
    with Camera(folder, source=source) as camera:
        weir = pulled(new_weir, camera)
        wait_state(weir, "cam", "live")
        recording = play(weir, folder, ffmpeg=modern_ffmpeg(), suffix="mkv")
        assert recording.streams()["video"] == ["hevc"]
        check_frames(recording, source)


# ---- firewalls, sessions, logins -------------------------------------------------------------------------------------


def test_udp_that_a_firewall_eats_becomes_tcp(new_weir, folder):
    with Camera(folder, eats_udp=True) as camera:
        weir = pulled(new_weir, camera)
        state = wait_state(weir, "cam", "live", 30)
        assert "no packet came by UDP" in state["last_error"], state
        check_both(play(weir, folder))
        # It knows by now: the next time TCP is asked for at once.
        before = len(camera.seen.transports)
        camera.kill_clients()
        wait_until(lambda: sources(weir)[0]["attempts"] >= 3 and sources(weir)[0]["state"] == "live", 20, "it is back")
        assert all("/TCP" in each for each in camera.seen.transports[before:]), camera.seen.transports


@pytest.mark.parametrize("public,method", [("OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER", "GET_PARAMETER"),
                                           ("OPTIONS, DESCRIBE, SETUP, PLAY", "OPTIONS")])
def test_sessions_are_kept_alive(new_weir, folder, public, method):
    with Camera(folder, public=public, timeout=2) as camera:
        weir = pulled(new_weir, camera)
        wait_state(weir, "cam", "live")
        wait_until(lambda: [each[0] for each in camera.seen.requests[4:]].count(method) >= 5, 20, "it is kept alive")
        assert camera.seen.sessions_expired == 0 and sources(weir)[0]["failures"] == 0


def test_a_refused_keep_alive_ends_nothing(new_weir, folder):
    with Camera(folder, keep_alive=False, timeout=2) as camera:
        weir = pulled(new_weir, camera)
        wait_state(weir, "cam", "live")
        wait_until(lambda: [each[0] for each in camera.seen.requests[4:]].count("OPTIONS") >= 4, 20, "it goes on")
        asked = [each[0] for each in camera.seen.requests[4:]]
        assert asked.count("GET_PARAMETER") == 1 and asked.count("DESCRIBE") == 0, asked
        assert sources(weir)[0]["failures"] == 0, sources(weir)


PASSWORD = "p@ss:w/o#r d%&;{}"
LOGINS = {
    "md5": {},
    "sha-256": {"algorithm": "SHA-256"},
    "basic": {"basic": True},
    "stale nonces": {"stale_after": 2, "timeout": 2},
    "old nonces": {"stale_after": 2, "timeout": 2, "says_stale": False},
}


@pytest.mark.parametrize("kind", LOGINS)
def test_logins(new_weir, folder, kind):
    with Camera(folder, login=("admin", PASSWORD), **LOGINS[kind]) as camera:
        url = camera.url.replace("rtsp://", f"rtsp://admin:{quote(PASSWORD, safe='')}@")
        weir = pulled(new_weir, camera, url=f'"{url}"')
        wait_state(weir, "cam", "live")
        check_both(play(weir, folder))
        if "stale_after" in LOGINS[kind]:
            wait_until(lambda: len(camera.seen.requests) > 12, 30, "some keep-alives with new nonces")
        assert sources(weir)[0]["failures"] == 0
        shown = weir.log() + str(sources(weir)) + urllib.request.urlopen(weir.http("/live.json")).read().decode()
        for secret in (PASSWORD, quote(PASSWORD, safe=""), "admin"):
            assert secret not in shown


def test_a_wrong_password_is_said(new_weir, folder):
    with Camera(folder, login=("admin", PASSWORD)) as camera:
        weir = pulled(new_weir, camera, url=camera.url.replace("rtsp://", "rtsp://admin:hush-hush@"))
        state = wait_state(weir, "cam", "backing_off")
        assert state["last_error"] == "the server does not take the user and password", state
        assert "hush" not in weir.log()


def test_redirects(new_weir, folder):
    with Camera(folder) as camera, Camera(folder, "first", redirect=camera.url) as first:
        weir = pulled(new_weir, first)
        wait_state(weir, "cam", "live")
        check_both(play(weir, folder))


def test_a_stream_that_was_asked_for_is_not_redirected_to_servers_that_are_not_allowed(new_weir, folder):
    with Camera(folder) as camera:
        elsewhere = camera.url.replace("127.0.0.1", "localhost")
        with Camera(folder, "first", redirect=elsewhere) as first:
            weir = new_weir("vhost __defaultVhost__ { allow_rtsp 127.0.0.1; }").start()
            with contextlib.suppress(OSError), urllib.request.urlopen(weir.http(f"/rtsp/127.0.0.1:{first.port}/live/main"),
                                                                      timeout=10) as answer:
                assert not answer.read(1)
            assert f"redirects to localhost:{camera.port}, which allow_rtsp does not name" in weir.log()


def test_a_camera_that_dies_comes_back(new_weir, folder):
    with Camera(folder) as camera:
        weir = pulled(new_weir, camera, "on_demand on; linger 1s;")
        with HttpFlv(weir.http_port, "/live/cam.flv", timeout=60) as player:
            reader = player.reader()
            def is_frame(tag):
                return tag.type == 9 and not tag.is_avc_config()
            before = reader.tags_until(is_frame)[-1]
            camera.kill_clients()
            tags = reader.tags_until(lambda tag: is_frame(tag) and tag.time_ms > before.time_ms + 3000, 60)
            times = [before.time_ms] + [tag.time_ms for tag in tags if is_frame(tag)]
            assert times == sorted(times), "the stream's clock goes on"
        wait_until(lambda: sources(weir)[0]["state"] == "idle", 15, "nobody wants it")
        wait_until(lambda: camera.seen.requests[-1][0] == "TEARDOWN", 15, "it took leave")


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_server_that_stood_still_keeps_its_camera(new_weir, folder, transport):
    with Camera(folder) as camera:
        weir = new_weir(f"application live {{ publish {{ normal_timeout 3s; }} "
                        f"source {camera.url} {{ stream cam; transport {transport}; }} }}").start()
        wait_state(weir, "cam", "live")
        for _ in range(2):
            weir.process.send_signal(signal.SIGSTOP)
            time.sleep(4)  # longer than normal_timeout: what is tried here
            weir.process.send_signal(signal.SIGCONT)
            time.sleep(1)
        assert sources(weir)[0]["attempts"] == 1, sources(weir)
        assert "was silent for" not in weir.log()


def test_a_self_signed_certificate(new_weir, folder):
    """Another Weir is the camera; a name that its certificate does not have is none of the switch's business either."""
    certificate(folder)
    secure = free_port()
    camera = rtsp_weir(new_weir, f"listen 127.0.0.1:{secure} ssl;",
                       f'ssl_certificate "{folder}/server.pem"; ssl_certificate_key "{folder}/server.key";')
    url = f"rtsps://127.0.0.1:{secure}/live/livestream"
    with publisher(camera.rtmp(), folder):
        camera.wait_live()
        weir = new_weir(f"application live {{ source {url} {{ stream strict; }} source {url} {{ stream cam; tls_verify off; }} }}",
                        "edge").start()
        wait_state(weir, "cam", "live")
        check_both(play(weir, folder))
        assert "certificate" in wait_state(weir, "strict", "backing_off")["last_error"]


# ---- GStreamer's server ----------------------------------------------------------------------------------------------

GST = Path("/usr/bin/python3"), SUPPORT / "gst_rtsp_server.py"


@contextlib.contextmanager
def gst_server(folder, source, *more, launch=None):
    port = free_port()
    launch = launch or (f"filesrc location={source} ! flvdemux name=d d.video ! queue ! h264parse ! rtph264pay name=pay0 pt=96 "
                        "d.audio ! queue ! aacparse ! rtpmp4gpay name=pay1 pt=97")
    ready = Path(folder) / "gst.out"
    with Program("gst", [*GST, port, launch, *more], folder, stdout=ready) as program:
        wait_until(lambda: "ready" in ready.read_text() or not program.running(), 15, "GStreamer's server is up")
        assert program.running(), program.log()
        yield f"rtsp://127.0.0.1:{port}/live/main"


# Its multicast ports are its own, so no receiver on the same machine can have them.
@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.works_with("GStreamer", serves="RTSP", codecs="H.264, AAC", checked="every frame by TCP and UDP", set="`source rtsp://...`")
def test_gstreamers_server(new_weir, folder, transport):
    with gst_server(folder, SAMPLE) as url:
        weir = new_weir(f"application live {{ source {url} {{ stream cam; on_demand on; transport {transport}; }} }}").start()
        recording = play(weir, folder)
        check_both(recording)


@pytest.mark.works_with("GStreamer", serves="RTSP", codecs="H.264, AAC", checked="user and password")
def test_gstreamers_server_with_a_login(new_weir, folder):
    with gst_server(folder, SAMPLE, "admin", PASSWORD) as url:
        url = url.replace("rtsp://", f"rtsp://admin:{quote(PASSWORD, safe='')}@")
        weir = new_weir(f'application live {{ source "{url}" {{ stream cam; on_demand on; }} }}').start()
        check_both(play(weir, folder))
