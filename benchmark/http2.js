'use strict';

// The same server of framemask/ws, and streams of node:http2 that parse nothing, as the limit.

const { runBenchmark } = require('./support/harness');
const { count } = require('./support/options');
const { ECHO, nodeServer, startServers } = require('./support/peers');

const USAGE = `usage: node benchmark/http2.js [options]

Measures an echo server of framemask/ws over HTTP/2 with TLS, ten WebSockets on one connection, and over HTTP/1.1 with
TLS, ten connections. Prints medians of messages a second and of the server's processor time for each message, and how
many times faster HTTP/2 is. Takes about two minutes.`;

const SERVERS = [
  { name: 'HTTP/2', ...nodeServer('http2'), client: { http2: true } },
  { name: 'HTTP/1.1', ...nodeServer('http2'), client: { tls: true } },
  { name: 'bare stream', ...nodeServer('http2', { bare: true }), bare: true, client: { http2: true } }
];
const [own, ...peers] = SERVERS.map(({ name }) => name);
const pairs = peers.map((peer) => [own, peer]);

runBenchmark({
  name: 'http2',
  usage: USAGE,
  options: { turn: count('<ms>', 'how long a turn of a server takes', 500, 150) },
  sets: ({ turn }) => [
    {
      rows: Object.entries(ECHO).map(([name, work]) => ({ name: `echo ${name}`, group: 'HTTP/2: echo', work, pairs })),
      start: () => startServers(SERVERS, { milliseconds: turn })
    }
  ]
});
