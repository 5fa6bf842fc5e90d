'use strict';

// A reader of DEFLATE (RFC 1951), which zlib's inflate is not: it tells how far back a stream
// refers.

const MAX_BITS = 15;
/** Code lengths in the order of RFC 1951 section 3.2.7. */
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** Bases and extra bits of lengths or distances (section 3.2.5), each base from the one before. */
function steps(first, extras) {
  let base = first;
  return extras.map((extra) => {
    const step = { base, extra };
    base += 2 ** extra;
    return step;
  });
}

const pairs = (count, from) => Array.from({ length: count }, (_, i) => Math.max(0, (i >> 1) - from));
const DISTANCES = steps(1, pairs(30, 1));
const LENGTHS = steps(
  3,
  Array.from({ length: 28 }, (_, i) => Math.max(0, (i >> 2) - 1))
);
LENGTHS.push({ base: 258, extra: 0 });

const FIXED = {
  literals: codeOf([...Array(144).fill(8), ...Array(112).fill(9), ...Array(24).fill(7), ...Array(8).fill(8)]),
  distances: codeOf(Array(30).fill(5))
};

/** A canonical code (section 3.2.2): symbols by their bits after a one, which tells the length. */
function codeOf(lengths) {
  const symbols = new Map();
  let code = 0;
  for (let length = 1; length <= MAX_BITS; length++) {
    for (const [symbol, bits] of lengths.entries()) if (bits === length) symbols.set(2 ** length + code++, symbol);
    code *= 2;
  }
  return symbols;
}

/**
 * @returns {{ bytes: Buffer, farthest: number }} what a stream of whole blocks inflates to, and its
 *   farthest distance
 */
function readDeflate(input) {
  const bytes = [];
  let farthest = 0;
  let at = 0;
  const bit = () => (input[at >> 3] >> (at++ & 7)) & 1;
  const number = (count) => {
    let value = 0;
    for (let i = 0; i < count; i++) value |= bit() << i;
    return value;
  };
  const symbol = (code) => {
    for (let bits = 1; bits < 2 ** MAX_BITS; ) {
      bits = bits * 2 + bit();
      const found = code.get(bits);
      if (found !== undefined) return found;
    }
    throw new Error('not a code');
  };
  const readCodes = () => {
    const [literals, distances, count] = [number(5) + 257, number(5) + 1, number(4) + 4];
    const own = Array(19).fill(0);
    for (const place of ORDER.slice(0, count)) own[place] = number(3);
    const code = codeOf(own);
    const lengths = [];
    while (lengths.length < literals + distances) {
      const next = symbol(code);
      if (next < 16) lengths.push(next);
      else if (next === 16) lengths.push(...Array(3 + number(2)).fill(lengths.at(-1)));
      else lengths.push(...Array(next === 17 ? 3 + number(3) : 11 + number(7)).fill(0));
    }
    return { literals: codeOf(lengths.slice(0, literals)), distances: codeOf(lengths.slice(literals)) };
  };
  const readBlock = ({ literals, distances }) => {
    for (let next = symbol(literals); next !== 256; next = symbol(literals)) {
      if (next < 256) {
        bytes.push(next);
        continue;
      }
      const length = LENGTHS[next - 257].base + number(LENGTHS[next - 257].extra);
      const { base, extra } = DISTANCES[symbol(distances)];
      const distance = base + number(extra);
      farthest = Math.max(farthest, distance);
      for (let i = 0; i < length; i++) bytes.push(bytes[bytes.length - distance]);
    }
  };
  const readStored = () => {
    at = Math.ceil(at / 8) * 8;
    const length = number(16);
    at += 16;
    for (let i = 0; i < length; i++) bytes.push(number(8));
  };
  while (at < input.length * 8) {
    at++;
    const type = number(2);
    if (type === 0) readStored();
    else readBlock(type === 1 ? FIXED : readCodes());
  }
  return { bytes: Buffer.from(bytes), farthest };
}

module.exports = { readDeflate };
