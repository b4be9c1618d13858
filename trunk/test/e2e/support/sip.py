"""SIP: a server with its port, baresip as a telephone, tones and how they are judged."""

import json
import math
import shutil
import socket
import struct
import tempfile
import urllib.error
import urllib.request
import wave
from pathlib import Path

from media import Program
from weir import free_port, wait_until

RATE = 8000
SAID_HZ = 1000  # by the phone
PLAYED_HZ = 440  # by the stream


def sip_weir(new_weir, extra="", name=None, top="", address="127.0.0.1"):
    """`extra`: further lines, where OWN is the server's own address."""
    port = free_port()
    extra = extra.replace("OWN", f"{address}:{port}")
    text = f"{top} sip_server {{ listen {address}:{port}; rtp_ports 20000-29999; {extra} }}"
    server = new_weir(text, name) if name else new_weir(text)
    server.sip_port = port
    return server.start()


def port_pair():
    """The first of two neighbours: baresip takes the port behind its own for TLS."""
    first = free_port()
    while (second := free_port()) != first + 1:
        first = second
    return first


def write_tone(path, hz, seconds=20, rate=RATE, channels=1):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        # Every second is the same, as `hz` is whole.
        file.writeframes(b"".join(struct.pack("<h", int(8000 * math.sin(2 * math.pi * hz * i / rate))) * channels for i in range(rate)) * seconds)
    return path


def tone_share(samples, hz, rate):
    """The share of a tone in the energy of samples, by Goertzel's filter: 1 for nothing but that tone."""
    omega = 2 * math.pi * round(hz * len(samples) / rate) / len(samples)
    factor, before, last = 2 * math.cos(omega), 0.0, 0.0
    for value in samples:
        before, last = last, value + factor * last - before
    power = last * last + before * before - factor * last * before
    energy = sum(value * value for value in samples)
    return 2 * power / (len(samples) * energy) if energy else 0.0


def tone_shares(path, hz):
    """The share in each whole second of a WAV file's first channel."""
    with wave.open(str(path), "rb") as file:
        rate, channels, frames = file.getframerate(), file.getnchannels(), file.getnframes()
        samples = struct.unpack(f"<{frames * channels}h", file.readframes(frames))[::channels]
    return [tone_share(samples[at:at + rate], hz, rate) for at in range(0, len(samples) - rate + 1, rate)]


class Phone(Program):
    """baresip: says a tone, writes what it hears. `commands`: of its menu, as "/dial sip:...". """

    def __init__(self, folder, port=None, user="alice", password="secret", domain=None, codecs="PCMU", commands=(), name="phone",
                 account="", answer="auto", transport="udp", says=SAID_HZ, console=False, regint=0, modules=(), settings=(),
                 address="127.0.0.1"):
        self.folder = Path(folder) / name
        self.folder.mkdir()
        self.dumps = Path(tempfile.mkdtemp(prefix="phone"))  # baresip cuts long paths
        self.port = port or port_pair()
        self.console = free_port() if console else None  # by UDP
        form = (48000, 2) if codecs.startswith("opus") else (16000, 1) if codecs.startswith("G722") else (RATE, 1)  # no resampling
        tone = write_tone(self.folder / "said.wav", says, 20, *form)
        modules = ["stdio", "account", "menu", "g711", "opus", "g722", "aufile", "sndfile", "auloop", "srtp", *modules]
        (self.folder / "config").write_text("".join(f"{line}\n" for line in [
            f"sip_listen {address}:{self.port}", f"net_interface {address}", "module_path /usr/lib/baresip/modules",
            *(f"module {module}.so" for module in modules if module not in ("account", "menu")),
            "module_app account.so", "module_app menu.so",
            *(["module_app cons.so", f"cons_listen 127.0.0.1:{self.console}"] if self.console else []),
            f"audio_source aufile,{tone}", "audio_player aufile,", "audio_alert aufile,",
            "audio_srate 8000-48000", "audio_channels 1-2", f"snd_path {self.dumps}", "rtp_ports 30000-39999", *settings,
            *(() if any(each.startswith("rtcp_mux") for each in settings) else ("rtcp_mux no",)),
            "jitter_buffer_delay 2-5", "call_local_timeout 120"]))
        domain = domain or f"{address}:{self.port}"
        (self.folder / "accounts").write_text(
            f"<sip:{user}@{domain};transport={transport}>;auth_user={user};auth_pass={password};answermode={answer};"
            f"audio_codecs={codecs};regint={regint}{account}\n")
        (self.folder / "contacts").write_text("")
        executes = [word for command in commands for word in ("-e", command)]
        super().__init__(name, ["baresip", "-f", self.folder, "-s", *executes], self.folder.parent, stdout=self.folder / "said.log")

    def end(self, *how):
        code = super().end(*how)
        for path in self.dumps.iterdir() if self.dumps.exists() else ():
            shutil.move(path, self.folder / path.name)
        shutil.rmtree(self.dumps, ignore_errors=True)
        return code

    def type(self, command):
        """A command of its menu, as "/sndcode 5", while it runs."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(command.encode() + b"\n", ("127.0.0.1", self.console))

    def heard(self):
        """What it heard, when it has ended."""
        found = sorted(self.folder.glob("dump-*-dec.wav"))
        assert found, (list(self.folder.iterdir()), self.log()[-3000:])
        return found[-1]

    def text(self):
        return (self.folder / "said.log").read_text(errors="replace") + self.log()


def calls(server):
    return server.api("/api/v1/calls?count=1000")["calls"]


def post_call(server, order):
    """Status and answer of an order to call somebody."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.api_port}/api/v1/calls", json.dumps(order).encode(), method="POST",
                                     headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


