'use strict';

// A frame that breaks a rule of RFC 6455: which error it is, with which close code, and how early
// it comes.

const assert = require('node:assert/strict');
const t = require('tap');
const { Decoder } = require('../../../index.js');
const { FrameError } = require('../../../lib/shared/errors');
const { forEachCase } = require('../../support/cases');
const { forEachDecoder } = require('../../support/decoders');
const { CLOSE, KEY, PING, PONG, TEXT, frame } = require('../../support/frames');
const { string } = require('../../support/recorder');

const CONTROLS = [CLOSE, PING, PONG];
const masked = (opcode) => frame(opcode, 'a', { key: KEY });

/**
 * Each rule with frames that break it. `after` tells with which byte a frame is refused: its
 * number, from 1, or 'header' for the last of a header without an extended length, or 'all' for the
 * last of the frame.
 */
const RULES = [
  {
    title: '5.2: refuses RSV1 that no extension has negotiated',
    error: ['RESERVED_BITS', 1002],
    after: 1,
    frames: (f) => [f.text('a', { rsv: 0x40 }), f.binary('a', { rsv: 0x40 })]
  },
  {
    title: '5.2: refuses RSV1 on a continuation frame',
    error: ['RESERVED_BITS', 1002],
    after: 1,
    frames: (f) => [f.continuation('a', { rsv: 0x40 })]
  },
  {
    title: '5.2: refuses RSV2',
    error: ['RESERVED_BITS', 1002],
    after: 1,
    frames: (f) => [f.text('a', { rsv: 0x20 }), f.binary('a', { rsv: 0x20 })]
  },
  {
    title: '5.2: refuses RSV3',
    error: ['RESERVED_BITS', 1002],
    after: 1,
    frames: (f) => [f.text('a', { rsv: 0x10 }), f.binary('a', { rsv: 0x10 })]
  },
  {
    title: '5.2: refuses reserved bits on a control frame',
    error: ['RESERVED_BITS', 1002],
    after: 1,
    frames: (f) => [f.ping('a', { rsv: 0x70 }), f.pong('a', { rsv: 0x40 })]
  },
  {
    title: '5.2: refuses a reserved opcode',
    error: ['OPCODE', 1002],
    after: 1,
    frames: (f) => [
      ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => f.frame(opcode, 'a')),
      ...[3, 7, 11, 15].map((opcode) => f.frame(opcode, 'a', { fin: false }))
    ]
  },
  {
    title: '5.5: refuses a fragmented control frame',
    error: ['CONTROL_FRAGMENTED', 1002],
    after: 1,
    frames: (f) => CONTROLS.map((opcode) => f.frame(opcode, '', { fin: false }))
  },
  {
    title: '5.5: refuses a control frame of more than 125 bytes',
    error: ['CONTROL_LENGTH', 1002],
    after: 2,
    frames: (f) => [
      ...CONTROLS.map((opcode) => f.frame(opcode, Buffer.alloc(126, 97))),
      ...CONTROLS.map((opcode) => f.frame(opcode, 'a', { lengthSize: 8 }))
    ]
  },
  {
    title: '5.1: a server refuses a frame that is not masked',
    role: 'server',
    error: ['MASK_MISSING', 1002],
    after: 2,
    // The last is also in a wrong place, which its header tells later.
    frames: () => [frame(TEXT, 'a'), frame(PING), frame(0, 'a')]
  },
  {
    title: '5.1: a client refuses a frame that is masked',
    role: 'client',
    error: ['MASK_UNWANTED', 1002],
    after: 2,
    frames: () => [masked(TEXT), masked(PING), masked(0)]
  },
  {
    title: '5.2: refuses 16 bits for a length of less than 126',
    error: ['LENGTH_NOT_MINIMAL', 1002],
    after: 4,
    frames: (f) => [f.text('a', { lengthSize: 2 }), f.binary(Buffer.alloc(125), { lengthSize: 2 })]
  },
  {
    title: '5.2: refuses 64 bits for a length of less than 65,536',
    error: ['LENGTH_NOT_MINIMAL', 1002],
    after: 10,
    frames: (f) => [126, 65535].map((length) => f.binary(Buffer.alloc(length), { lengthSize: 8 }))
  },
  {
    title: '5.2: refuses a length whose most significant bit is 1',
    error: ['LENGTH', 1002],
    after: 10,
    frames: (f) => [2n ** 63n, 2n ** 64n - 1n].map((length) => f.binary('a', { length }))
  },
  {
    title: 'refuses a length of 2^53 or more, which no number holds exactly',
    error: ['MESSAGE_TOO_BIG', 1009],
    after: 10,
    frames: (f) => [2n ** 62n, 2n ** 53n].map((length) => f.binary('a', { length }))
  },
  {
    title: '5.4: refuses a continuation frame without a message to continue',
    error: ['CONTINUATION', 1002],
    after: 'header',
    frames: (f) => [f.continuation('a'), f.continuation('', { fin: false })]
  },
  {
    title: '5.5.1: refuses a Close frame with a payload of one byte',
    error: ['CLOSE_LENGTH', 1002],
    after: 'all',
    frames: (f) => [f.frame(CLOSE, 'a')]
  },
  {
    title: '7.4: refuses a close code that must not be sent',
    error: ['CLOSE_CODE', 1002],
    after: 'all',
    frames: (f) => [f.close(999), f.close(1005, 'reason')]
  },
  {
    title: '5.5.1: refuses a close reason that is not UTF-8',
    error: ['UTF8', 1007],
    after: 'all',
    frames: (f) => [f.close(1000, Buffer.from([0xff]))]
  },
  {
    title: '8.1: refuses text that is not UTF-8',
    error: ['UTF8', 1007],
    after: 'all',
    frames: (f) => [f.text(Buffer.from([0x80]))]
  }
];

