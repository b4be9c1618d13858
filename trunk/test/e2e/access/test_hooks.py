"""HTTP hooks: who is asked and told, in which order, and what an answer does."""

import hashlib
import hmac
import re
import subprocess
import sys
import threading

import pytest

from flv import HttpFlv
from hooks import ACTIONS, HookServer, check_pairs
from hostile import Feed, Peer, command
from media import publisher
from rtc import http as rtc_http, rtc_weir, whep_path, whip_path
from weir import TOP, free_port, wait_until

CLIENTS = 200


@pytest.fixture
def hooks():
    with HookServer() as server:
        yield server


def offer(name):
    return (TOP / "trunk" / "test" / "data" / "sdp" / f"{name}.sdp").read_text()


def refused(peer, name, words=b""):
    """It wants to publish, and is told that it may not, and why."""
    peer.send(command("createStream", 2, None) + command("publish", 3, None, name, "live", stream=1))
    peer.wait_for(b"NetStream.Publish.Denied")
    peer.wait_for(words)


def in_threads(count, work):
    """work(number) in so many threads; gives what went wrong."""
    errors = []

    def run(number):
        try:
            work(number)
        except Exception as error:  # pylint: disable=broad-except
            errors.append((number, repr(error)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return errors


def test_a_hook_server_hears_of_everything(new_weir, folder, hooks):
    weir = new_weir(hooks.config('secret "a long secret";')).start()
    with publisher(weir.rtmp() + "?key=open-sesame", folder):
        weir.wait_live()
        with HttpFlv(weir.http_port, "/live/livestream.flv?user=7") as player:
            player.reader().tags_until(lambda tag: tag.is_key_frame())
    wait_until(lambda: len(hooks.heard()) == 6, 10, f"six events, not {hooks.heard()}")
    check_pairs(hooks)
    first, published, played = hooks.heard()[:3]
    assert [first["action"], published["action"], played["action"]] == ["on_connect", "on_publish", "on_play"]
    assert published["param"] == "?key=open-sesame" and published["stream"] == "livestream" and published["app"] == "live"
    assert published["vhost"] == "__defaultVhost__" and published["stream_url"] == "/live/livestream"
    assert published["tcUrl"].startswith("rtmp://") and published["ip"] == "127.0.0.1"
    assert played["param"] == "?user=7" and played["transport"] == "flv"
    summary = weir.api("/api/v1/summaries")["data"]
    assert published["client_id"] == first["client_id"] and summary["hooks"]["on_play"]["allowed"] == 1
    stopped = next(event for event in hooks.heard() if event["action"] == "on_stop")
    assert stopped["bytes"] > 1000 and stopped["reason"] == "peer_closed" and stopped["duration_ms"] >= 0
    for headers, body in hooks.headers:
        text = headers["X-Weir-Timestamp"].encode() + b"." + body
        wanted = "sha256=" + hmac.new(b"a long secret", text, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(wanted, headers["X-Weir-Signature"])
    assert "sesame" not in weir.log() and "long secret" not in weir.log()


def test_two_hundred_clients_come_and_go(new_weir, folder, hooks):
    weir = rtc_weir(new_weir, hooks.config("timeout 30s;"))  # the hook server has only its share of this process
    whep, whip = offer("chromium-whep"), offer("chromium-whip")

    def client(number):
        kind = number % 5
        if kind == 0:
            with Peer(weir.rtmp_port) as peer:
                peer.publish(f"p{number}")
        elif kind == 1:
            with Peer(weir.rtmp_port) as peer:
                peer.play()
                peer.wait_for(b"Play.Start")
        elif kind == 2:
            with HttpFlv(weir.http_port) as player:
                player.reader().tags_until(lambda tag: True)
        else:
            path, sdp = (whep_path("livestream"), whep) if kind == 3 else (whip_path(f"w{number}"), whip)
            status, headers, text = rtc_http(weir, path, "POST", sdp)
            assert status == 201, (status, text)
            assert rtc_http(weir, headers["Location"], "DELETE")[0] == 200

    feed = Feed(weir.rtmp_port)
    weir.wait_live()
    errors = in_threads(CLIENTS, client)
    feed.stop()
    assert not errors, errors[:5]
    wait_until(lambda: not weir.clients(), 10, "all clients are gone")
    wait_until(lambda: weir.api("/api/v1/summaries")["data"]["hooks"]["queued"] == 0, 10, "everything is told")
    each = CLIENTS // 5
    wanted = {"on_connect": 2 * each + 1, "on_close": 2 * each + 1, "on_publish": 2 * each + 1,
              "on_unpublish": 2 * each + 1, "on_play": 3 * each, "on_stop": 3 * each}
    wait_until(lambda: len(hooks.heard()) >= sum(wanted.values()), 10, "everything is heard")
    check_pairs(hooks)
    counts = {action: hooks.count(action) for action in ACTIONS}
    assert counts == wanted, counts


@pytest.mark.parametrize("name", ["x?vhost=b.example", "secret/x"])
def test_one_vhost_or_app_is_no_way_into_another(new_weir, hooks, name):
    """Both vhosts ask the same server, which was asked about live of a.example only."""
    asks = hooks.config(actions=("on_connect",))
    weir = new_weir(f"vhost a.example {{ {asks} }} vhost b.example {{ {asks} }}").start()
    with Peer(weir.rtmp_port, app="live?vhost=a.example") as peer:
        refused(peer, name)
    wait_until(lambda: "let in to another application or vhost" in weir.log(), 10, "the refusal in the log")
    with Peer(weir.rtmp_port, app="live?vhost=a.example") as peer:
        peer.publish("x")  # its own app
    assert {(event["vhost"], event["app"]) for event in hooks.heard()} == {("a.example", "live")}


def test_a_refusal_reaches_the_client(new_weir, folder, hooks):
    weir = rtc_weir(new_weir, hooks.config(actions=("on_publish", "on_unpublish", "on_play", "on_stop")))
    with publisher(weir.rtmp(), folder):
        weir.wait_live()
        hooks.mode = "refuse"
        with Peer(weir.rtmp_port) as peer:
            peer.play()
            peer.wait_for(b"not on the list")
        with HttpFlv(weir.http_port) as player:
            assert player.status == 403
        status, _, text = rtc_http(weir, whep_path("livestream"), "POST", offer("chromium-whep"))
        assert status == 403 and "not on the list" in text
        status, _, text = rtc_http(weir, whip_path("other"), "POST", offer("chromium-whip"))
        assert status == 403 and "not on the list" in text
        with Peer(weir.rtmp_port) as peer:
            refused(peer, "other", b"not on the list")
        hooks.mode = "allow"
    wait_until(lambda: hooks.count("on_unpublish") == 1, 10, "the publisher's end is told")
    assert hooks.count("on_stop") == 0


def test_a_wrong_address_of_a_hook_is_in_the_log(new_weir, hooks):
    weir = new_weir(hooks.config(actions=("on_play",))).start()
    hooks.mode = "refuse"
    with HttpFlv(weir.http_port) as player:
        assert player.status == 403
    assert "refuses by status" not in weir.log(), "it has said why"
    hooks.mode = "missing"
    with HttpFlv(weir.http_port) as player:
        assert player.status == 403
    weir.wait_log("hook on_play refuses by status 404 alone, without a code: is the address right? url=http://127.0.0.1:" + str(hooks.port))


@pytest.mark.alone  # at its end the server waits 0.4 s for a hook server
def test_kick_takeover_and_the_end_of_the_server(new_weir, folder, hooks):
    weir = new_weir("publish_conflict takeover; " + hooks.config()).start()
    first = Peer(weir.rtmp_port).publish("one")
    second = Peer(weir.rtmp_port).publish("one")
    wait_until(lambda: hooks.count("on_unpublish") == 1, 10, "the first is replaced")
    kicked = Peer(weir.rtmp_port).publish("two")
    client = next(one for one in weir.clients() if one["url"] == "/live/two")
    weir.api(f"/api/v1/clients/{client['id']}", "DELETE")
    wait_until(lambda: hooks.count("on_close") == 2, 10, "two have ended")
    players = [Peer(weir.rtmp_port).play("one") for _ in range(20)]
    wait_until(lambda: next(each for each in weir.streams() if each["name"] == "one")["players"] == 20, 10, "they are let in")
    weir.stop()
    wait_until(lambda: hooks.count("on_stop") == 20 and hooks.count("on_unpublish") == 3, 10, "the rest is told")
    check_pairs(hooks)
    reasons = [event["reason"] for event in hooks.heard() if event["action"] == "on_unpublish"]
    assert reasons == ["replaced", "kicked", "stopping"], reasons
    for peer in (first, second, kicked, *players):
        peer.socket.close()


def test_notifications_wait_for_a_server_that_comes_back(new_weir, folder, hooks):
    weir = new_weir(hooks.config(actions=("on_publish", "on_unpublish"))).start()
    peer = Peer(weir.rtmp_port).publish("one")
    hooks.mode = "error"
    peer.socket.close()
    wait_until(lambda: hooks.count("on_unpublish") >= 2, 10, "it is told a second time")
    hooks.mode = "allow"
    told = lambda: weir.api("/api/v1/summaries")["data"]["hooks"]["on_unpublish"]["told"]
    wait_until(lambda: told() == 1, 30, "it is taken after all")
    events = [event for event in hooks.heard() if event["action"] == "on_unpublish"]
    assert len({event["event_id"] for event in events}) == 1 and events[0] == events[-1], events


def test_the_server_of_the_documentation_works(new_weir, folder):
    text = (TOP / "doc" / "hooks.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.S).group(1)
    port = free_port()
    script = folder / "hook_server.py"
    script.write_text(code.replace("8085", str(port)))
    log = open(folder / "hook_server.log", "wb")
    server = subprocess.Popen([sys.executable, "-u", script], stdout=log, stderr=log)
    try:
        weir = new_weir("http_hooks { " + " ".join(f"{action} http://127.0.0.1:{port}/;" for action in ACTIONS) +
                        ' secret "change this long secret"; }').start()
        wait_until(lambda: subprocess.run(["curl", "-s", f"http://127.0.0.1:{port}/"], check=False,
                                          stdout=subprocess.DEVNULL).returncode == 0, 10, "it listens")
        with Peer(weir.rtmp_port) as peer:
            peer.publish("one?key=letmein")
        with Peer(weir.rtmp_port) as peer:
            refused(peer, "two?key=wrong", b"wrong key")
        wait_until(lambda: b"on_close" in (folder / "hook_server.log").read_bytes(), 10, "it has heard of the end")
        assert weir.api("/api/v1/summaries")["data"]["hooks"]["on_publish"]["refused"] == 1
    finally:
        server.kill()
        server.wait()
        log.close()


def test_https(new_weir, folder, monkeypatch):
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    with HookServer(certificate=(certificate, key)) as hooks:
        weir = new_weir(hooks.config(actions=("on_publish", "on_unpublish"), host="localhost")).start()
        with Peer(weir.rtmp_port) as peer:
            refused(peer, "one", b"out of order")
        assert not hooks.heard()
        weir.wait_log("certificate")
        weir.stop()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        weir.start()
        Peer(weir.rtmp_port).publish("one").socket.close()
        wait_until(lambda: hooks.count("on_unpublish") == 1, 10, "both have come")
        check_pairs(hooks)
