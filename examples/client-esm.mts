// A WebSocket client with compression in TypeScript, as an ES module.
//
//     node examples/client-esm.mts [url]
//
// It sends a few messages to the url (default ws://127.0.0.1:8080) of an echo server, and prints
// what comes back. Node.js runs it from 22.18 on, without a compiler.

import { Connection } from 'framemask';

const [, , url = 'ws://127.0.0.1:8080'] = process.argv;
const messages: (string | Uint8Array)[] = [
  'Hello',
  'Καλημέρα κόσμε '.repeat(200),
  new Uint8Array([0xde, 0xad, 0xbe, 0xef])
];
let replies = 0;

const connection = await Connection.connect(url, {
  deflate: { contextTakeover: true },
  maxPayload: 1024 * 1024, // before and after inflating
  onMessage(data, isBinary) {
    // A test of `isBinary` tells TypeScript what `data` is.
    if (isBinary) console.log(`${data.length} bytes: ${data.toString('hex')}`);
    else console.log(`${data.length} characters: ${data.slice(0, 14)}`);
    if (++replies === messages.length) this.close(1000);
  },
  onError(error) {
    console.error(`${error.code}: ${error.message}`);
    process.exitCode = 1;
  },
  onClose: (code) => console.log(`closed ${code}`)
});

console.log(connection.deflate?.header ?? 'not compressed');
for (const message of messages) connection.send(message);
