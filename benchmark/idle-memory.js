'use strict';

// How much memory does an idle connection hold? framemask's Decoder and Encoder beside ws's
// Receiver and Sender, ten thousand pairs of each, each kind in a process of its own. And how much
// does a framemask connection hold after its peer has announced a frame of 1 GiB and sent ten bytes
// of it?

const { runBenchmark } = require('./support/harness');
const { execFileSync } = require('node:child_process');
const { count } = require('./support/options');
const { weigh } = require('./support/weigh');

const USAGE = `usage: node benchmark/idle-memory.js [options]

Prints the median bytes of heap and external memory that a connection holds. Takes about ten seconds.`;

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

/** Weighs in a process of its own, which is this program with another argument. */
function weighAlone(name, pairs) {
  const args = ['--expose-gc', __filename, 'weigh', name, `${pairs}`];
  const { heap, external } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  return { held: heap + external };
}

async function main() {
  const [, , task, name, pairs] = process.argv;
  if (task === 'weigh') {
    console.log(JSON.stringify(await weigh(CONTESTANTS[name](), Number(pairs))));
    return;
  }
  await runBenchmark({
    name: 'idle-memory',
    usage: USAGE,
    options: { pairs: count('<n>', 'how many connections', 10_000) },
    peers: ['ws'],
    sets({ pairs }) {
      const candidates = () =>
        Object.fromEntries(Object.keys(CONTESTANTS).map((who) => [who, () => weighAlone(who, pairs)]));
      const rows = [{ name: 'idle connection', group: 'memory of an idle connection', pairs: [] }];
      return [{ rows, start: () => ({ candidates }) }];
    }
  });
}

main();
