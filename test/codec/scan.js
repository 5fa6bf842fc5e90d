'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { codecBackend, createCodecBackend } = require('../../lib/codec/backend');
const { header, readHeader } = require('../../lib/codec/header');
const { scanChunk } = require('../../lib/codec/scan');
const { kernel, nativeError } = require('../../lib/masking/backend');
const fallback = require('../../lib/masking/fallback');
const { acceptsFirstByte } = require('../../lib/shared/protocol');
const { forEachCase, testCases } = require('../support/cases');
const { BINARY, CLOSE, CONTINUATION, KEY, PING, PONG, TEXT, frame, framesFor } = require('../support/frames');
const { createNativeDouble, createNatives } = require('../support/native-double');
const { kernels } = require('../support/natives');
const { createRandom, seed } = require('../support/random');
const { TRIES_ALL, titleOf } = require('../support/sample');

// The scan of each kernel that this machine runs, and the one in JavaScript, against a third one
// here, which goes byte by byte and computes lengths with BigInt: the same count, the same frame
// table, the same bytes in and around the chunk.

const MASKED = 0x80;
const RSV1 = 0x40;
const MODES = [
  { name: 'a client', mode: 0, role: 'client' },
  { name: 'a server', mode: MASKED, role: 'server' },
  { name: 'a client with RSV1', mode: RSV1, role: 'client' },
  { name: 'a server with RSV1', mode: MASKED | RSV1, role: 'server' }
].map((one) => ({
  ...one,
  f: framesFor(one.role),
  /** Compares all scans, see `check`. Returns how many frames there are. */
  count: (bytes, options) => check(bytes, { mode: one.mode, ...options }).length / 3
}));
const ROLES = MODES.slice(0, 2);
const GUARD = 64;
const UNTOUCHED = 0xdeadbeef;

const BACKENDS = createNatives();
const scans = BACKENDS.map(({ name, native }) => ({ name, scan: createCodecBackend(native).scan }));

/** Whether a frame may begin with this byte: RFC 6455 section 5.2 as a list. */
function isFirstByte(first, mode) {
  const starts = [0x00, 0x80, 0x01, 0x81, 0x02, 0x82, 0x88, 0x89, 0x8a];
  if ((mode & RSV1) !== 0) starts.push(0x41, 0xc1, 0x42, 0xc2);
  return starts.includes(first);
}

/** A plain scan. Unmasks the chunk in place; returns the frame table. */
function plainScan(chunk, start, mode, capacity) {
  const table = [];
  let at = start;
  while (table.length < capacity * 3) {
    const rest = chunk.subarray(at);
    if (rest.length < 2 || !isFirstByte(rest[0], mode) || (rest[1] & 0x80) !== (mode & MASKED)) break;
    let length = BigInt(rest[1] & 0x7f);
    let size = 2;
    if (length > 125n) {
      if (rest[0] >= 0x88 && rest[0] <= 0x8a) break;
      size = length === 126n ? 4 : 10;
      if (rest.length < size) break;
      length = size === 4 ? BigInt(rest.readUInt16BE(2)) : rest.readBigUInt64BE(2);
      if (length < (size === 4 ? 126n : 65536n)) break;
    }
    const key = (mode & MASKED) !== 0 ? [...rest.subarray(size, size + 4)] : [];
    size += (mode & MASKED) !== 0 ? 4 : 0;
    if (BigInt(rest.length) < BigInt(size) + length) break;
    const payload = rest.subarray(size, size + Number(length));
    if (key.length === 4) for (let i = 0; i < payload.length; i++) payload[i] ^= key[i & 3];
    const isText = (rest[0] & 0x0f) < 2;
    table.push(rest[0] | (isText && payload.some((byte) => byte > 127) ? 0x100 : 0), at + size);
    at += size + payload.length;
    table.push(at);
    if (rest[0] === 0x88) break;
  }
  return table;
}

