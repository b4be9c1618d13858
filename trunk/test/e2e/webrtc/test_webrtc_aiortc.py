"""aiortc, a WebRTC stack of its own, plays and publishes."""

import asyncio

import pytest

from aio_peers import AioPeer, TONE_HZ, read_code, tone_of
from media import check_rising, play_ffmpeg, run
from rtc import ClockPublisher, rtc_weir
from weir import wait_until


def check_codes(frames, tolerance=7, least=20):
    """What pictures say and their times rise alike; `frames`: (_, seconds, code). A publisher's sender reports may move
    times by an eighth of what passes, which is 5 ms a picture."""
    assert len(frames) >= least, len(frames)
    for (_, a, first), (_, b, second) in zip(frames, frames[1:]):
        assert second > first and abs((second - first) - (b - a) * 1000) <= tolerance, ((a, first), (b, second))


@pytest.mark.works_with("aiortc", plays="WebRTC", codecs="H.264, Opus", checked="pictures and their times")
def test_aiortc_plays(new_weir, folder):
    weir = rtc_weir(new_weir)

    async def scenario():
        async with AioPeer() as peer:
            await peer.play(weir)
            await peer.wait_video()
            await asyncio.sleep(1)
            del peer.video[:], peer.audio[:]
            await peer.wait_video(75)
            return peer.video[:], peer.audio[:], peer.sizes

    with ClockPublisher(weir.rtmp(), folder, gop=25):
        weir.wait_live()
        video, audio, sizes = asyncio.run(scenario())
    assert sizes == {(640, 360)}
    check_codes(video, least=75)
    for frames, least in ((video, 0.93 * 25), (audio, 0.9 * 50)):  # by their own times: whoever stands still catches up
        assert len(frames) > least * (frames[-1][1] - frames[0][1]), (len(frames), frames[0][1], frames[-1][1])
    assert len(audio) > 100, len(audio)
    assert abs(tone_of(audio) - TONE_HZ) < 5, tone_of(audio)


@pytest.mark.works_with("aiortc", publishes="WebRTC", codecs="H.264, Opus", checked="pictures and their times")
def test_aiortc_publishes(new_weir, folder):
    weir = rtc_weir(new_weir)

    async def scenario():
        async with AioPeer() as peer:
            await peer.publish(weir, "aio")
            await peer.wait_state("connected")
            await asyncio.to_thread(weir.wait_live, "aio")
            async with AioPeer() as player:
                await player.play(weir, "aio")
                await player.wait_video()
                recording = await asyncio.to_thread(play_ffmpeg, weir.rtmp("live/aio"), folder, 3, least=5000)
                assert await asyncio.to_thread(weir.clients)
                await player.wait_video(75)
                return recording, player.video[:], player.audio[:]

    recording, video, audio = asyncio.run(scenario())
    check_codes(video, least=70)
    assert abs(tone_of(audio[25:]) - TONE_HZ) < 5, tone_of(audio[25:])
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}
    check_rising(recording)
    run(["ffmpeg", "-v", "error", "-xerror", "-err_detect", "explode", "-i", recording.path, "-f", "null", "-"])
    check_codes(decoded(recording.path), least=50)
    # It said goodbye, so nothing waits for the end of its consent.
    wait_until(lambda: not weir.clients(), 15, "both sessions are gone")


def decoded(path):
    """(_, seconds, code) of each picture of a recording."""
    import av
    with av.open(str(path)) as file:
        return [(None, float(frame.pts * frame.time_base), read_code(frame)) for frame in file.decode(video=0)]
