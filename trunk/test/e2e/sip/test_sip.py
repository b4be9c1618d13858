"""SIP: telephones call streams, hear them, and are streams themselves."""

import contextlib
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from media import Program, modern_ffmpeg, play_ffmpeg, run
from sip import (PLAYED_HZ, RATE, SAID_HZ, Phone, calls, keys_scenario, post_call, send_keys, sip_weir, tone_shares, wait_answered,
                 wait_no_call)
from weir import free_port, wait_until


def tone_publisher(url, folder, codec=("-c:a", "aac"), hz=PLAYED_HZ, rate=44100):
    return Program("tone", ["ffmpeg", "-hide_banner", "-nostdin", "-re", "-f", "lavfi", "-i", f"sine=frequency={hz}:sample_rate={rate}",
                            *codec, "-f", "flv", url], folder)


def wav_of(server, stream, folder, seconds=4.5, name="said", suffix="flv"):
    """What a stream says, as a WAV file of 8 kHz."""
    recording = play_ffmpeg(server.http(f"/{stream}.{suffix}"), folder, seconds=seconds, name=name, least=5_000, ffmpeg=modern_ffmpeg(),
                            suffix="ts" if suffix != "flv" else "flv")
    out = folder / f"{name}.wav"
    run([modern_ffmpeg(), "-v", "error", "-y", "-i", recording.path, "-ar", str(RATE), "-ac", "1", out])
    return out


def check_tone(path, hz):
    """From the second second on nothing but the tone, in most seconds: phones play in real time, and the tests beside this one may keep
    the processor from them, so that some seconds have a gap."""
    shares = tone_shares(path, hz)
    assert len(shares) > 3 and statistics.median_low(shares[1:]) > 0.95, (path, hz, shares)


PCMU = ("-ar", "8000", "-ac", "1", "-c:a", "pcm_mulaw")


@pytest.mark.parametrize("published", [PCMU, ("-c:a", "aac")], ids=["PCMU", "AAC"])
@pytest.mark.parametrize("codec", ["PCMU", "PCMA", "opus/48000/2"])
@pytest.mark.works_with("baresip", calls="SIP", codecs="G.711, Opus", checked="both sides hear the tone of the other")
def test_a_phone_hears_a_stream_and_is_one(new_weir, folder, published, codec):
    server = sip_weir(new_weir, "trunk 127.0.0.1; dial 100 live/livestream talk/phone;")
    with tone_publisher(server.rtmp(), folder, published):
        server.wait_live()
        phone = Phone(folder, codecs=codec, commands=[f"/dial sip:100@127.0.0.1:{server.sip_port}"])
        with phone:
            call = wait_answered(server)[0]
            assert call["play"] == "/live/livestream" and call["publish"] == "/talk/phone", call
            assert call["audio"].lower()[:4] in codec.lower().replace("pcm", "g711"), (call, codec)
            said = wav_of(server, "talk/phone", folder)
        wait_no_call(server)
    check_tone(said, SAID_HZ)
    check_tone(phone.heard(), PLAYED_HZ)


@pytest.mark.works_with("baresip", calls="SIP", codecs="G.722", checked="both sides hear the tone of the other")
def test_a_wideband_phone_is_a_stream_of_aac(new_weir, folder):
    server = sip_weir(new_weir, "trunk 127.0.0.1; dial 100 live/livestream talk/phone;")
    with tone_publisher(server.rtmp(), folder, ("-c:a", "aac")):
        server.wait_live()
        phone = Phone(folder, codecs="G722/16000/1", commands=[f"/dial sip:100@127.0.0.1:{server.sip_port}"])
        with phone:
            call = wait_answered(server)[0]
            assert call["audio"] == "G722" and call["publish"] == "/talk/phone", call
            assert call["jitter_buffer"] is not None, call
            said = wav_of(server, "talk/phone", folder)
        wait_no_call(server)
    check_tone(said, SAID_HZ)
    check_tone(phone.heard(), PLAYED_HZ)


