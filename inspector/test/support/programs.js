'use strict';

// Programs whose frames the tests look at.

const { execFile, spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { promisify } = require('node:util');
const { WebSocket } = require('ws');
const { Inspector } = require('../../lib/inspector');

const ROOT = path.join(__dirname, '../../..');
const LIVE = path.join(ROOT, 'inspector/live.js');

const SENT = { id: '', connection: 'x', from: 'client', role: 'client', direction: 'sent' };
/** A record of a client's text frame, without its sequence. */
const RECORD = { ...SENT, opcode: 1, fin: true, rsv: 0, length: 1 };

const optionsOf = (env) => ({ cwd: ROOT, env: { ...process.env, ...env } });

/** Runs a program to its end. @returns {Promise<{ stdout: string, stderr: string }>} */
const run = (program, env = {}, ...options) =>
  promisify(execFile)(process.execPath, [...options, '-e', program], optionsOf(env));

/** Starts a program that sends its records by live.js, and waits until it prints its port. */
async function startLive(env, ...args) {
  const stdio = ['ignore', 'pipe', 'inherit'];
  const child = spawn(process.execPath, ['--require', LIVE, ...args], { ...optionsOf(env), stdio });
  const [line] = await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${args} ended with ${code}`)))
  ]);
  return { child, port: Number(/(\d+)\s*$/.exec(line)[1]) };
}

/** @returns an inspector that ends with the test, and the URL of its page */
async function startInspector(t, options) {
  const inspector = new Inspector(options);
  t.after(() => inspector.close());
  return { inspector, url: new URL(await inspector.listen(0)) };
}

/** Connects as a program that sends records. */
async function connectLive({ liveUrl }) {
  const socket = new WebSocket(liveUrl);
  await once(socket, 'open');
  socket.sendRecords = (records) => socket.send(JSON.stringify({ records }));
  return socket;
}

/** Waits for a condition, without a limit: the runner has one. */
async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

module.exports = { LIVE, RECORD, connectLive, run, startInspector, startLive, until };
