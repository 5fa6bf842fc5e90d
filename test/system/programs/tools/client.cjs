'use strict';

// Node.js's own WebSocket, a client that is neither ws nor framemask, and the warnings that
// framemask gives meanwhile.

/** The codes of framemask's warnings. */
const warnings = [];
process.on('warning', ({ code }) => {
  if (code?.startsWith('FRAMEMASK')) warnings.push(code);
});

/**
 * Sends a text and bytes to a server that echoes.
 *
 * @returns {Promise<any[]>} the answers, and the close code
 */
function converse(url) {
  return new Promise((resolve, reject) => {
    const received = [];
    const client = new WebSocket(url);
    client.binaryType = 'arraybuffer';
    client.onerror = ({ message }) => reject(new Error(`no connection: ${message}`));
    client.onopen = () => client.send('text');
    client.onmessage = ({ data }) => {
      const isText = typeof data === 'string';
      received.push(isText ? data : data.byteLength);
      if (isText) client.send(Buffer.alloc(100_000, 7));
      else client.close(1000);
    };
    client.onclose = ({ code }) => resolve([...received, code]);
  });
}

module.exports = { converse, warnings };
