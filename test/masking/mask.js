'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { promisify } = require('node:util');
const vm = require('node:vm');
const t = require('tap');
const { assertBytes, forEachCase, testCases } = require('../support/cases');
const { createDetached, createGarbage } = require('../support/garbage');
const { createMaskings } = require('../support/maskings');
const { addon, kernels } = require('../support/natives');
const { seed } = require('../support/random');
const { runScript } = require('../support/run-script');
const { TRIES_ALL } = require('../support/sample');

// The public functions mask and unmask, over each backend. kernels.js has more lengths, alignments
// and overlaps.

const run = promisify(execFile);
const ROOT = path.join(__dirname, '../..');
const KEY = Buffer.from([0xa1, 0x5c, 0x03, 0xf8]);
// Around the lengths from which lib/masking/backend.js and lib/masking/fallback.js work in another
// way.
const LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 31, 47, 48, 49, 63, 64, 65, 125, 95, 96, 97, 511, 512, 513, 4093, 65537];
const MASKINGS = createMaskings();

/** Masks with a byte loop. */
function masked(source, start, length, phase = 0) {
  const result = Buffer.alloc(length);
  for (let i = 0; i < length; i++) result[i] = source[start + i] ^ KEY[(i + phase) & 3];
  return result;
}

/** A copy of `bytes` that has `part` from `at` on. */
function withPart(bytes, at, part) {
  const result = Buffer.from(bytes);
  result.set(part, at);
  return result;
}

function fill(bytes) {
  bytes.set(randomBytes(bytes.length));
  return bytes;
}

/** A subclass whose constructor must not be called, as TypedArray.prototype.subarray would do. */
class Payload extends Uint8Array {
  constructor() {
    throw new Error('This must not be called');
  }
}

/** Makes a Uint8Array in memory of `allocate`; `tracking` gives it no length of its own. */
const viewOf = (allocate, tracking) => (length) =>
  fill(new Uint8Array(allocate(length + 3), 3, tracking ? undefined : length));
const resizable = (length) => ({ maxByteLength: length + 100 });
const newResizable = (length) => new ArrayBuffer(length, resizable(length));
const newGrowable = (length) => new SharedArrayBuffer(length, resizable(length));
const newWasm = (length) => new WebAssembly.Memory({ initial: 1 + (length >> 16) }).buffer;
const newForeign = (length) => vm.runInNewContext('new Uint8Array(new ArrayBuffer(length + 5), 3, length)', { length });

/** Kinds of memory: a Uint8Array of `length` random bytes, most of them at an odd address. */
const MEMORIES = [
  { name: 'Buffer', create: (length) => randomBytes(length + 3).subarray(3) },
  { name: 'a pooled Buffer', create: (length) => Buffer.from(randomBytes(length)) },
  { name: 'ArrayBuffer', create: viewOf((length) => new ArrayBuffer(length)) },
  { name: 'SharedArrayBuffer', create: viewOf((length) => new SharedArrayBuffer(length)) },
  { name: 'a resizable ArrayBuffer', create: viewOf(newResizable) },
  { name: 'a resizable ArrayBuffer, its length tracked', create: viewOf(newResizable, true) },
  { name: 'a growable SharedArrayBuffer, its length tracked', create: viewOf(newGrowable, true) },
  { name: 'WebAssembly', create: viewOf(newWasm) },
  { name: 'another realm', create: (length) => fill(newForeign(length)) },
  { name: 'a subclass', create: (length) => Object.setPrototypeOf(fill(new Uint8Array(length)), Payload.prototype) }
];

testCases('5.7: masks and unmasks the example of the RFC', MASKINGS, ({ mask, unmask }) => {
  const key = Buffer.from('37fa213d', 'hex');
  const payload = Buffer.from('Hello');
  const output = Buffer.alloc(9);
  assert.equal(mask(payload, key, output, 2, 5), 1, 'the phase that mask returns');
  assert.equal(output.toString('hex'), '00007f9f4d51580000', 'mask');
  assert.equal(payload.toString(), 'Hello', 'the source afterwards');
  assert.equal(unmask(output.subarray(2, 7), key), 1, 'the phase that unmask returns');
  assert.equal(output.toString('latin1', 2, 7), 'Hello', 'unmask');
});

