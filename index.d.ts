/// <reference types="node" />

import type { ClientRequestArgs } from 'node:http';
import type { ClientHttp2Session, Http2SecureServer, Http2Server } from 'node:http2';
import type { Duplex } from 'node:stream';

/**
 * The WebSocket frame layer for Node.js: SIMD masking, an RFC 6455 codec, permessage-deflate and
 * frame ids. Only {@link Connection.connect} and HTTP/2 open sockets. The guides in docs/ of the
 * repository show how the parts are used.
 *
 * A wrong argument or option throws an error that names it and has a `code`: a TypeError with
 * `ERR_INVALID_ARG_TYPE` or `ERR_INVALID_ARG_VALUE`, or a RangeError with `ERR_OUT_OF_RANGE`. A call
 * at the wrong time throws an Error with `ERR_INVALID_STATE`. A {@link FrameError} is the peer's
 * fault, all others are the caller's. Methods describe the further errors that they throw.
 *
 * @packageDocumentation
 */

/**
 * Masks or unmasks bytes with a masking key (RFC 6455 section 5.3; both are the same operation).
 *
 * Reads the first `length` bytes of `source` and writes the result to `output` from `offset` on.
 * The two may overlap in any way; the result is as if `source` had been copied first. If an
 * argument is refused, nothing is written.
 *
 * A payload can be masked in pieces: give each call the phase that the call before it returned.
 *
 * @param source a Buffer or Uint8Array over any kind of memory, at any alignment
 * @param key the masking key, 4 bytes
 * @param phase the index in `key`, 0 to 3, of the byte for the first byte of `source`. Default: 0
 * @returns the phase for the byte after the last one: (phase + length) modulo 4
 * @throws TypeError if the memory of an argument is detached
 * @throws RangeError if the range does not fit `source` or `output`
 */
export function mask(
  source: Uint8Array,
  key: Uint8Array,
  output: Uint8Array,
  offset: number,
  length: number,
  phase?: number
): number;

/**
 * Masks or unmasks all of `buffer` in place (RFC 6455 section 5.3). Arguments and errors are those
 * of {@link mask}.
 *
 * @param phase the index in `key` of the byte for the first byte of `buffer`. Default: 0
 * @returns the phase for the byte after the last one: (phase + buffer.length) modulo 4
 */
export function unmask(buffer: Uint8Array, key: Uint8Array, phase?: number): number;

/** The masking code in use: an instruction set, `'scalar'` without SIMD, or `'js'`. */
export type Kernel = 'avx512' | 'avx2' | 'sse2' | 'neon' | 'scalar' | 'js';

/**
 * The kernel in use: the best one that the machine supports when framemask is loaded, or the one
 * that the environment variable `FRAMEMASK_KERNEL` names.
 */
export const kernel: Kernel;

/**
 * Why the addon could not be loaded, so that JavaScript is used. `null` if it was loaded, or if
 * `FRAMEMASK_KERNEL=js` asked for JavaScript. JSON has its name, message and code.
 */
export const nativeError: Error | null;

/**
 * An endpoint of a connection. A server receives masked frames and sends unmasked ones, a client the
 * opposite (RFC 6455 section 5.1).
 */
export type Role = 'server' | 'client';

/** The form in which a {@link Decoder} delivers text: see {@link DecoderOptions.text}. */
export type TextAs = 'string' | 'buffer';

/** The data of a binary message. */
export type BinaryData = Buffer;

/** The data of a text message, by the option `text`. */
export type TextData<Text extends TextAs = 'string'> = Text extends 'string' ? string : BinaryData;

/** The arguments of `onMessage`. A test of `isBinary` narrows the type of `data`. */
export type MessageArguments<Text extends TextAs = 'string'> =
  | [data: TextData<Text>, isBinary: false]
  | [data: BinaryData, isBinary: true];

/** A handler of messages, with up to two parameters: see {@link MessageArguments}. */
export type MessageHandler<Context = undefined, Text extends TextAs = 'string'> =
  | ((this: Decoder<Context>, ...message: MessageArguments<Text>) => void)
  | ShortHandler<Decoder<Context>, TextData<Text> | BinaryData>;

// TypeScript finds the types of a handler's parameters by the first signature above, but accepts a
// handler with fewer of them only by this interface. Its two signatures differ in their type
// parameters, so that they never determine the types of parameters themselves.
interface ShortHandler<This, Data> {
  (this: This, data: Data, isBinary: boolean): void;
  <_>(this: This, data: Data, isBinary: boolean): void;
}

/** The arguments of `onPart`. A test of `isBinary` narrows the type of `data`. */
export type PartArguments<Text extends TextAs = 'string'> =
  | [data: TextData<Text>, isBinary: false, isLast: boolean]
  | [data: BinaryData, isBinary: true, isLast: boolean];

/** A handler of parts, with up to three parameters: see {@link PartArguments}. */
export type PartHandler<Context = undefined, Text extends TextAs = 'string'> =
  | ((this: Decoder<Context>, ...part: PartArguments<Text>) => void)
  | ShortHandler<Decoder<Context>, TextData<Text> | BinaryData>;

/**
 * The handlers of a {@link Decoder}, which is their `this`.
 *
 * A handler may call any method of the decoder. If it throws, the call of `write` or `resume` that
 * is at work throws the same error; the next one delivers the frames that follow.
 */
