'use strict';

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');
const t = require('tap');
const { codecBackend, createCodecBackend } = require('../../lib/codec/backend');
const { kernel, nativeError } = require('../../lib/masking/backend');
const fallback = require('../../lib/masking/fallback');
const { scanChunk } = require('../../lib/codec/scan');
const { assertBytes } = require('../support/cases');
const { createNativeDouble } = require('../support/native-double');
const { kernels, nativeKernels } = require('../support/natives');

const KEY = 0xf8035ca1;
const LENGTHS = [0, 1, 31, 32, 47, 48, 63, 64, 65, 125, 1000];

/** `maskRange` and `unmaskRange` give the bytes of a byte loop, short or long. */
function checkBytes({ maskRange, unmaskRange }) {
  for (const length of LENGTHS) {
    const source = randomBytes(length + 5);
    const output = randomBytes(length + 9);
    const expected = Buffer.from(output);
    for (let i = 0; i < length; i++) expected[7 + i] = source[3 + i] ^ (KEY >>> ((i & 3) * 8));
    maskRange(source, 3, output, 7, length, KEY);
    assertBytes(output, expected, `maskRange, ${length} bytes`);
    source.copy(expected, 7, 3, 3 + length);
    unmaskRange(output, 7, length, KEY);
    assertBytes(output, expected, `unmaskRange, ${length} bytes`);
  }
}

/** `unmaskText` and `unmaskRange` tell whether all bytes are ASCII. */
function checkText({ unmaskRange, unmaskText }) {
  for (const length of [0, 1, 5, 47, 48, 64, 1000]) {
    for (const last of ['z', '\x7f', '\x80', '\xff']) {
      const text = length === 0 ? '' : 'a'.repeat(length - 1) + last;
      const ascii = length === 0 || last < '\x80';
      const masked = Buffer.from(`..${text}.`, 'latin1');
      fallback.unmaskRange(masked, 2, length, KEY);
      const bytes = Buffer.from(masked);
      const what = `${length} bytes, the last ${JSON.stringify(last)}`;
      // A key may be signed.
      assert.equal(unmaskText(bytes, 2, length, KEY | 0), ascii ? text : undefined, `unmaskText, ${what}`);
      assert.equal(bytes.toString('latin1'), `..${text}.`, `the bytes after unmaskText, ${what}`);
      assert.equal(unmaskRange(masked, 2, length, KEY | 0), ascii, `unmaskRange, ${what}`);
      assert.equal(masked.toString('latin1'), `..${text}.`, `the bytes after unmaskRange, ${what}`);
    }
  }
}

/** `scan` finds two masked frames, and not the third, of which only the first byte is there. */
function checkScan({ scan }) {
  const chunk = Buffer.from('ff818537fa213d7f9f4d5158828101020304fe81', 'hex');
  const table = new Uint32Array(9);
  assert.equal(scan(chunk, 1, 0x80, table), 2, 'scan: how many frames');
  assert.deepEqual([...table], [0x81, 7, 12, 0x82, 18, 19, 0, 0, 0], 'scan: the frame table');
  assert.equal(chunk.toString('latin1', 7, 12), 'Hello', 'scan: the first payload');
  assert.equal(chunk[18], 0xff, 'scan: the second payload');
}

t.test('the JavaScript backend', (t) => {
  const javascript = createCodecBackend(null);
  t.equal(javascript.maskRange, fallback.maskRange, 'without a function between');
  t.equal(javascript.unmaskRange, fallback.unmaskRange);
  t.equal(javascript.scan, scanChunk);
  checkBytes(javascript);
  checkText(javascript);
  checkScan(javascript);
  t.end();
});

t.test('a backend with an addon calls it for long payloads and for chunks', (t) => {
  const double = createNativeDouble();
  const native = createCodecBackend(double);
  checkBytes(native);
  checkText(native);
  checkScan(native);

  const calls = (name, work) => {
    double.calls.length = 0;
    work();
    return double.calls.filter((call) => call === name).length;
  };
  const bytes = Buffer.alloc(256);
  const unmask = (length) => calls('unmask', () => native.unmaskRange(bytes, 0, length, KEY));
  const mask = (length) => calls('mask', () => native.maskRange(bytes, 0, bytes, 0, length, KEY));
  t.equal(unmask(256), 1, 'unmaskRange, 256 bytes');
  t.equal(mask(256), 1, 'maskRange, 256 bytes');
  t.equal(unmask(16), 0, 'unmaskRange, 16 bytes');
  t.equal(mask(16), 0, 'maskRange, 16 bytes');
  const scans = calls('scan', () => native.scan(bytes, 0, 0, new Uint32Array(3)));
  t.equal(scans, 1, 'scan');
  t.end();
});

for (const { name, native } of nativeKernels()) {
  t.test(`the backend with the kernel ${name}`, (t) => {
    const backend = createCodecBackend(native);
    checkBytes(backend);
    checkText(backend);
    checkScan(backend);
    t.end();
  });
}

t.test('the backend of this process', (t) => {
  t.ok(['js', ...kernels].includes(kernel));
  t.equal(nativeError === null, kernel !== 'js' || process.env.FRAMEMASK_KERNEL === 'js');
  checkBytes(codecBackend);
  checkText(codecBackend);
  checkScan(codecBackend);
  t.end();
});
