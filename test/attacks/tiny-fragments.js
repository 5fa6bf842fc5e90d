'use strict';

// CVE-2026-48779: fragments of one byte cost the peer 7 bytes each, and a receiver that keeps each
// of them as a Buffer about a hundred.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachDecoder } = require('../support/decoders');
const { MIB, attackEchoServer, closeCodes, heldBy } = require('../support/targets');

/** The default of maxFragments, that of ws. */
const MAX_FRAGMENTS = 16 * 1024;

t.test('a decoder gathers fragments in one piece of memory, and counts them', (t) => {
  forEachDecoder(({ f, record }) => {
    const bytes = Buffer.concat([
      f.binary('x', { fin: false }),
      ...Array(999).fill(f.continuation('x', { fin: false }))
    ]);
    const make = () =>
      Array.from({ length: 10 }, () => {
        const { decoder } = record();
        for (let i = 0; i < 10; i++) decoder.write(Buffer.from(i === 0 ? bytes : bytes.subarray(f.binary('x').length)));
        assert.equal(decoder.closed, false);
        return decoder;
      });
    make();
    const held = heldBy(make);
    assert.ok(held < MIB, `10 messages of 10,000 fragments hold ${held} bytes`);

    const { decoder, events } = record();
    decoder.write(f.binary('x', { fin: false }));
    let fragments = 1;
    while (!decoder.closed) {
      decoder.write(f.continuation('x', { fin: false }));
      fragments++;
    }
    assert.equal(fragments, MAX_FRAGMENTS + 1);
    assert.deepEqual(events, [['error', 'TOO_MANY_FRAGMENTS', 1008]]);
  });
  t.end();
});

attackEchoServer(t, 'tiny-fragments', {
  onWs: true,
  async check(t, { attacker, held, running }) {
    await running;
    t.same(closeCodes(attacker), Array(5).fill(1008));
    t.ok(held < 8 * MIB, `${held} bytes held`);
  }
});
