'use strict';

// What does permessage-deflate cost? A server's Encoder and Decoder beside ws's Sender and
// Receiver, and beside zlib alone, on the same messages, one after the other. CPU is that of the
// process: ws compresses in zlib's thread pool, whose threads count, too.

const zlib = require('node:zlib');

const { PerMessageDeflate, Receiver, Sender } = require('ws');

const { Decoder, Encoder, acceptDeflate, kernel, offerDeflate } = require('../index');
const { readArguments, refuse } = require('./support/arguments');
const { jsonPayloads } = require('./support/messages');
const { createProgress } = require('./support/progress');
const { timesFaster } = require('./support/race');
const { publish, reportLine, startReport } = require('./support/report');
const { quartiles } = require('./support/statistics');
const { formatNumber, formatTable } = require('./support/table');

const USAGE = `usage: node benchmark/deflate.js [options]

Compresses and inflates JSON of 128 bytes, 1 KiB and 16 KiB, with and without context takeover. Prints
the median microseconds of CPU a message, how many times faster framemask is than ws, and the bytes that
the message is compressed to. "zlib" is zlib alone, called as cheaply as Node.js can: the least that is
possible. Takes about a minute.

  --only <text>     only the rows whose name has this in it`;

const SIZES = { '128 B': 128, '1 KiB': 1024, '16 KiB': 16 * 1024 };
/** The messages of a turn: all different. */
const MESSAGES = 200;
/** Turns until V8 has compiled the code, which takes longer with JavaScript than with zlib. */
const WARM_UP = 20;

const CANDIDATES = ['framemask', 'ws', 'zlib'];

const output = Buffer.allocUnsafeSlow(64 * 1024);

/** The handle below a zlib stream, which framemask uses, too. @returns {Buffer} what comes out */
function runHandle({ _handle: handle, _writeState: state }, input, contextTakeover) {
  handle.writeSync(zlib.constants.Z_SYNC_FLUSH, input, 0, input.length, output, 0, output.length);
  const length = output.length - state[0];
  if (!contextTakeover) handle.reset();
  return Buffer.from(output.subarray(0, length));
}

/** What both ends have agreed on, as each library has it. */
function agree(contextTakeover) {
  const options = { contextTakeover, threshold: 0 };
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
async function time(work, input) {
  const before = process.cpuUsage();
  await work(input);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / MESSAGES;
}

async function measure(size, contextTakeover, rounds) {
  const messages = jsonPayloads(size, MESSAGES);
  const sizes = {};
  const times = { compress: {}, inflate: {} };
  const makers = CANDIDATES.map((name) => [name, COMPRESS[name](contextTakeover), INFLATE[name](contextTakeover)]);
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const [name, compress, inflate] of makers) {
      let frames;
      const compressing = await time(async () => {
        frames = await compress(messages);
      });
      sizes[name] = Math.round(frames.reduce((sum, { length }) => sum + length, 0) / MESSAGES);
      const inflating = await time(async () => {
        const count = await inflate(frames);
        if (count !== MESSAGES) throw new Error(`${name} delivered ${count} messages`);
      });
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

async function main() {
  const { rounds, quick, json, only } = readArguments(USAGE, { only: { type: 'string', default: '' } });
  const names = [false, true].flatMap((contextTakeover) =>
    Object.entries(SIZES).map(([label, size]) => {
      return { size, contextTakeover, name: `${label}, ${contextTakeover ? 'takeover' : 'no takeover'}` };
    })
  );
  const chosen = names.filter(({ name }) => name.includes(only));
  if (chosen.length === 0) refuse(new RangeError(`no row has "${only}" in its name`));
  const finish = await startReport('deflate');
  const progress = createProgress(chosen.length);
  const rows = [];
  for (const { name, size, contextTakeover } of chosen) {
    progress.step(name);
    const { sizes, times } = await measure(size, contextTakeover, rounds);
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
  const head = ['µs of CPU a message of JSON', 'framemask', 'ws', 'times faster than ws', 'zlib', 'bytes', 'bytes, ws'];
  publish(report, json, `${reportLine(report)}\n\n${formatTable(head, lines)}`);
}

main();
