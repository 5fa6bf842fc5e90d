'use strict';

const { createBackend, native } = require('../masking/backend');
const { copyMasked } = require('../masking/fallback');
const { Register } = require('../masking/native');
const { scanChunk } = require('./scan');

const { START, MODE, COUNT } = Register;

/** A piece of a payload that is shorter than this is copied in a plain loop. */
const LOOP_BELOW = 24;

/**
 * Masking and scanning, in the addon or in JavaScript.
 *
 * @typedef {import('../masking/backend').Backend & { scan: Scan }} CodecBackend
 *
 * @typedef {(chunk: Uint8Array, start: number, mode: number, table: Uint32Array) => number} Scan
 *   as `scanChunk` in lib/codec/scan.js
 */

/**
 * @param {import('../masking/native').Native | null} native null for JavaScript only
 * @returns {CodecBackend}
 */
function createCodecBackend(native) {
  const masking = createBackend(native);
  if (native === null) return { ...masking, scan: scanChunk };
  const { registers } = native;

  function scan(chunk, start, mode, table) {
    registers[START] = start;
    registers[MODE] = mode;
    native.scan(chunk, table);
    return registers[COUNT];
  }

  return { ...masking, scan };
}

/**
 * Unmasks a piece of a payload while it is copied, as `backend.maskRange` does, to memory that does
 * not overlap.
 *
 * @param {CodecBackend} backend
 * @param {Uint8Array} source
 * @param {number} start
 * @param {Uint8Array} output
 * @param {number} offset
 * @param {number} length
 * @param {number} key the key for the byte at `start`
 * @returns {boolean} true only if all bytes written are ASCII
 */
function copyUnmasked(backend, source, start, output, offset, length, key) {
  if (length < LOOP_BELOW) return copyMasked(source, start, output, offset, length, key);
  return backend.maskRange(source, start, output, offset, length, key);
}

module.exports = { codecBackend: createCodecBackend(native), copyUnmasked, createCodecBackend };
