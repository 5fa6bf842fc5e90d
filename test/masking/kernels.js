'use strict';

// Each kernel that this machine runs, and the fallback, against a byte loop.
//
// Each item is tested in every combination:
// - mask, two memories: source alignment 0 to 64, output alignment 0 to 64, length 0 to 300, phase
// - mask, one memory: the same; in place if the alignments are equal, else overlapping both ways
// - unmask: alignment 0 to 64, length 0 to 300, phase
// - mask, both: length 505 to 900, where kernels align their stores; output alignment, 4 sources
// - mask, both: 4093 and 65537 bytes; output alignment, 8 source alignments, phase
// - mask, both: 1 MiB + 3 bytes; output alignment, each with another source alignment and phase
// - mask, one memory: distances up to the length and one more, both ways
//
// Where two alignments are combined, a sample has each alignment and phase of both sides, and each
// distance between them both ways: the kernels load and store at any alignment below 505 bytes, so
// that only the length chooses the code. From 505 bytes on it is the output's alignment, the phase
// and the rest of the length, which the seed shifts against each other.
//
// After each call the whole memory is compared, so the bytes around the range are guards.

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');
const t = require('tap');
const { advanceKey } = require('../../lib/masking/fallback');
const { rangeFunctions } = require('../support/natives');
const { seed } = require('../support/random');
const { TRIES_ALL, titleOf } = require('../support/sample');

const ALIGNMENTS = 65;
const SHORT = 300;
const GUARD = 64;
/** Of the lengths from 505 to 900 a sample has every eighth. */
const STEP = 8;

const KEY = [0xa1, 0x5c, 0x03, 0xf8];

/** The key from each phase on as a number, its first byte the lowest. */
const PHASE_KEYS = [0xf8035ca1, 0xa1f8035c, 0x5ca1f803, 0x035ca1f8];

/** A failed comparison: the call, and the first byte that differs. */
class Mismatch extends Error {
  constructor(what, actual, expected) {
    const at = actual.findIndex((byte, i) => byte !== expected[i]);
    super(`${what}: byte ${at} is ${actual[at]}, not ${expected[at]}`);
  }
}

/** A byte loop: masks so that the byte at `start` meets byte `phase` of the key. */
function maskedFrom(bytes, start, phase) {
  const result = Buffer.alloc(bytes.length);
  for (let i = 0; i < bytes.length; i++) result[i] = bytes[i] ^ KEY[(i - start + phase) & 3];
  return result;
}

/** The four results of `maskedFrom`, which depends on `(phase - start) & 3` only. */
function maskedTable(bytes) {
  const table = [0, 1, 2, 3].map((rotation) => maskedFrom(bytes, 0, rotation));
  return (start, phase) => table[(phase - start) & 3];
}

/** Whether alignments and a phase are tried together. */
function isTried(from, to, phase) {
  if (TRIES_ALL || to === (from * 37 + 11) % ALIGNMENTS) return true;
  return (from === to || from === 0 || to === 0) && phase === ((from + to) & 3);
}

/** @yields {[from: number, to: number, phase: number]} where source and output begin */
function* placements() {
  for (let from = 0; from < ALIGNMENTS; from++) {
    for (let to = 0; to < ALIGNMENTS; to++) {
      for (let phase = 0; phase < 4; phase++) {
        if (isTried(from, to, phase)) yield [GUARD + from, GUARD + to, phase];
      }
    }
  }
}

