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
    # name: (form of the clip, deformations, inputs)
    "clean": ("h264", [clean], "rtmp rtsp srt whip"),
    "split": ("h264", [split_into_messages], "rtmp"),
}


def deformed(name, source):
    """The clip of a deformation for an input: WebRTC has Opus."""
    form, steps, _ = DEFORMED[name]
    clip = load(f"{form}-opus" if source == "whip" else form)
    for step in steps:
        clip = step(clip)
    return clip
