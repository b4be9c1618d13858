"""Multicast groups that players ask for: /udp/GROUP:PORT and /rtp/GROUP:PORT by HTTP, the same stream by every other protocol."""

import contextlib
import json
import select
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from browser import Browser, watch
from media import Program, check_both, play_curl, play_ffmpeg, publisher, run
from rtc import rtc_weir
from rtsp import rtsp_weir
from test_group_sources import check_play, free_udp_port, joined, note_pause, sender
from test_sources import sources
from weir import free_port, patience, wait_until


def gateway(new_weir, more=""):
    return new_weir(f"vhost __defaultVhost__ {{ allow_groups 239.0.0.0/8; group_linger 1s; {more} }}")


def answer(url):
    """Status and text."""
    try:
        with urllib.request.urlopen(url, timeout=15) as reply:
            return reply.status, reply.read(100).decode("latin-1")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def read_some(url, size=400_000):
    with urllib.request.urlopen(url, timeout=15) as reply:
        assert reply.headers["Content-Type"] == "video/mp2t"
        return reply.read(size)


def continuity_errors(data):
    """Of whole packets that begin with one."""
    counters, wrong = {}, 0
    for at in range(0, len(data) - 187, 188):
        assert data[at] == 0x47, at
        pid, counter = (data[at + 1] & 0x1F) << 8 | data[at + 2], data[at + 3] & 0x0F
        wrong += pid in counters and counter != (counters[pid] + (1 if data[at + 3] & 0x10 else 0)) % 16
        counters[pid] = counter
    return wrong


@pytest.mark.parametrize("way", ["rtp", "udp"])
@pytest.mark.parametrize("form", ["mpegts", "rtp_mpegts"])
@pytest.mark.works_with("ffmpeg", publishes="multicast", codecs="H.264, AAC", checked="every frame, plain and in RTP", set="`allow_groups`")
def test_a_group_plays_as_it_comes(new_weir, folder, form, way):
    server = gateway(new_weir).start()
    ip = f"239.12.2.{len(way + form) + ord(way[0])}"
    group = f"{ip}:{free_udp_port()}"
    with sender(f"{form[:3] if form.startswith('rtp') else 'udp'}://{group}", folder, form):
        assert continuity_errors(play_curl(server.http(f"/udp/{group}"), folder).path.read_bytes()) == 0
        check_both(play_ffmpeg(server.http(f"/{way}/{group}"), folder, suffix="ts"))
        with urllib.request.urlopen(server.http(f"/udp/{group}"), timeout=15) as player:
            player.read(1_000)
            found = sources(server)
        assert len(found) == 1 and found[0]["state"] == "live" and found[0]["url"] == f"udp://{group}", found
        assert found[0]["group"]["continuity_errors"] == found[0]["group"]["lost"] == 0, found
        wait_until(lambda: not joined(ip), 10, "the group is left")


def test_the_picture_stands_at_once(new_weir, folder):
    """Who comes while somebody plays begins with tables and a key frame, and need not wait for the next one."""
    server = gateway(new_weir).start()
    group = f"239.12.0.2:{free_udp_port()}"
    url = server.http(f"/udp/{group}")
    with sender(f"udp://{group}", folder), urllib.request.urlopen(url, timeout=15) as first:
        first.read(50_000)
        took = []
        for _ in range(5):
            begin = time.monotonic()
            data = read_some(url, 188 * 20)
            took.append(time.monotonic() - begin)
            pids = [(data[at + 1] & 0x1F) << 8 | data[at + 2] for at in range(0, len(data), 188)]
            assert pids[0] == 0 and 0x1000 in pids[1:3], pids[:5]
            key = data[pids.index(0x100) * 188:][:188]
            assert key[1] & 0x40 and key[3] & 0x20 and key[5] & 0x40, "a key frame begins"
            time.sleep(0.3)
    assert sorted(took)[2] < 0.2 * patience(), took  # key frames are 2 s apart


