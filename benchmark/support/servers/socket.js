'use strict';

// The limit: sockets of Node.js that send back what came. Nothing is parsed but the end of the
// handshake. With the option `http`, they come from an HTTP server, as those of ws do.

const http = require('node:http');
const net = require('node:net');
const { listen, options } = require('./options');

const RESPONSE =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n';

function echo(socket) {
  socket.write(RESPONSE);
  socket.on('data', (chunk) => socket.write(chunk));
}

function onConnection(socket) {
  let request = '';
  socket.on('error', () => {});
  socket.on('data', function onRequest(chunk) {
    request += chunk.latin1Slice();
    if (!request.endsWith('\r\n\r\n')) return;
    socket.off('data', onRequest);
    echo(socket);
  });
}

if (options.http) listen(http.createServer().on('upgrade', (_request, socket) => echo(socket.on('error', () => {}))));
else listen(net.createServer({ noDelay: true }, onConnection));
