"""A clip as a list of units: access units of video and frames of audio, with the times at which they are sent and stamped.

Deformations work on these, so each of them is the same for every input. A unit of video consists of messages, each of which has NAL units:
one message by default. RTMP sends each as a message, RTP and MPEG-TS send all of them one after the other.
"""

import copy
from dataclasses import dataclass, field, replace

VIDEO, AUDIO, DATA = "video", "audio", "data"


class Framed(bytes):
    """Bytes that stand in place of a length and a NAL unit in RTMP: what a broken encoder writes."""


@dataclass
class Unit:
    track: str
    due: float                # when it is sent, seconds from the beginning
    dts: float                # its stamps, seconds
    pts: float
    messages: list = field(default_factory=list)  # video: of each message its NAL units, or the OBUs of AV1
    data: bytes = b""         # audio: a raw AAC or Opus frame; data: AMF
    key: bool = False
    number: int | None = None  # of a picture in display order, or of an audio frame
    config: "Config | None" = None  # a sequence header in place of media
    marks: str = "last"       # RTP: which packets have the marker: "last" of the picture, "each" of a NAL unit, "none"
    late: float = 0.0         # how long after its time it is sent, as sender reports know it
    extra_track: int = 0      # E-RTMP multitrack

    @property
    def nals(self):
        return [nal for message in self.messages for nal in message]

    def moved(self, seconds):
        """The same with stamps that are so much later."""
        return replace(self, dts=self.dts + seconds, pts=self.pts + seconds)


@dataclass
class Config:
    """Of a codec: the body of the sequence header, and the parameter sets in it."""

    record: bytes
    parameters: list = field(default_factory=list)


@dataclass
class Expected:
    """What a reader shall get of a clip. The defaults: all of it."""

    times: dict                     # display number of a picture -> seconds
    video: bool = True
    audio: bool = True
    beeps: list = field(default_factory=list)       # seconds
    missing: set = field(default_factory=set)       # pictures that need not come
    unknown: int = 0                # pictures of other content that may come: damaged ones
    time_ms: float = 12             # by how much a step between pictures may differ from the true one
    length_ms: float = 40           # the same of the whole
    sync_ms: float = 80
    audio_share: float = 0.97       # of the time of the video from the first audio on
    audio_hole: float = 0.06        # the longest step between audio frames beyond their length, seconds
    errors: tuple = ()              # lines of readers that may come
    files: int = 1                  # of a recording: where tracks or codecs change another file begins
    join: float = 0.0               # when players come that cannot take a track which comes after them
    hole: float = 0.0               # a step between two pictures that may come as it was stamped, or be taken out


@dataclass
class Clip:
    name: str
    codec: str                      # h264, hevc, av1
    audio_codec: str                # aac, opus
    rate: int                       # of audio
    channels: int
    units: list
    expected: Expected
    digests: dict                   # MD5 of a decoded picture -> its number
    metadata: bytes = b""           # AMF of onMetaData
    latm: bool = False              # SRT: audio in LATM
    report_ssrc: int | None = None  # RTSP: of sender reports, where it is not that of their track
    promises: bool = True           # the input can name a track that does not come

    def copy(self):
        return replace(self, units=[replace(unit) for unit in self.units], expected=copy.deepcopy(self.expected))

    def video(self):
        return [unit for unit in self.units if unit.track == VIDEO and unit.config is None]

    def audio(self):
        return [unit for unit in self.units if unit.track == AUDIO and unit.config is None]

    def config(self, track):
        return next((unit.config for unit in self.units if unit.track == track and unit.config), None)

    @property
    def period(self):
        """Of an audio frame, seconds."""
        return (1024 if self.audio_codec == "aac" else 960) / self.rate

    def seconds(self):
        return max(unit.due for unit in self.units)
