'use strict';

// Echo servers and their client, each in a process of its own.

const { fork, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');

const { fetchNpm } = require('../../test/support/fetch');
const { ROOT } = require('./modules');

// A server has a name, a version, `bare` if it sends back the very bytes that it got, `client` with
// options of client.js, and `command`, which makes its command line of the options of
// servers/options.js.

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

/** @returns {object} a server in Node.js, told `extra` beside the other options */
function nodeServer(file, extra = {}) {
  const command = (options) => [process.execPath, script(file), JSON.stringify({ ...options, ...extra })];
  return { bare: file === 'socket', command };
}

/** @param {string} module with the API of ws */
const wsServer = (module) => nodeServer('ws', { module });

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
  return { version, command: (options) => [program, ...args, script(runtime), JSON.stringify(options)] };
}

const PLAIN = ['bytes', 'strings', 'tls'];
const ALL = [...PLAIN, 'deflate'];
/** What each server can do, and how it is found. */
const SERVERS = {
  framemask: [ALL, () => nodeServer('framemask')],
  'framemask, shared reads': [PLAIN, () => nodeServer('framemask', { sharedReads: true })],
  'framemask/ws': [ALL, () => wsServer(path.join(ROOT, 'ws.js'))],
  ws: [ALL, () => ({ ...wsServer('ws'), version: require('ws/package.json').version })],
  Bun: [ALL, () => runtimeServer('bun')],
  Deno: [PLAIN, () => runtimeServer('deno')],
  'net.Socket': [['bytes', 'tls'], () => nodeServer('socket')]
};

/** Finds the servers that can do a kind, and says on stderr which are left out, and why. */
function findServers(kind, texts) {
  const wanted = (name) => texts.length === 0 || texts.some((text) => name.includes(text));
  const servers = [];
  for (const [name, [kinds, find]] of Object.entries(SERVERS)) {
    if (!kinds.includes(kind) || !wanted(name)) continue;
    try {
      servers.push({ name, ...find() });
    } catch (error) {
      console.error(`${name} is left out: ${error.message}`);
    }
  }
  return servers;
}

/** Starts a server, and waits until it listens. @throws {Error} if it ends before */
async function startServer({ name, bare = false, client = {}, command }, options = {}) {
  const [program, ...args] = command(options);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit', ...(options.weighed ? ['ipc'] : [])] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the server ${name} ended with exit code ${code}`);
  });
  ended.catch(() => {});
  const [line] = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), ended]);
  return { name, bare, client, port: Number(line), child };
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

/** Starts servers for rows with `work`. A server that does not start is left out. */
async function startServers(servers, load, options) {
  const loader = forkClient();
  const running = [];
  for (const server of servers) {
    try {
      running.push(await startServer(server, options));
    } catch (error) {
      console.error(`${server.name} is left out: ${error.message}`);
    }
  }
  const put = ({ port, bare, child, client }, work) =>
    ask(loader, 'putLoad', { connections: CONNECTIONS, ...load, ...work, ...client, port, bare, pid: child.pid });
  return {
    candidates: ({ work }) => Object.fromEntries(running.map((server) => [server.name, () => put(server, work)])),
    stop() {
      for (const child of [loader, ...running.map((server) => server.child)]) child.kill();
    }
  };
}

/** Connections that are opened first, so that what all share is not weighed. */
const FIRST = 100;

/** @returns {Promise<{ opened: number, used: number }>} bytes of memory of a connection, idle and idle after an echo */
async function weighConnections(server, count, weighed = true) {
  const { child, port, client: options } = await startServer({ name: 'to weigh', ...server }, { weighed });
  const client = forkClient();
  const weigh = async () => {
    child.send({});
    return (await once(child, 'message'))[0];
  };
  try {
    await ask(client, 'open', { port, count: FIRST, ...options });
    await ask(client, 'echo');
    const before = await weigh();
    await ask(client, 'open', { port, count, ...options });
    const opened = await weigh();
    await ask(client, 'echo');
    return { opened: (opened - before) / count, used: ((await weigh()) - before) / count };
  } finally {
    child.kill();
    client.kill();
  }
}

module.exports = {
  ECHO,
  ask,
  findServers,
  forkClient,
  nodeServer,
  startServer,
  startServers,
  weighConnections,
  wsServer
};
