"""The clips: pictures that all differ, a flash and a beep each two seconds, made once by ffmpeg and read as units."""

from functools import lru_cache

from flv import AUDIO as FLV_AUDIO
from flv import SCRIPT, FlvReader
from media import Recording, digest_of, encoded, made_once, modern_ffmpeg
from zoo.units import AUDIO, DATA, VIDEO, Clip, Config, Expected, Unit

SECONDS = 10
EVERY = 2  # flash and beep, seconds

X264 = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-sc_threshold", "0", "-threads", "1")
PLAIN = ("-bf", "0", "-g", "25", "-keyint_min", "25")
X265 = ("-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p")
X265_PARAMS = "bframes=0:keyint=25:min-keyint=25:scenecut=0:log-level=error:pools=1:frame-threads=1"
FORMS = {
    # name: (codec, words of the encoder, options of make)
    "h264": ("h264", (*X264, *PLAIN), {}),
    "h264-b": ("h264", (*X264, "-bf", "2", "-g", "25", "-keyint_min", "25"), {}),
    "h264-open": ("h264", (*X264, "-bf", "2", "-g", "25", "-keyint_min", "25", "-x264-params", "open-gop=1:b-adapt=0"), {}),
    "h264-slices": ("h264", (*X264, *PLAIN, "-x264-params", "slices=4"), {}),
    "h264-fields": ("h264", (*X264, *PLAIN, "-flags", "+ildct+ilme", "-x264-params", "tff=1"), {}),
    "h264-2fps": ("h264", (*X264, "-bf", "0", "-g", "4", "-keyint_min", "4"), {"fps": 2}),
    "h264-120fps": ("h264", (*X264, "-bf", "0", "-g", "120", "-keyint_min", "120"), {"fps": 120}),
    "h264-long": ("h264", (*X264, "-bf", "0", "-g", "750", "-keyint_min", "750"), {}),
    "h264-small": ("h264", (*X264, *PLAIN), {"size": "240x136"}),
    "h264-night": ("h264", (*X264, *PLAIN, "-x264-params", "chroma-qp-offset=4:cabac=0:ref=1"), {}),
    "h264-51": ("h264", (*X264, *PLAIN), {"channels": 6}),
    "hevc": ("hevc", (*X265, "-x265-params", X265_PARAMS), {}),
    "hevc-b": ("hevc", (*X265, "-x265-params", X265_PARAMS.replace("bframes=0", "bframes=2")), {}),
    "hevc-small": ("hevc", (*X265, "-x265-params", X265_PARAMS), {"size": "240x136"}),
    "av1": ("av1", ("-c:v", "libsvtav1", "-preset", "12", "-g", "25", "-pix_fmt", "yuv420p", "-svtav1-params", "lp=1:pred-struct=1"), {}),
    "h264-opus": ("h264", (*X264, *PLAIN), {"opus": True}),
    "h264-slices-opus": ("h264", (*X264, *PLAIN, "-x264-params", "slices=4"), {"opus": True}),
}


def make(name):
    """The FLV file of a form."""
    codec, encoder, options = FORMS[name]
    fps, size = options.get("fps", 25), options.get("size", "320x180")
    rate = 48000 if options.get("opus") else 44100
    channels = options.get("channels", 1)
    flash = f"drawbox=enable='lt(mod(t,{EVERY}),0.075)':y=ih/2:h=ih/2:color=white:t=fill"
    beep = f"if(lt(mod(t,{EVERY}),0.06),0.8*sin(6283*t),0)"
    layout = "5.1" if channels == 6 else "mono"
    sound = (("-c:a", "libopus", "-b:a", "64k") if options.get("opus") else ("-c:a", "aac", "-b:a", "160k" if channels == 6 else "64k"))
    return encoded(*encoder, *sound, suffix="flv", ffmpeg="ffmpeg" if codec == "h264" and not options.get("opus") else modern_ffmpeg(), inputs=(
        "-f", "lavfi", "-i", f"testsrc2=s={size}:r={fps}:d={SECONDS},{flash}",
        "-f", "lavfi", "-i", f"aevalsrc='{'|'.join([beep] * channels)}':c={layout}:s={rate}:d={SECONDS}"))


def decoder(codec):
    """Debian's ffmpeg does not read HEVC, AV1 or Opus in FLV."""
    return "ffmpeg" if codec == "h264" else modern_ffmpeg()


def nal_units(data):
    found, at = [], 0
    while at + 4 <= len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        found.append(data[at + 4:at + 4 + size])
        at += 4 + size
    return found


def parameters_of(codec, record):
    """The parameter sets of an AVCDecoderConfigurationRecord or HEVCDecoderConfigurationRecord (ISO/IEC 14496-15 5.3.3.1, 8.3.3.1)."""
    found = []

    def take(at, count):
        for _ in range(count):
            size = int.from_bytes(record[at:at + 2], "big")
            found.append(record[at + 2:at + 2 + size])
            at += 2 + size
        return at

    if codec == "h264":
        at = take(6, record[5] & 0x1F)
        take(at + 1, record[at])
    elif codec == "hevc":
        at = 23
        for _ in range(record[22]):
            at = take(at + 3, int.from_bytes(record[at + 1:at + 3], "big"))
    return found


