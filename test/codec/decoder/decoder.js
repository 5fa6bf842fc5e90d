'use strict';

// Each rule of RFC 6455 that a decoder watches over, each limit, each way of delivery. That chunks may be cut anywhere is
// for chunk-boundaries.js, that handlers may stop, pause and throw for flow-control.js, memory for memory.js.

const t = require('tap');
const { constants } = require('node:buffer');
const vm = require('node:vm');
const { Decoder } = require('../../../lib/codec/decoder');
const { FrameError } = require('../../../lib/shared/errors');
const { isSendableCloseCode } = require('../../../lib/shared/protocol');
const { createGarbage } = require('../../support/garbage');
const {
  BINARY,
  CLOSE,
  CONTINUATION,
  KEY,
  PING,
  PONG,
  TEXT,
  closePayload,
  frame,
  framesFor
} = require('../../support/frames');
const { ROLES, createDecoders, eventsOf, record } = require('../../support/recorder');

const DECODERS = createDecoders();

/** Runs a test for each engine and each role. */
function forEach(t, work) {
  for (const { name, Decoder } of DECODERS) {
    for (const role of ROLES) {
      t.test(`${name}, ${role}`, (t) => {
        work(t, { Decoder, role, ...framesFor(role) });
        t.end();
      });
    }
  }
  t.end();
}

/** A whole chunk, and one byte at a time: the same events. */
function decode(Decoder, options, ...frames) {
  const bytes = Buffer.concat(frames);
  const events = eventsOf(Decoder, options, bytes);
  const cuts = Array.from({ length: Math.max(bytes.length - 1, 0) }, (_, i) => i + 1);
  const slowly = eventsOf(Decoder, options, bytes, bytes.length < 2000 ? cuts : []);
  if (JSON.stringify(slowly) !== JSON.stringify(events)) {
    throw new Error(`${JSON.stringify(slowly)} one byte at a time, but ${JSON.stringify(events)}`);
  }
  return events;
}

/** After how many bytes an error came. */
function refusedAfter(Decoder, options, bytes) {
  const { decoder } = record(Decoder, options);
  for (let i = 0; i < bytes.length; i++) {
    decoder.write(Buffer.from([bytes[i]]));
    if (decoder.closed) return i + 1;
  }
  return undefined;
}

t.test('messages and control frames', (t) => {
  forEach(t, (t, { Decoder, role, ...f }) => {
    const hello = f.text('Hello');
    t.strictSame(decode(Decoder, { role }, hello), [['string', 'Hello', false, false]]);
    t.strictSame(decode(Decoder, { role }, f.text('')), [['string', '', false, false]]);
    t.strictSame(decode(Decoder, { role }, f.binary('')), [['binary', '', false]]);
    t.strictSame(decode(Decoder, { role }, f.text('κόσμε 😀 \ufeff\ufffd\0')), [
      ['string', 'κόσμε 😀 \ufeff\ufffd\0', false, false]
    ]);
    t.strictSame(decode(Decoder, { role }, f.text('\ufeffa')), [['string', '\ufeffa', false, false]], 'a mark is kept');
    t.strictSame(decode(Decoder, { role }, f.binary(Buffer.from([0, 255, 128]))), [['binary', '\x00\xff\x80', false]]);
    t.strictSame(decode(Decoder, { role }, f.ping(''), f.ping('p'), f.pong(Buffer.alloc(125, 1)), f.pong('')), [
      ['ping', ''],
      ['ping', 'p'],
      ['pong', '\x01'.repeat(125)],
      ['pong', '']
    ]);
    for (const length of [1, 47, 48, 125, 126, 127, 128, 1000, 1023, 1024, 1025, 65535, 65536, 70000]) {
      const text = 'x'.repeat(length);
      t.strictSame(decode(Decoder, { role }, f.text(text), f.binary(text), f.ping('p')), [
        ['string', text, false, false],
        ['binary', text, false],
        ['ping', 'p']
      ]);
      const wide = `${'x'.repeat(length - 1)}é`;
      t.strictSame(decode(Decoder, { role }, f.text(wide), f.text('a'), f.text(wide)), [
        ['string', wide, false, false],
        ['string', 'a', false, false],
        ['string', wide, false, false]
      ]);
    }
  });
});

t.test('the examples of RFC 6455, section 5.7', (t) => {
  const hex = (text) => Buffer.from(text, 'hex');
  for (const { Decoder } of DECODERS) {
    t.strictSame(decode(Decoder, { role: 'client' }, hex('810548656c6c6f')), [['string', 'Hello', false, false]]);
    t.strictSame(decode(Decoder, { role: 'server' }, hex('818537fa213d7f9f4d5158')), [
      ['string', 'Hello', false, false]
    ]);
    t.strictSame(decode(Decoder, { role: 'client' }, hex('010348656c80026c6f')), [['string', 'Hello', false, false]]);
    t.strictSame(decode(Decoder, { role: 'client' }, hex('890548656c6c6f')), [['ping', 'Hello']]);
    t.strictSame(decode(Decoder, { role: 'server' }, hex('8a8537fa213d7f9f4d5158')), [['pong', 'Hello']]);
    for (const length of [256, 65536]) {
      const bytes = frame(BINARY, Buffer.alloc(length, 7));
      t.equal(bytes.toString('hex', 0, 4), length === 256 ? '827e0100' : '827f0000');
      t.strictSame(decode(Decoder, { role: 'client' }, bytes), [['binary', '\x07'.repeat(length), false]]);
    }
  }
  t.end();
});

