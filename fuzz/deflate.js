'use strict';

// Compressed messages, good, cut, changed and made up, through the Decoder beside ws's
// PerMessageDeflate and zlib; and what an Encoder compresses, back through both.

const zlib = require('node:zlib');
const { PerMessageDeflate, Receiver } = require('ws');
const { Decoder, Encoder, acceptDeflate, offerDeflate } = require('../index');
const { framesFor } = require('../test/support/frames');
const { Finding, runProgram } = require('./program');

const PURPOSE = `Makes streams of compressed messages, good and bad, and compares what a Decoder delivers with what
ws's Receiver does, and with zlib. What an Encoder has compressed must come back from both.`;

const { Z_FINISH, Z_FULL_FLUSH, Z_SYNC_FLUSH } = zlib.constants;
const CLIENT = framesFor('client');
const RSV1 = 0x40;
const TAIL = Buffer.from('0000ffff', 'hex');

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

/** Runs zlib's stream over a message, as any compressor may: with blocks and flushes anywhere. */
async function deflateAnyhow(random, stream, data) {
  const chunks = [];
  const collect = (chunk) => chunks.push(chunk);
  stream.on('data', collect);
  let at = 0;
  do {
    const end = random(3) === 0 ? at + random(data.length - at + 1) : data.length;
    stream.write(data.subarray(at, end));
    if (end < data.length && random(2) === 0) stream.flush(random(2) === 0 ? Z_FULL_FLUSH : Z_SYNC_FLUSH);
    at = end;
  } while (at < data.length);
  await new Promise((resolve) => stream.flush(Z_SYNC_FLUSH, resolve));
  stream.off('data', collect);
  return Buffer.concat(chunks).subarray(0, -4);
}

/**
 * @returns {{ payload: Buffer, isGood: boolean }} a payload, and whether it is what the data
 *   compresses to
 */
async function createPayload(random, stream, data, takeover, windowBits) {
  const kind = random(10);
  if (kind === 0) return { payload: createData(random), isGood: false };
  // A block with BFINAL set, and what may follow it.
  if (kind === 1 && !takeover) {
    const final = zlib.deflateRawSync(data, { finishFlush: Z_FINISH, windowBits, level: random(10) });
    return { payload: Buffer.concat([final, Buffer.alloc(random(2))]), isGood: true };
  }
  if (!takeover) stream.reset();
  const payload = data.length === 0 ? Buffer.from([0]) : await deflateAnyhow(random, stream, data);
  if (kind === 2 && payload.length > 1) return { payload: payload.subarray(0, random(payload.length)), isGood: false };
  if (kind === 3) {
    const changed = Buffer.from(payload);
    for (let n = 1 + random(3); n > 0; n--) changed[random(changed.length)] ^= 1 << random(8);
    return { payload: changed, isGood: false };
  }
  return { payload, isGood: true };
}

/** @returns {Buffer[]} the frames of a message */
function frame(random, payload) {
  const frames = [];
  let at = 0;
  for (;;) {
    const end = random(4) === 0 ? at + random(payload.length - at + 1) : payload.length;
    const options = { fin: end === payload.length, rsv: frames.length === 0 ? RSV1 : 0 };
    const piece = payload.subarray(at, end);
    frames.push(frames.length === 0 ? CLIENT.binary(piece, options) : CLIENT.continuation(piece, options));
    if (options.fin) return frames;
    at = end;
  }
}

/**
 * @returns {Promise<{ data: Buffer | null, closeCode: number | null }>} what ws makes of a message
 */
function receiveByWs(receiver, frames) {
  return new Promise((resolve) => {
    const onMessage = (data) => finish({ data, closeCode: null });
    const onError = (error) => {
      const [symbol] = Object.getOwnPropertySymbols(error);
      finish({ data: null, closeCode: error[symbol] });
    };
    const finish = (result) => {
      receiver.off('message', onMessage).off('error', onError);
      resolve(result);
    };
    receiver.on('message', onMessage).on('error', onError);
    for (const bytes of frames) receiver.write(Buffer.from(bytes));
  });
}

/**
 * @returns {Promise<{ data: Buffer | null, closeCode: number | null }>} what the Decoder makes of
 *   it
 */
