'use strict';

// What does a message to a thousand connections cost the server? Prepared messages of framemask
// beside `send` of ws, the way that ws's authors advise for a broadcast, and the socket alone: one
// write of ready bytes for each client, which no library can avoid. Over loopback; the clients only
// read, in a process of their own.

const { readArguments, readCount } = require('./support/arguments');
const { broadcast, startBroadcast } = require('./support/broadcast-peers');
const { createProgress } = require('./support/progress');
const { timesFaster } = require('./support/race');
const { publish, reportLine, startReport } = require('./support/report');
const { quartiles } = require('./support/statistics');
const { formatNumber, formatSize, formatTable } = require('./support/table');
const { kernel } = require('../index.js');

const USAGE = `usage: node benchmark/broadcast.js [options]

Measures broadcasts over loopback. Prints the median microseconds of the server for each client, and the
milliseconds until the last client has all messages. Takes about two minutes.

  --clients <n>     how many connections (default 1000); each needs a file descriptor in both processes
  --turn <ms>       how long a turn of a candidate takes (default 400)`;

const WORK = [64, 4096].flatMap((size) => [1, 10].map((count) => ({ size, count })));

/** The ways to send, and the server that each belongs to. */
const WAYS = { framemask: 'framemask', ws: 'ws', 'ws, framed once': 'ws', 'socket alone': 'framemask' };

/** @returns {Promise<import('./support/report').Row>} `microseconds` a client, `arrived` in milliseconds */
async function measure(work, servers, { rounds, turn, clients }) {
  const names = Object.keys(WAYS);
  const turns = Object.fromEntries(names.map((way) => [way, { sent: [], arrived: [] }]));
  for (let round = -1; round < rounds; round++) {
    for (const way of round % 2 === 0 ? names : names.toReversed()) {
      const { sent, arrived } = await broadcast(servers[WAYS[way]], way, work, clients, turn);
      // Round -1 only warms up.
      if (round < 0) continue;
      turns[way].sent.push(sent);
      turns[way].arrived.push(arrived);
    }
  }
  const figures = ({ sent, arrived }) => ({
    microseconds: quartiles(sent.map((milliseconds) => (milliseconds / clients) * 1000)),
    arrived: quartiles(arrived)
  });
  return {
    name: `${work.count} × ${formatSize(work.size)}`,
    group: `broadcast to ${clients.toLocaleString('en')} connections`,
    candidates: Object.fromEntries(names.map((way) => [way, figures(turns[way])])),
    timesFaster: names
      .slice(1)
      .map((peer) => ({ own: 'framemask', peer, times: timesFaster(turns.framemask.sent, turns[peer].sent) }))
  };
}

function formatRows(rows) {
  const names = Object.keys(WAYS);
  const head = [
    'to each client',
    ...names.map((way) => `${way}, µs`),
    ...rows[0].timesFaster.map(({ peer }) => `times faster than ${peer}`),
    ...['framemask', 'ws'].map((way) => `${way}, all received, ms`)
  ];
  const lines = rows.map(({ name, candidates, timesFaster }) => [
    name,
    ...names.map((way) => formatNumber(candidates[way].microseconds[1])),
    ...timesFaster.map(({ times }) => times[1].toFixed(2)),
    formatNumber(candidates.framemask.arrived[1]),
    formatNumber(candidates.ws.arrived[1])
  ]);
  return formatTable(head, lines);
}

async function main() {
  const values = readArguments(USAGE, { clients: { type: 'string', default: '1000' }, turn: { type: 'string' } });
  const { rounds, quick, json } = values;
  const turn = readCount('turn', values.turn ?? (quick ? '100' : '400'));
  const clients = readCount('clients', values.clients);
  const finish = await startReport('broadcast');
  const progress = createProgress(WORK.length + 1);
  progress.step(`${clients} connections to each server`);
  const servers = { framemask: await startBroadcast('framemask', clients), ws: await startBroadcast('ws', clients) };
  const rows = [];
  try {
    for (const work of WORK) {
      progress.step(`${work.count} × ${formatSize(work.size)}`);
      rows.push(await measure(work, servers, { rounds, turn, clients }));
    }
  } finally {
    for (const { server, drain } of Object.values(servers)) {
      server.kill();
      drain.kill();
    }
  }
  progress.end();

  const report = await finish({ quick, rounds, turn, clients, kernel, peers: ['ws'], rows });
  publish(report, json, `${reportLine(report, `${clients} clients`)}\n\n${formatRows(rows)}`);
}

main();
