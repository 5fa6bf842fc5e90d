'use strict';

// Text that comes in pieces is gathered in memory that serves again, for whichever decoder needs it next.

const t = require('tap');
const { KEY, frame } = require('../../support/frames');
const { Decoder } = require('../../../lib/codec/decoder');

const TEXT = 1;
const SIZES = [20_000, 40_000, 65_535, 65_536, 65_537, 200_000];

/** Letters that tell which message they are of. */
function textOf(i, length) {
  return String.fromCharCode(97 + (i % 26)).repeat(length);
}

function piecesOf(text, first) {
  const bytes = frame(TEXT, text, { key: KEY });
  return [bytes.subarray(0, first), bytes.subarray(first)];
}

t.test('decoders that gather at the same time share nothing', (t) => {
  const got = [];
  const expected = [];
  const decoders = SIZES.map((_, i) => new Decoder({ role: 'server', onMessage: (text) => got.push([i, text]) }));
  for (let round = 0; round < 4; round++) {
    const pieces = SIZES.map((size, i) => piecesOf(textOf(i + round, size), [17_000, 200, 40_000, 65_000][round]));
    for (const part of [0, 1]) {
      for (const [i, piece] of pieces.entries()) decoders[i].write(piece[part]);
    }
    SIZES.forEach((size, i) => {
      expected.push([i, textOf(i + round, size)]);
    });
  }
  t.equal(got.length, expected.length);
  expected.sort(([a], [b]) => a - b);
  got.sort(([a], [b]) => a - b);
  t.ok(got.every(([i, text], at) => i === expected[at][0] && text === expected[at][1]));
  t.end();
});

t.test('a handler that feeds a decoder while its own message is being delivered', (t) => {
  const got = [];
  const inner = new Decoder({ role: 'server', onMessage: (text) => got.push(text) });
  const outer = new Decoder({
    role: 'server',
    onMessage(text) {
      for (const piece of piecesOf('i'.repeat(50_000), 30_000)) inner.write(piece);
      got.push(text);
    }
  });
  for (let i = 0; i < 3; i++) for (const piece of piecesOf('o'.repeat(50_000), 30_000)) outer.write(piece);
  const [i, o] = ['i', 'o'].map((letter) => letter.repeat(50_000));
  t.ok([i, o, i, o, i, o].every((text, at) => got[at] === text));
  t.end();
});

t.test('an onFrame handler that gives the memory away', (t) => {
  const lengths = [];
  const decoder = new Decoder({
    role: 'server',
    onFrame(_first, bytes) {
      structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    },
    onMessage: (text) => lengths.push(text.length)
  });
  const other = new Decoder({ role: 'server', onMessage: (text) => lengths.push(text) });
  for (let i = 0; i < 3; i++) {
    for (const piece of piecesOf('a'.repeat(50_000), 30_000)) decoder.write(piece);
    for (const piece of piecesOf(textOf(i, 50_000), 30_000)) other.write(piece);
  }
  t.same(
    lengths.filter((length) => length !== 0),
    [0, 1, 2].map((i) => textOf(i, 50_000))
  );
  t.end();
});

t.test('text that is ASCII in one piece and not in another', (t) => {
  const text = `${'a'.repeat(30_000)}é${'b'.repeat(20_000)}`;
  const bytes = frame(TEXT, text, { key: KEY });
  const got = [];
  const decoder = new Decoder({ role: 'server', onMessage: (data) => got.push(data) });
  const cuts = [30_000, 30_007, 30_008, 30_009, 30_010, 30_100, 100];
  for (const at of cuts) {
    const copy = Buffer.from(bytes);
    decoder.write(copy.subarray(0, at));
    decoder.write(copy.subarray(at));
  }
  // What was found of one message is not taken to be so of the next.
  for (const piece of piecesOf('c'.repeat(50_000), 30_000)) decoder.write(piece);
  t.equal(got.length, cuts.length + 1);
  t.ok(got.slice(0, -1).every((data) => data === text));
  t.equal(got.at(-1), 'c'.repeat(50_000));
  t.end();
});
