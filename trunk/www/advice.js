// What is worth a word about a stream, for the console: what its publisher could do better, or what was mended of it.

const LONG_GOP_MS = 4_000;
const FEW_FRAMES = 10;  // a second
const SETTLED_MS = 15_000;  // the first seconds say little

const MENDED = {
  units_left_out: 'broken units left out',
  messages_dropped: 'broken messages dropped',
  pictures_damaged: 'pictures damaged',
  audio_holes: 'holes in the sound',
};

function aboutVideo({ video, gop }) {
  if (!video) {
    return [];
  }
  const found = [];
  if (gop.ms > LONG_GOP_MS) {
    found.push(`key frames each ${(gop.ms / 1000).toFixed(0)} s: players start late, HLS has long segments; 2 s are usual`);
  }
  if (video.fps < FEW_FRAMES) {
    found.push(`${video.fps.toFixed(1)} frames a second: does the encoder keep up?`);
  }
  return found;
}

// `stream`: of the API. Sentences without a full stop, the gravest first.
export function adviceFor(stream) {
  const found = [];
  if (stream.live_ms > SETTLED_MS) {
    if (!stream.kbps?.recv_10s) {
      found.push('nothing comes from the publisher');
    }
    found.push(...aboutVideo(stream));
    if (!stream.audio) {
      found.push('no sound comes');
    }
  }
  const mended = Object.entries(MENDED).filter(([name]) => stream.mended?.[name] > 0)
    .map(([name, words]) => `${stream.mended[name]} ${words}`);
  if (mended.length) {
    found.push(`mended: ${mended.join(', ')}`);
  }
  if (stream.timestamp_shifts > 0) {
    found.push(`its clock was set ${stream.timestamp_shifts === 1 ? 'once' : `${stream.timestamp_shifts} times`}`);
  }
  if (stream.unused_tracks) {
    found.push(`not passed on: ${stream.unused_tracks}`);
  }
  return found;
}
