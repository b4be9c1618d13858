"""A server of several processes records: one folder, one list, and every file for everybody."""

import os
import signal
import time
from contextlib import ExitStack

import pytest

from hls import fetch
from media import Program, Recording, check_frames, publisher, run
from processes import COUNT, all_run, kill, pids, process_of, start
from test_load_client import BENCH
from test_record import FORMATS, post, recorded, recordings, short_gops, wait_growing, wait_recorded
from test_record_kill import FPS, FRAGMENT_S, SLACK_S, check_playable
from weir import wait_end, wait_until

STREAMS = 8
KEPT = 10
KEEP = 3 << 20  # bytes
ASKS = 8  # requests, which come to processes as the kernel likes


@pytest.fixture
def place(folder):
    path = folder / "recordings"
    path.mkdir()
    return path


def get(url):
    with fetch(url) as answer:
        return answer.read()


def config(place, more="", rest=""):
    return f"record {{ enabled on; path {place}; playback on; {more} }}\n{rest}"


def publishers(many, stack, folder):
    """STREAMS stamped streams in more than one process; where each is."""
    stack.enter_context(Program("publish", [BENCH, "rtmp-publish", "--url", many.rtmp("live/s%d"), "--streams", STREAMS, "--bitrate", "300k",
                                            "--gop", FPS, "--ramp", "500ms", "--duration", "120s", "--quiet"], folder))
    wait_until(lambda: len(recordings(many, "recording")) == STREAMS, 30, "all are recorded")
    return {stream["name"]: stream["process"] for stream in many.streams()}


def republish_elsewhere(many, folder, source, seconds):
    """Publishes live/cam until it has been at two processes, and once more; how often."""
    at = set()
    for count in range(1, 20):
        with publisher(many.rtmp("live/cam"), folder, source, name=f"cam{count}"):
            wait_recorded(many, seconds)
            at.update(process_of(many, "publisher"))
        wait_until(lambda: len(recordings(many)) == count, 20, "its file is finished")
        if len(at) > 1:
            return count
    raise AssertionError("always the same process")


def test_all_processes_record_into_one_folder_and_all_play_it(new_weir, folder, place):
    many = start(new_weir, config(place))
    with ExitStack() as stack:
        at = publishers(many, stack, folder)
        assert len(set(at.values())) > 1, f"streams are spread: {at}"
        wait_growing(place, STREAMS)
        for _ in range(ASKS):
            listed = recordings(many, "recording")
            assert {each["stream"]: each["process"] for each in listed} == at
        # Of a file that grows in one process the others play what there is.
        for each in listed:
            name = each["file"].removesuffix(".part")
            for _ in range(ASKS):
                assert len(get(many.http(f"/vod/{name}"))) > 150_000
            assert b"EXT-X-PLAYLIST-TYPE:EVENT" in get(many.http(f"/vod/{name.removesuffix('.mp4')}.m3u8"))
        said = run(["ffmpeg", "-v", "error", "-i", many.rtmp(f"vod/{name}"), "-t", "2", "-map", "0:v", "-f", "framemd5", "-"], seconds=30).decode()
        assert sum(not line.startswith("#") for line in said.splitlines()) >= FPS, said
    files = wait_until(lambda: len(found := recordings(many)) == STREAMS and found, 20, "all are finished")
    assert files == sorted(files, key=lambda each: -each["ended_ms"]), "the newest first"
    assert sorted(place / file["file"] for file in files) == recorded(place)
    assert {place / "__defaultVhost__/live" / f"s{i}" for i in range(STREAMS)} == {path.parent for path in recorded(place)}
    check_playable(recorded(place))
    for file in files:
        for _ in range(ASKS):
            assert len(get(many.http(file["play"]))) == file["bytes"]
    first, *others = files
    assert many.api(f"/api/v1/recordings/{first['id']}")["recording"]["file"] == first["file"]
    assert many.api(f"/api/v1/recordings/{first['id']}", "DELETE")["http_status"] == 200
    wait_until(lambda: not (place / first["file"]).exists(), 20, "it is removed")
    assert many.api(f"/api/v1/recordings/{first['id']}", "DELETE")["http_status"] == 404
    assert [file["id"] for file in recordings(many)] == [file["id"] for file in others]
    assert sum(len(many.api(f"/api/v1/recordings?process={i}&count=100")["recordings"]) for i in range(COUNT)) == STREAMS - 1


