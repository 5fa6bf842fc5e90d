'use strict';

const { once } = require('node:events');
const http = require('node:http');
const http2 = require('node:http2');
const path = require('node:path');
const { Connection, acceptHttp2, messages, sendStream } = require('../../../index');
const { start, startServer } = require('../../support/child');
const { checkPattern } = require('../../support/patterns');
const { until, withResolvers } = require('../../support/promises');

const HOST = '127.0.0.1';
const MIB = 2 ** 20;
/** While messages pass, the gateway may take so many bytes more than a pipe of bytes. */
const MARGIN = 16 * MIB;
/** Milliseconds until the other end has its code. A stopped end is noticed by the heartbeat. */
const SOON = 2000;
const HEARTBEAT = 500;
const PAIRS_AT_ONCE = 50;
/** Bytes of heap that may be left of a pair: those of a connection are thousands. */
const LEFT_OF_A_PAIR = 100;

const CHUNK = Buffer.from(Array.from({ length: 64 * 1024 }, (_, i) => (i * 7 + (i >> 8)) & 255));
const IPC = { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] };
const program = (name, ...args) => [process.execPath, path.join(__dirname, name), ...args.map(String)];

/** Servers of the upstream. Each new connection is given to `onOpen`. */
async function startUpstream(kind, onOpen, options) {
  const server = kind === 'http2' ? acceptHttp2(http2.createServer()) : http.createServer();
  server.on('upgrade', (...upgrade) => onOpen(Connection.accept(...upgrade, options, { context: {} }), upgrade[0]));
  await once(server.listen(0, HOST), 'listening');
  return { server, url: `ws://${HOST}:${server.address().port}` };
}

async function startGateway(url, heartbeat = 30_000, kind = 'http1') {
  const { child, port, close } = await startServer(program('server.js', url, heartbeat, kind), IPC);
  const report = async () => {
    const answered = once(child, 'message');
    child.send('report');
    return (await answered)[0];
  };
  return { url: `ws://${HOST}:${port}`, report, close };
}

// Messages of gigabytes.

function* chunksOf(count) {
  for (let i = 0; i < count; i++) yield CHUNK;
}

/** @returns {Promise<number>} the bytes of the next message, each of which is compared */
async function readOne(connection) {
  let bytes = 0;
  for await (const { data } of messages(connection, { streams: true })) {
    for await (const part of data) bytes = checkPattern(CHUNK, part, bytes);
    return bytes;
  }
  throw new Error('it closed before');
}

/** @returns {Promise<{ grown: number, rate: number, faults: string[] }>} */
async function transfer(kind, count, ways) {
  const large = { partsFrom: 1, maxPayload: Infinity, maxFragments: Infinity, maxBackpressure: Infinity };
  const opened = [];
  const { server, url } = await startUpstream('http1', (connection) => opened.push(connection), large);
  const gateway = await startGateway(url, 30_000, kind);
  const client = await Connection.connect(gateway.url, large);
  const [upstream] = opened;
  const { peak: before } = await gateway.report();
  const began = performance.now();
  const ends = { up: [client, upstream], down: [upstream, client] };
  const pass = ([from, to]) => Promise.all([readOne(to), sendStream(from, chunksOf(count))]);
  const results = await Promise.all(ways.map((way) => pass(ends[way])));
  const seconds = (performance.now() - began) / 1000;
  const grown = (await gateway.report()).peak - before;
  client.terminate();
  gateway.close();
  server.close();
  const bytes = count * CHUNK.length;
  const faults = results.flatMap(([came]) => (came === bytes ? [] : [`${came} bytes of ${bytes} came`]));
  return { grown, rate: (bytes * ways.length) / MIB / seconds, faults };
}

async function compare(count, ways) {
  const pipe = await transfer('pipe', count, ways);
  const { grown, rate, faults } = await transfer('http1', count, ways);
  if (grown > pipe.grown + MARGIN) faults.push('the gateway took too much memory');
  const inMib = (bytes) => `${(bytes / MIB).toFixed(0)} MiB`;
  return { cells: [rate.toFixed(0), pipe.rate.toFixed(0), inMib(grown), inMib(pipe.grown)], faults };
}

