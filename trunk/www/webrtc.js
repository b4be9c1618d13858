// WHIP and WHEP from the browser's side: one session, from the offer to the goodbye, and its figures.
//
//   const session = new WebRtcSession(url, { prepare(pc) {...}, lost(error) {...} });
//   await session.open();     // connected, or a WebRtcError that says why not
//   session.close();          // tells the server (DELETE), also while the page is being left
//
// The server is an ICE lite agent with a fixed port, so the offer goes out at once, without candidates of ours.

import { asSentence, reasonOf } from './common.js';

const ANSWER_MS = 10_000;
const CONNECT_MS = 4_000;       // from the answer to an encrypted connection
const DISCONNECTED_MS = 4_000;  // browsers call it that when checks are lost; it often comes back

// kind: 'unsupported'  this browser cannot, or it and the server have nothing in common (status 422)
//       'denied'       the server does not allow it (401, 403)
//       'absent'       nobody publishes the stream (404)
//       'busy'         somebody else publishes it (409)
//       'full'         the server cannot now (413, 429, 5xx)
//       'refused'      any other answer that is no session
//       'offline'      no answer over HTTP
//       'unreachable'  an answer, but no connection for the media
//       'lost'         it was connected, and is not any more
//       'closed'       close() was called meanwhile
export class WebRtcError extends Error {
  constructor(kind, message, status = 0) {
    super(asSentence(message));
    this.name = 'WebRtcError';
    this.kind = kind;
    this.status = status;
  }
}

const KINDS = { 401: 'denied', 403: 'denied', 404: 'absent', 409: 'busy', 413: 'full', 415: 'unsupported',
  422: 'unsupported', 429: 'full' };

async function refusal(answer) {
  const reason = await reasonOf(answer);
  const kind = KINDS[answer.status] ?? (answer.status >= 500 ? 'full' : 'refused');
  return new WebRtcError(kind, reason || `The server answered ${answer.status} ${answer.statusText}`.trim(), answer.status);
}

// ---- SDP

// Browsers decode Opus as mono unless their own description says that they like stereo.
export function withStereo(sdp) {
  const opus = [...sdp.matchAll(/^a=rtpmap:(\d+) opus\/48000/gim)].map((match) => match[1]);
  return opus.reduce((text, type) => text.replace(new RegExp(`^(a=fmtp:${type} )([^\\r\\n]*)`, 'm'), (line, head, values) =>
    /(^|;)\s*stereo=/.test(values) ? line : `${head}${values};stereo=1`), sdp);
}

// "192.0.2.1:8000/udp", of an answer.
export function candidatesOf(sdp) {
  const found = [...sdp.matchAll(/^a=candidate:\S+ \d+ (\S+) \d+ (\S+) (\d+)/gim)]
    .map(([, protocol, host, port]) => `${host.includes(':') ? `[${host}]` : host}:${port}/${protocol.toLowerCase()}`);
  return [...new Set(found)];
}

// Debian's Firefox, for one, has no H.264 for WebRTC.
export function receivesH264() {
  const codecs = RTCRtpReceiver.getCapabilities?.('video')?.codecs ?? [];
  return codecs.length === 0 || codecs.some((codec) => codec.mimeType.toLowerCase() === 'video/h264');
}

// H.264 first: every player of every protocol knows it. False where the browser does not send it.
export function preferH264(transceiver) {
  const codecs = RTCRtpSender.getCapabilities?.('video')?.codecs ?? [];
  const first = (codec) => codec.mimeType.toLowerCase() === 'video/h264';
  if (transceiver.setCodecPreferences && codecs.length > 0) {
    transceiver.setCodecPreferences([...codecs.filter(first), ...codecs.filter((codec) => !first(codec))]);
  }
  return codecs.some(first);
}

// ---- one session

