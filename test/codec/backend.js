'use strict';

const t = require('tap');
const { randomBytes } = require('node:crypto');
const { codecBackend, createCodecBackend } = require('../../lib/codec/backend');
const { kernel, nativeError } = require('../../lib/masking/backend');
const fallback = require('../../lib/masking/fallback');
const { scanChunk } = require('../../lib/codec/scan');
const { createNativeDouble } = require('../support/native-double');
const { kernels, nativeKernels } = require('../support/natives');

const KEY = 0xf8035ca1;
const LENGTHS = [0, 1, 31, 32, 47, 48, 63, 64, 65, 125, 1000];

/** Every backend gives the bytes that a byte loop gives, short or long. */
function checkBytes(t, { maskRange, unmaskRange }) {
  for (const length of LENGTHS) {
    const source = randomBytes(length + 5);
    const output = randomBytes(length + 9);
    const expected = Buffer.from(output);
    for (let i = 0; i < length; i++) expected[7 + i] = source[3 + i] ^ (KEY >>> ((i & 3) * 8));
    maskRange(source, 3, output, 7, length, KEY);
    t.ok(output.equals(expected), `maskRange, ${length} bytes`);
    source.copy(expected, 7, 3, 3 + length);
    unmaskRange(output, 7, length, KEY);
    t.ok(output.equals(expected), `unmaskRange, ${length} bytes`);
  }
}

/** `unmaskText`, and what `unmaskRange` returns, tell whether all is ASCII. */
function checkText(t, { unmaskRange, unmaskText }) {
  for (const length of [0, 1, 5, 47, 48, 64, 1000]) {
    for (const last of ['z', '\x7f', '\x80', '\xff']) {
      const text = length === 0 ? '' : 'a'.repeat(length - 1) + last;
      const ascii = length === 0 || last < '\x80';
      const masked = Buffer.from(`..${text}.`, 'latin1');
      fallback.unmaskRange(masked, 2, length, KEY);
      const bytes = Buffer.from(masked);
      // A key may be signed.
      t.equal(unmaskText(bytes, 2, length, KEY | 0), ascii ? text : undefined, `unmaskText, ${length} bytes`);
      t.equal(bytes.toString('latin1'), `..${text}.`);
      t.equal(unmaskRange(masked, 2, length, KEY | 0), ascii, `unmaskRange, ${length} bytes`);
      t.equal(masked.toString('latin1'), `..${text}.`);
    }
  }
}

/** Two frames, each masked, and the first byte of a third. */
function checkScan(t, { scan }) {
  const chunk = Buffer.from('ff818537fa213d7f9f4d5158828101020304fe81', 'hex');
  const table = new Uint32Array(9);
  t.equal(scan(chunk, 1, 0x80, table), 2);
  t.same([...table], [0x81, 7, 12, 0x82, 18, 19, 0, 0, 0]);
  t.equal(chunk.toString('latin1', 7, 12), 'Hello');
  t.equal(chunk[18], 0xff);
}

t.test('without an addon', (t) => {
  const javascript = createCodecBackend(null);
  t.equal(javascript.maskRange, fallback.maskRange, 'the functions of JavaScript, with nothing between');
  t.equal(javascript.unmaskRange, fallback.unmaskRange);
  t.equal(javascript.scan, scanChunk);
  checkBytes(t, javascript);
  checkText(t, javascript);
  checkScan(t, javascript);
  t.end();
});

t.test('with one', (t) => {
  const double = createNativeDouble();
  const native = createCodecBackend(double);
  checkBytes(t, native);
  checkText(t, native);
  checkScan(t, native);

  const count = (name, work) => {
    double.calls.length = 0;
    work();
    return double.calls.filter((call) => call === name).length;
  };
  const bytes = Buffer.alloc(256);
  t.equal(
    count('unmask', () => native.unmaskRange(bytes, 0, 256, KEY)),
    1,
    'a long payload goes to the addon'
  );
  t.equal(
    count('mask', () => native.maskRange(bytes, 0, bytes, 0, 256, KEY)),
    1
  );
  t.equal(
    count('unmask', () => native.unmaskRange(bytes, 0, 16, KEY)),
    0,
    'a short one does not'
  );
  t.equal(
    count('mask', () => native.maskRange(bytes, 0, bytes, 0, 16, KEY)),
    0
  );
  t.equal(
    count('scan', () => native.scan(bytes, 0, 0, new Uint32Array(3))),
    1,
    'a chunk always does'
  );
  t.end();
});

for (const { name, native } of nativeKernels()) {
  t.test(`with the kernel ${name}`, (t) => {
    const backend = createCodecBackend(native);
    checkBytes(t, backend);
    checkText(t, backend);
    checkScan(t, backend);
    t.end();
  });
}

t.test('the one that this process uses', (t) => {
  t.ok(['js', ...kernels].includes(kernel));
  t.equal(nativeError === null, kernel !== 'js' || process.env.FRAMEMASK_KERNEL === 'js');
  checkBytes(t, codecBackend);
  checkText(t, codecBackend);
  checkScan(t, codecBackend);
  t.end();
});
