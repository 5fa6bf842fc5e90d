'use strict';

// Servers and clients of framemask and of two versions of ws, each client with each server. With
// the argument `ws`, after framemask has gone, those of ws alone. Prints framemask's version and
// how many pairs have had all echoes.

const assert = require('node:assert');
const { once } = require('node:events');
const http = require('node:http');

const framemask = process.argv[2] === 'ws' ? null : require('framemask');
/** With the API of ws. */
const LIKE_WS = {
  'ws 8': require('ws'),
  'ws 7': require('ws7'),
  ...(framemask && { 'framemask/ws': require('framemask/ws') })
};
const MESSAGES = ['grüße', '', Buffer.alloc(70_000, 'binary'), 'x'.repeat(3000), Buffer.from([1])];
const [CODE, REASON] = [4000, 'all are back'];

/** Each attaches an echo to an HTTP server, and tells how its connections end. */
const servers = {
  ...Object.fromEntries(
    Object.entries(LIKE_WS).map(([name, { Server }]) => [
      name,
      (server, onEnd) =>
        new Server({ server, perMessageDeflate: true }).on('connection', (socket) => {
          // ws 7 gives a text as a string, the others say whether it is one.
          socket.on('message', (data, binary = typeof data !== 'string') => socket.send(data, { binary }));
          socket.on('close', (code, reason) => onEnd(code, String(reason)));
        })
    ])
  ),
  ...(framemask && {
    Connection: (server, onEnd) =>
      server.on('upgrade', (request, socket, head) => {
        framemask.Connection.accept(request, socket, head, {
          deflate: true,
          onMessage(data) {
            this.send(data);
          },
          onClose: onEnd
        });
      })
  })
};

/** Each connects, and resolves with functions that send and close. */
const clients = {
  ...Object.fromEntries(
    Object.entries(LIKE_WS).map(([name, WebSocket]) => [
      name,
      async (url, onMessage, onEnd) => {
        const socket = new WebSocket(url, { perMessageDeflate: true });
        socket.on('message', (data, binary = typeof data !== 'string') => onMessage(binary ? data : String(data)));
        socket.on('close', onEnd);
        await once(socket, 'open');
        return socket;
      }
    ])
  ),
  ...(framemask && {
    Connection: (url, onMessage, onClose) =>
      framemask.Connection.connect(url, { deflate: true, onMessage: (data) => onMessage(data), onClose })
  })
};

/** Sends the messages, compares each echo, and closes. Resolves when both ends know how. */
async function talk(attach, connect) {
  const ends = {};
  let count = 0;
  let socket;
  await new Promise((resolve, reject) => {
    const end = (who, how) => {
      ends[who] = how;
      if (Object.keys(ends).length === 2) resolve();
    };
    const server = http.createServer();
    attach(server, (code, reason) => end('server', [code, reason]));
    const onMessage = (data) => {
      try {
        assert.deepStrictEqual(data, MESSAGES[count++]);
        if (count === MESSAGES.length) socket.close(CODE, REASON);
      } catch (error) {
        reject(error);
      }
    };
    server.listen(0, '127.0.0.1', async () => {
      try {
        // The answer to a Close frame need not have its reason.
        const onEnd = (code) => end('client', [code]);
        socket = await connect(`ws://127.0.0.1:${server.address().port}`, onMessage, onEnd);
        server.close();
        for (const message of MESSAGES) socket.send(message);
      } catch (error) {
        reject(error);
      }
    });
  });
  assert.deepStrictEqual(ends, { server: [CODE, REASON], client: [CODE] });
  return count;
}

async function main() {
  let echoes = 0;
  for (const [of, attach] of Object.entries(servers)) {
    for (const [by, connect] of Object.entries(clients)) {
      echoes += await talk(attach, connect).catch((error) => {
        throw new Error(`a server of ${of}, a client of ${by}: ${error.message}`);
      });
    }
  }
  const { kernel } = framemask ?? {};
  const version = framemask && require('framemask/package.json').version;
  console.log(JSON.stringify({ version, kernel, echoes, pairs: echoes / MESSAGES.length }));
}

main();
