"""The wall clock of a camera, as players of other protocols are told it."""

import datetime
import struct

from hls import Viewer
from media import modern_ffmpeg, play_ffmpeg
from rtsp import Client, rtsp_weir
from rtsp_camera import Camera
from test_sources import wait_state
from weir import wait_until

CAMERA_TIME = datetime.datetime(2001, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc).timestamp()
SECONDS_1900_TO_1970 = 2_208_988_800
TCP = "RTP/AVP/TCP;unicast;interleaved="


def unix_seconds(ntp):
    return int.from_bytes(ntp) / 2**32 - SECONDS_1900_TO_1970


def pulled(new_weir, camera, more="publisher_clock on;"):
    return rtsp_weir(new_weir, extra=f"""
        hls {{ always on; }}
        publish {{ {more} }}
        application live {{ source {camera.url} {{ stream cam; }} }}""")


def clock_of(weir):
    return weir.wait_live("cam")["publisher_clock"]


def newest_segment(viewer):
    return [each for each in viewer.reload().segments if each.date is not None][-1]


def sender_reports(weir, count=2):
    """[(NTP time, RTP time)] of the video, as a player by TCP gets them."""
    with Client(weir.rtsp_port, weir.rtsp("live/cam")) as client:
        client.set_up([TCP + "0-1", TCP + "2-3"])
        assert client.request("PLAY").status == 200
        found = []
        while len(found) < count:
            packet = client.frame(1, seconds=20)
            if packet[1] == 200:
                found.append((unix_seconds(packet[8:16]), struct.unpack(">I", packet[16:20])[0]))
        return found


def test_players_are_told_the_time_of_the_camera(new_weir, folder):
    with Camera(folder, clock=CAMERA_TIME) as camera:
        weir = pulled(new_weir, camera)
        wait_state(weir, "cam", "live")
        wait_until(lambda: clock_of(weir)["state"] == "used", 20, "the camera has reported")
        assert abs(clock_of(weir)["offset_ms"] - camera.ahead * 1000) < 3_000, clock_of(weir)
        assert clock_of(weir)["changes"] == 0

        viewer = Viewer(weir.http("/live/cam.m3u8"))
        wait_until(lambda: newest_segment(viewer).date < CAMERA_TIME + 3_600, 20, "a segment has the camera's date")
        segment = newest_segment(viewer)
        assert 0 < camera.now() - segment.date < 15, (camera.now(), segment.date)
        data = viewer.get(segment.uri)
        at = data.index(b"prft")
        assert abs(unix_seconds(data[at + 12:at + 20]) - segment.date) < 0.2, (data[at:at + 28], segment.date)

        reports = sender_reports(weir)
        assert all(abs(camera.now() - ntp) < 5 for ntp, _ in reports), (camera.now(), reports)
        (ntp_before, rtp_before), (ntp_after, rtp_after) = reports
        assert abs((rtp_after - rtp_before) % 2**32 / 90_000 - (ntp_after - ntp_before)) < 0.001, reports
        wait_until(lambda: weir.wait_live("cam")["gop"]["key_frames"] > 1, 20, "the length of a GOP is known")
        recording = play_ffmpeg(weir.http("/live/cam.mpd"), folder, 4, suffix="mkv", ffmpeg=modern_ffmpeg())
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, "DASH has the server's clock, and plays"


def test_the_time_of_the_server_counts_unless_told_otherwise(new_weir, folder):
    with Camera(folder, clock=CAMERA_TIME) as camera:
        weir = pulled(new_weir, camera, more="")
        wait_state(weir, "cam", "live")
        assert clock_of(weir) is None
        viewer = Viewer(weir.http("/live/cam.m3u8"))
        wait_until(lambda: viewer.reload().segments, 20, "there is a segment")
        segment = newest_segment(viewer)
        assert segment.date > CAMERA_TIME + 3_600
        assert b"prft" not in viewer.get(segment.uri)
        assert all(ntp > CAMERA_TIME + 3_600 for ntp, _ in sender_reports(weir, 1))


def test_a_camera_that_does_not_know_the_time_is_not_believed(new_weir, folder):
    with Camera(folder, clock=60) as camera:
        weir = pulled(new_weir, camera)
        wait_state(weir, "cam", "live")
        wait_until(lambda: clock_of(weir)["state"] == "refused", 20, "the camera has reported")
        assert clock_of(weir)["offset_ms"] < -1e12
        wait_until(lambda: "set the time of the camera" in weir.log(), 5, "the log says it")
        viewer = Viewer(weir.http("/live/cam.m3u8"))
        wait_until(lambda: viewer.reload().segments, 20, "there is a segment")
        assert newest_segment(viewer).date > CAMERA_TIME
        assert all(ntp > CAMERA_TIME for ntp, _ in sender_reports(weir, 1))
