"""Publishers and players: real programs, and checks on what they sent and received."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from functools import lru_cache
from pathlib import Path

from flv import LATE_SECONDS, LEAST_SHARE, FlvReader
from weir import TOP, wait_end, wait_until

SAMPLE = TOP / "doc" / "sample.flv"

# Frames at the end of a recording that may lack their successors: a cut between B-frames.
TAIL_FRAMES = 6


@lru_cache
def modern_ffmpeg():
    """The ffmpeg of imageio-ffmpeg: knows HEVC, AV1 and Opus in FLV, which Debian's does not."""
    import imageio_ffmpeg
    return imageio_ffmpeg.get_ffmpeg_exe()


def run(command, seconds=60, **options):
    """Runs a program to its end; its standard output. Fails with what it said when it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=seconds,
                          stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, f"{command[0]}: exit code {done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}"
    return done.stdout


class Program:
    """A program that runs beside the test. Ends with the `with` block, whatever happens in it."""

    def __init__(self, name, command, folder, stdout=None):
        self.name = name
        self.command = [str(word) for word in command]
        self.log_path = Path(folder) / f"{name}.log"
        self.stdout = stdout
        self.process = None

    def __enter__(self):
        with open(self.log_path, "wb") as log:
            out = open(self.stdout, "wb") if self.stdout else subprocess.DEVNULL
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=log)
            if self.stdout:
                out.close()
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, number=signal.SIGTERM, seconds=5):
        """Ends it if it still runs; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                wait_end(self.process, seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def running(self):
        return self.process.poll() is None

    def wait(self, seconds):
        return wait_end(self.process, seconds)

    def log(self):
        return self.log_path.read_text(errors="replace")


# ---- publishers ------------------------------------------------------------------------------------------------------


def publisher(url, folder, source=SAMPLE, name="publisher", output=("-c", "copy"), ffmpeg="ffmpeg", loop=True):
    """Publishes a file in real time, in a loop, until the `with` block ends."""
    looping = ["-stream_loop", "-1"] if loop else []
    return Program(name, [ffmpeg, "-hide_banner", "-loglevel", "info", "-nostdin", "-re", *looping, "-i", source,
                          *output, "-f", "flv", url], folder)


# ---- players ---------------------------------------------------------------------------------------------------------


def record(name, command, folder, seconds, stdout=None, output=None, least=20_000):
    """Lets a player run for some seconds after its first bytes, or some more (as FlvReader.tags()); the Recording."""
    path = stdout or output

    def is_short():
        return path.stat().st_size < least or seconds_in(path, program.log()) < LEAST_SHARE * seconds

    with Program(name, command, folder, stdout) as program:
        try:
            wait_until(lambda: (path.exists() and path.stat().st_size > 0) or not program.running(), 20,
                       f"{name} receives something")
            deadline = time.monotonic() + seconds
            while program.running() and ((now := time.monotonic()) < deadline or now < deadline + LATE_SECONDS and is_short()):
                time.sleep(0.05)
            program.end(signal.SIGINT if name != "vlc" else signal.SIGTERM)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{program.log()[-2000:]}")
        said = program.log()
    size = path.stat().st_size if path.exists() else 0
    assert size >= least, f"{name} received {size} bytes only\n{said[-2000:]}"
    return Recording(path, said)


def seconds_in(path, said):
    """Media in a file that is being written: of FLV, or as ffmpeg says it. Infinite where nothing tells."""
    with open(path, "rb") as file:
        if file.read(3) == b"FLV":
            file.seek(0)
            return flv_seconds(file)
    times = re.findall(r"time=(\d+):(\d\d):(\d\d\.\d\d)", said)
    return sum(float(part) * unit for part, unit in zip(times[-1], (3600, 60, 1))) if times else float("inf")


def flv_seconds(file):
    """From the first frame to the last that is whole."""
    times = []
    with contextlib.suppress(EOFError):
        reader = FlvReader(file.read)
        while True:
            tag = reader.tag()
            if not tag.is_head():
                times.append(tag.time_ms)
    return (max(times) - min(times)) / 1000 if times else 0.0


# -dn -sn: ffmpeg shows data messages of RTMP as streams of data or subtitles.
def play_ffmpeg(url, folder, seconds=3, name="ffmpeg-player", ffmpeg="ffmpeg", suffix="flv", **options):
    out = Path(folder) / f"{name}.{suffix}"
    command = [ffmpeg, "-hide_banner", "-loglevel", "info", "-nostdin", "-y", "-i", url, "-map", "0", "-dn", "-sn", "-c", "copy",
               "-flush_packets", "1", out]
    recording = record(name, command, folder, seconds, output=out, **options)
    assert "Non-monoton" not in recording.said, recording.said[-2000:]
    return recording


def play_rtmpdump(url, folder, seconds=3):
    out = Path(folder) / "rtmpdump.flv"
    # Written at the end or when its buffer is full: --live and SIGINT give a whole file.
    return record("rtmpdump", ["rtmpdump", "--quiet", "--live", "--rtmp", url, "-o", out], folder, seconds, output=out)


def play_curl(url, folder, seconds=3, name="curl", **options):
    out = Path(folder) / f"{name}.flv"
    return record(name, ["curl", "--silent", "--show-error", "--no-buffer", url], folder, seconds, stdout=out,
                  **options)


def play_vlc(url, folder, seconds=7):
    """VLC without a window. It refuses to be root, so it becomes nobody, and writes to our descriptor."""
    out = Path(folder) / "vlc.ts"
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    command = [*user, "env", "HOME=/tmp", "cvlc", "--intf", "dummy", "--no-media-library", f"--run-time={seconds}",
               "--sout", "#std{access=file,mux=ts,dst=-}", url, "vlc://quit"]
    return record("vlc", command, folder, seconds + 5, stdout=out)


# ---- what is in a recording ------------------------------------------------------------------------------------------


class Recording:
    def __init__(self, path, said="", ffmpeg="ffmpeg"):
        self.path = Path(path)
        self.said = said
        self.ffmpeg = ffmpeg

    def streams(self):
        """Codec names by type: {"video": ["h264"], "audio": ["aac"]}."""
        found = {}
        for stream in probe(self.path)["streams"]:
            found.setdefault(stream["codec_type"], []).append(stream["codec_name"])
        return found

    def packets(self):
        return probe(self.path, "-show_packets")["packets"]

    def frames(self, ffmpeg=None):
        """MD5 of each decoded video frame, in display order."""
        text = run([ffmpeg or self.ffmpeg, "-v", "error", "-i", self.path, "-map", "0:v:0", "-fps_mode", "passthrough",
                    "-f", "framemd5", "-"]).decode()
        return [line.split(",")[-1].strip() for line in text.splitlines() if not line.startswith("#")]

    def audio_seconds(self):
        """Length of the decoded sound."""
        raw = run([self.ffmpeg, "-v", "error", "-i", self.path, "-map", "0:a:0", "-ac", "1", "-ar", "8000",
                   "-f", "s16le", "-"])
        return len(raw) / 2 / 8000


def probe(path, *what):
    return json.loads(run(["ffprobe", "-v", "error", "-show_streams", *what, "-of", "json", path]))


@lru_cache
def frames_of(path, ffmpeg="ffmpeg"):
    return tuple(Recording(path, ffmpeg=ffmpeg).frames())


def runs_of(frames, sent):
    """Splits frames into runs that follow each other in `sent`, which repeats. Unknown frames are runs of their own."""
    place = {frame: index for index, frame in enumerate(sent)}
    runs = []
    for frame in frames:
        index = place.get(frame)
        if runs and index is not None and runs[-1][-1] is not None and index == (runs[-1][-1] + 1) % len(sent):
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def check_frames(recording, source=SAMPLE, least=25, most_runs=1):
    """What was decoded is what was sent: unknown frames nowhere, and no gap but those that the test expects."""
    sent = frames_of(source, recording.ffmpeg)
    got = recording.frames()
    assert len(got) >= least, f"{len(got)} frames decoded, at least {least} expected"
    runs = runs_of(got[:-TAIL_FRAMES] if len(got) > TAIL_FRAMES + 5 else got, sent)
    shape = [(run[0], run[-1], len(run)) for run in runs]
    assert all(index is not None for run in runs for index in run), f"frames that were never sent: {shape}"
    assert len(runs) <= most_runs, f"gaps in what was played (first, last, length): {shape}"
    return shape


def check_rising(recording, streams=None):
    """Decoding times rise strictly in each stream, and presentation never precedes decoding."""
    last = {}
    for packet in recording.packets():
        index, dts = packet["stream_index"], packet.get("dts")
        if dts is None:
            continue
        assert index not in last or dts > last[index], f"stream {index}: dts {dts} after {last[index]}"
        assert packet.get("pts") is None or packet["pts"] >= dts, f"stream {index}: pts {packet['pts']} before dts {dts}"
        last[index] = dts
    assert last, "no packets with times"
    return last


def check_both(recording, seconds=2.0, source=SAMPLE):
    """The usual: H.264 and AAC are there, the frames are those of the sample, times rise, the sound is as long."""
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_rising(recording)
    check_frames(recording, source, least=int(25 * seconds))
    assert recording.audio_seconds() >= seconds
