'use strict';

// Bytes that somebody has pasted as text: hex in the ways in which tools print it, or base64.

/** A line of `hexdump -C`, xxd or Wireshark: an offset, bytes, and the same as text. */
const DUMP_LINE =
  /^\s*[\da-f]{4,8}:?\s{1,2}((?:[\da-f]{2}\s?){1,16}(?:\s{1,2}(?:[\da-f]{2}\s?){1,8})?)(?:\s{2}.*|\|.*)?$/i;
const SENDER = /^\s*(?:(client|server|[CS])\s*:|([<>]))\s*/;

/** @returns {string} its hex digits; null if there is anything else in the text */
function hexDigits(text) {
  const digits = text.replace(/(?:0x|\\x)/gi, '').replace(/[\s,:;"'[\](){}]/g, '');
  return /^[\da-f]*$/i.test(digits) ? digits : null;
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

function fromHex(text) {
  // An offset in front of each line makes it a dump: as bare hex, it would have too many digits.
  const isDump = /^\s*[\da-f]{8}:?\s{1,2}[\da-f]{2}/i.test(text);
  const digits = (isDump ? dumpDigits(text) : null) ?? hexDigits(text);
  if (digits === null) return null;
  if (digits.length % 2 === 1) throw new Error('The hex has an odd number of digits');
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
 * @throws {Error} if it is neither
 */
function bytesFromText(text, format = 'auto') {
  const bytes = (format === 'base64' ? null : fromHex(text)) ?? (format === 'hex' ? null : fromBase64(text));
  if (bytes === null) throw new Error(format === 'auto' ? 'This is neither hex nor base64' : `This is not ${format}`);
  return bytes;
}

/**
 * Reads what both ends have sent: a line that begins with `client:` or `server:` (or `>`, `<`) and
 * those behind it are that end's. Without such lines all is one end's, which is not known.
 *
 * @param {string} text
 * @param {'auto' | 'hex' | 'base64'} [format]
 * @returns {{ from: 'client' | 'server' | null, bytes: Buffer }[]}
 * @throws {Error} if it is neither hex nor base64
 */
function streamsFromText(text, format) {
  const parts = [];
  for (const line of text.split(/\r?\n/)) {
    const sender = SENDER.exec(line);
    if (sender !== null) {
      const from = ['client', 'C', '>'].includes(sender[1] ?? sender[2]) ? 'client' : 'server';
      parts.push({ from, lines: [line.slice(sender[0].length)] });
    } else if (parts.length === 0) {
      parts.push({ from: null, lines: [line] });
    } else {
      parts.at(-1).lines.push(line);
    }
  }
  return parts
    .map(({ from, lines }) => ({ from, bytes: bytesFromText(lines.join('\n'), format) }))
    .filter(({ bytes }) => bytes.length > 0);
}

module.exports = { bytesFromText, streamsFromText };
