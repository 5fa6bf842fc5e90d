'use strict';

// onPart: messages that are delivered as their bytes arrive.

const assert = require('node:assert/strict');
const diagnostics = require('node:diagnostics_channel');
const { EventEmitter, once } = require('node:events');
const { deflateRawSync } = require('node:zlib');
const t = require('tap');
const { Decoder: PublicDecoder, Encoder } = require('../../../index');
const { Dispatcher } = require('../../../lib/codec/dispatcher');
const { supportsSyncZlib } = require('../../../lib/deflate/zlib-handle');
const { assertBytes, forEachCase } = require('../../support/cases');
const { testDecoders } = require('../../support/decoders');
const { agree, deflateByZlib } = require('../../support/deflate');
const { framesFor, piecesOf } = require('../../support/frames');
const { createRandom, seed } = require('../../support/random');
const { TRIES_ALL } = require('../../support/sample');
const { withSubscriber } = require('../../support/subscribers');

/** Deno: see the last test. */
const skip = !supportsSyncZlib();
const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Messages as they were delivered, in parts or as a whole, the parts, and the codes of errors.
 * `after` is called after each part.
 */
function collect(Decoder, { after, ...options }) {
  const messages = [];
  const parts = [];
  const codes = [];
  let begun = null;
  const onPart = (data, isBinary, isLast) => {
    begun ??= { data: [], isBinary, inParts: true };
    begun.data.push(Buffer.from(data));
    parts.push({ data, isLast });
    if (isLast) {
      messages.push({ ...begun, data: Buffer.concat(begun.data) });
      begun = null;
    }
    after?.(decoder);
  };
  const onMessage = (data, isBinary) => messages.push({ data: Buffer.from(data), isBinary, inParts: false });
  const onError = ({ code }) => codes.push(code.replace('FRAMEMASK_ERR_', ''));
  const decoder = new Decoder({ onPart, onMessage, onError, ...options });
  return { codes, decoder, messages, parts };
}

/** The parts as strings; the last one of a message ends with a full stop. */
const show = (parts) => parts.map(({ data, isLast }) => `${data}${isLast ? '.' : ''}`);

/** The next turn of the event loop: all decoders together inflate 2 MiB in a turn. */
const nextTurn = () => new Promise(setImmediate);

const settled = async (decoder) => {
  while (decoder.inflating) await nextTurn();
};

testDecoders('a part comes with each chunk, in the middle of a frame', ({ Decoder, role, f }) => {
  for (const borrowed of [false, true]) {
    const { decoder, parts } = collect(Decoder, { role, borrowed });
    const frame = f.binary(Buffer.from('0123456789'));
    for (const [from, to] of [[0, frame.length - 8], [frame.length - 8, frame.length - 3], [frame.length - 3]]) {
      const chunk = Buffer.from(frame.subarray(from, to));
      decoder.write(chunk);
      if (borrowed) chunk.fill(0);
    }
    assert.deepEqual(show(parts), ['01', '23456', '789.']);
    assert.ok(parts.every(({ data }) => Buffer.isBuffer(data)));
  }
});

const STREAMS = TRIES_ALL ? 300 : 100;

