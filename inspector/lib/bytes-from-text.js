'use strict';

// Bytes that somebody has pasted as text: hex in the ways in which tools print it, or base64.

/** A line of `hexdump -C`, xxd or Wireshark: an offset, bytes, and the same as text. */
const DUMP_LINE =
  /^\s*[\da-f]{4,8}:?\s{1,3}((?:[\da-f]{2}\s?){1,16}(?:\s{1,2}(?:[\da-f]{2}\s?){1,8})?)(?:\s{2}.*|\|.*)?$/i;
const SENDER = /^\s*(?:(client|server|[CS])\s*:|([<>]))\s*/;

/** A character that is none of hex, with those between the digits. */
const NOT_HEX = /[^\da-fx\\\s,:;"'[\](){}]|(?<![0\\])x|\\(?!x)/i;
/** A character that is none of base64, before the `=` at its end. */
const NOT_BASE64 = /[^A-Za-z\d+/_\-\s]/;

/** @returns {number} the index of the first character that is not base64, or -1 */
function findNotBase64(text) {
  // A pattern that looks ahead from each `=` takes quadratic time.
  let end = text.length;
  while (/[=\s]/.test(text[end - 1] ?? '')) end--;
  return text.slice(0, end).search(NOT_BASE64);
}

/** Whether hex was meant: bytes stand in groups, or nearly all characters are hex digits. */
function looksLikeHex(text) {
  const characters = text.replace(/\s/g, '');
  const digits = characters.replace(/[^\da-f]/gi, '').length;
  return (characters.length >= 8 && digits >= characters.length * 0.85) || /^\s*[\da-f]{2}[ \t,:;]/i.test(text);
}

/** @returns {string | null} the hex digits of the lines of a dump */
function dumpDigits(text) {
  // An offset in front of each line, the first of them 0, makes it a dump.
  if (!/^\s*(?:0{8}:?|0{4}[:\s])\s{1,2}[\da-f]{2}/i.test(text)) return null;
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !/^\s*[\da-f]{4,8}:?\s*$/i.test(line));
  const digits = lines.map((line) => DUMP_LINE.exec(line)?.[1].replace(/\s/g, ''));
  return digits.includes(undefined) ? null : digits.join('');
}

/** Reads the part of a text between two indexes. */
function bytesOf(whole, format = 'auto', start = 0, end = whole.length) {
  const text = whole.slice(start, end);
  const digits = format === 'base64' ? null : (dumpDigits(text) ?? (NOT_HEX.test(text) ? null : hexDigits(text)));
  if (digits !== null) {
    if (digits.length % 2 === 0) return Buffer.from(digits, 'hex');
    throw errorAt(whole, start + text.trimEnd().length, 'The hex has an odd number of digits');
  }
  const isHex = format === 'hex' || (format === 'auto' && looksLikeHex(text));
  const [hex, base64] = [text.search(NOT_HEX), findNotBase64(text)];
  if (isHex) throw errorAt(whole, start + hex, 'This is not hex');
  if (base64 === -1) {
    const characters = text.replace(/[\s=]/g, '');
    // Buffer takes both alphabets of base64.
    if (characters.length % 4 !== 1) return Buffer.from(characters, 'base64');
    throw new Error('This is not base64: a character is missing at its end');
  }
  if (format === 'base64') throw errorAt(whole, start + base64, 'This is not base64');
  throw errorAt(whole, start + Math.max(hex, base64), 'This is neither hex nor base64');
}

const hexDigits = (text) => text.replace(/0x|\\x|[^\da-f]/gi, '');

/** @returns {Error} that points to a character */
function errorAt(text, at, fault) {
  const before = text.slice(0, at).split('\n');
  const line = text.split('\n')[before.length - 1];
  const column = before.at(-1).length;
  const first = Math.max(column - 30, 0);
  const pointer = `${line.slice(first, column + 30)}\n${' '.repeat(column - first)}^`;
  const message = `${fault}: line ${before.length}, character ${column + 1}\n${pointer}`;
  return Object.assign(new Error(message), { at });
}

/**
 * Reads what both ends have sent: a line that begins with `client:` or `server:` (or `>`, `<`) and
 * those after it are that end's. Without such lines all is one end's, which is not known.
 * @param {'auto' | 'hex' | 'base64'} [format] `auto` takes for hex what can be hex
 * @throws {Error} if it is neither hex nor base64; `at` is the index of the character that is not
 */
function streamsFromText(text, format) {
  const parts = [];
  let at = 0;
  for (const line of text.split('\n')) {
    const [beginning, word, arrow] = SENDER.exec(line) ?? [''];
    if (beginning !== '' || parts.length === 0) {
      const client = ['client', 'C', '>'].includes(word ?? arrow) ? 'client' : 'server';
      parts.push({ from: beginning === '' ? null : client, start: at + beginning.length, end: 0 });
    }
    at += line.length + 1;
    parts.at(-1).end = at - 1;
  }
  return parts
    .map(({ from, start, end }) => ({ from, bytes: bytesOf(text, format, start, end) }))
    .filter(({ bytes }) => bytes.length > 0);
}

module.exports = { streamsFromText };
