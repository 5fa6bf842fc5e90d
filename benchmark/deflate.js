'use strict';

// What does permessage-deflate cost? A server's Encoder and Decoder beside ws's Sender and
// Receiver, and beside zlib alone, on the same messages, one after the other. CPU is that of the
// process: ws compresses in zlib's thread pool, whose threads count, too.

const { runBenchmark } = require('./support/harness');
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { PerMessageDeflate, Receiver, Sender } = require('ws');
const { Decoder, Encoder } = require('../index');
const { agree } = require('../test/support/deflate');
const { jsonPayloads } = require('./support/messages');
const { median } = require('./support/race');

const USAGE = `usage: node benchmark/deflate.js [file] [options]

Compresses and inflates JSON of 128 bytes, 1 KiB and 16 KiB, with and without context takeover. Prints the median
microseconds of CPU a message, how many times faster framemask is than ws, and the bytes that the message is compressed
to. "zlib" is zlib alone, called as cheaply as Node.js can: the least that is possible. Takes about a minute.

With a file, its messages are measured instead, one a line. Take a hundred or more, in the order in which one connection
sends them. All are compressed; the program also says how many are shorter than the default threshold, so that they
would go out uncompressed without takeover.`;

const SIZES = { '128 B': 128, '1 KiB': 1024, '16 KiB': 16 * 1024 };
/** The default of ws and of framemask. */
const THRESHOLD = 1024;
/** The messages of a turn: all different. */
const MESSAGES = 200;
/** Turns until V8 has compiled the code, which takes longer with JavaScript than with zlib. */
const WARM_UP = 20;

let output = Buffer.allocUnsafeSlow(64 * 1024);

/** The handle below a zlib stream, which framemask uses, too. @returns {Buffer} what comes out */
function runHandle({ _handle: handle, _writeState: state }, input, contextTakeover) {
  handle.writeSync(zlib.constants.Z_SYNC_FLUSH, input, 0, input.length, output, 0, output.length);
  const length = output.length - state[0];
  if (!contextTakeover) handle.reset();
  return Buffer.from(output.subarray(0, length));
}

/** The agreement as each library has it. In the thread pool, a message would come later. */
const agreement = (contextTakeover) => agree({ contextTakeover, threshold: 0, threadPoolFrom: Infinity });

function agreeWs(contextTakeover, isServer) {
  const deflate = new PerMessageDeflate({ isServer, threshold: 0 });
  deflate.params = contextTakeover ? {} : { server_no_context_takeover: true, client_no_context_takeover: true };
  return { 'permessage-deflate': deflate };
}

/** Each makes a function that compresses messages, and returns frames; zlib alone makes none. */
const COMPRESS = {
  framemask(contextTakeover) {
    const encoder = new Encoder({ role: 'server', deflate: agreement(contextTakeover).server });
    return (messages) =>
      messages.map((message) => {
        encoder.text(message, { compress: true });
        return Buffer.concat(encoder.take());
      });
  },
  ws(contextTakeover) {
    let parts = [];
    const write = (chunk, callback) => {
      parts.push(Buffer.from(chunk));
      callback?.();
    };
    const sender = new Sender({ cork() {}, uncork() {}, write }, agreeWs(contextTakeover, true));
    const options = { fin: true, compress: true, binary: false };
    return async (messages) => {
      const frames = [];
      for (const message of messages) {
        parts = [];
        await new Promise((resolve) => sender.send(message, options, resolve));
        frames.push(Buffer.concat(parts));
      }
      return frames;
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
    const decoder = new Decoder({
      role: 'client',
      text: 'buffer',
      deflate: agreement(contextTakeover).client,
      onMessage
    });
    return (frames) => {
      count = 0;
      for (const frame of frames) decoder.write(frame);
      return count;
    };
  },
  ws(contextTakeover) {
    const receiver = new Receiver({ isServer: false, extensions: agreeWs(contextTakeover, false) });
    return async (frames) => {
      for (const frame of frames) {
        const received = new Promise((resolve) => receiver.once('message', resolve));
        receiver.write(frame);
        await received;
      }
      return frames.length;
    };
  },
  zlib(contextTakeover) {
    const stream = zlib.createInflateRaw();
    return (compressed) => compressed.filter((bytes) => runHandle(stream, bytes, contextTakeover).length > 0).length;
  }
};

/** @returns {Promise<[result: *, microseconds: number]>} of a work, and its CPU a message */
async function time(work, { length }) {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return [result, (user + system) / length];
}

/** @returns {Record<string, Buffer[]>} messages by row @throws {RangeError} if there are none */
function readSets([file, ...others]) {
  if (others.length > 0) throw new RangeError('one file at most');
  if (file === undefined)
    return Object.fromEntries(Object.entries(SIZES).map(([label, size]) => [label, jsonPayloads(size, MESSAGES)]));
  const lines = fs
    .readFileSync(file, 'utf8')
    .split(/\r?\n/)
    .filter((line) => line !== '');
  if (lines.length === 0) throw new RangeError('the file has no messages');
  return { [path.basename(file)]: lines.map((line) => Buffer.from(line)) };
}

/**
 * @returns {Promise<Record<string, () => Promise<object>>>} compress or inflate the messages, after
 *   a warm-up
 */
async function createCandidates({ work, messages, contextTakeover }) {
  // What does not compress becomes a little larger.
  output = Buffer.allocUnsafeSlow(Math.max(64 * 1024, ...messages.map(({ length }) => 2 * length)));
  const candidates = {};
  for (const name of Object.keys(COMPRESS)) {
    const [compress, inflate] = [COMPRESS[name](contextTakeover), INFLATE[name](contextTakeover)];
    candidates[name] = async () => {
      const [frames, compressing] = await time(() => compress(messages), messages);
      const [count, inflating] = await time(() => inflate(frames), messages);
      if (count !== messages.length) throw new Error(`${name} delivered ${count} messages`);
      const compressed = frames.reduce((sum, { length }) => sum + length, 0) / count;
      return { microseconds: work === 'compress' ? compressing : inflating, compressed };
    };
    for (let i = 0; i < WARM_UP; i++) await candidates[name]();
  }
  return candidates;
}

/** @returns {string} how many messages of a file the default threshold leaves alone */
function describeMessages([messages]) {
  const lengths = messages.map(({ length }) => length);
  const below = lengths.filter((length) => length < THRESHOLD).length;
  const range = `${Math.min(...lengths)} to ${Math.max(...lengths)} bytes, ${median(lengths)} in the median`;
  return `${lengths.length} messages of ${range}. Without takeover, the ${below} of less than ${THRESHOLD} bytes, the option threshold, go out uncompressed by default.`;
}

function listRows(sets) {
  return Object.entries(sets).flatMap(([label, messages]) =>
    [false, true].flatMap((contextTakeover) =>
      ['compress', 'inflate'].map((work) => ({
        name: `${work} ${label}, ${contextTakeover ? 'takeover' : 'no takeover'}`,
        group: `permessage-deflate, ${work}`,
        pairs: [['framemask', 'ws']],
        ...{ work, messages, contextTakeover }
      }))
    )
  );
}

runBenchmark({
  name: 'deflate',
  usage: USAGE,
  allowPositionals: true,
  peers: ['ws'],
  sets: ({ positionals }) => [
    { rows: listRows(readSets(positionals)), start: () => ({ candidates: createCandidates }) }
  ],
  remarks: ({ positionals }) =>
    positionals.length === 0 ? [] : ['', describeMessages(Object.values(readSets(positionals)))]
});
