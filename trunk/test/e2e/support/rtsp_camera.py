"""A camera that speaks RTSP as cameras do: real media of ffmpeg, sent on with the flaw that a test asks for."""

import base64
import contextlib
import hashlib
import re
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

from media import SAMPLE, Program
from weir import free_port, wait_until

H264_IN_BAND = ("-c:v", "copy", "-bsf:v", "h264_mp4toannexb")
SPARE_SECONDS = 2  # that a session lives longer than its timeout


@dataclass
class Flaws:
    """What this camera does otherwise than a good one. The defaults are a good one."""

    content_base: str | None = "right"     # "wrong", "relative", "doubled" (its scheme); None: not sent
    control: str = "relative"              # "absolute"; "inner": absolute with the address behind a NAT
    session_control: str | None = "*"      # of the session level; a second one follows where it is "twice"
    transports: tuple = ("udp", "tcp", "multicast")
    server_port: bool = True               # in answers to SETUP
    ssrc: str | None = None                # in answers to SETUP
    cseq: bool = True
    channels: int = 0                      # added to those that were asked for
    eats_udp: bool = False                 # a firewall
    zero_times: bool = False               # all RTP times are 0
    broken_lines: bool = False             # in the description, an m= line among them
    keep_alive: bool = True                # else 454 to all that comes while it plays
    sprop: bool = True                     # parameter sets in the description
    clock: float | None = None             # its wall clock when it starts, since 1970; None: the right one
    report_delay: float | None = 0.0       # before the first sender report; None: never
    public: str | None = "OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN"
    timeout: float | None = 60             # of sessions: without a request for so long they end; None: not said, not kept
    refuses_range: bool = False
    mixed: bool = False                    # media in the middle of answers, and before that to PLAY
    joined_audio: int = 1                  # packets of audio put together
    login: tuple | None = None             # (user, password)
    algorithm: str = "MD5"
    basic: bool = False
    stale_after: int | None = None         # requests a nonce is good for
    says_stale: bool = True
    redirect: str | None = None
    group: str = "239.255.78.1"
    group_port: int = 0


@dataclass
class Seen:
    """What clients did."""

    requests: list = field(default_factory=list)
    transports: list = field(default_factory=list)  # of SETUP
    sessions_expired: int = 0
    reports: int = 0   # RTCP of clients
    punched: int = 0   # packets to our RTP ports


