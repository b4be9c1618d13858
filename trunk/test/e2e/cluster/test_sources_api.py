"""Sources that are added and removed by the API, and the file that keeps them."""

import json
import stat
import urllib.error
import urllib.request

import pytest

from media import check_both, play_ffmpeg, publisher
from test_api_schema import check
from test_sources import sources, wait_state
from weir import wait_end, wait_until

URL = "rtmp://192.0.2.1/live/x?token=hush-hush"


def post(weir, body, path="/api/v1/sources"):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{weir.api_port}{path}", data=data, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return {"http_status": answer.status, "location": answer.headers["Location"], **json.load(answer)}
    except urllib.error.HTTPError as error:
        return {"http_status": error.code, **json.load(error)}


def test_a_source_of_the_api_is_brought_and_taken_away(new_weir, folder):
    origin = new_weir().start()
    edge = new_weir(name="edge").start()
    with publisher(origin.rtmp("live/cam"), folder):
        origin.wait_live("cam")
        added = post(edge, {"app": "live", "name": "cam1", "url": origin.rtmp("live/cam")})
        assert added["http_status"] == 201 and added["source"]["added_by"] == "api", added
        assert added["location"] == f"/api/v1/sources/{added['source']['id']}"
        wait_state(edge, "cam1", "live")
        check_both(play_ffmpeg(edge.http("/live/cam1.flv"), folder))
        check(edge, added["location"], "OneSource")
        assert edge.api("/api/v1/reload", "POST")["code"] == 0
        assert wait_state(edge, "cam1", "live")["id"] == added["source"]["id"], "a reload leaves it alone"
        assert post(edge, {"app": "live", "name": "cam1", "url": URL})["http_status"] == 409
        assert edge.api(added["location"], "DELETE")["http_status"] == 200
        assert sources(edge) == []
        wait_until(lambda: not any(each["publish"]["active"] for each in edge.streams()), 10, "the stream has ended")
        assert edge.api(added["location"], "DELETE")["http_status"] == 404


def test_on_demand_and_options(new_weir):
    weir = new_weir().start()
    added = post(weir, {"app": "live", "name": "a", "url": "rtsps://admin:hush-hush@192.0.2.1/x", "on_demand": True,
                        "linger_ms": 500, "transport": "tcp", "tls_verify": False})
    assert added["source"]["state"] == "idle" and added["source"]["url"] == "rtsps://192.0.2.1/x", added
    assert "hush" not in json.dumps(added) + json.dumps(sources(weir)) + weir.log()


WRONG = {
    "no JSON": (b"hush-hush", "no JSON object"),
    "a list": (b'["hush-hush"]', "no JSON object"),
    "twice": (b'{"url": "rtmp://hush-hush/a/b", "url": "rtmp://h/a/b", "app": "a", "name": "b"}', "twice"),
    "no url": ({"app": "a", "name": "b"}, "'url' is missing"),
    "no name": ({"app": "a", "url": URL}, "'name' is missing"),
    "a url of nothing": ({"app": "a", "name": "b", "url": "gopher://hush-hush"}, "'url': expected rtmp://"),
    "a url without a stream": ({"app": "a", "name": "b", "url": "rtmp://192.0.2.1/hush-hush"}, "names no stream"),
    "a strange field": ({"app": "a", "name": "b", "url": URL, "colour": "red"}, "'colour' is no field"),
    "a strange transport": ({"app": "a", "name": "b", "url": "rtsp://h/hush-hush", "transport": "smoke"}, "multicast"),
    "a transport of RTMP": ({"app": "a", "name": "b", "url": URL, "transport": "tcp"}, "rtsp://"),
    "no flag": ({"app": "a", "name": "b", "url": URL, "on_demand": "yes"}, "true or false"),
    "a long linger": ({"app": "a", "name": "b", "url": URL, "linger_ms": 10**9}, "from 0 to"),
    "a vhost of nobody": ({"vhost": "x.example", "app": "a", "name": "b", "url": URL}, "no such vhost"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_said_without_secrets(new_weir, kind):
    body, said = WRONG[kind]
    weir = new_weir().start()
    answer = post(weir, body)
    assert answer["http_status"] == 400 and said in answer["error"], answer
    assert sources(weir) == []
    assert "hush" not in json.dumps(answer) + weir.log()


def test_those_of_the_configuration_stay(new_weir):
    weir = new_weir(f"application live {{ source {URL} {{ stream cam; on_demand on; }} }}").start()
    assert post(weir, {"app": "live", "name": "cam", "url": URL})["http_status"] == 409
    mine = sources(weir)[0]
    assert mine["added_by"] == "configuration"
    assert weir.api(f"/api/v1/sources/{mine['id']}", "DELETE")["http_status"] == 409
    assert weir.api("/api/v1/sources", "DELETE")["http_status"] == 405
    assert weir.api(f"/api/v1/sources/{mine['id']}")["source"]["name"] == "cam"


def test_a_file_keeps_them(new_weir, folder):
    kept = folder / "sources.json"
    weir = new_weir(f'sources_file "{kept}";').start()
    for name in ("a", "b"):
        assert post(weir, {"app": "live", "name": name, "url": URL, "on_demand": True})["http_status"] == 201
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert not kept.with_name("sources.json.new").exists()
    assert [each["name"] for each in json.loads(kept.read_text())["sources"]] == ["a", "b"]
    weir.stop()
    weir.start()
    assert [(each["name"], each["on_demand"]) for each in sources(weir)] == [("a", True), ("b", True)]
    assert weir.api(f"/api/v1/sources/{sources(weir)[0]['id']}", "DELETE")["http_status"] == 200
    assert [each["name"] for each in json.loads(kept.read_text())["sources"]] == ["b"]
    assert "hush" not in weir.log() + json.dumps(sources(weir))


def test_a_file_that_cannot_be_written_changes_nothing(new_weir, folder):
    weir = new_weir(f'sources_file "{folder}/nowhere/sources.json";').start()
    answer = post(weir, {"app": "live", "name": "a", "url": URL})
    assert answer["http_status"] == 500 and "cannot be written" in answer["error"], answer
    assert sources(weir) == []


def test_a_broken_file_is_no_start(new_weir, folder):
    kept = folder / "sources.json"
    kept.write_text('{"sources": [{"app": "live", "name": "a", "url": "hush-hush"}]}')
    weir = new_weir(f'sources_file "{kept}";')
    weir.launch()
    assert wait_end(weir.process, 15) != 0
    weir.process = None
    assert "source 1: 'url': expected" in weir.log() and "hush" not in weir.log(), weir.log()
