'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { Decoder } = require('../../../lib/codec/decoder');
const { forEachCase } = require('../../support/cases');
const { testDecoders } = require('../../support/decoders');
const { BINARY, CLOSE, CONTINUATION, KEY, TEXT, closePayload, frame, mayBeSent } = require('../../support/frames');
const { assertEvents, binary, record, string, textBuffer } = require('../../support/recorder');

// Good frames: messages and control frames of any length and content.

testDecoders('8.1: delivers every character, byte order marks and replacement characters too', ({ check, f }) => {
  for (const text of ['κόσμε 😀 \ufeff\ufffd\0', '\ufeffa', 'a\ufffdb', '\ufffd']) {
    check([f.text(text)], [string(text)], JSON.stringify(text));
  }
});

testDecoders('5.2: takes a payload of any length', ({ check, f }) => {
  for (const length of [1, 47, 48, 125, 126, 127, 128, 1000, 1023, 1024, 1025, 65535, 65536, 70000]) {
    const [text, wide] = ['x'.repeat(length), `${'x'.repeat(length - 1)}é`];
    check([f.text(text), f.binary(text), f.ping('p')], [string(text), binary(text), ['ping', 'p']], `${length} bytes`);
    check([f.text(wide), f.text('a'), f.text(wide)], [wide, 'a', wide].map(string), `${length} characters, one wide`);
  }
});

const EXAMPLES = [
  ['client', '810548656c6c6f', string('Hello')],
  ['server', '818537fa213d7f9f4d5158', string('Hello')],
  ['client', '010348656c80026c6f', string('Hello')],
  ['client', '890548656c6c6f', ['ping', 'Hello']],
  ['server', '8a8537fa213d7f9f4d5158', ['pong', 'Hello']],
  ['client', `827e0100${'07'.repeat(256)}`, binary('\x07'.repeat(256))],
  ['client', `827f0000000000010000${'07'.repeat(65536)}`, binary('\x07'.repeat(65536))]
];

testDecoders('5.7: decodes the examples of the RFC', ({ check, role }) => {
  for (const [reader, hex, event] of EXAMPLES) {
    if (reader === role) check([Buffer.from(hex, 'hex')], [event], hex.slice(0, 28));
  }
});

testDecoders('5.3: unmasks with a key of zeroes, and payloads of zeroes', ({ check, role }) => {
  if (role === 'client') return;
  const zero = Buffer.alloc(4);
  for (const length of [0, 5, 30, 70, 300]) {
    for (const key of [zero, KEY]) {
      const text = 'z'.repeat(length);
      const frames = [
        frame(BINARY, Buffer.alloc(length), { key }),
        frame(TEXT, text, { key }),
        frame(TEXT, text, { key, fin: false }),
        frame(CONTINUATION, text, { key })
      ];
      const events = [binary('\0'.repeat(length)), string(text), string(text + text)];
      check(frames, events, `${length} bytes, key ${key.toString('hex')}`);
    }
  }
  check([frame(CLOSE, closePayload(1001), { key: zero })], [['close', 1001, '']], 'a Close frame, a key of zeroes');
});

// Short ASCII texts that lie close together become slices of one string: nothing may come between
// them.
testDecoders('delivers many short texts of one chunk, and any frames between them', ({ decodeCut, f }) => {
  for (const size of [0, 1, 16, 100, 124]) {
    const texts = Array.from({ length: 700 }, (_, i) => String(i).padEnd(size, '.').slice(0, size));
    assert.deepEqual(decodeCut(Buffer.concat(texts.map((text) => f.text(text))), []), texts.map(string), `${size}`);
  }
  const kinds = [
    [f.text('ascii'), string('ascii')],
    [f.text('é'), string('é')],
    [f.text(''), string('')],
    [f.binary('b'), binary('b')],
    [f.ping('p'), ['ping', 'p']],
    [f.text('l'.repeat(1030)), string('l'.repeat(1030))],
    [Buffer.concat([f.text('f', { fin: false }), f.pong(''), f.continuation('g')]), ['pong', ''], string('fg')]
  ];
  for (let i = 0; i < 7 ** 3; i++) {
    const order = [i % 7, Math.floor(i / 7) % 7, Math.floor(i / 49), 0];
    const chosen = order.map((kind) => kinds[kind]);
    const events = decodeCut(Buffer.concat(chosen.map(([bytes]) => bytes)), []);
    const expected = chosen.flatMap(([, ...events]) => events);
    assert.deepEqual(events, expected, `kinds ${order}`);
  }
});

