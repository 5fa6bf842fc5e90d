'use strict';

// The client process that echo.js forks. It sends messages to an echo server and counts the
// answers.

const { asciiPayload, maskedFrame, unmaskedFrame } = require('./messages');
const { connect } = require('./raw-client');

/**
 * Sends batches on one connection until `clock.ended`, each after the one before has come back.
 *
 * @param {number} port
 * @param {{ batch: Buffer, reply: Buffer, messages: number }} work
 * @param {{ started: number, ended: number, messages: number }} clock
 */
async function runConnection(port, { batch, reply, messages }, clock) {
  let left = reply.length;
  // The first reply is compared byte by byte; of the others, only the bytes are counted.
  let sample = Buffer.alloc(0);
  let finish;
  const finished = new Promise((resolve, reject) => {
    finish = { resolve, reject };
  });
  const socket = await connect(port, (length, bytes) => {
    if (sample !== null) sample = Buffer.concat([sample, bytes.subarray(0, length)]);
    left -= length;
    if (left > 0) return;
    if (left < 0 || (sample !== null && !sample.equals(reply))) {
      finish.reject(new Error('The echo is not what was sent'));
      return;
    }
    sample = null;
    const now = performance.now();
    if (now >= clock.ended) {
      finish.resolve();
      return;
    }
    if (now >= clock.started) clock.messages += messages;
    left = reply.length;
    socket.write(batch);
  });
  socket.write(batch);
  await finished;
  socket.destroy();
}

/** @returns {Promise<number>} messages a second */
async function run({ port, connections, pipelined, first, size, milliseconds }) {
  const repeat = (frame) => Buffer.concat(Array(pipelined).fill(frame));
  const payload = asciiPayload(size);
  const work = {
    batch: repeat(maskedFrame(first, payload)),
    reply: repeat(unmaskedFrame(first, payload)),
    messages: pipelined
  };
  // The first third only warms up both sides.
  const started = performance.now() + milliseconds / 3;
  const clock = { started, ended: started + milliseconds, messages: 0 };
  await Promise.all(Array.from({ length: connections }, () => runConnection(port, work, clock)));
  return (clock.messages / milliseconds) * 1000;
}

process.on('message', async (load) => {
  try {
    process.send({ rate: await run(load) });
  } catch (error) {
    process.send({ error: error.message });
  }
});
