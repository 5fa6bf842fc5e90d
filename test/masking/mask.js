'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { promisify } = require('node:util');
const vm = require('node:vm');
const t = require('tap');
const { isUint8Array } = require('../../lib/shared/buffers');
const { assertBytes, forEachCase } = require('../support/cases');
const { createDetached, createGarbage } = require('../support/garbage');
const { createMaskings } = require('../support/maskings');
const { addon, kernels } = require('../support/natives');
const { seed } = require('../support/random');
const { runScript } = require('../support/run-script');
const { TRIES_ALL } = require('../support/sample');

// The public functions mask and unmask, over each backend.

const run = promisify(execFile);
const ROOT = path.join(__dirname, '../..');
const KEY = Buffer.from([0xa1, 0x5c, 0x03, 0xf8]);
// Around the lengths from which lib/masking/backend.js and lib/masking/fallback.js work in another
// way.
const LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 31, 47, 48, 49, 63, 64, 65, 125, 95, 96, 97, 511, 512, 513, 4093, 65537];
const MASKINGS = createMaskings();

/** Masks with a byte loop. */
function masked(source, start, length, phase = 0) {
  return Buffer.from(Array.from({ length }, (_, i) => source[start + i] ^ KEY[(i + phase) & 3]));
}

function fill(bytes) {
  bytes.set(randomBytes(bytes.length));
  return bytes;
}

/** Kinds of memory: a Uint8Array of `length` random bytes, most of them at an odd address. */
const MEMORIES = [
  { name: 'Buffer', create: (length) => randomBytes(length + 3).subarray(3) },
  { name: 'a pooled Buffer', create: (length) => Buffer.from(randomBytes(length)) },
  { name: 'ArrayBuffer', create: (length) => fill(new Uint8Array(new ArrayBuffer(length + 5), 3, length)) },
  { name: 'SharedArrayBuffer', create: (length) => fill(new Uint8Array(new SharedArrayBuffer(length + 5), 3, length)) },
  {
    name: 'a resizable ArrayBuffer',
    create: (length) => fill(new Uint8Array(new ArrayBuffer(length + 5, { maxByteLength: length + 100 }), 3, length))
  },
  {
    name: 'a resizable ArrayBuffer, its length tracked',
    create: (length) => fill(new Uint8Array(new ArrayBuffer(length + 3, { maxByteLength: length + 100 }), 3))
  },
  {
    name: 'a growable SharedArrayBuffer, its length tracked',
    create: (length) => fill(new Uint8Array(new SharedArrayBuffer(length + 3, { maxByteLength: length + 100 }), 3))
  },
  {
    name: 'WebAssembly',
    create: (length) => fill(new Uint8Array(new WebAssembly.Memory({ initial: 1 + (length >> 16) }).buffer, 7, length))
  },
  {
    name: 'another realm',
    create: (length) => fill(vm.runInNewContext('new Uint8Array(new ArrayBuffer(length + 5), 3, length)', { length }))
  },
  { name: 'a subclass', create: (length) => fill(new (class Payload extends Uint8Array {})(length)) }
];

t.test('5.7: masks and unmasks the example of the RFC', (t) => {
  forEachCase(MASKINGS, ({ mask, unmask }) => {
    const key = Buffer.from('37fa213d', 'hex');
    const payload = Buffer.from('Hello');
    const output = Buffer.alloc(9);
    assert.equal(mask(payload, key, output, 2, 5), 1, 'the phase that mask returns');
    assert.equal(output.toString('hex'), '00007f9f4d51580000', 'mask');
    assert.equal(payload.toString(), 'Hello', 'the source afterwards');
    assert.equal(unmask(output.subarray(2, 7), key), 1, 'the phase that unmask returns');
    assert.equal(output.toString('latin1', 2, 7), 'Hello', 'unmask');
  });
  t.end();
});

