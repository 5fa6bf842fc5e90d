/// <reference types="node" />

/**
 * Masks or unmasks (the two are one operation, RFC 6455 section 5.3) the first `length` bytes of `source` with `key` and
 * writes them to `output` from `offset` on. `source` is left as it is, unless `output` is of the same memory; the two may
 * overlap in any way, and the result is as if `source` had been copied first.
 *
 * A payload can be done in pieces: give each the phase that the one before it returned.
 *
 * @param source the bytes to mask; a Buffer, over any kind of memory, at any alignment
 * @param key the masking key, 4 bytes
 * @param output where the result goes
 * @param offset the index in `output` of the first byte written
 * @param length how many bytes
 * @param phase which byte of the key, 0 to 3, the first byte falls on. Default: 0
 * @returns the phase for the byte after the last: (phase + length) modulo 4
 * @throws {TypeError} if an argument is missing or of the wrong type, or its memory is detached
 * @throws {RangeError} if the key is not 4 bytes, `phase` is not 0 to 3, or the range leaves `source` or `output`.
 *   Nothing has been written then
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
 * Masks or unmasks the whole of `buffer` in place (RFC 6455 section 5.3).
 *
 * A payload can be done in pieces: give each the phase that the one before it returned.
 *
 * @param buffer the bytes to unmask; a Buffer, over any kind of memory, at any alignment
 * @param key the masking key, 4 bytes
 * @param phase which byte of the key, 0 to 3, the first byte falls on. Default: 0
 * @returns the phase for the byte after the last: (phase + buffer.length) modulo 4
 * @throws {TypeError} if an argument is missing or of the wrong type, or its memory is detached
 * @throws {RangeError} if the key is not 4 bytes or `phase` is not 0 to 3. Nothing has been written then
 */
export function unmask(buffer: Uint8Array, key: Uint8Array, phase?: number): number;

/** What does the work: the instructions that the addon uses, or JavaScript. */
export type Kernel = 'avx512' | 'avx2' | 'sse2' | 'neon' | 'scalar' | 'js';

/**
 * The kernel in use: the best that this processor and its operating system run, or the one that the environment variable
 * FRAMEMASK_KERNEL named when framemask was loaded.
 */
export const kernel: Kernel;

/** Why the addon could not be loaded, so that JavaScript does its work; null if it was, or was not to be. */
export const nativeError: Error | null;

/** Which end of the connection a codec is: a server's Decoder expects masked frames, a client's Encoder sends them. */
export type Role = 'server' | 'client';

/** Handlers of a {@link Decoder}. `this` is the decoder; `this.context` is whatever was given as `context`. */
export interface DecoderHandlers<Context = unknown> {
  /**
   * A message is complete. A Buffer is a view of the chunk that the message came in, if it came in one: a message that is
   * kept for long keeps that chunk in memory. A short string may keep up to 1 KiB of its neighbours.
   *
   * @param data a string for text, unless `text` is `'buffer'` or `rsv1` is set; a Buffer for all else
   * @param isBinary whether it was sent as binary
   * @param rsv1 whether its first frame had RSV1 set, the mark of an extension such as permessage-deflate. Text is then
   *   what the extension has made of it: a Buffer that has not been checked
   */
  onMessage?(this: Decoder<Context>, data: string | Buffer, isBinary: boolean, rsv1: boolean): void;
  /** A Ping frame. Answer with {@link Encoder.pong} and the same payload. */
  onPing?(this: Decoder<Context>, payload: Buffer): void;
  /** A Pong frame. */
  onPong?(this: Decoder<Context>, payload: Buffer): void;
  /** A Close frame: the last thing that is decoded. `code` is 1005 if there is none in it. */
  onClose?(this: Decoder<Context>, code: number, reason: string): void;
  /**
   * The peer broke the protocol or a limit: the last thing that is decoded. Send a Close frame with `error.closeCode` and
   * end the connection. Without this handler `write` throws the error.
   */
  onError?(this: Decoder<Context>, error: FrameError): void;
  /**
   * A frame of any kind is complete, before what it carries is judged or delivered. No object is made for it.
   *
   * @param first its first byte: FIN 0x80, RSV1 to RSV3 0x70, opcode 0x0f
   * @param bytes what holds its payload, unmasked, from `start` to `end`. Copy what you keep
   */
  onFrame?(this: Decoder<Context>, first: number, bytes: Buffer, start: number, end: number): void;
}

export interface DecoderOptions<Context = unknown> extends DecoderHandlers<Context> {
  role: Role;
  /** The most bytes that a message may have, over all its fragments; 0 allows empty ones only. Default: 104857600. */
  maxPayload?: number;
  /** The most frames that a message may have, from 1 on. Default: 131072. */
  maxFragments?: number;
  /** What text is delivered as; `'buffer'` gives its bytes, checked to be UTF-8. Default: `'string'`. */
  text?: 'string' | 'buffer';
  /** Whether an extension has been agreed on that uses RSV1 of a message's first frame. Default: false. */
  rsv1?: boolean;
  /** Names the connection in what is traced. Default: a UUID, made when somebody asks. */
  connectionId?: string;
  /** For the handlers, as `this.context`. */
  context?: Context;
}