/**
 * Compares all scans.
 *
 * @param {Buffer} bytes the chunk
 * @param {object} [options]
 * @param {number} [options.start] where the first frame begins
 * @param {number} [options.mode]
 * @param {number} [options.words] the length of the frame table
 * @param {number} [options.align] the alignment of the chunk
 * @returns {number[]} the entries of the frame table, three numbers each
 */
function check(bytes, { start = 0, mode = MASKED, words = 32 * 3, align = 0 } = {}) {
  const memory = Buffer.alloc(GUARD + align + bytes.length + GUARD, 0xa5);
  const chunkOf = (bytes) => bytes.subarray(GUARD + align, bytes.length - GUARD);
  bytes.copy(chunkOf(memory));
  const expected = Buffer.from(memory);
  const entries = plainScan(chunkOf(expected), start, mode, Math.floor(words / 3));

  for (const { name, scan } of scans) {
    const actual = Buffer.from(memory);
    const guarded = new Uint32Array(words + 8).fill(UNTOUCHED);
    const count = scan(chunkOf(actual), start, mode, guarded.subarray(4, 4 + words));
    const same =
      count === entries.length / 3 &&
      entries.every((value, i) => guarded[4 + i] === value) &&
      guarded.every((value, i) => value === UNTOUCHED || (i >= 4 && i < 4 + entries.length)) &&
      actual.equals(expected);
    if (!same) {
      const table = [...guarded.subarray(4, 4 + entries.length)];
      const at = actual.findIndex((byte, i) => byte !== expected[i]) - GUARD - align;
      const call = `start ${start}, mode ${mode}, ${words} words, alignment ${align}`;
      const counts = `${count} frames, not ${entries.length / 3}`;
      assert.fail(`${name}, ${call}: ${counts}; table ${table}, not ${entries}; first other byte ${at}`);
    }
  }
  return entries;
}

/** Bytes that depend on their place. */
function payloadOf(length, ascii) {
  const payload = Buffer.alloc(length);
  for (let i = 0; i < length; i++) payload[i] = (i * 7 + 13) & (ascii ? 127 : 255);
  return payload;
}

const LENGTHS = [
  0, 1, 2, 3, 7, 8, 15, 16, 31, 63, 64, 100, 124, 125, 126, 127, 128, 255, 256, 1000, 4095, 65535, 65536
];
LENGTHS.push(65537, 70000);

testCases('5.2: a payload of any length, with frames before and after it', MODES, ({ count, f }) => {
  for (const length of LENGTHS) {
    for (const opcode of [CONTINUATION, TEXT, BINARY]) {
      for (const ascii of [true, false]) {
        const one = f.frame(opcode, payloadOf(length, ascii), { fin: length % 2 === 0 });
        const bytes = Buffer.concat([f.ping('p'), one, f.text('é')]);
        assert.equal(count(bytes, { align: length % 5 }), 3, `${length} bytes, opcode ${opcode}`);
      }
    }
  }
});

const TEXT_LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 200, 520, 700];

testCases('a byte of 128 or more is found anywhere in the payload', ROLES, ({ mode, f }) => {
  for (const length of TEXT_LENGTHS) {
    for (let at = 0; at < length; at++) {
      const payload = Buffer.alloc(length, 127);
      payload[at] = 128;
      const [first] = check(f.text(payload), { mode, align: at % 7 });
      assert.equal(first, 0x181, `byte ${at} of ${length}`);
    }
    const [first] = check(f.text(Buffer.alloc(length, 127)), { mode });
    assert.equal(first, 0x81, `none of ${length}`);
  }
});

/** Where a length begins to be written otherwise, with and without a mask, and every eighth. */
const isTried = (second) => TRIES_ALL || [0, 1, 125, 126, 127].includes(second & 127) || (second + seed) % 8 === 0;

