'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const t = require('tap');
const framemask = require('../../index.js');
const { advanceKey, copyMasked, maskInto } = require('../../lib/masking/fallback');
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

function noAddon() {
  throw new Error('No native build was found');
}

t.test('binds the kernel that FRAMEMASK_KERNEL names, or else the best one', async (t) => {
  const environments = [{}, { FRAMEMASK_KERNEL: '' }, { FRAMEMASK_REQUIRE_NATIVE: '1' }, { FRAMEMASK_KERNEL: 'plain' }];
  forEachCase(environments, (environment) => {
    const expected = environment.FRAMEMASK_KERNEL || 'wide';
    const double = createAddonDouble();
    const { kernel, native, nativeError } = load(environment, () => double);
    assert.deepEqual([kernel, nativeError, double.bound], [expected, null, [expected]]);
    assert.deepEqual(Object.keys(native).sort(), ['mask', 'params', 'scan', 'unmask', 'unmaskText']);
    assert.ok(native.params instanceof Float64Array);
  });
  const environment = { FRAMEMASK_KERNEL: 'js', FRAMEMASK_REQUIRE_NATIVE: '1' };
  const asked = load(environment, () => assert.fail('the addon was loaded'));
  t.same(asked, { kernel: 'js', native: null, nativeError: null }, 'js needs no addon');
});

t.test('an environment variable that may not be read counts as unset, as in Deno without --allow-env', async (t) => {
  const refused = [];
  const get = (_target, name) => {
    refused.push(name);
    throw Object.assign(new Error(`Requires env access to "${name}"`), { name: 'NotCapable' });
  };
  const environment = new Proxy({}, { get });
  t.equal(load(environment, createAddonDouble).kernel, 'wide');
  t.match(load(environment, noAddon), { kernel: 'js', nativeError: { message: 'No native build was found' } });
  t.same(refused, ['FRAMEMASK_KERNEL', 'FRAMEMASK_KERNEL', 'FRAMEMASK_REQUIRE_NATIVE']);
});

