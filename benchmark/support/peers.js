'use strict';

// Servers and their client, each in a process of its own.

const { fork, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');

const { fetchNpm } = require('../../scripts/support/fetch');
const { ROOT, findCheckout } = require('./modules');
const { median } = require('./race');

/** How many connections send to an echo server. */
const CONNECTIONS = 10;

/** What each connection sends at once, before it waits for all of it to come back. */
const ECHO = {
  '1 × 64 B': { pipelined: 1, size: 64 },
  '100 × 64 B': { pipelined: 100, size: 64 },
  '50 × 1 KiB': { pipelined: 50, size: 1024 },
  '4 × 16,000 B': { pipelined: 4, size: 16_000 },
  '4 × 64 KiB': { pipelined: 4, size: 64 * 1024 },
  '1 × 1 MiB': { pipelined: 1, size: 1024 * 1024 }
};

const script = (name) => path.join(__dirname, 'servers', `${name}.js`);

/**
 * A server has `command`, its command line, a name, a version, `bare` if it sends back the very
 * bytes that it got, `client` with options of client.js, and `env`, variables of its environment.
 *
 * @param {string} kind of servers/node.js
 */
function nodeServer(kind, options = {}) {
  return { bare: kind === 'socket', command: [process.execPath, script('node'), kind, JSON.stringify(options)] };
}

/** @param {string} module with the API of ws */
const wsServer = (module, options) => nodeServer('ws', { module, ...options });

/** The server of examples/ of a checkout, on the codec. */
const codecServer = (root, options) => nodeServer('framemask', { root, ...options });

/**
 * The same of another checkout, as the server `candidate`; none without a folder.
 *
 * @param {string | undefined} folder
 * @throws {RangeError} if framemask is not there
 */
function findCandidate(folder) {
  return folder === undefined ? [] : [{ name: 'candidate', ...codecServer(findCheckout(folder)) }];
}

/** Other runtimes: the package on npm for this machine, the program in it, and its arguments. */
const { arch, platform } = process;
const RUNTIMES = {
  bun: [`@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}@1`, 'bin/bun', 'run'],
  deno: [`@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}@2`, 'deno', 'run', '--quiet', '--allow-net']
};

/** Fetches the runtime from npm, unless it is in .cache/platforms/. */
function runtimeServer(runtime) {
  const [name, file, ...args] = RUNTIMES[runtime];
  const folder = fetchNpm(name);
  const program = path.join(folder, file);
  fs.chmodSync(program, 0o755);
  const { version } = require(path.join(folder, 'package.json'));
  return { version, command: [program, ...args, script(runtime)] };
}

const SERVERS = {
  framemask: () => codecServer(ROOT),
  'framemask, reads by events': () => ({ ...codecServer(ROOT), env: { FRAMEMASK_READS: 'events' } }),
  'framemask/ws': () => wsServer(path.join(ROOT, 'ws.js')),
  ws: () => ({ ...wsServer('ws'), version: require('ws/package.json').version }),
  Bun: () => runtimeServer('bun'),
  Deno: () => runtimeServer('deno'),
  'net.Socket': () => nodeServer('socket')
};

/** Of the servers that were found. */
const versions = {};

/** Finds the servers with a text in their name, and says on stderr which are left out, and why. */
function findServers(texts) {
  const servers = [];
  for (const [name, find] of Object.entries(SERVERS)) {
    if (texts.length > 0 && !texts.some((text) => name.includes(text))) continue;
    try {
      const server = { name, ...find() };
      servers.push(server);
      if (server.version !== undefined) versions[name] = server.version;
    } catch (error) {
      console.error(`${name} is left out: ${error.message}`);
    }
  }
  return servers;
}

/** The processes that run. */
const peers = new Set();

process.on('exit', () => peers.forEach(stop));

/** A peer that ends before it is stopped ends the benchmark. */
function watch(child, name) {
  peers.add(child);
  child.on('exit', (code) => {
    if (!peers.delete(child)) return;
    console.error(`${name} ended with exit code ${code}`);
    process.exit(1);
  });
  return child;
}

/** @returns {Promise<void>} when it has ended, and its sockets with it: 10,000 take a while */
async function stop(child) {
  peers.delete(child);
  if (child.kill()) await once(child, 'exit');
}

/** Starts a server, and waits until it listens. With `ipc`, it takes messages. */
async function startServer(
  { name, bare = false, client = {}, command: [program, ...args], env },
  { ipc = false } = {}
) {
  const stdio = ['ignore', 'pipe', 'inherit', ...(ipc ? ['ipc'] : [])];
  const child = watch(spawn(program, args, { stdio, env: { ...process.env, ...env } }), `the server ${name}`);
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  const [port, controlPort] = line.split(' ').map(Number);
  return { name, bare, client, port, controlPort, child, stop: () => stop(child) };
}

const startProcess = (file, args = []) => watch(fork(file, args), 'the client');
const startClient = () => startProcess(path.join(__dirname, 'client.js'));
const MOST_SECONDS = 60;

/** Sends a message to a peer, and waits for its answer. */
async function ask(child, message = {}) {
  const signal = AbortSignal.timeout(MOST_SECONDS * 1000);
  child.send(message);
  const [{ error, result }] = await once(child, 'message', { signal }).catch(() => {
    throw new Error(`no answer within ${MOST_SECONDS} seconds: bytes are missing`);
  });
  if (error !== undefined) throw new Error(error);
  return result;
}

/** Starts echo servers for rows with `work`. */
async function startServers(servers, load) {
  const client = startClient();
  const running = [];
  for (const server of servers) running.push(await startServer(server));
  const candidate = ({ port, bare, child, client: options }, work) => {
    const task = {
      task: 'putLoad',
      connections: CONNECTIONS,
      ...load,
      ...work,
      ...options,
      port,
      bare,
      pid: child.pid
    };
    return () => ask(client, task);
  };
  return {
    candidates: ({ work }) => Object.fromEntries(running.map((server) => [server.name, candidate(server, work)])),
    stop: () => Promise.all([client, ...running.map(({ child }) => child)].map(stop))
  };
}

/** Connections that are opened first, so that what all share is not weighed. */
const FIRST = 100;

/**
 * @returns {Promise<{ opened: number, used: number }>} bytes of memory of a connection, idle and
 *   idle after an echo
 */
async function weighConnections(server, count) {
  const { child, port, client: options } = await startServer({ name: 'to weigh', ...server }, { ipc: true });
  const client = startClient();
  await ask(client, { task: 'open', port, count: FIRST, ...options });
  await ask(client, { task: 'echo' });
  const before = await ask(child);
  await ask(client, { task: 'open', port, count, ...options });
  const opened = await ask(child);
  await ask(client, { task: 'echo' });
  const used = await ask(child);
  await Promise.all([child, client].map(stop));
  return { opened: (opened - before) / count, used: (used - before) / count };
}

/** An idle connection, beside its socket: that of a server of sockets alone is subtracted. */
async function weighBesideSocket(server, count) {
  const alone = await weighConnections(nodeServer('socket', { weighed: true }), count);
  const { opened, used } = await weighConnections(server, count);
  return { opened: opened - alone.opened, used: used - alone.used };
}

/**
 * Starts servers of broadcasts, each with its clients. `ways` has, by candidate, the name of the
 * server and the way to send that servers/broadcast.js takes. `figuresOf` makes the figures of a
 * turn: it gets median milliseconds until all is `sent` and until all has `arrived`, the
 * microseconds of the server's processor time for a broadcast, and the 99th percentile, `p99`, of
 * the microseconds until a client has it.
 */
async function startBroadcasts(ways, { clients, turn: milliseconds }, figuresOf) {
  const servers = {};
  for (const [name] of Object.values(ways)) {
    if (name in servers) continue;
    const command = [process.execPath, script('broadcast'), name];
    const { child, port, controlPort } = await startServer({ name, command }, { ipc: true });
    servers[name] = { child, client: startClient() };
    await ask(servers[name].client, { task: 'open', port, controlPort, count: clients });
  }
  const candidate =
    ([name, way], work) =>
    async () => {
      const { child, client } = servers[name];
      await ask(client, { task: 'expect', ...work });
      const { began, sent, arrived, microseconds } = await ask(child, { way, ...work, milliseconds });
      const p99 = await ask(client, { task: 'latency', began });
      return figuresOf(
        { sent: median(sent), arrived: median(arrived), microseconds: microseconds / sent.length, p99 },
        work
      );
    };
  return {
    candidates: ({ work }) => Object.fromEntries(Object.entries(ways).map(([who, way]) => [who, candidate(way, work)])),
    stop: () => Promise.all(Object.values(servers).flatMap(Object.values).map(stop))
  };
}

module.exports = {
  ECHO,
  ask,
  codecServer,
  findCandidate,
  findServers,
  nodeServer,
  startBroadcasts,
  startProcess,
  startServer,
  startServers,
  stop,
  versions,
  weighBesideSocket,
  weighConnections,
  wsServer
};
