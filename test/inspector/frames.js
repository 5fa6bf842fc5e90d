'use strict';

// The inspector parses frames itself, because a Decoder keeps no headers and ends at an error. Here
// both are compared.

const t = require('tap');
const { Decoder, Encoder } = require('../../index.js');
const { Judge, State } = require('../../inspector/lib/judge');
const { headerFields, parseFrame, parseFrames, unmasked } = require('../../inspector/lib/parse-frames');
const { RULES, ruleOf } = require('../../inspector/lib/rfc');
const { createRandom, seed } = require('../support/random');
const { BAD_CASES, rawFrame } = require('../../scripts/inspector/frames');

/** What the Decoder finds when it is given the bytes in small pieces. */
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

/** What the inspector shows of the same bytes. */
function inspect(from, bytes) {
  const judge = new Judge(from);
  return [...parseFrames(bytes)].map((parsed) => ({ parsed, ...judge.judge(parsed) }));
}

/** @returns {string[]} where the inspector shows something else than what the Decoder finds */
function differences(from, bytes) {
  const role = from === 'client' ? 'server' : 'client';
  const shown = inspect(from, bytes);
  const bad = shown.findIndex(({ state }) => state === State.BAD);
  const good = shown.filter(({ parsed, state }) => parsed.complete && state === State.GOOD);
  const wanted = good.map(({ parsed }) => ({ firstByte: parsed.firstByte, payload: unmasked(parsed).toString('hex') }));
  const found = [];
  for (const size of [Math.max(bytes.length, 1), 7, 1]) {
    const { frames, fault } = decode(role, bytes, size);
    const check = (what, a, b) => {
      if (JSON.stringify(a) !== JSON.stringify(b))
        found.push(`${what}, ${size} bytes at a time: ${bytes.toString('hex')}`);
    };
    check('frames', wanted, frames.slice(0, good.length));
    // A Decoder shows a frame before it judges the message that the frame ends.
    check('no frame is left out', frames.length - good.length <= (bad === -1 ? 0 : 1), true);
    check('error', [shown[bad]?.fault.code, shown[bad]?.fault.closeCode], [fault?.code, fault?.closeCode]);
  }
  if (bad !== -1 && shown.slice(bad + 1).some(({ state }) => state !== State.UNREAD)) found.push('what follows');
  return found;
}

t.test('bad frames: the verdict is that of the Decoder, on the frame at fault', (t) => {
  for (const { name, bytes, at, error } of BAD_CASES) {
    t.same(differences('client', bytes), [], name);
    const shown = inspect('client', bytes);
    t.equal(shown[at - 1].fault?.code, error, name);
    t.equal(shown[at - 1].state, State.BAD, name);
  }
  t.end();
});

t.test('random streams: the parser and the Decoder find the same frames', (t) => {
  const random = createRandom(seed);
  const found = [];
  for (let i = 0; i < 300; i++) {
    const from = random(2) === 0 ? 'client' : 'server';
    const frames = Array.from({ length: 1 + random(8) }, () => {
      const firstByte = [0x81, 0x82, 0x01, 0x80, 0x00, 0x89, 0x8a, random(256)][random(8)];
      const payload = Buffer.from(Array.from({ length: [0, 5, 125, 126, 300][random(5)] }, () => 97 + random(26)));
      return rawFrame(firstByte, payload, { masked: (from === 'client') === (random(20) !== 0) });
    });
    const bytes = Buffer.concat(frames);
    found.push(...differences(from, bytes.subarray(0, bytes.length - random(4))));
  }
  t.same(found, [], `seed ${seed}`);
  t.end();
});

t.test('random bytes: the parser ends, and reads each byte once', (t) => {
  const random = createRandom(seed);
  const found = [];
  for (let i = 0; i < 500; i++) {
    const bytes = Buffer.from(Array.from({ length: i % 40 }, () => random(256)));
    const frames = [...parseFrames(bytes)];
    if (!Buffer.concat(frames.map((frame) => frame.bytes)).equals(bytes))
      found.push(`each byte once: ${bytes.toString('hex')}`);
    if (frames.some((frame) => headerFields(frame).length < 5)) found.push(`fields: ${bytes.toString('hex')}`);
    found.push(...differences('client', bytes));
  }
  t.same(found, [], `seed ${seed}`);
  t.end();
});

