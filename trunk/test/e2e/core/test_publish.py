"""Who may hold a name, what happens when a publisher vanishes, and players that come first."""

import signal
import threading
import time

import pytest

from flv import AUDIO, VIDEO, HttpFlv, Tag, WsFlv
from media import Program, Recording, check_both, check_frames, check_rising, play_ffmpeg, publisher
from rtmp import RtmpPlayer
from weir import wait_until

REPUBLISHES = 5


@pytest.mark.smoke
def test_second_publisher_is_refused_and_the_first_goes_on(weir, folder):
    with publisher(weir.rtmp(), folder, name="first") as first:
        holder = weir.wait_live()
        with publisher(weir.rtmp(), folder, name="second") as second:
            assert second.wait(20) != 0
            assert "BadName" in second.log() or "already" in second.log().lower() or "error" in second.log().lower()
        assert first.running()
        check_both(play_ffmpeg(weir.rtmp(), folder, 2), 1)
    client = str(holder["publish"].get("cid", ""))
    refusals = [line for line in weir.log().splitlines() if "livestream" in line and client and client in line]
    assert refusals, "the log names who holds the stream"


@pytest.mark.config("publish_conflict takeover;")
def test_takeover_lets_the_second_publisher_in(weir, folder):
    with publisher(weir.rtmp(), folder, name="first") as first:
        weir.wait_live()
        with HttpFlv(weir.http_port) as player:
            reader = player.reader()
            reader.tags_until(lambda tag: tag.is_key_frame())
            with publisher(weir.rtmp(), folder, name="second") as second:
                first.wait(20)
                tags = reader.tags(2)
                assert second.running()
    check_tag_times(tags)


def check_tag_times(tags):
    """Times of each track never step back."""
    for kind in (AUDIO, VIDEO):
        times = [tag.time_ms for tag in tags if tag.type == kind]
        assert times == sorted(times), [pair for pair in zip(times, times[1:]) if pair[1] < pair[0]]


class RtmpReader:
    """Gives what an RTMP player receives as tags, which are the same."""

    def __init__(self, player):
        self.player = player

    def tag(self):
        return Tag(*self.player.message())


class TagCollector(threading.Thread):
    """Reads tags in the background until the end."""

    def __init__(self, reader):
        super().__init__(daemon=True)
        self.reader, self.tags, self.error = reader, [], None
        self.start()

    def run(self):
        try:
            while True:
                self.tags.append(self.reader.tag())
        except (OSError, EOFError, AssertionError) as error:
            self.error = error

    def video(self):
        return [tag for tag in self.tags if tag.type == VIDEO]


def test_players_stay_through_kill_and_republish(weir, folder):
    """kill -9 of the publisher, again and again: every player stays, its time goes on, the picture comes back."""
    with publisher(weir.rtmp(), folder, name="publisher-0") as first, HttpFlv(weir.http_port, timeout=30) as http, \
            WsFlv(weir.ws(), timeout=30) as ws, RtmpPlayer(weir.rtmp_port, timeout=30) as rtmp:
        weir.wait_live()
        collectors = [TagCollector(reader) for reader in (http.reader(), ws.reader(), RtmpReader(rtmp))]
        wait_until(lambda: all(each.video() for each in collectors), 20, "all play")
        current = first
        for number in range(1, REPUBLISHES + 1):
            time.sleep(0.5)
            current.kill()
            wait_free(weir)
            counts = [len(collector.video()) for collector in collectors]
            current = publisher(weir.rtmp(), folder, name=f"publisher-{number}").__enter__()
            try:
                for collector, count in zip(collectors, counts):
                    wait_until(lambda: len(collector.video()) > count + 5 or collector.error, 20,
                               f"video after republish {number}")
                    assert collector.error is None, collector.error
            except BaseException:
                current.end()
                raise
        recording = play_ffmpeg(weir.rtmp(), folder, 2)
        current.end()
    for collector in collectors:
        check_tag_times(collector.tags)
        # One frame after the last: a republish leaves no hole of a second in the players' time.
        times = [tag.time_ms for tag in collector.video() if not tag.is_avc_config()]
        assert max(b - a for a, b in zip(times, times[1:])) < 1000
    check_both(recording, 1)


