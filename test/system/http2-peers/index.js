'use strict';

// WebSockets over HTTP/2 with ends that others wrote, and over HTTP/1.1 through docs/production.md's
// proxies.

const { spawnSync } = require('node:child_process');
const { randomBytes } = require('node:crypto');
const { on, once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const net = require('node:net');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { acceptHttp2 } = require('../../..');
const { WebSocket, WebSocketServer } = require('../../../ws');
const { ROOT, outputOf, run, start } = require('../../support/child');
const certificate = require('../../support/certificate');
const { NotHere, installDebian } = require('../../../scripts/support/fetch');
const { freePort, listen } = require('../../support/free-port');
const { buildGo, installPython, pythonProgram } = require('../../../scripts/support/install');
const { differences } = require('../support/results');
const runtimes = require('../support/runtimes');

const LENGTHS = [0, 1, 125, 126, 65_535, 65_536, 1_000_000];
const H2SPEC = 'github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible';

/** Starts an echo server. @returns {Promise<{ port: number, closes: string[], stop(): void }>} */
async function startEcho(server) {
  const closes = [];
  const sockets = new Set();
  for (const event of ['connection', 'secureConnection']) server.on(event, (socket) => sockets.add(socket));
  // nghttpx 1.52 leaves a stream half-open when both the server and its client have ended.
  const wss = new WebSocketServer({ server, perMessageDeflate: true, closeTimeout: 500 });
  wss.on('connection', (socket, { httpVersion }) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    socket.on('error', (error) => closes.push(error.message));
    socket.on('close', (code, reason) => closes.push(`${httpVersion} ${code} ${reason}`.trim()));
  });
  const stop = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port: await listen(server), closes, stop };
}

const SERVERS = {
  'HTTP/1.1': () => http.createServer(),
  'HTTP/2': () => acceptHttp2(http2.createServer())
};

/**
 * Sends messages, reads them back, and closes.
 *
 * @param {number} [atOnce] messages of 16,000 bytes
 * @returns {Promise<string[]>} faults
 */
async function exchange(url, options, atOnce = 200) {
  const faults = [];
  const socket = new WebSocket(url, options);
  await once(socket, 'open');
  const messages = on(socket, 'message', { close: ['close'] });
  const echoed = async (name, data) => {
    const { value = ['', null] } = await messages.next();
    const [answer, isBinary] = value;
    if (isBinary !== (typeof data !== 'string') || !Buffer.from(data).equals(answer))
      faults.push(`${name} came back wrong`);
  };
  for (const length of LENGTHS) {
    for (const data of [randomBytes(length), 'é'.repeat(length / 2)]) {
      socket.send(data);
      await echoed(`${length} bytes`, data);
    }
  }
  for (const part of ['three ', 'fragments ']) socket.send(part, { fin: false });
  socket.ping('p');
  socket.send('and a Ping');
  const pong = once(socket, 'pong');
  await echoed('fragments', 'three fragments and a Ping');
  await pong;
  // Many at once: their echoes have to wait for windows.
  const many = Array.from({ length: atOnce }, () => randomBytes(16_000));
  for (const data of many) socket.send(data);
  for (const data of many) await echoed('one of many', data);
  socket.close(4000, 'bye');
  const [code, reason] = await once(socket, 'close');
  if (`${code} ${reason}` !== '4000 bye') faults.push(`closed with ${code} ${reason}`);
  return faults;
}

