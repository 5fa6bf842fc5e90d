'use strict';

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');
const zlib = require('node:zlib');
const { promisify } = require('node:util');
const t = require('tap');
const { until } = require('../support/promises');
const { PartStream } = require('../../lib/codec/part-stream');
const { Deflater } = require('../../lib/deflate/deflater');
const { Inflater } = require('../../lib/deflate/inflater');
const { MAX_JOBS, noteUse, releaseIdle } = require('../../lib/deflate/contexts');
const { OUTPUT_SIZE, ZlibHandle, rooms, supportsSyncZlib, trySyncZlib } = require('../../lib/deflate/zlib-handle');
const { deflateByZlib, json: textOf, newStreams, nextPart, useUpTurn } = require('../support/deflate');
const { readDeflate } = require('../support/deflate-reader');
const { createRandom, seed } = require('../support/random');

const { Z_SYNC_FLUSH } = zlib.constants;
const TAIL = Buffer.from('0000ffff', 'hex');
const NO_LIMIT = Infinity;

const TOO_BIG = { name: 'FrameError', code: 'FRAMEMASK_ERR_MESSAGE_TOO_BIG', closeCode: 1009 };
const NOT_DEFLATE = { name: 'FrameError', code: 'FRAMEMASK_ERR_DEFLATE', closeCode: 1007 };

/** A Deflater; by default of messages that refer to those before them. */
const deflaterOf = ({ windowBits = 15, contextTakeover = true, zlibOptions, level = -1, memLevel = 8 } = {}) =>
  new Deflater({ windowBits, contextTakeover, zlibOptions, settings: { level, memLevel } });
const deflate = (deflater, bytes, length = bytes.length) => Buffer.from(deflater.deflate(bytes, length, true));
const deflateLater = (deflater, bytes) => promisify(deflater.deflateLater).call(deflater, bytes, bytes.length, true);

const json = (count) => Buffer.from(textOf(count));
const bytesOf = (random, length) => Buffer.from(Array.from({ length }, () => random(256)));

/**
 * An Inflater; by default of messages that refer to those before them, on the event loop.
 * `most` bytes of a message come out on the event loop; `handles`: whether by those of Node's zlib.
 */
function inflaterOf({ most = NO_LIMIT, inParts = false, handles, ...direction } = {}) {
  const settings = { threadPoolFrom: most / 4 };
  return new Inflater({ windowBits: 15, contextTakeover: true, settings, ...direction }, inParts, handles);
}

/** @returns {Promise<Buffer>} a message, inflated */
async function inflate(inflater, bytes, limit = NO_LIMIT) {
  const stream = new PartStream(0x82, null, inflater, limit, NO_LIMIT, undefined);
  stream.add(bytes, true, true);
  return nextPart(stream);
}

async function inflateOnce(options, bytes, limit) {
  const inflater = inflaterOf(options);
  try {
    return await inflate(inflater, bytes, limit);
  } finally {
    inflater.close();
  }
}

/** All ways to inflate a message. */
const WAYS = {
  'a handle': { contextTakeover: false },
  'the documented API': { contextTakeover: false, handles: false },
  'the thread pool': { contextTakeover: false, most: 0 },
  'a context': {},
  'a context in the thread pool': { most: 0 },
  'a context in the thread pool, without handles': { handles: false },
  'in parts': { inParts: true }
};

t.test(`7.2.1: compresses as zlib does, for every window, level and memory (seed ${seed})`, async () => {
  const random = createRandom(seed);
  for (const bytes of [Buffer.from('a'), json(3), json(2000), bytesOf(random, 100_000)]) {
    for (let windowBits = 9; windowBits <= 15; windowBits++) {
      const options = { windowBits, level: random(11) - 1, memLevel: 1 + random(9) };
      const expected = deflateByZlib(bytes, options);
      const deflater = deflaterOf({ ...options, contextTakeover: false });
      const alone = (handles) => Buffer.from(deflater.deflateAlone(bytes, bytes.length, handles));
      // With a handle, zlib ends blocks as it does for ws: test/ws/compression.js compares them.
      assert.ok(alone(false).equals(expected), JSON.stringify(options));
      const later = await deflateLater(deflater, bytes);
      for (const handles of [true, false]) {
        for (const deflated of [expected, alone(true), later]) {
          const inflated = await inflateOnce({ windowBits, contextTakeover: false, handles }, deflated);
          assert.ok(inflated.equals(bytes), JSON.stringify(options));
        }
      }
    }
  }
});

