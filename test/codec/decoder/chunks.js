'use strict';

const assert = require('node:assert/strict');
const vm = require('node:vm');
const t = require('tap');
const { createCodecBackend } = require('../../../lib/codec/backend');
const { forEachCase, testCases } = require('../../support/cases');
const { decoderOver } = require('../../support/codecs');
const { ROLES, chunkings, testDecoders } = require('../../support/decoders');
const { Decoder } = require('../../../lib/codec/decoder');
const { framesFor } = require('../../support/frames');
const { createGarbage } = require('../../support/garbage');
const { createNativeDouble } = require('../../support/native-double');
const { binary, string } = require('../../support/recorder');
const { Opcode } = require('../../../lib/shared/protocol');
const { withSubscriber } = require('../../support/subscribers');

// A chunk may be any Uint8Array; anything else is refused.

class Own extends Uint8Array {
  static get [Symbol.species]() {
    throw new Error('The class of a chunk must not be asked for views');
  }
}
class OwnBuffer extends Buffer {}

/** Copies bytes to the middle of a memory. */
function place(memory, bytes) {
  new Uint8Array(memory).fill(0xaa);
  const chunk = new Uint8Array(memory, 7, bytes.length);
  chunk.set(bytes);
  return chunk;
}

const SOURCES = {
  Buffer: (bytes) => Buffer.from(bytes),
  'a subclass of Uint8Array': (bytes) => new Own(Uint8Array.from(bytes).buffer),
  'a subclass of Buffer': (bytes) => Object.setPrototypeOf(Buffer.from(bytes), OwnBuffer.prototype),
  'another realm': (bytes) => vm.runInNewContext('Uint8Array.from(bytes)', { bytes: [...bytes] }),
  'the middle of its memory': (bytes) => place(new ArrayBuffer(bytes.length + 20), bytes),
  'shared memory': (bytes) => place(new SharedArrayBuffer(bytes.length + 20), bytes),
  'resizable memory': (bytes) => place(new ArrayBuffer(bytes.length + 20, { maxByteLength: 20_000 }), bytes)
};

const cut = (bytes, at) => [bytes.subarray(0, at), bytes.subarray(at)];

const someFrames = (f) => [
  f.text('Hello'),
  f.text('é'),
  f.binary('b'),
  f.text('t'.repeat(200)),
  f.binary('c', { fin: false }),
  f.continuation('d'),
  f.ping('p'),
  f.text('good: \ufffd')
];

testDecoders('write takes a Uint8Array of any class, realm and memory', ({ decodeCut, f, record }) => {
  const frames = someFrames(f);
  const bytes = Buffer.concat(frames);
  const expected = decodeCut(bytes, []);
  assert.equal(expected.length, 7, 'events of a Buffer');
  forEachCase(SOURCES, (make) => {
    forEachCase(chunkings(frames), (chunks) => {
      const { decoder, events } = record();
      for (const chunk of chunks) decoder.write(make(chunk));
      assert.deepEqual(events, expected);
    });
  });
});

testDecoders('an empty chunk changes nothing', ({ decodeCut, f, record }) => {
  const bytes = Buffer.concat(someFrames(f));
  const { decoder, events } = record();
  for (const empty of [Buffer.alloc(0), new Uint8Array(0)]) assert.equal(decoder.write(empty), true, 'write');
  for (const byte of bytes) {
    decoder.write(Buffer.alloc(0));
    decoder.write(Buffer.from([byte]));
    decoder.write(new Uint8Array(0));
  }
  assert.deepEqual(events, decodeCut(bytes, []), 'the events');
});

const isChunk = (value) => ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
const GARBAGE = createGarbage().filter((value) => !isChunk(value));

testDecoders('write refuses anything but a Uint8Array, and the decoder goes on', ({ f, record }) => {
  const { decoder, events } = record();
  const error = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
  const hi = f.text('hi');
  decoder.write(hi.subarray(0, 1));
  forEachCase(GARBAGE, (value) => assert.throws(() => decoder.write(value), { ...error, message: /"chunk"/ }));
  const message = 'The "chunk" argument must be a Buffer or Uint8Array, but was undefined';
  assert.throws(() => decoder.write(), { ...error, message });
  decoder.write(hi.subarray(1));
  assert.deepEqual(events, [string('hi')], 'the chunks before and after it');
  decoder.stop();
  assert.throws(() => decoder.write('text'), error, 'after stop, too');
});

