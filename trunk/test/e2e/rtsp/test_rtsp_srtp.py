"""SRTP with keys in the description (a=crypto), under RTSPS: a client made of pylibsrtp plays and publishes, ffmpeg plays."""

import base64
import os
import re
import select
import socket
import ssl
import struct
import threading
import time

import pytest
from pylibsrtp import Error as SrtpError
from pylibsrtp import Policy, Session

from media import SAMPLE, Recording, check_frames, publisher
from rtsp import Client, gst, gst_play, play_rtsp, rtsp_weir
from test_rtsp import most_runs
from tls import certificate
from weir import free_port, wait_until

SUITES = {"AES_CM_128_HMAC_SHA1_80": Policy.SRTP_PROFILE_AES128_CM_SHA1_80, "AES_CM_128_HMAC_SHA1_32": Policy.SRTP_PROFILE_AES128_CM_SHA1_32}
TCP = ["RTP/{}/TCP;unicast;interleaved=0-1", "RTP/{}/TCP;unicast;interleaved=2-3"]


class SecureClient(Client):
    def __init__(self, port, url):
        super().__init__(port, url)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.socket = context.wrap_socket(self.socket)


@pytest.fixture
def server(new_weir, folder):
    certificate(folder)
    secure = free_port()
    server = rtsp_weir(new_weir, f"listen 127.0.0.1:{secure} ssl;",
                       f'ssl_certificate "{folder}/server.pem"; ssl_certificate_key "{folder}/server.key";')
    server.secure_port = secure
    server.rtsps = lambda path="live/livestream": f"rtsps://127.0.0.1:{secure}/{path}"
    with publisher(server.rtmp(), folder):
        server.wait_live()
        yield server


def session(suite, key, inbound):
    return Session(Policy(key=key, ssrc_type=Policy.SSRC_ANY_INBOUND if inbound else Policy.SSRC_ANY_OUTBOUND,
                          srtp_profile=SUITES[suite]))


def key_of(described):
    lines = re.findall(r"^a=crypto:\d+ (\S+) inline:(\S+)", described.body, re.M)
    assert len(lines) == 2 and "RTP/SAVP " in described.body and "RTP/AVP " not in described.body, described.body
    return lines[0][0], base64.b64decode(lines[0][1])


def h264_of(packets, jumps):
    """RFC 6184 packets, in order, as a byte stream; so often there may be others between two of them."""
    numbers = [struct.unpack(">H", packet[2:4])[0] for packet in packets]
    assert sum((b - a) % 65536 != 1 for a, b in zip(numbers, numbers[1:])) <= jumps, numbers
    out = bytearray()
    for packet in packets:
        payload = packet[12:]
        kind = payload[0] & 31
        if kind == 24:
            rest = payload[1:]
            while rest:
                size = struct.unpack(">H", rest[:2])[0]
                out += b"\0\0\0\1" + rest[2:2 + size]
                rest = rest[2 + size:]
        elif kind == 28:
            if payload[1] & 0x80:
                out += b"\0\0\0\1" + bytes([payload[0] & 0xE0 | payload[1] & 31])
            out += payload[2:]
        else:
            assert 0 < kind < 24, kind
            out += b"\0\0\0\1" + payload
    return bytes(out)


def check_h264(server, packets, folder, name, least=50):
    """Of the one player that is there."""
    jumps = next(each["resyncs"] for each in server.clients() if (each["protocol"], each["role"]) == ("rtsp", "player"))
    path = folder / f"{name}.h264"
    path.write_bytes(h264_of(packets, jumps))
    check_frames(Recording(path), least=least, most_runs=1 + 2 * jumps)


def refused_as_plain(keys, packet):
    """Somebody without the key, and somebody with another one, get nothing of it."""
    suite, key = keys
    try:
        session(suite, bytes(len(key)), inbound=True).unprotect(packet)
    except SrtpError:
        return True
    return False


def test_a_player_over_tcp(server, folder):
    with SecureClient(server.secure_port, server.rtsps() + "?srtp") as client:
        described, answers = client.set_up([each.format("SAVP") for each in TCP])
        assert all(answer.status == 200 and answer.fields["transport"].startswith("RTP/SAVP/TCP") for answer in answers), answers
        keys = key_of(described)
        opening = session(*keys, inbound=True)
        played = client.request("PLAY")
        assert played.status == 200
        first = {}
        video, reports = [], 0
        began = time.monotonic()
        # A track that has not begun when the player does is reported with the next reports, 5 s later.
        while time.monotonic() < began + 4 or ((reports < 2 or len(video) < 80) and time.monotonic() < began + 20):
            client.frames.clear()
            client.frame()
            channel, data = client.frames[-1]
            if channel % 2:
                report = opening.unprotect_rtcp(data)
                reports += report[1] == 200
                continue
            assert refused_as_plain(keys, data)
            packet = opening.unprotect(data)
            first.setdefault(channel, packet)
            if channel == 0:
                video.append(packet)
        assert reports >= 2, "sender reports of both tracks"
        said = [int(number) for number in re.findall(r"seq=(\d+)", played.fields["rtp-info"])]
        assert said == [struct.unpack(">H", first[channel][2:4])[0] for channel in (0, 2)]
        check_h264(server, video, folder, "tcp")
        assert client.request("TEARDOWN").status == 200


