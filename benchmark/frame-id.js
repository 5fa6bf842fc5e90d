'use strict';

// A text is written to a Buffer, as for a log line, because a string that Node made of pieces costs
// most when it is first read.

const { runCodec } = require('./support/harness');
const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const { frameId, formatFrameId, parseFrameId } = require('../index');
const { fresh } = require('./support/race');

const USAGE = `usage: node benchmark/frame-id.js [options]

Times frame ids. Prints the median nanoseconds a call, and how many times faster framemask is. Takes half a minute.`;

const IDS = Array.from({ length: 1024 }, () => Buffer.from(crypto.randomUUID()).latin1Slice());
const BYTES = IDS.map((id) => Buffer.from(id.replaceAll('-', ''), 'hex'));

/** The ways to use a result. */
function write(make, inputs, calls) {
  const output = Buffer.alloc(64);
  for (let i = 0; i < calls; i++) output.latin1Write(make(inputs[i & 1023]), 0);
}

function drop(make, inputs, calls) {
  let sum = 0;
  for (let i = 0; i < calls; i++) sum += make(inputs[i & 1023]).length;
  return sum;
}

import('uuid').then((uuid) => {
  const works = {
    'make an id, written': [write, { 'frameId()': () => frameId(), 'crypto.randomUUID()': () => crypto.randomUUID() }],
    'format 16 bytes, written': [
      write,
      { formatFrameId, 'uuid stringify': (bytes) => uuid.stringify(bytes) },
      BYTES,
      IDS
    ],
    'parse an id': [drop, { parseFrameId: (id) => parseFrameId(id), 'uuid parse': (id) => uuid.parse(id) }, IDS, BYTES]
  };
  const rows = Object.entries(works).map(([name, [use, able, inputs = IDS, results]]) => {
    const loop = (who, make) => {
      if (!(who in able)) return null;
      for (const [i, result] of results?.entries() ?? [])
        assert.deepEqual(Buffer.from(make(inputs[i])), Buffer.from(result));
      const repeat = fresh(use);
      return (calls) => repeat(make, inputs, calls);
    };
    return { name, group: name, create: () => ({ count: 1, loop }) };
  });
  const contestants = Object.assign({}, ...Object.values(works).map(([, able]) => able));
  const pairs = Object.values(works).map(([, able]) => Object.keys(able));
  runCodec({ name: 'frame-id', usage: USAGE, peers: ['uuid'], rows, contestants, pairs });
});
