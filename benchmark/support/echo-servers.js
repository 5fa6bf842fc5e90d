'use strict';

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const { ROOT } = require('./modules');
const { buildCrate, findPeer } = require('./peers');

/**
 * @typedef {'bytes' | 'strings' | 'tls' | 'deflate' | 'upload'} Kind text delivered as bytes, text
 *   delivered as strings, text as bytes over TLS or compressed, or binary messages of which none is
 *   sent back
 *
 * @typedef {object} EchoServer
 * @property {string} name
 * @property {string} [version]
 * @property {Kind[]} kinds what it can do; a runtime that has text as strings only is in 'bytes',
 *   too
 * @property {boolean} bare whether it sends back the very bytes that it got
 * @property {(options: import('./servers/options').ServerOptions) => [string, ...string[]]} command
 *   line
 *
 * @typedef {Omit<EchoServer, 'name' | 'kinds'>} Found what takes a download or a build to know
 */

const PLAIN = ['bytes', 'strings', 'tls', 'upload'];
const ALL = [...PLAIN, 'deflate'];
const script = (name) => path.join(__dirname, 'servers', `${name}.js`);

/** @returns {Found} in Node.js, told `extra` beside the other options */
function nodeServer(file, extra = {}) {
  const command = (options) => [process.execPath, script(file), JSON.stringify({ ...options, ...extra })];
  return { bare: file === 'socket', command };
}

/** @returns {Found} */
function runtimeServer(peer, args, fetch) {
  const { program, version } = findPeer(peer, fetch);
  return { version, bare: false, command: (options) => [program, ...args, script(peer), JSON.stringify(options)] };
}

/** @returns {Found} */
function crateServer(folder, fetch) {
  const { program, version } = buildCrate(folder, fetch);
  return { version, bare: false, command: () => [program] };
}

/** @type {Record<string, { kinds: Kind[], find: (fetch: boolean) => Found }>} */
const SERVERS = {
  framemask: { kinds: ALL, find: () => nodeServer('framemask', { oneBuffer: false }) },
  'framemask, shared reads': { kinds: PLAIN, find: () => nodeServer('framemask', { oneBuffer: true }) },
  'framemask/ws': { kinds: ALL, find: () => nodeServer('ws', { module: path.join(ROOT, 'ws.js') }) },
  ws: {
    kinds: ALL,
    find: () => ({ ...nodeServer('ws', { module: 'ws' }), version: require('ws/package.json').version })
  },
  Bun: { kinds: ALL, find: (fetch) => runtimeServer('bun', ['run'], fetch) },
  Deno: {
    kinds: PLAIN,
    find: (fetch) => runtimeServer('deno', ['run', '--quiet', '--allow-net', '--no-config'], fetch)
  },
  'tokio-websockets': { kinds: ['bytes'], find: (fetch) => crateServer('tokio', fetch) },
  yawc: { kinds: ['deflate'], find: (fetch) => crateServer('yawc', fetch) },
  'net.Socket': { kinds: ['bytes', 'tls'], find: () => nodeServer('socket') },
  'net.Socket, one buffer': { kinds: ['bytes'], find: () => nodeServer('socket', { oneBuffer: true }) }
};

/**
 * Finds the servers, and says on stderr which are left out, and why.
 *
 * @param {(name: string) => boolean} wanted
 * @param {Kind[]} wantedKinds servers that can do none of them are neither fetched nor built
 * @param {boolean} fetch true to download and build those that are missing
 * @returns {EchoServer[]}
 */
function findServers(wanted, wantedKinds, fetch) {
  const servers = [];
  for (const [name, { kinds, find }] of Object.entries(SERVERS)) {
    if (!wanted(name) || !wantedKinds.some((kind) => kinds.includes(kind))) continue;
    try {
      servers.push({ name, kinds, ...find(fetch) });
    } catch (error) {
      console.error(`${name} is left out: ${error.message}`);
    }
  }
  return servers;
}

/**
 * Starts a server, and waits until it listens.
 *
 * @param {EchoServer} server
 * @param {import('./servers/options').ServerOptions} options
 * @returns {Promise<{ name: string, bare: boolean, port: number,
 *   child: import('node:child_process').ChildProcess }>}
 * @throws {Error} if it ends before
 */
async function startServer({ name, bare, command }, options) {
  const [program, ...args] = command(options);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the server ${name} ended with exit code ${code}`);
  });
  ended.catch(() => {});
  const [line] = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), ended]);
  return { name, bare, port: Number(line), child };
}

/**
 * @returns {{ key: string, cert: string }} made anew, for 127.0.0.1
 * @throws {Error} if openssl is not there
 */
function createCertificate() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-echo-'));
  try {
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(folder, name));
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const args = ['req', '-x509', '-nodes', '-days', '2', ...curve, ...names, '-keyout', key, '-out', cert];
    execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    return { key: fs.readFileSync(key, 'utf8'), cert: fs.readFileSync(cert, 'utf8') };
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

module.exports = { createCertificate, findServers, startServer };
