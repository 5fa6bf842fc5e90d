'use strict';

const { buffer, zlib } = require('../shared/node-modules');
const { Buffer, EMPTY } = require('../shared/buffers');
const { FrameError } = require('../shared/errors');
const { runInPool } = require('./thread-pool');
const { ZlibHandle, dropOutput, handlesWork, outputLength, takeOutput, toOwn } = require('./zlib-handle');

// Decompression of messages (RFC 7692 section 7.2.2): "append 4 octets of 0x00 0x00 0xff 0xff to
// the tail end of the payload ... decompress the resulting data". Of a message that is not complete
// what there is counts, as with ws.

const { Z_SYNC_FLUSH } = zlib.constants;
const MAX_OUTPUT = buffer.kMaxLength;
const TAIL = Buffer.from('0000ffff', 'hex');

/**
 * The handles that all connections of this thread share, by their window; each is reset after each
 * message, and takes 40 KB at most.
 */
const shared = [];

/**
 * The input that is inflated on the event loop is at most this part of the output: empty blocks
 * take 84 to 125 µs per KiB, and put out nothing.
 */
const INPUT_PART = 1 / 8;
/** All connections together inflate at most so much of it in one turn, beside a first message. */
const INPUT_OF_TURN = 64 * 1024;
/**
 * A message up to this size is not counted. For its bytes, it takes no longer than a number of tiny
 * ones; and the thread pool costs a message 60 to 150 µs.
 */
const UNCOUNTED = 4 * 1024;

let inputOfTurn = 0;

/**
 * Whether input may be inflated on the event loop in this turn.
 *
 * @param {number} most how many bytes may come out
 */
function fitsTurn(length, most, isMessage = true) {
  if (length > most * INPUT_PART) return false;
  if (most === Infinity || (isMessage && length <= UNCOUNTED)) return true;
  if (inputOfTurn === 0) setImmediate(beginTurn);
  else if (inputOfTurn + length > INPUT_OF_TURN) return false;
  inputOfTurn += length;
  return true;
}

function beginTurn() {
  inputOfTurn = 0;
}

/**
 * Inflates a message that refers to no other.
 *
 * @param {number} most above this many bytes it is left to the thread pool; likewise if `fitsTurn`
 *   says so
 * @param {number} limit the most bytes that the message may have
 * @returns {Buffer | null} memory that the next message overwrites; null if it is longer than
 *   `most`
 * @throws {FrameError} if it is longer than `limit`, or is not DEFLATE
 */
function inflateAlone(bytes, length, windowBits, most, limit, handles = handlesWork()) {
  if (!fitsTurn(length, most)) return null;
  if (!handles) return inflateSync(bytes, windowBits, most, limit);
  return inflateShared(bytes, length, windowBits, most, limit);
}

function inflateShared(bytes, length, windowBits, most, limit) {
  shared[windowBits] ??= new ZlibHandle(zlib.createInflateRaw({ windowBits }));
  const handle = shared[windowBits];
  try {
    runWithTail(handle, bytes, length, TAIL, most, limit);
    return outputLength() > most ? null : takeOutput();
  } finally {
    dropOutput();
    handle.reset();
  }
}

/**
 * Runs bytes and then a tail, until the output is above `most` or `limit`.
 *
 * @returns {number} how many bytes are left of both together
 * @throws {FrameError} if the output is above `limit`, or the input is not DEFLATE
 */
function runWithTail(handle, bytes, length, tail, most, limit) {
  const bound = Math.min(most, limit);
  let left = handle.run(bytes, length, bound) + tail.length;
  if (left === tail.length && left !== 0 && handle.error === null && outputLength() <= bound) {
    left = handle.run(tail, left, bound);
  }
  if (handle.error !== null) throw dataFault(handle.error);
  if (outputLength() > limit) throw tooBigFault(limit);
  return left;
}

/** By what Node.js documents. */
function inflateSync(bytes, windowBits, most, limit) {
  let inflated;
  try {
    const input = Buffer.concat([bytes, TAIL]);
    inflated = zlib.inflateRawSync(input, zlibOptions(windowBits, Math.min(most, limit)));
  } catch (error) {
    if (error.code === 'ERR_BUFFER_TOO_LARGE' && most < limit) return null;
    throw toFault(error, limit);
  }
  if (inflated.length > limit) throw tooBigFault(limit);
  return inflated;
}

