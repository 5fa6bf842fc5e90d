'use strict';

// The ends of a connection that are tested: a Connection, and framemask/ws, whose messages are
// whole or streams.

const { EventEmitter, once } = require('node:events');
const http = require('node:http');
const { Connection } = require('../../../index.js');
const { WebSocket, WebSocketServer, sendStream } = require('../../../ws.js');
const { listen } = require('../../support/free-port');

const NO_LIMIT = { maxPayload: 2 ** 27 };
/** The length of a stream's chunks. */
const CHUNK = 10_000;

/**
 * It emits 'message' with the data and whether it is binary, 'close' with the code, and 'error'.
 *
 * @typedef {EventEmitter & { agreed: string, received: number, send: (data: string | Buffer,
 *   isBinary: boolean) => void, close: () => void }} Tested `agreed` is the header
 *   Sec-WebSocket-Extensions that both have agreed on, `received` counts bytes on the wire
 */

/** On a Connection, which a server has with its first message. */
class CodecConnection extends EventEmitter {
  constructor({ takeover, bits }) {
    super();
    const self = this;
    this.options = {
      ...NO_LIMIT,
      deflate: { contextTakeover: takeover, serverWindowBits: bits, clientWindowBits: bits, threshold: 0 },
      text: 'buffer',
      onMessage(data, isBinary) {
        self.inner = this;
        self.emit('message', data, isBinary);
      },
      onError: (error) => this.emit('error', error),
      onClose: (code) => this.emit('close', code)
    };
  }

  get agreed() {
    return this.inner.deflate?.header ?? '';
  }

  get received() {
    return this.inner.socket.bytesRead;
  }

  send(data) {
    this.inner.send(data);
  }

  close() {
    this.inner.close(1000);
  }
}

const codec = {
  name: 'a Connection',
  async listen(parameters) {
    const connection = new CodecConnection(parameters);
    const server = http.createServer();
    server.on('upgrade', (request, socket, head) => Connection.accept(request, socket, head, connection.options));
    return { port: await listen(server), close: () => server.close(), connection };
  },
  async connect(url, parameters) {
    const connection = new CodecConnection(parameters);
    connection.inner = await Connection.connect(url, connection.options);
    return connection;
  }
};

class WsConnection extends EventEmitter {
  constructor(websocket, streams) {
    super();
    this.websocket = websocket;
    this.streams = streams;
    for (const event of ['message', 'error', 'close']) websocket.on(event, (...args) => this.emit(event, ...args));
    websocket.on('stream', (stream, isBinary) => {
      const parts = [];
      stream.on('data', (part) => parts.push(part));
      stream.on('end', () => this.emit('message', Buffer.concat(parts), isBinary));
    });
  }

  /** The parameters, which ws keeps to itself, as a header. */
  get agreed() {
    const { params = null } = this.websocket._extensions['permessage-deflate'] ?? {};
    if (params === null) return '';
    const set = Object.entries(params).filter(([, value]) => value !== false && value !== undefined);
    return ['permessage-deflate', ...set.map(([name, value]) => (value === true ? name : `${name}=${value}`))].join(
      '; '
    );
  }

  get received() {
    return this.websocket._socket.bytesRead;
  }

  send(data, isBinary) {
    if (!this.streams) return this.websocket.send(data, { binary: isBinary });
    sendStream(this.websocket, chunksOf(data), { binary: isBinary }).catch((error) => this.emit('error', error));
  }

  close() {
    this.websocket.close(1000);
  }
}

function* chunksOf(data) {
  for (let at = 0; at < data.length; at += CHUNK) yield data.slice(at, at + CHUNK);
}

function ws(name, streams) {
  const optionsOf = ({ takeover, bits }) => {
    const windows = bits < 15 ? { serverMaxWindowBits: bits, clientMaxWindowBits: bits } : {};
    const perMessageDeflate = { ...windows, contextTakeover: takeover, threshold: 0 };
    return { ...NO_LIMIT, perMessageDeflate, ...(streams && { streamFrom: 0 }) };
  };
  return {
    name,
    streams,
    async listen(parameters) {
      const server = new WebSocketServer({ host: '127.0.0.1', port: 0, ...optionsOf(parameters) });
      const connection = once(server, 'connection').then(([websocket]) => new WsConnection(websocket, streams));
      await once(server, 'listening');
      return { port: server.address().port, close: () => server.close(), connection };
    },
    async connect(url, parameters) {
      const websocket = new WebSocket(url, optionsOf(parameters));
      await once(websocket, 'open');
      return new WsConnection(websocket, streams);
    }
  };
}

module.exports = { ENDS: [codec, ws('framemask/ws', false), ws('framemask/ws, streams', true)] };
