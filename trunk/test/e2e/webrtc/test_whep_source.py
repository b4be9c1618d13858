"""Streams that come from another server by WebRTC (source whep+http://...), with real servers at the other end."""

import asyncio
import base64
import contextlib
import http.server
import json
import ssl
import threading
import urllib.request

import pytest
from aiortc import RTCPeerConnection, RTCRtpSender, RTCSessionDescription

import aio_peers
from flv import HttpFlv
from media import Program, check_frames, check_rising, encoded, play_ffmpeg, publisher
from rtc import Link, objects, rtc_weir, through, whep_path, whip_path
from test_sources import sources, wait_state
from test_sources_api import post
from test_webrtc_pion import PION, clip, decode, finish, pion  # noqa: F401 - clip is a fixture
from tls import certificate
from weir import accepts, free_port, wait_until

SECRET = "hush-hush"


def whep_url(weir, stream="cam", more="", scheme="whep+http", login=""):
    return f"{scheme}://{login}127.0.0.1:{weir.http_port}{whep_path(stream)}{more}"


def edge_of(new_weir, url, more="", extra=""):
    return new_weir(f'application live {{ source "{url}" {{ stream cam; {more} }} }}\n{extra}', "edge")


def without_b_frames(folder):
    """The sample as WebRTC can carry it."""
    return encoded("-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "25", "-c:a", "aac")


@contextlib.contextmanager
def published(new_weir, folder, extra=""):
    """(an origin with live/cam, what is sent there)"""
    source = without_b_frames(folder)
    origin = rtc_weir(new_weir, extra, "origin")
    with publisher(origin.rtmp("live/cam"), folder, source=source):
        origin.wait_live("cam")
        yield origin, source


def check_whole(recording, source):
    assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}, recording.streams()
    check_rising(recording)
    check_frames(recording, source, least=50)
    assert recording.audio_seconds() >= 2


def test_a_stream_comes_whole(new_weir, folder):
    with published(new_weir, folder) as (origin, source):
        edge = rtc_weir(new_weir, f"application live {{ source {whep_url(origin)} {{ stream cam; }} }}", "edge")
        state = wait_state(edge, "cam", "live")
        assert state["url"] == f"whep+http://127.0.0.1:{origin.http_port}/rtc/v1/whep/?***", state
        for url in (edge.rtmp("live/cam"), edge.http("/live/cam.flv")):
            check_whole(play_ffmpeg(url, folder, name=f"player-{url[:4]}"), source)
        assert edge.wait_live("cam")["publish"]["transport"] == "webrtc"
        with pion("play", edge, whep_path("cam"), folder, folder / "cam.h264", folder / "cam.ogg", 4) as player:
            report = finish(player)
        assert report["frames"] >= 50 and report["missing"] == 0, report
        assert len(decode(folder / "cam.h264")) >= 50
        assert [each["failures"] for each in sources(edge)] == [0]
    edge.stop()
    wait_until(lambda: not origin.clients(), 15, "the origin was told that it has gone")


def test_a_webrtc_publisher_comes_as_it_is(new_weir, folder, clip):  # noqa: F811
    video, audio, sent = clip
    origin = rtc_weir(new_weir, name="origin")
    edge = rtc_weir(new_weir, f"application live {{ source {whep_url(origin)} {{ stream cam; }} }}", "edge")
    with pion("publish", origin, whip_path("cam"), folder, video, audio, 14, name="publisher") as publishing:
        wait_state(edge, "cam", "live", 20)
        recording = play_ffmpeg(edge.http("/live/cam.flv"), folder, 3.5, least=5000)
        assert edge.wait_live("cam")["audio"]["codec"], edge.streams()
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}
        check_rising(recording)
        frames = decode(recording.path)
        assert len(frames) > 80 and set(frames) <= set(sent), "what was sent, and nothing else"
        assert recording.audio_seconds() > 3
        finish(publishing)


def test_on_demand_begins_with_the_first_viewer_and_lingers(new_weir, folder):
    with published(new_weir, folder) as (origin, source):
        edge = edge_of(new_weir, whep_url(origin), "on_demand on; linger 1s;").start()
        assert [each["state"] for each in sources(edge)] == ["idle"]
        assert len(origin.clients()) == 1, "the publisher alone"
        for _ in range(2):
            check_whole(play_ffmpeg(edge.http("/live/cam.flv"), folder), source)
            wait_state(edge, "cam", "idle")
            wait_until(lambda: len(origin.clients()) == 1, 15, "the origin was told")
        wait_until(lambda: not {"whep_pull", "whep_client", "rtc_ingest", "dtls_transport"} & objects(edge).keys(), 10, "nothing is held")


