'use strict';

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { Register, bind, load } = require('../../lib/masking/native');
const { forEachCase } = require('../support/cases');
const { createNativeDouble } = require('../support/native-double');
const { addon, kernels, nativeKernels } = require('../support/natives');

/** An addon with two kernels; `bound` has the names that were bound. */
function createAddonDouble() {
  const bound = [];
  return {
    bound,
    kernels: ['plain', 'wide'],
    bind(name, registers) {
      bound.push(name);
      const { mask, unmask, unmaskText, scan } = createNativeDouble(registers);
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

t.test('the registers have the order that src/addon.cc gives them', (t) => {
  const source = readFileSync(path.join(__dirname, '../../src/addon.cc'), 'utf8');
  const [, body] = /enum Register \{([^}]*)\}/.exec(source);
  const names = [...body.matchAll(/^\s*k(\w+)/gm)].map(([, name]) =>
    name.replace(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()
  );
  t.equal(names.pop(), 'REGISTER_COUNT');
  t.same(names, Object.keys(Register));
  t.same(
    names.map((_, i) => i),
    Object.values(Register)
  );
  t.end();
});

t.test('binds the best kernel by default', (t) => {
  const double = createAddonDouble();
  const { kernel, native, nativeError } = load({}, () => double);
  t.equal(kernel, 'wide');
  t.equal(nativeError, null);
  t.same(double.bound, ['wide']);
  t.same(Object.keys(native).sort(), ['mask', 'registers', 'scan', 'unmask', 'unmaskText']);
  t.type(native.registers, Float64Array);
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

t.test('an addon that makes its own registers, as up to 4.2, is not used', (t) => {
  const old = { kernels: ['plain'], bind: () => createNativeDouble() };
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
  t.ok(native.registers.length >= Object.keys(Register).length);
  t.end();
});

t.test('5.7: each kernel masks, unmasks and scans the example of the RFC', { skip }, (t) => {
  forEachCase(nativeKernels(), ({ name, native }) => {
    const { registers } = native;
    assert.equal(load({ FRAMEMASK_KERNEL: name }).kernel, name, 'FRAMEMASK_KERNEL');
    const payload = Buffer.from('7f9f4d5158', 'hex');
    const output = Buffer.alloc(9, '.');
    registers[Register.KEY] = 0x3d21fa37;
    registers[Register.START] = 0;
    registers[Register.OFFSET] = 2;
    registers[Register.LENGTH] = 5;
    assert.equal(native.mask(payload, output), undefined, 'what mask returns');
    assert.equal(output.toString(), '..Hello..', 'mask');
    native.unmask(payload);
    assert.equal(payload.toString(), 'Hello', 'unmask');
    assert.equal(registers[Register.NON_ASCII], 0, 'ASCII');
    native.unmask(payload);
    assert.equal(registers[Register.NON_ASCII], 128, 'not ASCII');
    assert.equal(native.unmaskText(payload), 'Hello', 'unmaskText, ASCII');
    assert.equal(native.unmaskText(payload), undefined, 'unmaskText, not ASCII');
    assert.equal(payload.toString('hex'), '7f9f4d5158', 'the bytes after unmaskText, not ASCII');
    registers[Register.LENGTH] = 0;
    assert.equal(native.unmaskText(payload), '', 'unmaskText, no bytes');

    const chunk = Buffer.from('818537fa213d7f9f4d5158', 'hex');
    const table = new Uint32Array(3);
    registers[Register.MODE] = 0x80;
    native.scan(chunk, table);
    assert.equal(registers[Register.COUNT], 1, 'scan: how many frames');
    assert.deepEqual([...table], [0x81, 6, 11], 'scan: the frame table');
    registers[Register.START] = chunk.length;
    native.scan(chunk, table);
    assert.equal(registers[Register.COUNT], 0, 'scan from the end: how many frames');
    registers[Register.START] = chunk.length + 1;
    assert.throws(() => native.scan(chunk, table), { code: 'ERR_OUT_OF_RANGE' }, 'scan from behind the end');
  });
  t.end();
});

t.test('each binding has registers of its own', { skip }, (t) => {
  const [one, other] = [bind(addon, 'scalar'), bind(addon, 'scalar')];
  one.registers.fill(1);
  t.ok(other.registers.every((value) => value === 0));
  t.end();
});

t.test('each kernel checks its registers and ranges, and changes nothing if one is wrong', { skip }, (t) => {
  const KEYS = [-1, -0.5, 2 ** 32, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const SIZES = [-1, -0.5, 0.5, 2 ** 53, 2 ** 64, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
  const RANGE = { name: 'TypeError', code: 'ERR_OUT_OF_RANGE' };
  const right = { [Register.KEY]: 0x3d21fa37, [Register.START]: 0, [Register.OFFSET]: 0, [Register.LENGTH]: 8 };
  const taken = [[Register.KEY, 2 ** 32 - 1]];
  const wrong = [
    ...KEYS.map((value) => [Register.KEY, value, TYPE]),
    ...[Register.START, Register.OFFSET, Register.LENGTH].flatMap((register) => [
      ...SIZES.map((value) => [register, value, TYPE]),
      [register, 9, RANGE],
      [register, 2 ** 53 - 1, RANGE]
    ]),
    [Register.START, 1, RANGE],
    [Register.OFFSET, 1, RANGE]
  ];
  forEachCase(nativeKernels(), ({ native }) => {
    const source = Buffer.alloc(8, 1);
    const output = Buffer.alloc(8, 2);
    const set = (numbers) => native.registers.set(Object.values(numbers));
    const call = (name, register, value) => {
      set({ ...right, [register]: value });
      native.registers[Register.NON_ASCII] = 7;
      native[name](source, output);
    };
    for (const [register, value, error] of wrong) {
      for (const name of ['mask', 'unmask', 'unmaskText']) {
        if (register === Register.OFFSET && name !== 'mask') continue;
        assert.throws(() => call(name, register, value), error, `${name}: register ${register} is ${value}`);
      }
      assert.equal(native.registers[Register.NON_ASCII], 7, 'NON_ASCII');
      assert.ok(source.equals(Buffer.alloc(8, 1)) && output.equals(Buffer.alloc(8, 2)), 'no byte has changed');
    }
    for (const [register, value] of taken) assert.doesNotThrow(() => call('mask', register, value));
    for (const name of ['mask', 'unmask']) {
      call(name, Register.LENGTH, 0);
      assert.equal(native.registers[Register.NON_ASCII], 0, `${name}: no bytes are ASCII`);
    }
    set({ ...right, [Register.START]: 8, [Register.OFFSET]: 8, [Register.LENGTH]: 0 });
    for (const name of ['mask', 'unmask']) assert.doesNotThrow(() => native[name](source, output), `${name}, the end`);
  });
  t.end();
});

t.test('the addon binds a kernel by its whole name only', { skip }, (t) => {
  const { registers } = bind(addon, 'scalar');
  forEachCase(kernels, (name) => {
    for (const other of [`${name}x`, name.slice(0, -1), name.toUpperCase(), ` ${name}`, '', name.padEnd(100, 'x')]) {
      assert.throws(() => addon.bind(other, registers), { code: 'ERR_INVALID_ARG_VALUE' }, other);
    }
    assert.doesNotThrow(() => addon.bind(name, registers));
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
