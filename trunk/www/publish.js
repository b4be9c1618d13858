// The publish page: camera and microphone or a screen, to the server by WHIP.
//
// ?app=live&stream=livestream&key=... fills in the fields. window.weirPublisher is what publishes.

import { bitRate, byId, DEFAULT_RTMP_PORT, frameSize, makeStream, mediaPath, milliseconds, percent, setText, showError, showText } from './common.js';
import { mediaUrl } from './flv_engine.js';
import { WhipPublisher } from './whip_publisher.js';

const FIGURES_PERIOD_MS = 1000;
const STORE = 'weir-publish';
const REMEMBERED = ['app', 'stream', 'camera', 'microphone', 'size', 'fps', 'rate'];  // never the key

const publisher = window.weirPublisher = new WhipPublisher();
let media = null;      // what is previewed and published
let muted = false;
let rtmpPort = DEFAULT_RTMP_PORT;
let busy = false;      // while a person answers the browser's question

const value = (id) => byId(id).value;
const screenChosen = () => document.querySelector('input[name="source"]:checked').value === 'screen';

// ---- insecure pages

function showInsecure() {
  const { host, hostname, port, pathname, origin, protocol } = window.location;
  const inner = port || (protocol === 'https:' ? '443' : '80');
  const local = `http://localhost:${inner}${pathname}`;
  byId('insecure').hidden = false;
  setText(byId('insecure-origin'), origin);
  byId('insecure-localhost').href = local;
  setText(byId('insecure-localhost'), local);
  setText(byId('insecure-tunnel'), `ssh -N -L ${inner}:localhost:${inner} ${hostname}`);
  setText(byId('insecure-upstream'), `http://${host}/`);
  setText(byId('insecure-flag'), `chromium --unsafely-treat-insecure-origin-as-secure=${origin} --user-data-dir=/tmp/weir-test`);
  for (const control of byId('form').querySelectorAll('input, select, button')) {
    control.disabled = true;
  }
}

// ---- devices

// What getUserMedia and getDisplayMedia throw, with what to do about it.
function captureError(error, screen) {
  const what = screen ? 'the screen' : 'camera or microphone';
  switch (error.name) {
    case 'NotAllowedError':
    case 'SecurityError':
      return screen
        ? 'Nothing was chosen to be shown, or the system does not let this browser record the screen.'
        : 'The browser was not allowed to use camera or microphone. Allow both for this page: the icon beside the address, ' +
          'or the browser\'s settings; then press the button again.';
    case 'NotFoundError':
    case 'DevicesNotFoundError':
      return `There is no ${screen ? 'screen' : 'such camera or microphone'} here. Connect one, or choose “none” for what is missing.`;
    case 'NotReadableError':
    case 'AbortError':
      return `The browser could not open ${what}: another program may be using it. Close that, then try again.`;
    case 'OverconstrainedError':
      return 'The device that was chosen is not there any more, or cannot do what is asked. Choose another one, or a smaller picture.';
    default:
      return `The browser could not open ${what}: ${error.message || error.name}.`;
  }
}

function videoConstraints() {
  const [width, height] = value('size').split('x').map(Number);
  return { width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: Number(value('fps')) } };
}

const chosen = (id) => (value(id) && value(id) !== 'default' ? { deviceId: { exact: value(id) } } : {});

async function capture(screen) {
  const audio = value('microphone') === 'none' ? false : chosen('microphone');
  if (!screen) {
    const video = value('camera') === 'none' ? false : { ...chosen('camera'), ...videoConstraints() };
    if (!audio && !video) {
      throw new Error('choose a camera or a microphone');
    }
    return navigator.mediaDevices.getUserMedia({ audio, video });
  }
  if (!navigator.mediaDevices.getDisplayMedia) {
    throw new Error('this browser cannot record a screen');
  }
  const shown = await navigator.mediaDevices.getDisplayMedia({ video: videoConstraints(), audio: true });
  if (shown.getAudioTracks().length === 0 && audio) {  // most screens have no sound: a voice, then
    try {
      const voice = await navigator.mediaDevices.getUserMedia({ audio });
      voice.getTracks().forEach((track) => shown.addTrack(track));
    } catch {
      showText(byId('note'), 'Without sound: the microphone could not be opened.');
    }
  }
  return shown;
}

