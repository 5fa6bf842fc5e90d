'use strict';

// The ordinary load: many connections, each with one small message at a time. How much processor time
// does a server take for a message? Echo servers on framemask, framemask/ws, ws and Bun, each in a
// process of its own, over loopback. The client is in C (support/load.c).

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');

const { runBenchmark } = require('./support/harness');
const { ROOT } = require('./support/modules');
const { count, text, texts } = require('./support/options');
const { processorTime } = require('./support/process-use');
const { findServers, startServer } = require('./support/servers');

const USAGE = `usage: node benchmark/connections.js [options]

Measures echo servers with 50, 200 and 1,000 connections of which each has one message of 64 bytes at a time, and with
10 connections that send more. Prints medians of the server's processor time for a message, in microseconds, and of the
latency of a batch and its 99th percentile; and how many times cheaper the first server is than each other one. Needs
Linux and a C compiler. Takes about six minutes.`;

/** Connections, messages that each sends at once, and their bytes. */
const ROWS = {
  '1 × 64 B, 50 connections': [50, 1, 64],
  '1 × 64 B, 200 connections': [200, 1, 64],
  '1 × 64 B, 1,000 connections': [1000, 1, 64],
  '50 × 1 KiB, 10 connections': [10, 50, 1024],
  '4 × 16,000 B, 10 connections': [10, 4, 16_000],
  '4 × 64 KiB, 10 connections': [10, 4, 64 * 1024]
};

/** The servers of support/servers.js, and how they read. */
const CANDIDATES = {
  'framemask, batched': ['framemask, shared reads', 'batched'],
  'framemask, shared': ['framemask, shared reads', 'shared'],
  'framemask/ws, batched': ['framemask/ws', 'batched'],
  'framemask/ws, shared': ['framemask/ws', 'shared'],
  ws: ['ws'],
  Bun: ['Bun']
};
const WARM = 500;

/** @returns {string} the path of the client, compiled */
function compileLoad() {
  const folder = path.join(ROOT, '.cache/benchmark');
  const program = path.join(folder, 'load');
  fs.mkdirSync(folder, { recursive: true });
  try {
    execFileSync('cc', ['-O2', '-o', program, path.join(__dirname, 'support/load.c')]);
  } catch (error) {
    throw new Error(`support/load.c needs Linux and a C compiler, cc: ${error.message}`);
  }
  return program;
}

/** Puts load on a server. @returns {Promise<object>} its figures */
async function putLoad(program, { port, child }, [connections, pipelined, size], turn) {
  const args = [port, connections, pipelined, size, WARM, turn].map(String);
  const load = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: load.stdout })[Symbol.asyncIterator]();
  const closed = once(load, 'close');
  await lines.next();
  const before = processorTime(child.pid);
  const { value } = await lines.next();
  const cost = processorTime(child.pid) - before;
  const [code] = await closed;
  if (code !== 0) throw new Error('the client failed');
  const { messages, median, late } = JSON.parse(value);
  return { rate: (messages / turn) * 1000, cost: cost / messages, median, late };
}

/** @throws {Error} if batched reads are impossible here */
function checkBatches(node) {
  const code = `console.log(require(${JSON.stringify(path.join(ROOT, 'lib/sockets/rounds'))}).describeRounds().fault)`;
  const fault = execFileSync(node, ['-e', code], { encoding: 'utf8' }).trim();
  if (fault !== 'null') throw new Error(`no batched reads: ${fault}`);
}

runBenchmark({
  name: 'connections',
  usage: USAGE,
  options: {
    servers: texts('<text>', 'only the servers whose name has this in it; may be given several times'),
    node: text('<file>', 'another Node.js for the servers'),
    turn: count('<ms>', 'how long a turn of a server takes', 1000, 200)
  },
  peers: ['ws', 'bufferutil'],
  sets({ servers: wanted, node = process.execPath, turn }) {
    const names = Object.keys(CANDIDATES).filter((name) => wanted.length === 0 || wanted.some((w) => name.includes(w)));
    const pairs = names.slice(1).map((peer) => [names[0], peer]);
    const rows = Object.entries(ROWS).map(([name, work]) => ({ name, group: 'connections', work, pairs }));
    return [
      {
        rows,
        async start() {
          checkBatches(node);
          const program = compileLoad();
          const known = findServers('bytes', []);
          const running = [];
          for (const name of names) {
            const [file, reads = ''] = CANDIDATES[name];
            const server = known.find((each) => each.name === file);
            const command = (options) => [
              'env',
              `FRAMEMASK_READS=${reads}`,
              ...server.command(options).map((part) => (part === process.execPath ? node : part))
            ];
            running.push([name, await startServer({ ...server, command }, { text: 'buffer' })]);
          }
          const candidate = (server, work) => () => putLoad(program, server, work, turn);
          return {
            candidates: ({ work }) =>
              Object.fromEntries(running.map(([name, server]) => [name, candidate(server, work)])),
            stop() {
              for (const [, { child }] of running) child.kill();
            }
          };
        }
      }
    ];
  }
});
