// Publishes a MediaStream by WebRTC (WHIP), and comes back by itself when the connection breaks.
//
//   idle -> connecting -> live -> waiting -> connecting ...      failed: nothing to be done without a person
//
// Fields are what the page shows; 'change' says that they changed.

import { asSentence, Backoff, signallingUrl } from './common.js';
import { preferH264, SendMeter, WebRtcError, WebRtcSession } from './webrtc.js';

const FINAL = new Set(['unsupported', 'denied', 'busy', 'refused']);
const BUSY_AFTER_BREAK_MS = 45_000;  // so long the server may take our own broken session for somebody else
const ONE_SIZE = 'one size';
const STEADY_MS = 10_000;
const GIVE_UP_MS = 10 * 60_000;
const PARTING_MS = 2_000;            // for the goodbye of a session before the next one takes its name

// Three sizes; the server's answer says whether it takes them.
const LAYERS = [
  { rid: 'q', scaleResolutionDownBy: 4, share: 0.1 },
  { rid: 'h', scaleResolutionDownBy: 2, share: 0.3 },
  { rid: 'f', scaleResolutionDownBy: 1, share: 1 },
];

const ADVICE = {
  denied: 'Check the key, and that the server\'s configuration lets this address publish ' +
    '(security { allow publish ADDRESS; }; by default only the server\'s own machine may).',
  busy: 'Choose another stream name, or end the other publisher.',
  absent: 'Is this page served by Weir, and is the proxy before it passing /rtc/ on?',
};

function message(error) {
  return ADVICE[error.kind] ? `${asSentence(error.message)} ${ADVICE[error.kind]}` : error.message;
}

const START_KILOBITS = 1000;

// What the far side asks of this browser's encoders. Two channels of sound become stereo; and Chromium begins with the
// bit rate that is named so, instead of a small picture that grows for 20 s.
function changeAnswer(sdp, media, kilobits) {
  const stereo = (media.getAudioTracks()[0]?.getSettings().channelCount ?? 1) > 1;
  const changed = stereo ? addToFormat(sdp, /opus\/48000/i, 'stereo=1') : sdp;
  const start = kilobits > 0 ? Math.min(kilobits, START_KILOBITS) : START_KILOBITS;
  return addToFormat(changed, /(H264|H265|VP8|VP9|AV1)\/90000/i, `x-google-start-bitrate=${start}`);
}

// Adds a parameter to the first format whose rtpmap matches, unless it is there.
function addToFormat(sdp, rtpmap, parameter) {
  const lines = sdp.split('\r\n');
  const type = lines.map((line) => line.match(/^a=rtpmap:(\d+) (.*)/)).find((match) => match && rtpmap.test(match[2]))?.[1];
  const at = lines.findIndex((line) => line.startsWith(`a=fmtp:${type} `));
  if (!type || lines[at]?.includes(parameter)) {
    return sdp;
  }
  if (at >= 0) {
    lines[at] += `;${parameter}`;
  } else {
    lines.splice(lines.findIndex((line) => line.startsWith(`a=rtpmap:${type} `)) + 1, 0, `a=fmtp:${type} ${parameter}`);
  }
  return lines.join('\r\n');
}

export class WhipPublisher extends EventTarget {
  constructor() {
    super();
    this.session = null;
    this.meter = null;
    this.timer = 0;
    this.backoff = new Backoff({ giveUpMs: GIVE_UP_MS });
    this.state = 'idle';
    this.message = '';
    this.note = '';      // worth knowing while it works
    this.figures = null;
    this.brokenAt = -Infinity;
    this.parting = null;
  }

  get active() { return this.state !== 'idle' && this.state !== 'failed'; }

  enter(state, text = '') {
    this.state = state;
    this.message = text;
    this.dispatchEvent(new Event('change'));
  }

  // `options`: { stream, key, media, kilobits (0: the browser's choice), simulcast, screen }.
  start(options) {
    this.stop();
    this.options = options;
    this.simulcast = options.simulcast;
    this.note = '';
    this.backoff.reset();
    this.brokenAt = -Infinity;
    this.begin();
  }

  stop() {
    this.release();
    this.enter('idle');
  }

  // Tells the server; the page may be on its way out.
  release() {
    clearTimeout(this.timer);
    const session = this.session;
    this.session = null;
    this.meter = null;
    this.figures = null;
    if (session) {
      this.parting = Promise.race([session.close(), new Promise((resolve) => { setTimeout(resolve, PARTING_MS); })]);
    }
  }

