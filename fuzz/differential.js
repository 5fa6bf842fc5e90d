'use strict';

// Random streams of frames, right and broken, into framemask and into the Receiver of ws: the same messages, in the same
// order, and the same close code. `node fuzz/differential.js --help`

const { constants, isUtf8 } = require('node:buffer');
const { parseArgs } = require('node:util');
const { Receiver } = require('ws');
const { Decoder } = require('../lib/codec/decoder');
const { createCodecBackend } = require('../lib/codec/backend');
const { kernel } = require('../lib/masking/backend');
const { createRandom } = require('../test/support/garbage');
const { createStreamMaker, randomCuts } = require('../test/support/streams');

/**
 * What was said of a stream: strings, which compare fast. The first letter says what it was: t(ext), b(inary), P(ing),
 * p(ong), c(lose), e(rror); behind it are the bytes, or the close code.
 *
 * @typedef {string[]} Events
 *
 * @typedef {object} Options
 * @property {'server' | 'client'} role
 * @property {boolean} rsv1
 * @property {number} maxPayload
 * @property {number} maxFragments
 */

class JavascriptDecoder extends Decoder {}
JavascriptDecoder.prototype._backend = createCodecBackend(null);

/** Both are the same on a machine that has no addon. */
const DECODERS = { [kernel]: Decoder, js: JavascriptDecoder };

/** Calls `write` with the pieces of a stream, each in memory of its own, for a receiver unmasks in place. */
function feed(bytes, cuts, write) {
  let start = 0;
  for (let i = 0; i <= cuts.length; i++) {
    const end = i === cuts.length ? bytes.length : cuts[i];
    write(Buffer.from(bytes.subarray(start, end)));
    start = end;
  }
}

/**
 * What framemask makes of a stream. RSV1 stands for an extension that does nothing: so it takes a text for what it is.
 *
 * @param {typeof Decoder} DecoderClass
 * @param {Options & { text: 'string' | 'buffer' }} options
 * @param {Buffer} bytes
 * @param {number[]} cuts
 * @returns {{ events: Events, error: string }} `error` is the name of the error, for there is one close code for many
 */
function decode(DecoderClass, options, bytes, cuts) {
  const events = [];
  let error = '';
  const decoder = new DecoderClass({
    ...options,
    onMessage(data, isBinary, rsv1) {
      if (typeof data === 'string') events.push(`t${Buffer.from(data).latin1Slice()}`);
      else if (!isBinary && rsv1 && !isUtf8(data)) {
        this.stop();
        events.push('e1007');
        error = 'UTF8 of an extension';
      } else events.push((isBinary ? 'b' : 't') + data.latin1Slice());
    },
    onPing: (payload) => events.push(`P${payload.latin1Slice()}`),
    onPong: (payload) => events.push(`p${payload.latin1Slice()}`),
    onClose: (code, reason) => events.push(`c${code} ${reason}`),
    onError(frameError) {
      error = frameError.code.replace('FRAMEMASK_ERR_', '');
      events.push(`e${frameError.closeCode}`);
    }
  });
  feed(bytes, cuts, (chunk) => decoder.write(chunk));
  return { events, error };
}

/** The Receiver of ws without what makes it a stream: it is told to work, and what it emits is written down. */
class Recorder extends Receiver {
  /** @param {Options} options */
  constructor({ role, rsv1, maxPayload, maxFragments }) {
    const extensions = rsv1 ? { 'permessage-deflate': { decompress: (data, _fin, done) => done(null, data) } } : {};
    super({ isServer: role === 'server', maxPayload, maxFragments, extensions, allowSynchronousEvents: true });
    this.events = [];
    this.failed = false;
  }

  emit(name, data, more) {
    if (name === 'message') this.events.push((more ? 'b' : 't') + data.latin1Slice());
    else if (name === 'ping') this.events.push(`P${data.latin1Slice()}`);
    else if (name === 'pong') this.events.push(`p${data.latin1Slice()}`);
    else if (name === 'conclude') this.events.push(`c${data} ${more}`);
    return true;
  }

  /** Called after a Close frame. */
  end() {}

  /** @param {Buffer} chunk */
  take(chunk) {
    if (this.failed) return;
    this._write(chunk, 'buffer', (error) => {
      if (!error) return;
      this.failed = true;
      const status = Object.getOwnPropertySymbols(error).find(({ description }) => description === 'status-code');
      this.events.push(`e${error[status]}`);
    });
  }
}

/**
 * What ws makes of a stream.
 *
 * @param {Options} options
 * @param {Buffer} bytes
 * @param {number[]} cuts
 * @returns {Events}
 */
function receive(options, bytes, cuts) {
  const receiver = new Recorder(options);
  feed(bytes, cuts, (chunk) => receiver.take(chunk));
  return receiver.events;
}