t.test('many short texts in a chunk', (t) => {
  // They become parts of one string where they are ASCII, lie close together and nothing comes between.
  forEach(t, (t, { Decoder, role, ...f }) => {
    for (const size of [0, 1, 16, 100, 124]) {
      const texts = Array.from({ length: 700 }, (_, i) => String(i).padEnd(size, '.').slice(0, size));
      const frames = texts.map((text) => f.text(text));
      t.strictSame(
        eventsOf(Decoder, { role }, Buffer.concat(frames)),
        texts.map((text) => ['string', text, false, false])
      );
    }
    const kinds = [
      [f.text('ascii'), ['string', 'ascii', false, false]],
      [f.text('é'), ['string', 'é', false, false]],
      [f.text(''), ['string', '', false, false]],
      [f.binary('b'), ['binary', 'b', false]],
      [f.ping('p'), ['ping', 'p']],
      [f.text('l'.repeat(1030)), ['string', 'l'.repeat(1030), false, false]],
      [
        Buffer.concat([f.text('f', { fin: false }), f.pong(''), f.continuation('g')]),
        ['pong', ''],
        ['string', 'fg', false, false]
      ]
    ];
    for (let i = 0; i < 7 ** 3; i++) {
      const chosen = [kinds[i % 7], kinds[Math.floor(i / 7) % 7], kinds[Math.floor(i / 49)], kinds[0]];
      const bytes = Buffer.concat(chosen.map(([bytes]) => bytes));
      const expected = chosen.flatMap(([, ...events]) => events);
      t.strictSame(eventsOf(Decoder, { role }, bytes), expected);
    }
  });
});

t.test('fragments', (t) => {
  forEach(t, (t, { Decoder, role, ...f }) => {
    const first = (payload, make = f.text) => make(payload, { fin: false });
    const more = (payload) => f.continuation(payload, { fin: false });
    t.strictSame(decode(Decoder, { role }, first('Hel'), f.continuation('lo')), [['string', 'Hello', false, false]]);
    t.strictSame(
      decode(Decoder, { role }, first('a'), more('b'), more(''), more('c'), f.continuation(''), f.text('d')),
      [
        ['string', 'abc', false, false],
        ['string', 'd', false, false]
      ]
    );
    t.strictSame(decode(Decoder, { role }, first(''), more(''), f.continuation('')), [['string', '', false, false]]);
    t.strictSame(decode(Decoder, { role }, first('', f.binary), f.continuation('')), [['binary', '', false]]);
    t.strictSame(
      decode(
        Decoder,
        { role },
        first('x', f.binary),
        f.ping('1'),
        more('y'),
        f.pong('2'),
        f.ping(''),
        f.continuation('z')
      ),
      [
        ['ping', '1'],
        ['pong', '2'],
        ['ping', ''],
        ['binary', 'xyz', false]
      ],
      'control frames between fragments are delivered at once'
    );
    t.strictSame(
      decode(Decoder, { role }, first('unfinished'), f.close(1000, 'bye'), f.continuation('x')),
      [['close', 1000, 'bye']],
      'a Close frame may come inside a fragmented message'
    );
    const pieces = ['κ', 'ό', 'σ', 'μ', 'ε', '😀'].map((c) => Buffer.from(c));
    const text = Buffer.concat(pieces);
    for (let cut = 0; cut <= text.length; cut++) {
      t.strictSame(decode(Decoder, { role }, first(text.subarray(0, cut)), f.continuation(text.subarray(cut))), [
        ['string', 'κόσμε😀', false, false]
      ]);
    }
    for (const size of [20, 100, 200, 5000]) {
      const data = Array.from({ length: 9 }, (_, i) => Buffer.alloc(size + i, 65 + i));
      const frames = data.map((payload, i) => f.frame(i === 0 ? BINARY : 0, payload, { fin: i === 8 }));
      t.strictSame(decode(Decoder, { role }, ...frames), [['binary', Buffer.concat(data).toString(), false]]);
    }
  });
});

// Name of the error, close code, bytes after which it is due, the bytes. A header that is bad is refused for that alone.
const wrongFrames = ({ key, ...f }) => [
  ['RESERVED_BITS', 1002, 1, f.text('a', { rsv: 0x40 })],
  ['RESERVED_BITS', 1002, 1, f.text('a', { rsv: 0x20 })],
  ['RESERVED_BITS', 1002, 1, f.binary('a', { rsv: 0x10 })],
  ['RESERVED_BITS', 1002, 1, f.ping('a', { rsv: 0x70 })],
  ['RESERVED_BITS', 1002, 1, f.continuation('a', { rsv: 0x40 })],
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => ['OPCODE', 1002, 1, f.frame(opcode, 'a')]),
  ...[3, 7, 11, 15].map((opcode) => ['OPCODE', 1002, 1, f.frame(opcode, 'a', { fin: false })]),
  ...[CLOSE, PING, PONG].map((opcode) => ['CONTROL_FRAGMENTED', 1002, 1, f.frame(opcode, '', { fin: false })]),
  ...[CLOSE, PING, PONG].map((opcode) => ['CONTROL_LENGTH', 1002, 2, f.frame(opcode, Buffer.alloc(126, 97))]),
  ...[CLOSE, PING, PONG].map((opcode) => ['CONTROL_LENGTH', 1002, 2, f.frame(opcode, 'a', { lengthSize: 8 })]),
  key === null
    ? ['MASK_UNWANTED', 1002, 2, frame(TEXT, 'a', { key: KEY })]
    : ['MASK_MISSING', 1002, 2, frame(TEXT, 'a')],
  key === null ? ['MASK_UNWANTED', 1002, 2, frame(PING, '', { key: KEY })] : ['MASK_MISSING', 1002, 2, frame(PING)],
  ['LENGTH_NOT_MINIMAL', 1002, 4, f.text('a', { lengthSize: 2 })],
  ['LENGTH_NOT_MINIMAL', 1002, 4, f.binary(Buffer.alloc(125), { lengthSize: 2 })],
  ['LENGTH_NOT_MINIMAL', 1002, 10, f.binary(Buffer.alloc(126), { lengthSize: 8 })],
  ['LENGTH_NOT_MINIMAL', 1002, 10, f.binary(Buffer.alloc(65535), { lengthSize: 8 })],
  ['LENGTH', 1002, 10, f.binary('a', { length: 2n ** 63n })],
  ['LENGTH', 1002, 10, f.binary('a', { length: 2n ** 64n - 1n })],
  ['MESSAGE_TOO_BIG', 1009, 10, f.binary('a', { length: 2n ** 62n })],
  ['MESSAGE_TOO_BIG', 1009, 10, f.binary('a', { length: 2n ** 53n })],
  ['CONTINUATION', 1002, 'header', f.continuation('a')],
  ['CONTINUATION', 1002, 'header', f.continuation('', { fin: false })],
  ['CLOSE_LENGTH', 1002, 'all', f.frame(CLOSE, 'a')],
  ['CLOSE_CODE', 1002, 'all', f.close(999)],
  ['CLOSE_CODE', 1002, 'all', f.close(1005, 'reason')],
  ['UTF8', 1007, 'all', f.close(1000, Buffer.from([0xff]))],
  ['UTF8', 1007, 'all', f.text(Buffer.from([0x80]))]
];

