"""Behind the caches that doc/protocols/hls.md configures, every address that a player asks for is answered, and low-latency players cost the
server a handful of requests a second. The configurations are those of the page, word for word; scripts/cache-bench measures with
the same ones. WEIR_HLS_PLAYERS=500 for that many."""

import concurrent.futures
import contextlib
import gzip
import os
import re
import shutil
import sys
import time
from urllib.error import HTTPError
from urllib.parse import urljoin

import pytest

from hls import Viewer, fetch
from media import Program, encoded, publisher
from test_load_client import bench
from weir import TOP, accepts, free_port, wait_until

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from bench.problem import Problem  # noqa: E402
from cache_bench.caches import CACHES, Nginx, Varnish, is_valid  # noqa: E402
from cache_bench.recipes import recipe  # noqa: E402

PLAYERS = int(os.environ.get("WEIR_HLS_PLAYERS", "60"))
SECONDS = 6
PARTS_PER_SECOND = 5  # of 200 ms: a playlist and a part each
MOST_PER_SECOND = 2 * PARTS_PER_SECOND + 5
TESTED = (Nginx, Varnish)  # scripts/install-deps.sh has them; the others are asked for their opinion where they are installed


def asked(server):
    """Playlists and pieces of media that the server has answered."""
    hls = server.api("/api/v1/summaries")["data"]["hls"]
    return sum(hls[name] for name in ("playlists", "segments", "parts"))


@contextlib.contextmanager
def cached(server, folder, kind=Nginx):
    """A cache in front of the server: its port."""
    place = folder / "cache"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    cache = kind(place, free_port(), server.http_port)
    assert cache.path(), f"{kind.program} is not there; scripts/install-deps.sh --tests"
    cache.write()
    with Program(kind.program, cache.command(), folder) as running:
        wait_until(lambda: accepts(cache.port) or not running.running(), 10, f"{kind.program} runs")
        yield cache.port


def read(url, **headers):
    """(fields, body); fails where the answer is not 200."""
    with fetch(url, **headers) as answer:
        return answer.headers, answer.read()


@pytest.mark.parametrize("kind", [each for each in CACHES.values() if each in TESTED or each.path()], ids=lambda kind: kind.program)
def test_the_configurations_are_accepted(kind, folder):
    cache = kind(folder, free_port(), free_port())
    cache.write()
    good, text = is_valid(cache)
    assert good, text


@pytest.mark.parametrize("kind", CACHES.values(), ids=CACHES)
def test_a_configuration_names_the_ports_and_folders_that_are_replaced(kind):
    with pytest.raises(Problem, match="no such word"):
        recipe(kind.title, {"no such word": ""})
    assert "8080" in "".join(recipe(kind.title, {})), "Weir's default port"


@pytest.mark.alone
@pytest.mark.parametrize("kind", TESTED, ids=lambda kind: kind.program)
def test_every_kind_of_address_is_answered(new_weir, folder, kind):
    server = new_weir("hls { sessions off; }").start()
    with cached(server, folder, kind) as port, publisher(server.rtmp(), folder, encoded("-c:v", "libx264", "-g", "25", "-c:a", "aac")):
        server.wait_live()
        base = f"http://127.0.0.1:{port}/live/livestream.m3u8"
        viewer = Viewer(base)
        wait_until(lambda: len(viewer.reload().segments) >= 2, 20, "there are segments")
        playlist = viewer.playlist
        segment, part = playlist.segments[-1].uri, playlist.segments[-1].parts[0].uri
        for uri in (playlist.segments[-1].map, segment, part):
            assert "max-age=3600" in read(urljoin(viewer.list_url, uri))[0]["Cache-Control"], uri
        fields, body = read(f"http://127.0.0.1:{port}/live/livestream.mpd")
        assert fields["Content-Type"] == "application/dash+xml" and b"<MPD" in body
        clock = "/live/livestream.hls/time"
        assert clock.rsplit("/", 1)[1].encode() in re.search(rb'UTCTiming[^>]* value="([^"?]+)', body)[1], "dash.js asks for it"
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for fields, body in pool.map(read, [f"http://127.0.0.1:{port}{clock}"] * 8):
                assert re.match(rb"\d{4}-\d\d-\d\dT", body) and fields["Cache-Control"] == "no-store"
        assert time.monotonic() - began < 2, "no request for the time waits in a lock, where each takes half a second"
        header = re.search(rb"init-\d+\.(video|audio)\.mp4", read(f"http://127.0.0.1:{port}/live/livestream.mpd")[1])[0].decode()
        assert read(f"http://127.0.0.1:{port}/live/livestream.hls/{header}")[1][4:8] == b"ftyp"


