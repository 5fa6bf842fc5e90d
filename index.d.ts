/// <reference types="node" />

/**
 * The WebSocket frame layer for Node.js: SIMD masking, an RFC 6455 codec and frame ids. framemask
 * opens no sockets.
 *
 * - {@link mask} and {@link unmask} apply a masking key. `ws` calls them where framemask is
 *   installed as `bufferutil`.
 * - A {@link Decoder} turns the bytes of a connection into messages.
 * - An {@link Encoder} turns messages into bytes. {@link prepare} frames a message once for many
 *   connections.
 * - {@link acceptDeflate} and {@link offerDeflate} negotiate the compression of messages.
 * - {@link frameId} makes UUIDs for frames, messages and connections.
 * - {@link FrameTrace} and {@link MessageTrace} are published on `node:diagnostics_channel`.
 *
 * An argument that is not acceptable throws an error that names the argument and has a `code`: a
 * TypeError with `ERR_INVALID_ARG_TYPE` or `ERR_INVALID_ARG_VALUE`, or a RangeError with
 * `ERR_OUT_OF_RANGE`. A call at the wrong time throws an Error with `ERR_INVALID_STATE`. A
 * {@link FrameError} is the peer's fault, all others are the caller's.
 *
 * @packageDocumentation
 */

/**
 * Masks or unmasks bytes with a masking key (RFC 6455 section 5.3; both are the same operation).
 *
 * Reads the first `length` bytes of `source` and writes the result to `output` from `offset` on.
 * `source` does not change, unless `output` shares its memory. The two may overlap in any way; the
 * result is as if `source` had been copied first.
 *
 * A payload can be masked in pieces: give each call the phase that the call before it returned.
 *
 * @param source the bytes to mask; a Buffer or Uint8Array over any kind of memory, at any alignment
 * @param key the masking key, 4 bytes
 * @param output the bytes to write to
 * @param offset the index in `output` of the first byte to write
 * @param length the number of bytes to mask
 * @param phase the index in `key`, 0 to 3, of the byte for the first byte of `source`. Default: 0
 * @returns the phase for the byte after the last one: (phase + length) modulo 4
 * @throws TypeError if an argument is missing or has a wrong type, or if its memory is detached.
 *   Nothing is written
 * @throws RangeError if `key` is not 4 bytes long, if `phase` is not 0 to 3, or if the range does
 *   not fit `source` or `output`. Nothing is written
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
 * Masks or unmasks all of `buffer` in place (RFC 6455 section 5.3; both are the same operation).
 *
 * A payload can be unmasked in pieces: give each call the phase that the call before it returned.
 *
 * @param buffer the bytes to unmask; a Buffer or Uint8Array over any kind of memory, at any
 *   alignment
 * @param key the masking key, 4 bytes
 * @param phase the index in `key`, 0 to 3, of the byte for the first byte of `buffer`. Default: 0
 * @returns the phase for the byte after the last one: (phase + buffer.length) modulo 4
 * @throws TypeError if an argument is missing or has a wrong type, or if its memory is detached.
 *   Nothing is written
 * @throws RangeError if `key` is not 4 bytes long or if `phase` is not 0 to 3. Nothing is written
 */
export function unmask(buffer: Uint8Array, key: Uint8Array, phase?: number): number;

/**
 * The code that masks: the instruction set that the addon uses, `'scalar'` for the addon without
 * SIMD, or `'js'` for JavaScript.
 */
export type Kernel = 'avx512' | 'avx2' | 'sse2' | 'neon' | 'scalar' | 'js';

/**
 * The kernel in use. It is chosen once, when framemask is loaded: the best one that the processor
 * and the operating system support, or the one that the environment variable `FRAMEMASK_KERNEL`
 * names.
 */
export const kernel: Kernel;

/**
 * The reason why the addon could not be loaded; framemask then uses JavaScript. `null` if it was
 * loaded, or if `FRAMEMASK_KERNEL=js` asked for JavaScript.
 */
export const nativeError: Error | null;

/**
 * One end of a connection. A server receives masked frames and sends unmasked ones, a client the
 * opposite (RFC 6455 section 5.1).
 */
export type Role = 'server' | 'client';

/**
 * What a {@link Decoder} delivers the text of a message as: a string, a Buffer of valid UTF-8, or a
 * Buffer that has not been checked.
 */
export type TextAs = 'string' | 'buffer' | 'unchecked';

/** The data of a binary message. */
export type BinaryData = Buffer;

/** The data of a text message: a string, or a Buffer if the option `text` asks for one. */
export type TextData<Text extends TextAs = 'string'> = Text extends 'string' ? string : BinaryData;

/**
 * The arguments of `onMessage`: `data`, `isBinary`, `rsv1`. A test of `isBinary` (and of `rsv1`, if
 * the option `rsv1` is set) narrows the type of `data`.
 *
 * @typeParam Text the option `text`
 * @typeParam Rsv1 the option `rsv1`
 */
export type MessageArguments<Text extends TextAs = 'string', Rsv1 extends boolean = false> =
  | [data: TextData<Text>, isBinary: false, rsv1: false]
  | [data: BinaryData, isBinary: true, rsv1: false]
  | (Rsv1 extends true ? [data: BinaryData, isBinary: boolean, rsv1: true] : never);

/**
 * A handler of messages, with up to three parameters: see {@link MessageArguments}. `this` is the
 * decoder.
 *
 * @typeParam Context the option `context`
 * @typeParam Text the option `text`
 * @typeParam Rsv1 the option `rsv1`
 */