export class WebRtcSession {
  // prepare(pc) adds the transceivers. lost(error), once, after open() has resolved. changeOffer(sdp) and
  // changeAnswer(sdp) may edit the descriptions; a WebRtcError that they throw is that of open().
  constructor(url, { prepare, lost, changeOffer = (sdp) => sdp, changeAnswer = (sdp) => sdp }) {
    this.url = url;
    this.prepare = prepare;
    this.lost = lost;
    this.changeOffer = changeOffer;
    this.changeAnswer = changeAnswer;
    this.pc = null;
    this.resource = null;  // of the session, for DELETE
    this.answer = '';
    this.timer = 0;
    this.closed = false;
    this.abort = new AbortController();
  }

  async open() {
    if (!window.RTCPeerConnection) {
      throw new WebRtcError('unsupported', 'This browser has no WebRTC, or it is switched off');
    }
    try {
      const pc = this.pc = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
      this.prepare(pc);
      await this.describe(pc);
      this.answer = await this.post(pc.localDescription.sdp);
      const connected = this.connected(pc);
      connected.catch(() => {});  // it may come before it is awaited
      await pc.setRemoteDescription({ type: 'answer', sdp: this.changeAnswer(this.answer) });
      await connected;
    } catch (error) {
      const closed = this.closed;
      this.close();
      if (closed) {
        throw new WebRtcError('closed', 'Stopped');
      }
      throw error instanceof WebRtcError ? error
        : new WebRtcError('unsupported', `The browser refused the connection: ${error.message}`);
    }
  }

  async describe(pc) {
    const offer = await pc.createOffer();
    try {
      await pc.setLocalDescription({ type: 'offer', sdp: this.changeOffer(offer.sdp) });
    } catch {
      await pc.setLocalDescription(offer);  // a browser that wants its offer unchanged
    }
  }

  async post(offer) {
    const timer = setTimeout(() => this.abort.abort(), ANSWER_MS);
    let answer;
    let text;
    try {
      answer = await fetch(this.url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/sdp' },
        body: offer,
        signal: this.abort.signal,
      });
      if (answer.status !== 201) {
        throw await refusal(answer);
      }
      text = await answer.text();
    } catch (error) {
      if (error instanceof WebRtcError) {
        throw error;
      }
      throw new WebRtcError('offline', error.name === 'AbortError'
        ? `The server did not answer within ${ANSWER_MS / 1000} s` : 'The server cannot be reached');
    } finally {
      clearTimeout(timer);
    }
    const location = answer.headers.get('Location');
    this.resource = location ? new URL(location, answer.url || this.url).href : null;
    if (this.closed) {
      this.goodbye();
      throw new WebRtcError('closed', 'Stopped');
    }
    return text;
  }

  connected(pc) {
    return new Promise((resolve, reject) => {
      const unreachable = () => reject(new WebRtcError('unreachable', this.unreachableText()));
      this.timer = setTimeout(unreachable, CONNECT_MS);
      pc.onconnectionstatechange = () => {
        if (pc.connectionState === 'connected') {
          clearTimeout(this.timer);
          this.watch(pc);
          resolve();
        } else if (pc.connectionState === 'failed') {
          clearTimeout(this.timer);
          unreachable();
        }
      };
      this.abort.signal.addEventListener('abort', () => reject(new WebRtcError('closed', 'Stopped')));
    });
  }

  unreachableText() {
    const candidates = candidatesOf(this.answer);
    const ports = candidates.map((text) => text.match(/(\d+)\/udp$/)?.[1]).filter(Boolean);
    const loopback = candidates.length > 0 && candidates.every((text) => /^(127\.|\[::1\])/.test(text));
    return `No connection for the media within ${CONNECT_MS / 1000} s. Tried ${candidates.join(' and ') || 'no address'}. ` +
      (loopback ? 'Only programs of the server\'s own machine reach that, and Firefox does not try: let rtc_server listen on an ' +
        'address of the network'
        : `Either UDP port ${[...new Set(ports)].join(', ') || 'of the server'} is blocked on the way (a firewall, a container's port), ` +
        'or this browser cannot reach that address: then the server needs rtc_server { candidate ITS-PUBLIC-ADDRESS; }');
  }

  // From connected to lost.
  watch(pc) {
    const lost = (message) => {
      if (!this.closed) {
        this.close();
        this.lost(new WebRtcError('lost', message));
      }
    };
    pc.onconnectionstatechange = () => {
      clearTimeout(this.timer);
      if (pc.connectionState === 'disconnected') {
        this.timer = setTimeout(() => lost('The connection to the server broke off'), DISCONNECTED_MS);
      } else if (pc.connectionState !== 'connected') {
        lost('The connection to the server broke off');
      }
    };
    const dtls = pc.getTransceivers().map((one) => one.sender.transport ?? one.receiver.transport).find(Boolean);
    if (dtls) {
      dtls.onstatechange = () => {
        if (dtls.state === 'closed' || dtls.state === 'failed') {
          this.resource = null;  // the server has said goodbye: there is nothing left to end
          lost('The server ended the session');
        }
      };
    }
  }

  async goodbye() {
    const resource = this.resource;
    this.resource = null;
    if (resource) {
      await fetch(resource, { method: 'DELETE', keepalive: true }).catch(() => {});
    }
  }

  // Resolves when the server has heard of it, or cannot.
  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.abort.abort();
    this.pc?.close();
    return this.goodbye();
  }
}

