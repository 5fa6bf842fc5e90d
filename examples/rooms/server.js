'use strict';

// A chat server: rooms, a page, and as many processes as are wanted. docs/scaling.md says more.

const { timingSafeEqual, createHash } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { Chat, LIMITS } = require('./chat');
const { Metrics } = require('./metrics');
const { MemoryBus } = require('./bus-memory');

const USAGE = `usage: node examples/rooms/server.js [--codec] [--help]

The connections are framemask/ws's, or with --codec framemask's own. Environment variables:

  PORT       default: 8080
  HOST       the address to listen on (default: 127.0.0.1)
  REDIS_URL  processes with the same Redis share their rooms; needs npm install redis
  TOKEN      a secret that clients must name: open the page with #token after its address
  TRACING    off: /metrics does not count frames`;

const PAGE = path.join(__dirname, 'page');
const FILES = new Set(fs.readdirSync(PAGE).map((name) => path.join(PAGE, name)));
const TYPES = { '.html': 'text/html', '.mjs': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-cache'
};

/** The chat over HTTP. */
class RoomsServer {
  /** `tracing` says whether /metrics counts frames; `token` is a secret that clients must name. */
  constructor({ connections = 'ws', bus = new MemoryBus(), limits = {}, tracing = true, token } = {}) {
    const { createConnections, frameOnce } = require(`./connections-${connections}`);
    this.limits = { ...LIMITS, ...limits };
    this.bus = bus;
    this.chat = new Chat({ bus, frameOnce, limits: this.limits });
    this.metrics = new Metrics(() => this._counts(), { tracing });
    this._token = token;
    this._connections = createConnections(this.limits, (connection) => this.chat.open(connection));
    this._isEnding = false;
    this.http = http.createServer((request, response) => this._answer(request, response));
    this.http.on('upgrade', (request, socket, head) => this._connect(request, socket, head));
  }

  /** Listens once the messages of before are there. @returns {Promise<number>} the port */
  async listen(port = 0, host = '127.0.0.1') {
    await this.chat.start();
    await once(this.http.listen(port, host), 'listening');
    return this.http.address().port;
  }

  _connect(request, socket, head) {
    const refused = this._refusal(request);
    if (refused === null) {
      this._connections.upgrade(request, socket, head);
      return;
    }
    socket.on('error', () => {});
    socket.end(`HTTP/1.1 ${refused}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
  }

  /** @returns {string | null} the status with which a connection is refused */
  _refusal({ url, headers: { host, origin } }) {
    // A page of another site could chat in the name of its reader. Programs send no Origin.
    if (origin !== undefined && hostOf(origin) !== host) return '403 Forbidden';
    const [pathname, ...query] = url.split('?'); // new URL() throws for some, such as //
    if (pathname !== '/chat') return '404 Not Found';
    // Pages can't set headers of a WebSocket. A program of yours would look a session up here.
    const token = new URLSearchParams(query.join('?')).get('token');
    if (this._token !== undefined && !isSame(token, this._token)) return '401 Unauthorized';
    // The request of a connection that was open before close() may come after it.
    return this._isEnding ? '503 Service Unavailable' : null;
  }

  _answer({ method, url }, response) {
    const respond = (status, body, type = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { ...HEADERS, 'Content-Type': type }).end(body);
    };
    const file = path.join(PAGE, url === '/' ? 'index.html' : url);
    if (method !== 'GET') respond(405, 'Only GET\n');
    else if (FILES.has(file)) respond(200, fs.readFileSync(file), `${TYPES[path.extname(file)]}; charset=utf-8`);
    // For a load balancer: whether clients should be sent here.
    else if (url === '/health') respond(...(this.bus.isReady ? [200, 'ok\n'] : [503, 'no Redis\n']));
    // Keep this path from the outside where the page is public.
    else if (url === '/metrics') this.metrics.format().then((text) => respond(200, text, this.metrics.contentType));
    else respond(404, 'Not found\n');
  }

  _counts() {
    const { members, rooms, history, counts } = this.chat;
    return { connections: members.size, rooms: rooms.size, remembered: history.length, ...counts };
  }

  /**
   * Ends without losing anything: no new connections, a Close frame to one after the other, which
   * sends them to other processes; then what they have said is published.
   */
  async shutDown() {
    this._isEnding = true;
    const closed = once(this.http.close(), 'close');
    this.http.closeIdleConnections();
    await this._connections.shutDown({ within: this.limits.shutDownTime, reason: 'The server restarts' });
    // Those without a WebSocket.
    this.http.closeAllConnections();
    await closed;
    this.chat.stop();
    await this.bus.close();
    this.metrics.stop();
  }
}

/** Whether two secrets are the same; the time that it takes tells nothing about them. */
function isSame(given, secret) {
  const [one, other] = [given ?? '', secret].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(one, other);
}

/** @returns {string | null} the host and port of an origin */
const hostOf = (origin) => (URL.canParse(origin) ? new URL(origin).host : null);

async function main() {
  const { values } = parseArgs({ options: { codec: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const { HOST, PORT = '8080', REDIS_URL, TOKEN, TRACING } = process.env;
  let bus;
  if (REDIS_URL) {
    const { RedisBus } = require('./bus-redis'); // needs the package redis
    bus = new RedisBus(REDIS_URL, (error) => console.error(`Redis: ${error.message || error.code}`));
  }
  const connections = values.codec ? 'codec' : 'ws';
  const server = new RoomsServer({ connections, bus, tracing: TRACING !== 'off', token: TOKEN });
  const port = await server.listen(Number(PORT), HOST);
  console.log(`Chat on http://${HOST ?? '127.0.0.1'}:${port}`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.shutDown());
}

if (require.main === module) {
  main().catch((error) => {
    console.error(error.message);
    process.exit(1);
  });
}

module.exports = { RoomsServer };
