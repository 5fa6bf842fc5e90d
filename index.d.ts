/// <reference types="node" />

import type { ClientRequestArgs } from 'node:http';
import type { ClientHttp2Session, Http2SecureServer, Http2Server } from 'node:http2';
import type { Duplex, Readable } from 'node:stream';
import type { ReadableStream, WritableStream } from 'node:stream/web';

// biome-ignore lint/suspicious/noExplicitAny: of any context.
type Any = any;

/**
 * The WebSocket frame layer for Node.js. The guides are docs/ of the repository.
 *
 * A wrong argument or option throws an error that names it: a TypeError with `ERR_INVALID_ARG_TYPE`
 * or `ERR_INVALID_ARG_VALUE`, or a RangeError with `ERR_OUT_OF_RANGE`. A call at the wrong time
 * throws an Error with `ERR_INVALID_STATE`. A {@link FrameError} is the peer's fault.
 *
 * @packageDocumentation
 */

/**
 * Masks or unmasks (the same operation, RFC 6455 section 5.3) the first `length` bytes of `source`,
 * and writes them to `output` from `offset` on. The two may overlap. To mask in pieces, give each
 * call the phase that the call before it returned.
 *
 * @param key 4 bytes
 * @param phase the index in `key`, 0 to 3, for the first byte of `source`. Default: 0
 * @returns the phase for the next byte: (phase + length) modulo 4
 * @throws TypeError if the memory of an argument is detached
 * @throws RangeError if the range does not fit `source` or `output`. An error leaves `output`
 *   unchanged
 */
export function mask(
	source: Uint8Array,
	key: Uint8Array,
	output: Uint8Array,
	offset: number,
	length: number,
	phase?: number
): number;

/** Masks or unmasks `buffer` in place. Arguments, errors and result are those of {@link mask}. */
export function unmask(buffer: Uint8Array, key: Uint8Array, phase?: number): number;

/** The masking code: an instruction set, `'scalar'` without SIMD, or `'js'`. */
export type Kernel = 'avx512' | 'avx2' | 'sse2' | 'neon' | 'scalar' | 'js';

/** The machine's best kernel, or that of the environment variable `FRAMEMASK_KERNEL`. */
export const kernel: Kernel;

/**
 * Why the addon did not load; null if it did, or `FRAMEMASK_KERNEL=js`. JSON has its name, message
 * and code.
 */
export const nativeError: Error | null;

/** A client's frames are masked, a server's are not (RFC 6455 section 5.1). */
export type Role = 'server' | 'client';

/** See {@link DecoderOptions.text}. */
export type TextAs = 'string' | 'buffer';

export type BinaryData = Buffer;

export type TextData<Text extends TextAs = 'string'> = Text extends 'string' ? string : BinaryData;

type Handler<This, Arguments extends Any[] = []> = ((this: This, ...given: Arguments) => void) | undefined;

/** The arguments of `onMessage`, typed by a test of `isBinary`. */
export type MessageArguments<Text extends TextAs = 'string'> =
	| [data: TextData<Text>, isBinary: false]
	| [data: BinaryData, isBinary: true];

// The first signature gives a handler's parameters their types; the interface accepts handlers with
// fewer. Its two signatures differ in type parameters, so that they determine no types themselves.
type HandlerOf<This, Text extends TextAs, Arguments extends Any[]> =
	| ((this: This, ...given: Arguments) => void)
	| ShortHandler<This, TextData<Text> | BinaryData>;
interface ShortHandler<This, Data> {
	(this: This, data: Data, isBinary: boolean): void;
	<_>(this: This, data: Data, isBinary: boolean): void;
}

export type MessageHandler<Context = undefined, Text extends TextAs = 'string'> = HandlerOf<
	Decoder<Context>,
	Text,
	MessageArguments<Text>
>;

/** Those of `onPart`. */
export type PartArguments<Text extends TextAs = 'string'> =
	| [data: TextData<Text>, isBinary: false, isLast: boolean]
	| [data: BinaryData, isBinary: true, isLast: boolean];

export type PartHandler<Context = undefined, Text extends TextAs = 'string'> = HandlerOf<
	Decoder<Context>,
	Text,
	PartArguments<Text>
>;

/**
 * `this` is the {@link Decoder}; a handler may call all its methods. If it throws, so does the
 * `write` or `resume` that is at work; the next one delivers the frames that follow.
 */
export interface DecoderHandlers<Context = undefined, Text extends TextAs = 'string'> {
	/**
	 * A message is complete. `data` is a Buffer, or a string for text, unless the option `text` asks
	 * for bytes. A Buffer is yours to keep and change. It may be a view of its chunk, and then keeps
	 * that in memory.
	 */
	onMessage?: MessageHandler<Context, Text> | undefined;
	/**
	 * The next part of a message of `partsFrom` bytes or more, as its bytes arrive, even within a
	 * frame. `maxPayload` counts, and may be `Infinity`. `pause` holds back later parts. Not with
	 * `onFrame`, and not with the option `deflate` on Deno.
	 *
	 * `data` is a Buffer, or text, cut between characters. It may be empty if `isLast`. Parts of
	 * compressed messages have at most 64 KiB, but for a first one of `partsFrom` bytes or more. The
	 * event loop inflates them, in several turns if they are many: see `onInflated`.
	 */
	onPart?: PartHandler<Context, Text> | undefined;
	/** A Ping frame with 0 to 125 bytes. Answer by {@link Encoder.pong} with the same payload. */
	onPing?: Handler<Decoder<Context>, [payload: Buffer]>;
	onPong?: Handler<Decoder<Context>, [payload: Buffer]>;
	/**
	 * A Close frame has ended the decoder: code 1005 and no reason if it has no payload. Answer by
	 * {@link Encoder.close} with the same code.
	 */
	onClose?: Handler<Decoder<Context>, [code: number, reason: string, reasonBytes: Buffer]>;
	/**
	 * The peer has broken a rule or limit, which ends the decoder. Send a Close frame with
	 * `error.closeCode` and end the connection (RFC 6455 section 7.1.7). Without this handler,
	 * `write` and `resume` throw the error.
	 */
	onError?: Handler<Decoder<Context>, [error: FrameError]>;
	/**
	 * A frame of any kind is complete. Headers, places and limits are checked; messages are not made,
	 * and text is not validated. Not with `onMessage`, `onPart` or the option `deflate`. `onPing`,
	 * `onPong` and `onClose` follow, even if it pauses.
	 *
	 * - `firstByte`: FIN is 0x80, RSV1 to RSV3 are 0x70, the opcode is 0x0f (RFC 6455 section 5.2)
	 * - `bytes`: the unmasked payload is from `start` to before `end`. Copy bytes that you keep,
	 *   change none
	 */
	onFrame?: Handler<Decoder<Context>, [firstByte: number, bytes: Buffer, start: number, end: number]>;
}

