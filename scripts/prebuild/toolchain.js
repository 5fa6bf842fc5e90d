'use strict';

// The compiler, the reader of binaries and the disassembler. All are from PyPI and of one version,
// so that what they make and say does not depend on the machine.

const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const { installPython, pythonProgram } = require('../support/install');

const CACHE = path.join(__dirname, '../../.cache/zig');
const PYTHON = pythonProgram('zig', 'python');

/** The command that runs zig, before its arguments; and the environment that it needs. */
const ZIG = [PYTHON, '-m', 'ziglang'];
const ZIG_ENV = { ZIG_GLOBAL_CACHE_DIR: CACHE, ZIG_LOCAL_CACHE_DIR: CACHE };

// zig contains clang, the linkers and the headers for every target. Capstone 6 is the first that
// knows LoongArch.
const REQUIREMENTS = ['ziglang==0.17.0', 'lief==1.0.0', 'capstone==6.0.0a11'];

const run = promisify(execFile);

/** Installs the tools, unless they are there. */
const installToolchain = (progress) => installPython('zig', REQUIREMENTS, progress);

/**
 * @param {string[]} args for zig
 * @throws {Error} with the output, if it fails or warns
 */
async function zig(args) {
  let output;
  try {
    const [program, ...start] = ZIG;
    const { stdout, stderr } = await run(program, [...start, ...args], { env: { ...process.env, ...ZIG_ENV } });
    output = stdout + stderr;
  } catch (error) {
    throw new Error(`zig ${args[0]} failed: ${error.stderr || error.message}`);
  }
  if (output) throw new Error(`zig ${args[0]}: ${output}`);
}

/**
 * What check.js asks of a file, whatever its format.
 *
 * @typedef {object} Image
 * @property {string} machine as in targets.js, or a name that targets.js does not have
 * @property {string[]} imports the functions that the process that loads it must have
 * @property {string[]} exports
 * @property {string[]} libraries that are loaded with it
 * @property {number} alignment the largest page for which the file is laid out, in bytes
 * @property {[address: number, name: string][]} functions
 * @property {Instruction[]} instructions
 * @property {string[]} faults that no file of this format may have
 *
 * @typedef {object} Instruction
 * @property {number} address
 * @property {string} mnemonic `.byte` for bytes that are no instruction of this machine
 * @property {string} operands
 * @property {string} bytes in hexadecimal
 * @property {string[]} groups its kind, and the extensions of the instruction set that it belongs
 *   to
 *
 * @param {{ file: string, symbols: string }} built as build.js returns it
 * @param {string} machine as in targets.js
 * @returns {Promise<Image>}
 */
async function readLibrary({ file, symbols }, machine) {
  const args = [path.join(__dirname, 'read_library.py'), machine, file, symbols];
  const { stdout } = await run(PYTHON, args, { maxBuffer: 2 ** 26 });
  return JSON.parse(stdout);
}

module.exports = { ZIG, ZIG_ENV, installToolchain, readLibrary, zig };
