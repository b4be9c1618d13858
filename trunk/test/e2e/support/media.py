"""Publishers and players: real programs, and checks on what they sent and received."""

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from functools import lru_cache
from pathlib import Path

from flv import AUDIO, LATE_SECONDS, VIDEO, FlvReader
from weir import TOP, is_late, wait_end, wait_until

SAMPLE = TOP / "doc" / "sample.flv"
MADE = TOP / "objs" / "test" / "media"  # clips, and what is known of them: made once, for all workers and runs

# Frames at the end of a recording that may lack their successors: a cut between B-frames.
TAIL_FRAMES = 6


@lru_cache
def modern_ffmpeg():
    """The ffmpeg of imageio-ffmpeg: knows HEVC, AV1 and Opus in FLV, which Debian's does not."""
    import imageio_ffmpeg
    return imageio_ffmpeg.get_ffmpeg_exe()


@lru_cache
def older_ffmpeg():
    """Of another imageio-ffmpeg, between Debian's and modern_ffmpeg(): version 7."""
    found = list((TOP / "objs/tools/ffmpeg-7/imageio_ffmpeg/binaries").glob("ffmpeg-*"))
    assert found, "ffmpeg 7 is missing: run scripts/install-deps.sh --tests"
    return str(found[0])


def run(command, seconds=60, **options):
    """Runs a program to its end; its standard output. Fails with what it said when it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=seconds,
                          stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, f"{command[0]}: exit code {done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}"
    return done.stdout


# ---- clips -----------------------------------------------------------------------------------------------------------


def digest_of(path):
    """Of a clip: of what is in it. Of a program: of which file it is."""
    if program := shutil.which(path):
        status = os.stat(program)
        return f"{program} {status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def made_once(key, suffix, make):
    """The file that make(path) writes: of another test, worker or run where one has made it. No test may write to it."""
    path = MADE / f"{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.{suffix}"
    if not path.exists():
        MADE.mkdir(parents=True, exist_ok=True)
        begun = MADE / f"begun-{os.getpid()}-{threading.get_ident()}-{path.name}"
        try:
            make(begun)
            begun.chmod(0o444)
            begun.rename(path)  # of workers that make the same at a time, each gives the same file
        finally:
            begun.unlink(missing_ok=True)
    return path


def encoded(*output, inputs=("-t", "10", "-i", SAMPLE), suffix="mkv", ffmpeg=None):
    """Ten seconds of the sample, encoded otherwise, by the newer ffmpeg."""
    words = [str(word) for word in (ffmpeg or modern_ffmpeg(), "-v", "error", "-y", *inputs, *output)]
    key = [digest_of(words[0]), *(digest_of(word) if word.startswith("/") else word for word in words[1:])]
    return made_once(key, suffix, lambda path: run([*words, path], 120))


# ----------------------------------------------------------------------------------------------------------------------


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


# The newer ffmpeg looks for signals as often as it would say how far it is: each half second else.
QUICK = ("-hide_banner", "-loglevel", "info", "-nostdin", "-nostats", "-stats_period", "0.1")

# ---- publishers ------------------------------------------------------------------------------------------------------


def publisher(url, folder, source=SAMPLE, name="publisher", output=("-c", "copy"), ffmpeg="ffmpeg", loop=True):
    """Publishes a file in real time, in a loop, until the `with` block ends."""
    looping = ["-stream_loop", "-1"] if loop else []
    return Program(name, [ffmpeg, *QUICK, "-re", *looping, "-i", source, *output, "-f", "flv", url], folder)


# ffmpeg looks at two seconds of a stream before it plays, not at five.
BRIEF = ("-analyzeduration", "2000000")
# What comes at once in the beginning may be all that a player is to have: it sees some of what comes later, too.
LIVE_SECONDS = 0.5
PLAY_SECONDS = 2.2  # from a key frame of the sample beyond the next one

# ---- players ---------------------------------------------------------------------------------------------------------


def record(name, command, folder, seconds, stdout=None, output=None, least=20_000):
    """Lets a player run until it has so much media; where nothing tells how much it has, for so long after its first bytes. The
    Recording. What comes at once in the beginning counts, and who stands still gets some seconds more."""
    path = stdout or output
    for each in (path, listed(path)):  # of a player before this one
        each.unlink(missing_ok=True)

    def media_seconds():
        if listed(path).exists():  # ffmpeg writes files of Matroska cluster by cluster
            return seconds_in(listed(path))
        return seconds_in(path) if path.stat().st_size >= least else 0.0

    with Program(name, command, folder, stdout) as program:
        try:
            wait_until(lambda: (path.exists() and path.stat().st_size > 0) or not program.running(), 20,
                       f"{name} receives something")
            begun = time.monotonic()
            while program.running():
                waited, media = time.monotonic() - begun, media_seconds()
                if media >= seconds and waited >= (seconds if media == float("inf") else LIVE_SECONDS):
                    break
                if is_late(begun, seconds + LATE_SECONDS):
                    break
                time.sleep(0.05)
            program.end(signal.SIGINT if name != "vlc" else signal.SIGTERM)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{program.log()[-2000:]}")
        said = program.log()
    size = path.stat().st_size if path.exists() else 0
    assert size >= least, f"{name} received {size} bytes only\n{said[-2000:]}"
    return Recording(path, said)


def seconds_in(path):
    """Media in a file that is being written, in the track that has least: of FLV, transport streams and ffmpeg's lists of frames.
    Infinite of others."""
    data = path.read_bytes()
    if data[:3] == b"FLV":
        return shortest(flv_times(data))
    if data[:1] == b"\x47" == data[188:189]:
        return shortest(ts_times(data))
    if data[:1] == b"#":
        return shortest(list_times(data.decode()))
    return float("inf")


def shortest(times):
    """Of tracks, each with the times of its frames: seconds from the first frame to the last."""
    return min((max(each) - min(each) if each else 0.0 for each in times.values()), default=0.0)


def flv_times(data):
    """Of the frames that are whole."""
    file, times = io.BytesIO(data), {}
    with contextlib.suppress(EOFError):
        reader = FlvReader(file.read)
        times = {kind: [] for kind, there in ((AUDIO, reader.has_audio), (VIDEO, reader.has_video)) if there}
        while True:
            tag = reader.tag()
            if not tag.is_head():
                times.setdefault(tag.type, []).append(tag.time_ms / 1000)
    return times


def ts_times(data):
    """Of the frames that have begun, by what tables name; times do not turn over soon after the beginning."""
    times, tables = {}, set()
    for at in range(0, len(data) - 187, 188):
        packet = data[at:at + 188]
        pid = (packet[1] & 0x1F) << 8 | packet[2]
        body = packet[5 + packet[4]:] if packet[3] & 0x20 else packet[4:]
        if not packet[1] & 0x40 or len(body) < 14:
            continue
        if pid == 0 or pid in tables:
            section = body[1 + body[0]:]
            end, begin = 3 + ((section[1] & 0x0F) << 8 | section[2]) - 4, 8
            if pid == 0:
                tables |= {(section[each + 2] & 0x1F) << 8 | section[each + 3] for each in range(begin, min(end, len(section) - 3), 4)}
                continue
            begin = 12 + ((section[10] & 0x0F) << 8 | section[11])
            while begin < min(end, len(section) - 4):
                times.setdefault((section[begin + 1] & 0x1F) << 8 | section[begin + 2], [])
                begin += 5 + ((section[begin + 3] & 0x0F) << 8 | section[begin + 4])
        elif pid in times and body[:3] == b"\0\0\1" and body[7] & 0x80:
            high, middle, low = body[9] >> 1 & 7, int.from_bytes(body[10:12], "big") >> 1, int.from_bytes(body[12:14], "big") >> 1
            times[pid].append((high << 30 | middle << 15 | low) / 90_000)
    return times


def list_times(text):
    """Of ffmpeg's lists: the lines that are whole."""
    units, times = {}, {}
    for line in text.splitlines(keepends=True):
        if found := re.match(r"#tb (\d+): (\d+)/(\d+)\n", line):
            units[found[1]] = int(found[2]) / int(found[3])
            times[found[1]] = []
        elif line[:1] != "#" and line.endswith("\n"):
            stream, time_ = line.split(",")[:2]
            if abs(int(time_)) < 1 << 60:  # it has one
                times[stream].append(int(time_) * units[stream])
    return times


