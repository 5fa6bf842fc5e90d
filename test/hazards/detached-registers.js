'use strict';

// The addon keeps a pointer to its registers. Memory that can be transferred would leave it with a
// pointer to freed memory.

const assert = require('node:assert/strict');
const v8 = require('node:v8');
const vm = require('node:vm');
const { MessageChannel } = require('node:worker_threads');
const t = require('tap');
const { Register, bind, load } = require('../../lib/masking/native');
const { forEachCase } = require('../support/cases');
const { createNativeDouble } = require('../support/native-double');
const { addon, nativeKernels } = require('../support/natives');

const skip = addon === null && 'no addon';

/** Attempts to detach a buffer; which of them exist depends on the runtime. */
const ATTEMPTS = [
  { name: 'structuredClone', detach: (buffer) => structuredClone(buffer, { transfer: [buffer] }) },
  { name: 'transfer', detach: (buffer) => ArrayBuffer.prototype.transfer.call(buffer) },
  { name: 'resize', detach: (buffer) => ArrayBuffer.prototype.resize.call(buffer, 0) },
  {
    name: 'postMessage',
    detach(buffer) {
      const { port1, port2 } = new MessageChannel();
      try {
        port1.postMessage(buffer, [buffer]);
      } finally {
        port1.close();
        port2.close();
      }
    }
  }
];

/** Bun and Deno have other ways than a flag of V8. */
function collectGarbage() {
  if (process.versions.bun) Bun.gc(true);
  if (process.versions.bun || process.versions.deno) return;
  v8.setFlagsFromString('--expose-gc');
  vm.runInNewContext('gc')();
}

/** Unmasks the payload of RFC 6455, section 5.7. */
function unmaskExample({ registers, unmask }) {
  const payload = Buffer.from('7f9f4d5158', 'hex');
  registers[Register.KEY] = 0x3d21fa37;
  registers[Register.START] = 0;
  registers[Register.LENGTH] = 5;
  unmask(payload);
  return payload.toString();
}

t.test("a kernel's registers can't be detached", { skip }, (t) => {
  forEachCase(nativeKernels(), ({ native }) => {
    for (const { name, detach } of ATTEMPTS) {
      assert.throws(() => detach(native.registers.buffer), name);
      assert.ok(native.registers.length > 0, name);
      assert.equal(unmaskExample(native), 'Hello', name);
    }
  });
  t.end();
});

t.test('the addon refuses registers that can be detached, and what is no registers', { skip }, (t) => {
  const registers = [
    undefined,
    null,
    new Float64Array(7),
    new Float64Array(new ArrayBuffer(56, { maxByteLength: 1024 })),
    new Float64Array(new WebAssembly.Memory({ initial: 1 }).buffer, 0, 7),
    new Float64Array(new SharedArrayBuffer(48)),
    new Float64Array(new SharedArrayBuffer(0)),
    new Uint8Array(new SharedArrayBuffer(56)),
    new BigInt64Array(new SharedArrayBuffer(56)),
    new DataView(new SharedArrayBuffer(56)),
    new SharedArrayBuffer(56)
  ];
  forEachCase(registers, (value) => {
    assert.throws(() => addon.bind('scalar', value), { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
  });
  t.end();
});

t.test('the addon keeps the memory of registers that JavaScript forgets', { skip }, async (t) => {
  const kept = Array.from({ length: 100 }, () => {
    const { unmask, registers } = bind(addon, 'scalar');
    return { unmask, registers: new WeakRef(registers) };
  });
  const functions = kept.map(({ unmask }) => unmask);
  // A WeakRef holds what it refers to until the end of the turn.
  await new Promise(setImmediate);
  collectGarbage();
  t.ok(kept.every(({ registers }) => registers.deref() !== undefined));
  // Memory that was freed is used again, and no longer says that there are no bytes to unmask.
  const others = Array.from({ length: 100 }, () => new Float64Array(new SharedArrayBuffer(56)).fill(7));
  const payload = Buffer.alloc(64, 1);
  for (const unmask of functions) unmask(payload);
  t.ok(payload.every((byte) => byte === 1));
  t.ok(others.every((other) => other.every((value) => value === 7)));
});

t.test('there are registers where the runtime hides SharedArrayBuffer, as Electron does', (t) => {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, 'SharedArrayBuffer');
  t.teardown(() => Object.defineProperty(globalThis, 'SharedArrayBuffer', descriptor));
  const double = {
    kernels: ['plain'],
    bind(_name, shared) {
      const { mask, unmask, unmaskText, scan } = createNativeDouble(shared);
      return { mask, unmask, unmaskText, scan };
    }
  };
  delete globalThis.SharedArrayBuffer;
  const { native } = load({}, () => addon ?? double);
  Object.defineProperty(globalThis, 'SharedArrayBuffer', descriptor);
  t.equal(Object.prototype.toString.call(native.registers.buffer), '[object SharedArrayBuffer]');
  t.equal(unmaskExample(native), 'Hello');
  t.end();
});
