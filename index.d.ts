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