/**
 * A stream taken apart a third time, plainly, and without a judgement.
 *
 * @typedef {object} Frame
 * @property {number} first its first byte
 * @property {number} opcode
 * @property {boolean} fin
 * @property {number} available how many bytes of it are there
 * @property {number} headerSize 0 if that is not there to be read
 * @property {boolean} hasLength whether all bytes of its length are there
 * @property {bigint} length
 * @property {boolean} minimal whether its length could not be shorter
 * @property {Buffer} payload what is there of it
 * @property {boolean} complete
 *
 * @param {Buffer} bytes
 * @returns {Frame[]}
 */
function takeApart(bytes) {
  const frames = [];
  let at = 0;
  while (at < bytes.length) {
    const rest = bytes.subarray(at);
    const frame = { first: rest[0], opcode: rest[0] & 15, fin: rest[0] > 127, available: rest.length, length: 0n };
    frames.push(Object.assign(frame, { headerSize: 0, hasLength: false, minimal: true, complete: false }));
    frame.payload = Buffer.alloc(0);
    if (rest.length < 2) break;
    const short = rest[1] & 127;
    const size = short < 126 ? 2 : short === 126 ? 4 : 10;
    frame.headerSize = size + (rest[1] > 127 ? 4 : 0);
    if (rest.length < size) break;
    frame.hasLength = true;
    frame.length = size === 2 ? BigInt(short) : size === 4 ? BigInt(rest.readUInt16BE(2)) : rest.readBigUInt64BE(2);
    frame.minimal = size === 2 || frame.length >= (size === 4 ? 126n : 65536n);
    if (rest.length < frame.headerSize) break;
    frame.complete = BigInt(rest.length - frame.headerSize) >= frame.length;
    const end = frame.complete ? frame.headerSize + Number(frame.length) : rest.length;
    frame.payload = Buffer.from(rest.subarray(frame.headerSize, end));
    if (rest[1] > 127) for (let i = 0; i < frame.payload.length; i++) frame.payload[i] ^= rest[size + (i & 3)];
    if (!frame.complete) break;
    at += end;
  }
  return frames;
}

/** How many events whole frames make: one for each control frame, one for each message. */
function eventsOf(frames) {
  return frames.filter(({ fin }) => fin).length;
}

/** The number of the first frame whose text is bad as far as it is there, -1 if there is none. */
function badTextAt(frames) {
  let decoder = null;
  for (let i = 0; i < frames.length; i++) {
    const { first, opcode, fin, payload, complete } = frames[i];
    if (opcode > 2) continue;
    if (opcode !== 0) decoder = (first & 0x4f) === 1 ? new TextDecoder('utf-8', { fatal: true }) : null;
    if (decoder === null) continue;
    try {
      decoder.decode(payload, { stream: !(complete && fin) });
    } catch {
      return i;
    }
  }
  return -1;
}

/** Whether a data frame stands where none such may: a continuation of nothing, or a start inside a message. */
function isMisplaced(frames, i) {
  const { opcode } = frames[i];
  if (opcode > 2) return false;
  const before = frames.slice(0, i).findLast((frame) => frame.opcode <= 2);
  const inside = before !== undefined && !before.fin;
  return inside === (opcode !== 0);
}

/**
 * All that framemask means to do in another way than ws, and nothing else is accepted. `applies` gets what both said from
 * the first difference on, the frames, and which frame it was that framemask or ws refused.
 *
 * test/codec/differential.js has a test for each.
 */
