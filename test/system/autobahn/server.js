'use strict';

// Starts an echo server with the limits that the suite needs, and prints its port:
//
//     node server.js codec                     examples/echo-server.js
//     node server.js deflate shared|takeover   the same, compressed without context takeover or with it
//     node server.js gateway [shared|takeover] examples/gateway.js before an echo server
//     node server.js parts [shared|takeover]   parts.js, which echoes messages while they arrive
//     node server.js http2                     http2.js: framemask/ws over HTTP/2
//     node server.js ws LIBRARY                ws, or another library in its place

const { once } = require('node:events');
const { createEchoServer } = require('../../../examples/echo-server');
const gateway = require('./gateway');
const http2 = require('./http2');
const parts = require('./parts');
const { HOST, LIMITS, WS_OPTIONS, deflateOptions, echoWs } = require('./limits');

const SERVERS = {
  codec: () => createEchoServer(LIMITS).listen(0, HOST),
  deflate: (contexts) => createEchoServer({ ...LIMITS, deflate: deflateOptions(contexts) }).listen(0, HOST),
  gateway: (contexts) => gateway.createServer(contexts !== undefined && deflateOptions(contexts)),
  http2: () => http2.createServer(),
  parts: (contexts) => parts.createServer(contexts !== undefined && deflateOptions(contexts)),
  ws(library) {
    const { WebSocketServer } = require(library);
    const server = new WebSocketServer({ host: HOST, port: 0, ...WS_OPTIONS });
    return server.on('connection', echoWs);
  }
};

async function main([kind, argument]) {
  const server = await SERVERS[kind](argument);
  // A WebSocketServer lacks the property `listening`.
  if (server.address() === null) await once(server, 'listening');
  console.log(server.address().port);
}

main(process.argv.slice(2));
