'use strict';

// Nothing is allocated on a peer's word: what a decoder holds stays within a small multiple of what it has received.

const t = require('tap');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { Decoder } = require('../../../lib/codec/decoder');

const MIB = 2 ** 20;
const SCRIPT = path.join(__dirname, '../../support/memory-use.js');

/** What test/support/memory-use.js has measured, in a process of its own: bytes, and no times. */
function measure(what, engine) {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ['--expose-gc', SCRIPT, what, engine], (error, stdout) => {
      if (error) reject(error);
      else resolve(JSON.parse(stdout));
    });
  });
}

for (const engine of ['native', 'js']) {
  t.test(`10,000 connections that announce 1 GiB each, ${engine}`, async (t) => {
    const results = await measure('announced', engine);
    t.equal(Object.keys(results).length, 4);
    for (const [name, { idle, grown, closed }] of Object.entries(results)) {
      t.equal(closed, 0);
      t.ok(idle + grown <= 10 * MIB, `${name}: ${idle} bytes of decoders, ${grown} of what they hold`);
    }
  });

  t.test(`a payload that is on its way, ${engine}`, async (t) => {
    const results = await measure('gathered', engine);
    t.equal(Object.keys(results).length, 12);
    for (const [name, steps] of Object.entries(results)) {
      for (const { received, held, closed } of steps) {
        t.equal(closed, false);
        // The decoder's own rule is at most four times; the rest is for the test's own chunks.
        t.ok(held <= 4 * received + 256 * 1024, `${name}: ${held} bytes held of ${received} received`);
        t.ok(held >= received - 256 * 1024, 'and it is what is measured');
      }
    }
  });

  t.test(`what it costs to put a message together, ${engine}`, async (t) => {
    const results = await measure('copied', engine);
    t.equal(Object.keys(results).length, 48);
    for (const [name, { copied, allocated, checked, length, memory, chunk }] of Object.entries(results)) {
      const counted = `${name}: ${copied} copied, ${allocated} allocated, ${checked} checked, ${memory} kept of ${length}`;
      // Each fragment is copied once; growing by doubling copies less than twice the whole, and allocates less than four
      // times. A character that is cut is looked at again: at most three bytes a fragment or chunk.
      t.ok(copied <= 3 * length, counted);
      t.ok(allocated <= 4 * length + 4 * chunk, 'allocated');
      t.ok(checked <= 2 * length, 'checked');
      t.ok(memory <= 2 * length + 128 || memory <= 2 * chunk, 'kept by whoever keeps the message');
    }
  });

  t.test(`what is done with is let go of, ${engine}`, async (t) => {
    const results = await measure('letGo', engine);
    t.equal(Object.keys(results).length, 10);
    for (const [name, { held, paused }] of Object.entries(results)) {
      t.equal(paused, false);
      t.ok(held < MIB, `${name}: ${held} bytes`);
    }
  });

  t.test(`a short text that is kept keeps no more than 1 KiB alive, ${engine}`, async (t) => {
    const results = await measure('kept', engine);
    t.equal(Object.keys(results).length, 6);
    for (const [name, { texts, held }] of Object.entries(results)) {
      t.equal(texts, 1000);
      t.ok(held < 1000 * 1024 + 512 * 1024, `${name}: ${held} bytes`);
    }
  });
}

t.test('a message in reads of 64 KiB, whose header takes a part of the first, is moved once at most', (t) => {
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
    let length = 0;
    const decoder = new Decoder({
      role: 'server',
      onMessage(data) {
        length = data.length;
      }
    });
    for (let at = 0; at < frame.length; at += 65536) decoder.write(frame.subarray(at, at + 65536));
    t.equal(length, kib * 1024);
    t.ok(sizes.length <= 2, `${kib} KiB: memory of ${sizes} bytes`);
    t.equal(sizes.at(-1), kib * 1024, 'and what it is delivered in is no larger than it is');
  }
  t.end();
});