testCases('the frames of a chunk are found by one call into the addon, a single frame by none', ROLES, (role) => {
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
  const two = f.binary('b'.repeat(50));
  const [begin, rest] = cut(two, 20);
  forEachCase([0, 1, 60, 125], (size) => {
    const one = f.binary('a'.repeat(size));
    assert.equal(scans(one), 0, 'one frame');
    assert.equal(scans(Buffer.concat([one, two])), 1, 'two frames');
    assert.equal(scans(begin, Buffer.concat([rest, one])), 0, 'one frame after the rest of another');
    assert.equal(scans(begin, Buffer.concat([rest, one, two])), 1, 'two frames after the rest of another');
  });
});

t.test('decoders use one table after another, and another one only while the first is in use', async (t) => {
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
});

// Chunks of all decoders here lie in one piece of memory, which is overwritten when `write`
// returns.
const memory = Buffer.alloc(64 * 1024);

/** Writes a copy of the bytes that belongs to the caller again when `write` returns. */
function lend(decoder, bytes) {
  const chunk = memory.subarray(0, bytes.length);
  bytes.copy(chunk);
  try {
    return decoder.write(chunk);
  } finally {
    memory.fill(0xff);
  }
}

/** Frames that make a chunk: of each kind, short and long. */
const framesOf = (f) => [
  f.text('short'),
  f.binary(Buffer.alloc(100, 1)),
  f.text('é'.repeat(2000)),
  f.binary(Buffer.alloc(0)),
  f.ping(Buffer.from('ping')),
  f.binary(Buffer.alloc(5000, 2)),
  f.text('fragment, ', { fin: false }),
  f.pong(Buffer.alloc(0)),
  f.continuation('more'),
  f.binary(Buffer.alloc(64, 3)),
  f.close(1000, 'bye')
];

testDecoders('borrowed: what is delivered stays when the chunk is overwritten', ({ decodeCut, f, record }) => {
  const bytes = Buffer.concat(framesOf(f));
  const ways = [[bytes], framesOf(f), ...Array.from({ length: 40 }, (_, i) => cut(bytes, i * 211 + 1))];
  const variants = [
    {},
    { text: 'buffer' },
    { text: 'buffer', skipUTF8Validation: true },
    { frames: true },
    { frames: true, onMessage: undefined, onPing: undefined, onPong: undefined, onClose: undefined }
  ];
  forEachCase(variants, (options) => {
    const expected = decodeCut(bytes, [], options);
    for (const chunks of ways) {
      const what = `${chunks.length} chunks, the first of ${chunks[0].length} bytes`;
      const { decoder, events, intact } = record({ ...options, borrowed: true });
      for (const chunk of chunks) lend(decoder, chunk);
      assert.deepEqual(events, expected, what);
      assert.ok(intact(), `${what}: the memory of a chunk is delivered`);
    }
  });
});

testDecoders('borrowed: what a pause holds back is copied', ({ decodeCut, f, record }) => {
  const { decoder, events, intact } = record({ borrowed: true, after: (_event, decoder) => decoder.pause() });
  const bytes = Buffer.concat(framesOf(f).slice(0, -1));
  assert.equal(lend(decoder, bytes), false, 'write says that the decoder is paused');
  assert.equal(lend(decoder, f.text('after')), false);
  assert.equal(lend(decoder, f.text('the pause')), false);
  while (decoder.paused) decoder.resume();
  assert.deepEqual(events, [...decodeCut(bytes, []), string('after'), string('the pause')]);
  assert.ok(intact(), 'the memory of a chunk is delivered');

  const last = record({ borrowed: true, after: () => last.events.length === 2 && last.decoder.pause() });
  lend(last.decoder, Buffer.concat([f.text('one'), f.text('second'), f.binary('')]));
  last.decoder.resume();
  assert.deepEqual(last.events, [string('one'), string('second'), binary('')], 'no bytes are left');
});

