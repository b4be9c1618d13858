"""A clip as an MPEG transport stream (ISO/IEC 13818-1): PAT, PMT, and a PES packet for each unit."""

from zoo.units import AUDIO, VIDEO

PIDS = {VIDEO: 0x100, AUDIO: 0x101}
TYPES = {"h264": 0x1B, "hevc": 0x24, "aac": 0x0F, "latm": 0x11}
HZ = 90_000
LEAD = 1.0      # stamps begin here: DTS of B-frames are not negative
DELAY = 0.2     # PCR before DTS
RATES = (96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350)


def crc32(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value & 0x80000000 else value << 1) & 0xFFFFFFFF
    return value.to_bytes(4, "big")


def section(table, number, body):
    size = len(body) + 9
    data = bytes([table]) + (0xB000 | size).to_bytes(2, "big") + number.to_bytes(2, "big") + b"\xc1\0\0" + body
    return b"\0" + data + crc32(data)


def stamp(prefix, ticks):
    ticks &= (1 << 33) - 1
    return bytes([prefix << 4 | (ticks >> 30) << 1 | 1]) + ((ticks >> 15 & 0x7FFF) << 1 | 1).to_bytes(2, "big") + \
        ((ticks & 0x7FFF) << 1 | 1).to_bytes(2, "big")


class Bits:
    def __init__(self):
        self.value, self.count = 0, 0

    def put(self, value, count):
        self.value, self.count = self.value << count | value, self.count + count

    def bytes(self):
        spare = -self.count % 8
        return (self.value << spare).to_bytes((self.count + spare) // 8, "big")


def adts(config, data):
    kind, rate, channels = config[0] >> 3, (config[0] & 7) << 1 | config[1] >> 7, config[1] >> 3 & 15
    size = len(data) + 7
    return bytes([0xFF, 0xF1, (kind - 1) << 6 | rate << 2 | channels >> 2, (channels & 3) << 6 | size >> 11, size >> 3 & 0xFF,
                  (size & 7) << 5 | 0x1F, 0xFC]) + data


def latm(config, data, with_config):
    """A LOAS frame with one raw AAC frame (ISO/IEC 14496-3 1.7.2, 1.7.3); the configuration has two bytes."""
    bits = Bits()
    bits.put(0 if with_config else 1, 1)      # useSameStreamMux
    if with_config:
        bits.put(0, 1)                        # audioMuxVersion
        bits.put(1, 1)                        # allStreamsSameTimeFraming
        bits.put(0, 6 + 4 + 3)                # one sub-frame, program and layer
        bits.put(int.from_bytes(config[:2], "big"), 16)
        bits.put(0, 3)                        # frameLengthType
        bits.put(0xFF, 8)                     # latmBufferFullness
        bits.put(0, 2)                        # no other data, no CRC
    left = len(data)
    while left >= 255:
        bits.put(255, 8)
        left -= 255
    bits.put(left, 8)
    for byte in data:
        bits.put(byte, 8)
    body = bits.bytes()
    return (0x2B7 << 13 | len(body)).to_bytes(3, "big") + body


class Muxer:
    def __init__(self, clip):
        self.clip, self.counters, self.tables_due, self.audio_frames = clip, {}, -1.0, 0
        self.tracks = [track for track in (VIDEO, AUDIO) if clip.config(track)]
        self.pcr_track = self.tracks[0]

    def packet(self, pid, start, payload, pcr=None):
        """One packet with as much of the payload as fits, and what is left."""
        counter = self.counters[pid] = self.counters.get(pid, -1) + 1 & 15
        field = b""
        if pcr is not None:
            base = round(pcr * HZ) & (1 << 33) - 1
            field = bytes([0x10]) + (base << 15 | 0x7E00).to_bytes(6, "big")
        room = 184 - (len(field) + 1 if field else 0)
        if len(payload) < room:
            if not field:
                field = b"\0" if len(payload) < 183 else b""
                room = 183 - len(field)
            field += b"\xff" * (room - len(payload))
            adaptation = bytes([len(field)]) + field
        else:
            adaptation = bytes([len(field)]) + field if field else b""
        head = bytes([0x47, (0x40 if start else 0) | pid >> 8, pid & 0xFF, (0x30 if adaptation else 0x10) | counter])
        taken = 184 - len(adaptation)
        return head + adaptation + payload[:taken], payload[taken:]

    def packets(self, pid, payload, pcr=None):
        found, start = b"", True
        while start or payload:
            packet, payload = self.packet(pid, start, payload, pcr if start else None)
            found, start = found + packet, False
        return found

    def tables(self):
        kinds = {VIDEO: TYPES.get(self.clip.codec, 6), AUDIO: TYPES["latm" if self.clip.latm else "aac"]}
        streams = b"".join(bytes([kinds[track]]) + (0xE000 | PIDS[track]).to_bytes(2, "big") + b"\xf0\0" for track in self.tracks)
        pat = section(0, 1, b"\0\x01" + (0xE000 | 0x1000).to_bytes(2, "big"))
        pmt = section(2, 1, (0xE000 | PIDS[self.pcr_track]).to_bytes(2, "big") + b"\xf0\0" + streams)
        return self.packets(0, pat) + self.packets(0x1000, pmt)

    def unit(self, unit):
        """Bytes of a unit, with the tables each half second and before key pictures."""
        found = b""
        if unit.due >= self.tables_due or unit.key:
            found, self.tables_due = self.tables(), unit.due + 0.5
        if unit.track == VIDEO:
            data = self.annex_b(unit)
        else:
            record = self.clip.config(AUDIO).record
            data = latm(record, unit.data, self.audio_frames % 20 == 0) if self.clip.latm else adts(record, unit.data)
            self.audio_frames += 1
        dts, pts = round((unit.dts + LEAD) * HZ), round((unit.pts + LEAD) * HZ)
        times = stamp(3, pts) + stamp(1, dts) if pts != dts else stamp(2, pts)
        pes = b"\0\0\1" + (b"\xe0" if unit.track == VIDEO else b"\xc0")
        size = len(times) + 3 + len(data)
        pes += (0 if unit.track == VIDEO else size).to_bytes(2, "big") + bytes([0x84, 0xC0 if pts != dts else 0x80, len(times)]) + times + data
        return found + self.packets(PIDS[unit.track], pes, unit.dts + LEAD - DELAY if unit.track == self.pcr_track else None)

    def annex_b(self, unit):
        delimiter = b"\x09\xf0" if self.clip.codec == "h264" else b"\x46\x01\x50"
        nals = [nal for nal in unit.nals if nal[:1] != delimiter[:1]]
        parameters = self.clip.config(VIDEO).parameters if unit.key and not any(self.is_parameter(nal) for nal in nals) else []
        return b"".join(b"\0\0\0\1" + nal for nal in [delimiter, *parameters, *nals])

    def is_parameter(self, nal):
        return nal[:1] and (nal[0] & 31 in (7, 8) if self.clip.codec == "h264" else nal[0] >> 1 & 63 in (32, 33, 34))


def blocks(clip):
    """(due, bytes): each a multiple of seven packets, the payload of SRT, as it is filled up with null packets."""
    muxer, found = Muxer(clip), []
    for unit in clip.units:
        if unit.config or unit.track not in PIDS:
            continue
        data = muxer.unit(unit)
        null = b"\x47\x1f\xff\x10" + b"\xff" * 184
        found.append((unit.due, data + null * (-(len(data) // 188) % 7)))
    return found