HEAD = """      Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
      From: sipp <sip:sipp@[local_ip]:[local_port]>;tag=[call_number]
      To: <sip:100@[remote_ip]:[remote_port]>[peer_tag_param]
      Call-ID: [call_id]
      CSeq: [cseq] METHOD
      Contact: sip:sipp@[local_ip]:[local_port]
      Max-Forwards: 70
"""


def sipp_send(method, body="", kind="", ack=""):
    target = f"{method} sip:100@[remote_ip]:[remote_port] SIP/2.0"
    head = HEAD.replace("METHOD", method).replace("      ", "")
    kind = f"Content-Type: {kind}\n" if kind else ""
    return f"<send{ack}><![CDATA[\n{target}\n{head}{kind}Content-Length: [len]\n\n{body}\n]]></send>\n"


def keys_scenario():
    """sipp's scenario of a phone that takes no telephone-event: presses 7 by INFO, gets a key by INFO, hangs up."""
    offer = ("v=0\no=- 1 1 IN IP4 [local_ip]\ns=-\nc=IN IP4 [local_ip]\nt=0 0\nm=audio [media_port] RTP/AVP 0\na=rtpmap:0 PCMU/8000")
    took = ("<send><![CDATA[\nSIP/2.0 200 OK\n[last_Via:]\n[last_From:]\n[last_To:]\n[last_Call-ID:]\n[last_CSeq:]\n"
            "Content-Length: 0\n\n]]></send>\n")
    return ('<?xml version="1.0"?>\n<scenario name="keys">\n' + sipp_send("INVITE", offer, "application/sdp", ' retrans="500"') +
            '<recv response="100" optional="true"/>\n<recv response="180" optional="true"/>\n<recv response="200"/>\n' +
            sipp_send("ACK") + sipp_send("INFO", "Signal=7\nDuration=160", "application/dtmf-relay", ' retrans="500"') +
            '<recv response="200"/>\n<recv request="INFO" timeout="15000"/>\n' + took + sipp_send("BYE", ack=' retrans="500"') +
            '<recv response="200"/>\n</scenario>\n')


def send_keys(server, call, digits):
    request = urllib.request.Request(f"http://127.0.0.1:{server.api_port}/api/v1/calls/{call['id']}/dtmf", method="POST",
                                     data=json.dumps({"digits": digits}).encode())
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def wait_answered(server, count=1, seconds=10):
    def answered():
        found = calls(server)
        return found if sum(call["state"] == "answered" for call in found) == count else None
    return wait_until(answered, seconds, f"{count} calls are answered")


def wait_no_call(server, seconds=10):
    wait_until(lambda: not calls(server), seconds, "no call is left")


__all__ = ["PLAYED_HZ", "Phone", "RATE", "SAID_HZ", "calls", "keys_scenario", "post_call", "send_keys", "sip_weir", "tone_share",
           "tone_shares", "wait_answered", "wait_no_call", "write_tone"]