// ---- figures

const NTP_TO_UNIX_MS = 2_208_988_800_000;
const CLOCK_SAMPLES = 30;
const LATENCY_SAMPLES = 5;
const FIRST_REPORT_READS = 4;  // a second each: before, the server may not have sent its first report

function push(list, value, most) {
  list.push(value);
  list.splice(0, list.length - most);
}

const codecName = (codec) => codec?.mimeType?.split('/')[1] ?? null;

// Reads getStats() at intervals; rates are those since the last read. Fields are null where a browser does not say.
class Meter {
  constructor(pc) {
    this.pc = pc;
    this.last = new Map();
  }

  // How much `value` grew since the last read.
  grown(key, value) {
    const before = this.last.get(key);
    this.last.set(key, value);
    return before === undefined || value === undefined ? null : Math.max(0, value - before);
  }

  async collect() {
    const byId = new Map();
    (await this.pc.getStats()).forEach((one) => byId.set(one.id, one));
    const all = [...byId.values()];
    const transport = all.find((one) => one.type === 'transport');
    const pair = byId.get(transport?.selectedCandidatePairId) ??
      all.find((one) => one.type === 'candidate-pair' && one.nominated && one.state === 'succeeded');
    const seconds = this.grown('time', performance.now()) / 1000;
    return { byId, all, pair, remote: byId.get(pair?.remoteCandidateId), seconds };
  }

  kilobits(key, bytes, seconds) {
    const grown = this.grown(key, bytes);
    return grown === null || !(seconds > 0) ? null : (grown * 8) / 1000 / seconds;
  }
}

export class ReceiveMeter extends Meter {
  constructor(pc) {
    super(pc);
    this.clockOffsets = [];
    this.latencies = [];
    this.reads = 0;
  }

  async read() {
    const { byId, all, pair, remote, seconds } = await this.collect();
    const inbound = all.filter((one) => one.type === 'inbound-rtp');
    const video = inbound.find((one) => one.kind === 'video' && (one.packetsReceived > 0 || one.framesDecoded > 0));
    const audio = inbound.find((one) => one.kind === 'audio' && one.packetsReceived > 0);
    const sum = (field) => inbound.reduce((total, one) => total + (one[field] ?? 0), 0);
    const rttMs = pair?.currentRoundTripTime === undefined ? null : pair.currentRoundTripTime * 1000;
    const lost = this.grown('lost', sum('packetsLost'));
    const received = this.grown('received', sum('packetsReceived'));
    return {
      kilobits: this.kilobits('bytes', sum('bytesReceived'), seconds),
      bytes: sum('bytesReceived'),
      packets: sum('packetsReceived'),
      width: video?.frameWidth ?? 0,
      height: video?.frameHeight ?? 0,
      fps: video?.framesPerSecond ?? null,
      lost: lost ?? 0,
      expected: (lost ?? 0) + (received ?? 0),
      dropped: video?.framesDropped ?? 0,
      frames: video?.framesDecoded ?? 0,
      freezes: video?.freezeCount ?? null,
      codecs: [video, audio].map((one) => codecName(byId.get(one?.codecId))).filter(Boolean),
      over: remote?.protocol ?? null,
      rttMs,
      ...this.latency(byId, video ?? audio, rttMs),
    };
  }

