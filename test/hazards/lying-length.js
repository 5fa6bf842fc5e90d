'use strict';

// A view may have an own `length`, or be of a class whose `length` is anything. Bytes outside the
// view are neither read nor written, and no other connection notices.

const assert = require('node:assert/strict');
const t = require('tap');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');
const { assertBytes, forEachCase } = require('../support/cases');
const { forEachDecoder } = require('../support/decoders');
const { BINARY, KEY, TEXT, frame, framesFor } = require('../support/frames');
const { createMaskings } = require('../support/maskings');

const LENGTHS = [-1, -70_000, 0, 1, 2 ** 31, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, '7', undefined];

/** Views of bytes in the middle of other bytes, which say that they have another length. */
function* liars(bytes, length) {
  class Liar extends Uint8Array {
    get length() {
      return length;
    }
  }
  const memoryOf = () => {
    const memory = new ArrayBuffer(bytes.length + 2000);
    new Uint8Array(memory).fill(0xaa);
    new Uint8Array(memory).set(bytes, 1000);
    return memory;
  };
  const owner = Buffer.from(memoryOf(), 1000, bytes.length);
  Object.defineProperty(owner, 'length', { value: length });
  Object.defineProperty(owner, 'byteOffset', { value: 0 });
  yield { name: `own length ${String(length)}`, view: owner };
  yield { name: `class with length ${String(length)}`, view: new Liar(memoryOf(), 1000, bytes.length) };
}

function assertUntouched(view, size) {
  const all = new Uint8Array(view.buffer);
  assert.ok(
    all.subarray(0, 1000).every((byte) => byte === 0xaa),
    'bytes before the view'
  );
  assert.ok(
    all.subarray(1000 + size).every((byte) => byte === 0xaa),
    'bytes behind the view'
  );
}

t.test('mask and unmask', (t) => {
  forEachCase(createMaskings(), ({ mask, unmask }) => {
    const bytes = Buffer.from('x'.repeat(500));
    const expected = frame(BINARY, bytes, { key: KEY }).subarray(8);
    for (const length of LENGTHS) {
      forEachCase(liars(bytes, length), ({ view }) => {
        unmask(view, KEY);
        assertUntouched(view, 500);
        assertBytes(new Uint8Array(view.buffer, 1000, 500), expected);
      });
      forEachCase(liars(bytes, length), ({ view }) => {
        const output = Buffer.alloc(500);
        mask(view, KEY, output, 0, 500);
        assertBytes(output, expected);
        mask(bytes, KEY, view, 0, 500);
        assertUntouched(view, 500);
        assert.throws(() => mask(view, KEY, Buffer.alloc(600), 0, 501), { code: 'ERR_OUT_OF_RANGE' });
        assert.throws(() => mask(Buffer.alloc(600), KEY, view, 0, 501), { code: 'ERR_OUT_OF_RANGE' });
      });
      forEachCase(liars(KEY, length), ({ view }) => {
        const copy = Buffer.from(bytes);
        unmask(copy, view);
        assertBytes(copy, expected);
      });
    }
  });
  t.end();
});

t.test('Encoder and prepare', (t) => {
  forEachCase(['server', 'client'], (role) => {
    const other = new Encoder({ role: 'server' });
    for (const size of [3, 500, 20_000, 70_000]) {
      const bytes = Buffer.alloc(size, 'x');
      for (const length of LENGTHS) {
        forEachCase(liars(bytes, length), ({ view }) => {
          const encoder = new Encoder({ role });
          encoder.binary(view);
          const sent = Buffer.concat(encoder.take());
          assert.equal(sent.length, frame(BINARY, bytes, { key: role === 'client' ? KEY : null }).length);
          if (role === 'server') assertBytes(sent, frame(BINARY, bytes));
          if (size < 100) {
            encoder.ping(view);
            encoder.close(1000, view);
            assert.equal(Buffer.concat(encoder.take()).length, 2 * (role === 'client' ? 6 : 2) + 2 * size + 2);
          }
          assertBytes(prepare(view).frame, frame(BINARY, bytes));
          other.text('as ever');
          assertBytes(Buffer.concat(other.take()), frame(TEXT, 'as ever'));
        });
      }
    }
  });
  t.end();
});

t.test('Decoder', (t) => {
  forEachDecoder(({ Decoder, role }) => {
    const f = framesFor(role);
    const frames = [f.text('a'.repeat(200)), f.binary('b'.repeat(300)), f.text('c')];
    // Fragments are copied out of the chunk.
    const fragments = [f.binary('d', { fin: false }), f.continuation('e'.repeat(40))];
    const bytes = Buffer.concat([...frames, ...fragments]);
    for (const length of LENGTHS) {
      forEachCase(liars(bytes, length), ({ view }) => {
        const messages = [];
        const decoder = new Decoder({ role, onMessage: (data) => messages.push(data.length) });
        decoder.write(view);
        assert.deepEqual(messages, [200, 300, 1, 41]);
        assertUntouched(view, bytes.length);
      });
    }
  });
  t.end();
});