t.test('refuses a kernel that this machine does not run, and names the others', async (t) => {
  forEachCase(['neon128', 'Wide', ' wide', 'constructor', 'x'.repeat(1000)], (name) => {
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
});

t.test("without framemask's addon uses JavaScript, unless FRAMEMASK_REQUIRE_NATIVE is 1", async () => {
  const cases = [
    {
      name: 'no addon',
      loadAddon: noAddon,
      error: { name: 'Error', message: /^No native build was found \(docs\/bundling\.md / }
    },
    ...[{}, { mask() {}, unmask() {} }, undefined, 7].map((other) => ({
      name: `${typeof other} without our exports`,
      loadAddon: () => other,
      error: { name: 'TypeError' }
    }))
  ];
  forEachCase(cases, ({ loadAddon, error }) => {
    const { kernel, native, nativeError } = load({ FRAMEMASK_REQUIRE_NATIVE: '' }, loadAddon);
    assert.deepEqual([kernel, native], ['js', null]);
    const thrown = () => {
      throw nativeError;
    };
    assert.throws(thrown, error);
    assert.throws(() => load({ FRAMEMASK_REQUIRE_NATIVE: '1' }, loadAddon), error);
    assert.throws(() => load({ FRAMEMASK_REQUIRE_NATIVE: '1', FRAMEMASK_KERNEL: 'plain' }, loadAddon), error);
    assert.throws(() => load({ FRAMEMASK_KERNEL: 'plain' }, loadAddon), { message: /can run: js$/ });
  });
});

t.test('JSON shows the name, the message and the code of nativeError', async (t) => {
  const { nativeError } = load({}, () => {
    throw Object.assign(new TypeError('no libc'), { code: 'ERR_DLOPEN_FAILED' });
  });
  t.match(JSON.parse(JSON.stringify(nativeError)), {
    name: 'TypeError',
    message: /^no libc/,
    code: 'ERR_DLOPEN_FAILED'
  });
  t.same(Object.keys(nativeError), ['code'], 'inspect shows what it showed before');
});

t.test('loads the addon of this checkout', { skip }, async (t) => {
  const { kernel, native } = load({});
  t.equal(kernels[0], 'scalar');
  t.equal(kernel, kernels.at(-1));
  t.ok(kernels.every((name) => ['scalar', 'sse2', 'avx2', 'avx512', 'neon'].includes(name)));
  t.equal(new Set(kernels).size, kernels.length);
  t.equal(native.params.length, Object.keys(Param).length);
  bind(addon, 'scalar').params.fill(1);
  const isZero = bind(addon, 'scalar').params.every((value) => value === 0);
  t.ok(isZero, 'each binding has params of its own');
});

t.test('each kernel checks its params and ranges, and changes nothing if one is wrong', { skip }, async () => {
  const KEYS = [-1, -0.5, 2 ** 32, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const SIZES = [...KEYS, 0.5, 2 ** 64].filter((value) => value !== 2 ** 32);
  const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
  const RANGE = { name: 'TypeError', code: 'ERR_OUT_OF_RANGE' };
  const right = { [Param.KEY]: 0x3d21fa37, [Param.START]: 0, [Param.OFFSET]: 0, [Param.LENGTH]: 8 };
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
    const call = (name, changed) => {
      native.params.set(Object.values({ ...right, ...changed }));
      native.params[Param.NON_ASCII] = 7;
      native[name](source, output);
    };
    for (const [param, value, error] of wrong) {
      for (const name of ['mask', 'unmask', 'unmaskText']) {
        if (param === Param.OFFSET && name !== 'mask') continue;
        assert.throws(() => call(name, { [param]: value }), error, `${name}: param ${param} is ${value}`);
      }
      assert.equal(native.params[Param.NON_ASCII], 7, 'NON_ASCII');
      assert.ok(source.equals(Buffer.alloc(8, 1)) && output.equals(Buffer.alloc(8, 2)), 'no byte has changed');
    }
    call('mask', { [Param.KEY]: 2 ** 32 - 1 });
    for (const name of ['mask', 'unmask']) {
      call(name, { [Param.START]: 8, [Param.OFFSET]: 8, [Param.LENGTH]: 0 });
      assert.equal(native.params[Param.NON_ASCII], 0, `${name}: no bytes are ASCII`);
    }
  });
});

/** What Linux says of an x86 processor. Deno can't read it without --allow-all: empty there. */
function processorFlags() {
  try {
    const [, flags] = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'));
    return flags.split(' ');
  } catch {
    return [];
  }
}

const flags = processorFlags();
const unknown = skip || (flags.length === 0 && 'no /proc/cpuinfo of an x86 processor');

t.test('the kernels are those of the processor, as Linux describes it', { skip: unknown }, async (t) => {
  const has = (...names) => names.every((name) => flags.includes(name));
  const expected = ['scalar'];
  if (has('sse2')) expected.push('sse2');
  if (has('avx2')) expected.push('avx2');
  if (process.arch === 'x64' && has('avx512f', 'avx512bw', 'avx512vl')) expected.push('avx512');
  t.same(kernels, expected);
});

t.test('an addon that may not define its exports does not load', { skip }, async (t) => {
  const exports = {
    set kernels(_) {
      throw new Error('refused');
    }
  };
  const file = require('node-gyp-build').resolve(path.join(__dirname, '../..'));
  t.throws(() => process.dlopen({ exports }, file), { message: 'refused' });
  t.notOk('bind' in exports);
});

// What only the codec uses of the JavaScript functions. kernels.js has the others.

t.test('5.3: advanceKey rotates the key by a number of bytes', async (t) => {
  const key = 0xf8035ca1;
  const keys = [0, 1, 2, 3, 4, 5].map((bytes) => advanceKey(key, bytes));
  t.same(keys, [0xf8035ca1, 0xa1f8035c, 0x5ca1f803, 0x035ca1f8, 0xf8035ca1, 0xa1f8035c]);
  t.equal(advanceKey(key, 2 ** 31 + 1), 0xa1f8035c);
  t.equal(advanceKey(key, 2 ** 53 - 1), 0x035ca1f8, 'only the lowest two bits of the number count');
});

t.test('copyMasked gives the bytes of maskInto', async () => {
  for (const length of [0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 63, 64]) {
    const source = randomBytes(length + 4);
    const [output, expected] = [Buffer.alloc(length + 9, '.'), Buffer.alloc(length + 9, '.')];
    copyMasked(source, 2, output, 3, length, 0xf8035ca1);
    maskInto(source, 2, expected, 3, length, 0xf8035ca1);
    assertBytes(output, expected, `${length} bytes`);
  }
});

const WORKERS = 8;
const RANGE = 1021;

/** Resolves to the kernel that a worker reports, when the worker has ended. */
async function finish(worker) {
  const ended = once(worker, 'exit');
  const [kernel] = await once(worker, 'message');
  const [code] = await ended;
  return code === 0 ? kernel : `exit code ${code}`;
}

t.test('workers load at once, and mask neighbouring ranges and a common one, beside the main thread', async (t) => {
  const gate = new SharedArrayBuffer(4);
  new Int32Array(gate)[0] = WORKERS;
  const common = new SharedArrayBuffer(4096);
  const memory = new SharedArrayBuffer(WORKERS * RANGE);
  const bytes = new Uint8Array(memory);
  bytes.set(randomBytes(bytes.length));
  const expected = bytes.map((byte, i) => byte ^ KEY[(i % RANGE) & 3]);
  const finished = Array.from({ length: WORKERS }, (_, i) =>
    finish(startWorker({ what: 'once', gate, ranges: [[memory, i * RANGE, RANGE], [common]] }))
  );
  maskAll(framemask);
  t.same(await Promise.all(finished), Array(WORKERS).fill(framemask.kernel));
  assertBytes(bytes, expected);
  maskAll(framemask);
});

t.test('a worker loads the addon after another has ended, or was terminated while it masked', async (t) => {
  for (let i = 0; i < 2; i++) {
    const workers = [startWorker({ what: 'forever' }), startWorker({ what: 'forever' })];
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    t.same(await Promise.all(workers.map((worker) => worker.terminate())), [1, 1], `exit codes, turn ${i}`);
    maskAll(framemask);
    t.equal(await finish(startWorker({ what: 'once' })), framemask.kernel, `another worker, turn ${i}`);
  }
});

t.test('a process may exit while its workers mask', async (t) => {
  const worker = path.join(__dirname, '../support/masking-worker.js');
  const child = spawn(process.execPath, [worker, 'exit'], { stdio: 'inherit' });
  t.same(await once(child, 'close'), [7, null]);
});

t.test('framemask may be loaded twice in one thread', async (t) => {
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
});