export interface TracedConnection {
	/** This endpoint's name of the connection. Default: a version 4 UUID, from the first record. */
	id?: string | undefined;
	/** The Sec-WebSocket-Key of the handshake. A client may choose another connection's. */
	key?: string | undefined;
}

/**
 * Other names are ignored; one that differs from an option's by case or one letter (`maxPayLoad`)
 * is refused.
 */
export interface DecoderOptions<Context = undefined, Text extends TextAs = 'string'>
	extends DecoderHandlers<Context, Text> {
	role: Role;
	/**
	 * The most bytes of a message, over all fragments, and with `deflate` also inflated. More are an
	 * error with the close code 1009. `0` allows empty messages only, `Infinity` all. Default:
	 * 104857600 (100 MiB).
	 */
	maxPayload?: number | undefined;
	/**
	 * The most frames of a message, 1 to `Infinity`; more are an error with the close code 1008.
	 * Default: 16384.
	 */
	maxFragments?: number | undefined;
	/**
	 * With `onPart`: messages of this many bytes (inflated, if compressed) come in parts, as soon as
	 * their frames are known to have as many. Default: 0, all.
	 */
	partsFrom?: number | undefined;
	/**
	 * Text as a string, or as bytes; both are validated as UTF-8 (RFC 6455 section 8.1). Default:
	 * 'string'.
	 */
	text?: Text | undefined;
	/** With `text: 'buffer'`: validates neither text nor reasons of Close frames. Default: false. */
	skipUTF8Validation?: boolean | undefined;
	/**
	 * With `onFrame`: accepts RSV1 on the first frame of a message, for an extension of your own.
	 * Else it is an error with the close code 1002. Default: false.
	 */
	rsv1?: boolean | undefined;
	/** The negotiated permessage-deflate. Messages wait while one is {@link Decoder.inflating}. */
	deflate?: NegotiatedDeflate | null | undefined;
	/**
	 * With `deflate`: a frame was inflated in the thread pool, or in another turn, and it and the
	 * messages after it were delivered outside of `write`. Flush the Encoder, look at
	 * {@link Decoder.closed}, and read on. An error that a handler throws meanwhile is uncaught.
	 */
	onInflated?: Handler<Decoder<Context>>;
	/**
	 * One object for an endpoint's Decoder and Encoder; `false` publishes no record. Default: each has
	 * a version 4 UUID.
	 */
	trace?: TracedConnection | false | null | undefined;
	/** Any value for the handlers: `this.context`. */
	context?: Context | undefined;
}

/** `context` is necessary unless it may be undefined, and `text` if it is 'buffer'. */
export type RequiredDecoderOptions<Context, Text extends TextAs> = (undefined extends Context
	? unknown
	: { context: Context }) &
	([Text] extends ['buffer'] ? { text: Text } : unknown);

/**
 * Decodes the bytes of a connection (RFC 6455) and calls handlers with its messages. It sends
 * nothing.
 *
 * TypeScript infers both type parameters or none. To name the context only:
 * `const decoder: Decoder<Connection> = new Decoder({ ... })`.
 */
export class Decoder<Context = undefined, Text extends TextAs = 'string'> {
	/** @throws Error with `ERR_INVALID_STATE` if two options exclude each other */
	constructor(options: DecoderOptions<Context, Text> & RequiredDecoderOptions<Context, Text>);
	/** It may be replaced at any time. */
	context: Context;
	readonly role: Role;
	/** Whether `stop`, a Close frame or an error has ended the decoder. It ignores later bytes. */
	readonly closed: boolean;
	readonly paused: boolean;
	/**
	 * The frames that have been read, control frames and the one whose header ends the last chunk
	 * included. In a handler it is the `sequence` of the frame's trace record.
	 */
	readonly framesRead: number;
	/** Whether the thread pool or another turn inflates a message. Frames wait until `onInflated`. */
	readonly inflating: boolean;
	/**
	 * Decodes the next chunk and calls the handlers. The chunk is the decoder's from then on: it is
	 * unmasked in place, and views of it are delivered.
	 *
	 * @returns false if the decoder is paused, or `inflating`: read no more until `resume`, or
	 *   `onInflated`. It keeps the bytes that are written meanwhile
	 * @throws {@link FrameError} without `onError`, and errors of handlers
	 */
	write(chunk: Uint8Array): boolean;
	/** Stops delivery at once, even within a chunk, until `resume`. */
	pause(): void;
	/** Delivers the messages that were held back. Throws as `write` does. */
	resume(): void;
	/** Ends the decoder: it ignores all that follows, and releases its memory. */
	stop(): void;
}

export type Bytes = ArrayBufferView | ArrayBuffer | SharedArrayBuffer;

/** A `stream.Writable` or an object with the same methods. */
export interface FrameSink {
	/** False once the stream has ended: nothing more is written. */
	readonly writable?: boolean | undefined;
	/** The bytes that have not been handed over yet. */
	readonly writableLength?: number | undefined;
	/**
	 * The memory of `chunk` may also hold later bytes, a message that others send, or your own
	 * payload: copy it instead of changing or transferring it.
	 *
	 * @param callback given if `flush` was given one: to be called when the bytes are written
	 * @returns false if the caller should wait for 'drain'
	 */
	write(chunk: Uint8Array, callback?: (error?: Error | null) => void): boolean;
	cork?(): void;
	uncork?(): void;
}

/** Other names are treated as by {@link DecoderOptions}. */
export interface EncoderOptions<End extends Role = Role> {
	role: End;
	/**
	 * The stream to which the encoder writes at the end of each turn of the event loop in which
	 * frames have collected. Default: null; nothing is sent until `flush`.
	 */
	writable?: FrameSink | null | undefined;
	/**
	 * Later messages and a Close frame wait while one of `threadPoolFrom` bytes or more is in zlib's
	 * thread pool; Ping and Pong frames do not.
	 */
	deflate?: NegotiatedDeflate | null | undefined;
	/**
	 * With `deflate`: a message that was in the thread pool, and those that waited for it, have been
	 * added. Flush, unless there is a `writable`.
	 */
	onDeflated?: Handler<Encoder<End>>;
	/** See {@link DecoderOptions.trace}. */
	trace?: TracedConnection | false | null | undefined;
}

export interface FragmentOptions {
	/** Whether this frame ends its message. Default: true. */
	fin?: boolean | undefined;
	/**
	 * Gives the data away. A client then masks payloads of 16 KiB and more in place, without a copy.
	 * If earlier bytes waited in the stream after the last flush, neither role copies 1 KiB and more.
	 * Default: false.
	 */
	owned?: boolean | undefined;
}

export interface MessageOptions extends FragmentOptions {
	/** Sets RSV1, for a negotiated extension. Default: false. */
	rsv1?: boolean | undefined;
	/**
	 * With `deflate`: `false` does not compress the message, `true` does, whatever its size. Default:
	 * from the `threshold` on, or, in fragments, if the first one is that long. Without context
	 * takeover, a message that does not shrink is sent uncompressed. Fragments are not compressed on
	 * Deno.
	 */
	compress?: boolean | undefined;
}

