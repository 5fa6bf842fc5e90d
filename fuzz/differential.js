'use strict';

// Gives random streams of frames, good and bad, to Decoders, to the Receiver of ws and to
// fuzz/reference.js. Decoders deliver just what the reference reads, while handlers and subscribers
// pause, resume, stop, throw, write, subscribe, decode something else, and transfer or overwrite
// what they are given. The reference and ws differ where DIFFERENCES says so.
// `node fuzz/differential.js --help`

const { constants, isUtf8 } = require('node:buffer');
const { channel } = require('node:diagnostics_channel');
const { Receiver } = require('ws');
const { Decoder } = require('../lib/codec/decoder');
const { Encoder } = require('../lib/codec/encoder');
const { createCodecBackend } = require('../lib/codec/backend');
const { decoderOver } = require('../test/support/codecs');
const { createStreamMaker, cut, randomCuts } = require('../test/support/streams');
const { Finding, runProgram, runRounds, show } = require('./program');
const { ReferenceDecoder } = require('./reference');

const DECODERS = [Decoder, decoderOver(createCodecBackend(null))];

const CHANNELS = [channel('framemask:frame'), channel('framemask:message')];
const MARGIN = 0xa5;
const EMPTY = Buffer.alloc(0);

/** What handlers throw. */
class Thrown extends Error {}

/**
 * @typedef {object} Stream
 * @property {'server' | 'client'} role of its reader
 * @property {boolean} [rsv1]
 * @property {boolean} [frames] whether its reader gets frames, in place of messages
 * @property {number} [maxPayload]
 * @property {number} [maxFragments]
 * @property {'string' | 'buffer'} [text]
 * @property {number} [partsFrom] the length from which messages come in parts; undefined for whole
 *   messages
 * @property {Buffer} bytes
 */

const LETTERS = { text: 't', binary: 'b', ping: 'P', pong: 'p' };

/**
 * The Receiver of ws without its stream: chunks are written by `take`. Its events are strings,
 * which compare fast: the first letter is the kind (text, binary, Ping, pong, close, error), the
 * bytes or the close code follow.
 */
class Recorder extends Receiver {
  constructor({ role, rsv1, maxPayload, maxFragments }) {
    const extensions = rsv1 ? { 'permessage-deflate': { decompress: (data, _fin, done) => done(null, data) } } : {};
    super({ isServer: role === 'server', maxPayload, maxFragments, extensions, allowSynchronousEvents: true });
    this.events = [];
    this.failed = false;
  }

  emit(name, data, more) {
    const letter = name === 'message' ? (more ? 'b' : 't') : LETTERS[name];
    if (name === 'conclude') this.events.push(`c${data} ${more}`);
    else if (letter !== undefined) this.events.push(letter + data.latin1Slice());
    return true;
  }

  /** Called after a Close frame. */
  end() {}

