"""WebRTC over paths that lose, delay and change: Chromium as player and publisher, rtc.Link between it and the server."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from browser import Browser
from media import play_curl, run
from rtc import ClockPublisher, Link, Page, change, longest_freeze, rtc_weir, whep_path, whip_path
from weir import patience

pytestmark = pytest.mark.alone

DELAY_MS = 100  # each way


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("webrtc")) as one:
        yield one


@pytest.mark.works_with("Chromium", plays="WebRTC", codecs="H.264", checked="5 % and 20 % of packets lost")
def test_players_on_lossy_paths(new_weir, folder, browser):
    weir = rtc_weir(new_weir)
    with ClockPublisher(weir.rtmp(), folder), Link(weir.rtc_port, 0.05, DELAY_MS, seed=5) as five, \
            Link(weir.rtc_port, 0.20, DELAY_MS, seed=20) as twenty:
        weir.wait_live()
        page = Page(browser, weir)
        for name, link in (("five", five), ("twenty", twenty)):
            assert page.play(name, whep_path("livestream"), link)["status"] == 201
        for name in ("five", "twenty"):
            page.wait_frames(name, 1, 15)
        time.sleep(4)
        before = {name: (page.frames(name), page.stats(name)) for name in ("five", "twenty")}
        time.sleep(10)
        after = {name: (page.frames(name), page.stats(name)) for name in ("five", "twenty")}
        for name, link in (("five", five), ("twenty", twenty)):
            shown, stats = after[name]
            then = before[name][1]
            seconds = (stats["video"]["timestamp"] - then["video"]["timestamp"]) / 1000
            decoded, nacks, resent = change(then, stats, "video", "framesDecoded", "nackCount",
                                            "retransmittedPacketsReceived")
            share, freeze = decoded / (25 * seconds), longest_freeze(shown)
            print(f"{name}: {100 * share:.1f} % of pictures, longest freeze {freeze:.2f} s, {nacks} NACKs, {resent} resent, "
                  f"{link.lost} of {link.lost + link.passed} datagrams lost")
            assert link.lost > 0.7 * link.loss * (link.lost + link.passed), "the path loses"
            if name == "five":
                assert share >= 0.97 and freeze < 1 * patience(), (share, freeze)
            else:
                assert share >= 0.5 and freeze < 4 * patience(), (share, freeze)
        # And when the path is good again, all is well.
        five.loss = twenty.loss = 0
        time.sleep(4)
        before = {name: (page.frames(name), page.stats(name)) for name in ("five", "twenty")}
        time.sleep(3)
        for name in ("five", "twenty"):
            shown, stats = page.frames(name), page.stats(name)
            then = before[name][1]
            seconds = (stats["video"]["timestamp"] - then["video"]["timestamp"]) / 1000
            assert change(then, stats, "video", "framesDecoded") > 0.9 * 25 * seconds, (name, stats["video"])
            assert longest_freeze(shown) < 0.6 * patience(), (name, longest_freeze(shown))


@pytest.mark.works_with("Chromium", publishes="WebRTC", codecs="H.264, Opus", checked="5 % and 20 % of packets lost")
def test_publishers_on_lossy_paths(new_weir, folder, browser):
    weir = rtc_weir(new_weir)
    losses = {"five": 0.05, "twenty": 0.2}
    with contextlib.ExitStack() as stack:
        page = Page(browser, weir)
        for name, loss in losses.items():
            link = stack.enter_context(Link(weir.rtc_port, loss, DELAY_MS, seed=int(loss * 100)))
            assert page.publish(name, whip_path(name), link, width=320, height=180)["status"] == 201
        for name in losses:
            weir.wait_live(name, 15)
        with ThreadPoolExecutor() as pool:
            jobs = {name: pool.submit(play_curl, weir.http(f"/live/{name}.flv"), folder, 10, name=name, least=5000)
                    for name in losses}
            recordings = {name: job.result() for name, job in jobs.items()}
        stats = {name: page.stats(name) for name in losses}
    for name, recording in recordings.items():
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, (name, recording.streams())
        times = {}
        for packet in recording.packets():
            times.setdefault(packet["stream_index"], []).append(float(packet["dts_time"]))
        for track in times.values():
            # Sound that came late, and is older than the picture that a player begins with, has that picture's time.
            assert track == sorted(track) and len(set(track)) > 0.9 * len(track), track[:20]
        # No broken picture, ever: a decoder has nothing to say.
        run(["ffmpeg", "-v", "error", "-xerror", "-err_detect", "explode", "-i", recording.path, "-f", "null", "-"])
        frames = len(recording.frames())
        print(f"{name}: {frames} pictures, {recording.audio_seconds():.1f} s of sound, "
              f"{stats[name]['video']['framesEncoded']} encoded, {stats[name]['video']['nackCount']} NACKs, "
              f"{stats[name]['video']['pliCount']} PLIs")
        # At 20 % the browser itself encodes a third of the pictures only; there may be pauses, but no end.
        shown = sorted(float(packet["pts_time"]) for packet in recording.packets() if packet["codec_type"] == "video")
        pause = max(b - a for a, b in zip(shown, shown[1:]))
        # The browser's encoder also skips pictures when the machine is busy: compared with what it encoded.
        encoded = stats[name]["video"]["framesEncoded"]
        assert frames > {"five": 0.7, "twenty": 0.4}[name] * min(encoded, 250) - 10, (name, frames, encoded)
        assert pause < {"five": 2, "twenty": 6}[name], (name, pause)
        assert stats[name]["video"]["nackCount"] > 0


def test_connects_over_paths_that_lose_handshakes(new_weir, folder, browser):
    weir = rtc_weir(new_weir)
    with ClockPublisher(weir.rtmp(), folder), contextlib.ExitStack() as stack:
        weir.wait_live()
        page = Page(browser, weir)
        paths = [Link(weir.rtc_port, 0.3, 20, seed=seed) for seed in range(5)]
        paths += [Link(weir.rtc_port, drop=lose_first(up, count)) for up, count in ((True, 2), (False, 3))]
        began = time.monotonic()
        for number, link in enumerate(paths):
            stack.enter_context(link)
            assert page.play(f"peer {number}", whep_path("livestream"), link)["status"] == 201
        for number in range(len(paths)):
            page.wait_state(f"peer {number}", "connected", began + 15 - time.monotonic())
        print(f"all connected after {time.monotonic() - began:.1f} s")
        for link in paths:
            link.loss = 0
        for number in range(len(paths)):
            page.wait_frames(f"peer {number}", 5, 10)


def lose_first(up, count):
    """The first datagrams of DTLS of one side."""
    left = [count]

    def drop(goes_up, datagram):
        if goes_up == up and 20 <= datagram[0] <= 63 and left[0]:
            left[0] -= 1
            return True
        return False
    return drop


def test_player_keeps_its_session_when_its_address_changes(new_weir, folder, browser):
    weir = rtc_weir(new_weir)
    with ClockPublisher(weir.rtmp(), folder, gop=25), Link(weir.rtc_port) as link:
        weir.wait_live()
        page = Page(browser, weir)
        assert page.play("one", whep_path("livestream"), link)["status"] == 201
        page.wait_frames("one", 10)
        link.rebind()
        time.sleep(8)  # the browser's next check goes from the new address
        page.frames("one")
        time.sleep(2)
        frames = page.frames("one")
        assert len(frames) > 40 and longest_freeze(frames) < 0.5 * patience(), (len(frames), longest_freeze(frames))
        assert len(weir.clients()) == 2, "the publisher, and still the same player"
