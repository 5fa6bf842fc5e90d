'use strict';

// RFC 6455 once more, for the fuzzers to compare with: one byte at a time, as simple as possible,
// and without any code of lib/. It is slow, allocates freely and trusts its caller.

/**
 * @typedef {object} Frame
 * @property {number} firstByte
 * @property {Buffer} payload unmasked
 * @property {number} end the index in the stream of the byte behind the frame
 *
 * @typedef {object} Event
 * @property {'text' | 'binary' | 'ping' | 'pong' | 'close'} kind
 * @property {Buffer} data the message, the payload, or the reason of a Close frame
 * @property {number} code of a Close frame, 1005 if there is none; 0 for other kinds
 * @property {boolean} rsv1
 * @property {number} frame the index of the frame that completes it
 * @property {number} fragments the number of frames of a message; 1 for other kinds
 *
 * @typedef {object} Options
 * @property {'server' | 'client'} role
 * @property {boolean} [rsv1] whether an extension uses RSV1
 * @property {number} [maxPayload] bytes of a message
 * @property {number} [maxText] bytes of a text message without RSV1, if fewer
 * @property {number} [maxFragments] frames of a message
 */

class ReferenceDecoder {
  /** @param {Options} options */
  constructor({ role, rsv1 = false, maxPayload = Infinity, maxText = maxPayload, maxFragments = Infinity }) {
    this.masked = role === 'server';
    this.rsv1 = rsv1;
    this.maxPayload = maxPayload;
    this.maxText = Math.min(maxText, maxPayload);
    this.maxFragments = maxFragments;
    /** @type {Frame[]} */
    this.frames = [];
    /** @type {Event[]} */
    this.events = [];
    /** The name of the first error, '' if there is none; `closeCode` goes with it. */
    this.error = '';
    this.closeCode = 0;
    /** Whether an error or a Close frame has ended the stream. */
    this.ended = false;
    /** Bytes of the stream that were read, and of the frame that is not complete. */
    this.position = 0;
    this.header = [];
    this.length = 0n;
    this.payload = null;
    this.message = null;
  }

  /** @param {Uint8Array} bytes */
  write(bytes) {
    for (const byte of bytes) {
      if (this.ended) return;
      this.position++;
      if (this.payload === null) this.readHeader(byte);
      else this.readPayload(byte);
    }
  }

  /** Whether the stream may end here: no frame and no message is incomplete. */
  get complete() {
    return this.header.length === 0 && this.payload === null && this.message === null;
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
    const [first] = this.header;
    const opcode = first & 15;
    if (opcode < 8) {
      if (this.misplaced() !== '') {
        this.fail(this.misplaced(), 1002);
        return;
      }
      const { firstByte, bytes, fragments } = this.message ?? { firstByte: first, bytes: [], fragments: 0 };
      const isText = (firstByte & 0x4f) === 1;
      if (BigInt(bytes.length) + this.length > (isText ? this.maxText : this.maxPayload)) {
        this.fail('MESSAGE_TOO_BIG', 1009);
        return;
      }
      if (fragments + 1 > this.maxFragments) {
        this.fail('TOO_MANY_FRAGMENTS', 1008);
        return;
      }
      this.message = { firstByte, bytes, fragments: fragments + 1, isText, utf8: this.message?.utf8 ?? new Utf8() };
    }
    this.payload = [];
    if (this.length === 0n) this.endFrame();
  }

  readPayload(byte) {
    const unmasked = byte ^ this.key[this.payload.length % 4];
    this.payload.push(unmasked);
    if ((this.header[0] & 15) < 8) {
      this.message.bytes.push(unmasked);
      if (this.message.isText && !this.message.utf8.accepts(unmasked)) {
        this.fail('UTF8', 1007);
        return;
      }
    }
    if (BigInt(this.payload.length) === this.length) this.endFrame();
  }

  endFrame() {
    const [firstByte] = this.header;
    const payload = Buffer.from(this.payload);
    this.frames.push({ firstByte, payload, end: this.position });
    this.header = [];
    this.payload = null;
    const opcode = firstByte & 15;
    if (opcode === 8) this.endClose(payload);
    else if (opcode === 9) this.emit('ping', payload);
    else if (opcode === 10) this.emit('pong', payload);
    else if (firstByte >= 128) this.endMessage();
  }

  endMessage() {
    const { firstByte, bytes, fragments, isText, utf8 } = this.message;
    if (isText && !utf8.complete) {
      this.fail('UTF8', 1007);
      return;
    }
    this.message = null;
    const kind = (firstByte & 15) === 1 ? 'text' : 'binary';
    this.emit(kind, Buffer.from(bytes), { rsv1: (firstByte & 0x40) !== 0, fragments });
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

/**
 * The grammar of RFC 3629 section 4, which refuses the first byte that can't belong to a character.
 */
class Utf8 {
  constructor() {
    /** The ranges that the bytes to come of a character must be in. */
    this.expected = [];
  }

  get complete() {
    return this.expected.length === 0;
  }

  /** @param {number} byte @returns {boolean} */
  accepts(byte) {
    if (this.expected.length > 0) {
      const [from, to] = this.expected.shift();
      return byte >= from && byte <= to;
    }
    const tail = [0x80, 0xbf];
    if (byte < 0x80) return true;
    if (byte >= 0xc2 && byte <= 0xdf) this.expected = [tail];
    else if (byte === 0xe0) this.expected = [[0xa0, 0xbf], tail];
    else if (byte === 0xed) this.expected = [[0x80, 0x9f], tail];
    else if (byte >= 0xe1 && byte <= 0xef) this.expected = [tail, tail];
    else if (byte === 0xf0) this.expected = [[0x90, 0xbf], tail, tail];
    else if (byte >= 0xf1 && byte <= 0xf3) this.expected = [tail, tail, tail];
    else if (byte === 0xf4) this.expected = [[0x80, 0x8f], tail, tail];
    else return false;
    return true;
  }
}

module.exports = { ReferenceDecoder };
