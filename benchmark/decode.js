'use strict';

// How fast are frames decoded? framemask, on the addon and in JavaScript, beside the receiving
// halves of ws (with bufferutil) and websocket-driver. All work by turns, in one process, on the
// same bytes. Text is delivered as strings, binary as Buffers. In the rows `frames`, framemask
// calls onFrame, which makes neither, and ws delivers Buffers.

const { backend } = require('../lib/masking/backend');
const { DECODE_ROWS, createDecoder, prepareDecoding } = require('./support/decode-rows');
const { describeMachine, machineLine } = require('./support/machine');
const { loadFramemask, loadPeer } = require('./support/modules');
const { prepareLeastWork } = require('./support/least-work');
const { measureEach } = require('./support/measure-each');
const { race, ratio } = require('./support/race');
const { median } = require('./support/statistics');
const { formatNumber, formatTable } = require('./support/table');
const { warmUp } = require('./support/warm-up');

const USAGE = `usage: node benchmark/decode.js [options]

Times the decoding of masked frames. Prints the median nanoseconds a message, and how many times faster
framemask is than ws. Takes about two minutes.

  --only <text>     only the rows whose name has this in it
  --turn <ms>       how long a turn of a candidate takes (default 10)`;

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
    const headers = { connection: 'Upgrade', upgrade: 'websocket', host: 'localhost' };
    Object.assign(headers, { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' });
    const driver = loadPeer('websocket-driver').http({ method: 'GET', url: '/', headers });
    driver.start();
    driver.on('message', ({ data }) => deliver(data.length));
    return (chunk) => driver.parse(chunk);
  }
};

/** Copies the same number of bytes between chunks of the same size: the limit that memory sets. */
function prepareCopy({ chunks }) {
  const copies = chunks.map((chunk) => Buffer.from(chunk));
  return [
    'memcpy',
    (calls) => {
      for (let i = 0; i < calls; i++) chunks.forEach((chunk, j) => void copies[j].set(chunk));
    }
  ];
}

/** Does the work that no decoder can avoid: see support/least-work.js. */
function prepareLeast({ count, messages, frames, chunks }) {
  let found = 0;
  const run = prepareLeastWork(messages, frames, chunks, backend, () => found++);
  run();
  if (found !== count) throw new Error(`the unavoidable work was done for ${found} of ${count} messages`);
  return [
    'the unavoidable work',
    (calls) => {
      for (let i = 0; i < calls; i++) run();
    }
  ];
}

/**
 * @returns {Promise<{ name: string, bytes: number, ns: Record<string, number>,
 *   ratios: Record<string, number> }>} `bytes` and `ns` a message, `ns` by contestant
 */
async function measure(name, { rounds, turn }) {
  const work = DECODE_ROWS[name]();
  const candidates = Object.entries(CONTESTANTS).map(([who, create]) => [who, prepareDecoding(who, create, work)]);
  if (name === '1,000 messages') candidates.push(prepareCopy(work), prepareLeast(work));
  await warmUp(Object.fromEntries(candidates), turn * 20);
  const turns = await race(Object.fromEntries(candidates), { rounds, turn });
  return {
    name,
    bytes: work.chunks.reduce((sum, { length }) => sum + length, 0) / work.count,
    ns: Object.fromEntries(Object.entries(turns).map(([who, values]) => [who, median(values) / work.count])),
    ratios: {
      'times faster than ws': ratio(turns.framemask, turns.ws),
      'js, times faster than ws': ratio(turns['framemask js'], turns.ws)
    }
  };
}

function formatResults(results) {
  const names = Object.keys(CONTESTANTS);
  const head = ['a message', ...names.map((name) => `${name}, ns`), ...Object.keys(results[0].ratios)];
  const rows = results.map(({ name, ns, ratios }) => [
    name,
    ...names.map((who) => formatNumber(ns[who])),
    ...Object.values(ratios).map((value) => value.toFixed(2))
  ]);
  return formatTable(head, rows);
}

async function main() {
  const { rounds, json, results } = await measureEach(USAGE, DECODE_ROWS, measure);

  const machine = describeMachine(loadFramemask().kernel);
  if (json) {
    console.log(JSON.stringify({ machine, rounds, results }, null, 2));
    return;
  }
  console.log(`${machineLine(machine)}; medians of ${rounds} rounds\n\n${formatResults(results)}`);
  for (const { name, bytes, ns } of results.filter(({ ns }) => ns.memcpy !== undefined)) {
    const speeds = Object.entries(ns).map(([who, value]) => `${who} ${formatNumber(bytes / value)} GB/s`);
    console.log(`\n${name}: ${speeds.join(', ')}`);
  }
}

main();
