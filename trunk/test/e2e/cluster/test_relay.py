"""Streams that are published at another node: brought once, as they are, for as long as somebody watches."""

import asyncio
import contextlib
import os
import random
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest

from aio_peers import AioPeer, TONE_HZ, tone_of
from flv import HttpFlv
from hls import Viewer
from media import Program, check_both, check_rising, modern_ffmpeg, play_ffmpeg, publisher, run
from relays import SECRET, add_origin, ask, field, metric, node, pull, pulls
from rtmp import RtmpPlayer
from rtc import rtc_weir
from srt import srt_url
from test_api_schema import check
from test_hls_tracks import publish_tracks
from test_sources import nginx
from weir import TOP, free_port, wait_until


def first_picture(weir, path="/live/cam.flv", timeout=20):
    with HttpFlv(weir.http_port, path, timeout=timeout) as player:
        return player.reader().tags_until(lambda tag: tag.is_key_frame(), timeout)[-1]


@contextlib.contextmanager
def waiting(weir, path="/live/nobody.flv"):
    """A player that waits for a publisher: its answer has not begun."""
    with socket.create_connection(("127.0.0.1", weir.http_port), 5) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        yield connection


def relays_of(weir):
    """Nodes that get a stream here."""
    return sorted(client["node"] for client in weir.clients() if client["protocol"] == "relay")


@pytest.mark.parametrize("signed", [True, False], ids=["node", "plain"])
def test_many_players_have_one_pull(new_weir, folder, signed):
    if signed:
        a = node(new_weir, "a").start()
        b = node(new_weir, "b", a, input_timeout="10s").start()
    else:
        a = new_weir("play { mw_latency 0; }").start()
        b = new_weir(f"origin http://127.0.0.1:{a.http_port};\nplay {{ mw_latency 0; }}", "b").start()
    with publisher(a.rtmp("live/cam"), folder):
        a.wait_live("cam")
        run([TOP / "objs/weir-bench", "flv-play", "--url", b.http("/live/cam.flv"), "--clients", "50", "--duration", "3",
             "--quiet"], seconds=60)
        # While it is published: a pull that lingers would look for the publisher once more.
        assert metric(b, 'weir_source_attempts_total{role="pull"}') == 1
        assert metric(b, "weir_relay_bytes_total") > 50_000


def test_what_is_said_of_a_relay(new_weir, folder):
    a = node(new_weir, "a").start()
    b = node(new_weir, "b", a).start()
    with publisher(a.rtmp("live/cam"), folder):
        a.wait_live("cam")
        with RtmpPlayer(b.rtmp_port, stream="cam") as player:
            while player.message()[0] != player.VIDEO:
                pass
            state = wait_until(lambda: pull(b) if pull(b) and pull(b)["state"] == "live" else None, 15, "the pull is live")
            assert (state["node"], state["epoch"]) == ("a", 0) and str(a.http_port) in state["url"]
            assert b.wait_live("cam")["publish"]["origin"] == "a"
            assert a.wait_live("cam")["publish"]["origin"] == ""
            assert relays_of(a) == ["b"]
            assert a.streams()[0]["viewers"]["relay"] == 1
            for server in (a, b):
                check(server, "/api/v1/sources", "Sources")
                check(server, "/api/v1/streams", "Streams")
                check(server, "/api/v1/clients", "Clients")
            assert metric(b, 'weir_relay_pulls{state="live"}') == 1
        wait_until(lambda: not pulls(b), 10, "the pull ends behind the last player and relay_linger")
        wait_until(lambda: not relays_of(a), 10, "and is gone from the node of the publisher")


def test_what_is_played_is_what_was_published(new_weir, folder):
    a = node(new_weir, "a").start()
    b = node(new_weir, "b", a).start()
    with publisher(a.rtmp("live/cam"), folder):
        a.wait_live("cam")
        for url, name in ((b.rtmp("live/cam"), "rtmp"), (b.http("/live/cam.flv"), "flv")):
            check_both(play_ffmpeg(url, folder, name=name))


