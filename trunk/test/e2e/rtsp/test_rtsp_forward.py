"""Streams that are sent on by RTSP (forward rtsp://...), to other servers and to another one of ours."""

import json

import pytest

from media import Program, Recording, check_both, check_frames, play_ffmpeg, publisher
from rtsp import play_rtsp, rtsp_weir
from test_load_client_rtsp import listens
from test_sources import sources, wait_state
from weir import free_port, wait_until


def origin_of(new_weir, text):
    return new_weir(f"application live {{\n{text}\n}}\n", "origin").start()


def test_a_forward_by_rtsp(new_weir, folder):
    other = rtsp_weir(new_weir)
    origin = origin_of(new_weir, f"forward {other.rtsp('live')};\nforward {other.rtsp('copy/[app]-[stream]')};")
    with publisher(origin.rtmp("live/cam"), folder):
        for name in ("cam", "live-cam"):
            assert other.wait_live(name)["publish"]["transport"] == "rtsp"
        check_both(play_ffmpeg(other.http("/live/cam.flv"), folder))
        again = play_rtsp(other.rtsp("copy/live-cam"), folder)
        check_frames(again)
        wait_until(lambda: all(each["bytes"] > 10_000 and each["state"] == "live" for each in sources(origin)), 10, "both flow")
        other.kill()
        wait_state(origin, "cam", "backing_off", role="forward")
        other.start()
        other.wait_live("cam", 20)
    wait_until(lambda: sources(origin) == [], 15, "forwards end with the publisher")
    wait_until(lambda: not any(each["publish"]["active"] for each in other.streams()), 15, "and are unpublished there")


def test_a_forward_with_a_password(new_weir, folder):
    other = rtsp_weir(new_weir, extra="security { publish_user cam hush-password; }")
    port = other.rtsp_port
    origin = origin_of(new_weir, f"forward rtsp://cam:hush-password@127.0.0.1:{port}/live;\n"
                                 f"forward rtsp://cam:hush-wrong@127.0.0.1:{port}/other;")
    with publisher(origin.rtmp("live/cam"), folder):
        other.wait_live("cam")
        refused = wait_until(lambda: next((each for each in sources(origin) if each["state"] == "backing_off"), None), 15, "one is refused")
        assert refused["last_error"] == "the server does not take the user and password", refused
    assert "hush" not in origin.log() + json.dumps(sources(origin))


@pytest.mark.works_with("ffmpeg", takes="RTSP", codecs="H.264, AAC", checked="every frame",
                        set="`forward rtsp://...`; ffmpeg: `-rtsp_flags listen`")
def test_ffmpeg_takes_a_forward(new_weir, folder):
    port, recording = free_port(), folder / "forwarded.flv"
    server = ["ffmpeg", "-hide_banner", "-nostdin", "-y", "-rtsp_flags", "listen", "-i", f"rtsp://127.0.0.1:{port}/live/cam",
              "-c", "copy", recording]
    with Program("server", server, folder) as program:
        wait_until(lambda: listens(port), 10, "ffmpeg listens")
        origin = origin_of(new_weir, f"forward rtsp://127.0.0.1:{port}/live;")
        with publisher(origin.rtmp("live/cam"), folder):
            wait_state(origin, "cam", "live", role="forward")
            wait_until(lambda: sources(origin)[0]["bytes"] > 150_000, 30, "some seconds of media went")
        program.wait(20)
    check_both(Recording(recording))
