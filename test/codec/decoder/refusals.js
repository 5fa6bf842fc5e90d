'use strict';

const assert = require('node:assert/strict');
const { constants } = require('node:buffer');
const t = require('tap');
const { Decoder } = require('../../../index.js');
const { FrameError } = require('../../../lib/shared/errors');
const { forEachCase } = require('../../support/cases');
const { decoderOver } = require('../../support/codecs');
const { testDecoders } = require('../../support/decoders');
const { BINARY, CLOSE, CONTINUATION, KEY, PING, PONG, TEXT, frame, piecesOf } = require('../../support/frames');
const { binary, record, string } = require('../../support/recorder');

// A frame that breaks a rule of RFC 6455: which error it is, with which close code, and how early
// it comes.

const RESERVED = [3, 4, 5, 6, 7, 11, 12, 13, 14, 15];
const WITHOUT_MASK = [frame(TEXT, 'a'), frame(PING), frame(CONTINUATION, 'a')];
const WITH_MASK = [TEXT, PING, CONTINUATION].map((opcode) => frame(opcode, 'a', { key: KEY }));

const controls = (f, payload, options) => [CLOSE, PING, PONG].map((opcode) => f.frame(opcode, payload, options));
const reserved = (f, payload, options) => RESERVED.map((opcode) => f.frame(opcode, payload, options));
const ofLengths = (f, lengths, lengthSize) => lengths.map((length) => f.binary('a', { length, lengthSize }));
const withRsv = (f, rsv) => [f.text, f.binary, f.continuation, f.ping, f.pong].map((make) => make('a', { rsv }));

/**
 * Each rule, its error, when a frame that breaks it is refused, and such frames: with which byte,
 * from 1; with the last of the header (without an extended length); or with the last of the frame.
 *
 * @type {[string, string, number | 'header' | 'all', (f: object) => Buffer[], string?][]}
 */
const RULES = [
  ['5.2: refuses RSV1 that no extension has negotiated', 'RESERVED_BITS', 1, (f) => withRsv(f, 0x40)],
  ['5.2: refuses RSV2', 'RESERVED_BITS', 1, (f) => withRsv(f, 0x20)],
  ['5.2: refuses RSV3', 'RESERVED_BITS', 1, (f) => withRsv(f, 0x10)],
  ['5.2: refuses a reserved opcode', 'OPCODE', 1, (f) => reserved(f, 'a')],
  ['5.2: refuses a fragment with one', 'OPCODE', 1, (f) => reserved(f, '', { fin: false })],
  ['5.5: refuses a fragmented control frame', 'CONTROL_FRAGMENTED', 1, (f) => controls(f, '', { fin: false })],
  ['5.5: refuses a control frame of 126 bytes', 'CONTROL_LENGTH', 2, (f) => controls(f, 'a'.repeat(126))],
  ['5.5: refuses 64 bits for the length of one', 'CONTROL_LENGTH', 2, (f) => controls(f, 'a', { lengthSize: 8 })],
  // The last frame is also in a wrong place, which its header tells later.
  ['5.1: a server refuses a frame that is not masked', 'MASK_MISSING', 2, () => WITHOUT_MASK, 'server'],
  ['5.1: a client refuses a frame that is masked', 'MASK_UNWANTED', 2, () => WITH_MASK, 'client'],
  ['5.2: refuses 16 bits for a length of less than 126', 'LENGTH_NOT_MINIMAL', 4, (f) => ofLengths(f, [0, 1, 125], 2)],
  ['5.2: refuses 64 bits for less than 65,536', 'LENGTH_NOT_MINIMAL', 10, (f) => ofLengths(f, [0, 126, 65535], 8)],
  ['5.2: refuses a length whose first bit is 1', 'LENGTH', 10, (f) => ofLengths(f, [2n ** 63n, 2n ** 64n - 1n])],
  // No number holds it exactly.
  ['refuses a length of 2^53 or more', 'MESSAGE_TOO_BIG', 10, (f) => ofLengths(f, [2n ** 53n, 2n ** 63n - 1n])],
  ['5.4: refuses a continuation frame without a message', 'CONTINUATION', 'header', (f) => [f.continuation('a')]],
  ['5.4: refuses a fragment of none', 'CONTINUATION', 'header', (f) => [f.continuation('', { fin: false })]],
  ['5.5.1: refuses a Close frame of one byte', 'CLOSE_LENGTH', 'all', (f) => [f.frame(CLOSE, 'a')]],
  ['7.4: refuses a close code', 'CLOSE_CODE', 'all', (f) => [f.close(999), f.close(1005, Buffer.of(0xff))]],
  ['5.5.1: refuses a reason that is not UTF-8', 'UTF8', 'all', (f) => [f.close(1000, Buffer.of(0xff))]],
  ['8.1: refuses text that is not UTF-8', 'UTF8', 'all', (f) => [f.text(Buffer.of(0x80))]]
];

