'use strict';

// Compressed messages, good, cut, changed and made up, through the Decoder beside ws's
// PerMessageDeflate and zlib; and messages that an Encoder compresses, back through both.
// `node fuzz/deflate.js --help`

const { randomBytes } = require('node:crypto');
const zlib = require('node:zlib');
const { PerMessageDeflate, Receiver } = require('ws');
const { Decoder, Encoder } = require('../index');
const { agree } = require('../test/support/deflate');
const { failNext } = require('../test/support/failing-memory');
const { framesFor } = require('../test/support/frames');
const { cut, randomCuts } = require('../test/support/streams');
const { Finding, runProgram } = require('./program');

const PURPOSE = `Makes streams of compressed messages, good and bad, and compares what a Decoder delivers with what
ws's Receiver does, and with zlib. What an Encoder has compressed must come back from both. In some rounds
allocations fail: then each of several connections gets a beginning of what was sent to it, and nothing else.`;

const { Z_FINISH, Z_FULL_FLUSH, Z_SYNC_FLUSH } = zlib.constants;
const CLIENT = framesFor('client');
const RSV1 = 0x40;
const TAIL = Buffer.from('0000ffff', 'hex');

/** Milliseconds that the thread pool may take on a busy machine. */
const PATIENCE = 30_000;

/** @returns {Buffer} bytes that shrink more or less */
function createData(random) {
  const length = [0, 1, random(50), random(2000), random(2000), random(100_000)][random(6)];
  const data = Buffer.alloc(length);
  const kind = random(4);
  for (let i = 0; i < length; i++) {
    if (kind === 0) data[i] = 97 + (i % 7);
    else if (kind === 1) data[i] = random(256);
    else data[i] = i > 20 && random(10) > 0 ? data[i - 1 - random(20)] : 32 + random(90);
  }
  return data;
}

/** @returns {Buffer[]} bytes in one piece, or in one of so many cases in some, even empty ones */
function cutSome(random, bytes, oneIn) {
  const cuts = random(oneIn) === 0 ? randomCuts(random, bytes.length) : [];
  return cut(bytes, cuts.slice(0, 8)); // a flush after each of hundreds would take most of the time
}

/** Runs zlib's stream over a message, as any compressor may: with blocks and flushes anywhere. */
async function deflateAnyhow(random, stream, data) {
  const chunks = [];
  const collect = (chunk) => chunks.push(chunk);
  stream.on('data', collect);
  for (const piece of cutSome(random, data, 2)) {
    stream.write(piece);
    if (random(2) === 0) stream.flush(random(2) === 0 ? Z_FULL_FLUSH : Z_SYNC_FLUSH);
  }
  await new Promise((resolve) => stream.flush(Z_SYNC_FLUSH, resolve));
  stream.off('data', collect);
  return Buffer.concat(chunks).subarray(0, -4);
}

/**
 * @returns {Promise<{ payload: Buffer, isGood: boolean }>} a payload, and whether it is the data,
 *   compressed
 */
async function createPayload(random, stream, data, takeover, windowBits) {
  const kind = random(10);
  if (kind === 0) return { payload: createData(random), isGood: false };
  // A block with BFINAL set, and bytes that may follow it.
  if (kind === 1 && !takeover) {
    const final = zlib.deflateRawSync(data, { finishFlush: Z_FINISH, windowBits, level: random(10) });
    return { payload: Buffer.concat([final, Buffer.alloc(random(2))]), isGood: true };
  }
  if (!takeover) stream.reset();
  const payload = data.length === 0 ? Buffer.from([0]) : await deflateAnyhow(random, stream, data);
  if (kind === 2 && payload.length > 1) return { payload: payload.subarray(0, random(payload.length)), isGood: false };
  if (kind === 3) for (let n = 1 + random(3); n > 0; n--) payload[random(payload.length)] ^= 1 << random(8);
  return { payload, isGood: kind !== 3 };
}

/** @returns {Buffer[]} the frames of a message */
function frame(random, payload) {
  return cutSome(random, payload, 3).map((piece, i, pieces) => {
    const fin = i === pieces.length - 1;
    return i === 0 ? CLIENT.binary(piece, { fin, rsv: RSV1 }) : CLIENT.continuation(piece, { fin });
  });
}

/**
 * Gives frames to a Receiver of ws or a Decoder, whose handlers call `finish`.
 *
 * @returns {Promise<{ data?: Buffer, closeCode?: number }>} one of both
 */