/** Starts a program that listens on a port. @returns {Promise<() => Promise<void>>} ends it */
async function startProgram(command, port) {
  // nghttpx has to end its worker, so it is not killed.
  const end = () => child.kill();
  const child = start(command, { cwd: __dirname, stdio: ['ignore', 'ignore', 'pipe'] }, end);
  const stderr = child.stderr.setEncoding('utf8').toArray();
  const ended = once(child, 'exit');
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${command[0]} ended: ${(await stderr).join('')}`);
    const socket = net.connect(port, '127.0.0.1');
    const refused = await once(socket, 'connect').catch((error) => error);
    socket.destroy();
    if (!(refused instanceof Error)) break;
    await sleep(20);
  }
  return async () => {
    end();
    await ended;
  };
}

const HAPROXY = `defaults
  mode http
  timeout connect 10s
  timeout client 1m
  timeout server 1m
  timeout tunnel 1h
frontend websockets
  bind 127.0.0.1:PORT
  default_backend framemask
backend framemask
  server one 127.0.0.1:BACKEND`;

/** Writes a proxy's configuration. @returns {string} its path */
function writeConfiguration(name, text) {
  const folder = path.join(ROOT, '.cache/proxies');
  fs.mkdirSync(folder, { recursive: true });
  const file = path.join(folder, name);
  fs.writeFileSync(file, text);
  return file;
}

/** The commands of proxies on a port, for a server on another one. */
const PROXIES = {
  nghttpx(port, backend, isHttp2) {
    const ends = [`-f127.0.0.1,${port};no-tls`, `-b127.0.0.1,${backend}${isHttp2 ? ';;proto=h2' : ''}`];
    return ['nghttpx', ...ends, '--workers=1', '--log-level=ERROR', '--conf=/dev/null'];
  },
  haproxy(port, backend, isHttp2) {
    const text = HAPROXY.replace('PORT', port).replace('BACKEND', `${backend}${isHttp2 ? ' proto h2' : ''}\n`);
    return ['haproxy', '-q', '-db', '-f', writeConfiguration(`${port}.cfg`, text)];
  }
};

/** @throws {NotHere} */
function checkInstalled(name) {
  if (spawnSync(name, ['-v']).error !== undefined) throw new NotHere(`${name} is not installed`);
}

/** Clients over HTTP/1.1 and HTTP/2, a proxy, and a server of one kind. */
async function tryProxy(name, kind) {
  checkInstalled(name);
  const echo = await startEcho(SERVERS[kind]());
  const port = await freePort();
  const stop = await startProgram(PROXIES[name](port, echo.port, kind === 'HTTP/2'), port);
  const faults = [];
  try {
    for (const isHttp2 of [false, true]) {
      // HAProxy 2.6 stops for good when both directions are full: a bare stream of node:http2
      // that is piped into itself shows it, too.
      const atOnce = name === 'haproxy' && isHttp2 && kind === 'HTTP/2' ? 3 : 200;
      const found = await exchange(`ws://127.0.0.1:${port}`, { http2: isHttp2 }, atOnce);
      faults.push(...found.map((fault) => `client over HTTP/${isHttp2 ? 2 : 1}: ${fault}`));
    }
    while (echo.closes.length < 2) await sleep(10);
    const expected = `${kind === 'HTTP/2' ? '2.0' : '1.1'} 4000 bye`;
    return [...faults, ...echo.closes.filter((close) => close !== expected)];
  } finally {
    await stop();
    echo.stop();
  }
}

/** nginx writes nowhere else; its workers run as the user who starts it. */
const NGINX = `daemon off;
user root;
pid nginx.pid;
error_log stderr;
events {}
http {
access_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${kind};`).join('\n')}
`;

/** The commands of proxies with the configuration of docs/production.md. */
const FOR_PRODUCTION = {
  nginx(port, text) {
    const file = writeConfiguration(`${port}.conf`, `${NGINX}${text}}`);
    return ['nginx', '-e', 'stderr', '-p', path.dirname(file), '-c', file];
  },
  haproxy: (port, text) => ['haproxy', '-q', '-db', '-f', writeConfiguration(`${port}.cfg`, text)]
};

/** @returns {string} that of the page, with these ports, and times of 60 s and 30 s as 2 s and 1 s */
function configurationOf(name, port, backend) {
  const page = fs.readFileSync(path.join(ROOT, 'docs/production.md'), 'utf8');
  const [, text] = new RegExp(`\`\`\`text\n# ${name}\\.\\w+.*\n([^\`]*)\`\`\``).exec(page);
  return text
    .replace(/(listen |bind ):?8080/, `$1127.0.0.1:${port}`)
    .replace('8081', backend)
    .replace(/\b([36])0s/g, (_, tens) => `${tens / 3}s`);
}

