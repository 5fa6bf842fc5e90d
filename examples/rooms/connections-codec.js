'use strict';

// Connections of framemask. connections-ws.js does the same on framemask/ws.

const { Connection, prepare, shutDown } = require('framemask');

/** The arguments and the result are those of connections-ws.js. */
function createConnections({ maxPayload, maxPending, closeTimeout, heartbeat }, open) {
  const connections = new Set();
  // All connections share these. Their `context` is what `open` returns.
  const shared = {
    maxPayload,
    maxBackpressure: maxPending,
    closeTimeout,
    heartbeat,
    onMessage(data, isBinary) {
      this.context.onMessage(data, isBinary);
    },
    onError(error) {
      this.context.onError(error);
    },
    onClose() {
      connections.delete(this);
      this.context.onClose();
    }
  };
  return {
    upgrade(request, socket, head) {
      const connection = Connection.accept(request, socket, head, shared);
      if (connection === null) return;
      connection.context = open(connection);
      connections.add(connection);
    },
    shutDown: (options) => shutDown(connections, options)
  };
}

module.exports = { createConnections, frameOnce: prepare };
