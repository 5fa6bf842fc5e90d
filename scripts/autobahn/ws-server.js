'use strict';

// An echo server on `ws`, or on what stands in for it:  node ws-server.js LIBRARY

const { limits } = require('./ws-limits');

const { WebSocketServer } = require(process.argv[2]);

const server = new WebSocketServer({ host: '127.0.0.1', port: Number(process.env.PORT ?? 0), ...limits });
server.on('connection', (socket) => {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  // The suite breaks the rules; the connection is closed.
  socket.on('error', () => {});
});
server.on('listening', () => console.log(`echo server: ws://127.0.0.1:${server.address().port}`));
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
}
