'use strict';

// Bytes that somebody has pasted as text: hex in the ways in which tools print it, or base64.

/** A line of `hexdump -C`, xxd or Wireshark: an offset, bytes, and the same as text. */
const DUMP_LINE =
  /^\s*[\da-f]{4,8}:?\s{1,3}((?:[\da-f]{2}\s?){1,16}(?:\s{1,2}(?:[\da-f]{2}\s?){1,8})?)(?:\s{2}.*|\|.*)?$/i;
const SENDER = /^\s*(?:(client|server|[CS])\s*:|([<>]))\s*/;

/** Hex digits, and characters between them. */
const HEX = /0x|\\x|[\da-f\s,:;"'[\](){}]/giy;
const BASE64 = /[A-Za-z\d+/_\-\s]|=(?=[=\s]*$)/gy;

/** @returns {number} the index of the first character that is none of a format; -1 if there is none */
function firstOther(text, pattern) {
  pattern.lastIndex = 0;
  let at = 0;
  while (pattern.test(text)) at = pattern.lastIndex;
  return at === text.length ? -1 : at;
}

/** A text, or the part of one that names its sender. */
class Part {
  constructor(whole, start = 0, end = whole.length) {
    this.text = whole.slice(start, end);
    this._whole = whole;
    this._start = start;
  }

  /** @returns {Error} that points to a character */
  errorAt(at, fault) {
    return errorAt(this._whole, this._start + at, fault);
  }
}

function errorAt(text, at, fault) {
  const before = text.slice(0, at).split('\n');
  const line = text.split('\n')[before.length - 1];
  const column = before.at(-1).length;
  const [first, last] = [Math.max(column - 30, 0), column + 30];
  const pointer = `${line.slice(first, last)}\n${' '.repeat(column - first)}^`;
  const message = `${fault}: line ${before.length}, character ${column + 1}\n${pointer}`;
  return Object.assign(new Error(message), { at });
}

/** @returns {string | null} its hex digits; null if there is anything else in the text */
function hexDigits(text) {
  return firstOther(text, HEX) === -1 ? text.replace(/0x|\\x|[^\da-f]/gi, '') : null;
}

/** Whether bytes in hex were meant: they stand in groups, or nearly all characters are hex digits. */
function looksLikeHex(text) {
  const characters = text.replace(/\s/g, '');
  const digits = characters.replace(/[^\da-f]/gi, '').length;
  return (characters.length >= 8 && digits >= characters.length * 0.85) || /^\s*[\da-f]{2}[ \t,:;]/i.test(text);
}

/** @returns {string | null} the hex digits of the lines of a dump */
function dumpDigits(text) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !/^\s*[\da-f]{4,8}:?\s*$/i.test(line));
  let digits = '';
  for (const line of lines) {
    const match = DUMP_LINE.exec(line);
    if (match === null) return null;
    digits += match[1].replace(/\s/g, '');
  }
  return digits;
}

function fromHex(part) {
  const { text } = part;
  // An offset in front of each line, the first of them 0, makes it a dump.
  const isDump = /^\s*(?:0{8}:?|0{4}[:\s])\s{1,2}[\da-f]{2}/i.test(text);
  const digits = (isDump ? dumpDigits(text) : null) ?? hexDigits(text);
  if (digits === null) return null;
  if (digits.length % 2 === 1) throw part.errorAt(text.trimEnd().length, 'The hex has an odd number of digits');
  return Buffer.from(digits, 'hex');
}

function fromBase64(text) {
  const digits = text.replace(/\s/g, '').replaceAll('-', '+').replaceAll('_', '/');
  if (!/^[A-Za-z\d+/]*={0,2}$/.test(digits) || digits.replace(/=+$/, '').length % 4 === 1) return null;
  return Buffer.from(digits, 'base64');
}

/**
 * @param {string} text
 * @param {'auto' | 'hex' | 'base64'} [format] `auto` takes for hex what can be hex
 * @returns {Buffer}
 * @throws {Error} if it is neither; `at` is the index of the character that is not
 */
function bytesFromText(text, format) {
  return bytesOf(new Part(text), format);
}

function bytesOf(part, format = 'auto') {
  const { text } = part;
  const isHex = format === 'hex' || (format === 'auto' && looksLikeHex(text));
  const bytes = (format === 'base64' ? null : fromHex(part)) ?? (isHex ? null : fromBase64(text));
  if (bytes !== null) return bytes;
  const hex = firstOther(text, HEX);
  const base64 = firstOther(text, BASE64);
  if (isHex) throw part.errorAt(hex, 'This is not hex');
  if (base64 === -1) throw new Error('This is not base64: a character is missing at its end');
  if (format === 'base64') throw part.errorAt(base64, 'This is not base64');
  throw part.errorAt(Math.max(hex, base64), 'This is neither hex nor base64');
}

/**
 * Reads what both ends have sent: a line that begins with `client:` or `server:` (or `>`, `<`) and
 * those after it are that end's. Without such lines all is one end's, which is not known.
 *
 * @param {string} text
 * @param {'auto' | 'hex' | 'base64'} [format]
 * @returns {{ from: 'client' | 'server' | null, bytes: Buffer }[]}
 * @throws {Error} if it is neither hex nor base64
 */
function streamsFromText(text, format) {
  const parts = [];
  let at = 0;
  for (const line of text.split('\n')) {
    const sender = SENDER.exec(line);
    if (sender !== null || parts.length === 0) {
      const word = sender?.[1] ?? sender?.[2];
      const from = sender === null ? null : ['client', 'C', '>'].includes(word) ? 'client' : 'server';
      parts.push({ from, start: at + (sender?.[0].length ?? 0), end: 0 });
    }
    at += line.length + 1;
    parts.at(-1).end = at - 1;
  }
  return parts
    .map(({ from, start, end }) => ({ from, bytes: bytesOf(new Part(text, start, end), format) }))
    .filter(({ bytes }) => bytes.length > 0);
}

module.exports = { bytesFromText, streamsFromText };
