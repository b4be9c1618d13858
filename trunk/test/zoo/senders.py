"""The inputs: what a clip is on the wire of each protocol, and publishers that send it at its times."""

import base64
import struct
import subprocess
import threading
import time

from hostile import Peer, chunk
from media import Program
from rtc import whip_path
from rtsp import Client
from weir import wait_until
from zoo import mpegts, rtp
from zoo.units import AUDIO, VIDEO, Framed
from zoo.whep import PION

CHUNK = 4096


class Paced(threading.Thread):
    """Sends each piece when it is due; `error` is what ended it early."""

    def __init__(self, pieces, send, begin):
        super().__init__(daemon=True)
        self.pieces, self.send_piece, self.begin = pieces, send, begin
        self.error = None

    def run(self):
        try:
            for due, piece in self.pieces:
                if (wait := self.begin + due - time.monotonic()) > 0:
                    time.sleep(wait)
                self.send_piece(piece)
        except (OSError, EOFError, AssertionError) as error:
            self.error = error


# ---- RTMP ------------------------------------------------------------------------------------------------------------

FOUR_CC = {"hevc": b"hvc1", "av1": b"av01", "h264": b"avc1", "opus": b"Opus", "aac": b"mp4a"}


def lengths(nals):
    return b"".join(nal if isinstance(nal, Framed) else len(nal).to_bytes(4, "big") + nal for nal in nals)


def video_bodies(clip, unit):
    """The messages of a unit of video, without their headers of RTMP."""
    key = 0x10 if unit.key or unit.config else 0x20
    offset = round(unit.pts * 1000) - round(unit.dts * 1000)
    if unit.config:
        yield bytes([0x17, 0, 0, 0, 0]) + unit.config.record if clip.codec == "h264" and not unit.extra_track else \
            bytes([0x80 | key]) + FOUR_CC[clip.codec] + unit.config.record
        return
    for message in unit.messages:
        data = b"".join(message) if clip.codec == "av1" else lengths(message)
        if unit.extra_track:  # one more track, E-RTMP v2 "ManyTracks" is not used
            yield bytes([0x80 | key | 6, 0x01]) + FOUR_CC[clip.codec] + bytes([unit.extra_track]) + offset.to_bytes(3, "big", signed=True) + data
        elif clip.codec == "h264":
            yield bytes([key | 7, 1]) + offset.to_bytes(3, "big", signed=True) + data
        elif clip.codec == "hevc":
            yield bytes([0x80 | key | 1]) + b"hvc1" + offset.to_bytes(3, "big", signed=True) + data
        else:
            yield bytes([0x80 | key | 1]) + b"av01" + data


def audio_body(clip, unit):
    data, kind = (unit.config.record, 0) if unit.config else (unit.data, 1)
    if unit.extra_track:
        return bytes([0x95, kind]) + FOUR_CC[clip.audio_codec] + bytes([unit.extra_track]) + data
    if clip.audio_codec == "aac":
        return bytes([0xAF, kind]) + data
    return bytes([0x90 | kind]) + b"Opus" + data


def rtmp_messages(clip):
    """(due, bytes)."""
    found = []
    for unit in clip.units:
        stamp = round(unit.dts * 1000) & 0xFFFFFFFF
        if unit.track == VIDEO:
            bodies, kind, stream = list(video_bodies(clip, unit)), 9, 6
        elif unit.track == AUDIO:
            bodies, kind, stream = [audio_body(clip, unit)], 8, 4
        else:
            bodies, kind, stream = [b"\x02\0\x0d@setDataFrame" + unit.data], 18, 5
        found += [(unit.due, chunk(kind, body, 1, stamp, stream, CHUNK)) for body in bodies]
    return found


class RtmpPublisher:
    def __init__(self, clip, server, path, folder):
        self.clip, self.server, self.folder = clip, server, folder
        self.app, self.stream = path.split("/")
        self.pieces = rtmp_messages(clip)

    def connect(self):
        self.peer = Peer(self.server.rtmp_port, self.app)
        self.peer.publish(self.stream, configs=False)
        self.peer.send(chunk(1, CHUNK.to_bytes(4, "big"), 0, chunk_stream=2))

    def start(self, begin):
        self.thread = Paced(self.pieces, self.send, begin)
        self.thread.start()

    def send(self, piece):
        self.peer.send(piece)
        self.peer.drain()

    def end(self):
        self.thread.join()
        self.peer.socket.close()
        return self.thread.error


# ---- RTSP ------------------------------------------------------------------------------------------------------------


def sdp_of(clip):
    """(description, its tracks in order)."""
    lines, tracks = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=zoo", "c=IN IP4 0.0.0.0", "t=0 0"], []
    if config := clip.config(VIDEO):
        sets = [base64.b64encode(each).decode() for each in config.parameters]
        lines.append("m=video 0 RTP/AVP 96")
        if clip.codec == "h264":
            lines += ["a=rtpmap:96 H264/90000", f"a=fmtp:96 packetization-mode=1; sprop-parameter-sets={','.join(sets[:2])}"]
        elif clip.codec == "hevc":
            lines += ["a=rtpmap:96 H265/90000", f"a=fmtp:96 sprop-vps={sets[0]}; sprop-sps={sets[1]}; sprop-pps={sets[2]}"]
        else:
            lines.append("a=rtpmap:96 AV1/90000")
        lines.append("a=control:track0")
        tracks.append(VIDEO)
    if config := clip.config(AUDIO):
        lines.append("m=audio 0 RTP/AVP 97")
        if clip.audio_codec == "aac":
            lines += [f"a=rtpmap:97 mpeg4-generic/{clip.rate}/{clip.channels}",
                      "a=fmtp:97 streamtype=5; profile-level-id=1; mode=AAC-hbr; sizelength=13; indexlength=3; indexdeltalength=3; "
                      f"config={config.record.hex()}"]
        else:
            lines.append("a=rtpmap:97 opus/48000/2")
        lines.append(f"a=control:track{len(tracks)}")
        tracks.append(AUDIO)
    return "\r\n".join(lines) + "\r\n", tracks


