'use strict';

// Sends messages by undici's WebSocket over HTTP/2, reads them back, and prints the faults as JSON.

const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const { Agent, WebSocket } = require('undici');

async function exchange(url, lengths) {
  const faults = [];
  const dispatcher = new Agent({ allowH2: true, connect: { rejectUnauthorized: false } });
  const socket = new WebSocket(url, { dispatcher });
  socket.binaryType = 'arraybuffer';
  await once(socket, 'open');
  for (const length of lengths) {
    const sent = randomBytes(length);
    socket.send(sent);
    const [{ data }] = await once(socket, 'message');
    if (!sent.equals(Buffer.from(data))) faults.push(`${length} bytes came back wrong`);
  }
  socket.close(4000, 'bye');
  const [{ code, wasClean }] = await once(socket, 'close');
  if (code !== 4000 || !wasClean) faults.push(`closed with ${code}`);
  await dispatcher.destroy();
  return faults;
}

const [url, lengths] = process.argv.slice(2);
exchange(url, lengths.split(',').map(Number)).then((faults) => console.log(JSON.stringify(faults)));
