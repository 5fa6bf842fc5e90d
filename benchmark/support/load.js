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

module.exports = { compileLoad, putLoad };
