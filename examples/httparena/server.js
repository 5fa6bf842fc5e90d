'use strict';

// The entry for the WebSocket tests of HttpArena (https://www.http-arena.com): echo-ws,
// echo-ws-pipeline and echo-ws-limited. All messages come back, from one process a processor.
//
//     node examples/httparena/server.js [--connections codec|framemask-ws|ws] [--processes <n>]
//
// `codec` is a Decoder and an Encoder, `framemask-ws` the API of ws on them, `ws` is ws itself, to
// compare with. The port is 8080, or what PORT names.

const cluster = require('node:cluster');
const http = require('node:http');
const os = require('node:os');
const { parseArgs } = require('node:util');
const { createEchoServer } = require('../echo-server');

const KINDS = ['codec', 'framemask-ws', 'ws'];

/**
 * @param {string} kind one of KINDS
 * @returns {http.Server} that does not listen yet
 */
function createServer(kind) {
  // Without Pings of its own: HttpArena's clients are never silent for long.
  if (kind === 'codec') return createEchoServer({ heartbeat: 0 });
  const { WebSocketServer } = require(kind === 'ws' ? 'ws' : 'framemask/ws');
  const server = http.createServer((_request, response) => {
    response.writeHead(426, { Upgrade: 'websocket', Connection: 'Upgrade' }).end();
  });
  new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket) => {
    socket.on('error', () => {}); // 'close' follows
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  return server;
}

function main() {
  const { values } = parseArgs({
    options: {
      connections: { type: 'string', default: 'codec' },
      processes: { type: 'string', default: String(os.availableParallelism()) }
    }
  });
  const { connections: kind, processes } = values;
  if (!KINDS.includes(kind)) throw new Error(`--connections must be one of ${KINDS.join(', ')}`);
  if (!/^[1-9]\d*$/.test(processes)) throw new Error('--processes must be a whole number from 1 on');
  if (cluster.isWorker) {
    createServer(kind).listen(Number(process.env.PORT ?? 8080), process.env.HOST);
    return;
  }
  // The kernel gives each process its connections. By default the first process would hand them
  // out.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  for (let i = 0; i < Number(processes); i++) cluster.fork();
  let listening = 0;
  cluster.on('listening', (_worker, { address, port }) => {
    if (++listening === Number(processes)) {
      console.log(`${kind}: ${processes} processes on ws://${address ?? 'localhost'}:${port}/ws`);
    }
  });
  cluster.on('exit', (_worker, code) => {
    if (code !== 0) process.exit(1);
  });
}

if (require.main === module) {
  try {
    main();
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

module.exports = { KINDS, createServer };
