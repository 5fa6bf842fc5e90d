'use strict';

// After servers, clients and codecs have been made, no peer has lib/ load a module: `require`
// throws without descriptors, and returns undefined after Jest's teardown.

const { channel } = require('node:diagnostics_channel');
const { once } = require('node:events');
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { PassThrough } = require('node:stream');
const t = require('tap');
const framemask = require('..');
const framemaskWs = require('../ws.js');
const { agree, deflateByZlib } = require('./support/deflate');
const { BINARY, TEXT, framesFor } = require('./support/frames');
const { filesOf } = require('./support/modules');
const { LONG } = require('./support/sample');
const { memoryPair } = require('./support/stream-pairs');
const { TRANSPORTS, deliver, listen } = require('./support/websockets');

const ROOT = path.join(__dirname, '..');

/** The files that have a `require` in a function, and when it is called. */
const INNER = {
  'index.js': 'when an export is first read',
  'lib/codec/backend.js': 'at load, without the addon',
  'lib/masking/mask.js': "for an argument of a wrong type, the program's own mistake",
  'lib/masking/native.js': 'at load',
  'lib/shared/buffers.js': 'for the same',
  'lib/shared/node-modules.js': 'for modules of Node.js, which it has in memory',
  'lib/ws/load-ws.js': 'at load',
  'lib/ws/parts.js': 'for the first server, client or report'
};