def test_a_chain_of_nodes(new_weir, folder):
    a = node(new_weir, "a").start()
    b = node(new_weir, "b", a).start()
    c = node(new_weir, "c", b).start()
    d = node(new_weir, "d", c).start()
    with publisher(a.rtmp("live/cam"), folder):
        a.wait_live("cam")
        with HttpFlv(c.http_port, "/live/cam.flv", timeout=20) as player:
            player.reader().tags_until(lambda tag: tag.is_key_frame(), 20)
            assert (relays_of(a), relays_of(b)) == (["b"], ["c"])
            assert pull(c)["node"] == "b" and pull(b)["node"] == "a"
            # relay_hops: the stream would come over three relays.
            with waiting(d, "/live/cam.flv") as late:
                wait_until(lambda: metric(d, 'weir_source_attempts_total{role="pull"}') >= 3, 15, "it is asked for again")
                assert "508" in pull(d)["last_error"] or "circle" in pull(d)["last_error"]
                late.settimeout(0.5)
                with pytest.raises(TimeoutError):
                    late.recv(1)


def test_nodes_that_name_each_other_give_up(new_weir):
    a, b = node(new_weir, "a"), node(new_weir, "b")
    add_origin(a, b)
    add_origin(b, a)
    a.start(), b.start()
    with waiting(a), waiting(b):
        began = time.monotonic()
        time.sleep(4)
        asked = sum(metric(each, "weir_relay_refused_total") + metric(each, "weir_relay_answered_total") for each in (a, b))
        looped = sum(metric(each, 'weir_relay_refused_total{reason="loop"}') for each in (a, b))
        took = time.monotonic() - began
    assert looped >= 1 and asked / took < 10, (looped, asked, took)
    assert metric(a, "weir_relay_answered_total") + metric(b, "weir_relay_answered_total") == 0


def test_no_circle_keeps_a_stream_that_has_ended(new_weir, folder):
    a, b = node(new_weir, "a", input_timeout="1s"), node(new_weir, "b", input_timeout="1s")
    add_origin(a, b)
    add_origin(b, a)
    a.start(), b.start()
    with publisher(a.rtmp("live/cam"), folder):
        a.wait_live("cam")
        one, two = HttpFlv(a.http_port, "/live/cam.flv"), HttpFlv(b.http_port, "/live/cam.flv")
    with one, two:
        wait_until(lambda: not any(stream["publish"]["active"] for each in (a, b) for stream in each.streams()), 10,
                   "the stream has ended at both")
        time.sleep(2)
        assert not any(stream["publish"]["active"] for each in (a, b) for stream in each.streams())


def test_whoever_comes_again_is_never_refused(new_weir, folder):
    a = node(new_weir, "a").start()
    b = node(new_weir, "b", a, linger="500ms").start()
    rounds = int(os.environ.get("WEIR_RELAY_ROUNDS", "12"))
    chance = random.Random(19)
    with publisher(a.rtmp("live/cam"), folder):
        a.wait_live("cam")
        for _ in range(rounds):
            with HttpFlv(b.http_port, "/live/cam.flv", timeout=20) as player:
                player.reader().tags_until(lambda tag: tag.is_key_frame(), 20)
                assert len(pulls(b)) == 1 and len(relays_of(a)) <= 2
            time.sleep(chance.uniform(0, 1.0))
    assert metric(b, "weir_source_refused_total") == 0


