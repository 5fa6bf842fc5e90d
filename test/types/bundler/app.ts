// How a program that a bundler resolves uses the package. It is checked, not run.

import framemask, { Decoder, Encoder, type FrameErrorCode, type PreparedMessage, prepare } from 'framemask';
import { kernel } from 'framemask/prebuilds/linux-x64';
import WebSocket, { type RawData, WebSocketServer } from 'framemask/ws';
import 'framemask/ws/register';

const encoder = new Encoder({ role: 'server' });
const decoder = new framemask.Decoder({
  role: 'server',
  onMessage(data, isBinary) {
    if (isBinary) encoder.binary(data);
    else encoder.text(data);
  }
});
const sameClass: Decoder = decoder;
const message: PreparedMessage = prepare('text');
const code: FrameErrorCode = 'FRAMEMASK_ERR_UTF8';
console.log(sameClass, message.length, code, kernel === framemask.kernel, Decoder);

const socket: WebSocket = new WebSocket('ws://127.0.0.1:8080', { maxPendingAutoPongs: 1 });
socket.on('message', (data: RawData) => console.log(data));
console.log(new WebSocketServer({ noServer: true }).clients.has(socket));

// @ts-expect-error: a client masks each frame with a key of its own
new Encoder({ role: 'client' }).addPrepared(message);
// @ts-expect-error: the mark of a prepared message is not exported
framemask.preparedMessage;
