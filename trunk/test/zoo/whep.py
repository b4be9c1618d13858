"""A reader of WHEP: pion puts the pictures together and says their RTP times and those of the sender reports; ffmpeg decodes them."""

from media import Program
from rtc import whep_path
from weir import TOP
from zoo.readers import Got, Reader

PION = TOP / "objs" / "tools" / "pion-peer"
CLOCKS = {"video": 90_000, "audio": 48_000}


class Clock:
    """RTP times of a track as seconds of the sender's wall clock (RFC 3550 6.4.1); by the last report, as the first ones may come before all is even."""

    def __init__(self, hz, times, report):
        self.hz, self.first = hz, times[0]
        rtp, ntp = report or (self.first, 0)
        self.begin = ntp / (1 << 32) + self.seconds(self.first - rtp)

    def seconds(self, ticks):
        return ((ticks + (1 << 31)) % (1 << 32) - (1 << 31)) / self.hz

    def at(self, rtp):
        return self.begin + self.seconds(rtp - self.first)


class Whep(Reader):
    def __init__(self, *words):
        super().__init__(*words)
        self.video, self.audio, self.times = (self.folder / f"{self.name}.{suffix}" for suffix in ("h264", "ogg", "times"))

    def start(self):
        stream = self.path.split("/")[1]
        # It leaves when the stream ends, or when it is told to.
        self.program = Program(self.name, [PION, "play", self.server.http(whep_path(stream)), "-video", self.video, "-audio", self.audio,
                                           "-times", self.times, "-seconds", self.clip.seconds() + 1], self.folder)
        self.program.__enter__()

    def stop(self):
        self.program.wait(15)

    def got(self):
        lines = [line.split() for line in self.times.read_text().splitlines()] if self.times.exists() else []
        got, said = Got(), self.program.log()
        if self.program.process.returncode and "connection closed" not in said:
            got.errors.append(f"[error] {said.strip()[:200]}")
        if not lines:
            return got
        clocks = {}
        for kind, hz in CLOCKS.items():
            times = [int(words[1]) for words in lines if words[0] == kind]
            reports = [(int(words[1]), int(words[2])) for words in lines if words[0] == f"report-{kind}"]
            if times:
                clocks[kind] = Clock(hz, times, reports[-1] if reports else None), times
                if not reports and len(times) > 50:
                    got.errors.append(f"[error] no sender report of {kind}")
        if "video" in clocks:
            self.take_video(got, *clocks["video"])
        if "audio" in clocks:
            self.take_audio(got, *clocks["audio"])
        return got

    def take_video(self, got, clock, times):
        part = self.analysed(self.video, ("-f", "h264"))
        shown = [clock.at(time) for time in times]
        if len(part.pictures) != len(shown):
            got.errors.append(f"[error] {len(part.pictures)} pictures decoded, {len(shown)} times of RTP")
        # Pictures are decoded in the order of their times; the file of H.264 has none.
        got.pictures = [(time, digest) for time, (_, digest) in zip(sorted(shown), part.pictures)]
        got.errors += part.errors

    def take_audio(self, got, clock, times):
        part = self.analysed(self.audio)
        moved = clock.at(times[0]) - part.audio[0][1]
        got.audio = [(clock.at(time), clock.at(time)) for time in times]
        got.beeps = [beep + moved for beep in part.beeps]
        got.audio_seconds = part.audio_seconds
        got.errors += part.errors