def copied(out, *which):
    """Words that have ffmpeg write these streams to a file, and beside it a list of its packets, which says at once what it got."""
    words = [*which, "-c", "copy", "-flush_packets", "1"]
    return [*words, out, *words, "-f", "framecrc", listed(out)]


def listed(out):
    return out.with_name(out.name + ".list")


# -dn -sn: ffmpeg shows data messages of RTMP as streams of data or subtitles.
def play_ffmpeg(url, folder, seconds=PLAY_SECONDS, name="ffmpeg-player", ffmpeg="ffmpeg", suffix="flv", **options):
    out = Path(folder) / f"{name}.{suffix}"
    recording = record(name, [ffmpeg, *QUICK, "-y", *BRIEF, "-i", url, *copied(out, "-map", "0", "-dn", "-sn")], folder, seconds,
                       output=out, **options)
    assert "Non-monoton" not in recording.said, recording.said[-2000:]
    return recording


def play_rtmpdump(url, folder, seconds=PLAY_SECONDS):
    out = Path(folder) / "rtmpdump.flv"
    # Written at the end or when its buffer is full: --live and SIGINT give a whole file.
    return record("rtmpdump", ["rtmpdump", "--quiet", "--live", "--rtmp", url, "-o", out], folder, seconds, output=out)


