'use strict';

// maxPayload and maxFragments.

const assert = require('node:assert/strict');
const { constants } = require('node:buffer');
const t = require('tap');
const { forEachCase } = require('../../support/cases');
const { decoderOver } = require('../../support/codecs');
const { forEachDecoder } = require('../../support/decoders');
const { binary, string } = require('../../support/recorder');

const TOO_BIG = ['error', 'MESSAGE_TOO_BIG', 1009];
const TOO_MANY = ['error', 'TOO_MANY_FRAGMENTS', 1008];
const MIB = 1024 * 1024;

/** Text and binary messages, with the event of each. */
const kindsOf = (f) => [
  { name: 'text', make: f.text, event: string },
  { name: 'binary', make: f.binary, event: binary }
];

t.test('maxPayload: 0 allows only empty messages', (t) => {
  const options = { maxPayload: 0 };
  forEachDecoder(({ decode, f }) => {
    forEachCase(kindsOf(f), ({ make, event }) => {
      const frames = [make(''), f.ping('control frames do not count'), make('')];
      assert.deepEqual(decode(frames, options).length, 3, 'a control frame between empty messages');
      assert.deepEqual(decode([make(''), make('a')], options), [event(''), TOO_BIG], 'one byte');
      const start = make('', { fin: false });
      assert.deepEqual(decode([start, f.continuation('')], options), [event('')], 'empty fragments');
      assert.deepEqual(decode([start, f.continuation('a')], options), [TOO_BIG], 'one byte in the second fragment');
    });
  });
  t.end();
});

t.test('maxPayload allows a message of that many bytes, and no more', (t) => {
  forEachDecoder(({ decode, f, refusedAfter }) => {
    forEachCase(kindsOf(f), ({ make, event }) => {
      assert.deepEqual(
        decode([make('a'), make('b'), make(''), make('ab')], { maxPayload: 1 }),
        [event('a'), event('b'), event(''), TOO_BIG],
        'one byte'
      );
      forEachCase([20, 125, 126, 1000, 65535, 65536], (maxPayload) => {
        const options = { maxPayload };
        const exact = 'e'.repeat(maxPayload);
        const frames = [make(exact), make(`${exact}e`), make('a')];
        assert.deepEqual(decode(frames, options), [event(exact), TOO_BIG], 'one frame');
        const start = make('eeeeeee', { fin: false });
        const rest = 'e'.repeat(maxPayload - 7);
        assert.deepEqual(
          decode([start, f.continuation(rest), make(exact)], options),
          [event(exact), event(exact)],
          'two fragments'
        );
        assert.deepEqual(decode([start, f.continuation(`${rest}e`)], options), [TOO_BIG], 'two fragments, too big');
        assert.deepEqual(
          decode([start, f.continuation(rest, { fin: false }), f.continuation('e')], options),
          [TOO_BIG],
          'three fragments, too big'
        );
        const header = make('', { length: maxPayload + 1 });
        assert.equal(refusedAfter(header, options), header.length, 'refused by the header alone');
      });
    });
  });
  t.end();
});

// Other decoders have read such limits as no limit, or as a limit that is used up.
t.test('maxPayload may be beyond 31 and 32 bits', (t) => {
  forEachDecoder(({ decodeCut, f }) => {
    const headerOf = (length) => f.binary('', { length });
    const start = f.binary('12345', { fin: false });
    const both = (length) => Buffer.concat([start, f.continuation('', { length })]);
    const limits = [2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 53 - 2];
    const possible = limits.filter((limit) => limit <= constants.MAX_LENGTH);
    forEachCase(possible, (maxPayload) => {
      const options = { maxPayload };
      assert.deepEqual(decodeCut(headerOf(maxPayload), [], options), [], 'the limit');
      assert.deepEqual(decodeCut(headerOf(maxPayload + 1), [], options), [TOO_BIG], 'one byte more');
      assert.deepEqual(decodeCut(both(maxPayload - 5), [], options), [], 'the limit, two fragments');
      assert.deepEqual(decodeCut(both(maxPayload - 4), [], options), [TOO_BIG], 'one byte more, two fragments');
    });
  });
  t.end();
});

t.test('maxPayload: 2^53 - 1 and Infinity allow any length that memory can have', (t) => {
  forEachDecoder(({ decodeCut, f, refusedAfter }) => {
    const headerOf = (length) => f.binary('', { length });
    const both = (length) => Buffer.concat([f.binary('12345', { fin: false }), f.continuation('', { length })]);
    const most = Math.min(constants.MAX_LENGTH, 2 ** 53 - 1);
    forEachCase([2 ** 53 - 1, Number.POSITIVE_INFINITY], (maxPayload) => {
      const options = { maxPayload };
      assert.deepEqual(decodeCut(headerOf(most), [], options), [], 'the most');
      assert.deepEqual(decodeCut(headerOf(BigInt(most) + 1n), [], options), [TOO_BIG], 'one byte more');
      assert.deepEqual(decodeCut(both(most - 5), [], options), [], 'the most, two fragments');
      assert.deepEqual(decodeCut(both(most), [], options), [TOO_BIG], 'more, two fragments');
      assert.equal(refusedAfter(headerOf(2n ** 53n), options), 10, '2^53 is refused before the key is there');
      assert.equal(decodeCut(f.binary('a'.repeat(70000)), [], options).length, 1, 'a message that is there');
    });
  });
  t.end();
});