testDecoders('short texts that lie close together are read as one string of at most 1 KiB', ({ f, record }) => {
  const { decoder, events } = record();
  const chunk = Buffer.concat(Array(900).fill(f.text('a')));
  const lengths = [];
  chunk.latin1Slice = (start, end) => {
    lengths.push(end - start);
    return Buffer.prototype.latin1Slice.call(chunk, start, end);
  };
  decoder.write(chunk);
  assert.deepEqual(events, Array(900).fill(string('a')), 'the texts');
  assert.ok(lengths.length <= 10, `${lengths.length} strings for 900 texts`);
  assert.ok(Math.max(...lengths) <= 1024, `strings of ${lengths} characters`);
});

testDecoders("text: 'buffer' delivers text as a Buffer, checked as UTF-8", ({ check, f }) => {
  const options = { text: 'buffer' };
  for (const text of ['', 'ascii', 'x'.repeat(300), 'κόσμε 😀 \ufffd', `${'y'.repeat(500)}é`]) {
    const bytes = Buffer.from(text);
    const event = textBuffer(bytes);
    check([f.text(bytes)], [event], text, options);
    const amid = [f.text(bytes), f.binary('b'), f.text(bytes)];
    check(amid, [event, binary('b'), event], `${text}, beside binary data`, options);
    const start = f.text(bytes.subarray(0, 3), { fin: false });
    check([start, f.continuation(bytes.subarray(3))], [event], `${text}, in fragments`, options);
  }

  check([f.text('d')], [string('d')], "text: 'string', the default", { text: 'string' });
});

testDecoders('a delivered Buffer is a view of the chunk, or has memory of its own', ({ Decoder, f, role }) => {
  const got = [];
  const decoder = new Decoder({ role, onMessage: (data) => got.push(data), onPing: (data) => got.push(data) });
  const chunk = Buffer.concat([f.binary('abc'), f.ping('def')]);
  decoder.write(chunk);
  const cut = f.binary('ghi');
  decoder.write(cut.subarray(0, 4));
  decoder.write(cut.subarray(4));
  const expected = ['abc', 'def', 'ghi'].map((text) => Buffer.from(text));
  assert.deepEqual(got, expected, 'Buffers');
  assert.ok(got[0].buffer === chunk.buffer && got[1].buffer === chunk.buffer, 'views');
  assert.notEqual(got[2].buffer, cut.buffer, 'memory of its own');
});

testDecoders('5.4: joins the fragments of a message', ({ check, f }) => {
  const start = (payload, make = f.text) => make(payload, { fin: false });
  const more = (payload) => f.continuation(payload, { fin: false });
  check([start('Hel'), f.continuation('lo')], [string('Hello')], 'two fragments');
  const some = [start('a'), more('b'), more(''), more('c'), f.continuation(''), f.text('d')];
  check(some, [string('abc'), string('d')], 'some of them empty');
  check([start(''), more(''), f.continuation('')], [string('')], 'all of them empty, text');
  check([start('', f.binary), f.continuation('')], [binary('')], 'all of them empty, binary');
  for (const size of [20, 100, 200, 5000]) {
    const payloads = Array.from({ length: 9 }, (_, i) => Buffer.alloc(size + i, 65 + i));
    check(f.fragments(BINARY, payloads), [binary(Buffer.concat(payloads))], `nine of ${size} bytes and more`);
  }
});

testDecoders('with fragmentLengths, onMessage finds the length of each fragment', ({ Decoder, f, role }) => {
  const seen = [];
  const decoder = new Decoder({
    role,
    fragmentLengths: true,
    onMessage(data) {
      seen.push([data.length, this.fragmentLengths]);
    }
  });
  const { binary, continuation } = f;
  const begin = [binary('abc', { fin: false }), continuation('', { fin: false })];
  const frames = [...begin, continuation('de'), binary('f')];
  decoder.write(Buffer.concat(frames));
  for (const frame of frames) for (const byte of frame) decoder.write(Buffer.of(byte));
  const each = [
    [5, [3, 0, 2]],
    [1, undefined]
  ];
  assert.deepEqual(seen, [...each, ...each]);
  assert.equal(decoder.fragmentLengths, undefined, 'outside of onMessage');
});

// Text that arrives in pieces is gathered in pooled memory, which decoders use one after another.

const SIZES = [20_000, 40_000, 65_535, 65_536, 65_537, 200_000];

/** Text of one letter, which tells messages apart. */
function textOf(i, length) {
  return String.fromCharCode(97 + (i % 26)).repeat(length);
}

/** A masked frame in two pieces. */
function piecesOf(text, first) {
  const bytes = frame(TEXT, text, { key: KEY });
  return [bytes.subarray(0, first), bytes.subarray(first)];
}

const receiver = (options) => record(Decoder, { role: 'server', ...options });

t.test('decoders that gather text at the same time do not share memory', async () => {
  const receivers = SIZES.map(() => receiver());
  const rounds = [17_000, 200, 40_000, 65_000];
  for (const [round, first] of rounds.entries()) {
    const pieces = SIZES.map((size, i) => piecesOf(textOf(i + round, size), first));
    for (const part of [0, 1]) {
      for (const [i, piece] of pieces.entries()) receivers[i].decoder.write(piece[part]);
    }
  }
  forEachCase(SIZES.entries(), ([i, size]) => {
    const expected = rounds.map((_, round) => string(textOf(i + round, size)));
    assertEvents(receivers[i].events, expected);
  });
});

