'use strict';

const { Buffer, EMPTY, checkBytes, lengthOf, toBytes, view } = require('../shared/buffers');
const { codecBackend } = require('./backend');
const { invalidState, invalidType, outOfRange } = require('../shared/errors');
const { FrameWriter } = require('./frame-writer');
const { header, headerSize, readHeader, writeHeader } = require('./header');
const { showPublicState } = require('../shared/inspect');
const { checkOptions, readBoolean, readChoice, readTrace } = require('./options');
const { framedMessage } = require('./prepared');
const { LARGE_SLAB } = require('./slabs');
const {
  CONTROL,
  FIN,
  MAX_HEADER,
  MAX_SHORT,
  MODE_MASKED,
  MODE_RSV1,
  OPCODE,
  Opcode,
  RSV1,
  isSendableCloseCode
} = require('../shared/protocol');
const { isTraced, traceFrame, traceMessage } = require('../tracing');

/**
 * Strings of at most this many characters are written into the slab before their length in bytes is
 * known.
 */
const SHORT_STRING = 4096;
/** From this many bytes on, a second writev entry is cheaper than copying the payload. */
const REFERENCE_FROM = 16 * 1024;
/**
 * From this many bytes on, a payload that must be copied gets memory of its own, unless the slab is
 * reused.
 */
const OWN_FROM = 16 * 1024;
/**
 * A prepared message below this many bytes is copied behind other collected frames: ten messages of
 * 64 bytes are then sent in 2 pieces instead of 10, and take 1.2 times as long as the write alone
 * instead of 1.45.
 */
const PREPARED_COPY_BELOW = 1024;

/**
 * RFC 6455 from messages to bytes. Frames collect, header and payload in one piece of memory, until
 * `flush` sends them in one write. index.d.ts documents the options.
 *
 * The methods that add a frame return whether they did: nothing may follow a Close frame (RFC 6455
 * section 5.5.1). They do not change the caller's data. In the server role, payloads from
 * REFERENCE_FROM bytes on are not copied either: they must stay unchanged until they are sent.
 */
class Encoder extends FrameWriter {
  /**
   * @param {object} options
   * @throws {TypeError} if an option is not acceptable
   */
  constructor(options) {
    const { writable = null } = checkOptions(options, 'Encoder');
    if (writable !== null && typeof writable.write !== 'function') {
      throw invalidType('options.writable', 'a writable stream', writable);
    }
    super(readBoolean(options, 'recycle', false), writable);
    this._mode = readChoice(options, 'role', ['server', 'client']) === 'client' ? MODE_MASKED : 0;
    this._trace = readTrace(options);
    this._closed = false;
    // For tracing: the number of frames so far.
    this._sequence = 0;
    // A message that has begun and not ended: the first byte of its first frame, or 0; its frames
    // and bytes so far.
    this._messageFirstByte = 0;
    this._fragments = 0;
    this._length = 0;
  }

  /** The end of the connection that the encoder is at: 'server' or 'client'. */
  get role() {
    return (this._mode & MODE_MASKED) !== 0 ? 'client' : 'server';
  }

  /** Whether a Close frame was added: no frame can follow. */
  get closed() {
    return this._closed;
  }

  /**
   * Adds a text message, or with `fin: false` its first fragment.
   *
   * @param {string | Uint8Array} data a string, or bytes that are UTF-8 (which is not checked)
   * @param {{ fin?: boolean, rsv1?: boolean, owned?: boolean }} [options]
   * @returns {boolean} false after `close`
   * @throws {TypeError} if the data is neither
   * @throws {Error} if a fragmented message has not ended
   */
  text(data, options) {
    return this._dataFrame(Opcode.TEXT, data, options);
  }

  /**
   * Adds a binary message, or with `fin: false` its first fragment.
   *
   * @param {Uint8Array | ArrayBufferView | ArrayBuffer | SharedArrayBuffer} data
   * @param {{ fin?: boolean, rsv1?: boolean, owned?: boolean }} [options]
   * @returns {boolean} false after `close`
   * @throws {TypeError} if the data is none of these
   * @throws {Error} if a fragmented message has not ended
   */
  binary(data, options) {
    if (typeof data === 'string') throw invalidType('data', 'a Buffer or other bytes', data);
    return this._dataFrame(Opcode.BINARY, data, options);
  }

