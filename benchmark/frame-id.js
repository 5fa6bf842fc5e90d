'use strict';

// What does a frame id cost? frameId, formatFrameId and parseFrameId beside Node's own functions
// and npm's uuid, by turns, in one process. The result of each call is used, because a string that
// Node made of pieces costs most when it is first read.

const { runCodec } = require('./support/codec');
const crypto = require('node:crypto');
const { frameId, formatFrameId, parseFrameId } = require('../lib/frame-id');
const { fresh } = require('./support/race');

const USAGE = `usage: node benchmark/frame-id.js [options]

Times frame ids. Prints the median nanoseconds a call, and how many times faster framemask is. Takes about a minute.
The result of each call is copied into a Buffer, as for a log line ("written"), a key of a Map ("map key"),
or not used at all ("dropped").`;

/** The ways to use a result. */
const SINKS = {
  written: (make, inputs, calls) => {
    const output = Buffer.alloc(64);
    let sum = 0;
    for (let i = 0; i < calls; i++) sum += output.latin1Write(make(inputs[i & 1023]), 0);
    return sum;
  },
  'map key': (make, inputs, calls) => {
    const map = new Map();
    for (let i = 0; i < calls; i++) {
      map.set(make(inputs[i & 1023]), i);
      if ((i & 255) === 255) map.clear();
    }
    return map.size;
  },
  dropped: (make, inputs, calls) => {
    let sum = 0;
    for (let i = 0; i < calls; i++) sum += make(inputs[i & 1023]).length;
    return sum;
  }
};

const IDS = Array.from({ length: 1024 }, () => Buffer.from(crypto.randomUUID()).latin1Slice());
const BYTES = IDS.map((id) => parseFrameId(id));
const PAIRS = [
  ['frameId()', 'crypto.randomUUID()'],
  ['frameId({ version: 7 })', 'crypto.randomUUIDv7()'],
  ['frameId({ version: 7 })', 'uuid v7()'],
  ['formatFrameId', 'uuid stringify'],
  ['parseFrameId', 'uuid parse']
];

async function main() {
  const uuid = await import('uuid');
  const contestants = {
    'frameId()': () => frameId(),
    'crypto.randomUUID()': () => crypto.randomUUID(),
    'frameId({ version: 7 })': () => frameId({ version: 7 }),
    // Node.js has it from 26 on.
    ...(crypto.randomUUIDv7 && { 'crypto.randomUUIDv7()': () => crypto.randomUUIDv7() }),
    'uuid v7()': () => uuid.v7(),
    formatFrameId: (bytes) => formatFrameId(bytes),
    'uuid stringify': (bytes) => uuid.stringify(bytes),
    parseFrameId: (id) => parseFrameId(id),
    'uuid parse': (id) => uuid.parse(id)
  };
  const works = [
    { group: 'make an id', able: /^(frameId|crypto.randomUUID)\(\)/, sinks: Object.keys(SINKS) },
    { group: 'make a version 7 id', able: /7/, sinks: ['written', 'map key'] },
    { group: 'format 16 bytes', able: /format|stringify/, sinks: ['written', 'map key'], inputs: BYTES },
    { group: 'parse an id', able: /parse/, sinks: ['dropped'] }
  ];
  const rows = works.flatMap(({ group, able, sinks, inputs = IDS }) =>
    sinks.map((sink) => {
      const loop = (name, make) => {
        if (!able.test(name)) return null;
        const use = fresh(SINKS[sink]);
        return (calls) => use(make, inputs, calls);
      };
      return { name: `${group}, ${sink}`, group, create: () => ({ count: 1, loop }) };
    })
  );
  await runCodec({
    name: 'frame-id',
    usage: USAGE,
    peers: ['uuid'],
    rows: () => rows,
    contestants: () => contestants,
    pairs: PAIRS
  });
}

main();
