'use strict';

const t = require('tap');
const { execFile } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { promisify } = require('node:util');
const vm = require('node:vm');
const { isUint8Array } = require('../../lib/shared/buffers');
const { createMaskings } = require('../support/maskings');
const { kernels } = require('../support/natives');

const run = promisify(execFile);
const ROOT = path.join(__dirname, '../..');
const KEY = Buffer.from([0xa1, 0x5c, 0x03, 0xf8]);
// Around the lengths at which lib/masking/backend.js and lib/masking/fallback.js change their ways.
const LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 31, 47, 48, 49, 63, 64, 65, 125, 95, 96, 97, 511, 512, 513, 4093, 65537];

/** The byte loop. */
function masked(source, start, length, phase = 0) {
  return Buffer.from(Array.from({ length }, (_, i) => source[start + i] ^ KEY[(i + phase) & 3]));
}

/** Memory of each kind, as a Uint8Array of `length` random bytes that begins at an odd place. */
const MEMORIES = {
  Buffer: (length) => randomBytes(length + 3).subarray(3),
  'a pooled Buffer': (length) => Buffer.from(randomBytes(length)),
  ArrayBuffer: (length) => fill(new Uint8Array(new ArrayBuffer(length + 5), 3, length)),
  SharedArrayBuffer: (length) => fill(new Uint8Array(new SharedArrayBuffer(length + 5), 3, length)),
  'a resizable ArrayBuffer': (length) =>
    fill(new Uint8Array(new ArrayBuffer(length + 5, { maxByteLength: length + 100 }), 3, length)),
  'a resizable ArrayBuffer, its length tracked': (length) =>
    fill(new Uint8Array(new ArrayBuffer(length + 3, { maxByteLength: length + 100 }), 3)),
  'a growable SharedArrayBuffer, its length tracked': (length) =>
    fill(new Uint8Array(new SharedArrayBuffer(length + 3, { maxByteLength: length + 100 }), 3)),
  WebAssembly: (length) =>
    fill(new Uint8Array(new WebAssembly.Memory({ initial: 1 + (length >> 16) }).buffer, 7, length)),
  'another context': (length) =>
    fill(vm.runInNewContext('new Uint8Array(new ArrayBuffer(length + 5), 3, length)', { length })),
  'a class of its own': (length) => fill(new (class Payload extends Uint8Array {})(length))
};

function fill(bytes) {
  bytes.set(randomBytes(bytes.length));
  return bytes;
}

