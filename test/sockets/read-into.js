'use strict';

// Which reads are shared, and which are events. Reads.readInto of test/support expects the kind for
// the sockets of the other tests.

const t = require('tap');
const net = require('node:net');
const { once } = require('node:events');
const { Duplex } = require('node:stream');
const { Decoder, readInto } = require('../../index.js');
const { until } = require('../support/promises');
const { Reads, frames, isNode } = require('../support/socket-pairs');

t.test('afterRead gets the socket, and the result of write', async (t) => {
  for (const kind of ['events', 'shared']) {
    const reads = new Reads(t, 'tcp', kind);
    const { socket, client } = await reads.connect();
    const calls = [];
    const afterRead = function (more) {
      calls.push(`${this === socket} ${more}`);
    };
    reads.readInto(socket, { afterRead, after: ([, text], decoder) => text === 'pause' && decoder.pause() });
    for (const [i, text] of ['text', 'pause'].entries()) {
      client.write(frames(text));
      await until(() => calls.length === i + 1);
    }
    t.same(calls, ['true true', 'true false'], kind);
  }
});

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

class Watching extends Decoder {
  write(chunk) {
    return super.write(chunk);
  }
}

const onread = { buffer: Buffer.alloc(1024), callback: () => true };

for (const [title, expected, change, Class = Decoder] of [
  ['as net.connect made it', isNode ? 'shared' : 'events', (socket) => socket],
  ['and a Decoder with a write of its own', 'events', (socket) => socket, Watching],
  ['that is not connected', 'events', () => new net.Socket()],
  ['with a push of its own', 'events', (socket) => Object.assign(socket, { push: () => true })],
  ['with onread', 'events', ({ remotePort }) => net.connect({ port: remotePort, host: '127.0.0.1', onread })]
]) {
  t.test(`a socket ${title}: ${expected}`, async (t) => {
    const { client } = await new Reads(t, 'tcp', 'shared').connect();
    const socket = change(client);
    if (socket.connecting) await once(socket, 'connect');
    t.teardown(() => socket.destroy());
    const reads = readInto(socket, new Class({ role: 'server', borrowed: true }), () => {});
    t.equal(reads, expected);
  });
}

t.test('arguments of a wrong type are refused', (t) => {
  const decoder = new Decoder({ role: 'server' });
  const socket = new net.Socket();
  for (const [args, message] of [
    [[undefined, decoder, () => {}], /socket/],
    [[socket, { write() {} }, () => {}], /decoder/],
    [[socket, decoder], /afterRead/]
  ]) {
    t.throws(() => readInto(...args), { code: 'ERR_INVALID_ARG_TYPE', message });
  }
  t.equal(socket.listenerCount('data'), 0, 'nothing listens');
  t.end();
});
