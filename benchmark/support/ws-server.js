'use strict';

// The server process that ws.js forks: an echo server of ws, or of a module with its API. Its
// arguments are the module and a name of KINDS.

const http = require('node:http');

const { memoryUse } = require('./weigh');

const fail = (error) => {
  if (error) throw error;
};

/** What a server does with a message. */
const KINDS = {
  echo: { listener: (socket) => (data, isBinary) => socket.send(data, { binary: isBinary }) },
  callbacks: { listener: (socket) => (data, isBinary) => socket.send(data, { binary: isBinary }, fail) },
  deflate: {
    options: { perMessageDeflate: true },
    listener: (socket) => (data, isBinary) => socket.send(data, { binary: isBinary })
  }
};

/** Answers each handshake and keeps the socket: what every WebSocket is on top of. */
function createSocketServer() {
  const kept = new Set();
  return http.createServer().on('upgrade', (_request, socket) => {
    kept.add(socket);
    socket.on('close', () => kept.delete(socket));
    socket.on('data', () => {});
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
        'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n'
    );
  });
}

function createServer(name, { options, listener }) {
  const { WebSocketServer } = require(name);
  const inner = http.createServer();
  new WebSocketServer({ server: inner, ...options }).on('connection', (socket) => {
    socket.on('message', listener(socket));
  });
  return inner;
}

const [, , name, kind] = process.argv;
const server = name === 'socket alone' ? createSocketServer() : createServer(name, KINDS[kind]);
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', async () => process.send(await memoryUse()));
