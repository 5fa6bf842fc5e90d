'use strict';

// Starts an echo server with the limits that the suite needs, and prints its port:
//
//     node server.js codec                     examples/echo-server.js
//     node server.js deflate shared|takeover   the same, compressed without context takeover or with it
//     node server.js parts [shared|takeover]   parts.js, which echoes messages while they arrive
//     node server.js http2                     http2.js: framemask/ws over HTTP/2
//     node server.js ws LIBRARY                ws, or another library in its place

const { createEchoServer } = require('../../../examples/echo-server');
const http2 = require('./http2');
const parts = require('./parts');
const { HOST, LIMITS, WS_OPTIONS, deflateOptions, echoWs } = require('./limits');

const SERVERS = {
  codec: () => createEchoServer(LIMITS).listen(0, HOST),
  deflate: (contexts) => createEchoServer({ ...LIMITS, deflate: deflateOptions(contexts) }).listen(0, HOST),
  http2: () => http2.createServer(),
  parts: (contexts) => parts.createServer(contexts !== undefined && deflateOptions(contexts)),
  ws(library) {
    const { WebSocketServer } = require(library);
    const server = new WebSocketServer({ host: HOST, port: 0, ...WS_OPTIONS });
    return server.on('connection', echoWs);
  }
};

const [kind, argument] = process.argv.slice(2);
const server = SERVERS[kind](argument);
server.on('listening', () => console.log(server.address().port));
