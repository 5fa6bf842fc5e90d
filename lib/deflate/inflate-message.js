'use strict';

const { buffer, zlib } = require('../shared/node-modules');
const { Buffer } = require('../shared/buffers');
const { FrameError, tooBigError } = require('../shared/errors');
const { runInPool } = require('./concurrency-limiter');
const { ZlibHandle, dropOutput, outputLength, supportsSyncZlib, takeOutput } = require('./zlib-handle');

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
 * The event loop inflates a message only if its compressed length is at most this part of `turnLimit`:
 * empty blocks take 84 to 125 µs per KiB, and put out nothing.
 */
const INPUT_PART = 1 / 8;
/**
 * All connections together inflate at most this much input in one turn. The first message of a turn
 * may be longer.
 */
const INPUT_OF_TURN = 64 * 1024;
/**
 * A message up to this size is not counted. It takes no longer than tiny messages of the same total
 * size; and the thread pool costs a message 60 to 150 µs.
 */
const UNCOUNTED = 4 * 1024;
/** JSON hardly inflates to more times its length; repetition does, up to 1,000 times. */
const USUAL_RATIO = 16;
/** Of the output above that, all connections together inflate so much in one turn. */
const EXCESS_OF_TURN = 8 * 1024 * 1024;

let inputOfTurn = 0;
let excessOfTurn = 0;

/**
 * Counts input towards this turn of the event loop.
 *
 * @param {number} turnLimit how many bytes may come out in this turn
 * @param {boolean} [isMessage] false for a part of a message, which is always counted
 * @returns {boolean} false if the input must be left to the thread pool
 */
function claimTurn(length, turnLimit, isMessage = true) {
  if (length > turnLimit * INPUT_PART) return false;
  if (turnLimit === Infinity) return true;
  if (excessOfTurn >= EXCESS_OF_TURN) return false;
  if (isMessage && length <= UNCOUNTED) return true;
  if (inputOfTurn === 0) setImmediate(beginTurn);
  else if (inputOfTurn + length > INPUT_OF_TURN) return false;
  // An empty frame counts, too, so that no other one asks for the end of this turn again.
  inputOfTurn += Math.max(length, 1);
  return true;
}

function beginTurn() {
  inputOfTurn = excessOfTurn = 0;
}

/** Counts the output of so much input towards this turn. */
function countOutput(length, output) {
  const excess = output - length * USUAL_RATIO;
  if (excess <= 0) return;
  if (excessOfTurn === 0) setImmediate(beginTurn);
  excessOfTurn += excess;
}

/**
 * Inflates a message of one frame that refers to no other.
 *
 * @param {number} turnLimit above this many bytes it is left to the thread pool; likewise if
 *   `claimTurn` says so
 * @param {number} limit the most bytes that the message may have
 * @returns {Buffer | null} memory that the next message overwrites; null if it is longer than
 *   `turnLimit`
 * @throws {FrameError} if it is longer than `limit`, or is not DEFLATE
 */
function inflateAlone(bytes, length, windowBits, turnLimit, limit, sync = supportsSyncZlib()) {
  if (!claimTurn(length, turnLimit)) return null;
  if (!sync) return inflateSync(bytes, windowBits, turnLimit, limit);
  return inflateShared(bytes, length, windowBits, turnLimit, limit);
}

function inflateShared(bytes, length, windowBits, turnLimit, limit) {
  shared[windowBits] ??= new ZlibHandle(zlib.createInflateRaw({ windowBits }));
  const handle = shared[windowBits];
  try {
    runWithTail(handle, bytes, length, TAIL, turnLimit, limit);
    return outputLength() > turnLimit ? null : takeOutput();
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
  countOutput(length, outputLength());
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
  countOutput(bytes.length, inflated.length);
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
  });
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

module.exports = { TAIL, claimTurn, dataError, inflateAlone, inflateAloneLater, runWithTail };
