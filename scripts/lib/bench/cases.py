"""The cases, and which of them the short and the full form run.

A *group* is what is compared: one case, one policy, several servers; its runs follow each other within a round.
"""

import fnmatch
from dataclasses import dataclass, replace

from bench.problem import Problem

ALL = ("weir", "floor", "nginx")
PEERS = ("weir", "floor")
WEIR = ("weir",)


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    kind: str = "play"  # play, silent, stream, packet, mcast, sip, sip-aac, segments, relay: see runs.py
    players: int = 0
    streams: int = 1
    bitrate: str = "500k"
    protocol: str = "rtmp"  # or flv, ts, hls, ll-hls, rtc, rtsp, rtsp-udp
    idle: int = 0           # players of a silent stream, connected besides ("weir+idle" only)
    ramp_s: float = 0       # 0: by the number of players
    window_s: float = 0     # 0: that of the whole benchmark
    rounds: int = 0         # 0: those of the whole benchmark
    gop: int = 60           # frames, at 30 a second

    def ramp(self):
        return self.ramp_s or max(1.0, self.players / 2000)


CASES = {case.name: case for case in (
    Case("rtmp-100", "1 stream of 500 kbit/s to 100 players", players=100),
    Case("rtmp-500", "1 stream of 500 kbit/s to 500 players", players=500),
    Case("rtmp-1000", "1 stream of 500 kbit/s to 1,000 players", players=1000),
    Case("rtmp-2500", "1 stream of 500 kbit/s to 2,500 players", players=2500),
    Case("rtmp-5000", "1 stream of 500 kbit/s to 5,000 players", players=5000),
    Case("rtmp-10000", "1 stream of 500 kbit/s to 10,000 players", players=10000),
    Case("rtmp-4m", "1 stream of 4 Mbit/s to 200 players", players=200, bitrate="4M"),
    Case("publishers", "500 publishers of 500 kbit/s with a player each", players=500, streams=500, ramp_s=2),
    Case("flv-1000", "HTTP-FLV, 1 stream of 500 kbit/s to 1,000 players", players=1000, protocol="flv"),
    Case("ts-1000", "HTTP-TS, 1 stream of 500 kbit/s to 1,000 players (the floor: HTTP-FLV)", players=1000, protocol="ts",
         rounds=2),
    Case("hls-2000", "HLS, 1 stream of 1 Mbit/s to 2,000 players, whole segments", players=2000, bitrate="1M", protocol="hls",
         ramp_s=10, window_s=20, rounds=2),
    Case("hls-ll-1000", "low-latency HLS, 1 stream of 1 Mbit/s to 1,000 players", players=1000, bitrate="1M", protocol="ll-hls",
         ramp_s=5, window_s=20, rounds=2),
    Case("record-100", "100 streams of 2 Mbit/s, recorded", kind="segments", streams=100, bitrate="2M", ramp_s=2, window_s=16, rounds=1),
    Case("hls-segment-100", "100 streams of 2 Mbit/s, segmented without viewers", kind="segments", streams=100, bitrate="2M", ramp_s=2,
         window_s=20, rounds=1),
    Case("hls-first", "the first request of 60 streams of 1 Mbit/s that nobody watched, key frame every 2 s", kind="segments", streams=60,
         bitrate="1M", ramp_s=2, window_s=12, rounds=1),
    Case("rtsp-1000", "RTSP over TCP, 1 stream of 500 kbit/s to 1,000 players", players=1000, protocol="rtsp", rounds=2),
    Case("rtsp-udp-500", "RTSP by UDP, 1 stream of 1 Mbit/s to 500 players", players=500, bitrate="1M", protocol="rtsp-udp",
         ramp_s=2),
    Case("rtsp-join", "200 RTSP players over TCP that join one after another, 25 a second", players=200, protocol="rtsp",
         ramp_s=8, window_s=2, rounds=1),
    Case("join", "200 players that join one after another, 25 a second", players=200, ramp_s=8, window_s=2, rounds=1),
    Case("beside-idle", "1,000 players, alone and beside 5,000 idle ones", players=1000, idle=5000),
    Case("silent-5000", "5,000 players of a stream that fell silent", kind="silent", players=5000, rounds=1),
    Case("stream-500k", "100 streams of 500 kbit/s with a player each, key frame every 2 s", kind="stream",
         players=100, streams=100, rounds=1),
    Case("stream-4m", "10 streams of 4 Mbit/s with a player each, key frame every 2 s", kind="stream",
         players=10, streams=10, bitrate="4M", rounds=1),
    Case("whep-500", "WebRTC (WHEP), 1 stream of 1 Mbit/s to 500 players for a minute", players=500, bitrate="1M",
         protocol="rtc", ramp_s=5, window_s=60, rounds=1),
    Case("webrtc-packet", "WebRTC, what a delivered packet costs beside a loop that only protects and sends",
         kind="packet", players=500, rounds=1, window_s=30),
    Case("mcast-8x40", "8 multicast groups of 40 Mbit/s by HTTP, a player each", kind="mcast", players=8, streams=8,
         bitrate="40M", rounds=1, window_s=6),
    Case("mcast-40x8c", "a multicast group of 40 Mbit/s by HTTP to 8 players", kind="mcast", players=8, bitrate="40M",
         rounds=1, window_s=6),
    Case("mcast-400", "a multicast group of 400 Mbit/s by HTTP to a player", kind="mcast", players=1, bitrate="400M",
         rounds=1, window_s=6),
    Case("mcast-200c", "a multicast group of 8 Mbit/s by HTTP to 200 players", kind="mcast", players=200, bitrate="8M",
         rounds=1, window_s=6),
    Case("mcast-2", "a multicast group of 2 Mbit/s by HTTP to a player", kind="mcast", players=1, bitrate="2M",
         rounds=1, window_s=6),
    Case("relay-cpu", "100 streams of 2 Mbit/s from one node to another, a player each", kind="relay", players=100, streams=100, bitrate="2M",
         protocol="flv", ramp_s=1, window_s=4, rounds=1),
    Case("relay-delay", "1 stream of 2 Mbit/s from one node to another, 10 players", kind="relay", players=10, bitrate="2M", protocol="flv",
         window_s=3, rounds=1),
    Case("processes-cpu", "20 streams of 1 Mbit/s, 300 players", kind="relay", players=300, streams=20, bitrate="1M", protocol="flv", ramp_s=1,
         window_s=4, rounds=1),
    Case("relay-join", "500 players that come to an edge within a second", kind="relay", players=500, protocol="flv", ramp_s=1, window_s=2,
         rounds=1),
    Case("sip-call-10", "10 PCMU calls, each with an RTMP line that it hears and that hears it", kind="sip", players=10,
         streams=10, protocol="sip", rounds=1, window_s=5),
    Case("sip-call-500", "500 such calls", kind="sip", players=500, streams=500, protocol="sip", rounds=1, window_s=6),
    Case("sip-jitter-500", "500 such calls with the jitter buffer on", kind="sip", players=500, streams=500, protocol="sip-jitter",
         rounds=1, window_s=6),
    Case("sip-aac", "What it costs to make AAC of what a phone speaks", kind="sip-aac", rounds=1, window_s=14),
    Case("sip-phone-500", "500 PCMU calls that hear one stream, and that nobody plays", kind="sip", players=500,
         protocol="sip", rounds=1, window_s=5),
    Case("sip-setup", "500 calls of a second, 100 a second", kind="sip", players=500, protocol="sip", rounds=1, window_s=1),
    Case("sip-publisher", "100 RTMP publishers of 440 kbit/s, 12 frames a second, without players", kind="sip", streams=100,
         bitrate="440k", protocol="sip", rounds=1, window_s=4),
    Case("sip-player", "100 RTMP players of one such stream", kind="sip", players=100, bitrate="440k", protocol="sip",
         rounds=1, window_s=4),
)}

