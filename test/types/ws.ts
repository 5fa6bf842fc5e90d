// How a TypeScript program that compiles to CommonJS uses framemask/ws. It is checked, not run.

import { createServer, IncomingMessage } from 'node:http';

import http2 = require('node:http2');

import { type Duplex, Readable } from 'node:stream';

import WebSocket = require('framemask/ws');

import {
  connectionId,
  createWebSocketStream,
  messages,
  type RawData,
  type Report,
  report,
  type ServerOptions,
  WebSocketServer
} from 'framemask/ws';

import theirs = require('ws');

// A server.
const options: ServerOptions = {
  port: 8080,
  maxPayload: 1024,
  closeTimeout: 1000,
  maxPendingAutoPongs: 60,
  maxFragments: 100,
  maxBufferedChunks: 100,
  streamFrom: 2 ** 20,
  perMessageDeflate: { threshold: 1024 }
};
const server = new WebSocketServer(options, () => console.log('listening'));
console.log(server.address());
server.on('connection', (websocket, request) => {
  const same: WebSocket = websocket;
  websocket.binaryType = 'fragments';
  websocket.binaryType = 'blob';
  console.log(same.readyState === WebSocket.OPEN, request.url, websocket.bufferedAmount);
  websocket.on('message', (data, isBinary) => websocket.send(received(data), { binary: isBinary }));
  websocket.on('message', (data: RawData | Blob) => console.log(data instanceof Blob));
  websocket.on('error', console.error).on('close', (code, reason) => console.log(code, reason.toString()));
});
const received = (data: RawData): Buffer => {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
};
for (const client of server.clients) client.terminate();

// One of several on a server of HTTP, with classes of its own.
class Session extends WebSocket {
  user = '';
}
class Request extends IncomingMessage {
  id = 0;
}
const sessions = new WebSocket.Server({ noServer: true, WebSocket: Session, maxPendingAutoPongs: 10 });
const http = createServer({ IncomingMessage: Request });
http.on('upgrade', (request, socket, head) => {
  sessions.handleUpgrade(request, socket, head, (session) => {
    session.user = 'ada';
    sessions.emit('connection', session, request);
  });
});

// A client.
const client = new WebSocket('wss://example.com', 'chat', { closeTimeout: 1000, maxFragments: 0, autoPong: false });
client.onmessage = ({ data }: WebSocket.MessageEvent) => console.log(data);
client.addEventListener('close', (event: WebSocket.CloseEvent) => console.log(event.wasClean), { once: true });
client.once('open', function () {
  this.send('text', (error) => console.log(error?.message));
  this.send(new Uint8Array(1), { compress: false, fin: true });
  this.close(1000, 'bye');
});
const stream: Duplex = createWebSocketStream(client, { encoding: 'utf8' });
new WebSocket(null);

// What asks for ws's own takes it.
const ofWs: theirs.WebSocket = client;
const serverOfWs: theirs.WebSocketServer = new WebSocketServer({ noServer: true });
const classOfWs: typeof theirs.WebSocket = WebSocket;
const serverClassOfWs: typeof theirs.WebSocketServer = WebSocketServer;
const moduleOfWs: typeof theirs = WebSocket;
new theirs.WebSocketServer({ port: 0, WebSocket });

// And what asks for framemask's takes ws's own.
const optionsOfWs: theirs.ServerOptions = new WebSocketServer(options).options;
const plain = new WebSocketServer({ ...optionsOfWs, WebSocket: theirs.WebSocket });
const clientOptionsOfWs: theirs.ClientOptions = { autoPong: false };
new WebSocket('ws://127.0.0.1:8080', clientOptionsOfWs);
createWebSocketStream(new theirs.WebSocket(null));
client.on('message', (data: theirs.RawData) => console.log(data, plain.clients));

// What ws has besides.
const { kernel, nativeError, registered }: Report = report();
const version: string = WebSocket.report().ws;
const opened: number = report().connections.opened;
const connection: string | null = connectionId(client);
const names: Set<string> = WebSocket.subprotocol.parse('a, b');
const header: string = WebSocket.extension.format({ 'permessage-deflate': [{}] });
const receiver = new WebSocket.Receiver({ maxPayload: 1 }).on('message', console.log);
console.log(new WebSocket.Sender(stream), new WebSocket.PerMessageDeflate({ threshold: 0 }), receiver, names, header);
console.log(kernel, nativeError?.message, registered, version, opened, connection);
console.log(ofWs, serverOfWs, classOfWs, serverClassOfWs, moduleOfWs);

// @ts-expect-error: no such type
client.binaryType = 'buffer';
// @ts-expect-error: it is a number
new WebSocketServer({ port: 0, closeTimeout: '1s' });
// @ts-expect-error: no such option
new WebSocketServer({ port: 0, maxPongs: 1 });

// Over HTTP/2.
new WebSocketServer({ server: http2.createServer(), path: '/' });
new WebSocket('wss://localhost', { http2: true }).close();
new WebSocket('wss://localhost', { http2: 'preferred' }).close();

// Streams.
const streamOfClient = new WebSocket.WebSocketStream('wss://localhost', {
  protocols: ['chat'],
  signal: AbortSignal.abort()
});
WebSocket.WebSocketStream.from(ofWs).opened.then(async ({ readable, writable, protocol }) => {
  for await (const chunk of readable)
    console.log(typeof chunk === 'string' ? chunk.trim() : chunk.byteLength, protocol);
  const writer = writable.getWriter();
  await writer.write('text');
  await writer.abort(new WebSocket.WebSocketError('', { closeCode: 4000, reason: 'enough' }));
});
streamOfClient.closed.then(
  ({ closeCode, reason }) => console.log(closeCode.toFixed(), reason.trim()),
  (error: InstanceType<typeof WebSocket.WebSocketError>) => console.log(error.closeCode?.toFixed(), error.reason.trim())
);
streamOfClient.close({ closeCode: 1000 });
// @ts-expect-error: a number
streamOfClient.close({ closeCode: '1000' });

// Messages as streams.
server.on('connection', async (websocket) => {
  websocket.on('stream', (stream, isBinary) => (isBinary ? stream.resume() : stream.setEncoding('utf8')));
  for await (const { data, isBinary } of websocket) console.log(isBinary ? data.readUInt8(0) : data.toUpperCase());
  for await (const { data, isBinary } of messages(websocket, { streams: true })) {
    if (data instanceof Readable) data.destroy();
    else console.log(isBinary ? data.readUInt8(0) : data.toUpperCase());
  }
});
