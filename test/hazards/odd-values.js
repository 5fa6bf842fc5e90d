'use strict';

// Values that are of a right type and yet unusual.

const assert = require('node:assert/strict');
const t = require('tap');
const framemask = require('../../index');
const { frameId } = require('../../lib/frame-id');
const { forEachCase } = require('../support/cases');

t.test('a huge BigInt, string or number of digits makes no huge message', (t) => {
  const huge = 10n ** 300_000n;
  const { Decoder, Encoder, formatFrameId, mask, prepare, unmask } = framemask;
  const bytes = Buffer.alloc(16);
  const encoder = new Encoder({ role: 'server' });
  const calls = {
    mask: () => mask(bytes, bytes.subarray(4), bytes, huge, 4),
    unmask: () => unmask(huge, bytes),
    phase: () => unmask(bytes, bytes.subarray(0, 4), huge),
    text: () => encoder.text(huge),
    close: () => encoder.close(huge),
    prepare: () => prepare(huge),
    option: () => new Decoder({ role: 'server', maxPayload: huge }),
    role: () => new Decoder({ role: huge }),
    frameId: () => frameId({ version: huge }),
    formatFrameId: () => formatFrameId(bytes, huge)
  };
  forEachCase(Object.keys(calls), (name) => {
    assert.throws(calls[name], ({ message }) => message.length < 200, name);
  });
  t.end();
});

t.test('ids of version 7 ascend under a clock with fractions', (t) => {
  const { now } = Date;
  t.teardown(() => {
    Date.now = now;
  });
  let time = now.call(Date) + 1000;
  Date.now = () => {
    time += 0.0625;
    return time;
  };
  let last = '';
  for (let i = 0; i < 10_000; i++) {
    const id = frameId({ version: 7 });
    assert.ok(id > last, `id ${i} is ${id}, after ${last}`);
    last = id;
  }
  t.end();
});