@pytest.mark.parametrize("app", ["udp", "rtp"])
@pytest.mark.parametrize("protocol", ["rtmp", "flv", "ts", "rtsp"])
def test_the_same_group_plays_by_every_protocol(new_weir, folder, protocol, app):
    server = rtsp_weir(new_weir, extra="vhost __defaultVhost__ { allow_groups 239.0.0.0/8; }")
    group = f"239.12.0.3:{free_udp_port()}"
    urls = {"rtmp": server.rtmp(f"{app}/{group}"), "flv": server.http(f"/{app}/{group}.flv"), "ts": server.http(f"/{app}/{group}.ts"),
            "rtsp": server.rtsp(f"{app}/{group}")}
    with sender(f"udp://{group}", folder), urllib.request.urlopen(server.http(f"/udp/{group}"), timeout=15) as first:
        first.read(50_000)
        recording = play_ffmpeg(urls[protocol], folder)
        stream, = [each for each in server.streams() if each["name"] == group]  # one, and it has frames for 10 s more
        assert stream["app"] == "udp", stream
        assert stream["video"] and stream["audio"], stream
        first.read(50_000)
    check_both(recording)


@pytest.mark.parametrize("path, status, reason", [
    ("udp/10.0.0.1:5000", 400, "no multicast group"),
    ("udp/239.1.1.1", 400, "expected [SRC@]GROUP:PORT"),
    ("udp/239.1.1.1:0", 400, "port 0"),
    ("rtp/239.1.1.1:65536", 400, "expected [SRC@]GROUP:PORT"),
    ("rtp/[ff15::1", 400, "expected [SRC@]GROUP:PORT"),
    ("udp/239.1.1.1:5000@nothere0", 400, "no interface nothere0"),
    ("udp/localhost:5000", 400, "expected [SRC@]GROUP:PORT"),
    ("udp", 400, "expected [SRC@]GROUP:PORT"),
    ("udp/232.1.1.1:5000", 403, "allow_groups 232.1.1.1"),
    ("rtp/[ff15::1]:5000", 403, "allow_groups ff15::1"),
])
def test_what_cannot_be_joined_is_refused_with_the_reason(new_weir, path, status, reason):
    server = gateway(new_weir).start()
    code, text = answer(server.http(f"/{path}"))
    assert code == status and reason in text, text
    assert sources(server) == []


def test_the_gateway_is_off_unless_it_is_configured(new_weir):
    server = new_weir("").start()
    code, text = answer(server.http("/udp/239.1.1.1:5000"))
    assert code == 403 and "allow_groups" in text
    assert not joined("239.1.1.1")


def test_keys_are_asked_for_as_everywhere(new_weir, folder):
    server = gateway(new_weir, "security { play_key open-sesame-1234; }").start()
    group = f"239.12.0.4:{free_udp_port()}"
    assert answer(server.http(f"/udp/{group}"))[0] == 403
    assert not joined("239.12.0.4")
    with sender(f"udp://{group}", folder):
        assert len(read_some(server.http(f"/udp/{group}?key=open-sesame-1234"), 100_000)) == 100_000


def test_a_silent_group_is_told_after_a_while(new_weir):
    server = gateway(new_weir, "publish { firstpkt_timeout 1s; } play { wait_publisher 2s; }").start()
    code, _ = answer(server.http("/udp/239.12.0.5:5000"))
    assert code == 404
    wait_until(lambda: not joined("239.12.0.5"), 10, "the group is left")


def test_storms_of_joins_leave_nothing(new_weir, folder):
    """Zapping: hundreds of requests over many groups, most of which nobody sends to."""
    server = gateway(new_weir).start()
    port = free_udp_port()
    group = f"239.12.1.1:{port}"

    def zap(number):
        group = number % 20
        url = server.http(f"/udp/239.12.1.{1 + group}:{port}")
        try:
            with urllib.request.urlopen(url, timeout=0.3 if group else 20) as reply:
                return len(reply.read(10_000))
        except OSError:
            return 0

    with sender(f"udp://{group}", folder):
        with urllib.request.urlopen(server.http(f"/udp/{group}"), timeout=20) as reply:
            reply.read(10_000)  # it sends
        with ThreadPoolExecutor(20) as pool:
            got = list(pool.map(zap, range(300)))
        assert all(size == 10_000 for size in got[::20]), got[::20]
        assert len(sources(server)) <= 20
        wait_until(lambda: "EF0C01" not in Path("/proc/net/igmp").read_text() and "010CEF" not in Path("/proc/net/igmp").read_text(), 20,
                   "all groups are left")
        wait_until(lambda: not server.clients(), 10, "nobody is left")