export type MessageHandler<Context = undefined, Text extends TextAs = 'string', Rsv1 extends boolean = false> =
  | ((this: Decoder<Context>, ...message: MessageArguments<Text, Rsv1>) => void)
  | ShortMessageHandler<Context, TextData<Text> | BinaryData>;

// TypeScript finds the types of a handler's parameters by the first signature above, but does not
// accept a handler with fewer than three parameters for it. This interface does. Two signatures
// that differ in their type parameters never determine the types of parameters, so that it does not
// compete with the one above.
interface ShortMessageHandler<Context, Data> {
  (this: Decoder<Context>, data: Data, isBinary: boolean): void;
  <_>(this: Decoder<Context>, data: Data, isBinary: boolean): void;
}

/**
 * The handlers of a {@link Decoder}. Their `this` is the decoder, so that `this.context` is the
 * option `context`.
 *
 * A handler may throw, and it may call any method of the decoder. If it throws, the call of `write`
 * or `resume` that is at work throws the same error; the frames that follow are delivered by the
 * next `write` or `resume`.
 *
 * @typeParam Context the option `context`
 * @typeParam Text the option `text`
 * @typeParam Rsv1 the option `rsv1`
 */
export interface DecoderHandlers<Context = undefined, Text extends TextAs = 'string', Rsv1 extends boolean = false> {
  /**
   * A message is complete. Called with:
   *
   * - `data`: a string for a text message, a Buffer for a binary one. Text is a Buffer, too, if the
   *   option `text` asks for one or if `rsv1` is true. A Buffer is yours to keep and change. If
   *   the message arrived in one chunk, the Buffer is a view of that chunk and keeps all of it in
   *   memory. A short string may keep up to 1 KiB of the text beside it in memory.
   * - `isBinary`: whether the message is binary (RFC 6455 section 5.6).
   * - `rsv1`: whether the first frame of the message had RSV1 set, by which permessage-deflate
   *   marks a compressed message (RFC 7692 section 6). Always false unless the option `rsv1` is
   *   set. If true, `data` is what the peer sent: it is not decompressed, and text is not validated
   *   as UTF-8.
   */
  onMessage?: MessageHandler<Context, Text, Rsv1> | undefined;
  /**
   * A Ping frame has arrived (RFC 6455 section 5.5.2). Called with its payload of 0 to 125 bytes.
   * Answer it by {@link Encoder.pong} with the same payload; the decoder does not.
   */
  onPing?: ((this: Decoder<Context>, payload: Buffer) => void) | undefined;
  /**
   * A Pong frame has arrived (RFC 6455 section 5.5.3). Called with its payload of 0 to 125 bytes.
   */
  onPong?: ((this: Decoder<Context>, payload: Buffer) => void) | undefined;
  /**
   * A Close frame has arrived (RFC 6455 section 5.5.1). Called with its close code, its reason, and
   * the bytes of the reason; the code is 1005 and the reason empty if the frame has no payload. The
   * decoder is `closed` and
   * ignores what follows. Answer it by {@link Encoder.close}; 1005 must not be sent.
   */
  onClose?: ((this: Decoder<Context>, code: number, reason: string, reasonBytes: Buffer) => void) | undefined;
  /**
   * The peer has broken the protocol or exceeded a limit. The decoder is `closed` and ignores what
   * follows. Send a Close frame with `error.closeCode` and end the connection (RFC 6455 section
   * 7.1.7). Without this handler, `write` and `resume` throw the error.
   */
  onError?: ((this: Decoder<Context>, error: FrameError) => void) | undefined;
  /**
   * A frame of any kind is complete. Called before the other handlers and without creating an
   * object, so that text may still turn out to be invalid. Called with:
   *
   * - `firstByte`: the first byte of the frame (RFC 6455 section 5.2): FIN is 0x80, RSV1 to RSV3
   *   are 0x70, the opcode is 0x0f.
   * - `bytes`, `start`, `end`: the unmasked payload is `bytes` from index `start` to before index
   *   `end`. The rest of `bytes` is not part of the frame. Copy what you keep, and change nothing.
   */
  onFrame?:
    | ((this: Decoder<Context>, firstByte: number, bytes: Buffer, start: number, end: number) => void)
    | undefined;
}

/** What trace records say of a connection. */
export interface TracedConnection {
  /**
   * The name of the connection, this end's own. Without one the first trace record sets it, to a
   * version 4 UUID.
   */
  id?: string | undefined;
  /**
   * The Sec-WebSocket-Key of the opening handshake (RFC 6455 section 4.1), which both ends know. A
   * client chooses it, so that it may be any other connection's, too.
   */
  key?: string | undefined;
}

/**
 * The options of a {@link Decoder}, among them its handlers.
 *
 * Options of other names are ignored, so that an object with options may be shared. A name that
 * differs from an option's by its case or by one letter (`onmessage`, `maxPayLoad`) is refused.
 *
 * @typeParam Context the option `context`
 * @typeParam Text the option `text`
 * @typeParam Rsv1 the option `rsv1`
 */
