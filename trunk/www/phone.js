// The phone page: calls and is called by SIP. The line is a WebSocket (phone_line.js); what is said goes by WHIP, what is
// heard comes by WHEP, both only while there is a call.
//
// window.weirPhone is the line, and weirPhoneMedia what is said and heard.

import { bitRate, byId, duration, milliseconds, percent, setText, showError, showText } from './common.js';
import { PhoneLine } from './phone_line.js';
import { WhepEngine } from './whep_engine.js';
import { WhipPublisher } from './whip_publisher.js';

const FIGURES_PERIOD_MS = 1000;
const LIST_PERIOD_MS = 10_000;
const AGAIN_MS = 400;  // the other party's stream begins a moment after its answer
const KEYS = '123456789*0#';
const STORE = 'weir-phone';
const REMEMBERED = ['user', 'display'];  // never the password

const line = window.weirPhone = new PhoneLine();
const value = (id) => byId(id).value.trim();

// ---- what is said and heard

const media = window.weirPhoneMedia = {
  publisher: new WhipPublisher(),
  microphone: null,
  engine: null,
  timer: 0,
  muted: false,
  heard: null,  // figures
};

function microphoneError(error) {
  switch (error.name) {
    case 'NotAllowedError':
    case 'SecurityError':
      return 'The browser was not allowed to use the microphone. Allow it for this page: the icon beside the address; then call again.';
    case 'NotFoundError':
      return 'There is no microphone here. Connect one, then call again.';
    case 'NotReadableError':
    case 'AbortError':
      return 'The browser could not open the microphone: another program may be using it.';
    default:
      return `The browser could not open the microphone: ${error.message || error.name}.`;
  }
}

