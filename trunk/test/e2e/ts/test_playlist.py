"""`playlist`: a provider's playlist of multicast groups with the addresses of this server, and its programme guide."""

import contextlib
import gzip
import http.server
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

from test_group_sources import free_udp_port, sender
from weir import BINARY, wait_until

GUIDE = b"<?xml version='1.0'?><tv><channel id='one'/></tv>"
LIST = """#EXTM3U
#EXTINF:-1 tvg-id="one" group-title="News",One, the first
rtp://239.1.1.1:5000
#EXTVLCOPT:network-caching=100
#EXTINF:-1,Elsewhere
https://cdn.example/live.m3u8
"""


def rewritten(base, query=""):
    return LIST.replace("rtp://239.1.1.1:5000", f"{base}/rtp/239.1.1.1:5000{query}")


def get(server, path, **headers):
    """(status, body, headers)"""
    request = urllib.request.Request(server.http(path), headers={name.replace("_", "-"): text for name, text in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def text_of(server, path="/playlist.m3u", **headers):
    wait_until(lambda: get(server, path, **headers)[0] == 200, 20, f"{path} is there")
    return get(server, path, **headers)[1].decode()


class Provider(http.server.BaseHTTPRequestHandler):
    """Answers by its class's `pages`: path to (status, headers, body)."""

    def do_GET(self):  # noqa: N802
        status, headers, body = self.server.pages.get(self.path, (404, {}, b"nothing"))
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def provider(pages):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.pages = pages
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def of_file(new_weir, folder):
    path = folder / "channels.m3u"
    path.write_text(LIST)
    return new_weir(f'playlist "{path}";').start()


def test_a_file_has_the_addresses_of_this_server(of_file):
    base = of_file.http("")
    assert text_of(of_file) == rewritten(base)
    status, _body, headers = get(of_file, "/playlist.m3u")
    assert status == 200 and headers["Content-Type"].startswith("audio/x-mpegurl")
    assert get(of_file, "/epg.xml")[0] == 404


def test_keys_are_passed_on(of_file):
    assert text_of(of_file, "/playlist.m3u?key=a%20b&other=1") == rewritten(of_file.http(""), "?key=a%20b")


def test_a_trusted_proxy_says_how_the_server_is_reached(of_file):
    assert text_of(of_file, X_Forwarded_Proto="https", X_Forwarded_Host="tv.example") == rewritten("https://tv.example")
    bad = text_of(of_file, X_Forwarded_Proto="https", X_Forwarded_Host='a"b\tc')
    assert bad == rewritten(of_file.http("").replace("http:", "https:"))


def test_others_than_trusted_proxies_are_not_believed(new_weir, folder):
    path = folder / "channels.m3u"
    path.write_text(LIST)
    server = new_weir(f'playlist "{path}"; trusted_proxies none;').start()
    assert text_of(server, X_Forwarded_Proto="https", X_Forwarded_Host="tv.example") == rewritten(server.http(""))


def test_without_a_playlist_there_is_none(weir):
    status, body, _ = get(weir, "/playlist.m3u")
    assert status == 404 and b"playlist" in body
    assert get(weir, "/epg.xml")[0] == 404


def test_a_url_with_redirects_and_its_guide(new_weir):
    packed = gzip.compress(GUIDE)
    pages = {"/a": (302, {"Location": "/b"}, b""), "/guide.gz": (200, {}, packed)}
    with provider(pages) as url:
        pages["/b"] = (200, {}, LIST.replace("#EXTM3U", f'#EXTM3U x-tvg-url="{url}/guide.gz"').encode())
        server = new_weir(f"playlist {url}/a;").start()
        base = server.http("")
        wait_until(lambda: get(server, "/epg.xml")[0] == 200, 20, "the guide is there")
        assert text_of(server) == rewritten(base).replace("#EXTM3U", f'#EXTM3U x-tvg-url="{base}/epg.xml"')
        assert get(server, "/epg.xml")[1] == packed
        _, body, headers = get(server, "/epg.xml", Accept_Encoding="gzip")
        assert headers["Content-Encoding"] == "gzip" and gzip.decompress(body) == GUIDE


def test_a_playlist_does_not_lead_to_services_of_this_host(new_weir, folder):
    path = folder / "channels.m3u"
    with provider({"/guide": (200, {}, GUIDE)}) as url:
        path.write_text(LIST.replace("#EXTM3U", f'#EXTM3U x-tvg-url="{url}/guide"'))
        server = new_weir(f'playlist "{path}";').start()
        wait_until(lambda: "127.0.0.1, which is not allowed for it" in server.log(), 20, "the guide is not asked for")
        assert get(server, "/epg.xml")[0] == 404
        server = new_weir(f'playlist "{path}"; playlist_guide {url}/guide;', "named").start()
        wait_until(lambda: get(server, "/epg.xml")[0] == 200, 20, "the operator may name it")


def test_what_was_read_stays_while_it_cannot_be_read(new_weir, folder):
    path = folder / "channels.m3u"
    path.write_text(LIST)
    guide = folder / "epg.xml"
    guide.write_bytes(GUIDE)
    server = new_weir(f'playlist "{path}"; playlist_guide "{guide}"; playlist_refresh 10s;').start()
    base = server.http("")
    shown = text_of(server).replace(f' x-tvg-url="{base}/epg.xml"', "")
    assert shown == rewritten(base)
    path.write_text("<html>not found</html>")
    server.wait_log("playlist not read", 25)
    assert "One, the first" in text_of(server) and get(server, "/epg.xml")[1] == GUIDE
    path.write_text(LIST.replace("One, the first", "Two"))
    wait_until(lambda: "Two" in text_of(server), 20, "it is read again")


def test_a_provider_that_is_down_is_said(new_weir):
    with provider({}) as url:
        server = new_weir(f"playlist {url}/gone?token=secret;").start()
        server.wait_log("playlist not read")
        log = server.log()
        assert "the answer is 404" in log and "secret" not in log.split("playlist not read")[1]
        assert get(server, "/playlist.m3u")[0] == 404
        shown = subprocess.run([BINARY, "-c", server.folder / "weir.conf", "--dump-config"], text=True, capture_output=True, timeout=10)
        assert "/***;" in shown.stdout and "gone" not in shown.stdout and "secret" not in shown.stdout


def test_channels_play_by_their_names(new_weir, folder):
    port = free_udp_port()
    (folder / "tv.m3u").write_text(f"#EXTM3U\n#EXTINF:-1,First One\nudp://239.13.0.1:{port}\n")
    server = new_weir(f"playlist {folder}/tv.m3u; vhost __defaultVhost__ {{ allow_groups 239.0.0.0/8; }}").start()
    text_of(server)
    assert get(server, "/tv/Second")[0] == 404
    with sender(f"udp://239.13.0.1:{port}", folder), urllib.request.urlopen(server.http("/tv/First%20One"), timeout=30) as player:
        assert len(player.read(20_000)) == 20_000


def test_lists_are_for_those_who_may_play(new_weir, folder):
    (folder / "tv.m3u").write_text(LIST)
    server = new_weir(f"playlist {folder}/tv.m3u; vhost __defaultVhost__ {{ security {{ play_key open-sesame-1234; }} }}").start()
    assert "One, the first" in text_of(server, "/playlist.m3u?key=open-sesame-1234")
    assert get(server, "/playlist.m3u")[0] == get(server, "/epg.xml")[0] == 403


def test_the_rules_of_another_vhost_do_not_open_the_lists(new_weir, folder):
    (folder / "tv.m3u").write_text(LIST)
    server = new_weir(f"playlist {folder}/tv.m3u; vhost __defaultVhost__ {{ security {{ play_key open-sesame-1234; }} }} "
                      "vhost open.example { enabled on; }").start()
    wait_until(lambda: get(server, "/playlist.m3u?key=open-sesame-1234")[0] == 200, 20, "the playlist is there")
    for path in ("/playlist.m3u?vhost=open.example", "/epg.xml?vhost=open.example"):
        assert get(server, path)[0] == 403
    assert get(server, "/playlist.m3u?vhost=open.example&key=open-sesame-1234")[0] == 200
