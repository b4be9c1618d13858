"""Telephone calls: phones of weir-bench call streams that RTMP lines publish, and each phone is a stream that such a line
plays. What a publisher and a player of the article's stream cost (440 kbit/s, 12 frames a second) is measured beside them."""

import json
import os
from pathlib import Path

from bench import client
from bench.problem import Problem
from bench.targets import Target

CALL_MHZ_LIMIT = 3.0       # PCMU, both directions, the RTMP line with it
CALL_KIB_LIMIT = 20        # user memory of a call alone
DELAY_LIMIT_MS = 5         # p99, without a jitter buffer
JITTER_DELAY_LIMIT_MS = 60  # and with it
SETUPS_PER_SECOND = 100
PUBLISHER_MHZ_LIMIT, PLAYER_MHZ_LIMIT = 3.0, 0.5
SETTLE_S = 1.0
TALK_S = 1.0               # of the calls that are only made and ended
GOODBYE_S = 10
ARTICLE = ["--fps", 12, "--gop", 24]
CLOCK = "cpu MHz"
AAC_BENCHMARKS = {"g711/aac16": "G.711", "speex8/aac16": "Speex, 8 kHz", "speex16/aac16": "Speex, 16 kHz", "opus16/aac": "Opus"}
AAC_TURNS, AAC_LIMIT_S = 3, 60


