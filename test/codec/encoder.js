'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { writeHeader } = require('../../lib/codec/header');
const { nextMaskingKey } = require('../../lib/codec/masking-key');
const { prepare } = require('../../lib/codec/prepared');
const { assertBytes, forEachCase, testCases } = require('../support/cases');
const { assertSent, encoderOver } = require('../support/codecs');
const { ROLES, createDecoders } = require('../support/decoders');
const frames = require('../support/frames');

const { BINARY, CLOSE, CONTINUATION, KEY, PING, PONG, TEXT } = frames;
const { closePayload, frame, framesFor, mayBeSent, unmasked } = frames;

/** All that an encoder has collected, as one Buffer. */
const bytesOf = (encoder) => Buffer.concat(encoder.take());

t.test('5.7: encodes the examples of the RFC', async (t) => {
  const server = new Encoder({ role: 'server' });
  server.text('Hello');
  server.text('Hel', { fin: false });
  server.continuation('lo');
  server.ping('Hello');
  t.equal(bytesOf(server).toString('hex'), '810548656c6c6f' + '010348656c80026c6f' + '890548656c6c6f');
  server.binary(Buffer.alloc(256));
  t.equal(bytesOf(server).toString('hex', 0, 4), '827e0100');
  server.binary(Buffer.alloc(65536));
  t.equal(bytesOf(server).toString('hex', 0, 10), '827f0000000000010000');
});

const LENGTHS = [0, 1, 63, 64, 125, 126, 127, 4095, 16383, 16384, 32767, 32768, 65535, 65536, 200_001];

/** A test with an Encoder over each backend, in each role. */
function testEncoders(title, check) {
  testCases(title, createDecoders(), ({ backend }) => {
    const EncoderOver = encoderOver(backend);
    forEachCase(ROLES, (role) => check(EncoderOver, role));
  });
}

testEncoders('5.2: gives each payload the shortest header, masked or not', (Encoder, role) => {
  forEachCase(LENGTHS, (length) => {
    const data = Buffer.from(Array.from({ length }, (_, i) => (i * 7) & 255));
    const before = Buffer.from(data);
    const ascii = 'x'.repeat(length);
    const wide = Buffer.from('é€😀a'.repeat(length / 4 + 1))
      .subarray(0, length)
      .toString();
    const encoder = new Encoder({ role });
    encoder.binary(data);
    encoder.text(ascii);
    encoder.text(wide);
    const { pending } = encoder;
    const bytes = bytesOf(encoder);
    assert.equal(pending, bytes.length, 'pending counts the bytes');
    assert.equal(encoder.pending, 0, 'pending after take');
    const expected = Buffer.concat([frame(BINARY, data), frame(TEXT, ascii), frame(TEXT, wide)]);
    assertBytes(role === 'client' ? unmasked(bytes) : bytes, expected, 'the frames');
    assertBytes(data, before, 'the data of the caller, afterwards');
  });
  // The length counts bytes, not characters.
  const texts = ['é'.repeat(63), 'é'.repeat(125), '€'.repeat(42), '😀'.repeat(32), '\ud800', 'é'.repeat(4096)];
  forEachCase(texts, (text) => {
    const encoder = new Encoder({ role });
    encoder.text(text);
    assertSent(encoder, frame(TEXT, text));
  });
});

t.test('5.2: a header has the lengths that need more than 31 bits', async () => {
  for (const length of [2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1]) {
    const header = Buffer.alloc(10);
    writeHeader(header, 0, 0x82, length, 0);
    assertBytes(header, frame(BINARY, '', { length }), `${length}`);
  }
});

t.test('data may be bytes of any kind, and options null', async () => {
  const encoder = new Encoder({ role: 'server' });
  const shared = new SharedArrayBuffer(3);
  new Uint8Array(shared).set([7, 8, 9]);
  encoder.binary(new Uint16Array([0x0201, 0x0403]));
  encoder.binary(new DataView(Uint8Array.of(1, 2, 3, 4).buffer, 1, 2));
  encoder.binary(Uint8Array.of(5, 6).buffer);
  encoder.binary(shared);
  encoder.text(Buffer.from('€'), null);
  assertSent(
    encoder,
    frame(BINARY, Buffer.from(new Uint16Array([0x0201, 0x0403]).buffer)),
    frame(BINARY, [2, 3]),
    frame(BINARY, [5, 6]),
    frame(BINARY, [7, 8, 9]),
    frame(TEXT, '€')
  );
});

