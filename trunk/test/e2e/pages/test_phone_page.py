"""The phone page: Chromium is a telephone, calls baresip and is called by it."""

import json
import struct
import wave

import pytest

import rtc
from browser import Browser
from sip import SAID_HZ, Phone, sip_weir
from weir import wait_until

USERS = "user alice secret; user bob geheim; phone_page on; dial 100 live/stage; conference 300 talk/round; extension 201 bob;"


@pytest.fixture
def phone_weir(new_weir):
    """Nobody may publish to it, but for the lines."""
    rtc_port = rtc.free_udp_port()
    return sip_weir(new_weir, USERS, top=f"rtc_server {{ enabled on; listen 127.0.0.1:{rtc_port}; candidate 127.0.0.1; }} "
                                         "vhost __defaultVhost__ { security { deny publish all; } }")


def line(browser):
    return json.loads(browser.evaluate("""JSON.stringify({state: weirPhone.state, message: weirPhone.message, call: weirPhone.call,
        entries: weirPhone.entries, error: document.getElementById('error').hidden ? '' : document.getElementById('error').textContent,
        publisher: weirPhoneMedia.publisher.state, local: weirPhone.local?.app, remote: weirPhone.remote?.secret})"""))


def log_in(browser, server, user="alice", password="secret"):
    browser.open(server.http("/phone.html"))
    wait_until(lambda: browser.evaluate("Boolean(window.weirPhone)"), 20, "the page is there")
    browser.evaluate(f"""(() => {{
        document.getElementById('user').value = '{user}';
        document.getElementById('password').value = '{password}';
        document.getElementById('open').click();
    }})()""")


def wait_line(browser, state="ready"):
    return wait_until(lambda: (now := line(browser))["state"] == state and now, 20, f"the line is {state}: {line(browser)}")


def wait_call(browser, state):
    return wait_until(lambda: (now := line(browser))["call"] and now["call"]["state"] == state and now, 20, f"a call is {state}")


def click(browser, element):
    browser.evaluate(f"document.getElementById('{element}').click()")


def heard_hz(browser):
    """The loudest frequency of what the page plays; 0 while it plays nothing."""
    return browser.evaluate("""(() => {
        const tracks = window.weirPhoneMedia.engine?.media.getAudioTracks() ?? [];
        if (!tracks.length) return 0;
        if (window.ear?.track !== tracks[0]) {
            const context = new AudioContext(), analyser = context.createAnalyser();
            analyser.fftSize = 4096;
            context.createMediaStreamSource(new MediaStream([tracks[0]])).connect(analyser);
            window.ear = {track: tracks[0], context, analyser};
        }
        const {analyser, context} = window.ear, bins = new Float32Array(analyser.frequencyBinCount);
        analyser.getFloatFrequencyData(bins);
        const best = bins.indexOf(Math.max(...bins));
        return bins[best] > -60 ? best * context.sampleRate / analyser.fftSize : 0;
    })()""")


def wait_tone(browser, hz=SAID_HZ):
    wait_until(lambda: abs(heard_hz(browser) - hz) < 30, 20, f"the page hears {hz} Hz, not {heard_hz(browser)}; {line(browser)}")


def loudness(path):
    """The greatest mean square of a tenth of a second. Chromium's false microphone beeps twice a second."""
    with wave.open(str(path), "rb") as file:
        channels, frames, step = file.getnchannels(), file.getnframes(), file.getframerate() // 10
        samples = struct.unpack(f"<{frames * channels}h", file.readframes(frames))[::channels]
    return max((sum(value * value for value in samples[at:at + step]) / step for at in range(0, len(samples) - step, step)), default=0)


def wait_said(server, seconds=2):
    """For so long the phone is told what the page says."""
    def said():
        return [client["send_bytes"] for client in server.clients() if (client["protocol"], client["role"]) == ("sip", "player")]
    wait_until(lambda: any(count > seconds * 8_600 for count in said()), 20 + seconds, "bob is told what the page hears")


def bob_of(folder, server, **more):
    domain = f"127.0.0.1:{server.sip_port}"
    return Phone(folder, user="bob", password="geheim", domain=domain, regint=60, name="bob", **more)


def wait_registered(server, count):
    wait_until(lambda: server.api("/api/v1/summaries")["data"]["sip"]["registered"] >= count, 20, f"{count} phones are registered")


def wait_nothing(server):
    wait_until(lambda: not [stream for stream in server.api("/api/v1/streams/")["streams"] if stream["app"].startswith("phone/")], 20,
               "the streams of the call have ended")


