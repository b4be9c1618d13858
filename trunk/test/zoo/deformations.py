"""What the world does to streams: functions from a clip to a clip, which compose. cells.py has the table of those that are tried.

Each function changes the units, and what is expected of a reader where that is less than everything. `made(function, ...)` binds its
parameters.
"""

import random
from dataclasses import replace

from zoo.clips import load
from zoo.units import AUDIO, DATA, VIDEO, Framed, Unit

DELIMITERS = {"h264": b"\x09\xf0", "hevc": b"\x46\x01\x50"}
# user_data_unregistered of 16 + 4 bytes (H.264 D.1.7, H.265 D.2.7).
SEIS = {"h264": b"\x06\x05\x14" + b"zoo of streams! " + b"\1\2\3\4\x80",
        "hevc": b"\x4e\x01\x05\x14" + b"zoo of streams! " + b"\1\2\3\4\x80"}


def sorted_by_due(clip):
    clip.units.sort(key=lambda unit: unit.due)
    return clip


# ---- messages and NAL units ------------------------------------------------------------------------------------------


def split_into_messages(clip):
    """A delimiter, SEI and each slice are messages of their own with one stamp."""
    for unit in clip.video():
        unit.messages = [[DELIMITERS[clip.codec]], [SEIS[clip.codec]], *([nal] for nal in unit.nals)]
    return clip


def sei_messages(clip):
    """A message with nothing but SEI, 10 ms before each fifth picture."""
    found = []
    for unit in clip.units:
        if unit.track == VIDEO and unit.config is None and unit.number % 5 == 0 and unit.dts > 0.02:
            found.append(replace(unit, key=False, number=None, dts=unit.dts - 0.01, pts=unit.pts - 0.01, due=unit.due - 0.001,
                                 messages=[[SEIS[clip.codec]]]))
        found.append(unit)
    clip.units = found
    return clip


def zero_nal(clip, place="before", every=1):
    """A NAL unit of length 0 in each `every`-th picture: before, within or behind the others."""
    for unit in clip.video()[::every]:
        nals = unit.nals
        at = {"before": 0, "within": max(1, len(nals) - 1), "behind": len(nals)}[place]
        unit.messages = [[*nals[:at], b"", *nals[at:]]]
    return clip


def lost(clip, unit, pictures=25):
    """What may be missing or damaged when a picture is: all up to the next key picture."""
    later = [each for each in clip.video() if each.dts >= unit.dts]
    for each in later:
        if each.key and each is not unit:
            break
        clip.expected.missing.add(each.number)
    clip.expected.unknown += pictures


