'use strict';

// The page's HTTP server, on 127.0.0.1. It answers only requests that name it as their host, so
// that no name that is made to point to 127.0.0.1 reaches it (DNS rebinding), and its data only to
// those who know its token.

const { randomBytes, timingSafeEqual } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { Connection, refuseUpgrade } = require('./framemask');

const PAGE = path.join(__dirname, '../page');
/** Bytes of a message that a program sends. */
const MAX_MESSAGE = 4 * 1024 * 1024;
/** Milliseconds. */
const CLOSE_TIMEOUT = 2000;
/** Characters of a reason, of which a Close frame takes 123 bytes. */
const MAX_REASON = 30;
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

/** @throws {Error} if the body is too long: all of it is read, so that the page reads the answer */
async function bodyOf(request, limit) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size <= limit) parts.push(part);
  }
  if (size > limit) throw new Error(`This is larger than ${limit} bytes`);
  return Buffer.concat(parts);
}

/** Gives a value of JSON to the handlers that are the connection's context. An error closes it. */
function onMessage(data) {
  // Some come until the other end answers a Close frame.
  if (this.readyState !== 1) return;
  try {
    const value = JSON.parse(data);
    this.context.onMessage?.(value);
  } catch (error) {
    this.close(1011, error.message.slice(0, MAX_REASON));
  }
}

class InspectorServer {
  /**
   * @param {Record<string, object>} routes by path: the token of its requests; `fromPage`, whether
   *   their origin must be this server, or none, as of programs; and `open`, which is called with a
   *   Connection, and returns its `onClose`, and its `onMessage` for values of JSON. One with
   *   `answer` takes POST, too: it is called with a value of JSON, a body of up to `maxBody` bytes,
   *   and a function that says whether the answer is still wanted. It returns the fields of JSON,
   *   or a `file` as an iterable
   */
  constructor(routes) {
    this._routes = routes;
    this._files = readPage();
    const connections = new Set();
    this._connections = connections;
    this._options = {
      maxPayload: MAX_MESSAGE,
      closeTimeout: CLOSE_TIMEOUT,
      onMessage,
      onClose() {
        connections.delete(this);
        this.context.onClose();
      }
    };
    this._server = http.createServer((request, response) => this._answer(request, response));
    this._server.on('upgrade', (request, socket, head) => this._upgrade(request, socket, head));
  }

  /** @returns {Promise<number>} the port */
  async listen(port) {
    await once(this._server.listen(port, '127.0.0.1'), 'listening');
    return this._server.address().port;
  }

  async close() {
    for (const connection of this._connections) connection.close(1001);
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
    if (request.method === 'POST') {
      const { route, status } = this._routeOf(request);
      if (status !== null || route.answer === undefined) return refuse(status ?? 405, 'Only the page asks.');
      return this._answerPage(request, response, route);
    }
    if (request.method !== 'GET') return refuse(405, 'GET only.');
    const file = this._files.get(request.url.split('?')[0]);
    if (file === undefined) return refuse(404, 'There is no such file.');
    response.writeHead(200, { 'Content-Type': `${file.type}; charset=utf-8`, ...headersFor(host) });
    return response.end(file.body);
  }

  /** Answers a request of the page: a line of JSON, and bytes. */
  async _answerPage(request, response, route) {
    const begin = (type) => response.writeHead(200, { 'Content-Type': type, ...headersFor(request.headers.host) });
    try {
      const body = await bodyOf(request, route.maxBody);
      const end = body.indexOf('\n');
      const asked = JSON.parse(body.subarray(0, end));
      const { file, ...json } = await route.answer(asked, body.subarray(end + 1), () => !response.destroyed);
      if (file === undefined) begin('application/json').end(JSON.stringify(json));
      else await pipeline(Readable.from(file), begin('application/octet-stream'));
    } catch (error) {
      if (response.headersSent) response.destroy();
      else begin('application/json').end(JSON.stringify({ error: error.message, at: error.at }));
    }
  }

  /** @returns the route of a request, and the status that refuses it, or null */
  _routeOf({ url, headers: { host, origin } }) {
    // Not new URL(): it throws for some request targets.
    const [pathname, query = ''] = url.split('?');
    const route = Object.hasOwn(this._routes, pathname) ? this._routes[pathname] : undefined;
    let status = null;
    if (!this._hosts().includes(host)) status = 421;
    else if (route === undefined) status = 404;
    else if (route.fromPage ? origin !== `http://${host}` : origin !== undefined) status = 403;
    else if (!isSame(new URLSearchParams(query).get('token') ?? '', route.token)) status = 403;
    return { route, status };
  }

  _upgrade(request, socket, head) {
    const { route, status } = this._routeOf(request);
    if (status !== null) {
      refuseUpgrade(socket, status);
      return;
    }
    const connection = Connection.accept(request, socket, head, this._options, { trace: false });
    if (connection === null) return;
    this._connections.add(connection);
    connection.context = route.open(connection);
  }
}

/** @returns {string} a secret that nobody can guess */
const createToken = () => randomBytes(16).toString('base64url');

module.exports = { InspectorServer, createToken };
