"""weir-bench against the real server: conditions, figures of the server, the limit, and what goes wrong."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from media import publisher
from weir import TOP, wait_until

BENCH = TOP / os.environ.get("WEIR_BENCH", "objs/weir-bench")
# Nothing of these tests is about time: the machine may stand still for a moment.
PUBLISH = ("--publish", "300k", "--gop", "15", "--behind", "20s", "--stall", "20s")
QUICK = (*PUBLISH, "--clients", "20", "--duration", "2s")


class Result:
    def __init__(self, process, report):
        self.exit_code = process.returncode
        self.text = process.stdout + process.stderr
        self.report = json.loads(report.read_text()) if report.exists() else {}

    def failed(self):
        return [each["name"] for each in self.report["conditions"] if not each["met"]]


def bench(folder, *words, subcommand="rtmp-play", timeout=60, **more):
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    line = [str(word) for word in (BENCH, subcommand, "--json", report, *words)]
    return Result(subprocess.run(line, capture_output=True, text=True, timeout=timeout, **more), report)


def start(folder, *words):
    report = folder / "report.json"
    line = [str(word) for word in (BENCH, "rtmp-play", "--json", report, *words)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), report


def end(process, report):
    process.stdout_text, process.stderr_text = process.communicate(timeout=60)
    return Result(subprocess.CompletedProcess(process.args, process.returncode, process.stdout_text,
                                              process.stderr_text), report)


def test_metrics_lists_what_conditions_may_use():
    text = subprocess.run([BENCH, "metrics"], capture_output=True, text=True, timeout=10, check=True).stdout
    for name in ("loss", "latency.p99", "rate.ratio", "server.cpu", "clients.playing", "jitter.max"):
        assert f"  {name} " in text


def test_a_stream_of_another_publisher_is_played_and_counted(weir, folder):
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        result = bench(folder, "--url", weir.rtmp(), "--clients", "20", "--duration", "2s")
        unknown = bench(folder, "--url", weir.rtmp(), "--clients", "5", "--duration", "1s", "--expect", "loss == 0")
        endless = bench(folder, "--url", weir.rtmp(), "--clients", "5", "--until", "loss > 0", "--hold", "1s")
    assert result.exit_code == 0, result.text
    assert "frames of another publisher carry no stamps" in result.text
    assert result.report["media"]["video_frames"] > 20 * 20 and "lost" not in result.report["media"]
    assert unknown.exit_code == 1, "what cannot be known is not claimed"
    assert endless.exit_code == 1 and endless.report["limit"]["clients"] == 0, endless.text


def test_conditions_decide_the_exit_code(weir, folder):
    good = bench(folder, "--url", weir.rtmp(), *QUICK, "--expect", "loss==0 and latency.p99<20s",
                 "--expect", "rate.ratio > 0.1 and clients.playing == 20")
    assert good.exit_code == 0, good.text
    bad = bench(folder, "--url", weir.rtmp(), *QUICK, "--expect", "clients.playing > 20")
    assert bad.exit_code == 1
    assert bad.failed() == ["expect"]
    assert "FAILED expect: clients.playing > 20: clients.playing 20" in bad.text


@pytest.mark.parametrize("condition, message", [
    ("los==0", "unknown figure 'los'; did you mean loss?"),
    ("latency.p99<2", "expected a time with its unit"),
    ("server.cpu<95%", "name the server with --server-pid PID, or --server-api"),
])
def test_a_wrong_condition_starts_nothing(weir, folder, condition, message):
    before = weir.api("/api/v1/summaries")["data"]["clients_total"]
    result = bench(folder, "--url", weir.rtmp(), *QUICK, "--expect", condition)
    assert result.exit_code == 2
    assert message in result.text
    assert weir.api("/api/v1/summaries")["data"]["clients_total"] == before


def test_figures_of_the_server_come_by_its_api(weir, folder):
    result = bench(folder, "--url", weir.rtmp(), *QUICK, "--server-api", f"http://127.0.0.1:{weir.api_port}",
                   "--expect", "server.cpu<90% and server.memory<100MiB and server.switches>0")
    assert result.exit_code == 0, result.text
    assert result.report["metrics"]["server.rss"] > 1 << 20
    columns = result.report["series"]["columns"]
    last = dict(zip(columns, result.report["series"]["samples"][-1]))
    assert last["playing"] == 20
    assert last["server_memory_bytes"] > 1 << 20
    assert last["client_memory_bytes"] > 1 << 20


def test_an_api_that_is_not_there_is_told(weir, folder):
    result = bench(folder, "--url", weir.rtmp(), *QUICK, "--server-api", "http://127.0.0.1:1")
    assert result.exit_code == 2
    assert "--server-api: connect to 127.0.0.1:1: Connection refused" in result.text


def test_the_limit_is_found(weir, folder):
    result = bench(folder, "--url", weir.rtmp(), *PUBLISH, "--clients", "10", "--step", "10", "--hold", "1s",
                   "--until", "clients.playing > 25")
    assert result.exit_code == 0, result.text
    assert result.report["limit"]["clients"] == 20
    assert [(step["clients"], step["held"]) for step in result.report["steps"]] == [(10, True), (20, True), (30, False)]


def test_each_client_is_listed(weir, folder):
    result = bench(folder, "--url", weir.rtmp("live/x%d"), "--streams", "2", *QUICK, "--per-client")
    assert result.exit_code == 0, result.text
    clients = result.report["per_client"]
    assert [each["client"] for each in clients] == list(range(20))
    assert {each["stream"] for each in clients} == {0, 1}
    assert all(each["lost"] == 0 and each["video_frames"] > 10 and each["failure"] == "" for each in clients)


def test_players_leave_after_their_stay(weir, folder):
    result = bench(folder, "--url", weir.rtmp(), *PUBLISH, "--clients", "10", "--ramp", "1s", "--stay", "2s",
                   "--duration", "30s")
    assert result.exit_code == 0, result.text
    assert result.report["clients"]["left"] == 10
    assert result.report["clients"]["broken"] == 0


def test_a_server_that_dies_is_counted_and_ends_the_run(weir, folder):
    process, report = start(folder, "--url", weir.rtmp(), *PUBLISH, "--clients", "20", "--duration", "60s",
                            "--server-pid", weir.process.pid)
    wait_until(lambda: sum(each["players"] for each in weir.streams()) == 20, 20, "all of them play")
    time.sleep(1)  # each has received something
    weir.kill()
    result = end(process, report)
    assert result.exit_code == 1
    assert result.report["clients"]["broken"] == 20
    assert result.report["ended_early"] == "every player has ended"


def takes(process, number):
    """Whether it waits for the signal, which would kill it otherwise."""
    masks = re.findall(r"^Sig(?:Blk|Cgt):\s*(\w+)", Path(f"/proc/{process.pid}/status").read_text(), re.M)
    return any(int(mask, 16) >> number - 1 & 1 for mask in masks)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after_s", [0.3, 1.5, 4])
def test_a_signal_ends_any_phase_with_the_report(weir, folder, after_s, number):
    process, report = start(folder, "--url", weir.rtmp(), *PUBLISH, "--gop", "60", "--clients", "40", "--ramp", "2s",
                            "--duration", "60s")
    wait_until(lambda: takes(process, number), 20, "it has begun")
    time.sleep(after_s)
    process.send_signal(number)
    result = end(process, report)
    assert result.exit_code == 3 and "INCOMPLETE" in result.text and "PASSED" not in result.text, result.text
    assert result.report["ended_early"] == ("interrupted (Ctrl+C)" if number == signal.SIGINT else "terminated")
    assert result.report["verdict"] == "incomplete" and not result.report["passed"]
    clients = result.report["clients"]
    assert clients["asked"] == 40
    assert clients["connected"] <= 40 and clients["refused"] == 0 and clients["broken"] == 0


CAP_SYS_RESOURCE = 24


def has_capability(number):
    """Of this process, and so of its children."""
    effective = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.M)[1]
    return bool(int(effective, 16) >> number & 1)


def test_too_few_descriptors_are_told_before_anything_starts(weir, folder):
    # As a user who may not raise the limit; most may not anyway.
    words = ["prlimit", "--nofile=100:100"]
    if has_capability(CAP_SYS_RESOURCE):
        words += ["setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource"]
    report = folder / "report.json"
    line = [*words, BENCH, "rtmp-play", "--url", weir.rtmp(), *QUICK, "--clients", "200", "--json", report]
    done = subprocess.run([str(word) for word in line], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2
    assert "265 open files are needed, the limit is 100: raise it ('ulimit -n 265'" in done.stderr


@pytest.mark.parametrize("url, message", [
    ("rtmp://no.such.host.invalid/live/a", "host 'no.such.host.invalid'"),
    ("rtmp://127.0.0.1:1/live/a", "Connection refused"),
    ("http://127.0.0.1/live/a.flv", "expected an rtmp:// URL"),
    ("127.0.0.1/live/a", "is no URL"),
])
def test_a_wrong_address_is_told(folder, url, message):
    result = bench(folder, "--url", url, *QUICK)
    assert result.exit_code == 2
    assert message in result.text
