'use strict';

// Lays out the programs for each way of using them, and runs them.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

/** A program that takes longer has failed. */
const TIMEOUT = 300_000;

/**
 * @typedef {object} Way
 * @property {string} name
 * @property {string} library that the program names instead of `ws`
 * @property {string[]} args of Node.js
 */

/** @type {Way[]} The first is what the others are compared with. */
const WAYS = [
  { name: 'ws', library: 'ws', args: [] },
  { name: 'framemask/ws', library: 'framemask/ws', args: [] },
  { name: 'register', library: 'ws', args: ['--import', 'framemask/ws/register'] }
];

/**
 * @typedef {object} Run
 * @property {any} [result] what the program printed
 * @property {{ messages: number, chunks: number, memory: number }} [counts]
 * @property {number} seconds
 * @property {string} [fault] why there is no result
 */

/** Copies a program; the line that names `ws` names the way's library. */
function stage(source, folder, { library }) {
  const text = fs.readFileSync(source, 'utf8');
  const file = path.join(folder, path.basename(source));
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(file, text.replace(/(require\(|from )'ws'/g, `$1'${library}'`));
  return file;
}

/**
 * @param {string} folder
 * @returns {string[]} the receivers of each `ws` below a folder, but for those of ws 6 and 7, which
 *   framemask/ws leaves alone
 */
function findReceivers(folder) {
  return fs
    .readdirSync(folder, { recursive: true })
    .filter((file) => /(^|[\\/])ws[\\/]lib[\\/]receiver\.js$/.test(file))
    .map((file) => path.join(folder, file))
    .filter((file) => require(path.join(file, '../../package.json')).version.startsWith('8.'));
}

/**
 * Runs a program that prints its result as JSON in its last line.
 *
 * @param {string} file
 * @param {Way} way
 * @param {string[]} receivers
 * @returns {Promise<Run>}
 */
function runProgram(file, { args }, receivers) {
  const counter = path.join(__dirname, 'count-messages.js');
  const folder = path.dirname(file);
  // The counter must find the package that the program finds.
  const copy = path.join(folder, path.basename(counter));
  fs.copyFileSync(counter, copy);
  const began = performance.now();
  const child = spawn(process.execPath, ['--require', copy, ...args, file], {
    cwd: folder,
    env: { ...process.env, FRAMEMASK_TEST_RECEIVERS: JSON.stringify(receivers) },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    timeout: TIMEOUT,
    killSignal: 'SIGKILL'
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const outputs = child.stdio.slice(1).map((stream) => stream.setEncoding('utf8').toArray());
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ seconds: 0, fault: error.message }));
    child.on('close', async (code, signal) => {
      process.off('exit', kill);
      const seconds = (performance.now() - began) / 1000;
      const [stdout, stderr, counts] = (await Promise.all(outputs)).map((chunks) => chunks.join(''));
      if (code !== 0) {
        resolve({ seconds, fault: `exit code ${code}, signal ${signal}\n${stdout}${stderr}`.trimEnd() });
        return;
      }
      try {
        const result = JSON.parse(stdout.trim().split('\n').at(-1));
        resolve({ seconds, result, counts: JSON.parse(counts) });
      } catch {
        resolve({ seconds, fault: `printed no result, but\n${stdout}${stderr}`.trimEnd() });
      }
    });
  });
}

module.exports = { WAYS, findReceivers, runProgram, stage };
