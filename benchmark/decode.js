'use strict';

// How fast are frames decoded? framemask, on the addon and in JavaScript, beside the receiving
// halves of ws (with bufferutil) and websocket-driver. All work by turns, in one process, on the
// same bytes. Text is delivered as strings, binary as Buffers.

const { runBenchmark } = require('./support/harness');
const { backend } = require('../lib/masking/backend');
const { DECODE_ROWS, createDecoder, prepareDecoding } = require('./support/decode-rows');
const { prepareLeastWork } = require('./support/least-work');
const { createDriver, loadFramemask, loadPeer } = require('./support/modules');
const { count } = require('./support/options');
const { timed } = require('./support/race');

const USAGE = `usage: node benchmark/decode.js [options]

Times the decoding of masked frames. Prints the median nanoseconds a message, and how many times faster framemask is
than ws. In the rows "frames", framemask calls onFrame, which makes no object, and ws's Receiver delivers Buffers: two
kinds of work. Takes about two minutes.`;

/** Each makes a function that takes chunks and calls `deliver` with the length of each message. */
const CONTESTANTS = {
  framemask: (deliver, framesOnly) => createDecoder(loadFramemask(), deliver, framesOnly),
  'framemask js': (deliver, framesOnly) => createDecoder(loadFramemask('js'), deliver, framesOnly),
  ws(deliver) {
    const { Receiver } = loadPeer('ws');
    const receiver = new Receiver({ isServer: true });
    receiver.on('message', (data, isBinary) => deliver(isBinary ? data.length : data.toString().length));
    return (chunk) => receiver.write(chunk);
  },
  'websocket-driver'(deliver) {
    const driver = createDriver();
    driver.on('message', ({ data }) => deliver(data.length));
    return (chunk) => driver.parse(chunk);
  }
};

const PAIRS = [
  ['framemask', 'ws'],
  ['framemask js', 'ws']
];

/** Copies the same number of bytes between chunks of the same size: the limit that memory sets. */
function prepareCopy({ chunks }) {
  const copies = chunks.map((chunk) => Buffer.from(chunk));
  return (calls) => {
    for (let i = 0; i < calls; i++) chunks.forEach((chunk, j) => void copies[j].set(chunk));
  };
}

/** Does the work that no decoder can avoid: see support/least-work.js. */
function prepareLeast({ count, messages, frames, chunks }) {
  let found = 0;
  const run = prepareLeastWork(messages, frames, chunks, backend, () => found++);
  run();
  if (found !== count) throw new Error(`the unavoidable work was done for ${found} of ${count} messages`);
  return (calls) => {
    for (let i = 0; i < calls; i++) run();
  };
}

runBenchmark({
  name: 'decode',
  usage: USAGE,
  options: { turn: count('<ms>', 'how long a turn of a candidate takes', 10, 2) },
  peers: ['bufferutil', 'ws', 'websocket-driver'],
  sets: ({ turn }) => [
    {
      rows: Object.entries(DECODE_ROWS).map(([name, { group, make }]) => ({ name, group, make, pairs: PAIRS })),
      start: () => ({
        candidates(row) {
          const work = row.make();
          row.bytes = work.chunks.reduce((sum, { length }) => sum + length, 0) / work.count;
          const loops = Object.entries(CONTESTANTS).map(([who, create]) => [who, prepareDecoding(who, create, work)]);
          if (work.messages !== undefined)
            loops.push(['memcpy', prepareCopy(work)], ['the unavoidable work', prepareLeast(work)]);
          return timed(Object.fromEntries(loops), { turn, count: work.count });
        }
      })
    }
  ]
});