/** RFC 6455 from bytes to messages. */
export class Decoder<Context = unknown> {
  /**
   * @throws {TypeError | RangeError} if an option is not acceptable
   */
  constructor(options: DecoderOptions<Context>);
  context: Context;
  /** Whether a Close frame or an error came, or `stop` was called. All that follows is ignored. */
  readonly closed: boolean;
  /** Whether `pause` was called, and `resume` has not been since. */
  readonly paused: boolean;
  /**
   * Decodes what came from the connection, and calls the handlers. The decoder takes the chunk's bytes over: it unmasks
   * them in place. A handler that throws makes this throw; what follows its frame is delivered by the next `write` or
   * `resume`.
   *
   * @returns false while the decoder is paused: don't read the connection then. What is written all the same is kept
   * @throws {TypeError} if the chunk is no Buffer or Uint8Array
   * @throws {FrameError} if the peer broke the protocol and there is no `onError`
   */
  write(chunk: Uint8Array): boolean;
  /** Has nothing more delivered until `resume`, not even what is left of the chunk at hand. */
  pause(): void;
  /** Delivers what `pause`, or a handler that threw, has held up, and goes on as before. */
  resume(): void;
  /** Ignores all that follows, from the chunk at hand on, and lets go of the memory. */
  stop(): void;
}

/** Bytes of any kind. */
export type Bytes = ArrayBufferView | ArrayBuffer | SharedArrayBuffer;

/** Where an {@link Encoder} writes to: a `stream.Writable`, such as a `net.Socket`. */
export interface FrameSink {
  readonly writable?: boolean;
  readonly writableLength?: number;
  write(chunk: Uint8Array): boolean;
  cork?(): void;
  uncork?(): void;
}

export interface EncoderOptions {
  role: Role;
  /** Where to send, at the end of each turn of the event loop, all that has collected in it. Default: nowhere by itself. */
  writable?: FrameSink | null;
  /**
   * Says that the writable has used the bytes once its `writableLength` is 0, as `net.Socket` and `tls.TLSSocket` have, so
   * that their memory can serve again. A `stream.PassThrough`, say, has not. Default: false.
   */
  recycle?: boolean;
  /** Names the connection in what is traced. Default: a UUID, made when somebody asks. */
  connectionId?: string;
}

export interface FragmentOptions {
  /** Whether this is the last frame of its message. Default: true. */
  fin?: boolean;
  /** Whether the data is given away: a client then masks 16 KiB and more in place, instead of a copy. Default: false. */
  owned?: boolean;
}

export interface MessageOptions extends FragmentOptions {
  /** Sets RSV1 on the message's first frame, for an extension. Default: false. */
  rsv1?: boolean;
}

/**
 * RFC 6455 from messages to bytes. Frames collect until `flush`, which sends them in one write.
 *
 * The methods that take a frame return false from a Close frame on, for nothing may follow it. A server does not copy
 * payloads of 16 KiB and more: don't change such data before it has been sent.
 */
export class Encoder {
  /**
   * @throws {TypeError} if an option is not acceptable
   */
  constructor(options: EncoderOptions);
  /** Whether a Close frame has been taken. */
  readonly closed: boolean;
  /** How many bytes have collected since the last flush. */
  readonly pending: number;
  /** A text message: a string, or bytes that are UTF-8 (which is not checked). With `fin: false` its first fragment. */
  text(data: string | Bytes, options?: MessageOptions): boolean;
  /** A binary message. With `fin: false` its first fragment. */
  binary(data: Bytes, options?: MessageOptions): boolean;
  /** A further fragment of a message, the last one unless `fin: false`. */
  continuation(data: string | Bytes, options?: FragmentOptions): boolean;
  /** A Ping frame with up to 125 bytes. */
  ping(data?: string | Bytes): boolean;
  /** A Pong frame with up to 125 bytes. */
  pong(data?: string | Bytes): boolean;
  /**
   * A Close frame.
   *
   * @param code 1000 to 1003, 1007 to 1014, 3000 to 4999; none by default
   * @param reason up to 123 bytes
   * @throws {TypeError | RangeError} if the code may not be sent, or the reason is too long
   */
  close(code?: number, reason?: string | Bytes): boolean;
  /** A message that {@link prepare} has framed. For the server role. */
  prepared(message: PreparedMessage): boolean;
  /**
   * Writes all that has collected, in one write.
   *
   * @param writable the connection; the option `writable` by default
   * @returns whether the connection wants more: if not, wait for its event 'drain'. True if there was nothing to write.
   *   False if the connection has ended: what had collected is dropped
   */
  flush(writable?: FrameSink): boolean;
  /** Hands out all that has collected, for those who write it themselves. */
  take(): Buffer[];
}

