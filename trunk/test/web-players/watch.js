// Watches the player that page.html?player=NAME has loaded: begin(...) starts it, state() returns what has happened since.

const TICK_MS = 50;
const STALL_TICKS = 6; // without progress. Ticks and not milliseconds: the page itself may have waited for the CPU
const SAMPLE_TICKS = 5;
const START_MS = 500;
const SKIP_SECONDS = 0.3;

const player = PLAYERS[new URLSearchParams(location.search).get('player')];
let handle = null;
const seen = { first_ms: null, stalls: [], skips: 0, samples: [], errors: [], refused: [], sizes: [] };

async function load() {
  for (const path of player.libraries) {
    await new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = `libraries/${path}`;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${path} is missing: run scripts/install-deps.sh --web-players`));
      document.head.append(script);
    });
  }
  return true;
}
const loaded = load();

// Weir's answers have CORS headers, so the page may read their status.
new PerformanceObserver((list) => {
  for (const entry of list.getEntries().filter((each) => each.responseStatus >= 400)) {
    const { pathname, search } = new URL(entry.name);
    seen.refused.push(`${entry.responseStatus} ${pathname}${search.replace(/session=\w+/, 'session=..')}`);
  }
}).observe({ type: 'resource' });

// Looked up each time: a player may replace our element with its own.
const element = () => document.querySelector('video');
const frames = () => element()?.getVideoPlaybackQuality().totalVideoFrames ?? 0;
const audioBytes = () => element()?.webkitAudioDecodedByteCount ?? 0;

class Progress {
  constructor() {
    this.ticks = 0;
    this.still = 0;
    this.time = 0;
    this.at = performance.now();
  }

  tick(now) {
    const video = element();
    const [time, rate] = video ? [video.currentTime, video.playbackRate] : [0, 1];
    const moved = time - this.time;
    const elapsed = (now - this.at) / 1000;
    this.time = time;
    this.at = now;
    this.ticks += 1;
    if (this.ticks === 1) {
      return;
    }
    if (moved === 0) {
      this.still += 1;
      if (this.still === STALL_TICKS) {
        seen.stalls.push({ at_s: now / 1000, seconds: 0 });
      }
      if (this.still >= STALL_TICKS) {
        seen.stalls.at(-1).seconds = (this.still * TICK_MS) / 1000;
      }
      return;
    }
    this.still = 0;
    seen.skips += Math.abs(moved - elapsed * rate) > SKIP_SECONDS ? 1 : 0;
  }
}

function note(began) {
  const progress = new Progress();
  setInterval(() => {
    const now = performance.now() - began;
    const playing = element()?.currentTime > 0 && !element().seeking;
    if (seen.first_ms === null && (seen.audioOnly ? playing && audioBytes() > 0 : frames() > 0)) {
      seen.first_ms = now;
    }
    // Players may show the first frame before they start. A player that does not continue after it has stalled.
    if (seen.first_ms === null || (progress.ticks === 0 && !playing && now < seen.first_ms + START_MS)) {
      return;
    }
    progress.tick(now);
    if (progress.ticks % SAMPLE_TICKS !== 0) {
      return;
    }
    const { videoWidth, videoHeight } = element();
    const size = `${videoWidth}x${videoHeight}`;
    if (videoWidth && seen.sizes.at(-1) !== size) {
      seen.sizes.push(size);
    }
    const behind = handle.behind();
    if (Number.isFinite(behind)) {
      seen.samples.push([Math.round(now), Math.round(behind * 1000)]);
    }
  }, TICK_MS);
  // The interval is too long to measure the start with.
  const first = () => {
    if (seen.first_ms === null) {
      if (!seen.audioOnly && frames() > 0) {
        seen.first_ms = performance.now() - began;
      } else {
        setTimeout(first, 4);
      }
    }
  };
  first();
}

// `options`: low, settings, audioOnly (the stream has no video).
function begin(url, options) {
  seen.audioOnly = options.audioOnly;
  const error = (text) => seen.errors.push(String(text).trim().slice(0, 200));
  const began = performance.now();
  handle = player.start(element(), url, { settings: {}, ...options, error });
  note(began);
}

// Samples are [ms since the start, ms behind].
const state = () => ({ ...seen, frames: frames(), audio_bytes: audioBytes(), dropped: element()?.getVideoPlaybackQuality().droppedVideoFrames ?? 0,
  levels: handle?.levels() ?? 0, time: element()?.currentTime ?? 0 });