def cut_nal(clip, number=60):
    """The last NAL unit of one picture has fewer bytes than its length says."""
    unit = next(each for each in clip.video() if each.number == number)
    nal = unit.nals[-1]
    unit.messages = [[*unit.nals[:-1], Framed(len(nal).to_bytes(4, "big") + nal[:len(nal) // 2])]]
    lost(clip, unit)
    return clip


def long_length(clip, number=60):
    """Behind the slices of one picture there are four bytes, a length beyond the message."""
    unit = next(each for each in clip.video() if each.number == number)
    unit.messages = [[*unit.nals, Framed(b"\x7f\xff\xff\xff")]]
    lost(clip, unit)
    return clip


def start_codes(clip):
    """Start codes in place of lengths (ISO/IEC 14496-10 annex B)."""
    for unit in clip.video():
        unit.messages = [[Framed(b"\0\0\0\1" + nal) for nal in unit.nals]]
    return clip


def forbidden_bit(clip):
    """A NAL unit whose forbidden_zero_bit is set, behind each tenth picture."""
    for unit in clip.video()[::10]:
        unit.messages = [[*unit.nals, bytes([0x80 | SEIS[clip.codec][0]]) + SEIS[clip.codec][1:]]]
    return clip


def slices_as_messages(clip):
    for unit in clip.video():
        unit.messages = [[nal] for nal in unit.nals]
    return clip


def marks(clip, which):
    """Which packets of RTP have the marker."""
    for unit in clip.video():
        unit.marks = which
    return clip


def report_ssrc(clip, ssrc):
    """Sender reports have an SSRC that is that of no track."""
    clip.report_ssrc = ssrc
    return clip


# ---- times -----------------------------------------------------------------------------------------------------------


def jitter(clip, ms=10, seed=1):
    """Stamps are off by up to so much; units are sent when they are due."""
    chance = random.Random(seed)
    for track in (clip.video(), clip.audio()):
        last = -1.0
        for unit in track:
            offset = chance.uniform(-ms, ms) / 1000
            moved = max(unit.dts + offset, last + 0.001, 0.0)
            unit.pts, unit.dts, last = moved + unit.pts - unit.dts, moved, moved
    clip.expected.time_ms += 2 * ms
    clip.expected.length_ms += 2 * ms
    return clip


def whole_ms(clip):
    """Stamps are cut to whole milliseconds."""
    for unit in clip.units:
        unit.pts, unit.dts = int(unit.pts * 1000) / 1000, int(unit.dts * 1000) / 1000
    return clip


def bunches(clip, count=5):
    """So many audio frames come together, with the stamp of the first."""
    audio = clip.audio()
    for first in range(0, len(audio), count):
        group = audio[first:first + count]
        begin, end = group[0].due, group[-1].due
        for unit in group:
            unit.dts = unit.pts = group[0].dts
            unit.due, unit.late = end, end - begin
    clip.expected.audio_hole = max(clip.expected.audio_hole, 0.08)
    return sorted_by_due(clip)


def drift(clip, percent):
    """The clock of audio is fast: its stamps and its frames come earlier and earlier."""
    for unit in clip.audio():
        unit.dts = unit.pts = unit.pts * (1 - percent / 100)
        unit.due *= 1 - percent / 100
    # Beeps come early by as much: frames say what their samples say.
    clip.expected.sync_ms += 10 * percent * clip.seconds()
    return sorted_by_due(clip)


def step(clip, seconds, at=5.0, tracks=(VIDEO, AUDIO)):
    """The publisher's clock steps; units are sent as before."""
    for unit in clip.units:
        if unit.track in tracks and unit.config is None and unit.due >= at:
            unit.dts, unit.pts = unit.dts + seconds, unit.pts + seconds
    # Where it steps nobody knows how much time has passed: up to half a second, as readers see it.
    clip.expected.time_ms, clip.expected.length_ms = max(clip.expected.time_ms, 100), max(clip.expected.length_ms, 150)
    clip.expected.audio_hole = max(clip.expected.audio_hole, 0.15)
    if seconds > 0:  # a hole, as far as its stamps say
        clip.expected.hole, clip.expected.audio_hole, clip.expected.audio_share = seconds, seconds + 0.15, 0.7
    return clip


def stray(clip, seconds=7.3, number=130):
    """One picture has a stamp that is far off."""
    unit = next(each for each in clip.video() if each.number == number)
    unit.dts, unit.pts = unit.dts + seconds, unit.pts + seconds
    clip.expected.missing.add(number)
    clip.expected.time_ms = max(clip.expected.time_ms, 45)
    return clip


def begins_at(clip, seconds):
    """The clock of the publisher is so far when it begins."""
    for unit in clip.units:
        if unit.config is None and unit.track != DATA:
            unit.dts, unit.pts = unit.dts + seconds, unit.pts + seconds
        elif unit.config:
            unit.dts = unit.pts = seconds
    return clip


def before_wrap(clip, at_ms, seconds=5.0):
    return begins_at(clip, at_ms / 1000 - seconds)


# ---- holes and tracks ------------------------------------------------------------------------------------------------


def hole(clip, seconds=4.0, at=3.0):
    """Nothing comes for so long, and stamps say so."""
    for unit in clip.units:
        if unit.config is None and unit.track != DATA and unit.due >= at:
            unit.due, unit.dts, unit.pts = unit.due + seconds, unit.dts + seconds, unit.pts + seconds
    numbers = {unit.number: unit.pts for unit in clip.video()}
    clip.expected.beeps = [numbers[number] for number, time in clip.expected.times.items() if time in clip.expected.beeps]
    clip.expected.times = numbers
    clip.expected.audio_hole = seconds + 0.1
    clip.expected.audio_share = 0.55
    return clip


def audio_frame_missing(clip, every=50):
    gone = {id(unit) for unit in clip.audio()[every::every]}
    clip.units = [unit for unit in clip.units if id(unit) not in gone]
    clip.expected.audio_share = min(clip.expected.audio_share, 0.94)
    return clip


def audio_later(clip, seconds=3.0):
    """Audio begins later."""
    clip.units = [unit for unit in clip.units if not (unit.track == AUDIO and unit.config is None and unit.due < seconds)]
    for unit in clip.units:
        if unit.track == AUDIO and unit.config:
            unit.due = unit.dts = unit.pts = seconds
    clip.expected.join, clip.expected.files = seconds + 0.7, 2
    clip.expected.time_ms = max(clip.expected.time_ms, 45)  # where the track comes there is a discontinuity
    return sorted_by_due(clip)


def audio_behind(clip, seconds=0.5):
    """Audio arrives so much later than the video of its time."""
    for unit in clip.units:
        if unit.track == AUDIO:
            unit.due += seconds
            unit.late += seconds
    return sorted_by_due(clip)


def without(clip, track):
    clip.units = [unit for unit in clip.units if unit.track != track and (unit.track != DATA)]
    return expects(clip, without=track)


def promised(clip, track=AUDIO):
    """Metadata, or a description, names a track that never comes."""
    clip.units = [unit for unit in clip.units if unit.track != track or (unit.config and clip.promises)]
    return expects(clip, without=track)


def expects(clip, without):
    if without == AUDIO:
        clip.expected.audio = False
    else:
        clip.expected.video = False
    clip.expected.beeps = []
    clip.expected.files = 2  # one may have begun before it is known that a track does not come
    return clip


def video_ends(clip, seconds=5.0):
    """Audio goes on without video."""
    clip.units = [unit for unit in clip.units if not (unit.track == VIDEO and unit.due >= seconds)]
    clip.expected.times = {unit.number: unit.pts for unit in clip.video()}
    clip.expected.beeps = [beep for beep in clip.expected.beeps if beep < seconds]
    return clip


def second_audio(clip):
    """E-RTMP multitrack: each audio message comes once more as track 1."""
    found = []
    for unit in clip.units:
        found.append(unit)
        if unit.track == AUDIO:
            found.append(replace(unit, extra_track=1))
    clip.units = found
    return clip


def second_video(clip):
    found = []
    for unit in clip.units:
        found.append(unit)
        if unit.track == VIDEO:
            found.append(replace(unit, extra_track=1))
    clip.units = found
    return clip


# ---- parameters ------------------------------------------------------------------------------------------------------


def in_band(clip):
    """Parameter sets stand before each key picture, too."""
    parameters = clip.config(VIDEO).parameters
    for unit in clip.video():
        if unit.key:
            unit.messages = [[*parameters, *unit.nals]]
    return clip


def becomes(clip, other, at=5.0, message=False):
    """From then on the pictures are those of another form, with parameter sets in band and no new sequence header (or `message`: with
    one)."""
    other, changed = load(other), []
    in_band(clip)
    parameters = other.config(VIDEO).parameters
    offset = 0
    first = next(unit for unit in clip.video() if unit.key and unit.due >= at)
    for unit in clip.units:
        if unit.track != VIDEO or unit.config or unit.dts < first.dts:
            changed.append(unit)
    for unit in other.video():
        if unit.dts >= first.dts - 0.001:
            offset = offset or unit.number
            messages = [[*parameters, *unit.nals]] if unit.key else unit.messages
            changed.append(replace(unit, messages=messages))
    if message:
        changed.append(Unit(VIDEO, first.due - 0.001, first.dts, first.dts, config=other.config(VIDEO)))
    clip.digests = {digest: number for digest, number in clip.digests.items() if number < first.number}
    clip.digests |= {digest: number for digest, number in other.digests.items() if number >= first.number}
    clip.units = changed
    clip.expected.time_ms, clip.expected.files = 45, 2
    return sorted_by_due(clip)


def latm(clip):
    """SRT: audio is in LATM (ISO/IEC 14496-3 1.7.3), its configuration each 20 frames."""
    clip.latm = True
    return clip


def variable_rate(clip, seed=3):
    """Pictures come at times that are not a grid: 20 to 60 ms apart."""
    chance = random.Random(seed)
    now, times = clip.video()[0].pts, {}
    for unit in clip.video():
        unit.due = unit.dts = unit.pts = now
        times[unit.number] = now
        now += chance.randrange(20, 61) / 1000
    beeps = [number for number, time in clip.expected.times.items() if time in clip.expected.beeps]
    # A flash is no longer beside its beep: the beep belongs to what is shown at its time.
    clip.expected.times = times
    end = clip.audio()[-1].pts
    clip.expected.beeps = [beep for beep in clip.expected.beeps if beep < min(end, now)] if beeps else []
    return sorted_by_due(clip)


def may_say(clip, *errors):
    """Lines of readers that are theirs."""
    clip.expected.errors += errors
    return clip


def made(function, *words, **names):
    """The function with its parameters."""
    def deform(clip):
        return function(clip, *words, **names)

    return deform