t.test('large data is sent without a copy, and masked in place, if that is allowed', async (t) => {
  const data = Buffer.alloc(16384, 1);
  const server = new Encoder({ role: 'server' });
  server.binary(data);
  t.equal(server.take()[1].buffer, data.buffer, 'of a server');
  const client = new Encoder({ role: 'client' });
  client.binary(data, { owned: true });
  const [header, payload] = client.take();
  t.equal(payload.buffer, data.buffer, 'of a client that owns it');
  t.notOk(data.equals(Buffer.alloc(16384, 1)), 'masked');
  assertBytes(unmasked(Buffer.concat([header, payload])), frame(BINARY, Buffer.alloc(16384, 1)));
});

t.test('behind bytes that wait in the stream, owned data from 1 KiB on is not copied', async (t) => {
  for (const role of ROLES) {
    const written = [];
    const stream = { writableLength: 0, write: (chunk) => written.push(chunk) };
    const encoder = new Encoder({ role, recycle: true });
    const countShared = (data, size) => {
      const payload = data.subarray(0, size);
      const piece = frame(BINARY, payload, { key: role === 'client' ? KEY : null });
      encoder.binary(payload, { owned: true });
      encoder.binary(payload);
      encoder.addFramed([piece], { owned: true });
      encoder.addFramed([piece]);
      encoder.flush(stream);
      return written.splice(0).filter(({ buffer }) => buffer === data.buffer || buffer === piece.buffer).length;
    };
    const ping = (writableLength) => {
      stream.writableLength = writableLength;
      encoder.ping();
      encoder.flush(stream);
      written.length = 0;
    };
    t.equal(countShared(Buffer.alloc(12_000), 12_000), 0, `${role}: all is copied when nothing waits`);
    ping(1);
    t.equal(countShared(Buffer.alloc(12_000), 1000), 0, `${role}: so is less than 1 KiB`);
    t.equal(countShared(Buffer.alloc(12_000), 1024), 2, `${role}: the rest is not`);
    ping(0);
    t.equal(countShared(Buffer.alloc(12_000), 12_000), 0, `${role}: all is copied again`);
  }
});

t.test('5.4: one message at a time, control frames between its fragments', async (t) => {
  const encoder = new Encoder({ role: 'server' });
  t.throws(() => encoder.continuation('x'), {
    code: 'ERR_INVALID_STATE',
    message: /No fragmented message has begun/
  });
  encoder.text('a', { fin: false, rsv1: true });
  t.throws(() => encoder.text('x'), { code: 'ERR_INVALID_STATE', message: /has not ended/ });
  t.throws(() => encoder.binary(Buffer.alloc(1)), { code: 'ERR_INVALID_STATE' });
  t.throws(() => encoder.addPrepared(prepare('x')), { code: 'ERR_INVALID_STATE' });
  encoder.ping('p');
  encoder.continuation('b', { fin: false });
  encoder.continuation(Buffer.from('c'), { owned: true });
  encoder.text('next', {});
  assertSent(
    encoder,
    frame(TEXT, 'a', { fin: false, rsv: 0x40 }),
    frame(PING, 'p'),
    frame(CONTINUATION, 'b', { fin: false }),
    frame(CONTINUATION, 'c'),
    frame(TEXT, 'next')
  );
});

testEncoders('5.6: the fragments of a text are one text, wherever strings are cut', (Encoder, role) => {
  const text = 'a\u{1f600}\udcff\u{1f680}\ud83d';
  for (let i = 0; i <= text.length; i++) {
    for (let j = i; j <= text.length; j++) {
      const pieces = [text.slice(0, i), text.slice(i, j), text.slice(j)];
      const encoder = new Encoder({ role });
      encoder.text(pieces[0], { fin: false });
      encoder.ping('p');
      encoder.continuation(pieces[1], { fin: false });
      encoder.continuation(pieces[2]);
      encoder.text('next', {});
      const messages = [];
      const peer = new Decoder({
        role: ROLES.find((other) => other !== role),
        onMessage: (data) => messages.push(data)
      });
      for (const bytes of encoder.take()) peer.write(bytes);
      assert.deepEqual(messages, [Buffer.from(text).toString(), 'next'], pieces.join('|'));
    }
  }

  // U+FFFD comes before anything but a string.
  const fragment = (payload, fin = false) => frame(CONTINUATION, payload, { fin });
  const framed = (payload) => frame(CONTINUATION, payload, { key: role === 'client' ? Buffer.alloc(4, 9) : null });
  for (const [what, send, ...expected] of [
    ['bytes', (encoder) => encoder.continuation(Buffer.from('b')), fragment('\ufffd'), fragment('b', true)],
    ['no bytes', (encoder) => encoder.continuation(new ArrayBuffer(0)), fragment('\ufffd'), fragment('', true)],
    ['nothing', (encoder) => encoder.continuation(''), fragment('\ufffd', true)],
    ['another half', (encoder) => encoder.continuation('\ud83d'), fragment('\ufffd\ufffd', true)],
    ['a frame', (encoder) => encoder.addFramed([framed('b')]), fragment('\ufffd'), fragment('b', true)],
    ['a refused value', refuse, fragment('\u{1f600}', true)]
  ]) {
    const encoder = new Encoder({ role });
    encoder.text('a\ud83d', { fin: false });
    send(encoder);
    encoder.text('next');
    const first = frame(TEXT, 'a', { fin: false });
    forEachCase([what], () => assertSent(encoder, first, ...expected, frame(TEXT, 'next')));
  }

  function refuse(encoder) {
    assert.throws(() => encoder.continuation(1), { code: 'ERR_INVALID_ARG_TYPE' });
    assert.throws(() => encoder.text('x'), { code: 'ERR_INVALID_STATE' });
    encoder.continuation('\ude00');
  }
});

