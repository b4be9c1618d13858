"""One server of several processes: the same ports, one API, and every stream for everybody."""

import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from flv import HttpFlv
from media import Program, check_both, play_ffmpeg, publisher, run
from processes import COUNT, all_run, kill, pids, process_of, start
from relays import metric
from rtmp import RtmpPlayer
from test_load_client import BENCH
from tls import blind_context, certificate
from weir import BINARY, TOP, free_port, is_free, wait_end, wait_until


@pytest.fixture
def many(new_weir):
    return start(new_weir)


def first_picture(weir, path="/live/cam.flv"):
    with HttpFlv(weir.http_port, path, timeout=20) as player:
        return player.reader().tags_until(lambda tag: tag.is_key_frame(), 20)[-1]


def test_players_of_every_protocol_find_the_stream_wherever_they_come_in(many, folder):
    with publisher(many.rtmp("live/cam"), folder):
        many.wait_live("cam")
        at = process_of(many, "publisher")
        with contextlib.ExitStack() as players:
            for _ in range(8):
                player = players.enter_context(HttpFlv(many.http_port, "/live/cam.flv", timeout=20))
                assert player.reader().tags_until(lambda tag: tag.is_key_frame(), 20)
            for _ in range(8):
                player = players.enter_context(RtmpPlayer(many.rtmp_port, stream="cam", timeout=20))
                while player.message()[0] != RtmpPlayer.VIDEO:
                    pass
            assert len(at) == 1
            wait_until(lambda: process_of(many, "player") == at * 16, 20, "they are where their stream is")
        assert not many.api("/api/v1/sources")["sources"], "nothing goes from process to process"
        check_both(play_ffmpeg(many.rtmp("live/cam"), folder, name="rtmp"))
        for way in ("tcp", "udp"):
            said = run(["ffmpeg", "-v", "error", "-rtsp_transport", way, "-i", f"rtsp://127.0.0.1:{many.rtsp_port}/live/cam",
                        "-t", "1", "-map", "0:v", "-f", "framemd5", "-"], seconds=30).decode()
            assert sum(not line.startswith("#") for line in said.splitlines()) > 20, said
        check_both(play_ffmpeg(many.http("/live/cam.m3u8"), folder, seconds=4, name="hls"))


def test_a_stream_goes_to_those_who_cannot_move(new_weir, folder):
    certificate(folder)
    port = free_port()
    many = start(new_weir, f"ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;", tls_port=port)
    with publisher(many.rtmp("live/cam"), folder):
        many.wait_live("cam")
        # An encrypted connection stays where it came in, so the stream comes there, once for each process.
        players = []
        try:
            for _ in range(12):
                raw = socket.create_connection(("127.0.0.1", port), 20)
                stream = blind_context().wrap_socket(raw, server_hostname="localhost")
                stream.sendall(b"GET /live/cam.flv HTTP/1.1\r\nHost: localhost\r\n\r\n")
                players.append(stream)
            for stream in players:
                seen = b""
                while len(seen) < 20_000:
                    more = stream.recv(65536)
                    assert more, seen[:300]
                    seen += more
                assert seen.startswith(b"HTTP/1.1 200"), seen[:300]
            sources = many.api("/api/v1/sources?count=100")["sources"]
            assert len(set(process_of(many, "player"))) > 1, "the kernel spreads connections"
            assert 0 < len(sources) < COUNT, sources
        finally:
            for stream in players:
                stream.close()


def test_who_waits_gets_the_stream_wherever_it_is_published(many, folder):
    waiting = [socket.create_connection(("127.0.0.1", many.http_port), 20) for _ in range(6)]
    for each in waiting:
        each.sendall(b"GET /live/cam.flv HTTP/1.1\r\nHost: x\r\n\r\n")
    wait_until(lambda: len(at := process_of(many, "player")) == 6 and len(set(at)) == 1, 20, "all wait at the home of the stream")
    with publisher(many.rtmp("live/cam"), folder):
        for each in waiting:
            seen = b""
            while len(seen) < 20_000:
                more = each.recv(65536)
                assert more
                seen += more
            each.close()


def publish_once(many, name="cam"):
    """The status that a publisher gets; and its connection."""
    client = RtmpPlayer(many.rtmp_port, play=False, timeout=20)
    client.command("publish", 3, None, name, "live", stream=1)
    while True:
        kind, _, payload, _ = client.message()
        if kind == RtmpPlayer.COMMAND and b"NetStream.Publish" in payload:
            return b"NetStream.Publish.Start" in payload, client


