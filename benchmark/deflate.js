'use strict';

// What does permessage-deflate cost? A server's Encoder and Decoder beside ws's Sender and
// Receiver, and beside zlib alone, on the same messages, one after the other. CPU is that of the
// process: ws compresses in zlib's thread pool, whose threads count, too.

const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');

const { PerMessageDeflate, Receiver, Sender } = require('ws');

const { Decoder, Encoder, acceptDeflate, kernel, offerDeflate } = require('../index');
const { readArguments, refuse } = require('./support/arguments');
const { jsonPayloads, parseMessages } = require('./support/messages');
const { createProgress } = require('./support/progress');
const { timesFaster } = require('./support/race');
const { publish, reportLine, startReport } = require('./support/report');
const { quartiles } = require('./support/statistics');
const { formatNumber, formatTable } = require('./support/table');

const USAGE = `usage: node benchmark/deflate.js [file] [options]

Compresses and inflates JSON of 128 bytes, 1 KiB and 16 KiB, with and without context takeover. Prints
the median microseconds of CPU a message, how many times faster framemask is than ws, and the bytes that
the message is compressed to. "zlib" is zlib alone, called as cheaply as Node.js can: the least that is
possible. Takes about a minute.

With a file, its messages are measured instead: one a line, or a JSON array, in which a string is a message
and any other value is the message of its JSON. Take a hundred or more, in the order in which one connection
sends them. All are compressed; the program also says how many are shorter than the default threshold, so
that they would go out uncompressed without takeover.

  --only <text>     only the rows whose name has this in it`;

const SIZES = { '128 B': 128, '1 KiB': 1024, '16 KiB': 16 * 1024 };
/** The default of ws and of framemask. */
const THRESHOLD = 1024;
/** The messages of a turn: all different. */
const MESSAGES = 200;
/** Turns until V8 has compiled the code, which takes longer with JavaScript than with zlib. */
const WARM_UP = 20;

const CANDIDATES = ['framemask', 'ws', 'zlib'];

let output = Buffer.allocUnsafeSlow(64 * 1024);

/** The handle below a zlib stream, which framemask uses, too. @returns {Buffer} what comes out */
function runHandle({ _handle: handle, _writeState: state }, input, contextTakeover) {
  handle.writeSync(zlib.constants.Z_SYNC_FLUSH, input, 0, input.length, output, 0, output.length);
  const length = output.length - state[0];
  if (!contextTakeover) handle.reset();
  return Buffer.from(output.subarray(0, length));
}

/** What both ends have agreed on, as each library has it. */
function agree(contextTakeover) {
  // In the thread pool, a message would come later.
  const options = { contextTakeover, threshold: 0, threadPoolFrom: Infinity };
  const offer = offerDeflate(options);
  const server = acceptDeflate(offer.header, options);
  return { server, client: offer.accept(server.header) };
}

function createDeflate(contextTakeover, isServer) {
  const flags = { server_no_context_takeover: true, client_no_context_takeover: true };
  const deflate = new PerMessageDeflate({ isServer, threshold: 0 });
  deflate.params = contextTakeover ? {} : flags;
  return deflate;
}

/** Each makes a function that compresses messages, and returns the frames; zlib alone makes none. */
const COMPRESS = {
  framemask(contextTakeover) {
    const encoder = new Encoder({ role: 'server', deflate: agree(contextTakeover).server });
    return (messages) =>
      messages.map((message) => {
        encoder.text(message, { compress: true });
        return Buffer.concat(encoder.take());
      });
  },
  ws(contextTakeover) {
    let frames = [];
    const socket = {
      cork() {},
      uncork() {},
      write(chunk, callback) {
        frames.push(Buffer.from(chunk));
        callback?.();
      }
    };
    const sender = new Sender(socket, { 'permessage-deflate': createDeflate(contextTakeover, true) });
    return async (messages) => {
      frames = [];
      for (const message of messages) {
        await new Promise((resolve) => sender.send(message, { fin: true, compress: true, binary: false }, resolve));
      }
      // A header and a payload each.
      return frames.filter((_, i) => i % 2 === 0).map((header, i) => Buffer.concat([header, frames[i * 2 + 1]]));
    };
  },
  zlib(contextTakeover) {
    const stream = zlib.createDeflateRaw();
    return (messages) => messages.map((message) => runHandle(stream, message, contextTakeover));
  }
};

/** Each makes a function that inflates what COMPRESS returned, and returns how many there were. */
const INFLATE = {
  framemask(contextTakeover) {
    let count = 0;
    const onMessage = () => count++;
    const decoder = new Decoder({ role: 'client', text: 'buffer', deflate: agree(contextTakeover).client, onMessage });
    return (frames) => {
      count = 0;
      for (const frame of frames) decoder.write(frame);
      return count;
    };
  },
  ws(contextTakeover) {
    const extensions = { 'permessage-deflate': createDeflate(contextTakeover, false) };
    const receiver = new Receiver({ isServer: false, extensions });
    let count = 0;
    let resolve;
    receiver.on('message', () => {
      count++;
      resolve();
    });
    return async (frames) => {
      count = 0;
      for (const frame of frames) {
        await new Promise((done) => {
          resolve = done;
          receiver.write(frame);
        });
      }
      return count;
    };
  },
  zlib(contextTakeover) {
    const stream = zlib.createInflateRaw();
    return (compressed) => compressed.filter((bytes) => runHandle(stream, bytes, contextTakeover).length > 0).length;
  }
};

