'use strict';

// The public functions mask and unmask, over each backend.

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
const { createMaskings } = require('../support/maskings');
const { kernels } = require('../support/natives');

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
    const imported = await run(process.execPath, ['--input-type=module', '-e', module], { env });
    t.equal(imported.stdout.trim(), `${name} 0 true`, `import, ${name}`);
  }
  const env = { ...process.env, FRAMEMASK_KERNEL: 'mmx' };
  await t.rejects(run(process.execPath, ['-e', commonjs], { env }), {
    stderr: /FRAMEMASK_KERNEL is "mmx", but this machine can run: js/
  });
  await t.rejects(run(process.execPath, ['--input-type=module', '-e', module], { env }), { stderr: /can run: js/ });
});