def test_a_player_of_a_file_that_grows_gets_its_end_in_any_process(new_weir, folder, place):
    many = start(new_weir, config(place))
    with ExitStack() as players:
        with ExitStack() as stack:
            publishers(many, stack, folder)
            wait_growing(place, STREAMS)
            played = {}
            for each in recordings(many, "recording"):
                out = folder / f"{each['stream']}.mkv"
                url = many.rtmp(f"vod/{each['file'].removesuffix('.part')}")
                played[each["stream"]] = out, players.enter_context(
                    Program(f"play-{each['stream']}", ["ffmpeg", "-v", "error", "-i", url, "-map", "0:v", "-c", "copy", "-y", out], folder))
            wait_until(lambda: len([c for c in many.clients() if c["role"] == "player"]) == STREAMS, 20, "all play")
            assert len({c["process"] for c in many.clients() if c["role"] == "player"}) > 1
        files = wait_until(lambda: len(found := recordings(many)) == STREAMS and found, 20, "all are finished")
        wait_until(lambda: not any(program.running() for _, program in played.values()), 40, "all players have come to the end")
    whole = check_playable([place / file["file"] for file in files])
    for file in files:
        assert len(Recording(played[file["stream"]][0]).frames()) == whole[place / file["file"]], file


def test_a_process_that_dies_repairs_its_own_files_and_no_others(new_weir, folder, place):
    many = start(new_weir, config(place))
    with ExitStack() as stack:
        at = publishers(many, stack, folder)
        wait_growing(place, STREAMS)
        dead = at["s0"]
        received = {stream["name"]: stream["frames"] for stream in many.streams()}
        time.sleep(SLACK_S)
        alive = {path.parent.name: path for path in place.rglob("*.part") if at[path.parent.name] != dead}
        assert alive, at
        nodes = {name: path.stat().st_ino for name, path in alive.items()}
        kill(many, dead)
        lost = [name for name, process in at.items() if process == dead]
        files = wait_until(lambda: len(found := [f for f in recordings(many) if f["repaired"]]) == len(lost) and found, 20, "its files are repaired")
        wait_until(lambda: all_run(many), 20, "it is there again")
        assert sorted(file["stream"] for file in files) == sorted(lost)
        # What other processes record goes on, in the same files.
        sizes = {name: path.stat().st_size for name, path in alive.items()}
        wait_until(lambda: all(path.stat().st_size > sizes[name] + 50_000 for name, path in alive.items()), 20, "the others go on")
        assert {name: path.stat().st_ino for name, path in alive.items()} == nodes
        for name, path in alive.items():
            assert len(get(many.http(f"/vod/{path.relative_to(place)}".removesuffix(".part")))) > sizes[name], "by whichever process"
    wait_until(lambda: not list(place.rglob("*.part")), 20, "all are finished")
    pictures = check_playable([place / file["file"] for file in recordings(many)])
    for file in recordings(many):
        if file["stream"] in alive:
            assert not file["repaired"] and pictures[place / file["file"]] > received[file["stream"]], file
    for file in files:
        missing = received[file["stream"]] - pictures[place / file["file"]]
        print(f"{file['stream']}: {missing} of {received[file['stream']]} frames are missing")
        assert missing <= FRAGMENT_S * FPS, file
    assert many.log().count("is repaired") == len(lost)


def test_files_of_a_stream_that_moves_are_one_presentation(new_weir, folder, place):
    source = short_gops(folder)
    many = start(new_weir, config(place, 'name "of-{app}/{stream}";'))
    count = republish_elsewhere(many, folder, source, 2)
    files = recordings(many)
    names = ["of-live/cam.mp4", *(f"of-live/cam-{i}.mp4" for i in range(2, count + 1))]
    assert sorted(file["file"] for file in files) == sorted(names), "numbered over all processes"
    for _ in range(ASKS):
        text = get(many.http("/vod/live/cam.m3u8")).decode()
        assert text.count("#EXT-X-DISCONTINUITY\n") == count - 1 and "#EXT-X-ENDLIST" in text, text
    out = folder / "all.mkv"
    run(["ffmpeg", "-v", "error", "-i", many.rtmp("vod/live/cam"), "-c", "copy", "-y", out], seconds=60)
    check_frames(Recording(out), source, most_runs=2 * count)  # the last B-frame may come without the one before it