  /**
   * Adds a further fragment of a message (RFC 6455 section 5.4): the last, unless `fin` is false.
   *
   * @param {string | Uint8Array | ArrayBufferView | ArrayBuffer | SharedArrayBuffer} data
   * @param {{ fin?: boolean, owned?: boolean }} [options]
   * @returns {boolean} false after `close`
   * @throws {TypeError} if the data is none of these
   * @throws {Error} if there is no message to continue
   */
  continuation(data, options) {
    if (this._closed) return false;
    if (this._messageFirstByte === 0) throw invalidState('There is no fragmented message to continue');
    this._frame((options?.fin ?? true) ? FIN : 0, data, options?.owned ?? false);
    return true;
  }

  /**
   * Adds a Ping frame.
   *
   * @param {string | Uint8Array} [data] up to 125 bytes
   * @returns {boolean} false after `close`
   * @throws {TypeError | RangeError} if the data is neither, or too long
   */
  ping(data = EMPTY) {
    return this._controlFrame(Opcode.PING, data);
  }

  /**
   * Adds a Pong frame: the answer to a Ping frame, with the same data, "as soon as is practical"
   * (RFC 6455 section 5.5.2).
   *
   * @param {string | Uint8Array} [data] up to 125 bytes
   * @returns {boolean} false after `close`
   * @throws {TypeError | RangeError} if the data is neither, or too long
   */
  pong(data = EMPTY) {
    return this._controlFrame(Opcode.PONG, data);
  }

  /**
   * Adds a Close frame, the last frame.
   *
   * @param {number} [code] one that may be sent (RFC 6455 section 7.4): 1000 to 1003, 1007 to 1014,
   *   3000 to 4999
   * @param {string | Uint8Array} [reason] up to 123 bytes, only with a code
   * @returns {boolean} false after `close`
   * @throws {TypeError | RangeError} if the code may not be sent, or the reason is too long
   */
  close(code, reason = EMPTY) {
    const text = typeof reason === 'string' ? Buffer.from(reason) : toBytes('reason', reason);
    const length = lengthOf(text);
    if (code === undefined && length === 0) return this._controlFrame(Opcode.CLOSE, EMPTY);
    if (typeof code !== 'number') throw invalidType('code', 'a number', code);
    if (!isSendableCloseCode(code)) throw outOfRange('code', 'a close code that may be sent', code);
    if (length > MAX_SHORT - 2) throw outOfRange('reason', 'at most 123 bytes long', `${length} bytes long`);
    const payload = Buffer.allocUnsafe(2 + length);
    payload.writeUInt16BE(code, 0);
    payload.set(text, 2);
    return this._controlFrame(Opcode.CLOSE, payload);
  }

  /**
   * Adds a message framed by `prepare`. All encoders send the same bytes.
   *
   * @param {import('./prepared').PreparedMessage} message
   * @returns {boolean} false after `close`
   * @throws {TypeError} if it is not from `prepare`
   * @throws {Error} in the client role: a client masks each frame with a key of its own (RFC 6455
   *   section 5.3)
   * @throws {Error} if a fragmented message has not ended, or if a sink that got the frame has
   *   transferred its memory
   */
  prepared(message) {
    const framed = framedMessage(message);
    if (framed === null) throw invalidType('message', 'what prepare() has made', message);
    if (this._mode !== 0)
      throw invalidState('A prepared message is for the server role, a client masks each by itself');
    if (this._closed) return false;
    if (this._messageFirstByte !== 0) throw invalidState('A fragmented message has not ended');
    const { frame, length } = framed;
    const firstByte = frame[0];
    if (firstByte === undefined) throw invalidState('The memory of a prepared message has been transferred');
    if (this._pending !== 0 && frame.length < PREPARED_COPY_BELOW) {
      const at = this._reserve(frame.length);
      this._slab.set(frame, at);
      this._advance(at + frame.length);
    } else {
      this._push(frame);
    }
    this._count(firstByte, length);
    return true;
  }

  /**
   * Adds a frame that has been framed already: by a peer, for a proxy, or by another library. Its
   * bytes are sent as they are; those from REFERENCE_FROM bytes on must stay unchanged until then.
   *
   * @param {Uint8Array[]} pieces the frame's bytes; the first piece has the whole header
   * @param {{ anyMask?: boolean }} [options] whether a client's frame need not be masked, nor a
   *   server's unmasked
   * @returns {boolean} false after `close`
   * @throws {TypeError} if it is not an array of Buffers or Uint8Arrays
   * @throws {RangeError} if the pieces are not one frame that this role may send
   */
  framed(pieces, options) {
    const { firstByte, length, opcode } = this._readFramed(pieces, options?.anyMask ?? false);
    if (this._closed) return false;
    for (const piece of pieces) {
      const size = lengthOf(piece);
      if (size >= REFERENCE_FROM) {
        this._push(view(piece, 0, size));
      } else if (size !== 0) {
        const at = this._reserve(size);
        this._slab.set(piece, at);
        this._advance(at + size);
      }
    }
    this._closed = opcode === Opcode.CLOSE;
    this._count(firstByte, length);
    return true;
  }