function receive(decoder, frames) {
  return new Promise((resolve) => {
    decoder.context = resolve;
    for (const bytes of frames) decoder.write(Buffer.from(bytes));
  });
}

/**
 * Whether a message refers to what is outside of its window. zlib notices that only where it has put
 * something out in between, for ws every 16 KiB, for the Decoder every 64 KiB.
 *
 * @param {Buffer[]} payloads it, behind those that it may refer to
 * @param {Buffer | null} inflated what it was inflated to
 */
function isBeyondWindow(payloads, inflated) {
  const input = Buffer.concat(payloads.flatMap((payload) => [payload, TAIL]));
  try {
    const whole = zlib.inflateRawSync(input, { finishFlush: Z_SYNC_FLUSH });
    return inflated !== null && whole.subarray(-inflated.length).equals(inflated);
  } catch {
    return false;
  }
}

/** One connection: messages from its server, until one is refused. */
async function round(random, count) {
  const contextTakeover = random(2) === 0;
  const serverWindowBits = 9 + random(7);
  // 0 is no limit for ws.
  const maxPayload = random(4) === 0 ? 1 + random(5000) : 1e6;
  const threadPoolFrom = [0, 100, 32_768, Infinity][random(4)];
  const options = { contextTakeover, serverWindowBits, threadPoolFrom, threshold: 0, level: random(10) };
  const offer = offerDeflate(options);
  const server = acceptDeflate(offer.header, options);
  const client = offer.readAnswer(server.header);

  const peer = new PerMessageDeflate({ maxPayload });
  peer.params = { server_max_window_bits: serverWindowBits, server_no_context_takeover: !contextTakeover };
  const receiver = new Receiver({ isServer: false, maxPayload, extensions: { 'permessage-deflate': peer } });
  const decoder = new Decoder({
    role: 'client',
    deflate: client,
    maxPayload,
    onMessage: (data) => decoder.context({ data, closeCode: null }),
    onError: (error) => decoder.context({ data: null, closeCode: error.closeCode })
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
      const [theirs, ours] = await Promise.all([receiveByWs(receiver, frames), receive(decoder, frames)]);
      const isFragmented = frames.length > 1;
      const mayDiffer = !isGood && theirs.closeCode === 1007 && isBeyondWindow(payloads, ours.data);
      if (!mayDiffer) compare({ theirs, ours, data, isGood, maxPayload, isFragmented });
      count(ours.data === null ? `refused with ${ours.closeCode}` : 'delivered');
      if (ours.data === null || theirs.data === null) return;
      // What was changed and delivered nevertheless is in no compressor's window.
      if (contextTakeover && !isGood) return;
    }
  } finally {
    decoder.stop();
    peer.cleanup();
    stream.close();
    encoder.close();
  }
}

/** @throws {Finding} */
function compare({ theirs, ours, data, isGood, maxPayload, isFragmented }) {
  const what = `ws: ${show(theirs)}, framemask: ${show(ours)}`;
  if (isGood && data.length <= maxPayload && ours.data === null && ours.closeCode !== 1009)
    throw new Finding(`a good message is refused: ${what}`);
  if (isGood && ours.data !== null && !ours.data.equals(data)) throw new Finding(`not what was sent: ${what}`);
  if (ours.data !== null && ours.data.length > maxPayload) throw new Finding(`above maxPayload ${maxPayload}: ${what}`);
  if (theirs.data === null && ours.data === null) {
    // What is too big and broken further on: whichever is noticed first.
    if (theirs.closeCode !== ours.closeCode && isGood) throw new Finding(`other codes: ${what}`);
    return;
  }
  if (theirs.data !== null && ours.data !== null) {
    if (!theirs.data.equals(ours.data) && (isGood || !isFragmented)) throw new Finding(`other data: ${what}`);
    return;
  }
  // What follows a final block is ignored, in the next fragment, too; ws inflates that from the
  // start.
  if (!isGood && isFragmented && theirs.closeCode === 1007) return;
  throw new Finding(`one delivers, the other does not: ${what}`);
}

const show = ({ data, closeCode }) => (data === null ? `refused with ${closeCode}` : `${data.length} bytes`);

runProgram('deflate.js', PURPOSE, round);