def test_keep_removes_the_oldest_of_all_processes(new_weir, folder, place):
    many = start(new_weir, config(place))
    with Program("publish", [BENCH, "rtmp-publish", "--url", many.rtmp("live/s%d"), "--streams", KEPT, "--bitrate", "1m", "--gop", FPS,
                             "--duration", "120s", "--quiet"], folder):
        wait_growing(place, KEPT, size=400_000)
        ids = {client["name"]: client["id"] for client in many.clients()}
        for i in range(KEPT):  # one behind the other
            assert many.api(f"/api/v1/clients/{ids[f's{i}']}", "DELETE")["http_status"] == 200
            wait_until(lambda: len(recordings(many)) == i + 1, 20, "its file is finished")
    files = recordings(many)
    assert [file["stream"] for file in files] == [f"s{i}" for i in reversed(range(KEPT))]
    assert len({file["process"] for file in files}) > 1
    kept = [file for i, file in enumerate(files) if sum(each["bytes"] for each in files[:i + 1]) <= KEEP]
    assert 1 <= len(kept) < KEPT - 1
    text = many.config_path.read_text()
    many.config_path.write_text(text.replace("playback on;", "playback on; keep 3mb;"))
    many.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(recordings(many)) <= len(kept), 40, "what is too much goes")
    time.sleep(11)  # each process has looked once more
    assert recordings(many) == kept
    assert sorted(place / file["file"] for file in kept) == recorded(place)


def test_the_api_begins_and_ends_recordings_wherever_the_stream_is(new_weir, folder, place):
    many = start(new_weir, f"record {{ path {place}; }}")
    with publisher(many.rtmp("live/cam"), folder):
        many.wait_live("cam")
        (at,) = process_of(many, "publisher")
        assert not recordings(many, "all")
        begun = post(many, {"stream": "live/cam"})
        assert begun["http_status"] == 201 and begun["recording"]["state"] == "recording"
        for _ in range(ASKS):
            assert post(many, {"stream": "live/cam"})["http_status"] == 409
            assert [each["process"] for each in recordings(many, "recording")] == [at]
        wait_growing(place)
        ended = post(many, {"stream": "live/cam", "action": "stop"})
        assert ended["http_status"] == 200 and ended["recording"] is None
        assert post(many, {"stream": "live/cam", "action": "stop"})["http_status"] == 404
        wait_until(lambda: len(recordings(many)) == 1, 20, "it is finished")
    # One that nobody publishes is recorded wherever it comes.
    assert post(many, {"stream": "live/next"})["recording"] is None
    at = set()
    for i in range(20):
        with publisher(many.rtmp("live/next"), folder, name=f"next{i}"):
            wait_until(lambda: len(found := recordings(many, "recording")) == 1 and at.add(found[0]["process"]) is None, 20, "it is recorded")
            wait_growing(place, size=50_000)
        wait_until(lambda: not recordings(many, "recording"), 20, "the recording has ended")
        if len(at) > 1:
            break
    assert len(at) > 1
    # The end of one that runs ends the order.
    with publisher(many.rtmp("live/next"), folder, name="last"):
        (running,) = wait_until(lambda: recordings(many, "recording"), 20, "it is recorded once more")
        wait_growing(place, size=50_000)
        assert many.api(f"/api/v1/recordings/{running['id']}", "DELETE")["http_status"] == 200
        assert post(many, {"stream": "live/next", "action": "stop"})["http_status"] == 404
    assert post(many, {"stream": "live/x", "action": "nonsense"})["http_status"] == 400
    assert post(many, {"stream": "live/x", "action": "stop"})["http_status"] == 404


@pytest.mark.parametrize("count", [1, 2])
def test_two_servers_do_not_share_a_folder(new_weir, folder, place, count):
    start(new_weir, config(place))
    second = new_weir(f"processes {count};\n{config(place)}", name="second").start()
    second.wait_log("another server writes into")
    with publisher(second.rtmp("live/cam"), folder):
        second.wait_live("cam")
        wait_until(lambda: any(each["gaps"] for each in recordings(second, "recording")), 20, "it has a gap")
    assert not recorded(place) and not list(place.rglob("*.part"))


def test_other_numbers_of_processes_find_all_files(new_weir, folder, place):
    many = start(new_weir, config(place, rest=FORMATS))
    with ExitStack() as stack:
        publishers(many, stack, folder)
        wait_growing(place, STREAMS)
        many.process.send_signal(signal.SIGSTOP)  # it begins none anew
        killed = pids(many).values()
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        many.kill()
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in killed), 20, "all have ended")
    text = many.config_path.read_text()
    for count in (1, 2, COUNT):
        many.config_path.write_text(text.replace(f"processes {COUNT};", f"processes {count};"))
        many.start()
        wait_until(lambda: all_run(many, count), 20, "all processes run")
        files = wait_until(lambda: len(found := recordings(many)) == STREAMS and found, 20, "all files are there")
        assert all(file["repaired"] for file in files)
        for file in files:
            assert len(get(many.http(file["play"]))) == file["bytes"]
        many.process.send_signal(signal.SIGTERM)
        assert wait_end(many.process, 20) == 0
        many.process = None
    assert not list(place.rglob("*.part"))
