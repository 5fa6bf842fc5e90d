'use strict';

// The errors of mask and unmask: which argument they name, and that nothing has been written.

const assert = require('node:assert/strict');
const path = require('node:path');
const vm = require('node:vm');
const t = require('tap');
const { assertBytes, forEachCase } = require('../support/cases');
const { createDetached, createGarbage } = require('../support/garbage');
const { createMaskings } = require('../support/maskings');
const { addon } = require('../support/natives');
const { seed } = require('../support/random');
const { runScript } = require('../support/run-script');
const { TRIES_ALL } = require('../support/sample');

const CALLS = path.join(__dirname, '../support/random-calls.js');
const KEY = Buffer.from([1, 2, 3, 4]);
const MASKINGS = createMaskings();
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
