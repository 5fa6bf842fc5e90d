'use strict';

const t = require('tap');
const { spawn } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const path = require('node:path');
const vm = require('node:vm');
const framemask = require('../../index.js');
const { KEY, maskAll, startWorker } = require('../support/masking-worker');

const WORKERS = 8;

/** Resolves to the kernel that the worker reports when its work is done and it has ended. */
async function finish(worker) {
  const ended = once(worker, 'exit');
  const [kernel] = await once(worker, 'message');
  const [code] = await ended;
  return code === 0 ? kernel : `exit code ${code}`;
}

t.test('eight workers at once, and the main thread meanwhile', async (t) => {
  const gate = new SharedArrayBuffer(4);
  new Int32Array(gate)[0] = WORKERS;
  const finished = Array.from({ length: WORKERS }, () => finish(startWorker({ what: 'once', gate })));
  maskAll(framemask);
  t.same(await Promise.all(finished), Array(WORKERS).fill(framemask.kernel));
  maskAll(framemask);
});

t.test('again after a worker has ended', async (t) => {
  for (let i = 0; i < 3; i++) {
    t.equal(await finish(startWorker({ what: 'once' })), framemask.kernel);
    maskAll(framemask);
  }
});

t.test('a worker terminated amid its work', async (t) => {
  for (let i = 0; i < 4; i++) {
    const workers = [startWorker({ what: 'forever' }), startWorker({ what: 'forever' })];
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    t.same(await Promise.all(workers.map((worker) => worker.terminate())), [1, 1]);
    maskAll(framemask);
    t.equal(await finish(startWorker({ what: 'once' })), framemask.kernel, 'another one works');
  }
});

t.test('workers on neighbouring ranges of one memory', async (t) => {
  const memory = new SharedArrayBuffer(WORKERS * 1021);
  const bytes = new Uint8Array(memory);
  bytes.set(randomBytes(bytes.length));
  const expected = Buffer.from(bytes);
  for (let i = 0; i < expected.length; i++) expected[i] ^= KEY[(i % 1021) & 3];
  const workers = Array.from({ length: WORKERS }, (_, i) =>
    startWorker({ what: 'shared', memory, start: i * 1021, end: (i + 1) * 1021 })
  );
  await Promise.all(workers.map(finish));
  t.ok(Buffer.from(bytes).equals(expected));
});

t.test('workers on one range of one memory do not crash', async (t) => {
  const memory = new SharedArrayBuffer(4096);
  const workers = Array.from({ length: 4 }, () => startWorker({ what: 'shared', memory, start: 0, end: 4096 }));
  t.same(await Promise.all(workers.map(finish)), Array(4).fill(framemask.kernel));
});

t.test('a process that exits while workers work', async (t) => {
  const child = spawn(process.execPath, [path.join(__dirname, '../support/masking-worker.js'), 'exit'], {
    stdio: 'inherit'
  });
  const [code, signal] = await once(child, 'close');
  t.same({ code, signal }, { code: 7, signal: null });
});

t.test('loaded twice in one thread', (t) => {
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

t.test('functions of one context on the bytes of another', (t) => {
  const context = vm.createContext({ framemask, maskAll });
  for (let i = 0; i < 3; i++) {
    const [phase, text] = vm.runInContext(
      `maskAll(framemask);
       const payload = Uint8Array.of(0x7f, 0x9f, 0x4d, 0x51, 0x58);
       const key = Uint8Array.of(0x37, 0xfa, 0x21, 0x3d);
       [framemask.unmask(payload, key), String.fromCharCode(...payload)];`,
      i === 2 ? vm.createContext({ framemask, maskAll, String }) : vm.createContext({ ...context })
    );
    t.equal(phase, 1);
    t.equal(text, 'Hello');
  }
  t.throws(() => vm.runInContext('framemask.unmask(new Uint16Array(4), new Uint8Array(4))', context), TypeError);
  t.end();
});
