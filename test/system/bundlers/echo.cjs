'use strict';

/**
 * Sends a message to an echo server of ws, which masks and unmasks with the `bufferutil` that it
 * finds, and prints the kernel as JSON.
 *
 * @param {object} ws
 * @param {object} bufferutil framemask under its other name
 */
exports.echo = ({ WebSocket, WebSocketServer }, bufferutil) => {
  // From Node.js 26.12 on, ws calls Node's own masking instead, so check that they are there.
  for (const name of ['mask', 'unmask']) {
    if (typeof bufferutil[name] !== 'function') throw new TypeError(`bufferUtil.${name} is not a function`);
  }
  const message = Buffer.alloc(10 * 1024, 'framemask');
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
  server.on('listening', () => {
    const client = new WebSocket(`ws://127.0.0.1:${server.address().port}`);
    client.on('open', () => client.send(message));
    client.on('message', (data) => {
      if (!message.equals(data)) throw new Error('wrong: the echo');
      client.close();
      server.close();
      const { kernel, nativeError } = bufferutil;
      console.log(JSON.stringify({ kernel, nativeError: nativeError === null ? null : nativeError.message }));
    });
  });
};