/** mask with two memories. With each length, from 0 up, the expected memory gets one more byte. */
function checkApart({ maskInto }, longest = SHORT) {
  const source = randomBytes(GUARD + ALIGNMENTS + longest + GUARD);
  const before = randomBytes(source.length);
  const sourceBefore = Buffer.from(source);
  const output = Buffer.alloc(before.length);
  const expected = Buffer.alloc(before.length);
  const masked = maskedTable(source);
  for (const [from, to, phase] of placements()) {
    const bytes = masked(from, phase);
    expected.set(before);
    for (let length = 0; length <= longest; length++) {
      output.set(before);
      maskInto(source, from, output, to, length, PHASE_KEYS[phase]);
      if (!output.equals(expected)) {
        throw new Mismatch(`two memories, from ${from} to ${to}, length ${length}, phase ${phase}`, output, expected);
      }
      if (!source.equals(sourceBefore)) throw new Mismatch('two memories, the source', source, sourceBefore);
      expected[to + length] = bytes[from + length];
    }
  }
}

/** mask with one memory: in place, and overlapping both ways. */
function checkOverlapping({ maskInto }, longest = SHORT) {
  const before = randomBytes(GUARD + ALIGNMENTS + longest + GUARD);
  const memory = Buffer.alloc(before.length);
  const expected = Buffer.alloc(before.length);
  const masked = maskedTable(before);
  for (const [from, to, phase] of placements()) {
    const bytes = masked(from, phase);
    expected.set(before);
    for (let length = 0; length <= longest; length++) {
      memory.set(before);
      maskInto(memory, from, memory, to, length, PHASE_KEYS[phase]);
      if (!memory.equals(expected)) {
        throw new Mismatch(`one memory, from ${from} to ${to}, length ${length}, phase ${phase}`, memory, expected);
      }
      expected[to + length] = bytes[from + length];
    }
  }
}

/** unmask, which also tells whether the bytes that it wrote are ASCII. */
function checkInPlace({ maskInPlace }, longest = SHORT) {
  const before = randomBytes(GUARD + ALIGNMENTS + longest + GUARD);
  const memory = Buffer.alloc(before.length);
  const expected = Buffer.alloc(before.length);
  const masked = maskedTable(before);
  for (let start = GUARD; start < GUARD + ALIGNMENTS; start++) {
    for (let phase = 0; phase < 4; phase++) {
      const bytes = masked(start, phase);
      let nonAscii = 0;
      expected.set(before);
      for (let length = 0; length <= longest; length++) {
        memory.set(before);
        const ascii = maskInPlace(memory, start, length, PHASE_KEYS[phase]);
        const what = `in place, from ${start}, length ${length}, phase ${phase}`;
        if (!memory.equals(expected)) throw new Mismatch(what, memory, expected);
        if (ascii !== (nonAscii === 0)) throw new Error(`${what}: ASCII is ${ascii}`);
        nonAscii |= bytes[start + length] & 128;
        expected[start + length] = bytes[start + length];
      }
    }
  }
}

/** One call of mask. `shared` puts source and output into one memory. */
function checkOne({ maskInto }, { source, before, masked }, from, to, length, phase, shared) {
  const output = Buffer.from(before);
  const expected = Buffer.from(before);
  masked(from, phase).copy(expected, to, from, from + length);
  maskInto(shared ? output : source, from, output, to, length, PHASE_KEYS[phase]);
  if (output.equals(expected)) return;
  const how = shared ? 'one memory' : 'two memories';
  throw new Mismatch(`${how}, from ${from} to ${to}, length ${length}, phase ${phase}`, output, expected);
}

/** Memories for `checkOne`: two memories, and one for both. */
function makeMemories(size) {
  const source = randomBytes(size);
  const masked = maskedTable(source);
  return [
    { memories: { source, before: randomBytes(size), masked }, shared: false },
    { memories: { source, before: source, masked }, shared: true }
  ];
}

function checkLong(functions) {
  for (const { memories, shared } of makeMemories(GUARD + ALIGNMENTS + 900 + GUARD)) {
    for (let to = GUARD; to < GUARD + ALIGNMENTS; to++) {
      for (const from of [to, GUARD, GUARD + 1, GUARD + ALIGNMENTS - 1]) {
        const first = TRIES_ALL ? 0 : (seed + to) % STEP;
        for (let length = 505 + first; length <= 900; length += TRIES_ALL ? 1 : STEP) {
          checkOne(functions, memories, from, to, length, (from + to + length) & 3, shared);
        }
      }
    }
  }
}

