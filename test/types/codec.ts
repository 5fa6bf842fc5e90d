// How a TypeScript program uses the codec, frame ids and tracing. It is checked, not run.

import { subscribe } from 'node:diagnostics_channel';
import http from 'node:http';
import http2 from 'node:http2';
import { Socket } from 'node:net';
import {
  acceptDeflate,
  acceptHttp2,
  Decoder,
  Encoder,
  FrameError,
  type FrameErrorCode,
  type FrameTrace,
  formatFrameId,
  frameId,
  type MessageTrace,
  type NegotiatedDeflate,
  offerDeflate,
  overHttp2,
  type PreparedMessage,
  parseFrameId,
  prepare,
  type Role
} from 'framemask';

class Connection {
  readonly socket = new Socket();
  readonly encoder = new Encoder({ role: 'server', writable: this.socket, trace: { id: frameId() } });
  readonly decoder = new Decoder<Connection, 'buffer'>({
    role: 'server',
    context: this,
    maxPayload: Number.POSITIVE_INFINITY,
    maxFragments: 100,
    text: 'buffer',
    onMessage(data, isBinary) {
      if (this.framesRead > 100) this.pause();
      if (!isBinary) this.context.encoder.text(data, { fin: false, rsv1: true });
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
new Connection().encoder.addPrepared(prepared);
const chunks: Buffer[] = new Encoder({ role: 'client' }).take();
console.log(chunks, prepared.frame.length, prepared.length);

const id: string = frameId({ version: 7 });
const bytes: Buffer = parseFrameId(id);
const target: Uint8Array = parseFrameId(id, new Uint8Array(32), 16);
console.log(formatFrameId(bytes), formatFrameId(target, 16));

subscribe('framemask:frame', (message) => {
  const record = message as FrameTrace;
  const { id, connection, from, sequence, direction, role } = record;
  console.log(id, connection, from, sequence, direction, role);
  if (record.error === null) {
    const opcode: number = record.opcode;
    const fin: boolean = record.fin;
    const length: number = record.length;
    console.log(opcode, fin, length, record.masked && record.rsv === 0);
  } else {
    const code: FrameErrorCode = record.error.code;
    const length: null = record.length;
    console.log(code, length);
  }
  // @ts-expect-error: an error has no opcode
  console.log(record.opcode.toFixed());
});
subscribe('framemask:message', (message) => {
  const { from, fragments } = message as MessageTrace;
  console.log(from === 'client', fragments);
});

try {
  new Decoder({ role: 'client' }).write(new Uint8Array(2));
} catch (error) {
  if (error instanceof FrameError && error.code === 'FRAMEMASK_ERR_UTF8') console.log(error.closeCode);
}

// Each option may be undefined, also under exactOptionalPropertyTypes.
const server = new Encoder({ role: 'server', writable: undefined, trace: { id: undefined } });
server.text('text', { fin: undefined, rsv1: undefined, owned: undefined });
server.addPrepared(prepare(new Uint8Array(1), { binary: undefined, rsv1: undefined }));
frameId({ version: undefined });

// An encoder of any role has all methods but one.
const send = (encoder: Encoder): void => encoder.text('text');
send(server);
send(new Encoder({ role: 'client', writable: null }));
declare const role: Role;
const either = new Encoder({ role });
const broadcast = (encoders: Iterable<Encoder<'server'>>, message: PreparedMessage): void => {
  for (const encoder of encoders) encoder.addPrepared(message);
};
broadcast([server], prepared);

// @ts-expect-error: a client masks each frame with a key of its own
new Encoder({ role: 'client' }).addPrepared(prepared);
// @ts-expect-error: it may be a client
either.addPrepared(prepared);
const agreed: NegotiatedDeflate | null = acceptDeflate('permessage-deflate', { contextTakeover: true, level: 1 });
const offer = offerDeflate({ serverWindowBits: 10 });
new Encoder({ role: 'client', deflate: offer.readAnswer(agreed?.header), onDeflated() {} }).text('', {
  compress: true
});
new Decoder({ role: 'server', deflate: agreed, onInflated() {} }).inflating satisfies boolean;
prepare('text', { deflate: true });
// @ts-expect-error: only a negotiation makes them
new Encoder({ role: 'server', deflate: { header: 'permessage-deflate' } });

// @ts-expect-error: only prepare() makes them
server.addPrepared('text');
// @ts-expect-error: not even of the same shape
server.addPrepared({ frame: Buffer.alloc(3), length: 1 });
// @ts-expect-error: what has been framed stays so
prepared.frame = Buffer.alloc(3);
// @ts-expect-error: no such role
new Encoder({ role: 'peer' });
// @ts-expect-error: text is not binary
server.binary('text');
// @ts-expect-error: numbers are not bytes
server.binary([1]);
// @ts-expect-error: a continuation frame has no RSV1
server.continuation('text', { rsv1: true });
// @ts-expect-error: only decoders make them
new FrameError();
// @ts-expect-error: no such version
frameId({ version: 1 });

// Parts: a test of isBinary narrows the data.
new Decoder({
  role: 'server',
  partsFrom: 1024,
  onPart(data, isBinary, isLast) {
    const bytes: number = isBinary ? data.byteLength : data.charCodeAt(0);
    console.log(bytes, isLast, this.closed);
  }
});
new Decoder({
  role: 'server',
  text: 'buffer',
  skipUTF8Validation: true,
  onPart: (data) => console.log(data.byteLength)
});
server.flush((error) => console.log(error));
server.stop();
// @ts-expect-error: methods that add a frame return nothing
const added: boolean = server.text('x');
console.log(added);

// HTTP/2
const http2Server: import('node:http2').Http2Server = acceptHttp2(http2.createServer());
http.get('http://localhost', { createConnection: overHttp2() });
declare const session: import('node:http2').ClientHttp2Session;
http.get('http://localhost', { createConnection: overHttp2(session) });
// @ts-expect-error: a server of node:http
acceptHttp2(http.createServer());
console.log(http2Server);