const whole = deflateByZlib(json(100));
const half = whole.subarray(0, whole.length >> 1);
const truncated = (bytes) => zlib.inflateRawSync(Buffer.concat([bytes, TAIL]), { finishFlush: Z_SYNC_FLUSH });
const withoutEnd = Buffer.from('6b2c585d61355768', 'hex');

for (const [title, input, expected] of [
  ['7.2.3: a fixed block', 'f248cdc9c90700', 'Hello'],
  ['7.2.3: a block without compression', '000500faff48656c6c6f00', 'Hello'],
  ['7.2.3: a final block', 'f348cdc9c9070000', 'Hello'],
  ['7.2.3: two blocks', 'f248050000' + '00ffffcac9c90700', 'Hello'],
  ['7.2.3.4: ignores what follows a final block, as ws does', 'f348cdc9c9070000deadbeef', 'Hello'],
  ['7.2.2: a tail that was not removed', Buffer.concat([whole, TAIL]), json(100)],
  ['7.2.2: a stored block that is not complete', '000800f7ff4865', Buffer.from('He\0\0\xff\xff', 'latin1')],
  // The bits of the tail are read as more of it.
  ['7.2.2: half of a message', half, truncated(half)],
  // 115 bytes more came out, when more than the RFC's tail was appended.
  ['7.2.2: a block without its end', withoutEnd, truncated(withoutEnd)],
  ['7.2.2: refuses a block type that does not exist', '07', NOT_DEFLATE],
  ['7.2.2: refuses a stored block of a wrong length', '000500ffff48', NOT_DEFLATE]
]) {
  t.test(title, async () => {
    const bytes = Buffer.from(input, 'hex');
    for (const [way, options] of Object.entries(WAYS)) {
      if (expected === NOT_DEFLATE) await assert.rejects(inflateOnce(options, bytes), NOT_DEFLATE, way);
      else assert.deepEqual(await inflateOnce(options, bytes), Buffer.from(expected), way);
    }
  });
}

t.test('7.1.2: refuses a message that refers to what is outside of the agreed window', async () => {
  const random = createRandom(seed);
  const noise = bytesOf(random, 20_000);
  const bytes = Buffer.concat([noise, noise.subarray(0, 500)]);
  const large = deflateByZlib(bytes, { windowBits: 15 });
  const first = deflateByZlib(noise, { windowBits: 15 });
  // Within one message zlib sees what it has just put out, whatever its window.
  assert.ok((await inflateOnce({}, large)).equals(bytes));
  const deflater = deflaterOf();
  const inflater = inflaterOf({ windowBits: 9 });
  const one = deflate(deflater, noise);
  const two = deflate(deflater, noise, 500);
  assert.ok(first.length === one.length && two.length < 100);
  await inflate(inflater, one);
  await assert.rejects(inflate(inflater, two), NOT_DEFLATE);
  deflater.end();
  inflater.close();
});

/** Pieces that come twice, at each distance around the limits of windows. */
function repetitions(random) {
  const distances = [8, 245, 249, 250, 251, 255, 256, 257, 511];
  return Buffer.concat(
    distances.flatMap((distance) => {
      const piece = bytesOf(random, 7);
      return [piece, bytesOf(random, distance - piece.length), piece];
    })
  );
}

// zlib does not compress with a window of 256 bytes: it refuses, or takes 512.
t.test(`7.1.2: compresses for a window of 256 bytes, whatever the level and strategy (seed ${seed})`, async () => {
  const random = createRandom(seed);
  const bytes = repetitions(random);
  let most = 0;
  for (const contextTakeover of [false, true]) {
    for (let strategy = 0; strategy <= 4; strategy++) {
      for (let level = -1; level <= 9; level++) {
        const zlibOptions = strategy === 0 ? undefined : { strategy };
        const options = { windowBits: 8, contextTakeover, level, memLevel: 1 + random(9), zlibOptions };
        const deflater = deflaterOf(options);
        const what = JSON.stringify(options);
        const parts = [0, 1000, 1300, bytes.length];
        const deflated = [deflater.deflate(bytes, bytes.length, true), await deflateLater(deflater, bytes)];
        for (const i of [1, 2, 3]) {
          const part = bytes.subarray(parts[i - 1], parts[i]);
          deflated.push(Buffer.from(deflater.deflate(part, part.length, i === 3)));
        }
        deflater.end();
        for (const i of [0, 1, 4]) deflated[i] = Buffer.concat([deflated[i], TAIL]);
        const stream = Buffer.concat(deflated);
        const { bytes: read, farthest } = readDeflate(stream);
        assert.ok(read.equals(Buffer.concat([bytes, bytes, bytes])), what);
        assert.ok(farthest <= 256, `${what} refers ${farthest} bytes back`);
        most = Math.max(most, farthest);
        assert.ok(zlib.inflateRawSync(stream, { windowBits: 8, finishFlush: Z_SYNC_FLUSH }).equals(read), what);
      }
    }
  }
  assert.ok(most > 200, `${most}: repetition is found`);
});