@pytest.mark.alone  # the pull looks again after 2 s at the latest
def test_the_publisher_comes_back_at_another_node(new_weir, folder):
    a, c = node(new_weir, "a").start(), node(new_weir, "c").start()
    b = node(new_weir, "b", a, c).start()
    one = publisher(a.rtmp("live/cam"), folder).__enter__()
    try:
        a.wait_live("cam")
        with HttpFlv(b.http_port, "/live/cam.flv", timeout=30) as player, RtmpPlayer(b.rtmp_port, stream="cam") as other:
            reader = player.reader()
            before = reader.tags_until(lambda tag: tag.type == 9)[-1].time_ms
            a.kill()
            one.end()
            with publisher(c.rtmp("live/cam"), folder, name="again"):
                c.wait_live("cam")
                began = time.monotonic()
                wait_until(lambda: pull(b) and pull(b)["state"] == "live" and pull(b)["node"] == "c", 10, "b has it from c")
                took = time.monotonic() - began
                tags = reader.tags_until(lambda tag: tag.is_key_frame() and tag.time_ms > before + 500, 10)
                times = [tag.time_ms for tag in tags if tag.type == 9]
                assert times == sorted(times) and times[0] >= before, "no step back"
                while other.message()[0] != other.VIDEO:
                    pass
            assert took < 3, took
        a.start()
    finally:
        one.end()


def test_opus_comes_along(new_weir, folder):
    cluster = f"cluster {{ node %s; secret {SECRET}; relay_linger 1s; }}\n"
    a = rtc_weir(new_weir, cluster % "a", "a")
    b = rtc_weir(new_weir, cluster % "b" + f"origin http://127.0.0.1:{a.http_port};", "b")

    async def scenario():
        async with AioPeer() as peer:
            await peer.publish(a, "aio")
            await peer.wait_state("connected")
            await asyncio.to_thread(a.wait_live, "aio")
            async with AioPeer() as player:
                await player.play(b, "aio")
                await player.wait_video()
                await asyncio.sleep(1)
                del player.video[:], player.audio[:]
                recording = await asyncio.to_thread(play_ffmpeg, b.http("/live/aio.flv"), folder, 3, least=5000)
                stream = await asyncio.to_thread(b.wait_live, "aio")
                return recording, player.audio[:], stream

    recording, audio, stream = asyncio.run(scenario())
    assert stream["audio"]["codec"] == "Opus", stream["audio"]
    assert abs(tone_of(audio) - TONE_HZ) < 5, tone_of(audio)
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}
    check_rising(recording)


def test_enhanced_codecs_come_along(new_weir, folder):
    a = node(new_weir, "a").start()
    b = node(new_weir, "b", a).start()
    output = ("-c:v", "libx265", "-preset", "ultrafast", "-g", "25", "-c:a", "libopus", "-x265-params", "log-level=error")
    with publisher(a.rtmp("live/cam"), folder, output=output, ffmpeg=modern_ffmpeg()):
        a.wait_live("cam", 20)
        with HttpFlv(b.http_port, "/live/cam.flv", timeout=20) as player:
            reader = player.reader()
            assert reader.tags_until(lambda tag: tag.is_key_frame())[-1].data[1:5] == b"hvc1"
            reader.tags_until(lambda tag: tag.type == 8 and tag.data[:5] == b"\x91Opus")


def track_of(kind, body):
    """The number of the track that a message of Enhanced RTMP names; of a plain one None."""
    named = kind == 9 and body[:1] and body[0] & 0x8F == 0x86 or kind == 8 and body[:1] == b"\x95"
    return body[6] if named else None


def multitrack(server, wanted):
    """(kind, track) of messages that name their track, up to when all that are wanted have come, to a player that asks for them."""
    found = set()
    with RtmpPlayer(server.rtmp_port, stream="cam", timeout=20, caps_ex=2) as player:
        while not found >= wanted:
            kind, _, body, _ = player.message()
            if track_of(kind, body) is not None:
                found.add((kind, track_of(kind, body)))
    return found


def plain_messages(server, count=150):
    """(kind, body) of so many messages, to players that know nothing of tracks: by HTTP-FLV, then by RTMP."""
    with HttpFlv(server.http_port, "/live/cam.flv", timeout=20) as player:
        reader = player.reader()
        tags = [reader.tags_until(lambda tag: True, 20)[-1] for _ in range(count)]
    with RtmpPlayer(server.rtmp_port, stream="cam", timeout=20) as player:
        messages = [player.message() for _ in range(count)]
    return [(tag.type, tag.data) for tag in tags], [(kind, body) for kind, _, body, _ in messages]