/** Each method that sends, with arguments. */
const CALLS = [
  ['text', 'x'],
  ['binary', Buffer.alloc(1)],
  ['continuation', 'x'],
  ['ping'],
  ['pong'],
  ['close', 1000],
  ['close'],
  ['addPrepared', prepare('x')],
  ['addFramed', [frame(PING, '')]]
];

t.test('5.5.1: sends nothing after a Close frame', async (t) => {
  const encoder = new Encoder({ role: 'server' });
  t.equal(encoder.closed, false);
  encoder.close(1000, 'bye');
  t.equal(encoder.closed, true);
  for (const [method, ...args] of CALLS) encoder[method](...args);
  assertSent(encoder, frame(CLOSE, closePayload(1000, 'bye')));
});

testCases('7.4: sends each close code that may be sent, and no other', [...Array(6000).keys(), 65535], (code) => {
  const encoder = new Encoder({ role: 'server' });
  if (mayBeSent(code)) {
    encoder.close(code);
    assertSent(encoder, frame(CLOSE, closePayload(code)));
  } else {
    assert.throws(() => encoder.close(code, code === 1005 ? 'why' : ''), { code: 'ERR_OUT_OF_RANGE' });
    assert.equal(encoder.pending, 0, 'bytes of a frame that was refused');
    assert.equal(encoder.closed, false, 'closed by a frame that was refused');
  }
});

t.test('5.5: a control frame has at most 125 bytes, a Close frame a code before its reason', async (t) => {
  const encoder = new Encoder({ role: 'client' });
  const TYPE = 'ERR_INVALID_ARG_TYPE';
  const RANGE = 'ERR_OUT_OF_RANGE';
  const wrong = [
    ['close', ['1000'], TYPE, /"code" .* '1000'/],
    ['close', [undefined, 'why'], TYPE, /"code"/],
    ['close', [1000, 7], TYPE, /"reason"/],
    ['close', [1000, `${'€'.repeat(41)}x`], RANGE, /"reason" .* 124 bytes/],
    ['close', [1000.5], RANGE, /"code"/],
    ['ping', [Buffer.alloc(126)], RANGE, /"data" .* 126 bytes long/],
    ['pong', ['é'.repeat(63)], RANGE, /"data" .* 126 bytes long/],
    ['pong', [7], TYPE, /"data"/]
  ];
  for (const [method, args, code, message] of wrong) {
    t.throws(() => encoder[method](...args), { code, message }, `${method} ${String(args[0]).slice(0, 20)}`);
  }
  t.match(encoder, { closed: false, pending: 0 });
  encoder.ping(Buffer.alloc(125));
  encoder.pong('x'.repeat(125));
  encoder.pong();
  encoder.close(4999, Buffer.from('x'.repeat(123)));
  const expected = [frame(PING, Buffer.alloc(125)), frame(PONG, 'x'.repeat(125)), frame(PONG)];
  expected.push(frame(CLOSE, closePayload(4999, 'x'.repeat(123))));
  assertSent(encoder, ...expected);

  const bare = new Encoder({ role: 'server' });
  bare.close(1005); // the code that onClose reports for none
  assertSent(bare, frame(CLOSE));
});

