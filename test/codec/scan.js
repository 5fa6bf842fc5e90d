'use strict';

// The scan of every kernel that this machine runs, and the one in JavaScript, against one made here that goes byte by
// byte and computes lengths with BigInt: the same count, the same table, the same bytes, around the chunk as well.

const t = require('tap');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { createCodecBackend } = require('../../lib/codec/backend');
const { scanChunk } = require('../../lib/codec/scan');
const { createRandom } = require('../support/garbage');
const { createNativeDouble } = require('../support/native-double');
const { addon, nativeKernels } = require('../support/natives');
const { BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, frame } = require('../support/frames');
const { seed } = require('../support/recorder');

const MASKED = 0x80;
const RSV1 = 0x40;
const MODES = [0, MASKED, RSV1, MASKED | RSV1];
const GUARD = 64;
const UNTOUCHED = 0xdeadbeef;

const scans = [{ name: 'double', native: createNativeDouble() }, ...nativeKernels()].map(({ name, native }) => ({
  name,
  scan: createCodecBackend(native).scan
}));
scans.push({ name: 'js', scan: scanChunk });

/** Whether a frame may begin so: RFC 6455 section 5.2, as a list. */
function isFirstByte(first, mode) {
  const starts = [0x00, 0x80, 0x01, 0x81, 0x02, 0x82, 0x88, 0x89, 0x8a];
  if ((mode & RSV1) !== 0) starts.push(0x41, 0xc1, 0x42, 0xc2);
  return starts.includes(first);
}

/** The scan again, plainly. Changes the chunk. */
function plainScan(chunk, start, mode, capacity) {
  const rows = [];
  let at = start;
  while (rows.length < capacity * 3) {
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
    rows.push(rest[0] | (isText && payload.some((byte) => byte > 127) ? 0x100 : 0), at + size);
    at += size + payload.length;
    rows.push(at);
    if (rest[0] === 0x88) break;
  }
  return rows;
}

/**
 * Compares all scans.
 *
 * @param {Buffer} bytes the chunk
 * @param {object} [options] where the frames begin, the mode, the length of the table, the alignment of the chunk
 * @returns {number[]} the rows of the table
 */
function check(bytes, { start = 0, mode = MASKED, words = 32 * 3, align = 0 } = {}) {
  const memory = Buffer.alloc(GUARD + align + bytes.length + GUARD, 0xa5);
  const chunkOf = (bytes) => bytes.subarray(GUARD + align, bytes.length - GUARD);
  bytes.copy(chunkOf(memory));
  const expected = Buffer.from(memory);
  const rows = plainScan(chunkOf(expected), start, mode, Math.floor(words / 3));

  for (const { name, scan } of scans) {
    const actual = Buffer.from(memory);
    const tables = new Uint32Array(words + 8).fill(UNTOUCHED);
    const count = scan(chunkOf(actual), start, mode, tables.subarray(4, 4 + words));
    const same =
      count === rows.length / 3 &&
      rows.every((value, i) => tables[4 + i] === value) &&
      tables.every((value, i) => value === UNTOUCHED || (i >= 4 && i < 4 + rows.length)) &&
      actual.equals(expected);
    if (!same) {
      const table = [...tables.subarray(4, 4 + rows.length)];
      const at = actual.findIndex((byte, i) => byte !== expected[i]) - GUARD - align;
      const call = `start ${start}, mode ${mode}, ${words} words, alignment ${align}`;
      throw new Error(`${name}: ${count} of ${rows.length / 3} frames, ${table} for ${rows}, byte ${at}; ${call}`);
    }
  }
  return rows;
}

/** Of some kind, so that each byte depends on its place. */
function payloadOf(length, ascii) {
  const payload = Buffer.alloc(length);
  for (let i = 0; i < length; i++) payload[i] = (i * 7 + 13) & (ascii ? 127 : 255);
  return payload;
}

const LENGTHS = [
  0, 1, 2, 3, 7, 8, 15, 16, 31, 63, 64, 100, 124, 125, 126, 127, 128, 255, 256, 1000, 4095, 65535, 65536
];
LENGTHS.push(65537, 70000);

const keyFor = (mode) => ((mode & MASKED) !== 0 ? Buffer.from('37fa213d', 'hex') : null);

t.test('every length, with frames before and after', (t) => {
  for (const mode of MODES) {
    const key = keyFor(mode);
    for (const length of LENGTHS) {
      for (const opcode of [CONTINUATION, TEXT, BINARY]) {
        for (const ascii of [true, false]) {
          const one = frame(opcode, payloadOf(length, ascii), { key, fin: length % 2 === 0 });
          const bytes = Buffer.concat([frame(PING, 'p', { key }), one, frame(TEXT, 'é', { key })]);
          t.equal(check(bytes, { mode, align: length % 5 }).length, 9);
        }
      }
    }
  }
  t.end();
});

