'use strict';

// Gateways before an echo server: examples/gateway.js, a pipe of bytes, and two WebSockets of ws.

const path = require('node:path');

const { runBenchmark } = require('./support/harness');
const { compileLoad, putLoad } = require('./support/load');
const { ROOT } = require('./support/modules');
const { count } = require('./support/options');
const { startServer } = require('./support/peers');

const USAGE = `usage: node benchmark/gateway.js [options]

Measures examples/gateway.js before an echo server, with its clients on connections of HTTP/1.1 and on one session of
HTTP/2 to that server; a pipe of bytes by net.Socket; and two WebSockets of ws that copy messages. Prints medians of the
gateway's processor time for a message there and back, in microseconds, and of messages a second; and how many times
faster, by processor time, the example is. Needs Linux and a C compiler. Takes about three minutes.`;

/** Connections, messages that each sends at once, and their bytes. */
const ROWS = {
  '1 × 64 B, 200 connections': [200, 1, 64],
  '1 × 1 KiB, 200 connections': [200, 1, 1024],
  '50 × 1 KiB, 10 connections': [10, 50, 1024],
  '4 × 16,000 B, 10 connections': [10, 4, 16_000]
};

const example = (...args) => [path.join(ROOT, 'examples/gateway.js'), ...args, '--upstream'];
const other = (kind) => [path.join(__dirname, 'support/servers/gateway.js'), kind];

/** The upstream of each gateway, and its program, before the URL. */
const GATEWAYS = {
  gateway: ['echo', example()],
  'a pipe': ['echo', other('pipe')],
  'ws, copied': ['echo', other('ws')],
  'gateway, HTTP/2': ['echo-http2', example('--http2')]
};

const PAIRS = ['a pipe', 'ws, copied', 'gateway, HTTP/2'].map((name) => ['gateway', name]);

/** A turn of processes of their own. */
async function takeTurn(program, [kind, args], work, turn) {
  const upstream = await startServer({ name: kind, command: [process.execPath, ...other(kind)] });
  const command = [process.execPath, ...args, `ws://127.0.0.1:${upstream.port}`];
  const gateway = await startServer({ name: 'the gateway', command, env: { PORT: '0' } });
  try {
    return await putLoad(program, gateway, work, turn);
  } finally {
    await gateway.stop();
    await upstream.stop();
  }
}

runBenchmark({
  name: 'gateway',
  usage: USAGE,
  options: { turn: count('<ms>', 'how long a turn of a gateway takes', 1500, 200) },
  peers: ['ws'],
  sets({ turn }) {
    const rows = Object.entries(ROWS).map(([name, work]) => ({ name, group: 'a gateway', work, pairs: PAIRS }));
    const start = () => {
      const program = compileLoad();
      const candidate = (gateway, work) => () => takeTurn(program, gateway, work, turn);
      const turns = (work) => Object.entries(GATEWAYS).map(([name, one]) => [name, candidate(one, work)]);
      return { candidates: ({ work }) => Object.fromEntries(turns(work)) };
    };
    return [{ rows, start }];
  }
});
