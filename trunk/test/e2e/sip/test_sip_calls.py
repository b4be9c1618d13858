"""Calls that are made and ended, and some that are broken off in every state: nothing of them is left."""

import contextlib
import sys
from pathlib import Path

from media import Program
from sip import calls, post_call, sip_weir
from sip_raw import ELSEWHERE, NoMessage, RawPhone
from test_load_client import BENCH
from weir import TOP, wait_until

sys.path.insert(0, str(TOP / "scripts" / "lib"))
from hunt import judge  # noqa: E402

LINE = "live/line"        # the load client publishes it
NOBODY = "live/nobody"
CALLS, RATE, TURNS = 860, 140, 10
HEAP_BYTES = 128 * 1024   # of a thousand calls: less than one of them has


def no_ack(phone, _bob):
    phone.invite(LINE)
    assert phone.wait_status().status == 200


def cancelled(phone, _bob, acknowledges=True):
    phone.invite(NOBODY)
    phone.wait_status(180)
    phone.cancel()
    while phone.wait_status().status != 487:
        pass
    if acknowledges:
        phone.ack()


def cancelled_without_ack(phone, bob):
    cancelled(phone, bob, acknowledges=False)


def rings_and_is_gone(phone, _bob):
    phone.invite(NOBODY)
    phone.wait_status(180)


def bye_at_once(phone, _bob):
    phone.talk(LINE)
    phone.request("BYE")
    assert phone.wait_status().status == 200


def bye_without_ack(phone, _bob):
    phone.invite(LINE)
    phone.wait_status()
    phone.request("BYE")
    assert phone.wait_status().status == 200


def says_nothing(phone, _bob):
    phone.talk(LINE)


def stops_to_speak(phone, _bob):
    phone.talk(LINE)
    phone.say()


def holds_and_is_gone(phone, _bob):
    """A phone on hold sends no media, and would be there until its session timer ends: it hangs up, and does not wait."""
    phone.talk(LINE)
    phone.request("INVITE", phone.sdp("sendonly"))
    assert phone.wait_status().status == 200
    phone.request("BYE")


def invites_again_and_is_gone(phone, _bob):
    phone.talk(LINE)
    phone.request("INVITE", phone.sdp())
    assert phone.wait_status().status == 200


def says_garbage(phone, _bob):
    phone.invite(LINE, "v=0\r\nm=audio nothing RTP/AVP\r\n\xff\r\n")
    assert phone.wait_status().status in (400, 488)


def has_no_codec(phone, _bob):
    phone.invite(LINE, phone.sdp().replace("PCMU/8000", "XYZ/8000").replace("AVP 0", "AVP 99").replace("rtpmap:0", "rtpmap:99"))
    assert phone.wait_status().status == 488
    phone.ack()


def meets_nobody(phone, _bob):
    phone.talk("300")
    phone.say()


def bob_is_silent(phone, bob):
    phone.invite("bob")
    bob.wait_invite()
    phone.cancel()


def bob_rings_for_ever(phone, bob):
    phone.invite("bob")
    bob.answer(bob.wait_invite(), 180)
    phone.wait_status(180)
    phone.cancel()


def bob_answers_and_is_gone(phone, bob):
    phone.invite("bob")
    bob.answer(bob.wait_invite(), 200, bob.sdp())
    assert phone.wait_status().status == 200
    phone.ack()


def bob_answers_garbage(phone, bob):
    phone.invite("bob")
    bob.answer(bob.wait_invite(), 200, "m=nothing")
    assert phone.wait_status().status >= 400


BROKEN = [no_ack, cancelled, cancelled_without_ack, rings_and_is_gone, bye_at_once, bye_without_ack, says_nothing, stops_to_speak,
          holds_and_is_gone, invites_again_and_is_gone, says_garbage, has_no_codec, meets_nobody]
WITH_BOB = [bob_is_silent, bob_rings_for_ever, bob_answers_and_is_gone, bob_answers_garbage]


def break_off(server, bob):
    """Calls in each way, by UDP and TCP; of half of them the socket goes at once, of the others when all are made."""
    with contextlib.ExitStack() as later:
        made = 0
        for turn in range(TURNS):
            for way in BROKEN + (WITH_BOB if turn % 5 == 0 else []):
                transport = "tcp" if turn % 4 >= 2 else "udp"
                phone = later.enter_context(RawPhone(server.sip_port, transport))
                way(phone, bob)
                made += 1
                if turn % 2:
                    phone.close()
            status, order = post_call(server, {"to": "bob", "play": LINE})
            assert status == 201, order
            invite = bob.wait_invite()
            if turn % 2:
                bob.answer(invite, 486)
            else:
                server.api(f"/api/v1/calls/{order['call']['id']}", method="DELETE")
            with contextlib.suppress(NoMessage):  # what is left of his calls
                while True:
                    bob.next(0.01)
        return made + TURNS


def is_idle(server):
    sip = server.api("/api/v1/summaries")["data"]["sip"]
    return not calls(server) and sip["transactions"] == 0 and not server.clients()


def descriptors(server):
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def state(server):
    """Objects, descriptors, bytes of the heap, once nothing goes on."""
    wait_until(lambda: is_idle(server), 30, "all calls and their transactions are over")
    objects = {row["class"]: row for row in server.api("/api/v1/objects")["objects"]}
    return objects, descriptors(server), server.api("/api/v1/memory")["data"]["heap"]["in_use_bytes"]


def test_a_thousand_calls_twice_and_nothing_is_left(new_weir, folder):
    server = sip_weir(new_weir, "trunk 127.0.0.1; user bob geheim; conference 300 talk/round; timer_t1 50ms; rtp_timeout 3s;",
                      top="vhost __defaultVhost__ { play { wait_publisher 5s; } }")
    with RawPhone(server.sip_port, address=ELSEWHERE, user="bob") as bob:
        bob.register("geheim")
        states = [state(server)]
        for turn in range(2):
            load = [BENCH, "sip-call", f"sip:{LINE}@127.0.0.1:{server.sip_port}", "--lines", server.rtmp(LINE), "--no-listen", "--calls", CALLS,
                    "--rate", RATE, "--talk", "200ms", "--quiet", "--only-expect", "--expect",
                    f"clients.connected == {CALLS} and clients.broken == 0"]
            with Program(f"load{turn}", load, folder) as running:
                server.wait_live("line")
                broken = break_off(server, bob)
                assert running.wait(60) == 0, running.log()[-3000:]
            assert CALLS + broken >= 1000, broken
            states.append(state(server))
            objects = {name: row for name, row in states[-1][0].items() if name != "log_block"}
            assert not (left := judge.leftovers(states[0][0], objects, judge.KEPT | {"coroutine", "http_connection"})), left
            wait_until(lambda: descriptors(server) <= states[0][1] + 2, 10, f"all are closed but this test's own: {states}")
        found = server.api("/api/v1/summaries")["data"]["sip"]
        assert found["invited"] >= 1900 and found["registered"] == 1, found
        assert states[2][2] - states[1][2] < HEAP_BYTES, [each[2] for each in states]