export interface DecoderOptions<Context = undefined, Text extends TextAs = 'string', Rsv1 extends boolean = false>
  extends DecoderHandlers<Context, Text, Rsv1> {
  /**
   * The end of the connection that the decoder is at. A server's decoder accepts masked frames
   * only, a client's none.
   */
  role: Role;
  /**
   * The maximum length of a message in bytes, over all its fragments. `0` allows only empty
   * messages, `Infinity` removes the limit. A longer message is an error with the close code 1009.
   * With the option `rsv1` this counts the bytes that the peer sends: limit those after
   * decompression yourself. With the option `deflate` it counts both. The default is 100 MiB.
   *
   * @default 104857600
   */
  maxPayload?: number | undefined;
  /**
   * The maximum number of frames in a message, at least 1. `Infinity` removes the limit. A message
   * of more frames is an error with the close code 1008.
   *
   * @default 16384
   */
  maxFragments?: number | undefined;
  /**
   * What text is delivered as: `'string'`, or `'buffer'` for its bytes. Both are validated as UTF-8
   * (RFC 6455 section 8.1). `'unchecked'` delivers the bytes of messages, and of the reasons of
   * Close frames, as they came: for peers that are trusted, or a caller that checks them itself.
   *
   * @default 'string'
   */
  text?: Text | undefined;
  /**
   * Whether the memory of a chunk is the caller's again when `write` returns, so that one piece of
   * memory can serve many reads and connections. What is delivered as bytes, or is not delivered
   * yet, is copied first: neighbours of less than 2 KiB into memory that they share, each longer
   * message into memory of its own. Without it a message that is kept keeps its whole chunk.
   *
   * @default false
   */
  borrowed?: boolean | undefined;
  /**
   * Whether {@link Decoder.fragmentLengths} is kept.
   *
   * @default false
   */
  fragmentLengths?: boolean | undefined;
  /**
   * Whether an extension has been negotiated that sets RSV1 on the first frame of a message, such
   * as permessage-deflate (RFC 7692). Without it, RSV1 is an error with the close code 1002.
   *
   * @default false
   */
  rsv1?: Rsv1 | undefined;
  /**
   * What both ends have agreed on: compressed messages are then delivered like others, `maxPayload`
   * counts their bytes while they are inflated, and their text is validated.
   * {@link Decoder.fragmentLengths} counts the bytes that came.
   *
   * A message that inflates to more than four times `threadPoolFrom` is inflated in zlib's thread
   * pool. Later messages wait for it: `write` returns false, and `onInflated` is called when they
   * have been delivered.
   *
   * @default null
   */
  deflate?: DeflateAgreement | null | undefined;
  /**
   * With the option `deflate`: called each time a message that was in the thread pool, and those that
   * waited for it, have been delivered outside of `write`. Flush the Encoder, look at
   * {@link Decoder.closed}, and read on. What a handler throws meanwhile, nobody catches.
   */
  onInflated?: ((this: Decoder<Context>) => void) | undefined;
  /**
   * The name of the connection in trace records. Give both ends the same name, and a frame can be
   * found in the logs of both: see {@link TraceOrigin}. The default is a version 4 UUID, created
   * with the first trace record.
   */
  connectionId?: string | undefined;
  /**
   * What trace records say of the connection, instead of `connectionId`. Give the same object to the
   * Decoder and the Encoder of one end.
   *
   * @default null
   */
  trace?: TracedConnection | null | undefined;
  /**
   * Any value for the handlers, which find it as `this.context`: the connection, for example.
   *
   * @default undefined
   */
  context?: Context | undefined;
}

/**
 * The options that can't be omitted because of the type parameters of a {@link Decoder}: `context`
 * unless `Context` includes undefined, and `text` if text is delivered as Buffers.
 */
export type RequiredDecoderOptions<Context, Text extends TextAs> = (undefined extends Context
  ? unknown
  : { context: Context }) &
  ([Text] extends ['buffer' | 'unchecked'] ? { text: Text } : unknown);

/**
 * Decodes WebSocket frames (RFC 6455): takes the bytes of a connection and calls handlers with its
 * messages.
 *
 * It opens no socket and sends nothing: the handlers answer Ping frames, Close frames and errors.
 * Memory grows with the bytes that have arrived, never with the length that a header announces. Bad
 * headers are refused when they arrive, bad text with its first invalid byte.
 *
 * TypeScript infers either all type parameters or none. To name the context only, annotate the
 * variable: `const decoder: Decoder<Connection> = new Decoder({ ... })`.
 *
 * @typeParam Context the type of `context`, inferred from the option
 * @typeParam Text the option `text`, inferred; it determines the arguments of `onMessage` only
 * @typeParam Rsv1 the option `rsv1`, inferred; it determines the arguments of `onMessage` only
 */
