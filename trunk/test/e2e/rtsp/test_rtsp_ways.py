"""RTSP by all of its ways (RTSPS, HTTP tunnels, multicast), and with passwords."""

import contextlib
import hashlib
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from media import Program, publisher, run
from rtsp import Client, group_ports, gst_play, play_rtsp, publish_rtsp, rtp_header, rtsp_weir
from test_rtsp import check_rtsp
from tls import certificate
from weir import free_port, wait_until

KEY = "key-of-the-test"


@pytest.mark.works_with("ffmpeg", publishes="RTSPS", codecs="H.264, AAC", checked="every frame")
@pytest.mark.works_with("ffmpeg", plays="RTSPS", codecs="H.264, AAC", checked="every frame")
def test_rtsps(new_weir, folder):
    certificate(folder)
    secure = free_port()
    server = rtsp_weir(new_weir, f"listen 127.0.0.1:{secure} ssl;",
                       f'ssl_certificate "{folder}/server.pem"; ssl_certificate_key "{folder}/server.key";')
    url = f"rtsps://127.0.0.1:{secure}/live/livestream"
    with publish_rtsp(url, folder):
        server.wait_live()
        check_rtsp(server, play_rtsp(url, folder))
        assert any(each["protocol"] == "rtsp" and each["encrypted"] for each in server.clients())


@pytest.mark.works_with("ffmpeg", plays="RTSP", codecs="H.264, AAC", checked="through HTTP")
def test_ffmpeg_plays_through_http(new_weir, folder):
    server = rtsp_weir(new_weir)
    with publisher(server.rtmp(), folder):
        server.wait_live()
        check_rtsp(server, play_rtsp(server.rtsp(), folder, "http"))
    wait_until(lambda: server.api("/api/v1/summaries")["data"]["rtsp"]["tunnels"] == 0, 15, "the tunnel is gone")


@pytest.mark.works_with("GStreamer", plays="RTSP", codecs="H.264, AAC", checked="every frame by TCP and through HTTP")
def test_gstreamer_plays(new_weir, folder):
    server = rtsp_weir(new_weir)
    with publisher(server.rtmp(), folder):
        server.wait_live()
        for name, url in (("tcp", server.rtsp()), ("http", server.rtsp().replace("rtsp://", "rtsph://"))):
            check_rtsp(server, gst_play(url, folder, f"gst-{name}"), 1.5)


@pytest.mark.alone  # it makes pictures of its own of what comes late
@pytest.mark.works_with("GStreamer", plays="RTSP", codecs="H.264, AAC", checked="every frame by UDP")
def test_gstreamer_plays_by_udp_as_it_does_by_itself(new_weir, folder):
    """With its own jitter buffer of 2 s, begun at different distances from the newest key frame."""
    server = rtsp_weir(new_weir)

    def play(wait):
        time.sleep(wait)
        return gst_play(server.rtsp(), folder, f"gst-udp-{wait}", 9, source=("protocols=udp",))

    with publisher(server.rtmp(), folder), ThreadPoolExecutor(3) as pool:
        server.wait_live()
        recordings = list(pool.map(play, (0.0, 0.7, 1.4)))
    for recording in recordings:
        check_rtsp(server, recording, 4)


def test_multicast_has_one_sender(new_weir, folder):
    port = group_ports()
    server = rtsp_weir(new_weir, f"multicast 239.10.0.0/16; ttl 1; multicast_ports {port};")
    with publisher(server.rtmp(), folder):
        server.wait_live()
        with Client(server.rtsp_port, server.rtsp()) as one, Client(server.rtsp_port, server.rtsp()) as two:
            groups = []
            for client in (one, two):
                _, answers = client.set_up(["RTP/AVP;multicast", "RTP/AVP;multicast"])
                assert [answer.status for answer in answers] == [200, 200], answers
                groups.append(re.search(r"destination=([0-9.]+)", answers[0].fields["transport"]).group(1))
                assert f"port={port}-{port + 1}" in answers[0].fields["transport"] and "ttl=1" in answers[0].fields["transport"]
            assert groups[0] == groups[1] and groups[0].startswith("239.10.")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
                receiver.bind((groups[0], port))
                receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                                    socket.inet_aton(groups[0]) + socket.inet_aton("127.0.0.1"))
                receiver.settimeout(10)
                assert one.request("PLAY").status == 200 and two.request("PLAY").status == 200
                numbers = [rtp_header(receiver.recv(2048))[1] for _ in range(50)]
                assert all((b - a) % 65536 == 1 for a, b in zip(numbers, numbers[1:])), numbers
                assert one.request("TEARDOWN").status == 200
                receiver.setblocking(False)
                with contextlib.suppress(BlockingIOError):  # what came before
                    while True:
                        receiver.recv(2048)
                receiver.settimeout(10)
                receiver.recv(2048)
                assert two.request("TEARDOWN").status == 200


