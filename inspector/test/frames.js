'use strict';

// The inspector parses frames itself, because a Decoder keeps no headers and ends at an error. Here
// both are compared.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { KEY } = require('../../test/support/frames');
const { createRandom, seed } = require('../../test/support/random');
const { Judge, State } = require('../lib/judge');
const { headerFields, parseFrame, parseFrames, unmasked } = require('../lib/parse-frames');
const { RULES, ruleOf } = require('../lib/rfc');
const { decode, rawFrame } = require('./support/frames');

/** The frames and verdicts that the inspector shows of the same bytes. */
function inspect(from, bytes) {
  const judge = new Judge(from);
  return [...parseFrames(bytes)].map((parsed) => ({ parsed, ...judge.judge(parsed) }));
}

/** Fails where the inspector shows anything else than the Decoder finds. */
function compare(from, bytes) {
  const shown = inspect(from, bytes);
  const bad = shown.findIndex(({ state }) => state === State.BAD);
  const good = shown.filter(({ parsed, state }) => parsed.complete && state === State.GOOD);
  const wanted = good.map(({ parsed }) => [parsed.bytes[0], unmasked(parsed).toString('hex')]);
  for (const size of [Math.max(bytes.length, 1), 7, 1]) {
    const message = `${bytes.toString('hex')}, ${size} bytes at a time, seed ${seed}`;
    const { frames, fault } = decode(from, bytes, size);
    assert.deepEqual(frames.slice(0, good.length), wanted, message);
    // A Decoder shows a frame before it judges the message that the frame ends.
    assert.ok(frames.length - good.length <= (bad === -1 ? 0 : 1), message);
    const error = shown[bad]?.fault;
    assert.deepEqual(error && { code: error.code, closeCode: error.closeCode }, fault ?? undefined, message);
  }
  if (bad !== -1) assert.ok(shown.slice(bad + 1).every(({ state }) => state === State.UNREAD));
}

// page/captures.js has the cases of Autobahn|Testsuite.
for (const [name, frames, at, error] of [
  ['a frame that is not masked', [rawFrame(0x81, 'Hello', { key: null })], 0, 'MASK_MISSING'],
  ['a length that is not minimal', [rawFrame(0x82, 'ab', { lengthSize: 2 })], 0, 'LENGTH_NOT_MINIMAL'],
  ['a length of 2^63', [rawFrame(0x82, 'a', { lengthSize: 8, length: 2n ** 63n })], 0, 'LENGTH'],
  ['a length of 2^62', [rawFrame(0x82, 'a', { lengthSize: 8, length: 2n ** 62n })], 0, 'MESSAGE_TOO_BIG'],
  ['text cut amid a character', [rawFrame(0x01, '\xff'), rawFrame(0x80, Buffer.from([0xc3]))], 1, 'UTF8']
]) {
  test(`the verdict is that of the Decoder: ${name}`, () => {
    const bytes = Buffer.concat(frames);
    compare('client', bytes);
    const { fault, state } = inspect('client', bytes)[at];
    assert.deepEqual([fault.code, state], [`FRAMEMASK_ERR_${error}`, State.BAD]);
  });
}

test('random streams: the parser and the Decoder find the same frames', () => {
  const random = createRandom(seed);
  for (let i = 0; i < 300; i++) {
    const from = random(2) === 0 ? 'client' : 'server';
    const frames = Array.from({ length: 1 + random(8) }, () => {
      const firstByte = [0x81, 0x82, 0x01, 0x80, 0x00, 0x89, 0x8a, random(256)][random(8)];
      const payload = Buffer.from(Array.from({ length: [0, 5, 125, 126, 300][random(5)] }, () => 97 + random(26)));
      return rawFrame(firstByte, payload, { key: (from === 'client') === (random(20) !== 0) ? KEY : null });
    });
    const bytes = Buffer.concat(frames);
    compare(from, bytes.subarray(0, bytes.length - random(4)));
  }
  for (const length of [65_535, 65_536]) compare('client', rawFrame(0x82, Buffer.alloc(length, 'a')));
});

