"""SRT: ffmpeg, GStreamer and srt-live-transmit publish and play; passphrases, losses, sources, forwards, floods."""

import json
import os
import signal
import socket
import struct
import subprocess
import time

import pytest

from media import SAMPLE, Program, check_both, check_frames, play_ffmpeg, publisher, record
from srt import PASSPHRASE, LossyRelay, figures, play_srt, publish_srt, srt_url, srt_weir
from test_sources import sources, wait_state
from weir import free_port, wait_until


@pytest.mark.parametrize("stream_id", ["#!::r=live/cam,m=publish", "publish:live/cam", "live/cam"])
@pytest.mark.works_with("ffmpeg", publishes="SRT", codecs="H.264, AAC", checked="every frame", set="stream id `publish:APP/STREAM`")
def test_ffmpeg_publishes(new_weir, folder, stream_id):
    server = srt_weir(new_weir)
    with publish_srt(srt_url(server.srt_port, stream_id), folder):
        stream = server.wait_live("cam", 15)
        assert stream["publish"]["transport"] == "srt", stream
        check_both(play_ffmpeg(server.http("/live/cam.flv"), folder))
        client = next(each for each in server.clients() if each["protocol"] == "srt")
        assert client["srt"]["received_packets"] > 0 and client["srt"]["latency_ms"] >= 120, client
        assert client["srt"]["dropped"] == 0 and not client["encrypted"], client
    wait_until(lambda: not any(each["publish"]["active"] for each in server.streams()), 20, "it is unpublished")


@pytest.mark.parametrize("stream_id", ["#!::r=live/livestream,m=request", "read:live/livestream", "live/livestream"])
@pytest.mark.works_with("srt-live-transmit", plays="SRT", codecs="H.264, AAC", checked="every frame", set="stream id `read:APP/STREAM`")
def test_srt_live_transmit_plays(new_weir, folder, stream_id):
    server = srt_weir(new_weir)
    with publisher(server.rtmp(), folder):
        server.wait_live()
        recording = play_srt(srt_url(server.srt_port, stream_id), folder)
        check_frames(recording)
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    wait_until(lambda: figures(server)["sent_bytes"] > 100_000, 10, "it is counted")
    assert figures(server)["accepted"] == 1


@pytest.mark.works_with("ffmpeg", plays="SRT", codecs="H.264, AAC", checked="every frame", set="stream id `read:APP/STREAM`")
def test_ffmpeg_plays(new_weir, folder):
    server = srt_weir(new_weir)
    with publisher(server.rtmp(), folder):
        server.wait_live()
        check_both(play_ffmpeg(srt_url(server.srt_port, "read:live/livestream"), folder, suffix="ts"))


@pytest.mark.works_with("GStreamer", publishes="SRT", codecs="H.264", checked="every frame", set="`h264parse config-interval=-1`")
@pytest.mark.works_with("GStreamer", plays="SRT", codecs="H.264", checked="every frame")
def test_gstreamer_publishes_and_plays(new_weir, folder):
    server = srt_weir(new_weir)
    uri = f"srt://127.0.0.1:{server.srt_port}"
    sender = ["gst-launch-1.0", "-e", "filesrc", f"location={SAMPLE}", "!", "flvdemux", "name=d", "mpegtsmux", "name=m", "alignment=7",
              "!", "srtsink", f"uri={uri}", "streamid=publish:live/cam",
              "d.video", "!", "h264parse", "config-interval=-1", "!", "identity", "sync=true", "!", "queue", "!", "m.",
              "d.audio", "!", "aacparse", "!", "identity", "sync=true", "!", "queue", "!", "m."]
    with Program("gst-publisher", sender, folder):
        server.wait_live("cam", 15)
        wait_until(lambda: server.wait_live("cam")["video"], 15, "video is there")
        path = folder / "gst.ts"
        receiver = ["gst-launch-1.0", "srtsrc", f"uri={uri}", "streamid=read:live/cam", "!", "filesink", "buffer-mode=2", f"location={path}"]
        recording = record("gst-player", receiver, folder, 3, output=path)
        check_frames(recording)


