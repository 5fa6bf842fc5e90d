'use strict';

// The ordinary load: many connections, each with one small message at a time. The client is in C
// (support/load.c).

const { execFileSync } = require('node:child_process');
const path = require('node:path');

const { runBenchmark } = require('./support/harness');
const { compileLoad, putLoad, startLoad } = require('./support/load');
const { ROOT, findCheckout } = require('./support/modules');
const { count, text } = require('./support/options');
const {
  ask,
  codecServer,
  findCandidate,
  findServers,
  startServer,
  versions,
  weighBesideSocket,
  wsServer
} = require('./support/peers');
const { fits } = require('./support/process-use');

const USAGE = `usage: node benchmark/connections.js [options]

Measures echo servers with 50 to 10,000 connections of which each has one message of 64 bytes at a time, and with 10
connections that send more. Prints medians of the server's processor time for a message, in microseconds, and the part
of it outside of the kernel; of messages a second; of the memory of the process for each connection, where there are
1,000 or more; and how many times faster, by processor time, shared reads are than Bun, and in framemask/ws than ws and
than its own reads by events. Then the bytes of memory that an idle connection of the codec's server holds beside
its socket: opened, and after an echo. Last, of 10,000 idle connections, the processor time of each in the time of a
heartbeat, and the longest turn of the event loop while all are closed. With --candidate, the codec's server of another
checkout takes turns with the others. Needs Linux and a C compiler. Takes about twelve minutes.`;

/** Connections, messages that each sends at once, and their bytes. */
const ROWS = {
  '1 × 64 B, 50 connections': [50, 1, 64],
  '1 × 64 B, 200 connections': [200, 1, 64],
  '1 × 64 B, 1,000 connections': [1000, 1, 64],
  '1 × 64 B, 10,000 connections': [10_000, 1, 64],
  '100 × 64 B, 10 connections': [10, 100, 64],
  '50 × 1 KiB, 10 connections': [10, 50, 1024],
  '4 × 16,000 B, 10 connections': [10, 4, 16_000],
  '4 × 64 KiB, 10 connections': [10, 4, 64 * 1024]
};

/** The servers of support/peers.js, and how they read; the first is compared with the others. */
const KINDS = {
  codec: {
    shared: ['framemask', 'shared'],
    Bun: ['Bun']
  },
  'framemask/ws': { shared: ['framemask/ws', 'shared'], events: ['framemask/ws', 'events'], ws: ['ws'] }
};
/** What a reader knows the kinds as. */
const NAMES = { codec: 'Connection', 'framemask/ws': 'framemask/ws' };

/** @throws {Error} if a server would not read as it is asked to */
function checkReads(reads) {
  const env = { ...process.env, FRAMEMASK_READS: reads };
  const code = 'console.log(require("./ws").report().reads)';
  const report = execFileSync(process.execPath, ['-e', code], { cwd: ROOT, env, encoding: 'utf8' }).trim();
  if (report !== reads) throw new Error(`no ${reads} reads here: ${report}`);
}

/**
 * Finds the servers of a kind that can be had.
 *
 * @returns {[name: string, server: object][]} for startServer
 */
function findCandidates(candidates) {
  const known = findServers(Object.values(candidates).map(([name]) => name));
  return Object.entries(candidates).flatMap(([name, [base, reads]]) => {
    const server = known.find((each) => each.name === base);
    if (server === undefined) return [];
    if (reads !== undefined) checkReads(reads);
    return [[name, { ...server, env: reads && { FRAMEMASK_READS: reads } }]];
  });
}

/** A turn of a process of its own: one differs from another of the same code by 15 %. */
async function takeTurn(candidate, measure, options) {
  const server = await startServer(candidate, options);
  try {
    return await measure(server);
  } finally {
    await server.stop();
  }
}

/** Until the last connection has ended. */
const END_MS = 60_000;

/** A heartbeat in milliseconds. Shorter than 2 s, a busy machine's clients seem to be gone. */
const beatOf = ({ turn }) => Math.max(turn, 2000);