t.test('5.3: starts with the byte of the key that the phase names, and returns the next phase', (t) => {
  forEachCase(MASKINGS, ({ mask, unmask }) => {
    forEachCase(LENGTHS, (length) => {
      for (const phase of [undefined, 0, 1, 2, 3, -0]) {
        const source = randomBytes(length + 4);
        const expected = masked(source, 0, length, phase);
        const output = Buffer.alloc(length + 8);
        const next = ((phase ?? 0) + length) & 3;
        assert.equal(mask(source, KEY, output, 5, length, phase), next, `mask, phase ${phase}: what it returns`);
        assertBytes(output.subarray(5, 5 + length), expected, `mask, phase ${phase}`);
        assert.equal(unmask(source.subarray(0, length), KEY, phase), next, `unmask, phase ${phase}: what it returns`);
        assertBytes(source.subarray(0, length), expected, `unmask, phase ${phase}`);
      }
    });
  });
  t.end();
});

t.test('changes only the range', (t) => {
  forEachCase(MASKINGS, ({ mask, unmask }) => {
    const source = randomBytes(300);
    const output = randomBytes(400);
    const expected = Buffer.concat([output.subarray(0, 17), masked(source, 0, 200), output.subarray(217)]);
    mask(source, KEY, output, 17, 200);
    assertBytes(output, expected, 'mask');
    const around = [output.subarray(0, 9), masked(output, 9, 221), output.subarray(230)];
    const unmasked = Buffer.concat(around);
    unmask(output.subarray(9, 230), KEY);
    assertBytes(output, unmasked, 'unmask');
  });
  t.end();
});

t.test('5.3: a payload in pieces gives the same bytes as in one', (t) => {
  forEachCase(MASKINGS, ({ mask, unmask }) => {
    const payload = randomBytes(3000);
    for (let turn = 0; turn < 50; turn++) {
      const inPlace = Buffer.from(payload);
      const output = Buffer.alloc(payload.length);
      let [phase, maskPhase] = [turn & 3, turn & 3];
      for (let at = 0; at < payload.length; ) {
        const end = Math.min(at + (randomBytes(2).readUInt16LE() % 300), payload.length);
        phase = unmask(inPlace.subarray(at, end), KEY, phase);
        maskPhase = mask(payload.subarray(at), KEY, output, at, end - at, maskPhase);
        at = end;
      }
      const expected = masked(payload, 0, payload.length, turn & 3);
      assertBytes(inPlace, expected, `unmask, turn ${turn}`);
      assertBytes(output, expected, `mask, turn ${turn}`);
      assert.equal(phase, turn & 3, `unmask, turn ${turn}: the phase after a multiple of 4 bytes`);
      assert.equal(maskPhase, phase, `mask, turn ${turn}: the phase`);
    }
  });
  t.end();
});

t.test('source and output may overlap in any way', (t) => {
  forEachCase(MASKINGS, ({ mask }) => {
    for (const length of LENGTHS) {
      for (const distance of [-length, -65, -8, -3, -1, 0, 1, 2, 4, 9, 64, length - 1, length]) {
        const memory = randomBytes(2 * length + 200);
        const from = length + 70;
        const to = from + distance;
        if (to < 0 || to + length > memory.length) continue;
        const expected = Buffer.from(memory);
        masked(memory, from, length, 2).copy(expected, to);
        mask(memory.subarray(from), KEY, memory, to, length, 2);
        assertBytes(memory, expected, `${length} bytes, moved by ${distance}`);
      }
    }
  });
  t.end();
});

t.test('the key may be part of what is masked', (t) => {
  forEachCase(MASKINGS, ({ unmask }) => {
    for (const length of [16, 300]) {
      const frame = Buffer.concat([KEY, randomBytes(length)]);
      const expected = masked(frame, 0, frame.length);
      unmask(frame, frame.subarray(0, 4));
      assertBytes(frame, expected, `${length} bytes`);
    }
  });
  t.end();
});

t.test('takes bytes in memory of any kind', (t) => {
  forEachCase(MASKINGS, ({ mask, unmask }) => {
    forEachCase(MEMORIES, ({ create }) => {
      for (const length of LENGTHS) {
        const [source, output, key] = [create(length), create(length + 11), create(4)];
        key.set(KEY);
        const payload = masked(source, 0, length, 1);
        const around = [Buffer.from(output.slice(0, 6)), Buffer.from(output.slice(6 + length))];
        mask(source, key, output, 6, length, 1);
        assertBytes(Buffer.from(output), Buffer.concat([around[0], payload, around[1]]), `mask, ${length} bytes`);
        unmask(source, key, 1);
        assertBytes(Buffer.from(source), payload, `unmask, ${length} bytes`);
      }
    });
  });
  t.end();
});