def core_mhz():
    """What the kernel says; 0 where it does not."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(CLOCK):
            return float(line.split(":")[1])
    return 0.0


def command(tools, server, case, window_s, report):
    common = ["--server-pid", server.pid, "--duration", client.milliseconds(window_s), "--json", report, "--quiet"]
    stream = "line%d" if case.streams > 1 else "line"
    if case.name == "sip-publisher":
        return [tools.client, "rtmp-publish", "--url", server.rtmp_url(stream), "--streams", case.streams, "--bitrate",
                case.bitrate, *ARTICLE, *common]
    if case.name == "sip-player":
        return [tools.client, "rtmp-play", "--url", server.rtmp_url(stream), "--clients", case.players, "--publish",
                case.bitrate, *ARTICLE, "--ramp", client.milliseconds(case.ramp()), "--read-at-once", *common]
    words = [tools.client, "sip-call", f"sip:live/{stream}@127.0.0.1:{server.rtsp_port}", "--lines", server.rtmp_url(stream),
             "--calls", case.players, "--rate", SETUPS_PER_SECOND, "--settle", client.milliseconds(SETTLE_S), *common]
    if case.name == "sip-setup":
        return [*words, "--no-listen", "--talk", client.milliseconds(TALK_S)]
    return words if case.streams > 1 else [*words, "--no-listen"]


def seconds_of(case, window_s):
    return case.players / SETUPS_PER_SECOND + SETTLE_S + window_s


def run(tools, processes, core, folder, server, case, window_s, idle):
    """Figures of one run as a dictionary."""
    report, log = folder / "client.json", folder / "client.log"
    load = processes.start(command(tools, server, case, window_s, report), core, log)
    client.wait_for(load, seconds_of(case, window_s) + client.CONNECT_TIMEOUT_S + GOODBYE_S, idle, log)
    if not os.path.exists(f"/proc/{server.pid}"):
        raise Problem("weir ended during the run")
    try:
        return figures(json.loads(report.read_text()), case)
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise Problem(f"the report of weir-bench is not as expected: {type(error).__name__} {error}") from None


def aac_cost(tools, processes, core, folder, idle):
    """The micro-benchmark of the transcoder; the best of its turns, since only disturbances make it worse."""
    folder.mkdir(parents=True, exist_ok=True)
    out, log = folder / "micro.json", folder / "micro.log"
    load = processes.start([tools.micro, f"--benchmark_filter=transcode_call/({'|'.join(AAC_BENCHMARKS)})$",
                            f"--benchmark_repetitions={AAC_TURNS}", f"--benchmark_out={out}", "--benchmark_out_format=json"], core, log)
    client.wait_for(load, AAC_LIMIT_S, idle, log)
    try:
        best = {}
        for each in json.loads(out.read_text())["benchmarks"]:
            if each["run_type"] == "iteration":
                name = each["run_name"].partition("/")[2]
                found = {"us_per_20ms": each["per_20ms"] * 1e6, "kib_each": each["bytes"] / 1024}
                best[name] = min(best.get(name, found), found, key=lambda row: row["us_per_20ms"])
        clock = core_mhz()
        return {"spoken": [{"codec": spoken, **best[name], "mhz_each": best[name]["us_per_20ms"] / 20_000 * clock}
                           for name, spoken in AAC_BENCHMARKS.items()]}
    except (OSError, ValueError, KeyError) as error:
        raise Problem(f"the report of weir-micro is not as expected: {type(error).__name__} {error}") from None


AAC_COLUMNS = ["codec of the phone", "CPU us for 20 ms", "MHz each", "KiB each"]


def aac_rows(results, number):
    for row in results.of("sip-aac", "auto", "weir"):
        for each in row["spoken"]:
            yield [each["codec"], number(each["us_per_20ms"], 0), number(each["mhz_each"], 1), number(each["kib_each"], 0)]


def figures(report, case):
    cpu = report["server"]["cpu_percent"]
    row = {"cpu_percent": cpu, "core_mhz": core_mhz(), "client_cpu_percent": report["client"]["cpu_percent"]}
    if case.name in ("sip-publisher", "sip-player"):
        units = case.streams if case.name == "sip-publisher" else case.players
        return {**row, "units": units, "mhz_each": cpu / 100 * row["core_mhz"] / units}
    made, phones, lines = report["calls"], report["phones"], report.get("lines", {})
    row |= {
        "units": made["answered"], "failed": made["failed"] + made["broken"] + made["unended"],
        "dial_p99_ms": made["dial_ms"]["p99"], "setup_p50_ms": made["setup_ms"]["p50"], "setup_p99_ms": made["setup_ms"]["p99"],
        "voice_lost": max(phones["lost"], phones["rtp_lost"]) + lines.get("lost", 0),
        "wrong_seconds": phones["wrong_seconds"] + lines.get("wrong_seconds", 0),
        "judged_seconds": phones["seconds"] + lines.get("seconds", 0),
        "silent": phones["silent"] + lines.get("silent", 0),
        "delay_p50_ms": phones["delay_ms"]["p50"], "delay_p99_ms": phones["delay_ms"]["p99"],
        "line_p50_ms": lines.get("delay_ms", {}).get("p50"), "line_p99_ms": lines.get("delay_ms", {}).get("p99"),
        "jitter_ms": phones["jitter_mean_ms"], "late_turns": made["late_turns"],
    }
    if case.name == "sip-setup":
        return {**row, "setups_per_s": made["setups_per_s"], "ms_per_call": report["cost"]["ms_per_call"]}
    return {**row, "mhz_each": report["cost"]["mhz_per_call"], "kib_each": report["server"]["private_kib_per_player"]}


COLUMNS = ["case", "flush", "units", "CPU %", "MHz each", "KiB each", "CPU ms/call", "INVITE to 200 p50, ms", "p99", "phone p50, ms",
           "p99", "line p50, ms", "p99", "lost", "seconds without the tone", "failed", "late turns", "client CPU %"]


def rows(results, cases, policy_text, number):
    for (case, policy), servers in results.groups().items():
        for server in servers if cases[case].kind == "sip" else []:
            for row in results.of(case, policy, server):
                yield [case, policy_text(policy), number(row["units"], 0), number(row["cpu_percent"]),
                       number(row.get("mhz_each"), 2), number(row.get("kib_each"), 1), number(row.get("ms_per_call"), 2),
                       *(number(row.get(f"setup_{which}_ms"), 1) for which in ("p50", "p99")),
                       *(number(row.get(f"{end}_{which}_ms"), 1) for end in ("delay", "line") for which in ("p50", "p99")),
                       number(row.get("voice_lost"), 0), number(row.get("wrong_seconds"), 0), number(row.get("failed"), 0),
                       number(row.get("late_turns"), 0), number(row["client_cpu_percent"], 0)]


def summary(row):
    text = f"{row['units']:,} units, CPU {row['cpu_percent']:.1f} %"
    for figure, unit in (("mhz_each", "MHz each"), ("kib_each", "KiB each"), ("ms_per_call", "ms a call")):
        text += f", {row[figure]:.2f} {unit}" if figure in row else ""
    if "voice_lost" in row:
        text += (f", delay {row['delay_p50_ms']:.1f} / {row['delay_p99_ms']:.1f} ms, lost {row['voice_lost']}, without tone "
                 f"{row['wrong_seconds']}, failed {row['failed']}")
    return text


def targets(results):
    found = []

    def at_most(case, policy, figure, what, limit, unit, decimals=2):
        value = results.median(case, policy, "weir", figure)
        if value is not None:
            found.append(Target(what, f"<= {limit} {unit}", f"{value:.{decimals}f} {unit}", value <= limit))

    for case in ("sip-call-10", "sip-call-500"):
        at_most(case, "0", "mhz_each", f"CPU of a PCMU call between SIP and RTMP, both directions, {case}", CALL_MHZ_LIMIT, "MHz")
    at_most("sip-call-500", "0", "delay_p99_ms", "p99 delay added to what phones hear, 500 calls", DELAY_LIMIT_MS, "ms")
    at_most("sip-call-500", "0", "line_p99_ms", "p99 delay added to what phones say, 500 calls", DELAY_LIMIT_MS, "ms")
    at_most("sip-jitter-500", "0", "line_p99_ms", "p99 delay added to what phones say, 500 calls, with the jitter buffer",
            JITTER_DELAY_LIMIT_MS, "ms")
    at_most("sip-phone-500", "0", "kib_each", "User memory of a call without transcoding", CALL_KIB_LIMIT, "KiB", 1)
    at_most("sip-publisher", "auto", "mhz_each", "CPU of a publisher of 440 kbit/s", PUBLISHER_MHZ_LIMIT, "MHz")
    at_most("sip-player", "auto", "mhz_each", "CPU of a player of it", PLAYER_MHZ_LIMIT, "MHz")
    calls = [row for case in ("sip-call-10", "sip-call-500", "sip-jitter-500", "sip-phone-500") for row in results.of(case, "0", "weir")]
    if calls:
        lost, wrong = sum(row["voice_lost"] for row in calls), sum(row["wrong_seconds"] + row["silent"] for row in calls)
        failed = sum(row["failed"] for row in calls)
        found.append(Target("Calls: packets lost; seconds without the tone; calls failed", "0; 0; 0",
                            f"{lost:,}; {wrong:,}; {failed} in {len(calls)} runs", lost + wrong + failed == 0))
    setups = results.of("sip-setup", "0", "weir")
    if setups:
        rate, failed = min(row["setups_per_s"] for row in setups), sum(row["failed"] for row in setups)
        found.append(Target("Calls set up in a second, without one that fails", f"{SETUPS_PER_SECOND}", f"{rate:.1f}, {failed} failed",
                            failed == 0 and rate >= 0.99 * SETUPS_PER_SECOND))
    return found