@pytest.mark.parametrize("key_bytes", [16, 32])
@pytest.mark.works_with("ffmpeg", publishes="SRT", codecs="H.264, AAC", checked="AES-128 and AES-256", set="`srt_passphrase`")
@pytest.mark.works_with("srt-live-transmit", plays="SRT", codecs="H.264, AAC", checked="AES-128 and AES-256", set="`srt_passphrase`")
def test_passphrases(new_weir, folder, key_bytes):
    server = srt_weir(new_weir, f"srt_passphrase {PASSPHRASE};\nsrt_pbkeylen {key_bytes};")
    good = f"&passphrase={PASSPHRASE}"
    with publish_srt(srt_url(server.srt_port, "publish:live/cam", f"{good}&pbkeylen={key_bytes}"), folder):
        server.wait_live("cam", 15)
        check_frames(play_srt(srt_url(server.srt_port, "read:live/cam", good), folder))
        assert all(each["encrypted"] for each in server.clients() if each["protocol"] == "srt")
        for name, more in (("wrong", "&passphrase=another-passphrase"), ("none", "")):
            refused = subprocess.run(["ffmpeg", "-hide_banner", "-nostdin", "-i", srt_url(server.srt_port, "read:live/cam", more),
                                      "-f", "null", "-"], capture_output=True, timeout=30, text=True, check=False)
            assert refused.returncode != 0, name
            assert "passphrase" in refused.stderr.lower() or "password" in refused.stderr.lower(), refused.stderr[-1500:]
    wait_until(lambda: figures(server)["failed_handshakes"] >= 2, 10, "they are counted")
    server.wait_log("wrong passphrase")
    assert PASSPHRASE not in server.log()


def test_a_passphrase_of_a_vhost_and_of_a_file(new_weir, folder):
    (folder / "secret").write_text(PASSPHRASE + "\n")
    server = srt_weir(new_weir, f"vhost __defaultVhost__ {{ }}\nvhost a.example {{ srt_passphrase file:{folder / 'secret'}; }}")
    with publish_srt(srt_url(server.srt_port, "#!::h=a.example,r=live/cam,m=publish", f"&passphrase={PASSPHRASE}"), folder):
        server.wait_live("cam", 15)
        with publish_srt(srt_url(server.srt_port, "publish:live/open"), folder, name="open"):
            server.wait_live("open", 15)


def test_what_is_refused(new_weir, folder):
    server = srt_weir(new_weir, "security { publish_key hush-key; }")

    def said_of(stream_id):
        return subprocess.run(["ffmpeg", "-hide_banner", "-nostdin", "-re", "-i", SAMPLE, "-c", "copy", "-f", "mpegts",
                               srt_url(server.srt_port, stream_id)], capture_output=True, timeout=30, check=False).returncode
    assert said_of("#!::r=nothing,m=publish") != 0
    assert figures(server)["refused_stream_id"] >= 1  # it asks again where the answer is late
    server.wait_log("srt handshake refused ip=127.0.0.1: its stream id")
    assert said_of("#!::r=live/../cam,m=publish") != 0
    server.wait_log("as a part")  # names are judged as those of RTMP
    assert said_of("#!::r=live/cam,m=publish") != 0
    server.wait_log("publish refused stream=/live/cam transport=srt")
    with publish_srt(srt_url(server.srt_port, "#!::r=live/cam,m=publish,key=hush-key"), folder):
        server.wait_live("cam", 15)
        assert said_of("#!::r=live/cam,m=publish,key=hush-key") != 0, "the name is busy"
    assert "hush" not in server.log()


def test_an_encoder_that_was_taken_for_a_player_is_ended(new_weir, folder):
    server = srt_weir(new_weir)
    with publish_srt(srt_url(server.srt_port, "publish:live/cam"), folder):
        server.wait_live("cam", 15)
        with publish_srt(srt_url(server.srt_port, "live/cam"), folder, name="second"):
            server.wait_log("the client sends media")
        wait_until(lambda: len(server.clients()) == 1, 10, "only the publisher is left")


