'use strict';

const { backend } = require('../../lib/masking/backend');
const { advanceKey } = require('../../lib/masking/fallback');
const { TEXT } = require('./messages');

/**
 * The work that no decoder can avoid, and nothing else. Each payload is unmasked in place, or
 * masked into memory of its own if it comes in pieces, and made a string or a Buffer. Positions are
 * known beforehand, memory is allocated at its full length at once (which a decoder must not do
 * because a peer announces it), and text is gathered in memory that is in the cache.
 *
 * @param {{ first: number, payload: Buffer }[]} messages
 * @param {Buffer[]} frames one masked frame for each message
 * @param {Buffer[]} chunks the frames, cut into pieces of one length (the last may be shorter)
 * @returns {() => number} does the work for all chunks once, and returns how many messages there were
 */
function prepareLeastWork(messages, frames, chunks) {
  const size = chunks[0].length;
  const pieces = chunks.map(() => []);
  let frameStart = 0;
  messages.forEach(({ first, payload: { length } }, i) => {
    const header = frames[i].length - length;
    const key = frames[i].readUInt32LE(header - 4);
    for (let done = 0, count; done < length; done += count) {
      const at = frameStart + header + done;
      const start = at % size;
      count = Math.min(length - done, size - start);
      const text = first === TEXT;
      pieces[Math.floor(at / size)].push({ start, count, key: advanceKey(key, done), done, length, text });
    }
    frameStart += frames[i].length;
  });
  const empty = messages.filter(({ payload }) => payload.length === 0).length;
  const warm = Buffer.allocUnsafeSlow(Math.max(...messages.map(({ payload }) => payload.length)));
  let target = null;
  const make = (text, bytes, start, end) => (text ? bytes.latin1Slice(start, end) : bytes.subarray(start, end));

  return () => {
    let found = empty;
    chunks.forEach((chunk, i) => {
      for (const { start, count, key, done, length, text } of pieces[i]) {
        if (count === length) {
          backend.unmaskRange(chunk, start, count, key);
          if (make(text, chunk, start, start + count).length === length) found++;
          continue;
        }
        if (done === 0) target = text ? warm : Buffer.allocUnsafeSlow(length);
        backend.maskRange(chunk, start, target, done, count, key);
        if (done + count === length && make(text, target, 0, length).length === length) found++;
      }
    });
    return found;
  };
}

/** @returns {Record<string, (calls: number) => void>} loops that no decoder is faster than; see prepareLeastWork */
function createLimits(messages, frames, chunks) {
  const run = prepareLeastWork(messages, frames, chunks);
  const found = run();
  if (found !== messages.length) throw new Error(`the unavoidable work was done for ${found} messages`);
  const copies = chunks.map((chunk) => Buffer.from(chunk));
  return {
    memcpy(calls) {
      for (let i = 0; i < calls; i++) chunks.forEach((chunk, j) => void copies[j].set(chunk));
    },
    'the unavoidable work'(calls) {
      for (let i = 0; i < calls; i++) run();
    }
  };
}

module.exports = { createLimits };