/**
 * Encodes messages (RFC 6455). Frames collect until `flush` sends them in one write, `take` returns
 * them, or, with the option `writable`, the turn of the event loop ends.
 *
 * Methods that add a frame do nothing once the encoder is `closed`. They throw a TypeError for data
 * of a wrong type, and an Error if a message begins within a fragmented one.
 *
 * Your data change only if they are `owned`. A server does not copy payloads of 16 KiB and more: do
 * not change them before they are sent.
 */
export class Encoder<End extends Role = Role> {
	constructor(options: EncoderOptions<End>);
	readonly role: End;
	/** Whether a Close frame has been added, `stop` called, or a message lost that others need. */
	readonly closed: boolean;
	/** The bytes that have collected, and those of messages whose compression has not ended. */
	readonly pending: number;
	/** Adds a text message, or its first fragment (`fin: false`). Bytes must be UTF-8, unchecked. */
	text(data: string | Bytes, options?: MessageOptions): void;
	/** Adds a binary message, or its first fragment with `fin: false`. */
	binary(data: Bytes, options?: MessageOptions): void;
	/**
	 * Adds a fragment (RFC 6455 section 5.4), the last one unless `fin` is false. Those of a text
	 * message are UTF-8 together (not checked); a string may end within a surrogate pair if another
	 * string follows.
	 *
	 * @throws Error outside of a fragmented message
	 */
	continuation(data: string | Bytes, options?: FragmentOptions): void;
	/** Adds a Ping frame of up to 125 bytes (RFC 6455 section 5.5.2), also between fragments. */
	ping(data?: string | Bytes): void;
	/** Adds a Pong frame of up to 125 bytes (RFC 6455 section 5.5.3), also between fragments. */
	pong(data?: string | Bytes): void;
	/**
	 * Adds a Close frame (RFC 6455 section 5.5.1).
	 *
	 * @param code 1000 to 1003, 1007 to 1014 or 3000 to 4999 (RFC 6455 section 7.4). Default: none,
	 *   as 1005
	 * @param reason up to 123 bytes of valid UTF-8; only with a code
	 */
	close(code?: number, reason?: string | Bytes): void;
	/** For a lost connection: drops the collected frames, and frees the memory of compression. */
	stop(): void;
	/**
	 * Adds a message of {@link prepare}, without a copy if it has 1 KiB or more, or nothing else has
	 * collected. For servers: clients mask each frame anew.
	 *
	 * @throws Error if the role is `'client'`, or an earlier writer has transferred its memory
	 */
	addPrepared(this: Encoder<'server'>, message: PreparedMessage): void;
	/**
	 * Adds the bytes of one frame that a proxy's peer or another library has framed. They are sent as
	 * they are; the order of fragments is not checked. Pieces of 16 KiB or more are not copied: do
	 * not change them before they are sent.
	 *
	 * @param pieces the first one has the whole header
	 * @param options `owned`: as in {@link FragmentOptions}; the pieces are not changed
	 * @throws RangeError if they are not one whole frame that this role may send
	 * @throws Error for a continuation of a message that this encoder compresses
	 */
	addFramed(pieces: Uint8Array[], options?: { owned?: boolean | undefined }): void;
	/**
	 * Sends all that has collected, in one write.
	 *
	 * @param writable Default: the option `writable`; one is needed
	 * @param callback a {@link SendCallback}
	 * @returns false if the stream wants no more until 'drain', or if it has ended and the frames are
	 *   dropped
	 * @throws errors of the stream's `write`. An Error if memory that was to be sent has been
	 *   transferred: all that has collected is lost. If it waited for compression, or messages refer
	 *   to earlier ones, nothing more is sent
	 */
	flush(writable?: FrameSink, callback?: (error?: Error | null) => void): boolean;
	flush(callback: (error?: Error | null) => void): boolean;
	/** Returns the collected bytes. Their memory is shared as in {@link FrameSink.write}. */
	take(): Buffer[];
}

// The mark of a PreparedMessage, so that no other object passes for one.
declare const preparedMessage: unique symbol;

/** A message that {@link prepare} has framed. */
export interface PreparedMessage {
	/** @hidden */
	readonly [preparedMessage]: true;
	/** A copy of the frame with its header. Each access makes a new one. */
	readonly frame: Buffer;
	/** The length of the payload in bytes. */
	readonly length: number;
}

export interface PrepareOptions {
	/** `false`: bytes are UTF-8 text (not checked). Default: true for bytes, false for a string. */
	binary?: boolean | undefined;
	/** Sets RSV1, for an extension that all the connections have. Default: false. */
	rsv1?: boolean | undefined;
	/**
	 * Compresses for Encoders that have the option `deflate` without context takeover, and a
	 * `threshold` of its length at most: once for all with the same window, level and memory, always
	 * on the event loop. Others send it as it is. Default: false.
	 */
	deflate?: boolean | undefined;
}

/**
 * Frames a message once, for {@link Encoder.addPrepared} of any number of servers' encoders. A
 * string is a text message, bytes a binary one. Bytes are copied.
 */
export function prepare(data: string | Bytes, options?: PrepareOptions): PreparedMessage;

export interface DeflateOptions {
	/**
	 * Whether messages may refer to earlier ones (RFC 7692 section 7.1.1). Small ones shrink further;
	 * each connection takes memory (docs/deflate.md). Deno never agrees to it. Default: false.
	 */
	contextTakeover?: boolean | undefined;
	/** The server's largest window, as log2: 9 to 15 (RFC 7692 section 7.1.2). Default: 15. */
	serverWindowBits?: number | undefined;
	/** The same for the client. A server declines an offer that forbids to limit it. Default: 15. */
	clientWindowBits?: number | undefined;
	/** zlib's compression level: 0 to 9, or -1 for 6. Default: -1. */
	level?: number | undefined;
	/** The memory that zlib compresses with: 1 to 9. Default: 8. */
	memLevel?: number | undefined;
	/** Messages of fewer bytes are not compressed. Default: 1024. */
	threshold?: number | undefined;
	/**
	 * Messages from this many bytes on are compressed in zlib's thread pool, and inflated there if
	 * they come in more than half as many, or inflate to more than four times as many. `Infinity`:
	 * none. Default: 32768.
	 */
	threadPoolFrom?: number | undefined;
}

// The mark of a NegotiatedDeflate.
declare const deflateAgreement: unique symbol;

/** The negotiated permessage-deflate: the option `deflate` of codecs. Connections may share it. */
export interface NegotiatedDeflate {
	/** @hidden */
	readonly [deflateAgreement]: true;
	/** The answer's header Sec-WebSocket-Extensions. */
	readonly header: string;
}

