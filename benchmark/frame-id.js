'use strict';

// What does a frame id cost? frameId, formatFrameId and parseFrameId beside Node's own function and
// npm's uuid, by turns, in one process. The result of each call is used, because a string that Node
// made of pieces costs most when it is first read.

const { runCodec } = require('./support/harness');
const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const { frameId, formatFrameId, parseFrameId } = require('../index');
const { fresh } = require('./support/race');

const USAGE = `usage: node benchmark/frame-id.js [options]

Times frame ids. Prints the median nanoseconds a call, and how many times faster framemask is. Takes about half a
minute. The result of each call is copied into a Buffer, as for a log line ("written"), or a key of a Map ("map key").`;

/** The ways to use a result. */
const written = (make, inputs, calls) => {
  const output = Buffer.alloc(64);
  for (let i = 0; i < calls; i++) output.latin1Write(make(inputs[i & 1023]), 0);
};
const mapKey = (make, inputs, calls) => {
  const map = new Map();
  for (let i = 0; i < calls; i++) {
    map.set(make(inputs[i & 1023]), i);
    if ((i & 255) === 255) map.clear();
  }
};
const dropped = (make, inputs, calls) => {
  let sum = 0;
  for (let i = 0; i < calls; i++) sum += make(inputs[i & 1023]).length;
  return sum;
};

const IDS = Array.from({ length: 1024 }, () => Buffer.from(crypto.randomUUID()).latin1Slice());
const BYTES = IDS.map((id) => Buffer.from(id.replaceAll('-', ''), 'hex'));

import('uuid').then((uuid) => {
  const contestants = {
    'frameId()': () => frameId(),
    'crypto.randomUUID()': () => crypto.randomUUID(),
    formatFrameId: (bytes) => formatFrameId(bytes),
    'uuid stringify': (bytes) => uuid.stringify(bytes),
    parseFrameId: (id) => parseFrameId(id),
    'uuid parse': (id) => uuid.parse(id)
  };
  const names = Object.keys(contestants);
  const pairs = [names.slice(0, 2), names.slice(2, 4), names.slice(4)];
  const row = (name, group, use, pair, inputs, results) => {
    const loop = (who, make) => {
      if (!pair.includes(who)) return null;
      if (results !== undefined)
        assert.deepEqual(
          inputs.map((input) => Buffer.from(make(input))),
          results.map((result) => Buffer.from(result))
        );
      const repeat = fresh(use);
      return (calls) => repeat(make, inputs, calls);
    };
    return { name, group, create: () => ({ count: 1, loop }) };
  };
  runCodec({
    name: 'frame-id',
    usage: USAGE,
    peers: ['uuid'],
    rows: [
      row('make an id, written', 'make an id', written, pairs[0], IDS),
      row('make an id, map key', 'make an id', mapKey, pairs[0], IDS),
      row('format 16 bytes, written', 'format 16 bytes', written, pairs[1], BYTES, IDS),
      row('parse an id, dropped', 'parse an id', dropped, pairs[2], IDS, BYTES)
    ],
    contestants,
    pairs
  });
});
