'use strict';

// A WebSocket client (RFC 6455) on a Connection of framemask.
//
//     node examples/client.js [url]
//
// It sends a few messages to the url (default ws://127.0.0.1:8080) of an echo server, and prints
// the answers.

const { Connection } = require('framemask');

const [url = 'ws://127.0.0.1:8080'] = process.argv.slice(2);
let replies = 0;

const options = {
  maxPayload: 1024 * 1024,
  heartbeat: 30_000, // a server that is silent for a minute is gone
  onMessage(data, isBinary) {
    console.log(isBinary ? 'binary' : 'text', data);
    if (++replies === 3) this.close(1000, 'Thank you');
  },
  onPong(payload) {
    console.log('pong', payload.toString());
  },
  onError(error) {
    console.error(error.message);
  },
  onClose(code, reason) {
    console.log('closed', code, reason);
    process.exitCode = code === 1000 ? 0 : 1;
  }
};

function talk(connection) {
  connection.send('Hello');
  connection.send('Καλημέρα κόσμε');
  connection.send(Buffer.from([0xde, 0xad, 0xbe, 0xef]));
  connection.ping('are you there?');
}

/** No handler is called for a connection that has not opened. */
function fail(error) {
  options.onError(error);
  options.onClose(1006, '');
}

Connection.connect(url, options).then(talk, fail);
