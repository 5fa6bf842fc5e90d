'use strict';

// The ends of a connection that are tested: the codec, in examples/deflate.js, and framemask/ws, whose
// messages are whole or streams.

const { once } = require('node:events');
const deflate = require('../../../examples/deflate');
const { WebSocket, WebSocketServer, sendStream } = require('../../../ws.js');

const HOST = '127.0.0.1';
const NO_LIMIT = { maxPayload: 2 ** 27 };
/** The length of a stream's chunks. */
const CHUNK = 10_000;

/**
 * @typedef {object} Connection
 * @property {string} agreed the header Sec-WebSocket-Extensions that both have agreed on
 * @property {(data: string | Buffer, isBinary: boolean) => void} send
 * @property {() => void} close
 * @property {() => number} received bytes on the wire
 */

/** @returns {Connection} one of examples/deflate.js */
const ofCodec = (connection) => ({
  agreed: connection.deflate?.header ?? '',
  send: (data, isBinary) => connection.send(data, isBinary),
  close: () => connection.close(1000),
  received: () => connection.socket.bytesRead
});

/** What examples/deflate.js takes: the events of a connection, for an exchange. */
const handlersFor = (exchange) => ({
  ...NO_LIMIT,
  onMessage(data, isBinary) {
    exchange.onMessage(ofCodec(this), data, isBinary);
  },
  onClose: (code, error) => exchange.onClose(code, error)
});

/** The options of the codec. */
const deflateOptions = ({ takeover, bits }) => ({
  contextTakeover: takeover,
  serverWindowBits: bits,
  clientWindowBits: bits,
  threshold: 0
});

const codec = {
  name: 'the codec',
  async serve(parameters, exchange) {
    const options = deflateOptions(parameters);
    const server = deflate.createServer({ ...handlersFor(exchange), deflate: options }).listen(0, HOST);
    await once(server, 'listening');
    return { port: server.address().port, close: () => server.close() };
  },
  async connect(url, parameters, exchange) {
    const options = deflateOptions(parameters);
    exchange.begin(ofCodec(await deflate.connect(url, { ...handlersFor(exchange), deflate: options })));
  }
};

/** The options of ws for the same. */
const optionsOf = ({ takeover, bits }) => {
  const windows = bits < 15 ? { serverMaxWindowBits: bits, clientMaxWindowBits: bits } : {};
  return { ...NO_LIMIT, perMessageDeflate: { ...windows, contextTakeover: takeover, threshold: 0 } };
};

/** The parameters, which ws keeps to itself, as a header. */
function agreedBy({ _extensions: extensions }) {
  const deflate = extensions['permessage-deflate'];
  if (deflate === undefined) return '';
  const parameters = Object.entries(deflate.params).filter(([, value]) => value !== false && value !== undefined);
  const shown = parameters.map(([name, value]) => (value === true ? name : `${name}=${value}`));
  return ['permessage-deflate', ...shown].join('; ');
}

/** How messages are sent, and heard by a function of their data. */
const BY_EVENTS = {
  options: {},
  send: (websocket, data, isBinary) => websocket.send(data, { binary: isBinary }),
  hear: (websocket, take) => websocket.on('message', take)
};

const BY_STREAMS = {
  options: { streamFrom: 0 },
  send: (websocket, data, isBinary) => sendStream(websocket, chunksOf(data), { binary: isBinary }),
  hear: (websocket, take) =>
    websocket.on('stream', (stream, isBinary) => {
      const parts = [];
      stream.on('data', (part) => parts.push(part));
      stream.on('end', () => take(Buffer.concat(parts), isBinary));
    })
};

function* chunksOf(data) {
  for (let at = 0; at < data.length; at += CHUNK) yield data.slice(at, at + CHUNK);
}

function listen(websocket, { send, hear }, exchange) {
  const connection = {
    get agreed() {
      return agreedBy(websocket);
    },
    send: (data, isBinary) => send(websocket, data, isBinary)?.catch(exchange.fail),
    close: () => websocket.close(1000),
    received: () => websocket._socket.bytesRead
  };
  let error = null;
  hear(websocket, (data, isBinary) => exchange.onMessage(connection, data, isBinary));
  websocket.on('error', (cause) => {
    error = cause;
  });
  websocket.on('close', (code) => exchange.onClose(code, error));
  return connection;
}

const ws = (name, way) => ({
  name,
  streams: way === BY_STREAMS,
  async serve(options, exchange) {
    const server = new WebSocketServer({ host: HOST, port: 0, ...optionsOf(options), ...way.options });
    server.on('connection', (websocket) => listen(websocket, way, exchange));
    await once(server, 'listening');
    return { port: server.address().port, close: () => server.close() };
  },
  async connect(url, options, exchange) {
    const websocket = new WebSocket(url, { ...optionsOf(options), ...way.options });
    const connection = listen(websocket, way, exchange);
    websocket.on('open', () => exchange.begin(connection));
  }
});

module.exports = { ENDS: [codec, ws('framemask/ws', BY_EVENTS), ws('framemask/ws, streams', BY_STREAMS)] };