// Frames, chunks, pauses and compression of any kind.
t.test(`parts joined are the messages, of ${STREAMS} random streams (seed ${seed})`, async () => {
  const random = createRandom(seed);
  const letters = [...'aé€😀'];
  const agreements = [
    null,
    agree({ threadPoolFrom: Infinity }),
    agree({ contextTakeover: true, threadPoolFrom: Infinity })
  ];
  for (let i = 0; i < STREAMS; i++) {
    const deflate = agreements[skip ? 0 : i % 3];
    const text = ['string', 'buffer'][random(2)];
    const options = {
      borrowed: random(2) === 0,
      text,
      partsFrom: [0, 0, 100, 1000][random(4)],
      skipUTF8Validation: text === 'buffer' && random(2) === 0
    };
    const encoder = new Encoder({ role: 'client', deflate: deflate?.client });
    const expected = [];
    for (let m = 0; m < 3; m++) {
      const isBinary = random(2) === 0;
      const size = [0, 1, 50, 200, 3000, 20_000][random(6)];
      const data = Buffer.from(Array.from({ length: size }, () => letters[random(4)]).join(''));
      expected.push({ data, isBinary });
      const count = 1 + random(3);
      let at = 0;
      for (let f = 0; f < count; f++) {
        const end = f === count - 1 ? data.length : at + random(data.length - at + 1);
        const fin = f === count - 1;
        const piece = data.subarray(at, end);
        if (f !== 0) encoder.continuation(piece, { fin });
        else encoder[isBinary ? 'binary' : 'text'](piece, { fin, compress: random(3) !== 0 });
        if (random(3) === 0) encoder.ping('between');
        at = end;
      }
    }
    const { decoder, messages, parts } = collect(PublicDecoder, {
      role: 'server',
      deflate: deflate?.server,
      maxPayload: Infinity,
      ...options
    });
    const bytes = Buffer.concat(encoder.take());
    // Long streams in tiny pieces take most of the time, and show no more.
    const most = [bytes.length < 5000 ? 5 : 100, 500, 70_000][random(3)];
    for (let at = 0, end; at < bytes.length; at = end) {
      end = at + 1 + random(most);
      const chunk = Buffer.from(bytes.subarray(at, end));
      if (random(4) === 0) decoder.pause();
      decoder.write(chunk);
      if (options.borrowed) chunk.fill(0xee);
      if (random(2) === 0) decoder.resume();
    }
    decoder.resume();
    await settled(decoder);
    assert.equal(messages.length, expected.length, `stream ${i}: messages`);
    for (const [m, { data, isBinary }] of messages.entries()) {
      assert.equal(isBinary, expected[m].isBinary, `stream ${i}, message ${m}`);
      assertBytes(data, expected[m].data, `stream ${i}, message ${m}`);
    }
    for (const { data, inParts } of messages) assert.equal(inParts, data.length >= options.partsFrom);
    assert.ok(parts.every(({ data, isLast }) => isLast || data.length > 0));
    assert.ok(parts.every(({ data }) => typeof data !== 'string' || !data.includes('\ufffd')));
  }
});

testDecoders('partsFrom: a message comes in parts once it is known to be long enough', ({ Decoder, role, f }) => {
  const { decoder, messages, parts } = collect(Decoder, { role, partsFrom: 10 });
  decoder.write(Buffer.concat([f.text('short'), f.text('exactly 10'), f.binary('a longer message')]));
  decoder.write(f.text('12345', { fin: false }));
  decoder.write(f.continuation('6789', { fin: false }));
  assert.equal(parts.length, 2, 'gathered');
  const last = f.continuation('abc');
  decoder.write(last.subarray(0, last.length - 1));
  decoder.write(last.subarray(last.length - 1));
  const found = messages.map(({ data, inParts }) => `${data}: ${inParts}`);
  assert.deepEqual(found, ['short: false', 'exactly 10: true', 'a longer message: true', '123456789abc: true']);
  assert.deepEqual(show(parts.slice(2)), ['123456789', 'ab', 'c.']);
});

testDecoders('a frame of 2^53 - 1 bytes costs no memory; maxPayload limits the message', ({ Decoder, role, f }) => {
  const head = f.binary('', { length: 2n ** 53n - 1n, lengthSize: 8 });
  const unlimited = collect(Decoder, { role, maxPayload: Infinity });
  unlimited.decoder.write(head);
  for (let i = 0; i < 3; i++) unlimited.decoder.write(Buffer.alloc(1000));
  const lengths = unlimited.parts.map(({ data }) => data.length);
  assert.deepEqual(lengths, [1000, 1000, 1000]);
  const limited = collect(Decoder, { role, maxPayload: 2 ** 53 - 2 });
  limited.decoder.write(head);
  assert.deepEqual(limited.codes, ['MESSAGE_TOO_BIG']);
  const fragments = collect(Decoder, { role, maxPayload: 9 });
  fragments.decoder.write(Buffer.concat([f.binary('12345', { fin: false }), f.continuation('67890')]));
  assert.deepEqual(fragments.codes, ['MESSAGE_TOO_BIG'], 'fragments');
  assert.equal(fragments.parts.length, 1);
});

