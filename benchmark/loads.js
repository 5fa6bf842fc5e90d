'use strict';

// Echoes of many kinds beside ws: sizes, fragments, ways to take a message, TLS, compression, short
// connections. Those that other benchmarks chart are not repeated.

const path = require('node:path');

const { runBenchmark } = require('./support/harness');
const { ROOT, findCheckout } = require('./support/modules');
const { count, text } = require('./support/options');
const { codecServer, startServers, wsServer } = require('./support/peers');
const { formatRatio, formatSize, formatTable } = require('./support/tables');

const USAGE = `usage: node benchmark/loads.js [options]

Measures the processor time that a server takes for a message: of framemask/ws, Connection and ws, in turns, in each of
some sixty loads, mostly one message at a time on each of ten connections. Prints the medians, and how many times faster
framemask is, with quartiles over the rounds; then the same from the weakest row on. With --candidate, another
checkout's framemask/ws and Connection take turns, too. All servers have the two variables of malloc that
docs/scaling.md names. Takes about 18 minutes.`;

const KIB = 1024;
const TAKEOVERS = {
  takeover: true,
  'no takeover': { serverNoContextTakeover: true, clientNoContextTakeover: true }
};

/** @returns {Record<string, object>} rows of messages of these sizes, one at a time */
function ofSizes(data, sizes) {
  return Object.fromEntries(sizes.map((size) => [`${data} ${formatSize(size)}`, { data, size }]));
}

/** @returns {Record<string, object>} rows of messages in fragments: their number, and the size of each */
function inFragments(data, list) {
  const row = ([fragments, size]) => [`${data}, fragments ${fragments} × ${size} B`, { data, fragments, size }];
  return Object.fromEntries(list.map(row));
}

/** JSON: one message after the other on each connection; in one direction, the other end sends a few bytes. */
const compressed = (way) =>
  Object.fromEntries([1, 16, 40, 100, 300].map((kib) => [`${kib} KiB`, { size: kib * KIB, way }]));
const FRAGMENTS = [
  [2, 16],
  [2, 64],
  [4, 256],
  [2, 512],
  [8, 4096]
];
const SHORT = { task: 'openAndClose', connections: 4 };

/**
 * The loads by the options of their servers, in support/servers/node.js, and of the client. Without
 * `way`, Connection is measured, too.
 */
const KINDS = [
  {
    works: {
      ...ofSizes('ascii', [0, 16, 64, 125, 256, KIB, 4 * KIB, 16_000, 16 * KIB, 32 * KIB, 64 * KIB, KIB * KIB]),
      ...ofSizes('utf8', [64, KIB, 16 * KIB]),
      ...ofSizes('binary', [60, 80, 256, KIB, 4 * KIB, 16_000, 16 * KIB, 32 * KIB, 64 * KIB]),
      ...inFragments('ascii', FRAGMENTS),
      ...inFragments('binary', FRAGMENTS),
      'ascii 64 B, 20 in a read': { size: 64, pipelined: 20 },
      'binary 256 B, 20 in a read': { data: 'binary', size: 256, pipelined: 20 },
      'ascii 4 KiB, in 8 reads': { size: 4 * KIB, pieces: 8 },
      'binary 64 KiB, in 8 reads': { data: 'binary', size: 64 * KIB, pieces: 8 },
      'ping 10 B': { data: 'ping', size: 10 },
      'a connection for a message': SHORT
    }
  },
  { suffix: 'TLS', works: ofSizes('ascii', [64, 16 * KIB]), options: { tls: true } },
  { suffix: 'takeover', works: compressed(), options: { deflate: true } },
  ...['received', 'sent'].flatMap((way) =>
    Object.entries(TAKEOVERS).map(([suffix, deflate]) => {
      return { suffix: `${way}, ${suffix}`, works: compressed(way), options: { deflate }, way };
    })
  ),
  { suffix: 'callbacks', works: ofSizes('ascii', [64, 4 * KIB]), way: 'callbacks' },
  { suffix: 'EventTarget', works: ofSizes('ascii', [64, 4 * KIB]), way: 'EventTarget' },
  { suffix: 'arraybuffer', works: ofSizes('binary', [64, 4 * KIB]), way: 'arraybuffer' },
  { suffix: 'pauses', works: ofSizes('ascii', [64, 4 * KIB]), way: 'pauses' },
  { suffix: 'streams', works: ofSizes('text as binary', [64, 4 * KIB]), way: 'streams' }
];

const PEER = 'ws';

/**
 * Of docs/scaling.md. Without them glibc gives memory back after some collections and not after others:
 * a message of 16 to 64 KiB takes 13 µs in one process, and 28 in the next.
 */
const env = { MALLOC_TRIM_THRESHOLD_: '67108864', MALLOC_MMAP_THRESHOLD_: '33554432' };

/** The servers of a kind, by name; the same of another checkout, if there is one. */
function serversOf({ way, options = {} }, checkout) {
  const roots = { '': ROOT, ...(checkout && { ', candidate': checkout }) };
  const own = Object.entries(roots).flatMap(([end, root]) => [
    { name: `framemask/ws${end}`, ...wsServer(path.join(root, 'ws.js'), { way, ...options }) },
    ...(way === undefined ? [{ name: `Connection${end}`, ...codecServer(root, options) }] : [])
  ]);
  return [...own, { name: PEER, ...wsServer('ws', { way, ...options }) }].map((server) => ({ ...server, env }));
}

/** The processor time alone. */
const byCost = (turn) => async () => {
  const { cost } = await turn();
  return { cost };
};

/** @returns {string[]} how many times faster each server is, from the weakest row on */
function listByRatio(_options, { rows }) {
  const all = rows.flatMap(({ name, faster }) => faster.map(({ own, times }) => [own, name, times]));
  all.sort(([, , [, a]], [, , [, b]]) => a - b);
  const lines = all.map(([own, name, times]) => [own, name, ...formatRatio(times)]);
  return ['', formatTable(['server', 'load', `times faster than ${PEER}`, 'quartiles'], lines, 2)];
}

runBenchmark({
  name: 'loads',
  usage: USAGE,
  options: {
    turn: count('<ms>', 'how long a turn of a server takes', 300, 60),
    candidate: text('<folder>', 'another checkout, such as ../other')
  },
  peers: ['bufferutil', 'ws'],
  sets({ turn, candidate }) {
    const checkout = candidate && findCheckout(candidate);
    return KINDS.map((kind) => {
      const { suffix, works, options = {} } = kind;
      const servers = serversOf(kind, checkout);
      const pairs = servers.filter(({ name }) => name !== PEER).map(({ name }) => [name, PEER]);
      const rows = Object.entries(works).map(([name, work]) => {
        return {
          name: suffix === undefined ? name : `${name}, ${suffix}`,
          group: 'CPU of sixty other loads',
          pairs,
          work: { pipelined: 1, ...work }
        };
      });
      const load = { milliseconds: turn, tls: options.tls === true, deflate: options.deflate !== undefined };
      const start = async () => {
        const { candidates, stop } = await startServers(servers, load);
        const turnsOf = (row) => Object.entries(candidates(row)).map(([name, run]) => [name, byCost(run)]);
        return { candidates: (row) => Object.fromEntries(turnsOf(row)), stop };
      };
      return { rows, start };
    });
  },
  remarks: listByRatio
});
