'use strict';

// A WebSocket server (RFC 6455) that sends every message back: node:http, and a Connection of
// framemask for each client. Change `onMessage` to write a server of your own.
//
//     node examples/echo-server.js
//
// It listens on 127.0.0.1, on the port that the environment variable PORT names (default 8080).

const http = require('node:http');
const { Connection } = require('framemask');

const MIB = 1024 * 1024;
const TEXT = { binary: false };

/** @param {object} [options] of Connections and of `http.createServer` (such as headersTimeout) */
function createEchoServer({ maxPayload = MIB, ...options } = {}) {
  // All connections share these. Text as bytes is enough for an echo.
  const shared = {
    maxPayload,
    maxBackpressure: maxPayload + MIB,
    heartbeat: 30_000,
    ...options,
    text: 'buffer',
    onMessage(data, isBinary) {
      this.send(data, isBinary ? undefined : TEXT);
    },
    onClose() {
      server.connections.delete(this);
    }
  };
  const server = http.createServer(options, (_request, response) => {
    response
      .writeHead(426, { Upgrade: 'websocket', Connection: 'Upgrade, close' })
      .end('This is a WebSocket server.\n');
  });
  server.on('upgrade', (request, socket, head) => {
    // Pages of any origin may connect: with cookies, check `request.headers.origin` first.
    const connection = Connection.accept(request, socket, head, shared);
    if (connection !== null) server.connections.add(connection);
  });
  return Object.assign(server, { connections: new Set() });
}

/** Stops listening and closes all connections. The server emits 'close' when they are closed. */
function shutDown(server) {
  server.close();
  // Those without a WebSocket, also if they have not sent their first request.
  server.closeAllConnections();
  for (const connection of server.connections) connection.close(1001, 'The server is going away');
}

if (require.main === module) {
  const server = createEchoServer();
  const { PORT = 8080 } = process.env;
  server.listen(PORT, '127.0.0.1', () => console.log(`echo server: ws://127.0.0.1:${server.address().port}`));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => shutDown(server));
}

module.exports = { createEchoServer, shutDown };
