'use strict';

const { Buffer, EMPTY, toBytes } = require('../shared/buffers');
const { codecBackend } = require('./backend');
const { invalidState, invalidType, outOfRange } = require('../shared/errors');
const { FrameWriter, SLAB_SIZE } = require('./frame-writer');
const { headerSize, writeHeader } = require('./header');
const { checkOptions, choice, flag, name } = require('./options');
const { PreparedMessage } = require('./prepared');
const {
  FIN,
  MAX_HEADER,
  MAX_SHORT,
  MODE_MASKED,
  OPCODE,
  Opcode,
  RSV1,
  isSendableCloseCode
} = require('../shared/protocol');
const { isTraced, traceFrame, traceMessage } = require('../tracing');

/** A string of so many characters or fewer is written into the slab before its length in bytes is known. */
const SHORT_STRING = 4096;
/** Payloads of so many bytes and more are not copied, where nothing forces it: from there on a second entry in writev
 * costs less than the copy. */
const REFERENCE_FROM = 16 * 1024;
/** Payloads of so many bytes and more get memory of their own, where they must be copied and the slab is not used again. */
const OWN_FROM = 32 * 1024;
/** A prepared message smaller than this is copied behind the frames that have collected, if there are any: ten of 64 bytes
 * then leave in two pieces, not ten, and cost 1.2 times what the write alone does, not 1.45. */
const PREPARED_COPY_BELOW = 1024;

/**
 * RFC 6455 from messages to bytes. Frames collect, header and payload in one piece of memory, until `flush` sends them in
 * one write. index.d.ts says what each option is, README.md shows the ways of use.
 *
 * The methods that take a frame return whether they took it: nothing may follow a Close frame (RFC 6455 section 5.5.1), so
 * they return false from then on. They don't change the caller's data, and from REFERENCE_FROM bytes on a server's side
 * does not copy it either: it must stay as it is until it has been sent.
 */
class Encoder extends FrameWriter {
  /**
   * @param {object} options
   * @throws {TypeError} if an option is not acceptable
   */
  constructor(options) {
    const { writable = null } = checkOptions(options);
    if (writable !== null && typeof writable.write !== 'function') {
      throw invalidType('options.writable', 'a writable stream', writable);
    }
    super(flag(options, 'recycle', false), writable);
    this._mode = choice(options, 'role', ['server', 'client']) === 'client' ? MODE_MASKED : 0;
    this._connectionId = name(options, 'connectionId');
    this._closed = false;
    this._fragmented = false;
    // For tracing: how many frames have been sent, and what of the message at hand.
    this._sequence = 0;
    this._message = 0;
    this._fragments = 0;
    this._length = 0;
  }

  /** Whether a Close frame has been taken: no frame is from then on. */
  get closed() {
    return this._closed;
  }

  /**
   * A text message, or with `fin: false` its first fragment.
   *
   * @param {string | Uint8Array} data a string, or bytes that are UTF-8 (which is not checked)
   * @param {{ fin?: boolean, rsv1?: boolean, owned?: boolean }} [options]
   * @returns {boolean} whether it was taken: false after `close`
   * @throws {TypeError} if the data is neither
   * @throws {Error} if a fragmented message has not ended
   */
  text(data, options) {
    return this._dataFrame(Opcode.TEXT, data, options);
  }

  /**
   * A binary message, or with `fin: false` its first fragment.
   *
   * @param {Uint8Array | ArrayBufferView | ArrayBuffer | SharedArrayBuffer} data
   * @param {{ fin?: boolean, rsv1?: boolean, owned?: boolean }} [options]
   * @returns {boolean} whether it was taken: false after `close`
   * @throws {TypeError} if the data is none of these
   * @throws {Error} if a fragmented message has not ended
   */
  binary(data, options) {
    if (typeof data === 'string') throw invalidType('data', 'bytes', data);
    return this._dataFrame(Opcode.BINARY, data, options);
  }

  /**
   * A further fragment of a message (RFC 6455 section 5.4), the last one unless `fin: false`.
   *
   * @param {string | Uint8Array | ArrayBufferView | ArrayBuffer | SharedArrayBuffer} data
   * @param {{ fin?: boolean, owned?: boolean }} [options]
   * @returns {boolean} whether it was taken: false after `close`
   * @throws {TypeError} if the data is none of these
   * @throws {Error} if there is no message to continue
   */
  continuation(data, options) {
    if (this._closed) return false;
    if (!this._fragmented) throw invalidState('There is no fragmented message to continue');
    const fin = options?.fin ?? true;
    this._frame(fin ? FIN : 0, data, options?.owned ?? false);
    this._fragmented = !fin;
    return true;
  }

