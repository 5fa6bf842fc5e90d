'use strict';

// A program that test/system/attacks and the tests of test/attacks/ fork: an echo server of
// framemask, framemask/ws or ws in a process of its own, so that its memory can be measured.
//
//     node --expose-gc server.js <framemask | framemask/ws | ws> [options as JSON]
//
// It sends its port, and answers 'state' with its memory, 'connections' with their count.

const MIB = 1024 * 1024;

/** Each returns a server that echoes, and the Set of its connections. */
const SERVERS = {
  framemask(options) {
    const { createEchoServer } = require('../../../examples/echo-server');
    const server = createEchoServer(options).listen(0, '127.0.0.1');
    return { server, connections: server.connections };
  },
  'framemask/ws': (options) => createWsServer(require('../../../ws.js'), options),
  ws: (options) => createWsServer(require('ws'), options)
};

function createWsServer({ WebSocketServer }, options) {
  // The limit of framemask's server; everything else as it is by default.
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, maxPayload: MIB, ...options });
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  return { server, connections: server.clients };
}

/**
 * @typedef {object} State
 * @property {number} held bytes in use after garbage collection: the heap and Buffers
 * @property {number} peak the most bytes of memory that the process has had
 * @property {number} cpu seconds that the process has computed
 * @property {number} connections the open WebSocket connections
 */

/** @returns {State} */
function stateOf(connections) {
  // The memory of Buffers is freed beside the first collection, and finished by the second.
  global.gc();
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  const { maxRSS, userCPUTime } = process.resourceUsage();
  return { held: heapUsed + external, peak: maxRSS * 1024, cpu: userCPUTime / 1e6, connections: connections.size };
}

const [library, options = '{}'] = process.argv.slice(2);
const { server, connections } = SERVERS[library](JSON.parse(options));
server.on('listening', () => process.send({ port: server.address().port }));
process.on('message', (asked) => process.send(asked === 'state' ? stateOf(connections) : connections.size));
process.on('disconnect', () => process.exit());
