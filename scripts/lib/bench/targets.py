"""What the server must reach, and whether it does: each target with the figure measured."""

from typing import NamedTuple, Optional

from bench.figures import spread

MERGED_LIMIT = 1.15        # x floor, CPU per delivered Gbit, at the same merge window
EVERY_MESSAGE_LIMIT = 1.05  # x the lower of floor and nginx
AUTO_LIMIT = 0.5            # x floor with every message, 1,000 players
LARGE_LIMIT = 1.15         # x floor with 10,000 players; also its p99
PER_PLAYER_LIMIT = 1.10    # CPU per player with 5,000 against 500 players
BESIDE_IDLE_LIMIT = 1.05   # "nothing measurable", unless the spread of the rounds is larger
MEMORY_LIMIT_KIB = 2.0     # per player
AGAIN_LIMIT = 1.05         # memory of the second 5,000 by that of the first
STREAM_FACTOR, STREAM_EXTRA_KIB = 2.5, 64
RTC_MEMORY_LIMIT_KIB = 24  # per player, after a minute
RTC_COST_LIMIT = 1.2       # x the loop that only protects and sends
RTSP_UDP_MEMORY_LIMIT_KIB = 3.0
HLS_CPU_LIMIT = 1.2        # x nginx that serves files
HLS_MEMORY_LIMIT_KIB = 8.0
LL_HLS_P50_LIMIT_MS, LL_HLS_P99_LIMIT_MS = 350, 600
MCAST_CPU_LIMIT = 1.6      # x mcast_floor, which drains each 5 ms
MCAST_P99_LIMIT_MS = 10
MCAST_MANY_CPU_LIMIT = 6   # % of a core with 200 players of 8 Mbit/s
MCAST_MANY_P99_LIMIT_MS = 60
RTSP_PACKETS_LIMIT = 0.8   # packets per CPU second of the whole server, by udp_floor's
FIRST_PACKET_LIMIT_MS = 10
KEY_LIMIT_MS = 50
P99_LIMIT_MS = 20
FULL_CORE_PERCENT = 95     # a server that needs this much of its core is overloaded


class Target(NamedTuple):
    what: str
    limit: str
    found: str
    met: Optional[bool]  # None: no verdict, everybody was overloaded

    @property
    def verdict(self):
        return {True: "met", False: "NOT MET", None: "-"}[self.met]


def ratio_text(found):
    return f"{found.median:.2f} ({found.low:.2f} to {found.high:.2f})"


def judge(results):
    """All targets, in the order of the report."""
    found = []
    for case, policy in results.groups():
        if policy in ("30", "100", "350") and case != "beside-idle":
            limit = LARGE_LIMIT if case == "rtmp-10000" else MERGED_LIMIT
            found += cpu_target(results, case, policy, ("floor",), limit, f"{policy} ms", "floor")
    for case, policy in results.groups():
        if policy == "0":
            limit = MERGED_LIMIT if case.startswith(("rtsp", "ts-")) else EVERY_MESSAGE_LIMIT
            found += cpu_target(results, case, policy, ("floor", "nginx"), limit, "every message",
                                "the lower of floor and nginx")
    found += cpu_target(results, "rtmp-1000", "auto", ("floor",), AUTO_LIMIT, "mw_latency auto", "floor with every message")
    for check in (large_p99, whole, on_time, player_memory, silent_memory, again, stream_memory, first_key, low_latency,
                  per_player, beside_idle, webrtc_memory, webrtc_packets, webrtc_cost, rtsp_first_packet, rtsp_udp, mcast_cost, mcast_delay,
                  mcast_whole, hls):
        found += check(results)
    return found


