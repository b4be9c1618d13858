// Plays one stream in a <video> by low-latency HLS: with hls.js, or by the browser itself where it can (Safari). An engine of
// Player: see player.js.

import { mediaPathWithKey } from './common.js';

const LIBRARY = 'vendor/hls.js/hls.min.js';

let library = null;

// The library, loaded on first use.
function loadLibrary() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = LIBRARY;
    script.onload = () => resolve(window.Hls);
    script.onerror = () => {
      library = null;
      script.remove();
      reject(new Error('The player library hls.js is not installed on the server: ' +
        'run scripts/install-deps.sh --demo there, then reload this page.'));
    };
    document.head.append(script);
  });
  return library;
}

// What hls.js reports, as the end of an engine.
function endOf(data) {
  const code = data.response?.code;
  switch (code) {
    case 404: return { kind: 'absent', message: 'This stream is not live.' };
    case 403: return { kind: 'denied', message: `The server does not let you play this stream: it may need a key (${code}).` };
    default: break;
  }
  if (code >= 400) {
    return { kind: 'lost', message: `The server refused the stream (${code}).` };
  }
  if (/codec/i.test(data.details ?? '')) {
    return { kind: 'unsupported', message: `This browser cannot play the codecs of this stream (${data.details}).` };
  }
  return { kind: 'lost', message: `Playing failed: ${data.details ?? data.type}.` };
}

export class HlsEngine {
  // `events`: { end({ kind, message }), ready() } where ready() says that play() may be tried.
  constructor(video, stream, events) {
    this.video = video;
    this.url = new URL(mediaPathWithKey(stream, '.m3u8'), window.location.href).href;
    this.events = events;
    this.engine = null;
    this.closed = false;
    this.codecs = [];
    this.bytes = 0;
    this.last = null;
  }

  async start() {
    let Hls;
    try {
      Hls = await loadLibrary();
    } catch (error) {
      Hls = null;
      if (!this.native()) {
        this.end({ kind: 'unsupported', message: error.message });
        return;
      }
    }
    if (this.closed) {
      return;
    }
    if (!Hls?.isSupported()) {
      this.startNative();
      return;
    }
    // Without a rate it stays as far behind as it ever fell.
    const engine = this.engine = new Hls({ lowLatencyMode: true, maxLiveSyncPlaybackRate: 1.25, backBufferLength: 10, enableWorker: false });
    engine.on(Hls.Events.MANIFEST_PARSED, (_, data) => {
      const level = data.levels[0];
      this.codecs = [level?.videoCodec, level?.audioCodec].filter(Boolean);
      this.events.ready();
    });
    engine.on(Hls.Events.FRAG_LOADED, (_, data) => { this.bytes += data.payload?.byteLength ?? 0; });
    engine.on(Hls.Events.LEVEL_UPDATED, (_, data) => {
      if (!data.details.live) {
        setTimeout(() => this.end({ kind: 'ended', message: 'The stream has ended.' }));
      }
    });
    let mended = false;
    engine.on(Hls.Events.ERROR, (_, data) => {
      if (!data.fatal) {
        return;
      }
      if (data.type === Hls.ErrorTypes.MEDIA_ERROR && !mended) {
        mended = true;
        engine.recoverMediaError();
        return;
      }
      // Later: the library has more to do in the same moment, for which it must not be destroyed yet.
      setTimeout(() => this.end(endOf(data)));
    });
    engine.attachMedia(this.video);
    engine.loadSource(this.url);
  }

  native() {
    return this.video.canPlayType('application/vnd.apple.mpegurl') !== '';
  }

  startNative() {
    if (!this.native()) {
      this.end({ kind: 'unsupported', message: 'This browser has neither Media Source Extensions nor HLS.' });
      return;
    }
    this.video.src = this.url;
    this.events.ready();
  }

  end(end) {
    if (!this.closed) {
      this.events.end(end);
    }
  }

  close() {
    this.closed = true;
    const engine = this.engine;
    this.engine = null;
    if (engine) {
      engine.destroy();
    } else if (this.video.src) {
      this.video.removeAttribute('src');
      this.video.load();
    }
  }

  // Milliseconds between the wall clock, when the picture came to the server, and now; null: not known.
  latencyMs() {
    const date = this.engine?.playingDate ?? this.video.getStartDate?.();
    if (!date || Number.isNaN(date.getTime())) {
      return null;
    }
    const shown = this.engine ? date.getTime() : date.getTime() + this.video.currentTime * 1000;
    return Math.max(0, Date.now() - shown);
  }

  async sample() {
    const quality = this.video.getVideoPlaybackQuality();
    const now = performance.now();
    const before = this.last;
    this.last = { frames: quality.totalVideoFrames, dropped: quality.droppedVideoFrames, bytes: this.bytes, now };
    const frames = before ? Math.max(0, quality.totalVideoFrames - before.frames) : 0;
    return {
      kilobits: before && this.engine ? ((this.bytes - before.bytes) * 8) / (now - before.now) : null,
      width: this.video.videoWidth,
      height: this.video.videoHeight,
      fps: before ? (frames * 1000) / (now - before.now) : null,
      lost: before ? Math.max(0, quality.droppedVideoFrames - before.dropped) : 0,
      expected: frames,
      dropped: quality.droppedVideoFrames,
      frames: quality.totalVideoFrames,
      codecs: this.codecs,
      latencyMs: this.latencyMs(),
      latencyMeasured: true,
      over: 'hls',
    };
  }
}
