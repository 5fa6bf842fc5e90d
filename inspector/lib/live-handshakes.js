'use strict';

// The addresses of a program's connections, which records do not have: a notice of each handshake,
// and of the end of its connection. Of clients Node.js publishes the request; of servers the event
// 'upgrade' of http tells.

const { subscribe, unsubscribe } = require('node:diagnostics_channel');
const http = require('node:http');
const https = require('node:https');
const { frameId } = require('./framemask');

const CHANNEL = 'http.client.request.start';

/** @returns {() => void} ends it */
function watchHandshakes(send) {
  function tell(socket, handshake) {
    const id = frameId();
    send({ handshake: id, ...handshake });
    socket.once('close', () => send({ closed: id }));
  }

  function onRequest({ request }) {
    const key = request.getHeader('sec-websocket-key');
    if (key === undefined) return;
    const isSecure = request.protocol === 'https:';
    request.once('socket', (socket) => {
      tell(socket, { role: 'client', key, isSecure, host: request.getHeader('host'), path: request.path });
    });
  }

  const stops = [http, https].map(({ Server: { prototype } }) => {
    const { emit } = prototype;
    function emitAndTell(event, request, socket, ...rest) {
      if (event === 'upgrade') {
        const { 'sec-websocket-key': key, host } = request.headers;
        const client = `${socket.remoteAddress}:${socket.remotePort}`;
        const isSecure = prototype !== http.Server.prototype;
        tell(socket, { role: 'server', key, isSecure, host, path: request.url, client });
      }
      return emit.call(this, event, request, socket, ...rest);
    }
    prototype.emit = emitAndTell;
    return () => {
      if (prototype.emit === emitAndTell) delete prototype.emit;
    };
  });
  subscribe(CHANNEL, onRequest);
  return () => {
    unsubscribe(CHANNEL, onRequest);
    for (const stop of stops) stop();
  };
}

module.exports = { watchHandshakes };
