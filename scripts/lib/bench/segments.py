"""Streams that become segments and files: what recording and segmenting cost, whether a recording has each frame that was
published, and how soon a stream that nobody watched by HLS can be played."""

import http.client
import json
import re
import time
import urllib.parse
from statistics import quantiles

from bench import client
from bench.problem import Problem
from bench.processes import private_kib, tail, wait_until
from bench.targets import Target

OFF = "weir+off"            # the same publishers of a server that neither records nor segments
RECORD_LIMIT_PERCENT = 20   # of a core
SEGMENT_LIMIT_PERCENT = 15
MEMORY_FACTOR = 1.2         # x window x bit rate
WINDOW_S = 3 * 2            # hls { window 3; fragment 2s; }, the defaults
FIRST_LIMIT_MS = 300
FIRST_PAUSE_S = 0.037       # between two first requests, so that they fall anywhere in a GOP
SETTLE_S = 3.0
FINISH_S = 20               # that the files may take to be finished
REQUEST_S = 5
END_SPREAD_NS = 200_000_000  # that publishers need to end, and a frame's time
STAMP = re.compile(rb"[0-9a-f]{60}")


def config(case, folder, off):
    """What the server has beside the usual."""
    if off or case.name == "hls-first":
        return ""
    if case.name.startswith("record"):
        (folder / "recordings").mkdir()
        return f'record {{ enabled on; path "{folder}/recordings"; }}\n'
    return "hls { always on; }\n"


def bits_of(rate):
    return int(rate[:-1]) * {"k": 1_000, "M": 1_000_000}[rate[-1]]


def run(tools, processes, core, folder, server, case, window_s, off, idle):
    """Figures of one run as a dictionary."""
    report, log = folder / "client.json", folder / "client.log"
    at_start = most = private_kib(server.pid)
    load = processes.start(
        [tools.client, "rtmp-publish", "--url", server.rtmp_url("bench%d"), "--streams", case.streams, "--bitrate", case.bitrate, "--gop",
         case.gop, "--ramp", client.milliseconds(case.ramp_s), "--duration", client.milliseconds(window_s), "--server-pid", server.pid,
         "--json", report, "--quiet"], core, log)

    def meanwhile():
        nonlocal most
        idle()
        most = max(most, private_kib(server.pid)) if load.poll() is None else most

    row = {}
    if case.name == "hls-first":
        row = first_requests(server, case, load, log, meanwhile)
    client.wait_for(load, case.ramp_s + window_s + client.CONNECT_TIMEOUT_S, meanwhile, log)
    try:
        facts = json.loads(report.read_text())
        row |= {"segments": True, "streams": case.streams, "server_cpu_percent": facts["server"]["cpu_percent"],
                "publisher_cpu_percent": facts["client"]["cpu_percent"], "kib_each": (most - at_start) / case.streams,
                "window_kib": bits_of(case.bitrate) / 8 * WINDOW_S / 1024, "failed": facts["publishers"]["failed"]}
    except (OSError, ValueError, KeyError) as error:
        raise Problem(f"the report of weir-bench is not as expected: {type(error).__name__} {error}") from None
    if case.name.startswith("record") and not off:
        row |= recorded(folder / "recordings", case.streams, idle)
    return row


# ---- recordings, frame by frame --------------------------------------------------------------------------------------


def recorded(place, streams, idle):
    """What the files hold: frames, those that are missing from the first of the publisher to the last of each track, and the files that
    end before the publishers did."""
    wait_until(lambda: idle() or not list(place.rglob("*.part")), FINISH_S, "the recordings are finished")
    files = sorted(place.rglob("*.mp4"))
    if len(files) < streams:
        raise Problem(f"{len(files)} files of {streams} streams")
    frames = missing = unstamped = 0
    ends = []
    for path in files:
        idle()
        for stamps in stamps_of(path.read_bytes()).values():
            frames += len(stamps)
            known = [stamp for stamp in stamps if stamp is not None]
            unstamped += len(stamps) - len(known)
            missing += known[-1][0] + 1 - len({number for number, _ in known}) if known else 0
            ends.append(known[-1][1] if known else 0)
    short = sum(max(ends) - end > END_SPREAD_NS for end in ends)
    return {"files": len(files), "frames": frames, "missing": missing, "unstamped": unstamped, "short": short,
            "bytes": sum(p.stat().st_size for p in files)}


