"""RTSP with gortsplib, which many servers and players are made of: every way, also encrypted."""

import json
import subprocess

import pytest

from media import check_frames, publisher
from rtsp import group_ports, play_rtsp, rtsp_weir
from test_rtsp import most_runs
from tls import certificate
from weir import TOP, free_port

PEER = TOP / "objs" / "tools" / "gortsplib-peer"


def peer(*words, timeout=60):
    done = subprocess.run([PEER, *(str(word) for word in words)], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture
def server(new_weir, folder):
    certificate(folder)
    secure, group = free_port(), group_ports()
    server = rtsp_weir(new_weir, f"listen 127.0.0.1:{secure} ssl; multicast 239.10.0.0/16; ttl 1; multicast_ports {group};",
                       f'ssl_certificate "{folder}/server.pem"; ssl_certificate_key "{folder}/server.key";')
    server.rtsps = lambda path="live/livestream": f"rtsps://127.0.0.1:{secure}/{path}"
    with publisher(server.rtmp(), folder):
        server.wait_live()
        yield server


def check_played(said, secure=False):
    assert said["lost"] == 0 and said["errors"] == 0 and said["secure"] == secure, said
    assert said["video"] >= 40 and said["audio"] >= 60, said
    # The time of day is known before a report is due every 5 s, and moves with the media, within a frame of it.
    assert 0 <= said["wall_clock"] < 4 and said["apart"] < 0.04, said


@pytest.mark.parametrize("way", ["tcp", "udp", "multicast", "tunnel"])
@pytest.mark.works_with("gortsplib", plays="RTSP", codecs="H.264, AAC",
                        checked="no packet lost by TCP, UDP, multicast and through HTTP; time of day")
def test_it_plays(server, way):
    check_played(peer("play", server.rtsp(), way, 4))


@pytest.mark.parametrize("way", ["tcp", "udp"])
@pytest.mark.works_with("gortsplib", plays="RTSPS", codecs="H.264, AAC", checked="no packet lost, SRTP by TCP and UDP",
                        set="`?srtp` in the address for SRTP")
def test_it_plays_with_srtp(server, way):
    """Its keys come by MIKEY."""
    check_played(peer("play", server.rtsps() + "?srtp", way, 4), secure=True)


@pytest.mark.works_with("gortsplib", plays="RTSPS", codecs="H.264, AAC", checked="no packet lost by TCP")
def test_it_plays_through_tls(server):
    check_played(peer("play", server.rtsps(), "tcp", 4))


@pytest.mark.parametrize("way,secure", [("tcp", False), ("udp", False), ("tunnel", False), ("tcp", True), ("udp", True)])
@pytest.mark.works_with("gortsplib", publishes="RTSP", codecs="H.264, AAC", checked="every frame by TCP, UDP and through HTTP")
@pytest.mark.works_with("gortsplib", publishes="RTSPS", codecs="H.264, AAC", checked="every frame by TCP, and SRTP by UDP")
def test_it_publishes(server, folder, way, secure):
    """By rtsps: gortsplib encrypts what it sends by UDP, and names the key by MIKEY."""
    url = (server.rtsps if secure else server.rtsp)("live/relayed")
    with subprocess.Popen([PEER, "relay", server.rtsp(), url, way, "9"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as relay:
        try:
            server.wait_live("relayed", 20)
            recording = play_rtsp(server.rtsp("live/relayed"), folder)
            said, trouble = relay.communicate(timeout=60)
        finally:
            relay.kill()
    assert relay.returncode == 0, trouble[-2000:]
    assert json.loads(said)["video"] > 100, said
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_frames(recording, least=50, most_runs=most_runs(server))
