import * as http from 'node:http';
import { PassThrough } from 'node:stream';
import { type CloseTrace, Connection, type ConnectionOptions, overHttp2, prepare, shutDown } from 'framemask';

interface User {
  name: string;
}

const options: ConnectionOptions<User, 'buffer'> = {
  text: 'buffer',
  heartbeat: 30_000,
  onMessage(data, isBinary) {
    const bytes: Buffer = data;
    const sent: boolean = this.send(bytes, { binary: isBinary }, (error) => error?.message);
    this.context.name = String(sent);
  },
  onError(error) {
    const code: string | undefined = error.code;
    this.close(1011, code);
  },
  onClose(code, reason) {
    const [all]: [number, string] = [code, reason];
    this.socket.end(String(all));
  }
};

http.createServer().on('upgrade', (request, socket, head) => {
  const context = { name: 'Ada' };
  const own = { context, protocol: 'chat', headers: { 'X-Server': 'framemask' }, paused: true };
  const connection = Connection.accept<User, 'buffer'>(request, socket, head, options, own);
  // @ts-expect-error: null for a request that was refused
  connection.resume();
  connection?.send(prepare('to all'), () => {});
  // @ts-expect-error: the key is that of the handshake
  Connection.accept(request, socket, head, {}, { trace: { id: 'mine', key: 'another' } });
  // @ts-expect-error: a context is a User
  Connection.accept<User>(request, socket, head, {}, { context: 1 });
  // @ts-expect-error: no such type of data
  connection?.send(1);
});

/** A login that takes time sets the context later. */
async function logIn(request: http.IncomingMessage, socket: PassThrough, head: Buffer, found: Promise<User>) {
  const sessions: ConnectionOptions<User | null> = {
    deflate: true,
    onMessage() {
      this.send(this.context?.name ?? 'nobody');
    }
  };
  const connection = Connection.accept(request, socket, head, sessions, { context: null, paused: true });
  if (connection !== null) connection.context = await found;
  const strict: ConnectionOptions<User> = { onMessage: (data) => console.log(data) };
  // @ts-expect-error: no context, and undefined is no User
  Connection.accept(request, socket, head, strict);
  Connection.accept(request, socket, head, strict, { context: await found });
  const inOne = Connection.accept(request, socket, head, {
    context: { name: 'Grace' },
    paused: true,
    onMessage() {
      this.send(this.context.name);
    }
  });
  const inBoth = Connection.accept(
    request,
    socket,
    head,
    {
      onMessage() {
        this.send(this.context.name);
      }
    },
    { context: { name: 'Grace' } }
  );
  return [inOne?.context.name, inBoth?.context.name];
}
void logIn;

async function connect(url: URL): Promise<number | null> {
  const connection = await Connection.connect(url, {
    protocols: ['chat'],
    deflate: true,
    ca: 'certificate',
    createConnection: overHttp2(),
    signal: AbortSignal.timeout(1000),
    headers: { Authorization: 'secret' },
    trace: { id: 'mine' },
    onMessage(data, isBinary) {
      if (isBinary) data.subarray();
      else data.charAt(0);
      const nothing: undefined = this.context;
      return nothing;
    },
    onPart: (data, _isBinary, isLast) => void [data.length, isLast]
  });
  console.log(connection.deflate?.header.length);
  const state: 1 | 2 | 3 = connection.readyState;
  return state === 3 ? connection.closeCode : connection.bufferedAmount + connection.framesRead;
}

new Connection(new PassThrough(), 'client', { onMessage: (data) => console.log(data.length), context: connect });
shutDown(new Set([new Connection(new PassThrough(), 'server')]), { within: 1000, reason: 'later' });
if (new Connection(new PassThrough(), 'server').readyState === Connection.OPEN) console.log('open');
const record = {} as CloseTrace;
const bytes: number | null = record.bytesSent;
console.log(bytes, record.path?.length, record.key);
// @ts-expect-error: a role is 'server' or 'client'
new Connection(new PassThrough(), 'peer');
