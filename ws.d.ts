/// <reference types="node" />

// The API of ws, whose documentation describes it; comments mark framemask's own parts. Nothing is
// imported from @types/ws, so that a program needs no types but those of Node.js. A program that
// has both can give either where the other is asked for: test/types/ compares them.

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
import type { Duplex, DuplexOptions, Readable, Writable } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { ZlibOptions } from 'node:zlib';

import type * as streams from './index.js';
import type { Kernel, PreparedMessage, prepare, ShutDownOptions, ShutDownResult } from './index.js';

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
	/** A message of framemask/ws with the option `streamFrom`: see there. */
	stream: [stream: Readable, isBinary: boolean];
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

/** An EventEmitter whose events are known; others may be heard, too. */
declare class Emitter<Events extends Record<keyof Events, Any[]>> extends EventEmitter {
	on<E extends keyof Events>(event: E, listener: (this: this, ...args: Events[E]) => void): this;
	on(event: string | symbol, listener: (this: this, ...args: Any[]) => void): this;
	once<E extends keyof Events>(event: E, listener: (this: this, ...args: Events[E]) => void): this;
	once(event: string | symbol, listener: (this: this, ...args: Any[]) => void): this;
	off<E extends keyof Events>(event: E, listener: (this: this, ...args: Events[E]) => void): this;
	off(event: string | symbol, listener: (this: this, ...args: Any[]) => void): this;
	addListener<E extends keyof Events>(event: E, listener: (this: this, ...args: Events[E]) => void): this;
	addListener(event: string | symbol, listener: (this: this, ...args: Any[]) => void): this;
	removeListener<E extends keyof Events>(event: E, listener: (this: this, ...args: Events[E]) => void): this;
	removeListener(event: string | symbol, listener: (this: this, ...args: Any[]) => void): this;
}

/** The class of framemask/ws, that of ws, or one that extends either. */
type SocketClass = new (...args: Any[]) => EitherWebSocket;

type SendCallback = (error?: Error) => void;

/** A listener that is read: it may be given to a WebSocket of ws, and the reverse. */
type OfEither<E> = (event: Omit<E, 'target'> & { target: EitherWebSocket }) => void;

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

/** A WebSocket of framemask/ws or of ws. */
declare class EitherWebSocket extends Emitter<SocketEvents> {
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

	/** With `'blob'` declare the data of messages as `RawData | Blob`. */
	get binaryType(): 'nodebuffer' | 'arraybuffer' | 'fragments';
	set binaryType(type: WebSocket.BinaryType);

	/**
	 * The bytes that wait. Up to 16 KiB that are held back for one write do not count; in a listener
	 * of messages, up to 128 KiB.
	 */
	readonly bufferedAmount: number;
	readonly extensions: string;
	readonly isPaused: boolean;
	readonly protocol: string;
	readonly readyState: 0 | 1 | 2 | 3;
	readonly url: string;

	get onopen(): OfEither<WebSocket.Event> | null;
	set onopen(listener: ((event: WebSocket.Event) => void) | null);
	get onerror(): OfEither<WebSocket.ErrorEvent> | null;
	set onerror(listener: ((event: WebSocket.ErrorEvent) => void) | null);
	get onclose(): OfEither<WebSocket.CloseEvent> | null;
	set onclose(listener: ((event: WebSocket.CloseEvent) => void) | null);
	get onmessage(): OfEither<WebSocket.MessageEvent> | null;
	set onmessage(listener: ((event: WebSocket.MessageEvent) => void) | null);

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
}

declare class WebSocket extends EitherWebSocket {
	/**
	 * As with ws. A message of {@link prepare} is framed once for all servers' WebSockets that do not
	 * compress it; a client, and one that compresses, frame it for themselves.
	 */
	send(data: Sendable | PreparedMessage, callback?: SendCallback): void;
	send(data: Sendable | PreparedMessage, options: WebSocket.SendOptions, callback?: SendCallback): void;

	/** `for await (const { data, isBinary } of socket)`: {@link WebSocket.messages}, by default. */
	[Symbol.asyncIterator](): AsyncIterableIterator<WebSocket.Message>;
}

declare const WebSocketAlias: typeof WebSocket;
interface WebSocketAlias extends WebSocket {}

declare namespace WebSocket {
	type BinaryType = 'nodebuffer' | 'arraybuffer' | 'fragments' | 'blob';

