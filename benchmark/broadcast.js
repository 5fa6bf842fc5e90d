'use strict';

// Prepared messages of framemask beside `send` of ws, the way that ws's authors advise for a broadcast,
// and the socket alone, which no library can avoid. The clients only read.

const { runBenchmark } = require('./support/harness');
const { count } = require('./support/options');
const { startBroadcast } = require('./support/peers');
const { formatSize } = require('./support/tables');

const USAGE = `usage: node benchmark/broadcast.js [options]

Measures broadcasts over loopback. Prints the median microseconds of the server for each client. Takes about two
minutes.`;

const WORK = [64, 4096].flatMap((size) => [1, 10].map((count) => ({ size, count })));

/** The ways to send, and the server that each belongs to. */
const WAYS = { framemask: 'framemask', ws: 'ws', 'ws, framed once': 'ws', 'socket alone': 'framemask' };
const [OWN, ...OTHERS] = Object.keys(WAYS);

runBenchmark({
  name: 'broadcast',
  usage: USAGE,
  options: {
    clients: count('<n>', 'how many connections; each needs a file descriptor in both processes', 1000),
    turn: count('<ms>', 'how long a turn of a candidate takes', 400, 100)
  },
  peers: ['ws'],
  sets: ({ clients, turn }) => [
    {
      rows: WORK.map((work) => ({
        name: `${work.count} × ${formatSize(work.size)}`,
        group: `broadcast to ${clients.toLocaleString('en')} connections`,
        work,
        pairs: OTHERS.map((peer) => [OWN, peer])
      })),
      async start() {
        const servers = {
          framemask: await startBroadcast('framemask', clients),
          ws: await startBroadcast('ws', clients)
        };
        const candidate = (way, server, work) => async () => {
          const { sent } = await servers[server].send(way, work, turn);
          return { microseconds: (sent / clients) * 1000 };
        };
        return {
          candidates: ({ work }) =>
            Object.fromEntries(Object.entries(WAYS).map(([way, server]) => [way, candidate(way, server, work)])),
          stop() {
            for (const { stop } of Object.values(servers)) stop();
          }
        };
      }
    }
  ]
});