t.test('what breaks a rule', (t) => {
  forEach(t, (t, { Decoder, role, ...f }) => {
    for (const [code, closeCode, after, bad] of wrongFrames(f)) {
      const error = ['error', code, closeCode];
      const name = `${code} ${bad.toString('hex', 0, 14)}`;
      t.strictSame(decode(Decoder, { role }, bad), [error], name);
      t.strictSame(
        decode(Decoder, { role }, bad, f.text('ignored'), f.close(1000)),
        [error],
        `${name}, with more behind it`
      );
      t.strictSame(
        decode(Decoder, { role }, f.ping('a'), f.text('b'), bad, f.text('ignored')),
        [['ping', 'a'], ['string', 'b', false, false], error],
        `${name}, after good frames`
      );
      const header = 2 + (f.key === null ? 0 : 4);
      const due = after === 'all' ? bad.length : after === 'header' ? header : after;
      t.equal(refusedAfter(Decoder, { role }, bad), due, `${name}, byte ${due}`);
    }
    for (const second of [f.text('b'), f.binary('b', { fin: false }), f.text('')]) {
      const start = f.text('a', { fin: false });
      t.strictSame(decode(Decoder, { role }, start, second), [['error', 'INTERLEAVED', 1002]]);
      t.strictSame(decode(Decoder, { role }, start, f.ping(''), second), [
        ['ping', ''],
        ['error', 'INTERLEAVED', 1002]
      ]);
    }
    t.strictSame(decode(Decoder, { role }, f.text('a', { fin: false }), f.continuation('b'), f.continuation('c')), [
      ['string', 'ab', false, false],
      ['error', 'CONTINUATION', 1002]
    ]);
  });
});

t.test('an error is a FrameError, and nothing follows it', (t) => {
  forEach(t, (t, { Decoder, role, ...f }) => {
    const errors = [];
    const decoder = new Decoder({ role, onError: (error) => errors.push(error), onMessage: () => t.fail('delivered') });
    t.equal(decoder.closed, false);
    t.equal(decoder.write(f.frame(3)), true);
    t.equal(decoder.closed, true);
    decoder.write(f.text('late'));
    decoder.write(f.frame(3));
    decoder.resume();
    t.equal(errors.length, 1);
    t.type(errors[0], FrameError);
    t.equal(errors[0].code, 'FRAMEMASK_ERR_OPCODE');
    t.equal(errors[0].closeCode, 1002);

    // The same where write throws it, for want of a handler.
    const texts = [];
    const throwing = new Decoder({ role, onMessage: (text) => texts.push(text) });
    const bytes = Buffer.concat([f.text('a'), f.text('b'), f.frame(3), f.text('late')]);
    t.throws(() => throwing.write(bytes), { name: 'FrameError', code: 'FRAMEMASK_ERR_OPCODE', closeCode: 1002 });
    t.equal(throwing.closed, true);
    t.equal(throwing.write(f.text('late')), true);
    t.strictSame(texts, ['a', 'b']);
    for (const [code, closeCode, , bad] of wrongFrames(f)) {
      for (const chunks of [[bad], [bad.subarray(0, 1), bad.subarray(1)]]) {
        const quiet = new Decoder({ role });
        const write = () => {
          for (const chunk of chunks) quiet.write(Buffer.from(chunk));
        };
        t.throws(write, { code: `FRAMEMASK_ERR_${code}`, closeCode });
        t.ok(quiet.closed);
      }
    }
  });
});