/** A client's offer of permessage-deflate, by {@link offerDeflate}. */
export interface DeflateOffer {
	/** The request's header Sec-WebSocket-Extensions. */
	readonly header: string;
	/**
	 * Reads the response's Sec-WebSocket-Extensions (RFC 7692 section 7.1).
	 *
	 * @returns null if the server has declined
	 * @throws {@link FrameError} if it does not answer this offer: fail the connection
	 */
	readAnswer(header: string | undefined): NegotiatedDeflate | null;
}

/**
 * Answers a request's Sec-WebSocket-Extensions: accepts the first offer of permessage-deflate (RFC
 * 7692) that is valid and can be kept. Declines malformed headers, and never throws for them.
 *
 * @returns null if messages are not compressed: answer without the header
 */
export function acceptDeflate(header: string | undefined, options?: DeflateOptions): NegotiatedDeflate | null;

/** Makes a client's offer of permessage-deflate (RFC 7692). */
export function offerDeflate(options?: DeflateOptions): DeflateOffer;

export interface Upgrade {
	/** The subprotocol, `''` for none. */
	readonly protocol: string;
	/** The option `deflate` of both codecs; null if messages are not compressed. */
	readonly deflate: NegotiatedDeflate | null;
}

export interface UpgradeRequest {
	readonly method?: string | undefined;
	readonly httpVersion: string;
	readonly headers: { readonly [name: string]: string | string[] | undefined };
}

export interface UpgradeSocket {
	readonly destroyed?: boolean | undefined;
	write(bytes: Uint8Array): unknown;
	end(bytes: Uint8Array): unknown;
	unshift(bytes: Uint8Array): unknown;
	destroy(): unknown;
	on(event: 'error', listener: (error: Error) => void): unknown;
	once(event: 'finish', listener: () => void): unknown;
}

/**
 * Header fields, as node:http takes them: each value of a list is a field of its own, undefined is
 * left out. Or a `Headers` of fetch, or names and values in turn, as `rawHeaders`. Any other form,
 * or a value that would begin another field, is a TypeError.
 */
export type HeaderFields =
	| { readonly [name: string]: string | number | readonly (string | number)[] | undefined }
	| { getSetCookie(): string[]; [Symbol.iterator](): Iterator<[string, string]> }
	| readonly string[];

export interface AcceptUpgradeOptions {
	/**
	 * The subprotocol, if the client offers it, or a function that chooses an offered one. Default:
	 * none.
	 */
	protocol?: string | ((offered: string[]) => string | undefined) | undefined;
	/** Whether to accept permessage-deflate, maybe with options. Default: false. */
	deflate?: boolean | DeflateOptions | undefined;
	/** Further headers of the answer. */
	headers?: HeaderFields | undefined;
}

/**
 * Answers a client's handshake (RFC 6455 section 4.2), in a listener of `http.Server`'s event
 * 'upgrade'. Pages of any origin may connect: with cookies, look at `request.headers.origin` first.
 *
 * @param head the third argument of the event: the socket reads these bytes again
 * @returns null if the request is not correct: it has been answered with 400, 405 or 426, and the
 *   socket ends. Also null if the socket was destroyed before
 * @throws TypeError, without an answer, if `protocol` returns one that is not offered, or a header
 *   has a line break
 */
export function acceptUpgrade(
	request: UpgradeRequest,
	socket: UpgradeSocket,
	head: Uint8Array,
	options?: AcceptUpgradeOptions
): Upgrade | null;

/** Answers a handshake with an error such as 401 (default: 400), and ends the socket. */
export function refuseUpgrade(socket: UpgradeSocket, status?: number, headers?: HeaderFields): null;

export interface OfferUpgradeOptions {
	/** The subprotocols to offer, the preferred one first. Default: none. */
	protocols?: readonly string[] | undefined;
	/** Whether to offer permessage-deflate, maybe with options. Default: false. */
	deflate?: boolean | DeflateOptions | undefined;
}

/** A client's handshake, by {@link offerUpgrade}, for one request. */
export interface UpgradeOffer {
	readonly headers: { readonly [name: string]: string };
	/**
	 * Checks the server's answer, in a listener of `http.ClientRequest`'s event 'upgrade'.
	 *
	 * @throws {@link FrameError} with FRAMEMASK_ERR_HANDSHAKE or FRAMEMASK_ERR_EXTENSIONS: destroy
	 *   the socket
	 */
	readAnswer(response: {
		readonly statusCode?: number | undefined;
		readonly headers: { readonly [name: string]: string | string[] | undefined };
	}): Upgrade;
}

/** Makes a client's handshake (RFC 6455 section 4.1), for a GET request of `node:http`. */
export function offerUpgrade(options?: OfferUpgradeOptions): UpgradeOffer;

/**
 * `this` is the {@link Connection}, so that connections may share the handlers. An error that one
 * throws is thrown again in the next tick, uncaught; the next message follows. A promise is not
 * awaited: `pause`.
 */
export interface ConnectionHandlers<Context = undefined, Text extends TextAs = 'string'> {
	/** See {@link DecoderHandlers.onMessage}. */
	onMessage?: HandlerOf<Connection<Context, Text>, Text, MessageArguments<Text>> | undefined;
	/** See {@link DecoderHandlers.onPart}. */
	onPart?: HandlerOf<Connection<Context, Text>, Text, PartArguments<Text>> | undefined;
	/** A Ping frame, which has been answered unless `autoPong` is false. */
	onPing?: Handler<Connection<Context, Text>, [payload: Buffer]>;
	onPong?: Handler<Connection<Context, Text>, [payload: Buffer]>;
	/** `send` has returned false, and may be called again. Also during a pause. */
	onDrain?: Handler<Connection<Context, Text>>;
	/**
	 * The connection is lost; `onClose` follows. Called once, with a {@link FrameError}; the stream's
	 * error, such as ECONNRESET; or one with the code `FRAMEMASK_ERR_BACKPRESSURE`
	 * (`maxBackpressure`), `FRAMEMASK_ERR_HEARTBEAT` (`heartbeat`), or `ERR_INVALID_STATE` (memory
	 * that was to be sent has been transferred). Without this handler nothing is thrown; the first
	 * error of framemask's is a warning of the process (`FRAMEMASK_WARN_LOST`), and each a line of
	 * `NODE_DEBUG=framemask`.
	 */
	onError?: Handler<Connection<Context, Text>, [error: Error & { code?: string }]>;
	/**
	 * Called once, as the last handler, with the code and reason of the peer's Close frame: 1005 if
	 * it had none, 1006 if no frame came (RFC 6455 section 7.1.5).
	 */
	onClose?: Handler<Connection<Context, Text>, [code: number, reason: string]>;
}

