'use strict';

// The ways to make, format and parse ids that were tried; lib/frame-id.js uses one of each. Each is
// compiled anew for each measurement: see `fresh`.

const { randomFillSync } = require('node:crypto');
const { fresh } = require('./race');

/** Makes version 4 ids as lib/frame-id.js does, with any batch size and any way of formatting. */
function makeSource(batchBytes, format, randomFillSync) {
  const end = batchBytes / 4;
  const batch = new Uint32Array(end);
  let cursor = end;
  return () => {
    if (cursor === end) {
      randomFillSync(batch);
      cursor = 0;
    }
    const at = cursor;
    cursor += 4;
    const a = batch[at];
    const b = (batch[at + 1] & 0xffff0fff) | 0x4000;
    const c = (batch[at + 2] & 0x3fffffff) | 0x80000000;
    const d = batch[at + 3];
    batch[at] = batch[at + 1] = batch[at + 2] = batch[at + 3] = 0;
    return format(a, b, c, d);
  };
}

/** Formats a batch at once into one string. Each id is a slice of it, and keeps all of it alive. */
function makeSlabSource(batchBytes, write, randomFillSync) {
  const end = batchBytes / 16;
  const batch = new Uint32Array(batchBytes / 4);
  const bytes = Buffer.alloc(36 * end, '-');
  let text = '';
  let cursor = end;
  return () => {
    if (cursor === end) {
      randomFillSync(batch);
      for (let at = 0, to = 0; to < bytes.length; at += 4, to += 36) {
        const b = (batch[at + 1] & 0xffff0fff) | 0x4000;
        write(bytes, to, batch[at], b, (batch[at + 2] & 0x3fffffff) | 0x80000000, batch[at + 3]);
      }
      batch.fill(0);
      text = bytes.latin1Slice();
      cursor = 0;
    }
    const from = 36 * cursor;
    cursor++;
    return text.substring(from, from + 36);
  };
}

