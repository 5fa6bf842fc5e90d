import assert from 'node:assert';
import framemask, { Decoder, Encoder, frameId, type Kernel, kernel, mask, nativeError, unmask } from 'framemask';
import type { WebSocketServer } from 'framemask/ws';

const key = new Uint8Array([0x37, 0xfa, 0x21, 0x3d]);
const text = Buffer.from('a text of some length');
const masked = Buffer.alloc(text.length);
let phase: number = mask(text, key, masked, 0, 5);
phase = mask(text.subarray(5), key, masked, 5, text.length - 5, phase);
assert.strictEqual(phase, text.length & 3);
framemask.unmask(masked, key);
assert.ok(masked.equals(text));
assert.strictEqual(framemask.unmask, unmask);

const received: string[] = [];
const decoder = new Decoder({
  role: 'client',
  onMessage(data, isBinary) {
    received.push(isBinary ? 'bytes' : data.toString());
  }
});
const encoder = new Encoder({ role: 'server' });
encoder.text(frameId());
for (const bytes of encoder.take()) decoder.write(bytes);
assert.match(received.join(), /^[0-9a-f-]{36}$/);

// Checked, not run: ws is not installed, and neither are its types.
function echo(server: WebSocketServer): void {
  server.on('connection', (socket, request) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    socket.on('close', (code, reason) => console.log(request.url, code.toFixed(), reason.toString()));
  });
}
assert.strictEqual(echo.length, 1);

const reason: Error | null = nativeError;
assert.strictEqual(reason, null);
const name: Kernel = kernel;
console.log(JSON.stringify({ kernel: name }));
