'use strict';

// ws 8.22.2: a small payload that is kept, and that is a view of what the socket read, keeps all
// 64 KiB of it. framemask delivers Buffers as views, and its documentation says so: copy what is
// kept for long. This test holds what is promised: texts and copies keep no chunk.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachDecoder } = require('../support/decoders');
const { heldBy } = require('../support/targets');

const CHUNKS = 50;
/** Half of what the chunks would be. */
const MAX_HELD = (CHUNKS * 64 * 1024) / 2;
const CHUNK = 64 * 1024;

/** Keeps the first message of each chunk. */
function keepFirst({ Decoder, f, role }, make, keep) {
  const frame = make(f);
  const chunk = Buffer.concat(Array(Math.floor(CHUNK / frame.length)).fill(frame));
  return () => {
    const kept = [];
    let first = true;
    const take = (data) => {
      if (first) kept.push(keep(data));
      first = false;
    };
    const decoder = new Decoder({ role, onMessage: take, onPing: take });
    for (let i = 0; i < CHUNKS; i++) {
      first = true;
      decoder.write(Buffer.from(new Uint8Array(chunk).buffer));
    }
    assert.equal(kept.length, CHUNKS);
    return kept;
  };
}

t.test('a short text that is kept keeps no chunk', (t) => {
  forEachDecoder((one) => {
    for (const text of ['x'.repeat(100), 'é'.repeat(50)]) {
      const make = keepFirst(
        one,
        (f) => f.text(text),
        (data) => data
      );
      make();
      const held = heldBy(make);
      assert.ok(held < MAX_HELD, `${held / CHUNKS} bytes each`);
    }
  });
  t.end();
});

t.test('a copy of a payload keeps no chunk', (t) => {
  forEachDecoder((one) => {
    for (const kind of ['binary', 'ping']) {
      const make = keepFirst(
        one,
        (f) => f[kind]('x'.repeat(100)),
        (data) => Buffer.from(data)
      );
      make();
      const held = heldBy(make);
      assert.ok(held < MAX_HELD, `${kind}: ${held / CHUNKS} bytes each`);
    }
  });
  t.end();
});

t.test('a decoder between two chunks keeps neither', (t) => {
  forEachDecoder(({ f, record }) => {
    const make = () =>
      Array.from({ length: CHUNKS }, () => {
        const { decoder } = record({ onMessage() {} });
        // The last frame is cut in its header, or in its payload.
        for (const size of [1, 8]) {
          const bytes = Buffer.concat([
            ...Array(600).fill(f.text('x'.repeat(94))),
            f.text('x'.repeat(94)).subarray(0, size)
          ]);
          decoder.write(Buffer.from(new Uint8Array(bytes).buffer));
          if (size === 1) decoder.write(Buffer.from(f.text('x'.repeat(94)).subarray(1)));
        }
        return decoder;
      });
    make();
    const held = heldBy(make);
    assert.ok(held < MAX_HELD, `${held / CHUNKS} bytes each`);
  });
  t.end();
});