def boxes(data, begin, end):
    while begin + 8 <= end:
        size, head = int.from_bytes(data[begin:begin + 4], "big"), 8
        if size == 1:
            size, head = int.from_bytes(data[begin + 8:begin + 16], "big"), 16
        yield data[begin + 4:begin + 8], begin, begin + head, begin + size
        begin += max(size, head)


def sequences(data):
    """track: the sequence numbers that the stamps of its frames say, in order; None where a frame has none."""
    return {track: [stamp and stamp[0] for stamp in stamps] for track, stamps in stamps_of(data).items()}


def stamps_of(data):
    """track: (sequence number, time of sending in ns) of its frames, in order; None where a frame has none."""
    found = {}
    for kind, moof, first, last in boxes(data, 0, len(data)):
        if kind != b"moof":
            continue
        for inner, _, begin, end in boxes(data, first, last):
            if inner == b"traf":
                read_fragment(data, moof, begin, end, found)
    return found


def read_fragment(data, moof, begin, end, found):
    track, usual = 0, 0
    for kind, _, at, _ in boxes(data, begin, end):
        flags = int.from_bytes(data[at + 1:at + 4], "big")
        if kind == b"tfhd":
            track = int.from_bytes(data[at + 4:at + 8], "big")
            place = at + 8 + (8 if flags & 1 else 0) + (4 if flags & 2 else 0) + (4 if flags & 8 else 0)
            usual = int.from_bytes(data[place:place + 4], "big") if flags & 16 else 0
        elif kind == b"trun":
            count, place = int.from_bytes(data[at + 4:at + 8], "big"), at + 8
            offset = moof + (int.from_bytes(data[place:place + 4], "big", signed=True) if flags & 1 else 0)
            place += (4 if flags & 1 else 0) + (4 if flags & 4 else 0)
            before, row = (4 if flags & 0x100 else 0), sum(4 for bit in (0x100, 0x200, 0x400, 0x800) if flags & bit)
            for _ in range(count):
                size = int.from_bytes(data[place + before:place + before + 4], "big") if flags & 0x200 else usual
                stamp = STAMP.search(data, offset, offset + size)
                found.setdefault(track, []).append((int(stamp[0][16:24], 16), int(stamp[0][24:40], 16)) if stamp else None)
                offset, place = offset + size, place + row


# ---- the first request -----------------------------------------------------------------------------------------------


def get(connection, path):
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise Problem(f"{path}: {answer.status}")
    return body


def address_in(text, pattern, base):
    found = re.search(pattern, text, re.M)
    if not found:
        raise Problem(f"no address in {text[:200]}")
    return urllib.parse.urljoin(base, found[1])