/** Shared by the connections of a server. Names are treated as by {@link DecoderOptions}. */
export interface ConnectionOptions<Context = undefined, Text extends TextAs = 'string'>
	extends ConnectionHandlers<Context, Text>,
		Pick<DecoderOptions<Context, Text>, 'maxPayload' | 'maxFragments' | 'text'> {
	/**
	 * See {@link DecoderOptions.partsFrom}. Without `onMessage` and `onPart`, such messages are
	 * streams for {@link messages}: each keeps at most 64 KiB that its reader has not taken, and
	 * messages that follow wait until it is read or destroyed.
	 */
	partsFrom?: number | undefined;
	/** See {@link AcceptUpgradeOptions}. `new Connection` takes the agreement of its handshake. */
	deflate?: boolean | DeflateOptions | undefined;
	/**
	 * The bytes that may wait before a `send`. If more wait, it fails, `onError` gets
	 * `FRAMEMASK_ERR_BACKPRESSURE`, and the connection is terminated: 1006 without a Close frame. One
	 * message of any size passes. `Infinity` removes the limit. Default: 16777216 (16 MiB) for a
	 * server, `Infinity` for a client, whose program has chosen its server.
	 */
	maxBackpressure?: number | undefined;
	/** The milliseconds that closing may take before the stream is destroyed. Default: 10000. */
	closeTimeout?: number | undefined;
	/**
	 * The milliseconds of silence until a Ping, and again until the connection is terminated with
	 * `FRAMEMASK_ERR_HEARTBEAT`; both up to a quarter of that time late. Received bytes end a
	 * silence, and sent ones that the system has taken (docs/ws.md: how slow a reader may be). The
	 * clock stands still while the program has paused the connection. Default: 0, never.
	 */
	heartbeat?: number | undefined;
	/**
	 * Whether Ping frames are answered: of those in one read, 64 and the last; if the peer does not
	 * read, the first and the last. Default: true.
	 */
	autoPong?: boolean | undefined;
}

/** The options of one connection, beside those that it shares. */
export interface OwnConnectionOptions<Context = undefined> extends Pick<DecoderOptions<Context>, 'context'> {
	/** The subprotocol of the handshake. Default: ''. */
	protocol?: string | undefined;
	/** The agreement of the handshake. Default: null. */
	deflate?: NegotiatedDeflate | null | undefined;
	/** Whether it begins with a `pause`, such as for an asynchronous login. Default: false. */
	paused?: boolean | undefined;
	/** See {@link DecoderOptions.trace}; `path` is for `framemask:open` and `framemask:close`. */
	trace?: (TracedConnection & { path?: string | undefined }) | false | undefined;
}

export interface AcceptOptions<Context = undefined>
	extends AcceptUpgradeOptions,
		Pick<OwnConnectionOptions<Context>, 'context' | 'paused'> {
	/** `key` and `path` are those of the handshake. */
	trace?: Pick<TracedConnection, 'id'> | false | undefined;
}

/** A type that other arguments decide (NoInfer, which TypeScript 5.0 lacks). */
type Given<T> = [T][T extends unknown ? 0 : never];
type RequestOfPath = UpgradeRequest & { readonly url?: string | undefined };
type Owned<Context> = AcceptOptions<Context> & { context: Context };

/** Others, such as `ca` or `socketPath`, go to `http.request` or `https.request`. */
export interface ConnectOptions<Context = undefined, Text extends TextAs = 'string'>
	extends ConnectionOptions<Context, Text>,
		OfferUpgradeOptions,
		Pick<AcceptOptions<Context>, 'context' | 'paused' | 'trace'>,
		Omit<import('node:https').RequestOptions, 'headers' | 'signal' | 'protocol'> {
	/** Further headers of the request. */
	headers?: HeaderFields | undefined;
	/** The milliseconds that the handshake may take. Default: 10000. */
	handshakeTimeout?: number | undefined;
	/** Gives up the handshake. No effect on an open connection. */
	signal?: AbortSignal | undefined;
}

export interface SendOptions extends Pick<MessageOptions, 'compress' | 'owned'> {
	/** Default: true for bytes, false for a string. */
	binary?: boolean | undefined;
	/** Whether the data end the message. The next `send` continues it otherwise. Default: true. */
	fin?: boolean | undefined;
}

/** Called when the stream has taken the bytes, or with the error why it has not. */
export type SendCallback = (error?: Error | null) => void;

/**
 * A WebSocket connection (RFC 6455) on any `stream.Duplex`. It answers Ping frames and does the
 * closing handshake. A server whose client leaves 64 KiB unread hears one read of its messages, and
 * the next when that has left; a client always reads.
 */