def test_a_port_of_all_addresses(new_weir, folder):
    port = free_port()
    server = new_weir(f"srt_server {{ listen {port}; }}").start()
    with publish_srt(srt_url(port, "publish:live/cam"), folder):
        server.wait_live("cam", 15)


def test_the_port_moves_to_another_address(new_weir, folder):
    server = srt_weir(new_weir)
    server.config_path.write_text(server.config_path.read_text().replace(f"127.0.0.1:{server.srt_port}", f"0.0.0.0:{server.srt_port}"))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: f"listening srt://0.0.0.0:{server.srt_port}" in server.log(), 20, "it has moved")
    with publish_srt(srt_url(server.srt_port, "publish:live/cam"), folder):
        server.wait_live("cam", 15)


@pytest.mark.works_with("ffmpeg", publishes="SRT", codecs="H.264, AAC", checked="every frame with 5 % of packets lost",
                        set="`srt_latency 2s` for such a network")
@pytest.mark.works_with("srt-live-transmit", plays="SRT", codecs="H.264, AAC", checked="every frame with 5 % of packets lost",
                        set="`srt_latency 2s` for such a network")
def test_five_percent_of_loss(new_weir, folder):
    server = srt_weir(new_weir, "srt_latency 2s;")  # the relays may stand still, too
    with LossyRelay(server.srt_port, 0.05) as inward, LossyRelay(server.srt_port, 0.05, seed=2) as outward:
        with publish_srt(srt_url(inward.port, "publish:live/cam"), folder):
            server.wait_live("cam", 20)
            check_frames(play_srt(srt_url(outward.port, "read:live/cam"), folder, seconds=5))
        assert inward.lost > 20 and outward.lost > 20, (inward.lost, outward.lost)
    wait_until(lambda: figures(server)["lost"] > 0 and figures(server)["retransmitted"] > 0, 10, "it is counted")
    assert figures(server)["dropped"] == 0, "all came in time, the second time"


def test_a_source_and_a_forward(new_weir, folder):
    secret = f"srt_passphrase {PASSPHRASE};"
    origin = srt_weir(new_weir, secret, "origin")
    taker = srt_weir(new_weir, secret, "taker")
    more = f"?passphrase={PASSPHRASE}"
    edge = new_weir(f"""source srt://127.0.0.1:{origin.srt_port}/live/cam{more} {{ stream live/cam; }}
                        forward srt://127.0.0.1:{taker.srt_port}/[app]/copy-[stream]{more};""", "edge").start()
    with publisher(origin.rtmp("live/cam"), folder):
        wait_state(edge, "cam", "live")
        check_both(play_ffmpeg(edge.http("/live/cam.flv"), folder))
        wait_state(edge, "cam", "live", role="forward")
        taker.wait_live("copy-cam", 15)
        check_both(play_ffmpeg(taker.http("/live/copy-cam.flv"), folder, name="second"))
        assert PASSPHRASE not in edge.log() + json.dumps(sources(edge))
        assert all(each["bytes"] > 10_000 for each in sources(edge)), sources(edge)
        taker.kill()
        wait_state(edge, "cam", "backing_off", role="forward", seconds=30)


def test_a_source_of_srt_live_transmit_without_a_passphrase(new_weir, folder):
    origin = srt_weir(new_weir, f"srt_passphrase {PASSPHRASE};", "origin")
    edge = new_weir(f"source srt://127.0.0.1:{origin.srt_port}/live/cam {{ stream live/cam; on_demand off; }}", "edge").start()
    found = wait_state(edge, "cam", "backing_off")
    assert "handshake" in found["last_error"], found


