import WebSocket from './ws.js';

export const {
	connectionId,
	createWebSocketStream,
	drained,
	extension,
	messages,
	PerMessageDeflate,
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
