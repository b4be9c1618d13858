// What went wrong in the console, kept until somebody has read it: a list that only its reader empties. What is said again
// is counted, not repeated.

import { asSentence, byId, setText } from './common.js';

const MOST = 20;  // the oldest go first

const kept = new Map();  // by text: { element, count, last }

function show(notice, text) {
  const times = notice.count > 1 ? ` (${notice.count} times, last at ${notice.last.toLocaleTimeString()})` : '';
  setText(notice.words, `${notice.first.toLocaleTimeString()} ${asSentence(text)}${times}`);
}

function drop(text) {
  kept.get(text).element.remove();
  kept.delete(text);
  byId('notices').hidden = kept.size === 0;
}

function begun(text) {
  const element = document.createElement('li');
  const words = document.createElement('span');
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Read';
  button.setAttribute('aria-label', `Read: ${text}`);
  button.addEventListener('click', () => drop(text));
  element.append(words, button);
  byId('notices').firstElementChild.prepend(element);
  return { element, words, count: 0, first: new Date(), last: null };
}

// Newest first.
export function keepNotice(text) {
  const notice = kept.get(text) ?? begun(text);
  notice.count += 1;
  notice.last = new Date();
  kept.set(text, notice);
  show(notice, text);
  byId('notices').hidden = false;
  if (kept.size > MOST) {
    drop(kept.keys().next().value);
  }
}

export function forgetNotices() {
  [...kept.keys()].forEach(drop);
}
