'use strict';

// A fake clock of a test replaces nextTick, setImmediate and the timers, and holds no frame back.
// Jest fakes those of a context, with a `process` of its own, before or after framemask is loaded.

const { once } = require('node:events');
const path = require('node:path');
const { PassThrough } = require('node:stream');
const t = require('tap');
const { loadInContext } = require('../support/vm-context');

const WS = path.join(__dirname, '../../ws.js');

/** What a clock that no test advances has in place of Node.js's functions. */
const FAKE = {
  nextTick() {},
  setImmediate: () => ({}),
  queueMicrotask() {},
  // jsdom's timers are numbers, too.
  setTimeout: () => 1,
  setInterval: () => 1
};

/** Fakes those of a context, as Jest does: Node.js itself keeps its own. */
function fakeClock(globals) {
  const { nextTick, ...others } = FAKE;
  globals.process.nextTick = nextTick;
  return Object.assign(globals, others);
}

const ownProcess = () => ({ process: Object.create(process) });

const WAYS = {
  plain: {},
  compressed: { perMessageDeflate: { threshold: 0 } },
  'an event in each turn': { allowSynchronousEvents: false, perMessageDeflate: { threshold: 0 } }
};

async function echo(t, { WebSocket, WebSocketServer, messages, sendStream }, options, fake = () => {}) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, ...options });
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  await once(server, 'listening');
  server.on('connection', async (socket) => {
    for await (const { data, isBinary } of messages(socket)) socket.send(data, { binary: isBinary });
  });
  const client = new WebSocket(`ws://127.0.0.1:${server.address().port}`, options);
  await once(client, 'open');
  fake();
  const called = new Promise((resolve) => client.send('small', resolve));
  t.equal(String((await once(client, 'message'))[0]), 'small');
  await called;
  // From 32 KiB on, the thread pool compresses.
  client.send('x'.repeat(100_000));
  t.equal((await once(client, 'message'))[0].length, 100_000);
  sendStream(client, ['a', 'b'.repeat(100_000)]);
  t.equal((await once(client, 'message'))[0].length, 100_001);
  client.close();
  await once(client, 'close');
}

for (const [name, options] of Object.entries(WAYS)) {
  t.test(`a clock that is faked after framemask is loaded: ${name}`, async (t) => {
    const { exports, context } = loadInContext(WS, ownProcess());
    await echo(t, exports, options, () => fakeClock(context));
  });

  t.test(`a clock that is faked before framemask is loaded: ${name}`, (t) =>
    echo(t, loadInContext(WS, fakeClock(ownProcess())).exports, options)
  );
}

t.test('a clock of @sinonjs/fake-timers that is faked while framemask is loaded', async (t) => {
  const { nextTick } = process;
  const writable = new PassThrough();
  const written = once(writable, 'readable');
  process.nextTick = Object.assign(() => {}, { clock: { _nextTick: nextTick } });
  const { exports } = loadInContext(path.join(__dirname, '../../index.js'));
  new exports.Encoder({ role: 'server', writable }).text('Hello');
  process.nextTick = nextTick;
  await written;
  t.equal(writable.read().length, 7);
});
