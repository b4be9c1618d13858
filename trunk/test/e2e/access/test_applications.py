"""Rules of one application hold for every protocol, and no spelling leads around them."""

import subprocess

import pytest

from media import SAMPLE
from rtc import http, rtc_weir

OFFER = "v=0\r\n"  # whoever is let in hears that it is none

CONFIG = """
security { deny publish all; allow play all; }
application live { security { allow publish 127.0.0.1; } }
application vip { security { publish_key pub-secret; play_key play-secret; } }
"""


def publishes(url):
    done = subprocess.run(["ffmpeg", "-hide_banner", "-loglevel", "warning", "-nostdin", "-i", str(SAMPLE), "-t", "1",
                           "-c", "copy", "-f", "flv", url], capture_output=True, timeout=60)
    return done.returncode == 0


@pytest.mark.parametrize("path, good", [
    ("live/a", True), ("vip/a", False), ("vip/a?key=pub-secret", True), ("vip/room/a", False), ("vip//a", False),
    ("VIP/a", False), ("VIP/a?key=pub-secret", False), ("other/a", False), ("vip/a?key=play-secret", False),
])
def test_publishing_by_rtmp(new_weir, path, good):
    server = rtc_weir(new_weir, CONFIG)
    assert publishes(server.rtmp(path)) == good, server.log()


@pytest.fixture
def server(new_weir):
    return rtc_weir(new_weir, CONFIG)


def test_whip_whep_and_flv(server):
    def whip(app, **query):
        more = "".join(f"&{name}={value}" for name, value in query.items())
        return http(server, f"/rtc/v1/whip/?app={app}&stream=a{more}", body=OFFER)[0]

    def whep(app, **query):
        more = "".join(f"&{name}={value}" for name, value in query.items())
        return http(server, f"/rtc/v1/whep/?app={app}&stream=a{more}", body=OFFER)[0]

    def flv(path):
        return http(server, path, method="HEAD")[0]

    assert whip("live") == 422, "let in, and told that this is no offer"
    assert whip("other") == 403
    for app in ("vip", "vip/room", "vip//", "/vip", "VIP", "vip%2froom"):
        assert whip(app) == 403, app
        assert whep(app) == 403, app
    assert whip("vip", key="pub-secret") == 422
    assert whep("vip", key="play-secret") == 404, "let in, and nobody publishes"
    assert whep("live") == 404
    assert http(server, "/rtc/v1/whip/?app=vi&stream=p/a", body=OFFER)[0] == 403, "app vi/p, where nobody may publish"
    assert http(server, "/rtc/v1/whep/?app=&stream=vip/a", body=OFFER)[0] in (400, 422), "no application"
    assert flv("/live/a.flv") == 404
    for path in ("/vip/a.flv", "/vip/room/a.flv", "//vip/a.flv", "/vip//a.flv", "/VIP/a.flv", "/%76ip/a.flv"):
        assert flv(path) in (403, 404), path
    assert flv("/vip/a.flv") == 403
    assert flv("/vip//a.flv") == 403
    assert flv("/VIP/a.flv") == 403
    assert flv("/vip/a.flv?key=play-secret") == 404


def test_a_reload_changes_the_rules_of_an_application(server):
    text = server.config_path.read_text()
    server.config_path.write_text(text.replace("deny publish all; allow play all;", "deny publish all; deny play all;"))
    report = server.api("/api/v1/reload", method="POST")
    assert [change["directive"] for change in report["data"]["changes"]] == ["security"], report
    assert http(server, "/live/a.flv", method="HEAD")[0] == 404, "its own rules say nothing of playing"
    assert http(server, "/other/a.flv", method="HEAD")[0] == 403
    server.config_path.write_text(text.replace("application live {", "application live { enabled off;"))
    report = server.api("/api/v1/reload", method="POST")
    changed = {(change["directive"], change["vhost"]) for change in report["data"]["changes"]}
    assert ("enabled", "__defaultVhost__/live") in changed, report
    assert http(server, "/live/a.flv", method="HEAD")[0] == 403
