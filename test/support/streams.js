'use strict';

// Random streams of frames: good ones, bad ones, damaged ones and truncated ones.

const SPACE = 1 << 20;
/** A payload repeats its first bytes with this period. It is odd, because keys have four bytes. */
const PERIOD = 301;
/** Text is made of these. Those with more than one byte are at the end. */
const CHARACTERS = [...'ab 0\0\x7féß߿ࠀ한\ufeff\ufffd😀\u{10ffff}'].map((character) => Buffer.from(character));
const ASCII = 6;
/** Bytes that are not UTF-8 before a letter. */
const NOT_TEXT = '80 c0 c1bf c3 e2 e282 eda080 e08080 f09f98 f4908080 f08080 f5 ff'
  .split(' ')
  .map((hex) => Buffer.from(hex, 'hex'));
/** Lengths in headers that no payload has. */
const HUGE = [0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 2 ** 32, 2 ** 53 - 1, 2 ** 53].map(BigInt);
HUGE.push(2n ** 53n + 1n, 2n ** 62n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n);

/** Close codes, valid and not. */
const CLOSE_CODES = [0, 999, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1011, 1012, 1013, 1014, 1015, 1016];
CLOSE_CODES.push(2999, 3000, 4000, 4999, 5000, 65535);

/**
 * @param {(below: number) => number} random
 * @param {object} [options]
 * @param {boolean} [options.rsv1] whether some streams have messages with RSV1
 * @param {number} [options.longest] the longest payload, in bytes
 * @returns {(role: 'server' | 'client', compressed?: boolean) => Buffer} makes a stream for a
 *   decoder of that role; `compressed` tells whether some of its messages have RSV1
 */