/** The close codes of errors that are no protocol error. */
const CLOSE_CODES = { MESSAGE_TOO_BIG: 1009, UTF8: 1007 };

for (const [title, code, after, frames, only] of RULES) {
  testDecoders(title, ({ Decoder, check, f, refusedAfter, role }) => {
    if (only !== undefined && role !== only) return;
    const closeCode = CLOSE_CODES[code] ?? 1002;
    const event = ['error', code, closeCode];
    const cases = frames(f).map((bad) => ({ name: bad.toString('hex', 0, 14), bad }));
    forEachCase(cases, ({ bad }) => {
      check([bad], [event], 'alone');
      check([bad, f.text('ignored'), f.close(1000)], [event], 'with more behind it');
      const amid = [f.ping('a'), f.text('b'), bad, f.text('ignored')];
      check(amid, [['ping', 'a'], string('b'), event], 'after good frames');
      const header = 2 + (f.key === null ? 0 : 4);
      const due = after === 'all' ? bad.length : after === 'header' ? header : after;
      assert.equal(refusedAfter(bad), due, 'the byte with which it is refused');

      const whole = [Buffer.concat([f.text('b'), f.text('b'), bad, f.text('late')])];
      for (const chunks of [whole, [f.text('bb'), bad.subarray(0, 1), bad.subarray(1)]]) {
        const what = `without onError, ${chunks.length} chunks`;
        let texts = '';
        const decoder = new Decoder({ role, onMessage: (text) => (texts += text) });
        const write = () => {
          for (const chunk of chunks) decoder.write(Buffer.from(chunk));
        };
        const isExpected = (error) => {
          assert.ok(error instanceof FrameError, what);
          assert.deepEqual([error.code, error.closeCode], [`FRAMEMASK_ERR_${code}`, closeCode], what);
          return true;
        };
        assert.throws(write, isExpected);
        assert.ok(decoder.closed, `${what}: closed`);
        assert.equal(decoder.write(f.text('late')), true, `${what}: later chunks are ignored`);
        assert.equal(texts, 'bb', `${what}: the messages before it`);
      }
    });
  });
}

testDecoders('7.1.7: one error says what the peer sent, and the decoder has ended', ({ f, record }) => {
  const tooLong = f.binary(Buffer.alloc(70_000));
  const cases = {
    'a reserved opcode': [f.frame(3, 'a'), { firstByte: 0x83, length: null }],
    'a long Ping frame': [f.frame(9, Buffer.alloc(126)), { firstByte: 0x89, length: 126 }],
    'no message to continue': [f.continuation('abc'), { firstByte: 0x80, length: 3 }],
    'too big a message': [tooLong, { firstByte: 0x82, length: 70_000 }, 'A message is longer than 65536 bytes'],
    'the same in pieces': [tooLong.subarray(0, 20), { firstByte: 0x82, length: 70_000 }],
    'bad text': [f.text(Buffer.from([0x80])), { firstByte: null, length: null }],
    'a bad code': [f.close(1006), { firstByte: null, length: null, receivedCode: 1006 }]
  };
  forEachCase(cases, ([bytes, expected, text = /./]) => {
    const errors = [];
    const { decoder, events } = record({ maxPayload: 65_536, onError: (error) => errors.push(error) });
    assert.equal(decoder.closed, false, 'closed before the error');
    assert.equal(decoder.write(bytes), true, 'what write returns');
    assert.equal(decoder.closed, true, 'closed after the error');
    for (const late of [f.text('late'), f.frame(3)]) decoder.write(late);
    decoder.resume();
    assert.equal(errors.length, 1, 'how many errors');
    assert.deepEqual(events, [], 'other events');
    assert.ok(errors[0] instanceof FrameError, 'a FrameError');
    const { firstByte, length, receivedCode, message } = errors[0];
    assert.deepEqual({ firstByte, length, receivedCode }, { receivedCode: null, ...expected });
    if (typeof text === 'string') assert.equal(message, text);
    else assert.match(message, text);
  });
});

