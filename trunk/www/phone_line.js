// A telephone line of this server, over the WebSocket /phone: its state, and that of its one call.
//
//   off -> opening -> ready -> waiting -> opening ...     failed: nothing to be done without a person
//
// `call` is null, or { direction: 'out' | 'in', peer, state, held, away, since } with the states
//   calling -> ringing -> talking (out), incoming -> talking (in).
// 'change' says that fields changed; 'digit' has the key that the other side pressed in `detail`.

import { Backoff, makeStream } from './common.js';

const GIVE_UP_MS = 10 * 60_000;

// "/rtc/v1/whip/?app=..&stream=..&key=.." to what the engines take.
function streamOf(path) {
  const query = new URL(path, window.location.href).searchParams;
  const stream = makeStream(query.get('app'), query.get('stream'));
  stream.secret = query.get('key');
  return stream;
}

// "sip:bob@127.0.0.1:5060" to "bob".
export function nameOf(address) {
  const user = address.replace(/^sips?:/, '').split(/[@;]/)[0];
  try {
    return decodeURIComponent(user) || address;
  } catch {
    return user || address;
  }
}

export class PhoneLine extends EventTarget {
  constructor() {
    super();
    this.socket = null;
    this.timer = 0;
    this.backoff = new Backoff({ giveUpMs: GIVE_UP_MS });
    this.login = null;    // in this page's memory only
    this.state = 'off';
    this.message = '';    // why it has failed, or the last call did
    this.call = null;
    this.local = null;    // the streams of a call
    this.remote = null;
    this.entries = null;  // whom one can call
  }

  get active() { return this.state !== 'off' && this.state !== 'failed'; }

  changed() { this.dispatchEvent(new Event('change')); }

  enter(state, message = '') {
    this.state = state;
    this.message = message;
    this.changed();
  }

  // `login`: { user, password, display }.
  open(login) {
    this.close();
    this.login = login;
    this.backoff.reset();
    this.begin();
  }

  close() {
    this.drop();
    this.login = null;
    this.enter('off');
  }

  drop() {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    this.call = null;
    this.entries = null;
    socket?.close();
  }

  begin() {
    this.drop();
    const url = new URL('/phone', window.location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = this.socket = new WebSocket(url);
    socket.onopen = () => this.say('open', this.login);
    socket.onmessage = (message) => socket === this.socket && this.hear(JSON.parse(message.data));
    socket.onclose = () => socket === this.socket && this.onLost();
    this.enter('opening', this.message);
  }

  onLost() {
    const was = this.state;
    this.drop();
    if (was === 'failed') {
      return;
    }
    if (was === 'ready') {
      this.backoff.reset();
    }
    const pauseMs = this.backoff.next();
    if (pauseMs === null) {
      this.enter('failed', 'The server cannot be reached.');
      return;
    }
    this.timer = setTimeout(() => this.begin(), pauseMs);
    this.enter('waiting', was === 'ready' ? 'The connection to the server broke off.'
      : 'The server cannot be reached, or is no telephone exchange: sip_server { phone_page on; } switches it on.');
  }

  say(what, more = {}) {
    if (this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ do: what, ...more }));
    }
  }

  // ---- what a person does

  invite(to) {
    this.message = '';
    this.call = { direction: 'out', peer: to, state: 'calling', held: false, away: false, since: 0 };
    this.say('invite', { to });
    this.changed();
  }

  accept() { this.say('accept'); }

  reject() {
    this.say('reject', { status: 486 });
    this.endCall();
  }

  bye() {
    this.say('bye');
    this.endCall();
  }

  hold(on) {
    this.say('hold', { on });
    this.call.held = on;
    this.changed();
  }

  digits(digits) { this.say('digits', { digits }); }

  list() { this.say('list'); }

  endCall(message = '') {
    this.call = null;
    this.message = message;
    this.changed();
  }

  // ---- what the server says

  hear(said) {
    switch (said.event) {
      case 'ready':
        this.local = streamOf(said.whip);
        this.remote = streamOf(said.whep);
        this.enter('ready');
        this.list();
        break;
      case 'failed':
        this.call = null;
        this.enter('failed', said.reason);
        break;
      case 'error':
        if (said.do === 'invite' || said.do === 'accept') {
          this.endCall(said.reason);
        } else {
          if (said.do === 'hold' && this.call) {
            this.call.held = !this.call.held;
          }
          this.message = said.reason;
          this.changed();
        }
        break;
      case 'list':
        this.entries = said.entries;
        this.changed();
        break;
      case 'invited':
        this.message = '';
        this.call = { direction: 'in', peer: nameOf(said.from), state: 'incoming', held: false, away: false, since: 0 };
        this.changed();
        break;
      case 'cancelled':
        this.endCall(`${nameOf(said.from)} called.`);
        break;
      case 'rejected':
        this.endCall(said.reason);
        break;
      case 'ended':
        this.endCall();
        break;
      case 'digit':
        this.dispatchEvent(new CustomEvent('digit', { detail: said.digit }));
        break;
      default:
        this.hearOfCall(said);
    }
  }

  hearOfCall(said) {
    if (!this.call) {
      return;  // of one that this page has ended meanwhile
    }
    if (said.event === 'ringing') {
      this.call.state = 'ringing';
    } else if (said.event === 'accepted') {
      this.call.state = 'talking';
      this.call.since = performance.now();
    } else if (said.event === 'held') {
      this.call.away = said.on;
    }
    this.changed();
  }
}
