"""Behind proxies: the PROXY protocol, X-Forwarded-For, and what rules and API see of a client."""


import pytest

from flv import FlvReader
from media import publisher
from tls import V2_SIGNATURE, certificate, connect, get, tls_weir, v2_header
from weir import free_port, wait_until


@pytest.fixture
def behind(new_weir, folder):
    certificate(folder)
    return tls_weir(new_weir, folder, "security { allow play 192.0.2.0/24; allow play 127.0.0.1; deny play all; }").start()


def flv_of(stream, fields=""):
    """Asks for the stream; the status, then a reader of it."""
    stream.sendall(f"GET /live/livestream.flv HTTP/1.1\r\nHost: a\r\n{fields}\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        more = stream.recv(1)
        assert more, head
        head += more
    status = int(head.split()[1])
    return status, FlvReader(stream.recv) if status == 200 else None


def ips(server):
    return {client["ip"] for client in server.clients() if not client["publish"]}


@pytest.mark.parametrize("kind", ["v1", "v2", "v2 tls"])
def test_rules_api_and_log_see_the_client_of_the_proxy(behind, folder, kind):
    def header(ip):
        return v2_header(ip, tlv=b"\x04\0\x03abc") if kind != "v1" else f"PROXY TCP4 {ip} 10.0.0.1 4711 80\r\n".encode()

    port = behind.proxy_https_port if "tls" in kind else behind.proxy_http_port
    with publisher(behind.rtmp(), folder):
        behind.wait_live()
        with connect(port, header("192.0.2.77"), tls="tls" in kind) as player:
            status, reader = flv_of(player)
            assert status == 200
            reader.tags_until(lambda tag: tag.is_key_frame())
            assert ips(behind) == {"192.0.2.77"}
        with connect(port, header("198.51.100.9"), tls="tls" in kind) as refused:
            status, _ = flv_of(refused)
            assert status == 403
    behind.wait_log("ip=192.0.2.77")
    behind.wait_log("ip=198.51.100.9")


def test_publishing_by_rtmp_behind_a_proxy_is_not_local(behind):
    # A header, then RTMP of a real handshake: C0 and C1.
    with connect(behind.proxy_rtmp_port, v2_header("203.0.113.5") + b"\x03" + bytes(1536)) as stream:
        assert stream.recv(1) == b"\x03"
        wait_until(lambda: "203.0.113.5" in {client["ip"] for client in behind.clients()}, 20, "the API shows the client")


def test_connections_without_a_good_header_end(behind):
    for bad in (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"PROXY TCP4 x y 1 2\r\n", V2_SIGNATURE + b"\x31\x11\0\x0c" + bytes(12)):
        with connect(behind.proxy_http_port, bad) as stream:
            try:
                assert stream.recv(100) == b""
            except ConnectionResetError:
                pass
    wait_until(lambda: behind.api("/api/v1/tls")["data"]["proxy_protocol"]["malformed"] == 3, 20, "each is counted")
    behind.wait_log("http connection rejected ip=127.0.0.1: PROXY protocol: ")


def test_only_trusted_proxies_are_believed(new_weir, folder):
    certificate(folder)
    server = tls_weir(new_weir, folder, "security { allow play 127.0.0.0/8; deny play all; }", proxies="trusted_proxies 10.0.0.0/8;").start()
    with connect(server.proxy_http_port, v2_header("192.0.2.1")) as stream:
        try:
            assert stream.recv(100) == b""
        except ConnectionResetError:
            pass
    wait_until(lambda: server.api("/api/v1/tls")["data"]["proxy_protocol"]["untrusted"] == 1, 20, "it is counted")
    server.wait_log("127.0.0.1 is none of trusted_proxies")
    # A local proxy that nobody named: whoever comes by it is not local, whatever it says.
    for fields in ("X-Forwarded-For: 127.0.0.1\r\n", "X-Real-IP: 127.0.0.1\r\n", "Via: 1.1 proxy\r\n"):
        answer = get(connect(server.http_port), "/live/x.flv", fields)
        assert answer.startswith("HTTP/1.1 403 "), answer[:100]


def test_x_forwarded_for_counts_from_the_right(behind, folder):
    with publisher(behind.rtmp(), folder):
        behind.wait_live()
        for fields, ip in (("X-Forwarded-For: 192.0.2.5\r\n", "192.0.2.5"),
                           ("X-Forwarded-For: 127.0.0.1, 192.0.2.6\r\n", "192.0.2.6"),
                           ("X-Real-IP: 192.0.2.7\r\n", "192.0.2.7")):
            with connect(behind.http_port) as player:
                status, reader = flv_of(player, fields)
                assert status == 200, fields
                reader.tags_until(lambda tag: tag.is_key_frame())
                assert ips(behind) == {ip}
            wait_until(lambda: not ips(behind), 20, "the player is gone")
        for fields in ("X-Forwarded-For: 198.51.100.1\r\n", "X-Forwarded-For: 127.0.0.1\r\n", "X-Forwarded-For: garbage\r\n",
                       "Via: 1.1 proxy\r\n", f"X-Forwarded-For: {'127.0.0.1,' * 500}\r\n"):
            with connect(behind.http_port) as refused:
                assert flv_of(refused, fields)[0] == 403, fields


def test_whip_through_a_local_proxy_is_not_local(new_weir, folder):
    server = new_weir(f"rtc_server {{ enabled on; listen 127.0.0.1:{free_port()}; candidate 127.0.0.1; }}").start()
    offer = "v=0\r\n"

    def post(fields):
        with connect(server.http_port) as stream:
            stream.sendall((f"POST /rtc/v1/whip/?app=live&stream=a HTTP/1.1\r\nHost: a\r\nContent-Type: application/sdp\r\n"
                            f"Content-Length: {len(offer)}\r\nConnection: close\r\n{fields}\r\n{offer}").encode())
            answer = b""
            while chunk := stream.recv(4096):
                answer += chunk
        return int(answer.split()[1])

    assert post("") not in (401, 403), "from this machine one may publish"
    for fields in ("X-Forwarded-For: 203.0.113.4\r\n", "X-Forwarded-For: 127.0.0.1\r\n", "Forwarded: for=127.0.0.1\r\n",
                   "X-Forwarded-Proto: https\r\n"):
        assert post(fields) in (401, 403), fields
