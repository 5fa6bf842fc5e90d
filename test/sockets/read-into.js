'use strict';

const t = require('tap');
const net = require('node:net');
const { once } = require('node:events');
const { Duplex } = require('node:stream');
const { Decoder, Encoder, readInto } = require('../../index.js');

/** A server whose sockets are given to `accept`, and a client that is connected to it. */
async function connect(t, accept) {
  const server = net.createServer(accept).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = net.connect(server.address().port, '127.0.0.1');
  t.teardown(() => {
    client.destroy();
    server.close();
  });
  await once(client, 'connect');
  return client;
}

/** @returns {Buffer} masked text frames */
function textFrames(...texts) {
  const encoder = new Encoder({ role: 'client' });
  for (const text of texts) encoder.text(text);
  return Buffer.concat(encoder.take());
}

const isNode = process.versions.bun === undefined && process.versions.deno === undefined;

for (const borrowed of [true, false]) {
  t.test(`what a socket reads is decoded, ${borrowed ? 'borrowed' : 'not borrowed'}`, async (t) => {
    const seen = [];
    const done = new Promise((resolve) => {
      connect(t, (socket) => {
        const decoder = new Decoder({
          role: 'server',
          borrowed,
          onMessage(data) {
            seen.push(data);
            if (data === 'last') resolve();
          }
        });
        const shared = readInto(socket, decoder, function (more) {
          if (this !== socket || more !== true) t.fail('afterRead gets the socket and what write returned');
        });
        t.equal(shared, borrowed && isNode ? 'shared' : 'events', 'reads are shared if chunks are borrowed');
      }).then(async (client) => {
        client.write(textFrames('first', 'é', 'x'.repeat(100_000)));
        client.write(textFrames('last'));
      });
    });
    await done;
    t.same(seen, ['first', 'é', 'x'.repeat(100_000), 'last']);
  });
}

t.test('a stream that is no socket reads as ever', async (t) => {
  const stream = new Duplex({ read() {}, write() {} });
  const seen = [];
  const decoder = new Decoder({ role: 'server', borrowed: true, onMessage: (data) => seen.push(data) });
  t.equal(
    readInto(stream, decoder, () => seen.push('read')),
    'events'
  );
  stream.push(textFrames('one', 'two'));
  await new Promise(setImmediate);
  t.same(seen, ['one', 'two', 'read']);
});

t.test('the memory is not given to a subclass that has its own write', async (t) => {
  class Watching extends Decoder {
    write(chunk) {
      return super.write(chunk);
    }
  }
  const decoder = new Watching({ role: 'server', borrowed: true });
  t.equal(
    readInto(new net.Socket(), decoder, () => {}),
    'events'
  );
});

t.test(
  'a socket is not given the memory if it is not connected, has been replaced in part, or has `onread`',
  async (t) => {
    const decoder = new Decoder({ role: 'server', borrowed: true });
    t.equal(
      readInto(new net.Socket(), decoder, () => {}),
      'events',
      'not connected'
    );
    const sockets = [];
    const client = await connect(t, (socket) => sockets.push(socket.pause()));
    await new Promise(setImmediate);
    client.push = function push(chunk) {
      return net.Socket.prototype.push.call(this, chunk);
    };
    t.equal(
      readInto(client, decoder, () => {}),
      'events',
      'its push has been replaced'
    );
    const onread = { buffer: Buffer.alloc(1024), callback: () => true };
    const own = net.connect({ port: client.remotePort, host: '127.0.0.1', onread });
    t.teardown(() => own.destroy());
    await once(own, 'connect');
    t.equal(
      readInto(own, decoder, () => {}),
      'events',
      'it has an onread'
    );
  }
);

t.test('arguments of a wrong type are refused', (t) => {
  const decoder = new Decoder({ role: 'server' });
  const socket = new net.Socket();
  t.throws(() => readInto(undefined, decoder, () => {}), { code: 'ERR_INVALID_ARG_TYPE', message: /socket/ });
  t.throws(() => readInto(socket, { write() {} }, () => {}), { code: 'ERR_INVALID_ARG_TYPE', message: /decoder/ });
  t.throws(() => readInto(socket, decoder), { code: 'ERR_INVALID_ARG_TYPE', message: /afterRead/ });
  t.equal(socket.listenerCount('data'), 0, 'nothing listens');
  t.end();
});