def test_groups_are_joined_again(new_weir, folder):
    server = new_weir("group_rejoin 5s; vhost __defaultVhost__ { allow_groups 239.0.0.0/8; }").start()
    group = f"239.12.0.6:{free_udp_port()}"
    with sender(f"udp://{group}", folder), urllib.request.urlopen(server.http(f"/udp/{group}"), timeout=15) as player:
        ended = time.monotonic() + 7
        while time.monotonic() < ended:
            assert player.read(10_000)
        assert joined("239.12.0.6")
        found, = sources(server)
        assert found["failures"] == 0, found


@pytest.mark.parametrize("scheme", ["udp", "rtp"])
def test_a_stream_goes_out_to_a_group(new_weir, folder, scheme):
    """multicast_out: what comes back from the group is what was published, and no burst of it."""
    port = free_udp_port()
    server = gateway(new_weir, f"multicast_out live/livestream {scheme}://239.12.0.7:{port}@lo?ttl=2; ").start()
    with publisher(server.rtmp(), folder):
        server.wait_live()
        wait_until(lambda: any(each["role"] == "forward" and each["state"] == "live" for each in sources(server)), 10, "it is sent")
        check_both(play_ffmpeg(server.http(f"/udp/239.12.0.7:{port}@lo"), folder, suffix="ts"))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as member:
            member.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            member.bind(("239.12.0.7", port))
            member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.12.0.7") + socket.inet_aton("127.0.0.1"))
            member.settimeout(20)
            # 40 datagrams a second; a frame of 30 KB at once, as each 2 s, would be 23 of them. Where somebody stood still, again.
            for _ in range(5):
                times = []
                while len(times) < 100:
                    assert len(member.recv(2048)) == 1316 + (12 if scheme == "rtp" else 0)
                    times.append(time.monotonic())
                longest = max(b - a for a, b in zip(times, times[1:]))
                burst = max(sum(1 for other in times if 0 <= other - time_ < 0.01) for time_ in times)
                if longest < 0.3 and burst < 12:
                    break
        assert longest < 0.3 and burst < 12, times


@pytest.mark.parametrize("transport", ["http", "webrtc"])
def test_the_page_plays_a_group(new_weir, folder, transport):
    server = rtc_weir(new_weir, "vhost __defaultVhost__ { allow_groups 239.0.0.0/8; }")
    group = f"239.12.0.8:{free_udp_port()}"
    with sender(f"udp://{group}", folder), Browser(folder) as browser:
        browser.open(server.http(f"/?play=udp/{group}&transport={transport}&autoplay=1"))
        _, last = watch(browser, 3)
        assert (last["width"], last["height"]) == (640, 360)


def undisturbed(relay, read, most=0.2):
    """What read() gives of a time in which the sender never stood still for longer: parities that come too late give nothing back."""
    for _ in range(4):
        relay.pause = 0.0
        found = read()
        if relay.pause < most:
            break
    return found


class LossyGroup:
    """Sends on to a group what comes to three ports of this host, 1 % of the media less."""

    def __init__(self, ip, port):
        self.ports, self.dropped, self.count = {}, 0, 0
        self.pause, self.came = 0.0, None  # the longest time in which nothing came, and when something came last
        base = free_port(6)
        base += base % 2
        self.url = f"rtp://127.0.0.1:{base}"
        for more in (0, 2, 4):
            each = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)  # this thread may stand still
            each.bind(("127.0.0.1", base + more))
            each.setblocking(False)
            self.ports[each] = (ip, port + more)
        self.out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.media = next(iter(self.ports))
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.is_set():
            for each in select.select(list(self.ports), [], [], 0.2)[0]:
                data = each.recv(2048)
                if each is self.media:
                    self.count += 1
                    note_pause(self)
                    if self.count % 100 == 50:
                        self.dropped += 1
                        continue
                self.out.sendto(data, self.ports[each])

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        for each in [*self.ports, self.out]:
            each.close()