  /** @param {Buffer} chunk which is unmasked in place */
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

/** @returns {string[]} the events of the reference, as those of the Recorder */
function eventsOf({ events, error, closeCode }) {
  const strings = [];
  for (const { kind, data, code, rsv1 } of events) {
    // An extension that changes nothing is assumed: ws validates its text.
    if (kind === 'text' && rsv1 && !isUtf8(data)) return [...strings, 'e1007'];
    strings.push(kind === 'close' ? `c${code} ${data}` : LETTERS[kind] + data.latin1Slice());
  }
  return error === '' ? strings : [...strings, `e${closeCode}`];
}

/**
 * The accepted differences: framemask does these things in another way than ws on purpose.
 * `applies` gets the reference, the events of both from the first difference on, of which `ours`
 * has one at most, and how many bytes follow those that the reference has read.
 *
 * fuzz/test/differential.js has a test for each.
 */
const DIFFERENCES = [
  {
    name: 'a length that is not minimal',
    why: 'Section 5.2: "the minimal number of bytes MUST be used". framemask refuses the frame, ws takes it.',
    applies: ({ reference }) => reference.error === 'LENGTH_NOT_MINIMAL'
  },
  {
    name: 'the most significant bit of a length',
    why: 'Section 5.2: it "MUST be 0". framemask reports a protocol error, ws a message that is too big.',
    applies: ({ reference, theirs }) => reference.error === 'LENGTH' && theirs[0] === 'e1009'
  },
  {
    name: 'text is checked as it arrives',
    why: 'Section 8.1 allows it. ws checks text at the end of the message, so control frames or other errors may come first.',
    // ws does not deliver the message either.
    applies: ({ reference, theirs }) =>
      reference.error === 'UTF8' && reference.message !== null && !theirs.some((event) => /^[tb]/.test(event))
  },
  {
    name: 'the first byte is checked alone',
    why: 'ws waits for the second byte.',
    applies: ({ reference, ours, theirs, left }) =>
      ours[0] === 'e1002' && theirs.length === 0 && reference.header.length === 1 && left === 0
  },
  {
    name: "a frame's place and length are checked when its header is complete",
    why: 'ws does not wait for the rest of the header: the length or the masking key.',
    applies: ({ reference, ours, theirs }) =>
      ours.length === 0 && /^e10(02|09)$/.test(theirs[0]) && reference.header.length > 0 && reference.payload === null
  },
  {
    name: 'a Close frame with a payload of one byte is refused when it is complete',
    why: 'ws refuses it by its header.',
    applies: ({ reference: { header, length, payload }, ours, theirs }) =>
      ours.length === 0 && theirs[0] === 'e1002' && payload !== null && header[0] === 0x88 && length === 1n
  },
  {
    name: 'one fragment too many is refused by its header',
    why: 'ws waits for the payload of the fragment.',
    applies: ({ reference, theirs, left }) =>
      reference.error === 'TOO_MANY_FRAGMENTS' && theirs.length === 0 && left < reference.length
  },
  {
    name: 'text that is longer than the longest string is refused by its header',
    why: 'framemask delivers text as a string, whose length V8 limits. ws delivers bytes.',
    applies: ({ reference, theirs }) =>
      reference.error === 'MESSAGE_TOO_BIG' && reference.maxText < reference.maxPayload && theirs.length === 0
  }
];

/**
 * @returns {string | undefined} the name of the accepted difference of a stream of so many bytes,
 *   '' if there is none; undefined if it is not accepted
 */
function explain(reference, theirs, size) {
  const ours = eventsOf(reference);
  let shared = 0;
  while (shared < ours.length && ours[shared] === theirs[shared]) shared++;
  if (shared === ours.length && shared === theirs.length) return '';
  if (ours.length > shared + 1) return undefined;
  const rest = { ours: ours.slice(shared), theirs: theirs.slice(shared), left: size - reference.position };
  return DIFFERENCES.find(({ applies }) => applies({ reference, ...rest }))?.name;
}

/** @returns {object} the reference, the events of both, and their difference: see `explain` */
function compareWithWs(stream, cuts) {
  const { text, partsFrom, bytes } = stream;
  // Text in parts has no longest string.
  const maxText = text === 'buffer' || partsFrom !== undefined ? Infinity : constants.MAX_STRING_LENGTH;
  const reference = new ReferenceDecoder({ ...stream, maxText });
  reference.write(bytes);
  const recorder = new Recorder(stream);
  for (const piece of cut(bytes, cuts)) recorder.take(Buffer.from(piece));
  const theirs = recorder.events;
  return { reference, ours: eventsOf(reference), theirs, difference: explain(reference, theirs, bytes.length) };
}

/** @returns {ReferenceDecoder} that has read a stream as onFrame reads it: any text */
function readFrames(stream) {
  const reference = new ReferenceDecoder({ ...stream, skipUTF8Validation: true });
  reference.write(stream.bytes);
  return reference;
}

/**
 * @typedef {object} Seen a call of a handler
 * @property {string} kind of an event of the reference, or 'frame', or 'error'
 * @property {Buffer} data a copy
 * @property {string | number} detail the first byte of a frame, the close code, or the codes of an
 *   error
 * @property {number} [framesRead]
 */

/** A Decoder that reads a stream, with handlers that act. */
class Reading {
  written = 0;
  /** @type {Seen[]} */
  seen = [];
  calls = 0;
  /** The parts of the message that comes in parts. */
  parts = [];
  /** Buffers that were delivered, with copies of the bytes that they must have at the end. */
  kept = [];
  /** Chunks with the memory around them, and where each ends in the stream. */
  chunks = [];
  /** Where the first chunk that was transferred ends in the stream; -1 if none was. */
  detachedTo = -1;
  stopped = false;
  thrown = null;
  failure = null;
  subscribed = false;
  onRecord = (record) => this.check(() => this.checkRecord(record));

