"""scripts/leak-hunt: its judgement by itself, a short hunt through a whole server, and hunts that must not come out clean.
And what it stands on: /api/v1/objects and /api/v1/memory."""

import subprocess
import sys
import time

import pytest

from flv import HttpFlv
from media import publisher
from rtmp import RtmpPlayer
from weir import BINARY, SANITIZED, TOP, is_late, wait_until

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from hunt import everything, judge  # noqa: E402
from hunt.page import memory_plot, nice_step, page  # noqa: E402

HUNT = TOP / "scripts" / "leak-hunt"
CLIENT = TOP / "objs" / "release" / "weir-bench"
SESSIONS = ["client", "player", "pump", "stream", "wire_log", "log_block", "rtmp_connection", "rtmp_player", "http_player",
            "rtmp_publish"]
PORTS = "10000-11999", "12000-13999"  # of the hunts here; calls and telephones of other tests have those of the tool itself


def objects(weir):
    return {row["class"]: row for row in weir.api("/api/v1/objects")["objects"]}


# ---- the API ---------------------------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_objects_come_with_the_sessions_and_go_with_them(weir, folder):
    # Those by which we saw that it listens may still be going.
    idle = wait_until(lambda: not any((now := objects(weir))[name]["live"] for name in SESSIONS) and now, 10, "nobody is there")
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        with RtmpPlayer(weir.rtmp_port) as rtmp, HttpFlv(weir.http_port) as flv:
            rtmp.first_key_frame()
            flv.reader().tag()
            busy = objects(weir)
    assert [name for name in SESSIONS if not busy[name]["live"]] == []
    assert busy["player"]["live"] == 2 and busy["client"]["live"] == 3
    assert busy["log_block"]["bytes"] >= 2 * 4096
    wait_until(lambda: not judge.leftovers(idle, objects(weir), judge.KEPT | {"coroutine"}), 10, "every session is gone")
    left = objects(weir)
    assert left["player"]["high_water"] == 2 and left["player"]["made"] == 2
    assert left["log_block"]["high_water_bytes"] >= busy["log_block"]["bytes"]


def test_metrics_show_the_same_classes(weir):
    metrics = weir.metrics()
    for name, row in objects(weir).items():
        label = f'{{class="{name}",subsystem="{row["subsystem"]}"}}'
        for series in ("live", "bytes", "high_water", "high_water_bytes", "made_total"):
            assert f"weir_objects_{series}{label} " in metrics


def test_memory_is_told_by_the_kernel_the_allocator_and_the_objects(weir):
    data = weir.api("/api/v1/memory")["data"]
    assert 0 < data["unique_bytes"] <= data["resident_bytes"] <= data["virtual_bytes"]
    assert abs(data["unique_bytes"] / 1024 - weir.private_kib()) < 2048
    assert data["heap"]["allocator"] == ("sanitizer" if SANITIZED else "glibc")
    assert 0 < data["heap"]["in_use_bytes"] < data["resident_bytes"]
    assert data["heap"]["free_held_bytes"] >= 0
    found = {row["subsystem"]: row["bytes"] for row in data["subsystems"]}
    assert found["coroutines"] >= 4096 and found["http"] >= 4096
    assert sum(found.values()) < data["resident_bytes"]


# ---- the judgement ---------------------------------------------------------------------------------------------------


def states(**live):
    return {name: {"live": count, "bytes": 100 * count, "subsystem": "test"} for name, count in live.items()}


def check(verdict, *records):
    return {"verdict": verdict, "reason": "because", "records": list(records)}


def record(kind, delta, *functions):
    return {"kind": kind, "bytes": delta, "blocks": 1, "bytes_delta": delta, "blocks_delta": 1,
            "stack": [{"function": name, "file": "a.cc", "line": 7} for name in functions]}


def test_an_object_that_stayed_is_named():
    found = judge.judge_objects(states(player=1, stream=2), states(player=4, stream=1))
    assert [finding["kind"] for finding in found] == ["leaking"]
    assert found[0]["what"].startswith("3 more player than before the load: 4, were 1; 300 bytes")


def test_stacks_that_are_kept_for_reuse_are_no_finding():
    assert judge.judge_objects(states(stack_kept=1, stack=1), states(stack_kept=30, stack=5)) == []


def test_a_class_that_was_not_there_before_counts():
    assert judge.leftovers({}, states(player=2)) == [("player", 0, 2)]


def settled(heap, **made):
    """A settled state: the heap in use, and how many of each class were made so far."""
    return heap, {name: {"live": 0, "bytes": 0, "made": count} for name, count in made.items()}


