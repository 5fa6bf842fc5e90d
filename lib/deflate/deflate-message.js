'use strict';

const { zlib } = require('../shared/node-modules');
const { Buffer, copyOf, lengthOf } = require('../shared/buffers');
const { goneError } = require('../shared/errors');
const { ZlibHandle, runInPool, supportsSyncZlib, takeOwnOutput } = require('./zlib-handle');

// Compression of messages (RFC 7692 section 7.2.1): "compress all the octets of the payload ...
// remove 4 octets (that are 0x00 0x00 0xff 0xff) from the tail end".

const { Z_SYNC_FLUSH } = zlib.constants;
const TAIL_SIZE = 4;

/** @typedef {{ windowBits: number, level: number, memLevel: number }} Compression */

/**
 * The handles that all connections of this thread share, by `keyOf`. Each is reset after each
 * message, and takes 268 KB at most. There are as many as the levels in use times the 7 windows.
 */
const shared = new Map();

/** The same for all that compress alike. */
function keyOf({ windowBits, level, memLevel }) {
  return `${windowBits} ${level} ${memLevel}`;
}

/** @returns {Buffer} a message that refers to no other, and is not empty, compressed */
function deflateAlone(bytes, length, compression, sync = supportsSyncZlib()) {
  if (!sync) return withoutTail(zlib.deflateRawSync(bytes, optionsOf(compression)));
  const key = keyOf(compression);
  let handle = shared.get(key);
  if (handle === undefined) {
    handle = new ZlibHandle(zlib.createDeflateRaw(optionsOf(compression)));
    shared.set(key, handle);
  }
  try {
    handle.run(bytes, length, Infinity);
    return withoutTail(takeOwnOutput());
  } finally {
    handle.reset();
  }
}

/**
 * `deflateAlone` in the thread pool, of a string or bytes as they are when there is room in it. It
 * calls back with an error, or with the compressed bytes, and a copy of those that they are of.
 */
function deflateAloneLater(data, length, compression, callback) {
  runInPool((done) => {
    const bytes = ownBytes(data, length);
    // Compressing can't fail: its memory is allocated before it begins.
    zlib.deflateRaw(bytes, optionsOf(compression), (_error, deflated) => {
      done();
      callback(null, withoutTail(deflated), bytes);
    });
  }, callback);
}

function optionsOf({ windowBits, level, memLevel }) {
  return { windowBits, level, memLevel, finishFlush: Z_SYNC_FLUSH };
}

/**
 * A copy for the thread pool, which may read it while a program changes or transfers its Buffer. It
 * is made when there is room in the pool, so that a broadcast is held once.
 *
 * @throws {Error} if the bytes have been transferred until then
 */
function ownBytes(data, length) {
  if (typeof data === 'string') return Buffer.from(data);
  if (lengthOf(data) < length) throw goneError();
  return copyOf(data, 0, length);
}

function withoutTail(deflated) {
  return deflated.subarray(0, deflated.length - TAIL_SIZE);
}

module.exports = { deflateAlone, deflateAloneLater, keyOf, ownBytes, withoutTail };