def first_segment_ms(port, path):
    """From the connection to the last byte of the first segment that the playlist has."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_S)
    try:
        listed = address_in(get(connection, path).decode(), r"^([^#\s]\S*)", path)
        text = get(connection, listed).decode()
        header = get(connection, address_in(text, r'^#EXT-X-MAP:URI="([^"]+)"', listed))
        segment = get(connection, address_in(text, r"^([^#\s]\S*)", listed))
        if b"moov" not in header or b"moof" not in segment:
            raise Problem("the first segment cannot be played")
        return 1000 * (time.monotonic() - began)
    except OSError as error:
        raise Problem(f"{path}: {error}") from None
    finally:
        connection.close()


def first_requests(server, case, load, log, idle):
    settled = time.monotonic() + case.ramp_s + SETTLE_S
    while time.monotonic() < settled:
        idle()
        if load.poll() is not None:
            raise Problem(f"weir-bench ended: {tail(log, 2)}")
        time.sleep(0.05)
    taken = []
    for stream in range(case.streams):
        taken.append(first_segment_ms(server.http_port, f"/live/bench{stream}.m3u8"))
        time.sleep(FIRST_PAUSE_S)
    cuts = quantiles(taken, n=100)
    return {"requests": len(taken), "first_p50_ms": cuts[49], "first_p95_ms": cuts[94], "first_p99_ms": cuts[98], "first_max_ms": max(taken)}


# ---- the report ------------------------------------------------------------------------------------------------------


COLUMNS = ["case", "server", "streams", "CPU %", "KiB/stream", "window, KiB", "files", "frames recorded", "missing", "files cut short",
           "first segment p50, ms", "p95", "p99", "longest", "publishers' CPU %"]


def rows(results, cases, number):
    for (case, policy), servers in results.groups().items():
        for server in servers if cases[case].kind == "segments" else []:
            for row in results.of(case, policy, server):
                yield [case, server, number(row["streams"], 0), number(row["server_cpu_percent"]), number(row["kib_each"], 0),
                       number(row["window_kib"], 0), number(row.get("files"), 0), number(row.get("frames"), 0), number(row.get("missing"), 0),
                       number(row.get("short"), 0), *(number(row.get(f"first_{which}_ms"), 1) for which in ("p50", "p95", "p99", "max")),
                       number(row["publisher_cpu_percent"], 0)]


def summary(row):
    text = f"CPU {row['server_cpu_percent']:.1f} %, {row['kib_each']:.0f} KiB a stream"
    if "frames" in row:
        text += f", {row['frames']:,} frames in {row['files']} files, missing {row['missing']}, cut short {row['short']}"
    if "requests" in row:
        text += f", {row['requests']} first segments after {row['first_p50_ms']:.0f} / {row['first_p99_ms']:.0f} ms"
    return text


def targets(results):
    found = []
    for case, limit, what in (("record-100", RECORD_LIMIT_PERCENT, "Recording"), ("hls-segment-100", SEGMENT_LIMIT_PERCENT, "Segmenting")):
        whole, off = (results.median(case, "auto", server, "server_cpu_percent") for server in ("weir", OFF))
        if whole is not None and off is not None:
            found.append(Target(f"{what} 100 streams of 2 Mbit/s, beside receiving them", f"<= {limit} % of a core",
                                f"{whole - off:.1f} % ({whole:.1f} % with receiving)", whole - off <= limit))
    rows_of = results.of("record-100", "auto", "weir")
    if rows_of:
        lost, short = sum(row["missing"] + row["unstamped"] for row in rows_of), sum(row["short"] for row in rows_of)
        found.append(Target("Frames missing in 100 recordings, by their stamps; tracks that end before their publisher", "0; 0",
                            f"{lost} of {sum(row['frames'] for row in rows_of):,}; {short}", lost + short == 0))
    whole, off = (results.median("hls-segment-100", "auto", server, "kib_each") for server in ("weir", OFF))
    if whole is not None and off is not None:
        window = results.median("hls-segment-100", "auto", "weir", "window_kib")
        found.append(Target("Memory of the segments of a stream", f"<= window x bit rate x {MEMORY_FACTOR} = {MEMORY_FACTOR * window:.0f} KiB",
                            f"{whole - off:.0f} KiB, {(whole - off) / window:.2f} x", whole - off <= MEMORY_FACTOR * window))
    longest = results.median("hls-first", "auto", "weir", "first_p99_ms")
    if longest is not None:
        found.append(Target("First segment of a stream that was not being segmented, p99", f"< {FIRST_LIMIT_MS} ms", f"{longest:.0f} ms",
                            longest < FIRST_LIMIT_MS))
    return found
