"""What the world does to streams: functions from a clip to a clip, which compose. DEFORMED is the table of the zoo."""

from zoo.clips import load


def clean(clip):
    return clip


def split_into_messages(clip):
    """Each NAL unit a message with one stamp, with a delimiter before the slices (H.264 7.3.2.4)."""
    for unit in clip.video():
        delimiter = b"\x09\xf0" if clip.codec == "h264" else b"\x46\x01\x50"
        unit.messages = [[delimiter], *([nal] for nal in unit.nals)]
    return clip


DEFORMED = {
    "clean": lambda: clean(load("h264")),
    "split": lambda: split_into_messages(load("h264")),
}