t.test('text that is not UTF-8 is refused at the very byte', (t) => {
  // What comes before the byte that no other can mend, and that byte.
  const cases = ['80', 'bf', 'c0', 'c1', 'f5', 'ff', 'c3 28', 'e0 80', 'e0 9f', 'ed a0', 'ed bf', 'e1 80 41', 'f0 8f'];
  cases.push('f4 90', 'f1 80 c0', 'f1 80 80 41', 'e2 82 e2', 'c3 c3', 'f0 9f 98 c2');
  forEach(t, (t, { Decoder, role, key, ...f }) => {
    const size = key === null ? 0 : 4;
    for (const hex of cases) {
      const bad = Buffer.from(hex.replaceAll(' ', ''), 'hex');
      for (const before of ['', 'a', 'κόσμε', 'x'.repeat(60), `${'y'.repeat(200)}é`]) {
        const start = Buffer.from(before);
        const text = Buffer.concat([start, bad, Buffer.from(' and more text')]);
        const at = start.length + bad.length;

        const one = f.text(text);
        t.equal(refusedAfter(Decoder, { role }, one), one.length - text.length + at, `${hex} inside a frame`);
        const big = f.text(text, { length: 2 ** 20 });
        t.equal(refusedAfter(Decoder, { role }, big), 10 + size + at, 'of which most is not there');
        t.strictSame(decode(Decoder, { role }, one, f.ping('late')), [['error', 'UTF8', 1007]]);
        t.strictSame(decode(Decoder, { role, text: 'buffer' }, one, f.ping('late')), [['error', 'UTF8', 1007]]);
        t.strictSame(
          eventsOf(Decoder, { role }, big.subarray(0, big.length - 3)),
          [['error', 'UTF8', 1007]],
          'in one chunk'
        );

        // Each byte of it a frame of its own.
        const frames = Array.from(text, (_, i) => f.frame(i === 0 ? TEXT : 0, text.subarray(i, i + 1), { fin: false }));
        const bytes = Buffer.concat(frames);
        t.equal(refusedAfter(Decoder, { role }, bytes), (3 + size) * at, `${hex} across fragments`);
        t.strictSame(eventsOf(Decoder, { role }, bytes), [['error', 'UTF8', 1007]]);
      }
      t.strictSame(
        decode(Decoder, { role }, f.text('good'), f.text(bad, { fin: false }), f.ping('late'), f.continuation('x')),
        [
          ['string', 'good', false, false],
          ['error', 'UTF8', 1007]
        ],
        'nothing that comes after it is delivered'
      );
    }
    for (const hex of ['c3', 'e2', 'e282', 'f0', 'f09f', 'f09f98']) {
      const cut = Buffer.concat([Buffer.from('text '), Buffer.from(hex, 'hex')]);
      const bytes = f.text(cut);
      t.equal(refusedAfter(Decoder, { role }, bytes), bytes.length, 'a message that ends inside a character');
      t.strictSame(decode(Decoder, { role }, bytes), [['error', 'UTF8', 1007]]);
      t.strictSame(decode(Decoder, { role }, f.text(cut, { fin: false }), f.ping(''), f.continuation('')), [
        ['ping', ''],
        ['error', 'UTF8', 1007]
      ]);
    }
    t.strictSame(decode(Decoder, { role }, f.text('a\ufffdb'), f.text('\ufffd')), [
      ['string', 'a\ufffdb', false, false],
      ['string', '\ufffd', false, false]
    ]);
    t.strictSame(
      decode(Decoder, { role }, f.binary(Buffer.from([0xff])), f.ping(Buffer.from([0xff]))),
      [
        ['binary', '\xff', false],
        ['ping', '\xff']
      ],
      'only text is text'
    );
    t.strictSame(
      decode(Decoder, { role }, f.binary(Buffer.from([0xff]), { fin: false }), f.continuation(Buffer.from([0xfe]))),
      [['binary', '\xff\xfe', false]]
    );
  });
});

t.test('close', (t) => {
  const mayBeSent = (code) =>
    [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014].includes(code) ||
    (code >= 3000 && code < 5000);
  for (let code = 0; code < 65536; code++) {
    if (isSendableCloseCode(code) !== mayBeSent(code)) t.fail(String(code));
  }
  forEach(t, (t, { Decoder, role, ...f }) => {
    t.strictSame(decode(Decoder, { role }, f.close()), [['close', 1005, '']], 'without a code');
    const codes = [0, 1, 999, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014];
    codes.push(1015, 1016, 1100, 2000, 2999, 3000, 3999, 4000, 4999, 5000, 65535);
    for (const code of codes) {
      for (const reason of ['', 'reason', 'κόσμε', 'r'.repeat(123)]) {
        const expected = mayBeSent(code) ? ['close', code, reason] : ['error', 'CLOSE_CODE', 1002];
        t.strictSame(decode(Decoder, { role }, f.close(code, reason)), [expected], `${code} ${reason}`);
      }
    }
    for (const hex of ['ff', 'c3', 'eda080', 'f09f98', 'c080']) {
      const reason = Buffer.from(hex, 'hex');
      t.strictSame(decode(Decoder, { role }, f.close(1000, reason)), [['error', 'UTF8', 1007]]);
      t.strictSame(
        decode(Decoder, { role }, f.close(1005, reason)),
        [['error', 'CLOSE_CODE', 1002]],
        'the code counts first'
      );
    }
    const { decoder, events } = record(Decoder, { role });
    t.equal(decoder.write(Buffer.concat([f.ping('a'), f.close(1000), f.ping('b'), f.close(1001)])), true);
    t.equal(decoder.closed, true);
    t.equal(decoder.write(f.text('late')), true);
    decoder.write(f.frame(3));
    t.strictSame(
      events,
      [
        ['ping', 'a'],
        ['close', 1000, '']
      ],
      'nothing counts after a Close frame, right or wrong'
    );
    // What the handler sees of it.
    const seen = [];
    const other = new Decoder({
      role,
      onClose(...args) {
        seen.push(this === other, other.closed, ...args);
      }
    });
    other.write(f.close(3000, 'x'));
    t.strictSame(seen, [true, true, 3000, 'x']);
  });
});

