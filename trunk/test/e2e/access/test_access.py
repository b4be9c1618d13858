"""Who may do what: keys, logins of encoders, tokens, roles of the API, pages of strangers, limits."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from aio_peers import AioPeer
from media import SAMPLE, publisher
from rtc import http, rtc_weir, whip_path
from tls import connect
from weir import SUPPORT, TOP, free_port, wait_until

SECRET = "0123456789abcdef0123456789abcdef"


def guarded(new_weir, api="", top=""):
    """A server whose http_api block holds more; not started."""
    server = new_weir()
    server.config_path.write_text(
        f"listen 127.0.0.1:{server.rtmp_port};\n"
        f'http_server {{ listen 127.0.0.1:{server.http_port}; dir "{TOP}/objs/www"; }}\n'
        f"http_api {{ listen 127.0.0.1:{server.api_port}; {api} }}\n{top}\n")
    return server


def ask(server, path, method="GET", port=None, **headers):
    """(status, headers, text)"""
    request = urllib.request.Request(f"http://127.0.0.1:{port or server.api_port}{path}", method=method,
                                     headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode(errors="replace")


def publishes(url, folder, name="try"):
    """Whether ffmpeg can publish there: it has sent the whole sample, or says why not."""
    done = subprocess.run(["ffmpeg", "-hide_banner", "-loglevel", "warning", "-nostdin", "-i", str(SAMPLE), "-t", "1",
                           "-c", "copy", "-f", "flv", url], capture_output=True, timeout=30, cwd=folder)
    return done.returncode == 0, done.stderr.decode(errors="replace")


def refused(server, reason):
    found = re.search(rf'weir_refused_total{{reason="{reason}"}} (\d+)', server.metrics())
    return int(found.group(1))


def jwt(claims, secret=SECRET, header=None):
    """As in doc/access.md."""
    def part(value):
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
    head = part(json.dumps(header or {"alg": "HS256", "typ": "JWT"}).encode())
    front = f"{head}.{part(json.dumps(claims).encode())}"
    return f"{front}.{part(hmac.new(secret.encode(), front.encode(), hashlib.sha256).digest())}"


# ---- keys ----------------------------------------------------------------------------------------


def test_publish_and_play_keys(new_weir, folder):
    key_file = Path(folder) / "play_key"
    key_file.write_text("watch-one\n")
    server = new_weir(f"security {{ publish_key s3cret-1 s3cret-2; play_key 'file:{key_file}'; }}").start()
    good, said = publishes(server.rtmp("live/a"), folder)
    assert not good and "Publish.Denied" not in server.log(), said
    server.wait_log("publishing needs a key: ?key=KEY")
    assert not publishes(server.rtmp("live/a?key=wrong-one"), folder)[0]
    for url in ("live/a?key=s3cret-1", "live/a?token=s3cret-2", "live?key=s3cret-1/a"):
        assert publishes(server.rtmp(url), folder)[0], url
    with publisher(server.rtmp("live/b?key=s3cret-1"), folder):
        server.wait_live("b")
        assert ask(server, "/live/b.flv", port=server.http_port)[0] == 403
        status, _, text = ask(server, "/live/b.flv?key=watch-two", port=server.http_port)
        assert status == 403 and "the key is wrong" in text
        assert b"FLV" in first_bytes(server, "/live/b.flv?key=watch-one")
        # Rotation: the file changes, whoever plays goes on.
        key_file.write_text("watch-two\n")
        wait_until(lambda: "secrets were read again" in server.log(), 10, "the file is read again")
        assert ask(server, "/live/b.flv?key=watch-one", port=server.http_port)[0] == 403
        assert b"FLV" in first_bytes(server, "/live/b.flv?key=watch-two")
        # A file that goes bad changes nothing.
        key_file.write_text("\n")
        wait_until(lambda: "secrets stay as they were" in server.log(), 10, "the trouble is told")
        assert b"FLV" in first_bytes(server, "/live/b.flv?key=watch-two")
        shown = json.dumps(server.clients()) + server.metrics() + server.log()
    assert refused(server, "key_missing") >= 2 and refused(server, "key_wrong") >= 3
    for secret in ("s3cret", "watch-", "wrong-one"):
        assert secret not in shown + server.log(), secret


def first_bytes(server, path):
    with urllib.request.urlopen(server.http(path), timeout=10) as answer:
        return answer.read(16)


def test_a_file_that_is_missing_is_told_before_the_start(new_weir, folder):
    server = new_weir(f'security {{ publish_key "file:{folder}/none"; }}')
    done = subprocess.run([server_binary(), "-t", "-c", server.config_path], capture_output=True, timeout=20)
    assert done.returncode == 1
    assert b"publish_key" in done.stderr and b"none" in done.stderr


def server_binary():
    from weir import BINARY
    return BINARY


def test_a_thousand_wrong_keys(new_weir, folder):
    """The server counts them, logs a few, and serves the right one meanwhile."""
    server = new_weir("security { publish_key s3cret-1; play_key watch-one; }").start()
    with publisher(server.rtmp("live/b?key=s3cret-1"), folder):
        server.wait_live("b")
        before, began = server.private_kib(), time.monotonic()
        with socket.create_connection(("127.0.0.1", server.http_port), 10) as peer:
            answers = peer.makefile("rb")
            for number in range(1000):
                peer.sendall(f"GET /live/b.flv?key=guess-{number} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
                status = answers.readline()
                assert b" 403 " in status
                length = 0
                while (line := answers.readline()) != b"\r\n":
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                answers.read(length)
        assert b"FLV" in first_bytes(server, "/live/b.flv?key=watch-one")
        assert server.private_kib() < before + 2048
    assert refused(server, "key_wrong") == 1000
    assert 1 <= server.log().count("play refused") <= time.monotonic() - began + 2, "one line in a second"
    assert "guess-" not in server.log()


# ---- users -----------------------------------------------------------------------------------------


@pytest.mark.works_with("ffmpeg", publishes="RTMP", codecs="H.264, AAC", checked="user and password")
def test_user_and_password_of_ffmpeg(new_weir, folder):
    server = new_weir('security { publish_user studio "pass word"; }').start()
    at = f"127.0.0.1:{server.rtmp_port}/live/a"
    good, said = publishes(f"rtmp://studio:pass word@{at}", folder)
    assert good, said
    assert "login" not in server.log()
    good, said = publishes(f"rtmp://studio:nope@{at}", folder)
    assert not good and "Incorrect username/password" in said, said
    good, said = publishes(f"rtmp://{at}", folder)
    assert not good and "No credentials set" in said, said
    assert refused(server, "login") == 1
    server.wait_log("login refused user=studio")
    assert "nope" not in server.log() and "pass word" not in server.log()
    # Who plays is not asked.
    with publisher(f"rtmp://studio:pass word@{at}", folder):
        server.wait_live("a")
        assert b"FLV" in first_bytes(server, "/live/a.flv")
        shown = json.dumps(server.clients())
        assert "authmod=adobe" in shown and "response=***" in shown, shown


@pytest.mark.works_with("librtmp", publishes="RTMP", codecs="H.264, AAC", checked="user and password, without media")
def test_user_and_password_of_librtmp(new_weir, folder):
    """What OBS speaks."""
    server = new_weir("security { publish_user studio wonderland; }").start()

    def try_with(options):
        return subprocess.run([sys.executable, SUPPORT / "librtmp_publish.py",
                               f"rtmp://127.0.0.1:{server.rtmp_port}/live/a {options}"],
                              capture_output=True, timeout=30).returncode
    assert try_with("pubUser=studio pubPasswd=wonderland") == 0
    server.wait_log(" publish stream=/live/a")
    assert try_with("pubUser=studio pubPasswd=wrong") != 0
    assert try_with("pubUser=nobody pubPasswd=wonderland") != 0
    assert try_with("") != 0
    assert server.log().count(" publish stream=/live/a") == 1


# ---- tokens ----------------------------------------------------------------------------------------


def test_tokens(new_weir, folder):
    server = new_weir(f"security {{ jwt_secret {SECRET}; }}").start()
    soon = time.time() + 60
    publish = jwt({"app": "live", "stream": "room-*", "action": "publish", "exp": soon})
    play = jwt({"app": "live", "stream": ["room-1", "room-2"], "action": ["play"], "exp": soon})
    assert not publishes(server.rtmp("live/room-1"), folder)[0]
    assert not publishes(server.rtmp(f"live/other?key={publish}"), folder)[0]
    with publisher(server.rtmp(f"live/room-1?token={publish}"), folder):
        server.wait_live("room-1")
        def status(token, **headers):
            path = f"/live/room-1.flv?token={token}" if token else "/live/room-1.flv"
            return ask(server, path, "HEAD", server.http_port, **headers)[0]
        assert status(play) == 200
        assert status("", Authorization=f"Bearer {play}") == 200
        assert status(publish) == 403
        assert status("") == 403
        wrong = {"app": "live", "stream": "room-1", "action": "play"}
        expired = jwt({**wrong, "exp": time.time() - 60})
        assert status(expired) == 403
        assert status(jwt(wrong)) == 403
        assert status(jwt({**wrong, "exp": soon}, secret=SECRET[::-1])) == 403
        assert status(jwt({**wrong, "exp": soon}, header={"alg": "none"})) == 403
        # One refusal in a second is in the log.
        wait_until(lambda: status(expired) == 403 and "the token is refused: it has expired" in server.log(), 10, "the reason is logged")
    assert refused(server, "token") >= 5
    assert publish.split(".")[2] not in server.log() and play.split(".")[2] not in server.log()


def test_keys_of_a_set_are_read_again_when_they_change(new_weir, folder):
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    def url64(value):
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    def number(value):
        return url64(value.to_bytes((value.bit_length() + 7) // 8, "big"))

    keys = {name: rsa.generate_private_key(65537, 2048) for name in ("old", "new")}

    def write(*names):
        jwks = {"keys": [{"kty": "RSA", "kid": name, "alg": "RS256", "use": "sig",
                          "n": number(keys[name].public_key().public_numbers().n), "e": "AQAB"} for name in names]}
        (Path(folder) / "jwks.json").write_text(json.dumps(jwks))

    def token(name):
        front = ".".join(url64(json.dumps(each).encode()) for each in (
            {"alg": "RS256", "kid": name},
            {"app": "*", "stream": "*", "action": "play", "exp": time.time() + 60}))
        return f"{front}.{url64(keys[name].sign(front.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    write("old")
    server = new_weir("security { jwks_file jwks.json; jwt_actions play; }").start()
    with publisher(server.rtmp("live/a"), folder):
        server.wait_live("a")
        def status(name):
            return ask(server, "/live/a.flv", "HEAD", server.http_port, Authorization=f"Bearer {token(name)}")[0]
        assert status("old") == 200 and status("new") == 403
        write("old", "new")
        wait_until(lambda: status("new") == 200, 10, "the new key is known")
        assert status("old") == 200
        write("new")
        wait_until(lambda: status("old") == 403, 10, "the old key is gone")


# ---- WebRTC ----------------------------------------------------------------------------------------


def test_whip_with_bearer(new_weir, folder):
    server = rtc_weir(new_weir, "security { publish_key s3cret-1; }")

    async def run():
        async with AioPeer() as peer:
            with pytest.raises(AssertionError, match="needs a key"):
                await peer.publish(server, "a")
        async with AioPeer() as peer:
            peer.pc.addTransceiver("video", direction="sendonly")
            await peer.offer(server, whip_path("a"), Authorization="Bearer s3cret-1")
            await peer.wait_state("connected")
    asyncio.run(run())
    assert "s3cret" not in server.log()


def test_no_page_of_a_stranger_publishes(new_weir, folder):
    """A page that somebody on this machine happens to read, and a name of a stranger that points here."""
    server = rtc_weir(new_weir)
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"},
                    {"Origin": "http://evil.example", "Host": "evil.example"}):
        status, _, text = http(server, whip_path("a"), body="v=0", **headers)
        assert status == 403 and "allow_origin" in text, (headers, status, text)
    for headers in ({}, {"Origin": f"http://127.0.0.1:{server.http_port}"}):
        status, _, text = http(server, whip_path("a"), body="v=0", **headers)
        assert status == 422, text  # it is not an offer: the policy had nothing against it
    assert refused(server, "origin") == 3


# ---- the API ---------------------------------------------------------------------------------------


def test_roles_of_the_api(new_weir):
    server = guarded(new_weir, "token read reader-token; token admin admin-token; user admin alice wonderland; "
                               "metrics open;").start()
    status, headers, text = ask(server, "/api/v1/summaries")
    assert status == 401 and headers["WWW-Authenticate"].startswith("Bearer"), text
    assert json.loads(text)["code"] == 401
    assert ask(server, "/metrics")[0] == 200
    reader, admin = ({"Authorization": f"Bearer {name}-token"} for name in ("reader", "admin"))
    assert ask(server, "/api/v1/summaries", **reader)[0] == 200
    assert ask(server, "/api/v1/clients/x", "DELETE", **reader)[0] == 403
    assert ask(server, "/api/v1/profile", **reader)[0] == 403
    assert ask(server, "/api/v1/clients/x", "DELETE", **admin)[0] == 404
    basic = base64.b64encode(b"alice:wonderland").decode()
    assert ask(server, "/api/v1/clients/x", "DELETE", Authorization=f"Basic {basic}")[0] == 404
    curl = subprocess.run(["curl", "-s", "-u", "alice:wonderland", "-o", "/dev/null", "-w", "%{http_code}",
                           f"http://127.0.0.1:{server.api_port}/api/v1/versions"], capture_output=True, timeout=20)
    assert curl.stdout == b"200"
    # WHIP has rules of its own.
    assert ask(server, "/rtc/v1/whip/?app=live&stream=a", "POST")[0] == 415
    answers = [ask(server, "/api/v1/summaries", Authorization=f"Bearer guess-{number}")[0] for number in range(15)]
    assert answers[:10] == [401] * 10 and answers[10:] == [429] * 5
    assert refused(server, "api_throttled") == 5
    for secret in ("reader-token", "admin-token", "wonderland", "guess-"):
        assert secret not in server.log()


def test_the_api_and_pages_of_strangers(new_weir):
    server = guarded(new_weir, top="server_name media.example.org;").start()
    assert ask(server, "/api/v1/summaries", Host="media.example.org")[0] == 200
    assert ask(server, "/api/v1/summaries", Host="weir:1985")[0] == 200
    status, _, text = ask(server, "/api/v1/summaries", Host="evil.example:1985")
    assert status == 403 and "server_name" in text
    status, _, text = ask(server, "/api/v1/clients/x", "DELETE", Origin="https://evil.example")
    assert status == 403 and "allow_origin" in text
    assert ask(server, "/api/v1/profile", Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(server, "/api/v1/clients/x", "DELETE", Origin=f"http://127.0.0.1:{server.api_port}")[0] == 404


def test_request_rate_of_the_api(new_weir):
    server = guarded(new_weir, "max_request_rate 5;").start()
    began = time.monotonic()
    answers = [ask(server, "/api/v1/versions") for _ in range(60)]
    many = [answer for answer in answers if answer[0] == 429]
    assert len(answers) - len(many) <= 2 * 5 + 5 * (time.monotonic() - began), "two seconds' worth at once"
    assert many and int(many[0][1]["Retry-After"]) >= 1
    assert "max_request_rate" in many[0][2]
    time.sleep(1.2)  # the limit is one of time
    assert ask(server, "/api/v1/versions")[0] == 200
    server.wait_log("api request refused status=429")


def test_an_open_api_is_warned_of(new_weir):
    server = new_weir()
    server.config_path.write_text(f"http_api {{ listen {server.api_port}; }}")
    done = subprocess.run([server_binary(), "-t", "-c", server.config_path], capture_output=True, timeout=20)
    assert done.returncode == 0 and b"asks nobody for a login" in done.stderr


# ---- limits ----------------------------------------------------------------------------------------


def test_players_of_a_stream(new_weir, folder):
    server = new_weir("max_players 2;").start()
    with publisher(server.rtmp("live/a"), folder):
        server.wait_live("a")
        with urllib.request.urlopen(server.http("/live/a.flv"), timeout=10) as one:
            assert one.read(3) == b"FLV"
            with urllib.request.urlopen(server.http("/live/a.flv"), timeout=10) as two:
                assert two.read(3) == b"FLV"
                status, headers, text = ask(server, "/live/a.flv", port=server.http_port)
                assert status == 503 and "max_players" in text and headers["Retry-After"]
                assert ask(server, "/live/other.flv", "HEAD", port=server.http_port)[0] == 404
        def comes_in():
            try:
                return b"FLV" in first_bytes(server, "/live/a.flv")
            except urllib.error.HTTPError:
                return False
        wait_until(comes_in, 10, "there is room again")
    assert refused(server, "max_players") >= 1


def test_publish_bit_rate(new_weir, folder):
    server = new_weir("vhost slow { max_publish_bitrate 100k; }").start()
    # The sample sends several hundred kbit/s.
    with publisher(server.rtmp("live/a?vhost=slow"), folder) as sender:
        sender.wait(30)
    server.wait_log("max_publish_bitrate")
    assert refused(server, "max_publish_bitrate") == 1
    with publisher(server.rtmp("live/a"), folder, name="other"):
        server.wait_live("a")


def test_connections_of_an_address(new_weir, folder):
    """Loopback is exempt: the clients come through a proxy, which names their address."""
    server = new_weir()
    rtmp, http = free_port(), free_port()
    server.config_path.write_text(
        f"listen 127.0.0.1:{server.rtmp_port};\nlisten 127.0.0.1:{rtmp} proxy_protocol;\n"
        f"http_server {{ listen 127.0.0.1:{server.http_port}; listen 127.0.0.1:{http} proxy_protocol; }}\n"
        f"http_api {{ listen 127.0.0.1:{server.api_port}; }}\nmax_connections_per_ip 3;\n")
    server.start()

    def connected(port, address="192.0.2.7"):
        return connect(port, f"PROXY TCP4 {address} 10.0.0.1 4711 80\r\n".encode())

    def asked(stream):
        stream.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        return stream.recv(12)

    served = (b"HTTP/1.1 200", b"HTTP/1.1 404", b"HTTP/1.1 403")
    with contextlib.ExitStack() as open_ones:
        one, *_ = [open_ones.enter_context(connected(http)) for _ in range(3)]
        for stream in [one, *_]:
            assert asked(stream) in served
        with connected(http) as more:
            assert more.recv(12) == b"HTTP/1.1 429"
        with connected(rtmp) as more:
            assert more.recv(1) == b""
        with connected(http, "192.0.2.8") as other:
            assert asked(other) in served
        one.close()

        def comes_in():
            with connected(http) as again:
                return asked(again) in served
        wait_until(comes_in, 10, "there is room again")
    server.wait_log("max_connections_per_ip")
