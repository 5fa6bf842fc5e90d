'use strict';

// Programs whose frames the tests look at.

const assert = require('node:assert/strict');
const { execFile, spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { promisify } = require('node:util');

const ROOT = path.join(__dirname, '../..');

/** A conversation over framemask/ws: 6 frames of the client, 5 of the server. */
const TARGET = JSON.stringify(path.join(ROOT, 'ws.js'));
const SERVER = `
  const { WebSocketServer } = require(${TARGET});
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => ready(server.address().port));
  server.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    socket.on('close', () => server.close());
  });
`;
const CLIENT = `
  const { WebSocket } = require(${TARGET});
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
const FRAMES = 11;

const run = (program, env = {}, ...options) =>
  promisify(execFile)(process.execPath, [...options, '-e', program], { cwd: ROOT, env: { ...process.env, ...env } });

/** @returns {Promise<string[]>} the records of both ends as JSON lines */
async function printRecords() {
  const { stdout } = await run(PRINT + CLIENT + SERVER);
  return stdout.trim().split('\n');
}

/**
 * Has a program send its records to an inspector.
 *
 * @param {Record<string, string>} env the settings of live.js
 * @param {boolean} [apart] whether the two ends are two processes
 */
async function runLive(env, apart = false) {
  const live = ['--require', path.join(ROOT, 'inspector/live.js')];
  if (!apart) {
    const { stderr } = await run(CLIENT + SERVER, env, ...live);
    assert.equal(stderr, '');
    return;
  }
  const announce = 'const ready = (port) => console.log(port);';
  const server = spawn(process.execPath, [...live, '-e', announce + SERVER], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit']
  });
  const ended = once(server, 'exit');
  try {
    const [port] = await once(server.stdout, 'data');
    await run(`${CLIENT}; ready(${Number(port)});`, env, ...live);
    await ended;
  } finally {
    // Without a client it would run on, and with it the test.
    server.kill();
  }
}

module.exports = { FRAMES, printRecords, runLive };