def test_a_name_has_one_publisher_in_all_processes(many):
    tried = [publish_once(many) for _ in range(12)]
    try:
        assert [good for good, _ in tried].count(True) == 1
        assert tried[0][0]
        tried[0][1].socket.close()
        wait_until(lambda: not process_of(many, "publisher"), 20, "the publisher has left")
        wait_until(lambda: try_again(many, tried), 20, "the name is free")
    finally:
        for _, client in tried:
            client.socket.close()


def try_again(many, tried):
    tried.append(publish_once(many))
    return tried[-1][0]


def test_a_takeover_ends_the_publisher_in_another_process(new_weir):
    many = start(new_weir, "publish_conflict takeover;")
    clients = []
    try:
        for _ in range(8):
            good, client = publish_once(many)
            assert good
            clients.append(client)
        wait_until(lambda: len(process_of(many, "publisher")) == 1, 20, "only the last one publishes")
    finally:
        for client in clients:
            client.socket.close()


def begun_again(many, process, before):
    """All processes by their numbers, once that one is another than before; the supervisor hears of an end a moment later."""
    def found():
        now = pids(many)
        return now if now.get(process, before[process]) != before[process] and all_run(many) else None
    return wait_until(found, 20, "it is there again")


def test_a_process_that_dies_takes_its_own_clients_only(many, folder):
    with publisher(many.rtmp("live/cam"), folder):
        many.wait_live("cam")
        at = process_of(many, "publisher")[0]
        other = next(i for i in range(COUNT) if i != at)
        with HttpFlv(many.http_port, "/live/cam.flv", timeout=20) as player:
            reader = player.reader()
            reader.tags_until(lambda tag: tag.is_key_frame(), 20)
            before = pids(many)
            kill(many, other)
            seen = time.monotonic()
            while time.monotonic() - seen < 1:
                assert reader.tag() is not None
        after = begun_again(many, other, before)
        assert after[at] == before[at]
        assert first_picture(many)
        # The publisher's process: it comes again, and the stream with it.
        kill(many, at)
    begun_again(many, at, after)
    with publisher(many.rtmp("live/cam"), folder, name="again"):
        many.wait_live("cam")
        assert first_picture(many)
    assert many.log().count("it begins again") == 2


def test_small_streams_cost_no_hop(many, folder):
    with contextlib.ExitStack() as all_of_them:
        all_of_them.enter_context(Program("publish", [BENCH, "rtmp-publish", "--url", many.rtmp("live/s%d"), "--streams", "20", "--bitrate",
                                                      "100k", "--duration", "120s", "--quiet"], folder))
        wait_until(lambda: sum(bool(s["publish"]["active"]) for s in many.streams()) == 20, 20, "all are live")
        for i in range(20):
            player = all_of_them.enter_context(HttpFlv(many.http_port, f"/live/s{i}.flv", timeout=20))
            assert player.reader().tags_until(lambda tag: tag.is_key_frame(), 20)
        assert len({client["process"] for client in many.clients()}) > 1, "streams are spread"
        assert len(many.api("/api/v1/sources?count=100")["sources"]) <= 1


def test_whichever_process_is_asked_answers_for_all(many):
    tried = [publish_once(many, f"s{i}") for i in range(8)]
    try:
        for _ in range(4):
            streams = many.streams()
            assert sorted(stream["name"] for stream in streams) == sorted(f"s{i}" for i in range(8))
        assert many.api("/api/v1/streams?start=3&count=2")["total"] == 8
        by_process = [many.api(f"/api/v1/streams?process={i}&count=100")["streams"] for i in range(COUNT)]
        assert sum(len(each) for each in by_process) == 8
        assert many.api("/api/v1/streams?process=3")["http_status"] == 400
        clients = many.clients()
        assert len(clients) == 8
        for client in clients[:4]:
            assert many.api(f"/api/v1/clients/{client['id']}")["client"]["id"] == client["id"]
            assert many.api(f"/api/v1/clients/{client['id']}", "DELETE")["http_status"] == 200
        wait_until(lambda: len(many.clients()) == 4, 20, "they are gone")
        assert many.api("/api/v1/clients/nobody")["http_status"] == 404
        assert many.api("/api/v1/clients?role=publisher", "DELETE")["kicked"] == 4
        metrics = many.metrics()
        for i in range(COUNT):
            assert f'weir_process_moved_total{{process="{i}"}}' in metrics
        assert metrics.count("# TYPE weir_process_moved_total") == 1
    finally:
        for _, client in tried:
            client.socket.close()


