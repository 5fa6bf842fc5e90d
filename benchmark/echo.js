'use strict';

// Each server has a process of its own. One client process serves them all: it writes batches of
// ready frames to raw sockets, and counts the bytes that come back.

const { runBenchmark } = require('./support/harness');
const { KINDS: CONNECTIONS } = require('../examples/httparena/server');
const { count, text, texts } = require('./support/options');
const { ECHO, findCandidate, findServers, nodeServer, startServers, versions } = require('./support/peers');

const USAGE = `usage: node benchmark/echo.js [options]

Measures echo servers over loopback. Prints medians of messages a second, of the server's processor time for each, of
the 99th percentile of the time until a batch is back, and of how much of a core the server and the client take; and how many times faster the first server of a row is than each
other one. Takes about two minutes. Bun and Deno, which have text as strings only, are fetched from npm to
.cache/platforms/, if a row needs them.`;

const KINDS = {
  bytes: { group: 'echo', works: ECHO },
  // The entry of examples/httparena on a Decoder and an Encoder, on framemask/ws and on ws.
  httparena: {
    group: 'HttpArena',
    works: { 'echo-ws': { pipelined: 1, size: 5 }, 'echo-ws-pipeline': { pipelined: 16, size: 5 } },
    load: { connections: 512 },
    servers: CONNECTIONS.map((name) => ({ name, ...nodeServer('httparena', { connections: name }) }))
  }
};

runBenchmark({
  name: 'echo',
  usage: USAGE,
  options: {
    kind: text('<name>', `the rows: ${Object.keys(KINDS).join(' or ')} (default bytes)`, 'bytes'),
    candidate: text('<folder>', "another checkout, whose codec's server with shared reads takes turns with the others"),
    servers: texts('<text>', 'only the servers whose name has this in it; may be given several times'),
    turn: count('<ms>', 'how long a turn of a server takes', 300, 100)
  },
  peers: ['bufferutil'],
  versions,
  sets({ kind, candidate, servers: wanted, turn }) {
    if (!Object.hasOwn(KINDS, kind)) throw new RangeError(`--kind takes ${Object.keys(KINDS).join(' or ')}`);
    const { group, works, load, servers = [...findServers(wanted), ...findCandidate(candidate)] } = KINDS[kind];
    const rows = Object.entries(works).map(([name, work]) => ({ name, group, work }));
    return [{ rows, start: () => startServers(servers, { ...load, milliseconds: turn }) }];
  }
});