t.test(titleOf('5.2: each first byte with each second byte', `edges and every eighth, seed ${seed}`), async (t) => {
  let frames = 0;
  const seconds = [...Array(256).keys()].filter(isTried);
  forEachCase(MODES, ({ mode }) => {
    for (let first = 0; first < 256; first++) {
      for (const second of seconds) {
        const bytes = Buffer.alloc(140, 0x41);
        bytes[0] = first;
        bytes[1] = second;
        frames += check(bytes, { mode, words: 3 }).length / 3;
      }
    }
  });
  // 126 lengths in either role, if all are tried; RSV1 allows four more first bytes. 126 and 127
  // announce 16705 bytes and more.
  const lengths = seconds.filter((second) => (second & 127) < 126);
  t.equal(frames, lengths.length * (9 + 13));
});

testCases('a chunk that ends anywhere', MODES, ({ count, f }) => {
  const [binary, ping, text] = [f.binary(payloadOf(126)), f.ping(payloadOf(125)), f.text(payloadOf(300, true))];
  const bytes = Buffer.concat([f.text('Hello'), binary, ping, f.continuation(''), text, f.pong(''), f.close()]);
  const counts = new Set();
  for (let end = 0; end <= bytes.length; end++) counts.add(count(bytes.subarray(0, end)));
  assert.deepEqual([...counts], [0, 1, 2, 3, 4, 5, 6, 7], 'the numbers of frames, of all lengths');

  const long = f.binary(payloadOf(70000));
  for (const end of [...Array(20).keys(), long.length - 1]) {
    assert.equal(count(long.subarray(0, end)), 0, `70,000 bytes, cut after ${end}`);
  }
  assert.equal(count(long), 1, '70,000 bytes');
});

testCases('chunks that fill their memory: a sanitizer sees each byte beyond them', MODES, ({ mode, f }) => {
  for (const length of [0, 1, 7, 8, 9, 125, 126, 70_000]) {
    const bytes = f.text(payloadOf(length, true));
    for (const end of [...Array(Math.min(bytes.length, 20)).keys(), bytes.length - 1, bytes.length]) {
      const expected = end === bytes.length ? 1 : 0;
      for (const { name, scan } of scans) {
        const chunk = Buffer.from(new ArrayBuffer(end));
        bytes.copy(chunk);
        assert.equal(scan(chunk, 0, mode, new Uint32Array(3)), expected, `${name}: ${end} of ${bytes.length} bytes`);
      }
    }
  }
});

const TOO_LONG = { 8: [0, 125, 126, 65535], 2: [0, 1, 125] };

testCases('5.2: stops at a length that is not minimal', ROLES, ({ count, f }) => {
  forEachCase(TOO_LONG, (lengths, size) => {
    const lengthSize = Number(size);
    for (const length of lengths) {
      const bytes = Buffer.concat([f.text('a'), f.binary(payloadOf(length), { lengthSize })]);
      assert.equal(count(bytes), 1, `${length} in ${size} bytes`);
    }
  });
  assert.equal(count(f.binary(payloadOf(126), { lengthSize: 2 })), 1, '126 in 2 bytes');
  assert.equal(count(f.binary(payloadOf(65536), { lengthSize: 8 })), 1, '65536 in 8');
});

const HUGE = [2n ** 64n - 1n, 2n ** 62n, 65536n, 70000n];
for (const wide of [2n ** 64n, 2n ** 63n, 2n ** 53n, 2n ** 32n, 2n ** 31n]) {
  for (let away = -40n; away <= 40n; away++) if (wide + away < 2n ** 64n) HUGE.push(wide + away);
}

testCases('lengths that would wrap or lose bits', ROLES, ({ count, f }) => {
  forEachCase(HUGE, (length) => {
    // 300 bytes follow, enough for a sum that has wrapped. A frame before it makes the sum larger.
    const bad = f.binary(payloadOf(300), { length, lengthSize: 8 });
    count(bad);
    count(Buffer.concat([f.text('before'), bad]));
    count(Buffer.concat([Buffer.alloc(20), bad]), { start: 20 });
  });
});