const HINT = 'give a Decoder only the bytes after the handshake';
const ANSWER = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n';

t.test('the message of an error tells of a handshake, or of the wrong role', async (t) => {
  const cases = [
    { role: 'client', bytes: ANSWER, end: `It looks like the HTTP of a server's answer: ${HINT}` },
    { role: 'client', bytes: ANSWER.slice(0, 5), end: `It looks like the HTTP of a server's answer: ${HINT}` },
    ...['GET / HTTP/1.1', 'GET ', 'POST /', 'PUT /', 'CONNECT a:1', 'OPTIONS *', 'PATCH /'].map((bytes) => {
      return { role: 'server', bytes, end: `It looks like the HTTP of a client's request: ${HINT}` };
    }),
    {
      role: 'server',
      bytes: '\x16\x03\x01\x02',
      end: 'It looks like TLS: give a Decoder the bytes of a tls.TLSSocket'
    },
    { role: 'server', bytes: 'PRI * HTTP/2.0', end: 'It looks like HTTP/2: see acceptHttp2' },
    ...['HTTP', 'GET', 'H', 'GET/ ', 'HELLO', 'get / ', 'xGET ', '\x16\x04'].map((bytes) => {
      return { role: 'client', bytes, end: 'no extension has given a meaning' };
    }),
    { role: 'server', bytes: WITHOUT_MASK[0], end: "is not masked, or the Decoder's role should be 'client'" },
    { role: 'client', bytes: WITH_MASK[0], end: "is masked, or the Decoder's role should be 'server'" }
  ];
  for (const { role, bytes, end } of cases) {
    const errors = [];
    new Decoder({ role, onError: (error) => errors.push(error) }).write(Buffer.from(bytes));
    t.equal(errors[0].message.slice(-end.length), end, `${role}: ${bytes.toString('latin1').slice(0, 5)}`);
  }
});

// Section 8.1: text that is not UTF-8 fails the connection. framemask does so at the first byte
// that cannot be part of UTF-8, no matter what follows.

const BAD_TEXT = ['error', 'UTF8', 1007];

/** Bad sequences; the last byte of each is the first that makes it bad. */
const BAD_SEQUENCES = ['80', 'bf', 'c0', 'c1', 'f5', 'ff', 'c3 28', 'e0 80', 'e0 9f', 'ed a0', 'ed bf', 'e1 80 41'];
BAD_SEQUENCES.push('f0 8f', 'f4 90', 'f1 80 c0', 'f1 80 80 41', 'e2 82 e2', 'c3 c3', 'f0 9f 98 c2');

/** Good text that may stand before a bad sequence. */
const BEFORE = ['', 'a', 'κόσμε', 'x'.repeat(60), `${'y'.repeat(200)}é`];

const fromHex = (hex) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

/**
 * Each bad sequence behind each good text: `bad` is the number of the bad byte in `text`, from 1.
 */
const BAD_TEXTS = BAD_SEQUENCES.flatMap((hex) =>
  BEFORE.map((before) => {
    const start = Buffer.concat([Buffer.from(before), fromHex(hex)]);
    const text = Buffer.concat([start, Buffer.from(' and more text')]);
    return { name: `${hex} after ${before.length} characters`, text, bad: start.length };
  })
);

testDecoders('8.1: refuses bad text at the bad byte, inside a frame', ({ check, decodeCut, f, refusedAfter }) => {
  forEachCase(BAD_TEXTS, ({ text, bad }) => {
    const whole = f.text(text);
    assert.equal(refusedAfter(whole), whole.length - text.length + bad, 'the byte with which it is refused');
    check([whole, f.ping('late')], [BAD_TEXT], 'text as strings');
    check([whole, f.ping('late')], [BAD_TEXT], 'text as Buffers', { text: 'buffer' });

    const begun = f.text(text, { length: 2 ** 20 });
    assert.equal(refusedAfter(begun), begun.length - text.length + bad, 'a frame that is not complete');
    assert.deepEqual(decodeCut(begun.subarray(0, begun.length - 3), []), [BAD_TEXT], 'not complete, in one chunk');
  });
});

testDecoders('8.1: refuses bad text at the bad byte, across fragments', ({ decodeCut, f, refusedAfter }) => {
  const size = f.text('a').length;
  forEachCase(BAD_TEXTS, ({ text, bad }) => {
    const bytes = Buffer.concat(f.fragments(TEXT, piecesOf(text, 1)));
    assert.equal(refusedAfter(bytes), size * bad, 'the byte with which it is refused');
    assert.deepEqual(decodeCut(bytes, []), [BAD_TEXT], 'in one chunk');
  });
});

