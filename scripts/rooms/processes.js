'use strict';

// A redis-server of one's own, and processes of the chat. All listen on 127.0.0.1 only.

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { installDebian } = require('../../test/support/debian');
const { freePort } = require('../../test/support/free-port');

/** Milliseconds that a program may need until it listens. */
const PATIENCE = 120_000;

/** What still runs, and its folders. */
const children = new Set();
const folders = new Set();

// An exit ends all that was started.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) removeFolder(folder);
});

function removeFolder(folder) {
  folders.delete(folder);
  fs.rmSync(folder, { recursive: true, force: true });
}

/**
 * Starts a program, and waits for a line.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ ready: RegExp, env?: object, cwd?: string }} options
 * @returns {Promise<import('node:child_process').ChildProcess & { output(): string }>}
 * @throws {Error} with its output, if it ends before that line, or the line does not come
 */
function start(program, args, { ready, env, cwd }) {
  const child = spawn(program, args, { env: { ...process.env, ...env }, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let output = '';
  child.output = () => output;
  return new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`${path.basename(args[0] ?? program)} ${why}: ${output}`));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail('did not start in time');
    }, PATIENCE);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-10_000);
        if (ready.test(output)) resolve(child);
      });
    }
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      children.delete(child);
      clearTimeout(timer);
      fail(`ended with ${code ?? signal}`);
    });
    child.stdout.on('data', () => ready.test(output) && clearTimeout(timer));
  });
}

/** Ends a process, and waits until it has ended. @returns {Promise<number | string>} how it ended */
async function stop(child, signal = 'SIGKILL') {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? child.signalCode;
  const ended = once(child, 'exit');
  child.kill(signal);
  const [code, by] = await ended;
  return code ?? by;
}

/**
 * Starts a redis-server that stores nothing, in a folder of its own.
 *
 * @param {{ install?: boolean, progress: (line: string) => void }} options
 * @returns {Promise<{ url: string, stop(): Promise<void> }>}
 */
async function startRedis({ install = false, progress }) {
  if (install && spawnSync('redis-server', ['--version']).error) installDebian(['redis-server'], progress);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-redis-'));
  folders.add(folder);
  const port = await freePort();
  const args = ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'].map(String);
  let child;
  try {
    child = await start('redis-server', args, { ready: /Ready to accept connections/ });
  } catch (error) {
    removeFolder(folder);
    if (error.code !== 'ENOENT') throw error;
    throw new Error('redis-server is not installed: run with --install');
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      await stop(child);
      removeFolder(folder);
    }
  };
}

/**
 * One process of a server on a port of its own, which can be killed and started again.
 */
class ServerProcess {
  /**
   * @param {string[]} args of Node.js; the program prints a line with its address when it listens
   * @param {object} env besides PORT
   */
  constructor(args, env) {
    this._args = args;
    this._env = env;
    this._child = null;
    this.port = null;
  }

  async start() {
    this.port ??= await freePort();
    const env = { ...this._env, PORT: String(this.port) };
    this._child = await start(process.execPath, this._args, { env, ready: /http:\/\/\S+:\d+\n/ });
  }

  get isStarted() {
    return this._child !== null;
  }

  get pid() {
    return this._child.pid;
  }

  /** @returns {string} what it has printed */
  output() {
    return this._child.output();
  }

  /** @returns {Promise<number | string>} its exit code, or the signal that ended it */
  stop(signal) {
    return stop(this._child, signal);
  }

  /** @returns {Promise<Map<string, number>>} its /metrics */
  async metrics() {
    const [response] = await once(http.get({ port: this.port, path: '/metrics', agent: false }), 'response');
    const text = (await response.toArray()).join('');
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(lines.map((line) => line.split(' ')).map(([name, value]) => [name, Number(value)]));
  }
}

module.exports = { ServerProcess, startRedis };
