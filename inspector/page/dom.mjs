// Elements. All that comes from elsewhere becomes text: payloads are hostile.

/** @returns {HTMLElement} the element of this id, which the page has */
export const byId = (id) => document.getElementById(id);

/** Makes an element; `text` becomes its content. Children that are null are left out. */
export function element(tag, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  if (text !== undefined) made.textContent = text;
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** Shows a text in an element, or hides the element if there is none. */
export function showText(id, text) {
  byId(id).textContent = text;
  byId(id).hidden = text === '';
}

/** @returns {string} such as `1,000` */
export const formatNumber = (number) => number.toLocaleString('en');

/** @returns {string} such as `1 frame`, or `1,000 frames` */
export const count = (number, word) => `${formatNumber(number)} ${word}${number === 1 ? '' : 's'}`;

/** @returns {Uint8Array} the bytes of a text in base64 */
export const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** Has the browser save a Blob as a file. */
export function save(blob, name) {
  const link = element('a', { href: URL.createObjectURL(blob), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

const hex = (byte) => byte.toString(16).padStart(2, '0');

/** @returns {string} lines of an offset, `width` bytes in hex, and the same as ASCII */
export function hexDump(bytes, width = 16) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += width) {
    const line = [...bytes.subarray(at, at + width)];
    const ascii = String.fromCharCode(...line).replace(/[^ -~]/g, '.');
    const digits = line
      .map(hex)
      .join(' ')
      .padEnd(3 * width - 1);
    lines.push(`${at.toString(16).padStart(4, '0')}  ${digits}  ${ascii}`);
  }
  return lines.join('\n');
}

/** Invisible characters, and those that change the direction of text; not line ends and tabs. */
const HIDDEN = /(?![\n\t\r])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Replaces characters that would hide something by their codes. */
export function visible(text) {
  return text.replace(HIDDEN, (character) => {
    const code = character.codePointAt(0);
    return code < 256 ? `\\x${hex(code)}` : `\\u{${code.toString(16)}}`;
  });
}

export const OPCODES = { 0: 'continuation', 1: 'text', 2: 'binary', 8: 'close', 9: 'ping', 10: 'pong' };

/** @returns {string} such as `text`, or `reserved 3`; -1 is unknown */
export const opcodeName = (opcode) => ({ ...OPCODES, [-1]: 'unknown' })[opcode] ?? `reserved ${opcode}`;