testCases('5.2: each bit of a length of 64 bits counts', ROLES, ({ count, f }) => {
  const payload = payloadOf(70_000);
  for (let bit = 0n; bit < 64n; bit++) {
    // Without the bit the frame would be complete.
    const length = 65536n + 2n ** bit;
    const bytes = f.binary(payload, { length, lengthSize: 8 });
    assert.equal(count(bytes), length <= 70_000n ? 1 : 0, `bit ${bit}`);
  }
});

testCases('5.5: stops at a control frame with an extended length', ROLES, ({ count, f }) => {
  for (const opcode of [CLOSE, PING, PONG]) {
    for (const lengthSize of [2, 8]) {
      const long = f.frame(opcode, payloadOf(200), { lengthSize });
      assert.equal(count(long), 0, `opcode ${opcode}, length in ${lengthSize} bytes`);
    }
  }
});

testCases('5.5.1: stops after a Close frame', ROLES, ({ count, f }) => {
  assert.equal(count(Buffer.concat([f.ping(''), f.close(), f.text('late')])), 2);
});

testCases('a frame table that is too small, or ends inside an entry', ROLES, ({ mode, f }) => {
  const bytes = Buffer.concat(Array.from({ length: 10 }, (_, i) => f.text(payloadOf(i * 9))));
  for (let words = 0; words <= 33; words++) {
    const entries = check(bytes, { mode, words });
    assert.equal(entries.length, Math.min(30, words - (words % 3)), `${words} words`);
    // The next scan starts where this one ended.
    if (entries.length > 0) check(bytes, { mode, words, start: entries.at(-1) });
  }
});

testCases('a scan that starts anywhere', ROLES, ({ count, f }) => {
  const bytes = Buffer.concat([f.text('one'), f.binary(payloadOf(130))]);
  for (let start = 0; start <= bytes.length; start++) count(bytes, { start, align: start % 3 });
});

t.test('stops at a frame that ends beyond 32 bits, which the frame table cannot hold', async (t) => {
  let chunk;
  try {
    // Reserves addresses; only pages that are written take memory.
    chunk = new Uint8Array(2 ** 32);
  } catch (error) {
    t.skip(error.message);
    return;
  }
  chunk.set(frame(TEXT, 'Hello'), 2 ** 32 - 14);
  // With one byte less, the table can hold the end of the second frame.
  const seconds = [
    { name: 'Hello', expected: [0x81, 2 ** 32 - 12, 2 ** 32 - 7] },
    { name: 'Hell', expected: [0x81, 2 ** 32 - 12, 2 ** 32 - 7, 0x81, 2 ** 32 - 5, 2 ** 32 - 1] }
  ];
  forEachCase(seconds, ({ name: text, expected }) => {
    chunk.set(frame(TEXT, text), 2 ** 32 - 7);
    forEachCase(scans, ({ scan }) => {
      const table = new Uint32Array(9).fill(UNTOUCHED);
      const count = scan(chunk, 2 ** 32 - 14, 0, table);
      assert.equal(count, expected.length / 3, 'how many frames');
      assert.deepEqual([...table], Object.assign(Array(9).fill(UNTOUCHED), expected), 'the frame table');
    });
  });
});