@pytest.mark.parametrize("codec", ["PCMU", "opus/48000/2"])
def test_a_jitter_buffer(new_weir, folder, codec):
    server = sip_weir(new_weir, "trunk 127.0.0.1; jitter_buffer on; dial 100 live/livestream talk/phone;")
    with tone_publisher(server.rtmp(), folder, PCMU):
        server.wait_live()
        with Phone(folder, codecs=codec, commands=[f"/dial sip:100@127.0.0.1:{server.sip_port}"]):
            wait_answered(server)
            said = wav_of(server, "talk/phone", folder)
            call = calls(server)[0]
            assert call["jitter_buffer"]["received"] > 100 and call["jitter_buffer"]["lost"] < 5, call
        wait_no_call(server)
    check_tone(said, SAID_HZ)


@pytest.mark.parametrize("codec", ["PCMU", "opus/48000/2"])
def test_ts_and_hls_play_what_a_phone_says(new_weir, folder, codec):
    """Both need AAC; it is made while they are there."""
    server = sip_weir(new_weir, "trunk 127.0.0.1; dial 100 live/livestream talk/phone;", top="vhost __defaultVhost__ { hls { fragment 1s; } }")
    with tone_publisher(server.rtmp(), folder, PCMU):
        server.wait_live()
        with Phone(folder, codecs=codec, commands=[f"/dial sip:100@127.0.0.1:{server.sip_port}"]):
            wait_answered(server)
            before = bridges(server)  # what the phone hears may be made, too
            with ThreadPoolExecutor(2) as both:
                said = [both.submit(wav_of, server, "talk/phone", folder, 5, suffix, suffix) for suffix in ("ts", "m3u8")]
                wait_until(lambda: bridges(server) > before, 20, "AAC is made")
                paths = [each.result() for each in said]
        wait_no_call(server)
    for path in paths:
        check_tone(path, SAID_HZ)
    wait_until(lambda: bridges(server) == 0, 15, "no AAC is made any more")


def bridges(server):
    return next(each["live"] for each in server.api("/api/v1/objects")["objects"] if each["class"] == "audio_bridge")


def test_ts_plays_a_conference(new_weir, folder):
    server = sip_weir(new_weir, "trunk 127.0.0.1; conference 300 talk/round;")
    with Phone(folder, commands=[f"/dial sip:300@127.0.0.1:{server.sip_port}"]):
        wait_answered(server)
        check_tone(wav_of(server, "talk/round", folder, suffix="ts"), SAID_HZ)


TONES = {"a": 600, "b": 1000, "c": 1700}


@pytest.mark.parametrize("codecs", [("PCMU", "PCMA", "PCMU"), ("PCMU", "G722/16000/1", "opus/48000/2")], ids=["G711", "mixed"])
@pytest.mark.works_with("baresip", calls="SIP", codecs="G.711, G.722, Opus", checked="a conference of three", set="`conference`")
def test_a_conference(new_weir, folder, codecs):
    """Three phones: each hears the two others and not itself, the stream has all three."""
    server = sip_weir(new_weir, "trunk 127.0.0.1; conference 300 talk/round;")
    with contextlib.ExitStack() as running:
        phones = []
        for (name, hz), codec in zip(TONES.items(), codecs):
            phones.append(Phone(folder, codecs=codec, name=name, says=hz, user=name,
                                commands=[f"/dial sip:300@127.0.0.1:{server.sip_port}"]))
            running.enter_context(phones[-1])
        for call in wait_answered(server, 3):
            assert call["conference"] == "300" and call["play"] == call["publish"] == "/talk/round", call
        said = wav_of(server, "talk/round", folder)
    wait_no_call(server)
    wait_until(lambda: not server.api("/api/v1/streams/")["streams"], 15, "the stream has ended")
    for path, own in [(said, None), *((phone.heard(), name) for phone, name in zip(phones, TONES))]:
        for name, hz in TONES.items():
            shares = tone_shares(path, hz)
            seconds = sorted(shares[2:])  # a phone that stood still has a gap in some of them
            assert len(seconds) > 1, (path, shares)
            good = seconds[-1] < 0.02 if name == own else seconds[-2] > 0.15
            assert good, (path, own, hz, shares)


