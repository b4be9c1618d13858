"""The addresses of a stream, its picture and its words on the page, in headless Chromium; and that each address that is told
plays."""

import json
import subprocess

import pytest

from browser import Browser
from media import publisher
from test_console import page, shows
from test_page_access import KEY, KEYED, plays
from weir import free_port, wait_until

ROWS = ("Object.fromEntries([...document.querySelectorAll('#addresses-list div')].map((row) => "
        "[row.querySelector('dt').firstChild.textContent.trim(), row.querySelector('code').textContent]))")


def opened(browser, choice="address"):
    """What the dialog tells, by names."""
    browser.evaluate("document.getElementById('addresses').open || document.querySelector('.card button.addresses').click()")
    browser.evaluate(f"(() => {{ const one = document.getElementById('addresses-as'); one.value = '{choice}'; one.onchange(); }})()")
    return browser.evaluate(ROWS)


def everything(new_weir):
    """A server of all protocols."""
    server = new_weir("")
    rtc, rtsp, rtp, srt = free_port(), free_port(), free_port(3) + 1 & ~1, free_port()
    server.config_path.write_text(server.config_path.read_text() +
                                  f"rtc_server {{ enabled on; listen {rtc}; }} rtsp_server {{ listen {rtsp}; rtp_listen {rtp}; }}\n"
                                  f"srt_server {{ listen {srt}; }}\n")
    return server.start()


def codecs(url, *options):
    command = ["ffprobe", "-v", "error", *options, "-show_entries", "stream=codec_name", "-of", "json", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    return sorted({stream["codec_name"] for stream in json.loads(done.stdout or "{}").get("streams", [])}), done.stderr


def test_every_address_that_is_told_plays(new_weir, folder):
    server = everything(new_weir)
    with publisher(server.rtmp("live/one"), folder), page(folder, server.http("/"), server.http("/")) as browser:
        shows(browser, "H264 + AAC")
        told = opened(browser)
        assert list(told) == ["WebRTC (WHEP)", "HLS", "DASH", "HTTP-FLV", "WebSocket-FLV", "HTTP-TS", "RTMP", "RTSP", "SRT", "Picture"]
        assert told["WebSocket-FLV"].startswith("ws://") and told["WebRTC (WHEP)"].endswith("/rtc/v1/whep/?app=live&stream=one")
        for name in ("HLS", "DASH", "HTTP-FLV", "HTTP-TS", "RTMP", "SRT"):
            assert codecs(told[name])[0] == ["aac", "h264"], (name, told[name], codecs(told[name])[1])
        assert codecs(told["RTSP"], "-rtsp_transport", "tcp")[0] == ["aac", "h264"]
        assert codecs(told["Picture"])[0] == ["mjpeg"]
        lines = opened(browser, "ffplay")
        assert lines["RTSP"] == f'ffplay -rtsp_transport tcp "{told["RTSP"]}"' and "WebRTC (WHEP)" not in lines
        assert "SRT" not in opened(browser, "vlc") and opened(browser, "vlc")["HLS"] == f'vlc "{told["HLS"]}"'


def test_a_qr_code_and_a_frame_lead_to_the_player(new_weir, folder):
    server = everything(new_weir)
    with publisher(server.rtmp("live/one"), folder), page(folder, server.http("/"), server.http("/")) as browser:
        shows(browser, "H264 + AAC")
        opened(browser)
        wait_until(lambda: browser.evaluate("document.querySelector('#addresses-code path').getAttribute('d')?.length > 1000"), 10, "a QR code")
        texts = browser.evaluate("[...document.querySelectorAll('#addresses-page code')].map((one) => one.textContent)")
        assert texts[0] == server.http("/?play=live/one&autoplay=1") and "&amp;embed=1&amp;autoplay=1" in texts[1]
        browser.open(server.http("/?play=live/one&embed=1&autoplay=1"))
        plays(browser)
        shown = browser.evaluate("[...document.querySelectorAll('h1, h2, .head, .controls, #other')].filter((one) => one.checkVisibility()).length")
        assert shown == 0, "the player alone"
        assert browser.evaluate("(() => { const box = document.querySelector('video').getBoundingClientRect();"
                                "return box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight + 1; })()")


def test_a_card_has_a_picture_until_it_plays_and_says_how_it_does(new_weir, folder):
    server = everything(new_weir)
    with publisher(server.rtmp("live/one"), folder), page(folder, server.http("/"), server.http("/")) as browser:
        wait_until(lambda: browser.evaluate("document.querySelector('.poster')?.naturalWidth > 0"), 20, "the newest key frame")
        browser.evaluate("document.querySelector('.card button.play').click()")
        plays(browser)
        wait_until(lambda: " s behind, WebRTC, 360p" in browser.evaluate("document.querySelector('.words').textContent"), 15, "in words")
        assert browser.evaluate("document.querySelector('.poster').hidden")
        bars = "(() => { const one = document.querySelector('video'); return one.clientWidth / one.clientHeight * one.videoHeight / one.videoWidth; })()"
        assert browser.evaluate(bars) == pytest.approx(1, abs=0.02), "no bars beside the picture"
        muted = browser.evaluate("document.querySelector('video').muted")
        browser.evaluate("document.querySelector('.card .player').dispatchEvent(new KeyboardEvent('keydown', { key: 'm', bubbles: true }))")
        assert browser.evaluate("document.querySelector('video').muted") is not muted, "a key turns the sound on and off"


def test_a_stream_with_a_key_has_no_picture_and_no_key_in_its_addresses(new_weir, folder):
    server = new_weir("")
    server.config_path.write_text(server.config_path.read_text() + KEYED)
    server.start()
    with publisher(server.rtmp("live/one"), folder), Browser(folder) as browser:
        browser.open(server.http(f"/?play=live/one&key={KEY}&transport=http&autoplay=1"))
        plays(browser)
        opened(browser)
        assert KEY not in browser.evaluate("document.getElementById('addresses').innerText")
        assert "needs a key" in browser.evaluate("document.getElementById('addresses-key').innerText")
    assert 'weir_refused_total{reason="key_missing"} 0' in server.metrics(), "nothing was asked for without the key"
