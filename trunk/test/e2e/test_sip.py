"""SIP: telephones call streams, hear them, and are streams themselves."""

import subprocess

import pytest

from media import Program, modern_ffmpeg, play_ffmpeg, run
from sip import PLAYED_HZ, RATE, SAID_HZ, Phone, calls, sip_weir, tone_shares, wait_answered, wait_no_call
from weir import free_port, wait_until


def tone_publisher(url, folder, codec=("-c:a", "aac"), hz=PLAYED_HZ, rate=44100):
    return Program("tone", ["ffmpeg", "-hide_banner", "-nostdin", "-re", "-f", "lavfi", "-i", f"sine=frequency={hz}:sample_rate={rate}",
                            *codec, "-f", "flv", url], folder)


def wav_of(server, stream, folder, seconds=5, name="said"):
    """What a stream says, as a WAV file of 8 kHz."""
    recording = play_ffmpeg(server.http(f"/{stream}.flv"), folder, seconds=seconds, name=name, least=5_000, ffmpeg=modern_ffmpeg())
    out = folder / f"{name}.wav"
    run([modern_ffmpeg(), "-v", "error", "-y", "-i", recording.path, "-ar", str(RATE), "-ac", "1", out])
    return out


def check_tone(path, hz, least=2):
    """From the second second on nothing but the tone."""
    shares = tone_shares(path, hz)
    assert len(shares) > least and min(shares[1:]) > 0.95, (path, hz, shares)


PCMU = ("-ar", "8000", "-ac", "1", "-c:a", "pcm_mulaw")


@pytest.mark.parametrize("published", [PCMU, ("-c:a", "aac")], ids=["PCMU", "AAC"])
@pytest.mark.parametrize("codec", ["PCMU", "PCMA", "opus/48000/2"])
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


def test_who_may_not_call(new_weir, folder):
    server = sip_weir(new_weir, "user alice secret; dial 100 live/livestream;")
    with tone_publisher(server.rtmp(), folder, PCMU):
        server.wait_live()
        with Phone(folder, password="wrong", commands=[f"/dial sip:100@127.0.0.1:{server.sip_port}"]) as phone:
            wait_until(lambda: "401" in phone.text() or "403" in phone.text(), 10, "it is refused")
            assert not [call for call in calls(server) if call["state"] == "answered"]
        with Phone(folder, name="right", commands=[f"/dial sip:100@127.0.0.1:{server.sip_port}"]):
            assert wait_answered(server)[0]["user"] == "alice"


def test_a_call_waits_for_a_publisher(new_weir, folder):
    server = sip_weir(new_weir, "trunk 127.0.0.1; dial 100 live/livestream;")
    with Phone(folder, commands=[f"/dial sip:100@127.0.0.1:{server.sip_port}"]):
        wait_until(lambda: [call for call in calls(server) if call["state"] == "ringing"], 10, "it rings")
        with tone_publisher(server.rtmp(), folder, PCMU):
            wait_answered(server)


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