t.test('an error names the wrong argument, and no bytes are collected', async (t) => {
  const expected = (what) => ({
    code: 'ERR_INVALID_ARG_TYPE',
    message: new RegExp(`"data" argument must be ${what},`)
  });
  const notData = expected('a string, a Buffer or other bytes');
  const notBytes = expected('a Buffer or other bytes');
  const encoder = new Encoder({ role: 'client' });
  forEachCase([undefined, null, 7, 7n, true, Symbol('x'), {}, [1], () => {}, { byteLength: 3 }], (data) => {
    assert.throws(() => encoder.text(data), notData, 'text');
    assert.throws(() => encoder.binary(data), notBytes, 'binary');
  });
  t.throws(() => encoder.binary('text'), notBytes);
  t.throws(() => encoder.addPrepared({ frame: Buffer.alloc(2) }), { code: 'ERR_INVALID_ARG_TYPE', message: /prepare/ });
  t.throws(() => encoder.addPrepared(prepare('x')), { code: 'ERR_INVALID_STATE', message: /server role/ });
  t.throws(() => prepare(7), { code: 'ERR_INVALID_ARG_TYPE', message: /"data"/ });
  t.equal(encoder.pending, 0);
});

t.test('a prepared message is framed once, for all encoders', async (t) => {
  const small = prepare('hé');
  const large = prepare('x'.repeat(70_000));
  const data = Buffer.from('utf8');
  const text = prepare(data, { binary: false, rsv1: true });
  data.fill(0);
  t.equal(small.length, 3);
  assertBytes(small.frame, frame(TEXT, 'hé'));
  assertBytes(prepare(Uint8Array.of(1, 2), null).frame, frame(BINARY, [1, 2]));
  assertBytes(text.frame, frame(TEXT, 'utf8', { rsv: 0x40 }), 'a copy of the data');
  assertBytes(large.frame, frame(TEXT, 'x'.repeat(70_000)));

  const encoder = new Encoder({ role: 'server' });
  encoder.addPrepared(small);
  const [first] = encoder.take();
  encoder.addPrepared(small);
  t.equal(encoder.take()[0], first, 'alone it is not copied');
  encoder.text('before');
  encoder.addPrepared(small);
  encoder.addPrepared(large);
  t.equal(encoder.pending, 8 + 5 + 70_010);
  const chunks = encoder.take();
  t.equal(chunks.length, 2, 'a small one is copied after the frames before it');
  t.ok(chunks[1].equals(large.frame), 'a large one is sent on its own');
  assertBytes(chunks[0], Buffer.concat([frame(TEXT, 'before'), frame(TEXT, 'hé')]));
});

const HELLO = frame(TEXT, 'hello');

t.test('only what prepare() has made is sent', async (t) => {
  const message = prepare('hello');
  const PreparedMessage = message.constructor;
  const { prototype } = PreparedMessage;
  const forged = {
    'an object of the same shape': { frame: HELLO, length: 5 },
    'an object of the same class': Object.create(prototype),
    'one with a frame': Object.create(prototype, { frame: { value: HELLO }, length: { value: 5 } }),
    'one that inherits from a message': Object.create(message),
    'a Proxy of a message': new Proxy(message, {}),
    'a copy of a message': structuredClone(message),
    'the prototype': prototype,
    null: null,
    undefined: undefined,
    'a string': 'hello',
    'a function': () => message
  };
  const encoder = new Encoder({ role: 'server' });
  const error = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE', message: /prepare\(\)/ };
  for (const time of ['once', 'again']) {
    forEachCase(forged, (value) => assert.throws(() => encoder.addPrepared(value), error, time));
  }
  t.throws(() => new PreparedMessage({ frame: HELLO, length: 5 }, {}), { code: 'ERR_INVALID_ARG_TYPE' });
  t.equal(encoder.pending, 0);
  encoder.addPrepared(new PreparedMessage('hello', {}));
  t.same(encoder.take(), [HELLO], 'the constructor frames data, as prepare() does');
});

t.test('a message can not be changed, and is refused when its memory has been transferred away', async (t) => {
  const message = prepare('hello');
  message.frame.fill(0);
  t.throws(() => {
    message.frame = Buffer.alloc(3);
  }, TypeError);
  t.throws(() => {
    message.length = 1;
  }, TypeError);
  Object.defineProperty(message, 'frame', { value: Buffer.alloc(3) });
  const encoder = new Encoder({ role: 'server' });
  encoder.addPrepared(message);
  t.equal(encoder.pending, HELLO.length);
  const [sent] = encoder.take();
  t.same(sent, HELLO);

  structuredClone(sent.buffer, { transfer: [sent.buffer] });
  t.throws(() => encoder.addPrepared(message), { code: 'ERR_INVALID_STATE', message: /transferred/ });
  t.equal(encoder.pending, 0);
  encoder.text('hello');
  t.same(encoder.take(), [HELLO]);
});

