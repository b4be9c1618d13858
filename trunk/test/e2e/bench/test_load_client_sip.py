"""weir-bench sip-call: telephones against the server, against sipp and against themselves, and the faults that they must see."""

import json
import time

import pytest

from media import Program
from sip import Phone, sip_weir, wait_answered, wait_no_call
from test_load_client import BENCH, bench
from weir import free_port, wait_until


def sip_call(folder, *words, **more):
    return bench(folder, *words, "--quiet", subcommand="sip-call", **more)


def udp_listens(port):
    with open("/proc/net/udp", encoding="ascii") as table:
        return f":{port:04X} " in table.read()


class Served(Program):
    """weir-bench sip-call --serve: a server's other end. report(): when it has ended."""

    def __init__(self, folder, *words):
        self.port, self.path = free_port(), folder / "served.json"
        super().__init__("served", [BENCH, "sip-call", "--serve", self.port, "--duration", "0", "--json", self.path, *words], folder)

    def __enter__(self):
        super().__enter__()
        wait_until(lambda: udp_listens(self.port), 10, "it can be called")
        return self

    def report(self):
        self.end()
        return json.loads(self.path.read_text())


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_calls_in_both_directions(new_weir, folder, transport):
    """Each call has an RTMP line of its own: both ends hear the other, and nothing of a neighbour."""
    server = sip_weir(new_weir, "user phone secret;")
    result = sip_call(folder, f"sip:live/line%d@127.0.0.1:{server.sip_port}", "--lines", server.rtmp("live/line%d"), "--calls", "10",
                      "--transport", transport, "--password", "secret", "--duration", "4s", "--server-pid", server.process.pid,
                      "--report", folder / "page.html")
    assert result.exit_code == 0, result.text
    made, phones, lines = (result.report[name] for name in ("calls", "phones", "lines"))
    assert made["answered"] == 10 and made["setup_ms"]["count"] == 10 and made["end_ms"]["count"] == 10, made
    for heard in (phones, lines):
        assert heard["hearing"] == 10 and heard["seconds"] >= 10 and heard["worst_share"] > 0.99, heard
        assert heard["stamped"] >= 10 * 100 and heard["foreign"] == 0, heard
        assert heard["delay_ms"]["count"] > 0, heard
    assert result.report["cost"]["mhz_per_call"] > 0
    assert "</html>" in (folder / "page.html").read_text()
    wait_no_call(server)


def test_many_calls_a_second(new_weir, folder):
    server = sip_weir(new_weir, "trunk 127.0.0.1;")
    result = sip_call(folder, f"sip:live/line@127.0.0.1:{server.sip_port}", "--lines", server.rtmp("live/line"), "--no-listen",
                      "--calls", "60", "--rate", "30", "--talk", "3s", "--only-expect",
                      "--expect", "clients.connected == 60 and clients.broken == 0")
    assert result.exit_code == 0, result.text
    assert result.report["calls"]["unended"] == 0 and result.report["phones"]["hearing"] == 60, result.text
    wait_no_call(server)


def test_who_is_refused_is_counted(new_weir, folder):
    server = sip_weir(new_weir, "user phone secret;")
    result = sip_call(folder, f"sip:live/x@127.0.0.1:{server.sip_port}", "--calls", "3", "--password", "wrong", "--duration", "1s")
    assert result.exit_code == 1 and "answered" in result.failed(), result.text
    assert result.report["calls"]["failed"] == 3 and "status 40" in result.report["calls"]["failure_1"], result.text


def test_users_register(new_weir, folder):
    users = " ".join(f"user u{number} secret{number};" for number in range(50))
    server = sip_weir(new_weir, users)
    words = (f"sip:x@127.0.0.1:{server.sip_port}", "--register", "--calls", "50", "--rate", "200", "--user", "u%d", "--duration", "1s")
    result = sip_call(folder, *words, "--password", "secret%d")
    assert result.exit_code == 0, result.text
    found = result.report["registrations"]
    assert found["registered"] == found["unregistered"] == 50 and found["register_ms"]["count"] == 50, found
    wrong = sip_call(folder, *words, "--password", "wrong")
    assert wrong.exit_code == 1 and wrong.report["registrations"]["registered"] == 0, wrong.text
    assert wrong.report["registrations"]["status_401"] > 0, wrong.text


