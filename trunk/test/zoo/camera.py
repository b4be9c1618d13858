"""make zoo-camera: one camera that misbehaves at random, by a seed, for hours, watched at all outputs.

Every ten seconds the camera does something else: messages that are split or broken, clocks that step, stamps that stray, holes, tracks
that pause, a connection that breaks. Each output is read again and again for a minute by ffmpeg, and each watcher is checked: times never
go back, pictures and sound come, no line of errors. The server's memory is watched, too. SIGTERM or SIGINT ends it early, with the
table of what was seen until then.
"""

import argparse
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from hostile import resident_kib
from rtc import whep_path
from weir import TOP, wait_until
from zoo import deformations as deform
from zoo.clips import SECONDS, load
from zoo.run import make_server
from zoo.senders import RtmpPublisher, rtmp_messages
from zoo.units import AUDIO, DATA, VIDEO
from zoo.whep import CLOCKS, PION

PATH = "live/camera"
PIECE = 60  # seconds that a watcher looks at once
LONG = 120  # looks at the memory, ten seconds apart: in less time nothing settles
SETTLES = 0.5  # of the memory that the first tenth of the time has shown: so much more is a leak


# What the camera does for one round of the clip: of a clip to a clip.
def moved(seconds, tracks=(VIDEO, AUDIO)):
    return lambda clip: deform.step(clip, seconds, 0.0, tracks)


MISBEHAVES = {
    "clean": lambda clip: clip,
    "split": deform.split_into_messages,
    "sei": deform.sei_messages,
    "zero nal": deform.made(deform.zero_nal, "within"),
    "cut nal": deform.cut_nal,
    "long length": deform.long_length,
    "start codes": deform.start_codes,
    "forbidden bit": deform.forbidden_bit,
    "jitter": deform.jitter,
    "whole ms": deform.whole_ms,
    "bunches": deform.bunches,
    "drift": deform.made(deform.drift, 0.2),
    "stray far": deform.stray,
    "stray near": deform.made(deform.stray, -0.8),
    "audio missing": deform.audio_frame_missing,
    "no audio": lambda clip: without(clip, AUDIO),
    "no video": lambda clip: without(clip, VIDEO),
    "hole": deform.hole,
    "sets in band": deform.in_band,
}
STEPS = (-3600, -4.9, -2.5, -0.8, 2.5, 3600)  # of the clock, which stay
BREAKS = 0.04  # share of the rounds at whose end the connection breaks


def without(clip, track):
    clip.units = [unit for unit in clip.units if unit.track != track]
    return clip


class Camera(threading.Thread):
    """Publishes by RTMP until stop(), and comes back a second after each break."""

    def __init__(self, server, seed, folder):
        super().__init__(daemon=True)
        self.server, self.chance, self.folder = server, random.Random(seed), folder
        self.did, self.breaks, self.error = Counter(), 0, None
        self.ending = threading.Event()
        self.clock = 0.0  # of the stamps, seconds

    def run(self):
        try:
            while not self.ending.is_set():
                self.session()
                self.ending.wait(1)
        except Exception as error:  # lint: it ends a thread, and is looked at
            self.error = error

    def session(self):
        publisher = RtmpPublisher(load(), self.server, PATH, self.folder)
        publisher.connect()
        begin, first, beginning = time.monotonic() + 0.05, True, self.chance.choice((0.0, 2.0**24 / 1000 - 15, 2.0**32 / 1000 - 15))
        self.clock = beginning
        try:
            while not self.ending.is_set():
                clip, lasts = self.round(first)
                for due, piece in rtmp_messages(clip):
                    if self.ending.wait(max(0.0, begin + due - time.monotonic())):
                        return
                    publisher.send(piece)
                begin, first, self.clock = begin + lasts, False, self.clock + lasts
                if self.chance.random() < BREAKS:
                    self.breaks += 1
                    return
        finally:
            publisher.peer.socket.close()

    def round(self, first):
        """(clip, how long it takes)."""
        name = "clean" if first else self.chance.choice(list(MISBEHAVES))
        self.did[name] += 1
        clip = MISBEHAVES[name](load())
        lasts = SECONDS + (4.0 if name == "hole" else 0.0)
        if not first and self.chance.random() < 0.1:
            seconds = self.chance.choice(STEPS)
            self.did[f"clock {seconds:+} s"] += 1
            self.clock += seconds
        clip.units = [unit.moved(self.clock) for unit in clip.units if first or not (unit.config or unit.track == DATA)]
        return clip, lasts

    def stop(self):
        self.ending.set()
        self.join(10)


@dataclass
class Seen:
    """What the watchers of an output saw."""

    pieces: int = 0
    empty: int = 0  # pieces in which nothing came
    pictures: int = 0
    sounds: int = 0
    back: int = 0   # times that were before the one before
    longest: float = 0.0
    lines: Counter = field(default_factory=Counter)


