'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const t = require('tap');
const framemask = require('../../index.js');
const fallback = require('../../lib/masking/fallback');
const { Param, bind, load } = require('../../lib/masking/native');
const { assertBytes, forEachCase } = require('../support/cases');
const { KEY, maskAll, startWorker } = require('../support/masking-worker');
const { createNativeDouble } = require('../support/native-double');
const { addon, kernels, nativeKernels } = require('../support/natives');

/** An addon with two kernels; `bound` has the names that were bound. */
function createAddonDouble() {
  const bound = [];
  return {
    bound,
    kernels: ['plain', 'wide'],
    bind(name, params) {
      bound.push(name);
      const { mask, unmask, unmaskText, scan } = createNativeDouble(params);
      return { mask, unmask, unmaskText, scan };
    }
  };
}

const skip = addon === null && 'no addon';

/**
 * @param {string} file
 * @param {string} otherwise
 * @returns {string} its text, or `otherwise` if it can't be read
 */
function readOr(file, otherwise) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise;
  }
}

function noAddon() {
  throw new Error('No native build was found');
}

t.test('the params have the order that src/addon.cc gives them', (t) => {
  const source = readFileSync(path.join(__dirname, '../../src/addon.cc'), 'utf8');
  const [, body] = /enum Param \{([^}]*)\}/.exec(source);
  const names = [...body.matchAll(/^\s*k(\w+)/gm)].map(([, name]) =>
    name.replace(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()
  );
  t.equal(names.pop(), 'PARAM_COUNT');
  t.same(names, Object.keys(Param));
  t.same(
    names.map((_, i) => i),
    Object.values(Param)
  );
  t.end();
});

t.test('binds the best kernel by default', (t) => {
  const double = createAddonDouble();
  const { kernel, native, nativeError } = load({}, () => double);
  t.equal(kernel, 'wide');
  t.equal(nativeError, null);
  t.same(double.bound, ['wide']);
  t.same(Object.keys(native).sort(), ['mask', 'params', 'scan', 'unmask', 'unmaskText']);
  t.type(native.params, Float64Array);
  t.equal(load({ FRAMEMASK_KERNEL: '' }, () => double).kernel, 'wide', 'an empty FRAMEMASK_KERNEL');
  t.end();
});

t.test('binds the kernel that FRAMEMASK_KERNEL names; js needs no addon', (t) => {
  const double = createAddonDouble();
  t.equal(load({ FRAMEMASK_KERNEL: 'plain' }, () => double).kernel, 'plain');
  t.same(double.bound, ['plain']);

  const asked = load({ FRAMEMASK_KERNEL: 'js', FRAMEMASK_REQUIRE_NATIVE: '1' }, () =>
    assert.fail('the addon was loaded')
  );
  t.same(asked, { kernel: 'js', native: null, nativeError: null });
  t.end();
});

t.test('an environment variable that may not be read counts as unset, as in Deno without --allow-env', (t) => {
  const refused = [];
  const environment = new Proxy(
    {},
    {
      get(_target, name) {
        refused.push(name);
        throw Object.assign(new Error(`Requires env access to "${name}"`), { name: 'NotCapable' });
      }
    }
  );
  t.equal(load(environment, createAddonDouble).kernel, 'wide');
  const { kernel, nativeError } = load(environment, noAddon);
  t.equal(kernel, 'js');
  t.match(nativeError, { message: 'No native build was found' });
  t.same(refused, ['FRAMEMASK_KERNEL', 'FRAMEMASK_KERNEL', 'FRAMEMASK_REQUIRE_NATIVE']);
  t.end();
});

t.test('refuses a kernel that this machine does not run, and names the others', (t) => {
  forEachCase(['neon128', 'Wide', ' wide', 'constructor', '__proto__', 'x'.repeat(1000)], (name) => {
    assert.throws(() => load({ FRAMEMASK_KERNEL: name }, createAddonDouble), {
      name: 'RangeError',
      code: 'FRAMEMASK_ERR_KERNEL',
      message: `FRAMEMASK_KERNEL is ${JSON.stringify(name)}, but this machine can run: js, plain, wide`
    });
  });
  const error = t.throws(() => load({ FRAMEMASK_KERNEL: 'wide' }, noAddon), {
    code: 'FRAMEMASK_ERR_KERNEL',
    message: 'FRAMEMASK_KERNEL is "wide", but this machine can run: js'
  });
  t.match(error.cause, { message: 'No native build was found' });
  t.end();
});

