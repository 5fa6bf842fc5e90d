'use strict';

// How much memory does a connection hold while nothing happens on it? framemask's Decoder and Encoder beside ws's Receiver
// and Sender, ten thousand pairs of each, in processes of their own. And what does a framemask connection hold while a peer
// has announced a frame of 1 GiB, and sent ten bytes of it?

const { execFileSync } = require('node:child_process');

const { readArguments, readCount } = require('./support/arguments');
const { describeMachine, machineLine } = require('./support/machine');
const { createProgress } = require('./support/progress');
const { median } = require('./support/statistics');
const { formatNumber, formatTable } = require('./support/table');
const { kernel } = require('../index.js');

const USAGE = `usage: node benchmark/idle-memory.js [options]

Prints the median bytes of memory a connection. Takes about ten seconds.

  --pairs <n>       how many connections (default 10000)`;

const noop = () => {};

/** What a server makes for a connection: by one function, as a server does, so that all share their handlers. */
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
      // Those that ws's own WebSocket has.
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

/** In a process of its own: prints the bytes that `pairs` pairs take, each. */
async function weigh(name, pairs) {
  const create = CONTESTANTS[name]();
  // What all pairs share exists before the first is weighed.
  const kept = Array.from({ length: 2 * (pairs + 100) }, () => null);
  const fill = (start, end) => {
    for (let i = start; i < end; i += 2) [kept[i], kept[i + 1]] = create();
  };
  fill(0, 200);
  const before = await usage();
  fill(200, kept.length);
  const after = await usage();
  const each = Object.keys(after).map((key) => [key, (after[key] - before[key]) / pairs]);
  console.log(JSON.stringify(Object.fromEntries(each)));
  return kept;
}

async function usage() {
  // Twice: memory outside the heap is freed after a collection, not by it.
  for (let i = 0; i < 2; i++) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  // `external` has `arrayBuffers` in it. The resident set has what the allocator needs besides, and pages half used.
  return { heap: heapUsed, external, resident: rss };
}

function main() {
  const values = readArguments(USAGE, { pairs: { type: 'string', default: '10000' }, weigh: { type: 'string' } });
  const pairs = readCount('pairs', values.pairs);
  if (values.weigh !== undefined) return weigh(values.weigh, pairs);

  const names = Object.keys(CONTESTANTS);
  const progress = createProgress(values.rounds);
  const turns = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < values.rounds; round++) {
    progress.step('each once');
    for (const name of names) {
      const args = ['--expose-gc', __filename, '--weigh', name, '--pairs', `${pairs}`];
      turns[name].push(JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })));
    }
  }
  progress.end();

  const results = names.map((name) => {
    const each = (key) => median(turns[name].map((turn) => turn[key]));
    return { name, heap: each('heap'), external: each('external'), resident: each('resident') };
  });
  const ws = results.find(({ name }) => name === 'ws');
  const machine = describeMachine(kernel);
  if (values.json) {
    console.log(JSON.stringify({ machine, pairs, results }, null, 2));
    return;
  }
  const head = ['a connection', 'heap, B', 'external, B', 'resident, B', 'heap and external : ws'];
  const rows = results.map(({ name, heap, external, resident }) => [
    name,
    ...[heap, external, resident].map((bytes) => formatNumber(Math.max(0, bytes))),
    ((heap + external) / (ws.heap + ws.external)).toFixed(2)
  ]);
  console.log(`${machineLine(machine)}; ${pairs} connections\n\n${formatTable(head, rows)}`);
}

main();
