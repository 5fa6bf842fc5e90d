'use strict';

// What does a server of ws gain when it asks for framemask/ws instead? The same server on both (ws
// with bufferutil), each in a process of its own, over loopback. The clients write ready frames to
// raw sockets, so that the server is what is measured.

const { runBenchmark } = require('./support/harness');
const path = require('node:path');
const { count, text } = require('./support/options');
const { ECHO, nodeServer, startBroadcast, startServers, weighConnections, wsServer } = require('./support/peers');

const USAGE = `usage: node benchmark/ws.js [options]

Measures servers of ws and of framemask/ws over loopback. Prints medians of messages a second and of the server's
processor time for each message, and how many times better framemask/ws is, with quartiles over the rounds. Then the
bytes of memory that an idle connection holds beside its socket. With --candidate, another checkout's framemask/ws takes
turns with this one's and with ws. Takes about four minutes.`;

const OWN = 'framemask/ws';

const prefixed = (prefix, works, suffix = '') =>
  Object.entries(works).map(([name, work]) => ({ name: `${prefix} ${name}${suffix}`, work }));

/** What servers do with messages: the options of ws in servers/node.js, and the rows. */
const KINDS = [
  { group: '`framemask/ws`: echo', server: {}, works: prefixed('echo', ECHO) },
  {
    group: '`framemask/ws`: echo with callbacks',
    server: { callbacks: true },
    works: prefixed('echo', ECHO, ', callbacks')
  },
  {
    group: '`framemask/ws`: echo with permessage-deflate',
    server: { deflate: true },
    works: [{ name: 'echo 20 × 1 KiB, deflate', work: { pipelined: 20, size: 1024 } }]
  }
];

const BROADCAST = {
  '1 × 64 B': { size: 64, count: 1 },
  '10 × 64 B': { size: 64, count: 10 },
  '10 × 4 KiB': { size: 4096, count: 10 }
};

/** @returns {Record<string, string>} modules with the API of ws, by the name of the candidate */
function findModules(candidate) {
  const modules = { [OWN]: path.join(__dirname, '..', 'ws.js') };
  if (candidate !== undefined) {
    const isPath = candidate.startsWith('.') || path.isAbsolute(candidate);
    modules.candidate = isPath ? path.resolve(candidate) : candidate;
    require.resolve(modules.candidate);
  }
  return { ...modules, ws: 'ws' };
}

/** @returns {Promise<import('./support/harness').Started>} messages a second, until the last client has the last one */
async function startBroadcasts(modules, clients, turn) {
  const running = [];
  for (const [name, module] of Object.entries(modules)) running.push([name, await startBroadcast(module, clients)]);
  const candidate = (send, work) => async () => {
    const { arrived, microseconds } = await send('ws', work, turn);
    const messages = work.count * clients;
    return { rate: (messages * 1000) / arrived, cost: microseconds / messages };
  };
  return {
    candidates: ({ work }) => Object.fromEntries(running.map(([name, { send }]) => [name, candidate(send, work)])),
    stop() {
      for (const [, { stop }] of running) stop();
    }
  };
}

/** An idle connection of each, beside its socket: that of a server of sockets alone is subtracted. */
function weighBesideSocket(modules, count) {
  const candidate = (module) => async () => {
    const alone = await weighConnections(nodeServer('socket', { weighed: true }), count);
    const { opened, used } = await weighConnections(wsServer(module, { weighed: true }), count);
    return { opened: opened - alone.opened, used: used - alone.used };
  };
  return Object.fromEntries(Object.entries(modules).map(([name, module]) => [name, candidate(module)]));
}

runBenchmark({
  name: 'ws',
  usage: USAGE,
  options: {
    clients: count('<n>', 'how many connections a broadcast goes to', 300),
    idle: count('<n>', 'how many idle connections are weighed', 1000),
    turn: count('<ms>', 'how long a turn of a server takes', 500, 150),
    candidate: text('<file>', 'one more with the API of ws, by its path or name, such as ../other/ws.js')
  },
  peers: ['bufferutil', 'ws'],
  sets({ candidate, clients, idle, turn }) {
    const modules = findModules(candidate);
    const pairs = Object.keys(modules)
      .slice(1)
      .map((peer) => [OWN, peer]);
    const echo = KINDS.map(({ group, server, works }) => ({
      rows: works.map((row) => ({ ...row, group, pairs })),
      start() {
        const list = Object.entries(modules).map(([name, module]) => ({ name, ...wsServer(module, server) }));
        return startServers(list, { milliseconds: turn, deflate: server.deflate });
      }
    }));
    const broadcast = {
      rows: prefixed('broadcast', BROADCAST).map((row) => ({ ...row, group: '`framemask/ws`: broadcast', pairs })),
      start: () => startBroadcasts(modules, clients, turn)
    };
    const memory = {
      rows: [{ name: 'idle connections', group: '`framemask/ws`: memory', pairs: [] }],
      rounds: 3,
      start: () => ({ candidates: () => weighBesideSocket(modules, idle) })
    };
    return [...echo, broadcast, memory];
  }
});