class Camera:
    """Sends the sample, or what `source` and `output` make of it, to every client that plays."""

    def __init__(self, folder, name="camera", source=SAMPLE, video=("-c:v", "copy"), audio=("-c:a", "copy"), **flaws):
        self.folder = folder
        self.name = name
        self.flaws = Flaws(**flaws)
        self.seen = Seen()
        self.port = free_port()
        self.source, self.video, self.audio = source, video, audio
        self.clients = set()
        self.lock = threading.Lock()
        self.open = False
        self.last_time = {}

    @property
    def url(self):
        return f"rtsp://127.0.0.1:{self.port}/live/main"

    # ---- life ----

    def __enter__(self):
        self.inputs = []
        kinds = [kind for kind, output in (("v", self.video), ("a", self.audio)) if output]
        for _ in kinds:
            self.inputs.append(self._pair())
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.open = True
        self.started = time.monotonic()
        self.ahead = 0.0 if self.flaws.clock is None else self.flaws.clock - time.time()
        self.group_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.group_socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        self.flaws.group_port = self.flaws.group_port or (free_port(5) + 1) // 2 * 2  # a pair for each track
        for track, pair in enumerate(self.inputs):
            for rtcp, receiver in enumerate(pair):
                threading.Thread(target=self._relay, args=(track, bool(rtcp), receiver), daemon=True).start()
        self.begin_media(self.source, self.video, self.audio)
        self.sdp = wait_until(lambda: self._read_sdp(len(kinds)), 15, "the camera has a description")
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def begin_media(self, source, video, audio):
        self.sdp_path = self.folder / f"{self.name}.sdp"
        command = ["ffmpeg", "-hide_banner", "-nostdin", "-re", "-stream_loop", "-1", "-i", source]
        outputs = [("0:v:0", "-an", video), ("0:a:0", "-vn", audio)]
        for (mapped, without, output), pair in zip([o for o in outputs if o[2]], self.inputs):
            # Small packets: frames are cut, which is what has to be put together.
            command += ["-map", mapped, without, *output, "-f", "rtp",
                        f"rtp://127.0.0.1:{pair[0].getsockname()[1]}?rtcpport={pair[1].getsockname()[1]}&pkt_size=1200"]
        self.media = Program(f"{self.name}-media", [*command, "-sdp_file", self.sdp_path], self.folder)
        self.media.__enter__()

    def __exit__(self, *_):
        self.open = False
        self.media.end()
        self.kill_clients()
        for each in [self.listener, self.group_socket, *(s for pair in self.inputs for s in pair)]:
            each.close()

    def kill_clients(self):
        with self.lock:
            for client in list(self.clients):
                client.close()

    @staticmethod
    def _pair():
        for _ in range(100):
            one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            if port % 2 == 0:
                with contextlib.suppress(OSError):
                    two = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                    two.bind(("127.0.0.1", port + 1))
                    return one, two
            one.close()
        raise RuntimeError("no pair of ports")

    # ---- media ----

    def _relay(self, track, rtcp, receiver):
        held = []
        with contextlib.suppress(OSError):
            while self.open:
                packet = bytearray(receiver.recv(2048))
                if not rtcp and self.flaws.zero_times:
                    packet[4:8] = bytes(4)
                if not rtcp and track == len(self.inputs) - 1 and self.flaws.joined_audio > 1:
                    held.append(packet)
                    if len(held) < self.flaws.joined_audio:
                        continue
                    packet = held[0] + b"".join(bytes(each[12:]) for each in held[1:])
                    packet[2:4] = struct.pack(">H", self.last_time.setdefault(track, 0) & 0xFFFF)
                    self.last_time[track] += 1
                    held = []
                if rtcp:
                    delay = self.flaws.report_delay
                    if delay is None or time.monotonic() < self.started + delay:
                        continue
                    self.set_clock(packet)
                self.last_time[(track, rtcp)] = struct.unpack(">I", packet[4:8])[0]
                with self.lock:
                    self.group_served = False  # one packet for all of a group
                    for client in list(self.clients):
                        client.send_media(track, rtcp, bytes(packet))

    def now(self):
        """What its wall clock says."""
        return time.time() + self.ahead

    def set_clock(self, compound):
        """The sender report of ffmpeg that this begins with gets the time of this camera."""
        if compound[1] == 200:
            ntp = int.from_bytes(compound[8:16]) + int(self.ahead * 2**32)
            compound[8:16] = (ntp % 2**64).to_bytes(8)

    def _read_sdp(self, tracks):
        """ffmpeg's, with controls and without its addresses."""
        text = self.sdp_path.read_text() if self.sdp_path.exists() else ""
        if text.count("m=") < tracks or not text.endswith("\n"):
            assert self.media.running(), self.media.log()[-2000:]
            return None
        flaws, lines, track = self.flaws, [], -1
        for line in text.replace("SDP:\n", "").splitlines():
            if line.startswith(("c=", "b=", "a=control")):
                continue
            if line.startswith("m="):
                if track < 0 and flaws.session_control:
                    lines.append(f"a=control:{'*' if flaws.session_control == 'twice' else flaws.session_control}")
                    lines += ["a=control:rtsp://10.0.0.9/other"] if flaws.session_control == "twice" else []
                track += 1
                line = re.sub(r"^(m=\w+) \d+", r"\1 0", line)
            if not flaws.sprop:
                line = re.sub(r";? *sprop-(parameter-sets|vps|sps|pps)=[^;]*", "", line)
            lines.append(line)
            if line.startswith("m="):
                base = {"relative": "", "absolute": f"{self.url}/", "inner": "rtsp://10.0.0.9:554/live/main/"}
                lines.append(f"a=control:{base[flaws.control]}trackID={track}")
        if flaws.broken_lines:
            lines = ["i cam", *lines[:1], "a=:nothing", "a=name:\x01", *lines[1:], "x" * 5000, "m=application 0",
                     "a=control:trackID=9"]
        return "\r\n".join(lines) + "\r\n"

    # ---- clients ----

    def _accept(self):
        with contextlib.suppress(OSError):
            while self.open:
                connection, _ = self.listener.accept()
                client = CameraClient(self, connection)
                threading.Thread(target=client.run, daemon=True).start()