def test_a_session_of_webrtc_is_found_by_the_process_that_has_it(new_weir):
    port = free_port(COUNT)
    many = start(new_weir, f"rtc_server {{ enabled on; listen 127.0.0.1:{port}; candidate 127.0.0.1; }}")
    for i in range(COUNT):
        assert not is_free(port + i), "each process has a port of its own"
    request = urllib.request.Request(f"http://127.0.0.1:{many.http_port}/rtc/v1/session/1-nobody", method="DELETE")
    for _ in range(4):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=20)
        assert refused.value.code == 404


def test_a_reload_reaches_all_and_a_wrong_one_none(many):
    text = many.config_path.read_text()
    port = free_port()
    many.config_path.write_text(text + f"listen 127.0.0.1:{port};\n")
    many.process.send_signal(signal.SIGHUP)
    wait_until(lambda: not is_free(port), 20, "the new port")
    wait_until(lambda: many.log().count("reloaded by=SIGHUP") == COUNT, 20, "all have it")
    many.config_path.write_text(text + "nonsense on;\n")
    many.process.send_signal(signal.SIGHUP)
    many.wait_log("reload refused")
    assert many.log().count("reloaded by=SIGHUP") == COUNT
    many.config_path.write_text(text)
    many.process.send_signal(signal.SIGHUP)
    wait_until(lambda: is_free(port), 20, "the port is closed in all, and by the supervisor")
    answer = many.api("/api/v1/reload", "POST")
    assert answer["http_status"] == 200 and answer["processes"] == [{"process": i, "code": 0} for i in range(COUNT)], answer
    many.config_path.write_text(text + "nonsense on;\n")
    answer = many.api("/api/v1/reload", "POST")
    assert answer["http_status"] == 400 and [each["code"] for each in answer["processes"]] == [400] * COUNT, answer


def test_a_drain_ends_all_when_the_last_client_has_left(many):
    good, client = publish_once(many)
    assert good
    many.process.send_signal(signal.SIGQUIT)
    wait_until(lambda: is_free(many.rtmp_port), 20, "nobody new is let in")
    assert many.process.poll() is None
    client.socket.close()
    assert wait_end(many.process, 20) == 0
    many.process = None


def test_without_its_supervisor_no_process_stays(many):
    found = pids(many)
    assert len(found) == COUNT
    many.kill()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in found.values()), 20, "all have ended")
    assert is_free(many.rtmp_port)


def test_a_port_that_somebody_has_ends_the_start(new_weir):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        weir = new_weir(f"processes 2;\nlisten 127.0.0.1:{other.getsockname()[1]};")
        weir.launch()
        assert wait_end(weir.process, 20) == 1
        weir.process = None
        assert "the port is in use" in weir.log() and "cannot start" in weir.log()


