'use strict';

// An end of a pair, for the check to kill, stop or reset:
//
//     node end.js client URL
//     node end.js server        prints its port; with `mute`, it never answers a handshake
//
// It does what its messages say, and tells each by a message.

const http = require('node:http');
const { Connection } = require('../../../index');

const [role, argument] = process.argv.slice(2);

/** The connection that is open. */
let connection = null;
const tell = (event) => process.send(event);
const options = {
  maxPayload: Infinity,
  maxBackpressure: Infinity,
  onPart: () => {},
  onError: () => {},
  onClose: (code) => tell(`closed ${code}`)
};

const ACTS = {
  begin: () => connection.send(Buffer.alloc(1000), { fin: false }),
  pause: () => connection.pause(),
  close: () => connection.close(4000, 'bye'),
  reset: () => connection.socket.resetAndDestroy()
};

process.on('message', (act) => {
  ACTS[act]();
  tell(act);
});

function opened(one) {
  connection = one;
  tell('open');
}

if (role === 'client') Connection.connect(argument, options).then(opened, ({ message }) => tell(message));
else {
  const server = http.createServer().on('upgrade', (...upgrade) => {
    if (argument === 'mute') tell('asked');
    else opened(Connection.accept(...upgrade, options));
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
}
