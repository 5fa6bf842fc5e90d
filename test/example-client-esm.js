'use strict';

// examples/client-esm.mts, which `npm run lint` type-checks, with its types stripped: on Node.js 20
// it does not run by itself.

const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const ts = require('typescript');
const deflate = require('../examples/deflate');
const { example, run, startFalseServer, startServer, head } = require('./support/connections');
const { TEXT, frame } = require('./support/frames');

const source = fs.readFileSync(example('client-esm.mts'), 'utf8');
const { ESNext } = ts.ModuleKind;
const { outputText } = ts.transpileModule(source, {
  compilerOptions: { module: ESNext, target: ts.ScriptTarget.ES2022 }
});
// Inside the checkout, so that `framemask` is this package.
const program = path.join(t.testdir({ 'client-esm.mjs': outputText }), 'client-esm.mjs');

const REPLIES = ['5 characters: Hello', '3000 characters: Καλημέρα κόσμε', '4 bytes: deadbeef', 'closed 1000'];

t.test('with a server that compresses, and with one that does not', async (t) => {
  const server = deflate.createEchoServer({ deflate: { contextTakeover: true } }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const compressed = await run([program, `ws://127.0.0.1:${server.address().port}`]);
  t.same(compressed, { stdout: ['permessage-deflate', ...REPLIES, ''].join('\n'), stderr: '', code: 0 });

  const { url } = await startServer(t);
  const plain = await run([program, url]);
  t.same(plain, { stdout: ['not compressed', ...REPLIES, ''].join('\n'), stderr: '', code: 0 });
});

t.test('a server that breaks the protocol, and one that refuses', async (t) => {
  const breaks = await startFalseServer(t, (socket, lines) => {
    socket.write(Buffer.concat([Buffer.from(head(...lines)), frame(TEXT, Buffer.from([0xff]))]));
  });
  t.match(await run([program, breaks]), { stdout: 'not compressed\n', stderr: /^FRAMEMASK_ERR_UTF8: /, code: 1 });
  const refuses = await startFalseServer(t, (socket) => socket.end(head('HTTP/1.1 404 Not Found')));
  t.match(await run([program, refuses]), { stdout: '', stderr: /The server answered with 404/, code: 1 });
});
