'use strict';

// examples/gateway.js before an upstream, without limits, or a pipe of bytes to compare with. Prints
// its port, and answers each message by a report of what it holds.
//
//     node server.js URL HEARTBEAT http1|http2|pipe

const { once } = require('node:events');
const fs = require('node:fs');
const { overHttp2 } = require('../../../index');
const { createGateway } = require('../../../examples/gateway');
const { collectGarbage } = require('../../support/collect-garbage');
const { createPipe } = require('../../support/pipe-gateway');

const [url, heartbeat, kind] = process.argv.slice(2);

const LIMITS = { heartbeat: Number(heartbeat), maxPayload: Infinity, maxFragments: Infinity };

function create() {
  if (kind === 'pipe') return createPipe(url);
  const createConnection = kind === 'http2' ? overHttp2() : undefined;
  return createGateway(url, { client: LIMITS, upstream: { ...LIMITS, createConnection, handshakeTimeout: 1000 } });
}

const server = create();

/** What is released in turns of the event loop is not counted. */
async function report() {
  let bytes = Infinity;
  for (let i = 0; i < 5; i++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { heapUsed, external } = process.memoryUsage();
    bytes = Math.min(bytes, heapUsed + external);
  }
  return {
    connections: server.clients?.size,
    bytes,
    resources: process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length,
    descriptors: fs.readdirSync('/proc/self/fd').length,
    peak: process.resourceUsage().maxRSS * 1024
  };
}

process.on('message', async () => process.send(await report()));

once(server.listen(0, '127.0.0.1'), 'listening').then(() => console.log(server.address().port));