/** `inflateAlone` of a copy, which nobody can change or transfer, in the thread pool. */
function inflateAloneLater(bytes, windowBits, limit, callback) {
  const copy = Buffer.concat([bytes, TAIL]);
  runInPool((done) => {
    zlib.inflateRaw(copy, zlibOptions(windowBits, limit), (error, inflated) => {
      done();
      if (error) callback(toFault(error, limit), null);
      else if (inflated.length > limit) callback(tooBigFault(limit), null);
      else callback(null, inflated);
    });
  });
}

/** zlib accepts no limit of 0, so that 1 byte may come out then. */
function zlibOptions(windowBits, limit) {
  const maxOutputLength = Math.max(1, Math.min(limit, MAX_OUTPUT));
  return { windowBits, maxOutputLength, finishFlush: Z_SYNC_FLUSH };
}

function toFault(error, limit) {
  return error.code === 'ERR_BUFFER_TOO_LARGE' ? tooBigFault(limit) : dataFault(error);
}

function tooBigFault(limit) {
  return new FrameError('MESSAGE_TOO_BIG', 1009, `A message is longer than ${limit} bytes when it is inflated`);
}

/** ws closes with 1007, too. */
function dataFault(cause) {
  return new FrameError('DEFLATE', 1007, 'A compressed message is not DEFLATE', { cause });
}

/**
 * The decompression of one connection, whose messages refer to those before them. It has a context
 * from its first message to the end of the connection: the peer relies on it.
 */
class OwnInflater {
  /** @param {import('node:zlib').ZlibOptions} [options] others */
  constructor(windowBits, options = {}) {
    this._options = { ...options, windowBits };
    this._handle = null;
    // What `inflate` has left to `inflateLater`: copies, for nobody may change them meanwhile.
    this._begun = null;
    this._rest = null;
    this._isAmidMessage = false;
  }

  /** Like `inflateAlone`, maybe for a part of a message. Null leaves the rest to `inflateLater`. */
  inflate(bytes, length, isLast, most, limit) {
    const handle = this._use();
    const fits = fitsTurn(length, most, isLast && !this._isAmidMessage);
    this._isAmidMessage = !isLast;
    const tail = isLast ? TAIL : EMPTY;
    // One byte shows whether zlib takes any.
    const size = fits ? length : 1;
    const itsTail = fits ? tail : EMPTY;
    try {
      let left = runWithTail(handle, bytes, size, itsTail, most, limit);
      if (left === size + itsTail.length && size !== 0) {
        // A final block ended with the tail of the message before: zlib takes nothing more.
        handle.reset();
        left = runWithTail(handle, bytes, size, itsTail, most, limit);
      }
      if (!fits || outputLength() > most) {
        this._begun = toOwn(takeOutput());
        this._rest = Buffer.concat([bytes, tail]).subarray(size + itsTail.length - left);
        return null;
      }
      // Behind a final block zlib wants nothing more (RFC 7692 section 7.2.3.4).
      if (left !== 0) handle.reset();
      return takeOutput();
    } finally {
      dropOutput();
    }
  }

  /**
   * Goes on in the thread pool, and calls back with an error, or with all bytes, those of `inflate`
   * too, in chunks: joined, they take their memory twice. Nothing else may be inflated meanwhile.
   */
  inflateLater(limit, callback) {
    const { stream } = this._handle;
    const chunks = [this._begun];
    const rest = this._rest;
    let total = this._begun.length;
    this._begun = this._rest = null;
    runInPool((done) => {
      let hasEnded = false;
      const end = (error) => {
        if (hasEnded) return;
        hasEnded = true;
        stream.off('data', collect).off('error', fail).off('close', fail);
        done();
        callback(error, error === null ? chunks : null);
      };
      const fail = (cause) => end(dataFault(cause));
      const collect = (chunk) => {
        chunks.push(chunk);
        total += chunk.length;
        if (total > limit) end(tooBigFault(limit));
      };
      // `close` may have been called while it waited.
      if (stream.destroyed) {
        done();
        return;
      }
      stream.on('data', collect).on('error', fail).on('close', fail);
      stream.write(rest);
      stream.flush(Z_SYNC_FLUSH, () => end(null));
    });
  }

  close() {
    this._handle?.close();
    this._handle = null;
  }

  reset() {
    this._handle?.reset();
  }

  _use() {
    // A final block has ended the stream, in the thread pool.
    if (this._handle?.stream.readableEnded) this.close();
    if (this._handle === null) {
      const stream = zlib.createInflateRaw(this._options);
      // Behind an error that has been reported, there may be another.
      stream.on('error', () => {});
      this._handle = new ZlibHandle(stream);
    }
    return this._handle;
  }
}

module.exports = { OwnInflater, inflateAlone, inflateAloneLater };
