// Whether a stream can be played at all over each transport, by what the server's list says of it and what this browser
// decodes: known before anything is asked for, so that nothing has to fail first.

// Of codecs that not every browser has: a name for people, the type for Media Source Extensions, the name in RTP.
const CODECS = {
  HEVC: { name: 'H.265 (HEVC)', types: ['hvc1.1.6.L93.B0', 'hev1.1.6.L93.B0'], rtp: 'video/h265' },
  AV1: { name: 'AV1', types: ['av01.0.05M.08'], rtp: 'video/av1' },
  VP9: { name: 'VP9', types: ['vp09.00.31.08'], rtp: 'video/vp9' },
  VP8: { name: 'VP8', types: null, rtp: 'video/vp8' },  // FLV players of browsers have none
};

function decodesFiles({ types }) {
  const source = window.ManagedMediaSource ?? window.MediaSource;
  return !source || (types ?? []).some((type) => source.isTypeSupported(`video/mp4; codecs="${type}"`));
}

function decodesRtp({ rtp }) {
  const codecs = window.RTCRtpReceiver?.getCapabilities?.('video')?.codecs ?? [];
  return codecs.length === 0 || codecs.some((codec) => codec.mimeType.toLowerCase() === rtp);
}

// { webrtc, http, ws, hls }: a sentence that says why this browser cannot; missing where it can be tried. And `refused`: why the
// server would refuse it by WebRTC, which may change. `live`: of live.json, null: not known.
export function unfitness(live) {
  const unfit = {};
  const codec = CODECS[live?.video];
  if (live?.webrtc?.playable === false) {
    unfit.refused = `This stream cannot be played by WebRTC: ${live.webrtc.why}.`;
  }
  if (codec && !decodesRtp(codec)) {
    unfit.webrtc = `This browser has no ${codec.name} for WebRTC.`;
  }
  if (codec && !decodesFiles(codec)) {
    unfit.http = unfit.ws = unfit.hls = `This browser cannot play ${codec.name}, the codec of this stream. ` +
      'Other browsers may (Safari, Chrome and Edge where the system decodes it), and so do VLC and ffplay.';
  }
  return unfit;
}