export class Decoder<Context = undefined, Text extends TextAs = 'string', Rsv1 extends boolean = false> {
  /**
   * @throws TypeError if an option has a wrong type or value, or a name that is almost an option's
   * @throws RangeError if `maxPayload` or `maxFragments` is a number that is not acceptable
   */
  constructor(options: DecoderOptions<Context, Text, Rsv1> & RequiredDecoderOptions<Context, Text>);
  /** The option `context`. It may be replaced at any time. */
  context: Context;
  /** The option `role`. */
  readonly role: Role;
  /**
   * Whether the decoder has ended: after `stop`, a Close frame or an error. It then ignores what is
   * written.
   */
  readonly closed: boolean;
  /** Whether the decoder is paused: between `pause` and `resume`. */
  readonly paused: boolean;
  /** Whether chunks are the caller's again when `write` returns: the option `borrowed`. */
  readonly borrowed: boolean;
  /**
   * Whether a message is inflated in zlib's thread pool. What follows waits, until `onInflated`.
   */
  readonly inflating: boolean;
  /**
   * While `onMessage` is called for a message of several frames, and the option `fragmentLengths` is
   * set: the length of each frame's payload. Undefined otherwise.
   */
  readonly fragmentLengths: number[] | undefined;
  /**
   * Decodes the next chunk of the connection, and calls the handlers for the frames that it
   * completes.
   *
   * The decoder owns the chunk from then on: it unmasks it in place and delivers views of it. With
   * the option `borrowed` it owns the chunk until `write` returns.
   *
   * @param chunk any number of bytes; frames may begin and end anywhere in it
   * @returns false if the decoder is paused: stop reading from the connection until you resume it, or
   *   if a message is inflated in the thread pool: until `onInflated`. The decoder keeps what is
   *   written meanwhile. True otherwise
   * @throws TypeError if `chunk` is not a Buffer or Uint8Array
   * @throws {@link FrameError} if the peer has broken the protocol or exceeded a limit, and there
   *   is no `onError`
   * @throws whatever a handler throws
   */
  write(chunk: Uint8Array): boolean;
  /**
   * Stops delivery at once, even in the middle of a chunk, until `resume`. Called in `onFrame`, it
   * also holds back what that frame carries. Use it while an asynchronous extension such as
   * permessage-deflate works on a message; later messages wait.
   */
  pause(): void;
  /**
   * Ends a pause and delivers what has been held back, by `pause` or by a handler that threw.
   *
   * @throws {@link FrameError} if the peer has broken the protocol or exceeded a limit, and there
   *   is no `onError`
   * @throws whatever a handler throws
   */
  resume(): void;
  /**
   * Ends the decoder: it ignores the rest of the current chunk and all that follows, and releases
   * its memory.
   */
  stop(): void;
}

/** Bytes: a Buffer, a typed array, a DataView, an ArrayBuffer or a SharedArrayBuffer. */
export type Bytes = ArrayBufferView | ArrayBuffer | SharedArrayBuffer;

/**
 * What an {@link Encoder} writes to: a `stream.Writable` such as a `net.Socket`, or an object with
 * the same methods.
 */
export interface FrameSink {
  /** False once the stream has ended; framemask then writes nothing more to it. */
  readonly writable?: boolean | undefined;
  /** The number of bytes that the stream has not handed over yet. */
  readonly writableLength?: number | undefined;
  /**
   * Writes bytes. Their memory belongs to this connection, but for prepared messages, which all
   * connections send from the same memory, and payloads that are sent from where they lie. Later
   * bytes of the connection may lie in the same memory: copy it instead of transferring it.
   *
   * @param callback only where `flush` was given one: to be called when the bytes are written
   * @returns false if the caller should wait for the event 'drain'
   */
  write(chunk: Uint8Array, callback?: (error?: Error | null) => void): boolean;
  /** Collects the writes that follow, until `uncork`. */
  cork?(): void;
  /** Writes what has collected since `cork`. */
  uncork?(): void;
}

/**
 * The options of an {@link Encoder}.
 *
 * Options of other names are ignored, so that an object with options may be shared. A name that
 * differs from an option's by its case or by one letter (`recyle`) is refused.
 *
 * @typeParam End the option `role`
 */
export interface EncoderOptions<End extends Role = Role> {
  /**
   * The end of the connection that the encoder is at. A client's encoder masks every frame, a
   * server's none.
   */
  role: End;
  /**
   * The stream to which the encoder writes by itself, at the end of each turn of the event loop in
   * which frames have collected. Without it nothing is sent until `flush`.
   *
   * @default null
   */
  writable?: FrameSink | null | undefined;
  /**
   * Set if the writable no longer reads written buffers once its `writableLength` is 0; they are
   * then reused. That holds for `net.Socket` and `tls.TLSSocket`, but not for a
   * `stream.PassThrough`, for example.
   *
   * @default false
   */
  recycle?: boolean | undefined;
  /**
   * What both ends have agreed on: messages from its `threshold` on are then compressed, but for those
   * that do not shrink, and fragments.
   *
   * A message of `threadPoolFrom` bytes or more is compressed in zlib's thread pool. Later messages and
   * a Close frame wait for it, Ping and Pong frames do not.
   *
   * @default null
   */
  deflate?: DeflateAgreement | null | undefined;
  /**
   * With the option `deflate`: called each time a message that was in the thread pool, and those that
   * waited for it, have been added. Flush, unless there is a `writable`.
   */
  onDeflated?: ((this: Encoder<End>) => void) | undefined;
  /**
   * The name of the connection in trace records. Give both ends the same name, and a frame can be
   * found in the logs of both: see {@link TraceOrigin}. The default is a version 4 UUID, created
   * with the first trace record.
   */
  connectionId?: string | undefined;
  /**
   * What trace records say of the connection, instead of `connectionId`. Give the same object to the
   * Decoder and the Encoder of one end.
   *
   * @default null
   */
  trace?: TracedConnection | null | undefined;
}

/** Options of {@link Encoder.continuation}. */
export interface FragmentOptions {
  /**
   * Whether this frame is the last one of its message (RFC 6455 section 5.4).
   *
   * @default true
   */
  fin?: boolean | undefined;
  /**
   * Whether you give the data away. A client then masks payloads of 16 KiB and more in place
   * instead of copying them.
   *
   * @default false
   */
  owned?: boolean | undefined;
}

