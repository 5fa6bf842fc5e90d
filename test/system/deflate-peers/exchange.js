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

/** One connection: all messages are sent at once, and must come back in their order. */
class Exchange {
  constructor(isShort) {
    this._messages = createMessages(isShort);
    this._count = 0;
    this._result = null;
    this._connection = null;
    this.done = new Promise((resolve, reject) => {
      this._resolve = resolve;
      this._reject = reject;
    });
    this._timer = setTimeout(() => this.fail(new Error(`${this._count} messages came back in time`)), TIMEOUT);
  }

  begin(connection) {
    this._connection = connection;
    for (const { data, isBinary } of this._messages) connection.send(data, isBinary);
  }

  onMessage(connection, data, isBinary) {
    // A client says that it is there.
    if (this._connection === null) {
      this.begin(connection);
      return;
    }
    try {
      const sent = this._messages[this._count++];
      assert.equal(isBinary, sent.isBinary);
      assert.ok(Buffer.from(sent.data).equals(data), `message ${this._count} of ${sent.data.length} came back changed`);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (this._count < this._messages.length) return;
    const bytes = this._messages.reduce((sum, message) => sum + Buffer.byteLength(message.data), 0);
    this._result = { agreed: connection.agreed, count: this._count, bytes, received: connection.received() };
    connection.close();
  }

  onClose(code, error) {
    clearTimeout(this._timer);
    if (code === 1000 && error === null && this._result !== null) this._resolve(this._result);
    else this._reject(error ?? new Error(`closed with ${code} after ${this._count} messages`));
  }

  fail(error) {
    clearTimeout(this._timer);
    this._reject(error);
  }
}

/**
 * @param {{ agreed: string, bytes: number, received: number }} result of an exchange
 * @param {{ takeover: boolean, bits: number }} wanted
 * @throws {Error} if something else was agreed on, or the messages did not come back compressed
 */
function judge({ agreed, bytes, received }, { takeover, bits }) {
  assert.match(agreed, /^permessage-deflate/);
  for (const end of ['server', 'client']) {
    assert.equal(agreed.includes(`${end}_no_context_takeover`), !takeover, `${end}_no_context_takeover in ${agreed}`);
    if (bits < 15) assert.match(agreed, new RegExp(`${end}_max_window_bits=${bits}(;|$)`));
  }
  assert.ok(received < bytes / 2, `${received} bytes came back of ${bytes}`);
}

module.exports = { Exchange, judge };
