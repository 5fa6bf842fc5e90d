'use strict';

// Programs that tests and checks start. None outlives this process.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { text } = require('node:stream/consumers');

const ROOT = path.join(__dirname, '../..');

/** Each ends a program that runs. */
const ends = new Set();
process.on('exit', () => {
  for (const end of ends) end();
});

/**
 * Starts a program.
 *
 * @param {string[]} command
 * @param {import('node:child_process').SpawnOptions} [options]
 * @param {(child: import('node:child_process').ChildProcess) => void} [end] ends it
 */
function start([program, ...args], options, end = (child) => child.kill('SIGKILL')) {
  const child = spawn(program, args, { cwd: ROOT, ...options });
  const kill = () => end(child);
  ends.add(kill);
  for (const event of ['close', 'error']) child.once(event, () => ends.delete(kill));
  return child;
}

/**
 * Starts a program that prints its port as its first line.
 *
 * @param {string[]} command
 * @param {import('node:child_process').SpawnOptions} [options]
 * @returns {Promise<{ child: import('node:child_process').ChildProcess, port: number,
 *   lines: AsyncIterator<string>, close: () => void }>} `lines` are those after it
 */
async function startServer(command, options) {
  const child = start(command, { stdio: ['ignore', 'pipe', 'inherit'], ...options });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value: port } = await lines.next();
  if (!/^\d+$/.test(port)) throw new Error(`${command.join(' ')} does not listen`);
  return { child, port: Number(port), lines, close: () => child.kill('SIGKILL') };
}

/**
 * Runs a program.
 *
 * @param {string[]} command
 * @param {{ cwd?: string, env?: object, timeout?: number, toFiles?: string, show?: boolean,
 *   inherit?: boolean }} [options] `env` is added to the environment, or is all of it if `inherit`
 *   is false; `timeout` in milliseconds; `toFiles` is a folder for files that take its output,
 *   instead of pipes; `show` prints it
 * @returns {Promise<{ status: number | null, stdout: string, stderr: string, why: string }>}
 *   `status` is null after a signal, or if the program does not exist; `why` tells how it ended
 */
async function run(command, { cwd, env = {}, timeout = 600_000, toFiles, show = false, inherit = true } = {}) {
  const files = toFiles && ['stdout', 'stderr'].map((name) => path.join(toFiles, `${name}.txt`));
  const outputs = files ? files.map((file) => fs.openSync(file, 'w')) : Array(2).fill(show ? 'inherit' : 'pipe');
  const child = start(command, {
    ...(cwd && { cwd }),
    env: inherit ? { ...process.env, ...env } : env,
    stdio: ['ignore', ...outputs],
    timeout,
    killSignal: 'SIGKILL'
  });
  const texts = [child.stdout, child.stderr].map((stream) => stream && text(stream));
  const ended = await new Promise((resolve) => {
    child.on('error', (error) => resolve({ status: null, why: error.message }));
    child.on('close', (status, signal) => resolve({ status, why: `exit code ${status}, signal ${signal}` }));
  });
  const [stdout, stderr] = files ? files.map((file) => fs.readFileSync(file, 'utf8')) : await Promise.all(texts);
  if (files) for (const descriptor of outputs) fs.closeSync(descriptor);
  return { ...ended, stdout, stderr };
}

/**
 * Runs a program that must succeed.
 *
 * @returns {Promise<string>} its output
 * @throws {Error} with the end of it
 */
async function outputOf(command, options) {
  const { status, stdout, stderr, why } = await run(command, options);
  if (status === 0) return stdout;
  const lines = `${stdout}${stderr}`.trim().split('\n').slice(-60);
  throw new Error(`${command.slice(0, 3).join(' ')}: ${why}\n${lines.join('\n')}`);
}

/** Runs a program for up to an hour, and shows its output. @returns {Promise<string[]>} faults */
async function faultsOf(command, options) {
  const { status, why } = await run(command, { timeout: 3_600_000, show: true, ...options });
  return status === 0 ? [] : [why];
}

module.exports = { ROOT, faultsOf, outputOf, run, start, startServer };
