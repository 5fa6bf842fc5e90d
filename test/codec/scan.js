'use strict';

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');
const t = require('tap');
const { codecBackend, createCodecBackend } = require('../../lib/codec/backend');
const { header, headerSize, readHeader, writeHeader } = require('../../lib/codec/header');
const { scanChunk } = require('../../lib/codec/scan');
const { kernel, nativeError } = require('../../lib/masking/backend');
const fallback = require('../../lib/masking/fallback');
const { acceptsFirstByte } = require('../../lib/shared/protocol');
const { assertBytes, forEachCase } = require('../support/cases');
const { BINARY, CLOSE, CONTINUATION, KEY, PING, PONG, TEXT, frame } = require('../support/frames');
const { createNativeDouble } = require('../support/native-double');
const { kernels, nativeKernels } = require('../support/natives');
const { createRandom, seed } = require('../support/random');
const { TRIES_ALL, titleOf } = require('../support/sample');

// The scan of each kernel that this machine runs, and the one in JavaScript, against a third one
// here, which goes byte by byte and computes lengths with BigInt: the same count, the same frame
// table, the same bytes in and around the chunk.

const MASKED = 0x80;
const RSV1 = 0x40;
const MODES = [
  { name: 'a client', mode: 0, key: null },
  { name: 'a server', mode: MASKED, key: Buffer.from('37fa213d', 'hex') },
  { name: 'a client with RSV1', mode: RSV1, key: null },
  { name: 'a server with RSV1', mode: MASKED | RSV1, key: Buffer.from('37fa213d', 'hex') }
];
const ROLES = MODES.slice(0, 2);
const GUARD = 64;
const UNTOUCHED = 0xdeadbeef;

const scans = [{ name: 'double', native: createNativeDouble() }, ...nativeKernels()].map(({ name, native }) => ({
  name,
  scan: createCodecBackend(native).scan
}));
scans.push({ name: 'js', scan: scanChunk });

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

t.test('5.2: a payload of any length, with frames before and after it', (t) => {
  forEachCase(MODES, ({ mode, key }) => {
    for (const length of LENGTHS) {
      for (const opcode of [CONTINUATION, TEXT, BINARY]) {
        for (const ascii of [true, false]) {
          const one = frame(opcode, payloadOf(length, ascii), { key, fin: length % 2 === 0 });
          const bytes = Buffer.concat([frame(PING, 'p', { key }), one, frame(TEXT, 'é', { key })]);
          const entries = check(bytes, { mode, align: length % 5 });
          assert.equal(entries.length, 9, `${length} bytes, opcode ${opcode}`);
        }
      }
    }
  });
  t.end();
});

t.test('a byte of 128 or more is found anywhere in the payload', (t) => {
  const lengths = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 200, 520, 700];
  forEachCase(ROLES, ({ mode, key }) => {
    for (const length of lengths) {
      for (let at = 0; at < length; at++) {
        const payload = Buffer.alloc(length, 127);
        payload[at] = 128;
        const [first] = check(frame(TEXT, payload, { key }), { mode, align: at % 7 });
        assert.equal(first, 0x181, `byte ${at} of ${length}`);
      }
      const [first] = check(frame(TEXT, Buffer.alloc(length, 127), { key }), { mode });
      assert.equal(first, 0x81, `none of ${length}`);
    }
  });
  t.end();
});

/** Where a length begins to be written otherwise, with and without a mask, and every eighth. */
const isTried = (second) => TRIES_ALL || [0, 1, 125, 126, 127].includes(second & 127) || (second + seed) % 8 === 0;

t.test(titleOf('5.2: each first byte with each second byte', `edges and every eighth, seed ${seed}`), (t) => {
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
  // 126 lengths in either role, if all are tried; RSV1 allows four more first bytes. 126 and 127 announce 16705 bytes
  // and more.
  const lengths = seconds.filter((second) => (second & 127) < 126);
  t.equal(frames, lengths.length * (9 + 13));
  t.end();
});