def cpu_target(results, case, policy, peers, limit, shown, against):
    ratio = results.ratio(case, policy, "weir", peers, "cpu_per_gbit")
    if not ratio:
        return []
    what = f"CPU per delivered Gbit, {case}, {shown}, by {against}"
    busy = [results.median(case, policy, who, "cpu_percent") for who in ("weir", *peers)]
    if min(value for value in busy if value is not None) >= FULL_CORE_PERCENT:
        return [Target(what, f"<= {limit}", ratio_text(ratio) + "; all of them overloaded", None)]
    return [Target(what, f"<= {limit}", ratio_text(ratio), ratio.median <= limit)]


def hls(results):
    found = cpu_target(results, "hls-2000", "auto", ("nginx",), HLS_CPU_LIMIT, "whole segments", "nginx with files in memory")
    memory = results.median("hls-2000", "auto", "weir", "kib_per_player")
    if memory is not None:
        found.append(Target("User memory per HLS player, KiB", f"<= {HLS_MEMORY_LIMIT_KIB}", f"{memory:.1f}",
                            memory <= HLS_MEMORY_LIMIT_KIB))
    delays = [results.median("hls-ll-1000", "auto", "weir", f"{which}_ms") for which in ("p50", "p99")]
    if None not in delays:
        found.append(Target("Delay to 1,000 players of low-latency HLS, p50 and p99, ms",
                            f"<= {LL_HLS_P50_LIMIT_MS}, {LL_HLS_P99_LIMIT_MS}", f"{delays[0]:.0f}, {delays[1]:.0f}",
                            delays[0] <= LL_HLS_P50_LIMIT_MS and delays[1] <= LL_HLS_P99_LIMIT_MS))
    return found


def large_p99(results):
    found = []
    for policy in ("100", "350"):
        ratio = results.ratio("rtmp-10000", policy, "weir", ("floor",), "p99_ms")
        if ratio:
            found.append(Target(f"p99 delay, 10,000 players, {policy} ms, by floor", f"<= {LARGE_LIMIT}",
                                ratio_text(ratio), ratio.median <= LARGE_LIMIT))
    return found


def of_weir(results):
    return [row for row in results.rows if row["server"].startswith("weir") and "problem" not in row and "lost" in row]


def whole(results):
    rows = of_weir(results)
    if not rows:
        return []
    lost, wrong = sum(row["lost"] for row in rows), sum(row["wrong"] for row in rows)
    broken = sum(row["broken"] for row in rows)
    return [Target("Frames lost; duplicated, reordered or corrupted; players lost", "0; 0; 0",
                   f"{lost}; {wrong}; {broken} in {len(rows)} runs", lost + wrong + broken == 0)]


def on_time(results):
    """Where the floor program keeps up, so must Weir; what no one can send is no target."""
    rows = [row for row in of_weir(results) if not overloaded_floor(results, row)]
    if not rows:
        return []
    behind = sorted({f"{row['case']}@{row['policy']}" for row in rows if row["behind"]})
    return [Target("Players falling behind (delay at the end against the start)", "0",
                   f"in {len(behind)} cases: {', '.join(behind)}" if behind else f"none in {len(rows)} runs",
                   not behind)]


def overloaded_floor(results, row):
    busy = results.median(row["case"], row["policy"], "floor", "cpu_percent")
    return busy is not None and busy >= FULL_CORE_PERCENT


def player_memory(results):
    found = []
    for case, policy in results.groups():
        if case in ("rtmp-1000", "rtmp-5000", "rtmp-10000", "rtsp-1000") and policy in ("100", "350"):
            memory = results.spread(case, policy, "weir", "kib_per_player")
            if memory:
                found.append(Target(f"User memory per player, {case}, {policy} ms", f"< {MEMORY_LIMIT_KIB:.0f} KiB",
                                    f"{memory.median:.2f} KiB", memory.median < MEMORY_LIMIT_KIB))
    return found


def silent_memory(results):
    memory = results.median("silent-5000", "auto", "weir", "kib_per_player")
    busy = results.median("silent-5000", "auto", "weir", "idle_cpu_percent")
    if memory is None:
        return []
    return [Target("User memory per player of a silent stream, 5,000 players", f"< {MEMORY_LIMIT_KIB:.0f} KiB",
                   f"{memory:.2f} KiB, {busy:.1f} % of a core", memory < MEMORY_LIMIT_KIB)]