function receive(reader, handlers, frames) {
  return new Promise((resolve) => {
    handlers.finish = resolve;
    for (const bytes of frames) reader.write(Buffer.from(bytes));
  });
}

/**
 * Whether a message refers to bytes outside of its window. zlib notices that only where it has put
 * something out in between, for ws every 16 KiB, for the Decoder every 64 KiB.
 * `payloads` begins with those that it may refer to.
 */
function isBeyondWindow(payloads, inflated) {
  const input = Buffer.concat(payloads.flatMap((payload) => [payload, TAIL]));
  try {
    const whole = zlib.inflateRawSync(input, { finishFlush: Z_SYNC_FLUSH });
    return inflated !== undefined && whole.subarray(-inflated.length).equals(inflated);
  } catch {
    return false;
  }
}

/**
 * One connection: messages from its server, until one is refused.
 *
 * @type {import('./program').Round}
 */
async function round(random, count) {
  if (random(8) === 0) {
    await runOutOfMemory(random, count);
    return;
  }
  const contextTakeover = random(2) === 0;
  const serverWindowBits = 9 + random(7);
  // 0 is no limit for ws.
  const maxPayload = random(4) === 0 ? 1 + random(5000) : 1e6;
  const threadPoolFrom = [0, 100, 32_768, Infinity][random(4)];
  const options = { contextTakeover, serverWindowBits, threadPoolFrom, threshold: 0, level: random(10) };
  const { server, client } = agree(options);

  const peer = new PerMessageDeflate({ maxPayload });
  peer.params = { server_max_window_bits: serverWindowBits, server_no_context_takeover: !contextTakeover };
  const receiver = new Receiver({ isServer: false, maxPayload, extensions: { 'permessage-deflate': peer } });
  const ofWs = {};
  receiver.on('message', (data) => ofWs.finish({ data }));
  receiver.on('error', (error) => ofWs.finish({ closeCode: error[Object.getOwnPropertySymbols(error)[0]] }));
  const ofDecoder = {};
  const decoder = new Decoder({
    role: 'client',
    deflate: client,
    maxPayload,
    onMessage: (data) => ofDecoder.finish({ data }),
    onError: ({ closeCode }) => ofDecoder.finish({ closeCode })
  });
  const stream = zlib.createDeflateRaw({ windowBits: serverWindowBits, level: random(10), memLevel: 1 + random(9) });
  const encoder = new Encoder({ role: 'server', deflate: server, onDeflated: () => {} });
  const encodes = random(2) === 0;
  const payloads = [];
  try {
    for (let i = 0; i < 12; i++) {
      const data = createData(random);
      let frames;
      let isGood = true;
      if (encodes) {
        encoder.binary(data, random(3) === 0 ? { compress: true } : undefined);
        while (encoder._isDeflating) await new Promise(setImmediate);
        frames = [Buffer.concat(encoder.take())];
      } else {
        const made = await createPayload(random, stream, data, contextTakeover, serverWindowBits);
        // The Decoder takes no payload for an empty message; ws takes the tail for a part of a
        // block.
        if (made.payload.length === 0) return;
        frames = frame(random, made.payload);
        isGood = made.isGood;
        if (!contextTakeover) payloads.length = 0;
        payloads.push(made.payload);
      }
      const [theirs, ours] = await Promise.all([receive(receiver, ofWs, frames), receive(decoder, ofDecoder, frames)]);
      const mayDiffer = !isGood && theirs.closeCode === 1007 && isBeyondWindow(payloads, ours.data);
      const fault = mayDiffer
        ? ''
        : findFault({ theirs, ours, data, isGood, maxPayload, isFragmented: frames.length > 1 });
      if (fault !== '') throw new Finding(`${fault}. ws: ${show(theirs)}, framemask: ${show(ours)}`);
      count(ours.data === undefined ? show(ours) : 'delivered');
      if (ours.data === undefined || theirs.data === undefined) return;
      // Changed bytes that were delivered nevertheless are in no compressor's window.
      if (contextTakeover && !isGood) return;
    }
  } finally {
    decoder.stop();
    peer.cleanup();
    stream.close();
    encoder.close();
  }
}

/** Both ends of a connection, and what each has told. */
class Pair {
  constructor(options) {
    const { server, client } = agree(options);
    this.sent = [];
    this.got = [];
    this.errors = [];
    this.encoder = new Encoder({ role: 'server', deflate: server, onDeflated() {} });
    const onMessage = (data) => this.got.push(data);
    this.decoder = new Decoder({ role: 'client', deflate: client, onMessage, onError: (error) => this.note(error) });
  }