  // From the server to the screen. Measured where the browser says which moment of the server's clock it is showing:
  // the clocks are compared by the server's reports, which carry the time of the newest frame, on average half a frame old.
  // Elsewhere from what waits: half a round trip, and the buffer of this browser.
  latency(byId, track, rttMs) {
    const wait = track ? this.meanWaitMs(track) : null;
    const report = byId.get(track?.remoteId);
    if (report?.remoteTimestamp && rttMs !== null) {
      push(this.clockOffsets, report.timestamp - report.remoteTimestamp - rttMs / 2, CLOCK_SAMPLES);
      if (track.estimatedPlayoutTimestamp) {
        const playout = track.estimatedPlayoutTimestamp;  // since 1900 in Chromium, since 1970 in Firefox
        const shown = playout - (playout > NTP_TO_UNIX_MS ? NTP_TO_UNIX_MS : 0) + Math.min(...this.clockOffsets);
        push(this.latencies, track.timestamp - shown + 500 / (track.framesPerSecond || 50), LATENCY_SAMPLES);
      }
    }
    this.reads++;
    if (this.latencies.length > 0) {
      const sum = this.latencies.reduce((total, ms) => total + ms, 0);
      return { latencyMs: Math.max(0, sum / this.latencies.length), latencyMeasured: true };
    }
    const known = wait !== null && this.reads > FIRST_REPORT_READS;
    return { latencyMs: known ? wait + (rttMs ?? 0) / 2 : null, latencyMeasured: false };
  }

  meanWaitMs(track) {
    const waited = this.grown('waited', track.jitterBufferDelay);
    const count = this.grown('emitted', track.jitterBufferEmittedCount);
    return waited !== null && count > 0 ? (waited / count) * 1000 : null;
  }
}

export class SendMeter extends Meter {
  async read() {
    const { byId, all, pair, remote, seconds } = await this.collect();
    const outbound = all.filter((one) => one.type === 'outbound-rtp');
    const videos = outbound.filter((one) => one.kind === 'video')
      .sort((a, b) => (b.frameHeight ?? 0) - (a.frameHeight ?? 0));
    const audio = outbound.find((one) => one.kind === 'audio');
    const reports = outbound.map((one) => byId.get(one.remoteId)).filter(Boolean);
    const lost = this.grown('lost', reports.reduce((total, one) => total + (one.packetsLost ?? 0), 0));
    const sent = this.grown('sent', outbound.reduce((total, one) => total + (one.packetsSent ?? 0), 0));
    const rtt = pair?.currentRoundTripTime ?? reports.find((one) => one.roundTripTime !== undefined)?.roundTripTime;
    return {
      kilobits: this.kilobits('bytes', outbound.reduce((total, one) => total + (one.bytesSent ?? 0), 0), seconds),
      width: videos[0]?.frameWidth ?? 0,
      height: videos[0]?.frameHeight ?? 0,
      fps: videos[0]?.framesPerSecond ?? null,
      frames: videos[0]?.framesEncoded ?? 0,
      layers: videos.filter((one) => one.bytesSent > 0).map((one) => (one.frameHeight ? `${one.frameHeight}p` : one.rid)),
      limitation: videos[0]?.qualityLimitationReason ?? null,
      lost: lost ?? 0,
      sent: sent ?? 0,
      rttMs: rtt === undefined ? null : rtt * 1000,
      availableKilobits: pair?.availableOutgoingBitrate ? pair.availableOutgoingBitrate / 1000 : null,
      codecs: [videos[0], audio].map((one) => codecName(byId.get(one?.codecId))).filter(Boolean),
      over: remote?.protocol ?? null,
    };
  }
}
