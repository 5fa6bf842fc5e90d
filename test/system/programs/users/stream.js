'use strict';

// createWebSocketStream: 250 MB from the client to the server and, at the same time, 250 MB back,
// with hashes of both, and readers that are slow now and then. The memory must stay bounded.

const { createHash } = require('node:crypto');
const { once } = require('node:events');
const { Readable, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { WebSocket, WebSocketServer, createWebSocketStream } = require('ws');

const TOTAL = 250e6;
/** More than all buffers on the way, much less than what goes through. */
const BOUND = 150 * 2 ** 20;
/** Lengths of chunks: less and more than frames, buffers and slabs. */
const LENGTHS = [1, 100, 125, 126, 4096, 16_384, 65_535, 65_536, 100_000, 262_144];

/** Chunks with bytes that repeat at no power of two, which it hashes. */
function* chunks(seed, hash) {
  const pool = Buffer.from(Uint8Array.from({ length: 2 ** 20 + 997 }, (_, i) => (i * 31 + seed + (i >> 8)) % 251));
  for (let i = 0, left = TOTAL; left > 0; i++) {
    const length = Math.min(left, LENGTHS[(i * 7 + seed) % LENGTHS.length]);
    const at = (i * 4099) % (pool.length - length);
    const chunk = pool.subarray(at, at + length);
    hash.update(chunk);
    yield chunk;
    left -= length;
  }
}

/** Reads all of a stream, slowly now and then. @returns {Promise<string>} its hash */
function readAll(duplex) {
  const hash = createHash('md5');
  let bytes = 0;
  let writes = 0;
  return new Promise((resolve) => {
    const sink = new Writable({
      write(chunk, _encoding, callback) {
        hash.update(chunk);
        bytes += chunk.length;
        if (bytes === TOTAL) resolve(hash.digest('hex'));
        if (writes++ % 1000 === 999) setTimeout(callback, 5);
        else callback();
      }
    });
    duplex.pipe(sink);
  });
}

/**
 * Sends on a stream and reads what comes. It is not ended: that would close the connection, in both
 * directions.
 */
async function exchange(duplex, seed) {
  const received = readAll(duplex);
  const hash = createHash('md5');
  await pipeline(Readable.from(chunks(seed, hash), { objectMode: false }), duplex, { end: false });
  return { sent: hash.digest('hex'), received: await received };
}

async function main() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const connection = once(server, 'connection');
  const client = createWebSocketStream(new WebSocket(`ws://127.0.0.1:${server.address().port}`));
  const [socket] = await connection;
  const incoming = createWebSocketStream(socket);
  let most = 0;
  const timer = setInterval(() => {
    const { heapUsed, external } = process.memoryUsage();
    most = Math.max(most, heapUsed + external);
  }, 50);
  const [there, back] = await Promise.all([exchange(client, 1), exchange(incoming, 2)]);
  clearInterval(timer);
  // Ending one side ends the other.
  const end = Promise.all([once(incoming, 'end'), once(socket, 'close'), once(client, 'close')]);
  client.end();
  const [, [code]] = await end;
  const same = there.sent === back.received && back.sent === there.received;
  const result = { same, hashes: [there.sent, back.sent], bounded: most < BOUND, code };
  console.log(JSON.stringify(result));
  server.close();
}

main();