  /**
   * @param {Uint8Array[]} pieces
   * @param {boolean} anyMask
   * @returns {{ firstByte: number, length: number, opcode: number }} what the frame's header says
   * @throws {TypeError | RangeError} if they are not one frame that this role may send
   */
  _readFramed(pieces, anyMask) {
    if (!Array.isArray(pieces) || pieces.length === 0) throw invalidType('pieces', 'an array of Buffers', pieces);
    let size = 0;
    for (const piece of pieces) {
      checkBytes('pieces', piece);
      size += lengthOf(piece);
    }
    const maskBit = anyMask ? pieces[0][1] & MODE_MASKED : this._mode;
    const complete = size !== 0 && readHeader(pieces[0], 0, lengthOf(pieces[0]), maskBit | MODE_RSV1);
    if (!complete || header.size + header.length !== size) {
      throw outOfRange('pieces', `one frame of a ${this.role}, its header in the first piece`, `${size} other bytes`);
    }
    const { firstByte, length } = header;
    return { firstByte, length, opcode: firstByte & OPCODE };
  }

  /**
   * @param {number} opcode
   * @param {string | Uint8Array} data
   * @param {{ fin?: boolean, rsv1?: boolean, owned?: boolean } | undefined} options
   * @returns {boolean}
   */
  _dataFrame(opcode, data, options) {
    if (this._closed) return false;
    if (this._messageFirstByte !== 0) throw invalidState('A fragmented message has not ended');
    if (options === undefined) {
      this._frame(FIN | opcode, data, false);
    } else {
      const fin = (options.fin ?? true) ? FIN : 0;
      this._frame(fin | (options.rsv1 ? RSV1 : 0) | opcode, data, options.owned ?? false);
    }
    return true;
  }

  /**
   * @param {number} opcode
   * @param {string | Uint8Array} data
   * @returns {boolean}
   */
  _controlFrame(opcode, data) {
    const bytes = typeof data === 'string' ? Buffer.from(data) : toBytes('data', data);
    const length = lengthOf(bytes);
    if (length > MAX_SHORT) throw outOfRange('data', 'at most 125 bytes long', `${length} bytes long`);
    if (this._closed) return false;
    this._copyBytes(FIN | opcode, bytes, length);
    this._closed = opcode === Opcode.CLOSE;
    this._count(FIN | opcode, length);
    return true;
  }

  /**
   * @param {number} firstByte
   * @param {string | Uint8Array} data
   * @param {boolean} owned whether the data belongs to the encoder from now on
   */
  _frame(firstByte, data, owned) {
    let length;
    if (typeof data === 'string') {
      length = data.length <= SHORT_STRING ? this._shortString(firstByte, data) : this._longString(firstByte, data);
    } else {
      const bytes = toBytes('data', data, (firstByte & OPCODE) !== Opcode.BINARY);
      length = lengthOf(bytes);
      if (length < REFERENCE_FROM) this._copyBytes(firstByte, bytes, length);
      else if (this._mode === 0 || owned) this._referBytes(firstByte, bytes, length);
      else if (this._fitsSlab(length)) this._copyBytes(firstByte, bytes, length);
      else this._ownBytes(firstByte, bytes, length);
    }
    this._count(firstByte, length);
  }

  /**
   * Whether a payload that must be copied goes into the slab. A reused slab is in the cache and
   * saves malloc and page faults: a client's messages of up to 64 KiB take 1.9 µs each, in memory
   * of their own 5.2 µs.
   *
   * @param {number} length
   * @returns {boolean}
   */
  _fitsSlab(length) {
    return length < OWN_FROM || (this._recycle && length <= LARGE_SLAB - MAX_HEADER);
  }

