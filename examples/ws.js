'use strict';

// A chat server and its client on framemask/ws. With ws it is the same program, but for the line
// that requires it.
//
//     node examples/ws.js server            everything that comes is passed on to all
//     node examples/ws.js client Ada        sends what is typed, prints what comes
//
// Both use the port that the environment variable PORT names (default 8080) on 127.0.0.1.

const readline = require('node:readline');
const { WebSocket, WebSocketServer } = require('framemask/ws');

const HEARTBEAT = 30_000;
const MAX_QUEUED = 1024 * 1024; // bytes that a slow client may leave unread

/**
 * @param {number} port 0 for a free one
 * @returns {WebSocketServer}
 */
function serve(port) {
  const server = new WebSocketServer({ host: '127.0.0.1', port, maxPayload: 64 * 1024 });
  server.on('connection', (socket) => {
    socket.isAlive = true;
    socket.on('pong', () => {
      socket.isAlive = true;
    });
    socket.on('error', (error) => console.error(error.message)); // it broke a rule; 'close' follows
    socket.on('message', (data, isBinary) => broadcast(server, data, isBinary));
  });
  // A client that is gone without a word does not answer Pings.
  const heartbeat = setInterval(() => {
    for (const socket of server.clients) {
      if (!socket.isAlive) socket.terminate();
      socket.isAlive = false;
      if (socket.readyState === WebSocket.OPEN) socket.ping();
    }
  }, HEARTBEAT);
  server.on('close', () => clearInterval(heartbeat));
  return server;
}

/** Sends a message to everybody. What one turn sends to a client leaves in one write. */
function broadcast(server, data, isBinary) {
  for (const socket of server.clients) {
    if (socket.readyState !== WebSocket.OPEN) continue;
    if (socket.bufferedAmount > MAX_QUEUED) socket.terminate();
    else socket.send(data, { binary: isBinary });
  }
}

/** Ends all connections, and then the server. */
function shutDown(server) {
  for (const socket of server.clients) socket.close(1001, 'The server is going away');
  server.close();
}

/**
 * @param {string} url
 * @param {string} name who says what is read
 * @param {NodeJS.ReadableStream} input lines to send
 * @param {(line: string) => void} print
 * @returns {WebSocket}
 */
function chat(url, name, input, print) {
  const socket = new WebSocket(url);
  socket.on('open', () => {
    const lines = readline.createInterface({ input });
    lines.on('line', (line) => socket.send(`${name}: ${line}`));
    lines.on('close', () => socket.close(1000));
    socket.on('close', () => lines.close());
  });
  socket.on('message', (data) => print(data.toString()));
  socket.on('close', (code, reason) => print(`closed ${code} ${reason}`.trim()));
  socket.on('error', (error) => print(error.message));
  return socket;
}

if (require.main === module) {
  const [what, name = 'somebody'] = process.argv.slice(2);
  const port = Number(process.env.PORT ?? 8080);
  if (what === 'server') {
    const server = serve(port);
    server.on('listening', () => console.log(`Chat server on ws://127.0.0.1:${server.address().port}`));
    process.once('SIGINT', () => shutDown(server)).once('SIGTERM', () => shutDown(server));
  } else if (what === 'client') {
    chat(`ws://127.0.0.1:${port}`, name, process.stdin, console.log);
  } else {
    console.error('usage: node examples/ws.js server | client [name]');
    process.exitCode = 2;
  }
}

module.exports = { chat, serve, shutDown };
