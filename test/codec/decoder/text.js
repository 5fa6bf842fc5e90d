'use strict';

// Section 8.1: text that is not UTF-8 fails the connection. framemask does so at the first byte
// that cannot be part of UTF-8, no matter what follows.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachCase } = require('../../support/cases');
const { forEachDecoder } = require('../../support/decoders');
const { TEXT } = require('../../support/frames');
const { binary, string } = require('../../support/recorder');

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

t.test('8.1: refuses bad text at the bad byte, inside a frame', (t) => {
  forEachDecoder(({ decode, decodeCut, f, refusedAfter }) => {
    forEachCase(BAD_TEXTS, ({ text, bad }) => {
      const whole = f.text(text);
      assert.equal(refusedAfter(whole), whole.length - text.length + bad, 'the byte with which it is refused');
      assert.deepEqual(decode([whole, f.ping('late')]), [BAD_TEXT], 'text as strings');
      assert.deepEqual(decode([whole, f.ping('late')], { text: 'buffer' }), [BAD_TEXT], 'text as Buffers');

      const begun = f.text(text, { length: 2 ** 20 });
      assert.equal(refusedAfter(begun), begun.length - text.length + bad, 'a frame that is not complete');
      assert.deepEqual(decodeCut(begun.subarray(0, begun.length - 3), []), [BAD_TEXT], 'not complete, in one chunk');
    });
  });
  t.end();
});

t.test('8.1: refuses bad text at the bad byte, across fragments', (t) => {
  forEachDecoder(({ decodeCut, f, refusedAfter }) => {
    const size = f.text('a').length;
    forEachCase(BAD_TEXTS, ({ text, bad }) => {
      const frames = Array.from(text, (_, i) => f.frame(i === 0 ? TEXT : 0, text.subarray(i, i + 1), { fin: false }));
      const bytes = Buffer.concat(frames);
      assert.equal(refusedAfter(bytes), size * bad, 'the byte with which it is refused');
      assert.deepEqual(decodeCut(bytes, []), [BAD_TEXT], 'in one chunk');
    });
  });
  t.end();
});

t.test('8.1: delivers nothing that comes after bad text', (t) => {
  forEachDecoder(({ decode, f }) => {
    forEachCase(BAD_SEQUENCES, (hex) => {
      const bad = f.text(fromHex(hex), { fin: false });
      assert.deepEqual(decode([f.text('good'), bad, f.ping('late'), f.continuation('x')]), [string('good'), BAD_TEXT]);
    });
  });
  t.end();
});

t.test('8.1: refuses text that ends inside a character, with its last byte', (t) => {
  forEachDecoder(({ decode, f, refusedAfter }) => {
    forEachCase(['c3', 'e2', 'e282', 'f0', 'f09f', 'f09f98'], (hex) => {
      const cut = Buffer.concat([Buffer.from('text '), fromHex(hex)]);
      const bytes = f.text(cut);
      assert.equal(refusedAfter(bytes), bytes.length, 'the byte with which it is refused');
      assert.deepEqual(decode([bytes]), [BAD_TEXT], 'one frame');
      assert.deepEqual(
        decode([f.text(cut, { fin: false }), f.ping(''), f.continuation('')]),
        [['ping', ''], BAD_TEXT],
        'whose last fragment is empty'
      );
    });
  });
  t.end();
});

t.test('8.1: does not take a replacement character for bad text', (t) => {
  forEachDecoder(({ decode, f }) => {
    assert.deepEqual(decode([f.text('a\ufffdb'), f.text('\ufffd')]), [string('a\ufffdb'), string('\ufffd')]);
  });
  t.end();
});

t.test('5.6: binary data and Ping payloads need not be UTF-8', (t) => {
  forEachDecoder(({ decode, f }) => {
    const bad = Buffer.from([0xff]);
    assert.deepEqual(decode([f.binary(bad), f.ping(bad)]), [binary('\xff'), ['ping', '\xff']], 'in one frame');
    assert.deepEqual(
      decode([f.binary(bad, { fin: false }), f.continuation(Buffer.from([0xfe]))]),
      [binary('\xff\xfe')],
      'in fragments'
    );
  });
  t.end();
});

t.test("8.1: text 'unchecked' delivers what is not UTF-8", (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    const bad = Buffer.from([0x61, 0xff, 0xc3]);
    const fragments = [f.text(bad.subarray(0, 2), { fin: false }), f.continuation(bad.subarray(2))];
    for (const frames of [[f.text(bad)], fragments]) {
      const seen = [];
      const decoder = new Decoder({
        role,
        text: 'unchecked',
        onMessage: (data, isBinary) => seen.push([Buffer.from(data), isBinary]),
        onClose: (code, _reason, bytes) => seen.push([Buffer.from(bytes), code])
      });
      const stream = Buffer.concat(frames);
      decoder.write(Buffer.from(stream));
      for (const byte of stream) decoder.write(Buffer.of(byte));
      decoder.write(f.close(1000, bad));
      assert.deepEqual(seen, [
        [bad, false],
        [bad, false],
        [bad, 1000]
      ]);
    }
  });
  t.end();
});
