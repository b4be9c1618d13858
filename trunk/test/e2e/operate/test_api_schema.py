"""The OpenAPI document that the server serves, against what it answers while clients of all transports are there."""

import asyncio
import contextlib
import json
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import jsonschema_rs
import pytest

from aio_peers import AioPeer
from flv import HttpFlv, WsFlv
from media import publisher
from rtc import rtc_weir
from rtmp import RtmpPlayer
from weir import TOP, wait_until

# What a kind of build has not, and what takes long or ends a check of another test.
ALWAYS_OUT = r"^/rtc/|^/console|/leaks|/valgrind|/profile/"
# Unimplemented methods are 501 (RFC 9110 §15.6.2), which the tool takes for a fault of the server.
CONFIG = """
[phases.coverage]
unexpected-methods = ["DELETE", "PUT", "PATCH"]

# Nobody is everybody: without a filter it is refused, which a schema cannot say.
[[operations]]
include-method = "DELETE"
include-path = "/api/v1/clients"
checks.positive_data_acceptance.enabled = false
"""


def schemathesis(weir, folder, *options):
    """Runs it; fails with what it says."""
    config = Path(folder) / "schemathesis.toml"
    config.write_text(CONFIG)
    command = [Path(sys.executable).parent / "st", "--config-file", config, "run", f"http://127.0.0.1:{weir.api_port}/api/v1/openapi.json",
               "--phases", "coverage,fuzzing", "--max-examples", "15", "--generation-deterministic",
               "--continue-on-failure", "--warnings", "off", "--no-color", *options]
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=150,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


def document(weir):
    return weir.api("/api/v1/openapi.json")


def check(weir, path, schema):
    """The answer to GET, which must be what the document says. As it was sent: the helper adds a member."""
    with urllib.request.urlopen(f"http://127.0.0.1:{weir.api_port}{path}", timeout=20) as answer:
        body = json.load(answer)
    whole = {"$ref": f"#/components/schemas/{schema}", "components": document(weir)["components"]}
    errors = [f"{list(error.instance_path)}: {error.message}" for error in jsonschema_rs.validator_for(whole).iter_errors(body)]
    assert not errors, (path, errors)
    return body


@contextlib.contextmanager
def taken(connection):
    """All that comes is read beside the test: no player is a slow one."""
    def read():
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                pass
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        reader.join(10)


@contextlib.asynccontextmanager
async def everybody(weir, folder):
    """A stream by RTMP and one by WebRTC, each with players of all transports."""
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(publisher(weir.rtmp(), folder))
        await asyncio.to_thread(weir.wait_live)
        rtc_source = await stack.enter_async_context(AioPeer())
        await rtc_source.publish(weir, "aio")
        await asyncio.to_thread(weir.wait_live, "aio")
        for name in ("livestream", "aio"):
            peer = await stack.enter_async_context(AioPeer())
            await peer.play(weir, name)
            await peer.wait_video()
            stack.enter_context(taken(stack.enter_context(HttpFlv(weir.http_port, f"/live/{name}.flv")).socket))
            stack.enter_context(taken(stack.enter_context(WsFlv(weir.ws(f"/live/{name}.flv"))).socket.sock))
            stack.enter_context(taken(stack.enter_context(RtmpPlayer(weir.rtmp_port, stream=name)).socket))
        stack.enter_context(RtmpPlayer(weir.rtmp_port, stream="nobody publishes this"))
        await asyncio.to_thread(wait_until, lambda: len(weir.clients()) == 11, 20, "eleven clients")
        yield