def test_all_tracks_come_along(new_weir, folder):
    a = node(new_weir, "a").start()
    b = node(new_weir, "b", a).start()
    output = ("-map", "0:v", "-map", "0:a", "-map", "0:v", "-map", "0:a", "-c", "copy")
    with publisher(a.rtmp("live/cam"), folder, output=output, ffmpeg=modern_ffmpeg()):
        a.wait_live("cam", 20)
        for server in (a, b):
            assert multitrack(server, {(9, 1), (8, 1)}) == {(9, 1), (8, 1)}
            for messages in plain_messages(server):
                assert {kind for kind, _ in messages} >= {8, 9}
                assert not [body[:8] for kind, body in messages if track_of(kind, body) is not None]


@pytest.mark.works_with("nginx", serves="RTMP", codecs="H.264, AAC", checked="every frame", set="its RTMP module; `origin rtmp://...`")
def test_nginx_is_an_origin(new_weir, folder):
    binary, module = nginx()
    port = free_port()
    (folder / "logs").mkdir()
    (folder / "nginx.conf").write_text(
        f"load_module {module};\ndaemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx-error.log;\n"
        f"events {{ }}\nrtmp {{ access_log off; server {{ listen 127.0.0.1:{port}; application live {{ live on; }} }} }}\n")
    with Program("nginx", [binary, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "nginx-error.log"], folder):
        b = node(new_weir, "b", f"rtmp://127.0.0.1:{port}", linger="20s").start()
        with publisher(f"rtmp://127.0.0.1:{port}/live/cam", folder):
            recording = play_ffmpeg(b.http("/live/cam.flv"), folder)
            assert pull(b)["node"] == ""
            check_both(recording)


@pytest.mark.works_with("ffmpeg", serves="HTTP-FLV", codecs="H.264, AAC", checked="a key frame comes",
                        set="ffmpeg: `-listen 1`; `origin http://...`")
def test_ffmpeg_is_an_origin(new_weir, folder):
    port = free_port()
    with Program("ffmpeg-origin", ["ffmpeg", "-hide_banner", "-loglevel", "error", "-nostdin", "-re", "-stream_loop", "-1", "-i",
                                   TOP / "doc/sample.flv", "-c", "copy", "-f", "flv", "-listen", "1",
                                   f"http://127.0.0.1:{port}/live/cam.flv"], folder):
        b = node(new_weir, "b", f"http://127.0.0.1:{port}").start()
        assert first_picture(b)


def test_only_nodes_are_answered(new_weir, folder):
    a = node(new_weir, "a", more="vhost other.example { }\nvhost strict.example { security { deny play all; } }").start()
    target = "/live/cam.flv?relay=1"
    with publisher(a.rtmp("live/cam"), folder):
        a.wait_live("cam")
        assert ask(a, target, field(target)) == (200, "v=1;path=a;epoch=0")
        assert ask(a, target)[0] == 403, "no field"
        assert ask(a, "/live/cam.flv", "nonsense")[0] == 403
        assert ask(a, target, field(target, secret="another secret of a cluster"))[0] == 403
        assert ask(a, target, field("/live/other.flv?relay=1"))[0] == 403, "of another stream"
        assert ask(a, target, field(target, method="POST"))[0] == 403
        assert ask(a, target, field(target, when=time.time() - 40))[0] == 403, "too old"
        assert ask(a, target, field(target, when=time.time() + 40))[0] == 403
        assert ask(a, target, field(target, path=["n" * 64] * 9 + ["m"]))[0] == 403, "too many names"
        assert ask(a, target, "v=1;path=" + "x" * 3000)[0] == 403
        again = field(target)
        assert [ask(a, target, again)[0] for _ in range(2)] == [200, 200], "in its time it gives what it gave, and no more"
        assert ask(a, target, field(target, path=["a"]))[0] == 508
        assert ask(a, target, field(target, path=["x", "y", "z"]))[0] == 508
        for target in ("/live/nobody.flv?relay=1", "/live/cam.flv?vhost=other.example&relay=1",
                       "/live/cam.flv?vhost=unknown.example&relay=1"):
            assert ask(a, target, field(target))[0] == 404, target
        for target in ("/x/../live/cam.flv?relay=1", "/x/%2e%2e/live/cam.flv?relay=1", "//live/cam.flv?relay=1"):
            assert ask(a, target, field(target))[0] == 400, "no other name of it"
        assert metric(a, 'weir_relay_refused_total{reason="unsigned"}') >= 5
        assert metric(a, 'weir_relay_refused_total{reason="loop"}') == 2
        assert metric(a, 'weir_relay_refused_total{reason="not_here"}') == 3
        assert first_picture(a), "players are not asked for a signature"


