import WebSocket from './ws.js';

export const {
  connectionId,
  createWebSocketStream,
  extension,
  messages,
  PerMessageDeflate,
  ready,
  received,
  Receiver,
  Sender,
  sendStream,
  Server,
  subprotocol,
  WebSocketError,
  WebSocketServer,
  WebSocketStream,
  report
} = WebSocket;

export { WebSocket };
export default WebSocket;
