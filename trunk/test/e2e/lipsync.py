"""Whether picture and sound stay together: a clip that flashes and beeps each second, and by how much a recording of it
differs from the clip."""

import re
from functools import lru_cache
from statistics import median

from media import encoded, run

FLASH = 128       # mean luma
BEEP_DB = -30.0   # RMS level of BLOCK samples
BLOCK = 220       # 5 ms
MOST_MS = 20


def make_clip(seconds=60, encoder=("-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "50")):
    """Black with two white frames, silence with a beep of 60 ms, at the beginning of each second. Longer than a test
    plays it: where it starts again, sound is off by a part of an AAC frame."""
    return encoded(*encoder, "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "96k", suffix="flv", ffmpeg="ffmpeg", inputs=(
        "-f", "lavfi", "-i", f"color=black:s=320x180:r=25:d={seconds},drawbox=enable='lt(mod(t,1),0.075)':color=white:t=fill",
        "-f", "lavfi", "-i", f"aevalsrc='if(lt(mod(t,1),0.06),0.8*sin(6283*t),0)':s=44100:d={seconds}"))


def values(path, track, filters, key):
    """(time, value) of each frame, or block of samples."""
    text = run(["ffmpeg", "-v", "error", "-copyts", "-i", path, "-map", f"0:{track}:0", *filters, "-f", "null", "-"]).decode()
    times = re.findall(r"pts_time:(-?[\d.]+)", text)
    found = re.findall(rf"{re.escape(key)}=(-?[\d.]+|-?inf|nan)", text)
    assert len(times) == len(found), (len(times), len(found))
    return [(float(time), float(value)) for time, value in zip(times, found)]


def onsets(values_of, level):
    """When the value rises over the level. Not in the beginning, which may lie within a flash."""
    return [time for (_, before), (time, value) in zip(values_of, values_of[1:]) if before < level <= value]


@lru_cache
def sound_behind_picture(path):
    """In ms, of each second: how much later the beep is than the flash."""
    luma, level = "lavfi.signalstats.YAVG", "lavfi.astats.Overall.RMS_level"
    flashes = onsets(values(path, "v", ["-fps_mode", "passthrough", "-vf", f"signalstats,metadata=print:key={luma}:file=-"],
                            luma), FLASH)
    beeps = onsets(values(path, "a", ["-af", f"aresample=44100,asetnsamples=n={BLOCK}:p=0,astats=metadata=1:reset=1,"
                                             f"ametadata=print:key={level}:file=-"], level), BEEP_DB)
    found = []
    for flash in flashes:
        beep = min(beeps, key=lambda each: abs(each - flash), default=None)
        if beep is not None and abs(beep - flash) < 0.5:
            found.append(1000 * (beep - flash))
    return tuple(found)


def check_lip_sync(recording, clip, least=2):
    """Sound and picture are as far apart as in the clip, within MOST_MS; gives the differences."""
    own = median(sound_behind_picture(clip))
    found = [each - own for each in sound_behind_picture(recording.path)]
    assert len(found) >= least, f"{len(found)} flashes with a beep in {recording.path}"
    assert all(abs(each) <= MOST_MS for each in found), f"sound behind picture, ms: {[round(each) for each in found]}"
    return found
