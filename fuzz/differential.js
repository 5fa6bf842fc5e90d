'use strict';

// Gives random streams of frames, good and bad, to framemask, to the Receiver of ws and to
// fuzz/reference.js, and compares the messages, their order and the close code.
// `node fuzz/differential.js --help`

const { constants, isUtf8 } = require('node:buffer');
const { parseArgs } = require('node:util');
const { Receiver } = require('ws');
const { Decoder } = require('../lib/codec/decoder');
const { createCodecBackend } = require('../lib/codec/backend');
const { kernel } = require('../lib/masking/backend');
const { decoderOver } = require('../test/support/codecs');
const { createRandom } = require('../test/support/random');
const { createStreamMaker, randomCuts } = require('../test/support/streams');
const { ReferenceDecoder } = require('./reference');

/**
 * The events of a stream as strings, which compare fast. The first letter is the kind: t(ext),
 * b(inary), P(ing), p(ong), c(lose), e(rror). The bytes or the close code follow.
 *
 * @typedef {string[]} Events
 *
 * @typedef {object} Options
 * @property {'server' | 'client'} role
 * @property {boolean} rsv1
 * @property {number} maxPayload
 * @property {number} maxFragments
 */

const JavascriptDecoder = decoderOver(createCodecBackend(null));

/** On a machine without the addon both are the same. */
const DECODERS = { [kernel]: Decoder, js: JavascriptDecoder };

/** The lengths from which messages come in parts; undefined for messages that are whole. */
const PARTS_FROM = [undefined, undefined, 0, 100, 5000];

/**
 * Calls `write` with the pieces of a stream. Each is a copy, because a receiver unmasks in place.
 */
function feed(bytes, cuts, write) {
  let start = 0;
  for (let i = 0; i <= cuts.length; i++) {
    const end = i === cuts.length ? bytes.length : cuts[i];
    write(Buffer.from(bytes.subarray(start, end)));
    start = end;
  }
}

/**
 * What framemask makes of a stream. With RSV1 an extension is assumed that changes nothing, so text
 * must be UTF-8. With `partsFrom`, messages of so many bytes come in parts, which are joined.
 *
 * @param {typeof Decoder} DecoderClass
 * @param {Options & { text: 'string' | 'buffer', partsFrom?: number }} options
 * @param {Buffer} bytes
 * @param {number[]} cuts
 * @returns {{ events: Events, error: string }} `error` is the name of the error, because many have
 *   one close code
 */
function decode(DecoderClass, options, bytes, cuts) {
  const events = [];
  const parts = [];
  let error = '';
  function onMessage(data, isBinary, rsv1) {
    if (typeof data === 'string') events.push(`t${Buffer.from(data).latin1Slice()}`);
    else if (!isBinary && rsv1 && !isUtf8(data)) {
      decoder.stop();
      events.push('e1007');
      error = 'UTF8 of an extension';
    } else events.push((isBinary ? 'b' : 't') + data.latin1Slice());
  }
  function onPart(data, isBinary, isLast, rsv1) {
    parts.push(Buffer.from(data));
    decoder.pause();
    if (isLast) onMessage(Buffer.concat(parts.splice(0)), isBinary, rsv1);
  }
  const decoder = new DecoderClass({
    ...options,
    onMessage,
    onPart: options.partsFrom === undefined ? undefined : onPart,
    onPing: (payload) => events.push(`P${payload.latin1Slice()}`),
    onPong: (payload) => events.push(`p${payload.latin1Slice()}`),
    onClose: (code, reason) => events.push(`c${code} ${reason}`),
    onError(frameError) {
      error = frameError.code.replace('FRAMEMASK_ERR_', '');
      events.push(`e${frameError.closeCode}`);
    }
  });
  feed(bytes, cuts, (chunk) => {
    decoder.write(chunk);
    while (decoder.paused) decoder.resume();
  });
  return { events, error };
}

/**
 * The Receiver of ws without its stream: chunks are written by `take`, and `emit` records the
 * events.
 */
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

const LETTERS = { text: 't', binary: 'b', ping: 'P', pong: 'p' };

/**
 * What the reference makes of a stream. As in `decode`, text with RSV1 must be UTF-8.
 *
 * @param {Options & { text: 'string' | 'buffer', partsFrom?: number }} options
 * @param {Buffer} bytes
 * @returns {{ events: Events, error: string, isHuge?: boolean }} `isHuge`: whether the last frame
 *   announces 2^53 bytes or more
 */
