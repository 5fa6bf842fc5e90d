'use strict';

const { once } = require('node:events');
const { createRequire } = require('node:module');
const express = require('express');
const expressWs = require('express-ws');
const ws = require('ws');
const { converse, warnings } = require('./client.cjs');
const { note, openedOf } = require('./exchange.cjs');

const { app } = expressWs(express());
app.ws('/echo', (socket) => {
  // ws 7 gives each message as it was sent.
  socket.on('message', (data, isBinary = typeof data !== 'string') => socket.send(data, { binary: isBinary }));
});

async function main() {
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const received = await converse(`ws://127.0.0.1:${server.address().port}/echo`);
  const { version } = createRequire(require.resolve('express-ws'))('ws/package.json');
  const copies = ws.report?.().copies.map((copy) => `${copy.version} ${copy.replaced ? 'replaced' : 'left'}`);
  note({ received, told: { warnings, version, copies: copies?.sort() ?? [] } }, openedOf(ws));
  process.exit();
}

main();
