"""The newest key frame of a stream as a picture."""

import subprocess
import time
import urllib.error
from concurrent.futures import ThreadPoolExecutor

import pytest

from hls import fetch, status_of
from media import encoded, modern_ffmpeg, publisher, run
from test_record import short_gops
from test_ts import KINDS
from weir import wait_until


def pixels(data, size=(32, 18)):
    """What a picture shows, small and grey."""
    return subprocess.run(["ffmpeg", "-v", "error", "-i", "-", "-frames:v", "1", "-vf", f"scale={size[0]}:{size[1]}:flags=area", "-pix_fmt", "gray",
                           "-f", "rawvideo", "-"], input=data, capture_output=True, check=True, timeout=30).stdout


def key_frames(source, folder):
    """The same of all key frames of a file."""
    run([modern_ffmpeg(), "-v", "error", "-skip_frame", "nokey", "-i", source, "-fps_mode", "passthrough", folder / "key-%03d.png"])
    return [pixels(path.read_bytes()) for path in sorted(folder.glob("key-*.png"))]


def difference(one, other):
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / len(one)


@pytest.mark.parametrize("kind", ["h264", "hevc"])
def test_it_is_the_newest_key_frame(new_weir, folder, kind):
    source = short_gops(folder) if kind == "h264" else encoded(*KINDS["hevc"][0])
    sent = key_frames(source, folder)
    server = new_weir().start()
    with publisher(server.rtmp(), folder, source, ffmpeg=modern_ffmpeg()):
        server.wait_live()
        shown = []

        def another():
            with fetch(server.http("/live/livestream.jpg")) as answer:
                assert answer.headers["Content-Type"] == "image/jpeg" and answer.headers["Cache-Control"] == "no-cache"
                picture = answer.read()
            return picture if picture not in shown else None
        for _ in range(3):
            shown.append(wait_until(another, 20, "a new picture"))
    for picture in map(pixels, shown):
        assert min(difference(picture, each) for each in sent) < 3


def test_who_asks_at_once_gets_the_same_picture(new_weir, folder):
    server = new_weir("security { play_key s3cret; }").start()
    url = server.http("/live/livestream.jpg")
    assert status_of(f"{url}?key=s3cret") == 404
    with publisher(server.rtmp(), folder, short_gops(folder)):
        server.wait_live()
        assert status_of(url) == 403 and status_of(f"{url}?key=wrong") == 403
        began = time.monotonic()
        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda _: fetch(f"{url}?key=s3cret").read(), range(200)))
        metrics = server.metrics()
        made = int(metrics.split("\nweir_still_made_total ")[1].split()[0])
        most = 2 + time.monotonic() - began  # a new one each second
        assert 1 <= made <= most and "\nweir_still_answered_total 200" in metrics
        assert len(set(answers)) <= made
    wait_until(lambda: status_of(f"{url}?key=s3cret") == 404, 20, "the publisher has gone")


def test_another_publisher_has_another_picture(new_weir, folder):
    """Their first key frames have the same time on the stream's timeline."""
    server = new_weir().start()
    url = server.http("/live/livestream.jpg")
    shown = []
    for name, look in (("one", "null"), ("other", "negate")):
        (folder / name).mkdir()
        source = encoded("-vf", look, "-c:v", "libx264", "-g", "1000", "-an")
        with publisher(server.rtmp(), folder, source, name=name):
            server.wait_live()
            with fetch(url) as answer:
                shown.append(pixels(answer.read()))
        wait_until(lambda: not any(each["publish"]["active"] for each in server.streams()), 20, "the publisher has gone")
    assert difference(*shown) > 50, "the second one is the negative of the first"


def test_streams_without_picture_and_without_snapshots(new_weir, folder):
    server = new_weir("vhost __defaultVhost__ { application hidden { play { snapshots off; } } }").start()
    (folder / "sound").mkdir()
    sound = encoded("-vn", "-c:a", "aac")
    with publisher(server.rtmp("live/sound"), folder, sound, name="sound"), \
            publisher(server.rtmp("hidden/cam"), folder, short_gops(folder), name="hidden"):
        server.wait_live("sound")
        server.wait_live("cam")
        with pytest.raises(urllib.error.HTTPError) as refused:
            fetch(server.http("/live/sound.jpg"))
        assert refused.value.code == 404 and "no picture" in refused.value.read().decode()
        assert status_of(server.http("/hidden/cam.jpg")) == 404
        assert status_of(server.http("/x.jpg")) == 404


def test_a_stream_that_a_source_brings_for_it(new_weir, folder):
    origin = new_weir("", "origin").start()
    edge = new_weir(f"application live {{ source {origin.rtmp('live')} {{ linger 0; }} }}", "edge").start()
    with publisher(origin.rtmp("live/cam"), folder, short_gops(folder)):
        origin.wait_live("cam")
        with fetch(edge.http("/live/cam.jpg")) as answer:
            assert answer.headers["Content-Type"] == "image/jpeg"
        assert status_of(edge.http("/live/nobody.jpg")) == 404
