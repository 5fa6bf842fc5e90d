'use strict';

// Connections of framemask/ws, and of ws itself, for tests in test/ws.

const { once } = require('node:events');
const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');
const net = require('node:net');
const { Duplex } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { acceptHttp2 } = require('../../index.js');
const { loadWs } = require('../../lib/ws/load-ws');
const certificate = require('./certificate');
const { run } = require('./child');
const { HANDSHAKE, head, upgradeAnswer } = require('./frames');
const { pipePath } = require('./pipe-path');
const { uncaught } = require('./uncaught');

/**
 * ws itself, and framemask/ws. A test that runs with both shows that they behave alike. In Bun,
 * `require('ws')` would give Bun's own.
 */
const IMPLEMENTATIONS = { ws: loadWs(), 'framemask/ws': require('../../ws.js') };

/** The servers of each kind of connection, and the options of their clients. */
const TRANSPORTS = {
  TCP: { createServer: () => http.createServer() },
  TLS: { createServer: () => https.createServer(certificate), client: { rejectUnauthorized: false } },
  'HTTP/2': { createServer: () => acceptHttp2(http2.createServer()), client: { http2: true } },
  pipe: { createServer: () => http.createServer() }
};

/**
 * @param {object} [options] of the WebSocketServer
 * @returns {Promise<object>} a server with its `url`, closed with its clients at the end of the
 *   test
 */
async function listen(t, { WebSocketServer }, options = {}, transport = 'TCP') {
  const server = TRANSPORTS[transport].createServer();
  server.listen(transport === 'pipe' ? { path: pipePath(t) } : { port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const wss = new WebSocketServer({ server, ...options });
  const address = server.address();
  wss.url =
    transport === 'pipe'
      ? `ws+unix:${address}:/`
      : `${transport === 'TLS' ? 'wss' : 'ws'}://127.0.0.1:${address.port}/`;
  t.teardown(() => {
    for (const client of wss.clients) client.terminate();
    wss.close();
    server.close();
  });
  return wss;
}

/**
 * @param {{ server?: object, client?: object, transport?: string }} [options]
 * @returns {Promise<object>} both ends of a connection, open, and the HTTP message of each
 */
async function connectPair(t, implementation, { server: serverOptions, client: options, transport = 'TCP' } = {}) {
  const wss = await listen(t, implementation, serverOptions, transport);
  const given = { ...TRANSPORTS[transport].client, ...options };
  if (implementation.connect !== undefined) {
    const [[server, request], client] = await Promise.all([
      once(wss, 'connection'),
      implementation.connect(wss.url, given)
    ]);
    return { server, client, request };
  }
  const client = new implementation.WebSocket(wss.url, given);
  const events = [once(wss, 'connection'), once(client, 'upgrade'), once(client, 'open')];
  const [[server, request], [response]] = await Promise.all(events);
  return { server, client, request, response };
}

/**
 * @returns {Promise<object>} a server's end, and a socket whose owner writes and reads frames by
 *   itself
 */
async function connectRaw(t, implementation, options) {
  const wss = await listen(t, implementation, options);
  const socket = net.connect(wss.address().port, '127.0.0.1');
  socket.write(
    head(...HANDSHAKE, ...(options?.perMessageDeflate ? ['Sec-WebSocket-Extensions: permessage-deflate'] : []))
  );
  t.teardown(() => socket.destroy());
  const [[server]] = await Promise.all([once(wss, 'connection'), once(socket, 'data')]);
  return { server, socket };
}

/**
 * @returns {Promise<object>} a client, and the server's socket, whose owner writes and reads frames
 *   by itself
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

/** Has one end send. @returns {Promise<[data: object, isBinary: boolean]>} the other's message */
function deliver(from, to, ...args) {
  const received = once(to, 'message');
  from.send(...args);
  return received;
}

/** @returns {Promise<Array[]>} a WebSocket's events until 'close', or until so many messages */
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

/** @returns {Promise<Buffer[]>} so many messages; by default all until the end */
async function receive(websocket, count) {
  return (await record(websocket, count)).filter(([event]) => event === 'message').map(([, data]) => data);
}

/** The same, as strings. */
const receiveTexts = async (websocket, count) => (await receive(websocket, count)).map(String);

/** Resolves when what is under way has been done, unless the thread pool does it. */
async function settled() {
  // One timer of 50 ms could end in the first turn of the event loop that a busy machine allows.
  for (let turn = 0; turn < 10; turn++) await sleep(5);
}

/**
 * Runs a script in a process of its own, from the root.
 *
 * @param {string[]} [options] of node
 * @returns {Promise<{ status: number | null, stdout: string, stderr: string }>}
 */
const runSource = (source, options = [], env = {}) => run([process.execPath, ...options, '-e', source], { env });

/**
 * @param {(chunk: Buffer, callback: Function) => void} write of the stream in whose place a socket
 *   would be
 * @returns {Promise<object>} a server's end whose peer sends nothing
 */
function connectDuplex({ WebSocketServer }, write, options) {
  const duplex = new Duplex({ read() {}, write: (chunk, _encoding, callback) => write(chunk, callback) });
  const headers = Object.fromEntries(
    HANDSHAKE.slice(1).map((line) => line.replace(/^.*:/, (name) => name.toLowerCase()).split(': '))
  );
  const wss = new WebSocketServer({ noServer: true, ...options });
  return new Promise((resolve) => wss.handleUpgrade({ method: 'GET', headers }, duplex, Buffer.alloc(0), resolve));
}

module.exports = {
  IMPLEMENTATIONS,
  TRANSPORTS,
  connectDuplex,
  connectPair,
  connectRaw,
  connectRawServer,
  deliver,
  listen,
  receive,
  receiveTexts,
  record,
  runSource,
  settled,
  uncaught
};
