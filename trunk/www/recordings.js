// The console's table of recordings: what grows, then the newest files, with links that play them.

import { byId, duration, setText } from './common.js';
import { ask, kickButton } from './console.js';
import { cell } from './table.js';

const SHOWN = 30;
const PERIOD_MS = 10_000;  // the list may be long

let due = 0;

function size(bytes) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit + 1 < units.length) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

// A link where it can be played: MP4 by the page of the public server, others as files.
function fileCell(recording, origin) {
  const one = cell('td', '');
  if (!recording.play || !origin) {
    one.textContent = recording.file || '-';
    return one;
  }
  const link = cell('a', recording.file);
  link.href = origin + recording.play;
  link.target = '_blank';
  link.rel = 'noopener';
  one.append(link);
  return one;
}

function stateOf(recording) {
  if (recording.state === 'recording') {
    return recording.trouble || (recording.gaps ? `recorded, with ${recording.gaps} gaps` : 'recorded now');
  }
  return recording.repaired ? 'repaired after a crash' : 'finished';
}

function rowOf(recording, origin) {
  const row = document.createElement('tr');
  const running = recording.state === 'recording';
  const texts = [
    ['stream', cell('td', `${recording.app}/${recording.stream}`)],
    ['file', fileCell(recording, origin)],
    ['began', cell('td', new Date(recording.started_ms).toLocaleString())],
    ['length', cell('td', duration(recording.duration_ms))],
    ['size', cell('td', size(recording.bytes))],
    ['is', cell('td', stateOf(recording))],
  ];
  for (const [name, one] of texts) {
    one.dataset.name = name;
    row.append(one);
  }
  const last = cell('td', '');
  last.className = 'act';
  last.append(kickButton(running ? 'End' : 'Remove', async () => {
    await ask(`/api/v1/recordings/${encodeURIComponent(recording.id)}`, 'DELETE');
    due = 0;
  }, () => `the recording of ${recording.app}/${recording.stream}`));
  row.append(last);
  return row;
}

// `origin`: of the public server, or null.
export async function refreshRecordings(origin) {
  // A button that was clicked once must stay.
  if (performance.now() < due || document.querySelector('#recordings .kick[data-sure]')) {
    return;
  }
  due = performance.now() + PERIOD_MS;
  const { total, recordings } = await ask(`/api/v1/recordings?count=${SHOWN}`);
  byId('recordings-part').hidden = total === 0;
  const head = byId('recordings').tHead.rows[0];
  if (!head.children.length) {
    head.append(...['stream', 'file', 'began', 'length', 'size', 'is', ''].map((name) => cell('th', name)));
  }
  byId('recordings').tBodies[0].replaceChildren(...recordings.map((recording) => rowOf(recording, origin)));
  setText(byId('recordings-count'), total > recordings.length ? `the newest ${recordings.length} of ${total}` : '');
}
