/// <reference types="node" />

// The API of ws, whose documentation describes it; comments mark framemask's own parts. Nothing is
// imported from @types/ws, so that a program needs no types but those of Node.js. A program that has
// both can give either where the other is asked for: test/types/ compares them.

import type { EventEmitter } from 'node:events';
import type {
  Agent,
  ClientRequest,
  ClientRequestArgs,
  Server as HttpServer,
  IncomingMessage,
  OutgoingHttpHeaders
} from 'node:http';
import type { ClientHttp2Session, Http2SecureServer, Http2Server } from 'node:http2';
import type { Server as HttpsServer } from 'node:https';
import type { createConnection } from 'node:net';
import type { Duplex, DuplexOptions, Writable } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { ZlibOptions } from 'node:zlib';

import type { Kernel } from './index.js';

// biome-ignore lint/suspicious/noExplicitAny: ws says no more of it.
type Any = any;

/** The arguments of each event's listeners. */
interface SocketEvents {
  close: [code: number, reason: Buffer];
  error: [error: Error];
  message: [data: WebSocket.RawData, isBinary: boolean];
  open: [];
  ping: [data: Buffer];
  pong: [data: Buffer];
  redirect: [url: string, request: ClientRequest];
  'unexpected-response': [request: ClientRequest, response: IncomingMessage];
  upgrade: [request: IncomingMessage];
}

interface ServerEvents<T extends SocketClass, U extends typeof IncomingMessage> {
  close: [];
  connection: [websocket: InstanceType<T>, request: InstanceType<U>];
  error: [error: Error];
  headers: [headers: string[], request: InstanceType<U>];
  listening: [];
  wsClientError: [error: Error, socket: Duplex, request: InstanceType<U>];
}

/** A class whose instances are WebSockets: that of framemask/ws, that of ws, or one that extends either. */
type SocketClass = new (...args: Any[]) => WebSocket;

type SendCallback = (error?: Error) => void;

/** The data of `send`, as in @types/ws. */
type Sendable =
  | string
  | number
  | ArrayBufferView
  | ArrayBuffer
  | SharedArrayBuffer
  | Blob
  | readonly Any[]
  | { valueOf(): ArrayBuffer | SharedArrayBuffer | Uint8Array | readonly number[] | string }
  | { [Symbol.toPrimitive](hint: string): string };

/** A WebSocket with the API of ws, over framemask's codec. */
declare class WebSocket extends EventEmitter {
  static readonly CONNECTING: 0;
  static readonly OPEN: 1;
  static readonly CLOSING: 2;
  static readonly CLOSED: 3;
  readonly CONNECTING: 0;
  readonly OPEN: 1;
  readonly CLOSING: 2;
  readonly CLOSED: 3;

  constructor(address: null);
  constructor(address: string | URL, options?: WebSocket.ClientOptions | ClientRequestArgs);
  constructor(
    address: string | URL,
    protocols?: string | string[],
    options?: WebSocket.ClientOptions | ClientRequestArgs
  );

  /** The form of binary messages. With `'blob'` declare its data as `RawData | Blob`. */
  get binaryType(): 'nodebuffer' | 'arraybuffer' | 'fragments';
  set binaryType(type: WebSocket.BinaryType);

  /** The bytes that wait to be sent, but for up to 16 KiB that are held back for one write. */
  readonly bufferedAmount: number;
  readonly extensions: string;
  readonly isPaused: boolean;
  readonly protocol: string;
  readonly readyState: 0 | 1 | 2 | 3;
  readonly url: string;

  onopen: ((event: WebSocket.Event) => void) | null;
  onerror: ((event: WebSocket.ErrorEvent) => void) | null;
  onclose: ((event: WebSocket.CloseEvent) => void) | null;
  onmessage: ((event: WebSocket.MessageEvent) => void) | null;

