'use strict';

// completeUntil against the TextDecoder of Node.js in its strict mode.

const assert = require('node:assert/strict');
const path = require('node:path');
const t = require('tap');
const { completeUntil } = require('../../lib/shared/utf8');
const { forEachCase } = require('../support/cases');
const { createRandom, seed } = require('../support/random');
const { runScript } = require('../support/run-script');
const { TRIES_ALL, titleOf } = require('../support/sample');
const { THIRD_BYTES, expectedFor } = require('../support/utf8-sequences');

const SEQUENCES = path.join(__dirname, '../support/utf8-sequences.js');

const EVERY_SEQUENCE = 'RFC 3629: every sequence of one, two and three bytes, in one piece and cut anywhere';

t.test(titleOf(EVERY_SEQUENCE, 'the third byte at the edge of a range'), async (t) => {
  // Characters: 128 of one byte, 1920 of two, 61440 of three (U+0800 to U+FFFF without the 2048
  // surrogates).
  const good = 128 + (128 ** 2 + 1920) + (128 ** 3 + 2 * 128 * 1920 + 61440);
  // A lead byte of 2, 3 and 4 bytes: 30, 16 and 5; the first two bytes of 3 and of 4; the first
  // three of 4.
  const leads = 30 + 16 + 5;
  const firstTwo = 16 * 64 - 32 - 32 + 5 * 64 - 16 - 48;
  const firstThree = (5 * 64 - 16 - 48) * 64;
  const incomplete = leads + (128 * leads + firstTwo) + ((128 ** 2 + 1920) * leads + 128 * firstTwo + firstThree);
  const stdout = await runScript(SEQUENCES, []);
  const counts = JSON.parse(stdout);
  const total = 256 + 256 ** 2 + 256 ** 2 * THIRD_BYTES.length;
  t.equal(counts.good + counts.incomplete + counts.bad, total);
  if (TRIES_ALL) t.same(counts, { good, incomplete, bad: total - good - incomplete });
});

/** Checks good text with `tail` behind it, cut anywhere. */
function checkCut(tail, before) {
  const bytes = Buffer.concat([before, tail]);
  const expected = [];
  for (let end = 0; end <= bytes.length; end++) {
    expected.push(end < before.length ? 0 : expectedFor(bytes.subarray(0, end)));
  }
  for (let first = before.length; first <= bytes.length; first++) {
    let checked = completeUntil(bytes, 0, first);
    assert.equal(checked, expected[first], `the first ${first} bytes`);
    for (let end = first + 1; end <= bytes.length && checked !== -1; end++) {
      checked = completeUntil(bytes, checked, end);
      assert.equal(checked, expected[end], `${end} bytes, after the first ${first}`);
    }
  }
}

const OF_FOUR = 'RFC 3629: sequences of four bytes behind good text, cut anywhere';

t.test(titleOf(OF_FOUR, `every fifth, seed ${seed}`), async (t) => {
  const leads = [0x41, 0x80, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xff];
  const others = [0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xe0, 0xf0, 0xff];
  const befores = ['', 'a', 'the text before it, é and 😀'].map((text) => Buffer.from(text));
  const sequences = [];
  for (const a of leads) {
    for (const b of [...others, 0x81, 0xbe]) {
      for (const c of others) {
        for (const d of others) {
          sequences.push([a, b, c, d]);
        }
      }
    }
  }
  t.equal(sequences.length, 17 * 16 * 14 * 14);
  for (const [i, sequence] of sequences.entries()) {
    // 14 last bytes: each comes with each pair of first bytes.
    if (!TRIES_ALL && (i + seed) % 5 !== 0) continue;
    const tail = Buffer.from(sequence);
    forEachCase([{ name: tail.toString('hex') }], () => checkCut(tail, befores[i % befores.length]));
  }
});

t.test(`RFC 3629: random text, good or with one byte changed, in random pieces (seed ${seed})`, async (t) => {
  const random = createRandom(seed);
  const characters = [...'a \0\x7f\x80é߿ࠀ퟿\ufeff\ufffd￿𐀀😀\u{10ffff}'];
  let [good, bad] = [0, 0];
  for (let i = 0; i < 5000; i++) {
    let text = '';
    for (let length = random(60); length > 0; length--) {
      text += random(2) === 0 ? 'x' : characters[random(characters.length)];
    }
    const bytes = Buffer.from(text);
    if (random(2) === 0 && bytes.length > 0) bytes[random(bytes.length)] = random(256);
    const start = random(20);
    const placed = Buffer.concat([Buffer.alloc(start, 0xff), bytes, Buffer.alloc(random(3), 0x80)]);
    let checked = start;
    let end = start;
    while (checked !== -1 && end < start + bytes.length) {
      end = Math.min(end + random(24), start + bytes.length);
      const piece = bytes.subarray(0, end - start);
      const expected = expectedFor(piece);
      checked = completeUntil(placed, checked, end);
      const what = `FRAMEMASK_TEST_SEED=${seed}, text ${i}: ${piece.toString('hex')}`;
      assert.equal(checked, expected === -1 ? -1 : start + expected, what);
    }
    if (checked === start + bytes.length) good++;
    else bad++;
  }
  t.ok(good > 1000 && bad > 100, `${good} good, ${bad} bad`);
});

t.test('an empty range is good text', async (t) => {
  t.equal(completeUntil(Buffer.from('é'), 2, 2), 2);
  t.equal(completeUntil(Buffer.alloc(0), 0, 0), 0);
});