t.test('one byte of 128 or more, anywhere in the payload', (t) => {
  for (const mode of [0, MASKED]) {
    const key = keyFor(mode);
    for (const length of [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 200, 520, 700]) {
      for (let at = 0; at < length; at++) {
        const payload = Buffer.alloc(length, 127);
        payload[at] = 128;
        const rows = check(frame(TEXT, payload, { key }), { mode, align: at % 7 });
        if (rows[0] !== 0x181) t.fail(`byte ${at} of ${length}`);
      }
      t.equal(check(frame(TEXT, Buffer.alloc(length, 127), { key }), { mode })[0], 0x81);
    }
  }
  t.end();
});

t.test('every first byte with every mask bit and short length', (t) => {
  let frames = 0;
  for (const mode of MODES) {
    for (let first = 0; first < 256; first++) {
      for (let second = 0; second < 256; second++) {
        const bytes = Buffer.alloc(140, 0x41);
        bytes[0] = first;
        bytes[1] = second;
        frames += check(bytes, { mode, words: 3 }).length / 3;
      }
    }
  }
  // 126 lengths, either role, and the four first bytes more that RSV1 allows; 126 and 127 announce 16705 bytes and more.
  t.equal(frames, 2 * 126 * (9 + 13));
  t.end();
});

t.test('truncated at every byte', (t) => {
  for (const mode of MODES) {
    const key = keyFor(mode);
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
    t.strictSame([...counts], [0, 1, 2, 3, 4, 5, 6, 7]);

    const long = frame(BINARY, payloadOf(70000), { key });
    for (let end = 0; end < 20; end++) t.equal(check(long.subarray(0, end), { mode }).length, 0);
    t.equal(check(long.subarray(0, long.length - 1), { mode }).length, 0);
    t.equal(check(long, { mode }).length, 3);
  }
  t.end();
});

t.test('a length that takes more bytes than it needs', (t) => {
  for (const mode of [0, MASKED]) {
    const key = keyFor(mode);
    for (const [length, lengthSize] of [
      [0, 2],
      [1, 2],
      [125, 2],
      [0, 8],
      [125, 8],
      [126, 8],
      [65535, 8]
    ]) {
      const bytes = Buffer.concat([frame(TEXT, 'a', { key }), frame(BINARY, payloadOf(length), { key, lengthSize })]);
      t.equal(check(bytes, { mode }).length, 3, `${length} in ${lengthSize}`);
    }
    t.equal(check(frame(BINARY, payloadOf(126), { key, lengthSize: 2 }), { mode }).length, 3);
    t.equal(check(frame(BINARY, payloadOf(65536), { key, lengthSize: 8 }), { mode }).length, 3);
  }
  t.end();
});

t.test('lengths that would wrap, or lose bits', (t) => {
  const lengths = [2n ** 63n, 2n ** 64n - 1n, 2n ** 62n, 2n ** 53n, 2n ** 53n - 1n, 2n ** 53n + 1n, 2n ** 32n];
  lengths.push(2n ** 32n - 1n, 2n ** 31n, 2n ** 31n - 1n, 65536n, 70000n);
  for (const wide of [2n ** 64n, 2n ** 63n, 2n ** 53n, 2n ** 32n, 2n ** 31n]) {
    for (let back = 1n; back <= 40n; back++) lengths.push(wide - back, wide + back);
  }
  for (const mode of [0, MASKED]) {
    const key = keyFor(mode);
    for (const length of lengths) {
      if (length >= 2n ** 64n) continue;
      // With a frame before it, so that the sum of its end is larger; with bytes enough after it for a sum that wrapped.
      const bad = frame(BINARY, payloadOf(300), { key, length, lengthSize: 8 });
      check(bad, { mode });
      check(Buffer.concat([frame(TEXT, 'before', { key }), bad]), { mode });
      check(Buffer.concat([Buffer.alloc(20), bad]), { mode, start: 20 });
    }
    for (const first of [0x88, 0x89, 0x8a]) {
      for (const lengthSize of [2, 8]) {
        const long = frame(first & 15, payloadOf(200), { key, lengthSize });
        t.equal(check(long, { mode }).length, 0, 'a control frame has no extended length');
      }
    }
  }
  t.end();
});

