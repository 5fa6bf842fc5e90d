'use strict';

const { checkBytes, lengthOf } = require('../shared/buffers');
const { invalidType, outOfRange } = require('../shared/errors');
const { header, readHeader } = require('./header');
const { MODE_MASKED, MODE_RSV1, OPCODE } = require('../shared/protocol');

/**
 * Reads the header of a frame that has been framed already. `mode` is MODE_MASKED for a client's, 0
 * for a server's; with `anyMask` it may be either. Throws unless this role may send it.
 */
function readFramed(pieces, mode, anyMask) {
  if (!Array.isArray(pieces) || pieces.length === 0) throw invalidType('pieces', 'an array of Buffers', pieces);
  let size = 0;
  for (const piece of pieces) {
    checkBytes('pieces', piece);
    size += lengthOf(piece);
  }
  const maskBit = anyMask ? pieces[0][1] & MODE_MASKED : mode;
  const complete = size !== 0 && readHeader(pieces[0], 0, lengthOf(pieces[0]), maskBit | MODE_RSV1);
  if (!complete || header.size + header.length !== size) {
    const role = (mode & MODE_MASKED) !== 0 ? 'client' : 'server';
    throw outOfRange('pieces', `one frame of a ${role}, its header in the first piece`, `${size} other bytes`);
  }
  const { firstByte, length } = header;
  return { firstByte, length, opcode: firstByte & OPCODE };
}

module.exports = { readFramed };