  close(code?: number, reason?: string | Buffer): void;
  ping(data?: Any, mask?: boolean, callback?: (error: Error) => void): void;
  pong(data?: Any, mask?: boolean, callback?: (error: Error) => void): void;
  send(data: Sendable, callback?: SendCallback): void;
  send(data: Sendable, options: WebSocket.SendOptions, callback?: SendCallback): void;
  terminate(): void;
  pause(): void;
  resume(): void;

  addEventListener<E extends keyof WebSocket.WebSocketEventMap>(
    type: E,
    listener: WebSocket.EventListener<E>,
    options?: WebSocket.EventListenerOptions
  ): void;
  removeEventListener<E extends keyof WebSocket.WebSocketEventMap>(type: E, listener: WebSocket.EventListener<E>): void;

  on<E extends keyof SocketEvents>(event: E, listener: (this: WebSocket, ...args: SocketEvents[E]) => void): this;
  on(event: string | symbol, listener: (this: WebSocket, ...args: Any[]) => void): this;
  once<E extends keyof SocketEvents>(event: E, listener: (this: WebSocket, ...args: SocketEvents[E]) => void): this;
  once(event: string | symbol, listener: (this: WebSocket, ...args: Any[]) => void): this;
  off<E extends keyof SocketEvents>(event: E, listener: (this: WebSocket, ...args: SocketEvents[E]) => void): this;
  off(event: string | symbol, listener: (this: WebSocket, ...args: Any[]) => void): this;
  addListener<E extends keyof SocketEvents>(
    event: E,
    listener: (this: WebSocket, ...args: SocketEvents[E]) => void
  ): this;
  addListener(event: string | symbol, listener: (this: WebSocket, ...args: Any[]) => void): this;
  removeListener<E extends keyof SocketEvents>(
    event: E,
    listener: (this: WebSocket, ...args: SocketEvents[E]) => void
  ): this;
  removeListener(event: string | symbol, listener: (this: WebSocket, ...args: Any[]) => void): this;
}

declare const WebSocketAlias: typeof WebSocket;
interface WebSocketAlias extends WebSocket {}

declare namespace WebSocket {
  type BinaryType = 'nodebuffer' | 'arraybuffer' | 'fragments' | 'blob';

  /** The data of a message; with the `binaryType` `'blob'`, binary ones are a Blob. */
  type RawData = Buffer | ArrayBuffer | Buffer[];
  type Data = string | RawData;
  type CertMeta = string | string[] | Buffer | Buffer[];

  type VerifyClientCallbackSync<Request extends IncomingMessage = IncomingMessage> = (info: {
    origin: string;
    secure: boolean;
    req: Request;
  }) => boolean;
  type VerifyClientCallbackAsync<Request extends IncomingMessage = IncomingMessage> = (
    info: { origin: string; secure: boolean; req: Request },
    callback: (accepts: boolean, code?: number, message?: string, headers?: OutgoingHttpHeaders) => void
  ) => void;
  type FinishRequestCallback = (request: ClientRequest, websocket: WebSocket) => void;

  interface SendOptions {
    mask?: boolean | undefined;
    binary?: boolean | undefined;
    compress?: boolean | undefined;
    fin?: boolean | undefined;
  }

  interface Event {
    type: string;
    target: WebSocket;
  }
  interface ErrorEvent extends Event {
    error: Any;
    message: string;
  }
  interface CloseEvent extends Event {
    wasClean: boolean;
    code: number;
    reason: string;
  }
  interface MessageEvent extends Event {
    data: Data;
  }
  interface WebSocketEventMap {
    open: Event;
    error: ErrorEvent;
    close: CloseEvent;
    message: MessageEvent;
  }
  interface EventListenerOptions {
    once?: boolean | undefined;
  }
  type EventListener<E extends keyof WebSocketEventMap> =
    | ((event: WebSocketEventMap[E]) => void)
    | { handleEvent(event: WebSocketEventMap[E]): void };

