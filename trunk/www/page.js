// The page: lists what is live (live.json), plays a stream, shows how to publish.
//
// ?play=live/livestream&transport=ws|http&autoplay=1 starts at once (muted, as browsers demand).

import { Player, mediaUrl } from './player.js';

const LIST_PERIOD_MS = 2000;
const STATS_PERIOD_MS = 250;
const DEFAULT_RTMP_PORT = 1935;

const byId = (id) => document.getElementById(id);
const query = new URLSearchParams(window.location.search);
const player = new Player(byId('video'));
window.weirPlayer = player;

let current = null;  // what is shown in the player: { title, path, play }

function setText(id, text) {
  const element = byId(id);
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

function showText(id, text) {
  byId(id).hidden = !text;
  setText(id, text ?? '');
}

// ---- player

function playerLink() {
  const url = new URL(window.location.pathname, window.location.href);
  url.searchParams.set('play', current.play);
  url.searchParams.set('transport', byId('transport').value);
  url.searchParams.set('autoplay', '1');
  return url.href;
}

function show(stream) {
  current = stream;
  byId('player').hidden = false;
  setText('player-title', stream.title);
  byId('player-link').href = playerLink();
}

function play(stream, muted) {
  show(stream);
  player.start(stream.path, byId('transport').value, muted);
}

const STATES = {
  idle: 'stopped',
  loading: 'waiting for the stream',
  blocked: 'waiting for a click',
  playing: 'playing',
  ended: 'ended',
  failed: 'failed',
};

const ACTIVE = new Set(['loading', 'blocked', 'playing']);

function showPlayer() {
  setText('toggle', ACTIVE.has(player.state) ? 'Stop' : 'Play');
  showText('player-error', player.error);
  const hints = {
    blocked: 'The browser wants a click on the video before it plays.',
    ended: 'The stream has ended.',
  };
  const muted = player.state === 'playing' && player.video.muted && player.audioCodec;
  showText('player-hint', hints[player.state] ?? (muted ? 'The sound is off: switch it on in the controls.' : null));
  setText('stat-state', STATES[player.state]);
  const codecs = [player.videoCodec, player.audioCodec].filter(Boolean).join(', ');
  setText('stat-codecs', codecs || '-');
  setText('stat-resolution', player.width ? `${player.width} × ${player.height}` : '-');
  setText('stat-buffered', `${player.buffered.toFixed(1)} s`);
  setText('stat-frames', String(player.frames));
  setText('stat-dropped', String(player.dropped));
  setText('stat-rate', `${player.kilobitsPerSecond} kbit/s`);
}

// ---- list

function duration(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part, i) => (i === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}

function cell(row, text, className) {
  const td = row.insertCell();
  td.textContent = text;
  if (className) {
    td.className = className;
  }
  return td;
}

function streamRow(stream) {
  const row = document.createElement('tr');
  const title = `${stream.app}/${stream.name}`;
  const name = cell(row, title, 'name');
  if (stream.vhost && !stream.vhost.startsWith('__')) {
    const vhost = document.createElement('small');
    vhost.textContent = stream.vhost;
    name.append(vhost);
  }
  cell(row, stream.video || '-');
  cell(row, stream.audio || '-');
  cell(row, String(stream.players ?? 0));
  cell(row, duration(stream.live_ms ?? 0));
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'play';
  button.textContent = 'Play';
  button.setAttribute('aria-label', `Play ${title}`);
  button.addEventListener('click', () => {
    play({ title, path: stream.url_flv, play: stream.url_flv.replace(/^\//, '').replace(/\.flv(?=\?|$)/, '') }, false);
  });
  cell(row, '').append(button);
  return row;
}

function showList(streams) {
  const body = byId('streams').tBodies[0];
  const focused = document.activeElement?.getAttribute('aria-label');
  body.replaceChildren(...streams.map(streamRow));
  if (focused) {  // the list is made anew: keep the keyboard where it was
    [...body.querySelectorAll('button')].find((b) => b.getAttribute('aria-label') === focused)?.focus();
  }
  byId('streams').hidden = streams.length === 0;
  byId('nothing').hidden = streams.length !== 0;
  const players = streams.reduce((sum, stream) => sum + (stream.players ?? 0), 0);
  setText('summary', `${streams.length} live, ${players} watching`);
}

let shownList = '';

async function refreshList() {
  try {
    const answer = await fetch('live.json', { cache: 'no-store' });
    if (!answer.ok) {
      throw new Error(`the server answered ${answer.status}`);
    }
    const text = await answer.text();
    const live = JSON.parse(text);
    showText('list-error', null);
    if (text !== shownList) {
      shownList = text;
      showList(live.streams ?? []);
      showRecipes(live.rtmp_port ?? DEFAULT_RTMP_PORT);
    }
  } catch (error) {
    showText('list-error', `The list of streams cannot be read: ${error.message}.`);
    setText('summary', 'no connection to the server');
    shownList = '';
  }
  setTimeout(refreshList, LIST_PERIOD_MS);
}

// ---- recipes

function showRecipes(rtmpPort) {
  const host = window.location.hostname || 'localhost';
  const rtmp = `rtmp://${host}${rtmpPort === DEFAULT_RTMP_PORT ? '' : ':' + rtmpPort}/live`;
  setText('recipe-ffmpeg',
    `ffmpeg -re -stream_loop -1 -i your.mp4 -c:v libx264 -preset veryfast -tune zerolatency -g 60 -c:a aac \\\n` +
    `  -f flv ${rtmp}/livestream`);
  setText('recipe-obs-server', rtmp);
  setText('recipe-play',
    `ffplay ${rtmp}/livestream\n` +
    `ffplay ${mediaUrl('live/livestream.flv', 'http')}\n` +
    `vlc ${mediaUrl('live/livestream.flv', 'http')}`);
}

// ---- start

byId('toggle').addEventListener('click', () => {
  if (ACTIVE.has(player.state)) {
    player.stop();
  } else if (current) {
    play(current, false);
  }
});

byId('transport').addEventListener('change', () => {
  if (!current) {
    return;
  }
  byId('player-link').href = playerLink();
  if (ACTIVE.has(player.state)) {
    play(current, player.video.muted);
  }
});

player.addEventListener('change', showPlayer);
setInterval(() => {
  if (current) {
    showPlayer();
  }
}, STATS_PERIOD_MS);

showRecipes(DEFAULT_RTMP_PORT);
refreshList();

byId('transport').value = query.get('transport') === 'ws' ? 'ws' : 'http';
const wanted = query.get('play');
if (wanted) {
  // "live/livestream" or "live/livestream?vhost=x": always a path of this server, whatever the text.
  const [path, ...rest] = wanted.split('?');
  const flv = '/' + path.replace(/^\/+/, '').split('/').map(encodeURIComponent).join('/') + '.flv';
  const stream = { title: path, path: rest.length ? `${flv}?${rest.join('?')}` : flv, play: wanted };
  if (query.get('autoplay') === '1') {
    play(stream, true);
  } else {
    show(stream);
    showPlayer();
  }
}
