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

const { randomBytes } = require('node:crypto');
const t = require('tap');
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

/**
 * mask of short payloads, from one memory to another, or inside one: in place, and overlapping both
 * ways. With each length, from 0 up, the expected memory gets one more byte.
 */
function checkShort({ maskInto }, inside) {
  const source = randomBytes(GUARD + ALIGNMENTS + SHORT + GUARD);
  const sourceBefore = Buffer.from(source);
  const before = inside ? sourceBefore : randomBytes(source.length);
  const output = Buffer.alloc(before.length);
  const expected = Buffer.alloc(before.length);
  const masked = maskedTable(source);
  for (const [from, to, phase] of placements()) {
    const bytes = masked(from, phase);
    expected.set(before);
    for (let length = 0; length <= SHORT; length++) {
      output.set(before);
      maskInto(inside ? output : source, from, output, to, length, PHASE_KEYS[phase]);
      if (!output.equals(expected)) {
        throw new Mismatch(`from ${from} to ${to}, length ${length}, phase ${phase}`, output, expected);
      }
      if (!source.equals(sourceBefore)) throw new Mismatch('the source', source, sourceBefore);
      expected[to + length] = bytes[from + length];
    }
  }
}

/** unmask, which also tells whether the bytes that it wrote are ASCII. */
function checkInPlace({ maskInPlace }) {
  const before = randomBytes(GUARD + ALIGNMENTS + SHORT + GUARD);
  const memory = Buffer.alloc(before.length);
  const expected = Buffer.alloc(before.length);
  const masked = maskedTable(before);
  for (let start = GUARD; start < GUARD + ALIGNMENTS; start++) {
    for (let phase = 0; phase < 4; phase++) {
      const bytes = masked(start, phase);
      let nonAscii = 0;
      expected.set(before);
      for (let length = 0; length <= SHORT; length++) {
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

/**
 * Calls mask with each of `calls`, `[from, to, length, phase]`, in memory for payloads of `longest`
 * bytes: from one memory to another, and inside one, or only inside one.
 */
function checkCalls({ maskInto }, longest, calls, kinds = [false, true]) {
  const source = randomBytes(GUARD + ALIGNMENTS + longest + GUARD);
  const output = Buffer.alloc(source.length);
  const expected = Buffer.alloc(source.length);
  const masked = maskedTable(source);
  for (const inside of kinds) {
    const before = inside ? source : randomBytes(source.length);
    for (const [from, to, length, phase] of calls()) {
      output.set(before);
      expected.set(before);
      masked(from, phase).copy(expected, to, from, from + length);
      maskInto(inside ? output : source, from, output, to, length, PHASE_KEYS[phase]);
      if (output.equals(expected)) continue;
      const how = inside ? 'one memory' : 'two memories';
      throw new Mismatch(`${how}, from ${from} to ${to}, length ${length}, phase ${phase}`, output, expected);
    }
  }
}

function* longCalls() {
  for (let to = GUARD; to < GUARD + ALIGNMENTS; to++) {
    for (const from of [to, GUARD, GUARD + 1, GUARD + ALIGNMENTS - 1]) {
      const first = TRIES_ALL ? 0 : (seed + to) % STEP;
      for (let length = 505 + first; length <= 900; length += TRIES_ALL ? 1 : STEP) {
        yield [from, to, length, (from + to + length) & 3];
      }
    }
  }
}

function* largeCalls(length) {
  for (let to = GUARD; to < GUARD + ALIGNMENTS; to++) {
    for (const from of [0, 1, 3, 8, 17, 31, 33, 64]) {
      for (let phase = 0; phase < 4; phase++) {
        if (TRIES_ALL || phase === ((from + to) & 3)) yield [GUARD + from, to, length, phase];
      }
    }
  }
}

function* hugeCalls(length) {
  for (let i = 0; i < ALIGNMENTS; i++) yield [GUARD + ((i * 37 + 11) % ALIGNMENTS), GUARD + i, length, i & 3];
}

function checkLarge(functions) {
  for (const length of [4093, 65537]) checkCalls(functions, length, () => largeCalls(length));
  const length = 1024 * 1024 + 3;
  checkCalls(functions, length, () => hugeCalls(length));
}

function* distanceCalls(length) {
  const distances = [length - 1, length, length + 1];
  for (let distance = 1; distance < 700; distance += distance < 140 ? 1 : 9) distances.push(distance);
  for (const distance of distances) {
    for (const low of [GUARD, GUARD + 13, GUARD + 32]) {
      yield [low, low + distance, length, distance & 3];
      yield [low + distance, low, length, distance & 3];
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
  [titleOf('mask from one memory to another', PLACEMENTS)]: (functions) => checkShort(functions, false),
  [titleOf('mask inside one memory, overlapping both ways', PLACEMENTS)]: (functions) => checkShort(functions, true),
  [titleOf('mask 505 to 900 bytes', `every eighth length, seed ${seed}`)]: (functions) =>
    checkCalls(functions, 900, longCalls),
  [titleOf('mask large odd lengths', 'each alignment with three of the phases')]: checkLarge,
  'mask inside one memory, at many distances': (functions) =>
    checkCalls(functions, 2 * 4093, () => distanceCalls(4093), [true]),
  'ranges that fill their memory': checkExact,
  'find bytes that are not ASCII': checkNonAscii
};

for (const functions of rangeFunctions()) {
  for (const [name, check] of Object.entries(CHECKS)) {
    t.test(`${functions.name}: ${name}`, async () => {
      check(functions);
    });
  }
}
