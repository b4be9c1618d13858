// Plays one stream in a <video> by WebRTC (WHEP). An engine of Player: see player.js.

import { signallingUrl } from './common.js';
import { ReceiveMeter, receivesH264, WebRtcSession, withStereo } from './webrtc.js';

const MEDIA_MS = 8_000;  // from the connection to the first picture or sound

export class WhepEngine {
  // `events`: { end({ kind, message }), ready() } where ready() says that play() may be tried. `kinds`: what is asked for;
  // who wants no picture need not wait until the server knows that there is none.
  constructor(video, stream, events, kinds = ['video', 'audio']) {
    this.video = video;
    this.stream = stream;
    this.events = events;
    this.kinds = kinds;
    this.media = new MediaStream();
    this.session = null;
    this.meter = null;
    this.timer = 0;
    this.plays = false;
    this.closed = false;
    this.bytes = 0;
    this.bytesAt = 0;  // when they last grew
  }

  async start() {
    this.session = new WebRtcSession(signallingUrl('whep', this.stream, this.stream.secret), {
      prepare: (pc) => {
        this.kinds.forEach((kind) => pc.addTransceiver(kind, { direction: 'recvonly' }));
        pc.ontrack = (event) => {
          this.media.addTrack(event.track);
          // Not before: Chromium never plays sound that comes to a stream which was empty.
          this.video.srcObject = this.media;
        };
      },
      lost: (error) => this.end(error),
      changeOffer: withStereo,
    });
    this.video.addEventListener('playing', this.onPlaying = () => {
      this.plays = true;
      clearTimeout(this.timer);
    }, { once: true });
    try {
      await this.session.open();
    } catch (error) {
      this.end(error);
      return;
    }
    this.meter = new ReceiveMeter(this.session.pc);
    this.bytesAt = performance.now();
    if (!this.plays) {
      this.timer = setTimeout(() => this.noMedia(), MEDIA_MS);
    }
    this.events.ready();
  }

  async noMedia() {
    if (this.video.paused) {
      return;  // the browser waits for a click
    }
    const figures = await this.sample();
    this.end({ kind: 'nomedia', message: figures.packets > 0
      ? `${figures.packets} packets came in ${MEDIA_MS / 1000} s, but this browser made no picture of them.`
      : `The connection is there, but no media came through it in ${MEDIA_MS / 1000} s.` });
  }

  end(error) {
    if (!this.closed && error.kind !== 'closed') {
      const why = error.status === 422 && /H264/.test(error.message) && !receivesH264()
        ? 'This browser has no H.264 for WebRTC. ' : '';
      this.events.end({ kind: error.kind, message: why + error.message });
    }
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.video.removeEventListener('playing', this.onPlaying);
    this.session?.close();
    this.media.getTracks().forEach((track) => this.media.removeTrack(track));
    if (this.video.srcObject === this.media) {
      this.video.srcObject = null;
    }
  }

  async sample() {
    if (!this.meter) {
      return null;
    }
    const figures = await this.meter.read();
    if (figures.bytes > this.bytes) {
      this.bytes = figures.bytes;
      this.bytesAt = performance.now();
    }
    return { ...figures, silentMs: performance.now() - this.bytesAt };
  }
}