def test_any_stream_where_the_url_has_a_place_for_its_name(new_weir, folder):
    with published(new_weir, folder) as (origin, source):
        url = f"whep+http://127.0.0.1:{origin.http_port}/[app]/[stream]/whep"
        edge = new_weir(f'application live {{ source "{url}" {{ linger 0; }} }}', "edge").start()
        check_whole(play_ffmpeg(edge.http("/live/cam.flv"), folder), source)
        wait_until(lambda: sources(edge) == [], 20, "it ends with its viewer")


def test_players_keep_their_place_when_the_origin_is_killed(new_weir, folder):
    source = without_b_frames(folder)
    origin = rtc_weir(new_weir, name="origin")
    edge = edge_of(new_weir, whep_url(origin), extra="publish { normal_timeout 2s; }").start()
    with publisher(origin.rtmp("live/cam"), folder, source=source):
        wait_state(edge, "cam", "live", 20)
        with HttpFlv(edge.http_port, "/live/cam.flv", timeout=60) as player:
            reader = player.reader()
            before = reader.tags_until(lambda tag: tag.type == 9)[-1]
            origin.kill()
            edge.wait_log("the origin was silent for 2000 ms")
            wait_state(edge, "cam", "backing_off")
            origin.start()
            with publisher(origin.rtmp("live/cam"), folder, source=source, name="again"):
                tags = reader.tags_until(lambda tag: tag.type == 9 and tag.time_ms > before.time_ms + 3000, 60)
                times = [before.time_ms] + [tag.time_ms for tag in tags if tag.type == 9]
                assert times == sorted(times), "the stream's clock goes on"
            assert wait_state(edge, "cam", "live")["attempts"] >= 2


def test_the_end_of_the_stream_is_an_end(new_weir, folder):
    with published(new_weir, folder) as (origin, _):
        edge = edge_of(new_weir, whep_url(origin)).start()
        wait_state(edge, "cam", "live")
        for client in origin.clients():
            if client["type"] != "publish" and not client.get("publish"):
                origin.api(f"/api/v1/clients/{client['id']}", "DELETE")
        wait_until(lambda: "ended the session" in sources(edge)[0]["last_error"], 20, "it ends")  # it backs off for a moment only
        wait_state(edge, "cam", "live")


