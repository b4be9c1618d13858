"""The benchmark harness (scripts/bench): a tiny run of it, its ends, and its arithmetic. And the load client against the
floor program, which commits each fault on request: none may go unseen."""

import json
import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from locks import one_at_a_time
from test_cluster_network import Beside
from weir import BINARY, TOP, accepts, free_port, wait_until

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from bench.cases import CASES, FULL, SHORT, Group, groups, policy_of, seconds_of  # noqa: E402
from bench.figures import Results  # noqa: E402
from bench.main import plan_of  # noqa: E402
from bench.problem import Problem  # noqa: E402
from bench.targets import judge  # noqa: E402
from bench import relay, report, segments  # noqa: E402

CLIENT = BINARY.parent / "weir-bench"
STOOD_STILL_MS = 60
BENCH = TOP / "scripts" / "bench"


@pytest.fixture(scope="module")
def floor():
    with one_at_a_time("make"):
        done = subprocess.run(["make", "--no-print-directory", "objs/bench/floor"], cwd=TOP, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return TOP / "objs" / "bench" / "floor"


def bench(folder, floor, *options):
    return [BENCH, "--weir", BINARY, "--client", CLIENT, "--floor", floor, "--out", folder, *map(str, options)]


def processes_of(folder):
    """Running programs whose command line names something in the folder."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as text:
                    command = text.read().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(folder) in command:
                found.append(f"{entry}: {command}")
    return found


def names_place(page, folder, host):
    """Whether a page says where it was made: the folder as a path of its own ("objs/weir" does not name a checkout in
    "/weir"), the host as a word that is not one of any such page."""
    known = (TOP / "doc" / "benchmarks.md").read_text()
    word = re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-])")
    return bool(re.search(rf"(?<![\w.~/]){re.escape(str(folder))}(?![\w.-])", page)
                or word.search(page) and not word.search(known))


@pytest.mark.parametrize("page, folder, named", [
    ("made by objs/weir-bench of weir", "/weir", False), ("made in /weir/objs", "/weir", True), ("(/weir)", "/weir", True),
    ("of /srv/a b/objs", "/srv/a b", True), ("/weirdo", "/weir", False), ("on host-7", "/weir", True),
    ("on a host-71", "/weir", False)])
def test_a_page_that_names_its_place_is_found(page, folder, named):
    assert names_place(page, folder, "host-7") == named


# ---- the harness -----------------------------------------------------------------------------------------------------


@pytest.mark.alone
@pytest.mark.timeout(180)
def test_a_tiny_benchmark_compares_weir_with_the_floor(folder, floor):
    done = subprocess.run(bench(folder, floor, "--cases", "rtmp-100@100", "--servers", "weir,before,floor", "--before",
                                TOP / "objs/weir", "--players", 10, "--rounds", 1, "--window", 2), text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr

    raw = json.loads(next(folder.glob("bench-*.json")).read_text())
    runs = {run["server"]: run for run in raw["runs"]}
    assert set(runs) == {"weir", "before", "floor"}
    for run in runs.values():
        assert (run["connected"], run["lost"], run["wrong"], run["broken"]) == (10, 0, 0, 0)
        for what in ("p50_ms", "video_p50_ms", "audio_p50_ms"):
            assert 10 < run[what] < 250  # writes were merged for 100 ms
        assert run["bits_per_second"] > 10 * 400_000
    assert "rtmp-100" in done.stdout and "Frames lost" in done.stdout

    page = (folder / "benchmarks.md").read_text()
    assert "| rtmp-100 | 100 ms | weir |" in page and "| rtmp-100 | 100 ms | floor |" in page
    assert not names_place(page, TOP, socket.gethostname())
    assert not processes_of(folder)


@pytest.mark.alone
@pytest.mark.timeout(260)
def test_a_tiny_benchmark_of_calls(folder, floor):
    with Beside(()) as beside:
        done = subprocess.run(bench(folder, floor, "--cases", "sip-call-10 sip-jitter-500 sip-phone-500 sip-setup sip-publisher sip-player", "--players", 5,
                                    "--window", 3), text=True, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = {run["case"]: run for run in json.loads(next(folder.glob("bench-*.json")).read_text())["runs"]}
    for name in ("sip-call-10", "sip-jitter-500", "sip-phone-500", "sip-setup"):
        run = runs[name]
        assert (run["units"], run["failed"], run["silent"]) == (5, 0, 0), run
        # Voice does not wait for a machine that stands still for some packets' time: two ways, a packet each 20 ms.
        stood_ms = beside.late_ms(1) if beside.late_ms(1) > STOOD_STILL_MS else 0
        assert run["voice_lost"] <= 2 * run["units"] * stood_ms / 20 and run["wrong_seconds"] <= run["units"] * (stood_ms > 0), (run, stood_ms)
    assert runs["sip-call-10"]["judged_seconds"] >= 2 * 5 and runs["sip-phone-500"]["kib_each"] > 0
    assert runs["sip-jitter-500"]["line_p99_ms"] > runs["sip-call-10"]["line_p50_ms"]
    assert runs["sip-publisher"]["units"] == 5 and runs["sip-player"]["mhz_each"] > 0
    assert "CPU of a PCMU call" in done.stdout and "sip-setup" in (folder / "benchmarks.md").read_text()


def listen_to_ctrl_c():
    """In the child: a suite that was started in the background passes on that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.alone
def test_ctrl_c_ends_it_with_what_was_measured_and_leaves_nothing_behind(folder, floor):
    started = subprocess.Popen(bench(folder, floor, "--cases", "rtmp-100@100", "--servers", "weir,floor", "--players", 5,
                                     "--rounds", 2, "--window", 2), text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, preexec_fn=listen_to_ctrl_c)
    try:
        wait_until((folder / "run" / "floor.log").exists, 60, "the second run starts")
        started.send_signal(signal.SIGINT)
        out, _ = started.communicate(timeout=60)
    finally:
        started.kill()
    assert started.returncode == 130, out
    assert re.search(r"interrupted after [123] of 4 runs", out) and "rtmp-100" in out, out
    wait_until(lambda: not processes_of(folder), 10, "every program has ended")


def test_it_refuses_a_single_core(folder, floor):
    core = min(os.sched_getaffinity(0))
    done = subprocess.run(["taskset", "-c", str(core), *bench(folder, floor, "--cases", "rtmp-100@100")], text=True,
                          capture_output=True, timeout=30)
    assert done.returncode == 2
    assert "a core of its own" in done.stderr


@pytest.mark.parametrize("options, said", [
    (["--cases", "rtmp-101"], "no case is called 'rtmp-101'"),
    (["--cases", "rtmp-100@sometimes"], "no case is called"),
    (["--servers", "apache"], "'apache' is none of"),
    (["--weir", "/nowhere/weir"], "weir is not built"),
    (["--cores", "0,0"], "two different ones"),
    (["--ports", "7"], "expected FIRST-LAST"),
    (["--rounds", "0"], "at least 1"),
])
def test_what_cannot_be_run_is_said(folder, floor, options, said):
    done = subprocess.run(bench(folder, floor, "--cases", "rtmp-100@100", "--servers", "weir", *options), text=True,
                          capture_output=True, timeout=30)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


# ---- the load client against faults ----------------------------------------------------------------------------------

FAULTS = {"drop": "lost", "corrupt": "corrupted", "dup": "duplicated", "swap": "reordered", "tsback": "time_steps_back"}


def play_floor(folder, floor, *options):
    """(exit code, figures of the media) of five players of a floor program with these options."""
    port = free_port()
    with open(folder / "floor.log", "wb") as log:
        server = subprocess.Popen([floor, "-p", str(port), *options], stdout=log, stderr=log)
    try:
        wait_until(lambda: accepts(port), 20, "floor listens")
        done = subprocess.run([CLIENT, "rtmp-play", "--url", f"rtmp://127.0.0.1:{port}/live/x", "--clients", "5",
                               "--publish", "500k", "--duration", "2s", "--json", folder / "report.json", "--quiet",
                               "--behind", "30s", "--stall", "30s"],  # how fast it goes beside other tests is no fault
                              text=True, capture_output=True, timeout=60)
        return done.returncode, json.loads((folder / "report.json").read_text())["media"]
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("fault", FAULTS)
def test_the_load_client_finds_a_fault(folder, floor, fault):
    code, media = play_floor(folder, floor, "-F", fault, "-E", "20")
    assert code == 1
    assert media[FAULTS[fault]] > 0, media


def test_the_load_client_finds_nothing_where_nothing_is(folder, floor):
    code, media = play_floor(folder, floor)
    assert code == 0
    assert {media[name] for name in FAULTS.values()} == {0}


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def row(case, policy, server, number, **figures):
    good = {"lost": 0, "wrong": 0, "broken": 0, "behind": 0, "cpu_percent": 10.0, "cpu_per_gbit": 1.0, "p50_ms": 1.0,
            "p99_ms": 2.0, "start_p50_ms": 1.0, "end_p50_ms": 1.0, "kib_per_player": 1.0, "client_cpu_percent": 5.0}
    return {"case": case, "policy": policy, "server": server, "round": number, **good, **figures}


def test_a_ratio_is_taken_within_a_round():
    costs = {"weir": (1.1, 2.2, 4.4), "floor": (1.0, 2.0, 4.0)}  # the machine grows slower
    results = Results([row("rtmp-1000", "100", server, number, cpu_per_gbit=cost)
                       for server, each in costs.items() for number, cost in enumerate(each, 1)])
    ratio = results.ratio("rtmp-1000", "100", "weir", ("floor",), "cpu_per_gbit")
    assert ratio.median == pytest.approx(1.1) and ratio.low == pytest.approx(1.1) and ratio.high == pytest.approx(1.1)


def test_with_every_message_the_lower_peer_of_the_round_counts():
    results = Results([row("rtmp-1000", "0", "weir", 1), row("rtmp-1000", "0", "floor", 1, cpu_per_gbit=2.0),
                       row("rtmp-1000", "0", "nginx", 1, cpu_per_gbit=0.8)])
    found = next(each for each in judge(results) if "every message" in each.what)
    assert found.met is False and found.found.startswith("1.25")


def verdict(rows, what):
    return next(each for each in judge(Results(rows)) if what in each.what).met


def test_a_lost_frame_in_any_run_fails_the_target():
    rows = [row("rtmp-100", "auto", "weir", number) for number in (1, 2, 3)]
    assert verdict(rows, "Frames lost") is True
    assert verdict([*rows[:2], {**rows[2], "lost": 1}], "Frames lost") is False


def test_whoever_falls_behind_is_named_unless_the_floor_is_overloaded_too():
    late = row("rtmp-5000", "0", "weir", 1, behind=7)
    assert verdict([late, row("rtmp-5000", "0", "floor", 1)], "falling behind") is False
    assert verdict([late, row("rtmp-5000", "0", "floor", 1, cpu_percent=99.0), row("rtmp-100", "0", "weir", 1)],
                   "falling behind") is True


def test_a_failed_run_counts_in_no_median():
    results = Results([row("rtmp-100", "0", "weir", 1, cpu_per_gbit=3.0),
                       {"case": "rtmp-100", "policy": "0", "server": "weir", "round": 2, "problem": "died"}])
    assert results.spread("rtmp-100", "0", "weir", "cpu_per_gbit").count == 1
    assert "failed: rtmp-100@0 weir, round 2: died" in report.terminal(results, [])


def test_the_order_of_servers_turns_with_the_round():
    group = Group(CASES["rtmp-1000"], "0", ("weir", "floor", "nginx"))
    first = [[server for number, _, server in plan_of([group], 3) if number == each][0] for each in (1, 2, 3)]
    assert first == ["weir", "floor", "nginx"]


def test_cases_are_picked_by_name_pattern_and_policy():
    assert [group.name for group in groups(False, ["rtmp-1000@100"])] == ["rtmp-1000@100"]
    assert {group.case.name for group in groups(True, ["stream-*"])} == {"stream-500k", "stream-4m"}
    assert groups(False, ["rtmp-100@350"])[0].servers == ("weir", "floor")
    with pytest.raises(Problem):
        groups(False, ["nothing-*"])


def test_an_older_build_is_measured_beside_every_live_stream():
    for group in groups(True, before=True):
        assert ("before" in group.servers) == (group.case.kind == "play" and "weir" in group.servers)
    assert not any("before" in group.servers for group in groups(True))


def test_a_server_without_a_choice_sends_every_message():
    assert policy_of("nginx", "100") == "0"
    assert policy_of("floor", "auto") == "0"
    assert policy_of("weir", "auto") == "auto"


def test_the_forms_stay_within_their_time():
    def minutes(full):
        return sum(seconds_of(group, 8) for _, group, _ in plan_of(groups(full), 3)) / 60
    assert minutes(full=False) < 25
    assert minutes(full=True) < 65
    assert all(case in CASES for case, _, _ in SHORT + FULL)


def test_what_a_hop_costs_is_judged_beside_players_at_the_origin():
    def row(case, policy, server, **figures):
        return {"case": case, "policy": policy, "server": server, "round": 1, "relay": True, **figures}
    results = Results([
        row("relay-cpu", "0", "weir", both_per_gbit=1.9), row("relay-cpu", "0", "weir+direct", both_per_gbit=0.7),
        row("relay-cpu", "100", "weir", both_per_gbit=0.9), row("relay-cpu", "100", "weir+direct", both_per_gbit=0.7),
        row("relay-delay", "0", "weir", p50_ms=2.5, p99_ms=30), row("relay-delay", "0", "weir+direct", p50_ms=1, p99_ms=9),
        row("relay-join", "0", "weir", key_p99_ms=51)])
    assert [each.met for each in relay.targets(results)] == [False, True, True, False, False]


def test_what_several_processes_cost_is_judged_beside_one():
    def row(case, server, **figures):
        return {"case": case, "policy": "0", "server": server, "round": 1, "relay": True, **figures}
    results = Results([
        row("relay-cpu", "weir+direct", both_per_gbit=0.5),
        row("relay-cpu", "weir+unix", both_per_gbit=0.9, relayed=0.5),       # 0.8 for a hop
        row("relay-cpu", "weir+processes", both_per_gbit=0.6, relayed=0.04),
        row("processes-cpu", "weir+direct", both_per_gbit=0.40), row("processes-cpu", "weir+processes", both_per_gbit=0.43)])
    assert [(each.found, each.met) for each in relay.targets(results)] == [("0.80 s/Gbit", False), ("1.07 x", True), ("4%", True)]


def test_what_segments_and_recordings_cost_is_judged_beside_the_same_publishers():
    def row(case, server, **figures):
        return {"case": case, "policy": "auto", "server": server, "round": 1, "segments": True, **figures}
    results = Results([
        row("record-100", "weir", server_cpu_percent=30.0, frames=1000, missing=1, unstamped=0, short=0), row("record-100", "weir+off", server_cpu_percent=5.0),
        row("hls-segment-100", "weir", server_cpu_percent=9.0, kib_each=1900, window_kib=1000), row("hls-segment-100", "weir+off", server_cpu_percent=5.0, kib_each=800),
        row("hls-first", "weir", first_p99_ms=20.0)])
    assert [each.met for each in segments.targets(results)] == [False, True, False, True, True]
