"""HTTPS and RTMPS with real clients: openssl, curl, ffmpeg, Chromium; certificates that change; hostile peers."""

import json
import os
import re
import socket
import ssl
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from browser import Browser, watch
from flv import FlvReader, WsFlv
from hostile import bench
from media import Program, check_both, play_ffmpeg, publisher, run
from tls import blind_context, certificate, connect, get, tls_weir
from weir import BINARY, wait_until


@pytest.fixture
def secure(new_weir, folder):
    certificate(folder)
    return tls_weir(new_weir, folder).start()


def s_client(port, *arguments, send=b""):
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *arguments], input=send,
                          capture_output=True, timeout=30)
    return (done.stdout + done.stderr).decode(errors="replace")


@pytest.mark.smoke
@pytest.mark.works_with("ffmpeg", publishes="RTMPS", codecs="H.264, AAC", checked="every frame")
@pytest.mark.works_with("ffmpeg", plays="RTMPS", codecs="H.264, AAC", checked="every frame")
@pytest.mark.works_with("ffmpeg", plays="HTTP-FLV", codecs="H.264, AAC", checked="by TLS")
@pytest.mark.works_with("curl", plays="HTTP-FLV", codecs="H.264, AAC", checked="by TLS, it checks the certificate")
def test_publish_by_rtmps_play_by_rtmps_and_https(secure, folder):
    with publisher(secure.rtmps(), folder, name="rtmps"):
        secure.wait_live()
        with ThreadPoolExecutor() as pool:
            for recording in pool.map(lambda url: play_ffmpeg(url, folder, 3, name=f"by-{url.split(':')[0]}"),
                                      (secure.rtmps(), secure.https(), secure.rtmp())):
                check_both(recording)
        out = folder / "curl.flv"
        with Program("curl", ["curl", "--silent", "--cacert", folder / "server.pem", "--no-buffer",
                              f"https://localhost:{secure.https_port}/live/livestream.flv"], folder, out):
            wait_until(lambda: out.exists() and out.stat().st_size > 200_000, 15, "curl, which checks, receives")
    lines = secure.log()
    assert f"rtmps://127.0.0.1:{secure.rtmps_port}/live/livestream" in lines
    assert f"https://127.0.0.1:{secure.https_port}/" in lines


def test_websocket_over_tls(secure, folder):
    with publisher(secure.rtmp(), folder):
        secure.wait_live()
        import websocket
        player = WsFlv.__new__(WsFlv)
        player.messages = []
        player.socket = websocket.create_connection(f"wss://127.0.0.1:{secure.https_port}/live/livestream.flv", timeout=10,
                                                    sslopt={"cert_reqs": ssl.CERT_NONE, "check_hostname": False})
        with player:
            player.reader().tags_until(lambda tag: tag.is_key_frame())


@pytest.mark.works_with("mpegts.js", plays="HTTP-FLV", codecs="H.264, AAC", checked="by TLS")
@pytest.mark.works_with("mpegts.js", plays="WebSocket-FLV", codecs="H.264, AAC", checked="by TLS")
def test_page_plays_and_is_a_secure_context(secure, folder):
    with publisher(secure.rtmps(), folder), Browser(folder, "--ignore-certificate-errors") as browser:
        secure.wait_live()
        for transport in ("http", "ws"):
            browser.open(secure.https(f"/?play=live/livestream&transport={transport}&autoplay=1"))
            watch(browser, 2)
        assert browser.evaluate("window.isSecureContext && !!navigator.mediaDevices") is True
        assert browser.evaluate("location.protocol") == "https:"


