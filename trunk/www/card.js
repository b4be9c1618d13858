// One stream on the page: what is known of it, and its player when it is open.

import { pageUrl } from './addresses.js';
import { asSentence, bitRate, duration, frameSize, mediaPath, milliseconds, percent, setText, showError, showText } from './common.js';
import { IS_CONSOLE } from './console.js';
import { Player, TRANSPORTS } from './player.js';
import { PublisherLine } from './publisher_line.js';

const SECRET_OF = 'weir-key ';

// The key that this tab has shown for a stream before; empty: none.
export function rememberedSecret(stream) {
  try {
    return sessionStorage.getItem(SECRET_OF + stream.key) ?? '';
  } catch {
    return '';
  }
}

function webrtcText({ playable, why }) {
  const verdict = playable === null ? 'not known yet' : playable ? 'yes' : 'no';
  return `By WebRTC: ${verdict}${why ? `, ${why}` : ''}`;
}

const POSTER_MS = 20_000;  // a picture of a stream that is not played
const KEYS = { m: 'sound', f: 'full', p: 'small' };

const STATES = { connecting: 'connecting…', blocked: 'Click the video to play it.' };

export class StreamCard {
  // `stream`: of makeStream(). `events.opened(card)` is called when its player starts, `events.addresses(card)` when somebody
  // wants to know its addresses.
  constructor(stream, template, events) {
    this.stream = stream;
    stream.secret ||= rememberedSecret(stream);
    this.element = template.content.firstElementChild.cloneNode(true);
    this.player = null;
    this.events = events;
    this.posterAt = -POSTER_MS;
    this.live = null;    // what live.json says, null while it is not in it
    this.listed = true;  // all that is live is in live.json
    this.button = this.find('button.play');
    this.transport = this.find('select.transport');
    this.fill();
    this.show();
  }

  find(selector) { return this.element.querySelector(selector); }

  figure(name, text) { setText(this.find(`[data-figure="${name}"]`), text); }

