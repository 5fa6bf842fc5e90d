'use strict';

const { createBackend, native } = require('../masking/backend');
const { Register } = require('../masking/native');
const { scanChunk } = require('./scan');

const { START, MODE, COUNT } = Register;

/**
 * What a codec needs besides masking.
 *
 * @typedef {import('../masking/backend').Backend & { scan: Scan }} CodecBackend
 *
 * @typedef {(chunk: Uint8Array, start: number, mode: number, table: Uint32Array) => number} Scan
 *   as `scanChunk` in lib/codec/scan.js
 */

/**
 * @param {import('../masking/native').Native | null} native null for JavaScript alone
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

module.exports = { codecBackend: createCodecBackend(native), createCodecBackend };
