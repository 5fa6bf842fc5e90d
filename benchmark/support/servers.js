'use strict';

// Echo servers and their client, each in a process of its own.

const { fork, spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const { ROOT } = require('./modules');
const { findRuntime } = require('./peers');
const { residentMemory } = require('./process-use');

/**
 * What a turn of a server gave; NaN where it can't be read.
 *
 * @typedef {object} Turn
 * @property {number} rate messages a second
 * @property {number} cost the server's processor time for each in microseconds, which hardly
 *   depends on what else the machine does
 * @property {number} serverShare how much of a core the server took
 * @property {number} clientShare how much of a core the client took: near 1 it was the limit
 * @property {number} resident the most bytes that the server had in memory
 *
 * @typedef {'bytes' | 'strings' | 'tls' | 'deflate' | 'upload'} Kind text delivered as bytes, text
 *   delivered as strings, text as bytes over TLS or compressed, or binary messages of which none is
 *   sent back
 *
 * @typedef {object} Server
 * @property {string} name
 * @property {string} [version]
 * @property {boolean} [bare] whether it sends back the very bytes that it got
 * @property {(options: import('./servers/options').ServerOptions) => [string, ...string[]]} command
 */

/** How many connections send to an echo server. */
const CONNECTIONS = 10;

/**
 * What each connection sends at once, before it waits for all of it to come back.
 *
 * @type {Record<string, { pipelined: number, size: number }>}
 */
const ECHO = {
  '1 × 64 B': { pipelined: 1, size: 64 },
  '100 × 64 B': { pipelined: 100, size: 64 },
  '50 × 1 KiB': { pipelined: 50, size: 1024 },
  '4 × 16,000 B': { pipelined: 4, size: 16_000 },
  '4 × 64 KiB': { pipelined: 4, size: 64 * 1024 },
  '1 × 1 MiB': { pipelined: 1, size: 1024 * 1024 }
};

/** Messages that are compressed. */
const COMPRESSED = {
  '1 × 1 KiB': { pipelined: 1, size: 1024, deflate: true },
  '20 × 1 KiB': { pipelined: 20, size: 1024, deflate: true },
  '4 × 16,000 B': { ...ECHO['4 × 16,000 B'], deflate: true }
};

const PLAIN = ['bytes', 'strings', 'tls', 'upload'];
const ALL = [...PLAIN, 'deflate'];
const script = (name) => path.join(__dirname, 'servers', `${name}.js`);

/** @returns {Omit<Server, 'name'>} in Node.js, told `extra` beside the other options */
function nodeServer(file, extra = {}) {
  const command = (options) => [process.execPath, script(file), JSON.stringify({ ...options, ...extra })];
  return { bare: file === 'socket', command };
}

function runtimeServer(runtime, args, fetch) {
  const { program, version } = findRuntime(runtime, fetch);
  return { version, command: (options) => [program, ...args, script(runtime), JSON.stringify(options)] };
}

/** @param {string} module with the API of ws */
const wsServer = (module) => nodeServer('ws', { module });

/** @type {Record<string, { kinds: Kind[], find: (fetch: boolean) => Omit<Server, 'name'> }>} */
const SERVERS = {
  framemask: { kinds: ALL, find: () => nodeServer('framemask', { oneBuffer: false }) },
  'framemask, shared reads': { kinds: PLAIN, find: () => nodeServer('framemask', { oneBuffer: true }) },
  'framemask/ws': { kinds: ALL, find: () => wsServer(path.join(ROOT, 'ws.js')) },
  ws: { kinds: ALL, find: () => ({ ...wsServer('ws'), version: require('ws/package.json').version }) },
  Bun: { kinds: ALL, find: (fetch) => runtimeServer('bun', ['run'], fetch) },
  Deno: {
    kinds: PLAIN,
    find: (fetch) => runtimeServer('deno', ['run', '--quiet', '--allow-net', '--no-config'], fetch)
  },
  'net.Socket': { kinds: ['bytes', 'tls'], find: () => nodeServer('socket') },
  'net.Socket, one buffer': { kinds: ['bytes'], find: () => nodeServer('socket', { oneBuffer: true }) }
};

/**
 * Finds the servers that can do a kind, and says on stderr which are left out, and why.
 *
 * @param {Kind} kind
 * @param {{ servers: string[], 'no-fetch': boolean }} options texts of which one must be in the name;
 *   whether missing ones are not downloaded and built
 * @returns {Server[]}
 */
function findServers(kind, { servers: texts, 'no-fetch': noFetch }) {
  const wanted = (name) => texts.length === 0 || texts.some((text) => name.includes(text));
  const servers = [];
  for (const [name, { kinds, find }] of Object.entries(SERVERS)) {
    if (!kinds.includes(kind) || !wanted(name)) continue;
    try {
      servers.push({ name, ...find(!noFetch) });
    } catch (error) {
      console.error(`${name} is left out: ${error.message}`);
    }
  }
  return servers;
}

/**
 * Starts a server, and waits until it listens.
 *
 * @param {Server} server
 * @param {import('./servers/options').ServerOptions} [options]
 * @returns {Promise<{ name: string, bare: boolean, port: number,
 *   child: import('node:child_process').ChildProcess }>}
 * @throws {Error} if it ends before
 */
async function startServer({ name, bare = false, command }, options = {}) {
  const [program, ...args] = command(options);
  const stdio = ['ignore', 'pipe', 'inherit', ...(options.weighed ? ['ipc'] : [])];
  const child = spawn(program, args, { stdio });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the server ${name} ended with exit code ${code}`);
  });
  ended.catch(() => {});
  const [line] = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), ended]);
  return { name, bare, port: Number(line), child };
}

/** @returns {import('node:child_process').ChildProcess} see client.js */
const forkClient = () => fork(path.join(__dirname, 'client.js'));

/** Sends a task to a client, and waits for its answer. */
async function ask(client, task, what = {}) {
  client.send({ task, ...what });
  const [{ error, result }] = await once(client, 'message');
  if (error !== undefined) throw new Error(error);
  return result;
}

/**
 * Starts servers for rows with `work`. A server that does not start is left out.
 *
 * @param {Server[]} servers
 * @param {object} options
 * @param {import('./servers/options').ServerOptions} [options.server]
 * @param {object} options.load what the client does in all rows; see client.js
 * @returns {Promise<import('./harness').Started>}
 */
async function startServers(servers, { server: serverOptions, load }) {
  const client = forkClient();
  const children = [client];
  const running = [];
  const stop = () => {
    for (const child of children) child.kill();
  };
  for (const server of servers) {
    try {
      const started = await startServer(server, serverOptions);
      children.push(started.child);
      running.push(started);
    } catch (error) {
      console.error(`${server.name} is left out: ${error.message}`);
    }
  }
  const put = ({ port, bare, child }, work) =>
    ask(client, 'putLoad', { connections: CONNECTIONS, ...load, ...work, port, bare, pid: child.pid });
  const candidates = ({ work }) => Object.fromEntries(running.map((server) => [server.name, () => put(server, work)]));
  return { candidates, stop };
}

/** Connections that are opened first, so that what all share is not weighed. */
const FIRST = 100;
/** Milliseconds in which a server collects its garbage several times. */
const SETTLED = 1500;

/** Weighs the heap of a server in Node.js. */
async function weighHeap({ child }) {
  child.send({});
  const [{ heap }] = await once(child, 'message');
  return heap;
}

/** Weighs a whole process from outside, so that it may be any server. */
async function weighResident({ child }) {
  await sleep(SETTLED);
  return residentMemory(child.pid);
}

/**
 * @param {Server} server
 * @param {number} count how many connections are weighed
 * @param {typeof weighHeap | typeof weighResident} weigh
 * @param {import('./servers/options').ServerOptions} options
 * @returns {Promise<{ opened: number, used: number }>} bytes a connection, its socket included: idle,
 *   and idle after an echo
 */
async function weighConnections(server, count, weigh, options) {
  const started = await startServer(server, { tls: null, ...options });
  const client = forkClient();
  try {
    await ask(client, 'open', { port: started.port, count: FIRST });
    await ask(client, 'echo');
    const before = await weigh(started);
    await ask(client, 'open', { port: started.port, count });
    const opened = await weigh(started);
    await ask(client, 'echo');
    const used = await weigh(started);
    return { opened: (opened - before) / count, used: (used - before) / count };
  } finally {
    started.child.kill();
    client.kill();
  }
}

module.exports = {
  COMPRESSED,
  CONNECTIONS,
  ECHO,
  ask,
  findServers,
  forkClient,
  nodeServer,
  startServers,
  weighConnections,
  weighHeap,
  weighResident,
  wsServer
};
