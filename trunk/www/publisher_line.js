// Who publishes each stream, for the console: a line on its card, with a button that ends the publisher.

import { adviceFor } from './advice.js';
import { bitRate, byId, setText } from './common.js';
import { hasRegistry, kickPublisher } from './cluster.js';
import { ask, kickButton } from './console.js';
import { Spark } from './plot.js';
import { cell } from './table.js';

// By "vhost/app/name". Of one that is live in several processes, as its publisher's process has it.
export async function publishers() {
  const { streams } = await ask('/api/v1/streams?live=1&count=200');
  const relaysFirst = [...streams].sort((one, other) => (one.publish.origin ? 0 : 1) - (other.publish.origin ? 0 : 1));
  return new Map(relaysFirst.map((stream) => [`${stream.vhost}/${stream.app}/${stream.name}`, stream]));
}

// The line of a card: who publishes, what, and a button that ends it.
export class PublisherLine {
  constructor(element, title) {
    this.element = element;
    this.text = cell('span', '');
    this.stream = null;
    this.advice = document.createElement('ul');
    this.advice.className = 'advice';
    this.rate = new Spark('bit rate', bitRate, byId('plot'));
    this.frames = new Spark('frames/s', (value) => value.toFixed(0), byId('plot'));
    const sparks = document.createElement('ul');
    sparks.className = 'plots';
    sparks.append(this.rate.element, this.frames.element);
    element.append(this.text, kickButton('End', () => this.end(), () => `the publisher of ${title}`), this.advice, sparks);
  }

  // Where it is published: a relay that is ended comes back. Of several processes other ones may relay it.
  async end() {
    const { id, process, publish, vhost, app, name } = this.stream;
    if (publish.origin && hasRegistry()) {
      const { total } = await ask(`/api/v1/cluster/streams?${new URLSearchParams({ vhost, app, stream: name })}`);
      if (total > 0) {  // else it comes from a server that is no node
        return kickPublisher(this.stream);
      }
    }
    return ask(`/api/v1/streams/${encodeURIComponent(id)}${process === undefined ? '' : `?process=${process}`}`, 'DELETE');
  }

  show(stream) {
    this.element.hidden = !stream;
    if (!stream) {
      return;
    }
    this.stream = stream;
    const { publish, video, gop, viewers } = stream;
    const who = publish.origin ? `from node ${publish.origin}` : `${publish.ip} by ${publish.transport}`;
    const picture = video ? `${video.codec} ${video.profile} ${video.level} ${video.width} × ${video.height}, ${Math.round(video.fps)} frames/s, `
      + `key frame every ${(gop.ms / 1000).toFixed(1)} s` : 'no picture';
    const over = Object.entries(viewers).filter(([, count]) => count > 0).map(([name, count]) => `${count} ${name}`).join(', ');
    const advice = adviceFor(stream);
    if (advice.join() !== this.told) {
      this.told = advice.join();
      this.advice.replaceChildren(...advice.map((text) => cell('li', text)));
    }
    this.rate.add(stream.kbps.recv_10s);
    this.frames.add(video?.fps ?? 0);
    const at = stream.process === undefined ? '' : `, process ${stream.process}`;
    setText(this.text, `${who} (${publish.cid}${at}) · ${picture}${over ? ` · viewers: ${over}` : ''}`);
  }
}
