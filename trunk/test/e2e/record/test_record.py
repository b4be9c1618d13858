"""Recording: files have every frame as it was sent, survive kill -9 and full disks, and are told of."""

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from hooks import HookServer
from media import Recording, check_frames, check_rising, encoded, modern_ffmpeg, play_ffmpeg, probe, publisher
from test_ts import KINDS
from weir import wait_until


def short_gops(folder):
    return encoded("-c:v", "libx264", "-preset", "fast", "-bf", "2", "-g", "25", "-c:a", "aac")


def recorded(place, kind="mp4"):
    return sorted(Path(place).rglob(f"*.{kind}"))


def recordings(server, state="finished"):
    return server.api(f"/api/v1/recordings?state={state}&count=1000")["recordings"]


def post(server, body):
    request = urllib.request.Request(f"http://127.0.0.1:{server.api_port}/api/v1/recordings", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return {"http_status": answer.status, **json.load(answer)}
    except urllib.error.HTTPError as error:
        return {"http_status": error.code, **json.load(error)}


def duration_of(path):
    """What the file's header says."""
    return float(probe(path, "-show_format")["format"]["duration"])


def wait_growing(place, count=1, size=200_000):
    return wait_until(lambda: [p for p in Path(place).rglob("*.part") if p.stat().st_size > size][count - 1:], 20,
                      f"{count} files grow")


def wait_recorded(server, seconds, count=1):
    """Until so many recordings that run have so much media."""
    wait_until(lambda: sum(each["duration_ms"] >= seconds * 1000 for each in recordings(server, "recording")) >= count, 20 + seconds,
               f"{seconds} s are recorded")


@pytest.fixture
def place(folder):
    path = folder / "recordings"
    path.mkdir()
    return path


FORMATS = ("vhost __defaultVhost__ { application flv { record { format flv; } }\n"
           " application ts { record { format ts; } } }")


def test_every_frame_is_recorded(new_weir, folder, place):
    server = new_weir(f"record {{ enabled on; path {place}; }}\n{FORMATS}").start()
    source = short_gops(folder)
    with ExitStack() as stack:
        for app in ("live", "flv", "ts"):
            stack.enter_context(publisher(server.rtmp(f"{app}/{app}"), folder, source, name=app))
        # They play while they grow.
        for path in wait_growing(place, 3):
            copy = folder / f"growing-{path.name.removesuffix('.part')}"
            shutil.copy(path, copy)
            assert len(Recording(copy).frames()) >= 25
        wait_recorded(server, 5, 3)
    files = wait_until(lambda: len(found := recordings(server)) == 3 and found, 20, "the recordings are finished")
    for file in files:
        kind, path = file["format"], place / file["file"]
        assert recorded(place, kind) == [path] and path.parent == place / "__defaultVhost__" / file["app"] / file["stream"]
        recording = Recording(path)
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
        check_rising(recording)
        shape = check_frames(recording, source, least=100)
        assert shape[0][0] == 0, f"it begins with the publisher's first frame: {shape}"
        seconds = len(recording.frames()) / 25
        assert duration_of(path) == pytest.approx(seconds, abs=0.3)
        assert file["duration_ms"] / 1000 == pytest.approx(seconds, abs=0.5) and file["bytes"] == path.stat().st_size
        assert file["reason"] == "unpublish" and not file["repaired"]
        if kind != "ts":  # players seek by the index
            seen = json.loads(subprocess.run(
                ["ffprobe", "-v", "error", "-read_intervals", "3%+#1", "-select_streams", "v", "-show_packets", "-of", "json", path],
                capture_output=True, check=True, timeout=30).stdout)["packets"]
            assert seen and 1.5 <= float(seen[0]["pts_time"]) <= 3.2, seen


def test_kinds(new_weir, folder, place):
    server = new_weir(f"record {{ enabled on; path {place}; }}").start()
    kinds = ("hevc", "opus", "video", "mp3")
    sources = {}
    for kind in kinds:
        (folder / kind).mkdir()
        sources[kind] = encoded(*KINDS[kind][0])
    with ExitStack() as stack:
        for kind in kinds:
            stack.enter_context(publisher(server.rtmp(f"live/{kind}"), folder, sources[kind], name=kind, ffmpeg=modern_ffmpeg()))
        wait_recorded(server, 4, len(kinds))
    files = wait_until(lambda: len(found := recordings(server)) == len(kinds) and found, 20, "the recordings are finished")
    for file in files:
        recording = Recording(place / file["file"], ffmpeg=modern_ffmpeg())
        assert recording.streams() == KINDS[file["stream"]][1], recording.streams()
        check_rising(recording)
        check_frames(recording, sources[file["stream"]], least=60)


def test_files_are_split_and_go_on_without_a_gap(new_weir, folder, place):
    """By time; a second publish has a file of its own; names are told apart; nothing leaves the folder."""
    server = new_weir(f'record {{ enabled on; path {place}; split 5s; name "{{app}}/{{stream}}"; }}').start()
    source = short_gops(folder)
    with publisher(server.rtmp(), folder, source):
        wait_until(lambda: recordings(server), 20, "it is split")
        wait_recorded(server, 1)
    wait_until(lambda: len(recordings(server)) >= 2, 20, "two files")
    with publisher(server.rtmp(), folder, source):
        wait_recorded(server, 1)
    files = wait_until(lambda: len(found := recordings(server)) >= 3 and found, 20, "three files")
    files.sort(key=lambda file: file["ended_ms"])
    names = [file["file"] for file in files]
    assert names == ["live/livestream.mp4", "live/livestream-2.mp4", "live/livestream-3.mp4"], names
    first, second = (Recording(place / name).frames() for name in names[:2])
    assert 120 <= len(first) <= 160, len(first)
    # Frame by frame: the second goes on where the first has ended.
    sent = Recording(source).frames()
    assert (sent.index(first[-1]) + 1) % len(sent) == sent.index(second[0])
    assert [file["reason"] for file in files] == ["split", "unpublish", "unpublish"]


def test_names_of_peers_stay_in_the_folder(new_weir, folder, place):
    outside = folder / "outside"
    outside.mkdir()
    (place / "..%2Fx").symlink_to(outside)
    server = new_weir(f'record {{ enabled on; path {place}; name "{{stream}}/{{app}}"; }}').start()
    names = ["..%2F..%2Fevil", "a%20b%25c", "%C3%A4%22%27", "x" * 200]
    with ExitStack() as stack:
        for index, name in enumerate(names):
            stack.enter_context(publisher(server.rtmp(f"live/{name}"), folder, name=f"p{index}"))
        wait_until(lambda: len(recordings(server, "recording")) == len(names), 20, "all are recorded")
        wait_growing(place, len(names), 1)
    files = wait_until(lambda: len(found := recordings(server)) == len(names) and found, 20, "all are finished")
    for file in files:
        assert (place / file["file"]).resolve().is_relative_to(place.resolve()) and (place / file["file"]).exists(), file
    assert not list(outside.iterdir()) and not list(folder.glob("evil*"))


def test_the_api_begins_and_ends_recordings(new_weir, folder, place):
    hooks = HookServer()
    server = new_weir(f"record {{ path {place}; }}\nhttp_hooks {{ on_record http://127.0.0.1:{hooks.port}/;"
                      f" on_dvr http://127.0.0.1:{hooks.port}/; }}").start()
    source = short_gops(folder)
    assert post(server, {"stream": "nonsense"})["http_status"] == 400
    assert post(server, {"stream": "live/other", "action": "stop"})["http_status"] == 404
    with publisher(server.rtmp(), folder, source):
        server.wait_live()
        assert recordings(server, "all") == []
        answer = post(server, {"stream": "live/livestream"})
        assert answer["http_status"] == 201 and answer["recording"]["state"] == "recording", answer
        assert post(server, {"stream": "live/livestream"})["http_status"] == 409
        wait_growing(place)
        running, = recordings(server, "recording")
        assert running["id"] == answer["recording"]["id"] and running["frames"] > 0, running
        assert server.api(f"/api/v1/recordings/{running['id']}", "DELETE")["http_status"] == 200
        file, = wait_until(lambda: recordings(server), 20, "it is finished")
    assert file["reason"] == "api"
    check_frames(Recording(place / file["file"]), source, least=25)
    wait_until(lambda: len(hooks.events) == 2, 20, "hooks are told")
    assert sorted(event["action"] for event in hooks.events) == ["on_dvr", "on_record"]
    for event in hooks.events:
        assert (event["file"], event["bytes"], event["duration_ms"], event["stream"]) == \
            (file["file"], file["bytes"], file["duration_ms"], "livestream"), event
    assert server.api(f"/api/v1/recordings/{file['id']}")["recording"] == file
    assert server.api("/api/v1/recordings?app=nothing")["total"] == 0
    # It is known after a restart, and can be removed.
    server.stop()
    server.start()
    again, = wait_until(lambda: recordings(server), 20, "the list is there again")
    assert again["id"] == file["id"] and again["duration_ms"] == file["duration_ms"] and not again["repaired"]
    assert server.api(f"/api/v1/recordings/{file['id']}", "DELETE")["http_status"] == 200
    wait_until(lambda: not (place / file["file"]).exists(), 20, "the file is gone")
    assert recordings(server) == [] and server.api(f"/api/v1/recordings/{file['id']}", "DELETE")["http_status"] == 404


def test_two_servers_do_not_share_a_folder(new_weir, folder, place):
    config = f"record {{ enabled on; path {place}; }}"
    first = new_weir(config).start()
    with publisher(first.rtmp(), folder):
        wait_growing(place, size=1)
        second = new_weir(config, "second").start()
        second.wait_log("another server writes into")
        assert len(list(place.rglob("*.part"))) == 1


@pytest.mark.root
def test_a_full_disk_harms_no_player(new_weir, folder, place):
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", place],
                                           capture_output=True, timeout=10).returncode != 0:
        pytest.fail("a small file system can only be mounted by root")
    try:
        server = new_weir(f"record {{ enabled on; path {place}; }}").start()
        source = short_gops(folder)
        with publisher(server.rtmp(), folder, source):
            server.wait_live()
            recording = play_ffmpeg(server.rtmp(), folder, 7)

            def is_full():
                running, = recordings(server, "recording")
                return running["gaps"] >= 1 and running["frames_lost"] > 0 and "No space left" in running["trouble"]
            wait_until(is_full, 20, "the disk is full")
        check_frames(recording, source, least=125)
        server.wait_log("has a gap")
        files = wait_until(lambda: recordings(server), 20, "what fits is a file")
        check_frames(Recording(place / files[-1]["file"]), source, least=25)
        server.stop()
    finally:
        subprocess.run(["umount", "-l", place], check=False, timeout=10)


def test_a_folder_that_vanishes_is_a_gap(new_weir, folder, place):
    server = new_weir(f"record {{ enabled on; path {place}; split 5s; }}").start()
    source = short_gops(folder)

    def trouble():
        return " ".join(each["trouble"] for each in recordings(server, "recording"))

    with publisher(server.rtmp(), folder, source):
        wait_growing(place)
        place.rename(folder / "elsewhere")
        wait_until(lambda: "is not there any more" in trouble(), 30, "it is said")
        (folder / "elsewhere").rename(place)
        wait_until(lambda: trouble() == "" and recordings(server, "recording"), 30, "it goes on")
    assert server.api("/api/v1/summaries")["data"]["record"]["gaps"] >= 1
