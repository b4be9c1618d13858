"""pion, a WebRTC stack in Go, plays and publishes, also with lost packets: trunk/test/e2e/support/pion."""

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from media import Program, check_rising, encoded, play_ffmpeg, run, runs_of
from rtc import ClockPublisher, rtc_weir, whep_path, whip_path
from weir import TOP, patience, wait_until

PION = TOP / "objs" / "tools" / "pion-peer"


def pion(kind, weir, path, folder, video, audio, seconds, loss=0.0, name="pion"):
    """A Program; what it says at the end is in NAME.json."""
    return Program(name, [PION, kind, weir.http(path), "-video", video, "-audio", audio, "-seconds", seconds,
                          "-loss", loss], folder, stdout=folder / f"{name}.json")


def finish(program, seconds=40):
    """The report of a client that ran to its end."""
    assert program.wait(seconds) == 0, program.log()
    return json.loads(program.stdout.read_text().splitlines()[-1])


def decode(path):
    """MD5 of each picture; any error of the decoder is ours."""
    text = run(["ffmpeg", "-v", "error", "-xerror", "-err_detect", "explode", "-i", path, "-map", "0:v:0",
                "-fps_mode", "passthrough", "-f", "framemd5", "-"]).decode()
    return [line.split(",")[-1].strip() for line in text.splitlines() if not line.startswith("#")]


@pytest.fixture(scope="module")
def clip():
    """(H.264, Opus in Ogg, pictures' MD5s) of 10 s with a key frame each second."""
    video = encoded("-t", "10", "-c:v", "libx264", "-preset", "veryfast", "-profile:v", "baseline", "-b:v", "800k", "-g", "25", "-keyint_min",
                    "25", "-sc_threshold", "0", "-slices", "1", "-pix_fmt", "yuv420p",
                    inputs=("-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25"), suffix="h264", ffmpeg="ffmpeg")
    audio = encoded("-t", "10", "-ac", "2", "-c:a", "libopus", "-page_duration", "20000",
                    inputs=("-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000"), suffix="ogg", ffmpeg="ffmpeg")
    return video, audio, decode(video)


@pytest.mark.works_with("pion", plays="WebRTC", codecs="H.264, Opus", checked="decodes without an error; 5 % and 20 % of packets lost")
def test_pion_plays(new_weir, folder):
    weir = rtc_weir(new_weir)
    losses = {"clean": 0.0, "lossy": 0.05, "bad": 0.2}
    with ClockPublisher(weir.rtmp(), folder, gop=25), contextlib.ExitStack() as stack:
        weir.wait_live()
        players = {name: stack.enter_context(pion("play", weir, whep_path("livestream"), folder, folder / f"{name}.h264",
                                                  folder / f"{name}.ogg", 10, loss, name)) for name, loss in losses.items()}
        reports = {name: finish(player) for name, player in players.items()}
    print(reports)
    whole = reports["clean"]["frames"]  # at the same time
    for name, least in (("clean", 190), ("lossy", 0.9 * whole), ("bad", 0.7 * whole)):
        report = reports[name]
        frames = decode(folder / f"{name}.h264")
        assert len(frames) >= least and report["frames"] >= least, (name, len(frames), report)
        assert (report["dropped"] > 0) == (losses[name] > 0), report
    assert reports["clean"]["missing"] == 0 and min(report["first_ms"] for report in reports.values()) < 1000 * patience(), reports
    sound = run(["ffmpeg", "-v", "error", "-i", folder / "clean.ogg", "-ac", "1", "-ar", "8000", "-f", "s16le", "-"])
    assert len(sound) / 16000 > 7, "sound of 10 s"
    wait_until(lambda: not weir.clients(), 15, "all are gone")


@pytest.mark.works_with("pion", publishes="WebRTC", codecs="H.264, Opus", checked="every frame; 5 % and 20 % of packets lost")
def test_pion_publishes(new_weir, folder, clip):
    weir = rtc_weir(new_weir)
    video, audio, sent = clip
    losses = {"clean": 0.0, "lossy": 0.05, "bad": 0.2}
    with contextlib.ExitStack() as stack:
        publishers = {name: stack.enter_context(pion("publish", weir, whip_path(name), folder, video, audio, 14, loss, name))
                      for name, loss in losses.items()}
        for name in losses:
            weir.wait_live(name, 15)
        with ThreadPoolExecutor() as pool:
            jobs = {name: pool.submit(play_ffmpeg, weir.rtmp(f"live/{name}"), folder, 7, name=f"rtmp-{name}", least=5000)
                    for name in losses}
            recordings = {name: job.result() for name, job in jobs.items()}
        reports = {name: finish(publisher) for name, publisher in publishers.items()}
    print(reports)
    pictures = {}
    for name, recording in recordings.items():  # the clean one first
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, (name, recording.streams())
        check_rising(recording)
        frames = decode(recording.path)
        runs = runs_of(frames, sent)
        assert all(index is not None for one in runs for index in one), f"{name}: pictures that were never sent"
        shape = [(one[0], one[-1]) for one in runs]
        print(name, len(frames), shape)
        pictures[name] = len(frames)
        assert len(frames) > {"clean": 110, "lossy": 0.7 * pictures["clean"], "bad": 25}[name], (name, len(frames), shape)
        if name == "clean":
            assert len(runs) == 1, shape
        assert recording.audio_seconds() > 3
    assert reports["clean"]["dropped"] == 0 and reports["lossy"]["dropped"] > 10 and reports["bad"]["dropped"] > 50, reports
    wait_until(lambda: not weir.clients(), 15, "all are gone")