def test_fec_gives_back_what_is_lost(new_weir, folder):
    server = gateway(new_weir).start()
    port = free_udp_port()
    with LossyGroup("239.12.0.9", port) as relay:
        # A stream of 2 Mbit/s: a matrix of 5 x 5 takes 130 ms.
        command = ["ffmpeg", "-hide_banner", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=25", "-c:v", "libx264", "-preset",
                   "ultrafast", "-g", "25", "-b:v", "2M", "-f", "rtp_mpegts", "-fec", "prompeg=l=5:d=5", relay.url]
        with Program("sender", command, folder), urllib.request.urlopen(
                server.http(f"/rtp/239.12.0.9:{port}?fec={port + 2}"), timeout=15) as player:
            def read():
                player.read(188 * 1000)
                before, dropped = sources(server)[0]["group"], relay.dropped
                data = player.read(188 * 4000)
                dropped = relay.dropped - dropped
                with contextlib.suppress(AssertionError):  # in a time that is not disturbed
                    wait_until(lambda: sources(server)[0]["group"]["recovered"] - before["recovered"] >= dropped, 5, "all are given back")
                return before, dropped, data, sources(server)[0]["group"]

            before, dropped, data, group = undisturbed(relay, read)
        assert dropped > 3 and group["recovered"] - before["recovered"] >= dropped, (dropped, before, group)
        assert continuity_errors(data) == 0 and group["lost"] == before["lost"], (before, group)
        assert group["continuity_errors"] == before["continuity_errors"], (before, group)


def test_an_rtsp_server_plays_as_a_transport_stream(new_weir, folder):
    camera = rtsp_weir(new_weir)
    server = new_weir("vhost __defaultVhost__ { allow_rtsp 127.0.0.1; }", "gateway").start()
    url = server.http(f"/rtsp/127.0.0.1:{camera.rtsp_port}/live/livestream")
    code, text = answer(server.http("/rtsp/camera.example/live"))
    assert code == 403 and "allow_rtsp camera.example" in text
    assert answer(server.http("/rtsp/127.0.0.1"))[0] == answer(server.http("/rtsp"))[0] == 400
    with publisher(camera.rtmp(), folder):
        camera.wait_live()
        check_both(play_ffmpeg(url, folder, suffix="ts"))
        with urllib.request.urlopen(url, timeout=20) as player:
            player.read(1_000)
            found, = sources(server)
            assert found["url"] == f"rtsp://127.0.0.1:{camera.rtsp_port}/live/livestream", found
            with urllib.request.urlopen(url + "?playseek=30-60", timeout=20) as other:
                assert other.headers["Content-Type"] == "video/mp2t" and len(other.read(50_000)) == 50_000
                assert [each["url"] for each in sources(server)] == [found["url"]] * 2


def test_the_console_shows_groups(new_weir, folder):
    server = gateway(new_weir).start()
    group = f"239.12.0.10:{free_udp_port()}"
    with sender(f"udp://{group}", folder), urllib.request.urlopen(server.http(f"/udp/{group}"), timeout=15) as player:
        player.read(10_000)
        with Browser(folder) as browser:
            browser.open(f"http://127.0.0.1:{server.api_port}/console/")
            wait_until(lambda: f"from udp://{group}" in browser.evaluate("document.getElementById('sources')?.innerText ?? ''")
                       and "bit/s" in browser.evaluate("document.getElementById('sources').innerText"), 15, "the group is shown")
            assert browser.console == [], browser.console


def test_one_group_is_not_asked_for_in_any_number_of_ways(new_weir):
    server = gateway(new_weir).start()
    for port in range(5002, 5022):
        request = urllib.request.Request(server.http(f"/udp/239.12.0.11:5000?fec={port}"), method="HEAD")
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(request, timeout=20).close()
    assert len(sources(server)) <= 4


def test_rtmp_players_who_come_again_have_audio(new_weir, folder):
    """Frames are made while somebody wants them; who comes when nobody did for a while lacks nothing."""
    server = gateway(new_weir).start()
    group = f"239.12.0.12:{free_udp_port()}"
    with sender(f"udp://{group}", folder), urllib.request.urlopen(server.http(f"/udp/{group}"), timeout=15) as player:
        ended = threading.Event()
        reading = threading.Thread(target=lambda: [player.read(2_000) for _ in iter(ended.is_set, True)])
        reading.start()
        try:
            check_play(server.http(f"/udp/{group}.flv"), folder, most_runs=1000, name="first")
            wait_until(lambda: not next(each for each in server.streams() if each["name"] == group)["video"], 30, "nobody wants frames")
            said = json.loads(run(["ffprobe", "-v", "error", "-show_streams", "-of", "json", "-read_intervals", "%+2",
                                   server.http(f"/udp/{group}.flv")]))["streams"]
            assert {each["codec_name"] for each in said} == {"h264", "aac"}, said
        finally:
            ended.set()
            reading.join()