t.test('a table that is too small, and one that holds no whole number of rows', (t) => {
  for (const mode of [0, MASKED]) {
    const key = keyFor(mode);
    const bytes = Buffer.concat(Array.from({ length: 10 }, (_, i) => frame(TEXT, payloadOf(i * 9), { key })));
    for (let words = 0; words <= 33; words++) {
      const rows = check(bytes, { mode, words });
      if (rows.length !== Math.min(30, words - (words % 3))) t.fail(`${words} words: ${rows.length}`);
      // What has been taken needs not be taken again.
      if (rows.length > 0) check(bytes, { mode, words, start: rows.at(-1) });
    }
  }
  t.end();
});

t.test('a start anywhere', (t) => {
  for (const mode of [0, MASKED]) {
    const key = keyFor(mode);
    const bytes = Buffer.concat([frame(TEXT, 'one', { key }), frame(BINARY, payloadOf(130), { key })]);
    for (let start = 0; start <= bytes.length; start++) check(bytes, { mode, start, align: start % 3 });
  }
  t.end();
});

t.test('nothing counts after a Close frame', (t) => {
  for (const mode of [0, MASKED]) {
    const key = keyFor(mode);
    const bytes = Buffer.concat([frame(PING, '', { key }), frame(CLOSE, '', { key }), frame(TEXT, 'late', { key })]);
    t.equal(check(bytes, { mode }).length, 6);
  }
  t.end();
});

t.test('any kind of memory', (t) => {
  const bytes = Buffer.concat([
    frame(TEXT, 'Hello', { key: keyFor(MASKED) }),
    frame(TEXT, '', { key: keyFor(MASKED) })
  ]);
  for (const { name, scan } of scans) {
    for (const memory of [new SharedArrayBuffer(64), new ArrayBuffer(64, { maxByteLength: 128 })]) {
      const chunk = new Uint8Array(memory, 3, bytes.length);
      chunk.set(bytes);
      const table = new Uint32Array(6);
      t.equal(scan(chunk, 0, MASKED, table), 2, name);
      t.strictSame([...table], [0x81, 6, 11, 0x81, 17, 17]);
      t.equal(Buffer.from(chunk).toString('latin1', 6, 11), 'Hello');
    }
  }
  t.end();
});

t.test('a frame that ends beyond what the table can say', (t) => {
  let chunk;
  try {
    // Takes addresses, and of memory only what is written to.
    chunk = new Uint8Array(2 ** 32);
  } catch (error) {
    t.skip(error.message);
    t.end();
    return;
  }
  chunk.set(frame(TEXT, 'Hello'), 2 ** 32 - 14);
  chunk.set(frame(TEXT, 'Hello'), 2 ** 32 - 7);
  for (const { name, scan } of scans) {
    const table = new Uint32Array(9).fill(UNTOUCHED);
    t.equal(scan(chunk, 2 ** 32 - 14, 0, table), 1, name);
    t.strictSame([...table.subarray(0, 4)], [0x81, 2 ** 32 - 12, 2 ** 32 - 7, UNTOUCHED]);
  }
  t.end();
});

t.test(`random streams (seed ${seed})`, (t) => {
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
  const totals = { streams: 4000, frames: 0 };
  for (let stream = 0; stream < totals.streams; stream++) {
    const mode = pick(MODES);
    const before = randomBytes(random(20));
    let bytes = Buffer.concat([before, ...Array.from({ length: random(12) }, () => randomFrame(mode))]);
    if (random(3) === 0 && bytes.length > 0) bytes[random(bytes.length)] ^= 1 << random(8);
    if (random(3) === 0) bytes = bytes.subarray(0, before.length + random(bytes.length - before.length + 1));
    const options = { start: before.length, mode, words: random(30), align: random(64) };
    try {
      totals.frames += check(bytes, options).length / 3;
    } catch (error) {
      t.fail(`seed ${seed}, stream ${stream}: ${error.message}`);
      break;
    }
  }
  t.ok(totals.frames > totals.streams, `${totals.frames} frames`);
  t.end();
});

// Last line of defence: what lib/masking/backend.js passes is right, and the addon does not rely on it.
t.test('the addon, called with anything', { skip: addon === null && 'no addon' }, (t) => {
  const script = path.join(__dirname, '../support/scan-garbage.js');
  execFile(process.execPath, [script, String(seed)], (error, stdout, stderr) => {
    t.equal(error, null, `seed ${seed}: ${error?.signal} ${stderr}`);
    const { right, wrong } = JSON.parse(stdout || '{}');
    t.ok(right > 1000 && wrong > 1000, stdout);
    t.end();
  });
});