testDecoders('text: invalid at the last byte or before, and cut in a character at the end', ({ Decoder, role, f }) => {
  const text = Buffer.concat([Buffer.from('€'.repeat(100)), Buffer.from([0xe2, 0x82])]);
  const invalid = Buffer.from(text);
  invalid[invalid.length - 1] = 0x41;
  for (const payload of [text, invalid, Buffer.concat([invalid, text])]) {
    for (const options of [{}, { text: 'buffer' }, { borrowed: true }]) {
      const { codes, decoder, parts } = collect(Decoder, { role, ...options });
      for (const byte of f.text(payload)) decoder.write(Buffer.of(byte));
      assert.deepEqual(codes, ['UTF8']);
      assert.equal(Buffer.concat(parts.map(({ data }) => Buffer.from(data))).length, 300);
    }
  }
});

testDecoders('a handler that throws, pauses, stops or writes', ({ Decoder, role, f }) => {
  const bytes = f.binary('abcdef');
  const at = bytes.length - 4;
  const [begin, end] = [() => Buffer.from(bytes.subarray(0, at)), () => Buffer.from(bytes.subarray(at))];
  const next = () => f.text('next');
  let act;
  const after = () => {
    const now = act;
    act = null;
    now?.();
  };
  const { decoder, parts } = collect(Decoder, { role, after });
  act = () => {
    throw new Error('thrown');
  };
  assert.throws(() => decoder.write(begin()), /thrown/);
  decoder.write(end());
  act = () => decoder.pause();
  decoder.write(begin());
  assert.equal(decoder.write(Buffer.concat([end(), next()])), false);
  assert.deepEqual(show(parts), ['ab', 'cdef.', 'ab']);
  act = () => decoder.write(f.text('written inside'));
  decoder.resume();
  act = () => decoder.stop();
  decoder.write(begin());
  decoder.write(Buffer.concat([end(), next()]));
  assert.deepEqual(show(parts), ['ab', 'cdef.', 'ab', 'cdef.', 'next.', 'written inside.', 'ab']);
});

testDecoders('gathered bytes, then an empty frame whose handler stops, pauses or throws', ({ Decoder, role, f }) => {
  const actions = {
    stop: (decoder) => decoder.stop(),
    pause: (decoder) => decoder.pause(),
    throw: () => {
      throw new Error('thrown');
    }
  };
  for (const [name, action] of Object.entries(actions)) {
    const after = (decoder) => parts.length === 1 && action(decoder);
    const { decoder, parts } = collect(Decoder, { role, partsFrom: 4, after });
    const long = f.continuation('67890', { fin: false });
    decoder.write(f.text('123', { fin: false }));
    try {
      decoder.write(long.subarray(0, long.length - 5));
    } catch (error) {
      assert.equal(name, 'throw', error);
    }
    decoder.resume();
    decoder.write(Buffer.concat([long.subarray(long.length - 5), f.continuation('')]));
    assert.deepEqual(show(parts), name === 'stop' ? ['123'] : ['123', '67890', '.'], name);
  }
});

t.test('memory that a handler transfers in the middle of a chunk', { skip }, async () => {
  await nextTurn();
  const { text, binary } = framesFor('server');
  const { server, client } = agree({ threadPoolFrom: Infinity });
  const encoder = new Encoder({ role: 'client', deflate: client });
  encoder.binary(Buffer.alloc(200 * KIB), { compress: true });
  const compressed = Buffer.concat(encoder.take());
  forEachCase([binary('b'.repeat(100)), compressed], (second) => {
    let first;
    const { codes, decoder } = collect(PublicDecoder, {
      role: 'server',
      deflate: server,
      partsFrom: 50,
      onMessage: (data) => (first = data),
      onPart() {
        structuredClone(first.buffer, { transfer: [first.buffer] });
        first = new Uint8Array(1);
      }
    });
    // In memory of its own, not of Node's pool.
    const chunk = Buffer.concat([binary('keep me'), second, text('x'.repeat(100))]);
    decoder.write(new Uint8Array(chunk));
    assert.deepEqual(codes, ['DETACHED']);
  });
});

