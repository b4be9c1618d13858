"""The table for the terminal, the page doc/benchmarks.md, and the raw figures."""

import json

from bench import plot, relay, segments, sip
from bench.cases import CASES
from bench.targets import judge

PEERS = {"0": ("floor", "nginx")}  # whom Weir is compared with; floor alone for every other policy


def policy_text(policy):
    return {"0": "every message", "auto": "auto"}.get(policy, f"{policy} ms")


def number(value, decimals=1):
    return "" if value is None else f"{value:,.{decimals}f}"


def spread_text(found, decimals):
    if not found:
        return ""
    middle = number(found.median, decimals)
    if found.count == 1:
        return middle
    return f"{middle} ({number(found.low, decimals)}-{number(found.high, decimals)})"


def total(rows, figure):
    return sum(row.get(figure) or 0 for row in rows)


COLUMNS = ["case", "flush", "server", "CPU %", "CPU s/Gbit", "x peer", "KiB/player", "video p50 ms", "p99", "audio p50 ms", "p99",
           "p50 start>end", "behind", "lost", "wrong", "broken", "syscalls/player/s", "client CPU %"]


def by_packets(case):
    return CASES[case].protocol in ("rtc", "rtsp-udp")


def table_rows(results):
    """One list of texts for each server of each group that has players of a live stream."""
    for (case, policy), servers in results.groups().items():
        for server in servers:
            rows = results.of(case, policy, server)
            if not rows or "p50_ms" not in rows[0] or CASES[case].kind != "play" or by_packets(case):
                continue

            def get(figure, decimals, who=server):
                return spread_text(results.spread(case, policy, who, figure), decimals)

            peers = ("weir",) if server == "weir+idle" else PEERS.get(policy, ("floor",))
            # Players of one stream share its log; with a stream each, it is the streams that cost.
            memory = results.median(case, policy, server, "kib_per_player") if CASES[case].streams == 1 else None
            ratio = results.ratio(case, policy, server, peers, "cpu_per_gbit") if server.startswith(("weir", "before")) else None
            start, end = (results.median(case, policy, server, f"{which}_p50_ms") for which in ("start", "end"))
            yield [case, policy_text(policy if server != "nginx" else "0"), server, get("cpu_percent", 1),
                   get("cpu_per_gbit", 3), spread_text(ratio, 2), number(memory, 2), get("video_p50_ms", 1),
                   get("video_p99_ms", 1), get("audio_p50_ms", 1), get("audio_p99_ms", 1),
                   f"{number(start, 0)}>{number(end, 0)}", number(total(rows, "behind"), 0),
                   number(total(rows, "lost"), 0), number(total(rows, "wrong"), 0), number(total(rows, "broken"), 0),
                   number(results.median(case, policy, server, "syscalls_per_player"), 1),
                   number(results.median(case, policy, server, "client_cpu_percent"), 0)]


SILENT_COLUMNS = ["server", "idle process, KiB", "first 5,000, KiB", "after them", "second 5,000", "after them",
                  "KiB/player", "CPU % of the idle 5,000"]


def silent_rows(results):
    for (case, policy), servers in results.groups().items():
        for server in servers if CASES[case].kind == "silent" else []:
            rows = results.of(case, policy, server)
            if rows:
                keys = ("idle_process_kib", "round_1_kib", "left_1_kib", "round_2_kib", "left_2_kib")
                yield [server, *(number(rows[-1][key], 0) for key in keys), number(rows[-1]["kib_per_player"], 2),
                       number(rows[-1]["idle_cpu_percent"], 2)]


JOIN_CASES = ("join", "rtsp-join")
JOIN_COLUMNS = ["server", "first key frame p50, ms", "p99", "longest"]


def join_rows(results):
    for case, policy in [each for each in results.groups() if each[0] in JOIN_CASES]:
        for row in [results.of(case, policy, server)[-1] for server in results.groups()[case, policy]
                    if results.of(case, policy, server)]:
            yield [row["server"] + (" (RTSP)" if case == "rtsp-join" else ""), *(number(row[f"key_{which}_ms"], 1) for which in ("p50", "p99", "max"))]