def test_a_player_by_udp(server, folder):
    rtp, rtcp = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for each in (rtp, rtcp):
        each.bind(("127.0.0.1", 0))
        each.settimeout(10)
    with SecureClient(server.secure_port, server.rtsps() + "?srtp") as client:
        described, answers = client.set_up([f"RTP/SAVP;unicast;client_port={rtp.getsockname()[1]}-{rtcp.getsockname()[1]}"])
        assert answers[0].status == 200 and answers[0].fields["transport"].startswith("RTP/SAVP;"), answers
        keys = key_of(described)
        opening = session(*keys, inbound=True)
        assert client.request("PLAY").status == 200
        began, video = time.monotonic(), []
        while time.monotonic() < began + 4 or (len(video) < 80 and time.monotonic() < began + 20):
            video.append(opening.unprotect(rtp.recv(2048)))
        assert opening.unprotect_rtcp(rtcp.recv(2048))[1] == 200
        check_h264(server, video, folder, "udp")
        ssrc = struct.unpack(">I", video[0][8:12])[0]
        highest = struct.unpack(">H", video[-1][2:4])[0]
        report = struct.pack(">BBHIIIIIII", 0x81, 201, 7, 4711, ssrc, 0x40000000, highest, 90, 0, 0)
        port = int(re.search(r"server_port=\d+-(\d+)", answers[0].fields["transport"]).group(1))
        rtcp.sendto(session(*keys, inbound=False).protect_rtcp(report), ("127.0.0.1", port))

        def losses():
            return [each["link"]["loss"] for each in server.clients() if each.get("link")]
        wait_until(lambda: losses() == [0.25], 15, "the report was opened")
        assert client.request("TEARDOWN").status == 200
    rtp.close()
    rtcp.close()


@pytest.mark.works_with("ffmpeg", plays="RTSPS", codecs="H.264, AAC", checked="every frame, SRTP by TCP",
                        set="`?srtp` in the address for SRTP")
def test_ffmpeg_plays(server, folder):
    """It says RTP/AVP in SETUP and does what the description says."""
    recording = play_rtsp(server.rtsps() + "?srtp", folder)
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_frames(recording, least=50, most_runs=most_runs(server))


@pytest.mark.alone  # it makes pictures of its own of what comes late
@pytest.mark.parametrize("way", ["tcp", "udp"])
@pytest.mark.works_with("GStreamer", plays="RTSPS", codecs="H.264, AAC", checked="every frame, SRTP by TCP and UDP",
                        set="`?srtp` in the address for SRTP")
def test_gstreamer_plays(server, folder, way):
    """It takes the key of a=key-mgmt, and names its own in SETUP."""
    source = (f"protocols={way}", "tls-validation-flags=0", *(("latency=200", "buffer-mode=none") if way == "tcp" else ()))
    recording = gst_play(server.rtsps() + "?srtp", folder, f"gst-{way}", 4 if way == "tcp" else 9, source=source)
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_frames(recording, least=40, most_runs=most_runs(server))


@pytest.mark.works_with("GStreamer", publishes="RTSPS", codecs="H.264, AAC", checked="every frame, SRTP by TCP",
                        set="`rtspclientsink profiles=savp` for SRTP")
def test_gstreamer_publishes(server, folder):
    with gst("gst-publisher", folder, "rtspclientsink", "name=s", f"location={server.rtsps('live/sealed')}", "protocols=tcp",
             "profiles=savp", "tls-validation-flags=0", "latency=0", "filesrc", f"location={SAMPLE}", "!", "flvdemux", "name=d",
             "d.video", "!", "h264parse", "!", "identity", "sync=true", "!", "queue", "!", "s.",
             "d.audio", "!", "aacparse", "!", "identity", "sync=true", "!", "queue", "!", "s."):
        server.wait_live("sealed", 20)
        recording = play_rtsp(server.rtsp("live/sealed"), folder)
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_frames(recording, least=50)