/** Options of {@link Encoder.text} and {@link Encoder.binary}. */
export interface MessageOptions extends FragmentOptions {
  /**
   * Whether to set RSV1 on the first frame of the message, for an extension that has been
   * negotiated.
   *
   * @default false
   */
  rsv1?: boolean | undefined;
  /**
   * With the option `deflate` of the Encoder: `false` does not compress the message, for example
   * because it has a secret in it; `true` compresses it whatever its size. By default the `threshold`
   * decides.
   */
  compress?: boolean | undefined;
}

/**
 * Encodes WebSocket frames (RFC 6455): takes messages and writes bytes.
 *
 * Frames collect until `flush`, which sends them in one write; until `take`, which returns them;
 * or, with the option `writable`, until the end of the turn of the event loop.
 *
 * Methods that add a frame return true, or false once a Close frame has been added: no frame may
 * follow it (RFC 6455 section 5.5.1). They never change your data unless it is `owned`. A server
 * does not copy payloads of 16 KiB and more: do not change such data before it has been sent.
 *
 * @typeParam End the option `role`, inferred. Only an `Encoder<'server'>` sends prepared messages
 */
export class Encoder<End extends Role = Role> {
  /**
   * @throws TypeError if an option has a wrong type or value, or a name that is almost an option's
   */
  constructor(options: EncoderOptions<End>);
  /** The option `role`. */
  readonly role: End;
  /** Whether a Close frame has been added. No frame is added from then on. */
  readonly closed: boolean;
  /**
   * The number of bytes that have collected since the last `flush` or `take`, and of the messages that
   * are being compressed or wait for it.
   */
  readonly pending: number;
  /**
   * Adds a text message, or its first fragment with `fin: false`.
   *
   * @param data a string, or bytes that are valid UTF-8 (which is not checked)
   * @returns whether the frame was added: false after `close`
   * @throws TypeError if `data` is neither a string nor bytes
   * @throws Error if the fragmented message before it has not ended
   */
  text(data: string | Bytes, options?: MessageOptions): boolean;
  /**
   * Adds a binary message, or its first fragment with `fin: false`.
   *
   * @param data bytes
   * @returns whether the frame was added: false after `close`
   * @throws TypeError if `data` is not bytes
   * @throws Error if the fragmented message before it has not ended
   */
  binary(data: Bytes, options?: MessageOptions): boolean;
  /**
   * Adds a further fragment of a message: the last one, unless `fin` is false (RFC 6455 section
   * 5.4).
   *
   * @param data a string or bytes; the fragments of a text message are UTF-8 together (which is not
   *   checked)
   * @returns whether the frame was added: false after `close`
   * @throws TypeError if `data` is neither a string nor bytes
   * @throws Error if there is no fragmented message to continue
   */
  continuation(data: string | Bytes, options?: FragmentOptions): boolean;
  /**
   * Adds a Ping frame (RFC 6455 section 5.5.2). It may stand between the fragments of a message.
   *
   * @param data a string or bytes, up to 125 bytes. Default: empty
   * @returns whether the frame was added: false after `close`
   * @throws TypeError if `data` is neither a string nor bytes
   * @throws RangeError if `data` is longer than 125 bytes
   */
  ping(data?: string | Bytes): boolean;
  /**
   * Adds a Pong frame (RFC 6455 section 5.5.3). It may stand between the fragments of a message.
   *
   * @param data a string or bytes, up to 125 bytes; the payload of the Ping frame that it answers.
   *   Default: empty
   * @returns whether the frame was added: false after `close`
   * @throws TypeError if `data` is neither a string nor bytes
   * @throws RangeError if `data` is longer than 125 bytes
   */
  pong(data?: string | Bytes): boolean;
  /**
   * Adds a Close frame (RFC 6455 section 5.5.1). No frame is added after it.
   *
   * @param code the close code (RFC 6455 section 7.4): 1000 to 1003, 1007 to 1014 or 3000 to 4999.
   *   Default: none
   * @param reason a string, or bytes that are valid UTF-8, up to 123 bytes; only with a code.
   *   Default: empty
   * @returns whether the frame was added: false after an earlier `close`
   * @throws TypeError if `code` is not a number, if there is a reason without a code, or if
   *   `reason` is neither a string nor bytes
   * @throws RangeError if `code` may not be sent, or if `reason` is longer than 123 bytes
   */
  close(code?: number, reason?: string | Bytes): boolean;
  /**
   * Adds a message that {@link prepare} has framed. Its bytes are not copied if they are 1 KiB or
   * more, or if nothing else has collected. For servers only: a client masks each frame with a key
   * of its own (RFC 6455 section 5.3).
   *
   * @returns whether the frame was added: false after `close`
   * @throws TypeError if `message` is not from `prepare`
   * @throws Error if the role is `'client'`, if the fragmented message before it has not ended, or
   *   if whoever wrote the message before has transferred its memory away
   */
  prepared(this: Encoder<'server'>, message: PreparedMessage): boolean;
  /**
   * Adds a frame that has been framed already: by a peer, for a proxy that passes it on, or by
   * another library. Its bytes are sent as they are. Pieces of 16 KiB or more are not copied, and
   * must stay unchanged until they are sent.
   *
   * @param pieces the bytes of one frame; the first piece has the whole header
   * @param options `anyMask`: whether a client's frame need not be masked, nor a server's unmasked,
   *   against RFC 6455 section 5.1: as a test of peers may want it. Default: false
   * @returns whether the frame was added: false after `close`
   * @throws TypeError if `pieces` is not an array of Buffers or Uint8Arrays
   * @throws RangeError if they are not one whole frame that this role may send
   */
  framed(pieces: Uint8Array[], options?: { anyMask?: boolean | undefined }): boolean;
  /**
   * Sends all that has collected, in one write.
   *
   * @param writable the stream to write to. Default: the option `writable`
   * @param callback called when the stream has taken the bytes, or with the error why it has not
   * @returns false if the stream wants no more: wait for its event 'drain'. Also false if the
   *   stream has ended; what had collected is then dropped. True otherwise, also if there was
   *   nothing to send
   * @throws TypeError if there is no stream to write to
   * @throws whatever the stream's `write` throws
   */
  flush(writable?: FrameSink, callback?: (error?: Error | null) => void): boolean;
  /**
   * Returns all that has collected, for those who write it themselves. The memory belongs to this
   * connection, but for prepared messages, which all connections send from the same memory, and
   * payloads that are sent from where they lie. Later bytes of the connection may lie in the same
   * memory: copy it instead of transferring it.
   */
  take(): Buffer[];
}

