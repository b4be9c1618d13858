"""weir-bench scenario: the ready files in short form, conditions that fail, mistakes in a file, servers that go away."""

import json
import os
import re
import subprocess
import threading
import time

import pytest

from weir import TOP, is_late

BENCH = TOP / os.environ.get("WEIR_BENCH", "objs/weir-bench")
READY = TOP / "trunk" / "bench" / "scenarios"

PLAIN = """
publishers main { url rtmp://127.0.0.1:1935/live/a; }
players viewers { url rtmp://127.0.0.1:1935/live/a; stall 5s; behind 5s; }
"""


def shortened(text, times=10, clients=10):
    """The same test with shorter times and fewer clients and streams; conditions on numbers of clients follow. In a phase that is
    shorter than 2 s not all may have come and gone where a program stands still; nor is that late."""
    def less(match, by):
        return f"{match[1]}{max(1, round(int(match[2]) / by))}"

    def shorter(match):
        milliseconds = round(int(match[2]) * 1000 / times)
        return f"{match[1]}{max(milliseconds, 2000) if match[1] == 'duration ' else milliseconds}m"

    text = re.sub(r"((?:duration|ramp|after|stay) )(\d+)(?=s;)", shorter, text)
    text = re.sub(r"\b((?:first_key|latency)\.\w+) < \w+", r"\1 < 5s", text)
    text = re.sub(r"^(players \w+ \{)", r"\1 stall 5s; behind 5s;", text, flags=re.M)
    return re.sub(r"((?:clients|streams|clients\.playing ==) )(\d+)(?=[; ])", lambda match: less(match, clients), text)


def on(weir, text):
    return text.replace("127.0.0.1:1935", f"127.0.0.1:{weir.rtmp_port}").replace(
        "127.0.0.1:8080", f"127.0.0.1:{weir.http_port}")


def run_scenario(folder, text, *options, seconds=60):
    """Exit code, standard output, standard error, the JSON report or nothing."""
    path, report = folder / "scenario.conf", folder / "report.json"
    path.write_text(text)
    done = subprocess.run([BENCH, "scenario", path, "--quiet", "--json", report, *options], capture_output=True, text=True,
                          timeout=seconds)
    return done, json.loads(report.read_text()) if report.exists() else None


def condition(report, text):
    return next(each for each in report["conditions"] if text in each["expected"])


@pytest.mark.parametrize("name", ["smoke", "evening", "reconnect", "many-publishers"])
def test_ready_scenarios_pass(weir, folder, name):
    text = shortened((READY / f"{name}.conf").read_text(), times=5 if name == "smoke" else 10)
    # Short phases leave little to judge a rate by.
    text = re.sub(r"(and )?rate\.ratio > [\d.]+( and)?", "", text)
    done, report = run_scenario(folder, on(weir, text), "--server-pid", str(weir.process.pid))
    assert done.returncode == 0, done.stdout + done.stderr
    assert report["passed"] and report["media"]["lost"] == 0 and report["media"]["corrupted"] == 0
    assert len(report["phases"]) == text.count("\nphase ")
    assert all(phase["metrics"]["server.cpu"] is not None for phase in report["phases"])


@pytest.mark.smoke
def test_players_come_and_go_as_the_phases_say(weir, folder):
    done, report = run_scenario(folder, on(weir, PLAIN) + on(weir, """
        players web { protocol flv; url http://127.0.0.1:8080/live/a.flv; stay 1s; stall 5s; behind 5s; }
        phase up { duration 4s; join viewers { clients 10; ramp 1s; } join web { clients 5; after 200ms; } }
        phase down { duration 2s; leave viewers { clients 4; } }
        phase again { duration 3s; join viewers { clients 3; after 500ms; } expect first_key.max < 5s; }
        """))
    assert done.returncode == 0, done.stdout
    playing = [phase["metrics"]["clients.playing"] for phase in report["phases"]]
    assert playing == [10, 6, 9]
    assert [phase["metrics"]["clients.wanted"] for phase in report["phases"]] == [15, 15, 18]
    assert report["phases"][-1]["metrics"]["clients.left"] == 9
    assert all(due - 0.1 < phase["seconds"] < due + 2 for phase, due in zip(report["phases"], (4, 2, 3), strict=True)), report["phases"]
    # Joins of a phase are its own, and those of all phases are in the whole.
    assert report["phases"][1]["metrics"]["first_key.max"] is None
    assert report["clients"]["first_key_ms"]["count"] == 18


