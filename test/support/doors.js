'use strict';

// Both doors for the tests of lib/streams: the WebSockets of framemask/ws, and Connections as
// lib/streams knows them, with the events and options of ws.

const { EventEmitter } = require('node:events');
const { Connection, overHttp2 } = require('../..');
const { kPeer } = require('../../lib/streams/peer');
const framemask = require('../../ws.js');
const { IMPLEMENTATIONS } = require('./websockets');

/** The options of a Connection for those of ws. */
function optionsOf({ perMessageDeflate, streamFrom, maxPayload, maxFragments } = {}) {
  return {
    deflate: perMessageDeflate,
    partsFrom: streamFrom,
    maxPayload: maxPayload === 0 ? Infinity : maxPayload,
    maxFragments,
    maxBackpressure: Infinity,
    onPing(data) {
      this[kPeer].emit('ping', data);
    },
    // Else an error without a listener is a warning.
    onError() {}
  };
}

/** A Connection as lib/streams knows it, with more of the API of ws. */
function toPeer(connection) {
  const peer = connection[kPeer];
  return Object.assign(peer, {
    OPEN: 1,
    _socket: peer.socket,
    ping: (data) => connection.ping(data),
    [Symbol.asyncIterator]: () => connection[Symbol.asyncIterator]()
  });
}

class ConnectionServer extends EventEmitter {
  constructor({ server, ...options }) {
    super();
    this.clients = new Set();
    this.address = () => server.address();
    const shared = optionsOf(options);
    server.on('upgrade', (request, socket, head) => {
      const peer = toPeer(Connection.accept(request, socket, head, shared));
      this.clients.add(peer);
      peer.once('close', () => this.clients.delete(peer));
      this.emit('connection', peer, request);
    });
  }

  close() {}
}

async function connect(url, { http2, rejectUnauthorized, ...options } = {}) {
  const [target, socketPath] = url.startsWith('ws+unix:') ? ['ws://localhost/', url.slice(8, -2)] : [url];
  const given = { ...optionsOf(options), rejectUnauthorized, socketPath };
  return toPeer(await Connection.connect(target, { ...given, ...(http2 && { createConnection: overHttp2() }) }));
}

const DOORS = {
  'framemask/ws': framemask,
  Connection: { ...framemask, WebSocketServer: ConnectionServer, connect }
};

/** Runs a test with each door. */
function forEachDoor(t, title, ...rest) {
  const [body, options = {}] = rest.reverse();
  for (const [door, implementation] of Object.entries(DOORS))
    t.test(`${title}, ${door}`, options, (t) => body(t, implementation, door));
}

/** And ws itself. */
const ALL = { ws: IMPLEMENTATIONS.ws, ...DOORS };

module.exports = { ALL, DOORS, forEachDoor };
