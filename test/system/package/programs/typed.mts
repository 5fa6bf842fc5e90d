import assert from 'node:assert';
import framemask, { Decoder, Encoder, frameId, type Kernel, nativeError } from 'framemask';
import platform from 'framemask/prebuilds/linux-x64';
import type { WebSocketServer } from 'framemask/ws';

const received: string[] = [];
const decoder = new Decoder({
  role: 'client',
  onMessage: (data, isBinary) => received.push(isBinary ? 'bytes' : data.toString())
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
const name: Kernel = platform.kernel;
assert.strictEqual(name, framemask.kernel);
console.log(JSON.stringify({ kernel: name }));
