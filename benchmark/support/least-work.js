'use strict';

const { advanceKey } = require('../../lib/masking/fallback');
const { TEXT } = require('./messages');

/**
 * The work that no decoder can avoid, and nothing else. Each payload is unmasked in place, or
 * masked into memory of its own if it comes in pieces, and delivered as a string or a Buffer.
 * Positions are known beforehand, memory is allocated at its full length at once (which a decoder
 * must not do because a peer announces it), and text is gathered in memory that is in the cache.
 *
 * @param {{ first: number, payload: Buffer }[]} messages
 * @param {Buffer[]} frames one masked frame for each message
 * @param {Buffer[]} chunks the frames, cut into pieces of one length (the last may be shorter)
 * @param {import('../../lib/masking/backend').Backend} backend
 * @param {(length: number) => void} deliver called with the length of each message
 * @returns {() => void} does the work for all chunks once
 */
function prepareLeastWork(messages, frames, chunks, backend, deliver) {
  const size = chunks[0].length;
  const pieces = chunks.map(() => []);
  let frameStart = 0;
  messages.forEach(({ first, payload: { length } }, i) => {
    const header = frames[i].length - length;
    const key = frames[i].readUInt32LE(header - 4);
    let done = 0;
    while (done < length) {
      const at = frameStart + header + done;
      const start = at % size;
      const count = Math.min(length - done, size - start);
      const text = first === TEXT;
      pieces[Math.floor(at / size)].push({ start, count, key: advanceKey(key, done), done, length, text });
      done += count;
    }
    frameStart += frames[i].length;
  });
  const empty = messages.filter(({ payload }) => payload.length === 0).length;
  const warm = Buffer.allocUnsafeSlow(Math.max(...messages.map(({ payload }) => payload.length)));
  let target = null;

  return () => {
    for (let i = 0; i < empty; i++) deliver(0);
    chunks.forEach((chunk, i) => {
      for (const { start, count, key, done, length, text } of pieces[i]) {
        if (count === length) {
          backend.unmaskRange(chunk, start, count, key);
          deliver((text ? chunk.latin1Slice(start, start + count) : chunk.subarray(start, start + count)).length);
          continue;
        }
        if (done === 0) target = text ? warm : Buffer.allocUnsafeSlow(length);
        backend.maskRange(chunk, start, target, done, count, key);
        if (done + count === length) deliver((text ? target.latin1Slice(0, length) : target).length);
      }
    });
  };
}

module.exports = { prepareLeastWork };
