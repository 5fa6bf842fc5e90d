'use strict';

// The echo servers on Node.js. The arguments are the kind and its options, as JSON. Prints the
// port.

const http = require('node:http');
const path = require('node:path');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const { setTimeout: sleep } = require('node:timers/promises');
const v8 = require('node:v8');
const vm = require('node:vm');
const { memoryUse } = require('../child');
const { jsonPayloads } = require('../messages');

const [kind, json] = process.argv.slice(2);
const options = JSON.parse(json);

/** Writes back what comes. */
function sendBack(stream) {
  stream.on('error', () => {});
  stream.on('data', (chunk) => stream.write(chunk));
}

function throwError(error) {
  if (error) throw error;
}

/** Each loads only what it runs. */
const SERVERS = {
  /** `root`: the folder of a checkout. */
  framemask({ root, deflate, heartbeat }) {
    const { createEchoServer } = require(path.join(root, 'examples/echo-server'));
    const server = createEchoServer({ ...(deflate && { deflate }), ...(heartbeat && { heartbeat }) });
    const end = () => require(path.join(root, 'index')).shutDown(server.connections, { within: options.ends });
    return Object.assign(server, { end });
  },

  httparena: ({ connections }) => require('../../../examples/httparena/server').createServer(connections),

  /** Over HTTP/2 and TLS, and HTTP/1.1 on the same port. `bare`: nothing but HTTP/2 is parsed. */
  http2({ bare }) {
    const settings = { enableConnectProtocol: true, maxConcurrentStreams: 200 };
    const options = { ...require('../../../test/support/certificate'), allowHTTP1: true, settings };
    const server = require('node:http2').createSecureServer(options);
    if (bare) {
      return server.on('stream', (stream) => {
        stream.respond({ ':status': 200 });
        sendBack(stream);
      });
    }
    const { acceptHttp2 } = require('../../../index');
    const { WebSocketServer } = require('../../../ws');
    new WebSocketServer({ server: acceptHttp2(server) }).on('connection', (socket) => {
      socket.on('error', () => {});
      socket.on('message', (data, binary) => socket.send(data, { binary }));
    });
    return server;
  },

  /** The limit: sockets of Node.js, of which nothing is parsed but the handshake. */
  socket() {
    const { upgradeAnswer } = require('../../../test/support/frames');
    return http.createServer().on('upgrade', ({ headers }, socket) => {
      socket.write(upgradeAnswer(headers['sec-websocket-key']));
      sendBack(socket);
    });
  },

  /** A module with the API of ws, which takes messages by one of WAYS. */
  ws({ module, way = 'events', deflate = false, heartbeat }) {
    const api = require(module);
    const server = http.createServer();
    const all = new api.WebSocketServer({ server, perMessageDeflate: deflate, heartbeat });
    all.on('connection', (socket) => WAYS[way](socket, api));
    if (module === 'ws' && heartbeat) pingAll(all, heartbeat);
    return Object.assign(server, { end: () => all.shutDown?.({ within: options.ends }) ?? closeAll(all) });
  }
};

/** As ws's README has it. */
function pingAll(server, milliseconds) {
  server.on('connection', (socket) => {
    socket.isAlive = true;
    socket.on('pong', function onPong() {
      this.isAlive = true;
    });
  });
  setInterval(() => {
    for (const socket of server.clients) {
      if (!socket.isAlive) socket.terminate();
      socket.isAlive = false;
      socket.ping();
    }
  }, milliseconds);
}

/** What ws has for the end of a server. */
async function closeAll({ clients }) {
  for (const socket of clients) socket.close(1012);
  while (clients.size > 0) await sleep(50);
}

const sendEach = (socket, binaryType) => {
  socket.binaryType = binaryType;
  socket.on('message', (data, binary) => socket.send(data, { binary }));
};

/** A text of so many bytes, made once. */
const texts = new Map();
function textOf(size) {
  if (!texts.has(size)) texts.set(size, `${jsonPayloads(size, 1)[0]}`);
  return texts.get(size);
}

/** How a program takes messages, and sends them back. */
const WAYS = {
  /** The answer is short, or as long as the message asks for. */
  received: (socket) => socket.on('message', () => socket.send('ok')),
  sent: (socket) => socket.on('message', (data) => socket.send(textOf(Number(data)))),
  events: (socket) => socket.on('message', (data, binary) => socket.send(data, { binary })),
  callbacks: (socket) => socket.on('message', (data, binary) => socket.send(data, { binary }, throwError)),
  EventTarget: (socket) => socket.addEventListener('message', ({ data }) => socket.send(data)),
  arraybuffer: (socket) => sendEach(socket, 'arraybuffer'),
  pauses(socket) {
    socket.on('message', (data, binary) => {
      socket.pause();
      setImmediate(() => {
        socket.send(data, { binary });
        socket.resume();
      });
    });
  },
  streams(socket, { createWebSocketStream }) {
    const stream = createWebSocketStream(socket);
    stream.on('error', () => {}).pipe(stream);
  }
};

// Answers each message with its memory: heap and external, or `weighed: 'resident'`.
if (options.weighed) {
  v8.setFlagsFromString('--expose-gc');
  globalThis.gc = vm.runInNewContext('gc');
  process.on('message', async () => {
    const held = await memoryUse();
    process.send({ result: options.weighed === 'resident' ? process.memoryUsage().rss : held });
  });
}

// Ends all connections at a message, within `ends` milliseconds, and answers by the longest turn of
// the event loop in milliseconds.
if (options.ends) {
  process.on('message', async () => {
    const delays = monitorEventLoopDelay({ resolution: 1 });
    delays.enable();
    await server.end();
    process.send({ result: delays.max / 1e6 });
  });
}

/** A server over TLS that has the upgrades of another. */
function overTls(server) {
  const onUpgrade = (...args) => server.emit('upgrade', ...args);
  return require('node:https').createServer(require('../../../test/support/certificate')).on('upgrade', onUpgrade);
}

const plain = SERVERS[kind](options);
const server = options.tls ? overTls(plain) : plain;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