/**
 * The mark of a {@link PreparedMessage}. It exists in the types only, so that no other object
 * passes for one.
 */
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
   * (not checked). The default is true for bytes and false for a string.
   */
  binary?: boolean | undefined;
  /**
   * Whether to set RSV1, for an extension that has been negotiated on each of the connections.
   *
   * @default false
   */
  rsv1?: boolean | undefined;
  /**
   * Whether to compress the message for Encoders with the option `deflate` that take no context over:
   * once for all of the same window, level and memory, at the first of them and at once, whatever its
   * size. The others send it as it is.
   *
   * @default false
   */
  deflate?: boolean | undefined;
}

/**
 * Frames a message once, so that any number of servers' encoders can send it without framing or
 * copying it again: for a broadcast to a room, for example.
 *
 * @param data a string for a text message, bytes for a binary one. Bytes are copied
 * @returns the message, for {@link Encoder.prepared}
 * @throws TypeError if `data` is neither a string nor bytes
 */
export function prepare(data: string | Bytes, options?: PrepareOptions): PreparedMessage;

/** Options of {@link acceptDeflate} and {@link offerDeflate}. */
export interface DeflateOptions {
  /**
   * Whether messages may refer to those before them (context takeover, RFC 7692 section 7.1.1). That
   * compresses small messages further, and costs each connection up to 268 KB to compress, released
   * when it has sent nothing for a minute, and 40 KB to inflate. See docs/deflate.md. Where zlib has
   * no handles that can be used synchronously, as on Deno, it is not agreed on.
   *
   * @default false
   */
  contextTakeover?: boolean | undefined;
  /**
   * The base-2 logarithm of the largest window of the server, 9 to 15 (RFC 7692 section 7.1.2.1).
   *
   * @default 15
   */
  serverWindowBits?: number | undefined;
  /**
   * The same for the client (RFC 7692 section 7.1.2.2). A server declines an offer that does not permit
   * to limit it.
   *
   * @default 15
   */
  clientWindowBits?: number | undefined;
  /**
   * The compression level of zlib: 0 to 9, or -1 for its default, 6.
   *
   * @default -1
   */
  level?: number | undefined;
  /**
   * The memory that zlib compresses with: 1 to 9.
   *
   * @default 8
   */
  memLevel?: number | undefined;
  /**
   * Messages of fewer bytes are not compressed.
   *
   * @default 1024
   */
  threshold?: number | undefined;
  /**
   * Messages from this many bytes on are compressed in zlib's thread pool; and inflated there from four
   * times as many on. `Infinity` does all at once, on the event loop: 1 MiB of JSON takes 10 to
   * 50 ms to compress.
   *
   * @default 32768
   */
  threadPoolFrom?: number | undefined;
}

/** The mark of a {@link DeflateAgreement}. It exists in the types only. */
declare const deflateAgreement: unique symbol;

/**
 * What both ends of a connection have agreed on for permessage-deflate: the option `deflate` of a
 * {@link Decoder} and an {@link Encoder}. It has no state, so that several connections may share it.
 */
export interface DeflateAgreement {
  /** @hidden */
  readonly [deflateAgreement]: true;
  /** The value of the answer's header Sec-WebSocket-Extensions. */
  readonly header: string;
}

/** A client's offer of permessage-deflate. Only {@link offerDeflate} makes one. */
export interface DeflateOffer {
  /** The value of the request's header Sec-WebSocket-Extensions. */
  readonly header: string;
  /**
   * Reads the server's answer (RFC 7692 section 7.1).
   *
   * @param header the response's Sec-WebSocket-Extensions, undefined if there is none
   * @returns null if the server has declined
   * @throws {@link FrameError} if it does not answer this offer: fail the connection
   * @throws TypeError if the header is neither a string nor undefined
   */
  accept(header: string | undefined): DeflateAgreement | null;
}

/**
 * Answers a client's offers of permessage-deflate (RFC 7692): accepts the first that is valid and can
 * be kept. No header makes it throw, or takes more than linear time.
 *
 * @param header the request's Sec-WebSocket-Extensions, undefined if there is none
 * @returns null if messages are not compressed: answer without the header then
 * @throws TypeError if an option has a wrong type, or the header is neither a string nor undefined
 * @throws RangeError if an option is a number that is not acceptable
 */
