'use strict';

/**
 * Listens to what a socket sends and receives, byte for byte.
 *
 * @param {import('node:net').Socket} socket
 * @returns {{ takeSent: () => Buffer, takeReceived: () => Buffer }} each gives what has come since it was last asked
 */
function tapSocket(socket) {
  let sent = [];
  let received = [];
  const { write } = socket;
  socket.write = function (chunk, ...others) {
    // A copy: whoever wrote it may use the memory again.
    sent.push(Buffer.from(chunk));
    return write.call(this, chunk, ...others);
  };
  // Before ws, which unmasks in place.
  socket.prependListener('data', (chunk) => received.push(Buffer.from(chunk)));
  return {
    takeSent() {
      const bytes = Buffer.concat(sent);
      sent = [];
      return bytes;
    },
    takeReceived() {
      const bytes = Buffer.concat(received);
      received = [];
      return bytes;
    }
  };
}

/**
 * Takes a frame to pieces (RFC 6455 section 5.2).
 *
 * @param {Buffer} bytes
 * @returns {{ header: Buffer, key: Buffer, payload: Buffer }} `header` without the key, which a server's frames lack
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
