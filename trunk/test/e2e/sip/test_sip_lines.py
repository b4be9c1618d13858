"""The commands of siprtmp: an RTMP client calls telephones, and is called by them."""

import subprocess

from rtmp_phone import Registrar, RtmpPhone
from sip import PLAYED_HZ, SAID_HZ, Phone, calls, port_pair, sip_weir, tone_shares, wait_no_call
from weir import free_port, wait_until


def sip_of(server):
    return server.api("/api/v1/summaries")["data"]["sip"]


def clients(server):
    return server.api("/api/v1/clients")["clients"]


def check_heard(phone):
    """Between its first second and its last one nothing but the client's tone; two seconds may have a gap, since it plays in real time."""
    shares = tone_shares(phone.heard(), PLAYED_HZ)[1:-1]
    assert len(shares) > 2 and sorted(shares)[2] > 0.95, shares


def test_a_client_calls_a_telephone_and_both_hear_each_other(new_weir, folder):
    port = port_pair()
    server = sip_weir(new_weir, f"rtmp_lines 127.0.0.1:{port};")
    with Phone(folder, port=port, user="bob", domain=f"127.0.0.1:{port}") as phone:
        with RtmpPhone(server.rtmp_port, f"alice@127.0.0.1:{port}", "alice", "", "Alice").open() as client:
            client.do("invite", f"sip:bob@127.0.0.1:{port}", "pcmu", "dtmf")
            assert client.waits_for("accepted")[1:] == ["pcmu", ""]
            client.hears(SAID_HZ, 6)
            assert len(clients(server)) == 4, clients(server)  # of RTMP and of SIP, each way
            client.do("bye")
            wait_until(lambda: len(clients(server)) == 2, 20, "the call has ended")
        wait_until(lambda: not clients(server), 20, "and the line")
    check_heard(phone)


def test_a_telephone_calls_a_client_that_has_registered(new_weir, folder):
    with Registrar() as domain:
        server = sip_weir(new_weir, f"rtmp_lines {domain.domain};")
        with RtmpPhone(server.rtmp_port, f"alice@{domain.domain}", "alice", "secret", "Alice").open() as client:
            with Phone(folder, user="bob", commands=[f"/dial {domain.contact}"]) as phone:
                assert "sip:bob@" in client.waits_for("invited")[1]
                client.do("accept", "pcmu")
                client.waits_for("accepted", "pcmu")
                client.hears(SAID_HZ, 6)
            client.waits_for("byed")
            check_heard(phone)
        wait_until(lambda: domain.ended, 20, "it is not registered any more")


def test_who_gets_no_line(new_weir, folder):
    with Registrar() as domain:
        server = sip_weir(new_weir, f"rtmp_lines {domain.domain};")
        RtmpPhone(server.rtmp_port, f"alice@{domain.domain}", "alice", "wrong").sees("NetConnection.Connect.Rejected").close()
        assert domain.contact is None
        RtmpPhone(server.rtmp_port, "alice@example.net", "alice", "secret").sees("NetConnection.Connect.Rejected").close()
        with RtmpPhone(server.rtmp_port, f"alice@{domain.domain}", "alice", "secret").open() as first:
            with RtmpPhone(server.rtmp_port, f"alice@{domain.domain}", "alice", "secret").open():
                wait_until(lambda: first.closed, 20, "the second one has taken the line")


def test_sipp_rings_refuses_and_answers(new_weir, folder):
    """sipp's echo: the client hears its own tone. And nobody answers at a port where nobody is."""
    port = free_port()
    server = sip_weir(new_weir, f"rtmp_lines 127.0.0.1:{port};")
    echo = subprocess.Popen(["sipp", "-sn", "uas", "-i", "127.0.0.1", "-p", str(port), "-mi", "127.0.0.1", "-rtp_echo", "-nostdin"],
                            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with RtmpPhone(server.rtmp_port, f"alice@127.0.0.1:{port}", "alice").open() as client:
            for _ in range(2):
                client.told.clear()
                client.do("invite", "echo", "pcmu")
                client.waits_for("ringing", "180 Ringing")
                client.waits_for("accepted", "pcmu")
                client.hears(PLAYED_HZ)
                client.do("bye")
                wait_until(lambda: len(clients(server)) == 2, 20, "the call has ended")
            client.do("invite", "sip:bob@example.net", "pcmu")
            assert client.waits_for("rejected")[1].startswith("403"), client.told
    finally:
        echo.kill()
        echo.wait()


def registered(server, count):
    wait_until(lambda: sip_of(server)["registered"] == count, 20, f"{count} are registered")


def test_lines_and_telephones_of_this_server(new_weir, folder):
    """Its own registrar: a client is called by a telephone, holds, hears and sends keys, and calls back; then another client."""
    server = sip_weir(new_weir, "user alice secret; user bob hidden; user carol third; rtmp_lines OWN;")
    domain = f"127.0.0.1:{server.sip_port}"
    RtmpPhone(server.rtmp_port, f"alice@{domain}", "alice", "wrong").sees("NetConnection.Connect.Rejected").close()
    with RtmpPhone(server.rtmp_port, f"alice@{domain}", "alice", "secret", "Alice").open() as alice:
        registered(server, 1)
        with Phone(folder, user="bob", password="hidden", domain=domain, regint=60, console=True) as phone:
            registered(server, 2)
            phone.type(f"/dial sip:alice@{domain}")
            assert alice.waits_for("invited")[1].startswith("sip:bob@"), alice.told
            alice.do("accept", "pcmu", "dtmf")
            alice.waits_for("accepted", "pcmu")
            alice.hears(SAID_HZ)
            phone.type("/sndcode 5")
            alice.waits_for("digit", "5")
            alice.do("sendDTMF", "9")
            wait_until(lambda: "received event: '9' (end=1)" in phone.text(), 20, "the telephone heard a key")
            assert [call["direction"] for call in calls(server)].count("bridge") == 1, calls(server)
            phone.type("x")
            alice.waits_for("holded", True)
            phone.type("X")
            alice.waits_for("holded", False)
            alice.do("bye")
            wait_no_call(server)
            alice.told.clear()
            alice.do("invite", "bob", "pcmu")
            alice.waits_for("accepted", "pcmu")
            alice.hears(SAID_HZ)
            phone.type("/hangup")
            alice.waits_for("byed")
            wait_no_call(server)
        with RtmpPhone(server.rtmp_port, f"carol@{domain}", "carol", "third").open(says=SAID_HZ) as carol:
            alice.told.clear()
            carol.do("invite", "alice", "pcmu")
            alice.waits_for("invited")
            alice.do("accept", "pcmu")
            carol.waits_for("accepted", "pcmu")
            alice.hears(SAID_HZ)
            carol.hears(PLAYED_HZ)
            carol.do("hold", True)
            alice.waits_for("holded", True)
        alice.waits_for("byed")
    wait_until(lambda: not clients(server), 20, "all lines have ended")
    wait_until(lambda: not sip_of(server)["lines"], 20, "nothing of them is left")