  /** @param {ReferenceDecoder} reference which has read the stream */
  constructor(DecoderClass, stream, reference, random, count) {
    this.stream = stream;
    this.reference = reference;
    this.random = random;
    this.count = count;
    this.chance = (oneIn) => random(oneIn) === 0;
    this.name = `connection ${random(2 ** 32)}`;
    /** One act in so many calls of a handler or a subscriber. */
    this.actsIn = [Infinity, 2, 3, 8, 30][random(5)];
    this.transfers = this.chance(3);
    /** Whether chunks are borrowed: each is overwritten when `write` returns. */
    this.borrowed = this.chance(2);
    this.cuts = randomCuts(random, stream.bytes.length);
    this.pieces = cut(stream.bytes, this.cuts);
    this.handlers = this.makeHandlers();
    const { bytes: _, frames, ...options } = { ...stream, borrowed: this.borrowed, trace: { id: this.name } };
    this.decoder = new DecoderClass({ ...options, ...this.handlers });
    this.isNative = DecoderClass === Decoder;
  }

  fail(message) {
    const { stream, transfers, borrowed, actsIn, isNative, cuts, seen } = this;
    const list = (events) => events.map(({ kind, data, detail }) => `${kind} ${detail} ${data.length}`).join(', ');
    const from = Math.max(0, seen.length - 8);
    const lists = [seen.slice(from), this.expected().slice(from, from + 11)].map(list);
    const handlers = Object.keys(this.handlers);
    const settings = { ...stream, transfers, borrowed, actsIn, isNative, handlers, cuts };
    throw new Finding(`${message}\nseen: ${lists[0]}\nexpected: ${lists[1]}\n${show(settings)}`);
  }

  makeHandlers() {
    const { chance, stream } = this;
    const give = (data, isBinary, isPart = false, isLast = true) => {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      this.parts.push(Buffer.from(bytes));
      const whole = isLast ? Buffer.concat(this.parts.splice(0)) : null;
      const asString = stream.text !== 'buffer' && !isBinary;
      this.check(() => {
        if ((typeof data === 'string') !== asString) this.fail(`a message is a ${typeof data}`);
        if (!isPart && bytes.length >= stream.partsFrom) this.fail('a long message comes as a whole');
      });
      this.see(isBinary ? 'binary' : 'text', bytes, '', !asString, bytes, whole);
    };
    const handlers = {
      onMessage: (data, isBinary) => give(data, isBinary),
      onPart: (data, isBinary, isLast) => give(data, isBinary, true, isLast),
      onPing: (payload) => this.see('ping', payload, '', true),
      onPong: (payload) => this.see('pong', payload, '', true),
      onClose: (code, reason) => this.see('close', Buffer.from(reason), code, false),
      onError: (error) => this.see('error', EMPTY, detailOf(error), false),
      onFrame: (firstByte, bytes, start, end) => this.see('frame', bytes.subarray(start, end), firstByte, true, bytes)
    };
    if (!stream.frames) delete handlers.onFrame;
    if (stream.frames || stream.partsFrom === undefined) delete handlers.onPart;
    if (stream.frames || (handlers.onPart === undefined && chance(6))) delete handlers.onMessage;
    if (chance(4)) delete handlers.onPing;
    if (chance(4)) delete handlers.onPong;
    if (chance(6)) delete handlers.onClose;
    if (chance(4)) delete handlers.onError;
    return handlers;
  }