class RtspPublisher:
    """ANNOUNCE and RECORD by TCP, with a sender report each second."""

    def __init__(self, clip, server, path, folder):
        self.clip, self.server = clip, server
        self.app, self.stream = path.split("/")
        self.sdp, tracks = sdp_of(clip)
        self.channels = {track: 2 * number for number, track in enumerate(tracks)}
        self.pieces = [(due, (self.channels[track], packet)) for due, track, packet in rtp.packets_of(clip) if track in self.channels]
        # What the stamps of a track say when a packet is due: a report tells the same.
        self.reports = [(unit.due, (self.channels[unit.track] + 1, unit)) for unit in reports_of(clip) if unit.track in self.channels]
        self.pieces = sorted([*self.reports, *self.pieces], key=lambda piece: piece[0])

    def connect(self):
        self.client = Client(self.server.rtsp_port, self.server.rtsp(f"{self.app}/{self.stream}"))
        assert self.client.request("ANNOUNCE", body=self.sdp, Content_Type="application/sdp").status == 200
        for track, channel in self.channels.items():
            answer = self.client.request("SETUP", f"{self.client.url}/track{channel // 2}",
                                         Transport=f"RTP/AVP/TCP;unicast;interleaved={channel}-{channel + 1};mode=record")
            assert answer.status == 200, (track, answer)
        assert self.client.request("RECORD").status == 200

    def start(self, begin):
        self.wall = time.time() + begin - time.monotonic()
        self.thread = Paced(self.pieces, self.send, begin)
        self.thread.start()

    def send(self, piece):
        channel, packet = piece
        if not isinstance(packet, bytes):
            packet = rtp.sender_report(self.clip, packet.track, packet.pts, self.wall + packet.due - packet.late)
        self.client.send(b"$" + struct.pack(">BH", channel, len(packet)) + packet)

    def end(self):
        self.thread.join()
        self.client.socket.close()
        return self.thread.error


def reports_of(clip):
    """The unit of each track before which a report is sent: one a second. What is reordered or late has no report."""
    due = {VIDEO: 0.0, AUDIO: 0.0}
    found = []
    for unit in clip.units:
        if unit.track in due and not unit.config and unit.due >= due[unit.track] and unit.pts == unit.dts:
            found.append(unit)
            due[unit.track] = unit.due + 1
    return found


# ---- SRT -------------------------------------------------------------------------------------------------------------


class SrtPublisher:
    """srt-live-transmit, which is given the transport stream when it is due."""

    def __init__(self, clip, server, path, folder):
        self.clip, self.server = clip, server
        self.app, self.stream = path.split("/")
        self.pieces = mpegts.blocks(clip)
        self.log = folder / f"{self.app}-{self.stream}-srt.log"

    def connect(self):
        url = f"srt://127.0.0.1:{self.server.srt_port}?streamid=#!::r={self.app}/{self.stream},m=publish&latency=80"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(["srt-live-transmit", "-q", "file://con", url], stdin=subprocess.PIPE,
                                            stdout=subprocess.DEVNULL, stderr=log)

    def start(self, begin):
        self.thread = Paced(self.pieces, self.send, begin + 0.5)
        self.thread.start()

    def send(self, piece):
        self.process.stdin.write(piece)
        self.process.stdin.flush()

    def end(self):
        self.thread.join()
        try:
            time.sleep(0.3)  # what is in its buffer is on its way
            self.process.stdin.close()
        except OSError:
            pass
        self.process.terminate()
        self.process.wait(5)
        return self.thread.error


# ---- WHIP ------------------------------------------------------------------------------------------------------------


class WhipPublisher:
    """pion, which is given packets of RTP."""

    def __init__(self, clip, server, path, folder):
        self.clip, self.server, self.folder = clip, server, folder
        self.app, self.stream = path.split("/")
        self.packets = folder / f"{self.app}-{self.stream}.rtp"

    def connect(self):
        with open(self.packets, "wb") as out:
            for due, track, packet in rtp.packets_of(self.clip):
                out.write(struct.pack(">QBH", round(due * 1e6), track == VIDEO, len(packet)) + packet)
        url = self.server.http(whip_path(self.stream).replace("app=live", f"app={self.app}"))
        self.program = Program(f"{self.app}-{self.stream}-whip", [PION, "send", url, "-rtp", self.packets], self.folder)

    def start(self, begin):
        self.program.__enter__()
        self.thread = threading.Thread(target=self.program.process.wait, daemon=True)
        self.thread.start()

    def end(self):
        wait_until(lambda: not self.program.running(), self.clip.seconds() + 10, "the publisher ends")
        return self.program.log().strip() if self.program.process.returncode else None


KINDS = {"rtmp": RtmpPublisher, "rtsp": RtspPublisher, "srt": SrtPublisher, "whip": WhipPublisher}