function checkLarge(functions) {
  for (const length of [4093, 65537]) {
    for (const { memories, shared } of makeMemories(GUARD + ALIGNMENTS + length + GUARD)) {
      for (let to = GUARD; to < GUARD + ALIGNMENTS; to++) {
        for (const from of [0, 1, 3, 8, 17, 31, 33, 64]) {
          for (let phase = 0; phase < 4; phase++) {
            if (!TRIES_ALL && phase !== ((from + to) & 3)) continue;
            checkOne(functions, memories, GUARD + from, to, length, phase, shared);
          }
        }
      }
    }
  }
  const length = 1024 * 1024 + 3;
  for (const { memories, shared } of makeMemories(GUARD + ALIGNMENTS + length + GUARD)) {
    for (let i = 0; i < ALIGNMENTS; i++) {
      checkOne(functions, memories, GUARD + ((i * 37 + 11) % ALIGNMENTS), GUARD + i, length, i & 3, shared);
    }
  }
}

function checkDistances(functions) {
  const length = 4093;
  const distances = [length - 1, length, length + 1];
  for (let distance = 1; distance < 700; distance += distance < 140 ? 1 : 9) distances.push(distance);
  const [, { memories }] = makeMemories(2 * length + 2 * GUARD + ALIGNMENTS);
  for (const distance of distances) {
    for (const low of [GUARD, GUARD + 13, GUARD + 32]) {
      checkOne(functions, memories, low, low + distance, length, distance & 3, true);
      checkOne(functions, memories, low + distance, low, length, distance & 3, true);
    }
  }
}

/**
 * One byte of 128 or more at each place of an ASCII payload must be seen, and none beside the
 * payload.
 */
function checkNonAscii({ maskInto, maskInPlace }) {
  for (const [length, step] of [...Array.from({ length: 131 }, (_, i) => [i, 1]), [300, 1], [512, 1], [1021, 3]]) {
    const start = GUARD + (length % 7);
    const memory = Buffer.alloc(start + length + GUARD, 0xff);
    for (let at = start - 1; at <= start + length; at += step) {
      const payload = Buffer.alloc(length, 'a');
      if (at >= start && at < start + length) payload[at - start] = 0x80;
      for (let i = 0; i < length; i++) memory[start + i] = payload[i] ^ KEY[i & 3];
      const output = Buffer.from(memory);
      // To other memory, in two ways, and overlapping: there the payload is moved first.
      const found = [
        maskInto(memory, start, output, start + 3, length, PHASE_KEYS[0]),
        maskInto(Buffer.from(memory), start, output, start - 1, length, PHASE_KEYS[0])
      ];
      const overlapping = Buffer.from(memory);
      found.push(maskInto(overlapping, start, overlapping, start + 3, length, PHASE_KEYS[0]));
      found.push(maskInPlace(memory, start, length, PHASE_KEYS[0]));
      if (found.some((ascii) => ascii === payload.includes(0x80))) {
        throw new Error(`length ${length}, byte ${at - start}: ASCII is ${found}`);
      }
    }
  }
}

/**
 * Ranges that begin and end with their allocation, so that a sanitizer sees each byte beyond them.
 */
function checkExact({ maskInto, maskInPlace }) {
  for (let length = 0; length <= 640; length++) {
    const from = length % 5;
    const to = length % 9;
    const source = Buffer.from(new ArrayBuffer(from + length));
    const output = Buffer.from(new ArrayBuffer(to + length));
    for (let i = 0; i < length; i++) source[from + i] = i * 7;
    maskInto(source, from, output, to, length, PHASE_KEYS[1]);
    const expected = maskedFrom(source, from, 1).subarray(from);
    if (!output.subarray(to).equals(expected)) throw new Mismatch(`exact, ${length}`, output.subarray(to), expected);
    maskInPlace(output, to, length, PHASE_KEYS[1]);
    if (!output.subarray(to).equals(source.subarray(from))) throw new Error(`exact, ${length}: not undone`);
  }
}

