'use strict';

// The chat of examples/rooms in a browser, and across processes with a real Redis.

const { parseArgs } = require('node:util');
const { testChat } = require('./rooms/chat');
const { testOne } = require('./rooms/one');
const { testPages } = require('./rooms/pages');
const { testSocketIo } = require('./rooms/socket.io');
const { createProgress } = require('../test/support/report');
const { select } = require('../test/support/select');

const ROOM_SIZE = 30;

/** Each prints its counts, and returns what is wrong. */
const PARTS = [
  { name: 'pages', run: testPages },
  { name: 'one', run: testOne },
  { name: 'ws', run: (options) => testChat('ws', options) },
  { name: 'codec', run: (options) => testChat('codec', options) },
  { name: 'socket.io', run: testSocketIo }
];

const USAGE = `usage: npm run test:rooms [-- [--clients n] [--messages n] [--rate n] [--only <part>[,<part>...]] [--install] [--help]]

Starts a redis-server and three processes of a chat on free ports of 127.0.0.1, and ends them.

  pages      Chromium pages chat with each other through three processes
  one        clients in rooms of ${ROOM_SIZE} talk through one process without Redis, on framemask/ws and on
             the codec: its memory and CPU
  ws         they talk through three processes of examples/rooms. One is killed
             (SIGKILL) and replaced, the connections to Redis are cut, one process is shut down and
             replaced. Every message must reach every member of its room once, in the same order
  codec      the same with connections of the codec
  socket.io  the same kill with socket.io, its Redis streams adapter, and framemask/ws as its engine

  --clients n   how many clients (default: 300)
  --messages n  that each client sends (default: 10)
  --rate n      messages a second, of all clients together (default: clients, but 1000 at most)
  --only        only these parts
  --install     have apt-get install redis-server and Chromium where they are missing
  --help        print this

The exit code is 0 if nothing is wrong.`;

/** @returns {number} @throws {RangeError} if it is no number from 1 on */
function readCount(name, text) {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1) throw new RangeError(`--${name} must be a whole number from 1 on`);
  return count;
}

async function main() {
  const { values } = parseArgs({
    options: {
      clients: { type: 'string', default: '300' },
      messages: { type: 'string', default: '10' },
      rate: { type: 'string' },
      only: { type: 'string', multiple: true },
      install: { type: 'boolean', default: false },
      help: { type: 'boolean' }
    }
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const parts = select('part', PARTS, values.only);
  const clients = Math.ceil(readCount('clients', values.clients) / ROOM_SIZE) * ROOM_SIZE;
  const options = {
    clients,
    roomSize: ROOM_SIZE,
    messages: readCount('messages', values.messages),
    perSecond: readCount('rate', values.rate ?? Math.min(clients, 1000)),
    install: values.install,
    progress: createProgress()
  };
  let failed = 0;
  for (const { name, run } of parts) {
    const faults = await run(options);
    options.progress(`${name}: ${faults.length === 0 ? 'passed' : 'FAILED'}`);
    for (const fault of faults) console.log(`   ${fault}`);
    if (faults.length > 0) failed++;
  }
  console.log(`\n${parts.length - failed} passed, ${failed} failed`);
  process.exitCode = Number(failed > 0);
}

// An exit ends what was started.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    console.error(`test:rooms: ended by ${signal}`);
    process.exit(1);
  });
}

main().catch((error) => {
  console.error(`test:rooms: ${error.message}`);
  process.exit(1);
});
