"""Simulcast: Chromium publishes three sizes of its fake camera; players get the one they ask for."""

import json

from browser import FLAGS, Browser
from media import run
from weir import free_port, wait_until

import pytest

pytestmark = pytest.mark.timeout(180)

FAKE_DEVICES = ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream=fps=20"]

PAGE = r"""
window.exchange = async (pc, url) => {
  await pc.setLocalDescription(await pc.createOffer());
  const answer = await fetch(url, {method: 'POST', headers: {'Content-Type': 'application/sdp'},
                                   body: pc.localDescription.sdp});
  const sdp = await answer.text();
  if (answer.status != 201) return answer.status + ' ' + sdp;
  await pc.setRemoteDescription({type: 'answer', sdp});
  return sdp;
};
window.publish = async (codec) => {
  const pc = window.publisher = new RTCPeerConnection();
  const media = await navigator.mediaDevices.getUserMedia({video: {width: 1280, height: 720}});
  const sender = pc.addTransceiver(media.getVideoTracks()[0], {direction: 'sendonly', streams: [media], sendEncodings: [
    {rid: 'h', maxBitrate: 1500000}, {rid: 'm', scaleResolutionDownBy: 2, maxBitrate: 500000},
    {rid: 'l', scaleResolutionDownBy: 4, maxBitrate: 150000}]});
  const codecs = RTCRtpSender.getCapabilities('video').codecs.filter((c) => c.mimeType != 'video/rtx');
  const wanted = codecs.filter((c) => c.mimeType == codec);
  sender.setCodecPreferences([...wanted, ...RTCRtpSender.getCapabilities('video').codecs.filter((c) => c.mimeType == 'video/rtx')]);
  return await exchange(pc, '/rtc/v1/whip/?app=live&stream=cam');
};
window.players = {};
window.play = async (layer) => {
  const pc = new RTCPeerConnection();
  pc.addTransceiver('video', {direction: 'recvonly'});
  const video = document.createElement('video');
  video.autoplay = video.muted = true;
  video.srcObject = new MediaStream();
  pc.ontrack = (event) => video.srcObject.addTrack(event.track);
  document.body.append(video);
  players[layer] = {pc, video};
  return await exchange(pc, '/rtc/v1/whep/?app=live&stream=cam&layer=' + layer);
};
window.seen = async () => {
  const out = {};
  for (const [layer, {pc, video}] of Object.entries(players)) {
    const one = out[layer] = {width: video.videoWidth, state: pc.connectionState};
    (await pc.getStats()).forEach((s) => {
      if (s.type == 'inbound-rtp') Object.assign(one, {frames: s.framesDecoded, lost: s.packetsLost, key: s.keyFramesDecoded,
                                                        dropped: s.framesDropped, freezes: s.freezeCount, pli: s.pliCount});
    });
  }
  return JSON.stringify(out);
};
window.sent = async () => {
  const out = {};
  (await publisher.getStats()).forEach((s) => {
    if (s.type == 'outbound-rtp') out[s.rid] = {width: s.frameWidth, frames: s.framesEncoded, pli: s.pliCount, active: s.active};
  });
  return JSON.stringify(out);
};
window.set_active = async (rid, active) => {
  const sender = publisher.getSenders()[0], parameters = sender.getParameters();
  for (const encoding of parameters.encodings) if (encoding.rid == rid) encoding.active = active;
  await sender.setParameters(parameters);
};
"""


@pytest.fixture
def weir(new_weir):
    return new_weir(f"rtc_server {{ enabled on; listen 127.0.0.1:{free_port()}; }}").start()


@pytest.fixture
def browser(weir, folder, monkeypatch):
    import browser as module
    monkeypatch.setattr(module, "FLAGS", FLAGS + FAKE_DEVICES)
    with Browser(folder) as opened:
        opened.open(weir.http("/"))
        wait_until(lambda: opened.evaluate("location.port && document.body ? 1 : 0"), 20, "the page is there")
        opened.evaluate(PAGE)
        yield opened


def seen(browser):
    return json.loads(browser.evaluate("seen()"))


def sent(browser):
    return json.loads(browser.evaluate("sent()"))


def widths(browser):
    return {layer: one["width"] for layer, one in seen(browser).items()}


def frames(browser):
    """Decoded so far. Chromium's statistics come late: a picture may be on the screen before its receiver has any."""
    return {layer: one.get("frames", 0) for layer, one in seen(browser).items()}


def all_layers_flow(browser):
    return all(layer.get("frames", 0) > 20 for layer in sent(browser).values())


@pytest.mark.parametrize("codec", ["video/H264", "video/VP8"])
@pytest.mark.works_with("Chromium", publishes="WebRTC", codecs="H.264, VP8", checked="simulcast of three sizes")
@pytest.mark.works_with("Chromium", plays="WebRTC", codecs="H.264, VP8", checked="a size of its choice")
def test_each_player_gets_its_layer(weir, browser, codec):
    answer = browser.evaluate(f"publish('{codec}')")
    assert "a=simulcast:recv h;m;l" in answer, answer
    wait_until(lambda: all_layers_flow(browser), 30, f"Chromium sends all layers: {sent(browser)}")
    assert "no such layer; this stream has: auto, h, m, l" in browser.evaluate("play('x')")
    browser.evaluate("delete players.x")
    for layer in ("h", "m", "l", "auto"):
        assert "m=video" in browser.evaluate(f"play('{layer}')")
    expected = {"h": 1280, "m": 640, "l": 320, "auto": 1280}
    try:
        wait_until(lambda: widths(browser) == expected, 40, "every player shows its size")
    except AssertionError as error:
        raise AssertionError(f"{error}; players {seen(browser)}; publisher {sent(browser)}")
    before = frames(browser)
    wait_until(lambda: all(now > before[layer] + 20 for layer, now in frames(browser).items()), 20, "pictures go on")
    assert all(one["lost"] <= 0 for one in seen(browser).values()), seen(browser)
    # RTMP sees the best one.
    if codec == "video/H264":
        shown = run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=width", "-of", "csv=p=0",
                     weir.rtmp("live/cam")], 40).decode().strip()
        assert shown.startswith("1280"), shown


def test_players_of_a_layer_that_stops_go_on_with_another(weir, browser):
    browser.evaluate("publish('video/H264')")
    wait_until(lambda: all_layers_flow(browser), 30, f"Chromium sends all layers: {sent(browser)}")
    for layer in ("h", "auto"):
        browser.evaluate(f"play('{layer}')")
    wait_until(lambda: widths(browser) == {"h": 1280, "auto": 1280}, 40, "the best layer plays")
    browser.evaluate("set_active('h', false)")
    wait_until(lambda: widths(browser) == {"h": 640, "auto": 640}, 40, "both go on with the next layer")
    wait_until(lambda: (weir.streams()[0]["video"] or {}).get("width") == 640, 20, "so does everybody else")
    browser.evaluate("set_active('h', true)")
    wait_until(lambda: widths(browser) == {"h": 1280, "auto": 1280}, 60, "and come back")
    wait_until(lambda: (weir.streams()[0]["video"] or {}).get("width") == 1280, 20, "so does everybody else")