/** @returns {Promise<number>} microseconds of CPU a message */
async function time(work, messages) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / messages.length;
}

async function measure(messages, contextTakeover, rounds) {
  const largest = Math.max(...messages.map(({ length }) => length));
  // What does not compress becomes a little larger.
  output = Buffer.allocUnsafeSlow(Math.max(64 * 1024, 2 * largest));
  const sizes = {};
  const times = { compress: {}, inflate: {} };
  const makers = CANDIDATES.map((name) => [name, COMPRESS[name](contextTakeover), INFLATE[name](contextTakeover)]);
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const [name, compress, inflate] of makers) {
      let frames;
      const compressing = await time(async () => {
        frames = await compress(messages);
      }, messages);
      sizes[name] = Math.round(frames.reduce((sum, { length }) => sum + length, 0) / messages.length);
      const inflating = await time(async () => {
        const count = await inflate(frames);
        if (count !== messages.length) throw new Error(`${name} delivered ${count} messages`);
      }, messages);
      if (round < 0) continue;
      times.compress[name] ??= [];
      times.compress[name].push(compressing);
      times.inflate[name] ??= [];
      times.inflate[name].push(inflating);
    }
  }
  return { sizes, times };
}

/** @returns {import('./support/report').Row} */
function toRow(what, name, sizes, times) {
  return {
    name: `${what} ${name}`,
    group: what,
    candidates: Object.fromEntries(
      CANDIDATES.map((candidate) => [
        candidate,
        { microseconds: quartiles(times[candidate]), bytes: Array(3).fill(sizes[candidate]) }
      ])
    ),
    timesFaster: [{ own: 'framemask', peer: 'ws', times: timesFaster(times.framemask, times.ws) }]
  };
}

/** @returns {Record<string, Buffer[]>} messages by the name of their row */
function readSets(files) {
  if (files.length > 1) refuse(new RangeError('one file at most'));
  if (files.length === 0) {
    return Object.fromEntries(Object.entries(SIZES).map(([label, size]) => [label, jsonPayloads(size, MESSAGES)]));
  }
  try {
    return { [path.basename(files[0])]: parseMessages(fs.readFileSync(files[0], 'utf8')) };
  } catch (error) {
    refuse(error);
  }
}

/** @returns {string} how long the messages of a file are, and which the default threshold leaves alone */
function describeMessages(sets) {
  const [messages] = Object.values(sets);
  const lengths = messages.map(({ length }) => length).sort((a, b) => a - b);
  const below = lengths.filter((length) => length < THRESHOLD).length;
  return (
    `${lengths.length} messages of ${lengths[0]} to ${lengths.at(-1)} bytes, ${lengths[lengths.length >> 1]} in the ` +
    `median. Without takeover, ${below} of them go out uncompressed by default: they have less than ${THRESHOLD} ` +
    'bytes, the option threshold.'
  );
}

async function main() {
  const options = { only: { type: 'string', default: '' } };
  const { rounds, quick, json, only, positionals } = readArguments(USAGE, options, true);
  const sets = readSets(positionals);
  const names = [false, true].flatMap((contextTakeover) =>
    Object.entries(sets).map(([label, messages]) => {
      return { messages, contextTakeover, name: `${label}, ${contextTakeover ? 'takeover' : 'no takeover'}` };
    })
  );
  const chosen = names.filter(({ name }) => name.includes(only));
  if (chosen.length === 0) refuse(new RangeError(`no row has "${only}" in its name`));
  const finish = await startReport('deflate');
  const progress = createProgress(chosen.length);
  const rows = [];
  for (const { name, messages, contextTakeover } of chosen) {
    progress.step(name);
    const { sizes, times } = await measure(messages, contextTakeover, rounds);
    for (const [what, turns] of Object.entries(times)) rows.push(toRow(what, name, sizes, turns));
  }
  progress.end();

  const report = await finish({ quick, rounds, kernel, peers: ['ws'], rows });
  const lines = rows.map(({ name, candidates: { framemask, ws, zlib: least }, timesFaster }) => [
    name,
    formatNumber(framemask.microseconds[1]),
    formatNumber(ws.microseconds[1]),
    timesFaster[0].times[1].toFixed(2),
    formatNumber(least.microseconds[1]),
    String(framemask.bytes[1]),
    String(ws.bytes[1])
  ]);
  const head = [
    positionals.length === 0 ? 'µs of CPU a message of JSON' : 'µs of CPU a message',
    'framemask',
    'ws',
    'times faster than ws',
    'zlib',
    'bytes',
    'bytes, ws'
  ];
  const remarks = positionals.length === 0 ? '' : `\n\n${describeMessages(sets)}`;
  publish(report, json, `${reportLine(report)}\n\n${formatTable(head, lines)}${remarks}`);
}

main();
