'use strict';

const { randomInt } = require('node:crypto');
const { Decoder } = require('../../lib/codec/decoder');
const { createCodecBackend } = require('../../lib/codec/backend');
const { createNativeDouble } = require('./native-double');
const { nativeKernels } = require('./natives');

const ROLES = ['server', 'client'];

/**
 * Decoders over JavaScript, over a double of the addon (so that what only the addon says of a payload is there without
 * one), and over the best kernel of the addon.
 *
 * @returns {{ name: string, Decoder: typeof Decoder }[]}
 */
function createDecoders() {
  const natives = [
    { name: 'js', native: null },
    { name: 'double', native: createNativeDouble() }
  ];
  return [...natives, ...nativeKernels().slice(-1)].map(({ name, native }) => {
    class DecoderOver extends Decoder {}
    DecoderOver.prototype._backend = createCodecBackend(native);
    return { name, Decoder: DecoderOver };
  });
}

/**
 * A decoder that writes down what it delivers, as arrays that compare well: bytes as a string of one character each.
 *
 * @param {typeof Decoder} DecoderClass
 * @param {object} options of the decoder, and:
 * @param {boolean} [options.frames] whether to write down what `onFrame` gets
 * @param {(event: Array, decoder: Decoder) => void} [options.after] called after each event is written down
 * @returns {{ decoder: Decoder, events: Array[], intact: () => boolean }} `intact` says whether all that was delivered
 *   as a Buffer still holds what it held then
 */
function record(DecoderClass, { frames = false, after, ...options }) {
  const events = [];
  const delivered = [];
  const bytesOf = (data) => {
    const bytes = data.latin1Slice(0, data.length);
    delivered.push({ data, bytes });
    return bytes;
  };
  const note = (...event) => {
    events.push(event);
    after?.(event, decoder);
  };
  const decoder = new DecoderClass({
    onMessage(data, isBinary, rsv1) {
      if (typeof data === 'string') note('string', data, isBinary, rsv1);
      else note(isBinary ? 'binary' : 'text', bytesOf(data), rsv1);
    },
    onPing: (payload) => note('ping', bytesOf(payload)),
    onPong: (payload) => note('pong', bytesOf(payload)),
    onClose: (code, reason) => note('close', code, reason),
    onError: (error) => note('error', error.code.replace('FRAMEMASK_ERR_', ''), error.closeCode),
    ...(frames && { onFrame: (first, bytes, start, end) => note('frame', first, bytes.latin1Slice(start, end)) }),
    ...options
  });
  return {
    decoder,
    events,
    intact: () => delivered.every(({ data, bytes }) => data.latin1Slice(0, data.length) === bytes)
  };
}

/**
 * What comes of bytes that arrive in pieces. Each piece is a copy of its own, for a decoder unmasks in place.
 *
 * @param {typeof Decoder} DecoderClass
 * @param {object} options as `record` has them
 * @param {Uint8Array} bytes
 * @param {number[]} cuts where the pieces begin, but for the first
 * @returns {Array[]} events
 */
function eventsOf(DecoderClass, options, bytes, cuts = []) {
  const { decoder, events, intact } = record(DecoderClass, options);
  let start = 0;
  for (const end of [...cuts, bytes.length]) {
    decoder.write(Buffer.from(bytes.subarray(start, end)));
    start = end;
  }
  if (!intact()) throw new Error('A Buffer that was delivered has changed since');
  return events;
}

/** The seed of a random test: another in each run, so it goes into the message of whatever fails. */
const seed = Number(process.env.FRAMEMASK_TEST_SEED ?? randomInt(2 ** 32));

module.exports = { ROLES, createDecoders, eventsOf, record, seed };
