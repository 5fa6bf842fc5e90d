'use strict';

// Makes a program of fuzz/ws.js smaller for as long as it stays a finding.

/** What an operation can do without. */
const OPTIONAL = new Set(['callback', 'options', 'mask', 'code', 'reason']);

/** What is simplest for a key, if its value can be replaced. */
const SIMPLEST = {
  transport: 'memory',
  slow: false,
  large: false,
  showsAmounts: false,
  stalls: false,
  answersClose: false,
  extensions: '',
  style: 'on',
  binaryType: 'nodebuffer',
  cuts: [],
  seed: 0,
  nth: 0,
  kind: 'string',
  mode: 'one'
};

/** Sizes of a value, the simplest first. */
const SIZES = [0, 1, 2, 126, 1000];

/**
 * @param {any} value a part of a program
 * @param {string} [key] under which it stands
 * @returns {Generator<any>} simpler ones, each with one change
 */
function* simplify(value, key = '') {
  if (Buffer.isBuffer(value)) {
    yield* withoutPieces(value, frameStarts(value), (pieces) => Buffer.concat(pieces));
  } else if (Array.isArray(value)) {
    if (key === 'tested' || key === 'cuts') return;
    const places = value.map((_, i) => i);
    yield* withoutPieces(value, places, (pieces) => pieces.flat());
    for (let i = 0; i < value.length; i++) {
      for (const simpler of simplify(value[i])) yield value.with(i, simpler);
      // What is done later may be done now.
      if (value[i].op === 'later') yield value.toSpliced(i, 1, ...value[i].ops);
    }
  } else if (typeof value === 'object' && value !== null) {
    yield* simplifyObject(value, key);
  } else if (key === 'size') {
    for (const size of SIZES) if (size < value) yield size;
  }
}

function* simplifyObject(object, key) {
  for (const name of Object.keys(object)) {
    const part = object[name];
    // A program has a `kind`, too, that decides who is a raw peer.
    const simplest = 'steps' in object && name === 'kind' ? undefined : SIMPLEST[name];
    if (('op' in object && OPTIONAL.has(name)) || (key === 'options' && name !== 'perMessageDeflate')) {
      const { [name]: _, ...others } = object;
      yield others;
    }
    if (name === 'perMessageDeflate' && part !== false) yield { ...object, [name]: false };
    if (simplest !== undefined && String(part) !== String(simplest)) yield { ...object, [name]: simplest };
    for (const simpler of simplify(part, name)) yield { ...object, [name]: simpler };
  }
}

/** Without halves, quarters, and at last single pieces. */
function* withoutPieces(list, starts, join) {
  for (let count = starts.length; count > 0; count = count === 1 ? 0 : Math.ceil(count / 2)) {
    for (let i = 0; i < starts.length; i += count) {
      yield join([list.slice(0, starts[i]), list.slice(starts[i + count] ?? list.length)]);
    }
  }
}

/** @returns {number[]} where frames begin, as far as they are complete */
function frameStarts(bytes) {
  const starts = [];
  for (let at = 0; at < bytes.length; ) {
    starts.push(at);
    const short = bytes[at + 1] & 127;
    const size = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (at + size > bytes.length) break;
    const length = size === 2 ? short : size === 4 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    at += size + (bytes[at + 1] > 127 ? 4 : 0) + length;
  }
  return starts;
}

/**
 * @param {import('./generator').Program} program
 * @param {(program: import('./generator').Program) => Promise<boolean>} isFinding
 * @returns {Promise<import('./generator').Program>} one that no single change makes smaller
 */
async function minimise(program, isFinding) {
  for (let smallest = program; ; ) {
    let smaller = null;
    for (const candidate of simplify(smallest)) {
      if (!(await isFinding(candidate))) continue;
      smaller = candidate;
      break;
    }
    if (smaller === null) return smallest;
    smallest = smaller;
  }
}

module.exports = { minimise };