def test_what_a_player_saves_survives_a_republish(weir, folder):
    saved = folder / "saved.flv"

    def wait_more(size):
        began = saved.stat().st_size if saved.exists() else 0
        wait_until(lambda: saved.exists() and saved.stat().st_size > began + size, 20, "the player receives more")

    with publisher(weir.rtmp(), folder, name="first") as first:
        weir.wait_live()
        with Program("curl", ["curl", "--silent", "--show-error", "--no-buffer", weir.http()], folder, saved) as player:
            wait_more(80_000)
            first.kill()
            wait_free(weir)
            with publisher(weir.rtmp(), folder, name="second"):
                wait_more(80_000)
                player.end(signal.SIGINT)
    recording = Recording(saved)
    check_rising(recording)
    check_frames(recording, least=75, most_runs=4)  # the cut may leave B-frames without their reference


def wait_free(weir):
    wait_until(lambda: not any(stream["name"] == "livestream" and stream.get("publish", {}).get("active") for stream in weir.streams()),
               20, "the name is free")


@pytest.mark.config("publish { normal_timeout 2s; }")
def test_silent_publisher_frees_the_name(weir, folder):
    """A publisher that stops talking without a word, as behind a pulled cable."""
    with publisher(weir.rtmp(), folder, name="silent") as silent:
        weir.wait_live()
        silent.process.send_signal(signal.SIGSTOP)
        try:
            weir.wait_log("was silent for 2000 ms (normal_timeout)")
            wait_free(weir)
            with publisher(weir.rtmp(), folder, name="next"):
                weir.wait_live()
        finally:
            silent.kill()


@pytest.mark.parametrize("way", ["rtmp", "http", "ws"])
def test_player_before_the_publisher_gets_the_start(weir, folder, way):
    result = {}

    def play():
        if way == "rtmp":
            with RtmpPlayer(weir.rtmp_port, timeout=30) as player:
                result["delay"], _ = player.first_key_frame()
        else:
            with (HttpFlv(weir.http_port, timeout=30) if way == "http" else WsFlv(weir.ws(), timeout=30)) as player:
                result["tags"] = player.reader().tags_until(lambda tag: tag.is_key_frame(), 30)

    player = threading.Thread(target=play)
    player.start()
    wait_until(lambda: [client["role"] for client in weir.clients()] == ["player"], 20, "the player waits")
    assert not result, "nothing can have come yet"
    with publisher(weir.rtmp(), folder):
        player.join(30)
    assert result, "the waiting player got nothing"


@pytest.mark.smoke
@pytest.mark.config("play { wait_publisher 1s; }")  # 30 s are usual
def test_missing_stream_is_answered_after_the_wait(weir):
    started = time.monotonic()
    with HttpFlv(weir.http_port, "/live/nobody.flv", timeout=10) as player:
        took = time.monotonic() - started
        assert player.status == 404
        assert 0.8 < took < 10, took
    with RtmpPlayer(weir.rtmp_port, stream="nobody") as player:
        while True:
            kind, _, payload, arrived = player.message()
            if kind == RtmpPlayer.COMMAND and b"NetStream.Play.StreamNotFound" in payload:
                break
        assert 0.8 < arrived - player.play_sent < 10


@pytest.mark.config("security { deny publish all; }")
def test_denied_publisher_is_refused_and_the_log_names_the_directive(weir, folder):
    with publisher(weir.rtmp(), folder) as refused:
        assert refused.wait(20) != 0
    weir.wait_log("allow publish")
    assert not any(stream.get("publish", {}).get("active") for stream in weir.streams())


@pytest.mark.config("security { deny play all; }")
def test_denied_player_is_refused(weir, folder):
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        with HttpFlv(weir.http_port) as player:
            assert player.status == 403
