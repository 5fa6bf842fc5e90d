'use strict';

/**
 * Sends a message to a server of ws that sends it back, masked and unmasked by what ws finds as `bufferutil`, and prints what
 * the test wants to know.
 *
 * @param {object} ws
 * @param {object} bufferutil framemask under its other name
 */
exports.echo = ({ WebSocket, WebSocketServer }, bufferutil) => {
  // Where Node.js masks for ws, it is not called.
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
      if (!message.equals(data)) throw new Error('wrong: what came back');
      client.close();
      server.close();
      const { kernel, nativeError } = bufferutil;
      console.log(JSON.stringify({ kernel, nativeError: nativeError === null ? null : nativeError.message }));
    });
  });
};
