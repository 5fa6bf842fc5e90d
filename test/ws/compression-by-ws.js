'use strict';

// FRAMEMASK_DEFLATE=ws leaves the compression to ws. Each test shows that both then do the same; the
// first has the scenes of ws's own tests in which framemask's compression differs.

const t = require('tap');
const { IMPLEMENTATIONS, connectPair } = require('../support/websockets');
const { hasWs } = require('../support/ws-version');

process.env.FRAMEMASK_DEFLATE = 'ws';

const DEFLATE = { perMessageDeflate: { threshold: 0 } };
const OPTIONS = { server: DEFLATE, client: DEFLATE };

/** Unlike events.once(), it does not end with an error that comes before. */
const closeOf = (socket) => new Promise((resolve) => socket.once('close', resolve));

const SCENES = {
  'bufferedAmount counts what waits to be compressed': async (_server, client) => {
    const amounts = [];
    client.send('foo');
    amounts.push(client.bufferedAmount);
    const sent = new Promise((resolve) => client.send('bar', resolve));
    amounts.push(client.bufferedAmount);
    const error = await sent;
    return [...amounts, client.bufferedAmount, error?.message];
  },
  'the callbacks of what is being compressed when the peer ends have an error': async (server, client) => {
    const called = [];
    const note = (name) => (error) => called.push(`${name}: ${error?.message} ${client.readyState}`);
    // The socket is destroyed before the thread pool has compressed the message.
    client.send('a'.repeat(2 ** 20), note('first'));
    client.send('second');
    client.send('third', note('third'));
    server._socket.resetAndDestroy();
    client._socket.destroy();
    await closeOf(client);
    return called;
  },
  'terminate() comes before what is being compressed': async (_server, client) => {
    const sent = new Promise((resolve) => client.send('hi', resolve));
    client.terminate();
    return (await sent)?.message;
  },
  "the event 'error' comes once, for a Blob that can't be read and a wrong frame": async (server, client) => {
    const errors = [];
    client.on('error', ({ message }) => errors.push(message));
    if (hasWs('8.18.0')) {
      const blob = new Blob(['x']);
      blob.arrayBuffer = () => Promise.reject(new Error('not readable'));
      client.send('foo');
      client.send(blob);
    }
    server._socket.write(Buffer.from([0x85, 0x00]));
    await closeOf(client);
    // Which of the two comes first depends on the thread pool.
    return errors.length;
  }
};

for (const [name, scene] of Object.entries(SCENES)) {
  t.test(name, async (t) => {
    const results = {};
    for (const [library, implementation] of Object.entries(IMPLEMENTATIONS)) {
      const { server, client } = await connectPair(t, implementation, OPTIONS);
      client.on('error', () => {});
      results[library] = await scene(server, client);
    }
    t.same(results['framemask/ws'], results.ws);
  });
}

t.test('report() says whose contexts compress', (t) => {
  const { report } = IMPLEMENTATIONS['framemask/ws'];
  t.equal(report().deflate, 'ws');
  delete process.env.FRAMEMASK_DEFLATE;
  t.equal(report().deflate, process.versions.deno === undefined ? 'framemask' : 'ws');
  t.end();
});
