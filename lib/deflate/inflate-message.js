'use strict';

const { buffer, zlib } = require('../shared/node-modules');
const { Buffer } = require('../shared/buffers');
const { FrameError, tooBigError } = require('../shared/errors');
const { countWork, isTurnOver } = require('./turn');
const { ZlibHandle, dropOutput, outputLength, runInPool, supportsSyncZlib, lendOutput } = require('./zlib-handle');

// Decompression of messages (RFC 7692 section 7.2.2): "append 4 octets of 0x00 0x00 0xff 0xff to
// the tail end of the payload ... decompress the resulting data". Truncated input yields the bytes
// decoded so far, as with ws.

const { Z_SYNC_FLUSH } = zlib.constants;
const MAX_OUTPUT = buffer.kMaxLength;
const TAIL = Buffer.from('0000ffff', 'hex');

/**
 * The handles that all connections of this thread share, by their window; each is reset after each
 * message, and takes 40 KB at most.
 */
const shared = [];

/**
 * The event loop inflates a frame only if its compressed length is at most this part of `turnLimit`:
 * empty blocks take 84 to 125 µs per KiB, and put out nothing.
 */
const INPUT_PART = 1 / 8;
/** A frame up to this size waits for another turn instead: the thread pool costs it 60 to 150 µs. */
const WAITS_TO = 4 * 1024;

/**
 * Whether a frame of this length is inflated on the event loop now.
 *
 * @param {number} turnLimit how many bytes may come out at once; Infinity for no limit at all
 */
function fitsTurn(length, turnLimit) {
  return length <= turnLimit * INPUT_PART && (turnLimit === Infinity || !isTurnOver());
}

/** Whether it must wait for another turn. If not, and it does not fit, it is one for the thread pool. */
function mustWait(length, turnLimit) {
  return length <= Math.min(turnLimit * INPUT_PART, WAITS_TO) && !fitsTurn(length, turnLimit);
}

/**
 * Inflates a message of one frame that refers to no other.
 *
 * @param {number} turnLimit above this many bytes it is left to the thread pool; likewise if it does
 *   not fit the turn
 * @param {number} limit the most bytes that the message may have
 * @returns {Buffer | null} memory that the next message overwrites; null if it is longer than
 *   `turnLimit`
 * @throws {FrameError} if it is longer than `limit`, or is not DEFLATE
 */
function inflateAlone(bytes, length, windowBits, turnLimit, limit, sync = supportsSyncZlib()) {
  if (!fitsTurn(length, turnLimit)) return null;
  if (!sync) return inflateSync(bytes, windowBits, turnLimit, limit);
  return inflateShared(bytes, length, windowBits, turnLimit, limit);
}

function inflateShared(bytes, length, windowBits, turnLimit, limit) {
  shared[windowBits] ??= new ZlibHandle(zlib.createInflateRaw({ windowBits }));
  const handle = shared[windowBits];
  try {
    runWithTail(handle, bytes, length, TAIL, turnLimit, limit);
    return outputLength() > turnLimit ? null : lendOutput();
  } finally {
    dropOutput();
    handle.reset();
  }
}

/**
 * Runs bytes and then a tail, until the output is above `turnLimit` or `limit`.
 *
 * @returns {number} how many bytes are left of both together
 * @throws {FrameError} if the output is above `limit`, or the input is not DEFLATE
 */
function runWithTail(handle, bytes, length, tail, turnLimit, limit) {
  const bound = Math.min(turnLimit, limit);
  let left = handle.run(bytes, length, bound) + tail.length;
  if (left === tail.length && left !== 0 && handle.error === null && outputLength() <= bound) {
    left = handle.run(tail, left, bound);
  }
  countWork(length, outputLength());
  if (handle.error !== null) throw dataError(handle.error);
  if (outputLength() > limit) throw tooBigError();
  return left;
}

/** By the documented API of Node.js. */
function inflateSync(bytes, windowBits, turnLimit, limit) {
  let inflated;
  try {
    const input = Buffer.concat([bytes, TAIL]);
    inflated = zlib.inflateRawSync(input, zlibOptions(windowBits, Math.min(turnLimit, limit)));
  } catch (error) {
    if (error.code === 'ERR_BUFFER_TOO_LARGE' && turnLimit < limit) return null;
    throw toFrameError(error);
  }
  countWork(bytes.length, inflated.length);
  if (inflated.length > limit) throw tooBigError();
  return inflated;
}

/** `inflateAlone` of a copy, which nobody can change or transfer, in the thread pool. */
function inflateAloneLater(bytes, windowBits, limit, callback) {
  const copy = Buffer.concat([bytes, TAIL]);
  runInPool((done) => {
    zlib.inflateRaw(copy, zlibOptions(windowBits, limit), (error, inflated) => {
      done();
      if (error) callback(toFrameError(error), null);
      else if (inflated.length > limit) callback(tooBigError(), null);
      else callback(null, inflated);
    });
  }, callback);
}

/** zlib accepts no limit of 0, so that 1 byte may come out then. */
function zlibOptions(windowBits, limit) {
  const maxOutputLength = Math.max(1, Math.min(limit, MAX_OUTPUT));
  return { windowBits, maxOutputLength, finishFlush: Z_SYNC_FLUSH };
}

function toFrameError(error) {
  return error.code === 'ERR_BUFFER_TOO_LARGE' ? tooBigError() : dataError(error);
}

/** ws closes with 1007, too. */
function dataError(cause) {
  return new FrameError('DEFLATE', 1007, 'A compressed message is not DEFLATE', { cause });
}

module.exports = { TAIL, dataError, fitsTurn, inflateAlone, inflateAloneLater, mustWait, runWithTail };
