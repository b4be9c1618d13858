"""Whether what a reader got is what a clip shall give."""

from zoo.units import Clip, Expected

TAIL = 6          # pictures at the end that may lack their successors, or their segment
FIRST_SECONDS = 5  # a player that came a moment after the publisher has what is kept from the last key picture on


def rising(packets, kind):
    """Problems of times that go back, or of presentation before decoding."""
    found, last = [], None
    for dts, pts in packets:
        if dts is None:
            continue
        if last is not None and dts <= last:
            found.append(f"{kind}: {dts:.3f} after {last:.3f}")
        if pts is not None and pts < dts - 1e-6:
            found.append(f"{kind}: shown at {pts:.3f}, decoded at {dts:.3f}")
        last = dts
    return found[:1] and [f"{found[0]} ({len(found)} times)"]


def of_pictures(clip, got, file, settles):
    """(problems, [(number, time)])."""
    expected, found = clip.expected, []
    seen = [(clip.digests.get(digest), pts) for pts, digest in got.pictures]
    unknown = sum(number is None for number, _ in seen)
    known = [(number, pts) for number, pts in seen if number is not None]
    if not known:
        return [f"no picture ({unknown} damaged)"], []
    if unknown > expected.unknown:
        found.append(f"{unknown} damaged pictures")
    numbers = [number for number, _ in known]
    back = sum(b <= a for a, b in zip(numbers, numbers[1:]))
    if back:
        found.append(f"{back} pictures out of order or twice")
    wanted = sorted(expected.times)
    begin = wanted[0] if file else min(number for number in wanted if number >= numbers[0])
    if not file and expected.times[numbers[0]] - expected.times[wanted[0]] > FIRST_SECONDS + expected.join:
        found.append(f"begins with picture {numbers[0]}")
    end = wanted[-1 - TAIL] if len(wanted) > 2 * TAIL else wanted[-2]
    lacking = {number for number in wanted if begin <= number <= end} - set(numbers) - expected.missing
    if lacking:
        found.append(f"{len(lacking)} pictures missing, from {min(lacking)}")
    found += of_times(expected, [each for each in known if expected.times[each[0]] >= expected.times[numbers[0]] + settles])
    return found, known


def of_times(expected: Expected, known):
    found, worst = [], (0.0, None)
    hole = 0.0
    for (a, before), (b, after) in zip(known, known[1:]):
        off = (after - before) - (expected.times[b] - expected.times[a])
        if expected.hole and not hole and abs(off - expected.hole) < 0.1:
            hole, off = off, 0.0
        if abs(off) > abs(worst[0]):
            worst = (off, b)
    if abs(worst[0]) * 1000 > expected.time_ms + 1:
        found.append(f"picture {worst[1]} is {worst[0] * 1000:+.0f} ms off the one before")
    if not known:
        return found
    (a, begin), (b, end) = known[0], known[-1]
    off = (end - begin) - (expected.times[b] - expected.times[a]) - hole
    if abs(off) * 1000 > expected.length_ms:
        found.append(f"{end - begin:.2f} s of pictures for {expected.times[b] - expected.times[a]:.2f} s")
    return found


def time_of(known, times, second):
    """When a reader shows what belongs to that second of the clip."""
    near = min(known, key=lambda each: abs(times[each[0]] - second))
    return near[1] + second - times[near[0]] if abs(times[near[0]] - second) < 0.6 else None


def of_sync(clip, got, known):
    expected, found, skews = clip.expected, [], []
    shown = [expected.times[number] for number, _ in known]
    within = [beep for beep in expected.beeps if max(min(shown), expected.join) + 0.3 < beep < max(shown) - 0.1]
    for second in within:
        at = time_of(known, expected.times, second)
        if at is None or not got.beeps:
            continue
        beep = min(got.beeps, key=lambda each: abs(each - at))
        if abs(beep - at) < 0.95:
            skews.append((beep - at) * 1000)
    if len(skews) < len(within) - 1 or not skews and within:
        found.append(f"{len(skews)} beeps beside their flash")
    elif skews and max(map(abs, skews)) > expected.sync_ms:
        found.append("audio behind video by " + ", ".join(f"{each:.0f}" for each in skews) + " ms")
    return found


def of_audio(clip, got):
    expected, found = clip.expected, []
    times = [pts for _, pts in got.audio if pts is not None]
    if len(times) < 2:
        return ["no audio"]
    span = times[-1] - times[0] + clip.period
    if got.audio_seconds < expected.audio_share * span - 0.15:
        found.append(f"{got.audio_seconds:.2f} s of audio in {span:.2f} s")
    if got.audio_seconds > span + 0.15:
        found.append(f"{got.audio_seconds:.2f} s of audio within {span:.2f} s")
    step = max(b - a for a, b in zip(times, times[1:])) - clip.period
    if step > expected.audio_hole:
        found.append(f"a hole of {step * 1000:.0f} ms in the audio")
    return found


def problems(clip: Clip, got, file=False, settles=0.0):
    """Sentences; none where the cell is right. `file`: a recording, which has all from the beginning. `settles`: how long the reader itself
    needs until its times are right; those of decoding are its own, then."""
    expected, found, known = clip.expected, [], []
    if expected.video:
        found, known = of_pictures(clip, got, file, settles)
    elif got.video:
        found.append("video that was not sent")
    found += ([] if settles else rising(got.video, "video")) + rising(got.audio, "audio")
    if expected.audio:
        found += of_audio(clip, got)
        if known:
            found += of_sync(clip, got, known)
    elif got.audio:
        found.append("audio that was not sent")
    if known and got.duration is not None:
        times = [pts for _, pts in (*got.video, *got.audio) if pts is not None]
        whole = max(times) - min(times)
        last = max((b[1] - a[1] for a, b in zip(known, known[1:])), default=0.0)  # the last picture stays for some time
        if not whole - 0.2 < got.duration < whole + last + 0.2:
            found.append(f"the file says {got.duration:.2f} s, it has {whole:.2f} s")
    lines = [line for line in got.errors if not any(each in line for each in expected.errors)]
    if lines:
        found.append(f"{len(lines)} lines of errors: {lines[0][:100]}")
    return found
