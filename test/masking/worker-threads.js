'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const path = require('node:path');
const vm = require('node:vm');
const t = require('tap');
const framemask = require('../../index.js');
const { assertBytes } = require('../support/cases');
const { KEY, maskAll, startWorker } = require('../support/masking-worker');

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
  for (let i = 0; i < 4; i++) {
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

t.test('masks bytes of another realm', (t) => {
  const context = vm.createContext({ framemask, maskAll });
  for (let i = 0; i < 3; i++) {
    const [phase, text] = vm.runInContext(
      `maskAll(framemask);
       const payload = Uint8Array.of(0x7f, 0x9f, 0x4d, 0x51, 0x58);
       const key = Uint8Array.of(0x37, 0xfa, 0x21, 0x3d);
       [framemask.unmask(payload, key), String.fromCharCode(...payload)];`,
      i === 2 ? vm.createContext({ framemask, maskAll, String }) : vm.createContext({ ...context })
    );
    assert.equal(phase, 1, `turn ${i}: the phase`);
    assert.equal(text, 'Hello', `turn ${i}: the text`);
  }
  t.throws(() => vm.runInContext('framemask.unmask(new Uint16Array(4), new Uint8Array(4))', context), TypeError);
  t.end();
});