t.test('a chunk that ends anywhere', (t) => {
  forEachCase(MODES, ({ mode, key }) => {
    const bytes = Buffer.concat([
      frame(TEXT, 'Hello', { key }),
      frame(BINARY, payloadOf(126), { key }),
      frame(PING, payloadOf(125), { key }),
      frame(CONTINUATION, '', { key }),
      frame(TEXT, payloadOf(300, true), { key }),
      frame(PONG, '', { key }),
      frame(CLOSE, '', { key })
    ]);
    const counts = new Set();
    for (let end = 0; end <= bytes.length; end++) counts.add(check(bytes.subarray(0, end), { mode }).length / 3);
    assert.deepEqual([...counts], [0, 1, 2, 3, 4, 5, 6, 7], 'the numbers of frames, of all lengths');

    const long = frame(BINARY, payloadOf(70000), { key });
    for (let end = 0; end < 20; end++) {
      assert.equal(check(long.subarray(0, end), { mode }).length, 0, `70,000 bytes, cut after ${end}`);
    }
    assert.equal(check(long.subarray(0, long.length - 1), { mode }).length, 0, '70,000 bytes without the last');
    assert.equal(check(long, { mode }).length, 3, '70,000 bytes');
  });
  t.end();
});

t.test('chunks that fill their memory, so that a sanitizer sees each byte beyond them', (t) => {
  forEachCase(MODES, ({ mode, key }) => {
    for (const length of [0, 1, 7, 8, 9, 125, 126, 70_000]) {
      const bytes = frame(TEXT, payloadOf(length, true), { key });
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
  t.end();
});

t.test('5.2: stops at a length that is not minimal', (t) => {
  const tooLong = [
    [0, 2],
    [1, 2],
    [125, 2],
    [0, 8],
    [125, 8],
    [126, 8],
    [65535, 8]
  ];
  forEachCase(ROLES, ({ mode, key }) => {
    for (const [length, lengthSize] of tooLong) {
      const bytes = Buffer.concat([frame(TEXT, 'a', { key }), frame(BINARY, payloadOf(length), { key, lengthSize })]);
      assert.equal(check(bytes, { mode }).length, 3, `${length} in ${lengthSize} bytes`);
    }
    assert.equal(check(frame(BINARY, payloadOf(126), { key, lengthSize: 2 }), { mode }).length, 3, '126 in 2 bytes');
    assert.equal(check(frame(BINARY, payloadOf(65536), { key, lengthSize: 8 }), { mode }).length, 3, '65536 in 8');
  });
  t.end();
});

t.test('lengths that would wrap or lose bits', (t) => {
  const lengths = [2n ** 63n, 2n ** 64n - 1n, 2n ** 62n, 2n ** 53n, 2n ** 53n - 1n, 2n ** 53n + 1n, 2n ** 32n];
  lengths.push(2n ** 32n - 1n, 2n ** 31n, 2n ** 31n - 1n, 65536n, 70000n);
  for (const wide of [2n ** 64n, 2n ** 63n, 2n ** 53n, 2n ** 32n, 2n ** 31n]) {
    for (let back = 1n; back <= 40n; back++) lengths.push(wide - back, wide + back);
  }
  forEachCase(ROLES, ({ mode, key }) => {
    forEachCase(
      lengths.filter((length) => length < 2n ** 64n),
      (length) => {
        // 300 bytes follow, enough for a sum that has wrapped. A frame before it makes the sum
        // larger.
        const bad = frame(BINARY, payloadOf(300), { key, length, lengthSize: 8 });
        check(bad, { mode });
        check(Buffer.concat([frame(TEXT, 'before', { key }), bad]), { mode });
        check(Buffer.concat([Buffer.alloc(20), bad]), { mode, start: 20 });
      }
    );
  });
  t.end();
});

t.test('a length of 64 bits with any one bit too many', (t) => {
  const payload = payloadOf(65536);
  forEachCase(ROLES, ({ mode, key }) => {
    for (let bit = 17n; bit < 64n; bit++) {
      // Without the bit the frame would be complete.
      const bytes = frame(BINARY, payload, { key, length: 65536n + 2n ** bit, lengthSize: 8 });
      assert.equal(check(bytes, { mode }).length, 0, `bit ${bit}`);
    }
    assert.equal(check(frame(BINARY, payload, { key }), { mode }).length, 3, 'without such a bit');
  });
  t.end();
});

t.test('5.2: each of the eight bytes of a length counts, though the chunk has many bytes', (t) => {
  const payload = payloadOf(70_000);
  forEachCase(ROLES, ({ mode, key }) => {
    for (let i = 0n; i < 8n; i++) {
      const length = 65536n + (1n << (8n * i));
      const entries = check(frame(BINARY, payload, { key, length, lengthSize: 8 }), { mode });
      assert.equal(entries.length, length <= 70_000n ? 3 : 0, `a length of ${length} bytes`);
    }
  });
  t.end();
});

t.test('5.5: stops at a control frame with an extended length', (t) => {
  forEachCase(ROLES, ({ mode, key }) => {
    for (const opcode of [CLOSE, PING, PONG]) {
      for (const lengthSize of [2, 8]) {
        const long = frame(opcode, payloadOf(200), { key, lengthSize });
        assert.equal(check(long, { mode }).length, 0, `opcode ${opcode}, length in ${lengthSize} bytes`);
      }
    }
  });
  t.end();
});

t.test('a frame table that is too small, or ends inside an entry', (t) => {
  forEachCase(ROLES, ({ mode, key }) => {
    const bytes = Buffer.concat(Array.from({ length: 10 }, (_, i) => frame(TEXT, payloadOf(i * 9), { key })));
    for (let words = 0; words <= 33; words++) {
      const entries = check(bytes, { mode, words });
      assert.equal(entries.length, Math.min(30, words - (words % 3)), `${words} words`);
      // The next scan starts where this one ended.
      if (entries.length > 0) check(bytes, { mode, words, start: entries.at(-1) });
    }
  });
  t.end();
});

t.test('a scan that starts anywhere', (t) => {
  forEachCase(ROLES, ({ mode, key }) => {
    const bytes = Buffer.concat([frame(TEXT, 'one', { key }), frame(BINARY, payloadOf(130), { key })]);
    for (let start = 0; start <= bytes.length; start++) check(bytes, { mode, start, align: start % 3 });
  });
  t.end();
});

t.test('5.5.1: stops after a Close frame', (t) => {
  forEachCase(ROLES, ({ mode, key }) => {
    const bytes = Buffer.concat([frame(PING, '', { key }), frame(CLOSE, '', { key }), frame(TEXT, 'late', { key })]);
    assert.equal(check(bytes, { mode }).length, 6);
  });
  t.end();
});

t.test('a chunk in shared or in resizable memory', (t) => {
  const [, { mode, key }] = ROLES;
  const bytes = Buffer.concat([frame(TEXT, 'Hello', { key }), frame(TEXT, '', { key })]);
  forEachCase(scans, ({ scan }) => {
    for (const memory of [new SharedArrayBuffer(64), new ArrayBuffer(64, { maxByteLength: 128 })]) {
      const what = memory.constructor.name;
      const chunk = new Uint8Array(memory, 3, bytes.length);
      chunk.set(bytes);
      const table = new Uint32Array(6);
      assert.equal(scan(chunk, 0, mode, table), 2, what);
      assert.deepEqual([...table], [0x81, 6, 11, 0x81, 17, 17], what);
      assert.equal(Buffer.from(chunk).toString('latin1', 6, 11), 'Hello', what);
    }
  });
  t.end();
});

t.test('stops at a frame that ends beyond 32 bits, which the frame table cannot hold', (t) => {
  let chunk;
  try {
    // Reserves addresses; only pages that are written take memory.
    chunk = new Uint8Array(2 ** 32);
  } catch (error) {
    t.skip(error.message);
    t.end();
    return;
  }
  chunk.set(frame(TEXT, 'Hello'), 2 ** 32 - 14);
  chunk.set(frame(TEXT, 'Hello'), 2 ** 32 - 7);
  forEachCase(scans, ({ scan }) => {
    const table = new Uint32Array(9).fill(UNTOUCHED);
    assert.equal(scan(chunk, 2 ** 32 - 14, 0, table), 1, 'how many frames');
    const expected = [0x81, 2 ** 32 - 12, 2 ** 32 - 7, UNTOUCHED];
    assert.deepEqual([...table.subarray(0, 4)], expected, 'the frame table');
  });
  // One byte less, and the table can hold its end.
  chunk.set(frame(TEXT, 'Hell'), 2 ** 32 - 7);
  forEachCase(scans, ({ scan }) => {
    const table = new Uint32Array(9).fill(UNTOUCHED);
    assert.equal(scan(chunk, 2 ** 32 - 14, 0, table), 2, 'how many frames');
    const expected = [0x81, 2 ** 32 - 5, 2 ** 32 - 1, UNTOUCHED];
    assert.deepEqual([...table.subarray(3, 7)], expected, 'the frame table');
  });
  t.end();
});

t.test(titleOf(`random streams (seed ${seed})`, '1,000 of 4,000'), (t) => {
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
  t.end();
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

t.test('5.2: each of 256 first bytes is taken or refused', (t) => {
  forEachCase(MODES, ({ mode }) => {
    for (let first = 0; first < 256; first++) {
      const accepted = isFirstByte(first, mode);
      assert.equal(acceptsFirstByte(first, mode), accepted, `acceptsFirstByte, ${first}`);
      assert.equal(read(Buffer.from([first]), mode), accepted ? 'more' : broken(first, mode), `readHeader, ${first}`);
    }
  });
  t.end();
});

t.test('5.1, 5.5: each of 256 second bytes is taken or refused', (t) => {
  forEachCase(MODES, ({ mode }) => {
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
  t.end();
});

t.test('5.2: a bad length is refused with its last byte, before the masking key', (t) => {
  const cases = [
    { name: '0 in 16 bits', size: 4, hex: '827e0000', expected: 'LENGTH_NOT_MINIMAL 1002' },
    { name: '0 in 16 bits, text', size: 4, hex: '817e0000', expected: 'LENGTH_NOT_MINIMAL 1002' },
    { name: '125 in 16 bits', size: 4, hex: '827e007d', expected: 'LENGTH_NOT_MINIMAL 1002' },
    { name: '0 in 64 bits', size: 10, hex: '827f0000000000000000', expected: 'LENGTH_NOT_MINIMAL 1002' },
    { name: '65535 in 64 bits', size: 10, hex: '827f000000000000ffff', expected: 'LENGTH_NOT_MINIMAL 1002' },
    { name: '2^63', size: 10, hex: '827f8000000000000000', expected: 'LENGTH 1002' },
    { name: '2^64 - 1', size: 10, hex: '827fffffffffffffffff', expected: 'LENGTH 1002' },
    { name: '2^63 + 1', size: 10, hex: '827f8000000000000001', expected: 'LENGTH 1002' },
    { name: '2^53', size: 10, hex: '827f0020000000000000', expected: 'MESSAGE_TOO_BIG 1009' },
    { name: '2^62', size: 10, hex: '827f4000000000000000', expected: 'MESSAGE_TOO_BIG 1009' },
    { name: '2^63 - 1', size: 10, hex: '827f7fffffffffffffff', expected: 'MESSAGE_TOO_BIG 1009' }
  ];
  forEachCase(cases, ({ size, hex, expected }) => {
    const bytes = Buffer.from(hex, 'hex');
    const masked = Buffer.from(bytes);
    masked[1] |= 0x80;
    for (let end = 1; end < size; end++) {
      assert.equal(read(bytes, 0, 0, end), 'more', `${end} bytes`);
      assert.equal(read(masked, MASKED, 0, end), 'more', `${end} bytes, masked`);
    }
    assert.equal(read(bytes, 0), expected, 'all bytes');
    assert.equal(read(masked, MASKED), expected, 'all bytes, masked, without the key');
  });
  t.end();
});

const HEADER_LENGTHS = [0n, 1n, 125n, 126n, 127n, 255n, 256n, 65535n, 65536n, 65537n, 2n ** 31n - 1n, 2n ** 31n];
HEADER_LENGTHS.push(2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 52n + 1n, 2n ** 53n - 1n);

t.test('5.2: a good header is read at any position, once all of it is there', (t) => {
  forEachCase(HEADER_LENGTHS, (length) => {
    for (const opcode of [0, TEXT, BINARY]) {
      for (const fin of [true, false]) {
        for (const key of [null, KEY]) {
          const bytes = frame(opcode, '', { key, fin, length });
          const mode = key === null ? 0 : MASKED;
          const first = (fin ? 0x80 : 0) | opcode;
          const expected = { first, length: Number(length), size: bytes.length };
          if (key !== null) expected.key = 0x3d21fa37;
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
  t.end();
});

t.test('5.3: a key is a signed number, its first byte the lowest', (t) => {
  const keys = [
    ['00000000', 0],
    ['01000000', 1],
    ['00000080', -(2 ** 31)],
    ['ffffffff', -1],
    ['01020384', 0x84030201 | 0]
  ];
  for (const [hex, expected] of keys) {
    t.equal(read(frame(TEXT, '', { key: Buffer.from(hex, 'hex') }), MASKED).key, expected, hex);
  }
  t.end();
});

t.test('5.2: writeHeader writes the shortest header, and nothing around it', (t) => {
  forEachCase([0, 1, 125, 126, 127, 65535, 65536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1], (length) => {
    for (const maskBit of [0, MASKED]) {
      for (const first of [0x00, 0x81, 0x82, 0x41]) {
        for (const at of [0, 5]) {
          const what = `mask bit ${maskBit}, first byte ${first}, at ${at}`;
          const target = Buffer.alloc(24, 0xaa);
          const key = writeHeader(target, at, first, length, maskBit);
          const size = headerSize(length, maskBit);
          const expected = frame(first & 15, '', { length, key: maskBit === 0 ? null : Buffer.alloc(4) });
          expected[0] = first;
          assert.equal(size, expected.length, `${what}: headerSize`);
          const found = maskBit === 0 ? { first, length, size } : { first, length, size, key };
          assert.deepEqual(read(target, maskBit | RSV1, at), found, `${what}: what readHeader finds`);
          assert.equal(key !== 0, maskBit !== 0, `${what}: the key`);
          target.fill(0, at + size - (maskBit === 0 ? 0 : 4), at + size);
          assertBytes(target.subarray(at, at + size), expected, `${what}: the bytes without the key`);
          target.fill(0xaa, at, at + size);
          assertBytes(target, Buffer.alloc(24, 0xaa), `${what}: the bytes around it`);
        }
      }
    }
  });
  t.end();
});

t.test('readHeader resets the error of the header before', (t) => {
  t.equal(read(Buffer.from('83', 'hex'), 0), 'OPCODE 1002');
  t.equal(read(Buffer.from('81', 'hex'), 0), 'more');
  t.same(read(Buffer.from('8100', 'hex'), 0), { first: 0x81, length: 0, size: 2 });
  t.equal(header.error, null);
  t.end();
});

const BACKEND_KEY = 0xf8035ca1;

/** `maskInto` and `maskInPlace` give the bytes of a byte loop, short or long. */
function checkBytes({ maskInto, maskInPlace }) {
  for (const length of [0, 1, 31, 32, 47, 48, 63, 64, 65, 125, 1000]) {
    const source = randomBytes(length + 5);
    const output = randomBytes(length + 9);
    const expected = Buffer.from(output);
    for (let i = 0; i < length; i++) expected[7 + i] = source[3 + i] ^ (BACKEND_KEY >>> ((i & 3) * 8));
    maskInto(source, 3, output, 7, length, BACKEND_KEY);
    assertBytes(output, expected, `maskInto, ${length} bytes`);
    source.copy(expected, 7, 3, 3 + length);
    maskInPlace(output, 7, length, BACKEND_KEY);
    assertBytes(output, expected, `maskInPlace, ${length} bytes`);
  }
}

/** `unmaskText` and `maskInPlace` tell whether all bytes are ASCII. */
function checkText({ maskInPlace, unmaskText }) {
  for (const length of [0, 1, 5, 47, 48, 64, 1000]) {
    for (const last of ['z', '\x7f', '\x80', '\xff']) {
      const text = length === 0 ? '' : 'a'.repeat(length - 1) + last;
      const ascii = length === 0 || last < '\x80';
      const masked = Buffer.from(`..${text}.`, 'latin1');
      fallback.maskInPlace(masked, 2, length, BACKEND_KEY);
      const bytes = Buffer.from(masked);
      const what = `${length} bytes, the last ${JSON.stringify(last)}`;
      // A key may be signed.
      assert.equal(unmaskText(bytes, 2, length, BACKEND_KEY | 0), ascii ? text : undefined, `unmaskText, ${what}`);
      assert.equal(bytes.toString('latin1'), `..${text}.`, `the bytes after unmaskText, ${what}`);
      assert.equal(maskInPlace(masked, 2, length, BACKEND_KEY | 0), ascii, `maskInPlace, ${what}`);
      assert.equal(masked.toString('latin1'), `..${text}.`, `the bytes after maskInPlace, ${what}`);
    }
  }
}

/** `scan` finds two masked frames, and not the third, of which only the first byte is there. */
function checkScan({ scan }) {
  const chunk = Buffer.from('ff818537fa213d7f9f4d5158828101020304fe81', 'hex');
  const table = new Uint32Array(9);
  assert.equal(scan(chunk, 1, 0x80, table), 2, 'scan: how many frames');
  assert.deepEqual([...table], [0x81, 7, 12, 0x82, 18, 19, 0, 0, 0], 'scan: the frame table');
  assert.equal(chunk.toString('latin1', 7, 12), 'Hello', 'scan: the first payload');
  assert.equal(chunk[18], 0xff, 'scan: the second payload');
}

t.test('the JavaScript backend', (t) => {
  const javascript = createCodecBackend(null);
  t.equal(javascript.maskInto, fallback.maskInto, 'without a function between');
  t.equal(javascript.maskInPlace, fallback.maskInPlace);
  t.equal(javascript.scan, scanChunk);
  checkBytes(javascript);
  checkText(javascript);
  checkScan(javascript);
  t.end();
});

t.test('a backend with an addon calls it for long payloads and for chunks', (t) => {
  const double = createNativeDouble();
  const native = createCodecBackend(double);
  checkBytes(native);
  checkText(native);
  checkScan(native);

  const calls = (name, work) => {
    double.calls.length = 0;
    work();
    return double.calls.filter((call) => call === name).length;
  };
  const bytes = Buffer.alloc(256);
  const unmask = (length) => calls('unmask', () => native.maskInPlace(bytes, 0, length, BACKEND_KEY));
  const mask = (length) => calls('mask', () => native.maskInto(bytes, 0, bytes, 0, length, BACKEND_KEY));
  t.equal(unmask(256), 1, 'maskInPlace, 256 bytes');
  t.equal(mask(256), 1, 'maskInto, 256 bytes');
  t.equal(unmask(16), 0, 'maskInPlace, 16 bytes');
  t.equal(mask(16), 0, 'maskInto, 16 bytes');
  const scans = calls('scan', () => native.scan(bytes, 0, 0, new Uint32Array(3)));
  t.equal(scans, 1, 'scan');
  t.end();
});

for (const { name, native } of nativeKernels()) {
  t.test(`the backend with the kernel ${name}`, (t) => {
    const backend = createCodecBackend(native);
    checkBytes(backend);
    checkText(backend);
    checkScan(backend);
    t.end();
  });
}

t.test('the backend of this process', (t) => {
  t.ok(['js', ...kernels].includes(kernel));
  t.equal(nativeError === null, kernel !== 'js' || process.env.FRAMEMASK_KERNEL === 'js');
  checkBytes(codecBackend);
  checkText(codecBackend);
  checkScan(codecBackend);
  t.end();
});