t.test(titleOf(`random streams (seed ${seed})`, '1,000 of 4,000'), async (t) => {
  const random = createRandom(seed);
  const pick = (values) => values[random(values.length)];
  const randomBytes = (length) => {
    const bytes = Buffer.alloc(length);
    const most = random(2) === 0 ? 128 : 256;
    for (let i = 0; i < length; i++) bytes[i] = random(most);
    return bytes;
  };
  const randomFrame = (mode) => {
    const opcode = pick([CONTINUATION, TEXT, TEXT, BINARY, BINARY, PING, PONG, random(40) === 0 ? CLOSE : TEXT]);
    const long = opcode < CLOSE && random(6) === 0;
    const payload = randomBytes(long ? random(pick([300, 2000, 70000])) : random(126));
    const masked = (mode & MASKED) !== 0;
    const options = { fin: opcode >= CLOSE || random(4) !== 0, key: masked ? randomBytes(4) : null };
    if ((mode & RSV1) !== 0 && (opcode === TEXT || opcode === BINARY) && random(3) === 0) options.rsv = 0x40;
    if (random(60) === 0) options.lengthSize = 8;
    return frame(opcode, payload, options);
  };
  const totals = { streams: TRIES_ALL ? 4000 : 1000, frames: 0 };
  for (let stream = 0; stream < totals.streams; stream++) {
    const { mode } = pick(MODES);
    const before = randomBytes(random(20));
    let bytes = Buffer.concat([before, ...Array.from({ length: random(12) }, () => randomFrame(mode))]);
    if (random(3) === 0 && bytes.length > 0) bytes[random(bytes.length)] ^= 1 << random(8);
    if (random(3) === 0) bytes = bytes.subarray(0, before.length + random(bytes.length - before.length + 1));
    const options = { start: before.length, mode, words: random(30), align: random(64) };
    forEachCase([`FRAMEMASK_TEST_SEED=${seed}, stream ${stream}`], () => {
      totals.frames += check(bytes, options).length / 3;
    });
  }
  t.ok(totals.frames > totals.streams, `${totals.frames} frames`);
});

// Frame headers (RFC 6455 section 5.2), read and written.

/**
 * What `readHeader` found: the header, the error and its close code, or 'more' if the header is not
 * complete.
 */
function read(bytes, mode, position = 0, end = bytes.length) {
  if (readHeader(bytes, position, end, mode)) {
    const { firstByte: first, length, key, size, error } = header;
    assert.equal(error, null, 'a header without an error');
    return mode & MASKED ? { first, length, size, key } : { first, length, size };
  }
  const { error } = header;
  return error === null ? 'more' : `${error.code.replace('FRAMEMASK_ERR_', '')} ${error.closeCode}`;
}

/** The rule that a first byte breaks. */
function broken(first, mode) {
  const opcode = first & 15;
  const rsv = first & 0x70;
  const rsv1Allowed = rsv === 0x40 && (mode & RSV1) !== 0 && (opcode === 1 || opcode === 2);
  if (rsv !== 0 && !rsv1Allowed) return 'RESERVED_BITS 1002';
  return opcode >= 8 && opcode <= 10 ? 'CONTROL_FRAGMENTED 1002' : 'OPCODE 1002';
}

testCases('5.2: each of 256 first bytes is taken or refused', MODES, ({ mode }) => {
  for (let first = 0; first < 256; first++) {
    const accepted = isFirstByte(first, mode);
    assert.equal(acceptsFirstByte(first, mode), accepted, `acceptsFirstByte, ${first}`);
    assert.equal(read(Buffer.from([first]), mode), accepted ? 'more' : broken(first, mode), `readHeader, ${first}`);
  }
});

testCases('5.1, 5.5: each of 256 second bytes is taken or refused', MODES, ({ mode }) => {
  const wrongMask = (mode & MASKED) === 0 ? 'MASK_UNWANTED 1002' : 'MASK_MISSING 1002';
  for (const first of [0x00, 0x01, 0x82, 0x88, 0x89, 0x8a]) {
    for (let second = 0; second < 256; second++) {
      const length = second & 127;
      let expected = 'more';
      if ((second & MASKED) !== (mode & MASKED)) expected = wrongMask;
      else if (length > 125 && first >= 0x88) expected = 'CONTROL_LENGTH 1002';
      else if (length <= 125 && (mode & MASKED) === 0) expected = { first, length, size: 2 };
      assert.deepEqual(read(Buffer.from([first, second]), mode), expected, `bytes ${first} ${second}`);
    }
  }
});