class Relay(threading.Thread):
    """Plays without SRTP, and publishes what it gets with it."""

    def __init__(self, player, publisher, seals, udp=None, server_ports=()):
        super().__init__(daemon=True)
        self.player, self.publisher, self.seals, self.udp, self.ports = player, publisher, seals, udp, server_ports
        self.ending, self.error = threading.Event(), None

    def run(self):
        try:
            while not self.ending.is_set():
                self.player.frames.clear()
                self.player.frame()
                channel, data = self.player.frames[-1]
                seal = self.seals[channel // 2]
                sealed = seal.protect_rtcp(data) if channel % 2 else seal.protect(data)
                if self.udp:
                    self.udp[channel].sendto(sealed, ("127.0.0.1", self.ports[channel % 2]))
                else:
                    self.publisher.send(b"$" + struct.pack(">BH", channel, len(sealed)) + sealed)
                if select.select([self.publisher.socket], [], [], 0)[0] and self.publisher.socket.pending() == 0:
                    self.publisher.socket.recv(4096)
        except (OSError, EOFError) as error:
            self.error = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.join(5)


@pytest.mark.parametrize("way", ["tcp", "udp"])
@pytest.mark.parametrize("suite", SUITES)
def test_a_publisher(server, folder, way, suite):
    url = server.rtsps("live/sealed")
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
    with Client(server.rtsp_port, server.rtsp()) as source, SecureClient(server.secure_port, url) as sink:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        numbers = [each.getsockname()[1] for each in sockets]
        described, _ = source.set_up([each.format("AVP") for each in TCP])
        keys = [os.urandom(30), os.urandom(30)]
        body = described.body.replace("RTP/AVP ", "RTP/SAVP ")
        for track, key in enumerate(keys):
            line = f"a=crypto:1 {suite} inline:{base64.b64encode(key).decode()}\r\n"
            body = body.replace(f"a=control:trackID={track}\r\n", f"a=control:trackID={track}\r\n{line}")
        announced = sink.request("ANNOUNCE", body=body, Content_Type="application/sdp")
        assert announced.status == 200, announced
        ports = ()
        for track in range(2):
            transport = TCP[track].format("SAVP") if way == "tcp" else \
                f"RTP/SAVP;unicast;client_port={numbers[2 * track]}-{numbers[2 * track + 1]}"
            answer = sink.request("SETUP", f"{url}/trackID={track}", Transport=transport + ";mode=record")
            assert answer.status == 200, answer
            if way == "udp":
                ports = tuple(int(port) for port in re.search(r"server_port=(\d+)-(\d+)", answer.fields["transport"]).groups())
        assert sink.request("RECORD").status == 200
        assert source.request("PLAY").status == 200
        seals = [session(suite, key, inbound=False) for key in keys]
        with Relay(source, sink, seals, sockets if way == "udp" else None, ports) as relay:
            server.wait_live("sealed")
            recording = play_rtsp(server.rtsp("live/sealed"), folder)
            assert relay.error is None, relay.error
    for each in sockets:
        each.close()
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_frames(recording, least=50)


def test_srtp_is_refused_where_it_cannot_be(server):
    sdp = ("v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 0 RTP/SAVP 96\r\na=rtpmap:96 H264/90000\r\na=control:0\r\n")
    key = base64.b64encode(bytes(30)).decode()
    crypto = f"a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:{key}\r\n"
    with Client(server.rtsp_port, server.rtsp()) as plain:
        asked = plain.request("DESCRIBE", server.rtsp() + "?srtp")
        assert asked.status == 461 and "rtsps" in asked.reason, asked
        _, answers = plain.set_up([TCP[0].format("SAVP")])
        assert answers[0].status == 461 and "rtsps" in answers[0].reason, answers
    with Client(server.rtsp_port, server.rtsp("live/b")) as plain:
        announced = plain.request("ANNOUNCE", body=sdp + crypto, Content_Type="application/sdp")
        assert announced.status == 461 and "rtsps" in announced.reason, announced
    with SecureClient(server.secure_port, server.rtsps()) as secure:
        _, answers = secure.set_up([TCP[0].format("SAVP")])
        assert answers[0].status == 461 and "?srtp" in answers[0].reason, answers
    with SecureClient(server.secure_port, server.rtsps("live/b")) as secure:
        assert secure.request("ANNOUNCE", body=sdp, Content_Type="application/sdp").status == 200
        without = secure.request("SETUP", server.rtsps("live/b/0"), Transport="RTP/SAVP/TCP;unicast;interleaved=0-1;mode=record")
        assert without.status == 461 and "a=crypto" in without.reason, without
        other = secure.request("ANNOUNCE", body=sdp + crypto.replace("AES_CM_128", "F8_128"), Content_Type="application/sdp")
        assert other.status == 415, other
    assert key not in server.log()
