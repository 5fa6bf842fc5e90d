'use strict';

// An echo server of ws, or of a module with its API.

const http = require('node:http');
const { listen, options } = require('./options');

const { WebSocketServer } = require(options.module);

/** With `text: 'string'`, what a program does that works with text. */
const readText = options.text === 'string' ? (data) => data.toString() : (data) => data;

/** ws says it in the terms of RFC 7692, framemask/ws has a name for both. */
const withoutTakeover = {
  threshold: 0,
  contextTakeover: false,
  serverNoContextTakeover: true,
  clientNoContextTakeover: true
};
const perMessageDeflate = options.deflate === 'takeover' || (options.deflate && withoutTakeover);

const onSent = options.callbacks
  ? (error) => {
      if (error) throw error;
    }
  : undefined;

const server = http.createServer();
new WebSocketServer({ server, perMessageDeflate }).on('connection', (socket) => {
  socket.on('message', (data, isBinary) => {
    if (isBinary && options.upload) return;
    socket.send(isBinary ? data : readText(data), { binary: isBinary }, onSent);
  });
});
listen(server);
