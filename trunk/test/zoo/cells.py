"""The table of the zoo: a row is a deformation by an input, a cell one of its outputs."""

import random

from zoo.clips import load
from zoo.deformations import (AUDIO, VIDEO, audio_behind, audio_frame_missing, audio_later, becomes, before_wrap, bunches, cut_nal, drift,
                              forbidden_bit, hole, in_band, jitter, latm, long_length, made, marks, may_say, promised, report_ssrc,
                              second_audio, second_video, sei_messages, slices_as_messages, split_into_messages, start_codes, step, stray,
                              variable_rate, video_ends, whole_ms, without, zero_nal)
from zoo.outputs import OUTPUTS

ALL = "rtmp rtsp srt whip"
NO_WHIP = "rtmp rtsp srt"
RTP = "rtsp whip"

# name: (form of the clip, inputs, deformations)
DEFORMATIONS = {
    "clean": ("h264", ALL, []),
    "clean-hevc": ("hevc", NO_WHIP, []),
    "clean-av1": ("av1", "rtmp rtsp", []),
    # Messages and NAL units.
    "split": ("h264", ALL, [split_into_messages]),
    "split-hevc": ("hevc", NO_WHIP, [split_into_messages]),
    "split-b-frames": ("h264-b", NO_WHIP, [split_into_messages]),
    "sei-alone": ("h264", "rtmp", [sei_messages]),
    "sei-alone-hevc": ("hevc", "rtmp", [sei_messages]),
    "zero-nal-before": ("h264", "rtmp", [made(zero_nal, "before")]),
    "zero-nal-within": ("h264", "rtmp", [made(zero_nal, "within")]),
    "zero-nal-behind": ("h264", "rtmp", [made(zero_nal, "behind")]),
    "zero-nal-some": ("h264", "rtmp", [made(zero_nal, "before", 7)]),
    "zero-nal-hevc": ("hevc", "rtmp", [made(zero_nal, "before")]),
    "cut-nal": ("h264", "rtmp", [cut_nal]),
    "cut-nal-hevc": ("hevc", "rtmp", [cut_nal]),
    "cut-key": ("h264", "rtmp", [made(cut_nal, 75)]),
    "long-length": ("h264", "rtmp", [long_length]),
    "start-codes": ("h264", "rtmp", [start_codes]),
    "start-codes-hevc": ("hevc", "rtmp", [start_codes]),
    "forbidden-bit": ("h264", ALL, [forbidden_bit]),
    "slices": ("h264-slices", ALL, []),
    "slices-as-messages": ("h264-slices", "rtmp", [slices_as_messages]),
    "marker-each": ("h264-slices", RTP, [made(marks, "each")]),
    "marker-each-split": ("h264-slices", RTP, [split_into_messages, made(marks, "each")]),
    "marker-each-hevc": ("hevc", "rtsp", [split_into_messages, made(marks, "each")]),
    "marker-none": ("h264", RTP, [made(marks, "none")]),
    "marker-none-slices": ("h264-slices", RTP, [made(marks, "none")]),
    "report-ssrc-0": ("h264", "rtsp", [audio_behind, made(report_ssrc, 0)]),
    "report-ssrc-one": ("h264", "rtsp", [audio_behind, made(report_ssrc, 0x5EED0001)]),
    # Times.
    "jitter": ("h264", ALL, [jitter]),
    "jitter-b-frames": ("h264-b", "rtmp srt", [made(jitter, 5)]),
    "whole-ms": ("h264", ALL, [whole_ms]),
    "bunches": ("h264", NO_WHIP, [bunches]),
    "bunches-jitter": ("h264", "rtmp srt", [bunches, made(jitter, 5)]),
    "drift-0.2": ("h264", ALL, [made(drift, 0.2)]),
    "drift-0.95": ("h264", NO_WHIP, [made(drift, 0.95)]),
    "step-back-0.8": ("h264", ALL, [made(step, -0.8)]),
    "step-back-2.5": ("h264", ALL, [made(step, -2.5)]),
    "step-back-3600": ("h264", ALL, [made(before_wrap, 4_000_000), made(step, -3600)]),
    "step-ahead-2.5": ("h264", ALL, [made(step, 2.5)]),
    "step-video-back-2.5": ("h264", NO_WHIP, [made(step, -2.5, tracks=(VIDEO,))]),
    "step-audio-back-2.5": ("h264", NO_WHIP, [made(step, -2.5, tracks=(AUDIO,))]),
    "step-back-b-frames": ("h264-b", NO_WHIP, [made(step, -2.5)]),
    "stray-stamp": ("h264", ALL, [stray]),
    "stray-stamp-back": ("h264", ALL, [made(stray, -3.0)]),
    "wrap-2^24": ("h264", "rtmp", [made(before_wrap, 1 << 24)]),
    "wrap-2^31": ("h264", "rtmp", [made(before_wrap, 1 << 31)]),
    "wrap-2^32": ("h264", "rtmp", [made(before_wrap, 1 << 32)]),
    "wrap-rtp": ("h264", RTP, [made(before_wrap, (1 << 32) / 90)]),
    "wrap-2^33": ("h264", "srt", [made(before_wrap, (1 << 33) / 90)]),
    "variable-rate": ("h264", ALL, [variable_rate]),
    # Holes and tracks.
    "hole": ("h264", NO_WHIP, [hole]),
    "audio-frame-missing": ("h264", ALL, [audio_frame_missing]),
    "late-audio": ("h264", ALL, [audio_later]),
    # Not by WebRTC: pion's reports take the time of sending for that of the stamp.
    "audio-behind": ("h264", NO_WHIP, [audio_behind]),
    "video-only": ("h264", NO_WHIP, [made(without, AUDIO)]),
    "audio-only": ("h264", NO_WHIP, [made(without, VIDEO)]),
    "promised-audio": ("h264", NO_WHIP, [promised]),
    "promised-video": ("h264", NO_WHIP, [made(promised, VIDEO)]),
    "video-ends": ("h264", NO_WHIP, [video_ends]),
    "second-audio": ("h264", "rtmp", [second_audio]),
    "second-video": ("h264", "rtmp", [second_video]),
    # Parameters and kinds of encoding.
    "parameters-in-band": ("h264", ALL, [in_band]),
    "size-change": ("h264", ALL, [made(becomes, "h264-small")]),
    "size-change-hevc": ("hevc", NO_WHIP, [made(becomes, "hevc-small")]),
    "size-change-header": ("h264", "rtmp", [made(becomes, "h264-small", message=True)]),
    "day-night": ("h264", ALL, [made(becomes, "h264-night")]),
    "latm": ("h264", "srt", [latm]),
    "latm-late": ("h264", "srt", [latm, audio_later]),
    "2-fps": ("h264-2fps", NO_WHIP, []),
    "120-fps": ("h264-120fps", NO_WHIP, []),
    "long-gop": ("h264-long", NO_WHIP, []),
    "5.1": ("h264-51", NO_WHIP, []),
    "b-frames": ("h264-b", NO_WHIP, []),
    "b-frames-hevc": ("hevc-b", NO_WHIP, []),
    # A player that begins at an open GOP does not have what its first pictures refer to.
    "open-gop": ("h264-open", NO_WHIP, [made(may_say, "mmco: unref short failure")]),
    "fields": ("h264-fields", NO_WHIP, []),
    # Several at once.
    "split-bunches-jitter": ("h264", "rtmp", [split_into_messages, bunches, jitter]),
    "slices-zero-step": ("h264-slices", "rtmp", [made(zero_nal, "within"), made(step, -2.5)]),
    "bunches-step": ("h264", NO_WHIP, [bunches, made(step, -0.8)]),
}

