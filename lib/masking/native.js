'use strict';

const { findAddon } = require('./find-addon');

/**
 * What src/addon.cc gives for one kernel. The numbers that a call takes and gives lie in `registers`: each costs about
 * 6 ns as an argument, and less than 1 so.
 *
 * @typedef {object} Native
 * @property {Float64Array} registers by the indexes in `Register`
 * @property {(source: Uint8Array, output: Uint8Array) => void} mask takes KEY, START, OFFSET and LENGTH, gives
 *   NON_ASCII
 * @property {(buffer: Uint8Array) => void} unmask takes KEY, START and LENGTH, gives NON_ASCII
 * @property {(buffer: Uint8Array) => string | undefined} unmaskText takes what unmask takes; returns what it has unmasked
 *   as a string, if that is ASCII
 * @property {(chunk: Uint8Array, table: Uint32Array) => void} scan takes START and MODE, gives COUNT
 */

/** What each register holds; src/addon.cc has the same list. */
const Register = { KEY: 0, START: 1, OFFSET: 2, LENGTH: 3, MODE: 4, COUNT: 5, NON_ASCII: 6 };

/**
 * Finds the addon and the kernel to use: the best that this processor and its operating system run, or the one that
 * FRAMEMASK_KERNEL names.
 *
 * @param {{ FRAMEMASK_KERNEL?: string, FRAMEMASK_REQUIRE_NATIVE?: string }} environment as process.env has it
 * @param {() => object} [loadAddon] finds and loads the addon
 * @returns {{ kernel: string, native: Native | null, nativeError: Error | null }} `native` is null, and `kernel` 'js',
 *   where JavaScript does the work; `nativeError` says why if the addon should have done it
 * @throws {RangeError} if FRAMEMASK_KERNEL names a kernel that this machine can't run
 * @throws {Error} the reason why the addon does not load, if FRAMEMASK_REQUIRE_NATIVE is 1
 */
function load(environment, loadAddon = findAddon) {
  const wanted = readVariable(environment, 'FRAMEMASK_KERNEL');
  if (wanted === 'js') return { kernel: 'js', native: null, nativeError: null };

  let addon = null;
  let kernels = [];
  let nativeError = null;
  try {
    const found = loadAddon();
    // Whatever lies there by that name, what is no addon of ours is none.
    kernels = Array.from(found.kernels);
    addon = found;
  } catch (error) {
    if (readVariable(environment, 'FRAMEMASK_REQUIRE_NATIVE') === '1') throw error;
    nativeError = error;
  }

  if (wanted && !kernels.includes(wanted)) throw unknownKernel(wanted, kernels, nativeError);
  if (addon === null) return { kernel: 'js', native: null, nativeError };
  const kernel = wanted || kernels[kernels.length - 1];
  return { kernel, native: bind(addon, kernel), nativeError };
}

/**
 * Reads an environment variable. One that may not be read counts as unset: Deno throws NotCapable
 * for it without --allow-env, and a program that never set it must not fail.
 *
 * @param {Record<string, string | undefined>} environment
 * @param {string} name
 * @returns {string | undefined}
 */
function readVariable(environment, name) {
  try {
    return environment[name];
  } catch {
    return undefined;
  }
}

/**
 * @param {object} addon
 * @param {string} kernel one of `addon.kernels`
 * @returns {Native}
 */
function bind(addon, kernel) {
  const { registers, ...functions } = addon.bind(kernel);
  return { registers: new Float64Array(registers), ...functions };
}

/**
 * @param {string} wanted
 * @param {string[]} kernels those that run here, besides 'js'
 * @param {Error | null} cause why there is no addon
 * @returns {RangeError}
 */
function unknownKernel(wanted, kernels, cause) {
  const error = new RangeError(
    `FRAMEMASK_KERNEL is ${JSON.stringify(wanted)}, but this machine can run: ${['js', ...kernels].join(', ')}`,
    cause === null ? undefined : { cause }
  );
  error.code = 'FRAMEMASK_ERR_KERNEL';
  return error;
}

module.exports = { Register, bind, load };
