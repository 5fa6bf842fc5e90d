'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const { once } = require('node:events');
const { join } = require('node:path');
const v8 = require('node:v8');
const vm = require('node:vm');
const { Worker } = require('node:worker_threads');
const t = require('tap');
const { formatFrameId, frameId, parseFrameId } = require('../lib/frame-id');
const nodeModules = require('../lib/shared/node-modules');
const { assertBytes, forEachCase, testCases } = require('./support/cases');
const { runScript } = require('./support/run-script');
const { MAX_SIGMA, checkOrdered, checkRandom, withRestlessClock } = require('./support/frame-id-checks');
const { TRIES_ALL, titleOf } = require('./support/sample');

// frameId: UUIDs of version 4 and 7 (RFC 9562), and the entropy that they use.

const MODULE = require.resolve('../lib/frame-id');
/** Ids in each of three runs; ten million take 10 s and 300 MB. */
const COUNT = TRIES_ALL ? 10_000_000 : 200_000;
const VERSION_7 = { version: 7 };
const BATCH_WORDS = 1024;
const ID = '0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d';
const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const RANGE = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };

/** Runs a source in a process of its own; returns the words that it prints. */
async function wordsOf(t, source) {
  const script = join(t.testdir({ 'script.js': source }), 'script.js');
  return (await runScript(script, [])).split(/\s+/).filter(Boolean);
}

/** A copy of lib/frame-id.js with entropy from a function, and other modules of Node.js. */
function loadWithSource(t, randomFillSync, modules = {}) {
  return t.mockRequire('../lib/frame-id', {
    '../lib/shared/node-modules': { ...nodeModules, crypto: { ...crypto, randomFillSync }, ...modules }
  });
}

/**
 * A copy of lib/frame-id.js whose entropy is known: word n of batch m is `m * 0x10000000 + n`.
 * `batches` has the arrays that it has filled.
 */
function loadWithKnownEntropy(t, modules) {
  const batches = [];
  const randomFillSync = (array) => {
    for (let i = 0; i < array.length; i++) array[i] = (batches.length + 1) * 0x10000000 + i;
    batches.push(array);
    return array;
  };
  return { ...loadWithSource(t, randomFillSync, modules), batches };
}

/** Replaces the clock for one test: Date.now returns what the clock's `now` is. */
function setClock(t, now) {
  const clock = { now };
  const { now: systemClock } = Date;
  Date.now = () => clock.now;
  t.teardown(() => {
    Date.now = systemClock;
  });
  return clock;
}

t.test(titleOf('RFC 9562, 5.4: version 4 has 122 random bits', '200,000 ids'), async (t) => {
  const result = checkRandom(COUNT);
  t.match(result, { malformed: 0, repeats: 0, freeBits: 122 });
  t.ok(result.worstSigma <= MAX_SIGMA, `bit ${result.worstBit} is ${result.worstSigma} sigma off`);
  t.match(frameId({}), /^[0-9a-f-]{14}4/);
  t.match(frameId({ version: undefined }), /^[0-9a-f-]{14}4/);
  t.match(frameId({ version: 4 }), /^[0-9a-f-]{14}4/);
});

t.test(titleOf('RFC 9562, 6.2: ids of version 7 ascend, also when the clock steps back', '200,000 ids'), async (t) => {
  t.same(checkOrdered(COUNT), { malformed: 0, disordered: 0 });
  const restless = withRestlessClock(COUNT, () => checkOrdered(COUNT));
  t.same(restless, { malformed: 0, disordered: 0 }, 'a clock that steps back');
});

