'use strict';

const assert = require('node:assert/strict');
const { createCodecBackend } = require('../../lib/codec/backend');
const { forEachCase, testCases } = require('./cases');
const { decoderOver } = require('./codecs');
const { framesFor, piecesOf } = require('./frames');
const { createNatives } = require('./native-double');
const { assertEvents, eventsOf, record } = require('./recorder');

const ROLES = ['server', 'client'];

/** Byte-by-byte runs are left out for longer streams, which would take too long. */
const MAX_BYTE_BY_BYTE = 2000;

/**
 * Decoders over JavaScript alone, over a double of the addon, and over its best kernel.
 *
 * @returns {{ name: string, backend: CodecBackend,
 *   Decoder: typeof import('../../lib/codec/decoder').Decoder }[]} `name` is that of the backend
 */
function createDecoders() {
  const [js, double, ...kernels] = createNatives();
  return [js, double, ...kernels.slice(-1)].map(({ name, native }) => {
    const backend = createCodecBackend(native);
    return { name, backend, Decoder: decoderOver(backend) };
  });
}

/** @returns {number[]} where to cut `length` bytes into single ones */
function everyByte(length) {
  return Array.from({ length: Math.max(length - 1, 0) }, (_, i) => i + 1);
}

/** @returns {Object<string, Buffer[]>} ways to cut a stream of frames into chunks */
function chunkings(frames) {
  const bytes = Buffer.concat(frames);
  return {
    'one chunk': [bytes],
    'a chunk for each frame': frames,
    'a chunk for each byte': piecesOf(bytes, 1),
    'chunks of 7 bytes': piecesOf(bytes, 7),
    'chunks of 100 bytes': piecesOf(bytes, 100)
  };
}

/** Short for a test: the role is set, and events are compared. See `forEachDecoder`. */
function createCase(name, backend, DecoderClass, role) {
  const optionsOf = (options) => ({ role, ...options });

  /** What comes of bytes that are cut at some places. */
  function decodeCut(bytes, cuts, options) {
    return eventsOf(DecoderClass, optionsOf(options), bytes, cuts);
  }

  /** What comes of frames, in one chunk and byte by byte, which must be the same. */
  function decode(frames, options) {
    const bytes = Buffer.concat(frames);
    const events = decodeCut(bytes, [], options);
    if (bytes.length < MAX_BYTE_BY_BYTE) {
      assertEvents(decodeCut(bytes, everyByte(bytes.length), options), events, 'byte by byte, not as in one chunk');
    }
    return events;
  }

  /** Compares what comes of frames. */
  function check(frames, expected, what, options) {
    assert.deepEqual(decode(frames, options), expected, what);
  }

  /**
   * With which byte, from 1, a decoder that gets them one by one ends; undefined if it does not.
   */
  function refusedAfter(bytes, options) {
    const { decoder } = record(DecoderClass, optionsOf(options));
    for (let i = 0; i < bytes.length; i++) {
      decoder.write(Buffer.from([bytes[i]]));
      if (decoder.closed) return i + 1;
    }
    return undefined;
  }

  return {
    name: `${name}, ${role}`,
    backend,
    Decoder: DecoderClass,
    role,
    f: framesFor(role),
    check,
    decode,
    decodeCut,
    refusedAfter,
    record: (options) => record(DecoderClass, optionsOf(options))
  };
}

const DECODER_CASES = createDecoders().flatMap(({ name, backend, Decoder }) =>
  ROLES.map((role) => createCase(name, backend, Decoder, role))
);

/**
 * Calls `check` with a decoder of each backend in each role, and what makes its tests short:
 *
 * - `Decoder`, its `backend`, and `role`
 * - `f` makes frames that this role receives, see `framesFor`
 * - `decode(frames, options?)` gives the events of frames, in one chunk and byte by byte
 * - `check(frames, expected, what?, options?)` compares them
 * - `decodeCut(bytes, cuts, options?)` gives the events of bytes that are cut at some places
 * - `refusedAfter(bytes, options?)` gives the number of the byte with which a decoder ends
 * - `record(options?)` makes a decoder that records its events
 *
 * @param {(one: ReturnType<typeof createCase>) => void} check
 */
function forEachDecoder(check) {
  forEachCase(DECODER_CASES, check);
}

/** A test with each of these decoders. */
function testDecoders(title, check) {
  testCases(title, DECODER_CASES, check);
}

module.exports = { DECODER_CASES, ROLES, chunkings, createDecoders, everyByte, forEachDecoder, testDecoders };