for (const { title, role: only, error, after, frames } of RULES) {
  t.test(title, (t) => {
    const [code, closeCode] = error;
    const event = ['error', code, closeCode];
    forEachDecoder(({ Decoder, decode, f, refusedAfter, role }) => {
      if (only !== undefined && role !== only) return;
      const cases = frames(f).map((bad) => ({ name: bad.toString('hex', 0, 14), bad }));
      forEachCase(cases, ({ bad }) => {
        assert.deepEqual(decode([bad]), [event], 'alone');
        assert.deepEqual(decode([bad, f.text('ignored'), f.close(1000)]), [event], 'with more behind it');
        assert.deepEqual(
          decode([f.ping('a'), f.text('b'), bad, f.text('ignored')]),
          [['ping', 'a'], string('b'), event],
          'after good frames'
        );
        const header = 2 + (f.key === null ? 0 : 4);
        const due = after === 'all' ? bad.length : after === 'header' ? header : after;
        assert.equal(refusedAfter(bad), due, 'the byte with which it is refused');

        for (const chunks of [[bad], [bad.subarray(0, 1), bad.subarray(1)]]) {
          const decoder = new Decoder({ role });
          const write = () => {
            for (const chunk of chunks) decoder.write(Buffer.from(chunk));
          };
          assert.throws(
            write,
            { code: `FRAMEMASK_ERR_${code}`, closeCode },
            `without onError, ${chunks.length} chunks`
          );
          assert.ok(decoder.closed, `without onError, ${chunks.length} chunks: closed`);
        }
      });
    });
    t.end();
  });
}

t.test('7.1.7: an error is a FrameError, and the decoder has ended', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    const errors = [];
    const messages = [];
    const decoder = new Decoder({
      role,
      onError: (error) => errors.push(error),
      onMessage: (data) => messages.push(data)
    });
    assert.equal(decoder.closed, false, 'closed before the error');
    assert.equal(decoder.write(f.frame(3)), true, 'what write returns');
    assert.equal(decoder.closed, true, 'closed after the error');
    decoder.write(f.text('late'));
    decoder.write(f.frame(3));
    decoder.resume();
    assert.equal(errors.length, 1, 'how many errors');
    assert.deepEqual(messages, [], 'messages');
    assert.ok(errors[0] instanceof FrameError, 'a FrameError');
    assert.equal(errors[0].code, 'FRAMEMASK_ERR_OPCODE', 'the code');
    assert.equal(errors[0].closeCode, 1002, 'the close code');
  });
  t.end();
});