SIP = [("sip-call-10", "0", WEIR), ("sip-call-500", "0", WEIR), ("sip-jitter-500", "0", WEIR), ("sip-phone-500", "0", WEIR),
       ("sip-setup", "0", WEIR), ("sip-aac", "auto", WEIR),
       ("sip-publisher", "auto", WEIR), ("sip-player", "auto", WEIR)]

MCAST = [("mcast-8x40", "auto", PEERS), ("mcast-40x8c", "auto", PEERS), ("mcast-400", "auto", PEERS),
         ("mcast-200c", "auto", WEIR), ("mcast-2", "auto", WEIR)]

SEGMENTS = [("record-100", "auto", ("weir", "weir+off")), ("hls-segment-100", "auto", ("weir", "weir+off")), ("hls-first", "auto", WEIR)]

RELAY = [("relay-cpu", "0", ("weir", "weir+direct", "weir+unix", "weir+processes")), ("relay-cpu", "100", ("weir", "weir+direct")),
         ("processes-cpu", "0", ("weir+direct", "weir+processes")),
         ("relay-delay", "0", ("weir", "weir+direct")), ("relay-join", "0", ("weir",))]

# (case, policy, servers)
SHORT = [
    ("rtmp-1000", "0", ALL), ("rtmp-1000", "100", PEERS),
    ("rtmp-500", "0", ALL), ("rtmp-500", "100", WEIR), ("rtmp-5000", "100", PEERS),
    ("publishers", "0", ALL), ("ts-1000", "100", PEERS),
    ("hls-2000", "auto", ("weir", "nginx")), ("hls-ll-1000", "auto", WEIR),
    ("rtsp-1000", "100", PEERS), ("rtsp-udp-500", "auto", WEIR),
    ("rtmp-1000", "auto", WEIR), ("rtmp-5000", "auto", WEIR),
    ("beside-idle", "100", ("weir", "weir+idle")),
    ("join", "auto", WEIR), ("silent-5000", "auto", WEIR), ("stream-500k", "auto", WEIR), ("stream-4m", "auto", WEIR),
    ("whep-500", "auto", WEIR), ("webrtc-packet", "auto", WEIR),
    *MCAST, ("sip-call-500", "0", WEIR),
]

