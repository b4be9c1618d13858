"""What IPTV networks have beside their groups: Reed-Solomon parities, and servers of fast channel change."""

import socket
import urllib.error
import urllib.request

import pytest

from browser import Browser
from fast_change import FastChangeServer
from group_fec import Code
from media import Program
from test_group_gateway import continuity_errors, gateway, undisturbed
from test_group_sources import Relay, free_udp_port, joined
from test_sources import sources
from weir import wait_until


def test_video(url, folder, rate="2M", gop=25):
    """ffmpeg sends a picture of constant bit rate in RTP."""
    return Program("sender", ["ffmpeg", "-hide_banner", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=25", "-c:v", "libx264",
                              "-preset", "ultrafast", "-tune", "zerolatency", "-g", str(gop), "-b:v", rate, "-f", "rtp_mpegts", url], folder)


test_video.__test__ = False


@pytest.mark.parametrize("points, data, parities, same_port", [("integers", 100, 5, False), ("powers", 48, 3, False), ("integers", 20, 2, True)])
def test_reed_solomon_gives_back_what_is_lost(new_weir, folder, points, data, parities, same_port):
    """1 % of the packets, and now and then as many as a block may lose: nothing is missing."""
    server = gateway(new_weir).start()
    ip, port = f"239.12.3.{parities + 10 * same_port}", free_udp_port()
    code, block, blocks, dropped = Code(data, parities, points), [], 0, 0
    rate = f"{21 * data}k"  # two blocks a second: what is lost is waited for as long as two blocks take
    fec_port = port if same_port else port - 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        def send(packet):
            out.sendto(packet, (ip, port))
            return []

        def change(sequence, packet):
            nonlocal blocks, dropped
            if packet[1] in (200, 202):
                return []
            block.append(packet)
            number = len(block) - 1
            lost = number < parities if blocks % 3 == 2 else sequence % 100 == 50
            if number == data - 1:
                for each in code.packets(block, sequence):
                    out.sendto(each, (ip, fec_port))
                block.clear()
                blocks += 1
            dropped += lost
            return send(packet) if not lost else []

        with Relay((ip, port), change) as relay, test_video(relay.url, folder, rate), urllib.request.urlopen(
                server.http(f"/rtp/{ip}:{port}?fec={fec_port}"), timeout=15) as player:
            def read():
                player.read(188 * 7 * data * 3)
                return sources(server)[0]["group"], player.read(188 * 7 * data * 9), sources(server)[0]["group"]

            before, data_read, group = undisturbed(relay, read, most=0.4)
    assert group["recovered"] - before["recovered"] > 3 and group["parities"] > 10, (dropped, group)
    assert continuity_errors(data_read) == 0 and group["lost"] == before["lost"] and group["foreign"] == 0, group


@pytest.mark.parametrize("kind", ["telecom", "huawei"])
def test_fast_channel_change(new_weir, folder, kind):
    """The picture comes by unicast at once, in the middle of a GOP of 10 s; then from the group, and nothing is missing between them."""
    server = gateway(new_weir, "allow_fcc 127.0.0.0/8;").start()
    ip, port = f"239.12.4.{len(kind)}", free_udp_port()
    with FastChangeServer((ip, port), kind) as fast, test_video(fast.url, folder, gop=250):
        wait_until(lambda: fast.starts and fast.count - fast.starts[-1] > 150, 20, "the middle of a GOP")
        starts = len(fast.starts)
        url = server.http(f"/rtp/{ip}:{port}?fcc={fast.address}&fcc-type={kind}")
        with urllib.request.urlopen(url, timeout=15) as player:
            data = player.read(188 * 50)
            assert len(fast.starts) == starts, "it came before the group's next key frame"
            assert not joined(ip) or fast.synced_at, "the group is joined when the unicast has caught up"
            data += player.read(188 * 5000)
            assert fast.synced_at and joined(ip)
            wait_until(lambda: fast.ends, 10, "the server is told to stop")
            group, = (each["group"] for each in sources(server))
            assert server.http(f"/rtp/{ip}:{port}").endswith(sources(server)[0]["url"].split("//")[1]), "one hub, whatever server is named"
        assert continuity_errors(data) == 0 and group["lost"] == 0, group
        assert group["unicast"] > 100 and fast.next is None, (group, fast.ends)
        assert fast.ends[0][0] == (0 if kind == "telecom" else 1) and fast.ends[0][1] > 0, fast.ends
        server.wait_log('outcome="in step"')