/** What is measured of idle connections: the options of their server, and the figures of a turn. */
const RESTS = {
  // Programs have a heartbeat of half a minute. framemask sends a Ping after 1 to 1.25 of silence: the
  // figure is that of a connection in the time of a heartbeat.
  heartbeat: {
    optionsOf: (values) => ({ heartbeat: beatOf(values) }),
    async measure(program, server, connections, values) {
      const beat = beatOf(values);
      const [measured, warm] = values.quick ? [1.5 * beat, 0] : [4 * beat, 2 * beat];
      const { cost, rate } = await putLoad(program, server, [connections, 0, 0], measured, warm);
      return { cost: (cost * rate * beat) / 1000 / connections };
    }
  },
  shutDown: {
    optionsOf: ({ quick }) => ({ ends: quick ? 500 : 5000 }),
    async measure(program, server, connections) {
      const load = startLoad(program, server, [connections, 0, 0], END_MS);
      await load.warm();
      const longest = await ask(server.child);
      await load.count();
      await load.stop();
      return { longest };
    }
  }
};

const RESTING = {
  Connection: (options) => codecServer(ROOT, options),
  'framemask/ws': (options) => wsServer(path.join(ROOT, 'ws.js'), options),
  ws: (options) => wsServer('ws', options)
};

function restingSet(connections, values) {
  const number = connections.toLocaleString('en');
  const rows = Object.entries(RESTS).map(([name, work]) => ({
    name: `${name}: ${number} connections`,
    group: `${name} of ${number} connections`,
    pairs: ['Connection', 'framemask/ws'].map((own) => [own, 'ws']),
    work
  }));
  const start = () => {
    const program = compileLoad();
    const turn = (name, create, work) => () => {
      const measure = (server) => work.measure(program, server, connections, values);
      return takeTurn({ name, ...create(work.optionsOf(values)) }, measure, { ipc: true });
    };
    const candidates = ({ work }) =>
      Object.fromEntries(Object.entries(RESTING).map(([name, create]) => [name, turn(name, create, work)]));
    return { candidates };
  };
  return { rows, rounds: 3, start };
}

function listRows(kind, found) {
  const groupOf = ([, count]) => (count === 1 ? `\`${NAMES[kind]}\`: CPU of one message at a time` : kind);
  return found.map(([name, work]) => ({ name: `${kind}: ${name}`, group: groupOf(work), work }));
}

runBenchmark({
  name: 'connections',
  usage: USAGE,
  options: {
    turn: count('<ms>', 'how long a turn of a server takes', 1000, 200),
    idle: count('<n>', 'how many idle connections are weighed', 1000),
    candidate: text('<folder>', 'another checkout, such as ../other')
  },
  peers: ['ws', 'bufferutil'],
  versions,
  sets(values) {
    const { turn, idle, candidate, quick } = values;
    const works = Object.entries(ROWS).filter(([, [connections]]) => fits(connections));
    const resting = quick ? 1000 : 10_000;
    const others = findCandidate(candidate).map((server) => [server.name, server]);
    const loads = Object.entries(KINDS).map(([kind, candidates]) => {
      const start = () => {
        const program = compileLoad();
        const found = [...findCandidates(candidates), ...(kind === 'codec' ? others : [])];
        const turns = (work) =>
          found.map(([name, server]) => [name, () => takeTurn(server, (it) => putLoad(program, it, work, turn))]);
        return { candidates: ({ work }) => Object.fromEntries(turns(work)) };
      };
      return { rows: listRows(kind, works), start };
    });
    const roots = { shared: ROOT, ...(candidate && { candidate: findCheckout(candidate) }) };
    const weigh = ([name, root]) => [name, () => weighBesideSocket(codecServer(root, { weighed: true }), idle)];
    const start = () => ({ candidates: () => Object.fromEntries(Object.entries(roots).map(weigh)) });
    return [
      ...loads,
      { rows: [{ name: 'codec: idle connections', group: 'codec: memory' }], rounds: 3, start },
      ...(fits(resting) ? [restingSet(resting, values)] : [])
    ];
  }
});
