'use strict';

// Programs whose frames the tests look at.

const { execFile, spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { promisify } = require('node:util');

const ROOT = path.join(__dirname, '../../..');
const LIVE = path.join(ROOT, 'inspector/live.js');

/** A conversation over framemask/ws: 6 frames of the client, 5 of the server. */
const FRAMES = 11;
const SERVER = `
  const { WebSocketServer } = require('framemask/ws');
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => ready(server.address().port));
  server.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    socket.on('close', () => server.close());
  });
`;
const CLIENT = `
  const { WebSocket } = require('framemask/ws');
  function ready(port) {
    const client = new WebSocket('ws://127.0.0.1:' + port);
    let answers = 0;
    client.on('open', () => {
      client.send('Hello');
      client.send('in ', { fin: false });
      client.ping('between');
      client.send('two fragments');
      client.send(Buffer.alloc(70000, 1));
    });
    client.on('message', () => { if (++answers === 3) client.close(1000, 'bye'); });
  }
`;
const PRINT = `
  const { subscribe } = require('node:diagnostics_channel');
  for (const name of ['framemask:frame', 'framemask:message']) {
    subscribe(name, (record) => console.log(JSON.stringify(record)));
  }
`;

const optionsOf = (env) => ({ cwd: ROOT, env: { ...process.env, ...env } });

/** Runs a program to its end. @returns {Promise<{ stdout: string, stderr: string }>} */
const run = (program, env = {}, ...options) =>
  promisify(execFile)(process.execPath, [...options, '-e', program], optionsOf(env));

/** @returns {Promise<string[]>} the records of both ends as JSON lines */
async function printRecords() {
  const { stdout } = await run(PRINT + CLIENT + SERVER);
  return stdout.trim().split('\n');
}

/**
 * Starts a program that sends its records, and waits until it prints its port.
 *
 * @param {Record<string, string>} env the settings of live.js
 * @param {...string} args of Node.js
 * @returns {Promise<{ child: import('node:child_process').ChildProcess, port: number }>}
 */
async function startLive(env, ...args) {
  const stdio = ['ignore', 'pipe', 'inherit'];
  const child = spawn(process.execPath, ['--require', LIVE, ...args], { ...optionsOf(env), stdio });
  const [line] = await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${args} ended with ${code}`)))
  ]);
  return { child, port: Number(/(\d+)\s*$/.exec(line)[1]) };
}

/** Has the two ends of the conversation, a process each, send their records to an inspector. */
async function converse(env) {
  const { child, port } = await startLive(env, '-e', `const ready = (port) => console.log(port); ${SERVER}`);
  const ended = once(child, 'exit');
  try {
    await run(`${CLIENT}; ready(${port});`, env, '--require', LIVE);
    await ended;
  } finally {
    child.kill(); // without a client it would run on, and with it the test
  }
}

module.exports = { FRAMES, LIVE, converse, printRecords, run, startLive };
