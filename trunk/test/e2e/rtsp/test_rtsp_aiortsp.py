"""RTSP with aiortsp, which logs in with SHA-256 without naming it, and asks for one track."""

import asyncio
import base64
import logging

import pytest
from aiortc.codecs.h264 import h264_depayload
from aiortsp.rtsp.connection import RTSPConnection
from aiortsp.rtsp.errors import RTSPResponseError
from aiortsp.rtsp.session import RTSPMediaSession
from aiortsp.transport import RTPTransportClient
from aiortsp.transport.tcp import TCPTransport
from aiortsp.transport.udp import UDPTransport

from media import Recording, check_frames, publisher
from rtsp import rtsp_weir
from test_rtsp import most_runs

WAYS = {"tcp": TCPTransport, "udp": UDPTransport}
KEY = "key-of-the-test"
SECONDS = 3
VIDEO_CLOCK, AUDIO_CLOCK = 90_000, 44_100
SAMPLES = 1024  # of a frame of AAC


def since(first, packet):
    """Units of the RTP clock, which wraps."""
    return (packet.ts - first.ts + (1 << 31)) % (1 << 32) - (1 << 31)


class Packets(RTPTransportClient):
    """Counts until a track has enough media."""

    def __init__(self, clock):
        self.clock, self.packets, self.enough = clock, [], asyncio.Event()

    def handle_rtp(self, rtp):
        self.packets.append(rtp)
        if since(self.packets[0], rtp) >= SECONDS * self.clock:
            self.enough.set()

    def handle_closed(self, error):
        self.enough.set()


async def receive(server, way, track, key=KEY):
    """The packets of a track, and its parameter sets as the description has them."""
    logger = logging.getLogger("aiortsp")
    url, client = server.rtsp(), Packets(VIDEO_CLOCK if track == "video" else AUDIO_CLOCK)
    async with RTSPConnection("127.0.0.1", server.rtsp_port, "viewer", key, logger=logger) as connection:
        async with WAYS[way](connection, logger=logger) as transport:
            async with RTSPMediaSession(connection, url, transport=transport, media_type=track, logger=logger) as session:
                transport.subscribe(client)
                await session.play()
                await asyncio.wait_for(client.enough.wait(), SECONDS + 15)
                return client.packets, session.sdp.guess_h264_props()


def check_numbers(packets):
    """Nothing is lost, and nothing comes twice or in another order."""
    assert all((after.seq - before.seq) & 0xFFFF == 1 for before, after in zip(packets, packets[1:])), [each.seq for each in packets]


def write_video(path, packets, parameters):
    """The packets of whole pictures, as a stream of Annex B."""
    whole = packets[:1 + max(index for index, each in enumerate(packets) if each.m)]
    sets = b"".join(b"\0\0\0\1" + base64.b64decode(each) for each in parameters.split(","))
    path.write_bytes(sets + b"".join(h264_depayload(each.data) for each in whole))
    return Recording(path)


def access_units(payload):
    """RFC 3640, AAC-hbr: headers of 13 bits of length and 3 of an index."""
    headers = int.from_bytes(payload[:2], "big") // 16
    sizes = [int.from_bytes(payload[2 + 2 * each:4 + 2 * each], "big") >> 3 for each in range(headers)]
    at, units = 2 + 2 * headers, []
    for size in sizes:
        units.append(payload[at:at + size])
        at += size
    return units


def write_audio(path, packets):
    """ADTS: AAC-LC, 44.1 kHz, two channels. How many frames."""
    units = [unit for each in packets for unit in access_units(each.data)]
    heads = [bytes((0xFF, 0xF1, 0x50, 0x80 | size >> 11, size >> 3 & 0xFF, (size & 7) << 5 | 0x1F, 0xFC))
             for size in (len(unit) + 7 for unit in units)]
    path.write_bytes(b"".join(head + unit for head, unit in zip(heads, units)))
    return len(units)


@pytest.fixture
def server(new_weir, folder):
    server = rtsp_weir(new_weir, extra=f"vhost __defaultVhost__ {{ security {{ play_key {KEY}; }} }}")
    with publisher(server.rtmp(), folder):
        server.wait_live()
        yield server


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.works_with("aiortsp", plays="RTSP", codecs="H.264, AAC", checked="every frame by TCP and UDP; user and password")
def test_it_logs_in_and_plays(server, folder, way):
    packets, parameters = asyncio.run(receive(server, way, "video"))
    check_numbers(packets)
    check_frames(write_video(folder / "video.h264", packets, parameters), least=25 * SECONDS - 10, most_runs=most_runs(server))

    packets, _ = asyncio.run(receive(server, way, "audio"))
    check_numbers(packets)
    count = write_audio(folder / "audio.aac", packets)
    times = [since(packets[0], each) for each in packets]
    units = [len(access_units(each.data)) for each in packets]
    late = [time - sum(units[:index]) * SAMPLES for index, time in enumerate(times)]
    assert max(map(abs, late)) <= AUDIO_CLOCK // 1000, f"times are not those of the samples, to the millisecond: {late}"
    assert Recording(folder / "audio.aac").audio_seconds() == pytest.approx(count * SAMPLES / AUDIO_CLOCK, abs=0.03)
    assert count * SAMPLES / AUDIO_CLOCK > SECONDS - 0.1


def test_it_is_refused_with_a_wrong_password(server):
    with pytest.raises(RTSPResponseError) as refused:
        asyncio.run(receive(server, "tcp", "video", key="wrong"))
    assert refused.value.response.status == 401