testDecoders('joined parts can be transferred: they do not lie in the pool of Node.js', ({ Decoder, role, f }) => {
  const { decoder, parts } = collect(Decoder, { role, borrowed: true, text: 'buffer', partsFrom: 4 });
  const [first, second] = [f.text('aé', { fin: false }), f.continuation('aéaé')];
  // The first frame is not enough for a part, and the second chunk ends within a character.
  const at = second.length - 4;
  for (const chunk of [first, second.subarray(0, at), second.subarray(at)]) decoder.write(Buffer.from(chunk));
  assert.equal(Buffer.concat(parts.map(({ data }) => data)).toString(), 'aéaéaé');
  for (const { data } of parts) {
    structuredClone(data.buffer, { transfer: [data.buffer] });
    assert.equal(data.length, 0);
  }
});

t.test('parts that wait during a pause, and were transferred meanwhile', async (t) => {
  const { binary, continuation } = framesFor('server');
  const after = (decoder) => decoder.pause();
  const { codes, decoder } = collect(PublicDecoder, { role: 'server', partsFrom: 8, after });
  decoder.write(new Uint8Array(binary('12345', { fin: false })));
  const chunk = new Uint8Array(continuation('67890'));
  decoder.write(chunk);
  structuredClone(chunk.buffer, { transfer: [chunk.buffer] });
  decoder.resume();
  t.same(codes, ['DETACHED']);
});

t.test('compressed: a bomb comes in parts of 64 KiB, as they are asked for, up to maxPayload', { skip }, async (t) => {
  const { binary } = framesFor('server');
  const bomb = deflateByZlib(Buffer.alloc(16 * MIB));
  for (const contextTakeover of [false, true]) {
    await nextTurn();
    const { codes, decoder, parts } = collect(PublicDecoder, {
      role: 'server',
      deflate: agree({ contextTakeover }).server,
      maxPayload: 8 * MIB,
      after: (decoder) => decoder.pause()
    });
    const lengths = () => parts.map(({ data }) => data.length);
    decoder.write(binary(bomb, { rsv: 0x40 }));
    t.same(lengths(), [64 * KIB]);
    let turns = 0;
    while (!decoder.closed) {
      decoder.resume();
      if (decoder.inflating) {
        turns++;
        t.equal(decoder.write(Buffer.alloc(0)), false);
        await settled(decoder);
      }
    }
    t.same(lengths(), Array((8 * MIB) / (64 * KIB)).fill(64 * KIB));
    t.ok(turns >= 3, 'it goes on in other turns of the event loop');
    t.same(codes, ['MESSAGE_TOO_BIG']);
  }
});

t.test('compressed: not DEFLATE, a final block, an empty message, stopped while it waits', { skip }, async (t) => {
  await nextTurn();
  const { server } = agree({ contextTakeover: true });
  const { binary, text } = framesFor('server');
  const { codes, decoder, messages } = collect(PublicDecoder, { role: 'server', deflate: server });
  const final = deflateRawSync(Buffer.from('final'));
  const rsv = 0x40;
  // The tail of a message (RFC 7692 section 7.2.2) completes a final block that has begun.
  const begun = binary(Buffer.of(1), { rsv });
  const after = text(final, { rsv });
  decoder.write(Buffer.concat([binary(final, { rsv }), binary('', { rsv }), begun, after, text('plain')]));
  const found = messages.map(({ data, isBinary }) => `${data}: ${isBinary}`);
  t.same(found, ['final: true', ': true', ': true', 'final: false', 'plain: false']);
  decoder.write(binary(Buffer.from([7, 7, 7]), { rsv }));
  t.same(codes, ['DEFLATE']);

  const bomb = deflateByZlib(Buffer.alloc(8 * MIB));
  const { decoder: stopped, parts } = collect(PublicDecoder, { role: 'server', deflate: server });
  stopped.write(binary(bomb, { rsv }));
  t.ok(stopped.inflating);
  const { length } = parts;
  stopped.stop();
  await nextTurn();
  await nextTurn();
  t.equal(parts.length, length);
});

