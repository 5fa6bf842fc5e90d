'use strict';

// A chunk may be any Uint8Array; anything else is refused.

const assert = require('node:assert/strict');
const vm = require('node:vm');
const t = require('tap');
const { forEachCase } = require('../../support/cases');
const { forEachDecoder } = require('../../support/decoders');
const { createGarbage } = require('../../support/garbage');
const { string } = require('../../support/recorder');

class Own extends Uint8Array {
  static get [Symbol.species]() {
    throw new Error('The class of a chunk must not be asked for views');
  }
}
class OwnBuffer extends Buffer {}

const SOURCES = [
  { name: 'Buffer', make: (bytes) => Buffer.from(bytes) },
  { name: 'Uint8Array', make: (bytes) => Uint8Array.from(bytes) },
  { name: 'a subclass of Uint8Array', make: (bytes) => new Own(Uint8Array.from(bytes).buffer) },
  {
    name: 'a subclass of Buffer',
    make: (bytes) => Object.setPrototypeOf(Buffer.from(bytes), OwnBuffer.prototype)
  },
  { name: 'another realm', make: (bytes) => vm.runInNewContext('Uint8Array.from(bytes)', { bytes: [...bytes] }) },
  {
    name: 'the middle of its memory',
    make(bytes) {
      const memory = new Uint8Array(bytes.length + 20).fill(0xaa);
      memory.set(bytes, 7);
      return memory.subarray(7, 7 + bytes.length);
    }
  },
  {
    name: 'shared memory',
    make(bytes) {
      const chunk = new Uint8Array(new SharedArrayBuffer(bytes.length));
      chunk.set(bytes);
      return chunk;
    }
  },
  {
    name: 'resizable memory',
    make(bytes) {
      const chunk = new Uint8Array(new ArrayBuffer(bytes.length, { maxByteLength: bytes.length * 2 }));
      chunk.set(bytes);
      return chunk;
    }
  }
];

const framesOf = (f) => [
  f.text('Hello'),
  f.text('é'),
  f.binary('b'),
  f.text('t'.repeat(200)),
  f.binary('c', { fin: false }),
  f.continuation('d'),
  f.ping('p'),
  f.text('good: \ufffd')
];

t.test('write takes a Uint8Array of any class, realm and memory', (t) => {
  forEachDecoder(({ decodeCut, f, record }) => {
    const frames = framesOf(f);
    const bytes = Buffer.concat(frames);
    const expected = decodeCut(bytes, []);
    assert.equal(expected.length, 7, 'events of a Buffer');
    forEachCase(SOURCES, ({ make }) => {
      const whole = record();
      whole.decoder.write(make(bytes));
      assert.deepEqual(whole.events, expected, 'one chunk');
      const pieces = record();
      for (let i = 0; i < bytes.length; i += 7) pieces.decoder.write(make(bytes.subarray(i, i + 7)));
      assert.deepEqual(pieces.events, expected, 'chunks of seven bytes');
      const single = record();
      for (const frame of frames) single.decoder.write(make(frame));
      assert.deepEqual(single.events, expected, 'a chunk for each frame');
    });
  });
  t.end();
});

t.test('an empty chunk changes nothing', (t) => {
  forEachDecoder(({ decodeCut, f, record }) => {
    const bytes = Buffer.concat(framesOf(f));
    const { decoder, events } = record();
    for (const empty of [Buffer.alloc(0), new Uint8Array(0)]) assert.equal(decoder.write(empty), true, 'write');
    for (const byte of bytes) {
      decoder.write(Buffer.alloc(0));
      decoder.write(Buffer.from([byte]));
      decoder.write(new Uint8Array(0));
    }
    assert.deepEqual(events, decodeCut(bytes, []), 'the events');
  });
  t.end();
});

t.test('write refuses anything but a Uint8Array, and the decoder goes on', (t) => {
  const isChunk = (value) =>
    ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
  const garbage = createGarbage().filter((value) => !isChunk(value));
  forEachDecoder(({ f, record }) => {
    const { decoder, events } = record();
    const hi = f.text('hi');
    decoder.write(hi.subarray(0, 1));
    forEachCase(garbage, (value) => {
      assert.throws(() => decoder.write(value), {
        name: 'TypeError',
        code: 'ERR_INVALID_ARG_TYPE',
        message: /"chunk"/
      });
    });
    assert.throws(() => decoder.write(), {
      message: /"chunk" argument must be a Buffer or Uint8Array, but was undefined/
    });
    decoder.write(hi.subarray(1));
    assert.deepEqual(events, [string('hi')], 'the chunks before and after it');
    decoder.stop();
    assert.throws(() => decoder.write('text'), { code: 'ERR_INVALID_ARG_TYPE' }, 'after stop, too');
  });
  t.end();
});
