'use strict';

// framemask/ws over HTTP/2. The suite speaks HTTP/1.1: a bridge stands between, at either role.

const http2 = require('node:http2');
const net = require('node:net');
const { acceptHttp2, overHttp2 } = require('../../../index');
const { WebSocket, WebSocketServer } = require('../../../ws');
const { listen } = require('../../support/free-port');
const { HOST, WS_OPTIONS, echoWs } = require('./limits');

/** Whatever one end sends, the other gets; the end of one is the end of the other. */
function join(one, other) {
  for (const [from, to] of [
    [one, other],
    [other, one]
  ]) {
    from.pipe(to);
    from.on('error', () => to.destroy()).on('close', () => to.destroySoon?.() ?? to.end());
  }
}

/** @returns {net.Server} of HTTP/1.1, whose connections go to an echo server over HTTP/2 */
function createServer() {
  const server = acceptHttp2(http2.createServer());
  new WebSocketServer({ server, ...WS_OPTIONS }).on('connection', echoWs);
  const bridge = net.createServer({ allowHalfOpen: true }, (socket) => {
    const { port } = server.address();
    join(socket, overHttp2()({ host: HOST, port }));
  });
  server.listen(0, HOST, () => bridge.listen(0, HOST));
  return bridge;
}

let bridge = null;

/** A server of HTTP/2 whose WebSockets go to the suite. */
async function startBridge(port) {
  const server = acceptHttp2(http2.createServer());
  server.on('upgrade', (request, socket) => {
    const upstream = net.connect({ port, host: HOST, allowHalfOpen: true });
    // The suite compares the port of Host with its own.
    const headers = { ...request.headers, host: `${HOST}:${port}` };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    upstream.write(`GET ${request.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    join(upstream, socket);
  });
  return listen(server.unref());
}

/** @returns {Promise<WebSocket>} to the address of the suite */
async function connect(address) {
  const url = new URL(address);
  bridge ??= startBridge(url.port);
  url.port = await bridge;
  return new WebSocket(url, { ...WS_OPTIONS, http2: true });
}

module.exports = { connect, createServer };