function refer({ text, partsFrom, ...options }, bytes) {
  // Text in parts has no longest string.
  const maxText = text === 'string' && partsFrom === undefined ? constants.MAX_STRING_LENGTH : Number.POSITIVE_INFINITY;
  const reference = new ReferenceDecoder({ ...options, maxText });
  reference.write(bytes);
  const events = [];
  for (const { kind, data, code, rsv1 } of reference.events) {
    if (kind === 'text' && rsv1 && !isUtf8(data))
      return { events: [...events, 'e1007'], error: 'UTF8 of an extension' };
    events.push(kind === 'close' ? `c${code} ${data}` : LETTERS[kind] + data.latin1Slice());
  }
  if (reference.error !== '') events.push(`e${reference.closeCode}`);
  return { events, error: reference.error, isHuge: reference.length >= 2n ** 53n };
}

/**
 * Whether framemask and the reference agree. They may differ in one thing: the reference reports
 * the wrong place of a frame before its length of 2^53 or more.
 *
 * @param {{ events: Events, error: string }} ours
 * @param {{ events: Events, error: string, isHuge?: boolean }} reference
 * @returns {boolean}
 */
function agree(ours, reference) {
  const isPlace = reference.error === 'CONTINUATION' || reference.error === 'INTERLEAVED';
  const same =
    isPlace && reference.isHuge && ours.error === 'MESSAGE_TOO_BIG' ? ours.events.length - 1 : ours.events.length;
  return (
    ours.events.length === reference.events.length &&
    ours.events.slice(0, same).every((event, i) => event === reference.events[i]) &&
    (ours.error === reference.error || same < ours.events.length)
  );
}

/**
 * A frame of a stream, parsed a third time and not validated.
 *
 * @typedef {object} Frame
 * @property {number} first its first byte
 * @property {number} opcode
 * @property {boolean} fin
 * @property {number} available the number of bytes from its first byte to the end of the stream
 * @property {number} headerSize 0 if the second byte is missing
 * @property {boolean} hasLength whether the stream has all bytes of its length
 * @property {bigint} length
 * @property {boolean} minimal whether its length is minimal
 * @property {Buffer} payload the part of its payload that the stream has
 * @property {boolean} complete
 *
 * @param {Buffer} bytes
 * @returns {Frame[]}
 */
