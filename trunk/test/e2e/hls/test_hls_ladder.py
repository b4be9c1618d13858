"""The qualities of a stream stand in its multivariant playlist wherever each of them is published."""

import contextlib
import time

from hls import Viewer
from media import publisher
from processes import publish_elsewhere, start
from redis_server import Redis
from relays import SECRET, node
from weir import wait_until

LADDER = "hls { part 200ms; variants live/low live/lower live/nobody; }"
BEGINS_IN = 1.5  # seconds; a quality that does not come would be waited for 2 s


def check_ladder(viewer):
    """Three qualities, each with media of its own."""
    names = [uri.split("?")[0] for _, uri in viewer.multivariant.variants]
    assert names == ["cam.hls/index.m3u8", "cam.hls/1/index.m3u8", "cam.hls/2/index.m3u8"], names


def read(viewer):
    """As if it were the first time: of a stream that has just begun the target duration may still grow."""
    viewer.playlist = None
    return viewer.reload()


def play(url):
    with contextlib.suppress(OSError):  # the first one begins the relays
        Viewer(url)
    took = []
    for _ in range(3):
        began = time.monotonic()
        check_ladder(Viewer(url))
        took.append(time.monotonic() - began)
    assert min(took) < BEGINS_IN, f"{took} s: nobody waits for a quality that nobody publishes"
    for variant in range(3):
        viewer = Viewer(url, variant=variant)
        first = read(viewer)
        assert viewer.get(first.header)[4:8] == b"ftyp" and viewer.get(first.segments[-1].uri)[4:8] in (b"moof", b"styp")
        wait_until(lambda: read(viewer).segments[-1].number > first.segments[-1].number, 15, "it goes on")
        assert len(viewer.playlist.reports) == 2, "the present of the other two"


def publish_all(stack, folder, nodes):
    """Each quality at the next of them."""
    for place, name in enumerate(("cam", "low", "lower")):
        at = nodes[place % len(nodes)]
        stack.enter_context(publisher(at.rtmp(f"live/{name}"), folder, name=f"publisher-{name}"))
        at.wait_live(name)


def test_of_a_server_that_has_them_all(new_weir, folder):
    a = node(new_weir, "a").start()
    b = node(new_weir, "b", a, more=LADDER).start()
    with contextlib.ExitStack() as stack:
        publish_all(stack, folder, [a])
        play(b.http("/live/cam.m3u8"))


def test_of_nodes_that_have_one_each(new_weir, folder):
    with Redis(folder) as redis, contextlib.ExitStack() as stack:
        nodes = []
        for name in "abc":
            server = new_weir("", name)
            server.config_path.write_text(
                server.config_path.read_text() + f"cluster {{ node {name}; registry {redis.url}; secret {SECRET}; allow_nodes 127.0.0.0/8;\n"
                f"advertise http://127.0.0.1:{server.http_port}; }}\n{LADDER}\n")
            nodes.append(server.start())
        for each in nodes:
            wait_until(lambda each=each: each.api("/api/v1/cluster")["cluster"]["registry"]["lease"], 10, "the node has its lease")
        publish_all(stack, folder, nodes)
        for each in nodes:
            play(each.http("/live/cam.m3u8"))


def test_of_processes_that_have_one_each(new_weir, folder):
    weir = start(new_weir, LADDER)
    with contextlib.ExitStack() as stack:
        taken = []
        for name in ("cam", "low", "lower"):
            program, process = publish_elsewhere(weir, folder, name, taken)
            stack.enter_context(program)
            taken.append(process)
        for _ in range(3):
            play(weir.http("/live/cam.m3u8"))
