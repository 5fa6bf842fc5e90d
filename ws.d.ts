// The types of ws, from @types/ws, with what they lack. A class here extends that of @types/ws, as
// it does when the program runs, so that what asks for a WebSocket of ws accepts it.

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

  /**
   * What a binary message is given as. Besides the types of @types/ws, `'blob'` can be assigned
   * (since ws 8.18): a listener of 'message' then declares its data as `RawData | Blob`.
   */
  // @ts-ignore TypeScript wants a property, as in @types/ws, which could not be set to more types.
  get binaryType(): 'nodebuffer' | 'arraybuffer' | 'fragments';
  set binaryType(type: WebSocket.BinaryType);

  /**
   * The bytes that wait to be sent. Up to 16 KiB that are held back for one write are not counted.
   */
  readonly bufferedAmount: number;
}

declare const WebSocketAlias: typeof WebSocket;
interface WebSocketAlias extends WebSocket {}

declare namespace WebSocket {
  /** What can be assigned to the property `binaryType`. */
  type BinaryType = 'nodebuffer' | 'arraybuffer' | 'fragments' | 'blob';

  /** Options of permessage-deflate. */
  interface PerMessageDeflateOptions extends ws.PerMessageDeflateOptions {
    /**
     * `false` stands for `serverNoContextTakeover` and `clientNoContextTakeover`: messages are then
     * compressed with contexts that all connections of a thread share.
     */
    contextTakeover?: boolean | undefined;
  }

  /** Options of a client and of a server that @types/ws lacks. */
  interface ConnectionOptions {
    /**
     * How long the closing handshake may take after `close()`, in milliseconds; 30,000 by default.
     * Since ws 8.19.
     */
    closeTimeout?: number | undefined;
    /** No effect: framemask copies the pieces of a message into one Buffer. */
    maxBufferedChunks?: number | undefined;
    /**
     * The most frames of a message; 16,384 by default, 0 for no limit. Since ws 8.21, and always
     * 16,384 before.
     */
    maxFragments?: number | undefined;
    /**
     * The most automatic answers to Pings that may wait for the socket; 60 by default, 0 for no
     * limit. One more ends the connection. Since ws 8.23.
     */
    maxPendingAutoPongs?: number | undefined;
  }

  /** Options of a client. */
  interface ClientOptions extends ws.ClientOptions, ConnectionOptions {
    /** Whether, and how, messages are compressed. */
    perMessageDeflate?: boolean | PerMessageDeflateOptions | undefined;
  }

  /** Options of a server. */
  interface ServerOptions<
    T extends typeof ws.WebSocket = typeof WebSocketAlias,
    U extends typeof IncomingMessage = typeof IncomingMessage
  > extends ws.ServerOptions<T, U>,
      ConnectionOptions {
    /**
     * Whether connections are read into the memory that all sockets of the thread share; false by
     * default. framemask's own.
     */
    sharedReads?: boolean | undefined;
    /** Whether, and how, messages are compressed. */
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

  /** What is at work. */
  interface Report {
    /** What masks: a set of instructions, such as `'avx2'`, or `'js'`. */
    kernel: Kernel;
    /** Why the addon could not be loaded; `null` if it was. */
    nativeError: Error | null;
    /** The version of ws. */
    ws: string;
    /** `'shared'` if servers can share reads here, when their option `sharedReads` asks for it. */
    reads: 'shared' | 'events';
    /** Whose contexts compress: those of ws where zlib can't be used synchronously, as on Deno. */
    deflate: 'framemask' | 'ws';
    /** Whether framemask/ws/register has put framemask/ws in the place of ws. */
    registered: boolean;
  }

  /** What is at work, for a log or an issue. */
  function report(): Report;

  /**
   * Makes a Duplex of a connection: ws's own function.
   *
   * @param websocket the connection
   * @param options of the Duplex
   */
  const createWebSocketStream: typeof ws.createWebSocketStream;

  /** Reads and writes the header Sec-WebSocket-Extensions. Of ws, which has it since 8.20. */
  const extension: {
    format(extensions: Record<string, unknown>): string;
    parse(header: string): Record<string, Record<string, unknown>[]>;
  };

  /** Reads the header Sec-WebSocket-Protocol. Of ws, which has it since 8.20. */
  const subprotocol: { parse(header: string): Set<string> };

  // biome-ignore lint/suspicious/noExplicitAny: ws says nothing of it.
  type Undocumented = any;

  /** ws's permessage-deflate, exported since ws 8.20. ws does not document its members. */
  class PerMessageDeflate {
    constructor(options?: PerMessageDeflateOptions, ...others: unknown[]);
    [member: string]: Undocumented;
  }

  /** ws's decoder, which ws does not document. */
  class Receiver extends Writable {
    constructor(options?: Record<string, unknown>);
    [member: string]: Undocumented;
  }

  /** ws's encoder, which ws does not document. */
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
