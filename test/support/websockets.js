'use strict';

// Connections of framemask/ws, and of ws itself, for tests in test/ws.

const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { text } = require('node:stream/consumers');
const { setTimeout: sleep } = require('node:timers/promises');
const { loadWs } = require('../../lib/ws/load-ws');
const { upgradeAnswer } = require('./frames');
const { uncaught } = require('./uncaught');

/**
 * ws itself, and framemask/ws. A test that runs with both shows that they behave alike. In Bun,
 * `require('ws')` would give Bun's own.
 */
const IMPLEMENTATIONS = { ws: loadWs(), 'framemask/ws': require('../../ws.js') };

/**
 * @param {import('tap').Test} t
 * @param {{ WebSocketServer: Function }} implementation
 * @param {object} [options] of the server
 * @returns {Promise<object>} a listening server, closed with its clients at the end of the test
 */
async function listen(t, { WebSocketServer }, options = {}) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', ...options });
  await once(server, 'listening');
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  return server;
}

/**
 * @param {import('tap').Test} t
 * @param {object} implementation
 * @param {{ server?: object, client?: object }} [options]
 * @returns {Promise<{ server: object, client: object }>} both ends of a connection, open
 */
async function connectPair(t, implementation, options = {}) {
  const wss = await listen(t, implementation, options.server);
  const client = new implementation.WebSocket(`ws://127.0.0.1:${wss.address().port}`, options.client);
  const [[server]] = await Promise.all([once(wss, 'connection'), once(client, 'open')]);
  return { server, client };
}

/**
 * @param {import('tap').Test} t
 * @param {object} implementation
 * @param {object} [options] of the server
 * @returns {Promise<{ server: object, socket: import('node:net').Socket }>} a server's end, and a
 *   socket whose owner writes and reads frames by itself
 */
async function connectRaw(t, implementation, options) {
  const wss = await listen(t, implementation, options);
  const socket = net.connect(wss.address().port, '127.0.0.1');
  const extensions = options?.perMessageDeflate ? 'Sec-WebSocket-Extensions: permessage-deflate\r\n' : '';
  socket.write(
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${extensions}\r\n`
  );
  t.teardown(() => socket.destroy());
  const [[server]] = await Promise.all([once(wss, 'connection'), once(socket, 'data')]);
  return { server, socket };
}

/**
 * @param {import('tap').Test} t
 * @param {object} implementation
 * @param {object} [options] of the client
 * @returns {Promise<{ client: object, socket: import('node:net').Socket }>} a client, and the
 *   server's socket, whose owner writes and reads frames by itself
 */
async function connectRawServer(t, implementation, options) {
  const server = http.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const upgraded = once(server, 'upgrade').then(([{ headers }, socket]) => {
    socket.write(upgradeAnswer(headers['sec-websocket-key']));
    t.teardown(() => {
      socket.destroy();
      server.close();
    });
    return socket;
  });
  const client = new implementation.WebSocket(`ws://127.0.0.1:${server.address().port}`, options);
  const [socket] = await Promise.all([upgraded, once(client, 'open')]);
  return { client, socket };
}

/**
 * Records what a WebSocket emits, until its event 'close' or until so many messages have come.
 *
 * @param {object} websocket
 * @param {number} [messages]
 * @returns {Promise<Array[]>}
 */
function record(websocket, messages = Infinity) {
  const events = [];
  return new Promise((resolve) => {
    websocket.on('message', (data, isBinary) => {
      events.push(['message', data, isBinary]);
      if (events.filter(([name]) => name === 'message').length === messages) resolve(events);
    });
    websocket.on('ping', (data) => events.push(['ping', data.toString()]));
    websocket.on('pong', (data) => events.push(['pong', data.toString()]));
    websocket.on('error', ({ name, message, code }) => events.push(['error', name, message, code]));
    websocket.on('close', (code, reason) => {
      events.push(['close', code, reason.toString()]);
      resolve(events);
    });
  });
}

/** Resolves when what is under way has been done, unless the thread pool does it. */
async function settled() {
  // One timer of 50 ms could end in the first turn of the event loop that a busy machine allows.
  for (let turn = 0; turn < 10; turn++) await sleep(5);
}

/**
 * Runs a script in a process of its own, from the root.
 *
 * @param {string} source
 * @param {string[]} [options] of node
 * @returns {Promise<{ status: number | null, stdout: string, stderr: string }>}
 */
async function runSource(source, options = []) {
  const cwd = path.join(__dirname, '../..');
  const child = spawn(process.execPath, [...options, '-e', source], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { status: child.exitCode, stdout, stderr };
}

module.exports = {
  IMPLEMENTATIONS,
  connectPair,
  connectRaw,
  connectRawServer,
  listen,
  record,
  runSource,
  settled,
  uncaught
};
