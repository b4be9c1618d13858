// The console's table of processes, where the server has several.

import { byId, percent, setText } from './common.js';
import { ask } from './console.js';
import { KeptTable } from './table.js';

const ALONE_PERIOD_MS = 30_000;  // one process is the rule, and a restart makes it several

const COLUMNS = [
  ['process', (each) => String(each.process)],
  ['is', (each) => (each.running ? 'running' : 'not there')],
  ['busy', (each) => (each.running ? percent(each.busy, 1) : '-')],
  ['clients', (each) => (each.running ? String(each.clients) : '-')],
  ['streams', (each) => (each.running ? String(each.streams) : '-')],
  ['begun anew', (each) => (each.restarts === 1 ? 'once' : each.restarts ? `${each.restarts} times` : 'never')],
  ['process id', (each) => (each.pid === '0' ? '-' : each.pid)],
];

let table = null;
let processes = [];
let due = 0;

export const areSeveral = () => processes.length > 1;

// A path of the API that one process answers, always the same while it runs.
export function pathOfOne(path) {
  const one = processes.find((each) => each.running);
  return areSeveral() && one ? `${path}${path.includes('?') ? '&' : '?'}process=${one.process}` : path;
}

export async function refreshProcesses() {
  if (performance.now() < due) {
    return;
  }
  ({ processes } = await ask('/api/v1/processes'));
  due = areSeveral() ? 0 : performance.now() + ALONE_PERIOD_MS;
  table ??= new KeptTable(byId('processes'), COLUMNS, (each) => each.process);
  table.show(areSeveral() ? processes : []);
  byId('processes-part').hidden = !areSeveral();
  document.body.classList.toggle('several', areSeveral());
  const there = processes.filter((each) => each.running).length;
  setText(byId('processes-count'), there < processes.length ? `${there} of ${processes.length} run` : `${there}`);
}

export function forgetProcesses() {
  processes = [];
  due = 0;
  table?.clear();
  byId('processes-part').hidden = true;
  document.body.classList.remove('several');
}