t.test('a handler may feed another decoder while its own message is being delivered', async () => {
  const texts = [];
  const take = (text) => texts.push(text);
  const inner = receiver({ onMessage: take });
  const outer = receiver({
    onMessage(text) {
      for (const piece of piecesOf('i'.repeat(50_000), 30_000)) inner.decoder.write(piece);
      take(text);
    }
  });
  for (let i = 0; i < 3; i++) for (const piece of piecesOf('o'.repeat(50_000), 30_000)) outer.decoder.write(piece);
  assert.equal(texts.length, 6);
  assert.ok(texts.join('') === `${'i'.repeat(50_000)}${'o'.repeat(50_000)}`.repeat(3));
});

t.test('text may be ASCII in one piece and not in another', async () => {
  const text = `${'a'.repeat(30_000)}é${'b'.repeat(20_000)}`;
  const { decoder, events } = receiver();
  const cuts = [30_000, 30_007, 30_008, 30_009, 30_010, 30_100, 100];
  for (const at of cuts) for (const piece of piecesOf(text, at)) decoder.write(piece);
  // What the decoder knows of one message does not hold for the next.
  for (const piece of piecesOf('c'.repeat(50_000), 30_000)) decoder.write(piece);
  assertEvents(events, [...cuts.map(() => string(text)), string('c'.repeat(50_000))]);
});

t.test('decoders gather one text after another in the same memory', async (t) => {
  const texts = Array.from({ length: 10 }, (_, i) => piecesOf(textOf(i, 60_000), 30_000));
  const { allocUnsafeSlow } = Buffer;
  t.teardown(() => {
    Buffer.allocUnsafeSlow = allocUnsafeSlow;
  });
  let large = 0;
  Buffer.allocUnsafeSlow = (size) => {
    if (size > 16_384) large++;
    return allocUnsafeSlow(size);
  };
  for (const [i, pieces] of texts.entries()) {
    const { decoder, events } = receiver();
    for (const piece of pieces) decoder.write(piece);
    assertEvents(events, [string(textOf(i, 60_000))], `text ${i}`);
  }
  t.ok(large <= 1, `${large} allocations for 10 texts`);
});

// rsv1: true leaves frames with the bit RSV1 to an extension such as permessage-deflate (RFC 7692).
testDecoders('rsv1: onFrame gets the frames of an extension as they are', ({ check, f }) => {
  const open = { rsv1: true, frames: true };
  const bytes = Buffer.from([0xff, 0x00]);
  const rsv = 0x40;
  const shown = (firstByte, payload = '\xff\x00') => ['frame', firstByte, payload];
  const all = [f.text('a'), f.text(bytes, { rsv }), f.binary(bytes, { rsv }), f.binary(bytes)];
  check(all, [shown(0x81, 'a'), shown(0xc1), shown(0xc2), shown(0x82)], 'with RSV1 and without', open);
  const long = f.text(Buffer.alloc(3000, 0xff), { rsv });
  check([long, f.text('b')], [shown(0xc1, '\xff'.repeat(3000)), shown(0x81, 'b')], '3000 bytes', open);
  check([f.text('', { rsv })], [shown(0xc1, '')], 'no bytes', open);
  const fragments = [f.text(bytes, { rsv, fin: false }), f.ping(''), f.continuation(bytes), f.text('c')];
  const events = [shown(0x41), shown(0x89, ''), ['ping', ''], shown(0x80), shown(0x81, 'c')];
  check(fragments, events, 'two fragments', open);
});

const CODES = [0, 1, 999, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014];
CODES.push(1015, 1016, 1100, 2000, 2999, 3000, 3999, 4000, 4999, 5000, 65535);

testDecoders('7.4: takes a close code that may be sent, and refuses any other', ({ check, f }) => {
  forEachCase(CODES, (code) => {
    for (const reason of ['', 'reason', 'κόσμε', 'r'.repeat(123)]) {
      const expected = mayBeSent(code) ? ['close', code, reason] : ['error', 'CLOSE_CODE', 1002];
      check([f.close(code, reason)], [expected], `reason '${reason}'`);
    }
  });
});

testDecoders('onClose is called when the decoder has ended', ({ Decoder, f, role }) => {
  const seen = [];
  const decoder = new Decoder({
    role,
    onClose(code, reason, bytes) {
      seen.push(this === decoder, decoder.closed, code, reason, bytes);
    }
  });
  decoder.write(f.close(3000, 'é'));
  assert.deepEqual(seen, [true, true, 3000, 'é', Buffer.from('é')]);
});
