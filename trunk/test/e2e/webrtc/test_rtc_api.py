"""Signalling of WebRTC as programs speak it, and what an operator sees of it. Media is another test's subject."""

import json
import urllib.error
import urllib.request

import pytest

from browser import Browser
from media import publisher
from weir import TOP, free_port, wait_until

RTC = "rtc_server { enabled on; listen %d; tcp off; %s }"  # a browser sends from an interface of its choice
WITHOUT_B = ("-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "copy")
OFFERS = TOP / "trunk/test/data/sdp"
PLAY = """(async () => {
    const pc = window.pc = new RTCPeerConnection();
    pc.addTransceiver('audio', {direction: 'recvonly'});
    pc.addTransceiver('video', {direction: 'recvonly'});
    await pc.setLocalDescription(await pc.createOffer());
    const answer = await fetch('/live/livestream/whep', {method: 'POST', body: pc.localDescription.sdp,
        headers: {'Content-Type': 'application/sdp', Authorization: 'Bearer any'}});
    if (answer.status != 201) return answer.status + ' ' + await answer.text();
    await pc.setRemoteDescription({type: 'answer', sdp: await answer.text()});
    return answer.headers.get('Location') + ' ' + answer.headers.get('Link');
})()"""


def ask(port, method, path, body="", headers=None):
    """(status, headers, body)"""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body.encode() or None, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def offer(name):
    return (OFFERS / f"{name}.sdp").read_bytes().decode()


@pytest.fixture
def rtc(new_weir):
    return new_weir(RTC % (free_port(), "ice_server turn:turn.example.net me secret;")).start()


def kinds(weir):
    return {each["kind"]: each for each in weir.api("/api/v1/memory")["data"]["sessions"]}


def test_whip_is_answered_and_ended(rtc):
    status, headers, body = ask(rtc.http_port, "POST", "/rtc/v1/whip/?app=live&stream=cam", offer("chromium-whip"),
                                {"Content-Type": "application/sdp"})
    assert status == 201 and "a=ice-lite" in body
    assert headers["Link"] == '<turn:turn.example.net>; rel="ice-server"; username="me"; credential="secret"; ' \
                              'credential-type="password"'
    client = rtc.clients()[0]
    assert client["protocol"] == "webrtc" and client["link"]["state"] == "connecting" and client["name"] == "cam"
    assert kinds(rtc)["webrtc-connecting"]["sessions"] == 1
    location, tag = headers["Location"], headers["ETag"]
    fragment = {"Content-Type": "application/trickle-ice-sdpfrag"}
    restart = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n"
    assert ask(rtc.http_port, "PATCH", location, restart, fragment)[0] == 428
    assert ask(rtc.http_port, "PATCH", location, "a=end-of-candidates\r\n", fragment)[0] == 204, "as whip-whep 1.2.0 sends it"
    assert ask(rtc.http_port, "PATCH", location, restart, {**fragment, "If-Match": '"x"'})[0] == 412
    status, headers, _ = ask(rtc.http_port, "PATCH", location, restart, {**fragment, "If-Match": "*"})
    assert status == 200 and headers["ETag"] != tag
    assert ask(rtc.http_port, "DELETE", location)[0] == 200
    assert ask(rtc.http_port, "DELETE", location)[0] == 404
    assert rtc.clients() == [] and "secret" not in rtc.log()


def test_clients_of_srs_are_understood_on_both_ports(rtc):
    body = {"api": "x", "tid": "1", "streamurl": "webrtc://127.0.0.1/live/a?key=hidden", "clientip": None,
            "sdp": offer("chromium-whip")}
    for port, path in ((rtc.api_port, "/rtc/v1/publish/"), (rtc.http_port, "/rtc/v1/publish")):
        status, _, text = ask(port, "POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = json.loads(text)
        assert status == 200 and answer["code"] == 0 and "a=ice-lite" in answer["sdp"], text
        assert ask(port, "DELETE", f"/rtc/v1/session/{answer['sessionid']}")[0] == 200
    for wrong in ({}, {**body, "sdp": "v=1"}, {**body, "streamurl": "live"}):
        status, _, text = ask(rtc.api_port, "POST", "/rtc/v1/publish/", json.dumps(wrong))
        assert status == 200 and json.loads(text)["code"] == 400 and json.loads(text)["error"]
    assert "hidden" not in rtc.log()


def test_candidates_come_from_the_environment(new_weir, monkeypatch):
    port = free_port()
    monkeypatch.setenv("CANDIDATE", "192.0.2.9")
    weir = new_weir(RTC % (port, "candidate 192.0.2.1;")).start()
    weir.wait_log(f"webrtc candidates 192.0.2.1:{port}/udp")
    assert "from=configuration" in weir.log()
    monkeypatch.setenv("WEIR_CANDIDATE", "192.0.2.7, 192.0.2.8")
    weir = new_weir(RTC % (free_port(), "candidate 192.0.2.1;"), "second").start()
    weir.wait_log("webrtc candidates")
    log = weir.log()
    assert "192.0.2.7:" in log and "192.0.2.8:" in log and "192.0.2.1:" not in log and "from=WEIR_CANDIDATE" in log


def test_a_player_in_a_browser_is_shown_and_kicked(rtc, folder):
    with publisher(rtc.rtmp(), folder, output=WITHOUT_B):
        rtc.wait_live()
        idle = kinds(rtc)
        assert idle["webrtc-play"]["sessions"] == 0 and idle["webrtc-play"]["bytes"] == 0
        with Browser(folder) as browser:
            browser.open(rtc.http("/"))
            found = browser.evaluate(PLAY)
            assert found.startswith("/rtc/v1/session/") and "turn.example.net" in found, "readable by a page"

            def connected():
                client = next((each for each in rtc.clients() if each["protocol"] == "webrtc"), None)
                return client if client and client["link"]["packets"] > 50 and client["link"]["rtt_ms"] is not None else None
            client = wait_until(connected, 20, "the browser plays and reports")
            link = client["link"]
            assert client["type"] == "webrtc-play" and link["state"] == "connected" and link["transport"] == "udp"
            assert link["remote"] and link["local"] and link["loss"] == 0 and link["estimate_kbps"] > 0
            stream = rtc.streams()[0]
            assert stream["players_webrtc"] == 1 and stream["players"] == 1
            assert stream["video"]["width"] > 0 and stream["video"]["profile"]
            play = kinds(rtc)["webrtc-play"]
            assert play["sessions"] == 1 and all(play["parts"][part] > 0 for part in ("ice", "dtls", "srtp", "media"))
            held = {each["subsystem"]: each["bytes"] for each in rtc.api("/api/v1/memory")["data"]["subsystems"]}
            assert held["rtp_history"] > 10_000 and held["ice"] > 0 and held["srtp"] > 0
            metrics = rtc.metrics()
            assert "\nweir_rtc_sessions 1\n" in metrics and "\nweir_rtc_udp_kernel_drops_total 0\n" in metrics
            assert 'stream="livestream"} 1\n' in metrics.split("weir_stream_webrtc_players{", 1)[1]
            wait_until(lambda: "rtc sessions=1 new=1 " in rtc.log(), 30, "the periodic line")
            assert rtc.api(f"/api/v1/clients/{client['id']}", "DELETE")["code"] == 0
            wait_until(lambda: browser.evaluate("pc.connectionState") != "connected", 20, "the browser hears of the end")
        wait_until(lambda: kinds(rtc)["webrtc-play"]["sessions"] == 0, 15, "its memory is gone")