@pytest.mark.works_with("baresip", calls="SIP", codecs="G.711", checked="keys by RTP in both directions")
def test_keys_both_ways(new_weir, folder):
    server = sip_weir(new_weir, "trunk 127.0.0.1; dial 100 live/livestream;")
    with tone_publisher(server.rtmp(), folder, PCMU):
        server.wait_live()
        with Phone(folder, console=True, commands=[f"/dial sip:100@127.0.0.1:{server.sip_port}"]) as phone:
            call = wait_answered(server)[0]
            assert send_keys(server, call, "19#")["by"] == "rtp"
            for key in "19#":
                wait_until(lambda key=key: f"received event: '{key}' (end=1)" in phone.text(), 15, f"the phone heard {key}")
            assert calls(server)[0]["digits_sent"] == 3
            for key in "42":
                phone.type(f"/sndcode {key}")
            wait_until(lambda: calls(server)[0]["last_digits"] == "42", 15, "the keys of the phone are known")


@pytest.mark.works_with("sipp", calls="SIP", codecs="G.711", checked="keys by INFO")
def test_keys_by_info(new_weir, folder):
    """With sipp, as a phone that takes no telephone-event."""
    server = sip_weir(new_weir, "trunk 127.0.0.1; dial 100 live/livestream;")
    scenario = folder / "keys.xml"
    scenario.write_text(keys_scenario())
    with tone_publisher(server.rtmp(), folder, PCMU):
        server.wait_live()
        with Program("sipp", ["sipp", "-sf", scenario, f"127.0.0.1:{server.sip_port}", "-i", "127.0.0.1", "-p", str(free_port()),
                              "-mi", "127.0.0.1", "-m", "1", "-nostdin", "-timeout", "30", "-trace_err",
                              "-error_file", folder / "sipp-errors.log"], folder) as phone:
            call = wait_answered(server)[0]
            wait_until(lambda: calls(server)[0]["last_digits"] == "7", 15, "the key of the phone is known")
            assert send_keys(server, call, "5")["by"] == "info"
            assert phone.wait(15) == 0, phone.log()[-3000:]
        wait_no_call(server)


def test_who_may_not_call(new_weir, folder):
    server = sip_weir(new_weir, "user alice secret; dial 100 live/livestream;")
    with tone_publisher(server.rtmp(), folder, PCMU):
        server.wait_live()
        with Phone(folder, password="wrong", commands=[f"/dial sip:100@127.0.0.1:{server.sip_port}"]) as phone:
            wait_until(lambda: "session closed: 401" in phone.text(), 15, "it is refused, also with its password")
            assert server.api("/api/v1/summaries")["data"]["sip"]["answered"] == 0
        with Phone(folder, name="right", commands=[f"/dial sip:100@127.0.0.1:{server.sip_port}"]):
            assert wait_answered(server)[0]["user"] == "alice"


def test_a_call_waits_for_a_publisher(new_weir, folder):
    server = sip_weir(new_weir, "trunk 127.0.0.1; dial 100 live/livestream;")
    with Phone(folder, commands=[f"/dial sip:100@127.0.0.1:{server.sip_port}"]):
        wait_until(lambda: [call for call in calls(server) if call["state"] == "ringing"], 10, "it rings")
        with tone_publisher(server.rtmp(), folder, PCMU):
            wait_answered(server)


@pytest.mark.works_with("sipp", calls="SIP", codecs="G.711", checked="50 calls, 10 a second")
def test_sipp_calls(new_weir, folder):
    """Fifty calls, ten a second, each for two seconds; nothing is left of them."""
    server = sip_weir(new_weir, "trunk 127.0.0.1; dial service live/livestream;")
    with tone_publisher(server.rtmp(), folder, PCMU):
        server.wait_live()
        done = subprocess.run(
            ["sipp", "-sn", "uac", f"127.0.0.1:{server.sip_port}", "-i", "127.0.0.1", "-p", str(free_port()),
             "-mi", "127.0.0.1", "-m", "50", "-r", "10", "-d", "2000", "-nostdin", "-timeout", "60"],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=90)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-3000:]
        wait_no_call(server, 40)
    summary = server.api("/api/v1/summaries")["data"]["sip"]
    assert summary["answered"] == 50, summary