def test_a_heap_that_grows_in_every_round_is_growing_and_the_class_it_grows_with_is_named():
    found = judge.judge_heap([settled(1000), settled(9000, client=100, player=50, pump=3),
                              settled(10000, client=110, player=90, pump=6),
                              settled(12010, client=130, player=110, pump=9)])
    assert [finding["kind"] for finding in found] == ["growing"]
    assert "1,000 + 2,010 bytes" in found[0]["what"]
    assert found[0]["what"].endswith("in step with client (100 bytes for each one made)")


def test_a_heap_that_grows_with_nothing_that_is_counted_says_so():
    found = judge.judge_heap([settled(0), settled(0, client=1), settled(1000, client=2), settled(2500, client=3)])
    assert found[0]["what"].endswith("in step with no class that is counted")


@pytest.mark.parametrize("in_use", [[1000], [1000, 90000], [1000, 90000, 90000], [1000, 2000, 4100], [1000, 90000, 95000, 95000],
                                    [1000, 90000, 80000]])
def test_a_heap_that_grows_once_has_found_its_size(in_use):
    assert judge.judge_heap([settled(used) for used in in_use]) == []


def test_the_books_of_stacks_that_a_larger_crowd_maps_are_no_growth():
    rounds = [settled(used) for used in (0, 4000, 5000, 6360)]
    rounds[3][1]["stack"] = {"live": 10, "bytes": 640000, "made": 10}
    assert judge.judge_heap(rounds) == []
    rounds[3] = (7000, rounds[3][1])
    assert [finding["kind"] for finding in judge.judge_heap(rounds)] == ["growing"]


def test_lost_blocks_are_found_in_whatever_round_and_named_by_their_stack():
    lost = record("definitely", 1000, "operator new", "lose_it")
    found = judge.judge_checks([check("leaking", lost, record("reachable", 50, "table")), check("clean")])
    assert [finding["kind"] for finding in found] == ["leaking"]
    assert found[0]["what"] == "1,000 bytes in 1 block, definitely lost (+1,000 bytes)"
    assert found[0]["stack"] == ["operator new (a.cc:7)", "lose_it (a.cc:7)"]


def test_growth_names_what_grew_twice():
    twice, once = record("reachable", 5000, "grows"), record("reachable", 9000, "found its size")
    found = judge.judge_checks([check("clean", twice), check("growing", once, twice)])
    assert [finding["stack"] for finding in found] == [["grows (a.cc:7)"]]


def test_growth_that_no_single_stack_is_to_blame_for_is_no_finding():
    books = [record("reachable", 72, f"part {number}") for number in range(100)]
    assert judge.judge_checks([check("clean", *books), check("growing", *books)]) == []


def test_growth_without_records_gives_its_reason():
    assert judge.judge_checks([check("clean"), check("growing")]) == [{"kind": "growing", "what": "because", "stack": []}]


def test_a_stack_is_told_without_the_templates_between():
    stack = [{"function": "operator new", "file": "", "line": 0},
             {"function": "_M_emplace", "file": "stl_tree.h", "line": 5},
             {"function": "make_unique", "file": "/usr/include/c++/12/bits/unique_ptr.h", "line": 5},
             {"function": "ours", "file": "std_lib_user.cc", "line": 5}]
    assert judge.stack_lines(stack) == ["operator new", "ours (std_lib_user.cc:5)"]


def test_growth_of_an_early_round_alone_is_no_finding():
    assert judge.judge_checks([check("growing", record("reachable", 500, "table")), check("clean")]) == []


def test_a_verdict_without_records_still_gives_its_reason():
    assert judge.judge_checks([check("leaking")]) == [{"kind": "leaking", "what": "because", "stack": []}]


def test_lost_memory_weighs_more_than_growth():
    assert judge.verdict_of([]) == "clean"
    assert judge.verdict_of([{"kind": "growing"}]) == "growing"
    assert judge.verdict_of([{"kind": "growing"}, {"kind": "leaking"}]) == "leaking"


