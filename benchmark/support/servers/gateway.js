'use strict';

// Gateways to compare examples/gateway.js with, and upstreams. Prints the port.
//
//     node gateway.js pipe|ws URL
//     node gateway.js echo|echo-http2

const http = require('node:http');
const http2 = require('node:http2');

const [kind, url] = process.argv.slice(2);

/** Echoes, for a gateway: its frames come from as many connections as it has clients. */
function echo(server) {
  const { Connection } = require('../../../index');
  const options = {
    text: 'buffer',
    onMessage(data, isBinary) {
      this.send(data, { binary: isBinary });
    }
  };
  return server.on('upgrade', (...upgrade) => Connection.accept(...upgrade, options));
}

const SERVERS = {
  echo: () => echo(http.createServer()),
  'echo-http2': () => echo(require('../../../index').acceptHttp2(http2.createServer())),

  pipe: () => require('../../../test/support/pipe-gateway').createPipe(url),

  /** Two WebSockets of ws, as programs copy messages between them. */
  ws() {
    const { WebSocket, WebSocketServer } = require('ws');
    const server = http.createServer();
    new WebSocketServer({ server }).on('connection', (client, request) => {
      const upstream = new WebSocket(url + request.url, { perMessageDeflate: false });
      const waiting = [];
      client.on('message', (data, binary) => {
        if (upstream.readyState === WebSocket.OPEN) upstream.send(data, { binary });
        else waiting.push([data, { binary }]);
      });
      upstream.on('open', () => {
        for (const message of waiting) upstream.send(...message);
      });
      upstream.on('message', (data, binary) => client.send(data, { binary }));
      for (const [one, other] of [
        [client, upstream],
        [upstream, client]
      ])
        one.on('error', () => {}).on('close', () => other.terminate());
    });
    return server;
  }
};

const server = SERVERS[kind]();
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