class CameraClient:
    def __init__(self, camera, connection):
        self.camera, self.connection, self.flaws = camera, connection, camera.flaws
        self.tracks = {}      # index: what was agreed
        self.playing = False
        self.write_lock = threading.Lock()
        self.session = "66334873"
        self.nonce, self.nonce_uses, self.nonces = None, 0, 0
        self.held_answer = None
        self.heard = time.monotonic()
        self.sockets = []

    def close(self):
        self.playing = False
        self.camera.clients.discard(self)
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)  # its reader would keep it open
        for each in [*self.sockets, self.connection]:
            with contextlib.suppress(OSError):
                each.close()

    def run(self):
        with contextlib.suppress(OSError, ConnectionError):
            reader = self.connection.makefile("rb")
            while (request := self.read(reader)) is not None:
                self.heard = time.monotonic()
                self.answer(*request)
        with self.camera.lock:
            self.close()

    def read(self, reader):
        first = reader.read(1)
        while first == b"$":
            _, size = struct.unpack(">BH", reader.read(3))
            reader.read(size)
            self.camera.seen.reports += 1
            first = reader.read(1)
        if not first:
            return None
        head = first + reader.readline()
        method, url, _ = head.decode().split(" ", 2)
        fields = {}
        while (line := reader.readline().decode().strip()):
            name, _, value = line.partition(":")
            fields[name.strip().lower()] = value.strip()
        reader.read(int(fields.get("content-length", 0)))
        self.camera.seen.requests.append((method, url, fields))
        return method, url, fields

    # ---- answers ----

    def reply(self, status, fields, request, body=""):
        lines = [f"RTSP/1.0 {status}"]
        if self.flaws.cseq:
            lines.append(f"CSeq: {request.get('cseq', 0)}")
        lines += [f"{name}: {value}" for name, value in fields.items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode()
        with self.write_lock:
            if self.flaws.mixed and self.tracks:
                # A frame of its own, in the middle of the head: RTCP that means nothing.
                cut = head.index(b"\r\n") + 2
                frame = b"$" + bytes([1]) + struct.pack(">H", 8) + bytes.fromhex("80c9000112345678")
                head = head[:cut] + frame + head[cut:]
            self.connection.sendall(head + body.encode())

    def answer(self, method, url, fields):
        flaws = self.flaws
        if flaws.redirect and method == "DESCRIBE":
            self.reply("302 Found", {"Location": flaws.redirect}, fields)
            return
        if not flaws.keep_alive and self.playing and method in ("OPTIONS", "GET_PARAMETER"):
            self.reply("454 Session Not Found", {}, fields)
            return
        if flaws.login and method != "OPTIONS" and not self.allowed(method, url, fields):
            return
        known = {"OPTIONS": self.options, "DESCRIBE": self.describe, "SETUP": self.set_up, "PLAY": self.play,
                 "GET_PARAMETER": self.get_parameter, "PAUSE": self.pause, "TEARDOWN": self.teardown}
        if method not in known:
            self.reply("501 Not Implemented", {}, fields)
            return
        known[method](url, fields)

    def options(self, _, fields):
        self.reply("200 OK", {"Public": self.flaws.public} if self.flaws.public else {}, fields)

    def get_parameter(self, _, fields):
        if "GET_PARAMETER" in (self.flaws.public or ""):
            self.reply("200 OK", {"Session": self.session}, fields)
        else:
            self.reply("405 Method Not Allowed", {}, fields)

    def describe(self, _, fields):
        base = {None: {}, "right": {"Content-Base": self.camera.url + "/"}, "wrong": {"Content-Base": "unknown"},
                "relative": {"Content-Base": "/live/main/"}, "doubled": {"Content-Base": f"rtsp://{self.camera.url}/"}}[self.flaws.content_base]
        self.reply("200 OK", {"Content-Type": "application/sdp", **base}, fields, self.camera.sdp)

    def set_up(self, url, fields):
        camera, flaws, offer = self.camera, self.flaws, fields["transport"]
        camera.seen.transports.append(offer)
        found = re.search(r"/live/main/+trackID=(\d)$", url)
        if not found:
            self.reply("404 Not Found", {}, fields)
            return
        track = int(found[1])
        way = "tcp" if "/TCP" in offer else "multicast" if "multicast" in offer else "udp"
        if way not in flaws.transports:
            self.reply("461 Unsupported Transport", {}, fields)
            return
        agreed = {"way": way}
        if way == "tcp":
            channel = int(re.search(r"interleaved=(\d+)", offer)[1]) + flaws.channels
            agreed["channel"] = channel
            answer = f"RTP/AVP/TCP;unicast;interleaved={channel}-{channel + 1}"
        elif way == "udp":
            first = int(re.search(r"client_port=(\d+)", offer)[1])
            agreed["to"] = (self.connection.getpeername()[0], first)
            agreed["sockets"] = camera._pair()
            self.sockets += agreed["sockets"]
            threading.Thread(target=self.hear_reports, args=(agreed["sockets"][1],), daemon=True).start()
            own = agreed["sockets"][0].getsockname()[1]
            answer = f"RTP/AVP;unicast;client_port={first}-{first + 1}"
            if flaws.server_port:
                answer += f";server_port={own}-{own + 1}"
        else:
            port = flaws.group_port + 2 * track
            agreed["to"] = (flaws.group, port)
            answer = f"RTP/AVP;multicast;destination={flaws.group};port={port}-{port + 1};ttl=1"
        if flaws.ssrc:
            answer += f";ssrc={flaws.ssrc}"
        self.tracks[track] = agreed
        timeout = "" if flaws.timeout is None else f";timeout={int(flaws.timeout)}"
        self.reply("200 OK", {"Transport": answer, "Session": self.session + timeout}, fields)

    def play(self, _, fields):
        if self.flaws.refuses_range and "range" in fields:
            self.reply("457 Invalid Range", {}, fields)
            return
        if self.flaws.mixed:
            self.begin()
            time.sleep(0.3)  # media comes before the answer
            self.reply("200 OK", {"Session": self.session}, fields)
        else:
            self.reply("200 OK", {"Session": self.session, "RTP-Info": f"url={self.camera.url}/trackID=0;seq=0;rtptime=0"},
                       fields)
            self.begin()

    def pause(self, _, fields):
        self.playing = False
        self.reply("200 OK", {"Session": self.session}, fields)

    def begin(self):
        self.playing = True
        with self.camera.lock:
            self.camera.clients.add(self)

    def teardown(self, _, fields):
        self.reply("200 OK", {}, fields)
        with self.camera.lock:
            self.close()

    # ---- login ----

    def allowed(self, method, url, fields):
        shown = fields.get("authorization", "")
        flaws = self.flaws
        if flaws.basic:
            right = "Basic " + base64.b64encode(":".join(flaws.login).encode()).decode()
            if shown == right:
                return True
            self.reply("401 Unauthorized", {"WWW-Authenticate": 'Basic realm="camera"'}, fields)
            return False
        said = dict(re.findall(r'(\w+)="?([^",]*)"?', shown))
        stale = flaws.stale_after is not None and self.nonce_uses >= flaws.stale_after
        if self.nonce and not stale and said.get("nonce") == self.nonce:
            digest = (lambda text: (hashlib.sha256 if flaws.algorithm == "SHA-256" else hashlib.md5)(text.encode()).hexdigest())
            a1 = digest(f"{flaws.login[0]}:camera:{flaws.login[1]}")
            if said.get("response") == digest(f"{a1}:{self.nonce}:" + digest(f"{method}:{url}")):
                self.nonce_uses += 1
                return True
        self.nonces += 1
        self.nonce, self.nonce_uses = f"nonce{self.nonces}", 0
        challenge = f'Digest realm="camera", nonce="{self.nonce}", algorithm={flaws.algorithm}'
        if stale and flaws.says_stale:
            challenge += ", stale=TRUE"
        self.reply("401 Unauthorized", {"WWW-Authenticate": challenge}, fields)
        return False

    # ---- media ----

    def hear_reports(self, receiver):
        with contextlib.suppress(OSError):
            while receiver.recv(2048):
                self.camera.seen.reports += 1

    def has_unread(self):
        """Whether it has said something that our reader has not come to."""
        return bool(select.select([self.connection], [], [], 0)[0])

    def send_media(self, track, rtcp, packet):
        agreed, flaws = self.tracks.get(track), self.flaws
        if not agreed or not self.playing:
            return
        if flaws.timeout and time.monotonic() - self.heard > flaws.timeout + SPARE_SECONDS and not self.has_unread():
            self.camera.seen.sessions_expired += 1
            self.close()
            return
        with contextlib.suppress(OSError):
            if agreed["way"] == "tcp":
                with self.write_lock:
                    self.connection.sendall(b"$" + struct.pack(">BH", agreed["channel"] + rtcp, len(packet)) + packet)
            elif agreed["way"] == "multicast":
                if self.camera.group_served:
                    return
                self.camera.group_served = True
                host, port = agreed["to"]
                self.camera.group_socket.sendto(packet, (host, port + rtcp))
            elif not flaws.eats_udp:
                host, port = agreed["to"]
                agreed["sockets"][int(rtcp)].sendto(packet, (host, port + rtcp))
