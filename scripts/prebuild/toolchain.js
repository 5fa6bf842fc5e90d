'use strict';

// The compiler and the disassembler, both from PyPI, both of one version: what they make and say must not depend on the
// machine.

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');

const CACHE = path.join(__dirname, '../../.cache');
const PYTHON = path.join(CACHE, 'zig', process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
const STAMP = path.join(CACHE, 'zig/framemask-requirements.txt');

// zig carries clang, the linkers and the headers for every target. Capstone 6 is the first that knows LoongArch.
const REQUIREMENTS = 'ziglang==0.17.0\ncapstone==6.0.0a11\n';

const run = promisify(execFile);

/**
 * Installs what is not there yet, below .cache/.
 *
 * @param {(message: string) => void} progress
 */
async function installToolchain(progress) {
  if (fs.existsSync(STAMP) && fs.readFileSync(STAMP, 'utf8') === REQUIREMENTS) return;
  progress(`installing ${REQUIREMENTS.trim().split('\n').join(' and ')} in .cache/zig`);
  fs.rmSync(path.join(CACHE, 'zig'), { recursive: true, force: true });
  await run('python3', ['-m', 'venv', path.join(CACHE, 'zig')]);
  await run(PYTHON, ['-m', 'pip', 'install', '--quiet', ...REQUIREMENTS.trim().split('\n')]);
  fs.writeFileSync(STAMP, REQUIREMENTS);
}

/**
 * @param {string[]} args for zig
 * @param {string} cwd
 * @throws {Error} with what zig has printed, if it fails or warns
 */
async function zig(args, cwd) {
  const env = {
    ...process.env,
    ZIG_GLOBAL_CACHE_DIR: path.join(CACHE, 'zig-cache'),
    ZIG_LOCAL_CACHE_DIR: path.join(CACHE, 'zig-cache')
  };
  const what = `zig ${args[0]} in ${cwd}`;
  let said;
  try {
    const { stdout, stderr } = await run(PYTHON, ['-m', 'ziglang', ...args], { cwd, env, maxBuffer: 2 ** 26 });
    said = stdout + stderr;
  } catch (error) {
    throw new Error(`${what} failed: ${error.stderr || error.message}`);
  }
  // Nothing here is expected to warn.
  if (said) throw new Error(`${what}: ${said}`);
}

/**
 * @typedef {object} Instruction
 * @property {number} address
 * @property {string} mnemonic `.byte` for what is no instruction of this machine
 * @property {string} operands
 * @property {string} bytes in hexadecimal
 * @property {string[]} groups what it is, and which extension of the instruction set has it
 *
 * @param {string} machine as in targets.js
 * @param {{ address: number, bytes: Buffer }[]} regions of machine code
 * @returns {Promise<Instruction[]>}
 */
async function disassemble(machine, regions) {
  const request = { machine, regions: regions.map(({ address, bytes }) => [address, bytes.toString('hex')]) };
  const child = run(PYTHON, [path.join(__dirname, 'disassemble.py')], { maxBuffer: 2 ** 26 });
  child.child.stdin.end(JSON.stringify(request));
  const { stdout } = await child;
  return JSON.parse(stdout);
}

module.exports = { disassemble, installToolchain, zig };
