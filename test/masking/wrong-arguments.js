'use strict';

const t = require('tap');
const { spawn } = require('node:child_process');
const path = require('node:path');
const vm = require('node:vm');
const { createDetached, createGarbage } = require('../support/garbage');
const { createMaskings } = require('../support/maskings');
const { addon } = require('../support/natives');

const CALLS = path.join(__dirname, '../support/random-calls.js');
const KEY = Buffer.from([1, 2, 3, 4]);

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

/** Values that are no Uint8Array, and how an error names them. */
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

/** Numbers that are no index into anything. */
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

for (const { name, mask, unmask } of createMaskings()) {
  t.test(`each rule, over ${name}`, (t) => {
    // 200 bytes, so that it would be the addon's turn if nothing was wrong.
    for (const size of [8, 200]) {
      const source = Buffer.alloc(size, 1);
      const output = Buffer.alloc(size + 10, 2);
      const refused = (call, error) => {
        t.throws(call, error);
        if (!output.every((byte) => byte === 2) || !source.every((byte) => byte === 1)) t.fail('something was written');
      };

      for (const [value, was] of NO_BYTES) {
        refused(() => unmask(value, KEY), type('buffer', BYTES, was));
        refused(() => unmask(source, value), type('key', BYTES, was));
        refused(() => mask(value, KEY, output, 0, size), type('source', BYTES, was));
        refused(() => mask(source, value, output, 0, size), type('key', BYTES, was));
        refused(() => mask(source, KEY, value, 0, size), type('output', BYTES, was));
      }

      for (const detached of createDetached()) {
        refused(() => unmask(detached, KEY), type('buffer', BYTES, DETACHED));
        refused(() => unmask(source, detached), type('key', BYTES, DETACHED));
        refused(() => mask(detached, KEY, output, 0, 0), type('source', BYTES, DETACHED));
        refused(() => mask(source, detached, output, 0, size), type('key', BYTES, DETACHED));
        refused(() => mask(source, KEY, detached, 0, 0), type('output', BYTES, DETACHED));
      }

      for (const length of [0, 1, 3, 5, 8, 100]) {
        const error = range('key', '4 bytes long', `${length} bytes long`);
        refused(() => unmask(source, new Uint8Array(length)), error);
        refused(() => mask(source, new Uint8Array(length), output, 0, size), error);
      }

      for (const [value, was] of NO_NUMBERS) {
        refused(() => mask(source, KEY, output, value, size), type('offset', 'a number', was));
        refused(() => mask(source, KEY, output, 0, value), type('length', 'a number', was));
        if (value === undefined) continue;
        refused(() => mask(source, KEY, output, 0, size, value), type('phase', 'a number', was));
        refused(() => unmask(source, KEY, value), type('phase', 'a number', was));
      }

      for (const value of NO_SIZES) {
        refused(() => mask(source, KEY, output, value, size), range('offset', 'a whole number from 0 to 10', value));
        refused(() => mask(source, KEY, output, 0, value), range('length', `a whole number from 0 to ${size}`, value));
        refused(() => mask(source, KEY, output, 0, size, value), range('phase', 'a whole number from 0 to 3', value));
        refused(() => unmask(source, KEY, value), range('phase', 'a whole number from 0 to 3', value));
      }
      refused(() => unmask(source, KEY, 4), range('phase', 'a whole number from 0 to 3', 4));

      const small = output.subarray(0, 6);
      refused(
        () => mask(source, KEY, output, 0, size + 1),
        range('length', `a whole number from 0 to ${size}`, size + 1)
      );
      refused(() => mask(source, KEY, small, 0, 7), range('length', 'a whole number from 0 to 6', 7));
      refused(() => mask(source, KEY, output, 11, size), range('offset', 'a whole number from 0 to 10', 11));
      refused(() => mask(source, KEY, small, 1, 6), range('offset', 'a whole number from 0 to 0', 1));
      refused(
        () => mask(source, KEY, output, size + 11, 0),
        range('offset', `a whole number from 0 to ${size + 10}`, size + 11)
      );

      refused(() => mask(), type('source', BYTES, 'undefined'));
      refused(() => mask(source), type('output', BYTES, 'undefined'));
      refused(() => mask(source, KEY), type('output', BYTES, 'undefined'));
      refused(() => mask(source, KEY, output), type('length', 'a number', 'undefined'));
      refused(() => mask(source, KEY, output, 0), type('length', 'a number', 'undefined'));
      refused(() => unmask(), type('buffer', BYTES, 'undefined'));
      refused(() => unmask(source), type('key', BYTES, 'undefined'));

      t.equal(mask(source, KEY, output, size + 10, 0), 0, 'nothing can be written at the end');
      t.equal(mask(source, KEY, output, -0, -0, -0), 0, '-0 is 0');
    }
    t.end();
  });
}

t.test('whatever is passed, the error names the argument', (t) => {
  const wrong = createGarbage();
  for (const { mask, unmask } of createMaskings()) {
    for (const value of wrong) {
      t.throws(() => unmask(value, KEY), { name: 'TypeError', message: /^The "buffer" argument must be / });
      t.throws(() => unmask(KEY, value), { name: 'TypeError', message: /^The "key" argument must be / });
      t.throws(() => mask(KEY, KEY, value, 0, 4), { name: 'TypeError', message: /^The "output" argument must be / });
    }
  }
  t.end();
});

/** Runs test/support/random-calls.js in a process of its own: that it does not crash is what is to be seen. */
async function runCalls(t, what, count) {
  // A new seed in each run. FRAMEMASK_TEST_SEED brings back one that has found something.
  const seed = Number(process.env.FRAMEMASK_TEST_SEED ?? Date.now() % 2 ** 32);
  const child = spawn(process.execPath, [CALLS, what, String(seed), String(count)], {
    stdio: ['ignore', 'pipe', 'pipe']
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  const ended = await new Promise((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  t.same(ended, { code: 0, signal: null }, `no crash and no wrong outcome (FRAMEMASK_TEST_SEED=${seed})`);
  if (ended.code !== 0) {
    t.comment(stderr);
    return {};
  }
  return JSON.parse(stdout);
}

t.test('100,000 random wrong calls: one outcome, natively and in JavaScript', async (t) => {
  const tally = await runCalls(t, 'public', 100_000);
  t.ok(tally.wrong >= 100_000);
  t.ok(tally.right > 10_000, 'and right ones between them');
  for (const kind of ['mask source', 'mask key', 'mask output', 'mask offset', 'mask length', 'mask phase']) {
    t.ok(tally[`${kind} TypeError`] > 100, kind);
  }
  for (const kind of ['mask key', 'mask offset', 'mask length', 'mask phase', 'unmask key', 'unmask phase']) {
    t.ok(tally[`${kind} RangeError`] > 100, kind);
  }
  for (const kind of ['unmask buffer', 'unmask key', 'unmask phase']) t.ok(tally[`${kind} TypeError`] > 100, kind);
});

t.test('100,000 random calls of the addon itself: no crash, nothing written outside', async (t) => {
  if (addon === null) return t.skip('no addon');
  const tally = await runCalls(t, 'addon', 100_000);
  t.ok(tally.right > 10_000);
  t.ok(tally.ERR_INVALID_ARG_TYPE > 10_000);
  t.ok(tally.ERR_OUT_OF_RANGE > 10_000);
});

t.test("the addon's bind with what is no kernel", async (t) => {
  if (addon === null) return t.skip('no addon');
  await runCalls(t, 'bind', 0);
});