const PLACEMENTS = 'each alignment and each distance, not each pair';

const CHECKS = {
  'unmask in place': checkInPlace,
  [titleOf('mask from one memory to another', PLACEMENTS)]: checkApart,
  [titleOf('mask inside one memory, overlapping both ways', PLACEMENTS)]: checkOverlapping,
  [titleOf('mask 505 to 900 bytes', `every eighth length, seed ${seed}`)]: checkLong,
  [titleOf('mask large odd lengths', 'each alignment with three of the phases')]: checkLarge,
  'mask inside one memory, at many distances': checkDistances,
  'ranges that fill their memory': checkExact,
  'find bytes that are not ASCII': checkNonAscii
};

t.test('PHASE_KEYS are the key, rotated by each phase', (t) => {
  for (let phase = 0; phase < 4; phase++) {
    assert.equal(advanceKey(PHASE_KEYS[0], phase), PHASE_KEYS[phase], `phase ${phase}`);
    assert.equal(PHASE_KEYS[phase] & 255, KEY[phase], `the first byte, phase ${phase}`);
  }
  t.end();
});

for (const functions of rangeFunctions()) {
  for (const [name, check] of Object.entries(CHECKS)) {
    t.test(`${functions.name}: ${name}`, (t) => {
      check(functions);
      t.end();
    });
  }
}

/** Faults that follow a right loop over bytes, which each check must find. */
const FAULTS = {
  'writes the byte after the range': (_source, _start, output, offset, length) => {
    output[offset + length] ^= 1;
  },
  'writes the byte before the range': (_source, _start, output, offset) => {
    output[offset - 1] ^= 1;
  },
  'the last byte is wrong': (_source, _start, output, offset, length) => {
    if (length > 0) output[offset + length - 1] ^= 0x80;
  },
  'one alignment, length and phase is wrong': (_source, start, output, offset, length, key) => {
    if (start % 65 === 12 && length === 33 && key === PHASE_KEYS[3]) output[offset] ^= 1;
  }
};

t.test('these checks find faulty functions', (t) => {
  for (const [name, fault] of Object.entries(FAULTS)) {
    const maskInto = (source, start, output, offset, length, key) => {
      const bytes = Uint8Array.prototype.slice.call(source, start, start + length);
      for (let i = 0; i < length; i++) output[offset + i] = bytes[i] ^ (key >>> ((i & 3) * 8));
      fault(source, start, output, offset, length, key);
    };
    const maskInPlace = (buffer, start, length, key) => {
      maskInto(buffer, start, buffer, start, length, key);
      return buffer.subarray(start, start + length).every((byte) => byte < 128);
    };
    for (const check of [checkInPlace, checkApart, checkOverlapping]) {
      t.throws(() => check({ maskInto, maskInPlace }, 40), /byte \d+ is \d+, not \d+/, `${check.name}: ${name}`);
    }
  }
  const forwards = {
    maskInto(source, start, output, offset, length, key) {
      for (let i = 0; i < length; i++) output[offset + i] = source[start + i] ^ (key >>> ((i & 3) * 8));
    }
  };
  t.throws(() => checkOverlapping(forwards, 40), /byte \d+ is \d+/, 'a forward loop that overlaps');
  const { maskInto, maskInPlace } = rangeFunctions().at(-1);
  for (const always of [true, false]) {
    const wrong = (...args) => {
      maskInPlace(...args);
      return always;
    };
    t.throws(() => checkNonAscii({ maskInto, maskInPlace: wrong }), /ASCII is/, `maskInPlace returns ${always}`);
    t.throws(() => checkNonAscii({ maskInto: () => always, maskInPlace }), /ASCII is/, `maskInto returns ${always}`);
  }
  t.end();
});