t.test('source and output may overlap in two SharedArrayBuffers of one memory', (t) => {
  const MOVES = [
    [0, 9],
    [9, 0],
    [3, 3],
    [0, 32],
    [33, 1]
  ];
  forEachCase(MASKINGS, ({ mask }) => {
    for (const length of [40, 64, 200, 5000]) {
      for (const [from, to] of MOVES) {
        const memory = new SharedArrayBuffer(length + 64);
        const twin = structuredClone(memory);
        assert.notEqual(twin, memory, 'two objects');
        const source = fill(new Uint8Array(memory));
        const output = new Uint8Array(twin);
        const expected = Buffer.from(source);
        masked(source, from, length).copy(expected, to);
        mask(source.subarray(from), KEY, output, to, length);
        assertBytes(Buffer.from(memory), expected, `${length} bytes, from ${from} to ${to}`);
      }
    }
  });
  t.end();
});

t.test('follows memory that is resized', (t) => {
  forEachCase(MASKINGS, ({ mask, unmask }) => {
    forEachCase([20, 500], (length) => {
      const memory = new ArrayBuffer(length, { maxByteLength: 1000 });
      const tracking = new Uint8Array(memory);
      const fixed = new Uint8Array(memory, 4, length - 4);
      assert.equal(unmask(tracking, KEY), length & 3, 'memory that was not resized: the phase');

      memory.resize(length + 7);
      const grown = Buffer.from(memory.slice(0));
      assert.equal(unmask(tracking, KEY), (length + 7) & 3, 'memory that has grown: the phase');
      assertBytes(Buffer.from(memory), masked(grown, 0, length + 7), 'memory that has grown');

      memory.resize(length - 1);
      const shrunk = Buffer.from(memory.slice(0));
      assert.equal(fixed.length, 0, 'the length of a view that is out of bounds');
      assert.equal(unmask(fixed, KEY, 3), 3, 'a view that is out of bounds is empty');
      const outOfRange = { code: 'ERR_OUT_OF_RANGE' };
      assert.throws(() => mask(fixed, KEY, tracking, 0, 1), outOfRange, 'a source that is out of bounds');
      assert.throws(() => mask(tracking, KEY, fixed, 0, 1), outOfRange, 'an output that is out of bounds');
      assert.throws(() => mask(tracking, KEY, tracking, 0, length), outOfRange, 'the length before it has shrunk');
      assertBytes(Buffer.from(memory), shrunk, 'memory that has shrunk');

      memory.resize(length);
      const back = Buffer.from(memory.slice(0));
      assert.equal(unmask(fixed, KEY), length & 3, 'a view that is in bounds again: the phase');
      const expected = Buffer.concat([back.subarray(0, 4), masked(back, 4, length - 4)]);
      assertBytes(Buffer.from(memory), expected, 'a view that is in bounds again');

      memory.resize(0);
      assert.equal(unmask(tracking, KEY), 0, 'no memory, a view with the length tracked');
      assert.equal(unmask(fixed, KEY), 0, 'no memory, a view with a fixed length');
    });
  });
  t.end();
});

