'use strict';

// Prepared messages, by Connections and framemask/ws, beside `send` of ws, the way that ws's authors
// advise for a broadcast, and the socket alone, which no library can avoid. The clients only read.

const path = require('node:path');

const { runBenchmark } = require('./support/harness');
const { ROOT } = require('./support/modules');
const { count } = require('./support/options');
const { startBroadcasts } = require('./support/peers');
const { fits } = require('./support/process-use');
const { formatSize } = require('./support/tables');

const USAGE = `usage: node benchmark/broadcast.js [options]

Measures broadcasts over loopback. Prints the median microseconds of the server for each client, and the 99th percentile
of those until a client has all of a broadcast. Then the same for 10,000 clients. Takes about four minutes.`;

const MANY = 10_000;

const WORK = [64, 4096].flatMap((size) => [1, 10].map((count) => ({ size, count })));

/** The server of each candidate, and its way to send. */
const WAYS = {
  framemask: ['framemask', 'framemask'],
  'framemask/ws': [path.join(ROOT, 'ws.js'), 'framemask'],
  ws: ['ws', 'ws'],
  'ws, framed once': ['ws', 'ws, framed once'],
  'socket alone': ['framemask', 'socket alone']
};

runBenchmark({
  name: 'broadcast',
  usage: USAGE,
  options: {
    clients: count('<n>', 'how many connections; each needs a file descriptor in both processes', 1000),
    turn: count('<ms>', 'how long a turn of a candidate takes', 400, 100)
  },
  peers: ['ws'],
  sets(options) {
    const setOf = (clients, works, turn, end = '') => {
      const group = `broadcast to ${clients.toLocaleString('en')} connections`;
      const rows = works.map((work) => ({ name: `${work.count} × ${formatSize(work.size)}${end}`, group, work }));
      const figuresOf = ({ sent, p99 }) => ({ microseconds: (sent / clients) * 1000, p99 });
      return { rows, start: () => startBroadcasts(WAYS, { clients, turn }, figuresOf) };
    };
    const sets = [setOf(options.clients, WORK, options.turn)];
    if (!options.quick && fits(MANY)) sets.push(setOf(MANY, WORK.slice(0, 1), 4 * options.turn, ', 10,000 clients'));
    return sets;
  }
});
