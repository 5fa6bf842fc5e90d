'use strict';

// A server and a client on the codec that echo each message while it arrives: each part is a
// fragment.

const http = require('node:http');
const { Decoder, Encoder, acceptUpgrade, offerUpgrade } = require('../../../index');
const { HOST, LIMITS, MAX_PAYLOAD } = require('./limits');

/** @param {object} on `part`, instead of the echo, and `end` */
function serve(socket, role, deflate, on = {}) {
  let begun = false;
  const answer = (code) => {
    encoder.close(code);
    encoder.flush(socket);
    socket.end();
  };
  const encoder = new Encoder({ role, deflate, writable: socket });
  const decoder = new Decoder({
    ...LIMITS,
    role,
    deflate,
    text: 'buffer',
    onPart(data, isBinary, isLast) {
      if (on.part?.(data, isLast)) return;
      const options = { fin: isLast };
      if (begun) encoder.continuation(data, options);
      else if (isBinary) encoder.binary(data, options);
      else encoder.text(data, options);
      begun = !isLast;
      if (socket.writableLength > MAX_PAYLOAD) this.pause();
    },
    onPing: (payload) => encoder.pong(payload),
    onClose: answer,
    onError: (error) => answer(error.closeCode)
  });
  socket.on('data', (chunk) => decoder.write(chunk));
  socket.on('drain', () => decoder.resume());
  socket.on('error', () => {});
  socket.on('end', () => socket.end());
  socket.on('close', () => {
    decoder.stop();
    encoder.stop();
    on.end?.();
  });
  return { close: () => answer(1000) };
}

function createServer(deflate) {
  const server = http.createServer();
  server.on('upgrade', (request, socket, head) => {
    const upgrade = acceptUpgrade(request, socket, head, { deflate });
    if (upgrade !== null) serve(socket, 'server', upgrade.deflate);
  });
  return server.listen(0, HOST);
}

function connect(address, deflate, on) {
  const offer = offerUpgrade({ deflate });
  const request = http.get(address.replace('ws:', 'http:'), { headers: offer.headers });
  request.on('error', on.end);
  request.on('upgrade', (response, socket, head) => {
    if (head.length > 0) socket.unshift(head);
    const connection = serve(socket, 'client', offer.readAnswer(response).deflate, on);
    on.open(connection.close);
  });
}

module.exports = { connect, createServer };
