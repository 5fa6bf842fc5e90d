'use strict';

// A chunk may be any Uint8Array; anything else is refused.

const assert = require('node:assert/strict');
const vm = require('node:vm');
const t = require('tap');
const { createCodecBackend } = require('../../../lib/codec/backend');
const { forEachCase } = require('../../support/cases');
const { decoderOver } = require('../../support/codecs');
const { ROLES, forEachDecoder } = require('../../support/decoders');
const { framesFor } = require('../../support/frames');
const { createGarbage } = require('../../support/garbage');
const { createNativeDouble } = require('../../support/native-double');
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

t.test('the frames of a chunk are found by one call into the addon, a single frame by none', (t) => {
  forEachCase(ROLES, (role) => {
    const double = createNativeDouble();
    const DecoderOver = decoderOver(createCodecBackend(double));
    const f = framesFor(role);
    /** How often the addon has looked for frames, after which chunks. */
    const scans = (...chunks) => {
      const decoder = new DecoderOver({ role });
      double.calls.length = 0;
      for (const chunk of chunks) decoder.write(chunk);
      return double.calls.filter((call) => call === 'scan').length;
    };
    assert.equal(scans(Buffer.concat(Array(100).fill(f.text('a')))), 1, '100 frames');
    for (const size of [0, 1, 60, 125]) {
      const one = f.binary('a'.repeat(size));
      assert.equal(scans(one), 0, `one frame of ${size} bytes`);
      assert.equal(scans(Buffer.concat([one, f.binary('b'.repeat(50))])), 1, `two frames, the first of ${size} bytes`);
      const cut = f.binary('c'.repeat(50));
      assert.equal(
        scans(cut.subarray(0, 20), Buffer.concat([cut.subarray(20), one])),
        0,
        `one frame of ${size} bytes behind the rest of another`
      );
      assert.equal(
        scans(cut.subarray(0, 20), Buffer.concat([cut.subarray(20), one, cut])),
        1,
        `two frames behind the rest of another, the first of ${size} bytes`
      );
    }
  });
  t.end();
});

t.test('decoders use one table after another, and another one only while the first is in use', (t) => {
  const tables = [];
  const backend = createCodecBackend(createNativeDouble());
  const DecoderOver = decoderOver({
    ...backend,
    scan(chunk, start, mode, table) {
      tables.push(table);
      return backend.scan(chunk, start, mode, table);
    }
  });
  const f = framesFor('client');
  const chunk = Buffer.concat([f.text('a'.repeat(10)), f.text('b'.repeat(10))]);
  const texts = [];
  const one = new DecoderOver({ role: 'client', onMessage: (text) => texts.push(text[0]) });
  const other = new DecoderOver({ role: 'client', onMessage: (text) => one.write(chunk) && texts.push(text[0]) });
  one.write(chunk);
  one.write(chunk);
  other.write(chunk);
  one.write(chunk);
  t.equal(texts.join(''), 'abababaabbab');
  t.equal(tables.length, 6);
  t.equal(new Set(tables).size, 2);
  t.end();
});
