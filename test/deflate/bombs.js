'use strict';

// A bomb, a message that inflates to a thousand times its size, costs maxPayload and no more.

const assert = require('node:assert/strict');
const path = require('node:path');
const t = require('tap');
const { runScript } = require('../support/run-script');

const SCRIPT = path.join(__dirname, '../support/inflate-bomb.js');
const MIB = 2 ** 20;
/** What the process grows by meanwhile: the compressed message, gathered, the heap, and threads. */
const NOISE = 16 * MIB;

for (const maxPayload of [MIB, 32 * MIB]) {
  for (const contextTakeover of [false, true]) {
    for (const [threadPoolFrom, frames] of [
      [0, 1],
      [32_768, 50],
      [Number.POSITIVE_INFINITY, 1]
    ]) {
      const name = `${maxPayload / MIB} MiB, takeover ${contextTakeover}, thread pool from ${threadPoolFrom}`;
      t.test(`a bomb of 512 MiB costs maxPayload, and is refused with 1009: ${name}`, async (t) => {
        const args = [maxPayload, threadPoolFrom, contextTakeover, frames].map(String);
        const { closeCode, grown } = JSON.parse(await runScript(SCRIPT, args, { execArgv: ['--expose-gc'] }));
        t.equal(closeCode, 1009);
        t.comment(`grown by ${(grown / MIB).toFixed(1)} MiB`);
        assert.ok(grown < maxPayload + NOISE, `${(grown / MIB).toFixed(1)} MiB`);
        t.end();
      });
    }
  }
}
