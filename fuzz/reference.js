'use strict';

// RFC 6455 once more, for the fuzzers to compare with: one byte at a time, as simple as possible,
// and without any code of lib/. It is slow, allocates freely and trusts its caller.

/**
 * @typedef {object} Frame
 * @property {number} firstByte
 * @property {Buffer} payload unmasked
 * @property {number} end the index in the stream of the byte after the frame
 *
 * @typedef {object} Event
 * @property {'text' | 'binary' | 'ping' | 'pong' | 'close'} kind
 * @property {Buffer} data the message, the payload, or the reason of a Close frame
 * @property {number} code of a Close frame, 1005 if there is none; 0 for other kinds
 * @property {boolean} rsv1
 * @property {number} frame the index of the frame that completes it
 * @property {number} fragments the number of frames of a message; 1 for other kinds
 */
class ReferenceDecoder {
  /** @type {Frame[]} */
  frames = [];
  /** @type {Event[]} */
  events = [];
  /** The name of the first error, '' if there is none; `closeCode` goes with it. */
  error = '';
  closeCode = 0;
  /** Whether an error or a Close frame has ended the stream. */
  ended = false;
  /** How many bytes of the stream were read. */
  position = 0;
  /** The frame that is not complete: its header, length and payload, null before it. */
  header = [];
  length = 0n;
  payload = null;
  /** The message that is not complete. */
  message = null;

  /**
   * @param {object} options
   * @param {'server' | 'client'} options.role
   * @param {boolean} [options.rsv1] whether an extension uses RSV1
   * @param {number} [options.maxPayload] bytes of a message
   * @param {number} [options.maxText] bytes of a text message without RSV1, if fewer
   * @param {number} [options.maxFragments] frames of a message
   * @param {boolean} [options.skipUTF8Validation] of messages
   */
  constructor({ role, rsv1 = false, maxPayload = Infinity, maxText = maxPayload, maxFragments = Infinity, ...more }) {
    this.masked = role === 'server';
    this.rsv1 = rsv1;
    this.maxPayload = maxPayload;
    this.maxText = Math.min(maxText, maxPayload);
    this.maxFragments = maxFragments;
    this.skipsUtf8 = more.skipUTF8Validation;
  }

  /** @param {Uint8Array} bytes */
  write(bytes) {
    for (let i = 0; i < bytes.length && !this.ended; i++) {
      this.position++;
      if (this.payload === null) this.readHeader(bytes[i]);
      else this.readPayload(bytes[i]);
    }
  }

  fail(error, closeCode) {
    this.ended = true;
    this.error = error;
    this.closeCode = closeCode;
  }

  // Section 5.2.
  readHeader(byte) {
    const { header } = this;
    header.push(byte);
    const opcode = header[0] & 15;
    const control = opcode >= 8;
    if (header.length === 1) {
      const rsv1 = this.rsv1 && (opcode === 1 || opcode === 2);
      if ((byte & 0x30) !== 0 || ((byte & 0x40) !== 0 && !rsv1)) this.fail('RESERVED_BITS', 1002);
      // Section 5.5: "All control frames ... MUST NOT be fragmented."
      else if (opcode >= 8 && opcode <= 10 && byte < 128) this.fail('CONTROL_FRAGMENTED', 1002);
      else if ((opcode >= 3 && opcode <= 7) || opcode >= 11) this.fail('OPCODE', 1002);
      return;
    }
    if (header.length === 2) {
      if (byte >= 128 !== this.masked) this.fail(this.masked ? 'MASK_MISSING' : 'MASK_UNWANTED', 1002);
      else if (control && (byte & 127) > 125) this.fail('CONTROL_LENGTH', 1002);
    }
    if (this.ended) return;
    const short = header[1] & 127;
    const lengthEnd = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (header.length === lengthEnd) {
      this.length = lengthEnd === 2 ? BigInt(short) : 0n;
      for (let i = 2; i < lengthEnd; i++) this.length = this.length * 256n + BigInt(header[i]);
      this.checkLength(lengthEnd);
    }
    if (this.ended || header.length < lengthEnd + (this.masked ? 4 : 0)) return;
    this.key = this.masked ? header.slice(lengthEnd) : [0, 0, 0, 0];
    this.beginPayload();
  }

  checkLength(lengthEnd) {
    // "The most significant bit MUST be 0."
    if (this.length >= 2n ** 63n) this.fail('LENGTH', 1002);
    else if (this.length >= 2n ** 53n) this.fail(this.misplaced() || 'MESSAGE_TOO_BIG', this.misplaced() ? 1002 : 1009);
    // "The minimal number of bytes MUST be used to encode the length."
    else if ((lengthEnd === 4 && this.length < 126n) || (lengthEnd === 10 && this.length < 65536n)) {
      this.fail('LENGTH_NOT_MINIMAL', 1002);
    }
  }

