// The types of @types/ws, with what they lack. A class extends that of ws, here as at run time, so
// that what asks for a WebSocket of ws accepts it. docs/ws.md says since when ws has what is added.

import type { ClientRequestArgs, IncomingMessage } from 'node:http';
import type { Duplex, Writable } from 'node:stream';

import ws = require('ws');

import type { Kernel } from './index.js';

/** A WebSocket with the API of ws, over framemask's codec. */
declare class WebSocket extends ws.WebSocket {
  constructor(address: null);
  constructor(address: string | URL, options?: WebSocket.ClientOptions | ClientRequestArgs);
  constructor(
    address: string | URL,
    protocols?: string | string[],
    options?: WebSocket.ClientOptions | ClientRequestArgs
  );

  /** What a binary message is given as. With `'blob'` declare its data as `RawData | Blob`. */
  // @ts-ignore TypeScript wants a property, as in @types/ws, which could not be set to more types.
  get binaryType(): 'nodebuffer' | 'arraybuffer' | 'fragments';
  set binaryType(type: WebSocket.BinaryType);

  /** The bytes that wait to be sent, but for up to 16 KiB that are held back for one write. */
  readonly bufferedAmount: number;
}

declare const WebSocketAlias: typeof WebSocket;
interface WebSocketAlias extends WebSocket {}

declare namespace WebSocket {
  type BinaryType = 'nodebuffer' | 'arraybuffer' | 'fragments' | 'blob';

  /** Options of permessage-deflate. */
  interface PerMessageDeflateOptions extends ws.PerMessageDeflateOptions {
    /** `false` compresses with contexts that all connections of a thread share. */
    contextTakeover?: boolean | undefined;
  }

  /** Options of clients and servers. */
  interface ConnectionOptions {
    /** The time for the closing handshake, in milliseconds. Default: 30,000. */
    closeTimeout?: number | undefined;
    /** No effect. */
    maxBufferedChunks?: number | undefined;
    /** The most frames of a message. 0: no limit. Default: 16,384. */
    maxFragments?: number | undefined;
    /** The most Pongs that may wait; one more ends the connection. 0: no limit. Default: 60. */
    maxPendingAutoPongs?: number | undefined;
  }

  interface ClientOptions extends ws.ClientOptions, ConnectionOptions {
    perMessageDeflate?: boolean | PerMessageDeflateOptions | undefined;
  }

  interface ServerOptions<
    T extends typeof ws.WebSocket = typeof WebSocketAlias,
    U extends typeof IncomingMessage = typeof IncomingMessage
  > extends ws.ServerOptions<T, U>,
      ConnectionOptions {
    /** Whether all connections are read into the same memory. Default: true. */
    sharedReads?: boolean | undefined;
    perMessageDeflate?: boolean | PerMessageDeflateOptions | undefined;
  }

  /** A server with the API of ws, whose connections are framemask's. */
  class Server<
    T extends typeof ws.WebSocket = typeof WebSocketAlias,
    U extends typeof IncomingMessage = typeof IncomingMessage
  > extends ws.Server<T, U> {
    constructor(options?: ServerOptions<T, U>, callback?: () => void);
    options: ServerOptions<T, U>;
  }

  const WebSocketServer: typeof Server;
  interface WebSocketServer extends Server {}
  const WebSocket: typeof WebSocketAlias;
  interface WebSocket extends WebSocketAlias {}

  interface Report {
    /** What masks. */
    kernel: Kernel;
    /** Why the addon could not be loaded. */
    nativeError: Error | null;
    /** The version of ws. */
    ws: string;
    /** `'shared'` if servers can have `sharedReads` here. */
    reads: 'shared' | 'events';
    /** Whose contexts compress: `'ws'` with the environment variable `FRAMEMASK_DEFLATE=ws`. */
    deflate: 'framemask' | 'ws';
    /** Whether framemask/ws/register is at work. */
    registered: boolean;
  }

  /** What is at work, for a log or an issue. */
  function report(): Report;

  /** Makes a Duplex of a connection. */
  const createWebSocketStream: typeof ws.createWebSocketStream;

  /** Reads and writes the header Sec-WebSocket-Extensions. */
  const extension: {
    format(extensions: Record<string, unknown>): string;
    parse(header: string): Record<string, Record<string, unknown>[]>;
  };

  /** Reads the header Sec-WebSocket-Protocol. */
  const subprotocol: { parse(header: string): Set<string> };

  // biome-ignore lint/suspicious/noExplicitAny: ws says nothing of it.
  type Undocumented = any;

  // ws does not document these three.
  class PerMessageDeflate {
    constructor(options?: PerMessageDeflateOptions, ...others: unknown[]);
    [member: string]: Undocumented;
  }

  class Receiver extends Writable {
    constructor(options?: Record<string, unknown>);
    [member: string]: Undocumented;
  }

  class Sender {
    constructor(socket: Duplex, extensions?: Record<string, unknown>, generateMask?: (mask: Buffer) => void);
    [member: string]: Undocumented;
  }

  export import AddressInfo = ws.AddressInfo;
  export import CertMeta = ws.CertMeta;
  export import CloseEvent = ws.CloseEvent;
  export import Data = ws.Data;
  export import ErrorEvent = ws.ErrorEvent;
  export import Event = ws.Event;
  export import EventListenerOptions = ws.EventListenerOptions;
  export import FinishRequestCallback = ws.FinishRequestCallback;
  export import MessageEvent = ws.MessageEvent;
  export import RawData = ws.RawData;
  export import VerifyClientCallbackAsync = ws.VerifyClientCallbackAsync;
  export import VerifyClientCallbackSync = ws.VerifyClientCallbackSync;
  export import WebSocketEventMap = ws.WebSocketEventMap;
}

export = WebSocket;
