// How a TypeScript program uses the codec, frame ids and tracing. It is checked, not run.

import { subscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import {
  Decoder,
  Encoder,
  FrameError,
  type FrameTrace,
  formatFrameId,
  frameId,
  type MessageTrace,
  type PreparedMessage,
  parseFrameId,
  prepare
} from 'framemask';

class Connection {
  readonly socket = new Socket();
  readonly encoder = new Encoder({ role: 'server', recycle: true, writable: this.socket, connectionId: frameId() });
  readonly decoder = new Decoder<Connection>({
    role: 'server',
    context: this,
    maxPayload: Number.POSITIVE_INFINITY,
    maxFragments: 100,
    text: 'buffer',
    rsv1: true,
    onMessage(data, isBinary, rsv1) {
      if (rsv1) this.pause();
      if (typeof data === 'string' || !isBinary) this.context.encoder.text(data, { fin: false, rsv1: true });
      else this.context.encoder.binary(data, { owned: true });
      this.context.encoder.continuation('last');
    },
    onPing(payload) {
      this.context.encoder.pong(payload);
    },
    onClose(code, reason) {
      this.context.encoder.close(code, reason);
    },
    onError(error) {
      this.context.encoder.close(error.closeCode);
    },
    onFrame(first, bytes, start, end) {
      console.log(first, bytes.subarray(start, end));
    }
  });

  read(chunk: Buffer): void {
    const goOn: boolean = this.decoder.write(chunk);
    const drained: boolean = this.encoder.flush(this.socket);
    if (!goOn || !drained) this.socket.pause();
    if (this.decoder.closed && this.encoder.closed && this.encoder.pending === 0) this.socket.end();
  }
}

const prepared: PreparedMessage = prepare('to all', { binary: false });
new Connection().encoder.prepared(prepared);
const chunks: Buffer[] = new Encoder({ role: 'client' }).take();
console.log(chunks, prepared.frame.length, prepared.length);

const id: string = frameId({ version: 7 });
const bytes: Buffer = parseFrameId(id);
const target: Uint8Array = parseFrameId(id, new Uint8Array(32), 16);
console.log(formatFrameId(bytes), formatFrameId(target, 16));

subscribe('framemask:frame', (message) => {
  const { id, connection, sequence, direction, role, opcode, fin, error } = message as FrameTrace;
  console.log(id, connection, sequence, direction, role, opcode, fin, error?.code);
});
subscribe('framemask:message', (message) => console.log((message as MessageTrace).fragments));

try {
  new Decoder({ role: 'client' }).write(new Uint8Array(2));
} catch (error) {
  if (error instanceof FrameError && error.code === 'FRAMEMASK_ERR_UTF8') console.log(error.closeCode);
}

// @ts-expect-error: the role must be said
new Decoder({});
// @ts-expect-error: no such role
new Encoder({ role: 'peer' });
// @ts-expect-error: text is not binary
new Encoder({ role: 'server' }).binary('text');
// @ts-expect-error: only prepare() makes them
new Encoder({ role: 'server' }).prepared('text');
// @ts-expect-error: no such version
frameId({ version: 1 });
