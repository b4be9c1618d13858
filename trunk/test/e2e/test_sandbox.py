"""In a sandbox that forbids what large writes to players want, they are copied, and all else is as before."""

import re
import sys
from pathlib import Path

import pytest

from hostile import bench

DENY = Path(__file__).with_name("deny_calls.py")
WINDOW = "vhost __defaultVhost__ { play { mw_latency 300ms; } }"
PLAYERS = 20


def play(weir, folder):
    """How many of the players' writes, of 75 KB and more, went by sendfile. The first 64 are copied."""
    options = ["--clients", PLAYERS, "--publish", "2M", "--duration", "5s"]
    report = bench("rtmp-play", "--url", weir.rtmp(), *options, folder=folder)
    assert report["exit_code"] == 0, report["text"]
    media = report["media"]
    assert (media["lost"], media["corrupted"], media["reordered"], media["duplicated"]) == (0, 0, 0, 0)
    assert media["bits_per_second"] > PLAYERS * 1_500_000
    return int(re.search(r"^weir_player_file_writes_total (\d+)$", weir.metrics(), re.MULTILINE).group(1))


def sends_files(weir):
    return weir.api("/api/v1/features")["data"]["features"]["sendfile"]


def test_large_writes_go_by_sendfile(new_weir, folder):
    weir = new_weir(WINDOW).start()
    assert sends_files(weir)
    assert play(weir, folder) > PLAYERS
    assert sends_files(weir)
    assert "sendfile is not allowed" not in weir.log()


@pytest.mark.parametrize("call", ["sendfile", "memfd_create"])
def test_a_sandbox_that_forbids_it_costs_nothing_but_time(new_weir, folder, call):
    weir = new_weir(WINDOW)
    weir.wrapper = [sys.executable, DENY, call]
    weir.start()
    assert play(weir, folder) == 0
    assert not sends_files(weir)
    assert weir.log().count("sendfile is not allowed here") == (1 if call == "sendfile" else 0)


def test_it_can_be_switched_off(new_weir, folder):
    weir = new_weir(WINDOW + " sendfile off;").start()
    assert play(weir, folder) == 0
    assert not sends_files(weir)