const HEADER_LENGTHS = [0n, 1n, 125n, 126n, 127n, 255n, 256n, 65535n, 65536n, 65537n, 2n ** 31n - 1n, 2n ** 31n];
HEADER_LENGTHS.push(2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 52n + 1n, 2n ** 53n - 1n);

testCases('5.2: a good header is read at any position, once all of it is there', HEADER_LENGTHS, (length) => {
  for (const opcode of [0, TEXT, BINARY]) {
    for (const fin of [true, false]) {
      for (const key of [null, KEY, Buffer.from('01020384', 'hex')]) {
        const bytes = frame(opcode, '', { key, fin, length });
        const mode = key === null ? 0 : MASKED;
        const first = (fin ? 0x80 : 0) | opcode;
        const expected = { first, length: Number(length), size: bytes.length };
        // A signed number, the first byte of the key the lowest.
        if (key !== null) expected.key = key.readInt32LE();
        for (const position of [0, 1, 7]) {
          const what = `first byte ${first}, ${key === null ? 'not ' : ''}masked, at ${position}`;
          const placed = Buffer.concat([Buffer.alloc(position, 0xff), bytes, Buffer.alloc(3, 0xff)]);
          assert.deepEqual(read(placed, mode, position), expected, what);
          for (let end = position + 1; end < position + bytes.length; end++) {
            // Bytes beyond `end` do not count.
            assert.equal(read(placed, mode, position, end), 'more', `${what}, cut after ${end - position} bytes`);
          }
        }
      }
    }
  }
});

const BACKEND_KEY = 0xf8035ca1;

testCases('unmaskText of each backend returns a string only if all bytes are ASCII', BACKENDS, ({ native }) => {
  const { unmaskText } = createCodecBackend(native);
  for (const length of [1, 5, 47, 48, 64, 1000]) {
    for (const last of ['z', '\x7f', '\x80', '\xff']) {
      const text = 'a'.repeat(length - 1) + last;
      const bytes = Buffer.from(`..${text}.`, 'latin1');
      fallback.maskInPlace(bytes, 2, length, BACKEND_KEY);
      const what = `${length} bytes, the last ${JSON.stringify(last)}`;
      // A key may be signed.
      assert.equal(unmaskText(bytes, 2, length, BACKEND_KEY | 0), last < '\x80' ? text : undefined, what);
      assert.equal(bytes.toString('latin1'), `..${text}.`, `${what}: the bytes`);
    }
  }
  assert.equal(unmaskText(Buffer.alloc(3), 2, 0, BACKEND_KEY), '', 'no bytes');
});

t.test('the JavaScript backend has its functions without one between', async (t) => {
  const javascript = createCodecBackend(null);
  t.equal(javascript.maskInto, fallback.maskInto);
  t.equal(javascript.maskInPlace, fallback.maskInPlace);
  t.equal(javascript.scan, scanChunk);
});

t.test('a backend with an addon calls it for long payloads and for chunks', async (t) => {
  const double = createNativeDouble();
  const native = createCodecBackend(double);
  const bytes = Buffer.alloc(256);
  const calls = (work) => {
    double.calls.length = 0;
    work();
    return double.calls.filter((call) => ['mask', 'scan', 'unmask'].includes(call));
  };
  for (const [length, ...called] of [
    [256, 'unmask', 'mask', 'scan'],
    [16, 'scan']
  ]) {
    const found = calls(() => {
      native.maskInPlace(bytes, 0, length, BACKEND_KEY);
      native.maskInto(bytes, 0, bytes, 0, length, BACKEND_KEY);
      native.scan(bytes, 0, 0, new Uint32Array(3));
    });
    t.same(found, called, `${length} bytes`);
  }
});

t.test('the backend of this process has the kernel that it names', async (t) => {
  t.ok(['js', ...kernels].includes(kernel));
  t.equal(nativeError === null, kernel !== 'js' || process.env.FRAMEMASK_KERNEL === 'js');
  t.equal(codecBackend.scan === scanChunk, kernel === 'js');
});
