// Small plots of the server's health: what a figure is now, and how it went in the last minutes. Inline SVG, no library.

import { bitRate, setText } from './common.js';

const MOST_POINTS = 150;
const FEWEST_POINTS = 30;  // that the width stands for
const WIDTH = 150;
const HEIGHT = 36;

const share = (value) => `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`;
const wholeShare = (value) => `${Math.round(100 * value)} %`;

function memory(kib) {
  return kib >= 1024 * 1024 ? `${(kib / 1024 / 1024).toFixed(2)} GiB` : `${Math.round(kib / 1024)} MiB`;
}

// `least`: what the top of the plot stands for at least, so that little does not look like much. `high`: from here on it is
// a warning. `step`: what the top is a round number of.
const SERIES = [
  { key: 'players', name: 'watching', text: String, least: 10 },
  { key: 'send_kbps', name: 'to viewers', text: bitRate, least: 1000 },
  { key: 'recv_kbps', name: 'from publishers', text: bitRate, least: 1000 },
  { key: 'cpu', name: 'processor', text: share, scale: wholeShare, least: 1, title: 'of one core' },
  { key: 'busy', name: 'media thread', text: share, scale: wholeShare, least: 1, high: 0.8, title: 'share of its time; 100 % is saturated' },
  { key: 'memory_kib', name: 'memory', text: memory, least: 64 * 1024, step: 1024 },
  { key: 'drops', name: 'slow viewers', text: String, least: 10, high: 1, title: 'moved to a newer key frame, or closed' },
];

// The next of 1, 2, 5, 10, 20, 50 ... steps.
function roundUp(value, step = 1) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value / step, 1e-9)));
  return step * power * [1, 2, 5, 10].find((factor) => factor * power * step >= value * 0.999999);
}

class Plot {
  constructor(series, template) {
    this.series = series;
    this.element = template.content.firstElementChild.cloneNode(true);
    this.element.dataset.plot = series.key;
    this.value = this.element.querySelector('.value');
    this.svg = this.element.querySelector('svg');
    setText(this.element.querySelector('.name'), series.name);
    this.svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
  }

  draw(points) {
    const { key, least, text, scale = text, step: round, high, title } = this.series;
    const values = points.map((point) => point[key]);
    const now = values.at(-1) ?? 0;
    const most = Math.max(...values, 0);
    const top = most > least ? roundUp(most, round) : least;
    const count = Math.max(values.length, FEWEST_POINTS);
    const step = WIDTH / (count - 1);
    const x = (index) => (WIDTH - (values.length - 1 - index) * step).toFixed(1);
    const y = (value) => (HEIGHT - 1 - (value / top) * (HEIGHT - 3)).toFixed(1);
    const line = values.map((value, index) => `${index ? 'L' : 'M'}${x(index)} ${y(value)}`).join('');
    this.svg.querySelector('.line').setAttribute('d', line);
    this.svg.querySelector('.area').setAttribute('d', line ? `${line}L${WIDTH} ${HEIGHT}L${x(0)} ${HEIGHT}Z` : '');
    setText(this.value, text(now));
    setText(this.element.querySelector('.top'), scale(top));
    const period = points.length > 1 ? (points.at(-1).time_ms - points[0].time_ms) / (points.length - 1) : 0;
    setText(this.element.querySelector('.past'), period ? `${Math.round((period * (count - 1)) / 60_000)} min ago` : '');
    this.element.classList.toggle('high', high !== undefined && now >= high);
    const label = `${this.series.name}: ${text(now)} now, ${text(most)} at most in the last minutes${title ? ` (${title})` : ''}`;
    this.element.title = label;
    this.svg.setAttribute('aria-label', label);
    this.element.dataset.points = values.length;
  }
}

// A small curve beside a stream: `name`, and what `text` makes of the newest value. Keeps MOST_POINTS values.
export class Spark {
  constructor(name, text, template) {
    this.plot = new Plot({ key: 'value', name, text, least: 0.001 }, template);
    this.element = this.plot.element;
    this.points = [];
  }

  add(value) {
    this.points = [...this.points, { value, time_ms: Date.now() }].slice(-MOST_POINTS);
    this.plot.draw(this.points);
  }
}

export class Health {
  // `list` takes the plots, `section` is shown when there is something.
  constructor(section, list, template) {
    this.section = section;
    this.points = [];
    this.plots = SERIES.map((series) => new Plot(series, template));
    list.replaceChildren(...this.plots.map((plot) => plot.element));
  }

  // `health`: of live.json. With its history the plots begin anew.
  update(health) {
    this.section.hidden = !health?.time_ms;
    if (this.section.hidden) {
      return;
    }
    if (health.history) {
      const { history } = health;
      this.points = history.time_ms.map((time_ms, index) => ({
        time_ms, ...Object.fromEntries(SERIES.map(({ key }) => [key, history[key][index]])),
      }));
    }
    if (health.time_ms > (this.points.at(-1)?.time_ms ?? 0)) {
      this.points.push(health);
    }
    // A server that was started anew, or a clock that was put back.
    this.points = this.points.filter((point) => point.time_ms <= health.time_ms).slice(-MOST_POINTS);
    this.plots.forEach((plot) => plot.draw(this.points));
  }
}