test('random bytes: the parser ends, and reads each byte once', () => {
  const random = createRandom(seed);
  for (let i = 0; i < 500; i++) {
    const bytes = Buffer.from(Array.from({ length: i % 40 }, () => random(256)));
    const frames = [...parseFrames(bytes)];
    assert.deepEqual(Buffer.concat(frames.map((frame) => frame.bytes)), bytes);
    for (const frame of frames) assert.ok(headerFields(frame).length >= 5, bytes.toString('hex'));
    compare('client', bytes);
  }
});

test('5.2: the fields of a header are its bits, in their order', () => {
  const bytes = rawFrame(0x52, Buffer.alloc(70_000));
  const fields = headerFields(parseFrame(bytes, 0));
  assert.equal(
    fields.map(([name, byte]) => `${byte} ${name}`).join(', '),
    '0 FIN, 0 RSV1, 0 RSV2, 0 RSV3, 0 opcode, 1 MASK, 1 Payload length, ' +
      '2 Extended payload length (64 bits), 10 Masking key'
  );
  const bits = fields.map(([, , bits]) => bits.replaceAll(' ', '')).join('');
  assert.equal(bits, [...bytes.subarray(0, 14)].map((byte) => byte.toString(2).padStart(8, '0')).join(''));
  assert.equal(fields[7][3], '70000');
  const sections = Array.from({ length: 16 }, (_, opcode) => headerFields(parseFrame(rawFrame(opcode, ''), 0))[4][5]);
  assert.deepEqual(sections, ['5.4', ...Array(7).fill('5.6'), ...Array(8).fill('5.5')]);
});

test('every error of a Decoder has the sentence of an RFC', () => {
  const docs = fs.readFileSync(path.join(__dirname, '../../docs/codec.md'), 'utf8');
  const rows = [...docs.matchAll(/^\| `([A-Z_\d]+)` \| 1\d*(?: \| (\S*) \|)?/gm)];
  assert.ok(rows.length > 15);
  // Faults of a handshake, and of this endpoint.
  const others = ['EXTENSIONS', 'HANDSHAKE', 'DETACHED', 'NO_MEMORY'];
  for (const [, code, section] of rows.filter(([, code]) => !others.includes(code))) {
    const rule = ruleOf({ code: `FRAMEMASK_ERR_${code}`, receivedCode: 1005 });
    assert.match(rule.section, /^\d+(\.\d+)*$/, code);
    assert.match(rule.sentence, /^[A-Z\d].*\.$/, code);
    if (section && code !== 'CLOSE_CODE') assert.equal(rule.section, section, `${code}: the section of docs/codec.md`);
  }
  assert.equal(ruleOf({ code: '__proto__' }), null);
  const codes = rows.map(([, code]) => code);
  assert.ok(Object.keys(RULES).every((code) => codes.includes(code)));
});

test('7.4: each range of close codes that may not be sent has its sentence', () => {
  for (const [code, words] of [
    [0, /0-999/],
    [999, /0-999/],
    [1004, /Reserved/],
    [1005, /^1005 is a reserved/],
    [1015, /^1015 is a reserved/],
    [2000, /1000-2999/],
    [5000, /defined in Section 7\.4/]
  ]) {
    assert.match(ruleOf({ code: 'FRAMEMASK_ERR_CLOSE_CODE', receivedCode: code }).sentence, words, String(code));
  }
});

test('7.1.7: frames after a Close frame are not read; one that the end of the bytes cuts is incomplete', () => {
  const close = Buffer.concat([rawFrame(0x88, Buffer.from([3, 232])), rawFrame(0x81, 'late')]);
  const states = inspect('client', close).map(({ state }) => state);
  assert.deepEqual(states, [State.GOOD, State.UNREAD]);
  const frame = rawFrame(0x81, 'Hello');
  for (let length = 1; length < frame.length; length++) {
    const [shown] = inspect('client', frame.subarray(0, length));
    assert.deepEqual([shown.state, shown.parsed.complete], [State.INCOMPLETE, false], `${length} bytes`);
  }
});
