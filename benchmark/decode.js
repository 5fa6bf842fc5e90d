'use strict';

// How fast are frames decoded? framemask, on the addon and in JavaScript, beside the receiving
// halves of ws (with bufferutil) and websocket-driver. All work by turns, in one process, on the
// same bytes. Text is delivered as strings, binary as Buffers. In the rows `frames`, framemask
// calls onFrame, which makes neither, and ws delivers Buffers.

const { backend } = require('../lib/masking/backend');
const { DECODE_ROWS, createDecoder, prepareDecoding } = require('./support/decode-rows');
const { loadFramemask, loadPeer } = require('./support/modules');
const { prepareLeastWork } = require('./support/least-work');
const { measureEach } = require('./support/measure-each');
const { compareRace, race } = require('./support/race');
const { publish, reportLine, startReport } = require('./support/report');
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
/** Who is compared with whom. */
const PAIRS = [
  ['framemask', 'ws'],
  ['framemask js', 'ws']
];

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

/** @param {string} name of a row @returns {string} */
function groupOf(name) {
  if (name === '1,000 messages') return '1,000 messages of 0 to 64 KiB';
  if (name.endsWith('one a chunk')) return 'one small frame';
  if (name.endsWith('byte by byte')) return 'byte by byte';
  return name.endsWith('MiB') ? 'one message of 1 MiB' : '64 KiB chunks of small frames';
}

/**
 * @returns {Promise<import('./support/report').Row>} `bytes` and `ns` a message
 */
async function measure(name, { rounds, turn }) {
  const work = DECODE_ROWS[name]();
  const candidates = Object.entries(CONTESTANTS).map(([who, create]) => [who, prepareDecoding(who, create, work)]);
  if (name === '1,000 messages') candidates.push(prepareCopy(work), prepareLeast(work));
  await warmUp(Object.fromEntries(candidates), turn * 20);
  const turns = await race(Object.fromEntries(candidates), { rounds, turn });
  return {
    name,
    group: groupOf(name),
    bytes: work.chunks.reduce((sum, { length }) => sum + length, 0) / work.count,
    ...compareRace(turns, PAIRS, work.count)
  };
}

function formatRows(rows) {
  const names = Object.keys(CONTESTANTS);
  const ratios = ['times faster than ws', 'js, times faster than ws'];
  const head = ['a message', ...names.map((name) => `${name}, ns`), ...ratios];
  const lines = rows.map(({ name, candidates, timesFaster }) => [
    name,
    ...names.map((who) => formatNumber(candidates[who]?.ns[1])),
    ...timesFaster.map(({ times }) => times[1].toFixed(2))
  ]);
  return formatTable(head, lines);
}

async function main() {
  const finish = await startReport('decode');
  const { rounds, quick, json, results: rows } = await measureEach(USAGE, DECODE_ROWS, measure);

  const peers = ['bufferutil', 'ws', 'websocket-driver'];
  const report = await finish({ quick, rounds, kernel: loadFramemask().kernel, peers, rows });
  const lines = [reportLine(report), '', formatRows(rows)];
  for (const { name, bytes, candidates } of rows.filter(({ candidates }) => candidates.memcpy !== undefined)) {
    const speeds = Object.entries(candidates).map(([who, { ns }]) => `${who} ${formatNumber(bytes / ns[1])} GB/s`);
    lines.push('', `${name}: ${speeds.join(', ')}`);
  }
  publish(report, json, lines.join('\n'));
}

main();