def place(server, **order):
    status, body = post_call(server, order)
    assert status == 201, (status, body)
    return body["call"]["id"]


def listens(port):
    """Without a connection, which sipp would count."""
    return f"127.0.0.1:{port} " in run(["ss", "-Htln"]).decode()


def one_call(server, call_id):
    return server.api(f"/api/v1/calls/{call_id}")["call"]


def registered(server, count):
    wait_until(lambda: server.api("/api/v1/summaries")["data"]["sip"]["registered"] == count, 10, f"{count} phones are registered")


@pytest.mark.works_with("baresip", calls="SIP", codecs="G.711", checked="registers and is called", set="`user`, `extension`")
def test_the_server_calls_a_phone(new_weir, folder):
    """It hears the stream, which begins after the call, and is one."""
    server = sip_weir(new_weir, "user alice secret; extension 201 alice;")
    with Phone(folder, domain=f"127.0.0.1:{server.sip_port}", regint=60) as phone:
        registered(server, 1)
        call_id = place(server, to="201", play="live/livestream", publish="talk/phone")
        call = wait_answered(server)[0]
        assert call["id"] == call_id and call["direction"] == "out", call
        with tone_publisher(server.rtmp(), folder, PCMU):
            said = wav_of(server, "talk/phone", folder)
        server.api(f"/api/v1/calls/{call_id}", method="DELETE")
        wait_no_call(server)
    ended = one_call(server, call_id)
    assert ended["state"] == "ended" and ended["reason"] == "kicked", ended
    check_tone(said, SAID_HZ)
    assert max(tone_shares(phone.heard(), PLAYED_HZ)) > 0.95


def test_no_call_leaves_without_a_rule(new_weir):
    server = sip_weir(new_weir, "user alice secret;")
    for to, status in [("sip:bob@127.0.0.1:9", 403), ("bob", 403), ("sip:", 400), ("alice\n", 400)]:
        assert post_call(server, {"to": to, "play": "live/livestream"})[0] == status, to
    assert post_call(server, {"to": "alice"})[0] == 400
    call_id = place(server, to="alice", play="live/livestream")
    wait_until(lambda: one_call(server, call_id)["state"] == "failed", 10, "nobody is registered")
    assert one_call(server, call_id)["reason"] == "no answer"


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.works_with("sipp", calls="SIP", codecs="G.711", checked="is called by UDP and TCP", set="`allow_calls`")
def test_the_server_calls_sipp(new_weir, folder, transport):
    """Twenty calls to an answering machine that sends back what it hears."""
    server = sip_weir(new_weir, "allow_calls 127.0.0.1;")
    port = free_port()
    mode = ["-t", "t1"] if transport == "tcp" else []
    with Program("sipp", ["sipp", "-sn", "uas", *mode, "-i", "127.0.0.1", "-p", str(port), "-mi", "127.0.0.1", "-mp", str(free_port()),
                          "-rtp_echo", "-nostdin", "-timeout", "60"], folder):
        if transport == "tcp":  # UDP is sent again until somebody listens
            wait_until(lambda: listens(port), 10, "sipp listens")
        ids = [place(server, to=f"sip:echo@127.0.0.1:{port};transport={transport}", publish=f"echo/{i}", play="live/livestream")
               for i in range(20)]
        wait_answered(server, 20, 20)
        assert all(call["transport"] == transport for call in calls(server))
        for call_id in ids:
            server.api(f"/api/v1/calls/{call_id}", method="DELETE")
        wait_no_call(server, 20)