t.test('isUint8Array is true for a Uint8Array of any class and realm, and for nothing else', (t) => {
  forEachCase(MEMORIES, ({ create }) => assert.equal(isUint8Array(create(4)), true));
  const pretender = { [Symbol.toStringTag]: 'Uint8Array', length: 4 };
  const object = Object.create(Uint8Array.prototype);
  const proxy = new Proxy(new Uint8Array(4), {});
  const others = [Int8Array, Uint8ClampedArray, Uint16Array, Int32Array, BigUint64Array, Float64Array, ArrayBuffer];
  const values = [
    pretender,
    object,
    proxy,
    Uint8Array.prototype,
    new DataView(new ArrayBuffer(4)),
    null,
    undefined,
    4,
    'a',
    4n
  ];
  forEachCase([...values, Symbol('s'), ...others.map((Type) => new Type(4))], (value) => {
    assert.equal(isUint8Array(value), false);
  });
  t.end();
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
  for (const name of ['js', ...kernels]) {
    const env = { ...process.env, FRAMEMASK_KERNEL: name };
    const required = await run(process.execPath, ['-e', commonjs], { env });
    t.equal(required.stdout.trim(), `${name} 0 true`, `require, ${name}`);
  }
  const imported = await run(process.execPath, ['--input-type=module', '-e', module], {
    env: { ...process.env, FRAMEMASK_KERNEL: 'js' }
  });
  t.equal(imported.stdout.trim(), 'js 0 true', 'import');
  const env = { ...process.env, FRAMEMASK_KERNEL: 'mmx' };
  await t.rejects(run(process.execPath, ['-e', commonjs], { env }), {
    stderr: /FRAMEMASK_KERNEL is "mmx", but this machine can run: js/
  });
  await t.rejects(run(process.execPath, ['--input-type=module', '-e', module], { env }), { stderr: /can run: js/ });
});

// The errors of mask and unmask: which argument they name, and that nothing has been written.

const CALLS = path.join(__dirname, '../support/random-calls.js');
/** Each kind of wrong argument comes dozens of times in 5,000 calls. */
const CALL_COUNT = TRIES_ALL ? 100_000 : 5000;

const type = (name, expected, was) => ({
  name: 'TypeError',
  code: 'ERR_INVALID_ARG_TYPE',
  message: `The "${name}" argument must be ${expected}, but was ${was}`
});
const range = (name, expected, was) => ({
  name: 'RangeError',
  code: 'ERR_OUT_OF_RANGE',
  message: `The "${name}" argument must be ${expected}, but was ${was}`
});

const BYTES = 'a Buffer or Uint8Array';
const DETACHED = 'an instance of Uint8Array whose memory is detached';

/** Values that are not a Uint8Array, and how an error names them. */
const NO_BYTES = [
  [undefined, 'undefined'],
  [null, 'null'],
  ['abcd', "the string 'abcd'"],
  [4, 'the number 4'],
  [4n, 'the bigint 4n'],
  [Symbol('s'), 'the symbol Symbol(s)'],
  [true, 'the boolean true'],
  [{ length: 4 }, 'an instance of Object'],
  [[1, 2, 3, 4], 'an instance of Array'],
  [() => {}, 'a function'],
  [new ArrayBuffer(4), 'an instance of ArrayBuffer'],
  [new SharedArrayBuffer(4), 'an instance of SharedArrayBuffer'],
  [new DataView(new ArrayBuffer(4)), 'an instance of DataView'],
  [new Int8Array(4), 'an instance of Int8Array'],
  [new Uint8ClampedArray(4), 'an instance of Uint8ClampedArray'],
  [new Uint32Array(4), 'an instance of Uint32Array'],
  [new Proxy(new Uint8Array(4), {}), 'an instance of Uint8Array'],
  [Object.create(Uint8Array.prototype), 'an instance of Uint8Array'],
  [vm.runInNewContext('new Uint16Array(4)'), 'an instance of Uint16Array']
];

/** Values that are not a number, and how an error names them. */
const NO_NUMBERS = [
  [undefined, 'undefined'],
  [null, 'null'],
  ['1', "the string '1'"],
  [1n, 'the bigint 1n'],
  [Symbol('s'), 'the symbol Symbol(s)'],
  [false, 'the boolean false'],
  [{ valueOf: () => 1 }, 'an instance of Object'],
  [Object(1), 'an instance of Number']
];

/** Numbers that are not an index. */
const NO_SIZES = [
  -1,
  -0.5,
  0.5,
  1.5,
  5e-324,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  2 ** 31,
  2 ** 32,
  2 ** 32 + 1,
  2 ** 53,
  2 ** 64,
  -(2 ** 31),
  -(2 ** 53)
];

