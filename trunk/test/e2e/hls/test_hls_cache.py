"""Behind nginx as a cache, as doc/protocols/hls.md configures it, low-latency players cost the server a handful of requests a second.
WEIR_HLS_PLAYERS=500 for that many."""

import os
import re
import shutil

import pytest

from media import Program
from test_load_client import bench
from test_sources import nginx
from weir import TOP, free_port, wait_until

pytestmark = pytest.mark.alone

PLAYERS = int(os.environ.get("WEIR_HLS_PLAYERS", "60"))
SECONDS = 6
PARTS_PER_SECOND = 5  # of 200 ms: a playlist and a part each
MOST_PER_SECOND = 2 * PARTS_PER_SECOND + 5


def documented(port, origin, cache):
    """The block of the documentation, with other addresses."""
    page = (TOP / "doc/protocols/hls.md").read_text()
    text = re.search(r"```nginx\n(proxy_cache_path .*?)```", page, re.S)[1]
    for old, new in (("listen 80;", f"listen 127.0.0.1:{port};"), ("127.0.0.1:8080", f"127.0.0.1:{origin}"), ("/var/cache/nginx/weir", str(cache))):
        assert old in text
        text = text.replace(old, new)
    return text


def asked(server):
    """Playlists and pieces of media that the server has answered."""
    hls = server.api("/api/v1/summaries")["data"]["hls"]
    return sum(hls[name] for name in ("playlists", "segments", "parts"))


def test_a_cache_carries_the_players(new_weir, folder):
    server = new_weir("hls { sessions off; }").start()
    port = free_port()
    shutil.rmtree(folder / "cache", ignore_errors=True)
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx-error.log;\nworker_rlimit_nofile 4096;\n"
        f"events {{ worker_connections 2048; }}\nhttp {{ access_log off; {temporary}\n{documented(port, server.http_port, folder / 'cache')} }}\n")
    with Program("nginx", [nginx()[0], "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "nginx-error.log"], folder) as cache:
        wait_until(lambda: (folder / "nginx.pid").exists() or not cache.running(), 10, "nginx runs")
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