  retryNow() {
    if (this.state === 'waiting') {
      this.begin();
    }
  }

  async begin() {
    this.release();
    const { stream, key } = this.options;
    const session = this.session = new WebRtcSession(signallingUrl('whip', stream, key), {
      prepare: (pc) => this.prepare(pc),
      lost: (error) => this.onEnd(session, error),
      changeAnswer: (sdp) => this.readAnswer(sdp),
    });
    this.enter('connecting');
    await this.parting;
    if (session !== this.session) {
      return;
    }
    try {
      await session.open();
    } catch (error) {
      this.onEnd(session, error);
      return;
    }
    if (session !== this.session) {
      return;
    }
    this.liveAt = performance.now();
    this.meter = new SendMeter(session.pc);
    this.enter('live');
  }

  // Where the server does not take several sizes, browsers would keep the first one only, the smallest.
  readAnswer(sdp) {
    if (this.simulcast && !/^a=simulcast:/m.test(sdp)) {
      throw new WebRtcError(ONE_SIZE, 'The server takes one size only');
    }
    return changeAnswer(sdp, this.options.media, this.options.kilobits);
  }

  prepare(pc) {
    const { media, screen } = this.options;
    const [audio] = media.getAudioTracks();
    const [video] = media.getVideoTracks();
    if (audio) {
      pc.addTransceiver(audio, { direction: 'sendonly', streams: [media] });
    }
    if (video) {
      video.contentHint = screen ? 'detail' : 'motion';
      const transceiver = pc.addTransceiver(video, { direction: 'sendonly', streams: [media], sendEncodings: this.encodings() });
      if (!preferH264(transceiver)) {
        this.note = 'This browser cannot send H.264: many players of RTMP and HTTP-FLV will not show the picture.';
      }
    }
  }

  encodings() {
    const bits = this.options.kilobits * 1000;
    const limited = (share) => (bits > 0 ? { maxBitrate: Math.round(bits * share) } : {});
    return this.simulcast
      ? LAYERS.map(({ rid, scaleResolutionDownBy, share }) => ({ rid, scaleResolutionDownBy, ...limited(share) }))
      : [limited(1)];
  }

  // Another camera or microphone, while live. False when that needs a new session.
  async replace(media, screen) {
    const senders = this.session?.pc?.getSenders() ?? [];
    const tracks = media.getTracks();
    const kinds = (list) => list.map((track) => track?.kind).filter(Boolean).sort().join();
    this.options.media = media;
    this.options.screen = screen;
    if (this.state !== 'live' || kinds(senders.map((sender) => sender.track)) !== kinds(tracks)) {
      return false;
    }
    await Promise.all(senders.filter((sender) => sender.track).map((sender) =>
      sender.replaceTrack(tracks.find((track) => track.kind === sender.track.kind))));
    return true;
  }

  async setKilobits(kilobits) {
    this.options.kilobits = kilobits;
    const sender = this.session?.pc?.getSenders().find((one) => one.track?.kind === 'video');
    const parameters = sender?.getParameters();
    if (!parameters?.encodings?.length) {
      return;
    }
    this.encodings().forEach((wanted, i) => {
      if (parameters.encodings[i]) {
        delete parameters.encodings[i].maxBitrate;
        Object.assign(parameters.encodings[i], wanted.maxBitrate ? { maxBitrate: wanted.maxBitrate } : {});
      }
    });
    await sender.setParameters(parameters);
  }

  onEnd(session, error) {
    if (session !== this.session || error.kind === 'closed') {
      return;
    }
    if (error.kind === ONE_SIZE) {
      this.simulcast = false;
      this.note = 'This server takes one size only, so simulcast is off.';
      this.begin();
      return;
    }
    const now = performance.now();
    if (this.state === 'live') {
      this.brokenAt = now;
      if (now - this.liveAt > STEADY_MS) {
        this.backoff.reset();
      }
    }
    this.release();
    const ownGhost = error.kind === 'busy' && now - this.brokenAt < BUSY_AFTER_BREAK_MS;
    const pauseMs = FINAL.has(error.kind) && !ownGhost ? null : this.backoff.next();
    if (pauseMs === null) {
      this.enter('failed', message(error));
      return;
    }
    this.timer = setTimeout(() => this.begin(), pauseMs);
    this.enter('waiting', message(error));
  }

  async sample() {
    const meter = this.meter;
    const figures = await meter?.read();
    if (figures && meter === this.meter) {
      this.figures = figures;
    }
  }
}