export interface DecoderHandlers<Context = undefined, Text extends TextAs = 'string'> {
  /**
   * A message is complete. Called with:
   *
   * - `data`: a string for a text message, unless the option `text` asks for bytes; a Buffer for a
   *   binary one. A Buffer is yours to keep and change. It may be a view of the chunk that it came
   *   in, and then keeps all of it in memory.
   * - `isBinary`: whether the message is binary (RFC 6455 section 5.6).
   */
  onMessage?: MessageHandler<Context, Text> | undefined;
  /**
   * The next part of a data message, as its bytes arrive: in the middle of a frame, too. Messages of
   * fewer than `partsFrom` bytes come by `onMessage` instead. Nothing is gathered, so that a message
   * may be longer than memory; `maxPayload` limits it, and may be `Infinity`. Called with:
   *
   * - `data`: a string for text, cut between characters, or a Buffer. It may be empty if it is the last.
   *   Compressed messages come in parts of at most 64 KiB, but for a first one of `partsFrom` bytes
   *   or more. The event loop inflates them, in several turns if they are many: see `onInflated`.
   * - `isBinary`: as in `onMessage`.
   * - `isLast`: whether it ends the message.
   *
   * `pause` holds back the parts after it. Not with `onFrame`, and not with the option `deflate` on
   * Deno.
   */
  onPart?: PartHandler<Context, Text> | undefined;
  /**
   * A Ping frame has arrived (RFC 6455 section 5.5.2). Called with its payload of 0 to 125 bytes.
   * Answer it by {@link Encoder.pong} with the same payload.
   */
  onPing?: ((this: Decoder<Context>, payload: Buffer) => void) | undefined;
  /** A Pong frame has arrived (RFC 6455 section 5.5.3). Called with its payload. */
  onPong?: ((this: Decoder<Context>, payload: Buffer) => void) | undefined;
  /**
   * A Close frame has arrived (RFC 6455 section 5.5.1), and the decoder is `closed`. Called with
   * its close code, its reason, and the bytes of the reason; with 1005 and nothing if the frame has
   * no payload. Answer by {@link Encoder.close} with the same code.
   */
  onClose?: ((this: Decoder<Context>, code: number, reason: string, reasonBytes: Buffer) => void) | undefined;
  /**
   * The peer has broken the protocol or exceeded a limit. The decoder is `closed`. Send a Close
   * frame with `error.closeCode` and end the connection (RFC 6455 section 7.1.7). Without this
   * handler, `write` and `resume` throw the error.
   */
  onError?: ((this: Decoder<Context>, error: FrameError) => void) | undefined;
  /**
   * A frame of any kind is complete: for proxies, and extensions of your own. The Decoder judges
   * headers, places and limits; it makes no messages, and validates no text. Not with `onMessage`,
   * `onPart` or the option `deflate`. `onPing`, `onPong` and `onClose` are called after it, even if it
   * pauses. Called with:
   *
   * - `firstByte`: the first byte of the frame (RFC 6455 section 5.2): FIN is 0x80, RSV1 to RSV3
   *   are 0x70, the opcode is 0x0f.
   * - `bytes`, `start`, `end`: the unmasked payload is `bytes` from index `start` to before index
   *   `end`. Copy the bytes that you keep, and change none.
   */
  onFrame?:
    | ((this: Decoder<Context>, firstByte: number, bytes: Buffer, start: number, end: number) => void)
    | undefined;
}

/** The connection in trace records. */
export interface TracedConnection {
  /** This endpoint's name of the connection. Default: a version 4 UUID, set with the first record. */
  id?: string | undefined;
  /**
   * The Sec-WebSocket-Key of the handshake, which both endpoints know. A client chooses it: it
   * may be another connection's, too.
   */
  key?: string | undefined;
}

/**
 * The options of a {@link Decoder}, among them its handlers.
 *
 * Options of other names are ignored, so that an object with options may be shared. A name that
 * differs from an option's by its case or by one letter (`onmessage`, `maxPayLoad`) is refused.
 */
export interface DecoderOptions<Context = undefined, Text extends TextAs = 'string'>
  extends DecoderHandlers<Context, Text> {
  /** The role of the endpoint that has the decoder. */
  role: Role;
  /**
   * The maximum length of a message in bytes, over all its fragments, and with the option `deflate`
   * also inflated. `0` allows only empty messages, `Infinity` removes the limit. A longer message
   * is an error with the close code 1009. Default: 104857600 (100 MiB).
   */
  maxPayload?: number | undefined;
  /**
   * The maximum number of frames in a message, at least 1. `Infinity` removes the limit. More are
   * an error with the close code 1008. Default: 16384.
   */
  maxFragments?: number | undefined;
  /**
   * With `onPart`: the length in bytes from which a message is delivered in parts, as soon as its
   * frames are known to have as many; of a compressed one, the inflated length. Default: 0, all.
   */
  partsFrom?: number | undefined;
  /**
   * The form of text: `'string'`, or `'buffer'` for its bytes. Both are validated as UTF-8 (RFC 6455
   * section 8.1). Default: 'string'.
   */
  text?: Text | undefined;
  /**
   * With `text: 'buffer'`: delivers the bytes of text, and of the reasons of Close frames, as they
   * came, for peers that are trusted, or a caller that validates them. Default: false.
   */
  skipUTF8Validation?: boolean | undefined;
  /**
   * Whether an extension of your own sets RSV1 on the first frame of a message: `onFrame` gets the
   * frames. Not with `onMessage`, `onPart` or the option `deflate`. Without the option, RSV1 is an
   * error with the close code 1002. Default: false.
   */
  rsv1?: boolean | undefined;
  /**
   * The negotiated permessage-deflate: compressed messages are delivered like others. Later
   * messages wait while one is {@link Decoder.inflating}: see `threadPoolFrom`.
   */
  deflate?: NegotiatedDeflate | null | undefined;
  /**
   * With the option `deflate`: called each time a frame has been inflated in the thread pool, or in
   * another turn, and it and the messages after it have been delivered outside of `write`. Flush
   * the Encoder, look at {@link Decoder.closed}, and read on. An error that a handler throws
   * meanwhile is uncaught.
   */
  onInflated?: ((this: Decoder<Context>) => void) | undefined;
  /**
   * The connection in trace records: one object for the Decoder and the Encoder of an endpoint.
   * Default: each codec has a version 4 UUID.
   */
  trace?: TracedConnection | null | undefined;
  /** Any value for the handlers, such as the connection: they find it as `this.context`. */
  context?: Context | undefined;
}

/**
 * The options that the type parameters of a {@link Decoder} make necessary: `context` unless it may
 * be undefined, and `text` if text is delivered as Buffers.
 */
export type RequiredDecoderOptions<Context, Text extends TextAs> = (undefined extends Context
  ? unknown
  : { context: Context }) &
  ([Text] extends ['buffer'] ? { text: Text } : unknown);

/**
 * Decodes WebSocket frames (RFC 6455): takes the bytes of a connection and calls handlers with its
 * messages. It sends nothing: the handlers answer Ping frames, Close frames and errors.
 *
 * The type parameters are those of the options `context` and `text`. TypeScript infers both or none.
 * To name the context only: `const decoder: Decoder<Connection> = new Decoder({ ... })`.
 */