def test_a_condition_that_does_not_hold_fails_the_test(weir, folder):
    done, report = run_scenario(folder, on(weir, PLAIN) + """
        phase one { duration 3s; join viewers { clients 2; } expect clients.playing == 3; expect loss == 0; }
        expect clients.playing == 2;
        """)
    assert done.returncode == 1 and not report["passed"]
    failed = condition(report, "phase one: clients.playing == 3")
    assert not failed["met"] and "clients.playing 2" in failed["found"]
    assert condition(report, "phase one: loss == 0")["met"]
    assert sum(not each["met"] for each in report["conditions"]) == 1


def test_mistakes_are_listed_and_nothing_starts(weir, folder):
    done, report = run_scenario(folder, on(weir, PLAIN) + "phase one { duratoin 1s; join vewers { clients 2; } }\n"
                                                          "expect los == 0;\n")
    assert done.returncode == 2 and report is None and weir.streams() == []
    lines = done.stderr.splitlines()
    assert len(lines) == 4, lines
    assert all(re.match(r".*scenario\.conf:\d+:\d+: found", line) or "figure" in line for line in lines), lines
    for word in ("did you mean 'duration'", "did you mean 'viewers'", "did you mean loss"):
        assert word in done.stderr


def test_check_only_reads(folder):
    for path in sorted(READY.glob("*.conf")):
        done = subprocess.run([BENCH, "scenario", "--check", path], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "ok" in done.stdout, done.stderr


def test_server_figures_need_a_server(weir, folder):
    text = on(weir, PLAIN) + "phase one { duration 3s; join viewers { clients 2; } expect server.cpu < 90%; }"
    done, _ = run_scenario(folder, text)
    assert done.returncode == 2 and "server.cpu" in done.stderr and "--server-pid" in done.stderr
    done, _ = run_scenario(folder, text + f"\nserver {{ api http://127.0.0.1:{weir.api_port}; }}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_server_that_is_not_there_is_said(folder):
    done, _ = run_scenario(folder, PLAIN.replace(":1935", ":1") +
                           "phase one { duration 20s; join viewers { clients 2; } }")
    assert done.returncode == 2 and "publishers 'main'" in done.stderr, done.stderr


def test_a_server_that_goes_away_ends_the_test(new_weir, folder):
    weir = new_weir().start()
    text = on(weir, PLAIN) + "phase one { duration 30s; join viewers { clients 5; } }\nphase two { duration 30s; }\n"
    killer = threading.Timer(4, weir.kill)
    killer.start()
    started = time.monotonic()
    done, report = run_scenario(folder, text, seconds=40)
    killer.join()
    assert done.returncode == 1 and not is_late(started, 20)
    assert report["clients"]["broken"] == 5 and report["ended_early"]


def test_files_are_published_too(weir, folder):
    done, report = run_scenario(folder, on(weir, PLAIN).replace("live/a; }\nplayers", f"live/a; file \"{TOP}/doc/sample.flv\"; }}\nplayers")
                                + "phase one { duration 3s; join viewers { clients 3; } expect rate.ratio > 0.2; }\n"
                                  "expect loss == 0 and corrupted == 0;")
    assert done.returncode == 0, done.stdout + done.stderr
    assert report["media"]["unstamped"] == 0 and report["media"]["video_frames"] > 75