/**
 * Calls mask and unmask over each backend with payloads of 8 and 200 bytes; the addon would mask
 * the long ones. `refused` calls a function and checks the error and that no byte has changed.
 */
function forEachMasking(check) {
  forEachCase(MASKINGS, ({ mask, unmask }) => {
    forEachCase([8, 200], (size) => {
      const source = Buffer.alloc(size, 1);
      const output = Buffer.alloc(size + 10, 2);
      const refused = (what, call, error) => {
        assert.throws(call, error, what);
        assertBytes(source, Buffer.alloc(size, 1), `${what}: the source afterwards`);
        assertBytes(output, Buffer.alloc(size + 10, 2), `${what}: the output afterwards`);
      };
      check({ mask, unmask, source, output, size, refused });
    });
  });
}

t.test('refuses what is not a Uint8Array', (t) => {
  forEachMasking(({ mask, unmask, source, output, size, refused }) => {
    for (const [value, was] of NO_BYTES) {
      refused(`${was} as buffer`, () => unmask(value, KEY), type('buffer', BYTES, was));
      refused(`${was} as key of unmask`, () => unmask(source, value), type('key', BYTES, was));
      refused(`${was} as source`, () => mask(value, KEY, output, 0, size), type('source', BYTES, was));
      refused(`${was} as key of mask`, () => mask(source, value, output, 0, size), type('key', BYTES, was));
      refused(`${was} as output`, () => mask(source, KEY, value, 0, size), type('output', BYTES, was));
    }
  });
  t.end();
});

t.test('refuses detached memory', (t) => {
  forEachMasking(({ mask, unmask, source, output, size, refused }) => {
    for (const [i, detached] of createDetached().entries()) {
      refused(`buffer ${i}`, () => unmask(detached, KEY), type('buffer', BYTES, DETACHED));
      refused(`key ${i} of unmask`, () => unmask(source, detached), type('key', BYTES, DETACHED));
      refused(`source ${i}`, () => mask(detached, KEY, output, 0, 0), type('source', BYTES, DETACHED));
      refused(`key ${i} of mask`, () => mask(source, detached, output, 0, size), type('key', BYTES, DETACHED));
      refused(`output ${i}`, () => mask(source, KEY, detached, 0, 0), type('output', BYTES, DETACHED));
    }
  });
  t.end();
});

t.test('5.3: refuses a key that is not 4 bytes long', (t) => {
  forEachMasking(({ mask, unmask, source, output, size, refused }) => {
    for (const length of [0, 1, 3, 5, 8, 100]) {
      const error = range('key', '4 bytes long', `${length} bytes long`);
      refused(`unmask, ${length} bytes`, () => unmask(source, new Uint8Array(length)), error);
      refused(`mask, ${length} bytes`, () => mask(source, new Uint8Array(length), output, 0, size), error);
    }
  });
  t.end();
});

t.test('refuses an offset, a length or a phase that is not a number', (t) => {
  forEachMasking(({ mask, unmask, source, output, size, refused }) => {
    for (const [value, was] of NO_NUMBERS) {
      refused(`${was} as offset`, () => mask(source, KEY, output, value, size), type('offset', 'a number', was));
      refused(`${was} as length`, () => mask(source, KEY, output, 0, value), type('length', 'a number', was));
      if (value === undefined) continue;
      refused(`${was} as phase`, () => mask(source, KEY, output, 0, size, value), type('phase', 'a number', was));
      refused(`${was} as phase of unmask`, () => unmask(source, KEY, value), type('phase', 'a number', was));
    }
  });
  t.end();
});

t.test('refuses an offset, a length or a phase that is not an index', (t) => {
  forEachMasking(({ mask, unmask, source, output, size, refused }) => {
    const offset = (value) => range('offset', 'a whole number from 0 to 10', value);
    const length = (value) => range('length', `a whole number from 0 to ${size}`, value);
    const phase = (value) => range('phase', 'a whole number from 0 to 3', value);
    for (const value of NO_SIZES) {
      refused(`offset ${value}`, () => mask(source, KEY, output, value, size), offset(value));
      refused(`length ${value}`, () => mask(source, KEY, output, 0, value), length(value));
      refused(`phase ${value}`, () => mask(source, KEY, output, 0, size, value), phase(value));
      refused(`phase ${value} of unmask`, () => unmask(source, KEY, value), phase(value));
    }
    refused('phase 4 of unmask', () => unmask(source, KEY, 4), phase(4));
  });
  t.end();
});

