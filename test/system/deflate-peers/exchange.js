'use strict';

// What is sent to a peer that echoes, and the judgement of what comes back.

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');

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
  const messages = lengths.flatMap((length, i) => [
    { data: json(length, i), isBinary: false },
    { data: Buffer.from(json(length, i + 3)), isBinary: true }
  ]);
  messages.push({ data: 'é世🜂'.repeat(5000), isBinary: false }, { data: randomBytes(20_000), isBinary: true });
  // Small ones after large ones, which they may refer to.
  for (let i = 0; i < 20; i++) messages.push({ data: json(200, i), isBinary: false });
  return messages;
}

/**
 * One connection: all messages are sent at once, and must come back in their order.
 *
 * @param {boolean} isShort
 * @param {{ takeover: boolean, bits: number }} wanted
 * @returns {object} what an end calls, and `done`, a promise of the counts
 */
function createExchange(isShort, wanted) {
  const messages = createMessages(isShort);
  const bytes = messages.reduce((sum, { data }) => sum + Buffer.byteLength(data), 0);
  let count = 0;
  let result = null;
  let begun = false;
  let resolve;
  let fail;
  const done = new Promise((...functions) => {
    [resolve, fail] = functions;
  });
  const timer = setTimeout(() => fail(new Error(`${count} messages came back in time`)), TIMEOUT);
  function begin(connection) {
    begun = true;
    for (const { data, isBinary } of messages) connection.send(data, isBinary);
  }
  return {
    done: done.finally(() => clearTimeout(timer)),
    fail,
    begin,
    onMessage(connection, data, isBinary) {
      // A client says that it is there.
      if (!begun) return begin(connection);
      const sent = messages[count++];
      if (isBinary !== sent.isBinary || !Buffer.from(sent.data).equals(data))
        return fail(new Error(`message ${count} of ${sent.data.length} came back changed`));
      if (count < messages.length) return;
      try {
        result = { count, bytes, received: connection.received() };
        judge(connection.agreed, result, wanted);
        connection.close();
      } catch (error) {
        fail(error);
      }
    },
    onClose(code, error) {
      if (code === 1000 && error === null && result !== null) resolve(result);
      else fail(error ?? new Error(`closed with ${code} after ${count} messages`));
    }
  };
}

/** @throws {Error} if something else was agreed on, or the messages did not come back compressed */
function judge(agreed, { bytes, received }, { takeover, bits }) {
  assert.match(agreed, /^permessage-deflate/);
  for (const end of ['server', 'client']) {
    assert.equal(agreed.includes(`${end}_no_context_takeover`), !takeover, `${end}_no_context_takeover in ${agreed}`);
    if (bits < 15) assert.match(agreed, new RegExp(`${end}_max_window_bits=${bits}(;|$)`));
  }
  assert.ok(received < bytes / 2, `${received} bytes came back of ${bytes}`);
}

module.exports = { createExchange };
