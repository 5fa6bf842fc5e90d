'use strict';

// CVE-2026-48779: a payload that arrives byte by byte. A receiver that keeps each chunk until the
// payload is complete keeps about a hundred bytes for each byte.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachDecoder } = require('../support/decoders');
const { MIB, attackEchoServer, heldBy } = require('../support/targets');

t.test('a decoder keeps no chunks', (t) => {
  forEachDecoder(({ f, record }) => {
    const make = () => {
      const { decoder } = record();
      decoder.write(f.binary('', { length: MIB }));
      for (let i = 0; i < 20_000; i++) decoder.write(Buffer.alloc(1));
      assert.equal(decoder.closed, false);
      return decoder;
    };
    make();
    const held = heldBy(make);
    assert.ok(held < MIB, `20,000 bytes hold ${held}`);
  });
  t.end();
});

attackEchoServer(t, 'tiny-chunks', {
  onWs: true,
  bytes: 20_000,
  async check(t, { held }) {
    t.ok(held < 8 * MIB, `${held} bytes held`);
  }
});
