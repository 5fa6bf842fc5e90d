'use strict';

// The ordinary load: many connections, each with one small message at a time. The client is in C
// (support/load.c).

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');

const { runBenchmark } = require('./support/harness');
const { compileLoad, putLoad } = require('./support/load');
const { ROOT, findCheckout } = require('./support/modules');
const { count, text } = require('./support/options');
const {
  codecServer,
  findCandidate,
  findServers,
  startServer,
  versions,
  weighBesideSocket
} = require('./support/peers');

const USAGE = `usage: node benchmark/connections.js [options]

Measures echo servers with 50 to 10,000 connections of which each has one message of 64 bytes at a time, and with 10
connections that send more. Prints medians of the server's processor time for a message, in microseconds, and the part
of it outside of the kernel; of messages a second; of the memory of the process for each connection, where there are
1,000 or more; and how many times faster, by processor time, shared reads are than Bun, and in framemask/ws than ws and
than its own reads by events. Then the bytes of memory that an idle connection of the codec's server holds beside
its socket: opened, and after an echo. With --candidate, the codec's server of another checkout takes turns with the
others. Needs Linux and a C compiler. Takes about nine minutes.`;

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
async function takeTurn(program, candidate, work, turn) {
  const server = await startServer(candidate);
  try {
    return await putLoad(program, server, work, turn);
  } finally {
    server.stop();
  }
}

/** How many files a process of this machine may have open: each connection is one. */
function mostFiles() {
  const [, most] = /Max open files\s+(\d+)/.exec(fs.readFileSync('/proc/self/limits', 'latin1'));
  return Number(most);
}

/** Those of ROWS that this machine has files for. */
function findRows() {
  const most = process.platform === 'linux' ? mostFiles() : Infinity;
  return Object.entries(ROWS).filter(([name, [connections]]) => {
    const fits = connections + 100 <= most;
    if (!fits) console.error(`${name} are left out: ulimit -n is ${most}`);
    return fits;
  });
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
  sets({ turn, idle, candidate }) {
    const works = findRows();
    const others = findCandidate(candidate).map((server) => [server.name, server]);
    const loads = Object.entries(KINDS).map(([kind, candidates]) => {
      const start = () => {
        const program = compileLoad();
        const found = [...findCandidates(candidates), ...(kind === 'codec' ? others : [])];
        const turns = (work) => found.map(([name, server]) => [name, () => takeTurn(program, server, work, turn)]);
        return { candidates: ({ work }) => Object.fromEntries(turns(work)) };
      };
      return { rows: listRows(kind, works), start };
    });
    const roots = { shared: ROOT, ...(candidate && { candidate: findCheckout(candidate) }) };
    const weigh = ([name, root]) => [name, () => weighBesideSocket(codecServer(root, { weighed: true }), idle)];
    const start = () => ({ candidates: () => Object.fromEntries(Object.entries(roots).map(weigh)) });
    return [...loads, { rows: [{ name: 'codec: idle connections', group: 'codec: memory' }], rounds: 3, start }];
  }
});