  // Section 5.4.
  misplaced() {
    const opcode = this.header[0] & 15;
    if (opcode === 0 && this.message === null) return 'CONTINUATION';
    if ((opcode === 1 || opcode === 2) && this.message !== null) return 'INTERLEAVED';
    return '';
  }

  beginPayload() {
    const [firstByte] = this.header;
    if ((firstByte & 15) < 8) {
      if (this.misplaced() !== '') return this.fail(this.misplaced(), 1002);
      const isText = (firstByte & 0x4f) === 1 && !this.skipsUtf8;
      this.message ??= { firstByte, payloads: [], length: 0n, isText, utf8: new Utf8() };
      const { message } = this;
      message.length += this.length;
      if (message.length > (message.isText ? this.maxText : this.maxPayload)) return this.fail('MESSAGE_TOO_BIG', 1009);
      if (message.payloads.length >= this.maxFragments) return this.fail('TOO_MANY_FRAGMENTS', 1008);
    }
    this.payload = [];
    if (this.length === 0n) this.endFrame();
  }

  readPayload(byte) {
    const { header, key, message, payload } = this;
    const unmasked = byte ^ key[payload.length % 4];
    payload.push(unmasked);
    if ((header[0] & 15) < 8 && message.isText && !message.utf8.accepts(unmasked)) this.fail('UTF8', 1007);
    else if (payload.length === Number(this.length)) this.endFrame();
  }

  endFrame() {
    const [firstByte] = this.header;
    const payload = Buffer.from(this.payload);
    this.frames.push({ firstByte, payload, end: this.position });
    this.header = [];
    this.payload = null;
    const opcode = firstByte & 15;
    if (opcode < 8) this.message.payloads.push(payload);
    if (opcode === 8) this.endClose(payload);
    else if (opcode === 9) this.emit('ping', payload);
    else if (opcode === 10) this.emit('pong', payload);
    else if (firstByte >= 128) this.endMessage();
  }

  endMessage() {
    const { firstByte, payloads, isText, utf8 } = this.message;
    if (isText && !utf8.complete) return this.fail('UTF8', 1007);
    this.message = null;
    const kind = (firstByte & 15) === 1 ? 'text' : 'binary';
    this.emit(kind, Buffer.concat(payloads), { rsv1: (firstByte & 0x40) !== 0, fragments: payloads.length });
  }

  // Section 5.5.1.
  endClose(payload) {
    const code = payload.length < 2 ? 1005 : payload[0] * 256 + payload[1];
    const reason = payload.subarray(2);
    const utf8 = new Utf8();
    if (payload.length === 1) this.fail('CLOSE_LENGTH', 1002);
    else if (payload.length > 1 && !maySend(code)) this.fail('CLOSE_CODE', 1002);
    else if (![...reason].every((byte) => utf8.accepts(byte)) || !utf8.complete) this.fail('UTF8', 1007);
    if (this.ended) return;
    this.ended = true;
    this.emit('close', reason, { code });
  }

  emit(kind, data, more) {
    this.events.push({ kind, data, code: 0, rsv1: false, frame: this.frames.length - 1, fragments: 1, ...more });
  }
}

/** Section 7.4, and the codes that IANA has registered since: 1012 to 1014. */
function maySend(code) {
  if (code >= 3000 && code <= 4999) return true;
  return [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014].includes(code);
}

/** The tail of a character (RFC 3629 section 4), by its first byte: the ranges of its bytes. */
const TAIL = [0x80, 0xbf];
const TAILS = [
  [0x00, 0x7f, []],
  [0xc2, 0xdf, [TAIL]],
  [0xe0, 0xe0, [[0xa0, 0xbf], TAIL]],
  [0xed, 0xed, [[0x80, 0x9f], TAIL]],
  [0xe1, 0xef, [TAIL, TAIL]],
  [0xf0, 0xf0, [[0x90, 0xbf], TAIL, TAIL]],
  [0xf1, 0xf3, [TAIL, TAIL, TAIL]],
  [0xf4, 0xf4, [[0x80, 0x8f], TAIL, TAIL]]
];

/** Refuses the first byte that can't belong to a character. */
class Utf8 {
  /** The ranges of the bytes to come of a character. */
  expected = [];

  get complete() {
    return this.expected.length === 0;
  }

  /** @param {number} byte @returns {boolean} */
  accepts(byte) {
    if (this.complete) {
      const tail = TAILS.find(([from, to]) => byte >= from && byte <= to)?.[2];
      this.expected = tail ?? [];
      return tail !== undefined;
    }
    const [[from, to], ...rest] = this.expected;
    this.expected = rest;
    return byte >= from && byte <= to;
  }
}

module.exports = { ReferenceDecoder };
