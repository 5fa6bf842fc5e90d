'use strict';

const { createHash } = require('node:crypto');
const path = require('node:path');
const { Duplex } = require('node:stream');
const zlib = require('node:zlib');

const { BINARY, TEXT, asciiPayload, maskedFrame } = require('./messages');
const { requireAnew } = require('./modules');

const RSV1 = 0x40;
const FIN = 0x80;
const JSON_KIB = Buffer.from(JSON.stringify(Array.from({ length: 40 }, (_, id) => ({ id, user: `user ${id * 7}` }))));

/** The frames of one message: `fragments` of them. */
function messageFrames(first, payload, fragments) {
  const step = Math.ceil(payload.length / fragments);
  return Array.from({ length: fragments }, (_, i) => {
    const frame = maskedFrame(first, payload.subarray(i * step, (i + 1) * step));
    frame[0] = (i === 0 ? first & ~FIN : 0) | (i === fragments - 1 ? FIN : 0);
    return frame;
  });
}

function deflated(payload) {
  return zlib.deflateRawSync(payload, { finishFlush: zlib.constants.Z_SYNC_FLUSH }).subarray(0, -4);
}

/** A connection of framemask/ws over a stream in memory, after its handshake. */
function connect({ WebSocketServer }, perMessageDeflate) {
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done(), writev: (_all, done) => done() });
  socket.setTimeout = socket.setNoDelay = () => socket;
  const key = createHash('sha1').update('key').digest().subarray(0, 16).toString('base64');
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': key,
    'sec-websocket-version': '13',
    ...(perMessageDeflate && { 'sec-websocket-extensions': 'permessage-deflate' })
  };
  const server = new WebSocketServer({ noServer: true, perMessageDeflate });
  let websocket;
  server.handleUpgrade({ method: 'GET', headers, url: '/' }, socket, Buffer.alloc(0), (opened) => {
    websocket = opened;
  });
  return { socket, websocket };
}

/** The candidate: framemask/ws of a checkout. */
const ofFramemask = (_framemask, root) => requireAnew(path.join(root, 'ws.js'), path.join(root, 'lib'));

/** A server that echoes `count` messages; they come in chunks. */
function row(name, count, chunks, perMessageDeflate = false) {
  const create = () => {
    const loop = (who, framemaskWs) => {
      const { socket, websocket } = connect(framemaskWs, perMessageDeflate);
      let left = 0;
      let done = null;
      websocket.on('error', (error) => {
        throw new Error(`${who} failed: ${error.message}`);
      });
      websocket.on('message', (data, isBinary) => {
        websocket.send(data, { binary: isBinary });
        if (--left === 0) done?.();
      });
      // A payload is unmasked where it lies, so each call has chunks of its own.
      const call = () => {
        left = count;
        for (const chunk of chunks) socket.emit('data', Buffer.from(chunk));
      };
      // Some compressed messages are inflated in the thread pool.
      const callInTurns = async (calls) => {
        for (let i = 0; i < calls; i++) {
          call();
          if (left > 0) await new Promise((resolve) => (done = resolve));
        }
      };
      const callAtOnce = (calls) => {
        for (let i = 0; i < calls; i++) call();
        if (left > 0) throw new Error(`${who} lacks ${left} of ${count} messages`);
      };
      return perMessageDeflate === false ? callAtOnce : callInTurns;
    };
    return { count, bytes: chunks.reduce((sum, { length }) => sum + length, 0) / count, loop };
  };
  return { name, create };
}

const inOneChunk = (count, frames) => [Buffer.concat(Array.from({ length: count }, () => frames).flat())];
const compressed = deflated(JSON_KIB);
// Without context takeover, each message can be repeated.
const NO_TAKEOVER = { clientNoContextTakeover: true, serverNoContextTakeover: true, threshold: 0 };

const ROWS = [
  row('800 × 64 B', 800, inOneChunk(800, messageFrames(BINARY, asciiPayload(64), 1))),
  row('50 × 1 KiB', 50, inOneChunk(50, messageFrames(TEXT, JSON_KIB, 1))),
  row('1 × 64 B', 1, inOneChunk(1, messageFrames(BINARY, asciiPayload(64), 1))),
  row('20 × 1 KiB in 3 fragments', 20, inOneChunk(20, messageFrames(TEXT, JSON_KIB, 3))),
  row('5 × 1 KiB, compressed', 5, inOneChunk(5, messageFrames(TEXT | RSV1, compressed, 1)), NO_TAKEOVER),
  row('5 × 1 KiB, compressed, in 3 fragments', 5, inOneChunk(5, messageFrames(TEXT | RSV1, compressed, 3)), NO_TAKEOVER)
];

module.exports = { ROWS, ofFramemask };
