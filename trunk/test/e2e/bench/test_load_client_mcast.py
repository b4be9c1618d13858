"""weir-bench mcast: senders and members of multicast groups, and a gateway that is the floor program."""

import contextlib
import re
import signal
import subprocess

import pytest

from locks import one_at_a_time
from test_load_client import bench
from weir import TOP, accepts, free_port, wait_until

COMMON = ("--interface", "lo", "--duration", "1s", "--settle", "200ms")
TRIES = 3  # of a rate: whoever stands still at an end of its second makes it another one


@pytest.fixture(scope="module")
def floor():
    with one_at_a_time("make"):
        done = subprocess.run(["make", "--no-print-directory", "objs/bench/mcast_floor"], cwd=TOP, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return TOP / "objs" / "bench" / "mcast_floor"


@contextlib.contextmanager
def gateway(floor, folder):
    """(URL, process id) of a running reference gateway."""
    port = free_port()
    with open(folder / "floor.log", "wb") as log:
        server = subprocess.Popen([floor, "-p", str(port), "-i", "127.0.0.1"], stdout=log, stderr=log)
    try:
        wait_until(lambda: accepts(port), 10, "the gateway listens")
        yield f"http://127.0.0.1:{port}", server.pid
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
    finally:
        server.kill()
        server.wait()


def group(number):
    """Of each test its own: what one sends must not reach another."""
    return f"239.255.77.{number}:{free_port()}"


def check(measure, receivers, rate):
    """Nothing is missing in any run, and the rate of one is right. The last result."""
    rates = []
    while len(rates) < TRIES and (not rates or abs(rates[-1] - receivers * rate) >= 0.1 * receivers * rate):
        result = measure()
        assert result.exit_code == 0, result.text
        report = result.report
        assert report["clients"]["playing"] == receivers
        media = report["media"]
        assert (media["lost"], media["duplicated"], media["foreign"], media["corrupted"], media["jumps"]) == (0, 0, 0, 0, 0)
        assert report["latency"]["all_ms"]["count"] > 100
        rates.append(media["bits_per_second"])
    assert abs(rates[-1] - receivers * rate) < 0.1 * receivers * rate, rates
    return result


@pytest.mark.parametrize("options", [(), ("--rtp",), ("--smooth",), ("--rtp", "--smooth")])
def test_members_receive_every_packet(folder, options):
    check(lambda: bench(folder, "--join", "--group", group(1), "--groups", "3", "--clients", "2", "--rate", "2M", *COMMON, *options,
                        subcommand="mcast"), 6, 2_000_000)


@pytest.mark.parametrize("options", [(), ("--rtp",)])
def test_players_of_a_gateway_receive_every_packet(folder, floor, options):
    with gateway(floor, folder) as (url, pid):
        result = check(lambda: bench(folder, "--url", url, "--group", group(10), "--groups", "2", "--clients", "3", "--rate", "4M",
                                     "--server-pid", str(pid), *COMMON, *options, subcommand="mcast"), 6, 4_000_000)
    assert result.report["server"]["private_kib"] > 0


def test_it_only_sends_or_only_receives(folder):
    to = group(20)
    rates = []
    while len(rates) < TRIES and (not rates or rates[-1] != pytest.approx(95, rel=0.05)):
        sends = bench(folder, "--clients", "0", "--group", to, "--rate", "1M", *COMMON, subcommand="mcast")
        assert sends.exit_code == 0, sends.text
        rates.append(sends.report["sender"]["datagrams_per_second"])
    assert rates[-1] == pytest.approx(95, rel=0.05), rates
    receives = bench(folder, "--join", "--no-send", "--group", to, *COMMON, "--connect-timeout", "500ms", subcommand="mcast")
    assert receives.exit_code == 1 and "0 of 1" in receives.text


def test_a_refusal_is_said(folder, floor):
    with gateway(floor, folder) as (url, _pid):
        result = bench(folder, "--url", url + "/what/", "--group", group(30), *COMMON, subcommand="mcast")
    assert result.exit_code == 1 and result.report["clients"]["refused"] == 1
    assert re.search("closed by the server", result.text)


@pytest.mark.parametrize("options, said", [
    (["--group", "10.0.0.1:5000"], "not all multicast groups"),
    (["--group", "nonsense"], "nonsense"),
    (["--rate", "0"], "--rate"),
    (["--tick", "0"], "--tick"),
    (["--interface", "nowhere0"], "nowhere0"),
    (["--url", "ftp://x"], "ftp"),
])
def test_wrong_options_are_said(folder, options, said):
    result = bench(folder, *options, subcommand="mcast")
    assert result.exit_code == 2 and said in result.text
