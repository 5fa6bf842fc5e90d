'use strict';

// What is sent to a peer that echoes, and the judgement of what comes back.

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');
const { on, once } = require('node:events');

/** The peer has so many milliseconds to send everything back. */
const TIMEOUT = 60_000;

/** @returns {string} records of JSON with so many bytes, which shrink */
function json(length, seed) {
  let text = '';
  for (let id = seed; text.length < length; id++)
    text += `{"id":${id},"name":"user ${id * 7919}","on":${id % 3 === 0}},`;
  return text.slice(0, length);
}

/**
 * Messages on both sides of each limit: nothing, a header's lengths, 32 KiB, from which on messages
 * are compressed in the thread pool, and 128 KiB, from which on they are inflated there. One does
 * not shrink.
 *
 * @param {boolean} isShort whether the longest are left out
 */
function createMessages(isShort) {
  const lengths = [0, 1, 125, 126, 1000, 1000, 5000, 33_000, 40_000, 65_535, 65_536];
  if (!isShort) lengths.push(131_073, 200_000, 1_000_000);
  const messages = lengths.flatMap((length, i) => [json(length, i), Buffer.from(json(length, i + 3))]);
  messages.push('é世🜂'.repeat(5000), randomBytes(20_000));
  // Small ones after large ones, which they may refer to.
  for (let i = 0; i < 20; i++) messages.push(json(200, i));
  return messages;
}

/**
 * Sends all messages at once, compares those that come back, and closes.
 *
 * @param {import('./ours').Tested} connection
 */
async function exchange(connection, { takeover, bits, isServer }) {
  // The longest messages once for each window is enough.
  const messages = createMessages(bits !== 15);
  const bytes = messages.reduce((sum, data) => sum + Buffer.byteLength(data), 0);
  const signal = AbortSignal.timeout(TIMEOUT);
  const echoes = on(connection, 'message', { signal, close: ['close'] });
  const closed = once(connection, 'close', { signal });
  closed.catch(() => {});
  // A client says that it is there.
  if (isServer) await echoes.next();
  for (const data of messages) connection.send(data, typeof data !== 'string');
  for (const [i, data] of messages.entries()) {
    const { value: [echo, isBinary] = [] } = await echoes.next();
    const same = isBinary === (typeof data !== 'string') && Buffer.from(data).equals(echo);
    assert.ok(same, `message ${i} of ${messages.length}, of ${data.length}: came back changed, or not`);
  }
  const { agreed, received } = connection;
  assert.match(agreed, /^permessage-deflate/);
  for (const end of ['server', 'client']) {
    assert.equal(agreed.includes(`${end}_no_context_takeover`), !takeover, `${end}_no_context_takeover in ${agreed}`);
    if (bits < 15) assert.match(agreed, new RegExp(`${end}_max_window_bits=${bits}(;|$)`));
  }
  assert.ok(received < bytes / 2, `${received} bytes came back of ${bytes}`);
  connection.close();
  assert.equal((await closed)[0], 1000, 'the close code');
  return { count: messages.length, bytes, received };
}

module.exports = { exchange };