t.test('a limit counts the bytes while they are inflated', async (t) => {
  for (const [way, options] of Object.entries(WAYS)) {
    const run = (bytes, limit) => inflateOnce(options, bytes, limit);
    for (const size of [1, 64 * 1024, 64 * 1024 + 1, 300_000]) {
      const deflated = deflateByZlib(Buffer.alloc(size));
      for (const limit of [0, size - 1])
        await assert.rejects(run(deflated, limit), TOO_BIG, `${way}: ${size} ${limit}`);
      t.equal((await run(deflated, size)).length, size, way);
    }
    t.equal((await run(Buffer.from([0]), 0)).length, 0, `${way}: an empty message of at most 0 bytes`);
  }
});

t.test('what inflates to more than `most` is left to the thread pool, if the limit permits it', async (t) => {
  const deflated = deflateByZlib(Buffer.alloc(100_000));
  for (const contextTakeover of [false, true]) {
    const isLeft = (most, limit = NO_LIMIT, handles = true) => {
      const inflater = inflaterOf({ contextTakeover, most, handles });
      inflater.add(deflated, true);
      const { length } = inflater.next(limit);
      t.equal(inflater.isDone, length > limit || !inflater.mustWait);
      return length > limit ? 'too long' : inflater.mustWait;
    };
    t.equal(isLeft(99_999), true);
    t.equal(isLeft(100_000), false);
    t.equal(isLeft(99_999, 50_000), 'too long');
    t.equal(isLeft(deflated.length - 1), true, 'before it is inflated');
    t.equal(isLeft(100_000, NO_LIMIT, false), true, 'where zlib has no handles that work');
  }
});

t.test(`7.2: messages refer to those before them, here and in the thread pool (seed ${seed})`, async () => {
  const random = createRandom(seed);
  for (let round = 0; round < 20; round++) {
    const windowBits = 9 + random(7);
    const deflater = deflaterOf({ windowBits });
    const most = [0, 1000, 100_000, NO_LIMIT][round % 4];
    const inflater = inflaterOf({ windowBits, most, inParts: random(4) === 0 });
    for (let i = 0; i < 20; i++) {
      const bytes = random(4) === 0 ? json(1 + random(20_000)) : json(1 + random(100));
      const before = Buffer.from(bytes);
      const deflated = random(2) === 0 ? deflate(deflater, bytes) : await deflateLater(deflater, bytes);
      if (random(4) === 0) useUpTurn();
      assert.ok((await inflate(inflater, deflated, before.length)).equals(before));
      if (random(10) === 0) deflater.end();
    }
    inflater.close();
    deflater.end();
  }
});

t.test('a final block ends the context, in the thread pool too', async (t) => {
  const streams = newStreams(t);
  const bytes = json(3000);
  const plain = deflateByZlib(bytes);
  const final = zlib.deflateRawSync(bytes);
  // The header of a final block without compression, whose length is in the tail.
  const endsWithTail = Buffer.from([1]);
  for (const contextTakeover of [false, true]) {
    // Without handles takeover is not agreed on.
    const ways = Object.entries(WAYS).filter(([, { handles }]) => !contextTakeover || handles !== false);
    for (const [way, options] of ways) {
      const inflater = inflaterOf({ ...options, contextTakeover });
      for (const isLater of [false, false, true, true, false]) {
        if (isLater) useUpTurn();
        assert.ok((await inflate(inflater, final)).equals(bytes), way);
        await new Promise(setImmediate);
        assert.ok((await inflate(inflater, plain)).equals(bytes), way);
        assert.equal((await inflate(inflater, endsWithTail)).length, 0, way);
        if (isLater) useUpTurn();
        assert.ok((await inflate(inflater, plain)).equals(bytes), way);
      }
      inflater.close();
    }
  }
  const open = streams.filter(({ destroyed }) => !destroyed);
  t.ok(open.length <= 1, 'all but the one that connections share are closed');
});

