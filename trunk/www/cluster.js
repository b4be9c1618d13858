// The console's view of the cluster: what keeps it from working, its nodes, and the streams of all of them with a button
// that ends a publisher wherever it is. Nothing of it is shown where there is no cluster.

import { asSentence, bitRate, byId, duration, percent, setText, showText } from './common.js';
import { ask, kickButton, LoginNeeded } from './console.js';
import { areSeveral, pathOfOne } from './processes.js';
import { KeptTable } from './table.js';

const PAGE = 50;
const MOST_NODES = 200;
const LIST_PERIOD_MS = 4000;     // the registry is read for it
const ALONE_PERIOD_MS = 30_000;  // a server without a cluster may be started anew with one
const GONE_MS = 10 * 60_000;     // a node that has gone is shown for so long
const MOST_GONE = 50;

// ---- nodes

const seen = new Map();  // by name: { node, at }, so that one that goes is not just missing
let own = '';            // this node's name

// Several processes are nodes NAME-p0, NAME-p1 ...
function isOwn({ node, self }) {
  return self || (areSeveral() && own !== '' && node.replace(/-p\d+$/, '') === own.replace(/-p\d+$/, ''));
}

function stateOf({ state, gone }) {
  if (gone === undefined) {
    return state;
  }
  return `${state === 'draining' ? 'ended after its drain' : 'gone'}, last seen ${duration(gone)} ago`;
}

const whileThere = (text) => (node) => (node.gone === undefined ? text(node) : '-');

const NODE_COLUMNS = [
  ['node', (node) => `${node.node}${isOwn(node) ? (areSeveral() ? ' (this server)' : ' (this one)') : ''}`],
  ['is', stateOf],
  ['busy', whileThere((node) => percent(node.busy, 1))],
  ['sends', whileThere((node) => bitRate(node.bits_per_second / 1000))],
  ['up for', whileThere((node) => (node.since_ms ? duration(Date.now() - node.since_ms) : '-'))],
  ['machine', (node) => node.machine || '-'],
  ['address', (node) => node.url || 'none: nobody can pull from it'],
  ['version', (node) => node.version || '-'],
];

// Those of the list, then those that were in it a while ago.
function withGone(nodes) {
  const now = performance.now();
  nodes.forEach((node) => seen.set(node.node, { node, at: now }));
  const missing = [...seen].filter(([, { at }]) => at !== now).sort((one, other) => other[1].at - one[1].at);
  missing.filter(([, { at }], index) => now - at > GONE_MS || index >= MOST_GONE).forEach(([name]) => seen.delete(name));
  const gone = missing.filter(([name]) => seen.has(name)).map(([, { node, at }]) => ({ ...node, gone: now - at }));
  return [...nodes, ...gone];
}

async function refreshNodes() {
  const { total, nodes } = await ask(pathOfOne(`/api/v1/nodes?count=${MOST_NODES}`));
  // Of a longer list who is missing is not known.
  tables.nodes.show(total > nodes.length ? nodes : withGone(nodes));
  setText(byId('nodes-count'), total > nodes.length ? `${nodes.length} of ${total}` : String(total));
}

// ---- streams

const titleOf = ({ vhost, app, name }) => `${app}/${name}${vhost.startsWith('__') ? '' : ` (${vhost})`}`;

function edgesOf({ edges, edge_count: count }) {
  const more = count - edges.length;
  return [...edges, ...(more > 0 ? [`${more} more`] : [])].join(', ') || '-';
}

const STREAM_COLUMNS = [
  ['stream', titleOf],
  ['published at', (stream) => stream.node],
  ['pulled by', edgesOf],
  ['for', (stream) => duration(Date.now() - stream.since_ms)],
  ['epoch', (stream) => String(stream.epoch)],
];

// Wherever it is.
export function kickPublisher({ vhost, app, name }) {
  return ask(`/api/v1/cluster/streams?${new URLSearchParams({ vhost, app, stream: name })}`, 'DELETE');
}

let first = 0;

