'use strict';

/**
 * Records the bytes that a socket sends and receives.
 *
 * @param {import('node:net').Socket} socket
 * @returns {{ takeSent: () => Buffer, takeReceived: () => Buffer }} each returns the bytes since
 *   its last call
 */
function tapSocket(socket) {
  const sent = [];
  const received = [];
  const { write } = socket;
  socket.write = function (chunk, ...others) {
    // Copied, because the writer may reuse the memory.
    sent.push(Buffer.from(chunk));
    return write.call(this, chunk, ...others);
  };
  // Runs before the listener of ws, which unmasks in place.
  socket.prependListener('data', (chunk) => received.push(Buffer.from(chunk)));
  const take = (chunks) => Buffer.concat(chunks.splice(0));
  return { takeSent: () => take(sent), takeReceived: () => take(received) };
}

/**
 * Splits a frame into its parts (RFC 6455 section 5.2).
 *
 * @param {Buffer} bytes
 * @returns {{ header: Buffer, key: Buffer, payload: Buffer }} `header` excludes the key, which
 *   is empty in a server's frame
 */
function readFrame(bytes) {
  const lengthSize = { 126: 2, 127: 8 }[bytes[1] & 0x7f] ?? 0;
  const keyAt = 2 + lengthSize;
  const payloadAt = keyAt + (bytes[1] & 0x80 ? 4 : 0);
  return {
    header: bytes.subarray(0, keyAt),
    key: bytes.subarray(keyAt, payloadAt),
    payload: bytes.subarray(payloadAt)
  };
}

module.exports = { readFrame, tapSocket };
