'use strict';

const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const { WebSocket } = require('ws');

const MESSAGE = 'x'.repeat(64);
/** Milliseconds between two messages. */
const PAUSE = 2;

/**
 * Sends messages to an echo server, one after the other, and measures how long each echo takes.
 *
 * @param {number} port
 * @param {number} seconds
 * @param {number} timeout milliseconds that an echo may take
 * @returns {Promise<{ milliseconds: number[], late: boolean }>} `late` if one took longer; then
 *   there are no more
 */
async function probe(port, seconds, timeout) {
  const milliseconds = [];
  const signal = AbortSignal.timeout(seconds * 1000 + timeout);
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  client.on('error', () => {});
  try {
    await once(client, 'open', { signal });
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
      const start = performance.now();
      client.send(MESSAGE);
      await once(client, 'message', { signal: AbortSignal.timeout(timeout) });
      milliseconds.push(performance.now() - start);
      await sleep(PAUSE);
    }
    return { milliseconds, late: false };
  } catch {
    return { milliseconds, late: true };
  } finally {
    client.terminate();
  }
}

/** @param {number[]} values @returns {number} the 99th percentile */
function percentile99(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))];
}

module.exports = { percentile99, probe };
