'use strict';

// Connections on framemask's codec: node:http for the handshake, a Decoder and an Encoder for the
// frames. connections-ws.js does the same on framemask/ws.

const { Decoder, Encoder, acceptUpgrade, prepare, readInto } = require('framemask');

const kConnection = Symbol('connection');

// All connections share these handlers. `this` is the decoder, `context` the connection.
const frameHandlers = {
  onMessage(data, isBinary) {
    this.context.isAlive = true;
    this.context.handlers.onMessage(data, isBinary);
  },
  onPing(payload) {
    const connection = this.context;
    // Pongs that nobody reads would fill the memory.
    if (connection.pending > connection.limits.maxPending) connection.drop();
    else connection.encoder.pong(payload);
  },
  onPong() {
    this.context.isAlive = true;
  },
  onClose(code) {
    this.context.encoder.close(code);
  },
  onError(error) {
    this.context.encoder.close(error.closeCode);
  }
};

/** A connection whose handshake is done. connections-ws.js has a class of the same shape. */
class Connection {
  constructor(socket, limits) {
    const trace = {}; // the Decoder and the Encoder report as one connection
    this.isAlive = true;
    this.socket = socket;
    this.limits = limits;
    this.handlers = null;
    this.closeTimer = null;
    this.decoder = new Decoder({
      role: 'server',
      maxPayload: limits.maxPayload,
      borrowed: true,
      trace,
      context: this,
      ...frameHandlers
    });
    // What one turn of the event loop sends leaves in one write.
    this.encoder = new Encoder({ role: 'server', recycle: true, writable: socket, trace });
  }

  /** The bytes that wait for the client to read them. */
  get pending() {
    return this.socket.writableLength + this.encoder.pending;
  }

  /** Sends a message that has been framed once, for all members of a room. */
  send(message) {
    this.encoder.addPrepared(message);
  }

  sendText(text) {
    this.encoder.text(text);
  }

  ping() {
    this.encoder.ping();
  }

  /** Starts the closing handshake (section 7.1.2), and drops a client that does not end it. */
  close(code, reason) {
    this.encoder.close(code, reason);
    this.limitClosing();
  }

  /** Ends the connection at once. */
  drop() {
    this.decoder.stop();
    this.socket.destroy();
  }

  /** Ends our half: a Close frame or an error has come, or the client has ended its half. */
  end() {
    this.limitClosing();
    this.encoder.flush(); // nothing is sent after socket.end()
    this.socket.end();
  }

  limitClosing() {
    this.closeTimer ??= setTimeout(destroy, this.limits.closeTimeout, this.socket);
  }
}

// All connections share these listeners. `this` is the socket.

function afterRead() {
  if (this[kConnection].decoder.closed) this[kConnection].end();
}

function onEnd() {
  this[kConnection].end();
}

function onClose() {
  const connection = this[kConnection];
  clearTimeout(connection.closeTimer);
  connection.decoder.stop();
  connection.handlers.onEnd();
}

function destroy(socket) {
  socket.destroy();
}

/** The arguments and the result are those of connections-ws.js; `maxPending` is in bytes. */
function createUpgrade(limits, open) {
  return (request, socket, head) => {
    socket.on('error', () => {}); // the connection was lost; 'close' follows
    if (acceptUpgrade(request, socket, head) === null) return;
    const connection = new Connection(socket, limits);
    connection.handlers = open(connection);
    socket[kConnection] = connection;
    socket.on('end', onEnd).on('close', onClose);
    readInto(socket, connection.decoder, afterRead);
  };
}

module.exports = { createUpgrade, frameOnce: prepare };
