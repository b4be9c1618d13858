"""The outputs: programs that are not ours take each of them, and what they got is decoded by ffmpeg.

HTTP-FLV and HTTP-TS are kept byte for byte by curl and read afterwards, as recordings are. ffmpeg itself plays RTMP, RTSP, HLS and DASH
while they are live. The result of each is a Got.
"""

import contextlib
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from lipsync import onsets
from media import Program, modern_ffmpeg

BEEP_DB = -30.0
BLOCK = 80          # 10 ms of 8 kHz
LEVEL = "lavfi.astats.Overall.RMS_level"
END_SECONDS = 6     # a player has so long after the end of its publisher
# What ffmpeg says of clean streams too.
HARMLESS = re.compile(r"Last message repeated|^\s*$|Error in the pull function|session has been invalidated|"
                      r"Failed to reload playlist|keepalive request failed|Will reconnect at|Error number -10054|"
                      r"Immediate exit requested|Exiting normally|error reading header: End of file")


@dataclass
class Got:
    """What a reader had: packets as (dts, pts, key) and pictures as (pts, MD5), seconds; onsets of beeps; what was said."""

    video: list = field(default_factory=list)
    audio: list = field(default_factory=list)
    pictures: list = field(default_factory=list)
    beeps: list = field(default_factory=list)
    audio_seconds: float = 0.0
    duration: float | None = None   # what the file says
    errors: list = field(default_factory=list)


def analysis(ffmpeg, source, name, before=(), seconds=None):
    """Words that read a source and write NAME.packets, NAME.frames and NAME.level in the folder where they run."""
    limit = ["-t", str(seconds)] if seconds else []
    tracks = ["-map", "0:v:0?", "-map", "0:a:0?"]
    return [ffmpeg, "-v", "level+error", "-hide_banner", "-nostdin", "-y", "-copyts", "-threads", "1", *before, "-i", source,
            *tracks, *limit, "-c", "copy", "-f", "framecrc", f"{name}.packets",
            *tracks, *limit, "-fps_mode", "passthrough", "-noautoscale", "-enc_time_base:v", "1/90000",
            "-af", f"aresample=8000,aformat=sample_fmts=s16:channel_layouts=mono,asetnsamples=n={BLOCK}:p=0,"
                   f"astats=metadata=1:reset=1,ametadata=print:key={LEVEL}:file={name}.level",
            "-f", "framemd5", f"{name}.frames"]


def rows(path):
    """([kind of each stream], [(stream, dts s, pts s, size, digest or crc)]) of a list of ffmpeg."""
    kinds, units, found = {}, {}, []
    text = path.read_text() if path.exists() else ""
    for line in text.splitlines():
        if match := re.match(r"#tb (\d+): (\d+)/(\d+)", line):
            units[match[1]] = int(match[2]) / int(match[3])
        elif match := re.match(r"#media_type (\d+): (\w+)", line):
            kinds[match[1]] = match[2]
        elif line[:1] != "#" and line.count(",") >= 5:
            stream, dts, pts, _, size, digest, *_ = (word.strip() for word in line.split(","))
            unit = units[stream]
            absent = abs(int(dts)) > 1 << 62, abs(int(pts)) > 1 << 62
            found.append((kinds.get(stream, "video"), None if absent[0] else int(dts) * unit, None if absent[1] else int(pts) * unit,
                          int(size), digest))
    return found


def read(folder, name, said):
    """The Got of an analysis that has ended."""
    got = Got()
    for kind, dts, pts, _, _ in rows(folder / f"{name}.packets"):
        (got.video if kind == "video" else got.audio).append((dts, pts))
    for kind, _, pts, size, digest in rows(folder / f"{name}.frames"):
        if kind == "video":
            got.pictures.append((pts, digest))
        else:
            got.audio_seconds += size / 2 / 8000
    level = folder / f"{name}.level"
    text = level.read_text() if level.exists() else ""
    times = re.findall(r"pts_time:(-?[\d.]+)", text)
    levels = re.findall(rf"{re.escape(LEVEL)}=(-?[\d.]+|-?inf|nan)", text)
    got.beeps = onsets([(float(time), float(value)) for time, value in zip(times, levels)], BEEP_DB)
    got.errors = [line for line in said.splitlines() if re.search(r"\[(error|fatal|panic)\]", line) and not HARMLESS.search(line)]
    return got


