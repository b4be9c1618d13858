"""The inputs: what a clip is on the wire of each protocol, and publishers that send it at its times."""

import threading
import time

from hostile import Peer, chunk
from zoo.units import AUDIO, DATA, VIDEO, Framed

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


KINDS = {"rtmp": RtmpPublisher}