// Opens the microphone and sends it. False when that failed, with the reason shown.
async function speak() {
  showError(byId('error'), '');
  try {
    media.microphone = await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch (error) {
    showError(byId('error'), microphoneError(error));
    return false;
  }
  mute(false);
  media.publisher.start({ stream: line.local, key: line.local.secret, media: media.microphone, kilobits: 0, simulcast: false });
  return true;
}

// As long as there is a call: the other party's stream may begin later, and begins anew after a break.
function listen() {
  clearTimeout(media.timer);
  media.engine?.close();
  const engine = media.engine = new WhepEngine(byId('remote'), line.remote, {
    ready: () => byId('remote').play().catch(() => {}),
    end: () => {
      if (engine === media.engine) {
        engine.close();
        media.timer = setTimeout(listen, AGAIN_MS);
      }
    },
  }, ['audio']);
  engine.start();
}

function silence() {
  clearTimeout(media.timer);
  media.engine?.close();
  media.engine = null;
  media.heard = null;
  if (media.microphone) {
    media.publisher.stop();
    media.microphone.getTracks().forEach((track) => track.stop());
    media.microphone = null;
  }
}

function mute(on) {
  media.muted = on;
  media.microphone?.getAudioTracks().forEach((track) => { track.enabled = !on; });
}

// ---- the bell

const bell = { context: null, timer: 0, kind: '' };

// Of the telephone that calls (a long tone in 4 s) or is called (two short ones in 3 s).
function ring(kind) {
  if (bell.kind === kind) {
    return;
  }
  bell.kind = kind;
  clearInterval(bell.timer);
  bell.context?.close();
  bell.context = null;
  if (!kind || !window.AudioContext) {
    return;
  }
  const context = bell.context = new AudioContext();
  const tone = (from, seconds) => {
    const source = context.createOscillator();
    const gain = context.createGain();
    source.frequency.value = 425;
    gain.gain.value = 0.08;
    source.connect(gain).connect(context.destination);
    source.start(context.currentTime + from);
    source.stop(context.currentTime + from + seconds);
  };
  const once = () => (kind === 'called' ? [0, 0.6].forEach((from) => tone(from, 0.4)) : tone(0, 1));
  once();
  bell.timer = setInterval(once, kind === 'called' ? 3000 : 4000);
}

// ---- calls

let busy = false;  // while a person answers the browser's question
let shown = null;  // the call that the media belongs to
let listening = false;

async function dial(to) {
  if (busy || line.call || line.state !== 'ready' || !to) {
    return;
  }
  busy = true;
  const ready = await speak();
  busy = false;
  if (!ready || line.state !== 'ready' || line.call) {
    silence();
    return;
  }
  line.invite(to);
}

async function accept() {
  const call = line.call;
  if (busy || call?.state !== 'incoming') {
    return;
  }
  busy = true;
  ring('');
  const ready = await speak();
  busy = false;
  if (ready && line.call === call) {
    line.accept();
  } else {
    silence();
  }
}

// The media follows the call.
function follow() {
  const { call } = line;
  if (call !== shown) {
    if (shown) {
      silence();
    }
    shown = call;
    listening = false;
    showText(byId('digits'), '');
  }
  if (call?.state === 'talking' && !listening) {
    listening = true;
    listen();
  }
  ring({ incoming: busy ? '' : 'called', ringing: 'calls' }[call?.state] ?? '');
}

// ---- what is shown

const STATES = { off: '', opening: 'connecting…', ready: 'ready', waiting: 'trying again…', failed: 'not connected' };
const CALL_STATES = { calling: 'calling…', ringing: 'it rings', talking: 'connected' };

function show() {
  const { state, call } = line;
  showError(byId('error'), line.message);
  setText(byId('state'), state === 'ready' ? `${line.login.user}: ready` : STATES[state]);
  byId('state').dataset.state = state === 'ready' ? 'live' : state;
  setText(byId('open'), line.active ? 'Disconnect' : 'Connect');
  byId('open').classList.toggle('primary', !line.active);
  byId('login-fields').hidden = line.active;
  byId('phone').hidden = state !== 'ready';
  byId('incoming').hidden = call?.state !== 'incoming';
  byId('call').hidden = !call || call.state === 'incoming';
  byId('dial').hidden = Boolean(call);
  document.title = call?.state === 'incoming' ? `${call.peer} calls` : 'Weir: phone';
  if (call?.state === 'incoming') {
    setText(byId('incoming-title'), `${call.peer} calls`);
  } else if (call) {
    setText(byId('call-title'), call.peer);
    setText(byId('call-state'), call.held ? 'on hold, by you' : call.away ? 'on hold, by the other side' : CALL_STATES[call.state]);
    byId('call-state').dataset.state = call.state === 'talking' ? 'live' : call.state;
    byId('hold').disabled = call.state !== 'talking';
    byId('hold').setAttribute('aria-pressed', String(call.held));
    setText(byId('hold'), call.held ? 'Resume' : 'Hold');
    byId('mute').setAttribute('aria-pressed', String(media.muted));
    setText(byId('mute'), media.muted ? 'Unmute' : 'Mute');
    byId('keys').querySelectorAll('button').forEach((key) => { key.disabled = call.state !== 'talking'; });
  }
  showBook();
  showFigures();
}

function entryRow({ number, kind, name, here }) {
  const row = document.createElement('li');
  const button = document.createElement('button');
  button.type = 'button';
  button.disabled = Boolean(line.call);
  setText(button, `Call ${number}`);
  button.addEventListener('click', () => dial(number));
  const text = document.createElement('span');
  const state = kind === 'user' ? (here ? 'there' : 'not there') : here ? 'live' : kind === 'conference' ? 'empty' : 'not live';
  setText(text, `${kind === 'conference' ? 'conference ' : ''}${name}, ${state}`);
  row.dataset.here = String(here);
  row.append(button, text);
  return row;
}

let bookShown = '';

function showBook() {
  const text = JSON.stringify([line.entries, Boolean(line.call)]);
  if (text === bookShown) {
    return;  // a button that has the focus stays
  }
  bookShown = text;
  byId('book').replaceChildren(...(line.entries ?? []).map(entryRow));
  byId('book-empty').hidden = line.entries?.length !== 0;
}

function showFigures() {
  const figure = (name, text) => setText(document.querySelector(`[data-figure="${name}"]`), text);
  const said = media.publisher.figures;
  const { heard } = media;
  figure('sent', bitRate(said?.kilobits));
  figure('heard', bitRate(heard?.kilobits));
  figure('codecs', [...new Set([...(said?.codecs ?? []), ...(heard?.codecs ?? [])])].join(', ') || '-');
  figure('loss', heard ? percent(heard.lost, heard.expected) : '-');
  figure('rtt', said && said.rttMs !== null ? milliseconds(said.rttMs) : '-');
  setText(byId('call-time'), line.call?.since ? duration(performance.now() - line.call.since) : '');
}

async function refreshFigures() {
  if (line.call) {
    const { engine } = media;
    await media.publisher.sample().catch(() => {});
    const heard = await engine?.sample().catch(() => null);
    media.heard = engine === media.engine ? heard ?? null : media.heard;
    showFigures();
  }
  setTimeout(refreshFigures, FIGURES_PERIOD_MS);
}

// ---- what is remembered

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? {};
  } catch {
    return {};
  }
}

