'use strict';

// The client in C, load.c: one that runs on Node.js would be the bottleneck of many connections.

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');

const { ROOT } = require('./modules');
const { NOT_HERE } = require('./options');
const { processorTime, residentMemory, userTime } = require('./process-use');

const WARM = 500;
/** From so many connections on, the memory of the process tells that of each. */
const WEIGHED_FROM = 1000;

/** @returns {string} the path of the client, compiled */
function compileLoad() {
  const folder = path.join(ROOT, '.cache/benchmark');
  const program = path.join(folder, 'load');
  fs.mkdirSync(folder, { recursive: true });
  try {
    execFileSync('cc', ['-O2', '-o', program, path.join(__dirname, 'load.c')]);
  } catch (error) {
    console.error(`support/load.c needs Linux and a C compiler, cc: ${error.message}`);
    process.exit(NOT_HERE);
  }
  return program;
}

/** Starts the client, whose arguments are those of load.c. */
function startLoad(program, { port }, work, turn, warm = WARM) {
  const load = spawn(program, [port, ...work, warm, turn].map(String), { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: load.stdout })[Symbol.asyncIterator]();
  const closed = once(load, 'close');
  return {
    /** When the warm-up is over. */
    warm: () => lines.next(),
    /** @returns {Promise<number>} messages of the turn */
    count: async () => Number((await lines.next()).value),
    async stop() {
      load.stdin.end();
      const [code] = await closed;
      if (code !== 0) throw new Error('the client failed');
    }
  };
}

/** Puts load on a server. @returns {Promise<object>} its figures */
async function putLoad(program, server, work, turn, warm) {
  const { pid } = server.child;
  const [connections] = work;
  const alone = residentMemory(pid);
  const load = startLoad(program, server, work, turn, warm);
  await load.warm();
  const before = [processorTime(pid), userTime(pid)];
  const messages = await load.count();
  const [cost, user] = [processorTime(pid) - before[0], userTime(pid) - before[1]];
  const resident = residentMemory(pid) - alone;
  await load.stop();
  if (messages === 0) throw new Error('the server has stalled: no message has come back');
  return {
    cost: cost / messages,
    user: user / messages,
    rate: (messages / turn) * 1000,
    ...(connections >= WEIGHED_FROM && { resident: resident / connections })
  };
}

module.exports = { compileLoad, putLoad, startLoad };