export class Decoder<Context = undefined, Text extends TextAs = 'string'> {
  /**
   * @throws TypeError or RangeError if an option is refused, or its name is almost an option's; Error
   *   with `ERR_INVALID_STATE` if two options exclude each other
   */
  constructor(options: DecoderOptions<Context, Text> & RequiredDecoderOptions<Context, Text>);
  /** It may be replaced at any time. */
  context: Context;
  readonly role: Role;
  /** Whether `stop`, a Close frame or an error has ended the decoder. It ignores later bytes. */
  readonly closed: boolean;
  /** Whether it is paused: between `pause` and `resume`. */
  readonly paused: boolean;
  /**
   * How many frames have been read, control frames and the one whose header ends the last chunk
   * included: exact inside each handler, and equal to `sequence` of the frame's trace record.
   */
  readonly framesRead: number;
  /**
   * Whether a message is inflated in the thread pool, or waits for another turn of the event loop:
   * later frames wait, until `onInflated`.
   */
  readonly inflating: boolean;
  /**
   * Decodes the next chunk of the connection, and calls the handlers for the frames that end in it.
   *
   * The decoder owns the chunk from then on, unmasks it in place and delivers views of it.
   *
   * @param chunk any number of bytes; frames may begin and end anywhere in it
   * @returns false if the decoder is paused, or `inflating`: stop reading until you resume it, or
   *   until `onInflated`. It keeps the bytes that are written meanwhile
   * @throws {@link FrameError} without an `onError`, and whatever a handler throws
   */
  write(chunk: Uint8Array): boolean;
  /** Stops delivery at once, even in the middle of a chunk, until `resume`. */
  pause(): void;
  /** Ends a pause and delivers the messages that were held back. Throws as `write` does. */
  resume(): void;
  /** Ends the decoder: it ignores all that follows, and releases its memory. */
  stop(): void;
}

/** Bytes: a Buffer, a typed array, a DataView, an ArrayBuffer or a SharedArrayBuffer. */
export type Bytes = ArrayBufferView | ArrayBuffer | SharedArrayBuffer;

/** The sink of an {@link Encoder}: a `stream.Writable` or an object with the same methods. */
export interface FrameSink {
  /** False once the stream has ended; nothing more is written to it then. */
  readonly writable?: boolean | undefined;
  /** The number of bytes that have not been handed over yet. */
  readonly writableLength?: number | undefined;
  /**
   * Writes bytes. Their memory may also hold later bytes of this connection, a message that others
   * send as well, or your own payload: copy it instead of changing or transferring it.
   *
   * @param callback only where `flush` was given one: to be called when the bytes are written
   * @returns false if the caller should wait for the event 'drain'
   */
  write(chunk: Uint8Array, callback?: (error?: Error | null) => void): boolean;
  /** Collects the writes that follow, until `uncork`. */
  cork?(): void;
  uncork?(): void;
}

/** The options of an {@link Encoder}. Other names are treated as by {@link DecoderOptions}. */
export interface EncoderOptions<End extends Role = Role> {
  /** The role of the endpoint that has the encoder. */
  role: End;
  /**
   * The stream to which the encoder writes by itself, at the end of each turn of the event loop in
   * which frames have collected. Default: null; nothing is sent until `flush`.
   */
  writable?: FrameSink | null | undefined;
  /**
   * The negotiated permessage-deflate: messages from its `threshold` on are compressed (see
   * {@link MessageOptions.compress}). Later messages and a Close frame wait while one of
   * `threadPoolFrom` bytes or more is in zlib's thread pool; Ping and Pong frames do not.
   */
  deflate?: NegotiatedDeflate | null | undefined;
  /**
   * With the option `deflate`: called each time a message that was in the thread pool, and those
   * that waited for it, have been added. Flush, unless there is a `writable`.
   */
  onDeflated?: ((this: Encoder<End>) => void) | undefined;
  /** See {@link DecoderOptions.trace}. */
  trace?: TracedConnection | null | undefined;
}

/** Options of {@link Encoder.continuation}. */
export interface FragmentOptions {
  /** Whether this frame is the last one of its message. Default: true. */
  fin?: boolean | undefined;
  /**
   * Whether you give the data away. A client then masks payloads of 16 KiB and more in place,
   * without copying. If earlier bytes waited in the stream after the last flush, neither role copies
   * 1 KiB and more. Default: false.
   */
  owned?: boolean | undefined;
}

/** Options of {@link Encoder.text} and {@link Encoder.binary}. */
export interface MessageOptions extends FragmentOptions {
  /** Whether to set RSV1, for an extension that has been negotiated. Default: false. */
  rsv1?: boolean | undefined;
  /**
   * With the option `deflate`: `false` does not compress the message, such as one with a secret in
   * it; `true` does, whatever its size. Default: it is compressed from the `threshold` on, or, in
   * fragments, if its first one is that long. A message that does not shrink is sent uncompressed
   * without context takeover. Fragments are not compressed on Deno.
   */
  compress?: boolean | undefined;
}

/**
 * Encodes WebSocket frames (RFC 6455): takes messages and writes bytes.
 *
 * Frames collect until `flush`, which sends them in one write; until `take`, which returns them;
 * or, with the option `writable`, until the end of the turn of the event loop.
 *
 * Once the encoder is `closed`, methods that add a frame do nothing: no frame may follow a Close frame
 * (RFC 6455 section 5.5.1). They throw a TypeError for data of a wrong type, and an Error if a message
 * begins within a fragmented one.
 *
 * They change your data only if it is `owned`. A server does not copy payloads of 16 KiB and more:
 * do not change such data before it has been sent.
 */