  /** The calls of the handlers, without acts. */
  expected() {
    const { frames, events, error, closeCode, header } = this.reference;
    const list = [];
    frames.forEach(({ firstByte, payload }, i) => {
      list.push({ kind: 'frame', data: payload, detail: firstByte, frame: i });
      const event = events.find(({ frame }) => frame === i);
      if (event !== undefined) {
        const { kind, data, code } = event;
        list.push({ kind, data, detail: kind === 'close' ? code : '', frame: i });
      }
    });
    if (error !== '') {
      const frame = frames.length - (header.length > 0 ? 0 : 1);
      list.push({ kind: 'error', data: EMPTY, detail: `FRAMEMASK_ERR_${error} ${closeCode}`, frame });
    }
    return list.filter(({ kind }) => kind === 'error' || (NAMES[kind] ?? 'onMessage') in this.handlers);
  }

  /** Runs a check where an error would be taken for a handler's, or lost. */
  check(run) {
    try {
      run();
    } catch (error) {
      this.failure ??= error;
    }
  }

  /** In a handler: notes the call, checks that it may be made, and acts. */
  see(kind, data, detail, isView, bytes = data, whole = data) {
    const { decoder } = this;
    this.calls++;
    this.check(() => {
      if (this.stopped) this.fail(`${kind} is delivered after stop()`);
      // onFrame may pause: the frame's own handler is called still.
      const isSameFrame = kind in NAMES && this.seen.at(-1)?.kind === 'frame';
      if (decoder?.paused && !isSameFrame) this.fail(`${kind} is delivered during a pause`);
      if (isView && this.borrowed && this.chunks.some(({ around }) => around.buffer === bytes.buffer)) {
        this.fail('the memory of a borrowed chunk is delivered');
      }
    });
    if (whole !== null) this.seen.push({ kind, data: Buffer.from(whole), detail, framesRead: decoder?.framesRead });
    const keeps = isView && kind !== 'frame' && { data, copy: Buffer.from(data) };
    if (keeps) this.kept.push(keeps);
    this.act(true, () => {
      if (!isView || (kind === 'frame' && !this.transfers)) return;
      if (kind !== 'frame' && this.chance(2)) {
        data.fill(0xff);
        keeps.copy.fill(0xff);
      } else if (this.transfers) {
        this.transfer(bytes.buffer, kind === 'frame');
      }
    });
  }

  transfer(memory, isFrame) {
    if (memory.byteLength === 0) return;
    // What lies in the memory is gone, and must not be compared.
    this.kept = this.kept.filter(({ data }) => data.buffer !== memory);
    const chunk = this.chunks.find(({ around }) => around.buffer === memory);
    if (chunk !== undefined) this.detachedTo = Math.max(this.detachedTo, chunk.end);
    // The payload of a control frame, which its own handler gets next.
    else if (isFrame) this.detachedTo = Infinity;
    // A copy of frames of the current chunk.
    else if (this.borrowed) this.detachedTo = Math.max(this.detachedTo, this.written);
    structuredClone(memory, { transfer: [memory] });
    this.count('transfers');
  }

  /**
   * Does something that a handler or a subscriber may do, or nothing. `use` does it with the data
   * of the handler, or the last data that was delivered.
   */
  act(inHandler, use) {
    if (this.actsIn === Infinity || !this.chance(this.actsIn)) return;
    const { decoder } = this;
    this.count('acts');
    const acts = [
      () => decoder.pause(),
      () => decoder.pause(),
      () => {
        decoder.pause();
        decoder.resume();
      },
      () => this.write(),
      () => this.toggle(),
      () => this.decodeOther(),
      () => {
        if (!this.chance(12)) return;
        decoder.stop();
        this.stopped = true;
      },
      use,
      use,
      () => {
        this.thrown = new Thrown('a handler throws');
        throw this.thrown;
      }
    ];
    acts[this.random(inHandler ? acts.length : acts.length - 1)]();
  }

  toggle() {
    for (const records of CHANNELS) records[this.subscribed ? 'unsubscribe' : 'subscribe'](this.onRecord);
    this.subscribed = !this.subscribed;
  }

  /** Another connection of the process, whose frames are small. */
  decodeOther() {
    const texts = ['one', 'two', 'three', 'é'];
    const encoder = new Encoder({ role: 'client', trace: { id: 'other' } });
    for (const text of texts) encoder.text(text);
    const got = [];
    const decoder = new Decoder({ role: 'server', onMessage: (data) => got.push(data), trace: { id: 'other' } });
    for (const chunk of encoder.take()) decoder.write(chunk);
    this.check(() => {
      if (got.join() !== texts.join()) this.fail(`another decoder gives ${got.join()}`);
    });
  }

