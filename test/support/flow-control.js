'use strict';

// The matrix of the flow-control tests: each backend, role, stream, set of handlers, and way to cut
// the stream.

const { forEachCase } = require('./cases');
const { DECODER_CASES } = require('./decoders');
const { seed } = require('./random');
const { TRIES_ALL } = require('./sample');

const SILENT = { onMessage: undefined, onPing: undefined, onPong: undefined, onClose: undefined };

/**
 * Sets of handlers: for messages, for messages and frames, for frames alone, and with text as
 * Buffers.
 */
const VARIANTS = [{}, { frames: true }, { frames: true, ...SILENT }, { text: 'buffer' }];

/**
 * A stream that ends with a Close frame, with each kind of event, and one that ends with an error.
 */
const STREAMS = {
  close: (f) => [
    f.text('Hello'),
    f.text('again'),
    f.binary('b'),
    f.ping('p'),
    f.text('é'),
    f.text('one ', { fin: false }),
    f.pong(''),
    f.continuation('two ', { fin: false }),
    f.continuation('three'),
    f.binary('x'.repeat(300)),
    f.text(''),
    f.text('y'.repeat(2000)),
    f.ping(''),
    f.close(1000, 'bye'),
    f.text('late')
  ],
  error: (f) => [f.text('a'), f.text('b', { fin: false }), f.ping('c'), f.text('d'), f.text('late')]
};

/** @returns {Object<string, Buffer[]>} ways to cut a stream into chunks */
function chunkings(frames) {
  const bytes = Buffer.concat(frames);
  const pieces = (size) => {
    const chunks = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
    return chunks;
  };
  return {
    'one chunk': [bytes],
    'a chunk for each frame': frames,
    'a chunk for each byte': pieces(1),
    'chunks of 7 bytes': pieces(7),
    'chunks of 100 bytes': pieces(100)
  };
}

/**
 * @typedef {object} StreamCase
 * @property {string} name
 * @property {Buffer[]} chunks of the stream; a decoder is to get copies, because it unmasks in
 *   place
 * @property {Array[]} expected the events of the stream
 * @property {(options?: object) => ReturnType<typeof import('./recorder').record>} record
 */

/** @returns {Generator<StreamCase>} */
function* streamCases() {
  for (const { name, f, decodeCut, record } of DECODER_CASES) {
    for (const [ending, make] of Object.entries(STREAMS)) {
      const frames = make(f);
      for (const variant of VARIANTS) {
        const expected = decodeCut(Buffer.concat(frames), [], variant);
        for (const [how, chunks] of Object.entries(chunkings(frames))) {
          const handlers = `handlers {${Object.keys(variant)}}`;
          yield {
            name: `${name}, stream with ${ending}, ${handlers}, ${how}`,
            chunks,
            expected,
            record: (options) => record({ ...variant, ...options })
          };
        }
      }
    }
  }
}

/** @param {(one: StreamCase) => void} check */
function forEachStream(check) {
  forEachCase(streamCases(), check);
}

/**
 * How many events there are when the event at `k` has thrown. If it is the call of `onFrame`, the
 * message of that frame follows still: nothing is lost.
 */
function endOfFrame(expected, k) {
  const next = expected[k + 1];
  const together = expected[k][0] === 'frame' && next !== undefined && next[0] !== 'frame' && next[0] !== 'error';
  return together ? k + 2 : k + 1;
}

/** Whether nothing follows an event. */
function isEnd([type]) {
  return type === 'close' || type === 'error';
}

/** 600 frames in a chunk, and one that begins behind them and ends in a chunk of its own. */
function manyFrames(f) {
  const frames = Array.from({ length: 600 }, (_, i) => (i % 11 === 0 ? f.ping(String(i)) : f.text(String(i))));
  const bytes = Buffer.concat([...frames, f.binary('across chunks')]);
  return [bytes.subarray(0, bytes.length - 5), bytes.subarray(bytes.length - 5)];
}

/**
 * @returns {number[]} the events of `manyFrames` that a test tries one by one. A sample has those
 * about the ends of the frame tables, of 256 frames each, and every fifth.
 */
function someOf(events) {
  const isTried = (k) => TRIES_ALL || (k + 2) % 256 < 5 || k > 597 || (k + seed) % 5 === 0;
  return [...events.keys()].filter(isTried);
}

module.exports = { STREAMS, VARIANTS, endOfFrame, forEachStream, isEnd, manyFrames, someOf };