export class Encoder<End extends Role = Role> {
  /** @throws TypeError if an option is not acceptable, or its name is almost an option's */
  constructor(options: EncoderOptions<End>);
  readonly role: End;
  /** Whether a Close frame has been added, `stop` called, or a message lost that others need. */
  readonly closed: boolean;
  /**
   * The number of bytes that have collected since the last `flush` or `take`, and of the messages
   * that are being compressed or wait for it.
   */
  readonly pending: number;
  /**
   * Adds a text message, or its first fragment with `fin: false`.
   *
   * @param data a string, or bytes that are valid UTF-8 (which is not checked)
   */
  text(data: string | Bytes, options?: MessageOptions): void;
  /** Adds a binary message, or its first fragment with `fin: false`. */
  binary(data: Bytes, options?: MessageOptions): void;
  /**
   * Adds a further fragment of a message (RFC 6455 section 5.4): the last one, if `fin` is not
   * false.
   *
   * @param data the fragments of a text message are UTF-8 together (which is not checked). A string
   *   may end within a surrogate pair if another string follows
   * @throws Error outside of a fragmented message
   */
  continuation(data: string | Bytes, options?: FragmentOptions): void;
  /** Adds a Ping frame of up to 125 bytes (RFC 6455 section 5.5.2), also between fragments. */
  ping(data?: string | Bytes): void;
  /**
   * Adds a Pong frame of up to 125 bytes (RFC 6455 section 5.5.3), also between fragments: the
   * answer to a Ping frame with the same payload.
   */
  pong(data?: string | Bytes): void;
  /**
   * Adds a Close frame (RFC 6455 section 5.5.1).
   *
   * @param code the close code (RFC 6455 section 7.4): 1000 to 1003, 1007 to 1014 or 3000 to 4999.
   *   Default: none, as with 1005, which `onClose` reports for none
   * @param reason a string, or bytes that are valid UTF-8, up to 123 bytes; only with a code
   */
  close(code?: number, reason?: string | Bytes): void;
  /**
   * Ends the encoder when its connection is lost: drops all that has collected, and releases the memory of
   * its compression.
   */
  stop(): void;
  /**
   * Adds a message that {@link prepare} has framed. Its bytes are not copied if they are 1 KiB or
   * more, or if nothing else has collected. For servers only: a client masks each frame with a key
   * of its own (RFC 6455 section 5.3).
   *
   * @throws Error if the role is `'client'`, or if an earlier writer has transferred its memory
   */
  addPrepared(this: Encoder<'server'>, message: PreparedMessage): void;
  /**
   * Adds a frame that has been framed already, by a peer of a proxy or by another library. Its
   * bytes are sent as they are, and the order of fragments is not checked (RFC 6455 section 5.4).
   * Pieces of 16 KiB or more are not copied: do not change them before they are sent.
   *
   * @param pieces the bytes of one frame; the first piece has the whole header
   * @param options `owned`: as in {@link FragmentOptions}; the pieces are not changed
   * @throws RangeError if they are not one whole frame that this role may send
   * @throws Error for a continuation of a message that this encoder compresses
   */
  addFramed(pieces: Uint8Array[], options?: { owned?: boolean | undefined }): void;
  /**
   * Sends all that has collected, in one write.
   *
   * @param writable the stream to write to. Default: the option `writable`; one is needed
   * @param callback called when the stream has taken the bytes, or with the error why it has not
   * @returns false if the stream wants no more: wait for its event 'drain'. Also false if the
   *   stream has ended; the collected frames are then dropped
   * @throws whatever the stream's `write` throws. An Error if memory that was to be sent has been
   *   transferred: all that has collected is lost then. If it waited for compression, or messages
   *   refer to those before them, nothing more is sent
   */
  flush(writable?: FrameSink, callback?: (error?: Error | null) => void): boolean;
  flush(callback: (error?: Error | null) => void): boolean;
  /**
   * Returns the collected bytes, for a program that writes them itself. Copy its memory instead of
   * changing or transferring it: see {@link FrameSink.write}.
   */
  take(): Buffer[];
}

// The mark of a PreparedMessage, so that no other object passes for one.
declare const preparedMessage: unique symbol;

/** A message framed once, for any number of connections. Only {@link prepare} makes one. */
export interface PreparedMessage {
  /** @hidden */
  readonly [preparedMessage]: true;
  /** A copy of the frame: header and payload. Each access makes a new one. */
  readonly frame: Buffer;
  /** The length of the payload in bytes. */
  readonly length: number;
}

/** Options of {@link prepare}. */
export interface PrepareOptions {
  /**
   * Whether the message is binary. `false` makes a text message of bytes, which must be valid UTF-8
   * (not checked). Default: true for bytes, false for a string.
   */
  binary?: boolean | undefined;
  /** Whether to set RSV1, for an extension that all the connections have. Default: false. */
  rsv1?: boolean | undefined;
  /**
   * Whether to compress the message for Encoders that have the option `deflate` without context
   * takeover, and a `threshold` of its length at most: once for all with the same window, level and
   * memory, on the event loop, even if it is large. Others send it as it is. Default: false.
   */
  deflate?: boolean | undefined;
}

/**
 * Frames a message once, for {@link Encoder.addPrepared} of any number of servers' encoders, which
 * neither frame nor copy it again.
 *
 * @param data a string for a text message, bytes for a binary one. Bytes are copied
 */
export function prepare(data: string | Bytes, options?: PrepareOptions): PreparedMessage;

/** Options of {@link acceptDeflate} and {@link offerDeflate}. */
export interface DeflateOptions {
  /**
   * Whether messages may refer to those before them (RFC 7692 section 7.1.1). That compresses small
   * messages further, and costs a connection up to 268 KB to compress and 40 KB to inflate: see
   * docs/deflate.md of the repository. Deno never agrees to it. Default: false.
   */
  contextTakeover?: boolean | undefined;
  /** The server's largest window, as log2: 9 to 15 (RFC 7692 section 7.1.2). Default: 15. */
  serverWindowBits?: number | undefined;
  /** The same for the client. A server declines an offer that forbids to limit it. Default: 15. */
  clientWindowBits?: number | undefined;
  /** The compression level of zlib: 0 to 9, or -1 for its default, 6. Default: -1. */
  level?: number | undefined;
  /** The memory that zlib compresses with: 1 to 9. Default: 8. */
  memLevel?: number | undefined;
  /** Messages of fewer bytes are not compressed. Default: 1024. */
  threshold?: number | undefined;
  /**
   * Messages from this many bytes on are compressed in zlib's thread pool. Messages are inflated
   * there if they come in more than half as many bytes, or inflate to more than four times as many.
   * `Infinity` does all on the event loop: 1 MiB of JSON takes 10 to 50 ms to compress, 1 MiB from a
   * hostile peer 130 ms to inflate. Default: 32768.
   */
  threadPoolFrom?: number | undefined;
}

// The mark of a NegotiatedDeflate.
declare const deflateAgreement: unique symbol;

/**
 * The permessage-deflate that both endpoints have negotiated: the option `deflate` of their codecs. It
 * is stateless, so that several connections may share it.
 */
export interface NegotiatedDeflate {
  /** @hidden */
  readonly [deflateAgreement]: true;
  /** The answer's header Sec-WebSocket-Extensions. */
  readonly header: string;
}

/** A client's offer of permessage-deflate. Only {@link offerDeflate} makes one. */
export interface DeflateOffer {
  /** The request's header Sec-WebSocket-Extensions. */
  readonly header: string;
  /**
   * Reads the server's answer (RFC 7692 section 7.1).
   *
   * @param header the response's Sec-WebSocket-Extensions
   * @returns null if the server has declined
   * @throws {@link FrameError} if it does not answer this offer: fail the connection
   */
  readAnswer(header: string | undefined): NegotiatedDeflate | null;
}

/**
 * Answers a client's offers of permessage-deflate (RFC 7692): accepts the first that is valid and
 * can be kept. Declines malformed headers, and never throws for them.
 *
 * @param header the request's Sec-WebSocket-Extensions
 * @returns null if messages are not compressed: answer without the header then
 */
export function acceptDeflate(header: string | undefined, options?: DeflateOptions): NegotiatedDeflate | null;

/** Makes a client's offer of permessage-deflate (RFC 7692). */
export function offerDeflate(options?: DeflateOptions): DeflateOffer;

/** The result of an opening handshake. */
export interface Upgrade {
  /** The subprotocol, `''` for none. */
  readonly protocol: string;
  /** The option `deflate` of both codecs: null if messages are not compressed. */
  readonly deflate: NegotiatedDeflate | null;
}

