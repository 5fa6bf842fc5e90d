'use strict';

// The same server on both (ws with bufferutil), each in a process of its own. The clients write
// ready frames to raw sockets, so that the server is what is measured.

const { runBenchmark } = require('./support/harness');
const path = require('node:path');
const { ROOT } = require('./support/modules');
const { count, text } = require('./support/options');
const { ECHO, startBroadcasts, startServers, weighBesideSocket, wsServer } = require('./support/peers');

const USAGE = `usage: node benchmark/ws.js [options]

Measures servers of ws and of framemask/ws over loopback. Prints medians of messages a second, of the server's processor
time for each message and of the 99th percentile of latency, and how many times faster framemask/ws is, with quartiles
over the rounds. Then the bytes of memory that an idle connection holds beside its socket. With --candidate, another
checkout's framemask/ws takes turns with this one's and with ws. Takes about six minutes.`;

const OWN = 'framemask/ws';

/** JSON. */
const COMPRESSED = { '20 × 1 KiB': { pipelined: 20, size: 1024 } };

const NO_TAKEOVER = { serverNoContextTakeover: true, clientNoContextTakeover: true };

/** What echo servers do with messages: their options in servers/node.js, and the rows. */
const KINDS = [
  { kind: 'echo', works: ECHO, server: {} },
  { kind: 'echo', suffix: 'callbacks', works: ECHO, server: { way: 'callbacks' } },
  { kind: 'echo', suffix: 'deflate', works: COMPRESSED, server: { deflate: true } },
  { kind: 'echo', suffix: 'deflate without takeover', works: COMPRESSED, server: { deflate: NO_TAKEOVER } }
];

const BROADCAST = {
  '1 × 64 B': { size: 64, count: 1 },
  '10 × 64 B': { size: 64, count: 10 },
  '10 × 4 KiB': { size: 4096, count: 10 }
};

/**
 * @returns {[name: string, module: string][]} the candidates, and their modules with the API of ws
 */
function findModules(candidate) {
  const modules = { [OWN]: path.join(ROOT, 'ws.js') };
  if (candidate !== undefined) modules.candidate = require.resolve(path.resolve(candidate));
  return Object.entries({ ...modules, ws: 'ws' });
}

runBenchmark({
  name: 'ws',
  usage: USAGE,
  options: {
    clients: count('<n>', 'how many connections a broadcast goes to', 300),
    idle: count('<n>', 'how many idle connections are weighed', 1000),
    turn: count('<ms>', 'how long a turn of a server takes', 500, 150),
    candidate: text('<file>', "another checkout's ws.js, such as ../other/ws.js")
  },
  peers: ['bufferutil', 'ws'],
  sets(options) {
    const { candidate, clients, idle, turn } = options;
    const modules = findModules(candidate);
    const ways = Object.fromEntries(modules.map(([name, module]) => [name, [module, 'ws']]));
    /** Messages a second, until the last client has the last one. */
    const ratesOf = ({ arrived, microseconds, p99 }, { count }) => {
      const messages = count * clients;
      return { rate: (messages * 1000) / arrived, cost: microseconds / messages, p99 };
    };
    const listRows = (kind, works, suffix) => {
      const [end, group] = suffix === undefined ? ['', kind] : [`, ${suffix}`, `${kind} with ${suffix}`];
      const named = (name) => ({ name: `${kind} ${name}${end}`, group: `\`framemask/ws\`: ${group}` });
      return Object.entries(works).map(([name, work]) => ({ ...named(name), work }));
    };
    const weigh = ([name, module]) => [name, () => weighBesideSocket(wsServer(module, { weighed: true }), idle)];
    return [
      ...KINDS.map(({ kind, suffix, works, server }) => ({
        rows: listRows(kind, works, suffix),
        start() {
          const list = modules.map(([name, module]) => ({ name, ...wsServer(module, server) }));
          return startServers(list, { milliseconds: turn, deflate: server.deflate !== undefined });
        }
      })),
      { rows: listRows('broadcast', BROADCAST), start: () => startBroadcasts(ways, options, ratesOf) },
      {
        rows: [{ name: 'idle connections', group: '`framemask/ws`: memory', pairs: [] }],
        rounds: 3,
        start: () => ({ candidates: () => Object.fromEntries(modules.map(weigh)) })
      }
    ];
  }
});