testDecoders('8.1: refuses text that ends inside a character, with its last byte', ({ check, f, refusedAfter }) => {
  forEachCase(['c3', 'e2', 'e282', 'f0', 'f09f', 'f09f98'], (hex) => {
    const cut = Buffer.concat([Buffer.from('text '), fromHex(hex)]);
    const bytes = f.text(cut);
    assert.equal(refusedAfter(bytes), bytes.length, 'the byte with which it is refused');
    check([bytes], [BAD_TEXT], 'one frame');
    const fragments = [f.text(cut, { fin: false }), f.ping(''), f.continuation('')];
    check(fragments, [['ping', ''], BAD_TEXT], 'whose last fragment is empty');
  });
});

testDecoders('8.1: skipUTF8Validation delivers text that is not UTF-8', ({ Decoder, f, role }) => {
  const bad = Buffer.from([0x61, 0xff, 0xc3]);
  const fragments = [f.text(bad.subarray(0, 2), { fin: false }), f.continuation(bad.subarray(2))];
  for (const frames of [[f.text(bad)], fragments]) {
    const seen = [];
    const decoder = new Decoder({
      role,
      text: 'buffer',
      skipUTF8Validation: true,
      onMessage: (data, isBinary) => seen.push([Buffer.from(data), isBinary]),
      onClose: (code, _reason, bytes) => seen.push([Buffer.from(bytes), code])
    });
    const stream = Buffer.concat(frames);
    decoder.write(Buffer.from(stream));
    for (const byte of stream) decoder.write(Buffer.of(byte));
    decoder.write(f.close(1000, bad));
    const message = [bad, false];
    assert.deepEqual(seen, [message, message, [bad, 1000]]);
  }
});

// maxPayload and maxFragments.

const TOO_BIG = ['error', 'MESSAGE_TOO_BIG', 1009];
const TOO_MANY = ['error', 'TOO_MANY_FRAGMENTS', 1008];
const MIB = 1024 * 1024;

/** Text and binary messages, with the event of each. */
const kindsOf = (f) => [
  { name: 'text', make: f.text, event: string },
  { name: 'binary', make: f.binary, event: binary }
];

testDecoders('maxPayload allows a message of that many bytes, and no more', ({ decode, f, refusedAfter }) => {
  const check = (what, maxPayload, frames, events) => assert.deepEqual(decode(frames, { maxPayload }), events, what);
  const { continuation } = f;
  const pinged = ['ping', 'does not count'];
  forEachCase(kindsOf(f), ({ make, event }) => {
    const ones = [event('a'), event('b'), event('')];
    check('one byte', 1, [make('a'), make('b'), make(''), make('ab')], [...ones, TOO_BIG]);
    const empty = [make('', { fin: false }), f.ping('does not count')];
    const none = [make(''), ...empty, continuation(''), make('a')];
    check('empty messages alone', 0, none, [event(''), pinged, event(''), TOO_BIG]);
    check('a fragment', 0, [...empty, continuation('a')], [pinged, TOO_BIG]);
    forEachCase([20, 125, 126, 1000, 65535, 65536], (maxPayload) => {
      const exact = 'e'.repeat(maxPayload);
      const start = make('eeeeeee', { fin: false });
      const rest = 'e'.repeat(maxPayload - 7);
      const both = [event(exact), event(exact)];
      check('one frame', maxPayload, [make(exact), make(`${exact}e`), make('a')], [event(exact), TOO_BIG]);
      check('two fragments', maxPayload, [start, continuation(rest), make(exact)], both);
      check('two fragments, too big', maxPayload, [start, continuation(`${rest}e`)], [TOO_BIG]);
      const three = [start, continuation(rest, { fin: false }), continuation('e')];
      check('three fragments, too big', maxPayload, three, [TOO_BIG]);
      const header = make('', { length: maxPayload + 1 });
      assert.equal(refusedAfter(header, { maxPayload }), header.length, 'refused by the header alone');
    });
  });
});

const LONGEST = Math.min(constants.MAX_LENGTH, 2 ** 53 - 1);

/** Values of maxPayload, and the longest message with each. */
const LIMITS = [
  // Other decoders have read these as no limit, or as a limit that is used up.
  ...[2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 53 - 2].map((most) => ({ maxPayload: most, most })),
  ...[2 ** 53 - 1, Number.POSITIVE_INFINITY].map((maxPayload) => ({ maxPayload, most: LONGEST })),
  ...[undefined, null].map((maxPayload) => ({ maxPayload, most: 100 * MIB }))
].filter(({ most }) => most <= constants.MAX_LENGTH);