  checkRecord(record) {
    if (record.connection !== this.name) return;
    if (this.stopped) this.fail('a record is published after stop()');
    this.count('records');
    if (!this.isRight(record)) this.fail(`a record is wrong: ${JSON.stringify(record)}`);
    const { stopped } = this;
    this.act(false, () => {
      const last = this.kept.at(-1);
      if (this.transfers && last !== undefined) this.transfer(last.data.buffer, false);
    });
    // A decoder has ended already when it publishes its error, and reports it in any case.
    if (record.error) this.stopped = stopped;
  }

  isRight({ sequence, error, opcode, fin, rsv, length, fragments, binary }) {
    const { reference, stream } = this;
    const frame = reference.frames[sequence - 1];
    const event = reference.events.find((other) => other.frame === sequence - 1);
    const errorAt = reference.error === '' ? 0 : reference.frames.length + (reference.header.length > 0 ? 1 : 0);
    // A chunk that was transferred ends the decoder elsewhere.
    if (error) return sequence === errorAt || this.detachedTo !== -1;
    // A text frame that is complete in a chunk is published before its text is judged, as is a
    // message that comes in parts.
    const isEarly = opcode === undefined && event === undefined && stream.partsFrom !== undefined;
    if (frame === undefined || isEarly) return reference.error === 'UTF8' && sequence === errorAt;
    if (opcode !== undefined) {
      return ((fin ? 0x80 : 0) | (rsv << 4) | opcode) === frame.firstByte && length === frame.payload.length;
    }
    return (
      event !== undefined &&
      length === event.data.length &&
      fragments === event.fragments &&
      binary === (event.kind === 'binary') &&
      rsv === (event.rsv1 ? 4 : 0)
    );
  }

  /** Writes the next chunk, in memory that ends where it does or a little later. */
  write() {
    const piece = this.pieces.shift();
    if (piece === undefined) return;
    const { length } = piece;
    this.written += length;
    const before = this.random(9);
    const around = Buffer.allocUnsafeSlow(before + length + this.random(9)).fill(MARGIN);
    around.set(piece, before);
    const chunk = around.subarray(before, before + length);
    this.chunks.push({ around, before, length, end: this.written });
    try {
      this.decoder.write(this.chance(5) ? new Uint8Array(around.buffer, chunk.byteOffset, length) : chunk);
    } finally {
      if (this.borrowed) chunk.fill(0x5a);
    }
  }

  /** Calls the decoder, and expects the error of a handler, or one that nobody handles. */
  call(method) {
    try {
      method();
    } catch (error) {
      if (error instanceof Finding) throw error;
      if (error.name === 'FrameError' && this.handlers.onError === undefined) {
        this.seen.push({ kind: 'error', data: EMPTY, detail: detailOf(error) });
      } else if (!(error instanceof Thrown)) {
        this.fail(`throws ${error.stack}`);
      }
      this.thrown = null;
    }
    if (this.failure !== null) throw this.failure;
    if (this.thrown !== null) this.fail('what a handler threw is lost');
  }

  run() {
    if (this.chance(4)) this.toggle();
    try {
      while (this.pieces.length > 0) {
        this.call(() => this.write());
        if (this.decoder.paused && this.chance(2)) this.call(() => this.decoder.resume());
      }
      // Handlers pause and throw again, but each event is delivered once.
      for (let last = -1; this.decoder.paused || last !== this.calls; ) {
        last = this.calls;
        this.call(() => this.decoder.resume());
      }
    } finally {
      if (this.subscribed) this.toggle();
    }
    this.checkSeen();
    this.checkMemory();
  }

