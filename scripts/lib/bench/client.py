"""objs/weir-bench as the load of a run, and the figures out of its report."""

import json
import subprocess
import time

from bench.problem import Problem
from bench.processes import tail

CONNECT_TIMEOUT_S = 15
WARM_UP_S = 2.0  # weir-bench publishes that long before its players start
BEHIND = "250ms"  # growth of a player's mean delay within a run that counts as falling behind

# Players that acknowledge late make a server without TCP_NODELAY (nginx) send fewer and later packets, and flatter it.
# With more of them the client would need more than its core.
AT_ONCE_PLAYERS = 2500
HLS_WARM_UP_S = 8  # so many seconds of segments are there when the first player comes
SETTLE_S = 2.1  # between everybody's first frame and the window: a GOP, so that all have picture and sound


def milliseconds(seconds):
    return f"{int(seconds * 1000)}ms"


def play_command(tools, server, case, window_s, json_path):
    """weir-bench with `case.players` players of its own synthetic streams."""
    stream = "bench%d" if case.streams > 1 else "bench"
    common = ["--clients", case.players, "--streams", case.streams, "--ramp", milliseconds(case.ramp()),
              "--publish", case.bitrate, "--gop", case.gop, "--duration", milliseconds(window_s),
              "--connect-timeout", f"{CONNECT_TIMEOUT_S}s", "--behind", BEHIND, "--server-pid", server.pid,
              "--settle", milliseconds(SETTLE_S), "--json", json_path, "--quiet"]
    if case.protocol == "rtc":
        return [tools.client, "rtc-play", "--url", server.whep_url(stream), "--publish-url", server.rtmp_url(stream),
                *common]
    if case.protocol == "rtsp-udp":
        return [tools.client, "rtsp-play", "--url", server.rtsp_url(stream), "--publish-url", server.rtmp_url(stream),
                "--transport", "udp", *common]
    if case.protocol in ("hls", "ll-hls"):
        return [tools.client, "hls-play", "--url", server.hls_url(stream), "--publish-url", server.rtmp_url(stream),
                "--warm-up", f"{HLS_WARM_UP_S}s", *(["--plain"] if case.protocol == "hls" else []), *common]
    if case.players <= AT_ONCE_PLAYERS:
        common.append("--read-at-once")
    if case.protocol == "rtsp" and server.rtsp:
        return [tools.client, "rtsp-play", "--url", server.rtsp_url(stream), "--publish-url", server.rtmp_url(stream),
                *common]
    if case.protocol == "flv":
        return [tools.client, "flv-play", "--url", server.flv_url(stream), "--publish-url", server.rtmp_url(stream),
                *common]
    if case.protocol == "ts":  # the reference program has the other format only
        player, url = ("ts-play", server.ts_url(stream)) if server.ts else ("flv-play", server.flv_url(stream))
        return [tools.client, player, "--url", url, "--publish-url", server.rtmp_url(stream), *common]
    return [tools.client, "rtmp-play", "--url", server.rtmp_url(stream), *common]


def limit_s(case, window_s):
    """What a run may take before it is given up."""
    return (HLS_WARM_UP_S if "hls" in case.protocol else WARM_UP_S) + case.ramp() + SETTLE_S + window_s + 3 * CONNECT_TIMEOUT_S


def wait_for(process, limit_s, idle, log):
    """Waits for the client; `idle` is called ten times a second. A Problem when it takes too long or could not run."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            code = process.wait(0.1)
            break
        except subprocess.TimeoutExpired:
            idle()
            if time.monotonic() > deadline:
                raise Problem(f"weir-bench was not done after {limit_s:.0f} s") from None
    if code not in (0, 1):  # 1: a condition was not met, which the figures tell
        raise Problem(f"weir-bench, exit code {code}: {tail(log, 2)}")


def webrtc_figures(report):
    """What WebRTC adds to a row. A new player may be moved to the next key frame, by which no packet is lost: frames
    count within the window."""
    webrtc, rate = report["webrtc"], report["webrtc"]["packets_per_second"]
    return {
        "lost": report["metrics"]["loss"],
        "packets_lost": webrtc["packets_lost"],
        "packets_per_second": rate,
        "us_per_packet": 1e4 * report["server"]["cpu_percent"] / rate if rate else None,
        "freezes": webrtc["freezes"],
        "rtt_p50_ms": webrtc["rtt_ms"]["p50"],
    }


def rtsp_figures(report):
    rtsp = report["rtsp"]
    rate, lost, response = rtsp["packets_per_second"], rtsp["packets_lost"], rtsp["response_ms"]
    return {
        "packets_lost": lost,
        "packets_per_second": rate,
        "us_per_packet": 1e4 * report["server"]["cpu_percent"] / rate if rate else None,
        "response_p50_ms": response["p50"],
        "response_p99_ms": response["p99"],
    }


def hls_figures(report):
    hls = report["hls"]
    rate = hls["requests_per_second"]
    return {
        "requests_per_second": rate,
        "us_per_request": 1e4 * report["server"]["cpu_percent"] / rate if rate else None,
        "viewer_stalls": hls["viewer_stalls"],
        "viewer_behind_p50_ms": hls["behind_ms"]["p50"],
    }


def figures(path):
    """A flat row out of the JSON report of a play subcommand."""
    try:
        report = json.loads(path.read_text())
        clients, media, latency = report["clients"], report["media"], report["latency"]
        server, client = report["server"], report["client"]
        key = clients["first_key_ms"]
        packets = (webrtc_figures(report) if "webrtc" in report else
                   rtsp_figures(report) if "rtsp" in report else hls_figures(report) if "hls" in report else {})
        wrong = {name: media[name] for name in ("duplicated", "reordered", "corrupted", "time_steps_back")}
        return {
            "asked": clients["asked"],
            "connected": clients["connected"],
            "broken": clients["broken"] + clients["refused"],
            "bits_per_second": media["bits_per_second"],
            "lost": media["lost"],
            **wrong,
            "wrong": sum(wrong.values()),
            "stalls": media["stalls"],
            "behind": latency["behind"],
            "drift_ms": latency["worst_drift_ms"],
            "p50_ms": latency["all_ms"]["p50"],
            "p95_ms": latency["all_ms"]["p95"],
            "p99_ms": latency["all_ms"]["p99"],
            "max_ms": latency["all_ms"]["max"],
            **{f"{track}_{which}_ms": latency[f"{track}_ms"][which] for track in ("video", "audio")
               if f"{track}_ms" in latency for which in ("p50", "p99")},
            "start_p50_ms": latency["first_quarter_ms"]["p50"],
            "end_p50_ms": latency["last_quarter_ms"]["p50"],
            "key_p50_ms": key["p50"],
            "key_p99_ms": key["p99"],
            "key_max_ms": key["max"],
            "cpu_percent": server["cpu_percent"],
            "cpu_per_gbit": server.get("cpu_s_per_gbit", 0.0),
            "kib_per_player": server.get("private_kib_per_player"),
            "resident_mib": server["resident_mib"],
            "client_cpu_percent": client["cpu_percent"],
            **packets,
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Problem(f"the report of weir-bench is not as expected: {type(error).__name__} {error}") from None
