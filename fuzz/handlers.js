'use strict';

// Gives random streams of frames to a Decoder whose handlers and trace subscribers act: they pause,
// resume, stop, throw, write, subscribe, decode something else, and transfer or overwrite what they
// are given. What is delivered must be what fuzz/reference.js reads. `node fuzz/handlers.js --help`

const { constants } = require('node:buffer');
const { channel } = require('node:diagnostics_channel');
const { Decoder } = require('../lib/codec/decoder');
const { Encoder } = require('../lib/codec/encoder');
const { createCodecBackend } = require('../lib/codec/backend');
const { decoderOver } = require('../test/support/codecs');
const { createStreamMaker, randomCuts } = require('../test/support/streams');
const { Finding, runProgram, runRounds } = require('./program');
const { ReferenceDecoder } = require('./reference');

const JavascriptDecoder = decoderOver(createCodecBackend(null));

const FRAMES = channel('framemask:frame');
const MESSAGES = channel('framemask:message');
const MARGIN = 0xa5;
const LONGEST = 5000;

/** What handlers throw. */
class Thrown extends Error {}

/**
 * @typedef {object} Seen what a handler was called with
 * @property {string} kind of an event of the reference, or 'frame', or 'error'
 * @property {Buffer} data a copy
 * @property {string | number} detail the first byte of a frame, RSV1, the close code, or the
 *   error's code
 */

class Round {
  /** @param {import('./program').Random} random @param {Object<string, number>} counts */
  constructor(random, counts) {
    this.random = random;
    this.counts = counts;
    this.chance = (oneIn) => random(oneIn) === 0;
    this.pick = (values) => values[random(values.length)];
    this.name = `connection ${random(2 ** 32)}`;
    this.role = this.pick(['server', 'client']);
    this.rsv1 = this.chance(4);
    this.bytes = createStreamMaker(random, { longest: LONGEST })(this.role, this.rsv1 || this.chance(30));
    this.text = this.pick(['string', 'string', 'buffer']);
    this.limits = {
      maxPayload: this.pick([2 ** 20, 2 ** 20, 2 ** 30, 1 + random(3000)]),
      maxFragments: this.pick([2 ** 17, 2 ** 17, 1 + random(5)])
    };
    /** One act in so many calls of a handler or a subscriber. */
    this.actsIn = this.pick([Infinity, 2, 3, 8, 30]);
    this.transfers = this.chance(3);
    /** Whether chunks are borrowed: each is overwritten when `write` returns. */
    this.borrowed = this.chance(2);
    this.cuts = randomCuts(random, this.bytes.length);
    this.nextCut = 0;
    this.written = 0;

    /** @type {Seen[]} */
    this.seen = [];
    /** Buffers that were delivered, and what they must still be at the end. */
    this.kept = [];
    /** Chunks with the memory around them, and where each ends in the stream. */
    this.chunks = [];
    /** Where the first chunk that was transferred ends in the stream; -1 if none was. */
    this.detachedTo = -1;
    this.stopped = false;
    this.thrown = null;
    this.failure = null;
    this.subscribed = false;
    this.other = new Encoder({ role: 'client', trace: { id: 'other' } });
    this.otherText = [];
    this.onRecord = (record) => this.check(() => this.checkRecord(record));

    const role = this.role;
    this.reference = new ReferenceDecoder({
      role,
      rsv1: this.rsv1,
      maxText: this.text === 'string' ? constants.MAX_STRING_LENGTH : Infinity,
      ...this.limits
    });
    this.reference.write(this.bytes);
    const handlers = this.makeHandlers();
    const DecoderClass = this.chance(2) ? JavascriptDecoder : Decoder;
    const { rsv1, text, borrowed } = this;
    const options = { role, rsv1, text, borrowed, trace: { id: this.name }, ...this.limits };
    this.decoder = new DecoderClass({ ...options, ...handlers });
    this.handlers = handlers;
    this.isNative = DecoderClass === Decoder;
  }