def test_a_stream_without_multicast(new_weir, folder):
    server = rtsp_weir(new_weir)
    with publisher(server.rtmp(), folder):
        server.wait_live()
        with Client(server.rtsp_port, server.rtsp()) as client:
            _, answers = client.set_up(["RTP/AVP;multicast"])
            assert answers[0].status == 461


@pytest.mark.works_with("ffmpeg", publishes="RTSP", codecs="H.264, AAC", checked="user and password")
@pytest.mark.works_with("ffmpeg", plays="RTSP", codecs="H.264, AAC", checked="user and password")
@pytest.mark.works_with("GStreamer", plays="RTSP", codecs="H.264, AAC", checked="user and password")
def test_passwords(new_weir, folder):
    server = rtsp_weir(new_weir, extra="vhost __defaultVhost__ { security { "
                                       f'publish_user studio password-of-studio; play_key {KEY}; }} }}')
    refused = run(["sh", "-c", f"ffprobe -v error -rtsp_transport tcp {server.rtsp()} 2>&1 || true"], 30).decode()
    assert "401 Unauthorized" in refused
    with publish_rtsp(server.rtsp(user="studio:wrong-password@"), folder, name="wrong") as wrong:
        assert wrong.wait(30) != 0
    with publish_rtsp(server.rtsp(user="studio:password-of-studio@"), folder):
        server.wait_live()
        check_rtsp(server, play_rtsp(server.rtsp(user=f"anybody:{KEY}@"), folder, name="digest"))
        check_rtsp(server, play_rtsp(server.rtsp(f"live/livestream?key={KEY}"), folder, name="key"))
        check_rtsp(server, gst_play(server.rtsp(user=f"anybody:{KEY}@"), folder, "gst-digest"), 1.5)
    assert KEY not in server.log() and "password-of-studio" not in server.log()


@pytest.mark.parametrize("algorithm", ["SHA-256", "MD5"])
def test_a_login_as_the_crate_http_auth_writes_it(new_weir, folder, algorithm):
    """By which retina logs in: it takes only challenges with qop, and counts its answers of one nonce."""
    server = rtsp_weir(new_weir, extra=f"vhost __defaultVhost__ {{ security {{ play_key {KEY}; }} }}")
    with publisher(server.rtmp(), folder), Client(server.rtsp_port, server.rtsp()) as client:
        server.wait_live()
        client.say("DESCRIBE", Accept="application/sdp")
        while b"\r\n\r\n" not in client.buffer:
            client.fill()
        challenges = re.findall(r"(?m)^WWW-Authenticate: Digest (.*)\r$", client.buffer.decode())
        challenge = next(each for each in challenges if ("SHA-256" in each) == (algorithm == "SHA-256"))
        assert client.answer().status == 401
        asked = dict(re.findall(r'(\w+)="?([^",]*)', challenge))
        assert asked["qop"] == "auth", challenge

        def digest(*parts):
            return hashlib.new(algorithm.replace("-", ""), ":".join(parts).encode()).hexdigest()

        def login(method, uri, count):
            fields = (asked["nonce"], f"{count:08x}", "fce6f6c31cd66c99", "auth")
            response = digest(digest("viewer", asked["realm"], KEY), *fields, digest(method, uri))
            return (f'Digest username="viewer", realm="{asked["realm"]}", uri="{uri}", nonce="{fields[0]}", '
                    + (f"algorithm={asked['algorithm']}, " if "algorithm" in asked else "") +
                    f'nc={fields[1]}, cnonce="{fields[2]}", qop=auth, response="{response}"')

        described = client.request("DESCRIBE", Authorization=login("DESCRIBE", client.url, 1), Accept="application/sdp")
        assert described.status == 200, described
        base = described.fields["content-base"]
        url = base + re.findall(r"^a=control:(\S+)", described.body, re.M)[1]
        way = "RTP/AVP/TCP;unicast;interleaved=0-1"
        assert client.request("SETUP", url, Transport=way, Authorization=login("SETUP", url, 2)).status == 200
        assert client.request("PLAY", base, Authorization=login("PLAY", base, 3)).status == 200
        assert client.frame(0)


def test_a_player_by_udp_is_shown_with_what_it_reports(new_weir, folder):
    server = rtsp_weir(new_weir)
    with publisher(server.rtmp(), folder):
        server.wait_live()
        out = folder / "udp.mkv"
        with Program("udp-player", ["ffmpeg", "-nostdin", "-y", "-rtsp_transport", "udp", "-i", server.rtsp(), "-c", "copy", out], folder):
            def link():
                links = [each["link"] for each in server.clients() if each["protocol"] == "rtsp" and each.get("link")]
                return links and links[0]["jitter_ms"] is not None and links[0]["packets"] > 100 and links[0]
            assert wait_until(link, 30, "a receiver report came")["transport"] == "udp"
        wait_until(lambda: not [each for each in server.clients() if each["protocol"] == "rtsp"], 10, "it has left by TEARDOWN")