// An end that is killed, stopped or reset.

const ACTS = {
  killed: (child) => child.kill('SIGKILL'),
  stopped: (child) => child.kill('SIGSTOP'),
  reset: (child) => child.send('reset')
};

async function tell(child, act) {
  const done = once(child, 'message');
  child.send(act);
  await done;
}

/** Sends until so much waits that the end does not read. */
async function flood(other) {
  while (other.bufferedAmount < 4 * MIB) {
    other.send(CHUNK);
    await new Promise(setImmediate);
  }
}

/** The states of an end before that. */
const STATES = {
  idle: () => {},
  'amid a message': ({ child }) => tell(child, 'begin'),
  'amid a message to it': ({ other }) => other.send(CHUNK, { fin: false }),
  'not reading': async ({ child, other }) => {
    await tell(child, 'pause');
    await flood(other);
  }
};

/** @returns {Promise<{ child, other, ended, gateway, close }>} `other` is the end of this process */
async function openPair(role) {
  const ended = withResolvers();
  const options = {
    maxPayload: Infinity,
    maxBackpressure: Infinity,
    onPart() {},
    onError() {},
    onClose: (code) => ended.resolve(code)
  };
  if (role === 'server') {
    const { child, port } = await startServer(program('end.js', role), IPC);
    const gateway = await startGateway(`ws://${HOST}:${port}`, HEARTBEAT);
    const open = once(child, 'message');
    const other = await Connection.connect(gateway.url, options);
    await open;
    return { child, other, ended, gateway, close() {} };
  }
  let other;
  const { server, url } = await startUpstream('http1', (connection) => (other = connection), options);
  const gateway = await startGateway(url, HEARTBEAT);
  const child = start(program('end.js', role, gateway.url), { stdio: IPC.stdio });
  await once(child, 'message');
  return { child, other, ended, gateway, close: () => server.close() };
}

const endIt = (child) => child.exitCode ?? child.signalCode ?? child.kill('SIGKILL');

/** Whether the gateway has let go of its pairs. */
async function leftOf(gateway) {
  for (let i = 0; i < 20; i++) {
    const { connections } = await gateway.report();
    if (connections === 0) return [];
  }
  return ['the gateway keeps a connection'];
}

async function lose(role, state, act) {
  const pair = await openPair(role);
  await STATES[state](pair);
  const began = performance.now();
  ACTS[act](pair.child);
  const code = await Promise.race([pair.ended.promise, new Promise((resolve) => setTimeout(resolve, 15_000, null))]);
  const took = performance.now() - began;
  const faults = [];
  const expected = role === 'server' ? 1014 : 1011;
  if (code !== expected) faults.push(`${state}, ${act}: code ${code}, not ${expected}`);
  if (took > SOON) faults.push(`${state}, ${act}: after ${took.toFixed(0)} ms`);
  endIt(pair.child);
  pair.other.terminate();
  faults.push(...(await leftOf(pair.gateway)));
  pair.gateway.close();
  pair.close();
  return { took, faults };
}

async function loseAll(role) {
  const faults = [];
  let longest = 0;
  const cases = Object.keys(STATES).flatMap((state) => Object.keys(ACTS).map((act) => [state, act]));
  for (const [state, act] of cases) {
    const result = await lose(role, state, act);
    faults.push(...result.faults);
    longest = Math.max(longest, result.took);
  }
  return { cells: ['', '', '', '', `${longest.toFixed(0)} ms`], faults };
}

/** An upstream that answers no handshake is killed, or stays: the statuses of the client. */
async function dial() {
  const faults = [];
  for (const [act, expected] of Object.entries({ killed: 502, silent: 504 })) {
    const { child, port } = await startServer(program('end.js', 'server', 'mute'), IPC);
    const gateway = await startGateway(`ws://${HOST}:${port}`, HEARTBEAT);
    const asked = once(child, 'message');
    const connected = Connection.connect(gateway.url).catch((error) => error);
    await asked;
    if (act === 'killed') child.kill('SIGKILL');
    const { statusCode } = await connected;
    if (statusCode !== expected) faults.push(`${act}: ${statusCode}, not ${expected}`);
    endIt(child);
    faults.push(...(await leftOf(gateway)));
    gateway.close();
  }
  return faults;
}