PACKETS_COLUMNS = ["case", "server", "CPU %", "packets/s", "CPU us/packet", "KiB/player", "p50 ms", "p99 ms", "first key p50 ms", "p99",
               "packets lost", "freezes", "client CPU %"]


def packets_rows(results):
    for (case, policy), servers in results.groups().items():
        rows = [row for server in servers for row in results.of(case, policy, server)]
        for row in rows if by_packets(case) else []:
            yield [case, row["server"], number(row["cpu_percent"]), number(row["packets_per_second"], 0),
                   number(row["us_per_packet"], 2), number(row["kib_per_player"]), number(row["p50_ms"]),
                   number(row["p99_ms"]), number(row["key_p50_ms"]), number(row["key_p99_ms"]),
                   number(row["packets_lost"], 0), number(row.get("freezes"), 0), number(row["client_cpu_percent"], 0)]
            if row.get("floor"):
                yield [case, "udp_floor", "", number(row["floor"]["packets_per_second"], 0),
                       number(row["floor"]["us_per_packet"], 2)] + [""] * (len(PACKETS_COLUMNS) - 5)


PACKET_COLUMNS = ["packets in a burst", "protect and send, ns/packet", "player, ns/packet", "ratio"]


def packet_rows(results):
    for row in results.of("webrtc-packet", "auto", "weir"):
        for burst in row["bursts"]:
            yield [burst["packets"], number(burst["loop_ns"], 0), number(burst["player_ns"], 0),
                   number(burst["player_ns"] / burst["loop_ns"], 2)]


MCAST_COLUMNS = ["case", "server", "CPU %", "x floor", "user MiB", "p50 ms", "p99 ms", "longest", "TS packets lost", "wrong",
                 "kernel drops", "client CPU %"]


def mcast_rows(results):
    for (case, policy), servers in results.groups().items():
        for server in servers if CASES[case].kind == "mcast" else []:
            for row in results.of(case, policy, server):
                ratio = results.ratio(case, policy, server, ("floor",), "cpu_percent") if server == "weir" else None
                yield [case, server, number(row["cpu_percent"]), spread_text(ratio, 2), number(row["private_mib"]),
                       number(row["delay_p50_ms"]), number(row["delay_p99_ms"]), number(row["delay_max_ms"]),
                       number(row["ts_lost"], 0), number(row["ts_wrong"], 0), number(row["kernel_drops"], 0),
                       number(row["client_cpu_percent"], 0)]


def segment_rows(results):
    return segments.rows(results, CASES, number)


def relay_rows(results):
    return relay.rows(results, CASES, policy_text, number)


def sip_rows(results):
    return sip.rows(results, CASES, policy_text, number)


CURVE_COLUMNS = ["players", "Weir auto: CPU %", "p99 ms", "Weir at once: CPU %", "p99 ms", "floor at once: CPU %",
                 "p99 ms", "nginx at once: CPU %", "p99 ms", "Weir 100 ms: CPU %", "p99 ms"]
CURVE = [("auto", "weir"), ("0", "weir"), ("0", "floor"), ("0", "nginx"), ("100", "weir")]


CURVE_CASES = [case for name, case in CASES.items() if name.startswith("rtmp-") and case.bitrate == "500k"]


def picture_of(results):
    return plot.curve(results, CURVE_CASES)


def curve_rows(results):
    """CPU and p99 against players: what auto does, beside those who send at once."""
    for case in CURVE_CASES:
        name = case.name
        if results.of(name, "auto", "weir"):
            texts = [f"{case.players:,}"]
            for policy, server in CURVE:
                texts += [number(results.median(name, policy, server, figure), 1) for figure in
                          ("cpu_percent", "p99_ms")]
            yield texts


TARGET_COLUMNS = ["target", "limit", "measured", ""]


def target_rows(results):
    return [[each.what, each.limit, each.found, each.verdict] for each in judge(results) + segments.targets(results) + relay.targets(results) + sip.targets(results)]


def plain(columns, rows):
    rows = [list(map(str, row)) for row in rows]
    if not rows:
        return ""
    used = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    widths = {index: max(len(line[index]) for line in [columns, *rows]) for index in used}
    return "\n".join("  ".join(line[index].ljust(widths[index]) for index in used).rstrip()
                     for line in [columns, *rows])


