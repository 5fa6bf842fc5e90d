'use strict';

// Which reads are shared, and which are events. Reads.readInto of test/support expects the kind for
// the sockets of the other tests.

const t = require('tap');
const net = require('node:net');
const { once } = require('node:events');
const { Duplex } = require('node:stream');
const { Decoder } = require('../../index.js');
const { readInto } = require('../support/read-into');
const { Reads, frames, isNode } = require('../support/socket-pairs');

t.test('a stream that is no socket reads as ever', async (t) => {
  const stream = new Duplex({ read() {}, write() {} });
  const seen = [];
  const decoder = new Decoder({ role: 'server', borrowed: true, onMessage: (data) => seen.push(data) });
  const reads = readInto(stream, decoder, () => seen.push('read'));
  t.equal(reads, 'events');
  stream.push(frames('one', 'two'));
  await new Promise(setImmediate);
  t.same(seen, ['one', 'two', 'read']);
});

const onread = { buffer: Buffer.alloc(1024), callback: () => true };

for (const [title, expected, change] of [
  ['as net.connect made it', isNode ? 'shared' : 'events', (socket) => socket],
  ['that is not connected', 'events', () => new net.Socket()],
  ['with a push of its own', 'events', (socket) => Object.assign(socket, { push: () => true })],
  ['with onread', 'events', ({ remotePort }) => net.connect({ port: remotePort, host: '127.0.0.1', onread })]
]) {
  t.test(`a socket ${title}: ${expected}`, async (t) => {
    const { client } = await new Reads(t, 'tcp', 'shared').connect();
    const socket = change(client);
    if (socket.connecting) await once(socket, 'connect');
    t.teardown(() => socket.destroy());
    t.equal(readInto(socket, new Decoder({ role: 'server', borrowed: true, onPing() {} })), expected);
  });
}