  describe() {
    const { role, rsv1, text, limits, transfers, borrowed, actsIn, isNative, cuts } = this;
    const handlers = Object.keys(this.handlers).filter((key) => this.handlers[key] !== undefined);
    return JSON.stringify({ role, rsv1, text, ...limits, transfers, borrowed, actsIn, isNative, handlers, cuts });
  }

  fail(message) {
    const show = ({ kind, data, detail }) => `${kind} ${detail} ${data.length}`;
    const events = `seen: ${this.seen.slice(-8).map(show).join(', ')}\nexpected ${this.expected()
      .slice(Math.max(0, this.seen.length - 8), this.seen.length + 3)
      .map(show)
      .join(', ')}`;
    const bytes = this.bytes.length > 2000 ? `${this.bytes.length}` : this.bytes.toString('hex');
    throw new Finding(`${message}\n${this.describe()}\n${events}\nbytes: ${bytes}`);
  }

  count(what) {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  makeHandlers() {
    const { chance } = this;
    const given = (data) => (typeof data === 'string' ? Buffer.from(data) : data);
    const round = this;
    const handlers = {
      onMessage(data, isBinary, rsv1) {
        const asString = round.text === 'string' && !isBinary && !rsv1;
        if ((typeof data === 'string') !== asString) round.check(() => round.fail(`a message is a ${typeof data}`));
        round.see(isBinary ? 'binary' : 'text', given(data), rsv1, !asString);
      },
      onPing: (payload) => round.see('ping', payload, false, true),
      onPong: (payload) => round.see('pong', payload, false, true),
      onClose: (code, reason) => round.see('close', Buffer.from(reason), code, false),
      onError: (error) => round.see('error', Buffer.alloc(0), error.code, false),
      onFrame(firstByte, bytes, start, end) {
        round.see('frame', bytes.subarray(start, end), firstByte, true, bytes);
      }
    };
    // Without onFrame, or with messages or frames alone, a decoder takes other ways.
    if (!chance(3)) handlers.onFrame = undefined;
    if (chance(6)) handlers.onMessage = undefined;
    if (chance(4)) handlers.onPing = handlers.onPong = undefined;
    if (chance(6)) handlers.onClose = undefined;
    if (chance(4)) handlers.onError = undefined;
    return handlers;
  }

  /** What the handlers must see, without acts. */
  expected() {
    const { frames, events, error, header } = this.reference;
    const list = [];
    frames.forEach(({ firstByte, payload }, i) => {
      list.push({ kind: 'frame', data: payload, detail: firstByte, frame: i });
      const event = events.find(({ frame }) => frame === i);
      if (event !== undefined) {
        const { kind, data, code, rsv1 } = event;
        list.push({ kind, data, detail: kind === 'close' ? code : rsv1, frame: i });
      }
    });
    if (error !== '') {
      const frame = frames.length - (header.length > 0 ? 0 : 1);
      list.push({ kind: 'error', data: Buffer.alloc(0), detail: `FRAMEMASK_ERR_${error}`, frame });
    }
    return list.filter(({ kind }) => kind === 'error' || this.handlers[NAMES[kind]] !== undefined);
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
  see(kind, data, detail, isView, bytes = data) {
    const { decoder } = this;
    this.check(() => {
      if (this.stopped) this.fail(`${kind} is delivered after stop()`);
      if (decoder?.paused) this.fail(`${kind} is delivered during a pause`);
      if (isView && this.borrowed && this.chunks.some(({ around }) => around.buffer === bytes.buffer)) {
        this.fail('the memory of a borrowed chunk is delivered');
      }
    });
    this.seen.push({ kind, data: Buffer.from(data), detail });
    this.count('events');
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
    // The memory of a message in progress, which `onFrame` has no right to transfer.
    else if (isFrame) this.detachedTo = Infinity;
    // A copy of frames of the current chunk.
    else if (this.borrowed) this.detachedTo = Math.max(this.detachedTo, this.written);
    structuredClone(memory, { transfer: [memory] });
    this.count('transfers');
  }

  /**
   * Does something that a handler or a subscriber may do, or nothing.
   *
   * @param {boolean} inHandler
   * @param {() => void} use what can be done with the data
   */
  act(inHandler, use) {
    if (this.actsIn === Infinity || !this.chance(this.actsIn)) return;
    const { decoder } = this;
    this.count('acts');
    switch (this.random(inHandler ? 10 : 7)) {
      case 0:
      case 1:
        decoder.pause();
        break;
      case 2:
        decoder.pause();
        decoder.resume();
        break;
      case 3:
        this.write();
        break;
      case 4:
        this.toggle();
        break;
      case 5:
        this.decodeOther();
        break;
      case 6:
        if (!this.chance(12)) break;
        decoder.stop();
        this.stopped = true;
        break;
      case 7:
        this.thrown = new Thrown('a handler throws');
        throw this.thrown;
      default:
        use();
    }
  }

  toggle() {
    for (const traces of [FRAMES, MESSAGES]) {
      if (this.subscribed) traces.unsubscribe(this.onRecord);
      else traces.subscribe(this.onRecord);
    }
    this.subscribed = !this.subscribed;
  }

  /** Another connection of the process, whose frames are small. */
  decodeOther() {
    const texts = ['one', 'two', 'three', 'é'];
    for (const text of texts) this.other.text(text);
    const got = [];
    const decoder = new Decoder({ role: 'server', onMessage: (data) => got.push(data), trace: { id: 'other' } });
    for (const chunk of this.other.take()) decoder.write(chunk);
    this.check(() => {
      if (got.join() !== texts.join()) this.fail(`another decoder gives ${got.join()}`);
    });
  }

  checkRecord(record) {
    if (record.connection !== this.name) return;
    if (this.stopped) this.fail('a record is published after stop()');
    this.count('records');
    const { frames, events, error, header } = this.reference;
    const frame = frames[record.sequence - 1];
    const errorAt = error === '' ? 0 : frames.length + (header.length > 0 ? 1 : 0);
    let right;
    if (record.error) {
      // A chunk that was transferred ends the decoder elsewhere.
      right = record.sequence === errorAt || this.detachedTo !== -1;
    } else if (frame === undefined) {
      // A text frame that is complete in a chunk is published before its text is judged.
      right = error === 'UTF8' && record.sequence === errorAt;
    } else if (record.opcode !== undefined) {
      const { firstByte, payload } = frame;
      const first = (record.fin ? 0x80 : 0) | (record.rsv << 4) | record.opcode;
      right = first === firstByte && record.length === payload.length;
    } else {
      const event = events.find((other) => other.frame === record.sequence - 1);
      right =
        event !== undefined &&
        record.length === event.data.length &&
        record.fragments === event.fragments &&
        record.binary === (event.kind === 'binary') &&
        record.rsv === (event.rsv1 ? 4 : 0);
    }
    if (!right) this.fail(`a record is wrong: ${JSON.stringify(record)}`);
    const { stopped } = this;
    this.act(false);
    // A decoder has ended already when it publishes its error, and reports it in any case.
    if (record.error) this.stopped = stopped;
  }

  /** Writes the next chunk, in memory that ends where it does or a little later. */
  write() {
    if (this.nextCut > this.cuts.length) return;
    const start = this.written;
    const end = this.nextCut === this.cuts.length ? this.bytes.length : this.cuts[this.nextCut];
    this.nextCut++;
    this.written = end;
    const before = this.random(9);
    const around = Buffer.allocUnsafeSlow(before + end - start + this.random(9)).fill(MARGIN);
    this.bytes.copy(around, before, start, end);
    const offset = around.byteOffset + before;
    const chunk = this.chance(5)
      ? new Uint8Array(around.buffer, offset, end - start)
      : Buffer.from(around.buffer, offset, end - start);
    this.chunks.push({ around, before, length: end - start, end });
    try {
      this.decoder.write(chunk);
    } finally {
      if (this.borrowed) chunk.fill(0x5a);
    }
  }

  /**
   * Calls the decoder, and expects of it what a handler throws, or the error that nobody handles.
   */
  call(method) {
    try {
      method();
    } catch (error) {
      if (error instanceof Finding) throw error;
      if (error.name === 'FrameError' && this.handlers.onError === undefined) {
        this.seen.push({ kind: 'error', data: Buffer.alloc(0), detail: error.code });
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
      while (this.nextCut <= this.cuts.length) {
        this.call(() => this.write());
        if (this.decoder.paused && this.chance(2)) this.call(() => this.decoder.resume());
      }
      // Handlers pause and throw again, but each event is delivered once.
      for (let last = -1; this.decoder.paused || last !== this.seen.length; ) {
        last = this.seen.length;
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
      if (other !== undefined && same(seen[i], other)) continue;
      if (!this.isAccepted(seen.slice(i), other)) this.fail(`event ${i} differs`);
      return;
    }
    if (seen.length < expected.length && !this.stopped) this.fail(`event ${seen.length} is missing`);
    const ends = this.stopped || this.reference.ended;
    if (decoder.closed !== ends) this.fail(`closed is ${decoder.closed}`);
  }

  /** Whether the decoder may end in another way than the reference. */
  isAccepted(rest, other) {
    const { reference, detachedTo } = this;
    // onFrame sees a text frame that is complete in a chunk before its text is judged.
    if (rest[0].kind === 'frame' && other?.kind === 'error' && reference.error === 'UTF8') {
      return rest.length === 1 ? this.stopped : rest.length === 2 && (same(rest[1], other) || this.isDetached(rest[1]));
    }
    if (rest.length !== 1 || rest[0].kind !== 'error') return false;
    if (this.isDetached(rest[0])) {
      // Only if a frame that was not delivered has begun in the chunk; onFrame comes before the
      // delivery.
      const { frame, kind } = this.expected()[this.seen.length - 2] ?? { frame: -1 };
      return (reference.frames[kind === 'frame' ? frame - 1 : frame]?.end ?? 0) < detachedTo;
    }
    // The header has two errors: the length is reported, not the place.
    const misplaced = reference.error === 'CONTINUATION' || reference.error === 'INTERLEAVED';
    if (misplaced && reference.length >= 2n ** 53n && rest[0].detail === 'FRAMEMASK_ERR_MESSAGE_TOO_BIG') {
      this.count('lengths of 2^53 or more reported before the place');
      return true;
    }
    return false;
  }

  isDetached({ detail }) {
    return detail === 'FRAMEMASK_ERR_DETACHED' && this.detachedTo !== -1;
  }

  /** What was delivered is the user's: it must not change. Nor must what lies beside a chunk. */
  checkMemory() {
    for (const { data, copy } of this.kept) if (!copy.equals(data)) this.fail('a delivered Buffer has changed');
    for (const { around, before, length } of this.chunks) {
      const beside = (byte, i) => byte === MARGIN || (i >= before && i < before + length);
      if (around.length > 0 && !around.every(beside)) this.fail('bytes beside a chunk have changed');
    }
  }
}

const NAMES = {
  text: 'onMessage',
  binary: 'onMessage',
  ping: 'onPing',
  pong: 'onPong',
  close: 'onClose',
  frame: 'onFrame'
};

/** @param {Seen} one @param {Seen} other */
function same(one, other) {
  return one.kind === other.kind && one.detail === other.detail && one.data.equals(other.data);
}

/**
 * @param {import('./program').Random} random
 * @param {Object<string, number>} counts
 */
function round(random, counts) {
  new Round(random, counts).run();
}

const PURPOSE = `Decodes random streams with handlers and subscribers that act, and compares what is delivered with what
fuzz/reference.js reads.`;

if (require.main === module) runProgram('handlers.js', PURPOSE, round);

module.exports = { run: (settings) => runRounds(round, settings) };
