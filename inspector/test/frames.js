'use strict';

// The inspector parses frames itself, because a Decoder keeps no headers and ends at an error. Here
// both are compared.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { Decoder } = require('framemask');
const { Judge, State } = require('../lib/judge');
const { headerFields, parseFrame, parseFrames, unmasked } = require('../lib/parse-frames');
const { RULES, ruleOf } = require('../lib/rfc');
const { createRandom, seed } = require('../../test/support/random');
const { BAD_CASES, encode, rawFrame } = require('./support/frames');

/** The frames and the error that a Decoder finds when it is given the bytes in pieces. */
function decode(role, bytes, size) {
  const frames = [];
  let fault = null;
  const decoder = new Decoder({
    role,
    text: 'buffer',
    onFrame: (firstByte, data, start, end) => {
      frames.push({ firstByte, payload: Buffer.from(data.subarray(start, end)).toString('hex') });
    },
    onError: (error) => {
      fault = error;
    }
  });
  for (let at = 0; at < bytes.length; at += size) decoder.write(Buffer.from(bytes.subarray(at, at + size)));
  return { frames, fault };
}

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
  const wanted = good.map(({ parsed }) => ({ firstByte: parsed.firstByte, payload: unmasked(parsed).toString('hex') }));
  for (const size of [Math.max(bytes.length, 1), 7, 1]) {
    const message = `${bytes.toString('hex')}, ${size} bytes at a time, seed ${seed}`;
    const { frames, fault } = decode(from === 'client' ? 'server' : 'client', bytes, size);
    assert.deepEqual(frames.slice(0, good.length), wanted, message);
    // A Decoder shows a frame before it judges the message that the frame ends.
    assert.ok(frames.length - good.length <= (bad === -1 ? 0 : 1), message);
    const error = shown[bad]?.fault;
    assert.deepEqual([error?.code, error?.closeCode], [fault?.code, fault?.closeCode], message);
  }
  if (bad !== -1) assert.ok(shown.slice(bad + 1).every(({ state }) => state === State.UNREAD));
}

test('bad frames: the verdict is that of the Decoder, on the frame at fault', () => {
  for (const { name, bytes, at, error } of BAD_CASES) {
    compare('client', bytes);
    const { fault, state } = inspect('client', bytes)[at - 1];
    assert.deepEqual([fault?.code, state], [error, State.BAD], name);
  }
});

test('random streams: the parser and the Decoder find the same frames', () => {
  const random = createRandom(seed);
  for (let i = 0; i < 300; i++) {
    const from = random(2) === 0 ? 'client' : 'server';
    const frames = Array.from({ length: 1 + random(8) }, () => {
      const firstByte = [0x81, 0x82, 0x01, 0x80, 0x00, 0x89, 0x8a, random(256)][random(8)];
      const payload = Buffer.from(Array.from({ length: [0, 5, 125, 126, 300][random(5)] }, () => 97 + random(26)));
      return rawFrame(firstByte, payload, { masked: (from === 'client') === (random(20) !== 0) });
    });
    const bytes = Buffer.concat(frames);
    compare(from, bytes.subarray(0, bytes.length - random(4)));
  }
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

test('5.2: a length is read in each of its three sizes', () => {
  for (const length of [0, 125, 126, 65535, 65536]) {
    const frame = parseFrame(
      encode('client', (encoder) => encoder.binary(Buffer.alloc(length, 'a'))),
      0
    );
    assert.deepEqual([frame.length, frame.complete], [length, true]);
    assert.deepEqual(unmasked(frame), Buffer.alloc(length, 'a'));
    assert.equal(unmasked(frame, 3, 2).toString(), 'aa'.slice(0, Math.max(length - 3, 0)));
  }
});

test('5.2: the fields of a header are its bits, in their order', () => {
  const frame = parseFrame(
    encode('client', (encoder) => encoder.binary(Buffer.alloc(70_000), { fin: false })),
    0
  );
  const fields = headerFields(frame);
  assert.deepEqual(
    fields.map(({ name, byte }) => `${byte} ${name}`).join(', '),
    '0 FIN, 0 RSV1, 0 RSV2, 0 RSV3, 0 opcode, 1 MASK, 1 Payload length, ' +
      '2 Extended payload length (64 bits), 10 Masking key'
  );
  const bits = fields.map(({ bits }) => bits.replaceAll(' ', '')).join('');
  assert.equal(bits, [...frame.bytes.subarray(0, 14)].map((byte) => byte.toString(2).padStart(8, '0')).join(''));
  assert.equal(fields[7].value, '70000');
  const sections = Array.from({ length: 16 }, (_, opcode) => {
    const { section } = headerFields(parseFrame(rawFrame(0x80 | opcode, Buffer.alloc(0)), 0))[4];
    return section;
  });
  assert.deepEqual(sections, ['5.4', ...Array(7).fill('5.6'), ...Array(8).fill('5.5')]);
});

test('every error of a Decoder has the sentence of an RFC', () => {
  const docs = fs.readFileSync(path.join(__dirname, '../../docs/codec.md'), 'utf8');
  const rows = [...docs.matchAll(/^\| `([A-Z_\d]+)` \| 1\d*(?: \| (\S*) \|)?/gm)];
  assert.ok(rows.length > 15);
  // Faults of a handshake, and of this endpoint.
  const others = ['EXTENSIONS', 'HANDSHAKE', 'DETACHED'];
  for (const [, code, section] of rows.filter(([, code]) => !others.includes(code))) {
    const rule = ruleOf({ code: `FRAMEMASK_ERR_${code}`, receivedCode: 1005 });
    assert.match(rule.section, /^\d+(\.\d+)*$/, code);
    assert.match(rule.sentence, /^[A-Z\d].*\.$/, code);
    if (section && code !== 'CLOSE_CODE') assert.equal(rule.section, section, `${code}: the section of docs/codec.md`);
  }
  assert.equal(ruleOf({ code: '__proto__' }), null);
  const codes = rows.map(([, code]) => code);
  assert.deepEqual(
    Object.keys(RULES).filter((code) => !codes.includes(code)),
    []
  );
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
  const close = Buffer.concat([rawFrame(0x88, Buffer.from([3, 232])), rawFrame(0x81, Buffer.from('late'))]);
  const states = inspect('client', close).map(({ state }) => state);
  assert.deepEqual(states, [State.GOOD, State.UNREAD]);
  const frame = rawFrame(0x81, Buffer.from('Hello'));
  for (let length = 1; length < frame.length; length++) {
    const [shown] = inspect('client', frame.subarray(0, length));
    assert.deepEqual([shown.state, shown.parsed.complete], [State.INCOMPLETE, false], `${length} bytes`);
  }
});