def test_a_window_of_hours_needs_one_process(folder):
    path = folder / "w.conf"
    path.write_text(f"processes 2;\nhls {{ path {folder}; dvr 1h; }}\n")
    done = subprocess.run([BINARY, "-t", "-c", path], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "processes 1" in done.stderr, done.stderr


# ---- what one process alone knows ----


def over_tls(new_weir, folder, more=""):
    """A server of several processes with https."""
    certificate(folder)
    port = free_port()
    many = start(new_weir, f"ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key; {more}", tls_port=port)
    many.https_port = port
    return many


def ask_once(many, target, method="GET", body=None, headers=None, tls=True):
    """(status, fields, body) by a connection of its own."""
    if tls:
        asking = http.client.HTTPSConnection("127.0.0.1", many.https_port, timeout=20, context=blind_context())
    else:
        asking = http.client.HTTPConnection("127.0.0.1", many.http_port, timeout=20)
    with contextlib.closing(asking):
        asking.request(method, target, body, headers or {})
        answer = asking.getresponse()
        return answer.status, answer.headers, answer.read()


def addresses_in(target, playlist):
    return [urllib.parse.urljoin(target, line) for line in playlist.decode().splitlines() if line and line[0] != "#"]


@pytest.mark.parametrize("tls", [True, False])
def test_hls_is_that_of_one_process(new_weir, folder, tls):
    many = over_tls(new_weir, folder, "hls { enabled on; sessions on; fragment 1s; part 200ms; }")
    with publisher(many.rtmp("live/cam"), folder):
        many.wait_live("cam")
        viewers = {}
        for _ in range(3):
            status, fields, body = ask_once(many, "/live/cam.m3u8", tls=tls)
            assert status == 200, (status, body)
            media = addresses_in("/live/cam.m3u8", body)[0]
            seen = {}
            for _ in range(8):
                status, _, body = ask_once(many, media, tls=tls)
                assert status == 200, (status, body)
                for address in addresses_in(media, body)[-2:]:
                    status, _, segment = ask_once(many, address, tls=tls)
                    assert status == 200, (status, segment[:100])
                    assert seen.setdefault(address, segment) == segment, "an address has the same bytes everywhere"
            text = body.decode()
            ahead = int(text.split("#EXT-X-MEDIA-SEQUENCE:")[1].split()[0]) + text.count("#EXTINF:")
            status, _, body = ask_once(many, f"{media}&_HLS_msn={ahead}", tls=tls)
            assert status == 200 and len(addresses_in(media, body)) > 0, "a request that waits is answered"
            # Each is there for some seconds after its last request.
            viewers.update((each["id"], each) for each in many.clients() if each["protocol"] == "hls")
        assert len(viewers) == 3 and {each["process"] for each in viewers.values()} == set(process_of(many, "publisher")), viewers
        assert all(each["encrypted"] == tls and each["ip"] == "127.0.0.1" for each in viewers.values()), viewers
        assert not many.api("/api/v1/sources")["sources"], "nothing goes from process to process"


def test_one_encrypted_connection_carries_requests_for_all_processes(new_weir, folder):
    many = over_tls(new_weir, folder, "hls { enabled on; sessions on; }")
    names = [f"cam{i}" for i in range(3)]
    with contextlib.ExitStack() as publishers:
        for name in names:
            publishers.enter_context(publisher(many.rtmp(f"live/{name}"), folder))
            many.wait_live(name)
        asking = http.client.HTTPSConnection("127.0.0.1", many.https_port, timeout=20, context=blind_context())
        with contextlib.closing(asking):
            media = []
            for target in [f"/live/{name}.m3u8" for name in names] + ["/"]:
                asking.request("GET", target)
                answer = asking.getresponse()
                body = answer.read()
                assert answer.status == 200, (target, body)
                media += addresses_in(target, body) if target != "/" else []
            for target in media * 2:
                asking.request("GET", target)
                answer = asking.getresponse()
                assert answer.status == 200, (target, answer.read())
                answer.read()


def test_a_session_of_webrtc_ends_by_an_encrypted_connection(new_weir, folder):
    port = free_port(COUNT)
    many = over_tls(new_weir, folder, f"rtc_server {{ enabled on; listen 127.0.0.1:{port}; candidate 127.0.0.1; }}")
    offer = (TOP / "trunk/test/data/sdp/chromium-whip.sdp").read_bytes()
    for i in range(6):
        status, fields, body = ask_once(many, f"/rtc/v1/whip/?app=live&stream=cam{i}", "POST", offer,
                                        {"Content-Type": "application/sdp"})
        assert status == 201, body
        restart = b"a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n"
        status, _, body = ask_once(many, fields["Location"], "PATCH", restart,
                                   {"Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*"})
        assert status == 200, body
        assert ask_once(many, fields["Location"], "DELETE")[0] == 200


def test_many_connections_that_move_at_once_all_get_there(new_weir, folder):
    many = over_tls(new_weir, folder, "hls { enabled on; sessions on; }")
    with publisher(many.rtmp("live/cam"), folder):
        many.wait_live("cam")
        media = addresses_in("/live/cam.m3u8", ask_once(many, "/live/cam.m3u8", tls=False)[2])[0]
        connections = [socket.create_connection(("127.0.0.1", many.http_port), 20) for _ in range(200)]
        try:
            home = process_of(many, "publisher")[0]
            kill(many, home, signal.SIGSTOP)  # it takes none, as when it is busy for a moment
            try:
                for each in connections:
                    each.sendall(f"GET {media} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                time.sleep(0.5)
            finally:
                kill(many, home, signal.SIGCONT)
            answers = [each.recv(15) for each in connections]
            assert answers == [b"HTTP/1.1 200 OK"] * 200, set(answers)
            assert not many.api("/api/v1/sources")["sources"], "all at the process that has the stream"
        finally:
            for each in connections:
                each.close()


def add_source(many, name, **fields):
    body = json.dumps({"app": "live", "name": name, "url": "rtmp://192.0.2.1/live/x", **fields}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{many.api_port}/api/v1/sources", body, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers["Location"]
    except urllib.error.HTTPError as error:
        return error.code, None


def test_sources_of_the_api_are_at_the_home_of_their_stream(new_weir, folder):
    many = start(new_weir, f'sources_file "{folder}/sources.json";')
    names = [f"s{i}" for i in range(8)]
    where = {}
    for name in names:
        status, where[name] = add_source(many, name, on_demand=True)
        assert status == 201 and where[name].startswith("/api/v1/sources/"), (status, where[name])
    for name in names:
        assert [add_source(many, name)[0] for _ in range(4)] == [409] * 4, "the name has one already, at any process"
    before = {each["name"]: each["process"] for each in many.api("/api/v1/sources")["sources"]}
    assert set(before) == set(names) and len(set(before.values())) > 1, before
    assert many.api(where["s0"], "DELETE")["http_status"] == 200
    many.stop()
    many.start()
    wait_until(lambda: all_run(many), 20, "all processes run")
    del before["s0"]
    wait_until(lambda: {each["name"]: each["process"] for each in many.api("/api/v1/sources")["sources"]} == before, 20, "they are back")
    # Where they are looked for: each begins when somebody asks for its stream, wherever that is.
    with contextlib.ExitStack() as players:
        for name in before:
            for _ in range(2):
                player = players.enter_context(socket.create_connection(("127.0.0.1", many.http_port), 20))
                player.sendall(f"GET /live/{name}.flv HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        wait_until(lambda: all(each["state"] != "idle" for each in many.api("/api/v1/sources")["sources"]), 20, "all are tried")


def test_what_telephones_need_is_at_the_process_with_sip(new_weir, folder):
    many = over_tls(new_weir, folder, f"sip_server {{ listen 127.0.0.1:{free_port()}; rtp_ports 20000-29999; "
                                      "user alice secret; phone_page on; }")
    for _ in range(6):
        assert "registrations" in many.api("/api/v1/sip/registrations")
        request = urllib.request.Request(f"http://127.0.0.1:{many.api_port}/api/v1/calls", b'{"to": "nobody"}', method="POST")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=20)
        assert refused.value.code != 503 and b"SIP is off" not in refused.value.read()
        for tls in (False, True):
            host = f"127.0.0.1:{many.https_port if tls else many.http_port}"
            asking = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Host": host,
                      "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": f"http{'s' if tls else ''}://{host}"}
            plain = socket.create_connection(("127.0.0.1", int(host.split(":")[1])), 20)
            with blind_context().wrap_socket(plain, server_hostname="localhost") if tls else plain as page:
                lines = "".join(f"{name}: {value}\r\n" for name, value in asking.items())
                page.sendall(f"GET /phone HTTP/1.1\r\n{lines}\r\n".encode())
                assert page.recv(12) == b"HTTP/1.1 101"


def test_both_connections_of_an_rtsp_tunnel_find_each_other(many):
    question = base64.b64encode(b"OPTIONS rtsp://127.0.0.1/live/cam RTSP/1.0\r\nCSeq: 7\r\n\r\n")
    for i in range(16):
        with socket.create_connection(("127.0.0.1", many.rtsp_port), 20) as get, \
                socket.create_connection(("127.0.0.1", many.rtsp_port), 20) as post:
            get.sendall(f"GET /live/cam HTTP/1.0\r\nx-sessioncookie: c{i}\r\n\r\n".encode())
            assert b"x-rtsp-tunnelled" in get.recv(4096)
            post.sendall(f"POST /live/cam HTTP/1.0\r\nx-sessioncookie: c{i}\r\nContent-Length: 32767\r\n\r\n".encode() + question)
            assert b"CSeq: 7" in get.recv(4096)