export class Connection<Context = undefined, Text extends TextAs = 'string'> {
	static readonly OPEN: 1;
	static readonly CLOSING: 2;
	static readonly CLOSED: 3;
	/**
	 * Answers a handshake as {@link acceptUpgrade}, with its arguments and errors.
	 *
	 * @param options shared by all connections of a server; those of `own` may stand here, too
	 * @param own without handlers and limits, which throw. The context is needed where the handlers'
	 *   is not undefined
	 * @returns null if the request has been refused, if its peer has left, or if an earlier request on
	 *   the socket is still being answered
	 */
	static accept<Context = undefined, Text extends TextAs = 'string'>(
		request: RequestOfPath,
		socket: Duplex,
		head: Uint8Array,
		options?: ConnectionOptions<Context, Text> & AcceptOptions<Given<Context>>,
		...own: undefined extends Context ? [own?: AcceptOptions<Given<Context>>] : [own: Owned<Given<Context>>]
	): Connection<Context, Text> | null;
	static accept<Context, Text extends TextAs = 'string'>(
		request: RequestOfPath,
		socket: Duplex,
		head: Uint8Array,
		options: ConnectionOptions<Context, Text> & Owned<Context>,
		own?: AcceptOptions<Given<Context>>
	): Connection<Context, Text> | null;
	static accept<Context, Text extends TextAs = 'string'>(
		request: RequestOfPath,
		socket: Duplex,
		head: Uint8Array,
		options: ConnectionOptions<Context, Text> & AcceptOptions<Given<Context>>,
		own: Owned<Context>
	): Connection<Context, Text> | null;
	/**
	 * Opens a connection to a ws: or wss: URL. Nothing is delivered before the code that awaits the
	 * promise has run. Redirects are not followed.
	 *
	 * @returns a promise, rejected with the stream's error, the signal's reason, an error with the
	 *   code `FRAMEMASK_ERR_HANDSHAKE_TIMEOUT`, or, if the server refuses or its answer is wrong, a
	 *   {@link FrameError} with its `statusCode` and `headers`
	 */
	static connect<Context = undefined, Text extends TextAs = 'string'>(
		url: string | URL,
		options?: ConnectOptions<Context, Text>
	): Promise<Connection<Context, Text>>;
	/**
	 * After a handshake of your own. The chunks that `socket` reads are unmasked in place: they must
	 * not be another's, too. `options` may have those of `own`, if it is not given.
	 */
	constructor(
		socket: Duplex,
		role: Role,
		options?: ConnectionOptions<Context, Text> & Omit<OwnConnectionOptions<Context>, 'deflate'>,
		own?: OwnConnectionOptions<Context>
	);
	constructor(
		socket: Duplex,
		role: Role,
		options: Omit<ConnectionOptions<Context, Text>, 'deflate'> & OwnConnectionOptions<Context>
	);
	/** It may be replaced at any time. */
	context: Context;
	/** The subprotocol, '' for none. */
	readonly protocol: string;
	/** Null if messages are not compressed. */
	readonly deflate: NegotiatedDeflate | null;
	/** For addresses and the like. Write, end and pause by the connection's own methods. */
	readonly socket: Duplex;
	readonly role: Role;
	/** 1 open, 2 closing, 3 closed. */
	readonly readyState: 1 | 2 | 3;
	readonly paused: boolean;
	/** The bytes that wait: for the end of the turn, for compression, or for the peer. */
	readonly bufferedAmount: number;
	/** See {@link Decoder.framesRead}. */
	readonly framesRead: number;
	/** The code that `onClose` gets; null before. */
	readonly closeCode: number | null;
	/** The reason that `onClose` gets; '' before. */
	readonly closeReason: string;
	/**
	 * Sends a message, or a part of one (`fin: false`). Messages leave together at the end of the
	 * read in whose handlers they are sent (from 128 KiB on at once), or of the turn of the event
	 * loop (16 KiB). After `close` nothing is sent or thrown: the callback gets an error with
	 * `FRAMEMASK_ERR_NOT_OPEN`.
	 *
	 * @param data text as a string; bytes, which a server does not copy from 16 KiB on: do not change
	 *   those before they are sent; or a message of {@link prepare}, for servers
	 * @returns false if the peer reads more slowly, or the connection is not open: wait for `onDrain`
	 * @throws TypeError for data of another type
	 */
	send(data: string | Bytes | PreparedMessage, options?: SendOptions, callback?: SendCallback): boolean;
	send(data: string | Bytes | PreparedMessage, callback: SendCallback): boolean;
	/** Sends a Ping frame of up to 125 bytes. Returns and throws as `send`. */
	ping(data?: string | Bytes, callback?: SendCallback): boolean;
	/** The same for a Pong frame. Ping frames are answered without it. */
	pong(data?: string | Bytes, callback?: SendCallback): boolean;
	/**
	 * Begins closing, as {@link Encoder.close}. Messages come until the peer answers; none is sent.
	 */
	close(code?: number, reason?: string | Bytes): void;
	/** Drops the connection at once: only `onError` and `onClose` are still called. */
	terminate(): void;
	/**
	 * Stops reading and delivery: no handler gets a message, a control frame or the end of the
	 * connection before `resume`. `terminate` ends it nevertheless.
	 */
	pause(): void;
	/** Delivers the events that were held back, from the next tick on. */
	resume(): void;
	/** `for await (const { data, isBinary } of connection)`: {@link messages}, by default. */
	[Symbol.asyncIterator](): AsyncIterableIterator<Message>;
}

/** A Connection, a WebSocket of framemask/ws, or, where it is said, of plain ws. */
export type Peer =
	| Connection<Any, Any>
	| { readonly readyState: number; readonly isPaused: boolean; pause(): void; resume(): void };

/** A test of `isBinary` narrows the type of `data`. */
export type Message = { data: string; isBinary: false } | { data: Buffer; isBinary: true };

/** With the option `streams`. */
export type StreamedMessage = Message | { data: Readable; isBinary: boolean };

export interface Marks {
	bytes?: number | undefined;
	messages?: number | undefined;
}

export interface MessagesOptions {
	/** From either amount on, the peer is paused. Default: 256 KiB, 256 messages. */
	highWaterMark?: Marks | undefined;
	/** Down to both amounts, it is resumed. Default: a quarter of `highWaterMark`. */
	lowWaterMark?: Marks | undefined;
	/** Ends the loop, which throws its reason. A message that it gathers is discarded. */
	signal?: AbortSignal | undefined;
	/**
	 * Whether long messages come as streams (the option `partsFrom` of a Connection, `streamFrom` of
	 * framemask/ws): read each to its end, or destroy it, before the loop goes on. Otherwise the loop
	 * gathers each, and throws the error of a cut one. Default: false.
	 */
	streams?: boolean | undefined;
}

/**
 * The messages of a connection from this call on: call it in the turn of `accept` or 'connection',
 * before 'open', or on a Connection with `paused: true`, which the first loop resumes. While the
 * loop is busy, the peer is paused at a high mark; the messages of a read that has begun (up to 64
 * KiB, inflated if compressed) still come.
 *
 * - The loop ends with the connection, with any close code, after the messages that have come. It
 *   throws the error of `onError` or 'error', which need nobody else to hear it.
 * - Leaving the loop pauses the peer. The next loop gets the messages that have come. `resume()`
 *   drops them, and so does `close()`, but for plain `ws`: resume it after `close()`.
 * - Iterators at the same time share the messages, in the order of their calls of `next()`. The
 *   marks of the latest count.
 * - A peer that is paused learns of the end of its connection when it is resumed.
 *
 * @throws RangeError for a mark that is not a number of at least 0; an Error with
 *   `ERR_INVALID_STATE` for a Connection with `onMessage` or `onPart`
 */
export function messages(
	peer: Peer,
	options?: MessagesOptions & { streams?: false | undefined }
): AsyncIterableIterator<Message>;
export function messages(peer: Peer, options: MessagesOptions): AsyncIterableIterator<StreamedMessage>;

export interface DrainedOptions {
	/**
	 * The mark in bytes. Default: 65,536. The socket's `writableHighWaterMark` (16 KiB; 64 KiB from
	 * Node.js 22 on) is the lowest that counts.
	 */
	below?: number | undefined;
	/** Rejects with its reason. */
	signal?: AbortSignal | undefined;
}

/**
 * Resolves when a peer is open and its `bufferedAmount` below a mark. Rejected with the code
 * `FRAMEMASK_ERR_NOT_OPEN` if the connection closes before, and for a WebSocket of plain ws; with
 * a RangeError for a mark that is not above 0.
 */
export function drained(peer: Peer, options?: DrainedOptions): Promise<void>;

export type Chunk = string | Bytes;

export interface SendStreamOptions {
	/** Whether the message is binary. Default: unless the first chunk is a string. */
	binary?: boolean | undefined;
	/** Whether permessage-deflate compresses it, if it has been negotiated. Default: true. */
	compress?: boolean | undefined;
	/** Ends the sending: rejects with its reason. */
	signal?: AbortSignal | undefined;
}

