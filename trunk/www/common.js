// Small things that both pages use: elements, texts of numbers, waiting times, what a server's refusal says.

export const DEFAULT_RTMP_PORT = 1935;

export const byId = (id) => document.getElementById(id);

export function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

// Puts a text on the clipboard, also where the page has none (plain HTTP): by a field in `place` then, which has to be shown.
// False: the browser does not let it.
export async function copyText(text, place = document.body) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    place.append(field);
    field.select();
    const copied = document.execCommand('copy');
    field.remove();
    return copied;
  }
}

// An empty or missing text hides the element.
export function showText(element, text) {
  element.hidden = !text;
  setText(element, text ?? '');
}

// Of a message that a person has to see: when it is new it is brought into the window, which never moves for one that is
// in it.
export function showError(element, text) {
  const fresh = text && (element.hidden || element.textContent !== text);
  showText(element, text);
  if (fresh) {
    element.scrollIntoView({ block: 'nearest' });
  }
}

// ---- numbers, for people

export function bitRate(kilobits) {
  if (kilobits === null || kilobits === undefined) {
    return '-';
  }
  return kilobits >= 1000 ? `${(kilobits / 1000).toFixed(1)} Mbit/s` : `${Math.round(kilobits)} kbit/s`;
}

export function milliseconds(ms) {
  return ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms)} ms`;
}

export function frameSize(width, height) {
  return width ? `${width} × ${height}` : '-';
}

export function percent(part, whole) {
  const value = whole > 0 ? (100 * part) / whole : 0;
  return `${value.toFixed(value > 0 && value < 10 ? 1 : 0)} %`;
}

export function duration(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part, i) => (i === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}

// ---- waiting

// Growing pauses between attempts, a little uneven so that many pages do not come back in step. next() is null when it has
// gone on for too long.
export class Backoff {
  constructor({ firstMs = 500, mostMs = 10_000, giveUpMs = 15 * 60_000 } = {}) {
    this.firstMs = firstMs;
    this.mostMs = mostMs;
    this.giveUpMs = giveUpMs;
    this.reset();
  }

  reset() {
    this.count = 0;
    this.since = null;
  }

  next() {
    const now = performance.now();
    this.since ??= now;
    if (now - this.since > this.giveUpMs) {
      return null;
    }
    const even = Math.min(this.mostMs, this.firstMs * 2 ** Math.min(this.count++, 16));
    return even * (0.8 + 0.4 * Math.random());
  }
}

// ---- answers of the server

const MOST_REASON_CHARACTERS = 400;

// The sentence in an error answer ("422 Unprocessable Content: ..." as text, or JSON with `error`); empty when it has none.
export async function reasonOf(answer) {
  let text = '';
  try {
    text = (await answer.text()).trim();
  } catch {
    return '';
  }
  if (text.startsWith('{')) {
    try {
      const body = JSON.parse(text);
      text = String(body.error ?? body.reason ?? body.msg ?? '');
    } catch {
      return '';
    }
  }
  if (text.startsWith('<')) {
    return '';  // a page of some proxy
  }
  text = text.replace(/^\d{3} [^:]{0,40}: /, '').slice(0, MOST_REASON_CHARACTERS);
  return text ? text[0].toUpperCase() + text.slice(1) : '';
}

export function asSentence(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

// ---- streams

// What a viewer shows to be let in. Never in a title, a link or a key of ours.
const SECRETS = ['key', 'token'];

// "live/livestream" or "live/livestream?vhost=x&key=KEY": always a stream of this server, whatever the text. null without a
// name.
export function streamFromText(text) {
  const [path, ...rest] = text.split('?');
  const parts = path.split('/').filter(Boolean);
  if (parts.length < 2) {
    return null;
  }
  return makeStream(parts.slice(0, -1).join('/'), parts.at(-1), rest.join('?'));
}

// `query`: what else its addresses carry, such as "vhost=x"; a key in it becomes the stream's `secret`.
export function makeStream(app, name, query = '') {
  const path = [...app.split('/'), name].map(encodeURIComponent).join('/');
  const more = new URLSearchParams(query);
  const secret = SECRETS.map((each) => more.get(each)).find(Boolean) ?? '';
  SECRETS.forEach((each) => more.delete(each));
  const rest = more.toString();
  return {
    app,
    name,
    query: rest,
    secret,
    title: `${app}/${name}`,
    key: `${app}/${name}${rest ? '?' + rest : ''}`,
    path: `/${path}`,
  };
}

// Where one of its formats is (".flv", ".m3u8"), on this server.
export function mediaPath(stream, suffix) {
  return `${stream.path}${suffix}${stream.query ? '?' + stream.query : ''}`;
}

// The same for a player that shows its key.
export function mediaPathWithKey(stream, suffix) {
  const path = mediaPath(stream, suffix);
  return stream.secret ? `${path}${stream.query ? '&' : '?'}key=${encodeURIComponent(stream.secret)}` : path;
}

// The address of WHIP ("whip") or WHEP ("whep") for a stream.
export function signallingUrl(kind, stream, key = '', origin = window.location.origin) {
  const url = new URL(`/rtc/v1/${kind}/`, origin);
  url.searchParams.set('app', stream.app);
  url.searchParams.set('stream', stream.name);
  for (const [name, value] of new URLSearchParams(stream.query)) {
    url.searchParams.set(name, value);
  }
  if (key) {
    url.searchParams.set('key', key);
  }
  return url.href;
}