t.test('messages in fragments, of which none refers to another, and the last may be empty', async () => {
  const bytes = json(3000);
  const deflated = deflateByZlib(bytes);
  for (const [way, options] of Object.entries(WAYS)) {
    for (const contextTakeover of options.handles === false ? [false] : [false, true]) {
      const inflater = inflaterOf({ ...options, contextTakeover });
      for (const at of [1000, deflated.length, 1000]) {
        const stream = new PartStream(0x82, null, inflater, NO_LIMIT, NO_LIMIT, undefined);
        stream.add(deflated.subarray(0, at), true, false);
        assert.equal(await nextPart(stream), null, way);
        stream.add(deflated.subarray(at), true, true);
        assert.ok((await nextPart(stream)).equals(bytes), way);
      }
      inflater.close();
    }
  }
});

t.test('messages that do not shrink, of 16 KiB and more', async () => {
  for (const size of [16 * 1024 - 10, 16 * 1024, 100_000]) {
    const bytes = randomBytes(size);
    const deflated = deflateByZlib(bytes);
    for (const [way, options] of Object.entries(WAYS)) {
      assert.ok((await inflateOnce(options, deflated)).equals(bytes), `${way}: ${size}`);
    }
  }
});

t.test("further options of zlib are those of the connection's own context", async () => {
  const bytes = json(100);
  const dictionary = json(90);
  const deflated = deflateByZlib(bytes, { dictionary });
  for (const [way, options] of Object.entries(WAYS)) {
    for (const contextTakeover of options.handles === false ? [false] : [false, true]) {
      const inflater = inflaterOf({ ...options, contextTakeover, zlibOptions: { dictionary } });
      assert.ok((await inflate(inflater, deflated)).equals(bytes), `${way}: takeover ${contextTakeover}`);
      inflater.close();
    }
  }
  await assert.rejects(inflateOnce({}, deflated), NOT_DEFLATE);
});

t.test('messages that refer to no other are inflated by one context for each window', async (t) => {
  const streams = newStreams(t);
  for (let i = 0; i < 10; i++) await inflateOnce({ contextTakeover: false, windowBits: 9 }, deflateByZlib('abc'));
  t.ok(streams.length <= 1);
});

t.test('a message that needs its tail to be complete, and is left to the thread pool then', async () => {
  // It inflates to 3 bytes, all of them in the tail's zeros.
  const bytes = Buffer.from([0x4a]);
  const expected = await inflateOnce({}, bytes);
  for (const [way, options] of Object.entries(WAYS)) {
    assert.deepEqual(await inflateOnce(options, bytes), expected, way);
  }
});

t.test('an error in the thread pool is reported once', async (t) => {
  const bad = Buffer.concat([deflateByZlib(json(3000)), Buffer.from([7])]);
  for (const contextTakeover of [false, true]) {
    for (const [bytes, limit, expected] of [
      [bad, NO_LIMIT, NOT_DEFLATE],
      [bad, 5000, TOO_BIG],
      [deflateByZlib(Buffer.alloc(1_000_000)), 999_999, TOO_BIG]
    ]) {
      const inflater = inflaterOf({ contextTakeover, most: 100 });
      inflater.add(bytes, true);
      inflater.next(limit);
      let calls = 0;
      await new Promise((resolve) => inflater.wait(limit, () => resolve(calls++)));
      t.throws(() => inflater.next(limit), expected);
      inflater.close();
      // A second error would come before this.
      await inflateOnce({ most: 0 }, deflateByZlib(Buffer.alloc(1_000_000)));
      t.equal(calls, 1);
    }
  }
});

t.test('a context that is closed while the thread pool works, or before, is no error of the pool', async (t) => {
  const streams = newStreams(t);
  const deflated = deflateByZlib(Buffer.alloc(3_000_000));
  for (const contextTakeover of [false, true]) {
    let calls = 0;
    streams.length = 0;
    for (let i = 0; i < 2 * MAX_JOBS; i++) {
      const inflater = inflaterOf({ contextTakeover, most: 100 });
      inflater.add(deflated, true);
      inflater.next(NO_LIMIT);
      inflater.wait(NO_LIMIT, () => calls++);
      inflater.close();
    }
    // The pool goes on, with all of its places.
    const others = Array.from({ length: MAX_JOBS }, () => inflateOnce({ contextTakeover, most: 0 }, deflated));
    for (const { length } of await Promise.all(others)) t.equal(length, 3_000_000);
    t.equal(calls, 0);
    // The others have given theirs back.
    const idle = streams.filter(({ destroyed }) => !destroyed).length;
    t.ok(idle <= (contextTakeover ? 0 : MAX_JOBS), `${idle} contexts are left`);
  }
});

