"""Programs beside streams: ffmpeg makes renditions, comes back when it dies, and goes with its stream."""

import os
import signal
from pathlib import Path

from hls import Viewer
from media import Recording, check_frames, play_ffmpeg, probe, publisher
from weir import wait_until

# The recipe of doc/sources.md.
LADDER = """
application live {{
    hls {{ variants ladder/[stream]_180 ladder/[stream]_90 ladder/nobody; }}
    exec_push ffmpeg -hide_banner -loglevel error -nostdin -i {base}/$app/$name
        -map 0:v -map 0:a -c:v libx264 -preset ultrafast -tune zerolatency -g 25 -s 320x180 -c:a copy -f flv "{base}/ladder/${{name}}_180"
        -map 0:v -map 0:a -c:v libx264 -preset ultrafast -tune zerolatency -g 25 -s 160x90 -c:a copy -f flv "{base}/ladder/${{name}}_90"
        -map 0:v -map 0:a -c copy -f flv "{base}/ladder/${{name}}_source";
}}
"""
MADE = {"livestream_180", "livestream_90", "livestream_source"}


def children(server):
    tasks = Path(f"/proc/{server.process.pid}/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


def live(server):
    return {each["name"] for each in server.streams() if each.get("publish", {}).get("active")}


def check_variants(server, folder):
    """Players choose among the stream and its renditions; each is one viewer."""
    url = server.http("/live/livestream.m3u8")
    viewer = Viewer(url, variant=2)
    assert [info["RESOLUTION"] for info, _ in viewer.multivariant.variants][1:] == ["320x180", "160x90"], viewer.multivariant.variants
    viewer.record(folder / "low.mp4", 4, parts=True)
    low = Recording(folder / "low.mp4")
    assert low.streams() == {"video": ["h264"], "audio": ["aac"]}, low.streams()
    assert [each["width"] for each in probe(low.path)["streams"] if each["codec_type"] == "video"] == [160]
    assert len(viewer.playlist.reports) == 2, viewer.playlist.reports
    assert {each["name"]: each["viewers"]["hls"] for each in server.streams() if each["viewers"]["hls"]} == {"livestream": 1}
    all_of_them = play_ffmpeg(url, folder, 4, name="variants", suffix="mkv")
    assert all_of_them.streams()["video"] == ["h264"] * 3, all_of_them.streams()


def test_a_ladder_of_three(new_weir, folder):
    server = new_weir()
    base = f"rtmp://127.0.0.1:{server.rtmp_port}"
    server.config_path.write_text(server.config_path.read_text() + LADDER.format(base=base))
    server.start()
    with publisher(server.rtmp(), folder):
        wait_until(lambda: MADE <= live(server), 30, "three renditions are published")
        recording = play_ffmpeg(f"{base}/ladder/livestream_180", folder, name="rendition")
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
        check_frames(play_ffmpeg(f"{base}/ladder/livestream_source", folder, name="copy"))
        check_variants(server, folder)
        first = children(server)
        assert len(first) == 1, first
        os.kill(first[0], signal.SIGKILL)
        wait_until(lambda: children(server) not in ([], first), 20, "the program is begun again")
        wait_until(lambda: MADE <= live(server), 30, "its renditions are back")
        programs = [each for each in server.api("/api/v1/sources")["sources"] if each["url"] == "exec ffmpeg"]
        assert len(programs) == 1 and programs[0]["failures"] == 1, programs
        assert "ffmpeg was ended by signal 9" in server.log()
    wait_until(lambda: not children(server), 15, "the program goes with its stream")
