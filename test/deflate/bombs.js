'use strict';

// A bomb, a message that inflates to a thousand times its size, costs maxPayload and 1 MiB at most,
// beside the message as it came.

const path = require('node:path');
const t = require('tap');
const { runScript } = require('../support/run-script');
const { TRIES_ALL } = require('../support/sample');

const SCRIPT = path.join(__dirname, '../support/inflate-bomb.js');
const MIB = 2 ** 20;
/** The process also grows by the heap of V8, and by what malloc adds to 16 KiB. */
const RESIDENT = 12 * MIB;

async function explode(t, target, maxPayload, threadPoolFrom, contextTakeover, frames) {
  const args = [target, maxPayload, threadPoolFrom, contextTakeover, frames].map(String);
  const { closeCode, held, grown, size } = JSON.parse(await runScript(SCRIPT, args, { execArgv: ['--expose-gc'] }));
  t.equal(closeCode, 1009);
  t.ok(held <= maxPayload + size + MIB, `${(held / MIB).toFixed(2)} MiB of Buffers, ${(size / MIB).toFixed(2)} came`);
  if (grown !== null) t.ok(grown < maxPayload + RESIDENT, `the process grew by ${(grown / MIB).toFixed(1)} MiB`);
}

/** A sample has each way to inflate with one limit; framemask/ws has another. */
const LIMITS = TRIES_ALL ? [MIB, 16 * MIB] : [MIB];

for (const maxPayload of LIMITS) {
  for (const contextTakeover of [false, true]) {
    for (const [threadPoolFrom, frames] of [
      [0, 1],
      [32_768, 50],
      [Number.POSITIVE_INFINITY, 1]
    ]) {
      const name = `${maxPayload / MIB} MiB, takeover ${contextTakeover}, thread pool from ${threadPoolFrom}`;
      t.test(`a bomb of 512 MiB costs maxPayload, and is refused with 1009: ${name}`, async (t) => {
        await explode(t, 'codec', maxPayload, threadPoolFrom, contextTakeover, frames);
      });
    }
  }
}

// Its frames are inflated one by one.
for (const contextTakeover of [false, true]) {
  for (const frames of [1, 50]) {
    t.test(`the same of framemask/ws: takeover ${contextTakeover}, ${frames} frames`, async (t) => {
      await explode(t, 'ws', 24 * MIB, 0, contextTakeover, frames);
    });
  }
}
