'use strict';

// A program that index.js forks: the attacks that need no flood of connections. It sends
// what both libraries hold, as texts.
//
//     node --expose-gc local.js <name of the attack>

const { once } = require('node:events');
const { Receiver, WebSocket, WebSocketServer } = require('ws');
const { createEchoServer } = require('../../../examples/echo-server');
const { Decoder } = require('../../../index.js');
const { WebSocketServer: WebSocketServerOfFramemask } = require('../../../ws.js');
const { BINARY } = require('../../support/frames');
const { masked } = require('../../support/attacks/attacks');

const CHUNKS = 500;
const CHUNK_SIZE = 64 * 1024;
const PAYLOAD = 100;

/** About 64 KiB of frames with 100 bytes each. The last one is cut after 50. */
const FRAME = masked(BINARY, Buffer.alloc(PAYLOAD));
const FRAMES = Math.floor(CHUNK_SIZE / FRAME.length);
const CUT = FRAMES * FRAME.length - PAYLOAD / 2;
const BYTES = Buffer.concat(Array(FRAMES).fill(FRAME)).subarray(0, CUT);

/** @returns {string} the bytes that stay in use for each value that `make` returns */
function bytesKept(make) {
  const held = () => {
    global.gc();
    global.gc();
    return process.memoryUsage().heapUsed + process.memoryUsage().external;
  };
  const before = held();
  const kept = Array.from({ length: CHUNKS }, make);
  const each = (held() - before) / kept.length;
  return Math.round(each).toLocaleString('en');
}

/** Feeds a new parser of frames with memory of its own. */
function feed(parser) {
  parser.write(Buffer.from(new Uint8Array(BYTES).buffer));
  return parser;
}

const LOCAL = {
  async 'pinned-chunks'() {
    const ours = (onMessage) => feed(new Decoder({ role: 'server', onMessage }));
    const theirs = (onMessage) => {
      const receiver = new Receiver({ isServer: true, maxPayload: CHUNK_SIZE, allowSynchronousEvents: true });
      return feed(receiver.on('message', onMessage));
    };
    const payloadOf = (parse) => () => {
      let first = null;
      parse((data) => {
        first ??= data;
      });
      if (first === null) throw new Error('No message came');
      return first;
    };
    const results = [ours, theirs].map((parse) => {
      const idle = bytesKept(() => parse(() => {}));
      return `idle amid a frame: ${idle} B; a kept payload of ${PAYLOAD} B: ${bytesKept(payloadOf(parse))} B`;
    });
    return { framemask: results[0], ws: results[1] };
  },

  async 'close-reasons'() {
    // 80 bytes of ASCII.
    const bytes = Buffer.alloc(80, 'x');
    const view = new Float32Array(new Uint8Array(bytes).buffer);
    const judge = (frame) => {
      const reason = frame.subarray(4);
      return reason.equals(bytes) ? 'the bytes of the array' : `${reason.length} bytes that are not the array's`;
    };
    const closeOf = async (port, close) => {
      const client = new WebSocket(`ws://127.0.0.1:${port}`);
      client.on('error', () => {});
      const opened = once(client, 'open');
      const [response] = await once(client, 'upgrade');
      const chunks = [];
      response.socket.prependListener('data', (chunk) => chunks.push(Buffer.from(chunk)));
      await opened;
      try {
        close();
      } catch (error) {
        client.terminate();
        return `refused: ${error.code ?? error.message}`;
      }
      await once(client, 'close');
      return judge(Buffer.concat(chunks));
    };
    const ours = createEchoServer().listen(0, '127.0.0.1');
    const [onWs, theirs] = [WebSocketServerOfFramemask, WebSocketServer].map(
      (Server) => new Server({ port: 0, host: '127.0.0.1' })
    );
    await Promise.all([ours, onWs, theirs].map((server) => once(server, 'listening')));
    const closeFirst = (server) => closeOf(server.address().port, () => [...server.clients][0].close(1000, view));
    return {
      framemask: await closeOf(ours.address().port, () => [...ours.connections][0].close(1000, view)),
      onWs: await closeFirst(onWs),
      ws: await closeFirst(theirs)
    };
  }
};

LOCAL[process.argv[2]]().then((result) => process.send(result, () => process.exit()));
