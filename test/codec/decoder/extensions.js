'use strict';

// rsv1: true leaves messages with the bit RSV1 to an extension such as permessage-deflate (RFC
// 7692).

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachDecoder } = require('../../support/decoders');
const { binary, string } = require('../../support/recorder');

const OPEN = { rsv1: true };
const REFUSED = ['error', 'RESERVED_BITS', 1002];
/** Bytes that are not UTF-8, as an extension makes them of text. */
const BYTES = Buffer.from([0xff, 0x00]);

t.test('5.2: refuses RSV1 unless the option rsv1 is true', (t) => {
  forEachDecoder(({ decode, f }) => {
    for (const options of [{}, { rsv1: false }, { rsv1: undefined }, { rsv1: null }]) {
      const what = JSON.stringify(options);
      assert.deepEqual(decode([f.text('a', { rsv: 0x40 })], options), [REFUSED], `${what}: text`);
      assert.deepEqual(decode([f.binary('a', { rsv: 0x40, fin: false })], options), [REFUSED], `${what}: binary`);
    }
  });
  t.end();
});

t.test('rsv1: delivers a message with RSV1 as a Buffer, without a check of UTF-8', (t) => {
  forEachDecoder(({ decode, f }) => {
    assert.deepEqual(
      decode([f.text('a'), f.text(BYTES, { rsv: 0x40 }), f.binary(BYTES, { rsv: 0x40 }), f.binary(BYTES)], OPEN),
      [string('a'), ['text', '\xff\x00', true], ['binary', '\xff\x00', true], binary('\xff\x00')]
    );
    const long = f.text(Buffer.alloc(3000, 0xff), { rsv: 0x40 });
    assert.deepEqual(
      decode([long, f.text('b')], OPEN),
      [['text', '\xff'.repeat(3000), true], string('b')],
      '3000 bytes'
    );
    assert.deepEqual(decode([f.text('', { rsv: 0x40 })], OPEN), [['text', '', true]], 'no bytes');
    assert.deepEqual(
      decode([f.text(BYTES, { rsv: 0x40, fin: false }), f.ping(''), f.continuation(BYTES), f.text('c')], OPEN),
      [['ping', ''], ['text', '\xff\x00\xff\x00', true], string('c')],
      'two fragments'
    );
  });
  t.end();
});

t.test('8.1: with rsv1, text without RSV1 must still be UTF-8', (t) => {
  forEachDecoder(({ decode, f }) => {
    assert.deepEqual(decode([f.text(BYTES)], OPEN), [['error', 'UTF8', 1007]]);
  });
  t.end();
});

t.test('RFC 7692, 6: with rsv1, refuses RSV1 on any but the first frame of a message', (t) => {
  forEachDecoder(({ decode, f }) => {
    const start = f.text(BYTES, { rsv: 0x40, fin: false });
    assert.deepEqual(decode([start, f.continuation('', { rsv: 0x40 })], OPEN), [REFUSED], 'a continuation frame');
    assert.deepEqual(decode([f.ping('', { rsv: 0x40 })], OPEN), [REFUSED], 'a control frame');
  });
  t.end();
});

t.test('5.2: with rsv1, refuses RSV2 and RSV3', (t) => {
  forEachDecoder(({ decode, f }) => {
    assert.deepEqual(decode([f.text('', { rsv: 0x60 })], OPEN), [REFUSED], 'RSV2, with RSV1');
    assert.deepEqual(decode([f.text('', { rsv: 0x10 })], OPEN), [REFUSED], 'RSV3');
  });
  t.end();
});

t.test('rsv1: maxPayload counts the bytes that arrive', (t) => {
  forEachDecoder(({ decode, f }) => {
    assert.deepEqual(decode([f.text(BYTES, { rsv: 0x40 })], { ...OPEN, maxPayload: 1 }), [
      ['error', 'MESSAGE_TOO_BIG', 1009]
    ]);
  });
  t.end();
});