function remember() {
  try {
    localStorage.setItem(STORE, JSON.stringify(Object.fromEntries(REMEMBERED.map((id) => [id, value(id)]))));
  } catch {
    // a browser that stores nothing
  }
}

// ---- start

function openOrClose() {
  if (line.active) {
    line.close();
    return;
  }
  for (const id of ['user', 'password']) {
    if (!byId(id).value) {
      showError(byId('error'), `The ${id} is missing.`);
      byId(id).focus();
      return;
    }
  }
  remember();
  line.open({ user: value('user'), password: byId('password').value, display: value('display') });
}

function press(digit) {
  if (line.call?.state === 'talking') {
    line.digits(digit);
  }
}

function makeKeys() {
  byId('keys').append(...[...KEYS].map((digit) => {
    const key = document.createElement('button');
    key.type = 'button';
    setText(key, digit);
    key.addEventListener('click', () => press(digit));
    return key;
  }));
}

function start() {
  const before = remembered();
  for (const id of REMEMBERED) {
    byId(id).value = before[id] ?? '';
  }
  makeKeys();
  if (!window.isSecureContext || !navigator.mediaDevices) {
    const { port, pathname } = window.location;
    const local = `http://localhost${port ? `:${port}` : ''}${pathname}`;
    byId('insecure').hidden = false;
    byId('insecure-localhost').href = local;
    setText(byId('insecure-localhost'), local);
    byId('login').querySelectorAll('input, button').forEach((control) => { control.disabled = true; });
    return;
  }
  byId('login').addEventListener('submit', (event) => {
    event.preventDefault();
    openOrClose();
  });
  byId('dial').addEventListener('submit', (event) => {
    event.preventDefault();
    dial(value('to'));
  });
  byId('accept').addEventListener('click', accept);
  byId('reject').addEventListener('click', () => line.reject());
  byId('bye').addEventListener('click', () => line.bye());
  byId('hold').addEventListener('click', () => line.hold(!line.call.held));
  byId('mute').addEventListener('click', () => {
    mute(!media.muted);
    show();
  });
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '');
    if (!typing && !event.ctrlKey && !event.altKey && !event.metaKey && KEYS.includes(event.key)) {
      press(event.key);
    }
  });
  line.addEventListener('change', () => {
    follow();
    show();
  });
  line.addEventListener('digit', (event) => {
    showText(byId('digits'), `${byId('digits').textContent || 'The other side pressed '}${event.detail}`);
  });
  media.publisher.addEventListener('change', () => {
    if (line.call && (media.publisher.state === 'failed' || media.publisher.state === 'waiting')) {
      showError(byId('error'), `You are not heard. ${media.publisher.message}`);
    }
  });
  window.addEventListener('pagehide', () => {
    silence();
    line.drop();
  });
  setInterval(() => line.state === 'ready' && line.list(), LIST_PERIOD_MS);
  show();
  refreshFigures();
}

start();
