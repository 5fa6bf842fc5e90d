'use strict';

// How fast are frames decoded? framemask, on the addon and in JavaScript, beside the receiving halves of ws (with
// bufferutil) and websocket-driver: by turns, in one process, on the same bytes. Text is asked for as strings, binary as
// Buffers; `frames` has framemask's onFrame, which makes neither, beside what ws makes of binary.

const { backend } = require('../lib/masking/backend');
const { describeMachine, machineLine } = require('./support/machine');
const { BINARY, TEXT, asciiPayload, cut, maskedFrame, uniformMessages, writeAll } = require('./support/messages');
const { loadFramemask, loadPeer } = require('./support/modules');
const { prepareLeastWork } = require('./support/least-work');
const { measureEach } = require('./support/measure-each');
const { fresh, race, ratio } = require('./support/race');
const { median } = require('./support/statistics');
const { formatNumber, formatTable } = require('./support/table');
const { warmUp } = require('./support/warm-up');

const USAGE = `usage: node benchmark/decode.js [options]

Times the decoding of masked frames, and prints the median nanoseconds a message and how many times faster framemask is
than ws. Takes about two minutes.

  --only <text>     only the work whose name has this in it
  --turn <ms>       how long a turn of a candidate takes`;

const KIB64 = 64 * 1024;

/** Small frames of one kind, as four whole reads of a busy socket hold them. */
function manyFrames(first, size) {
  const payload = asciiPayload(size);
  const count = Math.floor((4 * KIB64) / (size + 6));
  return { count, chunks: cut(Buffer.concat(Array.from({ length: count }, () => maskedFrame(first, payload))), KIB64) };
}

/** Frames that each come in a read of their own, out of one pool as small reads do not: so each has its own memory. */
function singleFrames(first, size) {
  const frames = Array.from({ length: 64 }, () => maskedFrame(first, asciiPayload(size)));
  return { count: 64, chunks: frames.flatMap((frame) => cut(frame, frame.length)) };
}

function singleBytes(first, size) {
  return { count: 16, chunks: cut(Buffer.concat(singleFrames(first, size).chunks.slice(0, 16)), 1) };
}

function thousandMessages() {
  const messages = uniformMessages(1000);
  const frames = messages.map(({ first, payload }) => maskedFrame(first, payload));
  return { count: 1000, messages, frames, chunks: cut(Buffer.concat(frames), KIB64) };
}

function oneMessage(first, size) {
  return { count: 1, chunks: cut(maskedFrame(first, asciiPayload(size)), KIB64) };
}

/** What is decoded, by its name. */
const WORK = {
  ...Object.fromEntries(
    [16, 64, 125].flatMap((size) => [
      [`text ${size} B`, () => manyFrames(TEXT, size)],
      [`binary ${size} B`, () => manyFrames(BINARY, size)],
      [`frames ${size} B`, () => ({ ...manyFrames(BINARY, size), framesOnly: true })]
    ])
  ),
  'text 64 B, one a chunk': () => singleFrames(TEXT, 64),
  'binary 64 B, one a chunk': () => singleFrames(BINARY, 64),
  'text 16 B, byte by byte': () => singleBytes(TEXT, 16),
  'binary 16 B, byte by byte': () => singleBytes(BINARY, 16),
  'binary 64 B, byte by byte': () => singleBytes(BINARY, 64),
  'text 1 MiB': () => oneMessage(TEXT, 16 * KIB64),
  'binary 1 MiB': () => oneMessage(BINARY, 16 * KIB64),
  '1,000 messages': thousandMessages
};

function createDecoder(kernel, take, frames) {
  const { Decoder } = loadFramemask(kernel);
  const handlers = frames
    ? { onFrame: (_first, _bytes, start, end) => take(end - start) }
    : { onMessage: (data) => take(data.length) };
  const decoder = new Decoder({ role: 'server', ...handlers });
  return (chunk) => decoder.write(chunk);
}

