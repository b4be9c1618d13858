"""Recordings are played by RTSP: over TCP and UDP, with seek and pause, up to BYE."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from hooks import HookServer
from media import Program, Recording, run
from rtsp import Client, rtp_header, rtp_info, rtsp_weir
from test_record import recordings
from test_vod_rtmp import config, place, recorded  # noqa: F401  place is a fixture
from weir import SUPPORT, wait_until

TCP = ("RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP/TCP;unicast;interleaved=2-3")


def npt(answer):
    begin, _, end = answer.fields["range"].removeprefix("npt=").partition("-")
    return float(begin), float(end) if end else None


def is_bye(packet):
    """A report and then a BYE (203)."""
    first = 4 * (int.from_bytes(packet[2:4], "big") + 1)
    return len(packet) > first and packet[first + 1] == 203


class Viewer(Client):
    def play(self, url=None, **fields):
        answer = self.request("PLAY", url or self.url, **fields)
        return answer

    def video(self):
        """RTP times of pictures, one for each, up to BYE."""
        times = []
        while True:
            channel, packet = self.next_frame()
            if channel == 1 and is_bye(packet):
                return times
            if channel == 0:
                when = rtp_header(packet)[2]
                if not times or times[-1] != when:
                    times.append(when)

    def next_frame(self, seconds=10):
        if self.frames:
            return self.frames.pop(0)
        self.frame(None, seconds)
        return self.frames.pop(0)


def decoded_from(url, seconds, transport):
    """MD5 of each picture that ffmpeg decodes of the recording from there to its end."""
    text = run(["ffmpeg", "-v", "error", "-nostdin", "-rtsp_transport", transport, "-ss", seconds, "-i", url, "-map", "0:v", "-fps_mode", "passthrough",
                "-f", "framemd5", "-"]).decode()
    return [line.split(",")[-1].strip() for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.works_with("ffmpeg", plays="recordings by RTSP", codecs="H.264", checked="every frame by TCP and UDP; seeking",
                        set="`record { playback on; }`")
def test_every_frame_is_played(new_weir, folder, place):  # noqa: F811
    server = rtsp_weir(new_weir, extra=config(place))
    file, = recorded(server, folder)
    own = Recording(place / file["file"]).frames()
    url = server.rtsp(f"vod/{file['file']}")
    outs = {transport: folder / f"{transport}.mkv" for transport in ("tcp", "udp")}
    with ExitStack() as stack:
        programs = [stack.enter_context(Program(f"ffmpeg-{transport}", ["ffmpeg", "-v", "error", "-nostdin", "-rtsp_transport", transport, "-i", url,
                                                                        "-map", "0", "-c:v", "ffv1", "-fps_mode", "passthrough", "-y", out], folder))
                    for transport, out in outs.items()]
        with ThreadPoolExecutor() as pool:
            late = dict(zip(outs, pool.map(lambda transport: decoded_from(url, "6", transport), outs), strict=True))
        for program in programs:
            assert program.wait(30) == 0, program.log()
    for transport, out in outs.items():
        assert Recording(out).frames() == own, transport
    for transport, frames in late.items():
        assert frames == own[-len(frames):] and len(frames) == pytest.approx(4 * 25, abs=3), (transport, len(frames))
    wait_until(lambda: not server.clients(), 20, "the players have gone")


def test_ffmpeg_copies_from_a_seek(new_weir, folder, place):  # noqa: F811
    server = rtsp_weir(new_weir, extra=config(place))
    file, = recorded(server, folder)
    own = Recording(place / file["file"]).frames()
    outs = {transport: folder / f"seek-{transport}.mkv" for transport in ("tcp", "udp")}

    def copy(transport):
        return run(["ffmpeg", "-v", "error", "-nostdin", "-rtsp_transport", transport, "-ss", "6", "-i", server.rtsp(f"vod/{file['file']}"),
                    "-map", "0", "-c", "copy", "-y", outs[transport]])

    with ThreadPoolExecutor() as pool:
        list(pool.map(copy, outs))
    for transport, out in outs.items():
        frames = Recording(out).frames()
        assert 4 * 25 - 3 <= len(frames) < len(own) and frames == own[-len(frames):], (transport, len(frames))


def test_range_pause_and_the_end(new_weir, folder, place):  # noqa: F811
    server = rtsp_weir(new_weir, extra=config(place))
    file, = recorded(server, folder)
    duration = file["duration_ms"] / 1000
    short = file["file"].removeprefix("__defaultVhost__/").removesuffix(".mp4")
    url = server.rtsp(f"vod/{short}")
    with Viewer(server.rtsp_port, url) as viewer:
        described, set_up = viewer.set_up(TCP)
        assert float(re.search(r"^a=range:npt=0-([\d.]+)", described.body, re.M).group(1)) == pytest.approx(duration, abs=0.05)
        assert [answer.status for answer in set_up] == [200, 200]
        # A second and a half of it, from within a GOP: it begins with the key frame before.
        for _ in range(3):  # on a busy machine one may take longer
            begun = time.monotonic()
            answer = viewer.play(Range="npt=3.5-5")
            playing = time.monotonic()
            assert answer.status == 200 and npt(answer) == (pytest.approx(3.08, abs=0.05), 5), answer
            video_start, audio_start = (when for _, when in rtp_info(answer))
            times = viewer.video()
            took = time.monotonic() - begun
            assert times[0] == video_start
            assert len(times) == 50, len(times)
            assert max(times) - min(times) == 49 * 3600
            if took < 3.5:
                break
        assert 1.5 < took < 3.5
        # Again, and further on: times of RTP go on, with the clock.
        begun_again = time.monotonic()
        answer = viewer.play(Range=f"npt={duration - 1.2:.3f}-")
        playing_again = time.monotonic()
        assert answer.status == 200 and npt(answer)[1] == pytest.approx(duration, abs=0.05)
        again = viewer.video()
        assert 20 <= len(again) <= 60 and again[0] > max(times) and rtp_info(answer)[0][1] == again[0]
        assert begun_again - playing - 0.5 < (again[0] - times[0]) / 90_000 < playing_again - begun + 0.5
        # From the beginning, as all was played; it stops where it is, and goes on from there.
        begun = time.monotonic()
        answer = viewer.play()
        assert npt(answer)[0] == pytest.approx(0.08, abs=0.1)
        while viewer.next_frame()[0] != 2:
            pass
        time.sleep(0.4)
        assert viewer.request("PAUSE").status == 200
        played = time.monotonic() - begun
        viewer.frames.clear()
        with pytest.raises(TimeoutError):
            viewer.next_frame(0.7)
        answer = viewer.play()
        assert 0.3 < npt(answer)[0] < played + 0.8, answer
        assert viewer.request("GET_PARAMETER").status == 200
        for wrong in ("npt=1000-", "npt=5-3", "clock=20261125T000000Z-", "nonsense"):
            assert viewer.play(Range=wrong).status == 457, wrong
        assert viewer.request("SETUP", Transport=TCP[0]).status == 455
        assert [client["name"] for client in server.clients()] == ["livestream"]
        assert viewer.request("TEARDOWN").status == 200
        # The connection plays something else.
        viewer.session = None
        viewer.set_up(TCP)
        assert viewer.play(Range="npt=9-").status == 200
    wait_until(lambda: not server.clients(), 20, "the player has gone")


def test_who_may_play_and_what(new_weir, folder, place):  # noqa: F811
    hooks = HookServer()
    server = rtsp_weir(new_weir, extra=config(place, rest=f"security {{ play_key s3cret-key; }}\n http_hooks {{ on_play http://127.0.0.1:{hooks.port}/;"
                                                          f" on_stop http://127.0.0.1:{hooks.port}/; }}"))
    file, = recorded(server, folder)
    url = server.rtsp(f"vod/{file['file']}")
    with Client(server.rtsp_port, url) as client:
        assert client.request("DESCRIBE").status == 401
        for name in ("nobody.mp4", "live/nobody", "../secret.mp4", ".weir-recordings", f"{file['file']}.part", "live/livestream?from=x&key=s3cret-key"):
            assert client.request("DESCRIBE", server.rtsp(f"vod/{name}")).status in (400, 404), name
    assert not hooks.events
    with Viewer(server.rtsp_port, f"{url}?key=s3cret-key") as viewer:
        _, set_up = viewer.set_up(("RTP/AVP;multicast", "RTP/AVP;multicast"))
        assert set_up[0].status == 461
        viewer.set_up(TCP)
        assert viewer.play(Range="npt=8-").status == 200
        viewer.video()
        viewer.request("TEARDOWN")
    wait_until(lambda: [event["action"] for event in hooks.events] == ["on_play", "on_stop"], 20, "both hooks")
    assert (hooks.events[0]["app"], hooks.events[0]["stream"]) == ("live", "livestream")
    # A seek storm: the last counts.
    with Viewer(server.rtsp_port, f"{url}?key=s3cret-key") as viewer:
        viewer.set_up(TCP)
        for at in range(50):
            viewer.say("PLAY", Range=f"npt={at % 9}-")
        statuses = []
        for _ in range(50):
            answer = viewer.answer()
            statuses.append(answer.status)
        assert statuses.count(200) >= 1 and set(statuses) <= {200, 455} and npt(answer)[0] == pytest.approx(49 % 9, abs=0.1), statuses


def test_a_span_is_the_one_that_was_described_last(new_weir, folder, place):  # noqa: F811
    server = rtsp_weir(new_weir, extra=config(place))
    file, = recorded(server, folder)
    at = file["started_ms"] / 1000
    lengths = []
    with Viewer(server.rtsp_port, server.rtsp("vod/live/livestream")) as viewer:
        for begin, end in ((0, 2), (4, 8)):
            viewer.url = server.rtsp(f"vod/live/livestream?from={at + begin:.3f}&to={at + end:.3f}")
            described = viewer.request("DESCRIBE")
            lengths.append(float(re.search(r"^a=range:npt=0-([\d.]+)", described.body, re.M).group(1)))
        assert lengths == [pytest.approx(2, abs=0.1), pytest.approx(4, abs=1.1)]
        # The addresses of tracks have no query.
        base = described.fields["content-base"]
        assert "?" not in base
        for number, transport in enumerate(TCP):
            assert viewer.request("SETUP", f"{base}trackID={number}", Transport=transport).status == 200
        viewer.say("PLAY", base, Range="npt=0-")
        viewer.say("PAUSE", base)
        assert viewer.answer().status in (200, 455) and viewer.answer().status == 200, "both are answered"
        answer = viewer.play(base, Range="npt=0-")
        assert answer.status == 200 and npt(answer)[1] == pytest.approx(lengths[1], abs=0.1)


@pytest.mark.works_with("GStreamer", plays="recordings by RTSP", codecs="H.264", checked="seeking by TCP and UDP",
                        set="`record { playback on; }`")
def test_gstreamer_seeks(new_weir, folder, place):  # noqa: F811
    server = rtsp_weir(new_weir, extra=config(place))
    file, = recorded(server, folder)
    url = server.rtsp(f"vod/{file['file']}")
    def seek(protocol):
        return run(["env", "GST_DEBUG=default:2", "/usr/bin/python3", SUPPORT / "gst_rtsp_seeker.py", url, protocol, "7"]).decode()
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(seek, ("tcp", "udp")))
    for said in results:
        position, duration, end = (float(word) for word in said.split())
        assert duration == pytest.approx(file["duration_ms"] / 1000, abs=0.1) and 7 <= position <= 8.5 and end > 9.5, results