t.test('a job that throws calls back with the error, and frees its place in the thread pool', async (t) => {
  const bytes = json(20);
  const bad = { memLevel: 99 };
  const jobs = {
    'deflateLater of a message alone': () => deflateLater(deflaterOf({ ...bad, contextTakeover: false }), bytes),
    deflateLater: () => deflateLater(deflaterOf(bad), bytes),
    'an Inflater': () => inflateOnce({ contextTakeover: false, windowBits: 99, most: 0 }, bytes)
  };
  for (const [name, job] of Object.entries(jobs)) {
    // The last ones have waited.
    const results = await Promise.allSettled(Array.from({ length: 2 * MAX_JOBS }, job));
    for (const { reason } of results) t.match(reason, { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' }, name);
    const deflated = await deflateLater(deflaterOf(), bytes);
    t.ok(deflated.equals(deflateByZlib(bytes)), `${name}: the pool goes on`);
  }
});

t.test('a context that has not been used for a while is released, and used again', async (t) => {
  const deflater = deflaterOf();
  const bytes = json(20);
  const first = deflate(deflater, bytes);
  const second = deflate(deflater, bytes);
  t.ok(second.length < first.length / 2);
  releaseIdle();
  t.ok(deflate(deflater, bytes).length < first.length / 2, 'it has been used since the last look');
  releaseIdle();
  releaseIdle();
  t.ok(first.equals(deflate(deflater, bytes)), 'a message that refers to no other');
  let released = 0;
  const busy = { isUsed: false, isBusy: true, release: () => released++ };
  noteUse(busy);
  releaseIdle();
  releaseIdle();
  t.equal(released, 0, 'a busy one is kept');
  busy.isBusy = false;
  releaseIdle();
  t.equal(released, 1);
  deflater.end();
  releaseIdle();
});

t.test('many idle contexts are released a few at a time, and none that is used meanwhile', async (t) => {
  const released = [];
  const idle = Array.from({ length: 200 }, (_, i) => ({ isUsed: false, release: () => released.push(i) }));
  for (const context of idle) noteUse(context);
  releaseIdle();
  releaseIdle();
  t.ok(released.length > 0 && released.length < 100, `${released.length} at once`);
  noteUse(idle[0]);
  await until(() => released.length === 199);
  await new Promise(setImmediate);
  t.notOk(released.includes(0));
  releaseIdle();
  releaseIdle();
  t.equal(released.length, 200);
});

t.test('handles are tried before they are used', async (t) => {
  t.equal(supportsSyncZlib(), true, 'on Node.js');
  t.equal(trySyncZlib(zlib), true);
  const broken = {
    'no handle': { createDeflateRaw: () => ({ close() {} }) },
    'no streams': {},
    'another format': { createInflateRaw: () => zlib.createInflate() },
    'no errors': { createInflateRaw: () => quiet(zlib.createInflateRaw()) },
    'no writeState': { createInflateRaw: () => Object.assign(zlib.createInflateRaw(), { _writeState: [0, 0] }) },
    'another message': {
      createInflateRaw: () => zlib.createInflateRaw({ dictionary: Buffer.from('a') }),
      createDeflateRaw: () => zlib.createDeflateRaw({ level: 0 })
    }
  };
  for (const [what, parts] of Object.entries(broken)) {
    const library = what === 'no streams' ? {} : { ...zlib, ...parts };
    t.equal(trySyncZlib(library), false, what);
  }
});

t.test('a handle that is in the thread pool, or closed, throws instead of aborting the process', async (t) => {
  const bytes = json(20);
  const { Z_NO_FLUSH } = zlib.constants;
  const NOT_IDLE = { code: 'ERR_INVALID_STATE', message: 'A zlib stream is in use, or closed' };
  for (const stream of [zlib.createDeflateRaw(), zlib.createInflateRaw()]) {
    const handle = new ZlibHandle(stream);
    const input = stream instanceof zlib.InflateRaw ? deflateByZlib(bytes) : bytes;
    const ended = new Promise((resolve) => handle.runStream(input, NO_LIMIT, resolve));
    t.throws(() => handle.run(input, input.length, NO_LIMIT, Z_NO_FLUSH), NOT_IDLE);
    t.throws(() => handle.reset(), NOT_IDLE);
    await ended;
    handle.reset();
    t.equal(handle.run(input, 1, NO_LIMIT, Z_NO_FLUSH), 0);
    handle.close();
    t.throws(() => handle.run(input, input.length, NO_LIMIT, Z_NO_FLUSH), NOT_IDLE);
  }
  const own = deflaterOf();
  const later = deflateLater(own, bytes);
  t.throws(() => deflate(own, bytes), NOT_IDLE);
  t.ok(deflateByZlib(bytes).equals(await later), 'what is in the pool comes out');
});

/** A stream whose handle reports no errors. */
function quiet(stream) {
  const { _handle: handle } = stream;
  stream._handle = {
    writeSync: (...args) => handle.writeSync(...args),
    reset: () => handle.reset(),
    close: () => handle.close()
  };
  handle.onerror = () => {};
  return stream;
}

t.test('contexts use one memory for the output of the thread pool', async (t) => {
  const text = json(60_000);
  rooms.length = 0;
  let allocated = OUTPUT_SIZE;
  for (const stream of [zlib.createDeflateRaw(), zlib.createInflateRaw()]) {
    const held = () => process.memoryUsage().arrayBuffers;
    const handle = new ZlibHandle(stream);
    const input = stream instanceof zlib.InflateRaw ? deflateByZlib(text) : text;
    for (let i = 0; i < 3; i++) {
      const before = held();
      const chunks = new Promise((resolve, reject) => {
        handle.runStream(input, NO_LIMIT, (error, output) => (error === null ? resolve(output) : reject(error)));
      });
      t.equal(held() - before, allocated);
      allocated = 0;
      const largest = Math.max(...(await chunks).map(({ length }) => length));
      t.ok(stream instanceof zlib.DeflateRaw || largest > 32 * 1024, `${largest} bytes at a time`);
      t.equal(stream._outBuffer.length, 0);
      handle.reset();
    }
    handle.close();
  }
  t.equal(rooms.length, 1);
});

t.test('memory that the thread pool uses again is given to nobody', async (t) => {
  const isLent = ({ buffer }) => rooms.some((room) => room.buffer === buffer);
  // The output of some fills the memory, of some it is nearly full.
  for (const size of [100, 50_000, OUTPUT_SIZE, 300_000]) {
    const bytes = bytesOf(createRandom(seed), size);
    const deflater = deflaterOf();
    const inflater = inflaterOf({ most: 0 });
    const deflated = await deflateLater(deflater, bytes);
    inflater.add(deflated, true);
    inflater.next(NO_LIMIT);
    await new Promise((resolve) => inflater.wait(NO_LIMIT, resolve));
    await deflateLater(deflater, json(2000));
    const pieces = [];
    while (!inflater.isDone) pieces.push(inflater.next(NO_LIMIT));
    t.ok(Buffer.concat(pieces).equals(bytes), `${size} bytes`);
    t.ok(deflated.equals(deflateByZlib(bytes)));
    t.notOk([deflated, ...pieces].some(isLent));
    deflater.end();
    inflater.close();
  }
});

t.test('memory that a closed job may still write to is not used again', async (t) => {
  for (const stream of [zlib.createDeflateRaw(), zlib.createInflateRaw()]) {
    rooms.length = 0;
    const handle = new ZlibHandle(stream);
    const input = stream instanceof zlib.InflateRaw ? deflateByZlib(json(20_000)) : json(20_000);
    const ended = new Promise((resolve) => handle.runStream(input, NO_LIMIT, resolve));
    handle.close();
    t.match(await ended, { message: 'A zlib stream was closed' });
    await deflateLater(deflaterOf(), json(2000));
    t.equal(rooms.length, 1, 'that of the other job');
  }
});

t.test('a stream of zlib whose fields are others keeps its memory', async (t) => {
  const stream = zlib.createDeflateRaw();
  stream._outBuffer = Buffer.alloc(2 * stream._chunkSize);
  const handle = new ZlibHandle(stream);
  const chunks = await new Promise((resolve) =>
    handle.runStream(json(40), NO_LIMIT, (_error, output) => resolve(output))
  );
  t.ok(zlib.inflateRawSync(Buffer.concat(chunks), { finishFlush: Z_SYNC_FLUSH }).equals(json(40)));
  handle.close();
});
