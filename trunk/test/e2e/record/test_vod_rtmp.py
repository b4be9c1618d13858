"""Recordings are played by RTMP: the same frames, from where a player wants them, by whoever may play their stream."""

import struct
import subprocess
import time

import pytest

from hooks import HookServer
from hostile import Peer, command
from media import Program, Recording, check_rising, publisher, run
from rtmp import RtmpPlayer
from test_record import recordings, short_gops
from weir import wait_until

GOP_MS = 1_000  # of the source, 25 frames


@pytest.fixture
def place(folder):
    path = folder / "recordings"
    path.mkdir()
    return path


def config(place, more="", rest=""):
    return f"record {{ enabled on; path {place}; playback on; {more} }}\n{rest}"


def recorded(server, folder, times=1, path="live/livestream"):
    """The files of a stream that was published so often, faster than it is played: those of the API, the oldest first."""
    source = short_gops(folder)
    for number in range(times):
        run(["ffmpeg", "-v", "error", "-nostdin", "-readrate", "8", "-i", source, "-c", "copy", "-f", "flv", server.rtmp(path)])
        wait_until(lambda: len(recordings(server)) == number + 1, 20, "the recording is finished")  # noqa: B023
    return sorted(recordings(server), key=lambda file: file["started_ms"])


def fetch_rtmp(url, folder, name, *options, tool="ffmpeg"):
    """What ffmpeg gets of the recording up to its end, much of it in advance."""
    out = folder / f"{name}.mkv"
    run([tool, "-v", "error", "-nostdin", "-rtmp_buffer", "30000", *options, "-i", url, "-dn", "-sn", "-map", "0", "-c", "copy", "-y", out])
    return Recording(out)


class Player(RtmpPlayer):
    """Plays a recording, with much in advance, and keeps what it was told: codes of onStatus, and times of frames."""

    def __init__(self, port, stream, start=-2000, duration=None, buffer_ms=30_000, app="vod/__defaultVhost__/live"):
        super().__init__(port, app, stream, play=False)
        self.codes = []
        self.set_buffer(buffer_ms)
        self.command("play", 3, None, stream, start, *([] if duration is None else [duration]), stream=1)

    def set_buffer(self, ms):
        self.socket.sendall(b"\x02" + bytes(3) + (10).to_bytes(3, "big") + b"\x04" + bytes(4) + struct.pack(">HII", 3, 1, ms))

    def media(self):
        """The next frame, (kind, time, key); None when the server has said a code or an end."""
        kind, when, payload, _ = self.message()
        if kind in (self.AUDIO, self.VIDEO) and len(payload) > 2 and payload[1] == 1:
            return kind, when, payload[0] == 0x17
        for code in (b"Play.Start", b"Play.Stop", b"Play.Complete", b"Seek.Notify", b"Seek.Failed", b"Pause.Notify", b"Unpause.Notify",
                     b"Play.StreamNotFound", b"Play.Failed"):
            if kind in (18, 20) and (b"NetStream." + code) in payload:
                self.codes.append(code.decode())
        return None

    def until(self, code):
        """All frames up to that code."""
        seen = []
        while code not in self.codes:
            frame = self.media()
            seen += [frame] if frame else []
        self.codes.clear()
        return seen

    def frame(self, kind=None):
        while not (frame := self.media()) or (kind and frame[0] != kind):
            pass
        return frame


@pytest.mark.works_with("rtmpdump", plays="recordings by RTMP", codecs="H.264, AAC", checked="every frame from `--start` on",
                        set="`record { playback on; }`")