t.test('a require in a function of lib/ is in one of the files that are known', async (t) => {
  const files = [...filesOf('lib', /\.m?js$/), 'index.js', 'ws.js'].filter(
    (file) => !file.startsWith('lib/platforms/')
  );
  const found = files.filter((file) =>
    /^[ \t]+[^*\n]*\brequire\(|=> .*\brequire\(/m.test(fs.readFileSync(path.join(ROOT, file), 'utf8'))
  );
  t.same(found.sort(), Object.keys(INNER));
});

const refused = [];
const { _load: load } = Module;

/** From now on no module of framemask can load another. */
function refuseModules(t) {
  Module._load = function (request, parent, ...rest) {
    const file = path.relative(ROOT, parent?.filename ?? '');
    if (!/^(lib[\\/]|index\.js$|ws\.js$)/.test(file)) return load.call(this, request, parent, ...rest);
    refused.push(`${file}: ${request}`);
    throw Object.assign(new Error(`EMFILE: too many open files, open '${request}'`), { code: 'EMFILE' });
  };
  t.teardown(() => {
    Module._load = load;
  });
}

const LARGE = 'large enough for the thread pool '.repeat(4000);
const COMPRESSED = deflateByZlib(Buffer.from('small')).toString('latin1');

/** A peer's bytes, and the close code that the other end hears; null: it stays open. */
const FRAMES = {
  'text and binary data': [(f) => [f.text('a'), f.binary('b')], null],
  'a message in fragments': [(f) => f.fragments(TEXT, ['a', 'b', 'c']), null],
  'Ping and Pong frames': [(f) => [f.ping('p'), f.pong('q')], null],
  'a long message': [(f) => [f.binary(Buffer.alloc(200_000))], null],
  RSV2: [(f) => [f.text('a', { rsv: 0x20 })], 1002],
  'bytes that are not UTF-8': [(f) => [f.text(Buffer.from([0xff]))], 1007],
  'a frame that is too long': [(f) => [f.binary('', { length: 2 ** 40 })], 1009],
  'a Close frame': [(f) => [f.close(1000, 'bye')], 1000],
  'a Close frame with a bad code': [(f) => [f.close(1005)], 1002],
  'a compressed message': [(f) => [f.text(Buffer.from(COMPRESSED, 'latin1'), { rsv: 0x40 })], null],
  'bad DEFLATE': [(f) => [f.text(Buffer.from([7]), { rsv: 0x40 })], 1007],
  'a compressed message in fragments': [(f) => f.fragments(BINARY, [Buffer.from(COMPRESSED, 'latin1'), ''], 0x40), null]
};

const OPTIONS = {
  'without compression': { perMessageDeflate: false },
  'with compression': { perMessageDeflate: { threshold: 0 } },
  'with streams': { perMessageDeflate: { threshold: 0 }, streamFrom: 1 }
};

t.test('framemask/ws', LONG, async (t) => {
  const servers = [];
  for (const transport of ['TCP', 'TLS', 'HTTP/2', 'pipe']) {
    for (const [title, options] of Object.entries(OPTIONS)) {
      const server = await listen(t, framemaskWs, { ...options, maxPayload: 2 ** 20 }, transport);
      servers.push({
        title: `${transport}, ${title}`,
        server,
        options: { ...options, ...TRANSPORTS[transport].client }
      });
    }
  }
  // The first client of HTTP/2.
  new framemaskWs.WebSocket('ws://127.0.0.1:1', { http2: true }).on('error', () => {}).terminate();
  for (const name of ['framemask:frame', 'framemask:message']) channel(name).subscribe(() => {});
  refuseModules(t);

  for (const { title, server, options } of servers) {
    const connect = async () => {
      const client = new framemaskWs.WebSocket(server.url, { ...options, maxPayload: 2 ** 20 });
      const [[end]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
      for (const each of [client, end]) each.on('error', () => {}).on('stream', (stream) => stream.resume());
      return { client, end };
    };
    await t.test(`${title}: programs`, async (t) => {
      const { client, end } = await connect();
      t.type(framemaskWs.connectionId(end), 'string');
      if (options.streamFrom === undefined) {
        for (const [from, to] of [
          [client, end],
          [end, client]
        ]) {
          for (const data of ['small', LARGE, Buffer.from(LARGE)])
            t.equal(String((await deliver(from, to, data))[0]), String(data));
        }
      }
      const loop = framemaskWs.messages(end);
      await framemaskWs.sendStream(
        client,
        (function* () {
          yield 'a';
          yield 'b';
        })()
      );
      t.equal((await loop.next()).value.data, 'ab');
      await framemaskWs.drained(client);
      client.send('before the end', { fin: false });
      client.send('', { fin: true });
      t.equal((await loop.next()).value.data, 'before the end');
      // A WebSocketStream takes no streams.
      if (options.streamFrom !== undefined) return;
      const stream = new framemaskWs.WebSocketStream(client);
      const { readable } = await stream.opened;
      end.send('by a stream of the platform');
      t.equal((await readable.getReader().read()).value, 'by a stream of the platform');
      t.equal(framemaskWs.report().registered, false);
      stream.close();
      await stream.closed;
    });
    for (const [name, [make, code]] of Object.entries(FRAMES)) {
      if (/ompress|DEFLATE/.test(name) && !options.perMessageDeflate) continue;
      await t.test(`${title}: ${name}`, async (t) => {
        for (const role of ['server', 'client']) {
          const { client, end } = await connect();
          const [sender, receiver] = role === 'server' ? [client, end] : [end, client];
          const closed = new Promise((resolve) => receiver.on('close', resolve));
          const last = new Promise((resolve) =>
            receiver.on('ping', (data) => String(data) === 'the last' && resolve())
          );
          sender._socket.write(Buffer.concat(make(framesFor(role))));
          if (code === null) {
            sender.ping('the last');
            await last;
            sender.close(1000);
          }
          t.equal(await closed, code === null || code === 1000 ? 1000 : 1006, role);
          sender.terminate();
        }
      });
    }
  }
  t.same(refused, []);
});

t.test('a Connection', async (t) => {
  const { Connection } = framemask;
  const agreement = agree({ threshold: 0, threadPoolFrom: 10_000 });
  // The first of each role.
  for (const role of ['server', 'client']) new Connection(memoryPair()[0], role, { heartbeat: 1000 }).terminate();
  refuseModules(t);
  for (const role of ['server', 'client']) {
    for (const deflate of [null, agreement[role]]) {
      for (const [name, [make, code]] of Object.entries(FRAMES)) {
        const [stream, other] = memoryPair();
        const closed = new Promise((resolve) => {
          const handlers = { onMessage() {}, onError() {}, onClose: resolve };
          const connection = new Connection(stream, role, { ...handlers, maxPayload: 2 ** 20 }, { deflate });
          for (const data of ['small', LARGE]) connection.send(data, () => {});
        });
        other.resume();
        other.end(Buffer.concat(make(framesFor(role))));
        t.equal(await closed, code === 1000 ? 1000 : 1006, `${role}: ${name}`);
      }
    }
  }
  t.same(refused, []);
});

t.test('the codec', async (t) => {
  const { Decoder, Encoder, FrameError, acceptUpgrade, frameId, offerUpgrade, prepare } = framemask;
  const agreement = agree({ threshold: 0, threadPoolFrom: 10_000 });
  // The first of each.
  for (const deflate of [undefined, agreement.server]) {
    new Decoder({ role: 'server', deflate, onPart() {} });
    new Encoder({ role: 'server', deflate });
  }
  refuseModules(t);
  const socket = new PassThrough();
  const offer = offerUpgrade({ deflate: true });
  const request = { method: 'GET', httpVersion: '1.1', headers: { host: 'a' } };
  for (const [name, value] of Object.entries(offer.headers)) request.headers[name.toLowerCase()] = value;
  t.ok(acceptUpgrade(request, socket, Buffer.alloc(0), { deflate: true }).deflate);
  t.equal(acceptUpgrade({ ...request, method: 'POST' }, new PassThrough(), Buffer.alloc(0)), null);
  for (const role of ['server', 'client']) {
    for (const deflate of [undefined, agreement[role]]) {
      for (const handlers of [['onMessage'], ['onPart', 'onMessage'], ['onFrame']]) {
        for (const [name, [make, code]] of Object.entries(FRAMES)) {
          if (deflate === undefined && /ompress|DEFLATE/.test(name)) continue;
          if (deflate !== undefined && handlers[0] === 'onFrame') continue;
          const errors = [];
          const options = {
            role,
            deflate,
            trace: { id: frameId() },
            maxPayload: 2 ** 20,
            onError: (error) => errors.push(error)
          };
          for (const handler of handlers) options[handler] = () => {};
          const decoder = new Decoder(options);
          decoder.write(Buffer.concat(make(framesFor(role))));
          const isRefused = code !== null && code !== 1000 && !(name === 'bad DEFLATE' && deflate === undefined);
          if (handlers[0] !== 'onFrame') t.equal(errors.length, isRefused ? 1 : 0, `${role}, ${handlers}: ${name}`);
          t.ok(errors.every((error) => error instanceof FrameError));
        }
      }
      const encoder = new Encoder({ role, deflate, onDeflated() {} });
      for (const data of ['small', LARGE, 'after it']) encoder.text(data);
      encoder.text('fragments', { fin: false });
      encoder.continuation('end');
      encoder.ping();
      if (role === 'server') encoder.addPrepared(prepare('to all'));
      while (encoder.take().length !== 0 || encoder.pending !== 0) await new Promise(setImmediate);
      encoder.close(1000);
    }
  }
  t.same(refused, []);
});