/** A request, as of `http.Server`'s event 'upgrade'. */
export interface UpgradeRequest {
  readonly method?: string | undefined;
  readonly httpVersion: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
}

/** The socket of an 'upgrade' event. */
export interface UpgradeSocket {
  readonly destroyed?: boolean | undefined;
  write(bytes: Uint8Array): unknown;
  end(bytes: Uint8Array): unknown;
  unshift(bytes: Uint8Array): unknown;
  destroy(): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  once(event: 'finish', listener: () => void): unknown;
}

/** Options of {@link acceptUpgrade}. */
export interface AcceptUpgradeOptions {
  /**
   * The subprotocol, if the client offers it, or a function that chooses one of those that the client
   * offers. Default: none.
   */
  protocol?: string | ((offered: string[]) => string | undefined) | undefined;
  /** Whether to accept permessage-deflate, maybe with options. Default: false. */
  deflate?: boolean | DeflateOptions | undefined;
  /** Further headers of the answer. */
  headers?: { readonly [name: string]: string | undefined } | undefined;
}

/**
 * Answers the opening handshake of a client (RFC 6455 section 4.2), in a listener of `http.Server`'s
 * event 'upgrade'. Pages of any origin may connect: with cookies, look at `request.headers.origin`
 * first.
 *
 * @param head the third argument of the event: bytes after the request, which the socket then reads
 *   again
 * @returns null if the request is not a correct handshake: it has been answered with 400, 405 or
 *   426, and the socket ends. Also null if the socket is destroyed, such as while you looked up a
 *   user
 * @throws TypeError if `protocol` returns a subprotocol that the client does not offer, or a header has
 *   a line break. Nothing has been answered then
 */
export function acceptUpgrade(
  request: UpgradeRequest,
  socket: UpgradeSocket,
  head: Uint8Array,
  options?: AcceptUpgradeOptions
): Upgrade | null;

/**
 * Answers a handshake with an error, and ends the socket.
 *
 * @param status such as 401 or 403. Default: 400
 */
export function refuseUpgrade(
  socket: UpgradeSocket,
  status?: number,
  headers?: { readonly [name: string]: string | number | undefined }
): null;

/** Options of {@link offerUpgrade}. */
export interface OfferUpgradeOptions {
  /** The subprotocols to offer, the preferred one first. Default: none. */
  protocols?: readonly string[] | undefined;
  /** Whether to offer permessage-deflate, maybe with options. Default: false. */
  deflate?: boolean | DeflateOptions | undefined;
}

/** A client's opening handshake. Only {@link offerUpgrade} makes one, for one request. */
export interface UpgradeOffer {
  /** The headers of the request. */
  readonly headers: { readonly [name: string]: string };
  /**
   * Checks the server's answer, in a listener of `http.ClientRequest`'s event 'upgrade'.
   *
   * @throws {@link FrameError} with the code FRAMEMASK_ERR_HANDSHAKE or FRAMEMASK_ERR_EXTENSIONS if it
   *   is not correct: destroy the socket
   */
  readAnswer(response: {
    readonly statusCode?: number | undefined;
    readonly headers: { readonly [name: string]: string | string[] | undefined };
  }): Upgrade;
}

/** Makes the opening handshake of a client (RFC 6455 section 4.1), for a GET request of `node:http`. */
export function offerUpgrade(options?: OfferUpgradeOptions): UpgradeOffer;

/** The arguments of a connection's `onMessage`. A test of `isBinary` narrows the type of `data`. */
export type ConnectionMessage<Text extends TextAs = 'string'> =
  | [data: TextData<Text>, isBinary: false]
  | [data: BinaryData, isBinary: true];

/** The arguments of a connection's `onPart`. A test of `isBinary` narrows the type of `data`. */
export type ConnectionPart<Text extends TextAs = 'string'> =
  | [data: TextData<Text>, isBinary: false, isLast: boolean]
  | [data: BinaryData, isBinary: true, isLast: boolean];

/**
 * The handlers of a {@link Connection}, which is their `this`. All connections of a server may share them.
 *
 * A handler may call any method of the connection. An error that it throws is thrown again in the next
 * tick, where it is uncaught; the connection goes on with the next message. A promise that it returns
 * is not awaited: `pause` the connection meanwhile.
 */
export interface ConnectionHandlers<Context = undefined, Text extends TextAs = 'string'> {
  /** A message is complete. See {@link DecoderHandlers.onMessage}. */
  onMessage?:
    | ((this: Connection<Context, Text>, ...message: ConnectionMessage<Text>) => void)
    | ShortHandler<Connection<Context, Text>, TextData<Text> | BinaryData>
    | undefined;
  /** The next part of a message of `partsFrom` bytes or more. See {@link DecoderHandlers.onPart}. */
  onPart?:
    | ((this: Connection<Context, Text>, ...part: ConnectionPart<Text>) => void)
    | ShortHandler<Connection<Context, Text>, TextData<Text> | BinaryData>
    | undefined;
  /** A Ping frame has come. It has been answered, unless `autoPong` is false. */
  onPing?: ((this: Connection<Context, Text>, payload: Buffer) => void) | undefined;
  /** A Pong frame has come. */
  onPong?: ((this: Connection<Context, Text>, payload: Buffer) => void) | undefined;
  /** `send` may be called again, after it has returned false. Also during a pause. */
  onDrain?: ((this: Connection<Context, Text>) => void) | undefined;
  /**
   * The connection can't go on; `onClose` follows. Called once with a {@link FrameError} if the peer has
   * broken a rule; with the stream's error, such as ECONNRESET; or with an error that has the code
   * `FRAMEMASK_ERR_BACKPRESSURE` (see `maxBackpressure`), `FRAMEMASK_ERR_HEARTBEAT` (see `heartbeat`),
   * or `ERR_INVALID_STATE` (memory that was to be sent has been transferred). Without this handler
   * nothing is thrown.
   */
  onError?: ((this: Connection<Context, Text>, error: Error & { code?: string }) => void) | undefined;
  /**
   * The connection is closed. Called once, as the last handler, with the code and the reason of the
   * peer's Close frame: 1005 if it had no code, 1006 if none came (RFC 6455 section 7.1.5).
   */
  onClose?: ((this: Connection<Context, Text>, code: number, reason: string) => void) | undefined;
}

/**
 * The options that the connections of a server share. Names are treated as by {@link DecoderOptions}.
 */
