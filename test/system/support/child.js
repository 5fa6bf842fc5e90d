'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');

const ROOT = path.join(__dirname, '../../..');

/**
 * Starts a program that does not outlive this process.
 *
 * @param {string[]} command
 * @param {import('node:child_process').SpawnOptions} [options]
 * @param {(child: import('node:child_process').ChildProcess) => void} [end] ends it
 */
function start([program, ...args], options, end = (child) => child.kill('SIGKILL')) {
  const child = spawn(program, args, { cwd: ROOT, ...options });
  const kill = () => end(child);
  process.once('exit', kill);
  for (const event of ['close', 'error']) child.once(event, () => process.off('exit', kill));
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
 *   inherit?: boolean }} [options] `env` is added to the environment, or is all of it if `inherit` is
 *   false; `timeout` in milliseconds; `toFiles` is a folder for files that take its output, instead of
 *   pipes; `show` prints it
 * @returns {Promise<{ status: number | null, stdout: string, stderr: string, seconds: number, why: string }>}
 *   `status` is null after a signal, or if the program does not exist; `why` tells how it ended
 */
async function run(command, { cwd, env = {}, timeout = 600_000, toFiles, show = false, inherit = true } = {}) {
  const began = performance.now();
  const files = toFiles && ['stdout', 'stderr'].map((name) => path.join(toFiles, `${name}.txt`));
  const outputs = files ? files.map((file) => fs.openSync(file, 'w')) : Array(2).fill(show ? 'inherit' : 'pipe');
  const child = start(command, {
    ...(cwd && { cwd }),
    env: inherit ? { ...process.env, ...env } : env,
    stdio: ['ignore', ...outputs],
    timeout,
    killSignal: 'SIGKILL'
  });
  const texts = [child.stdout, child.stderr].map((stream) => stream?.setEncoding('utf8').toArray() ?? []);
  const ended = await new Promise((resolve) => {
    child.on('error', (error) => resolve({ status: null, why: error.message }));
    child.on('close', (status, signal) => resolve({ status, why: `exit code ${status}, signal ${signal}` }));
  });
  const [stdout, stderr] = files
    ? files.map((file) => fs.readFileSync(file, 'utf8'))
    : (await Promise.all(texts)).map((chunks) => chunks.join(''));
  if (files) for (const descriptor of outputs) fs.closeSync(descriptor);
  return { ...ended, stdout, stderr, seconds: (performance.now() - began) / 1000 };
}

/** Runs a program that must succeed. @returns {Promise<string>} its output @throws {Error} with the end of it */
async function outputOf(command, options) {
  const { status, stdout, stderr, why } = await run(command, options);
  if (status === 0) return stdout;
  const lines = `${stdout}${stderr}`.trim().split('\n').slice(-60);
  throw new Error(`${command.slice(0, 3).join(' ')}: ${why}\n${lines.join('\n')}`);
}

/**
 * Runs files of tests with tap's library, one after the other, without its runner.
 *
 * @param {string[]} files
 * @param {{ cwd: string, env?: object, progress: (message: string) => void, find?: () => string[] }} how
 *   `find` returns more faults of the file that has just run
 * @returns {Promise<string[]>} the files that failed
 */
async function runTests(files, { cwd, env, progress, find = () => [] }) {
  const failed = [];
  for (const file of files) {
    // Without its runner, tap ends a file after 30 s, which a busy machine may need.
    const options = { cwd, env: { TAP_TIMEOUT: '1200', ...env }, timeout: 1_200_000 };
    const { status, stdout, stderr, seconds, why } = await run([process.execPath, file], options);
    const faults = find();
    const passed = status === 0 && faults.length === 0;
    progress(`${file}: ${passed ? 'passed' : 'FAILED'}, ${seconds.toFixed(1)} s`);
    if (passed) continue;
    failed.push(file);
    const lines = stdout.split('\n');
    const failures = lines.flatMap((line, i) => (/^\s*not ok/.test(line) ? lines.slice(i, i + 20) : []));
    console.log([...failures.slice(0, 200), ...lines.slice(-12), stderr, ...faults, why].join('\n'));
  }
  return failed;
}

/** @returns {string[]} the files of tests below a folder of a checkout */
function testFiles(root, folder = 'test') {
  return fs
    .readdirSync(path.join(root, folder), { recursive: true })
    .map((file) => path.posix.join(folder, file.split(path.sep).join('/')))
    .filter((file) => file.endsWith('.js') && !/^test\/(support|platform|system)\//.test(file))
    .sort();
}

module.exports = { ROOT, outputOf, run, runTests, start, startServer, testFiles };