testDecoders('borrowed: a message in fragments takes one Buffer of its size if all have arrived', ({ f, record }) => {
  const { allocUnsafeSlow } = Buffer;
  const sizes = [];
  const messages = [];
  const { decoder } = record({ borrowed: true, text: 'buffer', onMessage: (data) => messages.push(data) });
  const list = (length) => [...Array(length - 1).fill(Buffer.alloc(100, length)), Buffer.alloc(1, length)];
  Buffer.allocUnsafeSlow = (size) => {
    sizes.push(size);
    return allocUnsafeSlow(size);
  };
  try {
    lend(decoder, Buffer.concat([2, 3, 9].flatMap((count) => f.fragments(Opcode.BINARY, list(count)))));
    assert.deepEqual(sizes, [101, 201, 801]);
    sizes.length = 0;
    // Each in a chunk of its own.
    for (const frame of f.fragments(Opcode.BINARY, list(9))) lend(decoder, frame);
    assert.deepEqual(sizes, [400, 800, 801]);
  } finally {
    Buffer.allocUnsafeSlow = allocUnsafeSlow;
  }
  assert.deepEqual(
    messages,
    [2, 3, 9, 9].map((count) => Buffer.concat(list(count)))
  );
  for (const { buffer, length } of messages) assert.ok(buffer.byteLength <= 8 * length, `${buffer.byteLength} bytes`);
});

testDecoders('borrowed: what a trace subscriber that pauses holds back is copied', ({ f, record }) => {
  const { decoder, events } = record({ borrowed: true });
  const chunk = Buffer.concat(['one', 'two', 'é'].map((text) => f.text(text)));
  withSubscriber(
    'framemask:frame',
    () => decoder.pause(),
    () => lend(decoder, chunk)
  );
  decoder.resume();
  assert.deepEqual(events, ['one', 'two', 'é'].map(string));
});

testDecoders('borrowed: what a handler that throws leaves is copied', ({ f, record }) => {
  const after = () => {
    throw new Error('of the handler');
  };
  const { decoder, events } = record({ borrowed: true, after });
  const chunk = Buffer.concat([f.text('one'), f.binary('two'), f.binary('')]);
  assert.throws(() => lend(decoder, chunk), /of the handler/);
  assert.throws(() => decoder.resume(), /of the handler/);
  assert.throws(() => lend(decoder, f.text('three')), /of the handler/);
  assert.throws(() => decoder.resume(), /of the handler/);
  decoder.resume();
  assert.deepEqual(events, [string('one'), binary('two'), binary(''), string('three')]);
});

testDecoders('borrowed: a chunk whose memory its caller transfers in a handler ends the decoder', ({ f, record }) => {
  const fails = () => {
    throw new Error('of the handler');
  };
  for (const act of [fails, (decoder) => decoder.pause()]) {
    const chunk = new Uint8Array(Buffer.concat([f.text('one'), f.binary('two')]));
    const after = (event, decoder) => {
      if (event[0] === 'error') return;
      structuredClone(chunk.buffer, { transfer: [chunk.buffer] });
      act(decoder);
    };
    const { decoder, events } = record({ borrowed: true, after });
    if (act === fails) assert.throws(() => decoder.write(chunk), /of the handler/);
    else decoder.write(chunk);
    decoder.resume();
    assert.deepEqual(events, [string('one'), ['error', 'DETACHED', 1011]]);
  }
});

testDecoders('borrowed: a chunk that a handler writes is copied', ({ f, record }) => {
  const running = record({
    borrowed: true,
    after(_event, decoder) {
      if (running.events.length === 1) lend(decoder, Buffer.concat([f.text('three'), f.text('four')]));
    }
  });
  // Without the copy of a chunk the handler would overwrite what it reads.
  running.decoder.write(Buffer.concat([f.text('one'), f.text('two')]));
  assert.deepEqual(running.events, ['one', 'two', 'three', 'four'].map(string));

  // A handler that `resume` calls: there is no current chunk.
  const held = record({
    borrowed: true,
    after(_event, decoder) {
      if (held.events.length === 1) lend(decoder, f.text('second'));
    }
  });
  const pause = () => held.decoder.pause();
  withSubscriber('framemask:frame', pause, () => lend(held.decoder, f.text('first')));
  held.decoder.resume();
  assert.deepEqual(held.events, ['first', 'second'].map(string));
});