async function fillDevices() {
  const devices = await navigator.mediaDevices.enumerateDevices();
  for (const [id, kind, name] of [['camera', 'videoinput', 'camera'], ['microphone', 'audioinput', 'microphone']]) {
    const select = byId(id);
    const before = select.value || remembered()[id] || 'default';
    const options = [new Option(`default ${name}`, 'default')];
    devices.filter((device) => device.kind === kind && device.deviceId && device.deviceId !== 'default' && device.label)
      .forEach((device) => options.push(new Option(device.label, device.deviceId)));
    options.push(new Option('none', 'none'));
    select.replaceChildren(...options);
    select.value = options.some((option) => option.value === before) ? before : 'default';
  }
}

function release(old) {
  old?.getTracks().forEach((track) => {
    track.onended = null;
    track.stop();
  });
}

// Opens what is chosen and shows it. False when that failed, with the reason shown.
async function openMedia() {
  if (busy) {
    return false;
  }
  busy = true;
  const screen = screenChosen();
  showError(byId('error'), '');
  showText(byId('overlay'), screen ? 'Choose what to show…' : 'The browser asks for camera and microphone…');
  try {
    const opened = await capture(screen);
    const old = media;
    media = opened;
    media.getTracks().forEach((track) => { track.onended = () => onTrackEnded(track, screen); });
    byId('preview').srcObject = media;
    applyMute();
    await fillDevices();
    if (publisher.active && !await publisher.replace(media, screen)) {
      publish();
    }
    release(old);
    return true;
  } catch (error) {
    showError(byId('error'), error.name === 'Error' ? `It does not begin: ${error.message}.` : captureError(error, screen));
    return false;
  } finally {
    busy = false;
    showText(byId('overlay'), '');
    show();
  }
}

function onTrackEnded(track, screen) {
  publisher.stop();
  closeMedia();
  showError(byId('error'), screen && track.kind === 'video' ? 'Showing the screen was ended, and so is publishing.'
    : `The ${track.kind === 'video' ? 'camera' : 'microphone'} is gone: it was unplugged, or another program took it.`);
}

function closeMedia() {
  release(media);
  media = null;
  byId('preview').srcObject = null;
  show();
}