testCases('5.3: starts at the phase of the key, and returns the next phase', MASKINGS, ({ mask, unmask }) => {
  forEachCase(LENGTHS, (length) => {
    for (const phase of [undefined, 0, 1, 2, 3]) {
      const source = randomBytes(length + 4);
      const output = randomBytes(length + 8);
      const expected = masked(source, 0, length, phase);
      const next = ((phase ?? 0) + length) & 3;
      const both = [withPart(output, 5, expected), withPart(source, 0, expected)];
      assert.equal(mask(source, KEY, output, 5, length, phase), next, `mask, phase ${phase}: the next phase`);
      assertBytes(output, both[0], `mask, phase ${phase}, and the bytes around`);
      assert.equal(unmask(source.subarray(0, length), KEY, phase), next, `unmask, phase ${phase}: the next phase`);
      assertBytes(source, both[1], `unmask, phase ${phase}, and the bytes around`);
    }
  });
});

testCases('the key may be part of what is masked', MASKINGS, ({ unmask }) => {
  for (const length of [16, 300]) {
    const frame = Buffer.concat([KEY, randomBytes(length)]);
    const expected = masked(frame, 0, frame.length);
    unmask(frame, frame.subarray(0, 4));
    assertBytes(frame, expected, `${length} bytes`);
  }
});

testCases('takes bytes in memory of any kind', MASKINGS, ({ mask, unmask }) => {
  forEachCase(MEMORIES, ({ create }) => {
    for (const length of LENGTHS) {
      const [source, output, key] = [create(length), create(length + 11), create(4)];
      key.set(KEY);
      const payload = masked(source, 0, length, 1);
      const expected = withPart(output, 6, payload);
      mask(source, key, output, 6, length, 1);
      assertBytes(Buffer.from(output), expected, `mask, ${length} bytes`);
      mask(source, key, output, 6, Math.floor(length / 2), 1);
      assertBytes(Buffer.from(output), expected, `mask, half of ${length} bytes`);
      unmask(source, key, 1);
      assertBytes(Buffer.from(source), payload, `unmask, ${length} bytes`);
    }
  });
});

testCases('source and output may overlap in two SharedArrayBuffers of one memory', MASKINGS, ({ mask }) => {
  for (const length of [40, 64, 200, 5000]) {
    for (const moved of ['0 to 9', '9 to 0', '3 to 3', '0 to 32', '33 to 1']) {
      const [from, to] = moved.split(' to ').map(Number);
      const memory = new SharedArrayBuffer(length + 64);
      const twin = structuredClone(memory);
      assert.notEqual(twin, memory, 'two objects');
      const source = fill(new Uint8Array(memory));
      const expected = withPart(source, to, masked(source, from, length));
      mask(source.subarray(from), KEY, new Uint8Array(twin), to, length);
      assertBytes(Buffer.from(memory), expected, `${length} bytes, from ${moved}`);
    }
  }
});

t.test('follows memory that is resized', async () => {
  const outOfRange = { code: 'ERR_OUT_OF_RANGE' };
  forEachCase(MASKINGS, ({ mask, unmask }) => {
    forEachCase([20, 500], (length) => {
      const memory = new ArrayBuffer(length, { maxByteLength: 1000 });
      const tracking = fill(new Uint8Array(memory));
      const fixed = new Uint8Array(memory, 4, length - 4);

      memory.resize(length + 7);
      const grown = masked(tracking, 0, length + 7);
      assert.equal(unmask(tracking, KEY), (length + 7) & 3, 'memory that has grown: the phase');
      assertBytes(Buffer.from(memory), grown, 'memory that has grown');

      memory.resize(length - 1);
      const shrunk = Buffer.from(tracking);
      assert.equal(unmask(fixed, KEY, 3), 3, 'unmask takes a view that is out of bounds as empty');
      assert.equal(mask(fixed, KEY, tracking, 0, 0), 0, 'no bytes of a source that is out of bounds');
      assert.equal(mask(tracking, KEY, fixed, 0, 0), 0, 'no bytes to an output that is out of bounds');
      assert.throws(() => mask(fixed, KEY, tracking, 0, 1), outOfRange, 'a source that is out of bounds');
      assert.throws(() => mask(tracking, KEY, fixed, 0, 1), outOfRange, 'an output that is out of bounds');
      assert.throws(() => mask(tracking, KEY, tracking, 0, length), outOfRange, 'the length before it has shrunk');
      assertBytes(Buffer.from(memory), shrunk, 'memory that has shrunk');

      memory.resize(length);
      const back = withPart(tracking, 4, masked(tracking, 4, length - 4));
      assert.equal(unmask(fixed, KEY), length & 3, 'a view that is in bounds again: the phase');
      assertBytes(Buffer.from(memory), back, 'a view that is in bounds again');

      memory.resize(0);
      assert.equal(unmask(tracking, KEY), 0, 'no memory, a view with the length tracked');
      assert.equal(unmask(fixed, KEY), 0, 'no memory, a view with a fixed length');
    });
  });
});

