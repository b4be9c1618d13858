"""SIP: encrypted media by keys of the description and by DTLS, signalling by TLS; baresip is the telephone."""

import pytest

from sip import PLAYED_HZ, SAID_HZ, Phone, calls, sip_weir, wait_answered, wait_no_call
from test_sip import PCMU, check_tone, tone_publisher, wav_of
from tls import certificate
from weir import free_port, wait_until

SRTP = dict(sdes=("srtp-mand", ()), savpf=("srtp-mandf", ()), best_effort=("srtp", ()), dtls=("dtls_srtp", ("dtls_srtp",)))


def call_both_ways(server, folder, phone, expected):
    """A call whose two tones arrive; its row in the API."""
    with tone_publisher(server.rtmp(), folder, PCMU):
        server.wait_live()
        with phone:
            wait_answered(server)
            said = wav_of(server, "talk/phone", folder)
            call = calls(server)[0]
        wait_no_call(server)
    assert {key: call[key] for key in expected} == expected, call
    check_tone(said, SAID_HZ)
    check_tone(phone.heard(), PLAYED_HZ)
    return call


def secure_phone(server, folder, kind, account="", modules=(), settings=(), target=None, **more):
    encryption, needed = SRTP.get(kind, (None, ()))
    if encryption:
        account += f";mediaenc={encryption}"
    return Phone(folder, account=account, modules=(*needed, *modules), settings=settings,
                 commands=[f"/dial {target or f'sip:100@127.0.0.1:{server.sip_port}'}"], **more)


DIAL = "trunk 127.0.0.1; dial 100 live/livestream talk/phone;"


@pytest.mark.parametrize("mux", ["no", "yes"])
@pytest.mark.parametrize("kind", list(SRTP))
@pytest.mark.works_with("baresip", calls="SIP", codecs="G.711", checked="SRTP by SDES and DTLS", set="`srtp required`")
def test_media_is_encrypted(new_weir, folder, kind, mux):
    server = sip_weir(new_weir, DIAL + "srtp required;")
    phone = secure_phone(server, folder, kind, settings=(f"rtcp_mux {mux}",))
    call_both_ways(server, folder, phone, {"encryption": "dtls" if kind == "dtls" else "sdes", "ice": False})
    summary = server.api("/api/v1/summaries")["data"]["sip"]["secure"]
    assert summary["unauthentic"] == 0 and summary["dtls_failed"] == 0, summary


def test_plain_calls_are_refused_where_encryption_is_required(new_weir, folder):
    server = sip_weir(new_weir, DIAL + "srtp required;")
    with tone_publisher(server.rtmp(), folder, PCMU):
        server.wait_live()
        with secure_phone(server, folder, "plain") as phone:
            wait_until(lambda: "488" in phone.text(), 20, "it is refused")


def test_encrypted_calls_are_refused_where_that_is_off(new_weir, folder):
    server = sip_weir(new_weir, DIAL + "srtp off;")
    with tone_publisher(server.rtmp(), folder, PCMU):
        server.wait_live()
        with secure_phone(server, folder, "sdes") as phone:
            wait_until(lambda: "488" in phone.text(), 20, "it is refused")


@pytest.mark.parametrize("kind", ["sdes", "dtls"])
@pytest.mark.works_with("baresip", calls="SIP", codecs="G.711", checked="SIP by TLS", set="`listen ... ssl`")
def test_signalling_and_media_are_encrypted(new_weir, folder, kind):
    secure = free_port()
    certificate(folder)
    server = sip_weir(new_weir, DIAL + f"srtp required; listen 127.0.0.1:{secure} ssl;",
                      top=f'ssl_certificate "{folder}/server.pem"; ssl_certificate_key "{folder}/server.key";')
    phone = secure_phone(server, folder, kind, transport="tls", target=f"sip:100@127.0.0.1:{secure}")
    call = call_both_ways(server, folder, phone, {"transport": "tls", "encryption": kind})
    assert call["unusable"] < call["packets_received"] / 2, call
    assert "came without TLS" not in server.log()