t.test('adds frames that others have framed', async (t) => {
  for (const role of ROLES) {
    const peer = role === 'server' ? 'client' : 'server';
    const f = framesFor(peer);
    const encoder = new Encoder({ role });
    const large = f.binary(Buffer.alloc(20_000, 7), { rsv: 0x40 });
    const frames = [f.text('a', { fin: false }), f.continuation('b'), large, f.ping('p')];
    const [first, second, third, ping] = frames;
    encoder.addFramed([first]);
    t.throws(() => encoder.text('x'), { code: 'ERR_INVALID_STATE' }, `${role}: amid a message`);
    encoder.addFramed([second]);
    encoder.addFramed([third.subarray(0, 14), third.subarray(14)]);
    encoder.addFramed([ping]);
    assertBytes(bytesOf(encoder), Buffer.concat(frames));

    const cut = [ping.subarray(0, 1), ping.subarray(1)];
    for (const pieces of [[], [ping.subarray(0, -1)], [ping, ping], [Buffer.alloc(0)], cut]) {
      t.throws(() => encoder.addFramed(pieces), /The "pieces" argument/, `${role}: ${pieces.length} pieces`);
    }
    const opposite = new Encoder({ role: peer });
    t.throws(() => opposite.addFramed([ping]), { code: 'ERR_OUT_OF_RANGE' }, `${role}: a frame of the other role`);
    opposite.addFramed([ping], { anyMask: true });
    assertBytes(bytesOf(opposite), ping);
    for (const none of [ping, [], {}]) t.throws(() => encoder.addFramed(none), /must be an array of Buffers/);
    t.throws(() => encoder.addFramed(['ping']), { code: 'ERR_INVALID_ARG_TYPE' });

    encoder.addFramed([f.close(1000)]);
    const { pending } = encoder;
    t.equal(encoder.closed, true);
    encoder.addFramed([ping]);
    t.equal(encoder.pending, pending, 'nothing follows a Close frame');
  }
});

t.test('5.3: keys are random and never 0, over several batches', async (t) => {
  const keys = Array.from({ length: 10_000 }, nextMaskingKey);
  t.ok(keys.every((key) => key === (key | 0) && key !== 0));
  // More than three equal pairs among 10,000 of 2^32 keys come once in 50 million runs.
  t.ok(new Set(keys).size > 9_996);
  for (let bit = 0; bit < 32; bit++) {
    const set = keys.filter((key) => (key >>> bit) & 1).length;
    assert.ok(Math.abs(set - 5000) < 350, `bit ${bit} is 1 in ${set} of 10,000 keys: more than 7 sigma off`);
  }
});

/** Loads the masking keys with another source of random bytes. */
function loadKeys(t, randomFillSync, v8 = {}) {
  const modules = { crypto: { randomFillSync }, v8 };
  return t.mockRequire('../../lib/codec/masking-key', { '../../lib/shared/node-modules': modules }).nextMaskingKey;
}

t.test('a key of 0, which would mask nothing, is skipped', async (t) => {
  const nextMaskingKey = loadKeys(t, (keys) => {
    keys.fill(0);
    keys[5] = 7;
  });
  t.equal(nextMaskingKey(), 7);
  t.equal(nextMaskingKey(), 7, 'in the next batch');
});

t.test('keys are forgotten before a startup snapshot', async (t) => {
  const callbacks = [];
  const batches = [];
  const nextMaskingKey = loadKeys(t, (keys) => keys.fill(batches.push(keys)), {
    startupSnapshot: {
      isBuildingSnapshot: () => true,
      addSerializeCallback: (callback) => callbacks.push(callback)
    }
  });
  t.equal(nextMaskingKey(), 1);
  t.equal(callbacks.length, 1);
  callbacks[0]();
  t.ok(batches[0].every((key) => key === 0));
  t.equal(nextMaskingKey(), 2, 'of a new batch');
});

t.test('stop drops all that has collected, also memory that was transferred', async (t) => {
  const encoder = new Encoder({ role: 'server' });
  encoder.text('first');
  const [{ buffer }] = encoder.take();
  encoder.text('second');
  structuredClone(buffer, { transfer: [buffer] });
  encoder.stop();
  t.match(encoder, { closed: true, pending: 0 });
  encoder.text('third');
  t.same(encoder.take(), []);
  encoder.stop();
});
