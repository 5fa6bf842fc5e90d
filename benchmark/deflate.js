'use strict';

// What does permessage-deflate cost? A server's Encoder and Decoder beside ws's Sender and
// Receiver, on the same messages, one after the other. CPU is that of the process: ws compresses in
// zlib's thread pool, whose threads count, too.

const { PerMessageDeflate, Receiver, Sender } = require('ws');

const { Decoder, Encoder, acceptDeflate, kernel, offerDeflate } = require('../index');
const { createRandom } = require('../test/support/random');
const { readArguments } = require('./support/arguments');
const { describeMachine, machineLine } = require('./support/machine');
const { median } = require('./support/statistics');
const { formatNumber, formatTable } = require('./support/table');

const USAGE = `usage: npm run bench:deflate -- [options]

Compresses and inflates JSON of 128 bytes, 1 KiB and 16 KiB, with and without context takeover. Prints
the median microseconds of CPU a message, the bytes that it is compressed to, and how many times the CPU
of framemask ws takes. Takes about a minute.

  --only <text>     only the rows whose name has this in it`;

const SIZES = { '128 B': 128, '1 KiB': 1024, '16 KiB': 16 * 1024 };
/** The messages of a turn: all different. */
const MESSAGES = 200;

/** Records that are alike, as an API sends them. */
function createMessages(size) {
  const random = createRandom(size);
  const names = ['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald'];
  return Array.from({ length: MESSAGES }, () => {
    let text = '[';
    while (text.length < size) {
      const user = names[random(names.length)];
      text += `${JSON.stringify({ id: random(1e6), user, price: random(1e5) / 100, on: random(2) === 1, tags: ['a', 'b'] })},`;
    }
    return Buffer.from(text.slice(0, size));
  });
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
  const messages = createMessages(size);
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

async function main() {
  const { rounds, json, only } = readArguments(USAGE, { only: { type: 'string', default: '' } });
  const rows = [];
  for (const contextTakeover of [false, true]) {
    for (const [label, size] of Object.entries(SIZES)) {
      const name = `${label}, ${contextTakeover ? 'takeover' : 'no takeover'}`;
      if (!name.includes(only)) continue;
      const { sizes, times } = await measure(size, contextTakeover, rounds);
      for (const [what, { framemask, ws }] of Object.entries(times)) {
        rows.push({ name: `${what} ${name}`, framemask: median(framemask), ws: median(ws), bytes: sizes });
      }
    }
  }
  if (json) {
    console.log(JSON.stringify({ machine: describeMachine(kernel), rows }));
    return;
  }
  console.log(
    `${machineLine(describeMachine(kernel))}\nMicroseconds of CPU a message of JSON, medians of ${rounds} turns\n`
  );
  const cells = rows.map(({ name, framemask, ws, bytes }) => [
    name,
    formatNumber(framemask),
    formatNumber(ws),
    `${(ws / framemask).toFixed(1)}×`,
    String(bytes.framemask),
    String(bytes.ws)
  ]);
  console.log(formatTable(['', 'framemask', 'ws', 'ws : framemask', 'bytes', 'bytes, ws'], cells));
}

main();
