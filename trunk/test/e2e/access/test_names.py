"""A name is a name and nothing else, by whichever protocol it comes: it leads out of no application, and into no request."""

import socket
import threading

import pytest

from media import publisher
from relays import node
from rtc import http
from rtsp import Client, rtsp_weir
from weir import free_port

SECRET = "application secret { security { allow publish all; deny play all; } }\n"
OFFER = "\r\n".join((
    "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", "m=video 9 UDP/TLS/RTP/SAVPF 96", "c=IN IP4 0.0.0.0",
    "a=rtcp-mux", "a=ice-ufrag:abcd", "a=ice-pwd:abcdefghijklmnopqrstuvwx", "a=fingerprint:sha-256 " + ":".join(["11"] * 32),
    "a=setup:actpass", "a=mid:0", "a=recvonly", "a=rtpmap:96 H264/90000",
    "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f", ""))


class Server(threading.Thread):
    """Has no stream; keeps what it was asked for."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.asked = []
        self.came = threading.Semaphore(0)
        self.start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                connection.settimeout(10)
                self.asked.append(connection.recv(65536).decode())
                connection.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
            self.came.release()


def describe(server, path):
    with Client(server.rtsp_port, f"rtsp://127.0.0.1:{server.rtsp_port}/{path}") as client:
        return client.request("DESCRIBE").status


def test_no_name_leads_into_another_application(new_weir, folder):
    origin = node(new_weir, "origin", more=SECRET).start()
    media = free_port()
    edge = rtsp_weir(new_weir, extra=(
        f"cluster {{ node edge; secret 0123456789abcdef-of-the-tests; }}\norigin http://127.0.0.1:{origin.http_port};\n"
        f"rtc_server {{ listen {media}; candidate 127.0.0.1; }}\n{SECRET}"))
    with publisher(origin.rtmp("secret/cam"), folder):
        origin.wait_live("cam")
        assert describe(edge, "secret/cam") == 403
        for path in ("live/../secret/cam", "live/%2e%2e/secret/cam", "live/./cam"):
            assert describe(edge, path) == 400, path
        for query in ("app=secret&stream=cam", "app=live/../secret&stream=cam", "app=live&stream=../secret/cam",
                      "app=live/%2e%2e/secret&stream=cam"):
            assert http(edge, f"/rtc/v1/whep/?{query}", body=OFFER)[0] == 403, query
        assert http(edge, "/rtc/v1/whip/?app=live/../other&stream=cam", body=OFFER)[0] == 403
        assert edge.streams() == [] and edge.api("/api/v1/sources")["sources"] == []


@pytest.mark.parametrize("name, asked", [
    ("a%3Ftoken=mine", "/x/a%3Ftoken%3Dmine.flv"), ("a%20b", "/x/a%20b.flv"), ("%252e%252e", "/x/%252e%252e.flv"),
    ("x%20HTTP/1.1%0d%0aHost:%20evil%0d%0a%0d%0aPOST%20/reset%20HTTP/1.1%0d%0aX:%20", None)])
def test_no_name_is_more_than_a_name_in_a_request(new_weir, name, asked):
    server = Server()
    edge = rtsp_weir(new_weir, extra=f"application live {{ source http://127.0.0.1:{server.port}/x; }}")
    if asked is None:
        assert describe(edge, f"live/{name}") == 400
        assert server.asked == []
        return
    with Client(edge.rtsp_port, f"rtsp://127.0.0.1:{edge.rtsp_port}/live/{name}") as client:
        client.say("DESCRIBE")
        assert server.came.acquire(timeout=10)
    assert server.asked[0].splitlines()[0] == f"GET {asked} HTTP/1.1"
