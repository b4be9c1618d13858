"""The judge of the zoo: a reader that has everything is right, and each fault is seen."""

import sys
from dataclasses import replace

import pytest

from weir import TOP

sys.path.append(str(TOP / "trunk" / "test"))
from zoo.judge import problems  # noqa: E402
from zoo.readers import Got  # noqa: E402
from zoo.units import AUDIO, VIDEO, Clip, Expected, Unit  # noqa: E402

FRAME = 1024 / 44100


@pytest.fixture(scope="module")
def clip():
    """Ten seconds with a beep each two."""
    pictures = [Unit(VIDEO, number / 25, number / 25, number / 25, number=number) for number in range(250)]
    frames = [Unit(AUDIO, number * FRAME, number * FRAME, number * FRAME, number=number) for number in range(430)]
    expected = Expected({unit.number: unit.pts for unit in pictures}, beeps=[2.0, 4.0, 6.0, 8.0])
    return Clip("clip", "h264", "aac", 44100, 1, [*pictures, *frames], expected, {f"md5-{number}": number for number in range(250)})


@pytest.fixture
def got(clip):
    """All of it, 100 s later."""
    pictures = [(100 + unit.pts, f"md5-{unit.number}") for unit in clip.video()]
    return Got(video=[(pts, pts) for pts, _ in pictures], audio=[(100 + unit.pts, 100 + unit.pts) for unit in clip.audio()], pictures=pictures,
               beeps=[100 + beep for beep in clip.expected.beeps], audio_seconds=430 * FRAME, duration=9.98)


def test_everything_is_right(clip, got):
    assert problems(clip, got, file=True) == []


def test_a_player_that_came_later_is_right(clip, got):
    got.pictures, got.video, got.duration = got.pictures[50:], got.video[50:], None
    assert problems(clip, got) == []
    [said] = problems(clip, got, file=True)
    assert "50 pictures missing, from 0" in said


def late_audio(got):
    got.beeps = [beep + 0.1 for beep in got.beeps]


def lost_picture(got):
    del got.pictures[100], got.video[100]


def damaged_picture(got):
    got.pictures[100] = (got.pictures[100][0], "md5-of-another")


def swapped_pictures(got):
    got.pictures[100], got.pictures[101] = (got.pictures[100][0], "md5-101"), (got.pictures[101][0], "md5-100")


def same_time(got):
    got.video[101] = got.video[100]


def shown_before_decoded(got):
    got.video[101] = got.video[101][0], got.video[101][0] - 0.04


def stretched(got):
    got.pictures = [(pts * 1.01, digest) for pts, digest in got.pictures]


def audio_hole(got):
    del got.audio[200:210]


def silence(got):
    got.beeps = []


def wrong_duration(got):
    got.duration = 12.0


def error_line(got):
    got.errors = ["[h264 @ 0x1] [error] no frame!"]


def no_audio(got):
    got.audio, got.beeps = [], []


@pytest.mark.parametrize("fault, said", [
    (late_audio, "audio behind video by 100"), (lost_picture, "1 pictures missing, from 100"), (damaged_picture, "1 damaged pictures"),
    (swapped_pictures, "out of order"), (same_time, "video: 104.000 after 104.000"), (shown_before_decoded, "decoded at"),
    (stretched, "s of pictures for"), (audio_hole, "a hole of 232 ms"), (silence, "0 beeps"), (wrong_duration, "the file says 12.00 s"),
    (error_line, "1 lines of errors"), (no_audio, "no audio")], ids=lambda value: value.__name__ if callable(value) else "")
def test_a_fault_is_seen(clip, got, fault, said):
    got = replace(got)
    fault(got)
    assert any(said in each for each in problems(clip, got)), problems(clip, got)


def test_a_track_that_was_not_sent_is_seen(clip, got):
    mute = replace(clip, expected=replace(clip.expected, audio=False, beeps=[]))
    assert problems(mute, got) == ["audio that was not sent"]
