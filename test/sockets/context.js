'use strict';

// The asynchronous context in which handlers run, with shared reads as with events.

const t = require('tap');
const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId, triggerAsyncId } = require('node:async_hooks');
const { compareReads, frames, isNode, until } = require('../support/socket-pairs');

compareReads(t, 'AsyncLocalStorage: handlers see the store of where the socket comes from', async (reads) => {
  const storage = new AsyncLocalStorage();
  const stores = [];
  const { server, address } = await storage.run('listen', () =>
    reads.listen((socket) => {
      socket.on('error', () => {}).on('end', () => socket.end());
      storage.run('accept', () => {
        const { begin } = reads.readInto(socket, {
          after([, text]) {
            stores.push(['handler', text, storage.getStore()]);
            setImmediate(() => stores.push(['immediate', text, storage.getStore()]));
          },
          afterRead: () => stores.push(['afterRead', storage.getStore()])
        });
        reads.begin = begin;
      });
    })
  );
  const client = await reads.open(address);
  await until(() => reads.begin);
  await storage.run('begin', () => reads.begin(client));
  storage.run('write', () => client.write(frames('one')));
  await until(() => stores.some(([what]) => what === 'immediate'));
  client.write(frames('two'));
  await until(() => stores.some(([what, text]) => what === 'immediate' && text === 'two'));
  reads.checkShared(2);
  client.destroy();
  server.close();
  return stores;
});

if (isNode) {
  compareReads(t, "async_hooks: handlers run in the socket's resource, between its before and after", async (reads) => {
    const { socket, client } = await reads.connect();
    const current = [];
    const hook = createHook({
      before: (id) => current.push(id),
      after: () => current.pop()
    }).enable();
    reads.t.teardown(() => hook.disable());
    const seen = [];
    const { begin, events } = reads.readInto(socket, {
      after([, text]) {
        const id = executionAsyncId();
        seen.push([text, id === socket._handle.getAsyncId(), current.at(-1) === id, triggerAsyncId() > 0]);
      }
    });
    await begin(client);
    client.write(frames('one', 'two'));
    await until(() => events.length === 2);
    client.write(frames('three'));
    await until(() => events.length === 3);
    reads.checkShared(2);
    return seen;
  });
}

compareReads(t, 'an AsyncResource that is bound to a handler is entered', async (reads) => {
  const { socket, client } = await reads.connect();
  const storage = new AsyncLocalStorage();
  const stores = [];
  const onMessage = storage.run('bound', () => AsyncResource.bind((data) => stores.push([data, storage.getStore()])));
  const { begin } = reads.readInto(socket, { onMessage });
  await begin(client);
  client.write(frames('a', 'b'));
  await until(() => stores.length === 2);
  reads.checkShared();
  return stores;
});