function parseFrames(bytes) {
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

/** How many events complete frames make: one for each control frame, one for each message. */
function eventsOf(frames) {
  return frames.filter(({ fin }) => fin).length;
}

/**
 * The index of the first frame with bad text, as far as its payload is there; -1 if there is none.
 */
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

/**
 * The accepted differences: framemask does these things in another way than ws on purpose.
 * `applies` gets the events of both from the first difference on, the frames, and the number of
 * events before the difference.
 *
 * fuzz/test/differential.js has a test for each.
 */
const DIFFERENCES = [
  {
    name: 'a length that is not minimal',
    why: 'Section 5.2: "the minimal number of bytes MUST be used". framemask refuses the frame, ws takes it.',
    applies: ({ ours, error, frames, shared }) => {
      const i = frames.findIndex(({ minimal }) => !minimal);
      return ours === 'e1002' && error === 'LENGTH_NOT_MINIMAL' && i !== -1 && eventsOf(frames.slice(0, i)) === shared;
    }
  },
  {
    name: 'the most significant bit of a length',
    why: 'Section 5.2: it "MUST be 0". framemask reports a protocol error, ws a message that is too big.',
    applies: ({ ours, theirs, error, frames, shared }) => {
      const i = frames.findIndex(({ length }) => length >= 2n ** 63n);
      const found = i !== -1 && eventsOf(frames.slice(0, i)) === shared;
      return ours === 'e1002' && error === 'LENGTH' && found && theirs === 'e1009';
    }
  },
  {
    name: 'text is checked as it arrives',
    why: 'Section 8.1 allows it. ws checks text at the end of the message, so control frames or other errors may come first.',
    applies: ({ ours, error, frames, shared, theirRest }) => {
      const i = badTextAt(frames);
      const found = i !== -1 && eventsOf(frames.slice(0, i)) === shared;
      // ws does not deliver the message either.
      return ours === 'e1007' && error === 'UTF8' && found && !theirRest.some((event) => /^[tb]/.test(event));
    }
  },
  {
    name: 'the first byte is checked alone',
    why: 'ws waits for the second byte.',
    applies: ({ ours, theirs, frames, shared }) => {
      const { available } = frames.at(-1);
      return ours === 'e1002' && theirs === undefined && available === 1 && eventsOf(frames.slice(0, -1)) === shared;
    }
  },
  {
    name: "a frame's place and length are checked when its header is complete",
    why: 'ws does not wait for the rest of the header: the length or the masking key.',
    applies: ({ ours, theirs, frames, shared }) => {
      const { available, headerSize } = frames.at(-1);
      const found = available < headerSize && eventsOf(frames.slice(0, -1)) === shared;
      return ours === undefined && (theirs === 'e1002' || theirs === 'e1009') && found;
    }
  },
  {
    name: 'a Close frame with a payload of one byte is refused when it is complete',
    why: 'ws refuses it by its header.',
    applies: ({ ours, theirs, frames, shared }) => {
      const { first, length, complete } = frames.at(-1);
      const found = first === 0x88 && length === 1n && !complete && eventsOf(frames.slice(0, -1)) === shared;
      return ours === undefined && theirs === 'e1002' && found;
    }
  },
  {
    name: 'one fragment too many is refused by its header',
    why: 'ws waits for the payload of the fragment.',
    applies: ({ ours, theirs, error, frames, shared }) => {
      const { opcode, available, headerSize, complete } = frames.at(-1);
      const found = opcode === 0 && available >= headerSize && !complete && eventsOf(frames.slice(0, -1)) === shared;
      return ours === 'e1008' && error === 'TOO_MANY_FRAGMENTS' && theirs === undefined && found;
    }
  },
  {
    name: 'text that is longer than the longest string is refused by its header',
    why: 'framemask delivers text as a string, whose length V8 limits. ws delivers bytes.',
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
 * @returns {string | undefined} the name of the accepted difference, '' if there is none; undefined
 *   if it is not accepted
 */
function explain({ events, error }, theirs, bytes) {
  let shared = 0;
  while (shared < events.length && events[shared] === theirs[shared]) shared++;
  if (shared === events.length && shared === theirs.length) return '';
  // After an accepted difference framemask has no more than one event.
  if (events.length > shared + 1) return undefined;
  const frames = parseFrames(bytes);
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
 * @param {number} settings.streams the number of streams
 * @param {number} [settings.seconds] after which no more streams are begun
 * @param {(done: number) => void} [settings.progress] called after each 256 streams
 * @returns {{ streams: number, endings: object, differences: object }} how streams ended, and how
 *   often ws differed
 * @throws {Disagreement} at the first difference that is not accepted
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
    // Each stream has a seed of its own, so that it can be made alone.
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
      const settings = { ...options, text: pick(['string', 'buffer']), partsFrom: pick(PARTS_FROM) };
      cuts[name] = randomCuts(random, bytes.length);
      const ours = decode(DecoderClass, settings, bytes, cuts[name]);
      const difference = explain(ours, theirs, bytes);
      const reference = refer(settings, bytes);
      if (difference === undefined || !agree(ours, reference)) {
        const cut = (events) => events.map((event) => (event.length > 60 ? `${event.slice(0, 60)}...` : event));
        throw new Disagreement(
          [
            `seed ${seed}, stream ${i}, ${name}, ${JSON.stringify(settings)}`,
            `framemask: ${JSON.stringify(cut(ours.events))} ${ours.error}`,
            `ws:        ${JSON.stringify(cut(theirs))}`,
            `reference: ${JSON.stringify(cut(reference.events))} ${reference.error}`,
            `cuts: ${JSON.stringify(cuts)}`,
            `bytes: ${bytes.length > 4000 ? `${bytes.length}, too many to print` : bytes.toString('hex')}`
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

Compares framemask, with its addon and without, messages whole and in parts, to the Receiver of ws and to fuzz/reference.js over random streams of
frames.

  --streams <n>   number of streams (default 1000000)
  --seconds <n>   begin no stream after that time
  --seed <n>      determines the streams (default: another one in each run)
  --from <n>      number of the first stream; with --streams 1, repeats that stream
  --help          print this

The exit code is 0 if all streams were the same but for accepted differences, 1 at the first other
difference, which is printed, and 2 if the options are wrong.`;

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
    console.log(`${streams} streams, ${perSecond(streams)} a second. Endings, for each kernel:`);
    for (const [name, count] of Object.entries(endings).sort(([, a], [, b]) => b - a))
      console.log(`  ${name}: ${count}`);
    console.log('Accepted differences:');
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