t.test('compressed: in parts from partsFrom bytes on, else as a message with fragmentLengths', { skip }, async (t) => {
  const { server, client } = agree({});
  for (const [partsFrom, expected] of [
    [12, [['message', [5, 6]]]],
    // The second one is empty, and ends the message.
    [11, Array(2).fill(['part', undefined])]
  ]) {
    const encoder = new Encoder({ role: 'client', deflate: client });
    encoder.text('hello', { fin: false, compress: true });
    encoder.continuation(' world');
    const found = [];
    const decoder = new PublicDecoder({
      role: 'server',
      deflate: server,
      partsFrom,
      fragmentLengths: true,
      onMessage: () => found.push(['message', decoder.fragmentLengths]),
      onPart: () => found.push(['part', decoder.fragmentLengths])
    });
    for (const byte of Buffer.concat(encoder.take())) decoder.write(Buffer.of(byte));
    t.same(found, expected, `partsFrom ${partsFrom}`);
  }
});

t.test('onInflated is called when the parts of a turn have been delivered', { skip }, async (t) => {
  const { server } = agree({});
  const bomb = deflateByZlib(Buffer.alloc(3 * MIB));
  let bytes = 0;
  const events = new EventEmitter();
  const decoder = new PublicDecoder({
    role: 'server',
    deflate: server,
    onPart(data, _isBinary, isLast) {
      bytes += data.length;
      if (isLast) events.emit('last');
    },
    onInflated: () => events.emit('inflated')
  });
  const inflated = once(events, 'inflated');
  const last = once(events, 'last');
  t.equal(decoder.write(framesFor('server').binary(bomb, { rsv: 0x40 })), false);
  await Promise.all([inflated, last]);
  t.equal(bytes, 3 * MIB);
});

t.test('records come when a frame and a message are complete; a subscriber may stop the decoder', async (t) => {
  const { text, continuation } = framesFor('server');
  const published = [];
  const [frames, messages] = ['framemask:frame', 'framemask:message'];
  const onFrame = ({ length, sequence }) => published.push(`frame ${sequence}: ${length}`);
  const onMessage = ({ length, fragments }) => published.push(`message of ${fragments}: ${length}`);
  diagnostics.subscribe(frames, onFrame);
  diagnostics.subscribe(messages, onMessage);
  const { decoder } = collect(PublicDecoder, { role: 'server' });
  for (const byte of Buffer.concat([text('12345', { fin: false }), continuation('678')]))
    decoder.write(Buffer.of(byte));
  decoder.write(Buffer.concat([text('ab', { fin: false }), continuation('c')]));
  t.same(published.splice(0, 3), ['frame 1: 5', 'frame 2: 3', 'message of 2: 8']);
  t.same(published.splice(0), ['frame 3: 2', 'frame 4: 1', 'message of 2: 3']);
  for (const channel of [frames, messages]) {
    const { decoder: stopped, messages: delivered } = collect(PublicDecoder, { role: 'server' });
    const write = () => piecesOf(text('stopped'), 1).map((byte) => stopped.write(byte));
    withSubscriber(channel, () => stopped.stop(), write);
    t.same(delivered, [], channel);
  }
  diagnostics.unsubscribe(frames, onFrame);
  diagnostics.unsubscribe(messages, onMessage);
});

t.test('without synchronous zlib, onPart and deflate exclude each other', async (t) => {
  const options = { onPart() {} };
  const agreement = agree({}).server;
  const create = (sync) => new Dispatcher({ role: 'server' }, options, agreement, sync);
  t.throws(() => create(false), { code: 'ERR_INVALID_STATE', message: /without synchronous zlib/ });
  t.doesNotThrow(() => create(true));
});
