// Plays one FLV stream in a <video> with mpegts.js, over HTTP or WebSocket.
//
// A Player goes idle -> loading -> playing -> ended | failed; start() begins anew. Its fields are what the page shows and
// what tests read as window.weirPlayer.

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
        'run scripts/install-deps.sh there, then reload this page.'));
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

// A sentence for people from what mpegts.js reports.
function describeError(mpegts, type, detail, info, transport) {
  const { ErrorTypes, ErrorDetails } = mpegts;
  if (type === ErrorTypes.NETWORK_ERROR) {
    if (detail === ErrorDetails.NETWORK_STATUS_CODE_INVALID) {
      return info?.code === 404
        ? 'This stream is not live (404).'
        : `The server refused the stream: ${info?.code ?? ''} ${info?.msg ?? ''}`.trim();
    }
    if (detail === ErrorDetails.NETWORK_UNRECOVERABLE_EARLY_EOF) {
      return 'The stream broke off.';
    }
    return transport === 'ws'
      ? 'The WebSocket could not be opened or broke off; the stream may not be live.'
      : 'The connection could not be opened or broke off.';
  }
  if (type === ErrorTypes.MEDIA_ERROR) {
    if (detail === ErrorDetails.MEDIA_CODEC_UNSUPPORTED || detail === ErrorDetails.MEDIA_MSE_ERROR) {
      return `This browser cannot play the codecs of this stream (${info?.msg ?? detail}).`;
    }
    return `The stream could not be decoded: ${info?.msg ?? detail}.`;
  }
  return `Playing failed: ${info?.msg ?? detail ?? type}.`;
}

export class Player extends EventTarget {
  constructor(video) {
    super();
    this.video = video;
    this.engine = null;
    this.reset();
    video.addEventListener('playing', () => this.enter('playing'));
    video.addEventListener('error', () => {
      if (this.engine && video.error) {
        this.fail(`The browser stopped playing: ${video.error.message || 'code ' + video.error.code}.`);
      }
    });
  }

  get frames() { return this.video.getVideoPlaybackQuality().totalVideoFrames; }
  get dropped() { return this.video.getVideoPlaybackQuality().droppedVideoFrames; }
  get currentTime() { return this.video.currentTime; }
  get width() { return this.video.videoWidth; }
  get height() { return this.video.videoHeight; }

  // Seconds ahead of the play position.
  get buffered() {
    const ranges = this.video.buffered;
    return ranges.length === 0 ? 0 : Math.max(0, ranges.end(ranges.length - 1) - this.video.currentTime);
  }

  reset() {
    this.state = 'idle';
    this.error = null;
    this.url = null;
    this.transport = null;
    this.videoCodec = null;
    this.audioCodec = null;
    this.kilobitsPerSecond = 0;
  }

  enter(state) {
    this.state = state;
    this.dispatchEvent(new Event('change'));
  }

  fail(message) {
    if (this.state !== 'failed') {
      this.release();
      this.error = message;
      this.enter('failed');
    }
  }

  release() {
    const engine = this.engine;
    this.engine = null;
    engine?.destroy();
  }

  stop() {
    this.release();
    this.reset();
    this.enter('idle');
  }

  // `path` is that of the FLV on this server. Muted starts are allowed by browsers without a click.
  async start(path, transport, muted) {
    this.release();
    this.reset();
    this.url = mediaUrl(path, transport);
    this.transport = transport;
    this.enter('loading');
    let mpegts;
    try {
      mpegts = await loadLibrary();
    } catch (error) {
      this.fail(error.message);
      return;
    }
    if (!mpegts.isSupported()) {
      this.fail('This browser has no Media Source Extensions, which playing FLV needs.');
      return;
    }
    const engine = mpegts.createPlayer({ type: 'flv', isLive: true, url: this.url }, {
      enableStashBuffer: false,
      liveBufferLatencyChasing: true,
      autoCleanupSourceBuffer: true,
    });
    this.engine = engine;
    engine.on(mpegts.Events.MEDIA_INFO, (info) => {
      this.videoCodec = info.hasVideo ? info.videoCodec ?? null : null;
      this.audioCodec = info.hasAudio ? info.audioCodec ?? null : null;
    });
    engine.on(mpegts.Events.STATISTICS_INFO, (info) => {
      this.kilobitsPerSecond = Math.round((info.speed ?? 0) * 8);
    });
    engine.on(mpegts.Events.LOADING_COMPLETE, () => {
      if (this.engine === engine) {
        this.enter('ended');
      }
    });
    engine.on(mpegts.Events.ERROR, (type, detail, info) => {
      if (this.engine === engine) {
        this.fail(describeError(mpegts, type, detail, info, transport));
      }
    });
    this.video.muted = muted;
    engine.attachMediaElement(this.video);
    engine.load();
    try {
      await engine.play();
    } catch (error) {
      // NotAllowedError: the browser wants a click first; the controls are there for it. AbortError: stopped meanwhile.
      if (this.engine === engine && error.name === 'NotAllowedError') {
        this.enter('blocked');
      }
    }
  }
}
