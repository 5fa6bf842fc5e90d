'use strict';

// A redis-server of one's own, and processes of a chat. All listen on 127.0.0.1 only.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { freePort } = require('../../../../test/support/free-port');

const SERVER = path.join(__dirname, '../../server.js');
const SERVERS = 3;

// The end of the tests ends all that was started.
const children = new Set();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/**
 * Starts a program, and waits for a line.
 *
 * @throws {Error} with its output, if it ends before that line
 */
async function start(program, args, { ready, env }) {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  child.output = '';
  await new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        child.output = (child.output + text).slice(-10_000);
        if (ready.test(child.output)) resolve();
      });
    }
    child.once('error', ({ message }) => reject(new Error(`${message}: is it installed? npm test -- --install`)));
    child.once('exit', (code, signal) => {
      children.delete(child);
      reject(new Error(`${program} ${args[0]} ended with ${code ?? signal}: ${child.output}`));
    });
  });
  return child;
}

/** Ends a process, and waits for its end. @returns {Promise<number | string>} how it ended */
async function stop(child, signal = 'SIGKILL') {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
  return child.exitCode ?? child.signalCode;
}

/** Starts a redis-server that stores nothing. @returns {Promise<string>} its URL */
async function startRedis(t) {
  const port = await freePort();
  const options = { port, bind: '127.0.0.1', dir: os.tmpdir(), save: '', appendonly: 'no' };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = await start('redis-server', args, { ready: /Ready to accept connections/ });
  t.after(() => stop(child));
  return `redis://127.0.0.1:${port}`;
}

/** @returns {Promise<{ status: number, headers: object, body: string }>} an answer of a server */
async function get(port, path) {
  const [response] = await once(http.get({ port, path, agent: false }), 'response');
  const body = (await response.toArray()).join('');
  return { status: response.statusCode, headers: response.headers, body };
}

/** One process of a server on a port of its own, which can be killed and started again. */
class ServerProcess {
  /** The program of `args` prints a line with its address when it listens on PORT. */
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

  /** @returns {Promise<number | string>} its exit code, or the signal that ended it */
  async stop(signal) {
    return this._child === null ? 0 : stop(this._child, signal);
  }

  async restart(signal) {
    const how = await this.stop(signal);
    await this.start();
    return how;
  }

  /** @returns {Promise<Record<string, number>>} its /metrics */
  async metrics() {
    const lines = (await get(this.port, '/metrics')).body.matchAll(/^(\w\S*) (\S+)$/gm);
    return Object.fromEntries(Array.from(lines, ([, name, value]) => [name, Number(value)]));
  }
}

/** Starts processes that share a Redis and end with the test; a single one gets no Redis. */
async function startServers(t, args, count = SERVERS) {
  const redis = count === 1 ? '' : await startRedis(t);
  const servers = Array.from({ length: count }, () => new ServerProcess(args, { REDIS_URL: redis }));
  t.after(() => Promise.all(servers.map((server) => server.stop())));
  for (const server of servers) await server.start();
  return { servers, redis };
}

module.exports = { SERVER, get, startServers };
