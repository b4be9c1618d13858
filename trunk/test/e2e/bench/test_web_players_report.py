"""scripts/web-players: what it reads from playlists, and which rows it calls wrong. No browser."""

import sys

import pytest

from weir import TOP

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from players import report, target  # noqa: E402
from players.cases import CASES  # noqa: E402
from players.main import parse  # noqa: E402
from players.target import Target, target_of  # noqa: E402

MULTIVARIANT = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\ns.hls/index.m3u8\n"
LOW = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=0.612\n"
MPD = '<MPD suggestedPresentationDelay="PT1M4.5S">{}</MPD>'
LATENCY = '<ServiceDescription id="0">\n<Latency target="1500" referenceId="0"/></ServiceDescription>'


@pytest.mark.parametrize("form, texts, expected", [
    ("ll-hls", [MULTIVARIANT, LOW], Target(0.612)),
    ("hls", [MULTIVARIANT, LOW], Target(6, 2)),
    ("hls", [MULTIVARIANT, LOW.replace("PART-HOLD", "HOLD-BACK=7.5,PART-HOLD")], Target(7.5, 2)),
    ("ll-hls", [MULTIVARIANT, "#EXTM3U\n#EXT-X-TARGETDURATION:4\n"], Target(12, 4)),
    ("dash", [MPD.format("")], Target(64.5)),
    ("dash", [MPD.format(LATENCY)], Target(1.5)),
    ("flv", [], None),
])
def test_the_target_is_that_of_the_playlist(monkeypatch, form, texts, expected):
    answers = iter(texts)
    monkeypatch.setattr(target, "read", lambda url: next(answers))
    assert target_of("http://127.0.0.1/live/s", form) == expected


def row(**changes):
    """A good row with changes, and its figures."""
    state = {"first_ms": 300, "stalls": [], "skips": 0, "samples": [[1000, 9000], [6000, 700], [7000, 800]], "errors": [], "refused": [],
             "sizes": ["640x360"], "frames": 200, "dropped": 0, "audio_bytes": 9000, **changes.pop("state", {})}
    made = {"case": "h264", "player": "shaka", "format": "ll-hls", "target_s": 0.6, "step_s": 0.0, "cold_ms": [300, 500, 400],
            "failed_starts": 0, "settled_ms": 5000, "audio_bytes_before": 4000, "levels": 2, "state": state, **changes}
    made["figures"] = report.figures(made, CASES[made["case"]])
    made["problems"] = report.problems(made, CASES[made["case"]], 0.3)
    return made


def test_a_good_row():
    good = row()
    assert good["problems"] == []
    assert report.cells(good) == ("h264", "shaka", "ll-hls", "0.40", "0.50", "0.75", "0.80", "0.60", "0", "0", "0", "0", "200", "0", "yes",
                                  "640x360")


@pytest.mark.parametrize("changes, said", [
    ({"failed_starts": 2, "cold_ms": [], "state": {"first_ms": None}}, "no video in 2 of 2 starts"),
    ({"failed_starts": 1}, "no video in 1 of 4 starts"),
    ({"case": "audio", "failed_starts": 1}, "no audio in 1 of 4 starts"),
    ({"state": {"stalls": [{"at_s": 3, "seconds": 0.4}, {"at_s": 5, "seconds": 0.8}]}}, "2 stalls, 1.2 s"),
    ({"case": "republish", "state": {"stalls": [{"at_s": 3, "seconds": 3.6}]}}, "1 stalls, 3.6 s"),
    ({"audio_bytes_before": 9000}, "no audio at the end"),
    ({"target_s": 0.4}, "0.75 s behind, more than 0.70 s"),
    ({"case": "ladder", "levels": 1}, "has one quality only"),
    ({"case": "ladder"}, "does not change the quality"),
    ({"state": {"samples": []}}, "the delay is not known"),
])
def test_what_is_wrong_is_said(changes, said):
    found = row(**changes)
    assert found["problems"] == [said]
    assert f"WRONG {found['case']} shaka ll-hls: {said}" in report.notes([found])


@pytest.mark.parametrize("changes", [
    {"case": "republish", "state": {"stalls": [{"at_s": 3, "seconds": 3.4}]}},
    {"format": "hls", "target_s": 0.4, "step_s": 2.0},
    {"format": "flv", "target_s": None},
    {"case": "ladder", "state": {"sizes": ["640x360", "320x180"]}},
])
def test_what_is_allowed(changes):
    assert row(**changes)["problems"] == []


@pytest.mark.parametrize("words", [["--players", "vlc"], ["--seconds", "1"], ["--cold", "0"], ["--set", "shaka={"]])
def test_a_wrong_option_is_refused(words, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(words, ["shaka"], ["hls"], CASES)
    assert ended.value.code == 2 and words[0] in capsys.readouterr().err
