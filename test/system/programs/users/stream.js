'use strict';

// createWebSocketStream: 250 MB from the client to the server and, at the same time, 250 MB back, with
// pipeline, hashes of both, and a reader that is slow now and then. The memory must stay bounded.

const { createHash } = require('node:crypto');
const { once } = require('node:events');
const { Readable, Transform, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { WebSocket, WebSocketServer, createWebSocketStream } = require('ws');

const TOTAL = 250e6;
/** More than all buffers on the way, much less than what goes through. */
const BOUND = 150 * 2 ** 20;
/** Lengths of chunks: less and more than frames, buffers and slabs. */
const LENGTHS = [1, 100, 125, 126, 4096, 16_384, 65_535, 65_536, 100_000, 262_144];

/** Chunks with bytes that repeat at no power of two. */
function* chunks(seed) {
  const pool = Buffer.from(Uint8Array.from({ length: 2 ** 20 + 997 }, (_, i) => (i * 31 + seed + (i >> 8)) % 251));
  for (let i = 0, left = TOTAL; left > 0; i++) {
    const length = Math.min(left, LENGTHS[(i * 7 + seed) % LENGTHS.length]);
    const at = (i * 4099) % (pool.length - length);
    yield pool.subarray(at, at + length);
    left -= length;
  }
}

/** Hashes what passes. */
function hashing() {
  const hash = createHash('md5');
  const through = new Transform({
    transform(chunk, _encoding, callback) {
      hash.update(chunk);
      callback(null, chunk);
    }
  });
  return { through, digest: () => hash.digest('hex') };
}

/** A reader that is slow now and then; `done` gives the hash when all has come. */
function slowReader() {
  const hash = createHash('md5');
  let bytes = 0;
  let writes = 0;
  let resolve;
  const done = new Promise((callback) => {
    resolve = callback;
  });
  const sink = new Writable({
    write(chunk, _encoding, callback) {
      hash.update(chunk);
      bytes += chunk.length;
      if (bytes === TOTAL) resolve(hash.digest('hex'));
      if (writes++ % 1000 === 999) setTimeout(callback, 5);
      else callback();
    }
  });
  return { sink, done, bytes: () => bytes };
}

/**
 * Sends on a stream and reads what comes. It is not ended: that would close the connection, in both
 * directions.
 */
async function exchange(duplex, seed) {
  const { through, digest } = hashing();
  const { sink, done, bytes } = slowReader();
  duplex.pipe(sink);
  await pipeline(Readable.from(chunks(seed), { objectMode: false }), through, duplex, { end: false });
  return { sent: digest(), received: await done, bytes: bytes() };
}

/** @returns {() => number} the most memory outside and in the heap, until it is called */
function watchMemory() {
  let most = 0;
  const timer = setInterval(() => {
    const { heapUsed, external } = process.memoryUsage();
    most = Math.max(most, heapUsed + external);
  }, 50);
  return () => {
    clearInterval(timer);
    return most;
  };
}

async function main() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${server.address().port}`;
  const connection = once(server, 'connection');
  const client = createWebSocketStream(new WebSocket(url));
  const [socket] = await connection;

  const memory = watchMemory();
  const incoming = createWebSocketStream(socket);
  const [there, back] = await Promise.all([exchange(client, 1), exchange(incoming, 2)]);
  const most = memory();
  console.error(`memory: ${(most / 2 ** 20).toFixed(0)} MiB at most`);
  // Ending one side ends the other.
  const end = Promise.all([once(incoming, 'end'), once(socket, 'close'), once(client, 'close')]);
  client.end();
  const [, [code]] = await end;
  const result = {
    there: there.sent === back.received,
    back: back.sent === there.received,
    hashes: [there.sent, back.sent],
    bytes: [there.bytes, back.bytes],
    bounded: most < BOUND,
    code
  };
  console.log(JSON.stringify(result));
  server.close();
}

main();