async function refreshStreams() {
  const query = new URLSearchParams({ start: first, count: PAGE });
  for (const name of ['stream', 'node']) {
    const value = byId(`cluster-${name}`).value.trim();
    if (value) {
      query.set(name, value);
    }
  }
  const { total, streams } = await ask(pathOfOne(`/api/v1/cluster/streams?${query}`));
  if (first > 0 && first >= total) {
    first = 0;
    refreshSoon();
  }
  tables.streams.show(streams);
  setText(byId('cluster-count'), total === 0 ? 'none' : `${first + 1} to ${first + streams.length} of ${total}`);
  byId('cluster-back').disabled = first === 0;
  byId('cluster-on').disabled = first + PAGE >= total;
}

// ---- what is wrong

function registryText({ node, registry }) {
  if (!registry) {
    return '';
  }
  if (registry.name_taken) {
    return `Another node of the cluster is named ${node} as well: streams of this node are not found by others. Give each node `
      + 'a name of its own (cluster { node; }).';
  }
  if (registry.state === 'away') {
    const why = registry.last_error ? ` ${asSentence(registry.last_error)}` : '';
    return `The registry of the cluster (${registry.url}) does not answer since ${new Date(registry.since_ms).toLocaleTimeString()}.${why} `
      + 'Streams that are published and played go on; what is listed of the cluster is as it was before.';
  }
  return registry.lease ? '' : 'This node has no lease at the registry: others do not find its streams.';
}

function drainText({ status, publishers, players }) {
  return status === 'draining' ? `This server drains: it lets nobody new in, and ends when all have left. ${publishers} publish, `
    + `${players} watch.` : '';
}

// ---- all of it

let tables = null;
let registered = false;
let clusterDue = 0;
let listsDue = 0;

// This node finds streams of others by a registry.
export const hasRegistry = () => registered;

function refreshSoon() {
  listsDue = 0;
}

function start() {
  tables = {
    nodes: new KeptTable(byId('nodes'), NODE_COLUMNS, (node) => node.node),
    streams: new KeptTable(byId('cluster-streams'), STREAM_COLUMNS, ({ vhost, app, name }) => JSON.stringify([vhost, app, name]),
      (newest) => kickButton('Kick', async () => {
        await kickPublisher(newest());
        refreshSoon();
      }, () => `the publisher of ${titleOf(newest())} at ${newest().node}`)),
  };
  const anew = () => { first = 0; refreshSoon(); refreshLists(); };
  byId('cluster-stream').addEventListener('input', anew);
  byId('cluster-node').addEventListener('input', anew);
  byId('cluster-back').addEventListener('click', () => { first = Math.max(0, first - PAGE); refreshSoon(); refreshLists(); });
  byId('cluster-on').addEventListener('click', () => { first += PAGE; refreshSoon(); refreshLists(); });
}

async function refreshLists() {
  if (byId('cluster-part').hidden || performance.now() < listsDue) {
    return;
  }
  listsDue = performance.now() + LIST_PERIOD_MS;
  try {
    await refreshNodes();
    await refreshStreams();
    showText(byId('cluster-error'), '');
  } catch (error) {
    if (!(error instanceof LoginNeeded)) {
      showText(byId('cluster-error'), `The cluster cannot be read: ${asSentence(error.message)}`);
    }
  }
}

export async function refreshCluster() {
  if (!tables) {
    start();
  }
  showText(byId('drain-notice'), drainText((await ask('/api/v1/health')).data));
  if (performance.now() < clusterDue) {
    return;
  }
  const { cluster } = await ask(pathOfOne('/api/v1/cluster'));
  clusterDue = cluster.registry ? 0 : performance.now() + ALONE_PERIOD_MS;
  own = cluster.node;
  registered = Boolean(cluster.registry);
  showText(byId('registry-notice'), registryText(cluster));
  byId('cluster-part').hidden = !registered;
  if (cluster.registry?.state === 'up') {
    await refreshLists();
  }
}

export function forgetCluster() {
  seen.clear();
  clusterDue = listsDue = first = 0;
  tables?.nodes.clear();
  tables?.streams.clear();
  byId('cluster-part').hidden = true;
  for (const name of ['registry-notice', 'drain-notice', 'cluster-error']) {
    showText(byId(name), '');
  }
}
