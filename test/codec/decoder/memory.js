'use strict';

// A decoder holds at most a small multiple of the bytes that it has received, even if a header
// announces 1 GiB.

const assert = require('node:assert/strict');
const path = require('node:path');
const t = require('tap');
const { Decoder } = require('../../../lib/codec/decoder');
const { supportsSyncZlib } = require('../../../lib/deflate/zlib-handle');
const { forEachCase } = require('../../support/cases');
const { piecesOf } = require('../../support/frames');
const { runScript } = require('../../support/run-script');
const { TRIES_ALL, titleOf } = require('../../support/sample');

const MIB = 2 ** 20;
const SCRIPT = path.join(__dirname, '../../support/memory-use.js');

const GATHERED = titleOf('a payload that is not complete holds four times its bytes at most', 'of 1 MiB');
const COPIED = titleOf('a message in pieces is copied three times at most', 'up to 1 MiB');

/**
 * Measures in a process of its own.
 *
 * @param {string} what a measurement of test/support/memory-use.js
 * @param {'native' | 'js'} backend
 * @returns {Promise<object[]>} the result of each case with its `name`, in bytes
 */
async function measure(what, backend) {
  const results = JSON.parse(await runScript(SCRIPT, [what, backend], { execArgv: ['--expose-gc'] }));
  return Object.entries(results).map(([name, result]) => ({ name, ...result }));
}

for (const backend of ['native', 'js']) {
  // With either backend, the same code holds bytes; the one in JavaScript also finds frames.
  const skip = !TRIES_ALL && backend === 'js' && 'a sample: with the other backend alone';

  t.test(`10,000 connections that announce 1 GiB each hold 10 MiB at most, ${backend}`, { skip }, async (t) => {
    const results = await measure('announced', backend);
    t.equal(results.length, 4);
    forEachCase(results, ({ idle, grown, closed }) => {
      assert.equal(closed, 0, 'closed decoders');
      assert.ok(idle + grown <= 10 * MIB, `${idle} bytes of decoders, ${grown} bytes that they hold`);
    });
  });

  t.test(`${GATHERED}, ${backend}`, { skip }, async (t) => {
    const results = await measure('gathered', backend);
    t.equal(results.length, 12);
    forEachCase(results, ({ steps }) => {
      for (const { received, held, closed } of steps) {
        assert.equal(closed, false, `closed after ${received} bytes`);
        // The test's own chunks may take 256 KiB.
        assert.ok(held <= 4 * received + 256 * 1024, `${held} bytes held of ${received} received`);
        assert.ok(
          held >= received - 256 * 1024,
          `${held} bytes held of ${received}: is it the payload that is measured?`
        );
      }
    });
  });

  const titled = `a compressed message in small pieces holds four times its bytes and 256 KiB at most, ${backend}`;
  t.test(titled, { skip: skip || (!supportsSyncZlib() && 'the thread pool inflates on Deno') }, async (t) => {
    const results = await measure('deflated', backend);
    t.equal(results.length, TRIES_ALL ? 16 : 8);
    forEachCase(results, ({ received, held, closed }) => {
      assert.equal(closed, false);
      assert.ok(held > 0 && held <= 4 * received + 256 * 1024, `${held} bytes held of ${received} received`);
    });
  });

  // Each fragment is copied once; growing by doubling copies less than twice the whole, and
  // allocates less than four times. A character that is cut is checked again: at most three bytes
  // for each fragment or chunk.
  t.test(`${COPIED}, ${backend}`, { skip }, async (t) => {
    const results = await measure('copied', backend);
    t.equal(results.length, 48);
    forEachCase(results, ({ copied, allocated, checked, length, memory, chunk }) => {
      assert.ok(copied <= 3 * length, `${copied} bytes copied of ${length}`);
      assert.ok(allocated <= 4 * length + 4 * chunk, `${allocated} bytes allocated of ${length}`);
      assert.ok(checked <= 2 * length, `${checked} bytes checked of ${length}`);
      assert.ok(memory <= 2 * length + 128 || memory <= 2 * chunk, `${memory} bytes kept of ${length}`);
    });
  });

  t.test(`what was delivered, or was left when a decoder ended, is not held, ${backend}`, { skip }, async (t) => {
    const results = await measure('released', backend);
    t.equal(results.length, 28);
    forEachCase(results, ({ held, before }) => {
      // A chunk has 1,400 bytes and more; what V8 compiles meanwhile can count for 250.
      assert.ok(held < 500, `${held} bytes for each decoder`);
      assert.ok(before === null || before > 256, `${before} bytes for each decoder before stop`);
    });
  });
}

t.test('a message in chunks of 64 KiB, the first of which has the header too, is moved once at most', async (t) => {
  const { allocUnsafeSlow } = Buffer;
  t.teardown(() => {
    Buffer.allocUnsafeSlow = allocUnsafeSlow;
  });
  for (const kib of [64, 128, 256, 320, 1024]) {
    const frame = Buffer.alloc(14 + kib * 1024);
    frame.set([0x82, 0xff]);
    frame.writeUInt32BE(kib * 1024, 6);
    const sizes = [];
    Buffer.allocUnsafeSlow = (size) => {
      sizes.push(size);
      return allocUnsafeSlow(size);
    };
    const lengths = [];
    const decoder = new Decoder({ role: 'server', onMessage: (data) => lengths.push(data.length) });
    for (const chunk of piecesOf(frame, 65536)) decoder.write(chunk);
    assert.deepEqual(lengths, [kib * 1024], `${kib} KiB: the message`);
    assert.ok(sizes.length <= 2, `${kib} KiB: allocations of ${sizes} bytes`);
    assert.equal(sizes.at(-1), kib * 1024, `${kib} KiB: the memory of the message`);
  }
});