for (const { name, mask, unmask } of createMaskings()) {
  t.test(`over ${name}`, (t) => {
    t.test('the example of RFC 6455, section 5.7', (t) => {
      const key = Buffer.from('37fa213d', 'hex');
      const payload = Buffer.from('Hello');
      const output = Buffer.alloc(9);
      t.equal(mask(payload, key, output, 2, 5), 1);
      t.equal(output.toString('hex'), '00007f9f4d51580000');
      t.equal(payload.toString(), 'Hello');
      t.equal(unmask(output.subarray(2, 7), key), 1);
      t.equal(output.toString('latin1', 2, 7), 'Hello');
      t.end();
    });

    t.test('every phase, and the phase returned', (t) => {
      for (const length of LENGTHS) {
        for (const phase of [undefined, 0, 1, 2, 3, -0]) {
          const source = randomBytes(length + 4);
          const expected = masked(source, 0, length, phase);
          const output = Buffer.alloc(length + 8);
          const next = ((phase ?? 0) + length) & 3;
          t.equal(mask(source, KEY, output, 5, length, phase), next);
          t.ok(output.subarray(5, 5 + length).equals(expected), `mask ${length} bytes, phase ${phase}`);
          t.equal(unmask(source.subarray(0, length), KEY, phase), next);
          t.ok(source.subarray(0, length).equals(expected), `unmask ${length} bytes, phase ${phase}`);
        }
      }
      t.end();
    });

    t.test('only the range is masked', (t) => {
      const source = randomBytes(300);
      const output = randomBytes(400);
      const expected = Buffer.concat([output.subarray(0, 17), masked(source, 0, 200), output.subarray(217)]);
      mask(source, KEY, output, 17, 200);
      t.ok(output.equals(expected));
      const whole = Buffer.from(output);
      unmask(output.subarray(9, 230), KEY);
      t.ok(output.subarray(0, 9).equals(whole.subarray(0, 9)));
      t.ok(output.subarray(9, 230).equals(masked(whole, 9, 221)));
      t.ok(output.subarray(230).equals(whole.subarray(230)));
      t.end();
    });

    t.test('a payload in pieces is the payload in one', (t) => {
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
        if (!inPlace.equals(expected) || !output.equals(expected)) t.fail(`turn ${turn}`);
        t.equal(phase, (turn + payload.length) & 3);
        t.equal(maskPhase, phase);
      }
      t.end();
    });

    t.test('source and output may overlap in any way', (t) => {
      for (const length of LENGTHS) {
        for (const distance of [-length, -65, -8, -3, -1, 0, 1, 2, 4, 9, 64, length - 1, length]) {
          const memory = randomBytes(2 * length + 200);
          const from = length + 70;
          const to = from + distance;
          if (to < 0 || to + length > memory.length) continue;
          const expected = Buffer.from(memory);
          masked(memory, from, length, 2).copy(expected, to);
          mask(memory.subarray(from), KEY, memory, to, length, 2);
          if (!memory.equals(expected)) t.fail(`${length} bytes, ${distance} on`);
        }
      }
      t.end();
    });

    t.test('the key may lie in what is masked', (t) => {
      for (const length of [16, 300]) {
        const frame = Buffer.concat([KEY, randomBytes(length)]);
        const expected = masked(frame, 0, frame.length);
        unmask(frame, frame.subarray(0, 4));
        t.ok(frame.equals(expected));
      }
      t.end();
    });

    for (const [memory, create] of Object.entries(MEMORIES)) {
      t.test(`over ${memory}`, (t) => {
        for (const length of LENGTHS) {
          const [source, output, key] = [create(length), create(length + 11), create(4)];
          key.set(KEY);
          const expected = masked(source, 0, length, 1);
          const around = [Buffer.from(output.slice(0, 6)), Buffer.from(output.slice(6 + length))];
          mask(source, key, output, 6, length, 1);
          t.ok(Buffer.from(output).equals(Buffer.concat([around[0], expected, around[1]])), `mask, ${length} bytes`);
          unmask(source, key, 1);
          t.ok(Buffer.from(source).equals(expected), `unmask, ${length} bytes`);
        }
        t.end();
      });
    }

    t.test('two SharedArrayBuffers of one memory are one memory', (t) => {
      for (const length of [40, 64, 200, 5000]) {
        for (const [from, to] of [
          [0, 9],
          [9, 0],
          [3, 3],
          [0, 32],
          [33, 1]
        ]) {
          const memory = new SharedArrayBuffer(length + 64);
          const twin = structuredClone(memory);
          t.not(twin, memory);
          const source = fill(new Uint8Array(memory));
          const output = new Uint8Array(twin);
          const expected = Buffer.from(source);
          masked(source, from, length).copy(expected, to);
          mask(source.subarray(from), KEY, output, to, length);
          t.ok(Buffer.from(memory).equals(expected), `${length} bytes, from ${from} to ${to}`);
        }
      }
      t.end();
    });

    t.test('memory that was resized', (t) => {
      for (const length of [20, 500]) {
        const memory = new ArrayBuffer(length, { maxByteLength: 1000 });
        const tracking = new Uint8Array(memory);
        const fixed = new Uint8Array(memory, 4, length - 4);
        t.equal(unmask(tracking, KEY), length & 3);

        memory.resize(length + 7);
        const grown = Buffer.from(memory.slice(0));
        t.equal(unmask(tracking, KEY), (length + 7) & 3, 'a view follows its memory');
        t.ok(Buffer.from(memory).equals(masked(grown, 0, length + 7)));

        memory.resize(length - 1);
        const shrunk = Buffer.from(memory.slice(0));
        t.equal(fixed.length, 0);
        t.equal(unmask(fixed, KEY, 3), 3, 'a view that its memory no longer holds is empty');
        t.throws(() => mask(fixed, KEY, tracking, 0, 1), { code: 'ERR_OUT_OF_RANGE' });
        t.throws(() => mask(tracking, KEY, fixed, 0, 1), { code: 'ERR_OUT_OF_RANGE' });
        t.throws(() => mask(tracking, KEY, tracking, 0, length), { code: 'ERR_OUT_OF_RANGE' });
        t.ok(Buffer.from(memory).equals(shrunk));

        memory.resize(length);
        const back = Buffer.from(memory.slice(0));
        t.equal(unmask(fixed, KEY), length & 3, 'and holds what it held when its memory has grown again');
        t.ok(Buffer.from(memory).equals(Buffer.concat([back.subarray(0, 4), masked(back, 4, length - 4)])));

        memory.resize(0);
        t.equal(unmask(tracking, KEY), 0);
        t.equal(unmask(fixed, KEY), 0);
      }
      t.end();
    });

    t.end();
  });
}

t.test('isUint8Array', (t) => {
  for (const create of Object.values(MEMORIES)) t.ok(isUint8Array(create(4)));
  const pretender = { [Symbol.toStringTag]: 'Uint8Array', length: 4 };
  const heir = Object.create(Uint8Array.prototype);
  const proxy = new Proxy(new Uint8Array(4), {});
  const others = [Int8Array, Uint8ClampedArray, Uint16Array, Int32Array, BigUint64Array, Float64Array, ArrayBuffer];
  const values = [
    pretender,
    heir,
    proxy,
    Uint8Array.prototype,
    new DataView(new ArrayBuffer(4)),
    null,
    undefined,
    4,
    'a',
    4n
  ];
  for (const value of [...values, Symbol('s'), ...others.map((Type) => new Type(4))]) t.notOk(isUint8Array(value));
  t.end();
});

t.test('each kernel, named in the environment of a process', async (t) => {
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
    t.equal(required.stdout.trim(), `${name} 0 true`);
    const imported = await run(process.execPath, ['--input-type=module', '-e', module], { env });
    t.equal(imported.stdout.trim(), `${name} 0 true`);
  }
  const env = { ...process.env, FRAMEMASK_KERNEL: 'mmx' };
  await t.rejects(run(process.execPath, ['-e', commonjs], { env }), {
    stderr: /FRAMEMASK_KERNEL is "mmx", but this machine can run: js/
  });
  await t.rejects(run(process.execPath, ['--input-type=module', '-e', module], { env }), { stderr: /can run: js/ });
});