def again(results):
    first = results.median("silent-5000", "auto", "weir", "round_1_kib")
    second = results.median("silent-5000", "auto", "weir", "round_2_kib")
    if not first:
        return []
    return [Target("Memory with a second 5,000 players by that with the first", f"<= {AGAIN_LIMIT}",
                   f"{second / first:.2f} ({first / 1024:.1f} MiB, then {second / 1024:.1f})",
                   second <= AGAIN_LIMIT * first)]


def stream_memory(results):
    found = []
    for case in ("stream-500k", "stream-4m"):
        cost = results.median(case, "auto", "weir", "kib_per_stream")
        if cost is not None:
            gop = results.median(case, "auto", "weir", "gop_kib")
            limit = STREAM_FACTOR * gop + STREAM_EXTRA_KIB
            found.append(Target(f"Memory of a stream, {case}: GOP of {gop:.0f} KiB",
                                f"<= {STREAM_FACTOR} x GOP + {STREAM_EXTRA_KIB} = {limit:.0f} KiB",
                                f"{cost:.0f} KiB, {cost / gop:.2f} x GOP", cost <= limit))
    return found


def first_key(results):
    worst = results.spread("join", "auto", "weir", "key_max_ms")
    if not worst:
        return []
    usual = results.median("join", "auto", "weir", "key_p50_ms")
    return [Target("First key frame after the play request, at any place of the GOP", f"< {KEY_LIMIT_MS} ms",
                   f"median {usual:.1f} ms, longest of 200 {worst.high:.1f} ms", worst.high < KEY_LIMIT_MS)]


def low_latency(results):
    delay = results.spread("rtmp-500", "0", "weir", "p99_ms")
    if not delay:
        return []
    return [Target("p99 delay with mw_latency 0, 500 players", f"< {P99_LIMIT_MS} ms",
                   f"{delay.median:.1f} ms ({delay.low:.1f} to {delay.high:.1f})", delay.median < P99_LIMIT_MS)]


def per_player(results):
    ratios = []
    small = {row["round"]: row["cpu_percent"] / 500 for row in results.of("rtmp-500", "100", "weir")}
    for row in results.of("rtmp-5000", "100", "weir"):
        if small.get(row["round"]):
            ratios.append(row["cpu_percent"] / 5000 / small[row["round"]])
    ratio = spread(ratios)
    if not ratio:
        return []
    return [Target("CPU per player at 100 ms, 5,000 players by 500", f"<= {PER_PLAYER_LIMIT}", ratio_text(ratio),
                   ratio.median <= PER_PLAYER_LIMIT)]


def beside_idle(results):
    ratio = results.ratio("beside-idle", "100", "weir+idle", ("weir",), "cpu_percent")
    alone = results.spread("beside-idle", "100", "weir", "cpu_percent")
    if not ratio or not alone:
        return []
    limit = max(BESIDE_IDLE_LIMIT, alone.high / alone.median)
    return [Target("CPU of 1,000 players beside 5,000 idle ones by that without",
                   f"<= {limit:.2f} ({BESIDE_IDLE_LIMIT}, or the spread of the rounds)",
                   ratio_text(ratio), ratio.median <= limit)]


def webrtc_memory(results):
    memory = results.spread("whep-500", "auto", "weir", "kib_per_player")
    if not memory:
        return []
    return [Target("User memory per WebRTC player, 500 players, a minute in", f"<= {RTC_MEMORY_LIMIT_KIB} KiB",
                   f"{memory.median:.1f} KiB", memory.median <= RTC_MEMORY_LIMIT_KIB)]


def webrtc_packets(results):
    rows = results.of("whep-500", "auto", "weir")
    if not rows:
        return []
    lost = sum(row["packets_lost"] for row in rows)
    return [Target("WebRTC packets lost, 500 players", "0", f"{lost:,}", lost == 0)]