export interface ConnectionOptions<Context = undefined, Text extends TextAs = 'string'>
  extends ConnectionHandlers<Context, Text> {
  /** See {@link DecoderOptions.maxPayload}. Default: 104857600 (100 MiB). */
  maxPayload?: number | undefined;
  /** See {@link DecoderOptions.maxFragments}. Default: 16384. */
  maxFragments?: number | undefined;
  /** See {@link DecoderOptions.partsFrom}. Default: 0. */
  partsFrom?: number | undefined;
  /** See {@link DecoderOptions.text}. Default: 'string'. */
  text?: Text | undefined;
  /**
   * The bytes that may wait before a `send`. If more wait, that `send` fails, `onError` gets an error
   * with the code `FRAMEMASK_ERR_BACKPRESSURE`, and the connection is terminated: 1006 without a Close
   * frame, which would lie behind the unread bytes. One message of any size passes. `Infinity` removes
   * the limit. Default: 16777216 (16 MiB).
   */
  maxBackpressure?: number | undefined;
  /** The milliseconds that closing may take before the stream is destroyed. Default: 10000. */
  closeTimeout?: number | undefined;
  /**
   * The milliseconds of silence after which a Ping is sent, and after as much again the connection is
   * terminated, with an error that has the code `FRAMEMASK_ERR_HEARTBEAT`. Both come up to a quarter of
   * that time late. Received bytes end a silence, and bytes that the system has taken of what was sent:
   * Linux reports about 1.4 MiB at a time, so that a client which reads 640 KiB a second seems silent
   * for 2.2 seconds. The clock stands still while the program has paused the connection. Default: 0, never.
   */
  heartbeat?: number | undefined;
  /**
   * Whether Ping frames are answered. While the peer does not read, the last one is answered later
   * (RFC 6455 section 5.5.3). Default: true.
   */
  autoPong?: boolean | undefined;
}

/** The options of one connection, beside those that it shares. */
export interface OwnConnectionOptions<Context = undefined> {
  /** Any value for the handlers: they find it as `this.context`. */
  context?: Context | undefined;
  /** The subprotocol of the handshake. Default: ''. */
  protocol?: string | undefined;
  /** The agreement of the handshake. Default: null. */
  deflate?: NegotiatedDeflate | null | undefined;
  /** Whether the connection begins with a `pause`. Default: false. */
  paused?: boolean | undefined;
  /** See {@link DecoderOptions.trace}; `path` is for `framemask:open` and `framemask:close`. */
  trace?: (TracedConnection & { path?: string | undefined }) | undefined;
}

/** The options of one connection for {@link Connection.accept}. */
export interface AcceptOptions<Context = undefined> extends AcceptUpgradeOptions {
  /** See {@link OwnConnectionOptions.context}. */
  context?: Context | undefined;
  /** Whether the connection begins with a `pause`: until an asynchronous login is done. Default: false. */
  paused?: boolean | undefined;
  /** The connection in trace records: its `key` and `path` are those of the handshake. */
  trace?: Pick<TracedConnection, 'id'> | undefined;
}

/**
 * The options of {@link Connection.connect}. Those that are not named here go to `http.request` or
 * `https.request`: of TLS, such as `ca` and `rejectUnauthorized`, `family` or `socketPath`.
 */
export interface ConnectOptions<Context = undefined, Text extends TextAs = 'string'>
  extends ConnectionOptions<Context, Text>,
    OfferUpgradeOptions,
    Omit<import('node:https').RequestOptions, 'headers' | 'signal' | 'protocol'> {
  /** Further headers of the request, such as Authorization. */
  headers?: { readonly [name: string]: string | undefined } | undefined;
  /** The milliseconds that the handshake may take. Default: 10000. */
  handshakeTimeout?: number | undefined;
  /** Gives up the handshake. It has no effect on an open connection. */
  signal?: AbortSignal | undefined;
  /** See {@link OwnConnectionOptions.context}. */
  context?: Context | undefined;
  /** See {@link OwnConnectionOptions.paused}. */
  paused?: boolean | undefined;
  /** See {@link AcceptOptions.trace}. */
  trace?: Pick<TracedConnection, 'id'> | undefined;
}

/** Options of {@link Connection.send}. */
export interface SendOptions {
  /** Whether the message is binary. Default: true for bytes, false for a string. */
  binary?: boolean | undefined;
  /** Whether the data ends the message. The next `send` continues it otherwise. Default: true. */
  fin?: boolean | undefined;
  /** See {@link MessageOptions.compress}. */
  compress?: boolean | undefined;
  /** See {@link FragmentOptions.owned}. */
  owned?: boolean | undefined;
}

/** Called when the stream has taken the bytes of a frame, or with the error why it has not. */
export type SendCallback = (error?: Error | null) => void;

/**
 * A WebSocket connection (RFC 6455) on a stream: it reads, answers Ping frames, sends the replies to the
 * messages of one read in one write, and does the closing handshake. On any `stream.Duplex`: a socket
 * of TCP, TLS or a pipe, a stream of HTTP/2, or one of your own.
 *
 * The type parameters are those of `context` and `text`. A server stops reading from a client that does
 * not read its answers. A client always reads: two ends that waited for each other would never go on.
 */
