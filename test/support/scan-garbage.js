'use strict';

// Run by test/codec/scan.js in a process of its own, because a bug may crash it: node
// scan-garbage.js <seed>

const assert = require('node:assert');
const { isUint32Array } = require('node:util').types;
const { Register } = require('../../lib/masking/native');
const { TEXT, frame } = require('./frames');
const { NUMBERS, createDetached, createGarbage, createShrunk } = require('./garbage');
const { nativeKernels } = require('./natives');
const { createRandom } = require('./random');

const random = createRandom(Number(process.argv[2]));
const tally = { right: 0, wrong: 0 };

/** Calls the addon, which works or throws a TypeError. Returns whether it worked. */
function call(native, args, start, mode) {
  native.registers.fill(-1);
  native.registers[Register.START] = start;
  native.registers[Register.MODE] = mode;
  try {
    assert.strictEqual(native.scan(...args), undefined);
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    assert.ok(error instanceof TypeError, error);
    assert.match(error.code, /^ERR_(INVALID_ARG_TYPE|OUT_OF_RANGE)$/);
    assert.strictEqual(native.registers[Register.COUNT], -1);
    tally.wrong++;
    return false;
  }
  tally.right++;
  return true;
}

for (const { native } of nativeKernels()) {
  const { scan } = native;
  const garbage = [...createGarbage(), ...createDetached(), ...createShrunk()];
  const table = new Uint32Array(9);
  const bytes = frame(TEXT, 'Hello', { key: Buffer.from('37fa213d', 'hex') });
  const chunk = Buffer.from(bytes);

  for (const value of garbage) {
    call(native, [value, table], 0, 0x80);
    call(native, [value, table], 4, 0);
    // Any Uint32Array is a frame table; an empty one holds no entries.
    const taken = call(native, [chunk, value], 0, 0x80);
    assert.strictEqual(taken, isUint32Array(value));
    if (taken) bytes.copy(chunk);
    assert.ok(chunk.equals(bytes), 'a call that threw has changed the chunk');
    call(native, [value, value], 0, 0x80);
    call(native, [value], 0, 0x80);
    assert.throws(() => scan.call(value, value), TypeError);
  }
  assert.throws(() => scan(), TypeError, 'no arguments');
  assert.throws(() => scan(chunk), TypeError, 'no frame table');
  for (const words of [0, 1, 2]) {
    assert.ok(call(native, [chunk, new Uint32Array(words)], 0, 0x80), `${words} words`);
    assert.strictEqual(native.registers[Register.COUNT], 0, `${words} words`);
    assert.ok(chunk.equals(bytes), `a table of ${words} words: the chunk has changed`);
  }

  for (const number of [...NUMBERS, chunk.length + 1]) {
    const taken = call(native, [chunk, table], number, 0x80);
    assert.strictEqual(taken, Number.isInteger(number) && number >= 0 && number <= chunk.length, `start ${number}`);
    if (taken) bytes.copy(chunk);
    assert.ok(chunk.equals(bytes), `start ${number}: a call that threw has changed the chunk`);
    // Any whole number is a mode; two of its bits count.
    const allowed = Number.isSafeInteger(number) && number >= 0;
    assert.strictEqual(call(native, [chunk, table], 0, number), allowed, `mode ${number}`);
    bytes.copy(chunk);
  }

  // Views of one memory with a guard between them. Arrays of wider elements have more bytes than
  // elements.
  const memory = new ArrayBuffer(4096);
  const guard = new Uint8Array(memory, 2048, 64);
  for (let i = 0; i < 5000; i++) {
    const all = new Uint8Array(memory);
    for (let j = 0; j < 2048; j++) all[j] = random(5) === 0 ? random(256) : 0x81;
    guard.fill(0x5a);
    const Type = [Uint8Array, Uint16Array, Float64Array, Int8Array][random(4)];
    const view = new Type(memory, 0, random(2048 / Type.BYTES_PER_ELEMENT));
    const rows = new Uint32Array(memory, 2112, random(400));
    const start = random(6) === 0 ? NUMBERS[random(NUMBERS.length)] : random(40);
    call(native, [view, rows], start, random(256));
    assert.ok(
      guard.every((byte) => byte === 0x5a),
      `call ${i} has written to the guard`
    );
  }
}

console.log(JSON.stringify(tally));