/**
 * Sends the chunks of a source as one message: each chunk is a frame, and an empty frame ends it.
 * The source is asked for more when fewer than 64 KiB wait (the socket's `writableHighWaterMark`,
 * if that is more). Do not change a chunk after it was given.
 *
 * - Meanwhile Ping, Pong and Close frames pass. Messages of `send` and other streams wait for
 *   their turn (RFC 6455 section 5.4), so the source must not wait for them; `bufferedAmount`
 *   counts them. On a Connection, fragments (`fin: false`) are `ERR_INVALID_STATE`.
 * - If the source or the signal ends it after the first chunk, the connection is closed with
 *   1011, and the callbacks and promises that wait get the error.
 * - If the connection closes, the source is left (`return()`, `destroy()`, `cancel()`); an async
 *   generator that awaits, when it goes on.
 * - A receiver may limit the frames of a message (ws and framemask: 16,384): give chunks of 64
 *   KiB up to 1 GiB, and larger ones for more.
 *
 * @returns a promise that resolves when the operating system has the last frame. Rejected with
 *   the source's error; with the code `FRAMEMASK_ERR_NOT_OPEN` unless the peer is open, and for a
 *   WebSocket of plain ws; with a TypeError for a source that is not a stream or iterable, and for
 *   chunks of another type; with an Error within a message that `send` began
 */
export function sendStream(
	peer: Peer,
	source: Iterable<Chunk | Promise<Chunk>> | AsyncIterable<Chunk> | ReadableStream<Chunk> | Readable,
	options?: SendStreamOptions
): Promise<void>;

export interface WebSocketCloseInfo {
	/** 1000, or 3000 to 4999. Default: none, or 1000 if there is a reason. */
	closeCode?: number | undefined;
	/** At most 123 bytes of UTF-8. Default: empty. */
	reason?: string | undefined;
}

/**
 * Why a WebSocketStream has ended, a DOMException. Given to `cancel` or `abort`, it ends one, and
 * the peer gets its code and reason.
 *
 * @throws DOMException `InvalidAccessError` for a code that may not be sent, `SyntaxError` for a
 *   long reason
 */
export class WebSocketError extends Error {
	constructor(message?: string, closeInfo?: WebSocketCloseInfo);
	readonly closeCode: number | null;
	readonly reason: string;
}

export interface WebSocketOpenInfo {
	/** The messages: text as strings. 64 KiB that nobody has read pause the peer. */
	readable: ReadableStream<string | Uint8Array>;
	/**
	 * Each chunk is a message; others than bytes become strings. A write is done when the bytes are
	 * copied (below 16 KiB), or the operating system has them; a lost one rejects. Closing it
	 * closes the connection, and is done when the peer has answered.
	 */
	writable: WritableStream<Chunk>;
	extensions: string;
	protocol: string;
}

/**
 * A connection as a pair of web streams with backpressure
 * (https://github.com/whatwg/websockets/pull/48). A rejection of its promises never ends the
 * program.
 */
export class WebSocketStream {
	protected constructor(url: string | URL);
	/**
	 * Streams of a connection, begun as {@link messages}. It takes the messages from then on, whole
	 * ones alone, and sets a WebSocket's `binaryType` to 'nodebuffer'. framemask/ws has a constructor,
	 * too, which dials.
	 *
	 * @throws DOMException `InvalidStateError` if it is closing or closed; TypeError for another
	 *   value; Error as {@link messages}
	 */
	static from(peer: Peer): WebSocketStream;
	readonly url: string;
	/** Rejected with a WebSocketError if the connection is not opened; its `cause` says why. */
	readonly opened: Promise<WebSocketOpenInfo>;
	/**
	 * Rejected with a WebSocketError unless both endpoints have sent a Close frame. While nobody
	 * reads, the end is seen after the messages before it.
	 */
	readonly closed: Promise<{ closeCode: number; reason: string }>;
	/** Starts the closing handshake. Messages that come after it are dropped. */
	close(closeInfo?: WebSocketCloseInfo): void;
}

export interface ShutDownOptions {
	/** The milliseconds until the connections that are left are terminated. */
	within: number;
	/** The code of the Close frames. Default: 1012 (restart). */
	code?: number | undefined;
	/** Up to 123 bytes. Default: ''. */
	reason?: string | undefined;
}

export interface ShutDownResult {
	/** How many connections have ended by themselves. */
	closed: number;
	/** How many were left at the end. */
	terminated: number;
	/** The bytes that waited on those. */
	droppedBytes: number;
}

/**
 * Closes connections one after the other over the first two thirds of `within`, then terminates
 * those that are left, paused ones, too. No step takes longer than about 2 ms.
 *
 * @param connections WebSockets of `ws`, too. Later ones are not closed
 * @returns a promise, rejected with a TypeError or RangeError for wrong options
 */
export function shutDown(
	connections: Iterable<{
		readonly readyState: number;
		readonly bufferedAmount: number;
		close(code: number, reason: string): void;
		terminate(): void;
	}>,
	options: ShutDownOptions
): Promise<ShutDownResult>;

/**
 * Takes WebSockets over HTTP/2 (RFC 8441), in sessions that begin afterwards, and returns the
 * server. Each becomes its event 'upgrade', as over HTTP/1.1, which may share the port
 * (`allowHTTP1`). The request has `httpVersion` '2.0', the headers of HTTP/1.1 with a random
 * Sec-WebSocket-Key, and the `stream`. docs/http2.md has the answers to other requests.
 */
export function acceptHttp2<Server extends Http2Server | Http2SecureServer>(server: Server): Server;

/**
 * Makes the option `createConnection` of `http.get`, `https.get` or a client of ws: its WebSocket
 * then goes over HTTP/2 (RFC 8441), as with `http2: true` in framemask/ws. `https.get` needs
 * `defaultPort: 443`, too: Node.js takes port 80 otherwise. The request fails if the server does
 * not offer WebSockets over HTTP/2.
 *
 * @param session a session of `http2.connect`, which stays open, for the origin of its first
 *   request: a redirect to another fails. Default: one of framemask's, which WebSockets share
 *   (docs/http2.md)
 * @param options `fallback`: connects over HTTP/1.1 after any failure before the server's answer,
 *   and reports only the error of that second attempt
 */
export function overHttp2(
	session?: ClientHttp2Session | null,
	options?: { fallback?: boolean | undefined }
): (options: ClientRequestArgs) => Duplex;

/** The peer's mistake: see docs/codec.md, "Error codes". */
export type FrameErrorCode = `FRAMEMASK_ERR_${
	| 'RESERVED_BITS'
	| 'OPCODE'
	| 'CONTROL_FRAGMENTED'
	| 'CONTROL_LENGTH'
	| 'LENGTH'
	| 'LENGTH_NOT_MINIMAL'
	| 'MASK_MISSING'
	| 'MASK_UNWANTED'
	| 'CONTINUATION'
	| 'INTERLEAVED'
	| 'MESSAGE_TOO_BIG'
	| 'TOO_MANY_FRAGMENTS'
	| 'UTF8'
	| 'CLOSE_LENGTH'
	| 'CLOSE_CODE'
	| 'DEFLATE'
	| 'EXTENSIONS'
	| 'HANDSHAKE'
	| 'DETACHED'
	| 'NO_MEMORY'}`;