export class Connection<Context = undefined, Text extends TextAs = 'string'> {
  /**
   * Answers the handshake of a client, in a listener of `http.Server`'s event 'upgrade'. Check the origin
   * and the login before; `refuseUpgrade` refuses. All arguments but the last two, and the errors, are
   * those of {@link acceptUpgrade}.
   *
   * @param options shared by all connections of a server; `deflate` as in {@link AcceptUpgradeOptions}
   * @param own this connection's own
   * @returns null if the request has been refused
   */
  static accept<Context = undefined, Text extends TextAs = 'string'>(
    request: UpgradeRequest & { readonly url?: string | undefined },
    socket: Duplex,
    head: Uint8Array,
    options?: ConnectionOptions<Context, Text> & { deflate?: boolean | DeflateOptions | undefined },
    own?: AcceptOptions<Context>
  ): Connection<Context, Text> | null;
  /**
   * Opens a connection to a server. Nothing is delivered before the code that awaits the promise has run.
   * Redirects are not followed.
   *
   * @param url ws: or wss:
   * @returns a promise. It is rejected with the stream's error, the reason of the signal, an error with the
   *   code `FRAMEMASK_ERR_HANDSHAKE_TIMEOUT`, or, if the server has refused or its answer is wrong, a
   *   {@link FrameError} with its `statusCode` and `headers`
   */
  static connect<Context = undefined, Text extends TextAs = 'string'>(
    url: string | URL,
    options?: ConnectOptions<Context, Text>
  ): Promise<Connection<Context, Text>>;
  /**
   * After a handshake of your own.
   *
   * @param socket the connection unmasks the chunks that it reads in place: they must not be another's, too
   * @param options those that connections share, and those of this one unless `own` has them
   */
  constructor(
    socket: Duplex,
    role: Role,
    options?: ConnectionOptions<Context, Text> & OwnConnectionOptions<Context>,
    own?: OwnConnectionOptions<Context>
  );
  /** It may be replaced at any time. */
  context: Context;
  /** The subprotocol, '' for none. */
  readonly protocol: string;
  /** The negotiated permessage-deflate; null if messages are not compressed. */
  readonly deflate: NegotiatedDeflate | null;
  /** The stream, for its addresses and the like. Write, end and pause by the connection's own methods. */
  readonly socket: Duplex;
  readonly role: Role;
  /** As of a browser's WebSocket: 1 open, 2 closing, 3 closed. */
  readonly readyState: 1 | 2 | 3;
  /** Whether it is paused: between `pause` and `resume`. */
  readonly paused: boolean;
  /** The bytes that wait: for the end of the turn, for compression, or for the peer. */
  readonly bufferedAmount: number;
  /** How many frames have been read: see {@link Decoder.framesRead}. */
  readonly framesRead: number;
  /** The code that `onClose` is called with; null before. */
  readonly closeCode: number | null;
  /** The reason that `onClose` is called with; '' before. */
  readonly closeReason: string;
  /**
   * Sends a message, or a part of one (`fin: false`). Messages leave together at the end of the read in
   * whose handlers they are sent, or of the turn of the event loop; at once from 128 KiB and 16 KiB on.
   * After `close` nothing is sent or thrown: the callback gets an error with `FRAMEMASK_ERR_NOT_OPEN`.
   *
   * @param data text as a string; bytes, which a server sends without a copy from 16 KiB on: do not
   *   change those before they are sent; or a message of {@link prepare}, for servers
   * @returns false if the peer reads more slowly, or the connection is not open: wait for `onDrain`
   * @throws TypeError for data of another type
   */
  send(data: string | Bytes | PreparedMessage, options?: SendOptions, callback?: SendCallback): boolean;
  send(data: string | Bytes | PreparedMessage, callback: SendCallback): boolean;
  /** Sends a Ping frame of up to 125 bytes. Returns and throws as `send`. */
  ping(data?: string | Bytes, callback?: SendCallback): boolean;
  /** Sends a Pong frame of up to 125 bytes. Ping frames are answered without it. */
  pong(data?: string | Bytes, callback?: SendCallback): boolean;
  /**
   * Begins the closing handshake. Messages are delivered until the peer answers; nothing is sent.
   *
   * @param code, reason as of {@link Encoder.close}
   */
  close(code?: number, reason?: string | Bytes): void;
  /** Drops the connection at once: of all handlers, only `onError` and `onClose` are still called. */
  terminate(): void;
  /**
   * Stops reading, and the delivery of what has been read: no handler gets a message, a control frame or
   * the end of the connection before `resume`. `terminate` ends it nevertheless.
   */
  pause(): void;
  /** Ends a pause. What was held back is delivered from the next tick on. */
  resume(): void;
}

export interface ShutDownOptions {
  /** The milliseconds until the connections that are left are terminated. */
  within: number;
  /** The code of the Close frames. Default: 1012, the service is restarted. */
  code?: number | undefined;
  /** Their reason, of at most 123 bytes. Default: ''. */
  reason?: string | undefined;
}

export interface ShutDownResult {
  /** How many connections have ended by themselves. */
  closed: number;
  /** How many were left at the end of the time. */
  terminated: number;
  /** The bytes that waited on those. */
  droppedBytes: number;
}

/**
 * Closes connections one after the other over the first two thirds of a time, so that their clients do
 * not all come back at once; then terminates those that are left, paused ones, too. No step takes the
 * thread for longer than about 2 ms.
 *
 * @param connections they may be WebSockets of `ws`, too; those that come later are not closed
 * @returns a promise: it is rejected with a TypeError or a RangeError for options that can't be taken
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
 * Takes WebSockets over HTTP/2 (RFC 8441): each becomes an event 'upgrade' of the server, as over
 * HTTP/1.1, with which it may share a port (`allowHTTP1`). So `new WebSocketServer({ server })` of
 * framemask/ws or ws, `handleUpgrade` and {@link acceptUpgrade} need no change. The request has
 * `httpVersion` '2.0', the headers of HTTP/1.1 with a random Sec-WebSocket-Key, and the `stream`.
 *
 * Sessions that begin afterwards are told SETTINGS_ENABLE_CONNECT_PROTOCOL. Without a listener of
 * 'upgrade', as after `WebSocketServer.close()`, the answer is 503; 501 for another `:protocol`, 400
 * for a request that is not correct. Other streams are the program's, if it listens to 'request' or
 * 'stream'; if not, the answer is 404, and 501 for CONNECT.
 *
 * @param server a server of `node:http2`, with TLS or without
 * @returns the server
 */
export function acceptHttp2<Server extends Http2Server | Http2SecureServer>(server: Server): Server;

/**
 * Makes the option `createConnection` of `http.get` or `https.get`, and of a client of ws: the
 * handshake of a WebSocket then goes over HTTP/2 (RFC 8441). In framemask/ws, `http2: true` is the same.
 * Give `https.get` the option `defaultPort: 443`, too: with `createConnection`, Node.js takes port 80.
 *
 * Without a session, WebSockets of the thread with the same origin and TLS options share one: up to the
 * server's limit of streams, until GOAWAY or a Ping or handshake that is not answered in time, and until
 * the last of them has closed. The request fails if the server does not offer WebSockets over HTTP/2.
 *
 * @param session a session of `http2.connect`, which stays open. It takes requests for the origin of the
 *   first one: a redirect to another origin fails. Default: a shared one
 * @param options `fallback`: whether to connect over HTTP/1.1 after any failure before the server's
 *   answer, ECONNREFUSED too. Only the error of that second attempt is reported
 */
export function overHttp2(
  session?: ClientHttp2Session | null,
  options?: { fallback?: boolean | undefined }
): (options: ClientRequestArgs) => Duplex;

/** The peer's mistake. docs/codec.md ("Error codes") has the cause and the RFC section of each. */
export type FrameErrorCode =
  | 'FRAMEMASK_ERR_RESERVED_BITS'
  | 'FRAMEMASK_ERR_OPCODE'
  | 'FRAMEMASK_ERR_CONTROL_FRAGMENTED'
  | 'FRAMEMASK_ERR_CONTROL_LENGTH'
  | 'FRAMEMASK_ERR_LENGTH'
  | 'FRAMEMASK_ERR_LENGTH_NOT_MINIMAL'
  | 'FRAMEMASK_ERR_MASK_MISSING'
  | 'FRAMEMASK_ERR_MASK_UNWANTED'
  | 'FRAMEMASK_ERR_CONTINUATION'
  | 'FRAMEMASK_ERR_INTERLEAVED'
  | 'FRAMEMASK_ERR_MESSAGE_TOO_BIG'
  | 'FRAMEMASK_ERR_TOO_MANY_FRAGMENTS'
  | 'FRAMEMASK_ERR_UTF8'
  | 'FRAMEMASK_ERR_CLOSE_LENGTH'
  | 'FRAMEMASK_ERR_CLOSE_CODE'
  | 'FRAMEMASK_ERR_DEFLATE'
  | 'FRAMEMASK_ERR_EXTENSIONS'
  | 'FRAMEMASK_ERR_HANDSHAKE'
  | 'FRAMEMASK_ERR_DETACHED';

