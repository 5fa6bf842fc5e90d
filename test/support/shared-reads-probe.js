'use strict';

// A thread of test/sockets/processes.js. Makes a change to its Node.js, reads two connections, one
// after the other, and posts what happened.

const { once } = require('node:events');
const net = require('node:net');
const { parentPort, workerData: change } = require('node:worker_threads');
const { Decoder } = require('../../index.js');
const { readInto } = require('./read-into');
const { framesFor } = require('./frames');

const { Socket } = net;

/** Has `Object.getOwnPropertySymbols` leave out a property of net.Socket. */
function hide(description) {
  const { getOwnPropertySymbols } = Object;
  Object.getOwnPropertySymbols = (object) =>
    getOwnPropertySymbols(object).filter((key) => key.description !== description);
}

const ignore = (handle) => {
  handle.useUserBuffer = () => {};
};

/** Changes of each socket's handle. */
const CHANGES = {
  'two sockets before the first read': ignore,
  'a useUserBuffer that does nothing': ignore,
  'no useUserBuffer': (handle) => {
    handle.useUserBuffer = undefined;
  },
  'a handle of another class': (handle) => Object.defineProperty(handle, 'constructor', { value: class JSStream {} })
};

/** Changes of net.Socket, or of all sockets. */
const ONCE = {
  'no property for the buffer': () => hide('kBuffer'),
  'no property for the callback': () => hide('kBufferCb'),
  'an emit in the place of the first': () => {
    const { emit } = Socket.prototype;
    Socket.prototype.emit = function (...args) {
      return emit.apply(this, args);
    };
  },
  'a replaced read': () =>
    process.on('newSocket', (socket) => {
      socket.read = function (...args) {
        return Socket.prototype.read.apply(this, args);
      };
    })
};

async function main() {
  ONCE[change]?.();
  const result = { shared: [], seen: [], error: null };
  process.removeAllListeners('warning').on('warning', ({ message }) => {
    result.warning = message;
  });
  const sockets = [];
  const server = net.createServer({ pauseOnConnect: true }, (socket) => {
    process.emit('newSocket', socket);
    CHANGES[change]?.(socket._handle);
    const decoder = new Decoder({
      role: 'server',
      borrowed: true,
      onMessage: (data) => result.seen.push(data),
      onError: (error) => result.seen.push(error.code)
    });
    result.shared.push(readInto(socket, decoder, () => socket.end()) === 'shared');
    socket.on('error', ({ message }) => {
      result.error = result.error === null ? message : [result.error, message];
    });
    sockets.push(socket);
    if (change !== 'two sockets before the first read') socket.resume();
    else if (sockets.length === 2) for (const each of sockets) each.resume();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const closed = [];
  for (const text of ['one', 'two']) {
    const client = net.connect(server.address().port, '127.0.0.1').resume();
    client.on('error', () => {});
    client.write(framesFor('server').text(text));
    closed.push(once(client, 'close'));
    if (change !== 'two sockets before the first read') await closed.at(-1);
  }
  await Promise.all(closed);
  server.close();
  parentPort.postMessage(result);
}

main();