	/** With the `binaryType` `'blob'`, binary messages are a Blob. */
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
		target: WebSocketAlias;
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
		/**
		 * The length in bytes (inflated, if compressed) from which a message comes by the event
		 * 'stream'. 0: all. Default: none.
		 *
		 * The stream is a Readable of Buffers, whatever the `binaryType`; with `setEncoding('utf8')`,
		 * text comes cut between characters. Text is validated as its bytes come.
		 *
		 * - It keeps at most 64 KiB that its reader has not taken. Until it has ended or is destroyed,
		 *   nothing else of the connection is delivered.
		 * - Without a listener of 'stream' a message is discarded, as by `createWebSocketStream`.
		 * - Its 'error' needs no listener: `FRAMEMASK_ERR_INCOMPLETE` if the connection ends within the
		 *   message, or the WebSocket's.
		 * - `maxPayload` limits it, too. On Deno, connections with permessage-deflate bring no streams.
		 */
		streamFrom?: number | undefined;
		/** Whether connections are read into the same memory. Default: true. */
		sharedReads?: boolean | undefined;
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
		 * Whether to connect over HTTP/2 (RFC 8441), or a session to do so: see `overHttp2` of
		 * framemask, whose `fallback` is 'preferred'. It excludes `agent` and `createConnection`.
		 * Default: false.
		 */
		http2?: boolean | 'preferred' | ClientHttp2Session | undefined;
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
		/**
		 * As of `ConnectionOptions` of framemask; counts for `send`, `ping` and `pong`. The callback and
		 * 'error', in the next tick, get `FRAMEMASK_ERR_BACKPRESSURE`. Default: Infinity.
		 */
		maxBackpressure?: number | undefined;
		/** As of `ConnectionOptions` of framemask. The clock also stands still for a stream's reader. */
		heartbeat?: number | undefined;
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

	class Server<
		T extends SocketClass = typeof WebSocketAlias,
		U extends typeof IncomingMessage = typeof IncomingMessage
	> extends Emitter<ServerEvents<T, U>> {
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
		/**
		 * Closes the server and its connections: see `shutDown` of framemask. Upgrades get 503
		 * meanwhile; with the option `port`, listening ends at once. A second call returns the same
		 * promise.
		 *
		 * @throws Error with `clientTracking: false`
		 */
		shutDown(options: ShutDownOptions): Promise<ShutDownResult>;
		handleUpgrade(
			request: InstanceType<U>,
			socket: Duplex,
			head: Buffer,
			callback: (websocket: InstanceType<T>, request: InstanceType<U>) => void
		): void;
		shouldHandle(request: InstanceType<U>): boolean | Promise<boolean>;
	}

	const WebSocketServer: typeof Server;
	interface WebSocketServer extends Server {}
	const WebSocket: typeof WebSocketAlias;
	interface WebSocket extends WebSocketAlias {}

	interface Report {
		/** The masking code in use. */
		kernel: Kernel;
		/** As `nativeError` of framemask. */
		nativeError: Error | null;
		/** The version of ws. */
		ws: string;
		/** `'shared'` if connections can have `sharedReads` here. */
		reads: 'shared' | 'events';
		/**
		 * Who compresses and inflates: `'ws'` with the environment variable `FRAMEMASK_DEFLATE=ws`, and
		 * on Deno.
		 */
		deflate: 'framemask' | 'ws';
		/** Whether framemask/ws/register is at work. */
		registered: boolean;
		/** Each `ws` that framemask/ws/register has met, the first one first. */
		copies: {
			/** Its folder. */
			path: string;
			version: string;
			/** Whether framemask/ws is in its place. */
			replaced: boolean;
			/** Why it is not. */
			reason: string | null;
		}[];
		/**
		 * The connections that framemask/ws has opened in this thread; of them those with shared reads,
		 * those with permessage-deflate, and those that an option or `shutDown` has terminated.
		 */
		connections: {
			opened: number;
			shared: number;
			compressed: number;
			ended: { maxBackpressure: number; heartbeat: number; shutDown: number };
		};
	}

	/** The parts in use, for a log or an issue. */
	function report(): Report;

	/**
	 * The `connection` of a WebSocket's trace records; null before 'open', and for a WebSocket of
	 * plain ws. A function, because a program may give its WebSockets properties of any name.
	 */
	function connectionId(websocket: EitherWebSocket): string | null;

	type Message = streams.Message;
	type StreamedMessage = streams.StreamedMessage;
	type Marks = streams.Marks;
	type MessagesOptions = streams.MessagesOptions;
	type DrainedOptions = streams.DrainedOptions;
	type Chunk = streams.Chunk;
	type SendStreamOptions = streams.SendStreamOptions;
	type WebSocketCloseInfo = streams.WebSocketCloseInfo;
	type WebSocketOpenInfo = streams.WebSocketOpenInfo;
	type WebSocketError = streams.WebSocketError;
	/** Those of framemask. */
	const messages: typeof streams.messages;
	const drained: typeof streams.drained;
	const sendStream: typeof streams.sendStream;
	const WebSocketError: typeof streams.WebSocketError;

	interface WebSocketStreamOptions extends ClientOptions {
		protocols?: string | string[] | undefined;
		/** Ends the handshake: `opened` and `closed` are rejected with its reason. */
		signal?: AbortSignal | undefined;
	}

	/** That of framemask, and a client's. */
	class WebSocketStream extends streams.WebSocketStream {
		/** @throws SyntaxError for an URL or a protocol that is not valid, as `WebSocket` */
		constructor(url: string | URL, options?: WebSocketStreamOptions);
	}

	function createWebSocketStream(websocket: EitherWebSocket, options?: DuplexOptions): Duplex;

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