export function acceptDeflate(header: string | undefined, options?: DeflateOptions): DeflateAgreement | null;

/**
 * Makes a client's offer of permessage-deflate (RFC 7692).
 *
 * @throws TypeError if an option has a wrong type
 * @throws RangeError if an option is a number that is not acceptable
 */
export function offerDeflate(options?: DeflateOptions): DeflateOffer;

/**
 * What {@link readInto} reads: a `net.Socket`, a `tls.TLSSocket` or another stream that emits
 * 'data'.
 */
export interface ReadableSocket {
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
}

/**
 * Writes all that a socket reads to a {@link Decoder}, as a listener of its event 'data' would.
 *
 * If the decoder has the option `borrowed`, the sockets of a thread are read into one piece of
 * memory of 64 KiB, where Node.js would allocate as much for each read. That needs parts of
 * `net.Socket` that are not documented: where they are missing (Bun, Deno, a stream that is not a
 * `net.Socket` or `tls.TLSSocket`), where the socket's methods have been replaced, and where the
 * environment variable `FRAMEMASK_READS` is `events`, the socket reads as ever. While other
 * listeners of 'data' or an encoding are set, chunks are copied to the socket's stream, which emits
 * them. Events, `pause`, `resume` and `setTimeout` of the socket work in both cases.
 *
 * @param socket a socket that is connected, such as one that an HTTP server has upgraded
 * @param decoder for what the socket reads
 * @param afterRead called after each `decoder.write` with what it returned: false if the decoder is
 *   paused. `this` is the socket. It is not called if `write` throws
 * @returns whether the socket reads into the memory of the thread
 * @throws TypeError if an argument is not acceptable
 */
export function readInto<Socket extends ReadableSocket>(
  socket: Socket,
  decoder: Pick<Decoder, 'write' | 'borrowed'>,
  afterRead: (this: Socket, more: boolean) => void
): boolean;

/**
 * What the peer did. The close code and the section of RFC 6455 for each:
 *
 * | `error.code` | cause | `closeCode` | section |
 * |---|---|--:|---|
 * | `FRAMEMASK_ERR_RESERVED_BITS` | a reserved bit is set that no extension has defined | 1002 | 5.2 |
 * | `FRAMEMASK_ERR_OPCODE` | the opcode is reserved | 1002 | 5.2 |
 * | `FRAMEMASK_ERR_CONTROL_FRAGMENTED` | a control frame is a fragment | 1002 | 5.5 |
 * | `FRAMEMASK_ERR_CONTROL_LENGTH` | a control frame has a payload of more than 125 bytes | 1002 | 5.5 |
 * | `FRAMEMASK_ERR_LENGTH` | the top bit of a 64-bit length is set | 1002 | 5.2 |
 * | `FRAMEMASK_ERR_LENGTH_NOT_MINIMAL` | the length is written in more bytes than it needs | 1002 | 5.2 |
 * | `FRAMEMASK_ERR_MASK_MISSING` | a client sent an unmasked frame | 1002 | 5.1 |
 * | `FRAMEMASK_ERR_MASK_UNWANTED` | a server sent a masked frame | 1002 | 5.1 |
 * | `FRAMEMASK_ERR_CONTINUATION` | a continuation frame continues no message | 1002 | 5.4 |
 * | `FRAMEMASK_ERR_INTERLEAVED` | a message begins before the fragmented one before it has ended | 1002 | 5.4 |
 * | `FRAMEMASK_ERR_MESSAGE_TOO_BIG` | a message is longer than `maxPayload` allows, or than a string can be | 1009 | 10.4 |
 * | `FRAMEMASK_ERR_TOO_MANY_FRAGMENTS` | a message has more frames than `maxFragments` allows | 1008 | 10.4 |
 * | `FRAMEMASK_ERR_UTF8` | a text message or the reason of a Close frame is not UTF-8 | 1007 | 8.1 |
 * | `FRAMEMASK_ERR_CLOSE_LENGTH` | a Close frame has a payload of one byte | 1002 | 5.5.1 |
 * | `FRAMEMASK_ERR_CLOSE_CODE` | a Close frame has a code that may not be sent | 1002 | 7.4 |
 * | `FRAMEMASK_ERR_DEFLATE` | a compressed message is not DEFLATE (RFC 7692 section 7.2.2) | 1007 | |
 * | `FRAMEMASK_ERR_EXTENSIONS` | a server's answer is not one to the client's offer (RFC 7692 section 7.1) | 1002 | |
 * | `FRAMEMASK_ERR_DETACHED` | not the peer: a handler transferred the memory of frames that were not delivered yet | 1011 | |
 */
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
  | 'FRAMEMASK_ERR_DETACHED';

/**
 * The peer has broken the protocol or exceeded a limit, or a handler has transferred memory of frames
 * that were not delivered yet (`FRAMEMASK_ERR_DETACHED`). Decoders make these errors; see
 * {@link DecoderHandlers.onError}.
 */
export class FrameError extends Error {
  private constructor();
  readonly name: 'FrameError';
  /** What the peer did. */
  readonly code: FrameErrorCode;
  /**
   * The code to close the connection with (RFC 6455 section 7.4.1): 1002 for a broken protocol,
   * 1007 for text that is not UTF-8, 1008 for too many fragments, 1009 for a message that is too
   * big, 1011 for an error of this end.
   */
  readonly closeCode: 1002 | 1007 | 1008 | 1009 | 1011;
  /**
   * The first byte of the frame whose header was refused (RFC 6455 section 5.2), null if the error
   * is about a payload.
   */
  readonly firstByte: number | null;
  /**
   * The payload length that the refused header announces. 126 or 127 for a control frame that
   * announces a longer one; null if the error is about a payload, or the header was refused before
   * its length.
   */
  readonly length: number | null;
  /** The code of a Close frame that has a code that may not be sent, null with all other errors. */
  readonly receivedCode: number | null;
}

