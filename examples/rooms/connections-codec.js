'use strict';

// Connections of framemask. connections-ws.js does the same on framemask/ws.

const { Connection, prepare } = require('framemask');

/** The arguments and the result are those of connections-ws.js. */
function createUpgrade({ maxPayload, maxPending, closeTimeout, heartbeat }, open) {
  // All connections share these. Their `context` is what `open` returns.
  const options = {
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
      this.context.onClose();
    }
  };
  return (request, socket, head) => {
    const connection = Connection.accept(request, socket, head, options);
    if (connection !== null) connection.context = open(connection);
  };
}

module.exports = { createUpgrade, frameOnce: prepare };
