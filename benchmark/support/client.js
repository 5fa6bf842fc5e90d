'use strict';

// The client process of the benchmarks of servers. It does what it is told by messages, each of
// which it answers: see TASKS.

const { once } = require('node:events');
const net = require('node:net');
const { constants, deflateRawSync } = require('node:zlib');

const { BINARY, TEXT, asciiPayload, jsonPayloads, maskedFrame, unmaskedFrame } = require('./messages');
const { processorTime, watchMemory } = require('./process-use');
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
 * Measures a part of a turn: from the first reply after the warm-up to the first one after the time
 * is over. So whole batches are counted, however long one takes.
 *
 * @param {number} pid of the server
 * @param {number} milliseconds how long it takes; the warm-up of both sides, a third of it, comes
 *   before
 */
function createClock(pid, milliseconds) {
  const warm = performance.now() + milliseconds / 3;
  let messages = 0;
  let start = null;
  let end = null;
  let readMost;
  const readUse = () => {
    const { user, system } = process.cpuUsage();
    return { server: processorTime(pid), client: user + system };
  };
  return {
    /** @returns {boolean} whether the turn is over */
    add(count) {
      messages += count;
      const now = performance.now();
      // Reading is slow without /proc; it is no part of the time.
      if (start === null && now >= warm) {
        readMost = watchMemory(pid);
        start = { messages, ...readUse(), time: performance.now() };
      } else if (start !== null && end === null && now - start.time >= milliseconds) {
        end = { messages, time: now, ...readUse(), resident: readMost() };
      }
      return end !== null;
    },
    /** @returns {import('./servers').Turn} */
    get turn() {
      const [count, time, server, client] = ['messages', 'time', 'server', 'client'].map(
        (key) => end[key] - start[key]
      );
      return {
        rate: (count / time) * 1000,
        cost: server / count,
        serverShare: server / (time * 1000),
        clientShare: client / (time * 1000),
        resident: end.resident
      };
    }
  };
}

/**
 * Sends batches on one connection until the turn is over, each after the one before has come back.
 *
 * @param {{ batch: Buffer, messages: number, createCount: () => ReturnType<typeof countBytes> }}
 *   work
 * @param {ReturnType<typeof createClock>} clock
 * @param {(onBytes: (length: number, bytes: Buffer) => void) => Promise<import('node:net').Socket>}
 *   open
 */
async function runConnection({ batch, messages, createCount }, clock, open) {
  const count = createCount();
  let finish;
  const finished = new Promise((resolve, reject) => {
    finish = { resolve, reject };
  });
  const socket = await open((length, bytes) => {
    try {
      if (!count(length, bytes)) return;
    } catch (error) {
      finish.reject(error);
      return;
    }
    if (clock.add(messages)) finish.resolve();
    else socket.write(batch);
  });
  socket.on('close', () => finish.reject(new Error('The server closed the connection')));
  socket.write(batch);
  await finished;
  socket.destroy();
}

/**
 * @param {object} load
 * @param {number} load.port
 * @param {number} load.pid of the server
 * @param {number} load.connections
 * @param {number} load.pipelined how many messages a batch has
 * @param {number} load.size bytes of a message
 * @param {number} load.first the first byte of a frame
 * @param {number} load.milliseconds
 * @param {boolean} [load.deflate] whether messages are compressed
 * @param {boolean} [load.tls]
 * @param {boolean} [load.bare] whether the server sends back the very bytes that it got
 * @param {boolean} [load.upload] whether a batch ends with a short text, which alone is sent back
 * @returns {Promise<import('./servers').Turn>}
 */
async function putLoad(load) {
  const { port, pid, connections, pipelined, size, first, milliseconds, deflate, tls, bare, upload } = load;
  const repeat = (frame) => Buffer.concat(Array(pipelined).fill(frame));
  const payload = deflate ? jsonPayloads(size, 1)[0] : asciiPayload(size);
  const work = { messages: pipelined };
  if (deflate) {
    // Refers to nothing before it, so that it can be sent again and again.
    const compressed = deflateRawSync(payload, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
    work.batch = repeat(maskedFrame(first | DEFLATED, compressed));
    work.createCount = () => countFrames(pipelined);
  } else if (upload) {
    const end = asciiPayload(2);
    work.batch = Buffer.concat([repeat(maskedFrame(BINARY, payload)), maskedFrame(TEXT, end)]);
    const reply = unmaskedFrame(TEXT, end);
    work.createCount = () => countBytes(reply);
  } else {
    work.batch = repeat(maskedFrame(first, payload));
    const reply = bare ? work.batch : repeat(unmaskedFrame(first, payload));
    work.createCount = () => countBytes(reply);
  }
  const clock = createClock(pid, milliseconds);
  const open = (onBytes) => connect(port, onBytes, { deflate, tls });
  await Promise.all(Array.from({ length: connections }, () => runConnection(work, clock, open)));
  return clock.turn;
}

/** Connections that stay open. */
const sockets = [];
let onReply = () => {};

/** Opens connections. */
async function open({ port, count }) {
  for (let i = 0; i < count; i++) sockets.push(await connect(port, () => onReply()));
}

/** Sends a message on each of the open connections, and ends when each has its answer. */
function echo() {
  const frame = maskedFrame(TEXT, asciiPayload(64));
  let left = sockets.length;
  return new Promise((resolve) => {
    onReply = () => {
      if (--left === 0) resolve();
    };
    for (const socket of sockets) socket.write(frame);
  });
}

let expected = Number.POSITIVE_INFINITY;
let missing = expected;

/** Opens connections that read everything, and tell the server when the expected bytes have arrived. */
async function drain({ port, controlPort, clients }) {
  const control = net.connect(controlPort, '127.0.0.1');
  await once(control, 'connect');
  const onBytes = (length) => {
    missing -= length;
    if (missing > 0) return;
    missing += expected;
    control.write('.');
  };
  for (let i = 0; i < clients; i++) await connect(port, onBytes);
}

/** Says how many bytes a broadcast brings to all connections of `drain`. */
function expect({ bytes }) {
  expected = bytes;
  missing = bytes;
}

const TASKS = { putLoad, open, echo, drain, expect };

process.on('message', async ({ task, ...what }) => {
  try {
    process.send({ result: (await TASKS[task](what)) ?? null });
  } catch (error) {
    process.send({ error: error.message });
  }
});
