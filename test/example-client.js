'use strict';

// examples/client.js and client-esm.mts as programs.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const ts = require('typescript');
const { WebSocket } = require('ws');
const { example, head, run, startFalseServer, startServer } = require('./support/connections');
const { TEXT, frame } = require('./support/frames');

t.test('examples/echo-server.js and examples/client.js as programs', async (t) => {
  const child = spawn(process.execPath, [example('echo-server.js')], { env: { ...process.env, PORT: '0' } });
  const ended = once(child, 'exit');
  const [line] = await once(child.stdout, 'data');
  const url = /^echo server: (ws:\/\/127\.0\.0\.1:\d+)\n$/.exec(line)[1];

  const good = await run([example('client.js'), url]);
  const printed = 'text Hello\ntext Καλημέρα κόσμε\nbinary <Buffer de ad be ef>\npong are you there?\nclosed 1000 \n';
  t.same(good, { stdout: printed, stderr: '', code: 0 });

  const client = new WebSocket(url);
  await once(client, 'open');
  child.kill('SIGTERM');
  const [code, reason] = await once(client, 'close');
  t.same([code, `${reason}`], [1001, 'The server is going away']);
  t.same(await ended, [0, null]);

  const bad = await run([example('client.js'), url]);
  t.match(bad, { stdout: 'closed 1006 \n', stderr: /ECONNREFUSED/, code: 1 });
});

// examples/client-esm.mts, which `npm run lint` type-checks, with its types stripped: on Node.js 20
// it does not run by itself.

const source = fs.readFileSync(example('client-esm.mts'), 'utf8');
const { ESNext } = ts.ModuleKind;
const { outputText } = ts.transpileModule(source, {
  compilerOptions: { module: ESNext, target: ts.ScriptTarget.ES2022 }
});
// Inside the checkout, so that `framemask` is this package.
const program = path.join(t.testdir({ 'client-esm.mjs': outputText }), 'client-esm.mjs');

const REPLIES = ['5 characters: Hello', '3000 characters: Καλημέρα κόσμε', '4 bytes: deadbeef', 'closed 1000'];

t.test('with a server that compresses, and with one that does not', async (t) => {
  const compressing = await startServer(t, { deflate: { contextTakeover: true } });
  t.same(await run([program, compressing.url]), {
    stdout: ['permessage-deflate', ...REPLIES, ''].join('\n'),
    stderr: '',
    code: 0
  });

  const { url } = await startServer(t);
  t.same(await run([program, url]), { stdout: ['not compressed', ...REPLIES, ''].join('\n'), stderr: '', code: 0 });
});

t.test('a server that breaks the protocol, and one that refuses', async (t) => {
  const breaks = await startFalseServer(t, (socket, lines) => {
    socket.write(Buffer.concat([Buffer.from(head(...lines)), frame(TEXT, Buffer.from([0xff]))]));
  });
  t.match(await run([program, breaks]), {
    stdout: /^not compressed\nclosed 1006\n$/,
    stderr: /^FRAMEMASK_ERR_UTF8: /,
    code: 1
  });
  const refuses = await startFalseServer(t, (socket) => socket.end(head('HTTP/1.1 404 Not Found')));
  t.match(await run([program, refuses]), { stdout: '', stderr: /its status is 404, not 101/, code: 1 });
});