const DIFFERENCES = [
  {
    name: 'a length that is not minimal',
    why: 'RFC 6455 section 5.2: "the minimal number of bytes MUST be used". ws takes it.',
    applies: ({ ours, error, frames, shared }) => {
      const i = frames.findIndex(({ minimal }) => !minimal);
      return ours === 'e1002' && error === 'LENGTH_NOT_MINIMAL' && i !== -1 && eventsOf(frames.slice(0, i)) === shared;
    }
  },
  {
    name: 'the most significant bit of a length',
    why: 'Section 5.2: it "MUST be 0". So it is an error of protocol, and for ws a message too big.',
    applies: ({ ours, theirs, error, frames, shared }) => {
      const i = frames.findIndex(({ length }) => length >= 2n ** 63n);
      const found = i !== -1 && eventsOf(frames.slice(0, i)) === shared;
      return ours === 'e1002' && error === 'LENGTH' && found && theirs === 'e1009';
    }
  },
  {
    name: 'text is judged as it comes',
    why: 'Section 8.1 allows it. ws delivers control frames that come before the end of the message, and may find more.',
    applies: ({ ours, error, frames, shared, theirRest }) => {
      const i = badTextAt(frames);
      const found = i !== -1 && eventsOf(frames.slice(0, i)) === shared;
      // The message is delivered by nobody.
      return ours === 'e1007' && error === 'UTF8' && found && !theirRest.some((event) => /^[tb]/.test(event));
    }
  },
  {
    name: 'a first byte is judged alone',
    why: 'ws waits for the second.',
    applies: ({ ours, theirs, frames, shared }) => {
      const { available } = frames.at(-1);
      return ours === 'e1002' && theirs === undefined && available === 1 && eventsOf(frames.slice(0, -1)) === shared;
    }
  },
  {
    name: "a frame's place and size are judged when its header is whole",
    why: 'ws does not wait for what remains of it: the length, or the masking key.',
    applies: ({ ours, theirs, frames, shared }) => {
      const { available, headerSize } = frames.at(-1);
      const found = available < headerSize && eventsOf(frames.slice(0, -1)) === shared;
      return ours === undefined && (theirs === 'e1002' || theirs === 'e1009') && found;
    }
  },
  {
    name: 'a Close frame of one byte is judged when it is there',
    why: 'ws judges it by its header.',
    applies: ({ ours, theirs, frames, shared }) => {
      const { first, length, complete } = frames.at(-1);
      const found = first === 0x88 && length === 1n && !complete && eventsOf(frames.slice(0, -1)) === shared;
      return ours === undefined && theirs === 'e1002' && found;
    }
  },
  {
    name: 'one fragment too many is refused by its header',
    why: 'ws waits for its payload.',
    applies: ({ ours, theirs, error, frames, shared }) => {
      const { opcode, available, headerSize, complete } = frames.at(-1);
      const found = opcode === 0 && available >= headerSize && !complete && eventsOf(frames.slice(0, -1)) === shared;
      return ours === 'e1008' && error === 'TOO_MANY_FRAGMENTS' && theirs === undefined && found;
    }
  },
  {
    name: 'a length beyond 2^53 - 1 counts before the place of its frame',
    why: 'Two errors in one header: framemask names this one, ws the other.',
    applies: ({ ours, theirs, error, frames, shared }) => {
      const i = frames.findIndex(({ length }) => length >= 2n ** 53n && length < 2n ** 63n);
      const found = i !== -1 && eventsOf(frames.slice(0, i)) === shared && isMisplaced(frames, i);
      return ours === 'e1009' && error === 'MESSAGE_TOO_BIG' && theirs === 'e1002' && found;
    }
  },
  {
    name: 'text that no string can hold is refused by its header',
    why: 'It is to be delivered as a string, and V8 has a longest one. ws delivers bytes.',
    applies: ({ ours, theirs, error, frames, shared }) => {
      const start = frames.findLastIndex(({ opcode }) => opcode === 1 || opcode === 2);
      const message = start === -1 ? [] : frames.slice(start).filter(({ opcode }) => opcode <= 2);
      const length = message.reduce((sum, frame) => sum + frame.length, 0n);
      const isText = message.length > 0 && (message[0].first & 0x4f) === 1 && frames.at(-1).opcode <= 1;
      const found = isText && length > constants.MAX_STRING_LENGTH && eventsOf(frames.slice(0, -1)) === shared;
      return ours === 'e1009' && error === 'MESSAGE_TOO_BIG' && theirs === undefined && found;
    }
  }
];

/**
 * @param {{ events: Events, error: string }} ours
 * @param {Events} theirs
 * @param {Buffer} bytes
 * @returns {string} the name of the difference that is meant to be, '' if there is none; undefined if it is not meant
 */
function explain({ events, error }, theirs, bytes) {
  let shared = 0;
  while (shared < events.length && events[shared] === theirs[shared]) shared++;
  if (shared === events.length && shared === theirs.length) return '';
  // Where framemask goes on after the first difference, and ws has ended or not, there is nothing to explain.
  if (events.length > shared + 1) return undefined;
  const frames = takeApart(bytes);
  const context = {
    ours: events[shared],
    theirs: theirs[shared],
    theirRest: theirs.slice(shared),
    error,
    frames,
    shared
  };
  return DIFFERENCES.find(({ applies }) => applies(context))?.name;
}

class Disagreement extends Error {}

/**
 * @param {object} settings
 * @param {number} settings.seed
 * @param {number} [settings.from] the number of the first stream
 * @param {number} settings.streams how many
 * @param {number} [settings.seconds] after which no other is begun
 * @param {(done: number) => void} [settings.progress] called now and then
 * @returns {{ streams: number, endings: object, differences: object }} how streams ended, and how often ws differed
 * @throws {Disagreement} at the first difference that is not meant
 */