t.test('without an addon uses JavaScript, unless FRAMEMASK_REQUIRE_NATIVE is 1', (t) => {
  const missing = load({}, noAddon);
  t.equal(missing.kernel, 'js');
  t.equal(missing.native, null);
  t.match(missing.nativeError, { message: 'No native build was found' });
  t.same(JSON.parse(JSON.stringify(missing)).nativeError, { name: 'Error', message: 'No native build was found' });
  const noLibrary = Object.assign(new TypeError('no libc'), { code: 'ERR_DLOPEN_FAILED' });
  const { nativeError } = load({}, () => {
    throw noLibrary;
  });
  t.equal(JSON.stringify(nativeError), '{"name":"TypeError","message":"no libc","code":"ERR_DLOPEN_FAILED"}');
  t.same(Object.keys(nativeError), ['code'], 'inspect shows what it showed before');
  t.throws(() => load({ FRAMEMASK_REQUIRE_NATIVE: '1' }, noAddon), { message: 'No native build was found' });
  t.throws(() => load({ FRAMEMASK_REQUIRE_NATIVE: '1', FRAMEMASK_KERNEL: 'wide' }, noAddon), /No native build/);
  t.equal(load({ FRAMEMASK_REQUIRE_NATIVE: '' }, noAddon).kernel, 'js', 'an empty FRAMEMASK_REQUIRE_NATIVE');
  t.equal(load({ FRAMEMASK_REQUIRE_NATIVE: '1' }, createAddonDouble).kernel, 'wide');

  forEachCase([{}, { mask() {}, unmask() {} }, undefined, 7], (other) => {
    const { kernel, native, nativeError } = load({}, () => other);
    assert.equal(kernel, 'js', 'an addon without our exports');
    assert.equal(native, null, 'no functions of the addon');
    assert.ok(nativeError instanceof TypeError, 'a TypeError');
  });
  t.end();
});

t.test('an addon that makes its own registers, as up to 4.1, is not used', (t) => {
  const old = { kernels: ['plain'], bind: () => ({ registers: new Float64Array(7) }) };
  const { kernel, native, nativeError } = load({}, () => old);
  t.equal(kernel, 'js');
  t.equal(native, null);
  t.match(nativeError, { message: 'The addon is of another version of framemask' });
  t.throws(() => load({ FRAMEMASK_REQUIRE_NATIVE: '1' }, () => old), /another version/);
  t.throws(() => load({ FRAMEMASK_KERNEL: 'plain' }, () => old), { message: /can run: js$/ });
  t.end();
});

t.test('loads the addon of this checkout', (t) => {
  const { kernel, native, nativeError } = load({});
  if (addon === null) {
    t.equal(kernel, 'js');
    t.type(nativeError, Error);
    t.end();
    return;
  }
  t.equal(kernels[0], 'scalar');
  t.equal(kernel, kernels.at(-1));
  t.ok(kernels.every((name) => ['scalar', 'sse2', 'avx2', 'avx512', 'neon'].includes(name)));
  t.equal(new Set(kernels).size, kernels.length);
  t.ok(native.params.length >= Object.keys(Param).length);
  t.end();
});

t.test('each binding has params of its own', { skip }, (t) => {
  const [one, other] = [bind(addon, 'scalar'), bind(addon, 'scalar')];
  one.params.fill(1);
  t.ok(other.params.every((value) => value === 0));
  t.end();
});

