'use strict';

// Properties of the codec that others' tools can check, too: fast-check makes the input, and
// shortens one that fails.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const t = require('tap');
const { Encoder } = require('../index.js');
const { createDecoders } = require('./support/decoders');
const { seed } = require('./support/random');
const { TRIES_ALL } = require('./support/sample');

const RUNS = { seed, numRuns: TRIES_ALL ? 3000 : 300 };

/** Lengths at which the form of a header changes, and others. */
const length = fc.oneof(fc.nat(20), fc.constantFrom(125, 126, 127, 65_535, 65_536), fc.nat(3000));
const bytes = length.chain((size) => fc.nat(255).map((first) => Buffer.alloc(size, first)));
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  length.map((size) => 'x'.repeat(size))
);
/** The fragments of a message, and a Ping in front of each that may be. */
const fragment = (data) => fc.record({ data, ping: fc.option(fc.string({ maxLength: 30 }), { nil: null }) });
const message = fc.oneof(
  fc.array(fragment(bytes), { minLength: 1, maxLength: 4 }).map((fragments) => ({ kind: 'binary', fragments })),
  fc.array(fragment(text), { minLength: 1, maxLength: 4 }).map((fragments) => ({ kind: 'text', fragments }))
);
const role = fc.constantFrom('server', 'client');
const other = { server: 'client', client: 'server' };

/** @returns {{ stream: Buffer, expected: Array }} encoded messages, and a decoder's events */
function encode(sender, messages) {
  const encoder = new Encoder({ role: sender });
  const expected = [];
  for (const { kind, fragments } of messages) {
    for (const [i, { data, ping }] of fragments.entries()) {
      if (ping !== null) {
        encoder.ping(ping);
        expected.push(['ping', Buffer.from(ping).toString()]);
      }
      const fin = i === fragments.length - 1;
      if (i === 0) encoder[kind](data, { fin });
      else encoder.continuation(data, { fin });
    }
    const parts = fragments.map(({ data }) => data);
    // As UTF-8 has it: a half of a surrogate pair without its other half is U+FFFD.
    const whole = kind === 'text' ? Buffer.from(parts.join('')).toString() : Buffer.concat(parts).toString('hex');
    expected.push([kind, whole]);
  }
  return { stream: Buffer.concat(encoder.take()), expected };
}

/** Decodes a stream in pieces. @returns {Array} what was delivered */
function decode(Decoder, receiver, stream, cuts, limits) {
  const events = [];
  const decoder = new Decoder({
    role: receiver,
    ...limits,
    onMessage: (data, isBinary) => events.push(isBinary ? ['binary', data.toString('hex')] : ['text', data]),
    onPing: (data) => events.push(['ping', data.toString()]),
    onError: ({ code, closeCode }) => events.push(['error', code, closeCode])
  });
  const places = [...new Set(cuts.map((cut) => cut % (stream.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const to of [...places, stream.length]) {
    decoder.write(Buffer.from(stream.subarray(from, to)));
    from = to;
  }
  return events;
}

for (const { name, Decoder } of createDecoders()) {
  t.test(`${name}: what is encoded is decoded, however it is cut (seed ${seed})`, async (t) => {
    const property = fc.property(
      role,
      fc.array(message, { maxLength: 4 }),
      fc.array(fc.nat()),
      (from, messages, cuts) => {
        const { stream, expected } = encode(from, messages);
        assert.deepEqual(decode(Decoder, other[from], stream, cuts), expected);
      }
    );
    t.doesNotThrow(() => fc.assert(property, RUNS));
  });

  t.test(`${name}: a limit is kept to the byte, and to the fragment (seed ${seed})`, async (t) => {
    const property = fc.property(
      role,
      fc.array(length, { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat()),
      (from, sizes, cuts) => {
        const fragments = sizes.map((size) => ({ data: Buffer.alloc(size, 1), ping: null }));
        const { stream, expected } = encode(from, [{ kind: 'binary', fragments }]);
        const sum = sizes.reduce((a, b) => a + b);
        const check = (limits) => decode(Decoder, other[from], stream, cuts, limits);
        assert.deepEqual(check({ maxPayload: sum, maxFragments: sizes.length }), expected);
        if (sum > 0)
          assert.deepEqual(check({ maxPayload: sum - 1 }), [['error', 'FRAMEMASK_ERR_MESSAGE_TOO_BIG', 1009]]);
        const tooMany = [['error', 'FRAMEMASK_ERR_TOO_MANY_FRAGMENTS', 1008]];
        if (sizes.length > 1) assert.deepEqual(check({ maxFragments: sizes.length - 1 }), tooMany);
      }
    );
    t.doesNotThrow(() => fc.assert(property, RUNS));
  });
}
