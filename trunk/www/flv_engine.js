// Plays one FLV stream in a <video> with mpegts.js, over HTTP or WebSocket. An engine of Player: see player.js.

import { mediaPathWithKey } from './common.js';

const LIBRARY = 'vendor/mpegts.js/mpegts.js';

let library = null;

// The library, loaded on first use: the page lists streams without it.
function loadLibrary() {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = LIBRARY;
    script.onload = () => resolve(window.mpegts);
    script.onerror = () => {
      library = null;
      script.remove();
      reject(new Error('The player library mpegts.js is not installed on the server: ' +
        'run scripts/install-deps.sh --demo there, then reload this page.'));
    };
    document.head.append(script);
  });
  return library;
}

export function mediaUrl(path, transport) {
  const url = new URL(path, window.location.href);
  if (transport === 'ws') {
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  }
  return url.href;
}

// What mpegts.js reports, as the end of an engine.
function endOf(mpegts, type, detail, info, transport) {
  const { ErrorTypes, ErrorDetails } = mpegts;
  if (type === ErrorTypes.NETWORK_ERROR) {
    if (detail === ErrorDetails.NETWORK_STATUS_CODE_INVALID) {
      const said = `${info?.code ?? ''} ${info?.msg ?? ''}`.trim();
      switch (info?.code) {
        case 404: return { kind: 'absent', message: 'This stream is not live.' };
        case 403: return { kind: 'denied', message: `The server does not let you play this stream: it may need a key (${said}).` };
        default: return { kind: 'lost', message: `The server refused the stream (${said}).` };
      }
    }
    if (detail === ErrorDetails.NETWORK_UNRECOVERABLE_EARLY_EOF) {
      return { kind: 'lost', message: 'The stream broke off.' };
    }
    return { kind: 'lost', message: transport === 'ws'
      ? 'The WebSocket could not be opened or broke off; the stream may not be live.'
      : 'The connection could not be opened or broke off.' };
  }
  if (type === ErrorTypes.MEDIA_ERROR) {
    if (detail === ErrorDetails.MEDIA_CODEC_UNSUPPORTED || detail === ErrorDetails.MEDIA_MSE_ERROR) {
      return { kind: 'unsupported', message: `This browser cannot play the codecs of this stream (${info?.msg ?? detail}).` };
    }
    return { kind: 'lost', message: `The stream could not be decoded: ${info?.msg ?? detail}.` };
  }
  return { kind: 'lost', message: `Playing failed: ${info?.msg ?? detail ?? type}.` };
}

// A loader by fetch() that hangs up at once. In Chrome, the library's own one waits for the next bytes, which a page that was left
// does not get: the server would have a player until the browser forgets the page.
function promptLoader({ BaseLoader, LoaderErrors, LoaderStatus }) {
  return class extends BaseLoader {
    constructor() {
      super('prompt-loader');
      this.controller = new AbortController();
    }

    open(source) {
      this._status = LoaderStatus.kConnecting;
      this.load(source.url, this.controller.signal);
    }

    async load(url, signal) {
      let received = 0;
      try {
        const answer = await fetch(url, { signal, cache: 'no-store', referrerPolicy: 'no-referrer-when-downgrade' });
        if (!answer.ok) {
          this.fail(LoaderErrors.HTTP_STATUS_CODE_INVALID, answer.status, answer.statusText);
          return;
        }
        const reader = answer.body.getReader();
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
          if (signal.aborted) {
            return;
          }
          this._status = LoaderStatus.kBuffering;
          const at = received;
          received += piece.value.byteLength;
          this.onDataArrival(piece.value.slice().buffer, at, received);
        }
        if (!signal.aborted) {
          this._status = LoaderStatus.kComplete;
          this.onComplete(0, received - 1);
        }
      } catch (error) {
        if (!signal.aborted) {
          this.fail(received > 0 ? LoaderErrors.EARLY_EOF : LoaderErrors.EXCEPTION, error.code ?? -1, error.message);
        }
      }
    }

    fail(error, code, msg) {
      this._status = LoaderStatus.kError;
      this.onError(error, { code, msg });
    }

    abort() {
      this.controller.abort();
      this._status = LoaderStatus.kComplete;
    }

    destroy() {
      this.controller.abort();
      super.destroy();
    }
  };
}

export class FlvEngine {
  // `transport`: 'http' or 'ws'. `events`: { end({ kind, message }), ready() } where ready() says that play() may be tried.
  constructor(video, stream, transport, events) {
    this.video = video;
    this.url = mediaUrl(mediaPathWithKey(stream, '.flv'), transport);
    this.transport = transport;
    this.events = events;
    this.engine = null;
    this.closed = false;
    this.codecs = [];
    this.kilobits = null;
    this.last = null;
  }

  async start() {
    let mpegts;
    try {
      mpegts = await loadLibrary();
    } catch (error) {
      this.end({ kind: 'unsupported', message: error.message });
      return;
    }
    if (this.closed) {
      return;
    }
    if (!mpegts.isSupported()) {
      this.end({ kind: 'unsupported', message: 'This browser has no Media Source Extensions, which playing FLV needs.' });
      return;
    }
    // What goes wrong is shown on the page, in words for people.
    mpegts.LoggingControl.enableVerbose = false;
    mpegts.LoggingControl.enableWarn = false;
    mpegts.LoggingControl.enableError = false;
    const engine = this.engine = mpegts.createPlayer({ type: 'flv', isLive: true, url: this.url }, {
      enableStashBuffer: false,
      liveBufferLatencyChasing: true,
      autoCleanupSourceBuffer: true,
      customLoader: this.transport === 'ws' ? undefined : promptLoader(mpegts),
    });
    engine.on(mpegts.Events.MEDIA_INFO, (info) => {
      this.codecs = [info.hasVideo && info.videoCodec, info.hasAudio && info.audioCodec].filter(Boolean);
    });
    engine.on(mpegts.Events.STATISTICS_INFO, (info) => {
      this.kilobits = (info.speed ?? 0) * 8;
    });
    // Later: the library has more to do in the same moment, for which it must not be destroyed yet.
    const endSoon = (end) => setTimeout(() => this.end(end));
    engine.on(mpegts.Events.LOADING_COMPLETE, () => endSoon({ kind: 'ended', message: 'The stream has ended.' }));
    engine.on(mpegts.Events.ERROR, (type, detail, info) => endSoon(endOf(mpegts, type, detail, info, this.transport)));
    engine.attachMediaElement(this.video);
    engine.load();
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
    engine?.destroy();
  }

  // Seconds ahead of the play position.
  buffered() {
    const ranges = this.video.buffered;
    return ranges.length === 0 ? 0 : Math.max(0, ranges.end(ranges.length - 1) - this.video.currentTime);
  }

  async sample() {
    const quality = this.video.getVideoPlaybackQuality();
    const now = performance.now();
    const before = this.last;
    this.last = { frames: quality.totalVideoFrames, dropped: quality.droppedVideoFrames, now };
    const frames = before ? Math.max(0, quality.totalVideoFrames - before.frames) : 0;
    const lost = before ? Math.max(0, quality.droppedVideoFrames - before.dropped) : 0;
    return {
      kilobits: this.kilobits,
      width: this.video.videoWidth,
      height: this.video.videoHeight,
      fps: before ? (frames * 1000) / (now - before.now) : null,
      lost,
      expected: frames,
      dropped: quality.droppedVideoFrames,
      frames: quality.totalVideoFrames,
      codecs: this.codecs,
      latencyMs: this.video.buffered.length > 0 ? this.buffered() * 1000 : null,
      latencyMeasured: true,
      over: this.transport,
    };
  }
}