t.test('maxPayload', (t) => {
  const tooBig = ['error', 'MESSAGE_TOO_BIG', 1009];
  forEach(t, (t, { Decoder, role, key, ...f }) => {
    const size = key === null ? 0 : 4;
    const headerOf = (length, options) => {
      const bytes = f.binary('', { length, ...options });
      return bytes;
    };
    for (const make of [f.text, f.binary]) {
      const said = (payload) => (make === f.text ? ['string', payload, false, false] : ['binary', payload, false]);
      const none = { role, maxPayload: 0 };
      t.strictSame(decode(Decoder, none, make(''), f.ping('control frames do not count'), make('')).length, 3);
      t.strictSame(decode(Decoder, none, make(''), make('a')), [said(''), tooBig]);
      t.strictSame(decode(Decoder, none, make('', { fin: false }), f.continuation('')), [said('')]);
      t.strictSame(decode(Decoder, none, make('', { fin: false }), f.continuation('a')), [tooBig]);
      const one = { role, maxPayload: 1 };
      t.strictSame(decode(Decoder, one, make('a'), make('b'), make(''), make('ab')), [
        said('a'),
        said('b'),
        said(''),
        tooBig
      ]);

      for (const most of [20, 125, 126, 1000, 65535, 65536]) {
        const exact = 'e'.repeat(most);
        const options = { role, maxPayload: most };
        const rest = 'e'.repeat(most - 7);
        t.strictSame(decode(Decoder, options, make(exact), make(`${exact}e`), make('a')), [said(exact), tooBig]);
        const start = make('eeeeeee', { fin: false });
        t.strictSame(decode(Decoder, options, start, f.continuation(rest), make(exact)), [said(exact), said(exact)]);
        t.strictSame(decode(Decoder, options, start, f.continuation(`${rest}e`)), [tooBig]);
        t.strictSame(decode(Decoder, options, start, f.continuation(rest, { fin: false }), f.continuation('e')), [
          tooBig
        ]);
        const header = make('', { length: most + 1 });
        t.equal(refusedAfter(Decoder, options, header), header.length, 'by the header alone');
      }
    }

    // Beyond 31 and 32 bits, where other decoders came to think that there is no limit, or none left.
    for (const most of [2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 53 - 2]) {
      const options = { role, maxPayload: most };
      t.strictSame(eventsOf(Decoder, options, headerOf(most)), [], `${most} bytes`);
      t.strictSame(eventsOf(Decoder, options, headerOf(most + 1)), [tooBig]);
      const start = f.binary('12345', { fin: false });
      const rest = (length) => f.continuation('', { length });
      t.strictSame(eventsOf(Decoder, options, Buffer.concat([start, rest(most - 5)])), []);
      t.strictSame(eventsOf(Decoder, options, Buffer.concat([start, rest(most - 4)])), [tooBig]);
    }
    for (const most of [2 ** 53 - 1, Number.POSITIVE_INFINITY]) {
      const options = { role, maxPayload: most };
      t.strictSame(eventsOf(Decoder, options, headerOf(2 ** 53 - 1)), []);
      const start = f.binary('12345', { fin: false });
      const both = Buffer.concat([start, f.continuation('', { length: 2 ** 53 - 1 })]);
      t.strictSame(eventsOf(Decoder, options, both), most === Number.POSITIVE_INFINITY ? [] : [tooBig]);
      t.equal(refusedAfter(Decoder, options, headerOf(2n ** 53n)), 10, 'the length is too big before the key is there');
      t.strictSame(eventsOf(Decoder, options, f.binary('a'.repeat(70000))).length, 1);
    }

    const byDefault = headerOf(100 * 1024 * 1024);
    t.strictSame(eventsOf(Decoder, { role }, byDefault), [], '100 MiB by default');
    t.strictSame(eventsOf(Decoder, { role }, headerOf(100 * 1024 * 1024 + 1)), [tooBig]);
    t.strictSame(eventsOf(Decoder, { role, maxPayload: undefined }, headerOf(100 * 1024 * 1024 + 1)), [tooBig]);
    t.equal(byDefault.length, 10 + size);

    // A string can't be longer than this, whatever the limit.
    const longest = constants.MAX_STRING_LENGTH;
    const endless = { role, maxPayload: Number.POSITIVE_INFINITY };
    t.strictSame(eventsOf(Decoder, endless, f.text('', { length: longest })), []);
    t.strictSame(eventsOf(Decoder, endless, f.text('', { length: longest + 1 })), [tooBig]);
    t.strictSame(
      eventsOf(Decoder, endless, Buffer.concat([f.text('a', { fin: false }), f.continuation('', { length: longest })])),
      [tooBig]
    );
    t.strictSame(eventsOf(Decoder, { ...endless, text: 'buffer' }, f.text('', { length: longest + 1 })), []);
    t.strictSame(eventsOf(Decoder, { ...endless, rsv1: true }, f.text('', { rsv: 0x40, length: longest + 1 })), []);
    t.strictSame(eventsOf(Decoder, endless, f.binary('', { length: longest + 1 })), []);

    // The same for one that lies in a chunk as a whole. So that the test needs none of 512 MiB, it says what a scan of such
    // a chunk would find.
    class DecoderOfOne extends Decoder {}
    DecoderOfOne.prototype._backend = {
      scan(_chunk, _start, _mode, table) {
        table.set([0x81, 14, 14 + longest + 1]);
        return 1;
      }
    };
    t.strictSame(eventsOf(DecoderOfOne, endless, Buffer.concat([f.text('a'), f.text('aaaaaaaaaa')])), [tooBig]);

    const messages = [];
    const decoder = new Decoder({ role, maxPayload: 3, onError: ({ message }) => messages.push(message) });
    decoder.write(f.text('abcd'));
    t.strictSame(messages, ['A message is longer than 3 bytes']);
  });
});

