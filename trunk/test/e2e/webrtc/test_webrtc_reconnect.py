"""Publishers that die and come back: players of the stream go on with the new one, without a new offer."""

import asyncio
import threading
import time

from aio_peers import AioPeer
from flv import AUDIO, VIDEO, HttpFlv
from rtc import ClockPublisher, rtc_weir, whip_path
from test_publish import TagCollector, check_tag_times
from test_webrtc_pion import clip, pion  # noqa: F401  (a fixture)
from weir import wait_until


class Watcher(threading.Thread):
    """An aiortc player in a thread; `arrivals` and `codes` of its pictures grow while it runs."""

    def __init__(self, weir, stream):
        super().__init__(daemon=True)
        self.weir, self.stream, self.ending = weir, stream, threading.Event()
        self.pictures, self.error = [], None

    def run(self):
        async def watch():
            async with AioPeer() as peer:
                self.pictures = peer.video
                await peer.play(self.weir, self.stream)
                while not self.ending.is_set():
                    await asyncio.sleep(0.05)

        try:
            asyncio.run(watch())
        except BaseException as error:
            self.error = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.join(10)
        assert self.error is None, self.error

    def goes_on(self, seconds, what):
        """Until 25 more pictures came."""
        count = len(self.pictures)
        wait_until(lambda: self.error or len(self.pictures) > count + 25, seconds, f"{what}: the player goes on")
        assert self.error is None, self.error


def test_player_goes_on_after_an_rtmp_publisher_died(new_weir, folder):
    weir = rtc_weir(new_weir)
    with ClockPublisher(weir.rtmp(), folder, "first", gop=25) as first:
        weir.wait_live()
        with Watcher(weir, "livestream") as player:
            player.goes_on(20, "the first publisher")
            first.kill()
            killed = time.time() * 1000
            time.sleep(1)
            with ClockPublisher(weir.rtmp(), folder, "second", gop=25):
                player.goes_on(20, "the second publisher")
                # The new one's pictures, on a timeline that only rises.
                assert (player.pictures[-1][2] - killed) % (1 << 32) < 1 << 31
                times = [seconds for _, seconds, _ in player.pictures]
                assert times == sorted(times)


def test_players_go_on_after_a_whip_publisher_died(new_weir, folder, clip):  # noqa: F811
    weir = rtc_weir(new_weir, "vhost __defaultVhost__ { publish { normal_timeout 4s; } }")
    video, audio, _ = clip
    with pion("publish", weir, whip_path("cam"), folder, video, audio, 60, name="first") as first:
        weir.wait_live("cam")
        with Watcher(weir, "cam") as player, HttpFlv(weir.http_port, "/live/cam.flv", timeout=60) as flv:
            reader = flv.reader()
            reader.tags_until(lambda tag: tag.is_key_frame())
            collector = TagCollector(reader)

            def counts():
                return [sum(tag.type == kind for tag in collector.tags[:]) for kind in (AUDIO, VIDEO)]
            player.goes_on(20, "the first publisher")
            first.kill()  # says nothing; its silence is noticed
            wait_until(lambda: not any(one["name"] == "cam" and one["publish"]["active"] for one in weir.streams()), 20,
                       "the silent publisher is gone")
            before = counts()
            with pion("publish", weir, whip_path("cam"), folder, video, audio, 60, name="second"):
                player.goes_on(20, "the second publisher")
                wait_until(lambda: all(now > then + 30 for now, then in zip(counts(), before)) or collector.error, 20,
                           "audio and video go on by HTTP-FLV")
                assert collector.error is None, collector.error
                check_tag_times(collector.tags[:])


def test_a_new_whip_publisher_takes_over(new_weir, folder, clip):  # noqa: F811
    weir = rtc_weir(new_weir, "vhost __defaultVhost__ { publish_conflict takeover; }")
    video, audio, _ = clip
    with pion("publish", weir, whip_path("cam"), folder, video, audio, 60, name="first") as first:
        weir.wait_live("cam")
        with Watcher(weir, "cam") as player:
            player.goes_on(20, "the first publisher")
            first.kill()
            with pion("publish", weir, whip_path("cam"), folder, video, audio, 60, name="second") as second:
                wait_until(lambda: "connected" in second.stdout.read_text(), 20, "the second is connected")
                player.goes_on(20, "the second publisher")