def test_a_fast_channel_change_that_fails_is_a_plain_join(new_weir, folder):
    server = gateway(new_weir, "allow_fcc 127.0.0.0/8;").start()
    ip, port = "239.12.4.20", free_udp_port()
    with FastChangeServer((ip, port), answers=False) as fast, test_video(fast.url, folder):
        wait_until(lambda: fast.count > 50, 20, "it sends")
        with urllib.request.urlopen(server.http(f"/rtp/{ip}:{port}?fcc={fast.address}"), timeout=15) as player:
            assert continuity_errors(player.read(188 * 1000)) == 0
        assert len(fast.requests) == 3, fast.requests
        server.wait_log('outcome="no answer"')


@pytest.mark.parametrize("allowed", ["", "allow_fcc 192.0.2.0/24;"])
def test_servers_that_are_not_allowed_are_not_spoken_to(new_weir, folder, allowed):
    server = gateway(new_weir, allowed).start()
    ip, port = "239.12.4.21", free_udp_port()
    with FastChangeServer((ip, port)) as fast, test_video(fast.url, folder):
        wait_until(lambda: fast.count > 50, 20, "it sends")
        with urllib.request.urlopen(server.http(f"/rtp/{ip}:{port}?fcc={fast.address}"), timeout=15) as player:
            assert len(player.read(188 * 1000)) == 188_000
        assert fast.requests == []


@pytest.mark.parametrize("query, reason", [
    ("fcc=localhost:15970", "numeric IPv4 address"), ("fcc=10.0.0.1", "numeric IPv4 address"), ("fcc=10.0.0.1:65536", "numeric IPv4 address"),
    ("fcc=239.1.1.1:15970", "numeric IPv4 address"), ("fcc=10.0.0.1:15970&fcc-type=other", "telecom or huawei")])
def test_servers_that_are_none_are_refused_with_the_reason(new_weir, query, reason):
    server = gateway(new_weir, "allow_fcc 10.0.0.0/8;").start()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(server.http(f"/rtp/239.12.4.22:5000?{query}"), timeout=15)
    with refused.value:
        assert 400 <= refused.value.code < 500 and reason in refused.value.read().decode()
    assert sources(server) == []


def test_the_console_shows_a_group_with_its_losses_and_kicks_its_player(new_weir, folder):
    server = gateway(new_weir).start()
    ip, port = "239.12.6.1", free_udp_port()
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # that of the relay sends from 127.0.0.1, not to groups

    def change(sequence, packet):
        if sequence % 50 != 7:
            out.sendto(packet, (ip, port))
        return []

    with out, Relay((ip, port), change) as relay, test_video(relay.url, folder), urllib.request.urlopen(server.http(f"/rtp/{ip}:{port}?fec={port + 2}"), timeout=15) as player:
        player.read(188 * 2000)
        with Browser(folder) as browser:
            browser.open(f"http://127.0.0.1:{server.api_port}/console/")

            def row():
                return browser.evaluate("""Object.fromEntries([...(document.querySelector('#sources tbody tr')?.children ?? [])]
                    .map((cell) => [cell.dataset.name, cell.textContent]))""")

            def complete():
                player.read(188 * 100)
                found = row()
                return found and "bit/s" in found["bit rate"] and found["lost"].split()[0] not in ("0", "-") and found

            found = wait_until(complete, 20, "the group is shown")
            assert found["address"] == f"from udp://{ip}:{port}?fec={port + 2}" and found["is"] == "live", found
            assert found["dropped here"] == found["reordered"] == "0" and int(found["errors"]) > 0, found
            client, = server.clients()
            kick = f"[...document.querySelectorAll('#clients tr')].find((row) => row.textContent.includes('{client['id']}')).querySelector('.kick').click()"
            wait_until(lambda: client["id"] in browser.evaluate("document.getElementById('clients').innerText"), 10, "its player is shown")
            browser.evaluate(kick)
            browser.evaluate(kick)
            wait_until(lambda: not server.clients(), 10, "the player is gone")
