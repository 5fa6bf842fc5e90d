'use strict';

// Run by test/sockets/processes.js in worker threads and in processes of a cluster: a server that
// echoes by readInto, and tells its port, or what it has read.

const cluster = require('node:cluster');
const net = require('node:net');
const { isMainThread, parentPort } = require('node:worker_threads');
const { Decoder, Encoder } = require('../../index.js');
const { readInto } = require('./read-into');

const tell = (message) => (isMainThread ? process.send(message) : parentPort.postMessage(message));

const server = net.createServer((socket) => {
  const encoder = new Encoder({ role: 'server' });
  const decoder = new Decoder({
    role: 'server',
    borrowed: true,
    onMessage: (data, isBinary) => (isBinary ? encoder.binary(data) : encoder.text(data))
  });
  const shared = readInto(socket, decoder, () => encoder.flush(socket)) !== 'events';
  const memory = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'kBuffer');
  socket.on('error', () => {}).on('end', () => socket.end());
  // Its first 64 bytes, which are random where nothing has been read.
  tell({ shared, memory: Buffer.from(socket[memory]?.subarray(0, 64) ?? []).toString('hex'), id: cluster.worker?.id });
});
server.listen(0, '127.0.0.1', () => tell({ port: server.address().port }));

const onRequest = (message) => {
  if (message === 'close') server.close(() => (isMainThread ? process.disconnect() : process.exit()));
};
if (isMainThread) process.on('message', onRequest);
else parentPort.on('message', onRequest);