def test_the_page_calls_a_phone(phone_weir, folder):
    with bob_of(folder, phone_weir, console=True) as bob, Browser(folder) as browser:
        wait_registered(phone_weir, 1)
        log_in(browser, phone_weir)
        now = wait_line(browser)
        wait_until(lambda: line(browser)["entries"] is not None, 20, "the list is there")
        entries = {entry["number"]: entry for entry in line(browser)["entries"]}
        assert set(entries) == {"100", "300", "201"}, entries
        assert entries["201"] == {"number": "201", "kind": "user", "name": "bob", "here": True} and not entries["100"]["here"], entries
        assert now["remote"] not in phone_weir.log() and "secret" not in phone_weir.log()

        browser.evaluate("[...document.querySelectorAll('#book button')].find((one) => one.textContent === 'Call 201').click()")
        wait_call(browser, "talking")
        wait_tone(browser)
        wait_said(phone_weir)
        # Nobody else hears the call, or sees it in the page's list of streams.
        assert not json.loads(rtc.http(phone_weir, "/live.json", "GET")[2])["streams"]
        for stream in ("local", "remote"):
            assert rtc.http(phone_weir, f"/{now['local']}/{stream}.flv", "GET")[0] == 403
            assert rtc.http(phone_weir, f"/{now['local']}/{stream}.flv?key=guess", "GET")[0] == 403

        browser.evaluate("[...document.querySelectorAll('#keys button')].find((one) => one.textContent === '5').click()")
        wait_until(lambda: "received event: '5'" in bob.text(), 20, "bob hears a key")
        click(browser, "hold")
        wait_until(lambda: line(browser)["call"]["held"], 20, "on hold")
        click(browser, "hold")
        wait_tone(browser)
        click(browser, "bye")
        wait_until(lambda: line(browser)["call"] is None and line(browser)["publisher"] == "idle", 20, "it has ended here")
        wait_nothing(phone_weir)
        # Again, and bob hangs up.
        browser.evaluate("document.getElementById('to').value = 'bob'; document.querySelector('#dial button').click()")
        wait_call(browser, "talking")
        wait_tone(browser)
        wait_said(phone_weir)
        bob.type("/hangup")
        wait_until(lambda: line(browser)["call"] is None, 20, "bob has hung up")
        assert not browser.console, browser.console
    wait_nothing(phone_weir)
    assert loudness(bob.heard()) > 100_000, "bob hears the page's microphone"


def test_the_page_is_called(phone_weir, folder):
    with Browser(folder) as browser:
        log_in(browser, phone_weir)
        wait_line(browser)
        with bob_of(folder, phone_weir, commands=[f"/dial sip:alice@127.0.0.1:{phone_weir.sip_port}"]) as bob:
            now = wait_call(browser, "incoming")
            assert now["call"]["peer"] == "bob", now
            click(browser, "accept")
            wait_call(browser, "talking")
            wait_tone(browser)
            wait_until(lambda: line(browser)["publisher"] == "live", 20, "the page is heard")
            wait_said(phone_weir, 10)
            wait_until(lambda: browser.evaluate("document.getElementById('remote').currentTime") > 8, 20, "the page plays")
            assert phone_weir.log().count("play stream=/phone/") == 2, "the page's player goes on"
        wait_until(lambda: line(browser)["call"] is None, 20, "bob has gone")
        assert loudness(bob.heard()) > 100_000
        # Rejected; and given up by the caller.
        (folder / "more").mkdir()
        with bob_of(folder / "more", phone_weir, commands=[f"/dial sip:alice@127.0.0.1:{phone_weir.sip_port}"], console=True) as bob:
            wait_call(browser, "incoming")
            click(browser, "reject")
            wait_until(lambda: "486" in bob.text() and line(browser)["call"] is None, 20, "bob is told")
            bob.type(f"/dial sip:alice@127.0.0.1:{phone_weir.sip_port}")
            wait_call(browser, "incoming")
            bob.type("/hangup")
            wait_until(lambda: line(browser)["call"] is None, 20, "the caller has given up")
        # Leaving the page ends the line.
        browser.open("about:blank")
        def sip():
            return phone_weir.api("/api/v1/summaries")["data"]["sip"]
        wait_until(lambda: sip()["phones"] == 0 and sip()["lines"] == 0, 20, "the page and its line have gone")


def test_a_wrong_password_and_a_second_page(phone_weir, folder):
    with Browser(folder) as browser:
        log_in(browser, phone_weir, password="guess")
        now = wait_line(browser, "failed")
        assert "wrong user or password" in now["error"], now
        log_in(browser, phone_weir)
        wait_line(browser)
        (folder / "second").mkdir()
        with Browser(folder / "second") as second:
            log_in(second, phone_weir)
            wait_line(second)
            now = wait_line(browser, "failed")
            assert "another" in now["error"], now
            assert line(second)["state"] == "ready"


def test_without_the_directive_the_page_says_so(new_weir, folder):
    server = sip_weir(new_weir, "user alice secret;")
    with Browser(folder) as browser:
        log_in(browser, server)
        now = wait_line(browser, "waiting")
        assert "phone_page on" in now["error"], now
