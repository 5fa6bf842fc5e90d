'use strict';

// The work of inflating on the event loop in one turn: its input, because empty DEFLATE blocks take
// time and put out nothing, and its output, because repetition puts out a thousand times its input.

const zlib = require('node:zlib');
const t = require('tap');
const { Decoder } = require('../../index');
const { callInTurn, countDeflated } = require('../../lib/shared/turn');
const { agree, deflateByZlib, emptyBlocks, json, useUpTurn } = require('../support/deflate');
const { BINARY, framesFor, piecesOf } = require('../support/frames');

const { binary, fragments } = framesFor('server');
const KIB = 1024;
/** The input of a turn at most. */
const OF_TURN = 128 * KIB;
const SMALL = deflateByZlib(json(160));
const LARGER = deflateByZlib(json(1280));
const nextTurn = () => new Promise(setImmediate);
/** A turn in which nothing has been inflated. */
const freshTurn = () => {
  useUpTurn();
  return nextTurn();
};

/** Counts calls. @returns {{ count: () => void, most: () => number }} the most calls in a turn */
function countInTurn() {
  let inTurn = 0;
  let most = 0;
  const count = (length = 1) => {
    if (inTurn === 0) {
      setImmediate(() => {
        inTurn = 0;
      });
    }
    inTurn += length;
    most = Math.max(most, inTurn);
  };
  return { count, most: () => most };
}

/** Counts zlib's input on the event loop. @returns {() => number} the most in a turn */
function countInput(t) {
  const handles = Object.getPrototypeOf(zlib.createInflateRaw()._handle);
  const { count, most } = countInTurn();
  const { writeSync } = handles;
  handles.writeSync = function (flush, bytes, offset, length, ...rest) {
    count(length);
    return writeSync.call(this, flush, bytes, offset, length, ...rest);
  };
  t.teardown(() => {
    handles.writeSync = writeSync;
  });
  return most;
}

function openDecoder(contextTakeover, threadPoolFrom) {
  const { server } = agree({ contextTakeover, threadPoolFrom });
  let decoder;
  const message = new Promise((resolve) => {
    decoder = new Decoder({ role: 'server', deflate: server, onMessage: resolve });
  });
  return { decoder, message };
}

for (const contextTakeover of [false, true]) {
  for (const [size, frames] of [
    [20, 1],
    [1024, 1],
    [1024, 1000]
  ]) {
    const how = `takeover ${contextTakeover}, ${frames} frames`;
    t.test(`a message of ${size} KiB is not inflated in one turn: ${how}`, async (t) => {
      const most = countInput(t);
      const { decoder, message } = openDecoder(contextTakeover);
      const bytes = emptyBlocks(size * KIB);
      const pieces = piecesOf(bytes, Math.ceil(bytes.length / frames));
      for (const frame of fragments(BINARY, pieces, 0x40)) decoder.write(frame);
      t.equal(decoder.inflating, true);
      t.equal((await message).length, 0);
      t.ok(most() <= (frames === 1 ? 16 * KIB : OF_TURN + KIB), `${most()} bytes on the event loop`);
    });
  }

  t.test(`many connections have a limit for each turn: takeover ${contextTakeover}`, async (t) => {
    await freshTurn();
    const most = countInput(t);
    const opened = Array.from({ length: 50 }, () => openDecoder(contextTakeover));
    for (const { decoder } of opened) decoder.write(binary(emptyBlocks(16 * KIB), { rsv: 0x40 }));
    const inflating = opened.filter(({ decoder }) => decoder.inflating).length;
    t.equal(inflating, 42, 'eight connections inflate 128 KiB on the event loop');
    t.ok(most() > 0 && most() <= OF_TURN + KIB, `${most()} bytes on the event loop`);
    const { decoder, message } = openDecoder(contextTakeover);
    decoder.write(binary(SMALL, { rsv: 0x40 }));
    t.equal(decoder.inflating, true);
    await nextTurn();
    t.equal(decoder.inflating, false, 'a small message waits for the next turn alone');
    t.equal(String(await message), String(json(160)));
    for (const { message } of opened) t.equal((await message).length, 0);
    await freshTurn();
    decoder.write(binary(LARGER, { rsv: 0x40 }));
    t.equal(decoder.inflating, false, 'a larger one is inflated at once in another turn');
  });

  t.test(`repetition has a limit for each turn: takeover ${contextTakeover}`, async (t) => {
    const zeros = binary(deflateByZlib(Buffer.alloc(100 * KIB)), { rsv: 0x40 });
    const [one, other, later] = Array.from({ length: 3 }, () => openDecoder(contextTakeover));
    await freshTurn();
    let written = 0;
    for (; written < 200 && !one.decoder.inflating; written++) one.decoder.write(Buffer.from(zeros));
    t.ok(written > 19 && written < 23, `2 MiB are ${written} messages`);
    other.decoder.write(binary(SMALL, { rsv: 0x40 }));
    t.equal(other.decoder.inflating, true, 'of all connections');
    t.equal(String(await other.message), String(json(160)));
    later.decoder.write(binary(SMALL, { rsv: 0x40 }));
    t.equal(later.decoder.inflating, false, 'in another turn');
  });

  t.test(`empty fragments after the limit of a turn: takeover ${contextTakeover}`, async (t) => {
    const { decoder, message } = openDecoder(contextTakeover);
    // Blocks without compression, which go to the thread pool; an abort of the process followed.
    const stored = zlib.deflateRawSync(Buffer.alloc(16 * KIB - 5), { level: 0 });
    stored[0] = 0;
    const pieces = [...Array(4).fill(stored), ...Array(3).fill(Buffer.alloc(0))];
    useUpTurn();
    for (const frame of fragments(BINARY, pieces, 0x40)) decoder.write(frame);
    t.equal(decoder.inflating, true);
    t.equal((await message).length, 4 * (16 * KIB - 5));
  });

  t.test(`threadPoolFrom: Infinity sets no limit: takeover ${contextTakeover}`, async (t) => {
    for (let i = 0; i < 3; i++) {
      const { decoder } = openDecoder(contextTakeover, Infinity);
      decoder.write(binary(emptyBlocks(100 * KIB), { rsv: 0x40 }));
      t.equal(decoder.inflating, false);
    }
  });
}

