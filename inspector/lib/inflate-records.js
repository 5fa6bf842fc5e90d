'use strict';

// The compressed messages of records with payloads, inflated (RFC 7692 section 7.2.2). A message
// may refer to up to 32 KiB before it. If some of that was not recorded, zlib reports a distance
// that reaches too far, and the list shows the compressed bytes: a guess is never shown.

const { constants, inflateRawSync } = require('node:zlib');

const WINDOW = 32 * 1024;
const MAX_MESSAGE = 1024 * 1024;
const TAIL = Buffer.from('0000ffff', 'hex');
const EMPTY = Buffer.alloc(0);

/** One direction of a connection. */
class RecordInflater {
  constructor() {
    this._window = EMPTY;
    this._sequence = 0;
    this._broken = null;
  }

  /**
   * @param {import('./session').Frame} frame a further one of this direction
   * @returns {Buffer | null} the message that it ends, as far as its recorded bytes tell, if that
   *   is compressed
   */
  inflate(frame) {
    const { sequence, message, fin, fault } = frame;
    if (sequence !== this._sequence + 1) {
      this._window = EMPTY;
      if (message?.head !== frame) this._broken = message;
    }
    this._sequence = sequence;
    if (!message?.isCompressed || !fin || fault !== null) return null;
    const bytes = message === this._broken ? EMPTY : message.sent(MAX_MESSAGE);
    const isWhole = bytes.length === message.size;
    const dictionary = this._window;
    this._window = EMPTY;
    if (bytes.length === 0) return null;
    try {
      const inflated = inflateRawSync(isWhole ? Buffer.concat([bytes, TAIL]) : bytes, {
        dictionary: dictionary.length > 0 ? dictionary : undefined,
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: MAX_MESSAGE
      });
      if (isWhole) this._window = Buffer.concat([dictionary, inflated]).subarray(-WINDOW);
      return inflated;
    } catch {
      return null;
    }
  }
}

module.exports = { RecordInflater };
