'use strict';

// The limit: sockets of Node.js that send back what came. Nothing is parsed but the end of the
// handshake.

const http = require('node:http');
const net = require('node:net');
const { listen, options } = require('./options');

const RESPONSE =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n';

/** @returns {(chunk: Buffer) => void} takes all that is read */
function createEcho(socket) {
  let request = '';
  return (chunk) => {
    if (request === null) {
      socket.write(chunk);
      return;
    }
    request += chunk.latin1Slice();
    if (!request.endsWith('\r\n\r\n')) return;
    request = null;
    socket.write(RESPONSE);
  };
}

function listenToEvents(socket) {
  socket.on('data', createEcho(socket)).on('error', () => {});
}

const memory = Buffer.allocUnsafeSlow(64 * 1024);

/** What is read must be copied, because the next read writes to the same memory. */
function readIntoMemory({ _handle: handle }) {
  const onread = {
    buffer: memory,
    callback(length, bytes) {
      echo(Buffer.from(bytes.subarray(0, length)));
      return true;
    }
  };
  const socket = new net.Socket({ handle, onread });
  const echo = createEcho(socket);
  socket.setNoDelay().on('error', () => {});
}

/** What a WebSocket of ws is on top of. */
function keepUpgraded(_request, socket) {
  socket.write(RESPONSE);
  socket.on('data', (chunk) => socket.write(chunk)).on('error', () => {});
}

if (options.http) listen(http.createServer().on('upgrade', keepUpgraded));
else if (options.oneBuffer) listen(net.createServer({ pauseOnConnect: true }, readIntoMemory));
else listen(net.createServer({ noDelay: true }, listenToEvents));