t.test('5.2: a length is read in each of its three sizes', (t) => {
  for (const length of [0, 125, 126, 65535, 65536]) {
    const encoder = new Encoder({ role: 'client' });
    encoder.binary(Buffer.alloc(length, 'a'));
    const frame = parseFrame(Buffer.concat(encoder.take()), 0);
    t.equal(frame.length, length);
    t.ok(frame.complete);
    t.equal(unmasked(frame).compare(Buffer.alloc(length, 'a')), 0);
    t.equal(unmasked(frame, 3, 2).toString(), 'aa'.slice(0, Math.max(length - 3, 0)));
  }
  t.end();
});

t.test('5.2: the fields of a header are its bits, in their order', (t) => {
  const encoder = new Encoder({ role: 'client' });
  encoder.binary(Buffer.alloc(70_000), { fin: false });
  const frame = parseFrame(Buffer.concat(encoder.take()), 0);
  const fields = headerFields(frame);
  t.same(
    fields.map(({ name, byte }) => `${byte} ${name}`),
    [
      '0 FIN',
      '0 RSV1',
      '0 RSV2',
      '0 RSV3',
      '0 opcode',
      '1 MASK',
      '1 Payload length',
      '2 Extended payload length (64 bits)',
      '10 Masking key'
    ]
  );
  const bits = fields.map(({ bits }) => bits.replaceAll(' ', '')).join('');
  t.equal(bits, [...frame.bytes.subarray(0, 14)].map((byte) => byte.toString(2).padStart(8, '0')).join(''));
  t.equal(fields[7].value, '70000');
  t.end();
});

t.test('the opcode of a header has the section that defines it', (t) => {
  for (const [opcode, section] of [
    [0, '5.4'],
    [1, '5.6'],
    [2, '5.6'],
    [7, '5.6'],
    [8, '5.5'],
    [15, '5.5']
  ]) {
    const fields = headerFields(parseFrame(rawFrame(0x80 | opcode, Buffer.alloc(0)), 0));
    t.equal(fields.find(({ name }) => name === 'opcode').section, section, String(opcode));
  }
  t.end();
});

t.test('every error of a Decoder has a sentence of an RFC', (t) => {
  const docs = require('node:fs').readFileSync(`${__dirname}/../../docs/codec.md`, 'utf8');
  const codes = [...docs.matchAll(/^\| `([A-Z_\d]+)` \| 1/gm)].map(([, code]) => code);
  t.ok(codes.length > 15);
  // The last two are no fault of frames: of a handshake, and of this end.
  for (const code of codes.filter((code) => code !== 'EXTENSIONS' && code !== 'DETACHED')) {
    const rule = ruleOf({ code: `FRAMEMASK_ERR_${code}`, receivedCode: 1005 });
    t.match(rule, { rfc: Number, section: /^\d+(\.\d+)*$/, sentence: /^[A-Z\d].*\.$/ }, code);
    const section = new RegExp(`\\| \`${code}\` \\| \\d+ \\| (\\S*) \\|`).exec(docs)?.[1];
    if (section && code !== 'CLOSE_CODE') t.equal(rule.section, section, `${code}: the section of docs/codec.md`);
  }
  t.equal(ruleOf({ code: '__proto__' }), null);
  t.same(
    Object.keys(RULES).filter((code) => !codes.includes(code)),
    []
  );
  t.end();
});

t.test('7.4: each range of close codes that may not be sent has its sentence', (t) => {
  for (const [code, words] of [
    [0, /0-999/],
    [999, /0-999/],
    [1004, /Reserved/],
    [1005, /^1005 is a reserved/],
    [1006, /^1006 is a reserved/],
    [1015, /^1015 is a reserved/],
    [2000, /1000-2999/],
    [5000, /defined in Section 7\.4/],
    [65535, /defined in Section 7\.4/]
  ]) {
    t.match(ruleOf({ code: 'FRAMEMASK_ERR_CLOSE_CODE', receivedCode: code }).sentence, words, String(code));
  }
  t.end();
});

t.test('7.1.7: what follows an error or a Close frame is not read', (t) => {
  const close = Buffer.concat([rawFrame(0x88, Buffer.from([3, 232])), rawFrame(0x81, Buffer.from('late'))]);
  t.same(
    inspect('client', close).map(({ state }) => state),
    [State.GOOD, State.UNREAD]
  );
  t.end();
});

t.test('a frame that the end of the bytes cuts is incomplete', (t) => {
  const frame = rawFrame(0x81, Buffer.from('Hello'));
  for (let length = 1; length < frame.length; length++) {
    const [shown] = inspect('client', frame.subarray(0, length));
    t.equal(shown.state, State.INCOMPLETE, `${length} bytes`);
    t.equal(shown.parsed.complete, false);
  }
  t.end();
});
