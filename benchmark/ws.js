'use strict';

// What does a server of ws gain when it asks for framemask/ws instead? The same server on both (ws
// with bufferutil), each in a process of its own, over loopback. The clients write ready frames to
// raw sockets, so that the server is what is measured.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

const { readArguments, readCount, refuse } = require('./support/arguments');
const { broadcast, startBroadcast } = require('./support/broadcast-peers');
const { COMPRESSED, CONNECTIONS, ECHO } = require('./support/echo-work');
const { TEXT } = require('./support/messages');
const { createProgress } = require('./support/progress');
const { publish, reportLine, startReport } = require('./support/report');
const { compareTurns, formatStandings, takeTurns, toRow } = require('./support/server-turns');
const { formatTable } = require('./support/table');
const { weighServer } = require('./support/weigh-server');
const { kernel } = require('../index.js');

const USAGE = `usage: node benchmark/ws.js [options]

Measures servers of ws and of framemask/ws over loopback. Prints medians of messages a second and of the server's
processor time for each message, and how many times better framemask/ws is, with quartiles over the rounds. Takes about
four minutes.

  --only <text>     only the rows whose name has this in it
  --clients <n>     how many connections a broadcast goes to (default 300)
  --idle <n>        how many idle connections are weighed (default 1000)
  --turn <ms>       how long a turn of a server takes (default 500)
  --candidate <m>   the module to measure, from the current folder or by its name (default: framemask/ws)`;

const BROADCAST = {
  '1 × 64 B': { size: 64, count: 1 },
  '10 × 64 B': { size: 64, count: 10 },
  '10 × 4 KiB': { size: 4096, count: 10 }
};

/**
 * Something that both servers do.
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {'echo' | 'callbacks' | 'deflate' | 'broadcast'} kind
 * @property {object} work as echo-load.js or broadcast-peers.js take it
 */

/** @type {Row[]} */
const ROWS = [
  ...Object.entries(ECHO).map(([name, work]) => ({ name: `echo ${name}`, kind: 'echo', work })),
  ...Object.entries(ECHO).map(([name, work]) => ({ name: `echo ${name}, callbacks`, kind: 'callbacks', work })),
  { name: 'echo 20 × 1 KiB, deflate', kind: 'deflate', work: COMPRESSED['20 × 1 KiB'] },
  ...Object.entries(BROADCAST).map(([name, work]) => ({ name: `broadcast ${name}`, kind: 'broadcast', work }))
];
/** What the rows of each kind are called together. */
const GROUPS = {
  echo: 'echo',
  callbacks: 'echo with callbacks',
  deflate: 'echo with permessage-deflate',
  broadcast: 'broadcast'
};
const IDLE = 'idle connections';
/** The name of the candidate that is measured against ws. */
const OWN = 'framemask/ws';

const support = (script) => path.join(__dirname, 'support', script);

/**
 * Starts the servers of one kind, measures its rows, and ends them.
 *
 * @param {Row[]} rows
 * @param {Record<string, string>} modules by the name of the candidate
 * @param {{ rounds: number, turn: number, clients: number }} options
 * @param {(row: Row) => void} onRow is called before each
 */
async function measureKind(rows, modules, { rounds, turn, clients }, onRow) {
  if (rows.length === 0) return [];
  const { kind } = rows[0];
  const children = [];
  const run = {};
  const results = [];
  try {
    if (kind === 'broadcast') {
      for (const [name, module] of Object.entries(modules)) {
        const peers = await startBroadcast(module, clients);
        children.push(peers.server, peers.drain);
        // Messages a second, until the last client has the last one.
        run[name] = async (work) => {
          const { arrived, microseconds } = await broadcast(peers, 'ws', work, clients, turn);
          const messages = work.count * clients;
          return { rate: (messages * 1000) / arrived, cost: microseconds / messages };
        };
      }
    } else {
      const client = fork(support('echo-load.js'));
      children.push(client);
      for (const [name, module] of Object.entries(modules)) {
        const server = fork(support('ws-server.js'), [module, kind]);
        children.push(server);
        const [{ port }] = await once(server, 'message');
        run[name] = async (work) => {
          const where = { port, pid: server.pid };
          client.send({ ...work, ...where, first: TEXT, connections: CONNECTIONS, milliseconds: turn });
          const [{ error, ...result }] = await once(client, 'message');
          if (error !== undefined) throw new Error(error);
          return result;
        };
      }
    }
    for (const row of rows) {
      onRow(row);
      const each = Object.entries(run).map(([name, put]) => [name, () => put(row.work)]);
      const turns = await takeTurns(Object.fromEntries(each), rounds);
      results.push({ name: row.name, kind, own: OWN, standings: compareTurns(turns, OWN) });
    }
  } finally {
    for (const child of children) child.kill();
  }
  return results;
}

function formatIdle(idle) {
  const head = ['a connection, beside its socket', 'heap, B', 'external, B', 'resident, B'];
  const cells = ({ heap, external, resident }) => [heap, external, resident].map((bytes) => `${Math.round(bytes)}`);
  const rows = Object.entries(idle).flatMap(([name, { opened, used }]) => [
    [name, ...cells(opened)],
    [`${name}, after an echo`, ...cells(used)]
  ]);
  return formatTable(head, rows);
}

async function main() {
  const text = { type: 'string' };
  const values = readArguments(USAGE, {
    only: { ...text, default: '' },
    clients: { ...text, default: '300' },
    idle: { ...text, default: '1000' },
    turn: text,
    candidate: { ...text, default: path.join(__dirname, '..', 'ws.js') }
  });
  const { rounds, quick, json, only, candidate } = values;
  const own = values.candidate.startsWith('.') ? path.resolve(candidate) : candidate;
  const modules = { [OWN]: own, ws: 'ws' };
  const rows = ROWS.filter(({ name }) => name.includes(only));
  const weighs = IDLE.includes(only);
  try {
    require.resolve(own);
    if (rows.length === 0 && !weighs) throw new RangeError(`no row has "${only}" in its name`);
  } catch (error) {
    refuse(error);
  }
  const options = {
    rounds,
    turn: readCount('turn', values.turn ?? (quick ? '150' : '500')),
    clients: readCount('clients', values.clients)
  };
  const finish = await startReport('ws');
  const progress = createProgress(rows.length + (weighs ? 1 : 0));
  const results = [];
  for (const kind of ['echo', 'callbacks', 'deflate', 'broadcast']) {
    const chosen = rows.filter((row) => row.kind === kind);
    results.push(...(await measureKind(chosen, modules, options, ({ name }) => progress.step(name))));
  }
  let idle = null;
  if (weighs) {
    progress.step(IDLE);
    idle = await weighServer(modules, readCount('idle', values.idle), quick ? 1 : 3);
  }
  progress.end();

  const reported = results.map((result) => toRow(result, GROUPS[result.kind]));
  const { turn, clients } = options;
  const peers = ['bufferutil', 'ws'];
  const report = await finish({ quick, rounds, turn, clients, kernel, peers, idle, rows: reported });
  const lines = [reportLine(report, `broadcasts to ${clients}`)];
  if (results.length > 0) lines.push(formatStandings(`${CONNECTIONS} connections`, results));
  if (idle !== null) lines.push(formatIdle(idle));
  publish(report, json, lines.join('\n\n'));
}

main();