def test_rules_for_players_are_those_of_the_node_that_they_ask(new_weir, folder):
    a = node(new_weir, "a", more="security { deny play all; }").start()
    b = node(new_weir, "b", a).start()
    with publisher(a.rtmp("live/cam"), folder):
        a.wait_live("cam")
        assert first_picture(b)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(a.http("/live/cam.flv"), timeout=10)
        assert refused.value.code == 403


def test_whoever_publishes_here_has_the_name(new_weir, folder):
    a = node(new_weir, "a").start()
    b = node(new_weir, "b", a).start()
    with publisher(a.rtmp("live/cam"), folder):
        a.wait_live("cam")
        with HttpFlv(b.http_port, "/live/cam.flv", timeout=20) as player:
            reader = player.reader()
            reader.tags_until(lambda tag: tag.is_key_frame())
            with publisher(b.rtmp("live/cam"), folder, name="own"):
                wait_until(lambda: b.wait_live("cam")["publish"]["origin"] == "", 10, "b's own publisher has it")
                reader.tags_until(lambda tag: tag.is_key_frame())
                wait_until(lambda: not relays_of(a), 10, "b no longer pulls it")
            wait_until(lambda: pull(b) and pull(b)["state"] == "live", 10, "then it comes from a again")
            reader.tags_until(lambda tag: tag.is_key_frame())


def test_names_that_nobody_publishes_keep_nothing_from_others(new_weir, folder):
    a = node(new_weir, "a").start()
    b = node(new_weir, "b", a, more="max_sources 20;", play="wait_publisher 0;").start()

    def ask_for(number):
        with contextlib.suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(b.http(f"/live/nobody{number}.m3u8"), timeout=1.5)

    with publisher(a.rtmp("live/cam"), folder):
        a.wait_live("cam")
        threads = [threading.Thread(target=ask_for, args=(number,)) for number in range(60)]
        for thread in threads:
            thread.start()
        wait_until(lambda: metric(b, "weir_source_displaced_total") > 20, 20, "places go from one to another")
        with HttpFlv(b.http_port, "/live/cam.flv", timeout=20) as player:
            reader = player.reader()
            reader.tags_until(lambda tag: tag.is_key_frame())
            for number in range(60, 100):
                threading.Thread(target=ask_for, args=(number,)).start()
            wait_until(lambda: metric(b, "weir_source_displaced_total") > 60, 20, "and again")
            assert pull(b)["state"] == "live" and len(pulls(b)) <= 20, "the one that came up has its place"
            reader.tags(0.5)
        for thread in threads:
            thread.join()

def test_languages_of_a_transport_stream_come_along(new_weir, folder):
    port = free_port()
    a = node(new_weir, "a", more=f"srt_server {{ listen 127.0.0.1:{port}; }}").start()
    b = node(new_weir, "b", a).start()
    with publish_tracks(srt_url(port, "publish:live/cam"), folder):
        a.wait_live("cam")
        media = Viewer(b.http("/live/cam.m3u8")).multivariant.media
        assert [each["LANGUAGE"] for each in media] == ["en", "de", "fr"], media
