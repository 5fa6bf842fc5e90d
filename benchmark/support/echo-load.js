'use strict';

// The client process that echo.js and ws.js fork. It sends messages to an echo server and counts
// the answers.

const { constants, deflateRawSync } = require('node:zlib');

const { TEXT, asciiPayload, maskedFrame, unmaskedFrame } = require('./messages');
const { connect } = require('./raw-client');

/** The bit of a frame's first byte that permessage-deflate sets. */
const DEFLATED = 0x40;

/**
 * Compares the first reply with what it must be. Of the others, only the bytes are counted.
 *
 * @param {Buffer} reply
 * @returns {(length: number, bytes: Buffer) => boolean} takes what was read, and returns whether
 *   the reply is complete
 */
function countBytes(reply) {
  let left = reply.length;
  let sample = Buffer.alloc(0);
  return (length, bytes) => {
    if (sample !== null) sample = Buffer.concat([sample, bytes.subarray(0, length)]);
    left -= length;
    if (left > 0) return false;
    if (left < 0 || (sample !== null && !sample.equals(reply))) throw new Error('The echo is not what was sent');
    sample = null;
    left = reply.length;
    return true;
  };
}

/**
 * Counts frames, whose length depends on the frames before, because they are compressed.
 *
 * @param {number} frames in a reply
 * @returns {(length: number, bytes: Buffer) => boolean} as countBytes
 */
function countFrames(frames) {
  let left = frames;
  let rest = Buffer.alloc(0);
  return (length, bytes) => {
    // A copy, because the memory is read into again.
    let at = 0;
    rest = Buffer.concat([rest, bytes.subarray(0, length)]);
    while (rest.length >= at + 4) {
      if (rest[at] !== (DEFLATED | TEXT) || rest[at + 1] > 126) throw new Error('The echo is no compressed text');
      const size = rest[at + 1] === 126 ? 4 + rest.readUInt16BE(at + 2) : 2 + rest[at + 1];
      if (rest.length < at + size) break;
      at += size;
      left--;
    }
    rest = rest.subarray(at);
    if (left > 0) return false;
    left = frames;
    return true;
  };
}

/**
 * Sends batches on one connection until `clock.ended`, each after the one before has come back.
 *
 * @param {number} port
 * @param {{ batch: Buffer, messages: number, deflate: boolean,
 *   createCount: () => ReturnType<typeof countBytes> }} work
 * @param {{ started: number, ended: number, messages: number, total: number }} clock
 */
async function runConnection(port, { batch, messages, deflate, createCount }, clock) {
  const count = createCount();
  let finish;
  const finished = new Promise((resolve, reject) => {
    finish = { resolve, reject };
  });
  const onBytes = (length, bytes) => {
    try {
      if (!count(length, bytes)) return;
    } catch (error) {
      finish.reject(error);
      return;
    }
    const now = performance.now();
    clock.total += messages;
    if (now >= clock.ended) {
      finish.resolve();
      return;
    }
    if (now >= clock.started) clock.messages += messages;
    socket.write(batch);
  };
  const socket = await connect(port, onBytes, deflate);
  socket.write(batch);
  await finished;
  socket.destroy();
}

/** @returns {Promise<{ rate: number, total: number }>} messages a second, and with the warm-up */
async function run({ port, connections, pipelined, first, size, milliseconds, deflate = false }) {
  const repeat = (frame) => Buffer.concat(Array(pipelined).fill(frame));
  const payload = asciiPayload(size);
  const work = { messages: pipelined, deflate };
  if (deflate) {
    // Refers to nothing before it, so that it can be sent again and again.
    const compressed = deflateRawSync(payload, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
    work.batch = repeat(maskedFrame(first | DEFLATED, compressed));
    work.createCount = () => countFrames(pipelined);
  } else {
    const reply = repeat(unmaskedFrame(first, payload));
    work.batch = repeat(maskedFrame(first, payload));
    work.createCount = () => countBytes(reply);
  }
  // The first third only warms up both sides.
  const started = performance.now() + milliseconds / 3;
  const clock = { started, ended: started + milliseconds, messages: 0, total: 0 };
  await Promise.all(Array.from({ length: connections }, () => runConnection(port, work, clock)));
  // On a busy machine a short turn may end before the first large message is back.
  const { messages, total } = clock;
  const rate = messages > 0 ? messages / milliseconds : total / (performance.now() - started);
  return { rate: rate * 1000, total };
}

process.on('message', async (load) => {
  try {
    process.send(await run(load));
  } catch (error) {
    process.send({ error: error.message });
  }
});
