'use strict';

// What does a frame id cost? frameId, formatFrameId and parseFrameId beside Node's own functions
// and npm's uuid, by turns, in one process. The result of each call is used, because a string that
// Node made of pieces costs most when it is first read.

const { runBenchmark } = require('./support/harness');
const crypto = require('node:crypto');
const { frameId, formatFrameId, parseFrameId } = require('../lib/frame-id');
const { count } = require('./support/options');
const { fresh, timed } = require('./support/race');

const USAGE = `usage: node benchmark/frame-id.js [options]

Times frame ids. Prints the median nanoseconds a call, and how many times faster framemask is. Takes about a minute.
The result of each call is
  written   copied into a Buffer, as for a log line
  map key   a key of a Map
  key       a property name of an object
  dropped   not used at all`;

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
  key: (make, inputs, calls) => {
    let object = {};
    for (let i = 0; i < calls; i++) {
      object[make(inputs[i & 1023])] = i;
      if ((i & 63) === 63) object = {};
    }
    return object;
  },
  dropped: (make, inputs, calls) => {
    let sum = 0;
    for (let i = 0; i < calls; i++) sum += make(inputs[i & 1023]).length;
    return sum;
  }
};

const IDS = Array.from({ length: 1024 }, () => Buffer.from(crypto.randomUUID()).latin1Slice());
const BYTES = IDS.map((id) => parseFrameId(id));

/** @returns {object[]} what is raced: the work, the ways to use it, and each candidate's function */
function listWorks(uuid) {
  const randomUUID = () => crypto.randomUUID();
  const target = new Uint8Array(16);
  const works = [
    {
      work: 'make an id',
      sinks: Object.keys(SINKS),
      candidates: { 'frameId()': () => frameId(), 'crypto.randomUUID()': randomUUID }
    },
    {
      work: 'make a version 7 id',
      sinks: ['written', 'map key', 'key'],
      candidates: {
        'frameId({ version: 7 })': () => frameId({ version: 7 }),
        ...(crypto.randomUUIDv7 && { 'crypto.randomUUIDv7()': () => crypto.randomUUIDv7() }),
        'uuid v7()': () => uuid.v7()
      }
    },
    {
      work: 'format 16 bytes',
      sinks: ['written', 'map key'],
      inputs: BYTES,
      candidates: { formatFrameId: (bytes) => formatFrameId(bytes), 'uuid stringify': (bytes) => uuid.stringify(bytes) }
    },
    {
      work: 'parse an id',
      sinks: ['dropped'],
      inputs: IDS,
      candidates: {
        parseFrameId: (id) => parseFrameId(id),
        'uuid parse': (id) => uuid.parse(id),
        'parseFrameId, into a target': (id) => parseFrameId(id, target)
      }
    }
  ];
  return works.flatMap(({ sinks, ...work }) => sinks.map((sink) => ({ ...work, sink })));
}

/** @returns {Record<string, Function>} for each candidate a loop with a copy of the sink of its own */
function loopsOf({ candidates, sink, inputs = IDS }) {
  const loop = ([name, make]) => {
    const use = fresh(SINKS[sink]);
    return [name, (calls) => use(make, inputs, calls)];
  };
  return Object.fromEntries(Object.entries(candidates).map(loop));
}

async function main() {
  const works = listWorks(await import('uuid'));
  await runBenchmark({
    name: 'frame-id',
    usage: USAGE,
    options: { turn: count('<ms>', 'how long a turn of a candidate takes', 10, 2) },
    peers: ['uuid'],
    sets: ({ turn }) => [
      {
        rows: works.map((work) => {
          const [own, ...others] = Object.keys(work.candidates);
          return {
            name: `${work.work}, ${work.sink}`,
            group: work.work,
            work,
            pairs: others.map((peer) => [own, peer])
          };
        }),
        start: () => ({ candidates: ({ work }) => timed(loopsOf(work), { turn }) })
      }
    ]
  });
}

main();
