"""RTSP: a server with its ports, real publishers and players, and a small client that says what it likes."""

import re
import socket
import struct
from pathlib import Path

from media import BRIEF, PLAY_SECONDS, QUICK, SAMPLE, Program, copied, record
from weir import free_port


def rtsp_weir(new_weir, inside="", extra=""):
    """A server, started, with `rtsp_server`; `inside` of it, `extra` at the top level."""
    port, media = free_port(), free_port(2)  # RTCP is behind RTP
    server = new_weir(f"rtsp_server {{ listen 127.0.0.1:{port}; rtp_listen 127.0.0.1:{media}; {inside} }}\n{extra}")
    server.rtsp_port = port
    server.rtsp_media_port = media
    server.rtsp = lambda path="live/livestream", user="": f"rtsp://{user}127.0.0.1:{port}/{path}"
    return server.start()


def group_ports():
    """The first of four, for `multicast_ports`."""
    return free_port(4)


def play_rtsp(url, folder, transport="tcp", seconds=PLAY_SECONDS, name="rtsp-player", ffmpeg="ffmpeg", **options):
    """ffmpeg, to a file: what it got, without decoding."""
    out = folder / f"{name}.mkv"
    command = [ffmpeg, *QUICK, "-y", *BRIEF, "-rtsp_transport", transport, "-i", url, *copied(out, "-map", "0")]
    return record(name, command, folder, seconds, output=out, **options)


def publish_rtsp(url, folder, transport="tcp", source=SAMPLE, output=("-c", "copy"), name="rtsp-publisher", ffmpeg="ffmpeg"):
    return Program(name, [ffmpeg, *QUICK, "-re", "-stream_loop", "-1", "-i", source,
                          *output, "-f", "rtsp", "-rtsp_transport", transport, url], folder)


def gst(name, folder, *words):
    return Program(name, ["gst-launch-1.0", "-e", *words], folder)


def gst_publisher(url, folder, transport="tcp", source=SAMPLE):
    """GStreamer's rtspclientsink, in real time."""
    return gst("gst-publisher", folder, "rtspclientsink", "name=s", f"location={url}", f"protocols={transport}", "latency=0",
               "filesrc", f"location={source}", "!", "flvdemux", "name=d",
               "d.video", "!", "h264parse", "!", "identity", "sync=true", "!", "queue", "!", "s.",
               "d.audio", "!", "aacparse", "!", "identity", "sync=true", "!", "queue", "!", "s.")


class Answer:
    def __init__(self, head, body):
        lines = head.split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.reason = lines[0].split(" ", 2)[2]
        self.fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.fields.setdefault(name.strip().lower(), value.strip())
        self.body = body

    def __repr__(self):
        return f"{self.status} {self.reason} {self.fields} {self.body[:300]}"


class Client:
    """One connection; requests one by one, or bytes as they are. Interleaved frames on the way are kept."""

    def __init__(self, port, url, host="127.0.0.1"):
        self.socket = socket.create_connection((host, port), 10)
        self.url = url
        self.cseq = 0
        self.session = None
        self.buffer = b""
        self.frames = []  # (channel, payload)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def request(self, method, url=None, body="", **fields):
        self.say(method, url, body, **fields)
        return self.answer()

    def say(self, method, url=None, body="", **fields):
        self.cseq += 1
        head = [f"{method} {url or self.url} RTSP/1.0", f"CSeq: {self.cseq}"]
        if self.session and "Session" not in fields:
            head.append(f"Session: {self.session}")
        head += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items() if value is not None]
        if body:
            head.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join(head) + "\r\n\r\n" + body)

    def fill(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError(f"the server ended the connection; unread: {self.buffer[:200]}")
        self.buffer += data

    def take_frame(self):
        while len(self.buffer) < 4:
            self.fill()
        channel, size = self.buffer[1], struct.unpack(">H", self.buffer[2:4])[0]
        while len(self.buffer) < 4 + size:
            self.fill()
        self.frames.append((channel, self.buffer[4:4 + size]))
        self.buffer = self.buffer[4 + size:]
        return self.frames[-1]

    def frame(self, channel=None, seconds=10):
        """The next interleaved frame, of that channel."""
        self.socket.settimeout(seconds)
        while True:
            while not self.buffer:
                self.fill()
            assert self.buffer[:1] == b"$", self.buffer[:200]
            found = self.take_frame()
            if channel is None or found[0] == channel:
                return found[1]

    def answer(self, seconds=10):
        self.socket.settimeout(seconds)
        while True:
            while not self.buffer:
                self.fill()
            if self.buffer[:1] == b"$":
                self.take_frame()
                continue
            while b"\r\n\r\n" not in self.buffer:
                self.fill()
            head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            found = Answer(head.decode(), b"")
            length = int(found.fields.get("content-length", 0))
            while len(self.buffer) < length:
                self.fill()
            found.body, self.buffer = self.buffer[:length].decode(), self.buffer[length:]
            if "session" in found.fields:
                self.session = found.fields["session"].split(";")[0]
            return found

    def closed(self, seconds=10):
        """Whether the server ends the connection in time."""
        self.socket.settimeout(seconds)
        try:
            while True:
                self.fill()
        except (EOFError, ConnectionError):
            return True
        except TimeoutError:
            return False

    def set_up(self, transports):
        """DESCRIBE, and SETUP of the tracks in their order; the answers."""
        described = self.request("DESCRIBE", Accept="application/sdp")
        assert described.status == 200, described
        base = described.fields["content-base"]
        controls = re.findall(r"^a=control:(\S+)", described.body, re.M)[1:]
        return described, [self.request("SETUP", base + control, Transport=transport)
                           for control, transport in zip(controls, transports)]


def rtp_info(answer):
    """[(seq, rtptime)] in the order of the tracks."""
    return [(int(re.search(r"seq=(\d+)", part).group(1)), int(re.search(r"rtptime=(\d+)", part).group(1)))
            for part in answer.fields["rtp-info"].split(",")]


def rtp_header(packet):
    marker_type, sequence, timestamp, ssrc = struct.unpack(">BHII", packet[1:12])
    return marker_type & 0x7F, sequence, timestamp, ssrc


def gst_play(url, folder, name, seconds=4, source=("protocols=tcp", "latency=200", "buffer-mode=none")):
    """GStreamer's rtspsrc, to a file. By TCP and through a tunnel with buffer-mode=none: times as the server gives them; the other modes fit
    them to when packets come, and then matroskamux drops frames of the GOP that comes at once in the beginning. By UDP a GOP comes slower, so
    that what rtspsrc does without being told keeps all frames."""
    out = folder / f"{name}.mkv"
    properties = [each for each in source if not (url.startswith("rtsph") and each.startswith("protocols="))]
    command = ["env", "GST_DEBUG=default:2", "/usr/bin/python3", Path(__file__).with_name("gst_rtsp_player.py"), url, out, *properties]
    return record(name, command, folder, seconds, output=out)