t.test('each kernel checks its params and ranges, and changes nothing if one is wrong', { skip }, (t) => {
  const KEYS = [-1, -0.5, 2 ** 32, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const SIZES = [-1, -0.5, 0.5, 2 ** 53, 2 ** 64, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
  const RANGE = { name: 'TypeError', code: 'ERR_OUT_OF_RANGE' };
  const right = { [Param.KEY]: 0x3d21fa37, [Param.START]: 0, [Param.OFFSET]: 0, [Param.LENGTH]: 8 };
  const taken = [[Param.KEY, 2 ** 32 - 1]];
  const wrong = [
    ...KEYS.map((value) => [Param.KEY, value, TYPE]),
    ...[Param.START, Param.OFFSET, Param.LENGTH].flatMap((param) => [
      ...SIZES.map((value) => [param, value, TYPE]),
      [param, 9, RANGE],
      [param, 2 ** 53 - 1, RANGE]
    ]),
    [Param.START, 1, RANGE],
    [Param.OFFSET, 1, RANGE]
  ];
  forEachCase(nativeKernels(), ({ native }) => {
    const source = Buffer.alloc(8, 1);
    const output = Buffer.alloc(8, 2);
    const set = (numbers) => native.params.set(Object.values(numbers));
    const call = (name, param, value) => {
      set({ ...right, [param]: value });
      native.params[Param.NON_ASCII] = 7;
      native[name](source, output);
    };
    for (const [param, value, error] of wrong) {
      for (const name of ['mask', 'unmask', 'unmaskText']) {
        if (param === Param.OFFSET && name !== 'mask') continue;
        assert.throws(() => call(name, param, value), error, `${name}: param ${param} is ${value}`);
      }
      assert.equal(native.params[Param.NON_ASCII], 7, 'NON_ASCII');
      assert.ok(source.equals(Buffer.alloc(8, 1)) && output.equals(Buffer.alloc(8, 2)), 'no byte has changed');
    }
    for (const [param, value] of taken) assert.doesNotThrow(() => call('mask', param, value));
    for (const name of ['mask', 'unmask']) {
      call(name, Param.LENGTH, 0);
      assert.equal(native.params[Param.NON_ASCII], 0, `${name}: no bytes are ASCII`);
    }
    set({ ...right, [Param.START]: 8, [Param.OFFSET]: 8, [Param.LENGTH]: 0 });
    for (const name of ['mask', 'unmask']) assert.doesNotThrow(() => native[name](source, output), `${name}, the end`);
  });
  t.end();
});

t.test('the addon binds a kernel by its whole name only', { skip }, (t) => {
  const { params } = bind(addon, 'scalar');
  forEachCase(kernels, (name) => {
    for (const other of [`${name}x`, name.slice(0, -1), name.toUpperCase(), ` ${name}`, '', name.padEnd(100, 'x')]) {
      assert.throws(() => addon.bind(other, params), { code: 'ERR_INVALID_ARG_VALUE' }, other);
    }
    assert.doesNotThrow(() => addon.bind(name, params));
  });
  t.end();
});

t.test('the kernels are those of the processor, as Linux describes it', { skip }, (t) => {
  const [, flags] = /^flags\s*:(.*)$/m.exec(readOr('/proc/cpuinfo', '')) ?? [];
  if (flags === undefined || !['x64', 'ia32'].includes(process.arch)) return t.end();
  const has = (...names) => names.every((name) => flags.split(' ').includes(name));
  const expected = ['scalar'];
  if (has('sse2')) expected.push('sse2');
  if (has('avx2')) expected.push('avx2');
  if (has('avx512f', 'avx512bw', 'avx512vl')) expected.push('avx512');
  t.same(kernels, expected);
  t.end();
});

t.test('an addon that may not define its exports does not load', { skip }, (t) => {
  const exports = {
    set kernels(_) {
      throw new Error('refused');
    }
  };
  const file = require('node-gyp-build').resolve(path.join(__dirname, '../..'));
  t.throws(() => process.dlopen({ exports }, file), { message: 'refused' });
  t.notOk('bind' in exports);
  t.end();
});

// What is special to the JavaScript functions. kernels.js tests them at every alignment, length and
// phase.

const { advanceKey, copyMasked, maskInto, maskInPlace } = fallback;

t.test('5.3: advanceKey rotates the key by a number of bytes', (t) => {
  const key = 0xf8035ca1;
  t.same(
    [0, 1, 2, 3, 4, 5].map((bytes) => advanceKey(key, bytes)),
    [0xf8035ca1, 0xa1f8035c, 0x5ca1f803, 0x035ca1f8, 0xf8035ca1, 0xa1f8035c]
  );
  t.equal(advanceKey(key, 2 ** 31 + 1), 0xa1f8035c);
  t.equal(advanceKey(key, 2 ** 53 - 1), 0x035ca1f8, 'only the lowest two bits of the number count');
  t.equal(advanceKey(0xffffffff, 3), 0xffffffff, 'the result is unsigned');
  t.end();
});

t.test('copyMasked gives the bytes of maskInto', (t) => {
  for (const length of [0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 63, 64]) {
    const source = randomBytes(length + 4);
    const [output, expected] = [Buffer.alloc(length + 9, '.'), Buffer.alloc(length + 9, '.')];
    copyMasked(source, 2, output, 3, length, 0xf8035ca1);
    maskInto(source, 2, expected, 3, length, 0xf8035ca1);
    assertBytes(output, expected, `${length} bytes`);
  }
  t.end();
});

t.test('a view that is out of bounds is empty', (t) => {
  const memory = new ArrayBuffer(64, { maxByteLength: 64 });
  const view = new Uint8Array(memory, 32, 16);
  memory.resize(8);
  t.doesNotThrow(() => {
    maskInto(view, 0, Buffer.alloc(4), 0, 0, 1);
    maskInto(Buffer.alloc(4), 0, view, 0, 0, 1);
    maskInPlace(view, 0, 0, 1);
  });
  t.end();
});

t.test('does not call the constructor of a subclass for views of the source', (t) => {
  class Fixed extends Uint8Array {
    constructor() {
      super(16);
    }
  }
  const source = new Fixed();
  source.fill(1);
  const output = Buffer.alloc(8);
  maskInto(source, 4, output, 0, 8, 0);
  t.same([...output], Array(8).fill(1));
  t.end();
});

const WORKERS = 8;

/** Resolves to the kernel that a worker reports, when the worker has ended. */
async function finish(worker) {
  const ended = once(worker, 'exit');
  const [kernel] = await once(worker, 'message');
  const [code] = await ended;
  return code === 0 ? kernel : `exit code ${code}`;
}

t.test('eight workers load and mask at once, beside the main thread', async (t) => {
  const gate = new SharedArrayBuffer(4);
  new Int32Array(gate)[0] = WORKERS;
  const finished = Array.from({ length: WORKERS }, () => finish(startWorker({ what: 'once', gate })));
  maskAll(framemask);
  t.same(await Promise.all(finished), Array(WORKERS).fill(framemask.kernel));
  maskAll(framemask);
});

t.test('a worker loads the addon after another has ended', async (t) => {
  for (let i = 0; i < 3; i++) {
    t.equal(await finish(startWorker({ what: 'once' })), framemask.kernel, `worker ${i}`);
    maskAll(framemask);
  }
});

t.test('a worker may be terminated while it masks', async (t) => {
  for (let i = 0; i < 2; i++) {
    const workers = [startWorker({ what: 'forever' }), startWorker({ what: 'forever' })];
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    t.same(await Promise.all(workers.map((worker) => worker.terminate())), [1, 1], `exit codes, turn ${i}`);
    maskAll(framemask);
    t.equal(await finish(startWorker({ what: 'once' })), framemask.kernel, `another worker, turn ${i}`);
  }
});

t.test('workers mask neighbouring ranges of one memory', async () => {
  const memory = new SharedArrayBuffer(WORKERS * 1021);
  const bytes = new Uint8Array(memory);
  bytes.set(randomBytes(bytes.length));
  const expected = Buffer.from(bytes);
  for (let i = 0; i < expected.length; i++) expected[i] ^= KEY[(i % 1021) & 3];
  const workers = Array.from({ length: WORKERS }, (_, i) =>
    startWorker({ what: 'shared', memory, start: i * 1021, end: (i + 1) * 1021 })
  );
  await Promise.all(workers.map(finish));
  assertBytes(Buffer.from(bytes), expected);
});

t.test('workers that mask one range of one memory do not crash', async (t) => {
  const memory = new SharedArrayBuffer(4096);
  const workers = Array.from({ length: 4 }, () => startWorker({ what: 'shared', memory, start: 0, end: 4096 }));
  t.same(await Promise.all(workers.map(finish)), Array(4).fill(framemask.kernel));
});

t.test('a process may exit while its workers mask', async (t) => {
  const child = spawn(process.execPath, [path.join(__dirname, '../support/masking-worker.js'), 'exit'], {
    stdio: 'inherit'
  });
  const [code, signal] = await once(child, 'close');
  t.same({ code, signal }, { code: 7, signal: null });
});

t.test('framemask may be loaded twice in one thread', (t) => {
  const root = path.join(__dirname, '../..');
  const cached = Object.keys(require.cache).filter((file) => file.startsWith(root) && !file.includes('node_modules'));
  const before = cached.map((file) => require.cache[file]);
  for (const file of cached) delete require.cache[file];
  const second = require('../../index.js');
  cached.forEach((file, i) => {
    require.cache[file] = before[i];
  });
  t.not(second.mask, framemask.mask);
  maskAll(second);
  maskAll(framemask);
  t.end();
});
