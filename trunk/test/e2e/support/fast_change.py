"""A server of fast channel change for one group: it sends the group, and to who asks the newest GOP first."""

import select
import socket
import struct
import threading
import time

KEPT = 4000  # packets


def begins_key_frame(packet):
    """Whether a packet of the transport stream in it has the indicator of a random access point, as ffmpeg sets it for video."""
    for at in range(12, len(packet) - 187, 188):
        pid = (packet[at + 1] & 0x1F) << 8 | packet[at + 2]
        if pid == 0x100 and packet[at + 1] & 0x40 and packet[at + 3] & 0x20 and packet[at + 4] and packet[at + 5] & 0x40:
            return True
    return False


class FastChangeServer:
    """Takes RTP at `url`. `kind`: "telecom" or "huawei". `answers`: False keeps silent. `speed`: of the unicast, times live."""

    def __init__(self, group, kind="telecom", answers=True, speed=3):
        self.group, self.kind, self.answers, self.speed = group, kind, answers, speed
        self.media, self.signal = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for each in (self.media, self.signal):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)  # this thread may stand still
            each.bind(("127.0.0.1", 0))
        self.out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.url = f"rtp://127.0.0.1:{self.media.getsockname()[1]}?pkt_size=1328"
        self.address = f"127.0.0.1:{self.signal.getsockname()[1]}"
        self.packets, self.count, self.starts = {}, 0, []
        self.requests, self.ends = [], []
        self.to = self.next = self.synced_at = self.stop_at = None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.is_set():
            ready = select.select([self.media, self.signal], [], [], 0.005)[0]
            if self.signal in ready:
                self.take_message(*self.signal.recvfrom(2048))
            if self.media in ready:
                self.take_media(self.media.recv(2048))
                for _ in range(self.speed):
                    self.send_next()

    def take_media(self, packet):
        if packet[1] in (200, 202):
            return
        if begins_key_frame(packet):
            self.starts.append(self.count)
        self.packets[self.count] = packet
        self.packets.pop(self.count - KEPT, None)
        self.count += 1
        self.out.sendto(packet, self.group)

    def header(self, number):
        return struct.pack(">BBHI4s", 0x80 | number, 205, 2, 0, socket.inet_aton(self.group[0]))

    def take_message(self, data, peer):
        request, answer, _, end = (2, 3, 4, 5) if self.kind == "telecom" else (5, 6, 8, 9)
        number = data[0] & 0x1F
        if number == request:
            self.requests.append((time.monotonic(), data))
            if not self.answers or self.to is not None or not self.starts:
                return
            if self.kind == "telecom":
                says = struct.pack(">BBHHHIIII", 0, 2, 0, 0, 0, 0, 30, 0, 0)
            else:
                says = struct.pack(">BBHHHHHBBHII", 1, 0, 2, 0, 0, 8000, 0, 0, 0, 0, 0, 0)
            self.signal.sendto(self.header(answer) + says, peer)
            self.peer = peer
            self.to = peer if self.kind == "telecom" else (peer[0], peer[1] - 1)
            # PAT and PMT stand in front of the key frame, in the same packet or in the one before.
            self.next = max(0, self.starts[-1] - 1)
        elif number == end:
            self.ends.append((data[12], int.from_bytes(data[14:16], "big")))
            self.stop_at = self.ends[0][1]

    def send_next(self):
        if self.to is None or self.next is None or self.next >= self.count:
            self.sync()
            return
        packet = self.packets[self.next]
        forced = self.ends and self.ends[0][0] == (1 if self.kind == "telecom" else 2)
        if forced or (self.ends and (int.from_bytes(packet[2:4], "big") - self.stop_at) & 0xFFFF < 0x8000):
            self.next = None
            return
        self.signal.sendto(packet, self.to)
        self.next += 1

    def sync(self):
        """It has caught up."""
        if self.to is not None and self.next is not None and self.synced_at is None:
            self.synced_at = time.monotonic()
            self.signal.sendto(self.header(4 if self.kind == "telecom" else 8), self.peer)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        for each in (self.media, self.signal, self.out):
            each.close()