  /**
   * A Ping frame.
   *
   * @param {string | Uint8Array} [data] up to 125 bytes
   * @returns {boolean} whether it was taken: false after `close`
   * @throws {TypeError | RangeError} if the data is neither, or too long
   */
  ping(data = EMPTY) {
    return this._controlFrame(Opcode.PING, data);
  }

  /**
   * A Pong frame: for a Ping frame with the same data, "as soon as is practical" (RFC 6455 section 5.5.2).
   *
   * @param {string | Uint8Array} [data] up to 125 bytes
   * @returns {boolean} whether it was taken: false after `close`
   * @throws {TypeError | RangeError} if the data is neither, or too long
   */
  pong(data = EMPTY) {
    return this._controlFrame(Opcode.PONG, data);
  }

  /**
   * A Close frame, after which nothing more is taken.
   *
   * @param {number} [code] one that may be sent (RFC 6455 section 7.4): 1000 to 1003, 1007 to 1014, 3000 to 4999
   * @param {string | Uint8Array} [reason] up to 123 bytes, only with a code
   * @returns {boolean} whether it was taken: false after `close`
   * @throws {TypeError | RangeError} if the code may not be sent, or the reason is too long
   */
  close(code, reason = EMPTY) {
    const text = typeof reason === 'string' ? Buffer.from(reason) : toBytes('reason', reason);
    if (code === undefined && text.length === 0) {
      const taken = this._controlFrame(Opcode.CLOSE, EMPTY);
      this._closed = true;
      return taken;
    }
    if (typeof code !== 'number') throw invalidType('code', 'a number', code);
    if (!isSendableCloseCode(code)) throw outOfRange('code', 'a close code that may be sent', code);
    if (text.length > MAX_SHORT - 2) throw outOfRange('reason', 'at most 123 bytes long', `${text.length} bytes long`);
    const payload = Buffer.allocUnsafe(2 + text.length);
    payload.writeUInt16BE(code, 0);
    payload.set(text, 2);
    const taken = this._controlFrame(Opcode.CLOSE, payload);
    this._closed = true;
    return taken;
  }

  /**
   * A message that `prepare` has framed. Its bytes are not copied, however many encoders take it.
   *
   * @param {PreparedMessage} message
   * @returns {boolean} whether it was taken: false after `close`
   * @throws {TypeError} if it is none, or this is a client's side: what a client sends is masked with a key of its own
   * @throws {Error} if a fragmented message has not ended
   */
  prepared(message) {
    if (!(message instanceof PreparedMessage)) throw invalidType('message', 'what prepare() has made', message);
    if (this._mode !== 0)
      throw invalidState('A prepared message is for the server role, a client masks each by itself');
    if (this._closed) return false;
    if (this._fragmented) throw invalidState('A fragmented message has not ended');
    const { frame, length } = message;
    this._sequence++;
    if (isTraced()) this._trace(frame[0], length);
    if (this._pending !== 0 && frame.length < PREPARED_COPY_BELOW) {
      const at = this._reserve(frame.length);
      this._slab.set(frame, at);
      this._advance(at + frame.length);
    } else {
      this._push(frame);
    }
    return true;
  }

  /**
   * @param {number} opcode
   * @param {string | Uint8Array} data
   * @param {{ fin?: boolean, rsv1?: boolean, owned?: boolean } | undefined} options
   * @returns {boolean}
   */
  _dataFrame(opcode, data, options) {
    if (this._closed) return false;
    if (this._fragmented) throw invalidState('A fragmented message has not ended');
    if (options === undefined) {
      this._frame(FIN | opcode, data, false);
      return true;
    }
    const fin = options.fin ?? true;
    this._frame((fin ? FIN : 0) | (options.rsv1 ? RSV1 : 0) | opcode, data, options.owned ?? false);
    this._fragmented = !fin;
    return true;
  }

  /**
   * @param {number} opcode
   * @param {string | Uint8Array} data
   * @returns {boolean}
   */
  _controlFrame(opcode, data) {
    const bytes = typeof data === 'string' ? Buffer.from(data) : toBytes('data', data);
    if (bytes.length > MAX_SHORT) throw outOfRange('data', 'at most 125 bytes long', `${bytes.length} bytes long`);
    if (this._closed) return false;
    this._copyBytes(FIN | opcode, bytes);
    return true;
  }

  /**
   * @param {number} first the first byte of the frame
   * @param {string | Uint8Array} data
   * @param {boolean} owned whether the caller has given the data away
   */
  _frame(first, data, owned) {
    if (typeof data === 'string') {
      if (data.length <= SHORT_STRING) this._shortString(first, data);
      else this._longString(first, data);
      return;
    }
    const bytes = toBytes('data', data);
    if (bytes.length < REFERENCE_FROM) this._copyBytes(first, bytes);
    else if (this._mode === 0 || owned) this._referBytes(first, bytes);
    else if (this._fitsSlab(bytes.length)) this._copyBytes(first, bytes);
    else this._ownBytes(first, bytes);
  }