  fill() {
    setText(this.find('h3'), this.stream.title);
    if (this.stream.query) {
      const small = document.createElement('small');
      small.textContent = ` ${this.stream.query}`;
      this.find('h3').append(small);
    }
    this.find('button.addresses').addEventListener('click', () => this.events.addresses(this));
    this.find('button.addresses').setAttribute('aria-label', `Addresses of ${this.stream.title}`);
    if (IS_CONSOLE) {
      // Media is on the public port.
      this.publisher = new PublisherLine(this.find('.publisher'), this.stream.title);
      this.button.addEventListener('click', () => window.open(this.watchUrl, '_blank', 'noopener'));
      return;
    }
    this.button.addEventListener('click', () => (this.player?.active ? this.close() : this.open(false)));
    this.transport.addEventListener('change', () => {
      if (this.player?.active || this.player?.state === 'failed') {
        this.open(this.player.video.muted);
      }
    });
    this.find('.key-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const field = this.find('.key-form input');
      this.useSecret(field.value.trim());
      field.value = '';
      this.open(this.player.video.muted);
    });
    this.find('button.sound').addEventListener('click', () => {
      const { video } = this.player;
      video.muted = !video.muted;
      if (!video.muted && video.volume === 0) {
        video.volume = 1;
      }
    });
    this.fillScreen();
  }

  fillScreen() {
    const poster = this.find('.poster');
    poster.addEventListener('load', () => { poster.hidden = false; });
    poster.addEventListener('error', () => { poster.hidden = true; });
    poster.addEventListener('click', () => this.button.click());
    this.find('button.full').hidden = !document.fullscreenEnabled;
    this.find('button.full').addEventListener('click', () => {
      (document.fullscreenElement ? document.exitFullscreen() : this.find('.screen').requestFullscreen()).catch(() => {});
    });
    this.find('button.small').hidden = !document.pictureInPictureEnabled;
    this.find('button.small').addEventListener('click', () => {
      (document.pictureInPictureElement ? document.exitPictureInPicture() : this.player.video.requestPictureInPicture()).catch(() => {});
    });
    this.find('.player').addEventListener('keydown', (event) => {
      const name = KEYS[event.key.toLowerCase()];
      if (name && !event.ctrlKey && !event.metaKey && !event.altKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
        event.preventDefault();
        this.find(`button.${name}`).click();
      }
    });
  }

  // The newest key frame, where everybody may see it, while the stream is not played.
  showPoster() {
    const poster = this.find('.poster');
    if (IS_CONSOLE || !this.live?.poster || !this.idle) {
      poster.hidden = true;
      return;
    }
    const now = performance.now();
    if (now - this.posterAt >= POSTER_MS && !document.hidden) {
      this.posterAt = now;
      poster.src = `${mediaPath(this.stream, '.jpg')}${this.stream.query ? '&' : '?'}at=${Math.round(now)}`;
    }
  }

  get idle() { return !this.player || this.player.state === 'idle'; }

  // Kept for this tab only, for when the page is loaded again.
  useSecret(secret) {
    this.stream.secret = secret;
    try {
      sessionStorage.setItem(SECRET_OF + this.stream.key, secret);
    } catch {
      // a browser that stores nothing
    }
  }

  open(muted) {
    if (!this.player) {
      const video = this.find('video');
      video.setAttribute('aria-label', this.stream.title);
      this.player = new Player(video);
      this.player.addEventListener('change', () => this.show());
      video.addEventListener('volumechange', () => this.show());
      video.addEventListener('resize', () => {
        if (video.videoWidth > 0) {
          this.find('.screen').style.setProperty('--ratio', String(video.videoWidth / video.videoHeight));
        }
      });
    }
    this.player.live = this.live;
    this.find('.player').hidden = false;
    this.find('a.link').href = this.linkHref();
    this.player.start(this.stream, this.transport.value, muted);
    this.events.opened(this);
  }

  close() {
    this.player?.stop();
    this.find('.player').hidden = true;
    this.show();
  }

  linkHref() {
    return pageUrl(this.stream, window.location.href, this.transport.value === 'auto' ? {} : { transport: this.transport.value });
  }

  // `live`: its entry of live.json, or null. `listed`: that would have an entry of it, if it were live.
  update(live, listed) {
    const returned = live && !this.live;
    this.live = live;
    this.listed = listed;
    if (this.player) {
      this.player.live = live;
    }
    if (returned && this.player?.state === 'waiting') {
      this.player.retryNow();
    }
    this.showFacts();
  }

  showFacts() {
    const live = this.live;
    const playing = this.player?.state === 'playing';
    this.element.classList.toggle('off', !live && !playing);
    this.showPoster();
    showText(this.find('.webrtc'), IS_CONSOLE && live?.webrtc ? webrtcText(live.webrtc) : '');
    if (!live) {
      setText(this.find('.facts'), this.listed ? 'not live' : playing ? 'not in the list of this server'
        : 'not in the list of this server: it is not live, or needs a key');
      return;
    }
    if (live.elsewhere) {
      setText(this.find('.facts'), `published at another node of this cluster · live for ${duration(live.live_ms ?? 0)}`);
      return;
    }
    const codecs = [live.video, live.audio].filter(Boolean).join(' + ') || 'no media yet';
    const rate = live.kbps ? ` · ${bitRate(live.kbps)}` : '';
    setText(this.find('.facts'), `${codecs}${rate} · ${live.players ?? 0} watching · live for ${duration(live.live_ms ?? 0)}`);
  }

  // In the console. `stream`: of the API, undefined while it is not live; `publicOrigin`: where it can be watched, or null.
  showDetails(stream, publicOrigin) {
    this.publisher.show(stream);
    this.button.hidden = !publicOrigin;
    this.watchUrl = publicOrigin ? `${publicOrigin}/?play=${encodeURIComponent(this.stream.key)}&autoplay=1` : '';
  }

  async sample() {
    if (this.player && this.player.state !== 'idle') {
      await this.player.sample();
      this.show();
    }
  }

  show() {
    const { player } = this;
    const active = Boolean(player?.active);
    const verb = IS_CONSOLE ? 'Watch' : active ? 'Stop' : 'Play';
    setText(this.button, verb);
    this.button.setAttribute('aria-label', `${verb} ${this.stream.title}`);
    this.button.classList.toggle('primary', !active);
    this.element.classList.toggle('open', !this.idle);
    if (this.idle) {
      return;
    }
    this.element.dataset.state = player.state;
    this.element.dataset.transport = player.transport ?? '';
    showText(this.find('.overlay'), this.overlayText());
    showError(this.find('.error'), player.state === 'failed' ? this.failureText() : '');
    this.find('.key-form').hidden = player.state !== 'failed' || player.endKind !== 'denied';
    this.showFacts();
    showText(this.find('.reason'), player.reason && player.transport !== 'webrtc'
      ? `Playing over ${TRANSPORTS[player.transport]}. ${asSentence(player.reason)}` : '');
    setText(this.find('button.sound'), player.video.muted ? 'Turn sound on' : 'Turn sound off');
    this.showFigures();
  }

  // The server's words on a missing key are for programs.
  failureText() {
    const { player } = this;
    return player.endKind === 'denied' && /needs a (key|token)/.test(player.message) ? 'This stream needs a key.' : player.message;
  }

  overlayText() {
    const { player } = this;
    switch (player.state) {
      case 'connecting': return `${STATES.connecting} (${TRANSPORTS[player.transport]})`;
      case 'blocked': return STATES.blocked;
      case 'waiting': return `${asSentence(player.message)} ${player.waitKind === 'absent' || player.waitKind === 'ended'
        ? 'It starts again when somebody publishes it.' : 'Trying again…'}`;
      case 'playing': return player.silent ? 'No data: the publisher has left or sends nothing.' : '';
      default: return '';
    }
  }

  showFigures() {
    const { player } = this;
    const figures = player.figures;
    const webrtc = player.transport === 'webrtc';
    const over = figures?.over === 'tcp' && webrtc ? ' (TCP)' : '';
    this.figure('transport', player.transport ? TRANSPORTS[player.transport] + over : '-');
    setText(this.find('.words'), this.wordsOf(figures));
    this.figure('first', player.firstPictureMs === null ? '-' : milliseconds(player.firstPictureMs));
    if (!figures || player.state !== 'playing') {
      for (const name of ['latency', 'rate', 'fps', 'loss']) {
        this.figure(name, '-');
      }
      return;
    }
    this.figure('latency', figures.latencyMs === null ? '-'
      : `${figures.latencyMeasured ? '' : 'about '}${milliseconds(figures.latencyMs)}`);
    this.find('[data-figure="latency"]').parentElement.title = this.latencyTitle(webrtc, figures.latencyMeasured);
    this.figure('rate', bitRate(figures.kilobits));
    this.figure('size', frameSize(figures.width, figures.height));
    this.figure('fps', figures.fps === null ? '-' : String(Math.round(figures.fps)));
    this.figure('loss-name', webrtc ? 'loss' : 'frames dropped');
    this.figure('loss', webrtc ? percent(figures.lost, figures.expected) : String(figures.dropped));
    this.figure('codecs', figures.codecs.join(', ') || '-');
  }

  // What a viewer wants to know, in one line.
  wordsOf(figures) {
    const { player } = this;
    if (!figures || player.state !== 'playing') {
      return '';
    }
    const late = figures.latencyMs === null ? '' : `${(figures.latencyMs / 1000).toFixed(1)} s behind`;
    const size = figures.height ? `${figures.height}p` : '';
    const rough = figures.dropped > 0 && player.transport !== 'webrtc' ? `${figures.dropped} frames dropped here` : '';
    return [late, TRANSPORTS[player.transport], size, rough].filter(Boolean).join(', ');
  }

  latencyTitle(webrtc, measured) {
    if (!webrtc) {
      return 'What this browser has received and not yet shown; the way through the network comes on top.';
    }
    return measured ? 'From the server to this screen, by the server\'s clock.'
      : 'Half a round trip to the server, and what waits in this browser.';
  }
}