@pytest.mark.parametrize("plant, code, lines, good, words", [
    ("", 0, ["[ 1 s] load", "verdict: clean"], True, "clean"),
    ("", 1, ["growing: 5 bytes"], False, "NOT CLEAN:\ngrowing: 5 bytes"),
    ("leak-block", 1, ["leaking: 5 bytes", "    lose_it (a.cc:5)"], True, "found: lose_it (a.cc:5)"),
    ("leak-block", 1, ["[ 9 s] check: leaking, lose_it", "leaking: 5 bytes"], False, "found, NOT NAMED"),
    ("leak-block", 0, ["verdict: clean"], False, "NOT FOUND"),
    ("leak-block", 2, ["leak-hunt: no ports"], False, "could not be run: leak-hunt: no ports"),
    ("leak-block", None, [], False, "no time was left"),
])
def test_a_planted_leak_counts_when_it_is_found_and_named(plant, code, lines, good, words):
    case = everything.Case("objects", plant, "lose_it" if plant else "")
    case.code, case.lines = code, lines
    assert case.result()[0] is good and words in case.result()[1]


def test_everything_is_each_tool_with_and_without_each_plant():
    cases = [(case.tool, case.plant) for case in everything.cases()]
    assert len(cases) == len(set(cases)) == 4 * 4
    ranges = [everything.sub_range((20000, 31999), index, 16) for index in range(16)]
    assert all(before[1] < after[0] for before, after in zip(ranges, ranges[1:])) and ranges[-1][1] <= 31999


def test_a_plot_has_its_phases_samples_and_ticks():
    plot = memory_plot([(0.0, 1024), (10.0, 4096)], [(9.0, 1 << 20)], [(0.0, 5.0, "load"), (5.0, 10.0, "settle")])
    assert plot.count("<rect") == 2 + 6 and "<polyline" in plot and plot.count("<circle") == 1
    assert "<script" not in plot and "Too short" not in plot
    assert [nice_step(span, 5) for span in (0.4, 7, 100)] == pytest.approx([0.1, 2, 20])


def test_a_page_escapes_what_comes_from_outside():
    class Hunt:
        verdict, samples, heap_points, phases = "leaking", [], [], []
        findings = [{"kind": "leaking", "what": "std::map<int>", "stack": ["f<T>(<script>)"]}]
        checks = [("round 1", {**check("leaking", record("definitely", 5, "g<U>")), "definitely": {"bytes": 5,
                                                                                                   "bytes_delta": 5}})]
        objects_before, objects_after = {}, {"player": {"live": 1, "bytes": 2, "subsystem": "x", "high_water": 1, "made": 1}}

        @staticmethod
        def about():
            return "tool <b>"

    text = page(Hunt)
    assert "<script>" not in text and "f&lt;T&gt;" in text and "g&lt;U&gt;" in text and "tool &lt;b&gt;" in text


# ---- hunts -----------------------------------------------------------------------------------------------------------


def hunt(*options, seconds=60):
    return subprocess.run([HUNT, "--tool", "objects", "--weir", BINARY, "--client", CLIENT, *map(str, options)], text=True,
                          capture_output=True, timeout=seconds)


def test_a_client_that_does_not_leave_is_told_by_its_objects():
    process = subprocess.Popen([HUNT, "--tool", "objects", "--weir", BINARY, "--client", CLIENT, "--scenario", "rtmp",
                                "--repeat", "1", "--clients", "1", "--seconds", "1", "--settle", "2", "--ports", PORTS[1]],
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    player, lines = None, []
    try:
        for line in process.stdout:
            lines.append(line)
            if "load, round 1" in line:
                port = int(next(each for each in lines if "server: pid" in each).split("rtmp ")[1].split(",")[0])
                player = RtmpPlayer(port, stream="nobody-publishes-this")
        code = process.wait(60)
    finally:
        process.kill()
        process.wait()
        if player:
            player.socket.close()
    text = "".join(lines)
    assert code == 1, text
    assert "verdict: leaking" in text
    assert "still alive although every client has left" in text and "1 more rtmp_player than before the load" in text


@pytest.mark.parametrize("options, why", [
    (["--weir", "/no/such/server"], "/no/such/server is not there"),
    (["--ports", "40000-50000"], "--ports: expected FIRST-LAST of 1024 to 32767"),
    (["--weir", "/bin/true"], "the program ended"),
])
def test_a_hunt_that_cannot_be_run_says_why(options, why):
    started = time.monotonic()
    done = hunt(*options)
    assert done.returncode == 2, done.stdout + done.stderr
    assert why in done.stderr
    assert not is_late(started, 15)


@pytest.mark.timeout(150)
def test_a_short_hunt_through_everything_is_clean(tmp_path):
    report = tmp_path / "hunt.html"
    done = hunt("--scenario", "all", "--repeat", 3, "--clients", 3, "--seconds", 1, "--ports", PORTS[0], "--report", report, seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verdict: clean" in done.stdout
    text = report.read_text()
    assert "<polyline" in text and "Nothing stayed." in text and "http_connection" in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), "the page needs nothing from elsewhere"