def test_sipp_returns_what_is_said(folder):
    port, media = free_port(), free_port()
    command = ["sipp", "-sn", "uas", "-i", "127.0.0.1", "-p", port, "-mi", "127.0.0.1", "-mp", media, "-rtp_echo", "-nostdin"]
    with Program("sipp", command, folder):
        wait_until(lambda: udp_listens(port), 10, "sipp can be called")
        result = sip_call(folder, f"sip:service@127.0.0.1:{port}", "--echo", "--duration", "4s")
        assert result.exit_code == 0, result.text
        assert result.report["phones"]["stamped"] >= 100 and result.report["phones"]["seconds"] >= 1, result.text
        assert result.report["calls"]["dial_ms"]["count"] == 1, result.text


def test_a_phone_calls_it(folder):
    """baresip says 1,000 Hz."""
    with Served(folder, "--hear", "1000", "--say", "440") as served:
        with Phone(folder, commands=[f"/dial sip:x@127.0.0.1:{served.port}"]) as phone:
            wait_until(lambda: "Call established" in phone.text(), 20, "it is answered")
            time.sleep(4)
        found = served.report()["served"]
    assert found["answered"] == 1 and found["seconds"] >= 1 and found["wrong_seconds"] == 0, found


FAULTS = {  # with the seconds that are measured: a tone is judged from the second one on
    "another tone": (("--answer", "tone", "--say", "700"), ("--hear", "440"), "phones_tone", 4),
    "packets that are lost": (("--answer", "echo", "--drop", "50"), ("--echo",), "phones_lost", 3),
    "silence": (("--answer", "tone", "--drop", "999"), ("--hear", "1000"), "phones_silent", 2),
    "busy": (("--answer", "486"), (), "answered", 1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen(folder, fault):
    served_words, words, condition, seconds = FAULTS[fault]
    with Served(folder, *served_words) as served:
        result = sip_call(folder, f"sip:x@127.0.0.1:{served.port}", "--calls", "4", "--duration", f"{seconds}s", *words)
        assert result.exit_code == 1 and condition in result.failed(), result.text
    if fault == "busy":
        assert result.report["calls"]["failure_1"].startswith("status 486"), result.text
    if fault == "packets that are lost":
        phones = result.report["phones"]
        share = phones["lost"] / (phones["lost"] + phones["stamped"])
        assert 0.01 < share < 0.12, phones  # a twentieth


def test_packets_that_the_server_never_got_are_missed_at_the_line(new_weir, folder):
    server = sip_weir(new_weir, "trunk 127.0.0.1;")
    result = sip_call(folder, f"sip:live/line@127.0.0.1:{server.sip_port}", "--lines", server.rtmp("live/line"), "--calls", "2",
                      "--duration", "3s", "--drop", "50")
    assert result.exit_code == 1 and "lines_lost" in result.failed() and "phones_lost" not in result.failed(), result.text


def test_a_call_that_the_server_ends_is_seen(new_weir, folder):
    server = sip_weir(new_weir, "trunk 127.0.0.1;")
    report = folder / "report.json"
    command = [BENCH, "sip-call", f"sip:live/line@127.0.0.1:{server.sip_port}", "--lines", server.rtmp("live/line"), "--calls", "2",
               "--duration", "4s", "--quiet", "--json", report]
    with Program("bench", command, folder) as program:
        first, _ = wait_answered(server, 2)
        assert server.api(f"/api/v1/calls/{first['id']}", method="DELETE")["http_status"] == 200
        assert program.wait(20) == 1
    found = json.loads(report.read_text())
    assert found["calls"]["broken"] == 1 and found["calls"]["talking"] == 1, found["calls"]


def test_wrong_words_are_explained(folder):
    for words, said in ((("--transport", "smoke"), "expected udp or tcp"), (("--url", "rtmp://x/y/z"), "expected sip:NAME@HOST"),
                        (("--serve", "15060", "--answer", "loudly"), "expected echo, tone or a status")):
        result = sip_call(folder, *words)
        assert result.exit_code == 2 and said in result.text, result.text