  note(error) {
    const isOfMemory = error.code === 'FRAMEMASK_ERR_NO_MEMORY' && error.closeCode === 1011;
    // Outside of lib/deflate, it is the program's call that fails.
    if (!isOfMemory && !(error instanceof RangeError)) throw new Finding(`without memory: ${error.stack}`);
    this.errors.push(error);
  }

  attempt(act) {
    try {
      act();
    } catch (error) {
      if (error instanceof Finding) throw error;
      this.note(error);
    }
  }

  send(data) {
    this.attempt(() => {
      if (this.encoder.closed) return;
      this.encoder.binary(data);
      this.sent.push(data);
    });
  }

  pass() {
    this.attempt(() => {
      // Not by Buffer.from, which may fail.
      for (const bytes of this.encoder.take()) this.decoder.write(new Uint8Array(bytes));
    });
  }

  get isBusy() {
    return this.encoder._isDeflating || this.decoder.inflating;
  }

  async settle() {
    for (const end = performance.now() + PATIENCE; this.isBusy || this.encoder.pending !== 0; ) {
      if (performance.now() > end) throw new Finding('without memory: something stays pending');
      await new Promise(setImmediate);
      this.pass();
    }
    const { sent, got, errors } = this;
    if (got.length > sent.length || !got.every((data, i) => data.equals(sent[i])))
      throw new Finding('without memory: not what was sent');
    if (got.length < sent.length && errors.length === 0)
      throw new Finding('without memory: a message is lost in silence');
  }
}

/** Connections side by side, some of whose allocations fail. */
async function runOutOfMemory(random, count) {
  const threadPoolFrom = [0, 100, 32_768, Infinity][random(4)];
  const options = { contextTakeover: random(2) === 0, threadPoolFrom, threshold: 0 };
  const pairs = Array.from({ length: 3 }, () => new Pair(options));
  const kinds = Object.keys(failNext);
  for (let i = 0; i < 20; i++) {
    const pair = pairs[random(pairs.length)];
    // Some that stay longer than the output of a run when they are compressed.
    const data = random(4) === 0 ? randomBytes(70_000 + random(70_000)) : createData(random);
    const kind = random(3) === 0 ? kinds[random(kinds.length)] : null;
    const begin = kind === null ? () => () => {} : failNext[kind];
    if (random(3) === 0) {
      while (pair.encoder._isDeflating) await new Promise(setImmediate);
      const restore = begin();
      pair.pass();
      restore();
    } else {
      const restore = begin();
      pair.send(data);
      if (random(2) === 0) await new Promise(setImmediate);
      restore();
    }
    if (kind !== null) count(`without memory: ${kind}`);
  }
  const last = new Pair(options);
  last.send(createData(random));
  for (const pair of [...pairs, last]) {
    await pair.settle();
    count(pair.errors.length === 0 ? 'connection kept' : 'connection lost for memory');
    pair.decoder.stop();
    pair.encoder.stop();
  }
  if (last.errors.length !== 0) throw new Finding('without memory: a later connection fails');
}

/** @returns {string} '' if there is none */
function findFault({ theirs, ours, data, isGood, maxPayload, isFragmented }) {
  const isDelivered = ours.data !== undefined;
  if (isGood && data.length <= maxPayload && !isDelivered && ours.closeCode !== 1009)
    return 'a good message is refused';
  if (isGood && isDelivered && !ours.data.equals(data)) return 'not what was sent';
  if (isDelivered && ours.data.length > maxPayload) return `above maxPayload ${maxPayload}`;
  if (isDelivered !== (theirs.data !== undefined)) {
    // What the next fragments have after a final block: either of both may ignore it, or inflate it
    // from the start (docs/ws.md).
    const isInvalid = theirs.closeCode === 1007 || ours.closeCode === 1007;
    return !isGood && isFragmented && isInvalid ? '' : 'one delivers, the other does not';
  }
  if (isDelivered) return theirs.data.equals(ours.data) || (!isGood && isFragmented) ? '' : 'other data';
  // What is too big and broken further on: whichever is noticed first.
  return theirs.closeCode === ours.closeCode || !isGood ? '' : 'other codes';
}

const show = ({ data, closeCode }) => (data === undefined ? `refused with ${closeCode}` : `${data.length} bytes`);

// After a message that is both too long and wrong, ws may call a callback that finds no stream.
process.on('uncaughtException', (error) => {
  if (!/^\s*at .*ws\/lib\/permessage-deflate\.js/.test(error.stack?.split('\n')[1])) throw error;
});

runProgram('deflate.js', PURPOSE, round);
