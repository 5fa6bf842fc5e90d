// How an ES module uses framemask/ws. It is checked, not run.

import WebSocket, {
  type ClientOptions,
  createWebSocketStream,
  drained,
  extension,
  type Message,
  messages,
  PerMessageDeflate,
  type RawData,
  Receiver,
  type Report,
  report,
  Sender,
  type Server,
  sendStream,
  subprotocol,
  WebSocketServer,
  WebSocket as WebSocketToo
} from 'framemask/ws';
import 'framemask/ws/register';
import * as theirs from 'ws';

const server: Server = new WebSocketServer({ port: 0, maxFragments: 10, closeTimeout: 1000 });
const limited = new WebSocketServer({ noServer: true, maxBackpressure: 1024 * 1024, heartbeat: 30_000 });
limited.shutDown({ within: 10_000, code: 1001 }).then(({ closed, terminated, droppedBytes }) => {
  console.log(closed + terminated + droppedBytes + report().connections.ended.heartbeat);
});
server.on('connection', (websocket) => {
  websocket.binaryType = 'blob';
  websocket.on('message', (data: RawData | Blob, isBinary) => {
    for (const client of server.clients) {
      if (client.readyState === WebSocket.OPEN && !(data instanceof Blob)) client.send(`${data}`, { binary: isBinary });
    }
  });
});

const options: ClientOptions = { maxPendingAutoPongs: 0, headers: { cookie: 'a=b' } };
const client: WebSocketToo = new WebSocket(new URL('ws://127.0.0.1:8080'), options);
createWebSocketStream(client).pipe(process.stdout);

// Messages of a loop: `isBinary` narrows their data.
for await (const message of client) {
  if (message.isBinary) console.log(message.data.readUInt8());
  else console.log(message.data.toUpperCase());
  // @ts-expect-error: it may be a Buffer
  message.data.toUpperCase();
}
const iterator: AsyncIterableIterator<Message> = messages(client, {
  highWaterMark: { bytes: 1 },
  signal: AbortSignal.timeout(1000)
});
// The loop's object knows both ways to leave it.
await iterator.return?.();
await drained(client, { below: 1, signal: AbortSignal.timeout(1000) });
for await (const { data } of messages(new theirs.WebSocket(null))) console.log(data);

const sent: Promise<void> = sendStream(client, process.stdin, { binary: true, signal: AbortSignal.timeout(1000) });
await Promise.all([sent, sendStream(client, ['a', new Uint8Array(1)]), sendStream(client, new Blob([]).stream())]);
// @ts-expect-error: not a source
sendStream(client, 5);

// What asks for ws's own takes it.
const ofWs: theirs.WebSocket = client;
const serverOfWs: theirs.WebSocketServer = server;
const classOfWs: typeof theirs.WebSocket = WebSocketToo;
new theirs.WebSocketServer({ port: 0, WebSocket });

const what: Report = report();
console.log(what.registered, extension, PerMessageDeflate, Receiver, Sender, subprotocol);
console.log(ofWs, serverOfWs, classOfWs);

// @ts-expect-error: no such type
client.binaryType = 'string';
// @ts-expect-error: it says so, and can't be told
report().registered();
