'use strict';

// How many messages a second does an echo server send back, and what does each cost it? framemask's
// example beside servers of ws (with bufferutil), Bun and Deno, and beside sockets that send back
// what came. Over loopback, each in a process of its own. One client process serves them all: it
// writes batches of ready frames to raw sockets, and counts the bytes that come back.

const { runBenchmark } = require('./support/harness');
const tls = require('../test/support/certificate');
const { BINARY, TEXT } = require('./support/messages');
const { count, flag, texts } = require('./support/options');
const { COMPRESSED, ECHO, findServers, startServers } = require('./support/servers');

const USAGE = `usage: node benchmark/echo.js [options]

Measures echo servers over loopback. Prints medians of messages a second and of the server's processor time for each
message, and how many times better the first server of a row is than each other one, with quartiles over the rounds.
Then how much of a core the server and the client take: where the client's share is near 100 %, the server could do
more. And the most resident memory of the server. Takes about eight minutes.

Text is delivered as bytes, or as strings in the rows that say so. Bun and Deno have text as strings only. An upload is
of binary messages, of which none is sent back. In the rows with compression (permessage-deflate) no server has context
takeover.

Bun and Deno are the programs that BUN and DENO name, or those on PATH; else they are fetched from npm to
.cache/platforms/, if a row needs them.`;

/** What the rows of each kind are called together. */
const GROUPS = {
  bytes: 'echo',
  strings: 'echo, text as strings',
  tls: 'echo over TLS',
  deflate: 'echo with permessage-deflate',
  upload: 'upload'
};

const OPTIONS = {
  kind: texts('<name>', `${Object.keys(GROUPS).join(', ')}: only these rows; may be given several times`),
  servers: texts('<text>', 'only the servers whose name has this in it; may be given several times'),
  binary: flag('binary messages instead of text'),
  turn: count('<ms>', 'how long a turn of a server takes', 300, 100),
  'no-fetch': flag('download nothing')
};

/** Also measured over TLS: where the system calls count most, and where the bytes count, too. */
const OVER_TLS = { '1 × 64 B, TLS': ECHO['1 × 64 B'], '50 × 1 KiB, TLS': ECHO['50 × 1 KiB'] };

/** Messages of which a server sends none back, but a short text that follows them. */
const UPLOAD = {
  '64 × 64 KiB, upload': { pipelined: 64, size: 64 * 1024, upload: true },
  '64 × 64 KiB, 100 connections, upload': { pipelined: 64, size: 64 * 1024, upload: true, connections: 100 }
};

const suffixed = (works, suffix) =>
  Object.fromEntries(Object.entries(works).map(([name, work]) => [`${name}, ${suffix}`, work]));

/** @returns {Record<string, Record<string, object>>} what the client sends, by kind and name */
const worksOf = (binary) => ({
  bytes: ECHO,
  // A binary message is never a string.
  strings: binary ? {} : suffixed(ECHO, 'strings'),
  tls: OVER_TLS,
  deflate: suffixed(COMPRESSED, 'compressed'),
  upload: UPLOAD
});

/** Filled when the servers are known. */
const versions = {};

runBenchmark({
  name: 'echo',
  usage: USAGE,
  options: OPTIONS,
  peers: ['bufferutil'],
  versions,
  sets(options) {
    const { kind: kinds, binary, turn } = options;
    const unknown = kinds.find((kind) => !Object.hasOwn(GROUPS, kind));
    if (unknown !== undefined)
      throw new RangeError(`--kind takes ${Object.keys(GROUPS).join(', ')}, but was "${unknown}"`);
    return Object.entries(worksOf(binary))
      .filter(([kind]) => kinds.length === 0 || kinds.includes(kind))
      .map(([kind, works]) => {
        // Filled by `start`: what the first server is compared with.
        const pairs = [];
        const rows = Object.entries(works).map(([name, work]) => ({ name, group: GROUPS[kind], work, pairs }));
        const start = () => {
          const servers = findServers(kind, options);
          const [own, ...others] = servers.map(({ name }) => name);
          pairs.push(...others.map((peer) => [own, peer]));
          for (const { name, version } of servers) if (version !== undefined) versions[name] = version;
          const server = {
            text: kind === 'strings' ? 'string' : 'buffer',
            upload: kind === 'upload',
            deflate: kind === 'deflate',
            tls: kind === 'tls' ? tls : null
          };
          const load = { first: binary ? BINARY : TEXT, milliseconds: turn, tls: kind === 'tls' };
          return startServers(servers, { server, load });
        };
        return { rows, start };
      });
  }
});
