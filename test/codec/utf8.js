'use strict';

// completeUntil against the TextDecoder of Node.js in its strict mode.

const t = require('tap');
const { completeUntil } = require('../../lib/codec/utf8');
const { createRandom } = require('../support/garbage');
const { seed } = require('../support/recorder');

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Whether bytes to come can make good text of these. */
function canBecomeText(bytes) {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    decoder.decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function isText(bytes) {
  try {
    strict.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** How far bytes are whole characters: at most three bytes, of which more is to come, are not. -1 if they are bad. */
function expectedFor(bytes) {
  if (!canBecomeText(bytes)) return -1;
  for (let end = bytes.length; end >= 0; end--) if (isText(bytes.subarray(0, end))) return end;
}

t.test('every sequence of one, two and three bytes, in one piece and cut everywhere', (t) => {
  const bytes = Buffer.alloc(3);
  const counts = { good: 0, incomplete: 0, bad: 0 };
  const check = (start, end, expected) => {
    const actual = completeUntil(bytes, start, end);
    if (actual !== expected) {
      throw new Error(`${bytes.toString('hex', 0, end)} from ${start}: ${actual}, not ${expected}`);
    }
    if (start > 0) return;
    if (expected === -1) counts.bad++;
    else if (expected === end) counts.good++;
    else counts.incomplete++;
  };
  const moved = (result, by) => (result === -1 ? -1 : result + by);

  // What is expected of one byte, of two by the number that they are, and of three. After a whole character all begins
  // anew, and what was bad stays bad: so few questions are left for a TextDecoder.
  const ones = Array.from({ length: 256 }, (_, a) => expectedFor(Buffer.from([a])));
  const twos = new Int8Array(65536);
  for (let pair = 0; pair < 65536; pair++) {
    const one = ones[pair >> 8];
    if (one === 1) twos[pair] = moved(ones[pair & 255], 1);
    else twos[pair] = one === -1 ? -1 : expectedFor(Buffer.from([pair >> 8, pair & 255]));
  }
  const expectedOfThree = (pair) => {
    if (ones[pair >> 8] === 1) return moved(twos[((pair & 255) << 8) | bytes[2]], 1);
    if (twos[pair] === 2) return moved(ones[bytes[2]], 2);
    return twos[pair] === -1 ? -1 : expectedFor(bytes);
  };

  for (let a = 0; a < 256; a++) {
    bytes[0] = a;
    const one = ones[a];
    check(0, 1, one);
    for (let b = 0; b < 256; b++) {
      bytes[1] = b;
      const two = twos[(a << 8) | b];
      check(0, 2, two);
      if (one > 0) check(one, 2, two);
      for (let c = 0; c < 256; c++) {
        bytes[2] = c;
        const three = expectedOfThree((a << 8) | b);
        check(0, 3, three);
        if (one > 0) check(one, 3, three);
        if (two > 0 && two !== one) check(two, 3, three);
      }
    }
  }
  // Characters: 128 of one byte, 1920 of two, 61440 of three (U+0800 to U+FFFF without the 2048 surrogates).
  const good = 128 + (128 ** 2 + 1920) + (128 ** 3 + 2 * 128 * 1920 + 61440);
  // A lead byte of 2, 3 and 4 bytes: 30, 16 and 5; the first two bytes of 3 and of 4; the first three of 4.
  const leads = 30 + 16 + 5;
  const firstTwo = 16 * 64 - 32 - 32 + 5 * 64 - 16 - 48;
  const firstThree = (5 * 64 - 16 - 48) * 64;
  const incomplete = leads + (128 * leads + firstTwo) + ((128 ** 2 + 1920) * leads + 128 * firstTwo + firstThree);
  t.strictSame(counts, { good, incomplete, bad: 256 + 256 ** 2 + 256 ** 3 - good - incomplete });
  t.end();
});

t.test('sequences of four bytes and more, cut everywhere', (t) => {
  const leads = [0x41, 0x80, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xff];
  const others = [0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xe0, 0xf0, 0xff];
  let sequences = 0;
  for (const a of leads) {
    for (const b of [...others, 0x81, 0xbe]) {
      for (const c of others) {
        for (const d of others) {
          checkCut(Buffer.from([a, b, c, d]), sequences++ % 3);
        }
      }
    }
  }
  t.equal(sequences, 17 * 16 * 14 * 14);
  t.end();
});

/** Bytes that come in pieces, with good text before them: found bad with the very byte that no other can mend. */
function checkCut(tail, kind) {
  const before = Buffer.from(['', 'a', 'the text before it, é and 😀'][kind]);
  const bytes = Buffer.concat([before, tail]);
  const results = [];
  for (let end = 0; end <= bytes.length; end++)
    results.push(end < before.length ? 0 : expectedFor(bytes.subarray(0, end)));
  for (let first = before.length; first <= bytes.length; first++) {
    let checked = completeUntil(bytes, 0, first);
    if (checked !== results[first]) throw new Error(`${bytes.toString('hex')}, ${first} bytes: ${checked}`);
    for (let end = first + 1; end <= bytes.length && checked !== -1; end++) {
      checked = completeUntil(bytes, checked, end);
      if (checked !== results[end]) throw new Error(`${bytes.toString('hex')}, ${first}, ${end} bytes: ${checked}`);
    }
  }
}

t.test(`texts that are right, or were until a byte changed (seed ${seed})`, (t) => {
  const random = createRandom(seed);
  const characters = [
    'a',
    ' ',
    '\0',
    '\x7f',
    '\x80',
    'é',
    '߿',
    'ࠀ',
    '퟿',
    '',
    '\ufeff',
    '\ufffd',
    '￿',
    '𐀀',
    '😀',
    '\u{10ffff}'
  ];
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
      if (checked !== (expected === -1 ? -1 : start + expected)) {
        t.fail(`seed ${seed}, text ${i}: ${piece.toString('hex')}`);
        break;
      }
    }
    if (checked === start + bytes.length) good++;
    else bad++;
  }
  t.ok(good > 1000 && bad > 100, `${good} good, ${bad} bad`);
  t.end();
});

t.test('nothing is there yet', (t) => {
  t.equal(completeUntil(Buffer.from('é'), 2, 2), 2);
  t.equal(completeUntil(Buffer.alloc(0), 0, 0), 0);
  t.end();
});