t.test('FRAMEMASK_KERNEL names the kernel of a process, by require and by import', async (t) => {
  const common = `
    const key = Buffer.from('37fa213d', 'hex');
    const payload = Buffer.alloc(1000, 'Hello');
    framemask.unmask(payload, key);
    const output = Buffer.alloc(1001);
    const phase = framemask.mask(payload, key, output, 1, 1000);
    console.log(framemask.kernel, phase, output.toString('latin1', 1) === 'Hello'.repeat(200));`;
  const commonjs = `const framemask = require(${JSON.stringify(path.join(ROOT, 'index.js'))});${common}`;
  const module = `import framemask, * as named from ${JSON.stringify(pathToFileURL(path.join(ROOT, 'index.mjs')))};
    for (const name of ['mask', 'unmask', 'kernel', 'nativeError']) if (named[name] !== framemask[name]) throw name;
    ${common}`;
  const modes = { require: ['-e', commonjs], import: ['--input-type=module', '-e', module] };
  const check = async ([mode, args]) => {
    const start = (name) => run(process.execPath, args, { env: { ...process.env, FRAMEMASK_KERNEL: name } });
    for (const name of ['js', ...kernels.slice(0, 1)]) {
      t.equal((await start(name)).stdout.trim(), `${name} 0 true`, `${mode}, ${name}`);
    }
    await t.rejects(start('mmx'), { stderr: /FRAMEMASK_KERNEL is "mmx", but this machine can run: js/ });
  };
  await Promise.all(Object.entries(modes).map(check));
});

// The errors of mask and unmask: which argument they name, and that nothing has been written.

const CALLS = path.join(__dirname, '../support/random-calls.js');
/** Each kind of wrong argument comes dozens of times in 5,000 calls. */
const CALL_COUNT = TRIES_ALL ? 100_000 : 5000;

const errorOf = (name, code) => (argument, expected, was) => ({
  name,
  code,
  message: `The "${argument}" argument must be ${expected}, but was ${was}`
});
const type = errorOf('TypeError', 'ERR_INVALID_ARG_TYPE');
const range = errorOf('RangeError', 'ERR_OUT_OF_RANGE');

const noBytes = (argument) => type(argument, 'a Buffer or Uint8Array', 'undefined');
const noNumber = (argument) => type(argument, 'a number', 'undefined');
/** Values that are not a number, and how an error names them. */
const NO_NUMBERS = [
  [null, 'null'],
  ['1', "the string '1'"],
  [1n, 'the bigint 1n'],
  [{ valueOf: () => 1 }, 'an instance of Object'],
  [Object(1), 'an instance of Number']
];

/** Numbers that are not an index. */
const NO_SIZES = [-1, -0.5, 5e-324, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 31)];

/**
 * Calls mask and unmask over each backend with payloads of 8 and 200 bytes; the addon would mask
 * the long ones. `refused` calls a function and checks the error and that no byte has changed.
 */
function testRefusals(title, check) {
  testCases(title, MASKINGS, ({ mask, unmask }) => {
    forEachCase([8, 200], (size) => {
      const source = Buffer.alloc(size, 1);
      const output = Buffer.alloc(size + 10, 2);
      const refused = (what, error, call) => {
        assert.throws(call, error, what);
        assertBytes(source, Buffer.alloc(size, 1), `${what}: the source afterwards`);
        assertBytes(output, Buffer.alloc(size + 10, 2), `${what}: the output afterwards`);
      };
      check({ mask, unmask, source, output, size, refused });
    });
  });
}

const DETACHED = 'an instance of Uint8Array whose memory is detached$';
const NO_BYTES = [
  ...createGarbage().map((value, i) => [value, `garbage ${i}`, '']),
  ...createDetached().map((value, i) => [value, `detached ${i}`, DETACHED])
];

