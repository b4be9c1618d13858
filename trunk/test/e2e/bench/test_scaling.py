"""doc/scaling.md: its tables are those of the program, and the program is right about what can be said without it."""

import subprocess
import sys

import pytest

from weir import TOP

FOLDER = TOP / "trunk" / "bench" / "scaling"
sys.path.insert(0, str(FOLDER))
import simulate  # noqa: E402


def test_the_page_has_the_tables_of_the_program():
    done = subprocess.run([FOLDER / "simulate.py", "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def test_another_table_would_be_seen(monkeypatch, tmp_path, capsys):
    page = tmp_path / "scaling.md"
    page.write_text(simulate.PAGE.read_text().replace("| 1,000 |", "| 1,001 |"))
    monkeypatch.setattr(simulate, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["simulate.py", "--check"])
    with pytest.raises(SystemExit, match="are not those of the program"):
        simulate.main()
    monkeypatch.setattr(sys, "argv", ["simulate.py", "--write"])
    simulate.main()
    assert page.read_text() == (TOP / "doc" / "scaling.md").read_text()


def test_all_viewers_have_a_stream():
    assert sum(simulate.viewers_by_rank(10)) == pytest.approx(10 * simulate.VIEWERS)


def test_edges_are_as_many_as_boxes_with_a_ball():
    assert simulate.edges_of(0, 10) == 0
    assert simulate.edges_of(1, 10) == pytest.approx(0.9), "one viewer: at another node than the origin nine times of ten"
    assert simulate.edges_of(1e6, 10) == pytest.approx(9), "no more than there are"


@pytest.mark.parametrize("silent", [False, True])
def test_every_stream_comes_back_after_its_lease_and_every_edge_gets_it(silent):
    storm = simulate.Failover(10, silent, takeover=False)
    assert len(storm.back) == simulate.STREAMS
    assert min(storm.back.values()) >= storm.lease_end
    assert not any(storm.waiting.values())
    last = simulate.LEASE_S + 1.2 * simulate.PUBLISHER_RETRY_S
    assert max(storm.back.values()) <= last and max(storm.pulled) <= last + 0.01


def test_the_same_seed_gives_the_same_storm():
    assert simulate.Failover(100, True, False).row() == simulate.Failover(100, True, False).row()