def webrtc_cost(results):
    rows = results.of("webrtc-packet", "auto", "weir")
    ratios = [(burst["player_ns"] / burst["loop_ns"], burst["packets"]) for row in rows for burst in row["bursts"]]
    if not ratios:
        return []
    worst, packets = max(ratios)
    return [Target("CPU per delivered WebRTC packet, by a loop that only protects and sends", f"<= {RTC_COST_LIMIT}",
                   f"{worst:.2f} at most (bursts of {packets})", worst <= RTC_COST_LIMIT)]


def rtsp_first_packet(results):
    found = results.spread("rtsp-join", "auto", "weir", "response_p99_ms")
    if not found:
        return []
    usual = results.median("rtsp-join", "auto", "weir", "response_p50_ms")
    return [Target("First RTP packet after PLAY, at any place of the GOP", f"< {FIRST_PACKET_LIMIT_MS} ms",
                   f"median {usual:.1f} ms, p99 {found.median:.1f} ms", found.median < FIRST_PACKET_LIMIT_MS)]


def rtsp_udp(results):
    rows = [row for row in results.of("rtsp-udp-500", "auto", "weir") if row["us_per_packet"]]
    if not rows:
        return []
    memory = results.spread("rtsp-udp-500", "auto", "weir", "kib_per_player")
    lost = sum(row["packets_lost"] for row in rows)
    by_loop = spread([row["floor"]["us_per_packet"] / row["us_per_packet"] for row in rows])
    return [Target("User memory per RTSP player by UDP, 500 players", f"< {RTSP_UDP_MEMORY_LIMIT_KIB:.0f} KiB",
                   f"{memory.median:.2f} KiB", memory.median < RTSP_UDP_MEMORY_LIMIT_KIB),
            Target("RTSP packets lost by UDP, 500 players", "0", f"{lost:,}", lost == 0),
            Target("RTSP packets by UDP per CPU second, by a program that only sends them",
                   f">= {RTSP_PACKETS_LIMIT}", ratio_text(by_loop), by_loop.median >= RTSP_PACKETS_LIMIT)]


MCAST = ("mcast-8x40", "mcast-40x8c", "mcast-400", "mcast-200c", "mcast-2")
MCAST_MANY = "mcast-200c"


def mcast_cost(results):
    found = []
    for case in MCAST:
        ratio = results.ratio(case, "auto", "weir", ("floor",), "cpu_percent")
        busy = results.median(case, "auto", "weir", "cpu_percent")
        if case == MCAST_MANY and busy is not None:
            found.append(Target(f"CPU, {case}", f"<= {MCAST_MANY_CPU_LIMIT} % of a core", f"{busy:.1f} %",
                                busy <= MCAST_MANY_CPU_LIMIT))
        elif ratio:
            found.append(Target(f"CPU, {case}, by mcast_floor", f"<= {MCAST_CPU_LIMIT}", ratio_text(ratio),
                                ratio.median <= MCAST_CPU_LIMIT))
    return found


def mcast_delay(results):
    found = []
    for case in MCAST:
        delay = results.median(case, "auto", "weir", "delay_p99_ms")
        if delay is not None:
            limit = MCAST_MANY_P99_LIMIT_MS if case == MCAST_MANY else MCAST_P99_LIMIT_MS
            found.append(Target(f"p99 delay, {case}", f"<= {limit} ms", f"{delay:.1f} ms", delay <= limit))
    return found


def mcast_whole(results):
    rows = [row for case in MCAST for row in results.of(case, "auto", "weir")]
    if not rows:
        return []
    lost, wrong = sum(row["ts_lost"] for row in rows), sum(row["ts_wrong"] for row in rows)
    missing = sum(row["not_playing"] for row in rows)
    return [Target("Multicast: TS packets lost; wrong; players lost", "0; 0; 0",
                   f"{lost:,}; {wrong:,}; {missing} in {len(rows)} runs", lost + wrong + missing == 0)]