t.test('maxFragments', (t) => {
  const tooMany = ['error', 'TOO_MANY_FRAGMENTS', 1008];
  forEach(t, (t, { Decoder, role, ...f }) => {
    const fragments = (count, make = f.text) =>
      Buffer.concat(
        Array.from({ length: count }, (_, i) => {
          const options = { fin: i === count - 1 };
          return i === 0 ? make('a', options) : f.continuation('a', options);
        })
      );
    for (const maxFragments of [1, 2, 3, 50]) {
      const options = { role, maxFragments };
      const text = ['string', 'a'.repeat(maxFragments), false, false];
      const good = fragments(maxFragments);
      t.strictSame(decode(Decoder, options, good, good, f.text('a'), good).length, 4, `${maxFragments}`);
      t.strictSame(decode(Decoder, options, good, fragments(maxFragments + 1)), [text, tooMany]);
      t.strictSame(decode(Decoder, options, fragments(maxFragments + 1, f.binary)), [tooMany]);
      const empty = [f.text('', { fin: false }), ...Array(maxFragments).fill(f.continuation('', { fin: false }))];
      t.strictSame(decode(Decoder, options, ...empty), [tooMany], 'those without a payload count');
      const withPings = Buffer.concat([f.text('a', { fin: maxFragments === 1 }), f.ping(''), f.ping(''), f.ping('')]);
      t.strictSame(
        decode(Decoder, options, withPings).filter(([type]) => type === 'error'),
        [],
        'control frames do not'
      );
    }
    t.strictSame(decode(Decoder, { role, maxFragments: Number.POSITIVE_INFINITY }, fragments(1000)).length, 1);
    const many = f.continuation('', { fin: false });
    const start = f.text('', { fin: false });
    const limit = [start, ...Array(128 * 1024 - 1).fill(many)];
    t.strictSame(eventsOf(Decoder, { role }, Buffer.concat(limit)), [], '131,072 by default');
    t.strictSame(eventsOf(Decoder, { role }, Buffer.concat([...limit, many])), [tooMany]);
    t.strictSame(decode(Decoder, { role, maxFragments: 1, maxPayload: 1 }, fragments(3)), [
      ['error', 'MESSAGE_TOO_BIG', 1009]
    ]);
  });
});

t.test('rsv1', (t) => {
  const bad = Buffer.from([0xff, 0x00]);
  forEach(t, (t, { Decoder, role, ...f }) => {
    const open = { role, rsv1: true };
    const refused = ['error', 'RESERVED_BITS', 1002];
    for (const options of [{ role }, { role, rsv1: false }]) {
      t.strictSame(decode(Decoder, options, f.text('a', { rsv: 0x40 })), [refused]);
      t.strictSame(decode(Decoder, options, f.binary('a', { rsv: 0x40, fin: false })), [refused]);
    }
    t.strictSame(
      decode(Decoder, open, f.text('a'), f.text(bad, { rsv: 0x40 }), f.binary(bad, { rsv: 0x40 }), f.binary(bad)),
      [
        ['string', 'a', false, false],
        ['text', '\xff\x00', true],
        ['binary', '\xff\x00', true],
        ['binary', '\xff\x00', false]
      ],
      'what an extension has made of a text is bytes, and nobody asks for UTF-8'
    );
    const long = Buffer.alloc(3000, 0xff);
    t.strictSame(decode(Decoder, open, f.text(long, { rsv: 0x40 }), f.text('b')), [
      ['text', '\xff'.repeat(3000), true],
      ['string', 'b', false, false]
    ]);
    const start = f.text(bad, { rsv: 0x40, fin: false });
    t.strictSame(decode(Decoder, open, start, f.ping(''), f.continuation(bad), f.text('c')), [
      ['ping', ''],
      ['text', '\xff\x00\xff\x00', true],
      ['string', 'c', false, false]
    ]);
    t.strictSame(decode(Decoder, open, f.text(bad)), [['error', 'UTF8', 1007]], 'text without it is text');
    t.strictSame(decode(Decoder, open, f.text('', { rsv: 0x40 })), [['text', '', true]]);
    t.strictSame(decode(Decoder, open, start, f.continuation('', { rsv: 0x40 })), [refused]);
    t.strictSame(decode(Decoder, open, f.ping('', { rsv: 0x40 })), [refused]);
    t.strictSame(decode(Decoder, open, f.text('', { rsv: 0x60 })), [refused]);
    t.strictSame(decode(Decoder, open, f.text('', { rsv: 0x10 })), [refused]);
    t.strictSame(decode(Decoder, { ...open, maxPayload: 1 }, f.text(bad, { rsv: 0x40 })), [
      ['error', 'MESSAGE_TOO_BIG', 1009]
    ]);
  });
});

t.test("text: 'buffer'", (t) => {
  forEach(t, (t, { Decoder, role, ...f }) => {
    const options = { role, text: 'buffer' };
    for (const text of ['', 'ascii', 'x'.repeat(300), 'κόσμε 😀 \ufffd', `${'y'.repeat(500)}é`]) {
      const bytes = Buffer.from(text);
      const said = ['text', bytes.toString('latin1'), false];
      t.strictSame(decode(Decoder, options, f.text(bytes)), [said]);
      t.strictSame(decode(Decoder, options, f.text(bytes), f.binary('b'), f.text(bytes)), [
        said,
        ['binary', 'b', false],
        said
      ]);
      t.strictSame(
        decode(Decoder, options, f.text(bytes.subarray(0, 3), { fin: false }), f.continuation(bytes.subarray(3))),
        [said]
      );
    }
    const kinds = [];
    const decoder = new Decoder({ ...options, onMessage: (data) => kinds.push(Buffer.isBuffer(data)) });
    decoder.write(Buffer.concat([f.text('a'), f.text('b', { fin: false }), f.continuation('c'), f.binary('')]));
    decoder.write(f.text('d'));
    t.strictSame(kinds, [true, true, true, true]);
    const strings = new Decoder({ role, text: 'string', onMessage: (data) => kinds.push(typeof data) });
    strings.write(f.text('d'));
    t.equal(kinds.at(-1), 'string');
  });
});