/** Each makes a function that takes chunks, and calls `take` with the length of what it has made of each message. */
const CONTESTANTS = {
  framemask: (take, frames) => createDecoder(undefined, take, frames),
  'framemask js': (take, frames) => createDecoder('js', take, frames),
  ws(take) {
    const { Receiver } = loadPeer('ws');
    const receiver = new Receiver({ isServer: true });
    receiver.on('message', (data, isBinary) => take(isBinary ? data.length : data.toString().length));
    return (chunk) => receiver.write(chunk);
  },
  'websocket-driver'(take) {
    const headers = { connection: 'Upgrade', upgrade: 'websocket', host: 'localhost' };
    Object.assign(headers, { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' });
    const driver = loadPeer('websocket-driver').http({ method: 'GET', url: '/', headers });
    driver.start();
    driver.on('message', ({ data }) => take(data.length));
    return (chunk) => driver.parse(chunk);
  }
};

/** Makes the loop of one contestant, after it has shown that it finds every message. */
function prepareContestant([name, create], { count, chunks, framesOnly = false }) {
  let messages = 0;
  let bytes = 0;
  const write = create((length) => {
    messages++;
    bytes += length;
  }, framesOnly);
  for (const chunk of chunks) write(chunk);
  if (messages !== count) throw new Error(`${name} found ${messages} of ${count} messages`);
  if (bytes > chunks.reduce((sum, { length }) => sum + length, 0)) throw new Error(`${name} found too much`);

  const repeat = fresh(writeAll);
  return [name, (calls) => repeat(write, chunks, calls)];
}

/** Copies as many bytes, as far apart: what the memory of this machine would let through. */
function prepareCopy({ chunks }) {
  const copies = chunks.map((chunk) => Buffer.from(chunk));
  return [
    'memcpy',
    (calls) => {
      for (let i = 0; i < calls; i++) chunks.forEach((chunk, j) => void copies[j].set(chunk));
    }
  ];
}

/** What would be left of the time if a decoder had nothing to find out. */
function prepareLeast({ count, messages, frames, chunks }) {
  let found = 0;
  const run = prepareLeastWork(messages, frames, chunks, backend, () => found++);
  run();
  if (found !== count) throw new Error(`the least work was done for ${found} of ${count} messages`);
  return [
    'the copies alone',
    (calls) => {
      for (let i = 0; i < calls; i++) run();
    }
  ];
}

/** @returns {{ name: string, bytes: number, ns: Record<string, number>, ratios: Record<string, number> }} a message */
async function measure(name, { rounds, turn }) {
  const work = WORK[name]();
  const candidates = Object.entries(CONTESTANTS).map((contestant) => prepareContestant(contestant, work));
  if (name === '1,000 messages') candidates.push(prepareCopy(work), prepareLeast(work));
  await warmUp(Object.fromEntries(candidates), turn * 20);
  const turns = await race(Object.fromEntries(candidates), { rounds, turn });
  return {
    name,
    bytes: work.chunks.reduce((sum, { length }) => sum + length, 0) / work.count,
    ns: Object.fromEntries(Object.entries(turns).map(([who, values]) => [who, median(values) / work.count])),
    ratios: {
      'framemask : ws': ratio(turns.framemask, turns.ws),
      'framemask js : ws': ratio(turns['framemask js'], turns.ws)
    }
  };
}

function formatResults(results) {
  const names = Object.keys(CONTESTANTS);
  const head = ['a message of', ...names.map((name) => `${name}, ns`), ...Object.keys(results[0].ratios)];
  const rows = results.map(({ name, ns, ratios }) => [
    name,
    ...names.map((who) => formatNumber(ns[who])),
    ...Object.values(ratios).map((value) => `${value.toFixed(2)}`)
  ]);
  return formatTable(head, rows);
}

async function main() {
  const { rounds, json, results } = await measureEach(USAGE, WORK, measure);

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