  /**
   * Whether a payload that must be copied goes into the slab. One that is used again is warm, and saves malloc and page
   * faults: messages of up to 64 KiB then take 1.9 µs on a client's side, each in memory of its own 5.2.
   *
   * @param {number} length
   * @returns {boolean}
   */
  _fitsSlab(length) {
    return length < OWN_FROM || (this._recycle && length <= SLAB_SIZE - MAX_HEADER);
  }

  /**
   * Writes a string behind a header of the size that it has if all is ASCII, and moves it if not all is.
   *
   * @param {number} first
   * @param {string} text
   */
  _shortString(first, text) {
    const at = this._reserve(MAX_HEADER + text.length * 3);
    const slab = this._slab;
    const guess = at + headerSize(text.length, this._mode);
    const length = slab.utf8Write(text, guess, text.length * 3);
    const payload = at + headerSize(length, this._mode);
    if (payload !== guess) slab.copyWithin(payload, guess, guess + length);
    const key = this._writeHeader(slab, at, first, length);
    if (key !== 0) this._backend.unmaskRange(slab, payload, length, key);
    this._advance(payload + length);
  }

  /**
   * @param {number} first
   * @param {string} text
   */
  _longString(first, text) {
    const length = Buffer.byteLength(text);
    const own = !this._fitsSlab(length);
    const at = own ? 0 : this._reserve(MAX_HEADER + length);
    const payload = at + headerSize(length, this._mode);
    const target = own ? Buffer.allocUnsafeSlow(payload + length) : this._slab;
    const key = this._writeHeader(target, at, first, length);
    // All of it is ASCII, then: latin1Write takes 0.75 µs for 32 KiB, utf8Write 1.5.
    if (length === text.length) target.latin1Write(text, payload, length);
    else target.utf8Write(text, payload, length);
    if (key !== 0) this._backend.unmaskRange(target, payload, length, key);
    if (own) this._push(target);
    else this._advance(payload + length);
  }

  /**
   * Every frame passes here, but prepared ones.
   *
   * @param {Buffer} target
   * @param {number} at
   * @param {number} first
   * @param {number} length of the payload
   * @returns {number} the masking key; 0 for none
   */
  _writeHeader(target, at, first, length) {
    this._sequence++;
    if (isTraced()) this._trace(first, length);
    return writeHeader(target, at, first, length, this._mode);
  }

  /**
   * @param {number} first
   * @param {number} length of the payload
   */
  _trace(first, length) {
    traceFrame(this, first, length);
    if ((first & OPCODE) >= Opcode.CLOSE) return;
    if ((first & OPCODE) !== Opcode.CONTINUATION) {
      this._message = first;
      this._fragments = 0;
      this._length = 0;
    }
    this._fragments++;
    this._length += length;
    if ((first & FIN) !== 0) traceMessage(this, this._message, this._length, this._fragments);
  }

  /**
   * Copies a payload into the slab, and masks it on the way.
   *
   * @param {number} first
   * @param {Uint8Array} bytes
   */
  _copyBytes(first, bytes) {
    const { length } = bytes;
    const at = this._reserve(MAX_HEADER + length);
    const payload = at + headerSize(length, this._mode);
    const key = this._writeHeader(this._slab, at, first, length);
    if (key === 0) this._slab.set(bytes, payload);
    else this._backend.maskRange(bytes, 0, this._slab, payload, length, key);
    this._advance(payload + length);
  }

  /**
   * Copies a payload into memory of its own, and masks it on the way.
   *
   * @param {number} first
   * @param {Uint8Array} bytes
   */
  _ownBytes(first, bytes) {
    const size = headerSize(bytes.length, this._mode);
    const frame = Buffer.allocUnsafeSlow(size + bytes.length);
    const key = this._writeHeader(frame, 0, first, bytes.length);
    this._backend.maskRange(bytes, 0, frame, size, bytes.length, key);
    this._push(frame);
  }

  /**
   * Sends a payload from where it lies. On a client's side it is masked there: it has been given away.
   *
   * @param {number} first
   * @param {Uint8Array} bytes
   */
  _referBytes(first, bytes) {
    const at = this._reserve(MAX_HEADER);
    const key = this._writeHeader(this._slab, at, first, bytes.length);
    this._advance(at + headerSize(bytes.length, this._mode));
    if (key !== 0) this._backend.unmaskRange(bytes, 0, bytes.length, key);
    this._push(bytes);
  }
}

// On the prototype, for these are the same for all; a test that wants another backend has a subclass.
Encoder.prototype._backend = codecBackend;
Encoder.prototype._direction = 'sent';

module.exports = { Encoder };
