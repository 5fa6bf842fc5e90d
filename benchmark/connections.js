'use strict';

// The ordinary load: many connections, each with one small message at a time. The client is in C
// (support/load.c).

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');

const { runBenchmark } = require('./support/harness');
const { ROOT, findCheckout } = require('./support/modules');
const { NOT_HERE, count, text } = require('./support/options');
const { processorTime, residentMemory, userTime } = require('./support/process-use');
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
const WARM = 500;
/** From so many connections on, the memory of the process tells that of each. */
const WEIGHED_FROM = 1000;

/** @returns {string} the path of the client, compiled */
function compileLoad() {
  const folder = path.join(ROOT, '.cache/benchmark');
  const program = path.join(folder, 'load');
  fs.mkdirSync(folder, { recursive: true });
  try {
    execFileSync('cc', ['-O2', '-o', program, path.join(__dirname, 'support/load.c')]);
  } catch (error) {
    console.error(`support/load.c needs Linux and a C compiler, cc: ${error.message}`);
    process.exit(NOT_HERE);
  }
  return program;
}

/** Puts load on a server. @returns {Promise<object>} its figures */
async function putLoad(program, { port, child }, [connections, pipelined, size], turn) {
  const args = [port, connections, pipelined, size, WARM, turn].map(String);
  const load = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: load.stdout })[Symbol.asyncIterator]();
  const closed = once(load, 'close');
  const alone = residentMemory(child.pid);
  await lines.next();
  const before = [processorTime(child.pid), userTime(child.pid)];
  const { value } = await lines.next();
  const [cost, user] = [processorTime(child.pid) - before[0], userTime(child.pid) - before[1]];
  const resident = residentMemory(child.pid) - alone;
  load.stdin.end();
  const [code] = await closed;
  if (code !== 0) throw new Error('the client failed');
  const messages = Number(value);
  return {
    cost: cost / messages,
    user: user / messages,
    rate: (messages / turn) * 1000,
    ...(connections >= WEIGHED_FROM && { resident: resident / connections })
  };
}

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

function listRows(kind) {
  const most = process.platform === 'linux' ? mostFiles() - 100 : Infinity;
  const fits = ([name, [connections]]) => {
    if (connections > most) console.error(`${name} are left out: ulimit -n is ${most + 100}`);
    return connections <= most;
  };
  const groupOf = ([, count]) => (count === 1 ? `\`${NAMES[kind]}\`: CPU of one message at a time` : kind);
  const rows = Object.entries(ROWS).filter(fits);
  return rows.map(([name, work]) => ({ name: `${kind}: ${name}`, group: groupOf(work), work }));
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
    const others = findCandidate(candidate).map((server) => [server.name, server]);
    const loads = Object.entries(KINDS).map(([kind, candidates]) => {
      const start = () => {
        const program = compileLoad();
        const found = [...findCandidates(candidates), ...(kind === 'codec' ? others : [])];
        const turns = (work) => found.map(([name, server]) => [name, () => takeTurn(program, server, work, turn)]);
        return { candidates: ({ work }) => Object.fromEntries(turns(work)) };
      };
      return { rows: listRows(kind), start };
    });
    const roots = { shared: ROOT, ...(candidate && { candidate: findCheckout(candidate) }) };
    const weigh = ([name, root]) => [name, () => weighBesideSocket(codecServer(root, { weighed: true }), idle)];
    const start = () => ({ candidates: () => Object.fromEntries(Object.entries(roots).map(weigh)) });
    return [...loads, { rows: [{ name: 'codec: idle connections', group: 'codec: memory' }], rounds: 3, start }];
  }
});
