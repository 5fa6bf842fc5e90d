'use strict';

// How does the entry for HttpArena do beside the same entry on ws? One process of each, over
// loopback, with the messages of echo-ws and echo-ws-pipeline.

const { runBenchmark } = require('./support/harness');
const path = require('node:path');
const { KINDS } = require('../examples/httparena/server');
const { count } = require('./support/options');
const { startServers } = require('./support/servers');

const USAGE = `usage: node benchmark/httparena.js [options]

Measures examples/httparena over loopback, on a Decoder and an Encoder, on framemask/ws and on ws. Prints what echo.js
prints. Takes about half a minute.`;

/** What each connection sends at once, before it waits for all of it to come back. */
const ROWS = { 'echo-ws': { pipelined: 1, size: 5 }, 'echo-ws-pipeline': { pipelined: 16, size: 5 } };

const [OWN, ...OTHERS] = KINDS;
const SERVER = path.join(__dirname, 'support/servers/httparena.js');
const SERVERS = KINDS.map((name) => ({ name, command: () => [process.execPath, SERVER, name] }));

runBenchmark({
  name: 'httparena',
  usage: USAGE,
  options: {
    connections: count('<n>', 'how many connections send', 512),
    turn: count('<ms>', 'how long a turn of a server takes', 500, 150)
  },
  peers: ['ws'],
  sets: ({ turn, connections }) => [
    {
      rows: Object.entries(ROWS).map(([name, work]) => ({
        name,
        group: 'HttpArena',
        work,
        pairs: OTHERS.map((peer) => [OWN, peer])
      })),
      start: () => startServers(SERVERS, { milliseconds: turn, connections })
    }
  ]
});
