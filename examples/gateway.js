'use strict';

// A gateway between WebSocket clients and a server, the upstream: docs/gateway.md.
//
//     PORT=8080 node examples/gateway.js --upstream ws://127.0.0.1:9000 [--http2]

const http = require('node:http');
const { parseArgs } = require('node:util');
const { Connection, overHttp2, refuseUpgrade, shutDown } = require('framemask');

/** The headers of a request that the upstream gets, and of its refusal that the client gets. */
const ASKED = ['authorization', 'cookie', 'origin', 'user-agent', 'accept-language'];
const REFUSED = ['www-authenticate', 'retry-after', 'location', 'set-cookie'];
const pick = (headers, names) => Object.fromEntries(names.map((name) => [name, headers?.[name]]));
/** The answers to errors, 502 to others: the second one is of subprotocols that are no tokens. */
const STATUS = { FRAMEMASK_ERR_HANDSHAKE_TIMEOUT: 504, ERR_INVALID_ARG_TYPE: 400 };

/** A handler that acts on the other side. If that one reads more slowly, this one has to wait. */
const passing = (act) =>
  function (...args) {
    const { peer } = this.context;
    if (act(peer, ...args) === false && peer.readyState === Connection.OPEN) this.pause();
  };

/** The other side has ended. Its loss, 1006, may not be sent (RFC 6455 section 7.4.1). */
function endPeer(peer, code, reason) {
  peer.resume(); // the answer must be heard
  peer.close(code !== 1006 ? code : peer.role === 'server' ? 1014 : 1011, reason);
}

const SHARED = {
  text: 'buffer',
  partsFrom: 65_536, // longer messages pass as they come
  autoPong: false, // the other side answers
  heartbeat: 30_000,
  onMessage: passing((peer, data, binary) => peer.send(data, { binary, owned: true })),
  onPart: passing((peer, data, binary, fin) => peer.send(data, { binary, fin, owned: true })),
  onPing: passing((peer, data) => peer.ping(data)),
  onPong: passing((peer, data) => peer.pong(data)),
  onDrain: passing((peer) => peer.resume()),
  onError: passing((peer, { code }) => endPeer(peer, 1006, code)),
  onClose: passing(endPeer)
};

/** `hook(peer, data, isBinary)` passes messages itself; docs/gateway.md tells of the others. */
function createGateway(url, { login, hook, client, upstream } = {}) {
  const clients = new Set();
  const whole = hook && { partsFrom: Infinity, maxPayload: 2 ** 20, onMessage: passing(hook) };
  const near = { ...SHARED, maxPayload: 2 ** 20, ...whole, ...client };
  const far = { ...SHARED, maxPayload: Infinity, maxFragments: Infinity, ...whole, ...upstream };
  const server = http.createServer((_, response) => response.writeHead(404).end());
  server.on('upgrade', async (request, socket, head) => {
    socket.on('error', () => {}); // the client may leave meanwhile
    const { url: path, headers: sent } = request;
    try {
      const via = [sent['x-forwarded-for'], socket.remoteAddress].filter(Boolean).join(', ');
      const headers = { ...pick(sent, ASKED), ...(await login?.(request)), 'X-Forwarded-For': via };
      const protocols = sent['sec-websocket-protocol']?.split(/[ \t]*,[ \t]*/);
      const peer = await Connection.connect(url, { ...far, context: {}, path, protocols, headers });
      const own = { context: { peer }, protocol: peer.protocol };
      const one = Connection.accept(request, socket, head, near, own);
      peer.context.peer = one ?? peer;
      if (one === null) return peer.terminate();
      clients.add(one);
      socket.once('close', () => clients.delete(one));
      // Each side may wait for the other to read; heartbeats stand still in a pause.
      for (const it of [one, peer]) it.socket.setTimeout(near.heartbeat * 10, () => it.terminate());
      if (!server.listening) one.close(1012); // since `shutDown`
    } catch ({ statusCode, code, headers }) {
      const status = statusCode > 299 ? statusCode : (STATUS[code] ?? 502);
      refuseUpgrade(socket, status, pick(headers, REFUSED));
    }
  });
  const end = (within = 10_000) => {
    server.close().closeAllConnections();
    return shutDown(clients, { within });
  };
  return Object.assign(server, { clients, shutDown: end });
}

if (require.main === module) {
  const options = { upstream: { type: 'string' }, http2: { type: 'boolean' } };
  const { upstream, http2 } = parseArgs({ options }).values;
  const createConnection = http2 ? overHttp2() : undefined;
  const server = createGateway(new URL(upstream), { upstream: { createConnection } });
  server.listen(process.env.PORT ?? 8080, '127.0.0.1', () => console.log(server.address().port));
  process.once('SIGTERM', () => server.shutDown());
}

module.exports = { createGateway };
