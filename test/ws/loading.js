'use strict';

// Which ws framemask/ws takes, and what it leaves alone.

const fs = require('node:fs');
const path = require('node:path');
const { once } = require('node:events');
const t = require('tap');
const { isSupported } = require('../../lib/ws/load-ws');
const { IMPLEMENTATIONS, connectPair, listen, runSource } = require('../support/websockets');

const { ws, 'framemask/ws': framemask } = IMPLEMENTATIONS;
const ROOT = path.join(__dirname, '../..');

t.test('versions of ws from 8.17.1 on are supported, below 9', (t) => {
  for (const version of ['8.17.1', '8.17.2', '8.18.0', '8.23.0', '8.100.0']) t.ok(isSupported(version), version);
  for (const version of ['7.5.10', '8.17.0', '8.16.5', '9.0.0']) t.notOk(isSupported(version), version);
  t.end();
});

/** Runs `require('framemask/ws')` beside a package ws of the test's own. */
async function loadBeside(t, files) {
  const folder = t.testdir({
    node_modules: { ...(files === null ? {} : { ws: files }) },
    'copy.js': `
      const Module = require('node:module');
      const resolve = Module._resolveFilename;
      Module._resolveFilename = function (request, ...rest) {
        if (request === 'ws' || request.startsWith('ws/')) {
          return resolve.call(this, request, { id: 'x', filename: __filename, paths: [__dirname + '/node_modules'] });
        }
        return resolve.call(this, request, ...rest);
      };
    `
  });
  return runSource("require('./ws.js')", ['--require', path.join(folder, 'copy.js')]);
}

t.test('without ws the error says what to install', async (t) => {
  const { status, stderr } = await loadBeside(t, null);
  t.equal(status, 1);
  t.match(stderr, /framemask\/ws works on ws, which is not installed: run `npm install ws`/);
});

t.test('a ws of an unsupported version is refused by an error that says so', async (t) => {
  const { stderr } = await loadBeside(t, { 'package.json': '{ "version": "7.5.10" }', 'index.js': '' });
  t.match(stderr, /framemask\/ws works on ws 8\.17\.1 to 8\.x, and ws 7\.5\.10 is installed/);
});

