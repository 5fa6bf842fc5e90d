'use strict';

// The client process that broadcast.js and ws.js fork. Its clients read everything, and report when
// the expected number of bytes has arrived.

const { once } = require('node:events');
const net = require('node:net');

const { connect } = require('./raw-client');

process.once('message', async ({ port, controlPort, clients }) => {
  const control = net.connect(controlPort, '127.0.0.1');
  await once(control, 'connect');
  let expected = Number.POSITIVE_INFINITY;
  let left = expected;
  process.on('message', ({ bytes }) => {
    expected = bytes;
    left = bytes;
    process.send({ ready: true });
  });
  const onBytes = (length) => {
    left -= length;
    if (left > 0) return;
    left += expected;
    control.write('.');
  };
  for (let i = 0; i < clients; i++) await connect(port, onBytes);
  process.send({ ready: true });
});