REFUSALS = {
    "no stream": ("&token=" + SECRET, "nobody", "the server answers 404 Not Found"),
    "no key": ("", "cam", "the server answers 403 Forbidden: "),
    "wrong key": ("&key=" + SECRET, "cam", "the server answers 403 Forbidden: the key is wrong"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_says_why(new_weir, case):
    more, stream, said = REFUSALS[case]
    origin = rtc_weir(new_weir, "play { wait_publisher 0; }" + ("" if case == "no stream" else "security { play_key watch-one; }"),
                      "origin")
    edge = edge_of(new_weir, whep_url(origin, stream, more)).start()
    state = wait_state(edge, "cam", "backing_off")
    assert said in state["last_error"], state
    check_secret(edge)


def check_secret(edge):
    page = urllib.request.urlopen(edge.http("/live.json"), timeout=20).read().decode()
    assert SECRET not in json.dumps(sources(edge)) + edge.log() + page + edge.metrics()


def test_a_server_that_is_none(new_weir):
    off = new_weir(name="origin").start()
    edge = edge_of(new_weir, f"whep+http://:{SECRET}@127.0.0.1:{free_port()}/whep?token={SECRET}",
                   extra=f'application b {{ source "{whep_url(off, more="&token=" + SECRET)}" {{ stream off; }} '
                         f'source "whep+http://127.0.0.1:{off.http_port}/no/such/{SECRET[:4]}" {{ stream page; }} }}').start()
    assert "refused" in wait_state(edge, "cam", "backing_off")["last_error"]
    assert "503 Service Unavailable: WebRTC is off here" in wait_state(edge, "off", "backing_off")["last_error"]
    assert "is this a WHEP endpoint?" in wait_state(edge, "page", "backing_off")["last_error"]
    check_secret(edge)


def test_the_same_stream_of_this_server_is_a_loop(new_weir):
    edge = rtc_weir(new_weir, name="edge")
    edge.stop()
    text = edge.config_path.read_text()
    edge.config_path.write_text(
        f'{text}\napplication live {{ source "{whep_url(edge)}" {{ stream cam; }} source '
        f'"whep+http://127.0.0.1:{edge.http_port}/live/two/whep" {{ stream two; }} source '
        f'"whep+http://127.0.0.1:{edge.api_port}{whep_path("three")}" {{ stream three; }} }}\n')
    edge.start()
    for name in ("cam", "two", "three"):
        assert "loop" in wait_state(edge, name, "backing_off")["last_error"]


def test_a_source_of_the_api(new_weir, folder):
    with published(new_weir, folder) as (origin, source):
        edge = new_weir(f'sources_file "{folder}/sources.json";', "edge").start()
        url = whep_url(origin, more="&token=" + SECRET, login=f":{SECRET}@")
        added = post(edge, {"app": "live", "name": "cam", "url": url})
        assert added["http_status"] == 201 and added["source"]["url"].endswith("/whep/?***"), added
        check_whole(play_ffmpeg(edge.http("/live/cam.flv"), folder), source)
        check_secret(edge)
        assert SECRET in (folder / "sources.json").read_text(), "it is kept there, and nowhere else"
        assert post(edge, {"app": "live", "name": "b", "url": url, "transport": "tcp"})["http_status"] == 400
        assert edge.api(added["location"], "DELETE")["http_status"] == 200
        wait_until(lambda: len(origin.clients()) == 1, 15, "the origin was told")


class Front:
    """An endpoint in front of an origin: says of each request what was asked, and may answer otherwise.

    answer(request) gives None to ask the origin, or (status, fields, body)."""

    def __init__(self, origin=None, answer=lambda request: None, change=lambda sdp: sdp, tls=None):
        front = self
        self.seen = []  # (method, path, fields)
        self.held = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                front.seen.append((self.command, self.path, dict(self.headers)))
                self.body = body.decode()
                given = answer(self)
                if given is None and self.command == "DELETE":
                    given = 200, {}, b""
                if given is None:
                    asked = urllib.request.Request(origin.http(whep_path("cam")), body, {"Content-Type": "application/sdp"})
                    with urllib.request.urlopen(asked, timeout=10) as got:
                        given = got.status, {"Location": "session/1?a=b"}, change(got.read().decode()).encode()
                status, fields, text = given
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            do_DELETE = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.held.set()
        self.server.shutdown()
        self.server.server_close()

    def url(self, path="/a/whep?token=" + SECRET, login=f"admin:{SECRET}@", scheme="whep+http"):
        return f"{scheme}://{login}127.0.0.1:{self.port}{path}"


BASIC = "Basic " + base64.b64encode(f"admin:{SECRET}".encode()).decode()


def test_a_login_a_redirect_and_the_end_of_the_session(new_weir, folder):
    with published(new_weir, folder) as (origin, source), Front(origin) as last:
        def elsewhere(request):
            return (307, {"Location": last.url("/b/whep", "", "http")}, b"") if request.path == "/next" else None

        with Front(answer=lambda request: elsewhere(request) or (308, {"Location": "/next"}, b"")) as first:
            edge = edge_of(new_weir, first.url()).start()
            check_whole(play_ffmpeg(edge.http("/live/cam.flv"), folder), source)
            edge.stop()
            assert [(method, path) for method, path, _ in first.seen] == [("POST", "/a/whep?token=" + SECRET), ("POST", "/next")]
            assert [fields.get("Authorization") for _, _, fields in first.seen] == [BASIC, BASIC]
            wait_until(lambda: len(last.seen) > 1, 10, "DELETE")
            assert [(method, path) for method, path, _ in last.seen] == [("POST", "/b/whep"), ("DELETE", "/b/session/1?a=b")]
            assert not any("Authorization" in fields for _, _, fields in last.seen), "the login is not for others"
            assert SECRET not in edge.log()


def test_a_redirect_does_not_give_up_tls(new_weir, folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(folder), folder / "server.key")
    with Front(answer=lambda request: (404, {}, b"")) as plain:
        def elsewhere(request):
            return 307, {"Location": plain.url("/b/whep", "", "http")}, b""

        with Front(answer=elsewhere, tls=context) as front:
            edge = edge_of(new_weir, front.url(scheme="whep+https"), "tls_verify off;").start()
            assert "without: not followed" in wait_state(edge, "cam", "backing_off")["last_error"]
            assert not plain.seen


LOGINS = {"a user": (f"admin:{SECRET}@", BASIC), "a token": (f":{SECRET}@", f"Bearer {SECRET}")}


@pytest.mark.parametrize("case", LOGINS)
def test_the_session_is_ended_with_the_login(new_weir, folder, case):
    login, field = LOGINS[case]
    with published(new_weir, folder) as (origin, _), Front(origin) as front:
        edge = edge_of(new_weir, front.url(login=login), "on_demand on; linger 0;").start()
        play_ffmpeg(edge.http("/live/cam.flv"), folder, 1)
        wait_until(lambda: len(front.seen) > 1, 20, "DELETE")
        assert [(method, path) for method, path, _ in front.seen] == [("POST", "/a/whep?token=" + SECRET), ("DELETE", "/a/session/1?a=b")]
        assert [fields.get("Authorization") for _, _, fields in front.seen] == [field, field]


def test_by_tls_only_with_a_certificate(new_weir, folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pem = certificate(folder)
    context.load_cert_chain(pem, folder / "server.key")
    with published(new_weir, folder) as (origin, source), Front(origin, tls=context) as front:
        url = front.url(scheme="whep+https")
        edge = new_weir(f'application live {{ source "{url}" {{ stream strict; }} '
                        f'source "{url}" {{ stream cam; tls_verify off; }} }}', "edge").start()
        assert "certificate" in wait_state(edge, "strict", "backing_off")["last_error"]
        check_whole(play_ffmpeg(edge.http("/live/cam.flv"), folder), source)
        check_secret(edge)


BAD_ANSWERS = {
    "a page": (200, {}, b"<html>hush-hush</html>", "line 1"),
    "nothing": (201, {"Location": "/s"}, b"", "empty session description"),
    "an echo": (500, {}, b"what is token=hush-hush?", "the server answers 500 Internal Server Error"),
    "no SDP": (201, {"Location": "/s"}, b"v=1\r\n" + b"a=x\r\n" * 1000, "not SDP"),
    "too much": (201, {}, b"v=0\r\n" + b"a=x\r\n" * 100_000, "the answer cannot be read"),
    "no media": (201, {}, b"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n", "takes no media section"),
    "a redirect to nowhere": (307, {}, b"", "without an address to go to"),
    "a redirect to itself": (307, {"Location": "/a/whep"}, b"", "redirects more than 5 times"),
    "a redirect to the link": (307, {"Location": "http://169.254.169.254/whep"}, b"", "169.254.169.254, which is not allowed for it"),
    "a redirect elsewhere": (308, {"Location": "gopher://hush-hush/"}, b"", "without an address to go to"),
    "not acceptable": (406, {}, b"", "406 Not Acceptable; it wants to make the offer itself"),
    "not yet": (409, {"Retry-After": "5"}, b"not live", "409 Conflict: not live"),
}


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_bad_answers(new_weir, case):
    status, fields, body, said = BAD_ANSWERS[case]
    with Front(answer=lambda request: (status, fields, body)) as front:
        edge = edge_of(new_weir, front.url()).start()
        state = wait_state(edge, "cam", "backing_off")
        assert said in state["last_error"], state
        wait_until(lambda: sources(edge)[0]["attempts"] >= 2, 20, "it is tried again")
        check_secret(edge)


def test_a_server_that_hangs_is_given_up(new_weir):
    with Front(answer=lambda request: front.held.wait(60) and (500, {}, b"")) as front:
        edge = edge_of(new_weir, front.url()).start()
        assert "did not answer" in wait_state(edge, "cam", "backing_off", 25)["last_error"]


BAD_WAYS = {
    "no udp": (lambda sdp: through(sdp, 9), "no answer to ICE checks from udp 127.0.0.1:9"),
    "another certificate": (lambda sdp: "\r\n".join(line[:-5] + "00:00" if line.startswith("a=fingerprint") else line
                                                     for line in sdp.split("\r\n")), "DTLS: "),
    "another password": (lambda sdp: sdp.replace("a=ice-pwd:", "a=ice-pwd:x"), "the server refuses ICE checks: 401"),
    "tcp alone": (lambda sdp: "\r\n".join(line for line in sdp.split("\r\n") if " udp " not in line.lower()),
                  "no candidate with an address and UDP"),
    "half of it": (lambda sdp: sdp[:len(sdp) // 3], "the answer"),
}


@pytest.mark.parametrize("case", BAD_WAYS)
def test_what_is_between_the_answer_and_media(new_weir, folder, case):
    change, said = BAD_WAYS[case]
    with published(new_weir, folder) as (origin, _), Front(origin, change=change) as front:
        edge = edge_of(new_weir, front.url()).start()
        state = wait_state(edge, "cam", "backing_off", 25)
        assert said in state["last_error"], state
        check_secret(edge)


def test_lost_packets_are_asked_for(new_weir, folder):
    with published(new_weir, folder) as (origin, source), Link(origin.rtc_port, loss=0.03, delay_ms=10) as link, \
            Front(origin, change=lambda sdp: through(sdp, link)) as front:
        edge = edge_of(new_weir, front.url()).start()
        wait_state(edge, "cam", "live")
        recording = play_ffmpeg(edge.http("/live/cam.flv"), folder, 6)
        assert link.lost > 5, link.lost
        check_rising(recording)
        check_frames(recording, source, least=75, most_runs=5)


def test_silence_is_an_end(new_weir, folder):
    with published(new_weir, folder) as (origin, _):
        link = Link(origin.rtc_port)
        with link, Front(origin, change=lambda sdp: through(sdp, link)) as front:
            edge = edge_of(new_weir, front.url(), extra="publish { normal_timeout 2s; }").start()
            wait_state(edge, "cam", "live")
            link.loss = 1.0
            edge.wait_log("was silent for 2000 ms")
            link.loss = 0.0
            wait_state(edge, "cam", "live", 30)


# ---- other servers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [0, 0.1])
@pytest.mark.works_with("pion", serves="WebRTC", codecs="H.264, Opus", checked="known frames only; 10 % of packets lost",
                        set="`source whep+http://...`")
def test_a_server_of_pion(new_weir, folder, clip, loss):  # noqa: F811 - full ICE, every codec in its answer
    video, audio, sent = clip
    port = free_port()
    serving = Program("pion", [PION, "serve", f"127.0.0.1:{port}", "-video", video, "-audio", audio, "-seconds", 15, "-loss", loss],
                      folder, stdout=folder / "pion.json")
    with serving:
        wait_until(lambda: accepts(port), 20, "pion listens")
        edge = edge_of(new_weir, f"whep+http://127.0.0.1:{port}/whep").start()
        wait_state(edge, "cam", "live", 20)
        recording = play_ffmpeg(edge.http("/live/cam.flv"), folder, 3.5, least=5000)
        assert recording.streams() == {"video": ["h264"], "audio": ["aac"]}
        check_rising(recording)
        frames = decode(recording.path)
        assert len(frames) > (50 if loss else 80) and set(frames) <= set(sent)
        assert recording.audio_seconds() > 3
        assert sources(edge)[0]["failures"] == 0
        edge.stop()
        report = finish(serving)
        assert report["left"] == 1 and (report["dropped"] > 20) == (loss > 0), report


class AioServer(threading.Thread):
    """WHEP by aiortc: full ICE; it begins the DTLS handshake where it may choose."""

    def __init__(self, codec):
        super().__init__(daemon=True)
        self.codec = codec
        self.loop = asyncio.new_event_loop()
        self.peers = []

    def run(self):
        self.loop.run_forever()

    async def answer(self, sdp):
        peer = RTCPeerConnection()
        self.peers.append(peer)
        await peer.setRemoteDescription(RTCSessionDescription(sdp, "offer"))
        peer.addTrack(aio_peers.ToneTrack())
        peer.addTrack(aio_peers.ClockTrack())
        video = next(each for each in peer.getTransceivers() if each.kind == "video")
        video.setCodecPreferences([one for one in RTCRtpSender.getCapabilities("video").codecs if one.mimeType == self.codec])
        await peer.setLocalDescription(await peer.createAnswer())
        return peer.localDescription.sdp

    async def close(self):
        for peer in self.peers:
            await peer.close()

    def call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)


@pytest.mark.parametrize("codec", ["video/H264", "video/VP8"])
@pytest.mark.works_with("aiortc", serves="WebRTC", codecs="H.264, VP8, Opus", checked="media comes", set="`source whep+http://...`")
def test_a_server_of_aiortc(new_weir, folder, codec):
    server = AioServer(codec)
    server.start()

    def answer(request):
        if request.command == "POST":
            return 201, {"Location": "/session", "Content-Type": "application/sdp"}, server.call(server.answer(request.body)).encode()
        return None

    with Front(answer=answer) as front:
        edge = rtc_weir(new_weir, f'application live {{ source "{front.url()}" {{ stream cam; }} }}', "edge")
        wait_state(edge, "cam", "live", 20)
        stream = edge.wait_live("cam")
        wait_until(lambda: (edge.wait_live("cam")["video"] or {}).get("width") == aio_peers.WIDTH, 15, "pictures of its size")
        assert stream["audio"], stream
        wait_until(lambda: sources(edge)[0]["bytes"] > 50_000, 20, "media goes on")
        assert sources(edge)[0]["failures"] == 0
        server.call(server.close())
        wait_until(lambda: sources(edge)[0]["failures"] > 0, 20, "the source ends with it")  # and begins again soon
        assert sources(edge)[0]["last_error"]