t.test('onFrame', (t) => {
  forEach(t, (t, { Decoder, role, ...f }) => {
    const frames = [
      f.text('Hello'),
      f.text('é'),
      f.binary('b'),
      f.ping('p'),
      f.text('f', { fin: false }),
      f.pong(''),
      f.continuation('', { fin: false }),
      f.continuation('g'),
      f.binary('h', { fin: false }),
      f.continuation('i'.repeat(200)),
      f.text('j'.repeat(2000)),
      f.text('', { fin: false }),
      f.continuation(''),
      f.close(1000, 'k')
    ];
    const onFrames = [
      ['frame', 0x81, 'Hello'],
      ['frame', 0x81, '\xc3\xa9'],
      ['frame', 0x82, 'b'],
      ['frame', 0x89, 'p'],
      ['frame', 0x01, 'f'],
      ['frame', 0x8a, ''],
      ['frame', 0x00, ''],
      ['frame', 0x80, 'g'],
      ['frame', 0x02, 'h'],
      ['frame', 0x80, 'i'.repeat(200)],
      ['frame', 0x81, 'j'.repeat(2000)],
      ['frame', 0x01, ''],
      ['frame', 0x80, ''],
      ['frame', 0x88, '\x03\xe8k']
    ];
    const onMessages = [
      ['string', 'Hello', false, false],
      ['string', 'é', false, false],
      ['binary', 'b', false],
      ['ping', 'p'],
      undefined,
      ['pong', ''],
      undefined,
      ['string', 'fg', false, false],
      undefined,
      ['binary', `h${'i'.repeat(200)}`, false],
      ['string', 'j'.repeat(2000), false, false],
      undefined,
      ['string', '', false, false],
      ['close', 1000, 'k']
    ];
    const together = onFrames.flatMap((frame, i) => (onMessages[i] === undefined ? [frame] : [frame, onMessages[i]]));
    const options = { role, frames: true };
    const bytes = Buffer.concat(frames);
    const cuts = Array.from({ length: bytes.length - 1 }, (_, i) => i + 1);
    const boundaries = [];
    for (const frame of frames.slice(0, -1)) boundaries.push((boundaries.at(-1) ?? 0) + frame.length);
    for (const [name, where] of Object.entries({ 'one chunk': [], 'a chunk each': boundaries, 'a byte each': cuts })) {
      t.strictSame(eventsOf(Decoder, options, bytes, where), together, `each frame before its message, ${name}`);
      const silent = { onMessage: undefined, onPing: undefined, onPong: undefined, onClose: undefined };
      t.strictSame(eventsOf(Decoder, { ...options, ...silent }, bytes, where), onFrames, `frames alone, ${name}`);
      t.strictSame(
        eventsOf(Decoder, { role, onPing: undefined, onPong: undefined, onClose: undefined }, bytes, where),
        onMessages.filter((event) => event !== undefined && !['ping', 'pong', 'close'].includes(event[0])),
        `messages alone, ${name}`
      );
      t.strictSame(eventsOf(Decoder, { role, ...silent }, bytes, where), [], 'nobody listens');
    }

    // A frame that breaks a rule by its header, or by its place, never gets there; text that is bad does, as a frame.
    for (const onMessage of [undefined, () => t.fail('delivered')]) {
      const own = { ...options, onMessage };
      const refused = (bad, ...events) => t.strictSame(decode(Decoder, own, bad, f.text('late')), events);
      refused(f.frame(3, 'a'), ['error', 'OPCODE', 1002]);
      refused(f.continuation('a'), ['error', 'CONTINUATION', 1002]);
      refused(f.text(Buffer.from([0xff])), ['frame', 0x81, '\xff'], ['error', 'UTF8', 1007]);
      refused(f.close(1), ['frame', 0x88, '\x00\x01'], ['error', 'CLOSE_CODE', 1002]);
      t.strictSame(decode(Decoder, { ...own, maxPayload: 1 }, f.text('ab'), f.ping('')), [
        ['error', 'MESSAGE_TOO_BIG', 1009]
      ]);
    }

    const thises = [];
    const decoder = new Decoder({
      role,
      context: 'the connection',
      onFrame(_first, data, start, end) {
        thises.push(this.context, Buffer.isBuffer(data), end - start);
      }
    });
    decoder.write(f.text('abc'));
    t.strictSame(thises, ['the connection', true, 3]);
  });
});

t.test('this is the decoder', (t) => {
  forEach(t, (t, { Decoder, role, ...f }) => {
    const connection = { name: 'connection' };
    const seen = [];
    const note = (name) =>
      function () {
        seen.push([name, this === decoder, this.context === connection]);
      };
    const names = ['onMessage', 'onPing', 'onPong', 'onClose', 'onError'];
    const handlers = Object.fromEntries(names.map((name) => [name, note(name)]));
    let decoder = new Decoder({ role, context: connection, ...handlers });
    decoder.write(Buffer.concat([f.text('a'), f.binary(''), f.text('é'), f.ping(''), f.pong(''), f.close(1000)]));
    decoder = new Decoder({ role, context: connection, ...handlers });
    decoder.write(f.frame(3));
    t.strictSame(
      seen,
      ['onMessage', 'onMessage', 'onMessage', 'onPing', 'onPong', 'onClose', 'onError'].map((name) => [
        name,
        true,
        true
      ])
    );
    t.equal(new Decoder({ role }).context, undefined);
  });
});