  /** Options of permessage-deflate. */
  interface PerMessageDeflateOptions {
    serverNoContextTakeover?: boolean | undefined;
    clientNoContextTakeover?: boolean | undefined;
    serverMaxWindowBits?: number | undefined;
    clientMaxWindowBits?: number | undefined;
    zlibDeflateOptions?:
      | (Omit<ZlibOptions, 'dictionary'> & { dictionary?: Buffer | Buffer[] | DataView | undefined })
      | undefined;
    zlibInflateOptions?: ZlibOptions | undefined;
    threshold?: number | undefined;
    concurrencyLimit?: number | undefined;
    /** `false` compresses with contexts that all connections of a thread share. */
    contextTakeover?: boolean | undefined;
  }

  /** Options of clients and servers. */
  interface ConnectionOptions {
    allowSynchronousEvents?: boolean | undefined;
    autoPong?: boolean | undefined;
    maxPayload?: number | undefined;
    perMessageDeflate?: boolean | PerMessageDeflateOptions | undefined;
    skipUTF8Validation?: boolean | undefined;
    /** The time for the closing handshake, in milliseconds. Default: 30,000. */
    closeTimeout?: number | undefined;
    /** No effect. */
    maxBufferedChunks?: number | undefined;
    /** The most frames of a message. 0: no limit. Default: 16,384. */
    maxFragments?: number | undefined;
    /** The most Pongs that may wait; one more ends the connection. 0: no limit. Default: 60. */
    maxPendingAutoPongs?: number | undefined;
  }

  interface ClientOptions extends SecureContextOptions, ConnectionOptions {
    agent?: Agent | undefined;
    checkServerIdentity?(servername: string, cert: CertMeta): boolean;
    createConnection?: typeof createConnection | undefined;
    family?: number | undefined;
    finishRequest?: FinishRequestCallback | undefined;
    followRedirects?: boolean | undefined;
    generateMask?(mask: Buffer): void;
    handshakeTimeout?: number | undefined;
    /**
     * Whether to connect over HTTP/2 (RFC 8441), or a session to do so: see `overHttp2` of framemask.
     * Default: false.
     */
    http2?: boolean | ClientHttp2Session | undefined;
    headers?: { [name: string]: string } | undefined;
    host?: string | undefined;
    localAddress?: string | undefined;
    maxRedirects?: number | undefined;
    origin?: string | undefined;
    protocol?: string | undefined;
    protocolVersion?: number | undefined;
    rejectUnauthorized?: boolean | undefined;
  }

  interface ServerOptions<
    T extends SocketClass = typeof WebSocketAlias,
    U extends typeof IncomingMessage = typeof IncomingMessage
  > extends ConnectionOptions {
    /** Whether all connections are read into the same memory. Default: true. */
    sharedReads?: boolean | undefined;
    backlog?: number | undefined;
    clientTracking?: boolean | undefined;
    handleProtocols?: (protocols: Set<string>, request: InstanceType<U>) => string | false;
    host?: string | undefined;
    noServer?: boolean | undefined;
    path?: string | undefined;
    port?: number | undefined;
    server?: HttpServer<U> | HttpsServer<U> | undefined;
    verifyClient?: VerifyClientCallbackAsync<InstanceType<U>> | VerifyClientCallbackSync<InstanceType<U>> | undefined;
    WebSocket?: T | undefined;
  }

  interface AddressInfo {
    address: string;
    family: string;
    port: number;
  }

