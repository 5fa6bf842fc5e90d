'use strict';

// CVE-2026-12151, CVE-2026-9675: empty fragments never exceed a limit of bytes, so they must be
// counted.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachDecoder } = require('../support/decoders');
const { MIB, attackEchoServer, closeCodes, heldBy } = require('../support/targets');

t.test('a decoder counts empty fragments, and holds nothing for them', (t) => {
  forEachDecoder(({ f, record }) => {
    for (const maxPayload of [0, undefined]) {
      const empty = f.continuation('', { fin: false });
      const { decoder, events } = record({ maxPayload });
      decoder.write(f.text('', { fin: false }));
      decoder.write(Buffer.concat(Array(16_383).fill(empty)));
      assert.equal(decoder.closed, false);
      decoder.write(Buffer.from(empty));
      assert.deepEqual(events, [['error', 'TOO_MANY_FRAGMENTS', 1008]]);
    }
    const make = () =>
      Array.from({ length: 100 }, () => {
        const { decoder } = record();
        decoder.write(f.text('', { fin: false }));
        decoder.write(Buffer.concat(Array(1000).fill(f.continuation('', { fin: false }))));
        return decoder;
      });
    make();
    const held = heldBy(make);
    assert.ok(held < MIB, `100 messages of 1,001 empty fragments hold ${held} bytes`);
  });
  t.end();
});

attackEchoServer(t, 'empty-fragments', {
  onWs: true,
  async check(t, { attacker, held, running }) {
    await running;
    t.same(closeCodes(attacker), Array(5).fill(1008));
    t.ok(held < 8 * MIB, `${held} bytes held`);
  }
});