@pytest.mark.timeout(180)
def test_answers_are_what_the_document_says(new_weir, folder):
    weir = rtc_weir(new_weir, "play { wait_publisher 5m; }")  # somebody waits for what nobody publishes

    async def scenario():
        async with everybody(weir, folder):
            said = await asyncio.to_thread(schemathesis, weir, folder, "--include-method", "GET", "--exclude-path-regex", ALWAYS_OUT)
            assert int(re.search(r"Tested:\s+(\d+)", said)[1]) >= 20, said
            clients = (await asyncio.to_thread(check, weir, "/api/v1/clients?count=100", "Clients"))["clients"]
            assert sorted(client["type"] for client in clients) == sorted(
                ["rtmp-publish", "webrtc-publish"] + 2 * ["webrtc-play", "flv-play", "ws-flv-play"] + 3 * ["rtmp-play"])
            for client in clients:
                await asyncio.to_thread(check, weir, f"/api/v1/clients/{client['id']}", "OneClient")
                assert (client["tcp"] is None) == (client["protocol"] == "webrtc"), client
                assert (client["play"] is None) == client["publish"], client
            playing = [client["play"] for client in clients if client["play"] and client["name"] in ("livestream", "aio")]
            assert all(play["state"] == "flowing" and 0 <= play["first_frame_ms"] < 30_000 for play in playing), playing
            streams = (await asyncio.to_thread(check, weir, "/api/v1/streams", "Streams"))["streams"]
            for stream in streams:
                await asyncio.to_thread(check, weir, f"/api/v1/streams/{stream['id']}", "OneStream")
            by_name = {stream["name"]: stream for stream in streams}
            for name, transport in (("livestream", "rtmp"), ("aio", "webrtc")):
                stream = by_name[name]
                assert stream["viewers"] == {"rtmp": 1, "flv": 1, "ws-flv": 1, "relay": 0, "ts": 0, "ws-ts": 0, "hls": 0, "dash": 0, "webrtc": 1, "rtsp": 0, "srt": 0, "sip": 0,
                                             "phone": 0, "vod": 0, "jpg": 0}, \
                    stream["viewers"]
                assert stream["publish"]["transport"] == transport and stream["publish"]["ip"] == "127.0.0.1"
                assert stream["video"]["width"] > 0 and stream["video"]["profile"] and stream["video"]["fps"] > 5, stream["video"]
                assert stream["audio"]["sample_rate"] > 0 and stream["audio"]["channel"] > 0, stream["audio"]
            assert by_name["livestream"]["gop"]["frames"] == 50, by_name["livestream"]["gop"]
            for path, schema in (("/api/v1/vhosts", "Vhosts"), ("/api/v1/memory", "Memory"), ("/live.json?history=1", "Live")):
                await asyncio.to_thread(check, weir, path, schema)

    asyncio.run(scenario())


@pytest.mark.timeout(330)
def test_deleting_and_what_a_release_build_has_not(new_weir, folder):
    weir = rtc_weir(new_weir)
    with publisher(weir.rtmp(), folder), HttpFlv(weir.http_port) as player, taken(player.socket):
        weir.wait_live()
        schemathesis(weir, folder, "--include-method", "DELETE", "--exclude-path-regex", ALWAYS_OUT)
        schemathesis(weir, folder, "--include-path-regex", "/leaks/|/valgrind/|/profile$",
                     "--exclude-checks", "not_a_server_error,positive_data_acceptance,negative_data_rejection")


def test_the_document_has_every_route_and_no_other(new_weir):
    weir = rtc_weir(new_weir)
    listed = {"/", "/api/", "/api/v1/"}
    listed |= {"/api/v1/" + name for name in weir.api("/api/v1/")["urls"]}
    listed |= {name for name in weir.api("/")["urls"]}
    documented = {path.partition("/{id}")[0] for path in document(weir)["paths"]}
    bare = {path.rstrip("/") for path in listed}
    assert bare == {path.rstrip("/") for path in documented}
    assert set(weir.api("/api/v1/nothing")["paths"]) >= {path for path in listed if path.startswith("/api/v1/")}
    for urls in (weir.api("/")["urls"], weir.api("/api/v1/")["urls"]):
        assert all(urls.values()), urls


def test_the_page_on_the_api_is_made_of_the_document():
    done = subprocess.run([TOP / "scripts" / "gen-api-docs", "--check"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