  /** A server with the API of ws, whose connections are framemask's. */
  class Server<
    T extends SocketClass = typeof WebSocketAlias,
    U extends typeof IncomingMessage = typeof IncomingMessage
  > extends EventEmitter {
    constructor(options?: ServerOptions<T, U>, callback?: () => void);
    /** With a server of `node:http2`: see `acceptHttp2` of framemask. */
    constructor(
      options: Omit<ServerOptions<T, U>, 'server'> & { server: Http2Server | Http2SecureServer },
      callback?: () => void
    );
    options: ServerOptions<T, U>;
    path: string;
    clients: Set<InstanceType<T>>;

    address(): AddressInfo | string | null;
    close(callback?: (error?: Error) => void): void;
    handleUpgrade(
      request: InstanceType<U>,
      socket: Duplex,
      head: Buffer,
      callback: (websocket: InstanceType<T>, request: InstanceType<U>) => void
    ): void;
    shouldHandle(request: InstanceType<U>): boolean | Promise<boolean>;

    on<E extends keyof ServerEvents<T, U>>(
      event: E,
      listener: (this: Server<T>, ...args: ServerEvents<T, U>[E]) => void
    ): this;
    on(event: string | symbol, listener: (this: Server<T>, ...args: Any[]) => void): this;
    once<E extends keyof ServerEvents<T, U>>(
      event: E,
      listener: (this: Server<T>, ...args: ServerEvents<T, U>[E]) => void
    ): this;
    once(event: string | symbol, listener: (this: Server<T>, ...args: Any[]) => void): this;
    off<E extends keyof ServerEvents<T, U>>(
      event: E,
      listener: (this: Server<T>, ...args: ServerEvents<T, U>[E]) => void
    ): this;
    off(event: string | symbol, listener: (this: Server<T>, ...args: Any[]) => void): this;
    addListener<E extends keyof ServerEvents<T, U>>(
      event: E,
      listener: (this: Server<T>, ...args: ServerEvents<T, U>[E]) => void
    ): this;
    addListener(event: string | symbol, listener: (this: Server<T>, ...args: Any[]) => void): this;
    removeListener<E extends keyof ServerEvents<T, U>>(
      event: E,
      listener: (this: Server<T>, ...args: ServerEvents<T, U>[E]) => void
    ): this;
    removeListener(event: string | symbol, listener: (this: Server<T>, ...args: Any[]) => void): this;
  }

  const WebSocketServer: typeof Server;
  interface WebSocketServer extends Server {}
  const WebSocket: typeof WebSocketAlias;
  interface WebSocket extends WebSocketAlias {}

  interface Report {
    /** The masking code in use. */
    kernel: Kernel;
    /** Why the addon could not be loaded. JSON has its name, message and code. */
    nativeError: Error | null;
    /** The version of ws. */
    ws: string;
    /** `'shared'` if servers can have `sharedReads` here. */
    reads: 'shared' | 'events';
    /** Whose contexts compress: `'ws'` with the environment variable `FRAMEMASK_DEFLATE=ws`. */
    deflate: 'framemask' | 'ws';
    /** Whether framemask/ws/register is at work. */
    registered: boolean;
    /**
     * The connections of this thread that framemask/ws has opened so far; of them, those whose reads
     * are shared, and those on which permessage-deflate was agreed. Those of plain ws do not count.
     */
    connections: { opened: number; shared: number; compressed: number };
  }

  /** The parts in use, for a log or an issue. */
  function report(): Report;

  /**
   * The `connection` of a WebSocket's trace records. A function, because a property could be one that a
   * program has given its WebSockets.
   *
   * @returns null before 'open', and for a WebSocket of plain ws
   */
  function connectionId(websocket: WebSocket): string | null;

  /** Makes a Duplex of a connection. */
  function createWebSocketStream(websocket: WebSocket, options?: DuplexOptions): Duplex;

  /** Reads and writes the header Sec-WebSocket-Extensions. */
  const extension: {
    format(extensions: Record<string, unknown>): string;
    parse(header: string): Record<string, Record<string, unknown>[]>;
  };

  /** Reads the header Sec-WebSocket-Protocol. */
  const subprotocol: { parse(header: string): Set<string> };

  // ws does not document these three.
  class PerMessageDeflate {
    constructor(options?: PerMessageDeflateOptions, ...others: unknown[]);
    [member: string]: Any;
  }

  class Receiver extends Writable {
    constructor(options?: Record<string, unknown>);
    [member: string]: Any;
  }

  class Sender {
    constructor(socket: Duplex, extensions?: Record<string, unknown>, generateMask?: (mask: Buffer) => void);
    [member: string]: Any;
  }
}

export = WebSocket;