@pytest.mark.alone
@pytest.mark.parametrize("kind", TESTED, ids=lambda kind: kind.program)
def test_keys_are_given_and_never_kept(new_weir, folder, kind):
    server = new_weir("hls { sessions off; encrypt on; }").start()
    with cached(server, folder, kind) as port, publisher(server.rtmp(), folder, encoded("-c:v", "libx264", "-g", "25", "-c:a", "aac")):
        server.wait_live()
        viewer = Viewer(f"http://127.0.0.1:{port}/live/livestream.m3u8")
        wait_until(lambda: viewer.reload().segments, 20, "there is a segment")
        uri = re.search(rb'EXT-X-KEY:[^\n]*URI="([^"]+)"', read(viewer.list_url)[1])[1].decode()
        fields, key = read(urljoin(viewer.list_url, uri))
        assert len(key) == 16 and "no-store" in fields["Cache-Control"], fields


@pytest.mark.alone
@pytest.mark.parametrize("kind", TESTED, ids=lambda kind: kind.program)
def test_one_answer_is_for_every_spelling_of_accept_encoding(new_weir, folder, kind):
    server = new_weir("hls { sessions off; }").start()
    with cached(server, folder, kind) as port, publisher(server.rtmp(), folder, encoded("-c:v", "libx264", "-g", "25", "-c:a", "aac")):
        server.wait_live()
        viewer = Viewer(f"http://127.0.0.1:{port}/live/livestream.m3u8")
        wait_until(lambda: len(viewer.reload().segments) >= 2, 20, "there are segments")
        url = f"{viewer.list_url}?_HLS_msn={viewer.playlist.last()}"  # may be kept for six target durations
        before, texts = asked(server), set()
        for spelling in ("gzip, deflate, br, zstd", "gzip, deflate, br", "gzip", "identity", "gzip;q=1.0, *;q=0.5"):
            fields, body = read(url, **{"Accept-Encoding": spelling})
            if "gzip" not in spelling:
                assert not fields["Content-Encoding"], "its client does not take gzip"
            texts.add(gzip.decompress(body) if fields["Content-Encoding"] == "gzip" else body)
        assert len(texts) == 1 and texts.pop().startswith(b"#EXTM3U")
        assert asked(server) == before + 1


def test_viewers_who_wait_for_a_publisher_cost_one_request(new_weir, folder):
    """Issue 32: the lock of nginx ended after 20 s, and a viewer may wait for 30 s (`wait_publisher`)."""
    server = new_weir("hls { sessions off; } play { wait_publisher 22s; }").start()

    def status(_):
        with pytest.raises(HTTPError) as refused:
            fetch(f"http://127.0.0.1:{port}/live/nobody.m3u8", 40)
        return refused.value.code

    with cached(server, folder) as port, concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert set(pool.map(status, range(6))) == {404}
    assert "\nweir_hls_refused_total 1\n" in server.metrics()


@pytest.mark.alone
@pytest.mark.works_with("nginx", caches="HLS", codecs="H.264, AAC",
                        checked="60 low-latency players get every frame, the server at most 15 requests a second",
                        set="`hls { sessions off; }` and [its configuration](protocols/hls.md#nginx)")
def test_a_cache_carries_the_players(new_weir, folder):
    server = new_weir("hls { sessions off; }").start()
    with cached(server, folder) as port:
        result = bench(folder, "--url", f"http://127.0.0.1:{port}/live/bench.m3u8", "--publish-url", server.rtmp("live/bench"), "--publish",
                       "500k", "--gop", "60", "--clients", PLAYERS, "--warm-up", "6s", "--ramp", f"{PLAYERS / 100}s", "--duration", f"{SECONDS}s",
                       subcommand="hls-play")
        requests = asked(server)
    hls, media = result.report["hls"], result.report["media"]
    seconds = SECONDS + PLAYERS / 100 + 3
    figures = (f"{PLAYERS} players, {hls['requests_per_second']} requests a second to the cache, {requests / seconds:.1f} to the server, "
               f"delay p50 {result.report['latency']['all_ms']['p50']:.0f} ms, p99 {result.report['latency']['all_ms']['p99']:.0f} ms, "
               f"stalls {hls['viewer_stalls']}")
    print(figures)
    assert result.report["clients"]["broken"] == 0 and media["lost"] + media["corrupted"] + media["unstamped"] == 0, result.text
    assert hls["parts"] > PLAYERS * SECONDS * PARTS_PER_SECOND * 0.5, result.text
    assert requests / seconds < MOST_PER_SECOND, figures