# Of these a mix takes three: `make zoo ZOO='--mixes 20' SEED=7`.
MIXED = {
    "split": split_into_messages, "sei": sei_messages, "zero": made(zero_nal, "within", 3), "forbidden": forbidden_bit, "in-band": in_band,
    "variable": variable_rate, "jitter": made(jitter, 5), "bunches": bunches, "drift": made(drift, 0.2), "back": made(step, -0.8),
    "back-far": made(step, -2.5), "stray": stray, "frame-missing": audio_frame_missing, "audio-behind": audio_behind,
}
ALIKE = ({"back", "back-far", "stray"}, {"variable", "stray"}, {"variable", "back"}, {"variable", "back-far"})


def mixes(count, seed):
    """Adds so many mixes to the table; their rows as (deformation, input)."""
    chance, found = random.Random(seed), []
    while len(found) < count:
        # In the order of the table: those of NAL units before those of times.
        parts = sorted(chance.sample(list(MIXED), 3), key=list(MIXED).index)
        if any(len(each & set(parts)) > 1 for each in ALIKE):
            continue
        name = "+".join(parts)
        source = chance.choice(NO_WHIP.split())
        if (name, source) not in found:
            DEFORMATIONS[name] = chance.choice(("h264", "h264-slices")), NO_WHIP, [MIXED[part] for part in parts]
            found.append((name, source))
    return found


# What an output does not carry: it is refused or left out by design, and doc/streams.md says so.
NOT_CARRIED = {
    "whep": {"clean-hevc", "clean-av1", "split-hevc", "zero-nal-hevc", "cut-nal-hevc", "sei-alone-hevc", "start-codes-hevc",
             "marker-each-hevc", "size-change-hevc", "b-frames-hevc",
             # Readers of these cells would need a decoder of HEVC or AV1 in the client of pion.
             "b-frames", "split-b-frames", "jitter-b-frames", "step-back-b-frames", "open-gop", "audio-only", "promised-video"},
    "ts": {"clean-av1"}, "ts-file": {"clean-av1"}, "hls-ts": {"clean-av1"},
}


def outputs_of(name):
    return [output for output in OUTPUTS if name not in NOT_CARRIED.get(output, ())]


def rows():
    """(deformation, input) of all."""
    return [(name, source) for name, (_, sources, _) in DEFORMATIONS.items() for source in sources.split()]


def clip_of(name, source):
    """The clip of a row: WebRTC has Opus."""
    form, _, steps = DEFORMATIONS[name]
    clip = load(f"{form}-opus" if source == "whip" else form)
    clip.promises = source != "srt"
    if source in RTP.split() and "-b" in form:
        clip.expected.time_ms = 20  # RTP has no decoding times: the first pictures are placed before their order is known
    if source == "whip":
        clip.expected.length_ms += 60  # pion's sender reports say when a packet was sent, not when it was due
    for deform in steps:
        clip = deform(clip)
    return clip