FULL = [
    ("rtmp-100", "auto", PEERS),
    ("rtmp-500", "0", ALL), ("rtmp-500", "100", PEERS), ("rtmp-500", "auto", PEERS),
    ("rtmp-1000", "0", ALL), ("rtmp-1000", "30", PEERS), ("rtmp-1000", "100", PEERS), ("rtmp-1000", "350", PEERS),
    ("rtmp-1000", "auto", PEERS),
    ("rtmp-2500", "0", ALL), ("rtmp-2500", "350", PEERS),
    ("rtmp-2500", "auto", PEERS),
    ("rtmp-5000", "0", ALL), ("rtmp-5000", "100", PEERS), ("rtmp-5000", "350", PEERS),
    ("rtmp-5000", "auto", PEERS),
    ("rtmp-10000", "100", PEERS), ("rtmp-10000", "350", PEERS), ("rtmp-10000", "auto", WEIR),
    ("rtmp-4m", "0", ALL), ("rtmp-4m", "100", PEERS), ("publishers", "0", ALL), ("publishers", "100", PEERS),
    ("publishers", "auto", PEERS),
    ("flv-1000", "0", PEERS), ("flv-1000", "350", PEERS),
    ("ts-1000", "0", PEERS), ("ts-1000", "350", PEERS),
    ("hls-2000", "auto", ("weir", "nginx")), ("hls-ll-1000", "auto", WEIR),
    ("rtsp-1000", "0", PEERS), ("rtsp-1000", "100", PEERS), ("rtsp-udp-500", "auto", WEIR),
    ("rtsp-join", "auto", WEIR),
    ("beside-idle", "100", ("weir", "weir+idle")),
    ("join", "auto", ALL), ("silent-5000", "auto", ALL), ("stream-500k", "auto", WEIR), ("stream-4m", "auto", WEIR),
    ("whep-500", "auto", WEIR), ("webrtc-packet", "auto", WEIR),
    *SEGMENTS, *MCAST, *SIP, *RELAY,
]


@dataclass(frozen=True)
class Group:
    case: Case
    policy: str
    servers: tuple

    @property
    def name(self):
        return f"{self.case.name}@{self.policy}"


def policy_of(server, policy):
    """What a server is set to in a group: nginx has no choice, and only Weir decides by itself."""
    if server == "nginx" or (server == "floor" and policy == "auto"):
        return "0"
    return policy


def groups(full, patterns=(), servers=(), players=0, before=False):
    """The groups of a form, or those that match: "rtmp-1000", "rtmp-*@100", also such as no form has ("rtmp-100@350").

    `servers`: only these. `players`: so many instead of the case's own (for trying out). `before`: an older Weir beside
    the present one.
    """
    chosen = [Group(CASES[case], policy, who) for case, policy, who in (FULL if full else SHORT)]
    if patterns:
        everything = [Group(CASES[case], policy, who) for case, policy, who in FULL]
        picked = []
        for pattern in patterns:
            wanted = [group for group in (chosen if "@" not in pattern else everything)
                      if fnmatch.fnmatch(group.name if "@" in pattern else group.case.name, pattern)]
            if not wanted:
                wanted = [group for group in everything if fnmatch.fnmatch(group.case.name, pattern)]
            name, _, policy = pattern.partition("@")
            if not wanted and name in CASES and (policy == "auto" or policy.isdigit()):
                wanted = [Group(CASES[name], policy, ALL if policy == "0" else PEERS if policy != "auto" else WEIR)]
            if not wanted:
                raise Problem(f"no case is called '{pattern}'; there are {', '.join(CASES)}, each also as NAME@POLICY "
                              f"with a merge window in ms or auto")
            picked += [group for group in wanted if group not in picked]
        chosen = picked
    if before:
        chosen = [replace(group, servers=("before", *group.servers))
                  if group.case.kind == "play" and "weir" in group.servers else group for group in chosen]
    if servers:
        kept = [replace(group, servers=tuple(each for each in group.servers if each.split("+")[0] in servers))
                for group in chosen]
        chosen = [group for group in kept if group.servers]
    if players:
        chosen = [group if group.case.kind == "mcast" else replace(group, case=replace(group.case, players=players, streams=min(group.case.streams, players),
                                              idle=min(group.case.idle, players))) for group in chosen]
    return chosen


def seconds_of(group, window):
    """About how long one run of a group takes; corrected by experience while it goes on."""
    case = group.case
    if case.kind in ("packet", "sip-aac"):
        return case.window_s
    if case.kind == "mcast":
        return 2.2 + (case.window_s or window)
    if case.kind == "sip":
        return 5 + case.players / 100 + (case.window_s or window)
    if case.kind == "segments":
        return 2 + case.ramp_s + case.window_s
    if case.kind == "silent":
        return 4 + 2 * (case.ramp() + window / 2 + 3.5)
    own = (9 if "hls" in case.protocol else 2.9) + 2.1 + case.ramp() + (case.window_s or window) + case.players / 4000
    return own + (case.idle / 2000 + 4) / 2 if case.idle else own
