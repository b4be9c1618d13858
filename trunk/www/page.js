// The page: lists what is live (live.json), each stream with a player, shows how to publish.
//
// On the API's port, at /console/, the same page shows who publishes and who is connected (console.js).
//
// ?play=live/livestream&key=KEY&transport=webrtc|http|ws&autoplay=1 shows that stream first, and starts it (muted, as
// browsers demand). The key goes from the address into this tab's memory. window.weirPlayer is the player that was opened last.

import { asSentence, byId, DEFAULT_RTMP_PORT, makeStream, setText, showError, showText, signallingUrl, streamFromText } from './common.js';
import { showAddresses } from './addresses.js';
import { StreamCard } from './card.js';
import { forgetCluster, refreshCluster } from './cluster.js';
import { ask, IS_CONSOLE, LoginNeeded, startConsole } from './console.js';
import { TRANSPORTS } from './player.js';
import { Health } from './plot.js';
import { forgetProcesses, refreshProcesses } from './processes.js';
import { publishers } from './publisher_line.js';
import { refreshRecordings } from './recordings.js';

const LIST_PERIOD_MS = 2000;
const FIGURES_PERIOD_MS = 1000;
const MOST_CARDS = 200;
const MOST_LIST_WAIT_MS = 1000;
const FILTER_FROM = 8;  // so many streams are worth a search field

const query = new URLSearchParams(window.location.search);
const cards = new Map();   // by the stream's key
const pinned = new Set();  // cards that were asked for by name: they stay
let listed = 'all';        // which streams the server names

// ---- list

function cardOf(stream) {
  let card = cards.get(stream.key);
  if (!card) {
    card = new StreamCard(stream, byId('card'), { opened, addresses: openAddresses });
    cards.set(stream.key, card);
  }
  return card;
}

function opened(card) {
  window.weirPlayer = card.player;
}

function openAddresses(card) {
  showAddresses(card.stream, card.live, facts, (IS_CONSOLE && publicOrigin(facts)) || window.location.origin);
}

function streamOf(live) {
  const vhost = live.vhost && !live.vhost.startsWith('__') ? `vhost=${encodeURIComponent(live.vhost)}` : '';
  return makeStream(live.app, live.name, vhost);
}

const wanted = (stream) => stream.title.toLowerCase().includes(byId('filter').value.trim().toLowerCase());

function showList(streams) {
  const named = new Map(streams.map((live) => {
    const stream = streamOf(live);
    return [stream.key, { stream, live }];
  }));
  const shown = [...named.values()].filter(({ stream }) => wanted(stream)).slice(0, MOST_CARDS).map(({ stream }) => cardOf(stream));
  for (const [key, card] of cards) {
    card.update(named.get(key)?.live ?? null, listed === 'all');
    if (card.idle && !pinned.has(card) && !shown.includes(card)) {
      cards.delete(key);
      card.element.remove();
    }
  }
  placeCards(shown);
  showText(byId('more'), named.size > MOST_CARDS ? `${MOST_CARDS} of ${named.size} are shown; the search field finds the others.` : '');
  byId('filter-line').hidden = named.size < FILTER_FROM && !byId('filter').value;
  byId('nothing').hidden = named.size !== 0;
  byId('nothing').replaceChildren(...nothingText());
  byId('other').hidden = IS_CONSOLE;
  const players = streams.reduce((sum, live) => sum + (live.players ?? 0), 0);
  // None in the list of what is open does not mean that nothing is live.
  setText(byId('summary'), streams.length > 0 || listed === 'all' ? `${streams.length} live, ${players} watching` : '');
}

// Of an empty list.
function nothingText() {
  if (listed === 'none') {
    return ['This server does not say what is live. Play a stream by its name.'];
  }
  const link = document.createElement('a');
  link.href = byId('publish-link').href;
  link.textContent = 'Publish from this browser';
  return ['Nothing is live', listed === 'open' ? ' that plays without a key' : '', '. ',
    ...(IS_CONSOLE ? [] : [link, ', or with one of the programs below.'])];
}

// A stream that a person named, first of all.
function pin(stream) {
  const card = cardOf(stream);
  if (stream.secret) {
    card.useSecret(stream.secret);
  }
  pinned.add(card);
  byId('streams').prepend(card.element);
  return card;
}

// Only what is new is put in: a video that is moved in the document stops, and the keyboard loses its place.
function placeCards(shown) {
  const list = byId('streams');
  for (const card of shown) {
    if (card.element.parentElement !== list) {
      list.append(card.element);
    }
  }
}

let streams = [];
let facts = {};  // the newest live.json
const health = new Health(byId('health'), byId('plots'), byId('plot'));

// Where the public server is, as seen from the console: by https when the console is, as far as it can be; null when there
// is none.
function publicOrigin(live) {
  const tls = live.https_port > 0 && (window.location.protocol === 'https:' || !live.http_port);
  const port = tls ? live.https_port : live.http_port;
  return port ? `${tls ? 'https' : 'http'}://${window.location.hostname}:${port}` : null;
}

async function refreshDetails(live) {
  const origin = publicOrigin(live);
  const publish = byId('publish-link');
  publish.hidden = !origin;
  if (origin) {
    publish.href = `${origin}/publish.html`;
  }
  await refreshProcesses();
  await refreshCluster();
  const known = await publishers();
  for (const each of streams) {
    cards.get(streamOf(each).key)?.showDetails(known.get(`${each.vhost}/${each.app}/${each.name}`), origin);
  }
  await refreshRecordings(origin);
}

