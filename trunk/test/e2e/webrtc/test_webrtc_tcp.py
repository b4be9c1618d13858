"""WebRTC where no UDP gets through: Chromium gets an answer whose UDP candidates the page has taken out."""

import json
import re

from browser import FLAGS, Browser
from media import publisher
from weir import free_port, wait_until

import pytest

FAKE_DEVICES = ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]

# Without B-frames, which WebRTC cannot show.
ENCODE = ("-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "25", "-b:v", "800k", "-c:a", "copy")

TCP_ONLY = r"""
window.exchange = async (pc, url) => {
  await pc.setLocalDescription(await pc.createOffer());
  const answer = await fetch(url, {method: 'POST', headers: {'Content-Type': 'application/sdp'},
                                   body: pc.localDescription.sdp});
  const sdp = await answer.text();
  if (answer.status != 201) throw new Error(answer.status + ' ' + sdp);
  const lines = sdp.split('\r\n').filter((line) => !/^a=candidate:\S+ \d+ udp /i.test(line));
  await pc.setRemoteDescription({type: 'answer', sdp: lines.join('\r\n')});
  return sdp;
};
window.figures = async (pc) => {
  const out = {state: pc.connectionState};
  const stats = await pc.getStats();
  stats.forEach((s) => {
    if (s.type == 'inbound-rtp') out['in_' + s.kind] = {
        frames: s.framesDecoded, samples: s.totalSamplesReceived, lost: s.packetsLost, packets: s.packetsReceived};
    if (s.type == 'outbound-rtp') out['out_' + s.kind] = {packets: s.packetsSent};
    if (s.type == 'candidate-pair' && s.nominated) {
      const local = stats.get(s.localCandidateId), remote = stats.get(s.remoteCandidateId);
      out.pair = {local: local && local.protocol, remote: remote && remote.protocol};
    }
  });
  return JSON.stringify(out);
};
"""

PLAY = """(async () => {
  const pc = window.pc = new RTCPeerConnection();
  pc.addTransceiver('audio', {direction: 'recvonly'});
  pc.addTransceiver('video', {direction: 'recvonly'});
  const video = document.createElement('video');
  video.autoplay = video.muted = true;
  video.srcObject = new MediaStream();
  pc.ontrack = (event) => video.srcObject.addTrack(event.track);
  document.body.append(video);
  return await exchange(pc, '/rtc/v1/whep/?app=live&stream=%s');
})()"""

PUBLISH = """(async () => {
  const pc = window.pc = new RTCPeerConnection();
  const media = await navigator.mediaDevices.getUserMedia({audio: true, video: {width: 640, height: 360}});
  for (const track of media.getTracks()) pc.addTransceiver(track, {direction: 'sendonly', streams: [media]});
  return await exchange(pc, '/rtc/v1/whip/?app=live&stream=%s');
})()"""


@pytest.fixture
def browser(folder, monkeypatch):
    import browser as module
    monkeypatch.setattr(module, "FLAGS", FLAGS + FAKE_DEVICES)
    with Browser(folder) as opened:
        yield opened


def figures(browser):
    return json.loads(browser.evaluate("figures(pc)"))


def open_page(browser, weir):
    browser.open(weir.http("/"))
    wait_until(lambda: browser.evaluate("location.port && document.body ? 1 : 0"), 20, "the page is there")
    browser.evaluate(TCP_ONLY)


@pytest.fixture
def weir(new_weir):
    return new_weir(f"rtc_server {{ enabled on; listen 127.0.0.1:{free_port()}; }}").start()


@pytest.mark.works_with("Chromium", plays="WebRTC", codecs="H.264, Opus", checked="by TCP")
def test_plays_over_tcp(weir, folder, browser):
    with publisher(weir.rtmp(), folder, output=ENCODE):
        weir.wait_live()
        open_page(browser, weir)
        sdp = browser.evaluate(PLAY % "livestream")
        kinds = re.findall(r"a=candidate:\S+ 1 (udp|tcp) ", sdp)
        assert "tcp" in kinds and kinds == sorted(kinds, reverse=True), "UDP first, then TCP"
        wait_until(lambda: figures(browser).get("in_video", {}).get("frames", 0) > 50, 30, "pictures come over TCP")
        wait_until(lambda: figures(browser).get("in_audio", {}).get("samples", 0) > 48000, 30, "and sound")
        seen = figures(browser)
        assert seen["pair"]["remote"] == "tcp", seen
        assert seen["in_video"]["lost"] == 0, "TCP loses nothing"


@pytest.mark.works_with("Chromium", publishes="WebRTC", codecs="H.264, Opus", checked="by TCP")
def test_publishes_over_tcp(weir, folder, browser):
    open_page(browser, weir)
    browser.evaluate(PUBLISH % "camera")
    weir.wait_live("camera")
    assert figures(browser)["pair"]["remote"] == "tcp", figures(browser)
    before = weir.streams()[0]["frames"]
    wait_until(lambda: weir.streams()[0]["frames"] > before + 30, 20, "pictures come over TCP")