t.test('refuses a range that does not lie in the source and the output', (t) => {
  forEachMasking(({ mask, source, output, size, refused }) => {
    const end = size + 10;
    const small = output.subarray(0, 6);
    const length = (most, value) => range('length', `a whole number from 0 to ${most}`, value);
    const offset = (most, value) => range('offset', `a whole number from 0 to ${most}`, value);
    refused('beyond the source', () => mask(source, KEY, output, 0, size + 1), length(size, size + 1));
    refused('beyond a small output', () => mask(source, KEY, small, 0, 7), length(6, 7));
    refused('beyond the output', () => mask(source, KEY, output, 11, size), offset(10, 11));
    refused('beyond a small output, moved', () => mask(source, KEY, small, 1, 6), offset(0, 1));
    refused('no bytes beyond the output', () => mask(source, KEY, output, end + 1, 0), offset(end, end + 1));
    assert.equal(mask(source, KEY, output, end, 0), 0, 'no bytes at the end of the output');
    assert.equal(mask(source, KEY, output, -0, -0, -0), 0, '-0 is 0');
  });
  t.end();
});

t.test('refuses calls with too few arguments', (t) => {
  forEachMasking(({ mask, unmask, source, output, refused }) => {
    refused('mask()', () => mask(), type('source', BYTES, 'undefined'));
    refused('mask(source)', () => mask(source), type('output', BYTES, 'undefined'));
    refused('mask(source, key)', () => mask(source, KEY), type('output', BYTES, 'undefined'));
    refused('mask(source, key, output)', () => mask(source, KEY, output), type('length', 'a number', 'undefined'));
    const noLength = type('length', 'a number', 'undefined');
    refused('mask(source, key, output, offset)', () => mask(source, KEY, output, 0), noLength);
    refused('unmask()', () => unmask(), type('buffer', BYTES, 'undefined'));
    refused('unmask(buffer)', () => unmask(source), type('key', BYTES, 'undefined'));
  });
  t.end();
});

t.test('an error names the argument, with any value', (t) => {
  const garbage = createGarbage();
  forEachCase(MASKINGS, ({ mask, unmask }) => {
    forEachCase(garbage, (value) => {
      const error = (name) => ({ name: 'TypeError', message: new RegExp(`^The "${name}" argument must be `) });
      assert.throws(() => unmask(value, KEY), error('buffer'), 'as buffer');
      assert.throws(() => unmask(KEY, value), error('key'), 'as key');
      assert.throws(() => mask(KEY, KEY, value, 0, 4), error('output'), 'as output');
    });
  });
  t.end();
});

/** Runs test/support/random-calls.js in a process of its own, because a bug may crash it. */
async function runCalls(what, count) {
  return JSON.parse(await runScript(CALLS, [what, seed, count]));
}

t.test(`${CALL_COUNT} random wrong calls: the addon and JavaScript do the same`, async (t) => {
  const tally = await runCalls('public', CALL_COUNT);
  const few = CALL_COUNT / 1000;
  t.ok(tally.wrong >= CALL_COUNT);
  t.ok(tally.right > CALL_COUNT / 10, 'right calls between them');
  for (const kind of ['mask source', 'mask key', 'mask output', 'mask offset', 'mask length', 'mask phase']) {
    t.ok(tally[`${kind} TypeError`] > few, `${kind}: a TypeError`);
  }
  for (const kind of ['mask key', 'mask offset', 'mask length', 'mask phase', 'unmask key', 'unmask phase']) {
    t.ok(tally[`${kind} RangeError`] > few, `${kind}: a RangeError`);
  }
  for (const kind of ['unmask buffer', 'unmask key', 'unmask phase']) {
    t.ok(tally[`${kind} TypeError`] > few, `${kind}: a TypeError`);
  }
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
