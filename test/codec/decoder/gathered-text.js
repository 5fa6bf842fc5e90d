'use strict';

// Text that arrives in pieces is gathered in pooled memory, which decoders use one after another.

const assert = require('node:assert/strict');
const t = require('tap');
const { Decoder } = require('../../../lib/codec/decoder');
const { KEY, TEXT, frame } = require('../../support/frames');

const SIZES = [20_000, 40_000, 65_535, 65_536, 65_537, 200_000];

/** Text of one letter, which tells messages apart. */
function textOf(i, length) {
  return String.fromCharCode(97 + (i % 26)).repeat(length);
}

/** A masked frame in two pieces. */
function piecesOf(text, first) {
  const bytes = frame(TEXT, text, { key: KEY });
  return [bytes.subarray(0, first), bytes.subarray(first)];
}

t.test('decoders that gather text at the same time do not share memory', (t) => {
  const decoders = SIZES.map(() => {
    const texts = [];
    return { texts, decoder: new Decoder({ role: 'server', onMessage: (text) => texts.push(text) }) };
  });
  for (let round = 0; round < 4; round++) {
    const pieces = SIZES.map((size, i) => piecesOf(textOf(i + round, size), [17_000, 200, 40_000, 65_000][round]));
    for (const part of [0, 1]) {
      for (const [i, piece] of pieces.entries()) decoders[i].decoder.write(piece[part]);
    }
  }
  for (const [i, { texts }] of decoders.entries()) {
    assert.equal(texts.length, 4, `messages of ${SIZES[i]} bytes`);
    for (const [round, text] of texts.entries()) {
      assert.ok(text === textOf(i + round, SIZES[i]), `${SIZES[i]} bytes, round ${round}`);
    }
  }
  t.end();
});

t.test('a handler may feed another decoder while its own message is being delivered', (t) => {
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
  t.equal(got.length, 6);
  for (const [at, text] of [i, o, i, o, i, o].entries()) assert.ok(got[at] === text, `message ${at}`);
  t.end();
});

t.test('text may be ASCII in one piece and not in another', (t) => {
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
  // What the decoder knows of one message does not hold for the next.
  for (const piece of piecesOf('c'.repeat(50_000), 30_000)) decoder.write(piece);
  t.equal(got.length, cuts.length + 1);
  for (const [i, at] of cuts.entries()) assert.ok(got[i] === text, `cut at ${at}`);
  assert.ok(got.at(-1) === 'c'.repeat(50_000), 'the message that is all ASCII');
  t.end();
});

t.test('decoders gather one text after another in the same memory', (t) => {
  const texts = Array.from({ length: 10 }, (_, i) => piecesOf(textOf(i, 60_000), 30_000));
  const { allocUnsafeSlow } = Buffer;
  t.teardown(() => {
    Buffer.allocUnsafeSlow = allocUnsafeSlow;
  });
  let large = 0;
  Buffer.allocUnsafeSlow = (size) => {
    if (size > 16_384) large++;
    return allocUnsafeSlow(size);
  };
  const got = [];
  for (const pieces of texts) {
    const decoder = new Decoder({ role: 'server', onMessage: (text) => got.push(text) });
    for (const piece of pieces) decoder.write(piece);
  }
  t.equal(got.length, 10);
  for (const [i, text] of got.entries()) assert.ok(text === textOf(i, 60_000), `text ${i}`);
  t.ok(large <= 1, `${large} allocations for 10 texts`);
  t.end();
});

t.test('what onFrame has seen of a text is not overwritten by the next', (t) => {
  const seen = [];
  for (let i = 0; i < 3; i++) {
    const decoder = new Decoder({
      role: 'server',
      onFrame: (_first, bytes, start, end) => seen.push(bytes.subarray(start, end))
    });
    for (const piece of piecesOf(textOf(i, 50_000), 30_000)) decoder.write(piece);
  }
  t.equal(seen.length, 3);
  for (const [i, bytes] of seen.entries()) assert.ok(bytes.toString() === textOf(i, 50_000), `text ${i}`);
  t.end();
});
