'use strict';

// A conversation of a server and its clients, and notes of it for the check, which each project of
// this folder uses. It takes ws or framemask/ws from its caller, whose tool has loaded it.

const { createHash } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');

const MESSAGES = ['text', Buffer.alloc(100_000, 'bytes')];

/**
 * Sends messages, without and with compression.
 *
 * @returns {Promise<{ received: any[], end: () => Promise<void> }>}
 */
async function talk({ WebSocket, WebSocketServer }) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: { threshold: 0 } });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  const clients = [];
  const received = [];
  for (const perMessageDeflate of [false, true]) {
    const client = new WebSocket(`ws://127.0.0.1:${server.address().port}`, { perMessageDeflate });
    clients.push(client);
    await once(client, 'open');
    for (const message of MESSAGES) {
      client.send(message);
      const [data, isBinary] = await once(client, 'message');
      received.push([client.extensions, createHash('sha256').update(data).digest('hex').slice(0, 16), isBinary]);
    }
  }
  return {
    received,
    async end() {
      for (const client of clients) {
        client.close(1000, 'that was all');
        const [code, reason] = await once(client, 'close');
        received.push([code, String(reason)]);
      }
      server.close();
      await once(server, 'close');
    }
  };
}

/** Talks and ends. @returns {Promise<any[]>} what was received */
async function exchange(ws) {
  const { received, end } = await talk(ws);
  await end();
  return received;
}

/** The connections that talk opens, counted at both ends. */
const OPENED = 4;

/** @returns {number} the connections that framemask has opened, if `ws` is framemask/ws */
const openedOf = (ws) => ws.report?.().connections.opened ?? 0;

/** Notes a result, and the connections that framemask has opened for it. */
function note(result, opened) {
  fs.appendFileSync(process.env.FRAMEMASK_TEST_NOTES, `${JSON.stringify({ result, opened })}\n`);
}

module.exports = { OPENED, exchange, note, openedOf, talk };