def moved_by(seconds, packets):
    """The same with times that are so much later; some have none."""
    return [(None if dts is None else dts + seconds, None if pts is None else pts + seconds) for dts, pts in packets]


class Reader:
    """start() while the stream is live, stop() when the publisher has ended, got() afterwards."""

    late = False    # starts shortly before the end
    settles = 0.0   # seconds: see judge.problems

    def __init__(self, server, path, folder, name, clip):
        self.server, self.path, self.folder, self.name, self.clip = server, path, Path(folder), name, clip
        self.program = None

    def start(self):
        pass

    def stop(self):
        pass

    def decoder(self):
        """Debian's ffmpeg does not read HEVC, AV1 or Opus in FLV."""
        return "ffmpeg" if self.clip.codec == "h264" and self.clip.audio_codec == "aac" else modern_ffmpeg()

    def analysed(self, source, before=()):
        try:
            said = subprocess.run(analysis(self.decoder(), str(source), self.name, before), cwd=self.folder, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, errors="replace", timeout=60).stderr
        except subprocess.TimeoutExpired:
            said = "[error] ffmpeg reads and does not end"
        return read(self.folder, self.name, said)


class Kept(Reader):
    """curl keeps the bytes."""

    def __init__(self, *words, suffix):
        super().__init__(*words)
        self.suffix = suffix
        self.file = self.folder / f"{self.name}.{suffix}"

    def start(self):
        url = self.server.http(f"/{self.path}.{self.suffix}")
        self.program = Program(self.name, ["curl", "-sS", "--no-buffer", url], self.folder, stdout=self.file)
        self.program.__enter__()

    def stop(self):
        with contextlib.suppress(subprocess.TimeoutExpired):  # it ends when the server does not wait for a publisher any more
            self.program.wait(END_SECONDS)
        self.program.end()

    def got(self):
        return self.analysed(self.file)


class Played(Reader):
    """ffmpeg plays it live. It ends with the stream, or soon after the publisher."""

    def __init__(self, *words, url, before=(), late=False, grace=END_SECONDS, settles=0.0):
        super().__init__(*words)
        self.settles = settles
        self.url, self.before, self.late, self.grace = url, before, late, grace

    def start(self):
        before = list(self.before)
        if self.late and self.clip.expected.join:
            before[before.index("-live_start_index") + 1] = "-3"
        # Files are named relative to the folder: its path may have signs that filters need.
        command = analysis(self.decoder(), self.url(self.server, self.path), self.name, before)
        self.log = open(self.folder / f"{self.name}.log", "wb")
        self.process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)

    def stop(self):
        try:
            self.process.wait(self.grace)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def got(self):
        return read(self.folder, self.name, (self.folder / f"{self.name}.log").read_text(errors="replace"))


class Recorded(Reader):
    """The file that the server has recorded."""

    def __init__(self, *words, suffix):
        super().__init__(*words)
        self.suffix = suffix

    def files(self):
        app, stream = self.path.split("/")
        found = (self.server.folder / "recordings").rglob(f"{app}/{stream}/*.{self.suffix}")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)

    def got(self):
        files = self.files()
        if not files:
            found = Got()
            found.errors = ["no file"]
            return found
        parts = [self.analysed(path) for path in files]
        if len(parts) > 1:
            return self.joined(parts)
        if self.suffix != "ts":
            text = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", files[0]],
                                  capture_output=True, text=True).stdout.strip()
            parts[0].duration = float(text) if re.match(r"^[\d.]+$", text) else None
        return parts[0]

    def joined(self, parts):
        """Files that follow each other, each at the time at which its first picture was sent."""
        whole, times = Got(), self.clip.expected.times
        for part in parts:
            first = next(((pts, self.clip.digests[digest]) for pts, digest in part.pictures if digest in self.clip.digests), None)
            moved = times[first[1]] - first[0] if first and first[1] in times else 0.0
            for name in ("video", "audio"):
                getattr(whole, name).extend(moved_by(moved, getattr(part, name)))
            whole.pictures += [(pts + moved, digest) for pts, digest in part.pictures]
            whole.beeps += [beep + moved for beep in part.beeps]
            whole.audio_seconds += part.audio_seconds
            whole.errors += part.errors
        if len(parts) > self.clip.expected.files:
            whole.errors.append(f"{len(parts)} files")
        return whole