def test_a_reader_that_stops(new_weir, folder):
    """Its process stands still: its connection ends, and others do not notice."""
    server = srt_weir(new_weir)
    with publisher(server.rtmp(), folder):
        server.wait_live()
        url = srt_url(server.srt_port, "read:live/livestream")
        with Program("stopped", ["srt-live-transmit", "-q", url, "file://con"], folder, folder / "stopped.ts") as stopped:
            wait_until(lambda: any(each["protocol"] == "srt" and each["play"] for each in server.clients()), 20, "it plays")
            os.kill(stopped.process.pid, signal.SIGSTOP)
            check_frames(play_srt(url, folder, seconds=4, name="other"))
            wait_until(lambda: not any(each["protocol"] == "srt" for each in server.clients()), 20, "it is ended")
            os.kill(stopped.process.pid, signal.SIGCONT)


def test_a_reader_whose_network_is_too_slow(new_weir, folder):
    server = srt_weir(new_weir, "play { queue_length 3s; }")
    with publisher(server.rtmp(), folder), LossyRelay(server.srt_port, 0, bytes_a_second=12_000) as relay:
        server.wait_live()
        with Program("slow", ["srt-live-transmit", "-q", "-a:no", srt_url(relay.port, "read:live/livestream"), "file://con"], folder,
                     folder / "slow.ts"):
            server.wait_log("too slow", 30)
        server.wait_log("reason=stalled")
        assert figures(server)["too_slow"] == 1


def handshake(sender, to, socket_id, kind=1, cookie=0, version=4):
    """An SRT handshake packet: control packet of type 0."""
    head = struct.pack("!IIII", 0x80000000, 0, 0, 0)
    body = struct.pack("!IHHIIIiII", version, 0, 2, 1, 1500, 8192, kind, socket_id, cookie) + bytes([127, 0, 0, 1]) + bytes(12)
    sender.sendto(head + body, to)


def test_a_flood_of_handshakes(new_weir, folder):
    """Thousands of addresses begin handshakes, with and without the cookie: nobody else notices."""
    server = srt_weir(new_weir)
    to = ("127.0.0.1", server.srt_port)
    # What is sent again in time is no loss, on a busy machine too.
    with publish_srt(srt_url(server.srt_port, "publish:live/cam", "&latency=2000000"), folder):
        server.wait_live("cam", 15)
        before = server.private_kib()
        with Program("player", ["srt-live-transmit", "-q", srt_url(server.srt_port, "read:live/cam"), "file://con"], folder,
                     folder / "player.ts"):
            end = time.monotonic() + 3
            count = 0
            while count < 3000 or time.monotonic() < end:
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                    sender.bind((f"127.0.{count % 200 + 1}.{count // 200 % 250 + 1}", 0))
                    handshake(sender, to, count + 1)
                    handshake(sender, to, count + 1, kind=-1, cookie=count, version=5)
                    sender.sendto(os.urandom(64), to)
                count += 1
        assert server.private_kib() - before < 20_000, (before, server.private_kib())
        check_frames(play_srt(srt_url(server.srt_port, "read:live/cam"), folder, name="after"))
        assert [each["name"] for each in server.streams() if each["publish"]["active"]] == ["cam"]
    assert figures(server)["accepted"] <= 3


def test_a_flood_of_callers(new_weir, folder):
    """Real callers of a stream that may not be had, as many as there can be: bounded, counted."""
    server = srt_weir(new_weir, "security { deny play all; }")
    url = srt_url(server.srt_port, "read:live/cam")
    with publish_srt(srt_url(server.srt_port, "publish:live/cam"), folder):
        server.wait_live("cam", 15)
        callers = [subprocess.Popen(["srt-live-transmit", "-q", url, "file://con"], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL) for _ in range(30)]
        try:
            wait_until(lambda: figures(server)["handshakes"] > 30, 30, "all have called")
        finally:
            for each in callers:
                each.kill()
                each.wait()
        wait_until(lambda: len(server.clients()) == 1, 20, "only the publisher is left")


def test_the_api_knows_srt(new_weir):
    server = srt_weir(new_weir)
    assert server.api("/api/v1/features")["data"]["features"]["srt"] is True
    assert server.api("/api/v1/summaries")["data"]["srt"]["connections"] == 0