function compare({ seed, from = 0, streams, seconds = Number.POSITIVE_INFINITY, progress = () => {} }) {
  let current = null;
  const random = (below) => current(below);
  const makeStream = createStreamMaker(random);
  const pick = (values) => values[random(values.length)];
  const endings = {};
  const differences = Object.fromEntries(DIFFERENCES.map(({ name }) => [name, 0]));
  const until = Date.now() + seconds * 1000;
  let i = from;
  for (; i < from + streams; i++) {
    if ((i & 255) === 0 && i !== from) {
      progress(i - from);
      if (Date.now() >= until) break;
    }
    // So that each stream can be had alone.
    current = createRandom((seed + Math.imul(i, 0x9e3779b9)) | 0);
    const role = pick(['server', 'client']);
    const options = {
      role,
      rsv1: random(4) === 0,
      maxPayload: pick([2 ** 20, 2 ** 20, 2 ** 30, 1 + random(3000)]),
      maxFragments: pick([2 ** 17, 2 ** 17, 2 ** 17, 1 + random(5)])
    };
    const bytes = makeStream(role, options.rsv1 || random(30) === 0);
    const cuts = { ws: randomCuts(random, bytes.length) };
    const theirs = receive(options, bytes, cuts.ws);
    for (const [name, DecoderClass] of Object.entries(DECODERS)) {
      const text = pick(['string', 'buffer']);
      cuts[name] = randomCuts(random, bytes.length);
      const ours = decode(DecoderClass, { ...options, text }, bytes, cuts[name]);
      const difference = explain(ours, theirs, bytes);
      if (difference === undefined) {
        const cut = (events) => events.map((event) => (event.length > 60 ? `${event.slice(0, 60)}...` : event));
        throw new Disagreement(
          [
            `seed ${seed}, stream ${i}, ${name}, ${JSON.stringify({ ...options, text })}`,
            `framemask: ${JSON.stringify(cut(ours.events))} ${ours.error}`,
            `ws:        ${JSON.stringify(cut(theirs))}`,
            `cuts: ${JSON.stringify(cuts)}`,
            `bytes: ${bytes.length > 4000 ? `${bytes.length} of them` : bytes.toString('hex')}`
          ].join('\n')
        );
      }
      if (difference !== '') differences[difference]++;
      const ending = ours.error || (ours.events.at(-1)?.[0] === 'c' ? 'close' : 'open');
      endings[ending] = (endings[ending] ?? 0) + 1;
    }
  }
  return { streams: i - from, endings, differences };
}

const HELP = `Usage: node fuzz/differential.js [options]

Compares framemask, with its addon and without, to the Receiver of ws over random streams of frames.

  --streams <n>   how many (default 1000000)
  --seconds <n>   for how long at most
  --seed <n>      a number that determines the streams (default: another each time)
  --from <n>      the number of the first stream: with --streams 1, that one again
  --help

Ends with 0 if all was the same but for what is meant to differ, with 1 at the first other difference, which it prints, and
with 2 if the options are wrong.`;

function main() {
  const number = { type: 'string' };
  let settings;
  try {
    const options = { streams: number, seconds: number, seed: number, from: number, help: { type: 'boolean' } };
    const { values } = parseArgs({ options });
    if (values.help) {
      console.log(HELP);
      return 0;
    }
    settings = { streams: '1000000', seed: String(Math.floor(Math.random() * 2 ** 32)), ...values };
    for (const [name, value] of Object.entries(settings)) {
      settings[name] = Number(value);
      if (!(value !== '' && settings[name] >= 0)) throw new Error(`--${name} must be a number, but was '${value}'`);
    }
  } catch (error) {
    console.error(`${error.message}\n\n${HELP}`);
    return 2;
  }

  const begun = Date.now();
  const perSecond = (done) => Math.round(done / Math.max((Date.now() - begun) / 1000, 0.001));
  let shown = begun;
  const progress = (done) => {
    if (Date.now() - shown < 5000) return;
    shown = Date.now();
    console.error(`${done} of ${settings.streams} streams, ${perSecond(done)} a second`);
  };
  console.error(`seed ${settings.seed}, kernels ${Object.keys(DECODERS).join(' and ')}`);
  try {
    const { streams, endings, differences } = compare({ ...settings, progress });
    console.log(`${streams} streams, ${perSecond(streams)} a second. How they ended, for each kernel:`);
    for (const [name, count] of Object.entries(endings).sort(([, a], [, b]) => b - a))
      console.log(`  ${name}: ${count}`);
    console.log('Differences that are meant to be:');
    for (const [name, count] of Object.entries(differences)) console.log(`  ${name}: ${count}`);
    return 0;
  } catch (error) {
    if (!(error instanceof Disagreement)) throw error;
    console.error(error.message);
    return 1;
  }
}

if (require.main === module) process.exitCode = main();

module.exports = { DIFFERENCES, Decoder, JavascriptDecoder, compare, decode, explain, receive };