testDecoders('borrowed: messages from 2 KiB on own their memory, shorter ones share 8 KiB', ({ Decoder, role, f }) => {
  const keep = (sizes) => {
    const kept = [];
    const decoder = new Decoder({ role, borrowed: true, onMessage: (data) => kept.push(data) });
    const payloads = sizes.map((size, i) => Buffer.alloc(size, i));
    lend(decoder, Buffer.concat(payloads.map((payload) => f.binary(payload))));
    assert.deepEqual(kept, payloads);
    return kept;
  };
  const kept = keep([10, 2047, 1000, 2048, 10, 5000, 5000, 10]);
  assert.ok(kept.every((data) => data.length < 2048 || data.buffer.byteLength === data.length));
  const shared = kept.slice(0, 3).map(({ buffer }) => buffer);
  assert.equal(new Set(shared).size, 1, 'the first three are neighbours');
  assert.ok(shared[0].byteLength < 10 + 2047 + 1000 + 30);
  assert.equal(kept[4].buffer.byteLength, 10, 'it has no short neighbour');
  for (const size of [240, 2047]) {
    const short = keep(Array(Math.floor(60_000 / size)).fill(size));
    const longest = Math.max(...short.map(({ buffer }) => buffer.byteLength));
    assert.ok(longest > 4096 && longest <= 8192, `${longest} bytes`);
  }
});

testDecoders('borrowed: a handler may transfer each payload, and all are delivered', ({ Decoder, role, f }) => {
  const sizes = [20, 3000, 3000, 100, 0, 100, 2047, 5000, 0, 2048, 1];
  const payloads = sizes.map((size, i) => Buffer.alloc(size, i + 1));
  const messages = Buffer.concat(payloads.flatMap((payload) => [f.binary(payload), f.text(payload)]));
  const expected = payloads.flatMap((payload) => [payload, payload]);
  const seen = [];
  const take = (bytes, start = 0, end = bytes.length) => {
    seen.push(Buffer.from(bytes.subarray(start, end)));
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  };
  const onFrame = (_firstByte, bytes, start, end) => take(bytes, start, end);
  const onMessage = (data) => take(data);
  lend(new Decoder({ role, text: 'buffer', borrowed: true, onMessage }), messages);
  lend(new Decoder({ role, text: 'buffer', borrowed: true, onFrame }), messages);
  assert.deepEqual(seen, [...expected, ...expected]);
  seen.length = 0;
  const pings = [Buffer.from('first'), Buffer.alloc(0), Buffer.from('third')];
  lend(new Decoder({ role, borrowed: true, onPing: onMessage }), Buffer.concat(pings.map((ping) => f.ping(ping))));
  assert.deepEqual(seen, pings);
});

testDecoders('borrowed: an onFrame that transfers an empty frame and others loses none', ({ f, record }) => {
  const shown = [];
  const onFrame = (_firstByte, bytes, start, end) => {
    shown.push(bytes.latin1Slice(start, end));
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  };
  const { decoder, events } = record({ borrowed: true, frames: true, onFrame });
  lend(decoder, Buffer.concat([f.pong(Buffer.alloc(0)), f.text('after it')]));
  assert.deepEqual([shown, events], [['', 'after it'], [['pong', '']]]);
});

t.test('messages that are kept share pieces, also if a handler pauses at each', async (t) => {
  const count = 2000;
  const frames = framesFor('server');
  const chunk = Buffer.concat(Array.from({ length: count }, (_, i) => frames.binary(Buffer.alloc(20, i))));
  for (const borrowed of [true, false]) {
    const kept = [];
    const decoder = new Decoder({
      role: 'server',
      borrowed,
      onMessage(data) {
        kept.push(data);
        this.pause();
      }
    });
    const lent = Buffer.from(chunk);
    decoder.write(lent);
    // It is read into again.
    if (borrowed) lent.fill(0xff);
    while (decoder.paused) decoder.resume();
    t.equal(kept.length, count);
    t.ok(kept.every((data, i) => data.equals(Buffer.alloc(20, i))));
    const held = [...new Set(kept.map(({ buffer }) => buffer))].reduce((sum, { byteLength }) => sum + byteLength, 0);
    t.ok(held <= chunk.length * 2, `${held} bytes are held for ${chunk.length}`);
  }
});

t.test('a piece that a handler transfers during a pause is copied again', async (t) => {
  const frames = framesFor('server');
  const kept = [];
  const decoder = new Decoder({
    role: 'server',
    borrowed: true,
    onMessage(data) {
      kept.push(`${data}`);
      structuredClone(data.buffer, { transfer: [data.buffer] });
      this.pause();
    }
  });
  decoder.write(Buffer.concat(['one', 'two', 'three'].map((text) => frames.binary(text))));
  while (decoder.paused) decoder.resume();
  t.same(kept, ['one', 'two', 'three']);
});
