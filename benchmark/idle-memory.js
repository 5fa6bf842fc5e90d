'use strict';

// How much memory does an idle connection hold? framemask's Decoder and Encoder beside ws's
// Receiver and Sender, ten thousand pairs of each, each kind in a process of its own. And how much
// does a framemask connection hold after its peer has announced a frame of 1 GiB and sent ten bytes
// of it? With --sockets: how much memory does a connection of a whole server hold?

const { execFileSync } = require('node:child_process');

const { readArguments, readCount } = require('./support/arguments');
const { findServers } = require('./support/echo-servers');
const { createProgress } = require('./support/progress');
const { publish, reportLine, startReport } = require('./support/report');
const { quartiles } = require('./support/statistics');
const { formatNumber, formatTable } = require('./support/table');
const { weigh } = require('./support/weigh');
const { weighProcess } = require('./support/weigh-server');
const { kernel } = require('../index.js');

const USAGE = `usage: node benchmark/idle-memory.js [options]

Prints the median bytes that a connection holds. Takes about ten seconds.

  --pairs <n>       how many connections (default 10000)
  --sockets         connections over loopback to the servers of echo.js: how much the resident memory of the server
                    grows for each, idle and idle after an echo; three rounds of 15 seconds for each server. Servers
                    in Node.js and Bun collect their garbage before
  --servers <text>  only the servers whose name has this in it; may be given several times
  --no-fetch        download nothing`;

const noop = () => {};

/** Each makes what a server makes for a connection. All connections share their handlers. */
const CONTESTANTS = {
  framemask() {
    const { Decoder, Encoder } = require('../index.js');
    const handlers = { onMessage: noop, onPing: noop, onPong: noop, onClose: noop, onError: noop };
    return () => [new Decoder({ role: 'server', ...handlers }), new Encoder({ role: 'server' })];
  },
  ws() {
    const { Receiver, Sender } = require('ws');
    return () => {
      const receiver = new Receiver({ isServer: true });
      // The events that ws's own WebSocket listens to.
      for (const event of ['conclude', 'drain', 'error', 'message', 'ping', 'pong']) receiver.on(event, noop);
      return [receiver, new Sender(null)];
    };
  },
  'framemask, 1 GiB announced'() {
    const { Decoder, Encoder } = require('../index.js');
    const header = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4]);
    return () => {
      const decoder = new Decoder({ role: 'server', onMessage: noop, maxPayload: 2 ** 31 });
      decoder.write(Buffer.concat([header, Buffer.alloc(10)]));
      return [decoder, new Encoder({ role: 'server' })];
    };
  }
};

/** Weighs whole servers by turns, and prints the medians. */
async function weighSockets(connections, { servers: texts, 'no-fetch': noFetch, quick, json }) {
  const wanted = (name) => texts.some((text) => name.includes(text));
  const servers = findServers(wanted, ['bytes'], !noFetch);
  const rounds = quick ? 1 : 3;
  const finish = await startReport('idle-memory-sockets');
  const progress = createProgress(rounds * servers.length);
  const turns = new Map(servers.map((server) => [server, []]));
  for (let round = 0; round < rounds; round++) {
    for (const server of servers) {
      progress.step(server.name);
      turns.get(server).push(await weighProcess(server, connections));
    }
  }
  progress.end();

  const candidates = Object.fromEntries(
    [...turns].map(([{ name }, list]) => {
      const each = (state) => quartiles(list.map((turn) => turn[state]));
      return [name, { opened: each('opened'), used: each('used') }];
    })
  );
  const measured = [{ name: 'idle connection', group: 'memory of a server', candidates, timesFaster: [] }];
  const report = await finish({ quick, rounds, connections, kernel, rows: measured });
  const head = ['a connection with its socket', 'resident, B', 'after an echo, B', `${connections} of them, MiB`];
  const rows = Object.entries(candidates).map(([name, { opened, used }]) => [
    name,
    ...[opened, used].map(([, bytes]) => `${Math.round(bytes)}`),
    formatNumber((used[1] * connections) / 1024 ** 2)
  ]);
  publish(report, json, `${reportLine(report, `${connections} connections`)}\n\n${formatTable(head, rows)}`);
}

async function main() {
  const values = readArguments(USAGE, {
    pairs: { type: 'string', default: '10000' },
    sockets: { type: 'boolean', default: false },
    servers: { type: 'string', multiple: true, default: [''] },
    'no-fetch': { type: 'boolean', default: false },
    weigh: { type: 'string' }
  });
  const pairs = readCount('pairs', values.pairs);
  if (values.weigh !== undefined) {
    console.log(JSON.stringify(await weigh(CONTESTANTS[values.weigh](), pairs)));
    return;
  }

  if (values.sockets) {
    await weighSockets(pairs, values);
    return;
  }

  const finish = await startReport('idle-memory');
  const names = Object.keys(CONTESTANTS);
  const progress = createProgress(values.rounds);
  const turns = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < values.rounds; round++) {
    progress.step('all kinds');
    for (const name of names) {
      const args = ['--expose-gc', __filename, '--weigh', name, '--pairs', `${pairs}`];
      turns[name].push(JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })));
    }
  }
  progress.end();

  const candidates = Object.fromEntries(
    names.map((name) => {
      const each = (measure) => quartiles(turns[name].map(measure));
      const figures = {
        objects: each(({ heap, external }) => heap + external),
        resident: each((turn) => turn.resident)
      };
      return [name, { ...figures, heap: each((turn) => turn.heap), external: each((turn) => turn.external) }];
    })
  );
  const rows = [{ name: 'idle connection', group: 'memory of an idle connection', candidates, timesFaster: [] }];
  const { quick, rounds } = values;
  const report = await finish({ quick, rounds, pairs, kernel, peers: ['ws'], rows });
  const head = ['a connection', 'heap, B', 'external, B', 'resident, B', "times ws's heap and external"];
  const lines = Object.entries(candidates).map(([name, { heap, external, resident, objects }]) => [
    name,
    ...[heap, external, resident].map(([, bytes]) => formatNumber(Math.max(0, bytes))),
    (objects[1] / candidates.ws.objects[1]).toFixed(2)
  ]);
  publish(report, values.json, `${reportLine(report, `${pairs} connections`)}\n\n${formatTable(head, lines)}`);
}

main();
