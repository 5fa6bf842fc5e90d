'use strict';

// An echo server over HTTP/2 and TLS; WebSockets over HTTP/1.1 come to the same port. With `bare`,
// streams send back the very bytes that come: nothing is parsed but the frames of HTTP/2.

const http2 = require('node:http2');
const certificate = require('../../../test/support/certificate');
const { acceptHttp2 } = require('../../../index.js');
const { WebSocketServer } = require('../../../ws.js');
const { options } = require('./options');

const settings = { enableConnectProtocol: true, maxConcurrentStreams: 200 };
const server = http2.createSecureServer({ ...certificate, allowHTTP1: true, settings });
if (options.bare) {
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.respond({ ':status': 200 });
    stream.on('data', (chunk) => stream.write(chunk));
  });
} else {
  new WebSocketServer({ server: acceptHttp2(server) }).on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
}
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
