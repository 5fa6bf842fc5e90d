import ws, { WebSocket, WebSocketServer } from 'ws';
import { exchange, note, openedOf } from './exchange.cjs';

exchange({ WebSocket, WebSocketServer }).then((received) => {
  note(received, openedOf(ws));
});