def markdown(columns, rows):
    rows = [list(map(str, row)) for row in rows]
    if not rows:
        return "Not measured in this run."
    used = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    lines = [[columns[index] for index in used], ["---"] * len(used)]
    lines += [[row[index].replace("|", "/") for index in used] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def terminal(results, notes):
    parts = [("", COLUMNS, table_rows(results)), ("A silent stream", SILENT_COLUMNS, silent_rows(results)),
             ("Joining", JOIN_COLUMNS, join_rows(results)),
             ("WebRTC, and RTSP by UDP", PACKETS_COLUMNS, packets_rows(results)),
             ("A WebRTC packet, 500 players", PACKET_COLUMNS, packet_rows(results)),
             ("Multicast groups by HTTP", MCAST_COLUMNS, mcast_rows(results)),
             ("Recording and segments", segments.COLUMNS, segment_rows(results)),
             ("From node to node", relay.COLUMNS, relay_rows(results)),
             ("Telephone calls", sip.COLUMNS, sip_rows(results)),
             ("AAC of a telephone call", sip.AAC_COLUMNS, sip.aac_rows(results, number)),
             ("mw_latency auto against players", CURVE_COLUMNS, curve_rows(results)),
             ("Targets", TARGET_COLUMNS, target_rows(results))]
    texts = [f"{title}\n{text}".strip() for title, columns, rows in parts if (text := plain(columns, rows))]
    texts += [f"note: {note}" for note in notes]
    texts += [f"failed: {row['case']}@{row['policy']} {row['server']}, round {row['round']}: {row['problem']}"
              for row in results.problems()]
    return "\n\n".join(texts)


def to_json(results, about):
    return json.dumps({**about, "runs": results.rows}, indent=1) + "\n"


def page(results, about, notes, picture):
    """doc/benchmarks.md; `picture`: where it finds the plot of the curve, empty when there is none."""
    machine, versions = about["machine"], about["versions"]
    cases = {case for case, _ in results.groups()}
    listed = "\n".join(f"- `{name}`: {case.title}" for name, case in CASES.items() if name in cases)
    problems = "\n".join(f"- {row['case']}, {policy_text(row['policy'])}, {row['server']}, round {row['round']}: "
                         f"{row['problem'].splitlines()[0]}" for row in results.problems())
    return f"""# Benchmarks

Written by `make {about['form']}` on {machine['date']}; every figure below is of that one run, which took \
{about['minutes']:.0f} minutes.

| | |
|---|---|
| machine | {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['kernel']} |
| Weir | {versions.get('weir', '')} |
| before | {versions.get('before', 'left out')} |
| nginx | {versions.get('nginx', 'left out')} |
| floor | {versions.get('floor', 'left out')} |

## Method

The servers, one after the other, each as a fresh process pinned to core {machine['server_core']}; the load, \
`objs/weir-bench`, runs on core {machine['client_core']} and is publisher and players in one. Each case is measured \
{about['rounds']} times; within a round the servers of a case follow each other directly, and their order changes from \
round to round. A table cell is the median of the rounds with the lowest and highest value behind it. Only ratios count, \
between servers of the same round: absolute figures of one machine differ by up to a factor of two from hour to hour.

The window of a run is {about['window_s']:.0f} s, after all players have had their first frame. The stream is synthetic \
H.264 and AAC, 30 frames and 54 audio packets a second, a key frame every 2 s; every byte of every frame is compared, \
and each frame carries the time of its making ([load-client.md](load-client.md)).

- *floor* (`trunk/bench/floor/`) is the least that a fan-out can do: it parses nothing but the handshake and the commands, \
and sends the same bytes to everybody, one write per player and flush.
- *before* is an older build of Weir (`scripts/bench --before FILE`).
- *nginx* is Debian's nginx with `libnginx-mod-rtmp`, one process, `chunk_size 4096`; it sends every message at once and \
has no HTTP-FLV.
- *flush*: how long a server merges messages into one write for a player (`mw_latency`, floor's `-w`). With `auto`, the \
default, Weir decides by the load of its core, and audio leaves with the next video frame; floor then sends every message.
- *x peer*: CPU per delivered Gbit by floor's at the same flush policy; with every message, by the lower of floor's and \
nginx's. (For `weir+idle`: by Weir's without the idle players.)
- *behind*: players whose mean delay grew by more than 250 ms from the first to the last quarter of the window, in all \
rounds; *wrong*: frames duplicated, out of order, corrupted or with a time that went back; *broken*: players lost.
- *KiB/player*: growth of the server's private memory from before the players to the end, by the players.

Again: `make bench` (the cases that decide), `make bench-full` (all), `make bench CASES='rtmp-1000@100 rtmp-500' ROUNDS=1`.

## Targets

{markdown(TARGET_COLUMNS, target_rows(results))}

## Cases

{listed}

{markdown(COLUMNS, table_rows(results))}

## mw_latency auto against the number of players

{f"![CPU and p99 delay against players]({picture})" if picture else ""}

{markdown(CURVE_COLUMNS, curve_rows(results))}

## 5,000 players of a silent stream

The publisher stays connected and sends nothing. The players connect, leave, and connect a second time.

{markdown(SILENT_COLUMNS, silent_rows(results))}

## Joining

200 players, 25 a second, at any place of a GOP of 2 s: time from the play request to the first key frame.

{markdown(JOIN_COLUMNS, join_rows(results))}

## WebRTC, and RTSP by UDP

500 WHEP players of one stream of 1 Mbit/s (H.264, and AAC that the server makes Opus of), each with a socket of its own \
and feedback as a browser sends it, measured for a minute; and \
500 RTSP players of the same stream, without encryption and with AAC as it came, with `trunk/bench/floor/udp_floor.c`, which \
only sends the same packets, behind it.

{markdown(PACKETS_COLUMNS, packets_rows(results))}

What a delivered packet of 1,200 bytes costs the server's core (`trunk/bench/micro/session/webrtc/`), beside a loop that \
only protects the same packets and sends them in the same bursts; 500 peers, the best of twelve turns:

{markdown(PACKET_COLUMNS, packet_rows(results))}

## Multicast groups by HTTP

Transport streams in RTP, in ticks of 1 ms, from a network namespace to a gateway in another one, which players in the first one \
ask for `/rtp/GROUP:PORT`. Every TS packet carries its number and the time of its sending. *floor* is \
`trunk/bench/floor/mcast_floor.c`: a socket and a ring for each group, drained every 5 ms, one send for each player and drain.

{markdown(MCAST_COLUMNS, mcast_rows(results))}

## Recording and segments

Publishers of `weir-bench` and no players; `weir+off` neither records nor segments. Every frame in the recordings is looked at: its stamp \
says which it is. *KiB/stream*: growth of the server's private memory; *window*: what the live window of HLS has in bytes. *first segment*: \
from the connection to the last byte of playlists, header and first segment of a stream that nobody watched by HLS.

{markdown(segments.COLUMNS, segment_rows(results))}

## From node to node

Publishers at one node, players at another (*weir*) or at the same one (*weir+direct*): the difference is the hop, with both of its ends. \
*weir+processes*: one server of four processes, players go to their stream. *weir+unix*: one of two processes, players stay where they \
came in, so some streams come by a unix socket (*relayed*).

{markdown(relay.COLUMNS, relay_rows(results))}

## Telephone calls

PCMU in packets of 20 ms. Each phone says a tone with stamps, and each end checks tone, stamps and RTP of what it hears \
([load-client.md](load-client.md#telephones)); *phone* and *line* are the delays of what the phones and the RTMP lines hear, \
from sending to receiving. *MHz each*: share of the core by its clock, for each call with its lines, each publisher or player; \
the player's has the share of its publisher in it.

{markdown(sip.COLUMNS, sip_rows(results))}

What a worker does for a call whose stream somebody plays by HLS, HTTP-TS or SRT (`trunk/bench/micro/transcode/`): AAC of 16 kHz of \
what the phone says, of Opus at 48 kHz; once for each call, however many play it.

{markdown(sip.AAC_COLUMNS, sip.aac_rows(results, number))}
""" + ("\n## Notes\n\n" + "\n".join(f"- {note}" for note in notes) + "\n" if notes else "") + (
        f"\n## Runs that failed\n\n{problems}\n" if problems else "")