def test_protocols_and_ciphers(secure):
    for version in ("-tls1_2", "-tls1_3"):
        said = s_client(secure.https_port, version, "-alpn", "h2,http/1.1")
        assert "ALPN protocol: http/1.1" in said and "Compression: NONE" in said, said
        assert re.search(r"Cipher\s*(is|:) .*(GCM|CHACHA20)", said), said
    for old in ("-tls1", "-tls1_1"):
        assert "Cipher is (NONE)" in s_client(secure.https_port, old, "-cipher", "ALL:@SECLEVEL=0")
    assert "Cipher is (NONE)" in s_client(secure.https_port, "-tls1_2", "-cipher", "AES128-SHA")
    said = s_client(secure.https_port, "-tls1_2", send=b"R\n")  # asks to negotiate anew
    assert "no renegotiation" in said or "RENEGOTIATING" in said, said


def test_a_ticket_makes_the_next_handshake_short(secure, folder):
    ticket = folder / "ticket"
    request = b"GET /live.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    s_client(secure.https_port, "-sess_out", ticket, "-ign_eof", send=request)
    assert "Reused" in s_client(secure.https_port, "-sess_in", ticket)
    wait_until(lambda: secure.api("/api/v1/tls")["data"]["handshakes"]["resumed"] == 1, 10, "it is counted")


def test_the_name_chooses_the_certificate(new_weir, folder):
    certificate(folder, "first", ["first.net"])
    certificate(folder, "wild", ["*.second.net"], key="rsa")
    server = tls_weir(new_weir, folder, certificates=("first", "wild")).start()
    for name, subject in (("a.second.net", "*.second.net"), ("first.net", "first.net"), ("other.org", "first.net")):
        assert f"CN = {subject}" in s_client(server.rtmps_port, "-servername", name)
    assert "CN = first.net" in s_client(server.rtmps_port, "-noservername")
    listed = server.api("/api/v1/tls")["data"]["certificates"]
    assert [each["names"][0] for each in listed] == ["first.net", "*.second.net"]
    assert all(each["days_left"] in (29, 30) for each in listed)
    assert len(re.findall(r"^weir_tls_certificate_not_after_seconds\{", server.metrics(), re.M)) == 2


def test_certificates_change_while_players_run(secure, folder):
    with publisher(secure.rtmps(), folder):
        secure.wait_live()
        player = connect(secure.https_port, tls=True)
        player.sendall(b"GET /live/livestream.flv HTTP/1.1\r\nHost: a\r\n\r\n")
        head = b""
        while b"\r\n\r\n" not in head:
            more = player.recv(1)
            assert more, head
            head += more
        reader = FlvReader(player.recv)
        reader.tags_until(lambda tag: tag.is_key_frame())
        certificate(folder, names=["renewed.net"])
        wait_until(lambda: "CN = renewed.net" in s_client(secure.https_port), 20, "the new certificate is shown")
        reader.tags(2)
        (folder / "server.pem").write_text("broken\n")
        secure.wait_log("cannot be used")
        assert "CN = renewed.net" in s_client(secure.rtmps_port)
        reader.tags_until(lambda tag: tag.is_key_frame())
        clients = wait_until(lambda: len(found := secure.clients()) == 2 and found, 10, "who only looked has gone")
        assert all(client["alive"] > 2 for client in clients), clients
        assert all(client["encrypted"] for client in clients), clients
        player.close()
    data = secure.api("/api/v1/tls")["data"]
    assert data["reloads"] == 1 and data["failed_reloads"] >= 1, data


def test_a_slow_reader_and_others_beside_it(secure, folder):
    with publisher(secure.rtmp(), folder):
        secure.wait_live()
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.connect(("127.0.0.1", secure.https_port))
        slow = blind_context().wrap_socket(plain, server_hostname="a")
        slow.sendall(b"GET /live/livestream.flv HTTP/1.1\r\nHost: a\r\n\r\n")
        check_both(play_ffmpeg(secure.https(), folder, 3, name="beside"))
        slow.close()


def test_who_speaks_no_tls_is_told(secure):
    answer = get(connect(secure.https_port), "/")
    assert answer.startswith("HTTP/1.1 400 ") and "https://" in answer
    said = subprocess.run(["curl", "-k", "-s", f"https://127.0.0.1:{secure.http_port}/"], capture_output=True, timeout=30)
    assert said.returncode != 0
    stream = connect(secure.rtmp_port, b"\x16\x03\x01\x02\x00\x01\x00" + bytes(512))
    assert stream.recv(100) == b""
    secure.wait_log("looks like TLS")
    assert secure.api("/api/v1/tls")["data"]["handshakes"]["not_tls"] >= 1