function applyMute() {
  media?.getAudioTracks().forEach((track) => { track.enabled = !muted; });
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

// ---- publishing

// The bit rate that a picture needs, for browsers whose own choice stays too low for it.
function kilobits() {
  const [width, height] = value('size').split('x').map(Number);
  const fps = Number(value('fps'));
  return Number(value('rate')) || Math.round((width * height * Math.min(fps, 45) * 0.09) / 1000);
}

function publish() {
  publisher.start({
    stream: makeStream(value('app').trim().replace(/^\/+|\/+$/g, ''), value('stream').trim()),
    key: value('key').trim(),
    media,
    screen: screenChosen(),
    kilobits: kilobits(),
    simulcast: byId('simulcast').checked,
  });
}

async function goOrStop() {
  if (publisher.active) {
    publisher.stop();
    closeMedia();
    return;
  }
  showError(byId('error'), '');
  showText(byId('note'), '');
  for (const id of ['app', 'stream']) {
    if (!value(id).trim()) {
      showError(byId('error'), `The ${id === 'app' ? 'application' : 'stream'} needs a name.`);
      byId(id).focus();
      return;
    }
  }
  remember();
  if (media || await openMedia()) {
    publish();
  }
}

// ---- what is shown

const STATES = { idle: '', connecting: 'connecting…', live: 'live', waiting: 'trying again…', failed: 'not live' };

function show() {
  const { state, active, figures } = publisher;
  setText(byId('go'), active ? 'Stop' : 'Go live');
  byId('go').classList.toggle('primary', !active);
  byId('preview-button').hidden = active;
  setText(byId('preview-button'), media ? 'Close preview' : 'Preview');
  byId('mute').hidden = !media?.getAudioTracks().length;
  setText(byId('state'), STATES[state]);
  byId('state').dataset.state = state;
  for (const id of ['app', 'stream', 'key', 'simulcast']) {
    byId(id).disabled = active;
  }
  byId('camera-field').hidden = screenChosen();
  showLinks(state === 'live');
  const figure = (name, text) => setText(document.querySelector(`[data-figure="${name}"]`), text);
  figure('rate', bitRate(figures?.kilobits));
  figure('size', figures?.layers.length > 1 ? figures.layers.join(' + ') : frameSize(figures?.width, figures?.height));
  figure('fps', figures ? String(Math.round(figures.fps ?? 0)) : '-');
  figure('limitation', { none: 'nothing', cpu: 'this machine', bandwidth: 'the network' }[figures?.limitation] ?? '-');
  figure('rtt', figures?.rttMs === null || !figures ? '-' : milliseconds(figures.rttMs));
  figure('loss', figures ? percent(figures.lost, figures.sent) : '-');
  figure('codecs', figures?.codecs.join(', ') || '-');
}

function showLinks(live) {
  byId('links').hidden = !live;
  if (!live) {
    return;
  }
  const { stream } = publisher.options;
  const port = rtmpPort === DEFAULT_RTMP_PORT ? '' : `:${rtmpPort}`;
  const page = new URL('./', window.location.href);
  page.searchParams.set('play', stream.key);
  page.searchParams.set('autoplay', '1');
  const href = page.href.replaceAll('%2F', '/');
  byId('link-page').href = href;
  setText(byId('link-page'), href);
  setText(byId('link-rtmp'), `rtmp://${window.location.hostname}${port}/${stream.title}`);
  setText(byId('link-flv'), mediaUrl(mediaPath(stream, '.flv'), 'http'));
}

publisher.addEventListener('change', () => {
  showError(byId('error'), publisher.state === 'failed' || publisher.state === 'waiting' ? publisher.message : '');
  showText(byId('note'), publisher.note);
  show();
});

async function refreshFigures() {
  if (publisher.state === 'live') {
    await publisher.sample().catch(() => {});
    show();
  }
  setTimeout(refreshFigures, FIGURES_PERIOD_MS);
}

async function learnRtmpPort() {
  try {
    rtmpPort = (await (await fetch('live.json', { cache: 'no-store' })).json()).rtmp_port ?? rtmpPort;
  } catch {
    // the default, then
  }
}

// ---- start

function start() {
  const query = new URLSearchParams(window.location.search);
  for (const [id, kept] of Object.entries(remembered())) {
    if (REMEMBERED.includes(id) && byId(id).tagName !== 'SELECT' && kept) {
      byId(id).value = kept;
    } else if (REMEMBERED.includes(id) && [...byId(id).options].some((option) => option.value === kept)) {
      byId(id).value = kept;
    }
  }
  for (const id of ['app', 'stream', 'key']) {
    if (query.get(id)) {
      byId(id).value = query.get(id);
    }
  }
  byId('form').addEventListener('submit', (event) => {
    event.preventDefault();
    goOrStop();
  });
  show();
  if (!window.isSecureContext || !navigator.mediaDevices) {
    showInsecure();
    return;
  }
  byId('preview-button').addEventListener('click', () => (media ? closeMedia() : openMedia()));
  byId('mute').addEventListener('click', () => {
    muted = !muted;
    setText(byId('mute'), muted ? 'Unmute microphone' : 'Mute microphone');
    applyMute();
  });
  for (const id of ['camera', 'microphone', 'size', 'fps']) {
    byId(id).addEventListener('change', () => media && openMedia());
  }
  byId('rate').addEventListener('change', () => publisher.active && publisher.setKilobits(kilobits()));
  for (const radio of document.querySelectorAll('input[name="source"]')) {
    radio.addEventListener('change', () => (media ? openMedia() : show()));
  }
  navigator.mediaDevices.addEventListener('devicechange', () => fillDevices());
  window.addEventListener('pagehide', () => publisher.release());
  window.addEventListener('online', () => publisher.retryNow());
  fillDevices();
  learnRtmpPort();
  refreshFigures();
}

start();
