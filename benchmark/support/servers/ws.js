'use strict';

// An echo server of ws, or of a module with its API.

const { listen, options } = require('./options');

const { WebSocketServer } = require(options.module);

/** With `text: 'string'`, what a program does that works with text. */
const readText = options.text === 'string' ? (data) => data.toString() : (data) => data;

/** ws says it in the terms of RFC 7692, framemask/ws has a name for both. */
const perMessageDeflate = options.deflate && {
  threshold: 0,
  contextTakeover: false,
  serverNoContextTakeover: true,
  clientNoContextTakeover: true
};

function onConnection(socket) {
  socket.on('message', (data, isBinary) => {
    if (isBinary && options.upload) return;
    socket.send(isBinary ? data : readText(data), { binary: isBinary });
  });
}

if (options.tls) {
  const server = require('node:http').createServer();
  new WebSocketServer({ server }).on('connection', onConnection);
  listen(server);
} else {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate }).on('connection', onConnection);
  server.on('listening', () => console.log(server.address().port));
}