t.test('chunks of any kind', (t) => {
  class Own extends Uint8Array {
    static get [Symbol.species]() {
      throw new Error('nobody may ask');
    }
  }
  class OwnBuffer extends Buffer {}
  const sources = {
    Buffer: (bytes) => Buffer.from(bytes),
    Uint8Array: (bytes) => Uint8Array.from(bytes),
    'a class of its own': (bytes) => new Own(Uint8Array.from(bytes).buffer),
    'a Buffer of its own class': (bytes) => Object.setPrototypeOf(Buffer.from(bytes), OwnBuffer.prototype),
    'another realm': (bytes) => vm.runInNewContext('Uint8Array.from(bytes)', { bytes: [...bytes] }),
    'in the middle of its memory': (bytes) => {
      const memory = new Uint8Array(bytes.length + 20).fill(0xaa);
      memory.set(bytes, 7);
      return memory.subarray(7, 7 + bytes.length);
    },
    'shared memory': (bytes) => {
      const chunk = new Uint8Array(new SharedArrayBuffer(bytes.length));
      chunk.set(bytes);
      return chunk;
    },
    'memory that can grow': (bytes) => {
      const chunk = new Uint8Array(new ArrayBuffer(bytes.length, { maxByteLength: bytes.length * 2 }));
      chunk.set(bytes);
      return chunk;
    }
  };
  forEach(t, (t, { Decoder, role, ...f }) => {
    const frames = [
      f.text('Hello'),
      f.text('é'),
      f.binary('b'),
      f.text('t'.repeat(200)),
      f.binary('c', { fin: false })
    ];
    frames.push(f.continuation('d'), f.ping('p'), f.text('bad: \ufffd'));
    const bytes = Buffer.concat(frames);
    const expected = eventsOf(Decoder, { role }, bytes);
    t.equal(expected.length, 7);
    for (const [name, make] of Object.entries(sources)) {
      const { decoder, events } = record(Decoder, { role });
      decoder.write(make(bytes));
      t.strictSame(events, expected, `${name}, one chunk`);
      const pieces = record(Decoder, { role });
      for (let i = 0; i < bytes.length; i += 7) pieces.decoder.write(make(bytes.subarray(i, i + 7)));
      t.strictSame(pieces.events, expected, `${name}, many`);
      const single = record(Decoder, { role });
      for (const frame of frames) single.decoder.write(make(frame));
      t.strictSame(single.events, expected, `${name}, a frame each`);
    }

    const none = record(Decoder, { role });
    for (const empty of [Buffer.alloc(0), new Uint8Array(0)]) t.equal(none.decoder.write(empty), true);
    for (const byte of bytes) {
      none.decoder.write(Buffer.alloc(0));
      none.decoder.write(Buffer.from([byte]));
      none.decoder.write(new Uint8Array(0));
    }
    t.strictSame(none.events, expected, 'empty chunks change nothing');
  });
});

t.test('a Buffer that is delivered is a view of the chunk, or of memory of its own', (t) => {
  forEach(t, (t, { Decoder, role, ...f }) => {
    const got = [];
    const decoder = new Decoder({ role, onMessage: (data) => got.push(data), onPing: (data) => got.push(data) });
    const chunk = Buffer.concat([f.binary('abc'), f.ping('def')]);
    decoder.write(chunk);
    t.ok(got.every((data) => Buffer.isBuffer(data) && data.buffer === chunk.buffer));
    const long = f.binary('ghi');
    decoder.write(long.subarray(0, 4));
    decoder.write(long.subarray(4));
    t.equal(got[2].toString(), 'ghi');
    t.not(got[2].buffer, long.buffer);
  });
});

t.test('wrong arguments', (t) => {
  const isChunk = (value) =>
    ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
  for (const { Decoder } of DECODERS) {
    const { decoder, events } = record(Decoder, { role: 'client' });
    decoder.write(Buffer.from([0x81]));
    for (const value of createGarbage()) {
      if (isChunk(value)) continue;
      t.throws(() => decoder.write(value), { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE', message: /"chunk"/ });
    }
    t.throws(() => decoder.write(), { message: /"chunk" argument must be a Buffer or Uint8Array, but was undefined/ });
    decoder.write(Buffer.from('0161', 'hex'));
    t.strictSame(events, [['string', 'a', false, false]], 'and the decoder goes on as if nothing had been');
    decoder.stop();
    t.throws(() => decoder.write('text'), { code: 'ERR_INVALID_ARG_TYPE' });
  }
  const type = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
  const range = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };
  for (const options of [undefined, null, 'server', 1]) t.throws(() => new Decoder(options), type);
  t.throws(() => Decoder({ role: 'server' }), TypeError);
  const wrong = (name, values, error) => {
    for (const value of values) {
      t.throws(() => new Decoder({ role: 'server', [name]: value }), {
        ...error,
        message: new RegExp(`"options.${name}"`)
      });
    }
  };
  wrong('role', [undefined, null, 'Server', 'peer', 1, {}], type);
  for (const name of ['onMessage', 'onPing', 'onPong', 'onClose', 'onError', 'onFrame']) {
    wrong(name, [null, 1, 'name', {}], type);
  }
  wrong('connectionId', [1, true, {}], type);
  wrong('text', ['utf8', 1, true], type);
  wrong('rsv1', [1, 'true', {}], type);
  wrong('maxPayload', ['1', 1n, true], type);
  wrong('maxPayload', [-1, 0.5, Number.NaN, 2 ** 53], range);
  wrong('maxFragments', ['1', 1n, true], type);
  wrong('maxFragments', [0, -1, 1.5, Number.NaN, 2 ** 53], range);
  t.end();
});

t.test('a payload of zeroes, and a key of zeroes', (t) => {
  const zero = Buffer.alloc(4);
  for (const { Decoder } of DECODERS) {
    for (const length of [0, 5, 30, 70, 300]) {
      for (const key of [zero, KEY]) {
        const text = 'z'.repeat(length);
        const bytes = [frame(BINARY, Buffer.alloc(length), { key }), frame(TEXT, text, { key })];
        bytes.push(frame(CONTINUATION | TEXT, text, { key, fin: false }), frame(CONTINUATION, text, { key }));
        t.strictSame(decode(Decoder, { role: 'server' }, ...bytes), [
          ['binary', '\0'.repeat(length), false],
          ['string', text, false, false],
          ['string', text + text, false, false]
        ]);
      }
    }
    t.strictSame(decode(Decoder, { role: 'server' }, frame(CLOSE, closePayload(1001), { key: zero })), [
      ['close', 1001, '']
    ]);
  }
  t.end();
});