def test_every_frame_is_played_with_the_times_of_the_file(new_weir, folder, place):
    server = new_weir(config(place)).start()
    file, = recorded(server, folder)
    own = Recording(place / file["file"])
    url = server.rtmp(f"vod/{file['file']}")
    played = fetch_rtmp(url, folder, "whole")
    assert played.frames() == own.frames() and played.streams() == own.streams()
    check_rising(played)
    assert played.audio_seconds() == pytest.approx(own.audio_seconds(), abs=0.1)
    short = file["file"].removeprefix("__defaultVhost__/").removesuffix(".mp4")
    assert fetch_rtmp(server.rtmp(f"vod/{short}"), folder, "short").frames() == own.frames()
    # librtmp: the duration is told, and a start.
    out = folder / "late.flv"
    said = subprocess.run(["rtmpdump", "--rtmp", url, "--playpath", f"mp4:{file['file'].split('/', 1)[1]}", "--app", "vod/__defaultVhost__",
                           "--start", "4", "-o", out], capture_output=True, timeout=30, check=False)
    late = Recording(out).frames()
    assert late == own.frames()[-len(late):] and len(late) == len(own.frames()) - 4 * 25, (len(late), said.stderr[-500:])
    # In real time, with a second in advance; whoever stands still makes it less.
    begun = time.monotonic()
    with Player(server.rtmp_port, file["file"].rsplit("/", 1)[1], buffer_ms=0, app="vod/" + file["file"].rsplit("/", 1)[0]) as player:
        assert player.frame(player.VIDEO) == (player.VIDEO, 0, True)
        first, advances = time.monotonic(), []
        while (when := player.frame()[1]) < 3_000:
            advances.append(when / 1000 - (time.monotonic() - first))
        assert time.monotonic() - begun > 1.5 and max(advances) > 0.5
        clients = wait_until(lambda: len(found := server.clients()) == 1 and found, 10, "the others have gone")
        assert clients[0]["publish"] is False and clients[0]["name"] == "livestream", clients
        server.api(f"/api/v1/clients/{clients[0]['id']}", method="DELETE")
        with pytest.raises((EOFError, ConnectionError)):
            player.until("Play.Stop")
    server.wait_log("kicked by the API")
    assert f"recording={file['file']}" in server.log()