function createStreamMaker(random, { rsv1 = false, longest = 70000 } = {}) {
  const stream = Buffer.alloc(SPACE);
  const text = Buffer.alloc(longest + 16);
  let end = 0;
  let maskBit = 0;
  let compressing = false;
  const chance = (oneIn) => random(oneIn) === 0;
  const pick = (values) => values[random(values.length)];

  function payloadLength() {
    const kind = random(100);
    if (kind < 10) return 0;
    if (kind < 60) return random(20);
    if (kind < 80) return random(126);
    if (kind < 92) return 100 + random(300);
    if (kind < 98 || longest < 2000) return random(Math.min(2000, longest));
    return Math.min(longest, kind === 98 ? 65530 + random(10) : random(longest));
  }

  /**
   * Fills `text` with so many bytes, or a few more to end with a whole character. Returns how many.
   */
  function fillText(length) {
    const most = chance(2) ? ASCII : CHARACTERS.length;
    let at = 0;
    while (at < Math.min(length, PERIOD)) at += CHARACTERS[random(most)].copy(text, at);
    at = repeat(at, length);
    while (at < length) at += CHARACTERS[random(most)].copy(text, at);
    if (chance(25)) at += pick(NOT_TEXT).copy(text, random(at + 1));
    return at;
  }

  function fillBytes(length) {
    const some = Math.min(length, PERIOD);
    for (let i = 0; i < some; i += 3) text[i] = text[i + 2] = random(256);
    text.copyWithin(repeat(some, length), 0, some);
    return length;
  }

  /** Repeats the first `period` bytes of `text` as often as they fit. Returns the end. */
  function repeat(period, length) {
    let at = period;
    if (period > 0) for (; at + period <= length; at += period) text.copyWithin(at, 0, period);
    return at;
  }

  /**
   * Appends a frame with a payload from `text`. `lengthSize` and `announced` make wrong headers.
   */
  function putFrame(first, from, to, lengthSize, announced) {
    const length = announced ?? BigInt(to - from);
    const size = lengthSize ?? (length < 126n ? 0 : length < 65536n ? 2 : 8);
    stream[end++] = first;
    stream[end++] = maskBit | (size === 0 ? Number(length & 127n) : size === 2 ? 126 : 127);
    if (size === 2) stream.writeUInt16BE(Number(length & 0xffffn), end);
    else if (size === 8) stream.writeBigUInt64BE(length, end);
    end += size;
    if (maskBit === 0) {
      end += text.copy(stream, end, from, to);
      return;
    }
    const key = end;
    stream.writeUInt32LE(chance(20) ? 0 : random(2 ** 32), key);
    end += 4;
    for (let i = from; i < to; i++) stream[end++] = text[i] ^ stream[key + ((i - from) & 3)];
  }

  function putControl() {
    putFrame(0x89 + random(2), 0, fillBytes(chance(3) ? 0 : random(126)));
  }

  function putClose() {
    let length = random(126);
    if (chance(3)) length = chance(2) ? 0 : 2;
    else if (chance(6)) length = 1;
    if (length > 2) length = 2 + Math.min(123, fillText(length - 2));
    text.copyWithin(2, 0, Math.max(length - 2, 0));
    text.writeUInt16BE(chance(2) ? 1000 + random(4) : pick(CLOSE_CODES), 0);
    putFrame(0x88, 0, length);
  }

  function putMessage() {
    const binary = random(2);
    const compressed = compressing && chance(3) ? 0x40 : 0;
    // A copy, because control frames between the fragments use `text`.
    const length =
      binary === 1 || (compressed !== 0 && chance(4)) ? fillBytes(payloadLength()) : fillText(payloadLength());
    let fragments = chance(3) ? 2 + random(4) : 1;
    if (fragments === 1) {
      putFrame(0x81 + binary + compressed, 0, length);
      return;
    }
    const message = Buffer.from(text.subarray(0, length));
    let from = 0;
    let first = 1 + binary + compressed;
    while (fragments > 0) {
      const to = fragments === 1 ? length : Math.min(length, from + random(length + 1));
      message.copy(text, 0, from, to);
      putFrame(first | (fragments === 1 ? 0x80 : 0), 0, to - from);
      if (fragments > 1 && chance(4)) putControl();
      first = 0;
      from = to;
      fragments--;
    }
  }

  /** Appends a frame that breaks a rule, or may break one. */
  function putWrong() {
    const length = fillText(random(40));
    const kinds = [
      () => putFrame(chance(2) ? random(256) : 0x80 + random(16), 0, length),
      () => {
        maskBit ^= 0x80;
        putFrame(0x81 + random(2), 0, length);
        maskBit ^= 0x80;
      },
      () => putFrame(0x82, 0, fillBytes(chance(2) ? 126 + random(100) : random(126)), 2),
      () => putFrame(0x82, 0, length, 8),
      () => putFrame(0x81 + random(2), 0, length, 8, pick(HUGE)),
      () => putFrame(chance(2) ? 0x80 : 0x00, 0, length),
      () => putFrame(chance(2) ? 0x01 : 0x02, 0, length),
      () => putFrame(0x88 + random(3), 0, fillBytes(126 + random(50))),
      putClose
    ];
    pick(kinds)();
  }

  /** Changes, removes or adds some bytes, or cuts the stream. */
  function damage() {
    const at = random(end);
    const some = Math.min(1 + random(8), end - at);
    const kind = random(5);
    if (kind === 0) stream[at] ^= 1 << random(8);
    else if (kind === 1) stream[at] = random(256);
    else if (kind === 4) end = at;
    else {
      const [to, from, growth] = kind === 2 ? [at, at + some, -some] : [at + some, at, some];
      stream.copyWithin(to, from, end);
      end += growth;
    }
  }

  return function makeStream(role, compressed = rsv1 && chance(4)) {
    maskBit = role === 'server' ? 0x80 : 0;
    compressing = compressed;
    end = 0;
    for (let frames = 1 + random(8); frames > 0; frames--) {
      const kind = random(20);
      if (kind < 4) putControl();
      else if (kind === 4 && chance(2)) putWrong();
      else putMessage();
    }
    if (chance(6)) putClose();
    if (chance(5)) putWrong();
    if (chance(3) && end > 0) damage();
    return Buffer.from(stream.subarray(0, end));
  };
}

/** The numbers from `from` on below `end`. */
const steps = (from, end, size) =>
  Array.from({ length: Math.max(0, Math.ceil((end - from) / size)) }, (_, i) => from + i * size);

/**
 * Where to cut a stream: nowhere, anywhere, into pieces of one size, or into bytes at one place.
 *
 * @param {(below: number) => number} random
 * @param {number} length
 * @returns {number[]} ascending, from 0 to `length`; the same place twice makes an empty chunk
 */
function randomCuts(random, length) {
  const kind = random(4);
  if (kind === 0) return [];
  if (kind === 1) {
    const cuts = Array.from({ length: 1 + random(6) }, () => random(length + 1));
    return cuts.sort((a, b) => a - b);
  }
  if (kind === 2) {
    const size = 1 + random(length > 1000 ? 1000 : 30) + Math.floor(length / 200);
    return steps(size, length, size);
  }
  const from = random(length + 1);
  return steps(from, Math.min(from + 20, length), 1);
}

/** @returns {Buffer[]} the bytes in pieces, see `randomCuts` */
const cut = (bytes, cuts) => [0, ...cuts].map((start, i) => bytes.subarray(start, cuts[i]));

module.exports = { createStreamMaker, cut, randomCuts, steps };