  /**
   * Writes a string behind a header of the size for ASCII, and moves it if the header is larger.
   *
   * @param {number} firstByte
   * @param {string} text
   */
  _shortString(firstByte, text) {
    const at = this._reserve(MAX_HEADER + text.length * 3);
    const slab = this._slab;
    const guess = at + headerSize(text.length, this._mode);
    const length = slab.utf8Write(text, guess, text.length * 3);
    const payload = at + headerSize(length, this._mode);
    if (payload !== guess) slab.copyWithin(payload, guess, guess + length);
    const key = writeHeader(slab, at, firstByte, length, this._mode);
    if (key !== 0) this._backend.unmaskRange(slab, payload, length, key);
    this._advance(payload + length);
    return length;
  }

  /**
   * @param {number} firstByte
   * @param {string} text
   */
  _longString(firstByte, text) {
    const length = Buffer.byteLength(text);
    const own = !this._fitsSlab(length);
    const at = own ? 0 : this._reserve(MAX_HEADER + length);
    const payload = at + headerSize(length, this._mode);
    const target = own ? Buffer.allocUnsafeSlow(payload + length) : this._slab;
    const key = writeHeader(target, at, firstByte, length, this._mode);
    // The string is ASCII. For 32 KiB latin1Write takes 0.75 µs, utf8Write 1.5 µs.
    if (length === text.length) target.latin1Write(text, payload, length);
    else target.utf8Write(text, payload, length);
    if (key !== 0) this._backend.unmaskRange(target, payload, length, key);
    if (own) this._push(target);
    else this._advance(payload + length);
    return length;
  }

  /**
   * Counts a frame that has been added, and publishes it. This comes last: a subscriber may use the
   * encoder.
   *
   * @param {number} firstByte
   * @param {number} length of the payload
   */
  _count(firstByte, length) {
    this._sequence++;
    if (this._messageFirstByte !== 0 || (firstByte & (FIN | CONTROL)) === 0 || isTraced())
      this._note(firstByte, length);
  }

  /** The part of `_count` for fragments and subscribers. */
  _note(firstByte, length) {
    const sequence = this._sequence;
    const ends = (firstByte & FIN) !== 0;
    const isData = (firstByte & CONTROL) === 0;
    let message = firstByte;
    let fragments = 1;
    let total = length;
    if (isData && (this._messageFirstByte !== 0 || !ends)) {
      message = this._messageFirstByte || firstByte;
      fragments = ++this._fragments;
      total = this._length += length;
      this._messageFirstByte = ends ? 0 : message;
      if (ends) this._fragments = this._length = 0;
    }
    if (!isTraced()) return;
    traceFrame(this, firstByte, length, sequence);
    if (isData && ends) traceMessage(this, message, total, fragments, sequence);
  }

  /**
   * Adds a payload to the slab, masked while it is copied.
   *
   * @param {number} firstByte
   * @param {Uint8Array} bytes
   * @param {number} length
   */
  _copyBytes(firstByte, bytes, length) {
    const at = this._reserve(MAX_HEADER + length);
    const payload = at + headerSize(length, this._mode);
    const key = writeHeader(this._slab, at, firstByte, length, this._mode);
    if (key === 0) this._slab.set(bytes, payload);
    else this._backend.maskRange(bytes, 0, this._slab, payload, length, key);
    this._advance(payload + length);
  }

  /**
   * Adds a payload in memory of its own, masked while it is copied.
   *
   * @param {number} firstByte
   * @param {Uint8Array} bytes
   * @param {number} length
   */
  _ownBytes(firstByte, bytes, length) {
    const size = headerSize(length, this._mode);
    const frame = Buffer.allocUnsafeSlow(size + length);
    const key = writeHeader(frame, 0, firstByte, length, this._mode);
    this._backend.maskRange(bytes, 0, frame, size, length, key);
    this._push(frame);
  }

  /**
   * Adds a payload that is sent from where it lies. A client masks it there, because the caller
   * gave it away.
   *
   * @param {number} firstByte
   * @param {Uint8Array} bytes
   * @param {number} length
   */
  _referBytes(firstByte, bytes, length) {
    const at = this._reserve(MAX_HEADER);
    const key = writeHeader(this._slab, at, firstByte, length, this._mode);
    this._advance(at + headerSize(length, this._mode));
    if (key !== 0) this._backend.unmaskRange(bytes, 0, length, key);
    this._push(view(bytes, 0, length));
  }
}

showPublicState(Encoder, ['role', 'closed', 'pending']);

// On the prototype, because all encoders share them; a test makes a subclass for another backend.
Encoder.prototype._backend = codecBackend;
Encoder.prototype._direction = 'sent';

module.exports = { Encoder };