t.test('RFC 9562, 5.7: version 7 begins with the time in milliseconds', async (t) => {
  const { frameId } = loadWithKnownEntropy(t);
  // The example of RFC 9562, appendix A.6.
  const clock = setClock(t, 0x017f22e279b0);
  t.match(frameId(VERSION_7), /^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  clock.now = 2 ** 48 - 1;
  t.match(frameId(VERSION_7), /^ffffffff-ffff-7/);
});

t.test('RFC 9562, 6.2: version 7 counts within a millisecond, from a random number whose first bit is 0', async (t) => {
  const { frameId } = loadWithSource(t, (array) => array.fill(0xffffffff));
  const clock = setClock(t, 1_700_000_000_000);
  t.equal(frameId(VERSION_7), '018bcfe5-6800-77ff-bfff-ffffffffffff', '18 bits, the first of them 0');
  clock.now += 0.5;
  t.equal(frameId(VERSION_7), '018bcfe5-6800-7800-80ff-ffffffffffff', 'a clock with fractions');
  clock.now -= 1000.5;
  t.equal(frameId(VERSION_7), '018bcfe5-6800-7800-81ff-ffffffffffff', 'the clock steps back');
  t.match(frameId(), /^ffffffff-ffff-4fff-bfff-ffffffffffff$/, 'an id of version 4 between them');

  let latest = '';
  for (let i = 4; i <= 0x20001; i++) {
    const id = frameId(VERSION_7);
    assert.ok(id > latest, `${id} after ${latest}`);
    latest = id;
  }
  t.equal(latest, '018bcfe5-6800-7fff-bfff-ffffffffffff', 'the counter is full');
  t.equal(frameId(VERSION_7), '018bcfe5-6801-77ff-bfff-ffffffffffff', 'the time goes on by one');
  clock.now += 1001;
  t.equal(frameId(VERSION_7), '018bcfe5-6801-7800-80ff-ffffffffffff', 'the clock reaches that time');
  clock.now += 1;
  t.equal(frameId(VERSION_7), '018bcfe5-6802-77ff-bfff-ffffffffffff');
});

t.test('entropy', async (t) => {
  t.test('each word is used once, in order, and then wiped', async (t) => {
    const { frameId, batches } = loadWithKnownEntropy(t);
    t.equal(batches.length, 0, 'no batch before the first id');

    t.equal(frameId(), '10000000-1000-4001-9000-000210000003');
    const [batch] = batches;
    t.equal(batch.byteLength, 4 * BATCH_WORDS);
    t.same([...batch.subarray(0, 5)], [0, 0, 0, 0, 0x10000004]);
    t.match(frameId(VERSION_7), /-7080-8000-000610000007$/);
    t.same([...batch.subarray(0, 9)], [0, 0, 0, 0, 0, 0, 0, 0, 0x10000008]);

    for (let at = 8; at < BATCH_WORDS; at += 4) {
      const id = frameId();
      assert.equal(Number.parseInt(id.slice(0, 8), 16), 0x10000000 + at, `the words of ${id}`);
      assert.ok(
        batch.subarray(0, at + 4).every((word) => word === 0),
        `the words of ${id} are wiped`
      );
    }
    t.equal(batches.length, 1);
    t.equal(frameId(), '20000000-2000-4001-a000-000220000003', 'the next batch');
    t.equal(batches.length, 2);
    t.equal(batches[1], batch, 'in the same memory');
  });

  t.test('after an error of the source no id is made of old words', async (t) => {
    let failing = true;
    const randomFillSync = (array) => {
      if (failing) throw new Error('no entropy');
      return crypto.randomFillSync(array);
    };
    const { frameId } = loadWithSource(t, randomFillSync);
    for (let i = 0; i < 3; i++) {
      t.throws(() => frameId(), { message: 'no entropy' }, `version 4, call ${i}`);
      t.throws(() => frameId(VERSION_7), { message: 'no entropy' }, `version 7, call ${i}`);
    }
    failing = false;
    // Three batches of 256 ids.
    const ids = new Set(Array.from({ length: 600 }, () => frameId()));
    failing = true;
    for (let i = 0; i < 168; i++) ids.add(frameId());
    t.equal(ids.size, 768);
    t.throws(() => frameId(), { message: 'no entropy' });
    t.throws(() => frameId(), { message: 'no entropy' });
  });

  t.test('memory is allocated by the first call that needs it', async (t) => {
    const words = await wordsOf(
      t,
      `
      const made = [];
      for (const name of ['Uint8Array', 'Int8Array', 'Uint32Array', 'ArrayBuffer']) {
        globalThis[name] = new Proxy(globalThis[name], {
          construct(target, args, newTarget) {
            made.push(name + ':' + args[0]);
            return Reflect.construct(target, args, newTarget === globalThis[name] ? target : newTarget);
          }
        });
      }
      const print = (what) => console.log(what, made.splice(0).join() || 'nothing');
      const { frameId, formatFrameId } = require(${JSON.stringify(MODULE)});
      const bytes = Buffer.alloc(16);
      print('load');
      formatFrameId(bytes);
      print('format');
      frameId();
      print('id');
      for (let i = 0; i < 1000; i++) frameId({ version: 7 });
      print('ids');
      `
    );
    t.same(words, [
      ...['load', 'nothing'],
      ...['format', 'Uint8Array:256,Int8Array:128,Uint8Array:256'],
      ...['id', `Uint32Array:${BATCH_WORDS}`],
      ...['ids', 'nothing']
    ]);
  });
});

t.test('no two threads or processes share ids', async (t) => {
  // Ids are made here first, so that a batch that is handed on to others would show.
  const own = Array.from({ length: 100 }, (_, i) => frameId(i % 2 ? VERSION_7 : undefined));
  const makeIds = `
    const { frameId } = require(${JSON.stringify(MODULE)});
    const ids = Array.from({ length: 1000 }, (_, i) => frameId(i % 2 ? { version: 7 } : undefined));
  `;

  t.test('worker threads', async (t) => {
    const source = `${makeIds} require('node:worker_threads').parentPort.postMessage(ids);`;
    const start = () => once(new Worker(source, { eval: true, execArgv: [] }), 'message');
    const lists = await Promise.all(Array.from({ length: 4 }, start));
    t.equal(new Set([...own, ...lists.flat(2)]).size, 4100);
  });

  t.test('cluster', async (t) => {
    const words = await wordsOf(
      t,
      `
      const cluster = require('node:cluster');
      ${makeIds}
      const print = (ids) => console.log(ids.join('\\n'));
      // By messages: lines of several processes may mix in one pipe.
      if (cluster.isPrimary) for (let i = 0; i < 4; i++) cluster.fork().on('message', print);
      if (cluster.isPrimary) print(ids);
      else process.send(ids, () => process.disconnect());
      `
    );
    t.equal(words.length, 5000);
    t.equal(new Set([...own, ...words]).size, 5100);
  });

  t.test('entropy is wiped before it goes into a snapshot', async (t) => {
    const callbacks = [];
    const startupSnapshot = {
      isBuildingSnapshot: () => true,
      addSerializeCallback: (callback) => callbacks.push(callback)
    };
    const { frameId, batches } = loadWithKnownEntropy(t, { v8: { ...v8, startupSnapshot } });
    t.equal(frameId(), '10000000-1000-4001-9000-000210000003');
    t.equal(callbacks.length, 1);
    callbacks[0]();
    t.ok(batches[0].every((word) => word === 0));
    t.equal(frameId(), '20000000-2000-4001-a000-000220000003');
    t.equal(callbacks.length, 1);
  });

  t.test('a runtime may lack snapshots', async (t) => {
    t.equal(loadWithKnownEntropy(t, { v8: {} }).frameId(), '10000000-1000-4001-9000-000210000003');
  });
});

t.test('frameId refuses wrong options', async () => {
  forEachCase([null, 7, 'version 7', () => {}], (options) => {
    assert.throws(() => frameId(options), { ...TYPE, message: /"options" argument/ });
  });
  forEachCase([null, '7', 7n, {}, [7]], (version) => {
    assert.throws(() => frameId({ version }), { ...TYPE, message: /"options\.version" argument/ });
  });
  forEachCase([0, 5, 6, 8, 4.5, -7, Number.NaN, Number.POSITIVE_INFINITY], (version) => {
    const message = `The "options.version" argument must be 4 or 7, but was ${version}`;
    assert.throws(() => frameId({ version }), { ...RANGE, message });
  });
});

// formatFrameId and parseFrameId: UUIDs as text (RFC 9562 section 4) and as bytes.

/** A UUID by other means than in lib/frame-id.js. */
function plainFormat(bytes) {
  return Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

t.test('RFC 9562, 4: each byte in each place is formatted as hex and parsed from it', async (t) => {
  for (let byte = 0; byte < 256; byte++) {
    for (let at = 0; at < 16; at++) {
      const bytes = Buffer.alloc(16, 0xff - byte);
      bytes[at] = byte;
      const id = formatFrameId(bytes);
      const back = parseFrameId(id);
      assert.equal(id, plainFormat(bytes), `byte ${byte} at ${at}`);
      assertBytes(back, bytes, `parsed from ${id}`);
      assertBytes(parseFrameId(id.toUpperCase()), bytes, `parsed from ${id.toUpperCase()}`);
    }
  }
  t.equal(formatFrameId(new Uint8Array(16)), '00000000-0000-0000-0000-000000000000');
  t.equal(formatFrameId(new Uint8Array(16).fill(255)), 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  // RFC 9562, appendix A.6.
  t.equal(formatFrameId(parseFrameId('017F22E2-79B0-7CC3-98C4-DC0C0C07398F')), '017f22e2-79b0-7cc3-98c4-dc0c0c07398f');
});

t.test('either function may be called first', async (t) => {
  const bytes = Buffer.from(ID.replaceAll('-', ''), 'hex');
  t.equal(loadWithKnownEntropy(t).formatFrameId(bytes), ID);
  t.same(loadWithKnownEntropy(t).parseFrameId(ID), bytes);
});

t.test('both take an offset', async (t) => {
  const bytes = crypto.randomBytes(40);
  for (let offset = 0; offset <= 24; offset++) {
    assert.equal(formatFrameId(bytes, offset), plainFormat(bytes.subarray(offset, offset + 16)), `from ${offset} on`);
    const target = new Uint8Array(40).fill(0xa5);
    assert.equal(parseFrameId(formatFrameId(bytes, offset), target, offset), target, `to ${offset}`);
    const expected = Buffer.alloc(40, 0xa5);
    bytes.copy(expected, offset, offset, offset + 16);
    assertBytes(target, expected, `the target, to ${offset}`);
  }
  const target = Buffer.alloc(16);
  t.equal(parseFrameId(formatFrameId(bytes), target), target, 'to a target without an offset');
  t.same(target, bytes.subarray(0, 16));
});

t.test('without a target, parseFrameId makes a Buffer with memory of its own', async (t) => {
  const bytes = parseFrameId(frameId());
  t.ok(Buffer.isBuffer(bytes));
  t.same([bytes.length, bytes.buffer.byteLength], [16, 16]);
});

testCases(
  'both take arrays of another realm and of shared memory',
  [vm.runInNewContext('new Uint8Array(20)'), new Uint8Array(new SharedArrayBuffer(20))],
  (bytes) => {
    assert.equal(parseFrameId(ID, bytes, 2), bytes);
    assert.equal(formatFrameId(bytes, 2), ID);
  }
);

t.test('both refuse arguments of a wrong type', async (t) => {
  const faked = Object.setPrototypeOf({ length: 16 }, Uint8Array.prototype);
  const memory = new ArrayBuffer(16);
  const others = [Uint8ClampedArray, Uint32Array, BigUint64Array, DataView].map((Type) => new Type(memory));
  forEachCase([null, ID, 16, {}, new Array(16).fill(0), memory, faked, ...others], (bytes) => {
    const message = /"bytes" argument must be a Buffer or Uint8Array/;
    assert.throws(() => formatFrameId(bytes), { ...TYPE, message }, 'formatFrameId');
    assert.throws(() => parseFrameId(ID, bytes), { ...TYPE, message: /"target" argument/ }, 'parseFrameId');
  });
  t.throws(() => formatFrameId(), { ...TYPE, message: /"bytes" argument/ });
  const withoutTarget = { ...TYPE, message: /"target" argument/ };
  t.throws(() => parseFrameId(ID, undefined, 4), withoutTarget, 'an offset without a target');
  forEachCase([null, '0', 0n, {}], (offset) => {
    const error = { ...TYPE, message: /"offset" argument/ };
    assert.throws(() => formatFrameId(Buffer.alloc(32), offset), error, 'formatFrameId');
    assert.throws(() => parseFrameId(ID, Buffer.alloc(32), offset), error, 'parseFrameId');
  });
  forEachCase([undefined, null, 36, [ID], Buffer.from(ID), Object(ID), Symbol(ID)], (string) => {
    assert.throws(() => parseFrameId(string), { ...TYPE, message: /"string" argument must be a string/ });
  });
});

t.test('both refuse less than 16 bytes, and offsets out of range', async (t) => {
  const detached = new Uint8Array(16);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  forEachCase([Buffer.alloc(0), Buffer.alloc(15), detached], (bytes) => {
    const message = new RegExp(`must be 16 bytes or longer, but was ${bytes.length} bytes`);
    assert.throws(() => formatFrameId(bytes), { ...RANGE, message }, 'formatFrameId');
    assert.throws(() => parseFrameId(ID, bytes), { ...RANGE, message }, 'parseFrameId');
  });
  const bytes = Buffer.alloc(20, 0xa5);
  forEachCase([-1, 5, 20, 0.5, 2 ** 32, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY], (offset) => {
    const message = `The "offset" argument must be a whole number from 0 to 4, but was ${offset}`;
    assert.throws(() => formatFrameId(bytes, offset), { ...RANGE, message }, 'formatFrameId');
    assert.throws(() => parseFrameId(ID, bytes, offset), { ...RANGE, message }, 'parseFrameId');
  });
  t.same(bytes, Buffer.alloc(20, 0xa5));
});

t.test('parseFrameId refuses any other string, and does not change the target', async (t) => {
  const target = Buffer.alloc(16, 0xa5);
  const refused = (string) => {
    try {
      parseFrameId(string, target);
    } catch (error) {
      return error instanceof RangeError && error.code === 'ERR_OUT_OF_RANGE' && /"string"/.test(error.message);
    }
    return false;
  };
  const others = [
    ...['', ID.slice(1), `${ID}0`, ` ${ID}`, `${ID}\n`, `{${ID}}`, ID.replaceAll('-', ''), `urn:uuid:${ID}`],
    ...['0a1b2c3d4-e5f-4a6b-8c7d-9e8f7a6b5c4d', ID.replaceAll('-', '\u2010')]
  ];
  forEachCase(others, (string) => assert.ok(refused(string)));

  // Each character in each place; some would pass if their code were cut to 7 or 8 bits.
  const wide = [0x80, 0xad, 0xb0, 0xe1, 0xff, 0x12d, 0x130, 0x161, 0x2d00, 0x3030, 0xff10, 0xff41, 0xd800, 0xdc30];
  for (let at = 0; at < 36; at++) {
    for (const code of [...Array(128).keys(), ...wide]) {
      const character = String.fromCharCode(code);
      const good = ID[at] === '-' ? character === '-' : /^[0-9A-Fa-f]$/.test(character);
      const string = ID.slice(0, at) + character + ID.slice(at + 1);
      assert.equal(refused(string), !good, `whether ${JSON.stringify(string)} was refused`);
      if (good) target.fill(0xa5);
    }
  }
  t.same(target, Buffer.alloc(16, 0xa5));
});

t.test('the error shows the first 40 characters of the string', async (t) => {
  t.throws(() => parseFrameId('no id'), {
    message: `The "string" argument must be a UUID: 32 hex digits in groups of 8-4-4-4-12, but was 'no id'`
  });
  t.throws(() => parseFrameId('x'.repeat(1e6)), { message: /but was 'x{40}'\.\.\. \(1000000 characters\)$/ });
});