/**
 * What all trace records say: which codec published them, and about which frame.
 *
 * Each end of a connection publishes records of its own. Both ends' records of a frame have the
 * same `from` and `sequence`, and the same `connection` if both codecs were given the same
 * `connectionId`: these three find a frame in the logs of both ends. `id`, `direction` and `role`
 * belong to the one record.
 */
export interface TraceOrigin {
  /** The id of this record: a version 7 UUID. The ids of one thread ascend. */
  id: string;
  /** The `connectionId` of the codec, or the `id` of its `trace`. */
  connection: string;
  /** The `key` of the codec's `trace`, null without one. */
  key: string | null;
  /** The end that sent the frame. */
  from: Role;
  /**
   * The position of the frame among all that this end has sent on the connection; the first is 1.
   */
  sequence: number;
  /** Whether an Encoder publishes the record (`'sent'`), or a Decoder (`'received'`). */
  direction: 'received' | 'sent';
  /** The end that publishes the record. */
  role: Role;
}

/** An Encoder has added a frame, or a Decoder has received one completely. */
export interface FrameRecord extends TraceOrigin {
  /**
   * The opcode (RFC 6455 section 5.2): 0 continuation, 1 text, 2 binary, 8 Close, 9 Ping, 10 Pong.
   */
  opcode: number;
  /** Whether this is the last frame of its message. */
  fin: boolean;
  /** The reserved bits: RSV1 is 4, RSV2 is 2, RSV3 is 1. */
  rsv: number;
  /** Whether the frame is masked. Frames from clients are. */
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
 * What is published on the `node:diagnostics_channel` named `framemask:frame`: a frame, or the
 * error that ended a Decoder. `error` tells them apart.
 *
 * Without subscribers, tracing costs one check per chunk that is decoded and per frame that is
 * encoded.
 */
export type FrameTrace = FrameRecord | FrameErrorRecord;

/**
 * What is published on the `node:diagnostics_channel` named `framemask:message`: an Encoder has
 * added a message, or a Decoder has received one completely. `sequence` is that of its last frame.
 */
export interface MessageTrace extends TraceOrigin {
  /** Whether the message is binary. */
  binary: boolean;
  /** The reserved bits of its first frame: RSV1 is 4, RSV2 is 2, RSV3 is 1. */
  rsv: number;
  /** The length of the message in bytes, over all its fragments. */
  length: number;
  /** The number of frames that it was sent in. */
  fragments: number;
}

/** Options of {@link frameId}. */
export interface FrameIdOptions {
  /**
   * The version of the UUID (RFC 9562): 4 is random; 7 begins with the time in milliseconds and
   * sorts by it.
   *
   * @default 4
   */
  version?: 4 | 7 | undefined;
}

/**
 * Makes an id for a frame, a message or a connection: a UUID of 36 lower-case characters (RFC
 * 9562).
 *
 * Version 7 ids of one thread sort as text in the order in which they were made: each is greater
 * than the one before it, even within a millisecond and after the clock has been set back (RFC 9562
 * section 6.2, method 1). They reveal when they were made.
 *
 * The random bits come from `crypto.randomFillSync()`, 4 KiB at a time, and are wiped once they are
 * used. Each process and each worker thread has random bits of its own.
 *
 * @throws TypeError if `options` is not an object, or if `options.version` is not a number
 * @throws RangeError if `options.version` is a number other than 4 and 7
 */
export function frameId(options?: FrameIdOptions): string;

/**
 * Writes any 16 bytes as a UUID. Their version and variant are not checked.
 *
 * @param bytes at least 16 bytes
 * @param offset the index of the id's first byte. Default: 0
 * @returns 36 lower-case characters
 * @throws TypeError if `bytes` is not a Uint8Array, or if `offset` is not a number
 * @throws RangeError if there are no 16 bytes at `offset`
 */
export function formatFrameId(bytes: Uint8Array, offset?: number): string;

/**
 * Reads the 16 bytes of a UUID into a new Buffer, which does not share Node's pool.
 *
 * Accepts upper-case digits, but no braces, no `urn:uuid:` and no white space. Version and variant
 * are not checked.
 *
 * @param string 36 characters
 * @throws TypeError if `string` is not a string
 * @throws RangeError if `string` is not a UUID
 */
export function parseFrameId(string: string): Buffer;

/**
 * Reads the 16 bytes of a UUID into `target`, which does not change if an argument is refused.
 *
 * @param string 36 characters
 * @param target the bytes to write to
 * @param offset the index in `target` of the first byte to write. Default: 0
 * @returns `target`
 * @throws TypeError if `string` is not a string, `target` is not a Uint8Array, or `offset` is not a
 *   number
 * @throws RangeError if `string` is not a UUID, or if `target` has no 16 bytes at `offset`
 */
export function parseFrameId<T extends Uint8Array>(string: string, target: T, offset?: number): T;

// biome-ignore lint/complexity/noUselessEmptyExport: without it every declaration of this file is exported
export {};
