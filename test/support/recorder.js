'use strict';

const assert = require('node:assert/strict');

/**
 * What a decoder delivered, as arrays that compare well. The first element is the kind: 'string',
 * 'text' (a Buffer of text), 'binary', 'ping', 'pong', 'close', 'error' or 'frame'. Bytes are
 * strings of one character each.
 *
 * @typedef {Array} Event
 */

/** @returns {Event} a text message, delivered as a string */
const string = (text) => ['string', text, false];

/** @returns {Event} a text message, delivered as a Buffer */
const textBuffer = (bytes) => ['text', bytes.latin1Slice()];

/** @returns {Event} a binary message; as a string, each character is a byte */
const binary = (bytes) => ['binary', typeof bytes === 'string' ? bytes : bytes.latin1Slice()];

/**
 * A decoder that records what it delivers.
 *
 * @param {typeof import('../../lib/codec/decoder').Decoder} DecoderClass
 * @param {object} options of the decoder, and:
 * @param {boolean} [options.frames] whether to record the calls of `onFrame`, in place of
 *   `onMessage`
 * @param {(event: Event, decoder: object) => void} [options.after] called when an event has been
 *   recorded
 * @returns {{ decoder: object, events: Event[], intact: () => boolean }} `intact` tells whether
 *   each Buffer delivered still has the bytes that it had then
 */
function record(DecoderClass, { frames = false, after, ...options }) {
  const events = [];
  const delivered = [];
  const bytesOf = (data, start = 0, end = data.length) => {
    const bytes = data.latin1Slice(start, end);
    delivered.push({ data, start, end, bytes });
    return bytes;
  };
  const note = (...event) => {
    events.push(event);
    after?.(event, decoder);
  };
  const onMessage = (data, isBinary) => {
    if (typeof data === 'string') note('string', data, isBinary);
    else note(isBinary ? 'binary' : 'text', bytesOf(data));
  };
  const onFrame = (firstByte, bytes, start, end) => note('frame', firstByte, bytesOf(bytes, start, end));
  const decoder = new DecoderClass({
    ...(frames ? { onFrame } : { onMessage }),
    onPing: (payload) => note('ping', bytesOf(payload)),
    onPong: (payload) => note('pong', bytesOf(payload)),
    onClose(code, reason, bytes) {
      bytesOf(bytes);
      note('close', code, reason);
    },
    onError: (error) => note('error', error.code.replace('FRAMEMASK_ERR_', ''), error.closeCode),
    ...options
  });
  return {
    decoder,
    events,
    intact: () => delivered.every(({ data, start, end, bytes }) => data.latin1Slice(start, end) === bytes)
  };
}

/**
 * What a decoder makes of bytes that arrive in pieces. Each piece is a copy, because a decoder
 * unmasks in place.
 *
 * @param {typeof import('../../lib/codec/decoder').Decoder} DecoderClass
 * @param {object} options see `record`
 * @param {Uint8Array} bytes
 * @param {number[]} [cuts] where each piece but the first begins
 * @returns {Event[]}
 */
function eventsOf(DecoderClass, options, bytes, cuts = []) {
  const { decoder, events, intact } = record(DecoderClass, options);
  let start = 0;
  for (const end of [...cuts, bytes.length]) {
    decoder.write(Buffer.from(bytes.subarray(start, end)));
    start = end;
  }
  if (!intact()) throw new Error('A Buffer has changed after it was delivered');
  return events;
}

/**
 * Compares events, whose elements are primitives: in long matrices assert.deepEqual would take most
 * of the time.
 */
function sameEvents(actual, expected) {
  const sameEvent = (event, other) => event.length === other.length && event.every((value, i) => value === other[i]);
  return actual.length === expected.length && actual.every((event, i) => sameEvent(event, expected[i]));
}

/** @throws {assert.AssertionError} that shows the first event that differs */
function assertEvents(actual, expected, what = 'events') {
  if (sameEvents(actual, expected)) return;
  const [got, wanted] = [actual, expected].map((events) => events.map((event) => JSON.stringify(event)));
  const index = got.findIndex((event, i) => event !== wanted[i]);
  const at = index === -1 ? got.length : index;
  const show = (event) => event?.slice(0, 200);
  assert.fail(`${what}: event ${at} of ${got.length} is ${show(got[at])}, not ${show(wanted[at])}`);
}

module.exports = { assertEvents, binary, eventsOf, record, sameEvents, string, textBuffer };
