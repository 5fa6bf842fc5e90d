'use strict';

// The same server of framemask/ws, and streams of node:http2 that parse nothing, as the limit.

const { runBenchmark } = require('./support/harness');
const { count } = require('./support/options');
const { ECHO, nodeServer, startServers, weighConnections } = require('./support/peers');

const USAGE = `usage: node benchmark/http2.js [options]

Measures an echo server of framemask/ws over HTTP/2 with TLS, ten WebSockets on one connection, and over HTTP/1.1 with
TLS, ten connections. Prints medians of messages a second and of the server's processor time for each message, and how
many times faster HTTP/2 is. Then the bytes of the server's resident memory that an idle WebSocket holds, 100 on each
connection of HTTP/2. Takes about two minutes.`;

const serversOf = (options) => [
  { name: 'HTTP/2', ...nodeServer('http2', options), client: { http2: true } },
  { name: 'HTTP/1.1', ...nodeServer('http2', options), client: { tls: true } },
  { name: 'bare stream', ...nodeServer('http2', { bare: true, ...options }), bare: true, client: { http2: true } }
];

const weighers = (idle) =>
  Object.fromEntries(
    serversOf({ weighed: 'resident' }).map((server) => [server.name, () => weighConnections(server, idle)])
  );

runBenchmark({
  name: 'http2',
  usage: USAGE,
  options: {
    idle: count('<n>', 'how many idle WebSockets are weighed', 2000),
    turn: count('<ms>', 'how long a turn of a server takes', 500, 150)
  },
  sets: ({ idle, turn }) => [
    {
      rows: Object.entries(ECHO).map(([name, work]) => ({ name: `echo ${name}`, group: 'HTTP/2: echo', work })),
      start: () => startServers(serversOf(), { milliseconds: turn })
    },
    {
      rows: [{ name: 'idle WebSockets', group: 'HTTP/2: memory', pairs: [] }],
      rounds: 3,
      start: () => ({ candidates: () => weighers(idle) })
    }
  ]
});