/**
 * The peer has broken a rule or limit; or a handler has transferred the memory of frames that were
 * not delivered yet (`FRAMEMASK_ERR_DETACHED`); or there is no memory to compress or inflate a message
 * (`FRAMEMASK_ERR_NO_MEMORY`, its `cause` is the error of the allocation).
 */
export class FrameError extends Error {
	private constructor();
	readonly name: 'FrameError';
	readonly code: FrameErrorCode;
	/**
	 * For the Close frame (RFC 6455 section 7.4.1): 1002 broken protocol, 1007 data not UTF-8 or
	 * DEFLATE, 1008 too many fragments, 1009 message too big, 1011 error of this endpoint.
	 */
	readonly closeCode: 1002 | 1007 | 1008 | 1009 | 1011;
	/** The first byte of the refused header; null if a payload is at fault. */
	readonly firstByte: number | null;
	/**
	 * The payload length in the refused header: 126 or 127 if it was refused before an extended
	 * length. Null if a payload is at fault, or the header was refused before its length.
	 */
	readonly length: number | null;
	/** The code of a Close frame if it may not be sent; null with other errors. */
	readonly receivedCode: number | null;
	/** Of the answer that {@link Connection.connect} was refused with; undefined with other errors. */
	readonly statusCode?: number | undefined;
	/** The header fields of that answer. */
	readonly headers?: import('node:http').IncomingHttpHeaders | undefined;
}

/**
 * The fields of all trace records. `connection`, `from` and `sequence` find a frame in those of
 * both endpoints, if their codecs have the same `id` in `trace`.
 */
export interface TraceOrigin {
	/** A version 7 UUID. Those of one thread ascend. */
	id: string;
	/**
	 * Milliseconds since 1970-01-01, with a fraction: `performance.timeOrigin + performance.now()`,
	 * which never goes back. The `id` has those of the system's clock, which may be set.
	 */
	time: number;
	/** The `id` of the codec's `trace`. */
	connection: string;
	/** The `key` of the codec's `trace`, or null. */
	key: string | null;
	/** The endpoint that sent the frame. */
	from: Role;
	/** Its position among all frames that this endpoint has sent, from 1. */
	sequence: number;
	/** `'sent'` by an Encoder, `'received'` by a Decoder. */
	direction: 'received' | 'sent';
	/** The endpoint that publishes the record. */
	role: Role;
}

/** An Encoder has added a frame, or a Decoder has received one completely. */
export interface FrameRecord extends TraceOrigin {
	/** RFC 6455 section 5.2: 0 continuation, 1 text, 2 binary, 8 Close, 9 Ping, 10 Pong. */
	opcode: number;
	/** Whether this frame ends its message. */
	fin: boolean;
	/** RSV1 is 4, RSV2 is 2, RSV3 is 1. */
	rsv: number;
	masked: boolean;
	/** The length of the payload in bytes. */
	length: number;
	error: null;
}

/** A Decoder has ended with an error. `sequence` is that of the frame at fault. */
export interface FrameErrorRecord extends TraceOrigin {
	opcode: null;
	fin: null;
	rsv: null;
	masked: null;
	length: null;
	error: FrameError;
}

/**
 * The records of the `node:diagnostics_channel` named `framemask:frame`: a frame, or the error that
 * ended a Decoder. A received frame's comes before its handler, which is called later, or never, if
 * a subscriber calls `pause` or `stop`.
 */
export type FrameTrace = FrameRecord | FrameErrorRecord;

/**
 * The records of the channel `framemask:message`: an Encoder has added a message, or a Decoder has
 * received one completely. `sequence` is that of its last frame.
 */
export interface MessageTrace extends TraceOrigin {
	binary: boolean;
	/** As of {@link FrameRecord}, of its first frame. */
	rsv: number;
	/** In bytes, over all fragments. */
	length: number;
	/** The number of its frames. */
	fragments: number;
}

export interface ConnectionTrace {
	/** A version 7 UUID. */
	id: string;
	/** See {@link TraceOrigin.time}. */
	time: number;
	/** The connection's name in the records of its frames. */
	connection: string;
	/** The Sec-WebSocket-Key of the handshake, or null. */
	key: string | null;
	/** The path of the request without its query, or null. */
	path: string | null;
	/** The subprotocol, '' for none. */
	protocol: string;
	role: Role;
}

/**
 * The records of the channel `framemask:open`: a {@link Connection} or a WebSocket of framemask/ws is
 * open.
 */
export type OpenTrace = ConnectionTrace;

/**
 * The records of the channel `framemask:close`: that connection is closed. Messages and bytes are null
 * if nobody listened to either channel when it opened; in framemask/ws the `path`, too.
 */
export interface CloseTrace extends ConnectionTrace {
	/** As of `onClose`, or of the event 'close'. */
	closeCode: number;
	/** The code of this end's Close frame: 1005 if it had none, null if none was sent. */
	sentCode: number | null;
	/** Why the connection was lost, as `onError` or 'error' is told; null for a closing handshake. */
	error: (Error & { code?: string }) | null;
	messagesReceived: number | null;
	bytesReceived: number | null;
	messagesSent: number | null;
	bytesSent: number | null;
}

export interface FrameIdOptions {
	/** The version (RFC 9562): 4 is random, 7 sorts by the time in milliseconds. Default: 4. */
	version?: 4 | 7 | undefined;
}

/**
 * Makes a UUID (RFC 9562) of 36 lower-case characters. Version 7 ids of one thread sort as text in
 * the order in which they were made, and reveal their time (docs/frame-ids.md).
 */
export function frameId(options?: FrameIdOptions): string;

/**
 * Writes the 16 bytes from `offset` (default: 0) on as a UUID of 36 lower-case characters. Version
 * and variant are not checked.
 *
 * @throws RangeError if fewer bytes follow `offset`
 */
export function formatFrameId(bytes: Uint8Array, offset?: number): string;

/**
 * Reads a UUID into a new Buffer of 16 bytes, which does not share Node's pool. Digits may be
 * upper-case; braces, `urn:uuid:` and white space are refused. Version and variant are not checked.
 *
 * @throws RangeError if `string` is not a UUID
 */
export function parseFrameId(string: string): Buffer;

/**
 * Reads a UUID into 16 bytes of `target` from `offset` (default: 0) on, and returns `target`. It
 * does not change if an argument is refused.
 *
 * @throws RangeError if `string` is not a UUID, or fewer than 16 bytes follow `offset`
 */
export function parseFrameId<T extends Uint8Array>(string: string, target: T, offset?: number): T;

// biome-ignore lint/complexity/noUselessEmptyExport: without it every declaration of this file is exported
export {};
