'use strict';

// Attacks on the codec alone: a Decoder that gets their bytes, and an Encoder.

const assert = require('node:assert/strict');
const { Writable } = require('node:stream');
const t = require('tap');
const { Encoder } = require('../..');
const { LENGTHS } = require('../support/attacks/attacks');
const { forEachCase } = require('../support/cases');
const { collectGarbage } = require('../support/collect-garbage');
const { forEachDecoder } = require('../support/decoders');
const { LONG } = require('../support/sample');

const MIB = 1024 * 1024;
const CHUNK = 64 * 1024;
/** The default of maxFragments, that of ws. */
const MAX_FRAGMENTS = 16 * 1024;
const OPEN = { fin: false };

function memoryInUse() {
  // The memory of Buffers is freed beside the first collection, and finished by the second.
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** A test of the decoders of each backend, in each role. */
const testDecoders = (title, check) => t.test(title, LONG, async () => forEachDecoder(check));

/** Fails if the things that `make` returns hold more bytes than `most`. */
function assertHeld(make, count, most, what) {
  const makeAll = () => Array.from({ length: count }, make);
  // The first run also allocates what all of them share.
  makeAll();
  // V8 may compile or collect meanwhile: what the things hold, they hold each time.
  let held;
  for (let run = 0; run < 3; run++) {
    const before = memoryInUse();
    const kept = makeAll();
    held = memoryInUse() - before;
    assert.equal(kept.length, count);
    if (held < most) return;
  }
  assert.fail(`${what} hold ${held} bytes`);
}

// CVE-2026-48779: a receiver that keeps each chunk until the payload is complete keeps about a
// hundred bytes for each byte.
testDecoders('tiny-chunks: a decoder keeps no chunks', ({ f, record }) => {
  const make = () => {
    const { decoder } = record();
    decoder.write(f.binary('', { length: MIB }));
    for (let i = 0; i < 10_000; i++) decoder.write(Buffer.alloc(1));
    assert.equal(decoder.closed, false);
    return decoder;
  };
  assertHeld(make, 1, MIB / 2, '10,000 bytes');
});

// CVE-2026-48779, CVE-2026-62389: fragments of one byte cost the peer 7 bytes each, and a receiver
// that keeps each of them as a Buffer about a hundred.
testDecoders(
  'tiny-fragments, unfinished-fragments: they are gathered in one piece of memory, and counted',
  ({ f, record }) => {
    const tiny = f.continuation('x', OPEN);
    const block = Buffer.concat(Array(MAX_FRAGMENTS / 16).fill(tiny));
    const begin = () => {
      const { decoder, events } = record();
      decoder.write(f.binary('x', OPEN));
      for (let i = 0; i < 16; i++) decoder.write(Buffer.from(i === 0 ? block.subarray(tiny.length) : block));
      assert.equal(decoder.closed, false);
      return { decoder, events };
    };
    assertHeld(begin, 5, MIB / 2, '5 messages of 16,384 fragments');
    const { decoder, events } = begin();
    decoder.write(Buffer.from(tiny));
    assert.deepEqual(events, [['error', 'TOO_MANY_FRAGMENTS', 1008]]);
  }
);

testDecoders('unfinished-fragments: stop() releases a message that is not finished', ({ f, record }) => {
  const make = () => {
    const { decoder } = record();
    decoder.write(f.binary(Buffer.alloc(100_000), OPEN));
    decoder.write(f.continuation(Buffer.alloc(100_000), OPEN));
    decoder.stop();
    return decoder;
  };
  assertHeld(make, 20, MIB, '20 messages of 200,000 bytes');
});

// CVE-2026-12151, CVE-2026-9675: empty fragments never exceed a limit of bytes.
testDecoders('empty-fragments: a decoder counts them, and holds nothing for them', ({ f, record }) => {
  const empty = f.continuation('', OPEN);
  const begin = (count, options) => {
    const { decoder, events } = record(options);
    decoder.write(f.text('', OPEN));
    decoder.write(Buffer.concat(Array(count).fill(empty)));
    assert.equal(decoder.closed, false);
    return { decoder, events };
  };
  for (const maxPayload of [0, undefined]) {
    const { decoder, events } = begin(MAX_FRAGMENTS - 1, { maxPayload });
    decoder.write(Buffer.from(empty));
    assert.deepEqual(events, [['error', 'TOO_MANY_FRAGMENTS', 1008]]);
  }
  assertHeld(() => begin(1000), 100, MIB, '100 messages of 1,001 empty fragments');
});

testDecoders(
  'interleaved-control-frames: each is delivered at its place, and fragments alone are counted',
  ({ f, record }) => {
    const { decoder, events } = record();
    decoder.write(f.text('x', OPEN));
    let count = 1;
    while (!decoder.closed) {
      decoder.write(Buffer.concat([f.ping(`${count}`), f.pong(''), f.continuation('x', OPEN)]));
      count++;
    }
    assert.equal(count, MAX_FRAGMENTS + 1);
    const pings = events.filter(([kind]) => kind === 'ping').map(([, payload]) => Number(payload));
    assert.deepEqual(
      pings,
      Array.from({ length: count - 1 }, (_, i) => i + 1)
    );
    assert.deepEqual(events.at(-1), ['error', 'TOO_MANY_FRAGMENTS', 1008]);
  }
);

// CVE-2016-10544, CVE-2026-1526: limits that are checked when the message is already in memory.
testDecoders('late-limits: a message is judged by its headers, compressed or not', ({ f, refusedAfter }) => {
  for (const rsv of [0, 0x40]) {
    const options = { maxPayload: 1000, ...(rsv !== 0 && { frames: true, rsv1: true }) };
    const header = f.binary('', { length: 1001, rsv });
    assert.equal(refusedAfter(Buffer.concat([header, Buffer.alloc(10)]), options), header.length);
    const begun = f.binary(Buffer.alloc(1000), { ...OPEN, rsv });
    const next = f.continuation('', { length: 1 });
    const bytes = Buffer.concat([begun, next, Buffer.alloc(10)]);
    assert.equal(refusedAfter(bytes, options), begun.length + next.length);
  }
});

// CVE-2026-1528, CVE-2020-27813: 64-bit lengths that become negative or small when they are read
// into a shorter or signed number, or added to those of earlier fragments.
testDecoders(
  'wrapping-lengths: a decoder refuses each at the last byte of its header',
  ({ f, refusedAfter, decode, record }) => {
    forEachCase(LENGTHS, (length) => {
      const error = length >= 2n ** 63n ? ['error', 'LENGTH', 1002] : ['error', 'MESSAGE_TOO_BIG', 1009];
      for (const begin of [[], [f.binary('x', OPEN)]]) {
        const header = (begin.length === 0 ? f.binary : f.continuation)('', { length, lengthSize: 8 });
        const frames = [...begin, header, Buffer.alloc(16)];
        assert.deepEqual(decode(frames), [error]);
        // A top bit is refused with the length, before the masking key.
        const bytes = Buffer.concat(frames);
        assert.ok(refusedAfter(bytes) <= bytes.length - 16);
      }
    });
    const { decoder, events } = record({ maxPayload: Number.POSITIVE_INFINITY });
    decoder.write(f.binary(Buffer.alloc(1000), OPEN));
    decoder.write(f.continuation('', { length: 2n ** 53n - 1n, lengthSize: 8 }));
    decoder.write(Buffer.alloc(16));
    assert.deepEqual(events, [['error', 'MESSAGE_TOO_BIG', 1009]], 'without a limit');
  }
);

// ws 8.22.2: a small payload that is kept, and that is a view of what the socket read, keeps all 64
// KiB of it. framemask delivers Buffers as views, and its documentation says so: copy them to keep
// them.
const PINNED = 50;

testDecoders('pinned-chunks: a short text, or a copy of a payload, keeps no chunk', ({ Decoder, f, role }) => {
  const cases = [
    { name: 'ASCII', frame: f.text('x'.repeat(100)), keep: (text) => text },
    { name: 'not ASCII', frame: f.text('é'.repeat(50)), keep: (text) => text },
    { name: 'binary', frame: f.binary('x'.repeat(100)), keep: Buffer.from },
    { name: 'a ping', frame: f.ping('x'.repeat(100)), keep: Buffer.from }
  ];
  forEachCase(cases, ({ frame, keep }) => {
    const chunk = Buffer.concat(Array(Math.floor(CHUNK / frame.length)).fill(frame));
    const make = () => {
      let kept;
      const take = (data) => {
        kept ??= keep(data);
      };
      new Decoder({ role, onMessage: take, onPing: take }).write(Buffer.from(new Uint8Array(chunk).buffer));
      assert.equal(Buffer.byteLength(kept), 100);
      return kept;
    };
    assertHeld(make, PINNED, (PINNED * CHUNK) / 2, `${PINNED} payloads of 100 bytes`);
  });
});

testDecoders('pinned-chunks: a decoder between two chunks keeps neither', ({ f, record }) => {
  const frame = f.text('x'.repeat(94));
  const make = () => {
    const { decoder } = record({ onMessage() {} });
    // The last frame is cut in its header, or in its payload.
    for (const size of [1, 8]) {
      const bytes = Buffer.concat([...Array(600).fill(frame), frame.subarray(0, size)]);
      decoder.write(Buffer.from(new Uint8Array(bytes).buffer));
      if (size === 1) decoder.write(Buffer.from(frame.subarray(1)));
    }
    return decoder;
  };
  assertHeld(make, PINNED, (PINNED * CHUNK) / 2, `${PINNED} decoders`);
});

// CVE-2026-109932, CVE-2026-11586: a peer that sends Ping frames and never reads the Pong frames,
// so that they fill the memory. test/connection/flow.js has the same attack on a Connection.
testDecoders(
  'unread-pongs: flush() says that the peer does not read, and pause() holds the other pings',
  ({ Decoder, f, role }) => {
    const stuck = new Writable({ highWaterMark: 16 * 1024, write() {} });
    const encoder = new Encoder({ role });
    let pings = 0;
    const decoder = new Decoder({
      role,
      onPing(payload) {
        pings++;
        encoder.pong(payload);
        if (!encoder.flush(stuck)) this.pause();
      }
    });
    const chunk = Buffer.concat(Array(500).fill(f.ping('x'.repeat(125))));
    assert.equal(decoder.write(chunk), false, 'stop reading');
    assert.ok(decoder.paused);
    assert.ok(stuck.writableLength <= stuck.writableHighWaterMark + 131, `${stuck.writableLength} bytes wait`);
    assert.ok(pings < 500, `${pings} were answered`);
    assert.equal(encoder.pending, 0);
  }
);

// CVE-2026-45736: a typed array as the reason of a Close frame. If its elements are taken for its
// bytes, the frame has bytes of memory that nobody wrote.
t.test('close-reasons: a frame has the bytes of a view, and no others', async (t) => {
  const memory = Uint8Array.from({ length: 96 }, (_, i) => 0x61 + (i % 26)).buffer;
  const lies = (view, length, byteLength) =>
    Object.defineProperties(view, { length: { value: length }, byteLength: { value: byteLength } });
  const views = [
    ...[Uint8Array, Uint8ClampedArray, Uint16Array, Int32Array, Float32Array, Float64Array, BigUint64Array].map(
      (Type) => new Type(memory, 8, 24 / Type.BYTES_PER_ELEMENT)
    ),
    new DataView(memory, 8, 24),
    lies(new Uint8Array(memory, 8, 24), 100, 100),
    lies(new Uint16Array(memory, 8, 12), 1, 123)
  ];
  const bytes = Buffer.from(memory, 8, 24);
  const payloadOf = (encoder) => Buffer.concat(encoder.take()).subarray(2);
  forEachCase(
    views.map((view) => ({ name: view[Symbol.toStringTag], view })),
    ({ view }) => {
      const closing = new Encoder({ role: 'server' });
      closing.close(1000, view);
      assert.deepEqual(payloadOf(closing), Buffer.concat([Buffer.from([3, 232]), bytes]));
      for (const method of ['ping', 'pong', 'binary']) {
        const encoder = new Encoder({ role: 'server' });
        encoder[method](view);
        assert.deepEqual(payloadOf(encoder), bytes, method);
      }
    }
  );
  const encoder = new Encoder({ role: 'server' });
  t.throws(() => encoder.close(1000, new Float64Array(16)), RangeError, '16 elements of 8 bytes');
  t.equal(encoder.pending, 0);
});
