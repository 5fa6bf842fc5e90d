'use strict';

// What does permessage-deflate cost? A server's Encoder and Decoder beside ws's Sender and
// Receiver, on the same messages, one after the other. CPU is that of the process: ws compresses in
// zlib's thread pool, whose threads count, too.

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
the message is compressed to. Takes about a minute.

  --only <text>     only the rows whose name has this in it`;

const SIZES = { '128 B': 128, '1 KiB': 1024, '16 KiB': 16 * 1024 };
/** The messages of a turn: all different. */
const MESSAGES = 200;

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

/** Each makes a function that compresses messages, and returns the frames. */
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
  }
};

/** Each makes a function that inflates the frames of COMPRESS. */
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
  const makers = { framemask: COMPRESS.framemask(contextTakeover), ws: COMPRESS.ws(contextTakeover) };
  const inflaters = { framemask: INFLATE.framemask(contextTakeover), ws: INFLATE.ws(contextTakeover) };
  for (let round = -1; round < rounds; round++) {
    for (const name of ['framemask', 'ws']) {
      let frames;
      const compressing = await time(async () => {
        frames = await makers[name](messages);
      });
      sizes[name] = Math.round(frames.reduce((sum, { length }) => sum + length, 0) / MESSAGES);
      const inflating = await time(async () => {
        const count = await inflaters[name](frames);
        if (count !== MESSAGES) throw new Error(`${name} delivered ${count} messages`);
      });
      if (round < 0) continue; // the first round warms up
      times.compress[name] ??= [];
      times.compress[name].push(compressing);
      times.inflate[name] ??= [];
      times.inflate[name].push(inflating);
    }
  }
  return { sizes, times };
}

/** @returns {import('./support/report').Row} */
function toRow(what, name, sizes, { framemask, ws }) {
  return {
    name: `${what} ${name}`,
    group: what,
    candidates: {
      framemask: { microseconds: quartiles(framemask), bytes: Array(3).fill(sizes.framemask) },
      ws: { microseconds: quartiles(ws), bytes: Array(3).fill(sizes.ws) }
    },
    timesFaster: [{ own: 'framemask', peer: 'ws', times: timesFaster(framemask, ws) }]
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
  const lines = rows.map(({ name, candidates: { framemask, ws }, timesFaster }) => [
    name,
    formatNumber(framemask.microseconds[1]),
    formatNumber(ws.microseconds[1]),
    timesFaster[0].times[1].toFixed(2),
    String(framemask.bytes[1]),
    String(ws.bytes[1])
  ]);
  const head = ['µs of CPU a message of JSON', 'framemask', 'ws', 'times faster than ws', 'bytes', 'bytes, ws'];
  publish(report, json, `${reportLine(report)}\n\n${formatTable(head, lines)}`);
}

main();