/** A message framed once, for any number of connections. */
export interface PreparedMessage {
  /** Header and payload. */
  readonly frame: Buffer;
  /** Bytes of the payload. */
  readonly length: number;
}

/**
 * Frames a message once, to be sent by any number of server-role encoders without being framed or copied again: what a
 * broadcast to a room needs.
 *
 * @param data a string for a text message, bytes for a binary one
 * @param options `binary: false` says that bytes are the UTF-8 of a text message
 */
export function prepare(data: string | Bytes, options?: { binary?: boolean; rsv1?: boolean }): PreparedMessage;

/** What a peer did wrong, or sent too much of. */
export class FrameError extends Error {
  private constructor();
  readonly name: 'FrameError';
  readonly code:
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
    | 'FRAMEMASK_ERR_CLOSE_CODE';
  /** What to close the connection with: 1002, 1007, 1008 or 1009. */
  readonly closeCode: 1002 | 1007 | 1008 | 1009;
}

/** What is published on the `node:diagnostics_channel` named `framemask:frame`: a frame, or an error that ended a decoder. */
export interface FrameTrace {
  /** A version 7 UUID, ascending in time. */
  id: string;
  /** The codec's `connectionId`. */
  connection: string;
  /** The how-many-th frame of its direction it is: the first is 1. With the connection it names the frame on both ends. */
  sequence: number;
  direction: 'received' | 'sent';
  /** The role of the codec that tells. */
  role: Role;
  /** Null, like the five after it, in the record of an error. */
  opcode: number | null;
  fin: boolean | null;
  /** RSV1 is 4, RSV2 is 2, RSV3 is 1. */
  rsv: number | null;
  masked: boolean | null;
  /** Bytes of the payload. */
  length: number | null;
  error: FrameError | null;
}

/** What is published on the `node:diagnostics_channel` named `framemask:message`. */
export interface MessageTrace {
  id: string;
  connection: string;
  /** That of its last frame. */
  sequence: number;
  direction: 'received' | 'sent';
  role: Role;
  binary: boolean;
  rsv: number;
  /** Bytes of the payload, over all fragments. */
  length: number;
  fragments: number;
}

/** What `frameId` is to make. */
export interface FrameIdOptions {
  /**
   * The version of RFC 9562: 4 is random throughout; 7 begins with the time in milliseconds and sorts by it.
   *
   * @default 4
   */
  version?: 4 | 7;
}

/**
 * Makes an id for a frame, a message or a connection: a UUID of 36 lower-case characters (RFC 9562).
 *
 * Version 7 ids sort, as text, in the order in which this thread made them: each is greater than the one before, within
 * a millisecond and after the clock has stepped back, too (RFC 9562 section 6.2, method 1). They tell when they were made.
 *
 * The random bits come from `crypto.randomFillSync()`, 4 KiB at a time, and are wiped when they are used. Each process
 * and each worker thread has a batch of its own.
 *
 * @throws {TypeError} if `options` is not an object, or its `version` not a number
 * @throws {RangeError} if `options.version` is a number but 4 or 7
 */
export function frameId(options?: FrameIdOptions): string;

/**
 * Writes 16 bytes, whatever they are, as a UUID. Their version and variant are not looked at.
 *
 * @param bytes 16 bytes or more; a Buffer is one
 * @param offset where the id begins, in bytes; 0 if left out
 * @returns 36 lower-case characters
 * @throws {TypeError} if `bytes` is not a Uint8Array, or `offset` not a number
 * @throws {RangeError} if there are no 16 bytes at `offset`
 */
export function formatFrameId(bytes: Uint8Array, offset?: number): string;

/**
 * Reads the 16 bytes of a UUID into a new Buffer, which has memory of its own (not a piece of Node's pool).
 *
 * Upper-case digits are accepted; braces, `urn:uuid:` and white space are not. Version and variant are not looked at.
 *
 * @param string 36 characters
 * @throws {TypeError} if `string` is not a string
 * @throws {RangeError} if `string` is not a UUID
 */
export function parseFrameId(string: string): Buffer;

/**
 * Reads the 16 bytes of a UUID into `target`, which is left as it was if anything is refused.
 *
 * @param string 36 characters
 * @param target where to write the bytes
 * @param offset where in `target` they begin, in bytes; 0 if left out
 * @returns `target`
 * @throws {TypeError} if `string` is not a string, `target` not a Uint8Array or `offset` not a number
 * @throws {RangeError} if `string` is not a UUID, or there is no room for 16 bytes at `offset`
 */
export function parseFrameId<T extends Uint8Array>(string: string, target: T, offset?: number): T;