testRefusals('refuses what is not a Uint8Array, or detached', ({ mask, unmask, source, output, size, refused }) => {
  for (const [value, name, was] of NO_BYTES) {
    const error = (argument) => ({
      name: 'TypeError',
      code: 'ERR_INVALID_ARG_TYPE',
      message: new RegExp(`^The "${argument}" argument must be a Buffer or Uint8Array, but was ${was}`)
    });
    refused(`${name} as buffer`, error('buffer'), () => unmask(value, KEY));
    refused(`${name} as key of unmask`, error('key'), () => unmask(source, value));
    refused(`${name} as source`, error('source'), () => mask(value, KEY, output, 0, 0));
    refused(`${name} as key of mask`, error('key'), () => mask(source, value, output, 0, size));
    refused(`${name} as output`, error('output'), () => mask(source, KEY, value, 0, 0));
  }
});

testRefusals('refuses what is not an index', ({ mask, unmask, source, output, size, refused }) => {
  const wrong = [
    ...NO_NUMBERS.map(([value, was]) => [value, (argument) => type(argument, 'a number', was)]),
    ...NO_SIZES.map((value) => [value, (argument, most) => range(argument, `a whole number from 0 to ${most}`, value)])
  ];
  for (const [value, error] of wrong) {
    const what = String(value);
    refused(`offset ${what}`, error('offset', 10), () => mask(source, KEY, output, value, size));
    refused(`length ${what}`, error('length', size), () => mask(source, KEY, output, 0, value));
    refused(`phase ${what}`, error('phase', 3), () => mask(source, KEY, output, 0, size, value));
    refused(`phase ${what} of unmask`, error('phase', 3), () => unmask(source, KEY, value));
  }
});

testRefusals('refuses wrong keys, ranges, and too few arguments', ({ mask, unmask, source, output, size, refused }) => {
  const end = size + 10;
  const small = output.subarray(0, 6);
  const upTo = (argument, most, was) => range(argument, `a whole number from 0 to ${most}`, was);
  const cases = [
    ['beyond the source', upTo('length', size, size + 1), () => mask(source, KEY, output, 0, size + 1)],
    ['beyond a small output', upTo('length', 6, 7), () => mask(source, KEY, small, 0, 7)],
    ['beyond the output', upTo('offset', 10, 11), () => mask(source, KEY, output, 11, size)],
    ['beyond a small output, moved', upTo('offset', 0, 1), () => mask(source, KEY, small, 1, 6)],
    ['no bytes beyond the output', upTo('offset', end, end + 1), () => mask(source, KEY, output, end + 1, 0)],
    ['phase 4', upTo('phase', 3, 4), () => unmask(source, KEY, 4)],
    ['mask()', noBytes('source'), () => mask()],
    ['mask(source, key)', noBytes('output'), () => mask(source, KEY)],
    ['mask(source, key, output)', noNumber('length'), () => mask(source, KEY, output)],
    ['mask(source, key, output, offset)', noNumber('length'), () => mask(source, KEY, output, 0)],
    ['unmask()', noBytes('buffer'), () => unmask()],
    ['unmask(buffer)', noBytes('key'), () => unmask(source)],
    ...[0, 3, 5, 8].flatMap((length) => {
      const key = new Uint8Array(length);
      const error = range('key', '4 bytes long', `${length} bytes long`);
      return [
        [`unmask, a key of ${length} bytes`, error, () => unmask(source, key)],
        [`mask, a key of ${length} bytes`, error, () => mask(source, key, output, 0, size)]
      ];
    })
  ];
  for (const row of cases) refused(...row);
  assert.equal(mask(source, KEY, output, end, 0), 0, 'no bytes at the end of the output');
  assert.equal(mask(source, KEY, output, -0, -0, -0), 0, '-0 is 0');
});

/** Runs test/support/random-calls.js in a process of its own, because a bug may crash it. */
async function runCalls(what, count) {
  return JSON.parse(await runScript(CALLS, [what, seed, count]));
}

t.test(`${CALL_COUNT} random wrong calls: the addon and JavaScript do the same`, async (t) => {
  const tally = await runCalls('public', CALL_COUNT);
  t.ok(tally.wrong >= CALL_COUNT);
  t.ok(tally.right > CALL_COUNT / 10, 'right calls between them');
});

t.test(`${CALL_COUNT} random calls of the addon: no crash, nothing written outside of the arguments`, async (t) => {
  if (addon === null) return t.skip('no addon');
  const tally = await runCalls('addon', CALL_COUNT);
  for (const outcome of ['right', 'ERR_INVALID_ARG_TYPE', 'ERR_OUT_OF_RANGE']) {
    t.ok(tally[outcome] > CALL_COUNT / 10, outcome);
  }
});

t.test('the addon refuses to bind what is not the name of a kernel', async (t) => {
  if (addon === null) return t.skip('no addon');
  await runCalls('bind', 0);
});
