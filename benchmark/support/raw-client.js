'use strict';

const net = require('node:net');
const secure = require('node:tls');

const REQUEST =
  'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

// All connections read into the same memory, because bytes are used before the next read.
const memory = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * Opens a WebSocket connection at the least cost in Node.js: the caller reads and writes raw
 * frames.
 *
 * @param {number} port
 * @param {(length: number, bytes: Buffer) => void} onBytes
 * @param {object} [options]
 * @param {boolean} [options.deflate] whether permessage-deflate is asked for, and must be granted
 * @param {boolean} [options.tls] the server's certificate is not checked
 * @returns {Promise<net.Socket>} once the handshake is done
 */
function connect(port, onBytes, { deflate = false, tls = false } = {}) {
  return new Promise((resolve, reject) => {
    let response = '';
    const socket = (tls ? secure : net).connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      rejectUnauthorized: false,
      onread: {
        buffer: memory,
        callback(length, bytes) {
          if (response === null) {
            onBytes(length, bytes);
            return true;
          }
          response += bytes.latin1Slice(0, length);
          if (!response.endsWith('\r\n\r\n')) return true;
          const granted = response.includes('permessage-deflate') === deflate;
          if (response.startsWith('HTTP/1.1 101 ') && granted) resolve(socket);
          else reject(new Error(`the handshake failed: ${response}`));
          response = null;
          return true;
        }
      }
    });
    socket.on('error', reject);
    socket.write(`${REQUEST}${deflate ? 'Sec-WebSocket-Extensions: permessage-deflate\r\n' : ''}\r\n`);
  });
}

module.exports = { connect };
