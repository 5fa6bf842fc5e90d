// What programs on ws write, after its README and guides. test/types compiles it with @types/ws, and
// test/types/bundler with framemask/ws in place of ws.

import { createServer, type IncomingMessage } from 'node:http';
import WebSocketByDefault, { createWebSocketStream, type RawData, WebSocket, WebSocketServer } from 'ws';

interface Marked extends WebSocket {
  isAlive: boolean;
}

function heartbeat(this: WebSocket): void {
  (this as Marked).isAlive = true;
}

const server = createServer();
const wss = new WebSocketServer({ noServer: true, perMessageDeflate: { threshold: 1024 } });
wss.on('connection', (socket: WebSocket, request: IncomingMessage) => {
  (socket as Marked).isAlive = true;
  socket.on('error', console.error);
  socket.on('pong', heartbeat);
  socket.on('message', function (this: WebSocket, data: RawData, isBinary: boolean) {
    for (const client of wss.clients) {
      if (client !== this && client.readyState === WebSocket.OPEN) client.send(data, { binary: isBinary });
    }
  });
  socket.once('close', function (code: number, reason: Buffer) {
    console.log(this.url, code, reason.toString(), request.url);
  });
  socket.off('pong', heartbeat);
  socket.onmessage = (event) => {
    const from: WebSocket = event.target;
    from.close(1000, String(event.data));
  };
  socket.addEventListener('close', (event) => console.log(event.wasClean, event.target.readyState));
  const onmessage: typeof socket.onmessage = socket.onmessage;
  socket.onmessage = onmessage;
});
server.on('upgrade', (request, socket, head) => {
  wss.handleUpgrade(request, socket, head, (websocket) => wss.emit('connection', websocket, request));
});
const timer = setInterval(() => {
  for (const socket of wss.clients as Set<Marked>) {
    if (!socket.isAlive) socket.terminate();
    socket.isAlive = false;
    socket.ping();
  }
}, 30_000);
wss.on('close', () => clearInterval(timer));

class Session extends WebSocket {
  user = 'nobody';
}
const sessions = new WebSocketServer({ port: 0, WebSocket: Session });
sessions.on('connection', function (this: WebSocketServer, session: Session) {
  session.on('pong', heartbeat).on('message', (data) => console.log(session.user, data.toString()));
  console.log(this.clients.size);
});

const client: WebSocketByDefault = new WebSocketByDefault('wss://example.com', { headers: { Authorization: 'x' } });
client.on('open', () => createWebSocketStream(client, { encoding: 'utf8' }).pipe(process.stdout));
client.onerror = ({ message, target }) => console.log(message, target.url);
