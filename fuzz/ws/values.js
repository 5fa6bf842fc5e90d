'use strict';

// What programs of fuzz/ws.js send: every kind of value that `send`, `ping` and `pong` take or
// refuse, and raw frames for a peer that is no library. A program holds descriptions, and the value
// is made anew in each run, so that no run sees what another has done to it.

const { frame } = require('../../test/support/frames');
const { createRandom } = require('../../test/support/random');

const CHARACTERS = ['a', 'b', ' ', '\0', '\x7f', 'é', 'ß', '߿', 'ࠀ', '한', '\ufeff', '😀', '\u{10ffff}'];
/** A long payload repeats its first bytes. The period is odd, because keys have four bytes. */
const PERIOD = 1021;

/** @returns {Buffer} in memory of its own */
function makeBytes(size, seed) {
  const bytes = Buffer.from(new ArrayBuffer(size));
  const random = createRandom(seed);
  const some = Math.min(size, PERIOD);
  for (let i = 0; i < some; i += 4) bytes.fill(random(2 ** 32) >>> 8, i, Math.min(i + 1 + (seed & 3), some));
  for (let at = some; at < size; at += some) bytes.copy(bytes, at, 0, Math.min(some, size - at));
  return bytes;
}

/** @returns {Buffer} UTF-8 */
function makeText(size, seed) {
  const random = createRandom(seed);
  const bytes = Buffer.from(new ArrayBuffer(size)).fill('z');
  const kinds = random(2) === 0 ? 5 : CHARACTERS.length;
  const some = Math.min(size, PERIOD);
  let at = 0;
  while (at + 4 <= some) at += bytes.write(CHARACTERS[random(kinds)], at);
  for (let period = at, to = at; period > 0 && to + period <= size; to += period) bytes.copy(bytes, to, 0, period);
  return bytes;
}

const even = (size, unit) => size - (size % unit);

/** @type {Record<string, (size: number, seed: number) => unknown>} `size` is in bytes */
const KINDS = {
  string: (size, seed) => makeText(size, seed).toString(),
  buffer: (size, seed) => makeBytes(size, seed),
  textBuffer: (size, seed) => makeText(size, seed),
  // At an odd place of a larger memory.
  subarray: (size, seed) => makeBytes(size + 7, seed).subarray(3, 3 + size),
  uint8: (size, seed) => new Uint8Array(makeBytes(size, seed).buffer),
  uint16: (size, seed) => new Uint16Array(makeBytes(even(size, 2), seed).buffer),
  float64: (size, seed) => new Float64Array(makeBytes(even(size, 8), seed).buffer),
  dataview: (size, seed) => new DataView(makeBytes(size + 5, seed).buffer, 5),
  arraybuffer: (size, seed) => makeBytes(size, seed).buffer,
  shared(size, seed) {
    const memory = new SharedArrayBuffer(size);
    Buffer.from(memory).set(makeBytes(size, seed));
    return memory;
  },
  blob(size, seed) {
    const bytes = makeBytes(size, seed);
    // When a thread has read a real one is chance.
    const arrayBuffer = () => new Promise((resolve) => setImmediate(resolve, Uint8Array.from(bytes).buffer));
    return Object.assign(new Blob([bytes]), { arrayBuffer });
  },
  array: (_, seed) => [seed & 255, 2, 300],
  number: (_, seed) => [0, -1.5, seed][seed % 3],
  nothing: (_, seed) => [undefined, null, '', false, 0n][seed % 5],
  // Refused.
  object: (_, seed) => [{}, true, 5n, Symbol.iterator][seed % 4]
};

/** @param {{ kind: string, size: number, seed: number }} value `kind` is a key of KINDS */
const makeValue = ({ kind, size, seed }) => KINDS[kind](size, seed);

/** @returns {Buffer} a frame with this first byte and masking key, -1 for none */
function makeFrame(first, payload, key) {
  const bytes = key < 0 ? null : Buffer.from(Int32Array.of(key).buffer);
  return frame(first & 15, payload, { fin: first > 127, rsv: first & 0x70, key: bytes });
}

module.exports = { KINDS: Object.keys(KINDS), makeBytes, makeFrame, makeText, makeValue };