t.test('an error says what the peer sent', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    const tooLong = f.binary(Buffer.alloc(70_000));
    const cases = [
      { name: 'a reserved opcode', bytes: f.frame(3, 'a'), firstByte: 0x83, length: null },
      { name: 'a long Ping frame', bytes: f.frame(9, Buffer.alloc(126)), firstByte: 0x89, length: 126 },
      { name: 'no message to continue', bytes: f.continuation('abc'), firstByte: 0x80, length: 3 },
      { name: 'too big a message', bytes: tooLong, firstByte: 0x82, length: 70_000 },
      { name: 'the same in pieces', bytes: tooLong.subarray(0, 20), firstByte: 0x82, length: 70_000 },
      { name: 'bad text', bytes: f.text(Buffer.from([0x80])), firstByte: null, length: null },
      { name: 'a bad code', bytes: f.close(1006), firstByte: null, length: null, receivedCode: 1006 }
    ];
    forEachCase(cases, ({ bytes, firstByte, length, receivedCode = null }) => {
      const errors = [];
      const decoder = new Decoder({ role, maxPayload: 65_536, onError: (error) => errors.push(error) });
      decoder.write(bytes);
      assert.equal(errors.length, 1, 'how many errors');
      const found = { firstByte: errors[0].firstByte, length: errors[0].length, receivedCode: errors[0].receivedCode };
      assert.deepEqual(found, { firstByte, length, receivedCode });
    });
  });
  t.end();
});

t.test('without onError, write throws the error, after the messages before it', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    const texts = [];
    const decoder = new Decoder({ role, onMessage: (text) => texts.push(text) });
    const bytes = Buffer.concat([f.text('a'), f.text('b'), f.frame(3), f.text('late')]);
    assert.throws(() => decoder.write(bytes), {
      name: 'FrameError',
      code: 'FRAMEMASK_ERR_OPCODE',
      closeCode: 1002
    });
    assert.equal(decoder.closed, true, 'closed after the error');
    assert.equal(decoder.write(f.text('late')), true, 'later chunks are ignored');
    assert.deepEqual(texts, ['a', 'b'], 'the messages before it');
  });
  t.end();
});

/** What a Decoder says of bytes. @returns {string} */
function messageOf(role, bytes) {
  const errors = [];
  new Decoder({ role, onError: (error) => errors.push(error) }).write(Buffer.from(bytes));
  return errors[0].message;
}

t.test('says that the bytes are a handshake', (t) => {
  const hint = (of) => new RegExp(`It is the HTTP of ${of}: give a Decoder only what follows the handshake$`);
  const answer = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n';
  for (const bytes of [answer, answer.slice(0, 5)]) t.match(messageOf('client', bytes), hint("a server's answer"));
  t.match(messageOf('server', 'GET / HTTP/1.1\r\nHost: example.com\r\n\r\n'), hint("a client's request"));
  for (const bytes of ['HTTP', 'GET', 'H', 'POST / HTTP/1.1\r\n\r\n']) {
    t.match(messageOf('client', bytes), /no extension has given a meaning$/, bytes);
  }
  t.end();
});

t.test('says for a wrong mask that the role may be wrong', (t) => {
  t.equal(
    messageOf('server', frame(TEXT, 'a')),
    "A frame from a client is not masked, or the Decoder's role should be 'client'"
  );
  t.equal(
    messageOf('client', masked(TEXT)),
    "A frame from a server is masked, or the Decoder's role should be 'server'"
  );
  t.end();
});
