'use strict';

// Programs that people run on ws: each as it is, and with framemask/ws/register.

const path = require('node:path');
const { pathToFileURL } = require('node:url');

const { installPackages, placeFramemask } = require('../scripts/support/install');
const versions = require('../test/support/ws-programs');
const { runBenchmark } = require('./support/harness');
const { ROOT } = require('./support/modules');
const { count } = require('./support/options');
const { ask, startProcess, startServer, stop } = require('./support/peers');

const USAGE = `usage: node benchmark/programs.js [options]

Measures servers of socket.io, graphql-ws, y-websocket, MQTT (aedes) and plain ws: each program as it is, and with
node --import framemask/ws/register, in turns. Prints medians of the server's processor time for a message that a client
gets, and how many times faster it is with framemask. The clients are plain ws in a process of their own. The packages
are installed in .cache/benchmark/programs/. Takes about four minutes.`;

const FOLDER = path.join(ROOT, '.cache/benchmark/programs');
const SHARED = ['@y/websocket-server', 'graphql', 'graphql-ws', 'socket.io', 'ws', 'yjs'];
const PACKAGES = {
  ...Object.fromEntries(SHARED.map((name) => [name, versions[name]])),
  aedes: '1.2.0',
  'mqtt-packet': '9.0.2'
};

/** The server of each row, the clients that it has, how many, and what they send if it is an echo. */
const ROWS = {
  'ws: send a string to each of 200': ['ws, string', 'ws', 200],
  'ws: send a Buffer to each of 200': ['ws, Buffer', 'ws', 200],
  'ws: echo of 40 B, 200 clients': ['ws, echo', 'ws', 200, 'a message of forty bytes and of no more.'],
  'socket.io: emit to a room of 200': ['socket.io', 'socket.io', 200],
  'socket.io: emit to a room of 2,000': ['socket.io', 'socket.io', 2000],
  'socket.io: echo, 200 clients': ['socket.io', 'socket.io', 200, '42["echo","a message of forty bytes or some more"]'],
  'graphql-ws: a subscription of 200': ['graphql-ws', 'graphql-ws', 200],
  'y-websocket: an update to 200': ['y-websocket', 'y-websocket', 200],
  'MQTT (aedes): a message to 200': ['MQTT', 'MQTT', 200]
};

const REGISTER = path.join(FOLDER, 'node_modules/framemask/lib/ws/register.js');
/** Node.js's options of each candidate. The first is compared with the other. */
const WAYS = { framemask: ['--import', pathToFileURL(REGISTER).href], ws: [] };

let isInstalled = false;
function install() {
  if (isInstalled) return;
  isInstalled = true;
  console.error(`installing ${Object.keys(PACKAGES).join(', ')}`);
  installPackages(FOLDER, PACKAGES);
  placeFramemask(FOLDER);
}

/** Starts a program in both ways, with its clients. */
async function startBoth(name, [program, kind, clients, message], turn) {
  install();
  const client = startProcess(path.join(__dirname, 'support/programs-client.js'), [FOLDER]);
  const script = path.join(__dirname, 'support/servers/programs.js');
  const found = [];
  for (const [id, options] of Object.entries(WAYS)) {
    const command = [process.execPath, ...options, script, FOLDER, program];
    const server = await startServer({ name: `${program}, ${id}`, command });
    const { port, controlPort, child } = server;
    const opened = await ask(client, { task: 'open', id, kind, port, controlPort, count: clients });
    const expected = id === 'framemask' ? clients : 0;
    if (opened !== expected) throw new Error(`${name}: framemask has ${opened} connections, not ${expected}`);
    const work = { task: 'turn', id, message, pid: child.pid, milliseconds: turn };
    found.push([id, () => ask(client, work), server]);
  }
  return {
    candidates: () => Object.fromEntries(found),
    async stop() {
      for (const [, , server] of found) await server.stop();
      await stop(client);
    }
  };
}

runBenchmark({
  name: 'programs',
  usage: USAGE,
  options: { turn: count('<ms>', 'how long a turn of a server takes', 1000, 150) },
  sets: ({ turn }) =>
    Object.entries(ROWS).map(([name, row]) => {
      return { rows: [{ name, group: 'CPU of programs on ws' }], start: () => startBoth(name, row, turn) };
    })
});
