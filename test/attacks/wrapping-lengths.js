'use strict';

// CVE-2026-1528, CVE-2020-27813: 64-bit lengths that become negative or small when they are read
// into a shorter or signed number, or added to those of earlier fragments.

const assert = require('node:assert/strict');
const t = require('tap');
const { LENGTHS } = require('../support/attacks/attacks');
const { forEachDecoder } = require('../support/decoders');
const { MIB, attackEchoServer, closeCodes } = require('../support/targets');

t.test('a decoder refuses each at the last byte of its header', (t) => {
  forEachDecoder(({ f, refusedAfter, decode }) => {
    for (const length of LENGTHS) {
      const code = length >= 2n ** 63n ? 'LENGTH' : 'MESSAGE_TOO_BIG';
      const closeCode = code === 'LENGTH' ? 1002 : 1009;
      for (const begin of [[], [f.binary('x', { fin: false })]]) {
        const make = begin.length === 0 ? f.binary : f.continuation;
        const header = make('', { length, lengthSize: 8 });
        const frames = [...begin, header, Buffer.alloc(16)];
        assert.deepEqual(decode(frames), [['error', code, closeCode]], `${length}`);
        // A top bit is refused with the length, before the masking key.
        const bytes = Buffer.concat(frames);
        const last = bytes.length - 16;
        const at = refusedAfter(bytes);
        assert.ok(at <= last, `${length}: refused after byte ${at} of ${last}`);
      }
    }
  });
  t.end();
});

t.test('without a limit, the lengths of fragments still do not wrap', (t) => {
  forEachDecoder(({ f, record }) => {
    const { decoder, events } = record({ maxPayload: Number.POSITIVE_INFINITY });
    decoder.write(f.binary(Buffer.alloc(1000), { fin: false }));
    decoder.write(f.continuation('', { length: 2n ** 53n - 1n, lengthSize: 8 }));
    decoder.write(Buffer.alloc(16));
    assert.deepEqual(events, [['error', 'MESSAGE_TOO_BIG', 1009]]);
  });
  t.end();
});

attackEchoServer(t, 'wrapping-lengths', {
  onWs: true,
  connections: LENGTHS.length,
  async check(t, { attacker, held, library, running }) {
    await running;
    // ws has one code for both.
    const wrapping = library === 'framemask' ? 1002 : 1009;
    t.same(closeCodes(attacker).sort(), LENGTHS.map((length) => (length >= 2n ** 63n ? wrapping : 1009)).sort());
    t.ok(held < 8 * MIB, `${held} bytes held`);
  }
});