def test_seek_and_pause(new_weir, folder, place):
    server = new_weir(config(place)).start()
    file, = recorded(server, folder)
    app, name = ("vod/" + file["file"]).rsplit("/", 1)
    with Player(server.rtmp_port, "mp4:" + name, app=app) as player:
        whole = player.until("Play.Stop")
        video = [when for kind, when, _ in whole if kind == player.VIDEO]
        assert video == sorted(video) and len(video) == round(file["duration_ms"] / 40, -1)
        # Back from the end, to the key frame before.
        for wanted, begin in ((5_500, 5_000), (0, 0), (3_000, 3_000), (10**9, video[-1] // GOP_MS * GOP_MS)):
            player.command("seek", 0, None, wanted, stream=1)
            player.until("Seek.Notify")
            again = player.until("Play.Stop")
            first = next(frame for frame in again if frame[0] == player.VIDEO)
            assert first == (player.VIDEO, begin, True), (wanted, first)
            assert [when for kind, when, _ in again if kind == player.VIDEO] == [when for when in video if when >= begin]
        # It stops where it is, and goes on from there.
        player.set_buffer(0)
        player.command("seek", 0, None, 0, stream=1)
        player.until("Seek.Notify")
        player.frame(player.VIDEO)
        player.command("pause", 0, None, True, 0, stream=1)
        before = player.until("Pause.Notify")
        player.socket.settimeout(0.8)
        with pytest.raises(TimeoutError):
            player.message()
        player.socket.settimeout(10)
        player.set_buffer(30_000)
        player.command("pause", 0, None, False, 0, stream=1)
        player.until("Unpause.Notify")
        after = player.until("Play.Stop")
        assert [when for kind, when, _ in before + after if kind == player.VIDEO] == video[1:]
        # Another one on the same connection, a part of it.
        player.command("play", 0, None, "mp4:" + name, 2_000, 3_000, stream=1)
        part = player.until("Play.Stop")
        assert [when for kind, when, _ in part if kind == player.VIDEO] == [when for when in video if 2_000 <= when < 5_000]
        # Many seeks at once: the last counts.
        for at in range(100):
            player.command("seek", 0, None, at * 37 % 9_000, stream=1)
        player.command("seek", 0, None, 7_000, stream=1)
        for _ in range(101):
            player.until("Seek.Notify")
        while (frame := player.frame(player.VIDEO))[1] != 7_000:
            assert frame[1] < 10_000
        player.command("closeStream", 0, None, stream=1)
        player.command("createStream", 9, None, stream=0)
        player.wait_command(b"_result", 1)
    wait_until(lambda: not server.clients(), 20, "the player has gone")
    wait_until(lambda: server.api("/api/v1/summaries")["data"].get("record", {}).get("playbacks", 0) == 0, 10, "and what it played")


def test_another_play_while_the_socket_is_full(new_weir, folder, place):
    server = new_weir(config(place, rest="send_buffer 64k;")).start()
    file, = recorded(server, folder)
    app, name = ("vod/" + file["file"]).rsplit("/", 1)
    with Player(server.rtmp_port, name, app=app) as player:
        player.frame(player.VIDEO)
        wait_until(lambda: [client for client in server.clients() if client["play"]["state"] == "blocked"], 10, "it waits for the player")
        # In one piece: what the socket did not take of the first goes out before the second begins.
        player.socket.sendall(command("closeStream", 0, None, stream=1) + command("play", 0, None, name, -2000, stream=1))
        seen = player.until("Play.Stop")
    video = [when for kind, when, _ in seen if kind == player.VIDEO]
    begin = len(video) - 1 - video[::-1].index(0)
    assert video[:begin] == sorted(video[:begin]) and video[begin:] == list(range(0, 40 * (len(video) - begin), 40))
    assert len(video) - begin == round(file["duration_ms"] / 40, -1)


def test_all_files_of_a_stream_are_one_playback(new_weir, folder, place):
    server = new_weir(config(place)).start()
    files = recorded(server, folder, times=2)
    first, second = (Recording(place / file["file"]).frames() for file in files)
    both = fetch_rtmp(server.rtmp("vod/live/livestream"), folder, "both")
    check_rising(both)
    assert both.frames() == first + second
    begin = files[1]["started_ms"] + 2_500
    span = fetch_rtmp(server.rtmp(f"vod/live/livestream?from={begin / 1000:.3f}"), folder, "span").frames()
    both_of = int((begin - files[0]["started_ms"]) // 2_000 * 50)  # whole segments; they were published faster than they play, so their times overlap
    assert span == first[both_of:] + second[50:]
    with Player(server.rtmp_port, "livestream", app="vod/live", start=files[0]["duration_ms"] + 1_200) as player:
        assert player.frame(player.VIDEO)[1] == files[0]["duration_ms"] + 1_000


def test_a_recording_that_grows_is_played_to_its_end(new_weir, folder, place):
    server = new_weir(config(place)).start()
    source = short_gops(folder)
    out = folder / "growing.mkv"
    with publisher(server.rtmp(), folder, source):
        name = wait_until(lambda: [r["file"] for r in recordings(server, "recording") if r.get("duration_ms", 0) > 1_000], 15, "it grows")[0]
        url = server.rtmp(f"vod/{name.removesuffix('.part')}")
        with Program("follower", ["ffmpeg", "-v", "error", "-nostdin", "-i", url, "-dn", "-sn", "-map", "0", "-c", "copy", "-y", out], folder) as follower:
            wait_until(lambda: recordings(server, "recording")[0]["duration_ms"] > 5_000, 20, "it grows on")
            assert follower.running()
            server.api(f"/api/v1/clients/{server.streams()[0]['publish']['cid']}", method="DELETE")
            assert follower.wait(10) == 0, follower.log()
    file, = wait_until(lambda: [f for f in recordings(server) if f["file"] in name], 20, "it is finished")
    own = Recording(place / file["file"]).frames()
    assert Recording(out).frames() == own and len(own) > 100


def test_who_may_play_and_what(new_weir, folder, place):
    hooks = HookServer()
    server = new_weir(config(place, rest=f"security {{ play_key s3cret; }}\n http_hooks {{ on_play http://127.0.0.1:{hooks.port}/;"
                                         f" on_stop http://127.0.0.1:{hooks.port}/; }}\n"
                                         "vhost __defaultVhost__ { application private { record { playback off; } } }")).start()
    file, = recorded(server, folder)
    recorded_private = place / "not-in-the-list.mp4"
    recorded_private.write_bytes((place / file["file"]).read_bytes())
    app, name = ("vod/" + file["file"]).rsplit("/", 1)
    for stream in (name, f"{name}?key=wrong"):
        with Player(server.rtmp_port, stream, app=app) as player:
            player.until("Play.Failed")
    assert not hooks.events
    with Player(server.rtmp_port, f"{name}?key=s3cret", app=app) as player:
        player.until("Play.Stop")
    wait_until(lambda: [event["action"] for event in hooks.events] == ["on_play", "on_stop"], 20, "both hooks")
    assert hooks.events[0]["stream"] == "livestream" and hooks.events[0]["app"] == "live"
    for stream in ("not-in-the-list.mp4", "nobody", "../recordings/not-in-the-list.mp4", ".weir-recordings", f"{name}.part", "x" * 900,
                   "live/livestream?from=yesterday", "%2e%2e/etc/passwd"):
        with Player(server.rtmp_port, stream, app="vod") as player:
            while not {"Play.StreamNotFound", "Play.Failed"} & set(player.codes):
                assert not player.media(), stream
    assert len(hooks.events) == 2


def test_files_that_go_or_are_spoilt_and_peers_that_do_not_read(new_weir, folder, place):
    server = new_weir(config(place, rest="write_stall_timeout 4s;")).start()
    file, = recorded(server, folder)
    path = place / file["file"]
    own = Recording(path).frames()
    app, name = ("vod/" + file["file"]).rsplit("/", 1)
    whole = path.read_bytes()
    # Removed while it is played: whoever has it open plays on.
    with Player(server.rtmp_port, name, app=app, buffer_ms=0) as player:
        player.frame(player.VIDEO)
        path.unlink()
        player.set_buffer(30_000)
        assert len([1 for kind, _, _ in player.until("Play.Stop") if kind == player.VIDEO]) == len(own) - 1
    with Player(server.rtmp_port, name, app=app) as player:
        player.until("Play.StreamNotFound")
    # Cut off: what is whole is played.
    path.write_bytes(whole[:len(whole) * 2 // 3])
    with Player(server.rtmp_port, name, app=app) as player:
        assert len(own) // 3 < len([1 for kind, _, _ in player.until("Play.Stop") if kind == player.VIDEO]) < len(own)
    for spoilt in (b"", whole[:300], bytes(5_000), whole[:2_000] + bytes(3_000)):
        path.write_bytes(spoilt)
        with Player(server.rtmp_port, name, app=app) as player:
            player.until("Play.Failed")
    # Spoilt in the middle, as the file is played.
    path.write_bytes(whole[:len(whole) // 2] + bytes(len(whole) // 2))
    with Player(server.rtmp_port, name, app=app) as player:
        assert 0 < len(player.until("Play.Stop")) < 1_000
    # Who takes nothing is ended, unless it has paused.
    path.write_bytes(whole)
    with Peer(server.rtmp_port, app=app, receive_buffer=4096) as peer:
        peer.send(command("createStream", 2, None) + bytes.fromhex("02000000" "00000a" "04" "00000000" "0003" "00000001" "00007530"))
        peer.send(command("play", 3, None, name, -2000, stream=1))
        server.wait_log("write stalled")
        assert peer.closed_within(20)
    with Peer(server.rtmp_port, app=app) as peer:  # asks and asks, and does not read
        peer.play(name)
        with pytest.raises((ConnectionError, TimeoutError)):
            for _ in range(1000):
                peer.send(command("seek", 0, None, 1, stream=1) * 100)
                time.sleep(0.02)
    wait_until(lambda: not server.clients(), 20, "nobody is left")