def test_hostile_handshakes_leave_nothing(new_weir, folder):
    certificate(folder, key="rsa")
    server = tls_weir(new_weir, folder, "handshake_timeout 3s;").start()
    before = server.api("/api/v1/objects")
    assert before["http_status"] == 200
    hello = client_hello()
    held = []
    for piece in (hello[:1], hello[:5], hello[:100], b"\x16\x03\x01\xff\xff" + bytes(200), hello + hello, b"\x15\x03\x01\0\2\2\0",
                  b"\x80\x2e\x01\0\x02", os.urandom(3000), hello + os.urandom(200)):
        for _ in range(5):
            held.append(connect(server.https_port, piece))
            held.append(connect(server.rtmps_port, piece))
    assert get(connect(server.https_port, tls=True), "/live.json").startswith("HTTP/1.1 200 ")
    for stream in held:
        stream.settimeout(20)
        try:
            while stream.recv(4096):
                pass
        except ConnectionResetError:
            pass
        stream.close()
    wait_until(lambda: server.api("/api/v1/tls")["data"]["handshakes"]["ongoing"] == 0, 20, "all have ended")
    wait_until(lambda: not re.search(r'weir_objects_live\{class="tls_connection"[^}]*\} [1-9]', server.metrics()), 20,
               "no channel stays")
    handshakes = server.api("/api/v1/tls")["data"]["handshakes"]
    assert handshakes["timeouts"] > 0 and handshakes["failed"] > 0, handshakes


def client_hello():
    """The first bytes of a real client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = blind_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def test_configuration_tells_what_is_wrong_with_certificates(folder):
    certificate(folder, "good")
    certificate(folder, "old", days=1)
    certificate(folder, "other")
    path = folder / "weir.conf"

    def tested(text):
        path.write_text(text)
        done = subprocess.run([BINARY, "-t", "-c", path], capture_output=True, text=True, timeout=30)
        return done.returncode, done.stdout + done.stderr

    pair = "ssl_certificate good.pem; ssl_certificate_key good.key;\n"
    assert tested(f"{pair}listen 1936 ssl;")[0] == 0
    code, said = tested("listen 1936 ssl;")
    assert code == 1 and "weir.conf:1:8: found ssl" in said and "ssl_certificate FILE" in said, said
    code, said = tested("\nssl_certificate good.pem; ssl_certificate_key other.key;\nssl_certificate gone.pem; "
                        "ssl_certificate_key gone.key;\nlisten 1936 ssl;")
    assert code == 1 and "weir.conf:2:1:" in said and "does not belong to" in said, said
    assert "weir.conf:3:1:" in said and "gone.pem: cannot be opened: No such file" in said, said
    (folder / "good.key").chmod(0o644)
    code, said = tested(f"{pair}listen 1936 ssl;")
    assert code == 0 and "warning" in said and "every user" in said, said


def test_api_over_tls(secure, folder):
    said = json.loads(run(["curl", "-s", "--cacert", folder / "server.pem", f"https://localhost:{secure.apis_port}/api/v1/versions"]))
    assert said["code"] == 0


@pytest.mark.parametrize("scheme", ["rtmps", "https", "wss"])
def test_many_players_get_every_byte(secure, folder, scheme):
    port, path = (secure.rtmps_port, "/live/a") if scheme == "rtmps" else (secure.https_port, "/live/a.flv")
    result = bench("rtmp-play" if scheme == "rtmps" else "flv-play", "--url", f"{scheme}://127.0.0.1:{port}{path}",
                   "--publish-url", secure.rtmps("live/a"), "--publish", "2M", "--clients", 50, "--duration", "3s",
                   "--expect", "loss==0", folder=folder)
    assert result["exit_code"] == 0, result["text"][-3000:]
