'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachCase } = require('../../support/cases');
const { forEachDecoder } = require('../../support/decoders');

/** The codes that section 7.4 and IANA's registry let an endpoint send. */
const mayBeSent = (code) =>
  [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014].includes(code) ||
  (code >= 3000 && code < 5000);

const CODES = [0, 1, 999, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014];
CODES.push(1015, 1016, 1100, 2000, 2999, 3000, 3999, 4000, 4999, 5000, 65535);

t.test('7.1.5: a Close frame without a code counts as 1005', (t) => {
  forEachDecoder(({ decode, f }) => assert.deepEqual(decode([f.close()]), [['close', 1005, '']]));
  t.end();
});

t.test('7.4: takes a close code that may be sent, and refuses any other', (t) => {
  forEachDecoder(({ decode, f }) => {
    forEachCase(CODES, (code) => {
      for (const reason of ['', 'reason', 'κόσμε', 'r'.repeat(123)]) {
        const expected = mayBeSent(code) ? ['close', code, reason] : ['error', 'CLOSE_CODE', 1002];
        assert.deepEqual(decode([f.close(code, reason)]), [expected], `reason '${reason}'`);
      }
    });
  });
  t.end();
});

t.test('5.5.1: refuses a reason that is not UTF-8; a bad code is reported first', (t) => {
  forEachDecoder(({ decode, f }) => {
    forEachCase(['ff', 'c3', 'eda080', 'f09f98', 'c080'], (hex) => {
      const reason = Buffer.from(hex, 'hex');
      assert.deepEqual(decode([f.close(1000, reason)]), [['error', 'UTF8', 1007]], 'a good code');
      assert.deepEqual(decode([f.close(1005, reason)]), [['error', 'CLOSE_CODE', 1002]], 'a bad code');
    });
  });
  t.end();
});

t.test('5.5.1: ignores all that comes after a Close frame, right or wrong', (t) => {
  forEachDecoder(({ f, record }) => {
    const { decoder, events } = record();
    const bytes = Buffer.concat([f.ping('a'), f.close(1000), f.ping('b'), f.close(1001)]);
    assert.equal(decoder.write(bytes), true, 'what write returns');
    assert.equal(decoder.closed, true, 'closed');
    assert.equal(decoder.write(f.text('late')), true, 'what write returns afterwards');
    decoder.write(f.frame(3));
    const expected = [
      ['ping', 'a'],
      ['close', 1000, '']
    ];
    assert.deepEqual(events, expected, 'the events');
  });
  t.end();
});

t.test('onClose is called when the decoder has ended', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
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
  t.end();
});
