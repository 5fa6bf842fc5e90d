'use strict';

// The page's HTTP server, on 127.0.0.1. It answers only requests that name it as their host, so
// that no name that is made to point to 127.0.0.1 reaches it (DNS rebinding), and its data only to
// those who know its token.

const { randomBytes, timingSafeEqual } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { acceptUpgrade, refuseUpgrade } = require('./framemask');
const { Peer } = require('./peer');

const PAGE = path.join(__dirname, '../page');
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.mjs': 'text/javascript', '.svg': 'image/svg+xml' };

/** The files of the page: no request names another. */
function readPage() {
  const files = new Map();
  for (const name of fs.readdirSync(PAGE)) {
    const type = TYPES[path.extname(name)];
    if (type !== undefined) files.set(`/${name}`, { type, body: fs.readFileSync(path.join(PAGE, name)) });
  }
  files.set('/', files.get('/index.html'));
  return files;
}

/** The headers of each answer. Nothing may run or load but the page's own files. */
function headersFor(host) {
  return {
    'Content-Security-Policy':
      `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' ws://${host}; ` +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store'
  };
}

/** Whether two texts are the same, in a time that does not tell where they differ. */
function isSame(a, b) {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

class InspectorServer {
  /**
   * @param {Record<string, object>} routes by path: the token and `maxPayload` of its WebSocket connections;
   *   `fromPage`, whether their origin must be this server, or none, as of programs; and `open`, which is
   *   called with a Peer and returns its handlers
   */
  constructor(routes) {
    this._routes = routes;
    this._files = readPage();
    this._peers = new Set();
    this._server = http.createServer((request, response) => this._answer(request, response));
    this._server.on('upgrade', (request, socket, head) => this._upgrade(request, socket, head));
  }

  /** @returns {Promise<number>} the port */
  async listen(port) {
    await once(this._server.listen(port, '127.0.0.1'), 'listening');
    return this._server.address().port;
  }

  async close() {
    for (const peer of this._peers) peer.close(1001);
    this._server.closeAllConnections();
    await new Promise((resolve) => this._server.close(resolve));
  }

  _hosts() {
    const { port } = this._server.address();
    return [`127.0.0.1:${port}`, `localhost:${port}`];
  }

  _answer(request, response) {
    const { host } = request.headers;
    const refuse = (status, text) => {
      response.writeHead(status, { 'Content-Type': 'text/plain', ...headersFor('127.0.0.1') }).end(`${text}\n`);
    };
    if (!this._hosts().includes(host)) return refuse(421, 'This server answers to 127.0.0.1 and localhost only.');
    if (request.method !== 'GET') return refuse(405, 'GET only.');
    const file = this._files.get(request.url.split('?')[0]);
    if (file === undefined) return refuse(404, 'There is no such file.');
    response.writeHead(200, { 'Content-Type': `${file.type}; charset=utf-8`, ...headersFor(host) });
    return response.end(file.body);
  }

  /** @returns {number} the status that refuses a handshake; 101 if it may be accepted */
  _statusOf(request, route, token) {
    const { host, origin } = request.headers;
    if (!this._hosts().includes(host)) return 421;
    if (route === undefined) return 404;
    if (route.fromPage ? origin !== `http://${host}` : origin !== undefined) return 403;
    return isSame(token, route.token) ? 101 : 403;
  }

  _upgrade(request, socket, head) {
    socket.on('error', () => {});
    // Not new URL(): it throws for some request targets.
    const [pathname, query = ''] = request.url.split('?');
    const route = Object.hasOwn(this._routes, pathname) ? this._routes[pathname] : undefined;
    const status = this._statusOf(request, route, new URLSearchParams(query).get('token') ?? '');
    if (status !== 101) {
      refuseUpgrade(socket, status);
      return;
    }
    if (acceptUpgrade(request, socket, head) === null) return;
    socket.setTimeout(0);
    let handlers;
    const peer = new Peer(socket, {
      role: 'server',
      maxPayload: route.maxPayload,
      onMessage: (message) => handlers.onMessage(message),
      onClose: () => {
        this._peers.delete(peer);
        handlers.onClose();
      }
    });
    this._peers.add(peer);
    handlers = route.open(peer);
  }
}

/** @returns {string} a secret that nobody can guess */
const createToken = () => randomBytes(16).toString('base64url');

module.exports = { InspectorServer, createToken };