t.test('maxPayload is 100 MiB by default', (t) => {
  forEachDecoder(({ decodeCut, f }) => {
    for (const options of [{}, { maxPayload: undefined }, { maxPayload: null }]) {
      const what = JSON.stringify(options);
      assert.deepEqual(decodeCut(f.binary('', { length: 100 * MIB }), [], options), [], `${what}: the limit`);
      assert.deepEqual(decodeCut(f.binary('', { length: 100 * MIB + 1 }), [], options), [TOO_BIG], `${what}: more`);
    }
  });
  t.end();
});

t.test('text that is longer than the longest string is refused with any maxPayload', (t) => {
  const longest = constants.MAX_STRING_LENGTH;
  const options = { maxPayload: Number.POSITIVE_INFINITY };
  forEachDecoder(({ decodeCut, f }) => {
    const more = f.text('', { length: longest + 1 });
    assert.deepEqual(decodeCut(f.text('', { length: longest }), [], options), [], 'the longest string');
    assert.deepEqual(decodeCut(more, [], options), [TOO_BIG], 'one byte more');
    const both = Buffer.concat([f.text('a', { fin: false }), f.continuation('', { length: longest })]);
    assert.deepEqual(decodeCut(both, [], options), [TOO_BIG], 'two fragments, one byte more');
    assert.deepEqual(decodeCut(more, [], { ...options, text: 'buffer' }), [], 'text as Buffers');
    const compressed = f.text('', { rsv: 0x40, length: longest + 1 });
    assert.deepEqual(decodeCut(compressed, [], { ...options, rsv1: true }), [], 'text of an extension is a Buffer');
    assert.deepEqual(decodeCut(f.binary('', { length: longest + 1 }), [], options), [], 'binary');
  });
  t.end();
});

// A scan that reports such a frame, so that the test needs no chunk of 512 MiB.
t.test('text that is longer than the longest string is refused if all of it is in one chunk', (t) => {
  const longest = constants.MAX_STRING_LENGTH;
  forEachDecoder(({ backend, f, role }) => {
    const DecoderOfOne = decoderOver({
      ...backend,
      scan(_chunk, _start, _mode, table) {
        table.set([0x81, 14, 14 + longest + 1]);
        return 1;
      }
    });
    const codes = [];
    const decoder = new DecoderOfOne({
      role,
      maxPayload: Number.POSITIVE_INFINITY,
      onMessage: () => codes.push('a message'),
      onError: ({ code, closeCode }) => codes.push(code, closeCode)
    });
    decoder.write(Buffer.concat([f.text('a'), f.text('aaaaaaaaaa')]));
    assert.deepEqual(codes, ['FRAMEMASK_ERR_MESSAGE_TOO_BIG', 1009]);
  });
  t.end();
});

t.test('the error of maxPayload names the limit', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    const messages = [];
    const decoder = new Decoder({ role, maxPayload: 3, onError: ({ message }) => messages.push(message) });
    decoder.write(f.text('abcd'));
    assert.deepEqual(messages, ['A message is longer than 3 bytes']);
  });
  t.end();
});

/** A message of fragments with one byte each. */
function fragments(f, count, make = f.text) {
  return Array.from({ length: count }, (_, i) => {
    const options = { fin: i === count - 1 };
    return i === 0 ? make('a', options) : f.continuation('a', options);
  });
}

t.test('maxFragments allows a message of that many frames, and no more', (t) => {
  forEachDecoder(({ decode, f }) => {
    forEachCase([1, 2, 3, 50], (maxFragments) => {
      const options = { maxFragments };
      const good = fragments(f, maxFragments);
      const bad = fragments(f, maxFragments + 1);
      assert.equal(decode([...good, ...good, f.text('a'), ...good], options).length, 4, 'four good messages');
      assert.deepEqual(decode([...good, ...bad], options), [string('a'.repeat(maxFragments)), TOO_MANY], 'text');
      assert.deepEqual(decode(fragments(f, maxFragments + 1, f.binary), options), [TOO_MANY], 'binary');
      const empty = [f.text('', { fin: false }), ...Array(maxFragments).fill(f.continuation('', { fin: false }))];
      assert.deepEqual(decode(empty, options), [TOO_MANY], 'empty fragments count');
      const withPings = [f.text('a', { fin: maxFragments === 1 }), f.ping(''), f.ping(''), f.ping('')];
      const errors = decode(withPings, options).filter(([type]) => type === 'error');
      assert.deepEqual(errors, [], 'control frames do not count');
    });
    assert.equal(decode(fragments(f, 1000), { maxFragments: Number.POSITIVE_INFINITY }).length, 1, 'Infinity');
  });
  t.end();
});

t.test('maxFragments is 16,384 by default', (t) => {
  forEachDecoder(({ decodeCut, f }) => {
    const one = f.continuation('', { fin: false });
    const limit = [f.text('', { fin: false }), ...Array(16 * 1024 - 1).fill(one)];
    assert.deepEqual(decodeCut(Buffer.concat(limit), []), [], 'the limit');
    assert.deepEqual(decodeCut(Buffer.concat([...limit, one]), []), [TOO_MANY], 'one more');
  });
  t.end();
});

t.test('a message that exceeds both limits is reported as too big', (t) => {
  forEachDecoder(({ decode, f }) => {
    assert.deepEqual(decode(fragments(f, 3), { maxFragments: 1, maxPayload: 1 }), [TOO_BIG]);
  });
  t.end();
});
