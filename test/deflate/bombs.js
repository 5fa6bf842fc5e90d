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

function explode(target, maxPayload, contextTakeover, frames, threadPoolFrom = 0) {
  const how = `takeover ${contextTakeover}, ${frames} frames, thread pool from ${threadPoolFrom}`;
  t.test(`a bomb of 512 MiB costs ${target} ${maxPayload / MIB} MiB, and is refused with 1009: ${how}`, async (t) => {
    const args = [target, maxPayload, threadPoolFrom, contextTakeover, frames].map(String);
    const { closeCode, held, grown, size } = JSON.parse(await runScript(SCRIPT, args, { execArgv: ['--expose-gc'] }));
    t.equal(closeCode, 1009);
    t.ok(held <= maxPayload + size + MIB, `${(held / MIB).toFixed(2)} MiB of Buffers, ${(size / MIB).toFixed(2)} came`);
    if (grown !== null) t.ok(grown < maxPayload + RESIDENT, `the process grew by ${(grown / MIB).toFixed(1)} MiB`);
  });
}

for (const contextTakeover of [false, true]) {
  // A sample has each way to inflate with one limit; framemask/ws has another.
  for (const maxPayload of TRIES_ALL ? [MIB, 16 * MIB] : [MIB]) {
    explode('codec', maxPayload, contextTakeover, 1);
    explode('codec', maxPayload, contextTakeover, 50, 32_768);
    explode('codec', maxPayload, contextTakeover, 1, Infinity);
  }
  // It inflates frames one by one.
  for (const frames of TRIES_ALL ? [1, 50] : [contextTakeover ? 50 : 1])
    explode('ws', 24 * MIB, contextTakeover, frames);
}
