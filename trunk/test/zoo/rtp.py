"""A clip as RTP packets: H.264 (RFC 6184), HEVC (RFC 7798), AV1 (RTP payload format v1.0), AAC (RFC 3640), Opus (RFC 7587)."""

import struct

from zoo.units import AUDIO, VIDEO

MOST = 1200  # bytes of payload
VIDEO_HZ = 90_000
PAYLOAD_TYPES = {VIDEO: 96, AUDIO: 97}
SSRCS = {VIDEO: 0x5EED0001, AUDIO: 0x5EED0002}


def pieces(nal, codec):
    """Payloads of a NAL unit: itself, or fragments (FU-A, FU)."""
    if len(nal) <= MOST or len(nal) < 3:
        return [nal]
    head = 1 if codec == "h264" else 2
    body, found = nal[head:], []
    for at in range(0, len(body), MOST - 3):
        part = body[at:at + MOST - 3]
        flags = (0x80 if at == 0 else 0) | (0x40 if at + MOST - 3 >= len(body) else 0)
        if codec == "h264":
            found.append(bytes([nal[0] & 0xE0 | 28, flags | nal[0] & 0x1F]) + part)
        else:
            found.append(bytes([nal[0] & 0x81 | 49 << 1, nal[1], flags | nal[0] >> 1 & 0x3F]) + part)
    return found


def without_size(obu):
    """The same OBU with no size field."""
    at = 2 if obu[0] & 4 else 1
    end = at
    while obu[end] & 0x80:
        end += 1
    return bytes([obu[0] & ~2]) + obu[1:at] + obu[end + 1:]


def obu_pieces(obus, key):
    """Each packet has one OBU or a fragment of one."""
    found = []
    for number, obu in enumerate(obus):
        data = without_size(obu)
        for at in range(0, len(data), MOST):
            last = at + MOST >= len(data)
            head = (0x80 if at else 0) | (0 if last else 0x40) | 0x10 | (8 if key and number == 0 and at == 0 else 0)
            found.append(bytes([head]) + data[at:at + MOST])
    return found


def payloads(clip, unit, in_band):
    """(marker, payload) of a unit."""
    if unit.track == AUDIO:
        return [(True, b"\0\x10" + struct.pack(">H", len(unit.data) << 3) + unit.data if clip.audio_codec == "aac" else unit.data)]
    if clip.codec == "av1":
        parts = [obu_pieces(unit.nals, unit.key)]
    else:
        nals = [*(in_band if unit.key else []), *unit.nals]
        parts = [pieces(nal, clip.codec) for nal in nals if nal]
    found = [[False, payload] for part in parts for payload in part]
    if unit.marks == "each":
        for part, end in zip(parts, range(len(parts))):
            found[sum(map(len, parts[:end + 1])) - 1][0] = True
    elif unit.marks == "last" and found:
        found[-1][0] = True
    return [tuple(each) for each in found]


def clock_of(clip, track):
    return VIDEO_HZ if track == VIDEO else clip.rate


def stamp_of(clip, unit):
    """The RTP time, which begins at an arbitrary number."""
    return round(unit.pts * clock_of(clip, unit.track)) + (0x1000_0000 if unit.track == VIDEO else 0x2000_0000) & 0xFFFFFFFF


def packets_of(clip):
    """(due, track, packet). A parameter set that changes in band is a unit with a config and no picture: it is sent with the next one."""
    found, sequences, parameters = [], {VIDEO: 0, AUDIO: 0}, {}
    for unit in clip.units:
        if unit.config:
            parameters.setdefault(unit.track, unit.config.parameters)
            continue
        if unit.track not in sequences:
            continue
        for marker, payload in payloads(clip, unit, parameters.get(VIDEO, [])):
            head = struct.pack(">BBHII", 0x80, PAYLOAD_TYPES[unit.track] | (0x80 if marker else 0), sequences[unit.track] & 0xFFFF,
                               stamp_of(clip, unit), SSRCS[unit.track])
            found.append((unit.due, unit.track, head + payload))
            sequences[unit.track] += 1
    return found


def sender_report(clip, track, seconds, wall):
    """At `seconds` of the clip, which is `wall` on the clock of the world: packets and bytes are not counted."""
    ntp = int((wall + 2_208_988_800) * (1 << 32))
    base = 0x1000_0000 if track == VIDEO else 0x2000_0000
    rtp = round(seconds * clock_of(clip, track)) + base & 0xFFFFFFFF
    ssrc = SSRCS[track] if clip.report_ssrc is None else clip.report_ssrc
    report = struct.pack(">BBHIQIII", 0x80, 200, 6, ssrc, ntp, rtp, 0, 0)
    name = b"zoo"
    source = struct.pack(">BBHIBB", 0x81, 202, 3, ssrc, 1, len(name)) + name + b"\0" * 3
    return report + source