/**
 * The peer has broken the protocol or exceeded a limit, or a handler has transferred the memory of
 * frames that were not delivered yet (`FRAMEMASK_ERR_DETACHED`). See
 * {@link DecoderHandlers.onError}.
 */
export class FrameError extends Error {
  private constructor();
  readonly name: 'FrameError';
  readonly code: FrameErrorCode;
  /**
   * The code to close the connection with (RFC 6455 section 7.4.1): 1002 for a broken protocol,
   * 1007 for text that is not UTF-8 or data that is not DEFLATE, 1008 for too many fragments, 1009
   * for a message that is too big, 1011 for an error of this endpoint.
   */
  readonly closeCode: 1002 | 1007 | 1008 | 1009 | 1011;
  /** The first byte of the refused header (RFC 6455 section 5.2), null if a payload is at fault. */
  readonly firstByte: number | null;
  /**
   * The payload length in the refused header: 126 or 127 if it was refused before the bytes of an
   * extended length. Null if a payload is at fault, or the header was refused before its length.
   */
  readonly length: number | null;
  /** The code of a Close frame if it may not be sent, null with all other errors. */
  readonly receivedCode: number | null;
}

/**
 * The fields of all trace records: which codec published them, and about which frame.
 *
 * Each endpoint of a connection publishes records of its own. `connection`, `from` and `sequence`
 * find a frame in the records of both, if their codecs were given the same `id` in `trace`.
 */
export interface TraceOrigin {
  /** The id of this record: a version 7 UUID. The ids of one thread ascend. */
  id: string;
  /**
   * When it was published, in milliseconds since 1970-01-01, with a fraction: `performance.timeOrigin +
   * performance.now()`. It never goes back; a clock that was set since the process began shows
   * another time. The `id` begins with the milliseconds of that clock.
   */
  time: number;
  /** The `id` of the codec's `trace`. */
  connection: string;
  /** The `key` of the codec's `trace`, null without one. */
  key: string | null;
  /** The endpoint that sent the frame. */
  from: Role;
  /** Its position among all frames that this endpoint has sent on the connection, from 1. */
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
  /** Whether this is the last frame of its message. */
  fin: boolean;
  /** The reserved bits: RSV1 is 4, RSV2 is 2, RSV3 is 1. */
  rsv: number;
  /** Whether the frame is masked, as those of clients are. */
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
 * The records of the `node:diagnostics_channel` named `framemask:frame`: a frame, or, if
 * `error` is not null, the error that ended a Decoder.
 *
 * A received frame's record is published before the handler that it leads to, in the order of frames.
 * If a subscriber calls `pause` or `stop`, that handler is called later, or never. If it throws, the
 * codec goes on.
 */
export type FrameTrace = FrameRecord | FrameErrorRecord;

/**
 * The records of the `node:diagnostics_channel` named `framemask:message`: an Encoder has
 * added a message, or a Decoder has received one completely. `sequence` is that of its last frame.
 */
export interface MessageTrace extends TraceOrigin {
  /** Whether the message is binary. */
  binary: boolean;
  /** As of a {@link FrameRecord}, of its first frame. */
  rsv: number;
  /** The length of the message in bytes, over all its fragments. */
  length: number;
  /** The number of frames that it was sent in. */
  fragments: number;
}

/** The fields of the records of a connection's life. */
export interface ConnectionTrace {
  /** The id of this record: a version 7 UUID. */
  id: string;
  /** See {@link TraceOrigin.time}. */
  time: number;
  /** The connection's name, which the records of its frames have, too. */
  connection: string;
  /** The Sec-WebSocket-Key of the handshake, null if it is not known. */
  key: string | null;
  /** The path of the request, without its query; null if it is not known. */
  path: string | null;
  /** The subprotocol, '' for none. */
  protocol: string;
  role: Role;
}

/** The records of the `node:diagnostics_channel` named `framemask:open`: a {@link Connection} is open. */
export type OpenTrace = ConnectionTrace;

/**
 * The records of the `node:diagnostics_channel` named `framemask:close`: a {@link Connection} is closed.
 * Messages and bytes are null if nobody listened to one of the two channels when it opened.
 */
export interface CloseTrace extends ConnectionTrace {
  /** As of `onClose`. */
  closeCode: number;
  messagesReceived: number | null;
  bytesReceived: number | null;
  messagesSent: number | null;
  bytesSent: number | null;
}

/** Options of {@link frameId}. */
export interface FrameIdOptions {
  /** The version (RFC 9562): 4 is random, 7 sorts by the time in milliseconds. Default: 4. */
  version?: 4 | 7 | undefined;
}

/**
 * Makes an id for a frame, a message or a connection: a UUID of 36 lower-case characters (RFC
 * 9562), with random bits from `crypto.randomFillSync()`.
 *
 * Version 7 ids of one thread sort as text in the order in which they were made, even within a
 * millisecond and after the clock has been set back. They reveal when they were made.
 */
export function frameId(options?: FrameIdOptions): string;

/**
 * Writes any 16 bytes as a UUID of 36 lower-case characters. Version and variant are not checked.
 *
 * @param offset the index of the id's first byte. Default: 0
 * @throws RangeError if fewer than 16 bytes follow `offset`
 */
export function formatFrameId(bytes: Uint8Array, offset?: number): string;

/**
 * Reads the 16 bytes of a UUID into a new Buffer, which does not share Node's pool. Digits may be
 * upper-case; braces, `urn:uuid:` and white space are refused. Version and variant are not checked.
 *
 * @throws RangeError if `string` is not a UUID
 */
export function parseFrameId(string: string): Buffer;

/**
 * Reads the 16 bytes of a UUID into `target`, which does not change if an argument is refused.
 *
 * @param offset the index in `target` of the first byte to write. Default: 0
 * @returns `target`
 * @throws RangeError if `string` is not a UUID, or fewer than 16 bytes of `target` follow `offset`
 */
export function parseFrameId<T extends Uint8Array>(string: string, target: T, offset?: number): T;

// biome-ignore lint/complexity/noUselessEmptyExport: without it every declaration of this file is exported
export {};