def play_curl(url, folder, seconds=PLAY_SECONDS, name="curl", **options):
    out = Path(folder) / f"{name}.flv"
    return record(name, ["curl", "--silent", "--show-error", "--no-buffer", url], folder, seconds, stdout=out,
                  **options)


def vlc(url, seconds, *words):
    """VLC without a window. It refuses to be root, so it becomes nobody, and writes to our descriptor."""
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    return [*user, "env", "HOME=/tmp", "cvlc", "--intf", "dummy", "--no-media-library", f"--run-time={seconds + 20}", *words, url, "vlc://quit"]


def play_vlc(url, folder, seconds=3):
    command = vlc(url, seconds, "--sout", "#std{access=file,mux=ts,dst=-}")
    return record("vlc", command, folder, seconds, stdout=Path(folder) / "vlc.ts")


def hear_vlc(url, folder, seconds=3):
    """Plays in real time, and returns when so much sound has come out of it."""
    out = Path(folder) / "vlc.wav"
    words = ("--vout", "dummy", "--aout", "afile", "--audiofile-file=-", "--audiofile-format=s16", "--audiofile-channels=2")
    with Program("vlc-sound", vlc(url, seconds, *words), folder, out) as program:
        wait_until(lambda: out.exists() and out.stat().st_size > seconds * 44100 * 4 or not program.running(), seconds + 15, "VLC plays sound")
        assert program.running(), program.log()[-2000:]


# ---- what is in a recording ------------------------------------------------------------------------------------------


class Recording:
    def __init__(self, path, said="", ffmpeg="ffmpeg"):
        self.path = Path(path)
        self.said = said
        self.ffmpeg = ffmpeg
        self.known = {}

    def once(self, what, find):
        """What find() gives, which is asked once as long as the file is the same."""
        file = self.path.stat()
        key = (what, file.st_size, file.st_mtime_ns)
        if key not in self.known:
            self.known[key] = find()
        return self.known[key]

    def probed(self):
        return self.once("probed", lambda: probe(self.path, "-show_packets"))

    def streams(self):
        """Codec names by type: {"video": ["h264"], "audio": ["aac"]}."""
        found = {}
        for stream in self.probed()["streams"]:
            found.setdefault(stream["codec_type"], []).append(stream["codec_name"])
        return found

    def packets(self):
        return self.probed()["packets"]

    def decoded(self, *maps, ffmpeg=None):
        """(bytes, MD5) of each decoded frame of these streams, in display order; audio as 8 kHz mono."""
        ffmpeg = ffmpeg or self.ffmpeg

        def decode():
            text = run([ffmpeg, "-v", "error", "-i", self.path, *(word for each in maps for word in ("-map", each)), "-fps_mode", "passthrough",
                        "-ac", "1", "-ar", "8000", "-f", "framemd5", "-"]).decode()
            return listed_frames(text, len(maps))

        return self.once((ffmpeg, *maps), decode)

    def frames(self, ffmpeg=None):
        """MD5 of each decoded video frame, in display order."""
        return [digest for _, digest in self.decoded("0:v:0", ffmpeg=ffmpeg)[0]]

    def audio_seconds(self):
        """Length of the decoded sound."""
        return sum(size for size, _ in self.decoded("0:a:0")[0]) / 2 / 8000

    def frames_and_audio_seconds(self):
        """Both, decoded by one process."""
        frames, audio = self.decoded("0:v:0", "0:a:0")
        return [digest for _, digest in frames], sum(size for size, _ in audio) / 2 / 8000


def listed_frames(text, streams):
    """(bytes, MD5) of each frame of each stream in a list of ffmpeg."""
    found = [[] for _ in range(streams)]
    for line in text.splitlines():
        if not line.startswith("#"):
            stream, _, _, _, size, digest = line.split(",")[:6]
            found[int(stream)].append((int(size), digest.strip()))
    return found


def probe(path, *what):
    return json.loads(run(["ffprobe", "-v", "error", "-show_streams", *what, "-of", "json", path]))


@lru_cache
def frames_of(path, ffmpeg="ffmpeg"):
    """MD5 of each frame of a clip."""
    def decode(out):
        out.write_text("\n".join(Recording(path, ffmpeg=ffmpeg).frames()))

    return tuple(made_once(["frames", digest_of(path), digest_of(ffmpeg)], "frames", decode).read_text().splitlines())


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


def check_frames(recording, source=SAMPLE, least=25, most_runs=1, got=None):
    """What was decoded is what was sent: unknown frames nowhere, and no gap but those that the test expects."""
    sent = frames_of(source, recording.ffmpeg)
    got = recording.frames() if got is None else got
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
    frames, audio_seconds = recording.frames_and_audio_seconds()
    check_frames(recording, source, least=int(25 * seconds), got=frames)
    assert audio_seconds >= seconds
