// A WebSocket client with compression in TypeScript, as an ES module.
//
//     node examples/client-esm.mts [url]
//
// It sends a few messages to the url (default ws://127.0.0.1:8080) of an echo server, and prints what
// comes back. Node.js runs it from 22.18 on, without a compiler; client.js has what else a client needs.

import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Decoder, Encoder, type NegotiatedDeflate, offerUpgrade } from 'framemask';

const CLOSE_TIMEOUT = 10_000;

interface Opened {
  socket: Socket;
  head: Buffer;
  deflate: NegotiatedDeflate | null;
}

/** The opening handshake (RFC 6455 section 4.1), with an offer of permessage-deflate. */
async function open(url: string): Promise<Opened> {
  const offer = offerUpgrade({ deflate: { contextTakeover: true } });
  const request = get(url.replace(/^ws/, 'http'), { agent: false, headers: offer.headers });
  request.on('response', ({ statusCode }) => request.destroy(new Error(`The server answered with ${statusCode}`)));
  const [response, socket, head] = (await once(request, 'upgrade')) as [IncomingMessage, Socket, Buffer];
  // Throws if the answer is wrong; `deflate` is null if the server does not compress.
  const { deflate } = offer.readAnswer(response);
  return { socket, head, deflate };
}

const [, , url = 'ws://127.0.0.1:8080'] = process.argv;
const messages: (string | Uint8Array)[] = [
  'Hello',
  'Καλημέρα κόσμε '.repeat(200),
  new Uint8Array([0xde, 0xad, 0xbe, 0xef])
];

const { socket, head, deflate } = await open(url);
console.log(deflate?.header ?? 'not compressed');
if (head.length > 0) socket.unshift(head); // frames that came with the answer

let replies = 0;
const encoder = new Encoder({ role: 'client', deflate, writable: socket });
const decoder = new Decoder({
  role: 'client',
  deflate,
  maxPayload: 1024 * 1024, // before and after inflating
  onMessage(data, isBinary) {
    // A test of `isBinary` tells TypeScript what `data` is.
    if (isBinary) console.log(`${data.length} bytes: ${data.toString('hex')}`);
    else console.log(`${data.length} characters: ${data.slice(0, 14)}`);
    if (++replies === messages.length) encoder.close(1000);
  },
  onPing: (payload) => encoder.pong(payload),
  onClose(code) {
    console.log(`closed ${code}`);
    encoder.close(code);
  },
  onError(error) {
    console.error(`${error.code}: ${error.message}`);
    process.exitCode = 1;
    encoder.close(error.closeCode);
    encoder.flush();
    socket.end();
  }
});

socket.on('data', (chunk) => {
  // @types/node 26 also allows for a string, which comes after setEncoding alone.
  decoder.write(chunk as Buffer);
  if (decoder.closed) setTimeout(() => socket.destroy(), CLOSE_TIMEOUT).unref();
});
socket.on('error', (error) => console.error(error.message)); // 'close' follows
socket.on('close', () => decoder.stop());

for (const message of messages) {
  if (typeof message === 'string') encoder.text(message);
  else encoder.binary(message);
}