testDecoders('maxPayload may be all that memory can have; 100 MiB by default', ({ decodeCut, f, refusedAfter }) => {
  forEachCase(LIMITS, ({ maxPayload, most }) => {
    const options = { maxPayload };
    const decodeHeader = (length) => decodeCut(f.binary('', { length }), [], options);
    const decodeBoth = (length) =>
      decodeCut(Buffer.concat([f.binary('12345', { fin: false }), f.continuation('', { length })]), [], options);
    assert.deepEqual(decodeHeader(most), [], 'the limit');
    assert.deepEqual(decodeHeader(BigInt(most) + 1n), [TOO_BIG], 'one byte more');
    assert.deepEqual(decodeBoth(most - 5), [], 'the limit, two fragments');
    assert.deepEqual(decodeBoth(most - 4), [TOO_BIG], 'one byte more, two fragments');
    assert.equal(refusedAfter(f.binary('', { length: 2n ** 53n }), options), 10, '2^53, before the key is there');
    assert.equal(decodeCut(f.binary('a'.repeat(70000)), [], options).length, 1, 'a message that is there');
  });
});

const LONGEST_STRING = constants.MAX_STRING_LENGTH;
const UNLIMITED = { maxPayload: Number.POSITIVE_INFINITY };

testDecoders('text that is longer than the longest string is refused with any maxPayload', ({ decodeCut, f }) => {
  const check = (what, bytes, events, options) =>
    assert.deepEqual(decodeCut(bytes, [], { ...UNLIMITED, ...options }), events, what);
  const more = { length: LONGEST_STRING + 1 };
  const both = Buffer.concat([f.text('a', { fin: false }), f.continuation('', { length: LONGEST_STRING })]);
  check('the longest string', f.text('', { length: LONGEST_STRING }), []);
  check('one byte more', f.text('', more), [TOO_BIG]);
  check('two fragments, one byte more', both, [TOO_BIG]);
  check('text as Buffers', f.text('', more), [], { text: 'buffer' });
  check('the frame of an extension', f.text('', { rsv: 0x40, ...more }), [], { frames: true, rsv1: true });
  check('binary', f.binary('', more), []);
});

// A scan that reports such a frame, so that the test needs no chunk of 512 MiB.
testDecoders('text that is longer than the longest string is refused in one chunk', ({ backend, f, role }) => {
  const scan = (_chunk, _start, _mode, table) => {
    table.set([0x81, 14, 14 + LONGEST_STRING + 1]);
    return 1;
  };
  const { decoder, events } = record(decoderOver({ ...backend, scan }), { role, ...UNLIMITED });
  decoder.write(Buffer.concat([f.text('a'), f.text('aaaaaaaaaa')]));
  assert.deepEqual(events, [TOO_BIG]);
});

/** A message of fragments with one byte each. */
const fragments = (f, count, opcode = TEXT) => f.fragments(opcode, Array(count).fill('a'));

testDecoders('maxFragments allows a message of that many frames, and no more', ({ check, decode, f }) => {
  forEachCase([1, 2, 3, 50], (maxFragments) => {
    const options = { maxFragments };
    const good = fragments(f, maxFragments);
    const bad = fragments(f, maxFragments + 1);
    assert.equal(decode([...good, ...good, f.text('a'), ...good], options).length, 4, 'four good messages');
    check([...good, ...bad], [string('a'.repeat(maxFragments)), TOO_MANY], 'text', options);
    check(fragments(f, maxFragments + 1, BINARY), [TOO_MANY], 'binary', options);
    const empty = [f.text('', { fin: false }), ...Array(maxFragments).fill(f.continuation('', { fin: false }))];
    check(empty, [TOO_MANY], 'empty fragments count', options);
    const withPings = [f.text('a', { fin: maxFragments === 1 }), f.ping(''), f.ping(''), f.ping('')];
    const errors = decode(withPings, options).filter(([type]) => type === 'error');
    assert.deepEqual(errors, [], 'control frames do not count');
  });
  check(fragments(f, 3), [TOO_BIG], 'both limits', { maxFragments: 1, maxPayload: 1 });
  assert.equal(decode(fragments(f, 1000), { maxFragments: Number.POSITIVE_INFINITY }).length, 1, 'Infinity');
});