t.test('a ws without a private part that is needed is refused by an error that names it', async (t) => {
  const source = (missing) => `
    class WebSocket { constructor() { Object.assign(this, {
      _receiver: 0, _sender: 0, _socket: 0, _extensions: 0, _isServer: 0, _closeMessage: 0 }); } setSocket() {} }
    class Receiver { constructor() { Object.assign(this, {
      _maxPayload: 0, _skipUTF8Validation: 0, _allowSynchronousEvents: 0 }); } _write() {} }
    class Sender { constructor() { Object.assign(this, { _firstFragment: 0, _bufferedBytes: 0 }); } sendFrame() {} }
    delete ${missing};
    module.exports = { WebSocket, Receiver, Sender };`;
  const { stderr } = await loadBeside(t, {
    'package.json': '{ "version": "8.99.0" }',
    'index.js': source('Sender.prototype.sendFrame')
  });
  t.match(stderr, /framemask\/ws can't work with this ws, whose Sender has no sendFrame/);
});

const isOther = (process.versions.bun ?? process.versions.deno) !== undefined && 'Node.js stands for Bun in these';

/** Runs `require('framemask/ws')` as in Bun, which has a module of its own for ws. */
function loadAsInBun({ receiver = "throw Error('Not supported yet in Bun')", before = '' }) {
  return runSource(`
    const Module = require('node:module');
    const { _load } = Module;
    const ws = require('ws');
    const ofBun = Object.assign(class extends ws {}, { Receiver: class { constructor() { ${receiver} } } });
    Module._load = (request, ...others) => (request === 'ws' ? ofBun : _load(request, ...others));
    Object.defineProperty(process, 'versions', { value: { ...process.versions, bun: '1.4.5' } });
    ${before}
    console.log(require('./lib/ws/load-ws').loadWs() === ofBun ? 'that of require' : 'that of the path');
  `);
}

t.test('in Bun, whose own module has the name ws, the ws that is installed is loaded', { skip: isOther }, async (t) => {
  const { stdout, stderr } = await loadAsInBun({});
  t.same([stdout, stderr], ['that of the path\n', '']);
});

t.test('in Bun a ws that works is taken as it is: that of a bundle', { skip: isOther }, async (t) => {
  const { stdout, stderr } = await loadAsInBun({ receiver: 'return new ws.Receiver();' });
  t.same([stdout, stderr], ['that of require\n', '']);
});

t.test('in Bun without the files of ws, the error says what Bun does and what to do', { skip: isOther }, async (t) => {
  const { status, stderr } = await loadAsInBun({ before: "Module.createRequire = () => { throw Error('none'); };" });
  t.equal(status, 1);
  t.match(stderr, /framemask\/ws works on the package ws, in whose place Bun puts a module of its own/);
});

t.test('report() says what is at work', (t) => {
  const report = framemask.report();
  // Bun and Deno have sockets of their own, Deno has a zlib of its own.
  const { bun, deno } = process.versions;
  const reads = bun === undefined && deno === undefined ? 'shared' : 'events';
  t.match(report, { ws: require('ws/package.json').version, reads, deflate: deno === undefined ? 'framemask' : 'ws' });
  t.equal(report.kernel, require('../../index.js').kernel);
  t.end();
});

t.test('report() counts the connections that framemask/ws has opened, and survives JSON', async (t) => {
  const before = framemask.report().connections;
  const plain = await connectPair(t, ws);
  plain.client.terminate();
  t.same(framemask.report().connections, before, 'none of plain ws');
  const compressing = { perMessageDeflate: true };
  const made = await connectPair(t, framemask);
  t.equal(framemask.report().connections.compressed, before.compressed);
  await connectPair(t, framemask, { server: { ...compressing, sharedReads: false }, client: compressing });
  const { reads, connections } = JSON.parse(JSON.stringify(framemask.report()));
  t.equal(connections.opened, before.opened + 4, 'both ends');
  t.equal(connections.compressed, before.compressed + 2, 'both ends');
  t.equal(connections.shared, before.shared + (reads === 'shared' ? 1 : 0), "one server's end");
  made.client.terminate();
  connections.opened = 0;
  t.not(framemask.report().connections.opened, 0, 'a copy of the counts');
});

t.test('an option of its own whose name has a slip is refused, and options of ws are not', (t) => {
  const slip = (owner, name, meant) => ({
    name: 'TypeError',
    code: 'ERR_INVALID_ARG_VALUE',
    message: `${owner} has no option "${name}". Did you mean "${meant}"?`
  });
  for (const name of ['sharedRead', 'sharedreads', 'shareReads']) {
    t.throws(
      () => new framemask.WebSocketServer({ noServer: true, [name]: false }),
      slip('WebSocketServer', name, 'sharedReads')
    );
  }
  for (const name of ['contextTakover', 'contextTakeOver']) {
    const options = { perMessageDeflate: { [name]: false } };
    const error = slip('perMessageDeflate', name, 'contextTakeover');
    t.throws(() => new framemask.WebSocketServer({ noServer: true, ...options }), error);
    t.throws(() => new framemask.WebSocket('ws://127.0.0.1:1', options), error);
    t.throws(() => new framemask.WebSocket('ws://127.0.0.1:1', [], options), error);
  }
  const { options } = new ws.WebSocketServer({ noServer: true, perMessageDeflate: { threshold: 1 } });
  t.ok(new framemask.WebSocketServer({ ...options, noServer: true, other: 1 }));
  for (const none of [undefined, null, 5]) t.throws(() => new framemask.WebSocketServer(none), /"port", "server"/);
  t.end();
});

t.test('beside plain ws in one process, neither changes the other', async (t) => {
  const before = new Map();
  for (const [name, theClass] of Object.entries({ WebSocket: ws, Receiver: ws.Receiver, Sender: ws.Sender })) {
    before.set(name, Object.getOwnPropertyNames(theClass.prototype).sort());
  }
  const server = await listen(t, framemask);
  server.on('connection', (socket) => socket.on('message', (data) => socket.send(String(data))));
  const client = new ws(`ws://127.0.0.1:${server.address().port}`);
  await once(client, 'open');
  client.send('from plain ws');
  t.equal(String((await once(client, 'message'))[0]), 'from plain ws');
  t.notOk(client instanceof framemask);
  t.notOk(Object.hasOwn(client._sender, 'sendFrame'));
  t.notOk(Object.hasOwn(client._receiver, '_write'));
  client.terminate();

  const plain = await connectPair(t, ws);
  plain.server.on('message', (data) => plain.server.send(String(data)));
  plain.client.send('both plain');
  t.equal(String((await once(plain.client, 'message'))[0]), 'both plain');
  for (const [name, names] of before) {
    const theClass = name === 'WebSocket' ? ws : ws[name];
    t.same(Object.getOwnPropertyNames(theClass.prototype).sort(), names, name);
  }
});

t.test("a server's option WebSocket is used as it is", async (t) => {
  class Own extends framemask {}
  const server = await listen(t, framemask, { WebSocket: Own });
  const client = new framemask(`ws://127.0.0.1:${server.address().port}`);
  const [[connection]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
  t.ok(connection instanceof Own);
  client.terminate();
});

t.test('the package names ws as an optional peer of any version, for programs that use it as bufferutil', (t) => {
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json')));
  t.equal(peerDependencies.ws, '*');
  t.equal(peerDependenciesMeta.ws.optional, true);
  t.end();
});
