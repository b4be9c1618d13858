// What the page shows on the API's port, at /console/: who publishes, who is connected, and buttons that end them. The
// public port has none of this.

import { asSentence, bitRate, byId, duration, milliseconds, percent, reasonOf, setText, showError, showText } from './common.js';
import { forgetNotices, keepNotice } from './notices.js';
import { cell, headOf, KeptTable } from './table.js';

const PAGE = 50;
const SURE_MS = 4000;
const LOGIN = 'weir-login';  // the field Authorization, for this tab

export const IS_CONSOLE = /^\/console(\/|$)/.test(window.location.pathname);

// ---- asking

// The API wants a login that this tab does not have.
export class LoginNeeded extends Error {}

let needed = false;   // until somebody logs in: asking without would come to the same
let tried = false;    // the login in use was typed in just now
let loggedIn = () => {};

// One login box for all that the page asks.
function showLogin(message) {
  needed = true;
  sessionStorage.removeItem(LOGIN);
  byId('login').hidden = false;
  byId('logout').hidden = true;
  byId('console').hidden = true;
  delete document.body.dataset.role;
  showText(byId('who'), '');
  forgetNotices();
  showError(byId('login-error'), message);
}

export async function ask(path, method = 'GET') {
  if (needed) {
    throw new LoginNeeded();
  }
  const login = sessionStorage.getItem(LOGIN);
  const answer = await fetch(path, {
    method,
    cache: 'no-store',
    // Said so that a refusal does not open a login box of the browser's over this page's.
    headers: { 'X-Requested-With': 'weir-console', ...(login ? { Authorization: login } : {}) },
  });
  const stillOurs = () => login === sessionStorage.getItem(LOGIN);
  if (answer.status === 401) {
    if (stillOurs()) {
      showLogin(login ? (tried ? await reasonOf(answer) : 'This login holds no longer.') : '');
    }
    throw new LoginNeeded();
  }
  if (!answer.ok) {
    throw new Error((await reasonOf(answer)) || `the server answered ${answer.status}`);
  }
  const body = await answer.json();
  if (!stillOurs()) {
    throw new LoginNeeded();  // what was asked before a logout shows nothing any more
  }
  byId('login').hidden = true;
  byId('console').hidden = false;
  byId('logout').hidden = !login;
  tried = false;
  return body;
}

// Buttons that this login may not use are not shown (style.css, by the role).
async function refreshRole() {
  const { data } = await ask('/api/v1/login');
  document.body.dataset.role = data.role;
  showText(byId('who'), data.needed ? `${data.user || 'token'}, ${data.role}` : '');
}

function logIn(user, secret) {
  const pair = new TextEncoder().encode(`${user}:${secret}`);
  sessionStorage.setItem(LOGIN, user ? `Basic ${btoa(String.fromCharCode(...pair))}` : `Bearer ${secret}`);
  needed = false;
  tried = true;
  loggedIn();
}

// ---- the table of clients

// Shown where there are several.
const PROCESS_COLUMN = ['process', ({ process }) => String(process ?? '-')];

const COLUMNS = [
  ['who', (client) => client.id],
  ['stream', (client) => (client.name ? `${client.app}/${client.name}` : '-')],
  ['as', (client) => client.type],
  ['address', (client) => client.ip],
  ['for', (client) => duration(client.alive * 1000)],
  ['bit rate', (client) => bitRate(client.publish ? client.kbps.recv_10s : client.kbps.send_10s)],
  ['behind', (client) => (client.play?.lag_ms === undefined || client.play?.lag_ms === null ? '-' : milliseconds(client.play.lag_ms))],
  ['round trip', (client) => roundTrip(client)],
  ['resent', (client) => String(client.tcp?.retransmits ?? client.link?.retransmitted ?? '-')],
  ['lost', (client) => (client.link ? percent(client.link.loss, 1) : '-')],
  ['stalls', (client) => (client.play ? String(client.play.write_stalls) : '-')],
  ['missed', (client) => (client.play ? missedText(client.play) : '-')],
  PROCESS_COLUMN,
];

function missedText({ resyncs, dropped_frames: frames }) {
  return resyncs > 0 ? `${frames} frames in ${resyncs} jumps` : `${frames} frames`;
}

function roundTrip(client) {
  const rtt = client.tcp?.rtt_ms ?? client.link?.rtt_ms;
  return rtt === undefined || rtt === null ? '-' : rtt < 0.1 ? '< 0.1 ms' : rtt < 10 ? `${rtt.toFixed(1)} ms` : milliseconds(rtt);
}

