'use strict';

// How does the entry for HttpArena do beside the same entry on ws? One process of each, over
// loopback, with the messages of echo-ws and echo-ws-pipeline.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

const { readArguments, readCount } = require('./support/arguments');
const { startServer } = require('./support/echo-servers');
const { TEXT } = require('./support/messages');
const { createProgress } = require('./support/progress');
const { publish, reportLine, startReport } = require('./support/report');
const { compareTurns, formatStandings, takeTurns, toRow } = require('./support/server-turns');
const { KINDS } = require('../examples/httparena/server');
const { kernel } = require('../index.js');

const USAGE = `usage: node benchmark/httparena.js [options]

Measures examples/httparena over loopback, on a Decoder and an Encoder, on framemask/ws and on ws. Prints medians of
messages a second and of the server's processor time for each message, and how many times better the first is, with
quartiles over the rounds. Takes about half a minute.

  --connections <n>  how many connections send (default 512)
  --turn <ms>        how long a turn of a server takes (default 500)`;

/** What each connection sends at once, before it waits for all of it to come back. */
const ROWS = {
  'echo-ws': { pipelined: 1, size: 5 },
  'echo-ws-pipeline': { pipelined: 16, size: 5 }
};
const [OWN] = KINDS;

const support = (script) => path.join(__dirname, 'support', script);

/** @param {string} kind @returns {import('./support/echo-servers').EchoServer} */
const serverOf = (kind) => ({
  name: kind,
  kinds: ['bytes'],
  bare: false,
  command: () => [process.execPath, support('servers/httparena.js'), kind]
});

async function main() {
  const text = { type: 'string' };
  const values = readArguments(USAGE, { connections: { ...text, default: '512' }, turn: text });
  const { rounds, quick, json } = values;
  const turn = readCount('turn', values.turn ?? (quick ? '150' : '500'));
  const connections = readCount('connections', values.connections);
  const finish = await startReport('httparena');
  const progress = createProgress(Object.keys(ROWS).length);
  const client = fork(support('echo-load.js'));
  const children = [client];
  const results = [];
  try {
    const run = {};
    for (const kind of KINDS) {
      const { port, child } = await startServer(serverOf(kind));
      children.push(child);
      run[kind] = async (work) => {
        client.send({ ...work, port, pid: child.pid, first: TEXT, connections, milliseconds: turn });
        const [{ error, ...result }] = await once(client, 'message');
        if (error !== undefined) throw new Error(error);
        return result;
      };
    }
    for (const [name, work] of Object.entries(ROWS)) {
      progress.step(name);
      const each = Object.entries(run).map(([kind, put]) => [kind, () => put(work)]);
      const standings = compareTurns(await takeTurns(Object.fromEntries(each), rounds), OWN);
      results.push({ name, own: OWN, standings });
    }
  } finally {
    for (const child of children) child.kill();
  }
  progress.end();

  const rows = results.map((result) => toRow(result, 'HttpArena'));
  const report = await finish({ quick, rounds, turn, connections, kernel, peers: ['ws'], rows });
  publish(report, json, [reportLine(report), formatStandings(`${connections} connections`, results)].join('\n\n'));
}

main();
