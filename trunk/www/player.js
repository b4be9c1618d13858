// Plays one stream in one <video> over the transport that works: WebRTC first, HTTP-FLV when that cannot be. Comes back by
// itself when the connection breaks or the publisher returns.
//
//   idle -> connecting -> playing | blocked (the browser wants a click)
//              ^             |
//              +-- waiting <-+        failed: nothing to be done without a person
//
// Its fields are what the page shows; 'change' says that they changed. An engine (whep_engine.js, flv_engine.js, hls_engine.js) plays over
// one transport until it ends: start(), close(), sample(), and events.ready() and events.end({ kind, message }).

import { asSentence, Backoff } from './common.js';
import { unfitness } from './fitness.js';
import { FlvEngine } from './flv_engine.js';
import { HlsEngine } from './hls_engine.js';
import { WhepEngine } from './whep_engine.js';

export const TRANSPORTS = { webrtc: 'WebRTC', http: 'HTTP-FLV', ws: 'WebSocket-FLV', hls: 'HLS' };

// Ends for which another transport is tried, and those after which a new attempt of the same would come to the same.
const FALLBACK = new Set(['unsupported', 'refused', 'full', 'unreachable', 'nomedia']);
const FINAL = new Set(['unsupported', 'denied', 'refused']);

const STEADY_MS = 10_000;        // played for so long: the next trouble is a new one
const REMEMBER_UNREACHABLE_MS = 60_000;
const SILENT_MS = 3_000;         // no data for so long is worth a word

let unreachableUntil = 0;        // media by WebRTC does not get through to this page
let unreachableReason = '';

export class Player extends EventTarget {
  constructor(video) {
    super();
    this.video = video;
    this.engine = null;
    this.backoff = new Backoff();
    this.timer = 0;
    this.stream = null;
    this.choice = 'auto';
    this.live = null;         // what the list of the server says of the stream; null: nothing
    this.reset();
    video.addEventListener('playing', () => this.onPlaying());
    video.addEventListener('error', () => {
      if (this.engine && video.error && !video.srcObject) {
        this.onEnd(this.engine, { kind: 'lost', message: `The browser stopped playing: ${video.error.message || 'code ' + video.error.code}.` });
      }
    });
  }

  reset() {
    this.state = 'idle';
    this.transport = null;    // of the engine
    this.reason = '';         // why it is not WebRTC
    this.message = '';        // of 'waiting' and 'failed'
    this.endKind = '';        // of 'failed': why
    this.figures = null;      // of the last sample()
    this.startedAt = 0;
    this.firstPictureMs = null;
    this.playingAt = 0;
  }

  get active() { return this.state !== 'idle' && this.state !== 'failed'; }

  enter(state) {
    this.state = state;
    this.dispatchEvent(new Event('change'));
  }

  // `stream`: of makeStream(). `choice`: 'auto' or a transport. Starts with sound need a click before, in most browsers.
  start(stream, choice, muted) {
    this.stop();
    this.stream = stream;
    this.choice = choice;
    this.video.muted = muted;
    this.backoff.reset();
    this.begin();
  }

  stop() {
    this.release();
    this.reset();
    this.enter('idle');
  }

  // The stream has just become live, or the page is back: no need to wait longer.
  retryNow() {
    if (this.state === 'waiting') {
      this.begin();
    }
  }

  // The page goes: the server hears of it now. comeBack() when it was only put away.
  leave() {
    this.wasActive = this.active;
    this.release();
  }

  comeBack() {
    if (this.wasActive) {
      this.begin();
    }
  }

  // ---- attempts

  begin() {
    const reachable = performance.now() > unreachableUntil;
    const unfit = unfitness(this.live);
    const auto = this.choice === 'auto';
    const possible = auto ? ['webrtc', 'http'] : [this.choice];
    // Asked for by hand, WebRTC is tried: the server's answer is the one that counts.
    const without = { ...unfit, webrtc: unfit.webrtc || (auto ? unfit.refused || (reachable ? '' : unreachableReason) : '') };
    const transport = possible.find((each) => !without[each]);
    if (!transport) {
      // Asking the server, or the browser's decoders, would come to the same, with worse words.
      this.transport = possible.at(-1);
      this.fail({ kind: 'unsupported', message: without[this.transport] });
      return;
    }
    this.reason = transport === 'webrtc' || !auto ? '' : without.webrtc;
    this.attempt(transport);
  }

  attempt(transport) {
    this.release();
    this.transport = transport;
    this.figures = null;
    this.message = '';
    this.startedAt = performance.now();
    this.firstPictureMs = null;
    const events = {
      ready: () => this.play(engine),
      end: (end) => this.onEnd(engine, end),
    };
    const engine = transport === 'webrtc' ? new WhepEngine(this.video, this.stream, events)
      : transport === 'hls' ? new HlsEngine(this.video, this.stream, events)
        : new FlvEngine(this.video, this.stream, transport, events);
    this.engine = engine;
    this.enter('connecting');
    engine.start();
  }

  release() {
    clearTimeout(this.timer);
    const engine = this.engine;
    this.engine = null;
    engine?.close();
  }

  async play(engine) {
    try {
      await this.video.play();
    } catch (error) {
      // AbortError: stopped meanwhile.
      if (this.engine !== engine || error.name !== 'NotAllowedError') {
        return;
      }
      if (this.video.muted) {
        this.enter('blocked');
      } else {
        this.video.muted = true;  // sound wants a click; the picture does not
        this.play(engine);
      }
    }
  }

  onPlaying() {
    if (!this.engine) {
      return;
    }
    if (this.firstPictureMs === null) {
      this.firstPictureMs = performance.now() - this.startedAt;
      this.playingAt = performance.now();
    }
    this.enter('playing');
  }

  onEnd(engine, end) {
    if (engine !== this.engine) {
      return;
    }
    const steady = this.state === 'playing' && performance.now() - this.playingAt > STEADY_MS;
    this.release();
    if (steady) {
      this.backoff.reset();
    }
    if (end.kind === 'unreachable') {
      unreachableUntil = performance.now() + REMEMBER_UNREACHABLE_MS;
      unreachableReason = end.message;
    }
    if (this.choice === 'auto' && this.transport === 'webrtc' && FALLBACK.has(end.kind)) {
      const unfit = unfitness(this.live).http;
      if (unfit) {
        this.fail({ kind: 'unsupported', message: unfit });
        return;
      }
      this.reason = end.message;
      this.attempt('http');
    } else if (FINAL.has(end.kind)) {
      this.fail(end);
    } else {
      this.wait(end);
    }
  }

  fail(end) {
    this.message = end.message;
    this.endKind = end.kind;
    this.enter('failed');
  }

  wait(end) {
    const pauseMs = this.backoff.next();
    if (pauseMs === null) {
      this.fail({ ...end, message: `${asSentence(end.message)} Tried again for ${Math.round(this.backoff.giveUpMs / 60_000)} minutes, in vain.` });
      return;
    }
    this.message = end.message;
    this.waitKind = end.kind;
    this.timer = setTimeout(() => this.begin(), pauseMs);
    this.enter('waiting');
  }

  // ---- figures

  // Reads the engine's figures into `figures`.
  async sample() {
    const engine = this.engine;
    const figures = await engine?.sample();
    if (figures && engine === this.engine) {
      this.figures = figures;
    }
  }

  // Connected, but nothing comes: its publisher has left or sends nothing.
  get silent() { return this.state === 'playing' && (this.figures?.silentMs ?? 0) > SILENT_MS; }
}
