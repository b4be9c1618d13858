"""scripts/cache-bench: its arithmetic, its table, and the page that it writes. No cache runs here; test_hls_cache.py starts them."""

import sys

import pytest

from weir import TOP

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from bench.problem import Problem  # noqa: E402
from cache_bench import main, report  # noqa: E402
from cache_bench.runs import Samples  # noqa: E402


def row(**changes):
    return {"player_requests": 5000.0, "weir_requests": 5000.0, "cache_cores": 0.0, "p50_ms": 120, "p99_ms": 200, "stalls": 0, "lost": 0,
            "broken": 0, **changes}


def test_added_delay_is_the_median_over_rounds_of_the_difference_to_the_direct_run():
    results = {"": {1: row(), 2: row(p50_ms=300), 3: row(p50_ms=100)},
               "squid": {1: row(p50_ms=125, weir_requests=12.4, cache_cores=0.456), 2: row(p50_ms=310), 3: row(p50_ms=190, stalls=2)}}
    lines = report.table({"": "nothing", "squid": "Squid 5.7"}, results).splitlines()
    assert lines[2] == "| nothing | 5,000 | 5,000 | 120 ms | 200 ms | - | - | - | none |"
    assert lines[3] == "| Squid 5.7 | 5,000 | 5,000 | 190 ms | 200 ms | +10 ms | +0 ms | 0 % | 2 stalls |"


def test_nothing_is_added_where_the_direct_run_failed():
    assert report.cells("Squid", {2: row()}, {1: row()})[5:7] == ("-", "-")


def test_rates_leave_out_the_last_sample_when_players_leave():
    samples = Samples(None)
    samples.taken = [(0.0, 0, 0.0), (5.0, 50, 1.0), (10.0, 100, 2.0), (15.0, 200, 3.0), (15.5, 900, 9.0)]
    assert samples.rates(10) == (15.0, 0.2)


def test_the_page_gets_the_table_between_its_markers(tmp_path, monkeypatch):
    page = tmp_path / "hls.md"
    page.write_text(f"before\n{report.BEGIN}\n\nold\n\n{report.END}\nafter\n")
    monkeypatch.setattr(report, "PAGE", page)
    report.write("new")
    assert page.read_text() == f"before\n{report.BEGIN}\n\nnew\n\n{report.END}\nafter\n"
    page.write_text("without\n")
    with pytest.raises(Problem, match="has no place between"):
        report.write("new")


def test_the_documentation_has_a_place_for_the_table():
    text = (TOP / "doc/protocols/hls.md").read_text()
    assert text.count(report.BEGIN) == text.count(report.END) == 1
    assert f"| {' | '.join(report.HEAD)} |" in text, "of this version of the script: run scripts/cache-bench --write"


def test_a_cache_that_is_not_installed_is_named_with_its_package(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    assert main.installed(["traffic_server"]) == []
    assert "apt-get install trafficserver" in capsys.readouterr().err
