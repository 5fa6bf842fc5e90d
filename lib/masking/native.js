'use strict';

const { findAddon } = require('./find-addon');

/**
 * The functions of one kernel, from src/addon.cc. They take and return numbers in `params`: an
 * argument costs about 6 ns, a param less than 1 ns.
 *
 * @typedef {object} Native
 * @property {Float64Array} params by the indexes in `Param`
 * @property {(source: Uint8Array, output: Uint8Array) => void} mask takes KEY, START, OFFSET and
 *   LENGTH, sets NON_ASCII
 * @property {(buffer: Uint8Array) => void} unmask takes KEY, START and LENGTH, sets NON_ASCII
 * @property {(buffer: Uint8Array) => string | undefined} unmaskText takes the same as unmask;
 *   returns the unmasked bytes as a string if all are ASCII
 * @property {(chunk: Uint8Array, table: Uint32Array) => void} scan takes START and MODE, sets COUNT
 */

/** The index of each param. src/addon.cc has the same list. */
const Param = { KEY: 0, START: 1, OFFSET: 2, LENGTH: 3, MODE: 4, COUNT: 5, NON_ASCII: 6 };

/**
 * Loads the addon and chooses the kernel: the one that FRAMEMASK_KERNEL names, or else the best one
 * that the processor and the operating system support. Without an addon `kernel` is 'js', `native`
 * is null and `nativeError` the reason (null if 'js' was asked for).
 *
 * @throws {RangeError} if FRAMEMASK_KERNEL names a kernel that this machine can't run
 * @throws {Error} the reason why the addon does not load, if FRAMEMASK_REQUIRE_NATIVE is 1
 */
function load(environment, loadAddon = findAddon) {
  const wanted = readVariable(environment, 'FRAMEMASK_KERNEL');
  if (wanted === 'js') return { kernel: 'js', native: null, nativeError: null };

  let kernel = 'js';
  let kernels = [];
  let native = null;
  let nativeError = null;
  try {
    const addon = loadAddon();
    // A file of that name without our exports, or of another version, counts as a failed load.
    const names = Array.from(addon.kernels);
    const chosen = names.includes(wanted) ? wanted : names[names.length - 1];
    native = bind(addon, chosen);
    kernel = chosen;
    kernels = names;
  } catch (error) {
    if (readVariable(environment, 'FRAMEMASK_REQUIRE_NATIVE') === '1') throw error;
    // JSON.stringify shows nothing else of an Error.
    nativeError = Object.defineProperty(error, 'toJSON', { value: errorToJson });
  }

  if (wanted && !kernels.includes(wanted)) throw unknownKernel(wanted, kernels, nativeError);
  return { kernel, native, nativeError };
}

function errorToJson() {
  const { name, message, code } = this;
  return { name, message, code };
}

/**
 * Reads an environment variable. One that may not be read counts as unset: Deno throws NotCapable
 * for it without --allow-env, and a program that never set it must not fail.
 */
function readVariable(environment, name) {
  try {
    return environment[name];
  } catch {
    return undefined;
  }
}

/**
 * Params lie in shared memory: the addon keeps a pointer to them, and an ArrayBuffer could be
 * transferred away from under it. Electron hides the constructor from its pages; an empty
 * WebAssembly memory has it.
 */
function createParams() {
  const SharedMemory =
    globalThis.SharedArrayBuffer ?? new WebAssembly.Memory({ initial: 0, maximum: 0, shared: true }).buffer.constructor;
  return new Float64Array(new SharedMemory(Object.keys(Param).length * Float64Array.BYTES_PER_ELEMENT));
}

function bind(addon, kernel) {
  const params = createParams();
  const functions = addon.bind(kernel, params);
  // Up to 4.2 the addon made the parameters: it would read none of ours.
  if ('registers' in functions) throw new Error('The addon is of another version of framemask');
  return { params, ...functions };
}

function unknownKernel(wanted, kernels, cause) {
  const error = new RangeError(
    `FRAMEMASK_KERNEL is ${JSON.stringify(wanted)}, but this machine can run: ${['js', ...kernels].join(', ')}`,
    cause === null ? undefined : { cause }
  );
  error.code = 'FRAMEMASK_ERR_KERNEL';
  return error;
}

module.exports = { Param, bind, load };
