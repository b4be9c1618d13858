// All addresses by which a stream can be had, in a dialog: to copy, as lines for ffplay and VLC, for a telephone as a QR code,
// and as a frame for other pages.

import { byId, copyText, DEFAULT_RTMP_PORT, mediaPath, setText, showText, signallingUrl } from './common.js';

const LIBRARY = 'vendor/qrcode-generator/qrcode.js';
const DEFAULT_RTSP_PORT = 554;
const QUIET_ZONE = 4;  // modules around a QR code, ISO/IEC 18004 6.3.8

// What a shell takes for more than text.
const quoted = (url) => `"${url.replaceAll('!', '%21')}"`;

const FFPLAY = { ffplay: 'ffplay' };
const ALL = { ffplay: 'ffplay', vlc: 'vlc' };

// An address, or the line of a program with it; empty: the program cannot play it.
const textOf = (each, as) => (as === 'address' ? each.url : each[as] ? `${each[as]} ${quoted(each.url)}` : '');

// `live`: the stream's entry of live.json, null: not known. `facts`: the head of live.json. `origin`: of the public server.
// [{ name, url, about, ffplay, vlc }]: the commands are missing where the program cannot play it.
export function addressesOf(stream, live, facts, origin) {
  const host = new URL(origin).hostname;
  const vhost = new URLSearchParams(stream.query).get('vhost');
  const at = (suffix) => new URL(mediaPath(stream, suffix), origin).href;
  const bare = mediaPath(stream, '');
  const withPort = (scheme, port, usual) => `${scheme}://${host}${port === usual ? '' : `:${port}`}${bare}`;
  const all = [];
  const add = (name, url, about, programs = {}) => all.push({ name, url, about, ...programs });
  if (live?.webrtc?.playable !== false) {
    add('WebRTC (WHEP)', signallingUrl('whep', stream, '', origin), 'least delay; for browsers and GStreamer');
  }
  if (live?.hls !== false) {
    add('HLS', at('.m3u8'), 'phones, televisions, every browser', ALL);
    add('DASH', at('.mpd'), 'dash.js, Shaka Player', ALL);
  }
  add('HTTP-FLV', at('.flv'), 'mpegts.js, ffplay, VLC', ALL);
  add('WebSocket-FLV', at('.flv').replace(/^http/, 'ws'), 'mpegts.js behind proxies that hold HTTP back');
  add('HTTP-TS', at('.ts'), 'set-top boxes, VLC', ALL);
  if (facts.rtmp_port) {
    add('RTMP', withPort('rtmp', facts.rtmp_port, DEFAULT_RTMP_PORT), 'encoders and other servers', ALL);
  }
  if (facts.rtsp_port) {
    add('RTSP', withPort('rtsp', facts.rtsp_port, DEFAULT_RTSP_PORT), 'recorders of cameras', { ffplay: 'ffplay -rtsp_transport tcp', vlc: 'vlc' });
  }
  if (facts.srt_port) {
    const id = vhost ? `#!::h=${vhost},r=${stream.title},m=request` : `read:${stream.title}`;
    add('SRT', `srt://${host}:${facts.srt_port}?streamid=${encodeURIComponent(id).replaceAll('%3A', ':').replaceAll('%2F', '/')}`,
      'lossy networks', FFPLAY);
  }
  if (live?.poster) {
    add('Picture', at('.jpg'), 'the newest key frame', ALL);
  }
  return all;
}

// The page with this stream's player.
export function pageUrl(stream, origin, more = {}) {
  const url = new URL('/', origin);
  url.searchParams.set('play', stream.key);
  Object.entries({ ...more, autoplay: '1' }).forEach(([name, value]) => url.searchParams.set(name, value));
  return url.href.replaceAll('%2F', '/');
}

const frameOf = (stream, origin) => `<iframe src="${pageUrl(stream, origin, { embed: '1' }).replaceAll('&', '&amp;')}" width="640" height="360" `
  + 'allow="autoplay; fullscreen; picture-in-picture" style="border:0"></iframe>';

// ---- the dialog

let library = null;

function loadLibrary() {
  library ??= new Promise((resolve) => {
    const script = document.createElement('script');
    script.src = LIBRARY;
    script.onload = () => resolve(window.qrcode);
    script.onerror = () => { library = null; resolve(null); };
    document.head.append(script);
  });
  return library;
}

async function drawCode(svg, text) {
  const qrcode = await loadLibrary();
  svg.toggleAttribute('hidden', !qrcode);
  if (!qrcode) {
    return;
  }
  const code = qrcode(0, 'M');
  code.addData(text);
  code.make();
  const count = code.getModuleCount();
  let path = '';
  for (let row = 0; row < count; row += 1) {
    for (let column = 0; column < count; column += 1) {
      path += code.isDark(row, column) ? `M${column} ${row}h1v1h-1z` : '';
    }
  }
  svg.setAttribute('viewBox', `${-QUIET_ZONE} ${-QUIET_ZONE} ${count + 2 * QUIET_ZONE} ${count + 2 * QUIET_ZONE}`);
  svg.querySelector('path').setAttribute('d', path);
}

// A button that puts `text()` on the clipboard, and says so for a while.
function copyButton(of, text) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', `Copy ${of}`);
  button.addEventListener('click', async () => {
    button.textContent = await copyText(text(), byId('addresses')) ? 'Copied' : 'Select and copy it';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  return button;
}

function rowOf(name, about, text) {
  const row = document.createElement('div');
  const term = document.createElement('dt');
  const small = document.createElement('small');
  const value = document.createElement('dd');
  const code = document.createElement('code');
  term.textContent = `${name} `;
  small.textContent = about;
  term.append(small);
  code.textContent = text;
  value.append(code, copyButton(name, () => code.textContent));
  row.append(term, value);
  return row;
}

export function showAddresses(stream, live, facts, origin) {
  const dialog = byId('addresses');
  const all = addressesOf(stream, live, facts, origin);
  const page = pageUrl(stream, origin);
  const local = /^(localhost|127\.|\[::1\])/.test(new URL(origin).hostname);
  setText(byId('addresses-title'), `Addresses of ${stream.title}`);
  showText(byId('addresses-local'), local ? 'These hold on this machine only. Open this page by a name or address that others reach, and they are '
    + 'for everybody.' : '');
  showText(byId('addresses-key'), stream.secret ? 'This stream needs a key, which is not in these addresses: whoever plays it adds ?key=KEY.' : '');
  byId('addresses-share').hidden = !navigator.share;
  byId('addresses-share').onclick = () => navigator.share({ title: stream.title, url: page }).catch(() => {});
  const fill = () => {
    const as = byId('addresses-as').value;
    const rows = all.filter((each) => textOf(each, as)).map((each) => rowOf(each.name, each.about, textOf(each, as)));
    byId('addresses-list').replaceChildren(...rows);
  };
  byId('addresses-as').onchange = fill;
  fill();
  byId('addresses-page').replaceChildren(rowOf('This page', 'with the player', page),
    rowOf('In another page', 'frame_ancestors of http_server has to allow it', frameOf(stream, origin)));
  drawCode(byId('addresses-code'), page);
  dialog.showModal();
}

byId('addresses')?.querySelector('.close').addEventListener('click', () => byId('addresses').close());