/** A server that is silent on the path /silent, behind a proxy as docs/production.md has it. */
async function tryProduction(name) {
  checkInstalled(name);
  const addresses = new Set();
  const [silent, asking] = [0, 500].map((heartbeat) => new WebSocketServer({ noServer: true, heartbeat }));
  const server = http.createServer((_request, response) => response.end());
  server.on('upgrade', (request, ...rest) => {
    addresses.add(request.headers['x-forwarded-for']);
    const wss = request.url === '/silent' ? silent : asking;
    wss.handleUpgrade(request, ...rest, (socket) => {
      socket.on('error', () => {}).on('message', (data, binary) => socket.send(data, { binary }));
    });
  });
  const backend = await listen(server);
  const port = await freePort();
  const url = `ws://127.0.0.1:${port}`;
  const stop = await startProgram(FOR_PRODUCTION[name](port, configurationOf(name, port, backend)), port);
  try {
    const faults = await exchange(url);
    const lost = once(new WebSocket(`${url}/silent`), 'close');
    const asked = new WebSocket(url);
    let pings = 0;
    // Twice the proxy's time.
    for await (const _ of on(asked, 'ping', { close: ['close'] })) if (++pings === 8) break;
    const restarted = once(asked, 'close');
    await Promise.all([lost, asking.shutDown({ within: 5000 })]);
    const codes = [(await lost)[0], (await restarted)[0], ...addresses];
    return [...faults, ...differences(codes, [1006, 1012, '127.0.0.1'])];
  } finally {
    await stop();
    server.close();
    server.closeAllConnections();
  }
}

/**
 * undici's WebSocket over HTTP/2 with TLS. Version 7 wants a Sec-WebSocket-Accept, 8 a newer
 * Node.js.
 */
async function tryUndici() {
  const echo = await startEcho(acceptHttp2(http2.createSecureServer({ ...certificate, allowHTTP1: true })));
  try {
    const client = path.join(__dirname, 'undici-client.js');
    const command = [runtimes.node('26'), client, `wss://127.0.0.1:${echo.port}`, LENGTHS.join()];
    const faults = JSON.parse(await outputOf(command, { timeout: 60_000 }));
    while (echo.closes.length === 0) await sleep(10);
    return [...faults, ...echo.closes.filter((close) => close !== '2.0 4000 bye')];
  } finally {
    echo.stop();
  }
}

/** Our client, and hypercorn, a server of PyPI. */
async function tryHypercorn(progress) {
  installPython('hypercorn', ['hypercorn==0.18.0'], progress);
  const port = await freePort();
  const command = [pythonProgram('hypercorn', 'hypercorn'), '--bind', `127.0.0.1:${port}`, 'echo:app'];
  const stop = await startProgram(command, port);
  try {
    // wsproto forgets that a message is compressed when a Ping comes between its fragments.
    return await exchange(`ws://127.0.0.1:${port}`, { http2: true, perMessageDeflate: false });
  } finally {
    await stop();
  }
}

/** Requests of all kinds, as h2spec's generic group sends them. */
async function tryH2spec(progress) {
  const program = buildGo(H2SPEC, progress);
  const server = acceptHttp2(http2.createServer((_request, response) => response.end('ok')));
  server.on('sessionError', () => {}); // what h2spec tries is wrong
  const { port, stop } = await startEcho(server);
  const { stdout } = await run([program, 'generic', '--host', '127.0.0.1', '--port', `${port}`, '--timeout', '10']);
  stop();
  const [, total, passed] = /^(\d+) tests, (\d+) passed/m.exec(stdout) ?? [];
  return { cells: [`${passed} of ${total}`], faults: total !== undefined && passed === total ? [] : [stdout] };
}

const PEERS = [
  ...Object.keys(PROXIES).flatMap((name) =>
    Object.keys(SERVERS).map((kind) => ({ name: `${name}-to-${kind}`, test: () => tryProxy(name, kind) }))
  ),
  ...Object.keys(FOR_PRODUCTION).map((name) => ({ name: `production-${name}`, test: () => tryProduction(name) })),
  { name: 'undici', test: tryUndici },
  { name: 'hypercorn', test: tryHypercorn },
  { name: 'h2spec', test: tryH2spec }
];

module.exports = {
  summary: 'WebSockets over HTTP/2 with nghttpx, HAProxy, undici, hypercorn and h2spec, and behind nginx and HAProxy',
  details: `Messages of up to 1,000,000 bytes, fragments, Pings, 200 messages at once, and closing with a code: through
proxies with clients and servers over HTTP/1.1 and HTTP/2, with undici's client, and with hypercorn's server. h2spec's
group "generic" passes on a server with WebSockets. Behind nginx and HAProxy, as docs/production.md configures them,
a heartbeat keeps connections open, and a restart tells the clients.`,
  packages: true,
  options: { install: { text: 'have apt-get install the proxies where they are missing' } },
  only: ['peer', PEERS],
  columns: ['tests'],

  async run({ install }, { chosen, results, progress }) {
    if (install) installDebian(['haproxy', 'nghttp2-proxy', 'nginx-light'], progress);
    for (const { name, test } of chosen) await results.add(name, () => test(progress));
  }
};
