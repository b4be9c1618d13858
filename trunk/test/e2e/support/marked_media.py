"""Publishers whose frames say of which session they are, and viewers that write down what they see of them.

A session is one publish: from the server's consent to its end. Its frames are numbered. So a viewer knows whose frame it sees,
what is missing, and whether the time of the stream goes back. Both come again by themselves, as encoders and players do.
"""

import contextlib
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from functools import lru_cache

from flv import VIDEO, FlvReader
from rtmp import RtmpPlayer
from weir import TOP

MARK = struct.Struct(">4sIIQ")  # "mark", session, number of the frame, microseconds of time.monotonic()
AVC_FRAME = 5  # bytes before the first NAL unit
KEEP_BLOCKS = 200  # of what one connection showed


@lru_cache
def avc_config():
    """The body of a video tag with a codec configuration, which players of the sample understand."""
    with open(TOP / "doc" / "sample.flv", "rb") as sample:
        reader = FlvReader(sample.read)
        while not (tag := reader.tag()).is_avc_config():
            pass
        return tag.data


def write_frame(session, number, key, size):
    mark = MARK.pack(b"mark", session, number, time.monotonic_ns() // 1000)
    unit = (b"\x65" if key else b"\x41") + mark.hex().encode()
    unit += b"f" * (size - len(unit))
    return (b"\x17" if key else b"\x27") + b"\x01\0\0\0" + struct.pack(">I", len(unit)) + unit


def read_frame(data):
    """(session, number, when it was made, seconds) of the body of a video tag; None where there is no mark."""
    text = data[AVC_FRAME + 5:AVC_FRAME + 5 + 2 * MARK.size]
    with contextlib.suppress(ValueError, struct.error):
        magic, session, number, made = MARK.unpack(bytes.fromhex(text.decode()))
        return (session, number, made / 1e6) if magic == b"mark" else None
    return None


# ---- who has published what, and what was shown where ----------------------------------------------------------------


@dataclass
class Session:
    number: int
    name: str
    node: str
    began: float
    ended: float | None = None


class Sessions:
    """All sessions of a test, and the order in which nodes showed them. Faults are texts in `faults`.

    `returns`: how often a session may be shown again at an edge after another one: where the newer publisher has left while
    the older one's node was cut off, the older one is the only one again. It also lets frames come again, which happens where a
    relay is made anew.
    """

    def __init__(self, returns=0):
        self.all = {}
        self.faults = []
        self.returns = returns
        self.retired = {}  # (node, its start, stream) -> {session: [when another one followed it there, how often it came back]}
        self.lock = threading.Lock()

    def begin(self, name, node):
        with self.lock:
            session = Session(len(self.all) + 1, name, node, time.monotonic())
            self.all[session.number] = session
            return session

    def fault(self, text):
        with self.lock:
            if len(self.faults) < 100:
                self.faults.append(f"{time.monotonic():.2f} {text}")

    def shows(self, number, name, at, opened, before, again):
        """A connection that was opened then sees another session than before (None: its first), and has seen it already
        (`again`) or not. `at`: (node, its start)."""
        with self.lock:
            session = self.all.get(number)
            retired = self.retired.setdefault((*at, name), {})
            if before is not None and (session is None or session.node != at[0]):
                # Whoever publishes at a node itself has the name there: a relay that gives way may come back after it.
                retired.setdefault(before, [time.monotonic(), 0])
            entry = retired.get(number)
            stale = entry is not None and (entry[0] < opened or again)
            if stale:
                entry[1] += 1
                entry[0] = time.monotonic()
                stale = entry[1] > self.returns
        if session is None or session.name != name:
            self.fault(f"{name} at {at}: frames of session {number}, which is {session}")
        if stale:
            self.fault(f"{name} at {at}: session {number} of {session.node} is shown again after another one ({before})")

    def of(self, name, node=None):
        with self.lock:
            return [each for each in self.all.values() if each.name == name and node in (None, each.node)]


# ---- publishers ------------------------------------------------------------------------------------------------------


class MarkedPublisher(threading.Thread):
    """Publishes a stream at a node, and again after `retry` seconds whenever that ends. Runs in the network of its maker."""

    def __init__(self, sessions, name, node, fps=10, gop=5, size=300, retry=0.2):
        super().__init__(daemon=True)
        self.sessions, self.name_, self.node = sessions, name, node
        self.fps, self.gop, self.size, self.retry = fps, gop, size, retry
        self.ended = threading.Event()
        self.moved = threading.Event()  # somebody wants it elsewhere, or the test's end
        self.session = None  # while it publishes
        self.refused = 0

    def move(self, node):
        """Leaves where it is, and publishes there."""
        self.node = node
        self.moved.set()

    def run(self):
        while not self.ended.is_set():
            self.moved.clear()
            if self.ended.is_set():
                break
            with contextlib.suppress(OSError, EOFError):
                self.publish(self.node)
            self.ended.wait(self.retry)

    def publish(self, node):
        with RtmpPlayer(node.rtmp_port, host=node.place.address, timeout=2, play=False) as connection:
            # What is lost on the way ends it, as it ends an encoder.
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 2000)
            connection.command("publish", 3, None, self.name_, "live", stream=1)
            if not self.is_let_in(connection):
                self.refused += 1
                return
            session = self.sessions.begin(self.name_, node.name)
            self.session = session
            try:
                self.send(connection.socket, session)
            finally:
                self.session = None
                session.ended = time.monotonic()

    @staticmethod
    def is_let_in(connection):
        while True:
            kind, _, payload, _ = connection.message()
            if kind == connection.COMMAND and b"onStatus" in payload:
                return b"NetStream.Publish.Start" in payload

    def send(self, connection, session):
        def message(chunk_stream, kind, when, payload):
            connection.sendall(bytes([chunk_stream]) + when.to_bytes(3, "big") + len(payload).to_bytes(3, "big") + bytes([kind]) +
                               struct.pack("<I", 0 if kind == 1 else 1) + payload)

        message(2, 1, 0, struct.pack(">I", 65536))
        message(6, VIDEO, 0, avc_config())
        began, number = time.monotonic(), 0
        connection.settimeout(0)
        while not self.moved.wait(max(began + number / self.fps - time.monotonic(), 0)):
            with contextlib.suppress(BlockingIOError):
                if not connection.recv(65536):
                    return  # the server has ended it
            connection.settimeout(2)
            message(6, VIDEO, number * 1000 // self.fps, write_frame(session.number, number, number % self.gop == 0, self.size))
            connection.settimeout(0)
            number += 1

    def end(self):
        self.ended.set()
        self.moved.set()


# ---- viewers ---------------------------------------------------------------------------------------------------------


@dataclass
class Block:
    """Frames of one session that followed each other."""
    session: int
    first: int
    arrived: float
    last: int = -1
    lost: int = 0


@dataclass
class Watch:
    """One connection."""
    opened: float
    at: tuple
    blocks: list = field(default_factory=list)
    longest: float = 0.0  # pause between frames, seconds
    last_arrival: float | None = None
    last_time_ms: int = -1


class Viewer(threading.Thread):
    """Plays a stream by HTTP-FLV from a node, and again whenever that ends or `stall` seconds bring nothing."""

    def __init__(self, sessions, name, node, stall=30.0, retry=0.2):
        super().__init__(daemon=True)
        self.sessions, self.name_, self.node, self.stall, self.retry = sessions, name, node, stall, retry
        self.ended = threading.Event()
        self.socket = None
        self.watch = None
        self.connections = self.frames = 0
        self.seen = {}  # session -> when its first frame came
        self.newest = self.delay = 0.0  # when the last frame came, and how old it was then, seconds

    def run(self):
        while not self.ended.is_set():
            try:
                self.play(self.node)
            except (OSError, EOFError, ValueError):
                pass
            except AssertionError as error:
                self.sessions.fault(f"{self.name_} at {self.node.name}: {error}")
            finally:
                if self.socket is not None:
                    self.socket.close()
            self.ended.wait(self.retry)

    def play(self, node):
        self.socket = socket.create_connection((node.place.address, node.http_port), 3)
        at, opened = (node.name, node.starts), time.monotonic()
        self.socket.settimeout(self.stall)
        if self.ended.is_set():  # end() has not met this connection
            return
        self.socket.sendall(f"GET /live/{self.name_}.flv HTTP/1.1\r\nHost: {node.name}\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            more = self.socket.recv(4096)
            if not more:
                raise EOFError("closed")
            head += more
        head, rest = head.split(b"\r\n\r\n", 1)
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise EOFError("refused")
        parts = [rest] if rest else []
        reader = FlvReader(lambda size: parts.pop() if parts else self.socket.recv(size))
        self.connections += 1
        self.watch = Watch(opened, at)
        while not self.ended.is_set():
            self.take(reader.tag(), self.watch)

    def take(self, tag, watch):
        frame = read_frame(tag.data) if tag.type == VIDEO and not tag.is_avc_config() else None
        if frame is None:
            return
        session, number, made = frame
        if tag.time_ms < watch.last_time_ms:
            self.sessions.fault(f"{self.name_} at {watch.at}: the time goes back from {watch.last_time_ms} to {tag.time_ms} ms")
        block = watch.blocks[-1] if watch.blocks else None
        if block is None or block.session != session:
            before = block.session if block else None
            again = any(each.session == session for each in watch.blocks)
            self.sessions.shows(session, self.name_, watch.at, watch.opened, before, again)
            block = Block(session, number, tag.arrived)
            watch.blocks = watch.blocks[-KEEP_BLOCKS:] + [block]
            self.seen.setdefault(session, tag.arrived)
        elif number <= block.last:
            if self.sessions.returns == 0:
                self.sessions.fault(f"{self.name_} at {watch.at}: frame {number} of session {session} comes after {block.last}")
        else:
            block.lost += number - block.last - 1
        block.last = number
        watch.longest = max(watch.longest, tag.arrived - watch.last_arrival if watch.last_arrival else 0)
        watch.last_time_ms, watch.last_arrival = tag.time_ms, tag.arrived
        self.newest, self.delay = tag.arrived, tag.arrived - made
        self.frames += 1

    def shows(self):
        """The session that it saw last."""
        return self.watch.blocks[-1].session if self.watch and self.watch.blocks else None

    def lost(self):
        """Frames that are missing in sessions that it saw, on its last connection."""
        return sum(block.lost for block in self.watch.blocks)

    def end(self):
        self.ended.set()
        with contextlib.suppress(OSError, AttributeError):
            self.socket.shutdown(socket.SHUT_RDWR)