const strings = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const high = Uint8Array.from(strings, (pair) => pair.charCodeAt(0));
const low = Uint8Array.from(strings, (pair) => pair.charCodeAt(1));
const digits = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
const values = new Int8Array(128).fill(-1);
for (let value = 0; value < 16; value++) {
  values[digits[value]] = value;
  values[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}
let strings16;

function makeStrings(table) {
  return (a, b, c, d) =>
    table[a >>> 24] +
    table[(a >>> 16) & 255] +
    table[(a >>> 8) & 255] +
    table[a & 255] +
    '-' +
    table[b >>> 24] +
    table[(b >>> 16) & 255] +
    '-' +
    table[(b >>> 8) & 255] +
    table[b & 255] +
    '-' +
    table[c >>> 24] +
    table[(c >>> 16) & 255] +
    '-' +
    table[(c >>> 8) & 255] +
    table[c & 255] +
    table[d >>> 24] +
    table[(d >>> 16) & 255] +
    table[(d >>> 8) & 255] +
    table[d & 255];
}

function makeStrings16(table) {
  return (a, b, c, d) =>
    table[a >>> 16] +
    table[a & 0xffff] +
    '-' +
    table[b >>> 16] +
    '-' +
    table[b & 0xffff] +
    '-' +
    table[c >>> 16] +
    '-' +
    table[c & 0xffff] +
    table[d >>> 16] +
    table[d & 0xffff];
}

function makeWrite(first, second) {
  const pair = (bytes, to, byte) => {
    bytes[to] = first[byte];
    bytes[to + 1] = second[byte];
  };
  return (bytes, to, a, b, c, d) => {
    pair(bytes, to, a >>> 24);
    pair(bytes, to + 2, (a >>> 16) & 255);
    pair(bytes, to + 4, (a >>> 8) & 255);
    pair(bytes, to + 6, a & 255);
    pair(bytes, to + 9, b >>> 24);
    pair(bytes, to + 11, (b >>> 16) & 255);
    pair(bytes, to + 14, (b >>> 8) & 255);
    pair(bytes, to + 16, b & 255);
    pair(bytes, to + 19, c >>> 24);
    pair(bytes, to + 21, (c >>> 16) & 255);
    pair(bytes, to + 24, (c >>> 8) & 255);
    pair(bytes, to + 26, c & 255);
    pair(bytes, to + 28, d >>> 24);
    pair(bytes, to + 30, (d >>> 16) & 255);
    pair(bytes, to + 32, (d >>> 8) & 255);
    pair(bytes, to + 34, d & 255);
  };
}

function makeSliced(write) {
  const scratch = Buffer.alloc(36, '-');
  return (a, b, c, d) => {
    write(scratch, 0, a, b, c, d);
    return scratch.latin1Slice(0, 36);
  };
}

function makeCodes(first, second, fromCharCode) {
  // biome-ignore format: one line for each word
  return (a, b, c, d) => fromCharCode(
    first[a >>> 24], second[a >>> 24], first[(a >>> 16) & 255], second[(a >>> 16) & 255],
    first[(a >>> 8) & 255], second[(a >>> 8) & 255], first[a & 255], second[a & 255], 45,
    first[b >>> 24], second[b >>> 24], first[(b >>> 16) & 255], second[(b >>> 16) & 255], 45,
    first[(b >>> 8) & 255], second[(b >>> 8) & 255], first[b & 255], second[b & 255], 45,
    first[c >>> 24], second[c >>> 24], first[(c >>> 16) & 255], second[(c >>> 16) & 255], 45,
    first[(c >>> 8) & 255], second[(c >>> 8) & 255], first[c & 255], second[c & 255],
    first[d >>> 24], second[d >>> 24], first[(d >>> 16) & 255], second[(d >>> 16) & 255],
    first[(d >>> 8) & 255], second[(d >>> 8) & 255], first[d & 255], second[d & 255]
  );
}

function makeNibbleCodes(digit, fromCharCode) {
  // biome-ignore format: one line for each word
  return (a, b, c, d) => fromCharCode(
    digit[a >>> 28], digit[(a >>> 24) & 15], digit[(a >>> 20) & 15], digit[(a >>> 16) & 15],
    digit[(a >>> 12) & 15], digit[(a >>> 8) & 15], digit[(a >>> 4) & 15], digit[a & 15], 45,
    digit[b >>> 28], digit[(b >>> 24) & 15], digit[(b >>> 20) & 15], digit[(b >>> 16) & 15], 45,
    digit[(b >>> 12) & 15], digit[(b >>> 8) & 15], digit[(b >>> 4) & 15], digit[b & 15], 45,
    digit[c >>> 28], digit[(c >>> 24) & 15], digit[(c >>> 20) & 15], digit[(c >>> 16) & 15], 45,
    digit[(c >>> 12) & 15], digit[(c >>> 8) & 15], digit[(c >>> 4) & 15], digit[c & 15],
    digit[d >>> 28], digit[(d >>> 24) & 15], digit[(d >>> 20) & 15], digit[(d >>> 16) & 15],
    digit[(d >>> 12) & 15], digit[(d >>> 8) & 15], digit[(d >>> 4) & 15], digit[d & 15]
  );
}

const { fromCharCode } = String;

/** Each makes a function that formats four 32-bit words as a string. */
const FORMATS = {
  'fromCharCode, 256 bytes': () => fresh(makeCodes)(high, low, fromCharCode),
  'fromCharCode, 16 digits': () => fresh(makeNibbleCodes)(digits, fromCharCode),
  'byte strings': () => fresh(makeStrings)(strings),
  '16-bit strings': () => {
    strings16 ??= Array.from({ length: 65536 }, (_, pair) => pair.toString(16).padStart(4, '0'));
    return fresh(makeStrings16)(strings16);
  },
  'Buffer, latin1Slice': () => fresh(makeSliced)(fresh(makeWrite)(high, low))
};

function makeCharCodes(table, allocate) {
  const read = (string, at) => {
    const a = string.charCodeAt(at);
    const b = string.charCodeAt(at + 1);
    const c = string.charCodeAt(at + 2);
    const d = string.charCodeAt(at + 3);
    if ((a | b | c | d) > 0x7f) return -1;
    return (table[a] << 12) | (table[b] << 8) | (table[c] << 4) | table[d];
  };
  const from = [0, 4, 9, 14, 19, 24, 28, 32];
  return (string) => {
    if (string.length !== 36) throw new RangeError(string);
    if (string[8] !== '-' || string[13] !== '-' || string[18] !== '-' || string[23] !== '-') {
      throw new RangeError(string);
    }
    const bytes = allocate(16);
    for (let i = 0; i < 8; i++) {
      const value = read(string, from[i]);
      if (value < 0) throw new RangeError(string);
      bytes[2 * i] = value >>> 8;
      bytes[2 * i + 1] = value;
    }
    return bytes;
  };
}

function makeRegExpHex(pattern) {
  return (string) => {
    if (!pattern.test(string)) throw new RangeError(string);
    return Buffer.from(string.replaceAll('-', ''), 'hex');
  };
}

function makeScratch(table, allocate) {
  const scratch = Buffer.alloc(128);
  const from = [0, 4, 9, 14, 19, 24, 28, 32];
  return (string) => {
    // A character that is not ASCII has more than one byte in UTF-8.
    if (string.length !== 36 || scratch.utf8Write(string, 0) !== 36) throw new RangeError(string);
    if (scratch[8] !== 45 || scratch[13] !== 45 || scratch[18] !== 45 || scratch[23] !== 45) {
      throw new RangeError(string);
    }
    const bytes = allocate(16);
    for (let i = 0; i < 8; i++) {
      const at = from[i];
      const value =
        (table[scratch[at]] << 12) |
        (table[scratch[at + 1]] << 8) |
        (table[scratch[at + 2]] << 4) |
        table[scratch[at + 3]];
      if (value < 0) throw new RangeError(string);
      bytes[2 * i] = value >>> 8;
      bytes[2 * i + 1] = value;
    }
    return bytes;
  };
}

const PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Each makes a function that parses a string into 16 bytes. */
const PARSES = {
  'character codes, allocUnsafeSlow': () => fresh(makeCharCodes)(values, Buffer.allocUnsafeSlow),
  'character codes, allocUnsafe': () => fresh(makeCharCodes)(values, Buffer.allocUnsafe),
  'character codes, alloc': () => fresh(makeCharCodes)(values, Buffer.alloc),
  'utf8Write, allocUnsafeSlow': () => fresh(makeScratch)(values, Buffer.allocUnsafeSlow),
  'regular expression, hex': () => fresh(makeRegExpHex)(PATTERN)
};

/**
 * @param {number} batchBytes the entropy that is taken at once
 * @param {(a: number, b: number, c: number, d: number) => string} format made by one of FORMATS
 * @returns {() => string}
 */
function createSource(batchBytes, format) {
  return fresh(makeSource)(batchBytes, format, randomFillSync);
}

/**
 * @param {number} batchBytes
 * @returns {() => string}
 */
function createSlabSource(batchBytes) {
  return fresh(makeSlabSource)(batchBytes, fresh(makeWrite)(high, low), randomFillSync);
}

module.exports = { FORMATS, PARSES, createSlabSource, createSource };
