"""The HTTP API, /metrics, the pages."""

import re
import urllib.error
import urllib.request

import pytest

from flv import HttpFlv
from media import publisher
from weir import wait_until


def get(url, method="GET", headers=None):
    request = urllib.request.Request(url, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, {name.lower(): value for name, value in error.headers.items()}, error.read()


@pytest.mark.smoke
def test_versions(weir):
    answer = weir.api("/api/v1/versions")
    assert answer["code"] == 0 and {"server", "service", "pid", "data"} <= set(answer)
    assert answer["data"]["version"].count(".") >= 1
    assert str(answer["pid"]) == str(weir.process.pid)


def test_summaries(weir):
    answer = weir.api("/api/v1/summaries")
    assert answer["code"] == 0 and isinstance(answer["data"], dict) and answer["data"]


def test_streams_and_clients_show_what_runs(weir, folder):
    assert weir.streams() == [] and weir.clients() == []
    with publisher(weir.rtmp(), folder):
        stream = weir.wait_live()
        assert stream["app"] == "live"
        with HttpFlv(weir.http_port) as player:
            player.reader().tags_until(lambda tag: tag.is_key_frame())
            clients = wait_until(lambda: (lambda all: all if len(all) == 2 else None)(weir.clients()), 10, "two clients")
            assert sorted(client["publish"] for client in clients) == [False, True]
            one = weir.api(f"/api/v1/streams/{stream['id']}")
            assert one["code"] == 0 and one["stream"]["id"] == stream["id"]
            for client in clients:
                shown = weir.api(f"/api/v1/clients/{client['id']}")
                assert shown["client"]["id"] == client["id"]
                assert str(client["id"]) in weir.log(), "the log uses the ids of the API"
    wait_until(lambda: weir.clients() == [], 10, "everybody is gone")


def test_the_console_can_choose_each_transport(weir):
    refused = weir.api("/api/v1/clients?transport=nothing")
    assert refused["http_status"] == 400
    names = set(refused["error"].split("one of ")[1].replace(" or ", ", ").split(", "))
    page = get(f"http://127.0.0.1:{weir.api_port}/console/")[2].decode()
    options = re.search(r'<select id="client-transport">(.*?)</select>', page, re.DOTALL).group(1)
    assert set(re.findall(r"<option>([a-z-]+)</option>", options)) == names


def test_unknown_ids_and_paths_are_404(weir):
    assert weir.api("/api/v1/streams/nothing")["http_status"] == 404
    assert weir.api("/api/v1/clients/nothing")["http_status"] == 404
    assert weir.api("/api/v1/nothing")["http_status"] == 404


def test_delete_kicks_a_player_and_a_publisher(weir, folder):
    with publisher(weir.rtmp(), folder) as sender:
        weir.wait_live()
        with HttpFlv(weir.http_port) as player:
            reader = player.reader()
            reader.tags_until(lambda tag: tag.is_key_frame())
            clients = wait_until(lambda: (lambda all: all if len(all) == 2 else None)(weir.clients()), 10, "two clients")
            victim = next(client for client in clients if not client["publish"])
            assert weir.api(f"/api/v1/clients/{victim['id']}", "DELETE")["code"] == 0
            with pytest.raises((EOFError, ConnectionError)):
                reader.tags(20)
        assert sender.running()
        holder = next(client for client in weir.clients() if client["publish"])
        assert weir.api(f"/api/v1/clients/{holder['id']}", "DELETE")["code"] == 0
        sender.wait(10)
    wait_until(lambda: not any(stream.get("publish", {}).get("active") for stream in weir.streams()), 10, "nobody publishes")


METRIC = re.compile(r'^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_][a-zA-Z0-9_]*="(\\.|[^"\\])*",?)*\})? -?[0-9.eE+-]+$')


def numbers(text):
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line and not line.startswith("#")}


@pytest.mark.smoke
def test_metrics_parse_and_count(weir, folder):
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        first = weir.metrics()
        received = numbers(first)["weir_received_bytes_total"]
        second = wait_until(lambda: (lambda text: text if numbers(text)["weir_received_bytes_total"] > received else None)(weir.metrics()),
                            10, "bytes that come in are counted")
    for line in second.splitlines():
        assert not line or re.match(r"# (HELP|TYPE) \w+ ", line) or METRIC.match(line), line
    before, after = numbers(first), numbers(second)
    typed = dict(re.findall(r"^# TYPE (\w+) (\w+)$", second, re.M))
    counters = [name for name in after if typed.get(name.split("{")[0]) == "counter"]
    assert "weir_received_bytes_total" in counters and all(after[name] >= before.get(name, 0) for name in counters)


def test_api_has_no_cors_and_media_has(weir, folder):
    status, headers, _ = get(f"http://127.0.0.1:{weir.api_port}/api/v1/versions", headers={"Origin": "http://other"})
    assert status == 200 and "access-control-allow-origin" not in headers
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        status, headers, _ = get(weir.http(), "OPTIONS", {"Origin": "http://other",
                                                          "Access-Control-Request-Method": "GET",
                                                          "Access-Control-Request-Headers": "range"})
        assert status in (200, 204) and headers["access-control-allow-origin"] in ("*", "http://other")
        assert "GET" in headers["access-control-allow-methods"]
        status, headers, body = get(weir.http(), "HEAD")
        assert status == 200 and headers["content-type"] == "video/x-flv" and body == b""


def test_page_is_served_and_paths_do_not_escape(weir):
    status, headers, body = get(weir.http("/"))
    assert status == 200 and headers["content-type"].startswith("text/html"), body[:80]
    assert b"<html" in body.lower()
    for path in ("/../conf/weir.conf", "/%2e%2e/conf/weir.conf", "/..%2fweir", "/./../../etc/passwd"):
        status, _, body = get(weir.http(path))
        assert status in (400, 403, 404), (path, status, body[:80])