// The API's port may ask for a token, for this too.
async function readLive() {
  const path = `/live.json${health.points.length ? '' : '?history=1'}`;
  if (IS_CONSOLE) {
    return ask(path);
  }
  const answer = await fetch(path, { cache: 'no-store' });
  if (!answer.ok) {
    throw new Error(`the server answered ${answer.status}`);
  }
  return answer.json();
}

async function refreshList() {
  try {
    const live = await readLive();
    showText(byId('list-error'), '');
    facts = live;
    streams = live.streams ?? [];
    listed = live.list ?? 'all';
    byId('live').hidden = false;
    showList(streams);
    health.update(live.health);
    byId('phone-link').hidden = IS_CONSOLE || !live.phone;
    showRecipes(live.rtmp_port || DEFAULT_RTMP_PORT);
    if (IS_CONSOLE) {
      await refreshDetails(live);
    }
  } catch (error) {
    if (error instanceof LoginNeeded) {
      showLoginNeeded();
    } else {
      showError(byId('list-error'), `The list of streams cannot be read: ${asSentence(error.message)}`);
      setText(byId('summary'), error instanceof TypeError ? 'no connection to the server' : '');
    }
  }
  clearTimeout(listTimer);
  listTimer = setTimeout(refreshList, LIST_PERIOD_MS);
}

let listTimer = 0;

// The console before its login, and after it has ended: nothing of what was there stays.
function showLoginNeeded() {
  showText(byId('list-error'), '');
  setText(byId('summary'), '');
  streams = [];
  cards.forEach((card) => card.element.remove());
  cards.clear();
  byId('live').hidden = true;
  health.update(null);
  forgetCluster();
  forgetProcesses();
}

async function refreshFigures() {
  const open = [...cards.values()].filter((card) => !card.idle);
  byId('streams').classList.toggle('many', open.length > 1);
  await Promise.allSettled(open.map((card) => card.sample()));
  setTimeout(refreshFigures, FIGURES_PERIOD_MS);
}

// ---- recipes

function showRecipes(rtmpPort) {
  const host = window.location.hostname || 'localhost';
  const rtmp = `rtmp://${host}${rtmpPort === DEFAULT_RTMP_PORT ? '' : ':' + rtmpPort}/live`;
  setText(byId('recipe-ffmpeg'),
    `ffmpeg -re -stream_loop -1 -i your.mp4 -c:v libx264 -preset veryfast -tune zerolatency -g 60 -c:a aac \\\n` +
    `  -f flv ${rtmp}/livestream`);
  setText(byId('recipe-obs-server'), rtmp);
  setText(byId('recipe-whip'), signallingUrl('whip', makeStream('live', 'livestream')));
}

// ---- start

byId('filter').addEventListener('input', () => showList(streams));

// Sessions end when the page goes, not when the server has missed it for half a minute.
window.addEventListener('pagehide', () => cards.forEach((card) => card.player?.leave()));
window.addEventListener('pageshow', (event) => {
  if (event.persisted) {
    cards.forEach((card) => card.player?.comeBack());
  }
});
window.addEventListener('online', () => cards.forEach((card) => card.player?.retryNow()));

showRecipes(DEFAULT_RTMP_PORT);
if (IS_CONSOLE) {
  document.title = 'Weir: console';
  document.body.classList.add('desk');
  byId('recipes').hidden = true;
  setText(byId('here'), 'Console');
  startConsole(LIST_PERIOD_MS, refreshList);
}

byId('other').addEventListener('submit', (event) => {
  event.preventDefault();
  const stream = streamFromText(byId('other-name').value.trim());
  if (!stream) {
    return;
  }
  const card = pin({ ...stream, secret: byId('other-key').value.trim() || stream.secret });
  byId('other').reset();
  card.open(false);
  card.element.scrollIntoView({ block: 'nearest' });
});

// A key in the address would be on every picture of this screen, and in the history of the browser.
function hideSecrets(stream) {
  const url = new URL(window.location.href);
  const before = url.href;
  url.searchParams.delete('key');
  url.searchParams.delete('token');
  if (stream.secret) {
    url.searchParams.set('play', stream.key);
  }
  if (url.href !== before) {
    history.replaceState(null, '', url.href.replaceAll('%2F', '/'));
  }
}

const firstList = refreshList();
refreshFigures();
const asked = streamFromText(query.get('play') ?? '');
document.body.classList.toggle('embed', Boolean(asked) && query.get('embed') === '1');
if (asked) {
  asked.secret = query.get('key') || query.get('token') || asked.secret;
  hideSecrets(asked);
  const card = pin(asked);
  if (query.get('transport') in TRANSPORTS) {
    card.transport.value = query.get('transport');
  }
  if (query.get('autoplay') === '1') {
    // What is known of the stream decides how it is played; a server that is slow to say so is not waited for.
    Promise.race([firstList, new Promise((resolve) => { setTimeout(resolve, MOST_LIST_WAIT_MS); })]).then(() => {
      if (card.idle) {
        card.open(true);
      }
    });
  }
}