def obus(data):
    """OBUs of a temporal unit in the low-overhead format, each with its header and size (AV1 5.3.1)."""
    found, at = [], 0
    while at < len(data):
        begin, head = at, data[at]
        at += 2 if head & 4 else 1
        if not head & 2:
            return [*found, data[begin:]]
        size = shift = 0
        while True:
            size |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if not data[at - 1] & 0x80:
                break
        at += size
        found.append(data[begin:at])
    return found


def video_unit(codec, tag):
    """(config record or None, offset of pts ms, data) of a tag of FLV."""
    body = tag.data
    if body[0] & 0x80:  # E-RTMP
        kind = body[0] & 0x0F
        if kind == 0:
            return body[5:], 0, b""
        if kind not in (1, 3):
            return None, 0, b""
        offset = int.from_bytes(body[5:8], "big", signed=True) if kind == 1 and codec in ("h264", "hevc") else 0
        return None, offset, body[8 if kind == 1 and codec in ("h264", "hevc") else 5:]
    if body[1] == 0:
        return body[5:], 0, b""
    return None, int.from_bytes(body[2:5], "big", signed=True), body[5:] if body[1] == 1 else b""


def units_of(codec, path, fps, rate, opus):
    """(units, AMF of onMetaData). FLV has whole milliseconds: the true times are those of the grid of frames."""
    units, metadata = [], b""
    data = memoryview(path.read_bytes())
    at = 0

    def read(size):
        nonlocal at
        taken = bytes(data[at:at + size])
        at += len(taken)
        return taken

    reader, first, first_audio, frames = FlvReader(read), None, None, 0
    period = (960 if opus else 1024) / rate
    try:
        while True:
            tag = reader.tag()
            seconds = tag.time_ms / 1000
            if tag.type == SCRIPT:
                metadata = tag.data
                units.append(Unit(DATA, 0, 0, 0, data=tag.data))
            elif tag.type == FLV_AUDIO:
                enhanced = tag.data[0] >> 4 == 9
                if enhanced and tag.data[0] & 15 > 1:
                    continue
                body = tag.data[5:] if enhanced else tag.data[2:]
                if tag.data[0] & 15 == 0 if enhanced else tag.data[1] == 0:
                    units.append(Unit(AUDIO, 0, 0, 0, config=Config(body)))
                    continue
                first_audio = seconds if first_audio is None else first_audio
                seconds = first_audio + frames * period
                units.append(Unit(AUDIO, seconds, seconds, seconds, data=body, number=frames))
                frames += 1
            else:
                record, offset, body = video_unit(codec, tag)
                if record is not None:
                    units.append(Unit(VIDEO, 0, 0, 0, config=Config(record, parameters_of(codec, record))))
                elif body:
                    first = seconds if first is None else first
                    dts = first + round((seconds - first) * fps) / fps
                    pts = dts + round(offset / 1000 * fps) / fps
                    nals = [obu for obu in obus(body) if obu[0] >> 3 & 15 != 2] if codec == "av1" else nal_units(body)
                    units.append(Unit(VIDEO, dts, dts, pts, messages=[nals], key=tag.data[0] >> 4 & 7 == 1))
    except EOFError:
        pass
    return units, metadata


@lru_cache
def digests_of(path, ffmpeg):
    """MD5 of each decoded picture, in display order."""
    def decode(out):
        recording = Recording(path, ffmpeg=ffmpeg)
        out.write_text("\n".join(recording.frames()))

    return made_once(["zoo pictures", digest_of(path), digest_of(ffmpeg)], "frames", decode).read_text().splitlines()


@lru_cache
def _load(name):
    codec, _, options = FORMS[name]
    path = make(name)
    fps, opus = options.get("fps", 25), options.get("opus", False)
    rate = 48000 if opus else 44100
    units, metadata = units_of(codec, path, fps, rate, opus)
    pictures = sorted((unit for unit in units if unit.track == VIDEO and unit.config is None), key=lambda unit: unit.pts)
    for number, unit in enumerate(pictures):
        unit.number = number
    digests = digests_of(path, decoder(codec))
    assert len(digests) == len(pictures), (name, len(digests), len(pictures))
    assert len(set(digests)) == len(digests), f"{name}: pictures that are the same"
    times = {unit.number: unit.pts for unit in pictures}
    flashes = [time for number, time in times.items() if number and time - times[0] and
               round((time - times[0]) * fps) % (EVERY * fps) == 0]
    # The beep of the clip is where its flash is; encoder delay moves both tracks in FLV by the same.
    expected = Expected(times, beeps=flashes)
    return Clip(name, codec, "opus" if opus else "aac", rate, options.get("channels", 1), units, expected,
                {digest: number for number, digest in enumerate(digests)}, metadata)


def load(name="h264"):
    return _load(name).copy()