// The first click asks, the second within a few seconds does it. `of()`: what it ends, for those who hear the page.
export function kickButton(text, kick, of) {
  const button = cell('button', '');
  button.type = 'button';
  button.className = 'kick';
  const say = (word) => {
    button.textContent = word;
    button.setAttribute('aria-label', `${word} ${of()}`);
  };
  say(text);
  // A row's item may have changed since.
  button.addEventListener('focus', () => say(button.textContent));
  let sure = null;
  button.addEventListener('click', async () => {
    if (!sure) {
      say('Sure?');
      button.dataset.sure = '';
      sure = setTimeout(() => { sure = null; delete button.dataset.sure; say(text); }, SURE_MS);
      return;
    }
    clearTimeout(sure);
    delete button.dataset.sure;
    button.disabled = true;
    try {
      await kick();
    } catch (error) {
      keepNotice(`${text} ${of()}: that did not work: ${asSentence(error.message)}`);
    } finally {  // a row may stay: its publisher comes back
      sure = null;
      button.disabled = false;
      say(text);
    }
    refreshClients();
  });
  return button;
}

// ---- the table of sources and forwards

const received = new Map();  // by the source's id: [bytes, time] of the last look

function rateOf(source) {
  const [bytes, time] = received.get(source.id) ?? [source.bytes, 0];
  const now = performance.now();
  received.set(source.id, [source.bytes, now]);
  return time ? bitRate(Math.max(0, source.bytes - bytes) * 8 / (now - time)) : '-';
}

const ofGroup = (source, text) => (source.group ? text(source.group) : '-');

const lossOf = ({ lost, recovered, parities }) => (recovered || parities ? `${lost} (${lost + recovered} before FEC)` : `${lost}`);

const SOURCE_COLUMNS = [
  ['stream', (source) => `${source.app}/${source.name}`],
  ['address', (source) => `${source.role === 'pull' ? 'from' : 'to'} ${source.url}`],
  ['is', (source) => source.state.replace('_', ' ')],
  ['bit rate', rateOf],
  ['lost', (source) => ofGroup(source, lossOf)],
  ['dropped here', (source) => ofGroup(source, (group) => `${group.kernel_drops}`)],
  ['reordered', (source) => ofGroup(source, (group) => `${group.reordered}`)],
  ['errors', (source) => ofGroup(source, (group) => `${group.continuity_errors}`)],
  ['trouble', (source) => source.last_error || '-'],
  PROCESS_COLUMN,
];

function sourceRow(source) {
  const row = document.createElement('tr');
  row.append(...SOURCE_COLUMNS.map(([name, text]) => {
    const one = cell('td', text(source));
    one.dataset.name = name;
    return one;
  }));
  return row;
}

async function refreshSources() {
  const { sources } = await ask('/api/v1/sources');
  byId('sources-part').hidden = sources.length === 0;
  byId('sources').tBodies[0].replaceChildren(...sources.slice(0, PAGE).map(sourceRow));
  const ids = new Set(sources.map((source) => source.id));
  [...received.keys()].filter((id) => !ids.has(id)).forEach((id) => received.delete(id));
}

// ---- the rows of clients

let table = null;
let first = 0;

async function refreshClients() {
  const query = new URLSearchParams({ start: first, count: PAGE });
  for (const name of ['role', 'transport', 'stream']) {
    const value = byId(`client-${name}`).value.trim();
    if (value) {
      query.set(name, value);
    }
  }
  try {
    if (document.body.dataset.role === undefined) {
      await refreshRole();
    }
    const { total, clients } = await ask(`/api/v1/clients?${query}`);
    if (first > 0 && first >= total) {
      first = 0;
    }
    table.show(clients);
    setText(byId('client-count'), total === 0 ? 'nobody' : `${first + 1} to ${first + clients.length} of ${total}`);
    byId('client-back').disabled = first === 0;
    byId('client-on').disabled = first + PAGE >= total;
    await refreshSources();
  } catch (error) {
    if (!(error instanceof LoginNeeded)) {
      keepNotice(`The clients cannot be read: ${asSentence(error.message)}`);
    }
  }
}

// ---- start

// `refresh`: reads what else the page shows anew, after a login.
export function startConsole(periodMs, refresh) {
  table = new KeptTable(byId('clients'), COLUMNS, (client) => client.id, (newest) => kickButton('Kick',
    () => ask(`/api/v1/clients/${encodeURIComponent(newest().id)}`, 'DELETE'), () => `${newest().type} ${newest().id}`));
  byId('sources').tHead.rows[0].append(...headOf(SOURCE_COLUMNS));
  const anew = () => { first = 0; refreshClients(); };
  for (const name of ['role', 'transport', 'stream']) {
    byId(`client-${name}`).addEventListener('input', anew);
  }
  byId('client-back').addEventListener('click', () => { first = Math.max(0, first - PAGE); refreshClients(); });
  byId('client-on').addEventListener('click', () => { first += PAGE; refreshClients(); });
  // One after the other: a wrong login is shown to the server once only.
  loggedIn = async () => {
    await refresh();
    await refreshClients();
  };
  byId('login').addEventListener('submit', (event) => {
    event.preventDefault();
    logIn(byId('login-user').value.trim(), byId('login-secret').value);
    byId('login-secret').value = '';
  });
  byId('logout').addEventListener('click', () => {
    table.clear();
    byId('sources').tBodies[0].replaceChildren();
    showLogin('');
    refresh();
  });
  const loop = async () => {
    await refreshClients();
    setTimeout(loop, periodMs);
  };
  loop();
}