// Thousands of pairs.

const WAYS = [
  (client) => client.close(1000),
  (_client, upstream) => upstream.close(4001, 'bye'),
  (client) => client.terminate(),
  (_client, upstream) => upstream.terminate(),
  (client) => client.socket.resetAndDestroy?.() ?? client.terminate()
];

async function runPairs(kind, count) {
  const byPath = new Map();
  const take = (connection, { url }) => byPath.get(url)(connection);
  const options = {
    onMessage() {
      this.context.came = true;
    },
    onError() {}
  };
  const { server, url } = await startUpstream(kind, take, options);
  const gateway = await startGateway(url, 30_000, kind);
  let next = 0;
  const one = async () => {
    const name = `/${next++}`;
    const upstream = new Promise((resolve) => byPath.set(name, resolve));
    let closed;
    const ended = new Promise((resolve) => (closed = resolve));
    const client = await Connection.connect(gateway.url + name, { ...options, context: {}, onClose: closed });
    const inner = await upstream;
    byPath.delete(name);
    client.send('hello');
    inner.send(CHUNK);
    // Of a stream that is reset with unsent bytes, Node.js counts them against its session for ever.
    if (kind === 'http2') await until(() => client.context.came && inner.context.came);
    WAYS[next % WAYS.length](client, inner);
    await ended;
    await until(() => inner.readyState === Connection.CLOSED);
  };
  const run = async (end) => {
    const work = async () => {
      while (next < end) await one();
    };
    await Promise.all(Array.from({ length: PAIRS_AT_ONCE }, work));
    return gateway.report();
  };
  // What all share is made first.
  const before = await run(count / 5);
  const after = await run(count + count / 5);
  gateway.close();
  server.close();
  const faults = [];
  for (const what of ['connections', 'resources', 'descriptors']) {
    if (after[what] > before[what]) faults.push(`${after[what]} ${what}, ${before[what]} before`);
  }
  const left = (after.bytes - before.bytes) / count;
  if (left > LEFT_OF_A_PAIR) faults.push(`${left.toFixed(0)} bytes are left of each pair`);
  return { cells: ['', '', '', '', '', `${left.toFixed(0)} B`], faults };
}

module.exports = {
  summary: 'examples/gateway.js: gigabytes both ways, lost ends, and thousands of pairs',
  details: `Sends one message through the gateway each way, and both ways at once: it may take ${MARGIN / MIB} MiB more than a pipe of bytes, and
each byte is compared. Kills, stops and resets the client and the upstream in each state: the other end has its code within
two seconds, and the gateway keeps nothing. Opens and ends pairs over HTTP/1.1 and HTTP/2: no connection, timer,
descriptor or memory is left. Autobahn|Testsuite through the gateway: autobahn --only gateway.`,
  linuxOnly: true,
  options: {
    mib: { default: '1024', value: 'n', text: 'the length of the messages' },
    pairs: { default: '10000', value: 'n', text: 'how many pairs are opened, over HTTP/1.1 and over HTTP/2' }
  },
  columns: ['MiB/s', 'of a pipe', 'memory', 'of a pipe', 'the other end knows', 'left of a pair'],

  async run({ mib, pairs }, { results }) {
    const count = (Number(mib) * MIB) / CHUNK.length;
    if (!Number.isSafeInteger(count) || count < 1 || !Number.isSafeInteger(Number(pairs)))
      throw new RangeError('--mib and --pairs must be whole numbers');
    for (const [name, ways] of [
      ['from the client', ['up']],
      ['from the upstream', ['down']],
      ['both ways', ['up', 'down']]
    ])
      await results.add(`${mib} MiB ${name}`, () => compare(count, ways));
    await results.add('an upstream that does not answer', dial);
    await results.add('lost clients', () => loseAll('client'));
    await results.add('lost upstreams', () => loseAll('server'));
    await results.add(`${pairs} pairs`, () => runPairs('http1', Number(pairs)));
    await results.add(`${pairs} pairs over HTTP/2`, () => runPairs('http2', Number(pairs)));
  }
};