  checkSeen() {
    const expected = this.expected();
    const { seen, decoder } = this;
    for (let i = 0; i < seen.length; i++) {
      const other = expected[i];
      if (other !== undefined && same(seen[i], other)) {
        const { framesRead = other.frame + 1 } = seen[i];
        if (framesRead !== other.frame + 1) this.fail(`event ${i}: framesRead is ${framesRead}`);
        continue;
      }
      if (!this.isAccepted(seen.slice(i))) this.fail(`event ${i} differs`);
      return;
    }
    if (seen.length < expected.length && !this.stopped) this.fail(`event ${seen.length} is missing`);
    const ends = this.stopped || this.reference.ended;
    if (decoder.closed !== ends) this.fail(`closed is ${decoder.closed}`);
  }

  /** Whether the decoder may end in another way than the reference. */
  isAccepted(rest) {
    const { reference, detachedTo } = this;
    const isDetached = ({ detail }) => /^FRAMEMASK_ERR_DETACHED /.test(detail) && detachedTo !== -1;
    if (rest.length !== 1 || rest[0].kind !== 'error' || !isDetached(rest[0])) return false;
    // Only if a frame that was not delivered has begun in the chunk; that of onFrame may be a
    // control frame, whose handler comes next.
    const { frame, kind } = this.expected()[this.seen.length - 2] ?? { frame: -1 };
    return (reference.frames[kind === 'frame' ? frame - 1 : frame]?.end ?? 0) < detachedTo;
  }

  /** What was delivered is the user's: it must not change. Nor must the memory beside a chunk. */
  checkMemory() {
    for (const { data, copy } of this.kept) if (!copy.equals(data)) this.fail('a delivered Buffer has changed');
    for (const { around, before, length } of this.chunks) {
      if (around.length === 0) continue;
      const beside = [...around.subarray(0, before), ...around.subarray(before + length)];
      if (beside.some((byte) => byte !== MARGIN)) this.fail('bytes beside a chunk have changed');
    }
  }
}

const NAMES = { ping: 'onPing', pong: 'onPong', close: 'onClose', frame: 'onFrame' };

const detailOf = ({ code, closeCode }) => `${code} ${closeCode}`;

/** Whether one call was seen twice. */
const same = (one, other) => one.kind === other.kind && one.detail === other.detail && one.data.equals(other.data);

/** Reads a stream with the reference, with ws, and with a Decoder over each backend. */
function checkStream(stream, random, count) {
  const compared = compareWithWs(stream, randomCuts(random, stream.bytes.length));
  const { reference, ours, theirs, difference } = compared;
  if (difference === undefined) {
    const shown = [ours, theirs].map((events) => show(events.map((event) => event.slice(0, 60))));
    throw new Finding(`reference: ${shown[0]} ${reference.error}\nws: ${shown[1]}\n${show(stream)}`);
  }
  if (difference !== '') count(`ws differs: ${difference}`);
  count(`ends: ${reference.error || (reference.ended ? 'close' : 'open')}`);
  const read = stream.frames ? readFrames(stream) : reference;
  for (const DecoderClass of DECODERS) new Reading(DecoderClass, stream, read, random, count).run();
  return compared;
}

let current;
const makeStream = createStreamMaker((below) => current(below));

/** @type {import('./program').Round} */
function round(random, count) {
  const pick = (values) => values[random(values.length)];
  current = random;
  const role = pick(['server', 'client']);
  const rsv1 = random(4) === 0;
  const stream = {
    role,
    rsv1,
    frames: rsv1 || random(5) === 0,
    maxPayload: pick([2 ** 20, 2 ** 20, 2 ** 30, 1 + random(130), 1 + random(3000)]),
    maxFragments: pick([2 ** 17, 2 ** 17, 2 ** 17, 1 + random(5)]),
    text: pick(['string', 'string', 'buffer']),
    partsFrom: pick([undefined, undefined, undefined, 0, 100, 5000]),
    bytes: makeStream(role, rsv1 || random(30) === 0)
  };
  checkStream(stream, random, count);
}

const PURPOSE = `Compares what Decoders deliver, with the addon and without, messages whole and in parts, to handlers and
subscribers that act, with the Receiver of ws and fuzz/reference.js over random streams of frames.`;

if (require.main === module) runProgram('differential.js', PURPOSE, round);

module.exports = { DIFFERENCES, checkStream, run: (settings) => runRounds(round, settings) };