// Empty blocks of 88 bytes take 12 µs: ten connections that read 64 KiB of them held the event loop
// for seconds.

const RSV1 = 0x40;
const inOne = (bytes) => binary(bytes, { rsv: RSV1 });
const inFragments = (bytes) => Buffer.concat(fragments(BINARY, piecesOf(bytes, 11), RSV1));

/** As "00 00 00 ff ff", without its tail, ends a message (RFC 7692 section 7.2.1). */
const END = Buffer.of(0);
const EMPTY = Buffer.concat([emptyBlocks(90), END]);

for (const [what, payload, frame, messages, mostOfTurn, options] of [
  ['messages', EMPTY, inOne, 180, 1100],
  ['messages of one byte', END, inOne, 720, 4000],
  ['fragments', EMPTY, inFragments, 180, 400],
  ['messages in parts', EMPTY, inOne, 180, 1100, { partsFrom: 0 }],
  ['messages of one byte in parts', END, inOne, 720, 4000, { partsFrom: 0 }],
  ['messages that might be parts', EMPTY, inOne, 180, 1100, { partsFrom: 1000 }]
]) {
  for (const contextTakeover of [false, true]) {
    t.test(`small ${what} of all connections have a limit for each turn: takeover ${contextTakeover}`, async (t) => {
      await freshTurn();
      const input = countInput(t);
      const delivered = countInTurn();
      const { server: deflate } = agree({ contextTakeover });
      const counts = Array(50).fill(0);
      const open = (onMessage) =>
        new Decoder({
          ...{ role: 'server', deflate, borrowed: true, onMessage },
          ...(options && { ...options, onPart: (_bytes, _isBinary, isLast) => isLast && onMessage() })
        });
      const decoders = counts.map((_, i) =>
        open(() => {
          delivered.count();
          counts[i]++;
        })
      );
      const total = () => counts.reduce((sum, count) => sum + count);
      const chunk = Buffer.concat(Array(messages).fill(frame(payload)));
      for (const decoder of decoders) {
        const memory = Buffer.from(chunk);
        decoder.write(memory);
        // The caller reads into it again.
        memory.fill(0xff);
      }
      let before = null;
      open(() => {
        before = total();
      }).write(frame(SMALL));
      t.ok(decoders.filter(({ inflating }) => inflating).length > 25, 'most wait');
      while (total() < 50 * messages) await nextTurn();
      t.same(counts, Array(50).fill(messages));
      t.ok(input() <= OF_TURN + KIB, `${input()} bytes in a turn`);
      const most = delivered.most();
      t.ok(most <= mostOfTurn && most > mostOfTurn / 2, `${most} messages in a turn`);
      t.ok(before < total() * 0.8, `another connection's message comes after ${before} of ${total()}`);
    });
  }
}

for (const contextTakeover of [false, true]) {
  t.test(
    `above the limit of a turn the next one inflates a rest, or the pool: takeover ${contextTakeover}`,
    async (t) => {
      const handles = Object.getPrototypeOf(zlib.createInflateRaw()._handle);
      const { write } = handles;
      let jobs = 0;
      handles.write = function (...args) {
        jobs++;
        return write.apply(this, args);
      };
      t.teardown(() => {
        handles.write = write;
      });
      for (const [size, inPool] of [
        [100, false],
        [200, false],
        [400, true]
      ]) {
        await freshTurn();
        const { decoder, message } = openDecoder(contextTakeover);
        jobs = 0;
        const data = 'abc '.repeat(size * (KIB / 4));
        decoder.write(binary(deflateByZlib(data), { rsv: RSV1 }));
        t.equal(decoder.inflating, size > 100);
        t.equal(String(await message), data);
        t.equal(jobs > 0, inPool, `${size} KiB: ${jobs} runs in the thread pool`);
      }
    }
  );
}

t.test('bytes that were compressed in earlier turns hold back no callback', async (t) => {
  for (let i = 0; i < 8; i++) {
    countDeflated(256 * KIB);
    await nextTurn();
  }
  let isCalled = false;
  callInTurn([() => (isCalled = true)], null);
  t.equal(isCalled, true);
});

t.test('callbacks of writes go on in a later turn, in order; with an error those before it come first', async (t) => {
  await freshTurn();
  const called = [];
  const count = (error) => called.push(error);
  for (let i = 0; i < 3000; i++) callInTurn([count], null);
  const first = called.length;
  t.ok(first >= 500 && first < 3000, `${first} in one turn`);
  callInTurn([count, count], 'broken');
  t.same([called.length, ...called.slice(-3)], [3002, null, 'broken', 'broken']);
  called.length = 0;
  const again = () => {
    called.push(null);
    if (called.length < 5000) callInTurn([again], null);
  };
  again();
  for (let turns = 1; called.length < 5000; turns++) {
    t.ok(called.length <= turns * 2000, `${called.length} in ${turns} turns`);
    await nextTurn();
  }
});