@pytest.mark.works_with("baresip", calls="SIP", codecs="G.711", checked="calls another phone")
def test_two_phones_talk(new_weir, folder):
    server = sip_weir(new_weir, "user alice secret; user bob geheim;")
    domain = f"127.0.0.1:{server.sip_port}"
    with Phone(folder, user="bob", password="geheim", domain=domain, regint=60, name="bob") as bob:
        registered(server, 1)
        with Phone(folder, domain=domain, name="alice", commands=[f"/dial sip:bob@{domain}"]) as alice:
            call = wait_answered(server)[0]
            assert call["direction"] == "bridge" and call["user"] == "alice", call
            wait_until(lambda: calls(server)[0]["packets_received"] > 500, 20, "they talk")
            call_id = call["id"]
        wait_no_call(server)
    assert one_call(server, call_id)["reason"] == "peer_closed"
    check_tone(alice.heard(), SAID_HZ)
    check_tone(bob.heard(), SAID_HZ)


def listens_udp(port):
    return f"127.0.0.1:{port} " in run(["ss", "-Hlun"]).decode()


def provider_scenario():
    """sipp's scenario: a REGISTER or a call, whichever comes."""
    def answer(status, fields="", body="", tag="", then=""):
        kind = "Content-Type: application/sdp\n" if body else ""
        return (f"<send{then}><![CDATA[\nSIP/2.0 {status}\n[last_Via:]\n[last_From:]\n[last_To:]{tag}\n[last_Call-ID:]\n[last_CSeq:]\n"
                f"{fields}{kind}Content-Length: [len]\n\n{body}\n]]></send>\n")

    contact, tag = "Contact: <sip:[local_ip]:[local_port]>\n", ";tag=[call_number]"
    sdp = "v=0\no=- 1 1 IN IP4 [local_ip]\ns=-\nc=IN IP4 [media_ip]\nt=0 0\nm=audio [media_port] RTP/AVP 0\na=rtpmap:0 PCMU/8000"
    return ('<?xml version="1.0"?>\n<scenario name="provider">\n<recv request="REGISTER" optional="true" next="1"/>\n<recv request="INVITE"/>\n' +
            answer("180 Ringing", contact, tag=tag) + answer("200 OK", contact, sdp, tag) + '<recv request="ACK"/>\n<recv request="BYE"/>\n' +
            answer("200 OK", then=' next="2"') + '<label id="1"/>\n' + answer("200 OK", "[last_Contact:]\nExpires: 300\n", tag=tag) +
            '<label id="2"/>\n<nop hide="true"/>\n</scenario>\n')


@pytest.mark.works_with("sipp", calls="SIP", codecs="G.711", checked="is the provider of calls to outside", set="`register`, `outside`")
def test_a_phone_calls_outside_by_a_provider(new_weir, folder):
    """sipp is the provider: it takes the registration, then calls, and sends back what it hears."""
    port = free_port()
    scenario = folder / "provider.xml"
    scenario.write_text(provider_scenario())
    with Program("provider", ["sipp", "-sf", scenario, "-i", "127.0.0.1", "-p", port, "-mi", "127.0.0.1", "-mp", free_port(), "-rtp_echo",
                              "-nostdin", "-timeout", "60", "-trace_err", "-error_file", folder / "sipp-errors.log"], folder):
        wait_until(lambda: listens_udp(port), 10, "sipp listens")
        server = sip_weir(new_weir, f"user alice secret; user bob geheim; register sip:weir@provider.test {{ proxy 127.0.0.1:{port}; }} "
                          "outside 00 via weir@provider.test max_calls 1 strip 1 users alice;")
        wait_until(lambda: server.api("/api/v1/summaries")["data"]["sip"]["registrations_up"] == 1, 10, "it is registered")
        with Phone(folder, name="bob", user="bob", password="geheim", commands=[f"/dial sip:00123@127.0.0.1:{server.sip_port}"]) as bob:
            wait_until(lambda: "session closed: 403" in bob.text(), 15, "bob may not call outside")
        with Phone(folder, commands=[f"/dial sip:00123@127.0.0.1:{server.sip_port}"]) as alice:
            call = wait_answered(server)[0]
            assert (call["direction"], call["user"], call["trunk"]) == ("bridge", "alice", "weir@provider.test"), call
            wait_until(lambda: calls(server)[0]["packets_received"] > 500, 20, "they talk")
        wait_no_call(server)
    assert server.api("/api/v1/summaries")["data"]["sip"]["outside"] == 1
    check_tone(alice.heard(), SAID_HZ)
