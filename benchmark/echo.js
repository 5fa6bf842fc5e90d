'use strict';

// How many messages a second does an echo server send back, and what does each cost it? framemask's
// example beside servers of ws (with bufferutil), Bun and Deno, and beside sockets that send back
// what came. Over loopback, each in a process of its own. One client process serves them all: it
// writes batches of ready frames to raw sockets, and counts the bytes that come back.

const { runBenchmark } = require('./support/harness');
const path = require('node:path');
const httparena = require('../examples/httparena/server');
const tls = require('../test/support/certificate');
const { count, texts } = require('./support/options');
const { ECHO, findServers, startServers } = require('./support/servers');

const USAGE = `usage: node benchmark/echo.js [options]

Measures echo servers over loopback. Prints medians of messages a second, of the server's processor time for each, of
how much of a core the server and the client take, and of the server's most resident memory; and how many times better
the first server of a row is than each other one. Takes about eight minutes.

Text is delivered as bytes, or as strings in the rows that say so. Bun and Deno have text as strings only. In the rows
with compression (permessage-deflate) no server has context takeover. Bun and Deno are fetched from npm to
.cache/platforms/, if a row needs them.`;

const suffixed = (works, suffix) =>
  Object.fromEntries(Object.entries(works).map(([name, work]) => [`${name}, ${suffix}`, work]));

const HTTPARENA = path.join(__dirname, 'support/servers/httparena.js');

/** The kinds of rows: their group, what the client sends, and what the servers are told. */
const KINDS = {
  bytes: { group: 'echo', works: ECHO, server: { text: 'buffer' } },
  strings: { group: 'echo, text as strings', works: suffixed(ECHO, 'strings'), server: { text: 'string' } },
  tls: {
    group: 'echo over TLS',
    // Where the system calls count most, and where the bytes count, too.
    works: { '1 × 64 B, TLS': ECHO['1 × 64 B'], '50 × 1 KiB, TLS': ECHO['50 × 1 KiB'] },
    load: { tls: true },
    server: { text: 'buffer', tls }
  },
  deflate: {
    group: 'echo with permessage-deflate',
    works: {
      '1 × 1 KiB, compressed': { pipelined: 1, size: 1024 },
      '20 × 1 KiB, compressed': { pipelined: 20, size: 1024 },
      '4 × 16,000 B, compressed': ECHO['4 × 16,000 B']
    },
    load: { deflate: true },
    server: { text: 'buffer', deflate: true }
  },
  // The entry of examples/httparena on a Decoder and an Encoder, on framemask/ws and on ws.
  httparena: {
    group: 'HttpArena',
    works: { 'echo-ws': { pipelined: 1, size: 5 }, 'echo-ws-pipeline': { pipelined: 16, size: 5 } },
    load: { connections: 512 },
    servers: httparena.KINDS.map((name) => ({ name, command: () => [process.execPath, HTTPARENA, name] }))
  }
};
const NAMES = Object.keys(KINDS).join(', ');

/** Filled when the servers are known. */
const versions = {};

/** @returns {import('./support/harness').RowSet} */
function rowSet(kind, options) {
  const { group, works, load, server, servers: known } = KINDS[kind];
  // Filled by `start`: the first server is compared with the others.
  const pairs = [];
  const start = () => {
    const servers = known ?? findServers(kind, options.servers);
    const [own, ...others] = servers.map(({ name }) => name);
    pairs.push(...others.map((peer) => [own, peer]));
    for (const { name, version } of servers) if (version !== undefined) versions[name] = version;
    return startServers(servers, { ...load, milliseconds: options.turn }, server);
  };
  return { rows: Object.entries(works).map(([name, work]) => ({ name, group, work, pairs })), start };
}

runBenchmark({
  name: 'echo',
  usage: USAGE,
  options: {
    kind: texts('<name>', `${NAMES}: only these rows (default: all but the last); may be given several times`),
    servers: texts('<text>', 'only the servers whose name has this in it; may be given several times'),
    turn: count('<ms>', 'how long a turn of a server takes', 300, 100)
  },
  peers: ['bufferutil'],
  versions,
  sets(options) {
    const kinds = options.kind.length > 0 ? options.kind : Object.keys(KINDS).slice(0, -1);
    const unknown = kinds.find((kind) => !Object.hasOwn(KINDS, kind));
    if (unknown !== undefined) throw new RangeError(`--kind takes ${NAMES}, but was "${unknown}"`);
    return kinds.map((kind) => rowSet(kind, options));
  }
});