class Watcher(threading.Thread):
    """ffmpeg reads the output for a while, again and again."""

    def __init__(self, name, url, words, ending):
        super().__init__(daemon=True)
        self.name, self.url, self.words, self.ending, self.seen = name, url, words, ending, Seen()

    def run(self):
        while not self.ending.is_set():
            began = time.monotonic()
            times, errors = self.look()
            self.note(times, errors)
            if time.monotonic() - began < 1:
                self.ending.wait(1)

    def look(self):
        """(track, kind, seconds) of each packet in order, and lines of errors."""
        out, errors = output_of(["ffmpeg", "-nostdin", "-v", "error", *self.words, "-i", self.url, "-t", PIECE, "-map", "0", "-c", "copy",
                                 "-f", "framecrc", "-"])
        times, bases, kinds = [], {}, {}
        for line in out.splitlines():
            if found := re.match(r"#tb (\d+): (\d+)/(\d+)", line):
                bases[found[1]] = int(found[2]) / int(found[3])
            elif found := re.match(r"#media_type (\d+): (\w+)", line):
                kinds[found[1]] = found[2]
            elif line and line[0] != "#":
                track, dts = [word.strip() for word in line.split(",")[:2]]
                times.append((track, kinds[track], int(dts) * bases[track]))
        return times, errors

    def note(self, times, errors):
        seen, last = self.seen, {}
        seen.pieces += 1
        for track, kind, when in times:
            if track in last:
                if when < last[track] - 1e-6:
                    seen.back += 1
                    print(f"{time.strftime('%H:%M:%S')} {self.name}: {kind} goes back from {last[track]:.3f} to {when:.3f} s", flush=True)
                seen.longest = max(seen.longest, when - last[track])
            last[track] = when
            seen.pictures += kind == "video"
            seen.sounds += kind == "audio"
        seen.empty += not last
        for line in errors.splitlines():
            seen.lines[re.sub(r"0x[0-9a-f]+|\d+", "N", line)[:120]] += 1


class WhepWatcher(Watcher):
    """pion; `words`: the folder for what it writes."""

    def look(self):
        place = self.words
        _, errors = output_of([PION, "play", self.url, "-video", place / "w.h264", "-audio", place / "w.ogg", "-times", place / "w.times",
                               "-seconds", PIECE])
        times, before = [], {}
        for words in (line.split() for line in (place / "w.times").read_text().splitlines()):
            if words[0] in CLOCKS:
                stamp = before[words[0]] = unwrapped(int(words[1]), before.get(words[0]))
                times.append((words[0], words[0], stamp / CLOCKS[words[0]]))
        return times, errors


def unwrapped(stamp, before):
    return stamp if before is None else before + (stamp - before + (1 << 31)) % (1 << 32) - (1 << 31)


def output_of(command):
    """What it says, until it ends or has taken twice its time."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=2 * PIECE, stdin=subprocess.DEVNULL)
        return done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(), (late.stderr or b"").decode() + "\nit did not end"


def watchers(server, folder, ending):
    http = server.http
    found = {"rtmp": (server.rtmp(PATH), ()), "flv": (http(f"/{PATH}.flv"), ()), "ts": (http(f"/{PATH}.ts"), ()),
             "rtsp": (server.rtsp(PATH), ("-rtsp_transport", "tcp")), "hls": (http(f"/{PATH}.m3u8"), ()),
             "dash": (http(f"/{PATH}.mpd"), ())}
    whep = WhepWatcher("whep", http(whep_path(PATH.split("/")[1])), folder, ending)
    return [*(Watcher(name, url, words, ending) for name, (url, words) in found.items()), whep]


def main():
    parser = argparse.ArgumentParser(prog="make zoo-camera", description=__doc__)
    parser.add_argument("--minutes", type=float, default=180)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = TOP / "objs" / "test" / "zoo-camera"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    server, ending, memory = make_server(folder), threading.Event(), []
    camera = Camera(server, options.seed, folder)
    camera.start()
    wait_until(lambda: any(stream["publish"]["active"] for stream in server.streams()), 10, "the camera publishes")
    watching = watchers(server, folder, ending)
    for watcher in watching:
        watcher.start()
    began, stopped = time.monotonic(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    end = began + 60 * options.minutes
    while time.monotonic() < end and server.process.poll() is None and not camera.error and not stopped.is_set():
        memory.append(resident_kib(server.process.pid))
        stopped.wait(min(10, max(0.0, end - time.monotonic())))
    print(f"after {(time.monotonic() - began) / 60:.0f} minutes", flush=True)
    alive = server.process.poll() is None
    ending.set()
    for watcher in watching:
        watcher.join(3 * PIECE)
    mended = defaultdict(int)
    for line in re.findall(r"mended stream=\S+ (.*?):", server.log()):
        for name, value in re.findall(r"(\w+)=(\d+)", line):
            mended[name] += int(value)
    camera.stop()
    if alive:
        server.stop(seconds=10)
    return report(camera, watching, memory, mended, alive)


def report(camera, watching, memory, mended, alive):
    print("the camera:", ", ".join(f"{count} x {name}" for name, count in sorted(camera.did.items())), f"; {camera.breaks} breaks")
    print("mended:", dict(mended))
    print(f"{'output':8} {'pieces':>6} {'empty':>6} {'pictures':>9} {'sounds':>9} {'back':>5} {'longest':>8}  lines of errors")
    for watcher in watching:
        seen = watcher.seen
        lines = "; ".join(f"{count} x {line}" for line, count in seen.lines.most_common(3))
        print(f"{watcher.name:8} {seen.pieces:6} {seen.empty:6} {seen.pictures:9} {seen.sounds:9} {seen.back:5} {seen.longest:7.2f}s  {lines}")
    settled = max(memory[:max(1, len(memory) // 10)])
    print(f"memory: {memory[0]} KiB, then {settled}, at most {max(memory)}, at the end {memory[-1]}")
    wrong = [watcher.name for watcher in watching if watcher.seen.back or not watcher.seen.pictures or not watcher.seen.sounds]
    leaks = len(memory) > LONG and memory[-1] > settled * (1 + SETTLES)
    for what in [*(f"{name}: times went back, or a track never came" for name in wrong), *(["the server ended"] if not alive else []),
                 *([f"the camera: {camera.error}"] if camera.error else []), *(["memory grows"] if leaks else [])]:
        print("wrong:", what)
    return 1 if wrong or leaks or camera.error or not alive else 0


if __name__ == "__main__":
    sys.exit(main())
