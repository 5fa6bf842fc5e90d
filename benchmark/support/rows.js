'use strict';

const { randomFillSync } = require('node:crypto');

const { DECODE_ROWS, createDecoder, prepareDecoding } = require('./decode-rows');
const { ENCODE_ROWS, createEncoder, prepareEncoding } = require('./encode-rows');
const { MASKING_ROWS } = require('./masking-rows');
const { fresh } = require('./race');
const { formatSize } = require('./tables');

/**
 * A row of decode.js, encode.js or masking.js. `create` makes its work. `prepare` makes the loop of
 * one copy of framemask; the loops of all copies work on the same bytes. `count` is the number of
 * messages (or of calls of mask or unmask) in one call of a loop.
 *
 * @typedef {object} Row
 * @property {string} name such as `decode: text 16 B`
 * @property {() => { count: number, prepare: (framemask: object) => (calls: number) => void }}
 *   create
 */

/**
 * @param {number[]} sizes the payload lengths of the masking rows
 * @returns {Row[]} all rows of decode.js, encode.js and masking.js
 */
function listRows(sizes) {
  return [
    ...Object.entries(DECODE_ROWS).map(([name, { make }]) => decodeRow(`decode: ${name}`, make)),
    ...Object.entries(ENCODE_ROWS).map(([name, row]) => encodeRow(`encode: ${name}`, row)),
    ...Object.entries(MASKING_ROWS).flatMap(([name, row]) =>
      sizes.map((size) => maskingRow(`${name}: ${formatSize(size)}`, row, size))
    )
  ];
}

function decodeRow(name, make) {
  return {
    name,
    create() {
      const work = make();
      const prepare = (framemask) =>
        prepareDecoding(name, (deliver, framesOnly) => createDecoder(framemask, deliver, framesOnly), work);
      return { count: work.count, prepare };
    }
  };
}

function encodeRow(name, row) {
  return {
    name,
    create() {
      const frames = row.make();
      const prepare = (framemask) => prepareEncoding(name, (sink) => createEncoder(framemask, sink, row), row, frames);
      return { count: frames.length, prepare };
    }
  };
}

function maskingRow(name, row, size) {
  return {
    name,
    create() {
      const key = randomFillSync(Buffer.alloc(4));
      const prepared = row.prepare(size);
      const prepare = (framemask) => {
        const repeat = fresh(row.repeat);
        return (calls) => repeat(framemask, key, prepared, calls);
      };
      return { count: 1, prepare };
    }
  };
}

module.exports = { listRows };
