'use strict';

// WebSocketStream: the scenes of web-platform-tests, websockets/stream/tentative, written anew, and
// those of a server. Left out: constructors' arguments as Web IDL converts them, workers, remote
// contexts, and the back/forward cache.

const { getEventListeners, once } = require('node:events');
const { setImmediate: turn } = require('node:timers/promises');
const t = require('tap');
const framemask = require('../../ws.js');
const { CLOSE, KEY, closePayload, frame } = require('../support/frames');
const { until } = require('../support/promises');
const { ALL, forEachDoor } = require('../support/doors');
const { IMPLEMENTATIONS, TRANSPORTS, connectPair, connectRaw, listen } = require('../support/websockets');

const { WebSocket, WebSocketError, WebSocketStream, drained, messages, sendStream } = framemask;

/** A server that echoes by streams, and the streams of a client. */
async function connectEcho(t, framemask, options) {
  const wss = await listen(t, framemask, options);
  wss.on('connection', async (socket) => {
    const { readable, writable } = await WebSocketStream.from(socket).opened;
    await readable.pipeTo(writable).catch(() => {});
  });
  const stream = new WebSocketStream(wss.url);
  return { wss, stream, ...(await stream.opened) };
}

/** The streams of a client, and its server's end, a WebSocket. */
async function connect(t, framemask, options, transport) {
  const wss = await listen(t, framemask, options, transport);
  const stream = new WebSocketStream(wss.url, { rejectUnauthorized: false });
  const [[server], info] = await Promise.all([once(wss, 'connection'), stream.opened]);
  return { server, stream, ...info };
}

/** Checks that a promise is rejected for a lost connection. @returns {Promise<Error>} its error */
async function isLost(t, promise) {
  const error = await promise.catch((error) => error);
  t.ok(error instanceof WebSocketError);
  t.match(error, { name: 'WebSocketError', closeCode: 1006, reason: '' });
  return error;
}

/** The signal 'close' of a server's end. */
const closed = async (socket) => {
  const [code, reason] = await once(socket, 'close');
  return `${code} ${reason}`.trim();
};

forEachDoor(t, 'messages come as strings and bytes, and are sent as such', async (t, framemask) => {
  for (const options of [{}, { sharedReads: false }, { perMessageDeflate: { threshold: 0 } }]) {
    const { wss, stream, readable, writable, extensions, protocol } = await connectEcho(t, framemask, options);
    t.equal(stream.url, wss.url);
    t.equal(protocol, '');
    t.equal(extensions, options.perMessageDeflate ? 'permessage-deflate' : '');
    const writer = writable.getWriter();
    const reader = readable.getReader();
    const bytes = Uint8Array.from({ length: 300 }, (_, i) => i);
    const views = [bytes, new DataView(bytes.buffer, 100, 50), bytes.buffer, new Uint8Array(0)];
    const large = new Uint8Array(70_000).fill(3);
    for (const chunk of ['text', '', '\ud800', 17, ...views, large]) await writer.write(chunk);
    for (const expected of ['text', '', '\ufffd', '17', bytes, bytes.subarray(100, 150), bytes, new Uint8Array(0)]) {
      t.same((await reader.read()).value, expected);
    }
    const { value } = await reader.read();
    t.equal(value.constructor, Uint8Array);
    t.ok(Buffer.from(large).equals(value));
    await t.rejects(writer.write(Symbol('no text')), TypeError);
    stream.close();
    t.equal((await stream.closed).closeCode, 1005);
  }
});

forEachDoor(t, 'a chunk can be transferred, and those of the same read stay', async (t, framemask) => {
  const { server, readable } = await connect(t, framemask);
  server._socket.cork();
  for (const byte of [1, 2]) server.send(Buffer.alloc(10, byte));
  server._socket.uncork();
  const reader = readable.getReader();
  const { value } = await reader.read();
  structuredClone(value, { transfer: [value.buffer] });
  t.same((await reader.read()).value, new Uint8Array(10).fill(2));
});

forEachDoor(t, 'a chunk may be changed when its write is done', async (t, framemask) => {
  const { readable, writable } = await connectEcho(t, framemask);
  const writer = writable.getWriter();
  const reader = readable.getReader();
  for (const length of [10, 2000, 20_000, 100_000]) {
    const chunk = new Uint8Array(length).fill(1);
    await writer.write(chunk);
    chunk.fill(2);
    t.ok(Buffer.alloc(length, 1).equals((await reader.read()).value), `${length} bytes`);
  }
});

forEachDoor(t, 'many writes leave no listeners', async (t, framemask) => {
  const { readable, writable } = await connectEcho(t, framemask);
  const writer = writable.getWriter();
  const warned = [];
  const warn = ({ message }) => warned.push(message);
  process.on('warning', warn);
  for (let i = 0; i < 20; i++) await writer.write(new Uint8Array(20_000));
  await turn();
  process.off('warning', warn);
  t.same(warned, []);
  await readable.cancel();
});

forEachDoor(t, 'close() sends code and reason', async (t, framemask, door) => {
  for (const [closeInfo, closeCode, reason] of [
    [{ closeCode: 3456, reason: 'pizza' }, 3456, 'pizza'],
    [undefined, 1005, ''],
    [null, 1005, ''],
    [{}, 1005, ''],
    [{ reason: '' }, 1005, ''],
    [{ reason: 'not empty' }, 1000, 'not empty']
  ]) {
    const { stream, readable, writable } = await connectEcho(t, framemask);
    stream.close(closeInfo);
    // A Connection answers with the code alone.
    t.same(await stream.closed, { closeCode, reason: door === 'Connection' ? '' : reason });
    t.same(await readable.getReader().read(), { value: undefined, done: true });
    await t.rejects(writable.getWriter().closed, { name: 'InvalidStateError' });
    stream.close();
  }
  const { stream } = await connectEcho(t, framemask);
  t.throws(() => stream.close(true), TypeError);
  t.throws(() => stream.close({ reason: '.'.repeat(124) }), { name: 'SyntaxError' });
  for (const closeCode of [999, 1001, 2999, 5000]) {
    t.throws(() => stream.close({ closeCode }), { name: 'InvalidAccessError' });
  }
});

t.test('an error has the code and reason that it was given', async (t) => {
  t.match(new WebSocketError(), { name: 'WebSocketError', message: '', code: 0, closeCode: null, reason: '' });
  const error = new WebSocketError('message', { closeCode: 3456, reason: 'reason' });
  t.ok(error instanceof DOMException);
  t.match(error, { code: 0, message: 'message', closeCode: 3456, reason: 'reason' });
  t.equal(new WebSocketError('', { reason: 'specified' }).closeCode, 1000);
  t.throws(() => new WebSocketError('', { closeCode: 1001 }), { name: 'InvalidAccessError' });
  t.throws(() => new WebSocketError('', { closeCode: 1000, reason: 'é'.repeat(62) }), { name: 'SyntaxError' });
});

forEachDoor(t, 'cancel and abort close the WebSocket as their reason says', async (t, framemask) => {
  const lost = await connect(t, framemask);
  lost.server.terminate();
  const ofLost = await lost.stream.closed.catch((error) => error);
  const ofOther = Object.assign(new DOMException('yes', 'DataCloneError'), { closeCode: 1000, reason: 'ignored' });
  for (const [stream, method] of Object.entries({ readable: 'cancel', writable: 'abort' })) {
    for (const [reason, expected] of [
      [undefined, '1005'],
      [{ closeCode: 3333, reason: 'not a WebSocketError' }, '1005'],
      [ofOther, '1005'],
      [ofLost, '1005'],
      [new WebSocketError('without a code'), '1005'],
      [new WebSocketError('', { closeCode: 3333 }), '3333'],
      [new WebSocketError('', { closeCode: 3456, reason: 'set' }), '3456 set'],
      [new WebSocketError('', { reason: 'specified' }), '1000 specified']
    ]) {
      const { stream: own, [stream]: side, server } = await connect(t, framemask);
      server.send('a message that nobody reads');
      const ended = closed(server);
      await side[method](reason);
      t.equal(await ended, expected, `${method}: ${expected}`);
      t.equal((await own.closed).closeCode, Number.parseInt(expected, 10));
    }
  }
});

forEachDoor(t, 'closing the writable is done when the peer has answered', async (t, framemask) => {
  const { server, socket } = await connectRaw(t, framemask);
  const { writable, readable } = await WebSocketStream.from(server).opened;
  let isDone = false;
  const done = writable.close().then(() => {
    isDone = true;
  });
  await once(socket, 'data');
  await turn();
  t.notOk(isDone);
  socket.write(Buffer.from([0x88, 0x80, 0, 0, 0, 0]));
  await done;
  t.same(await readable.getReader().read(), { value: undefined, done: true });
});

forEachDoor(t, 'a lost connection is an error of all', async (t, framemask, door) => {
  for (const lose of [(server) => server.terminate(), (server) => server._socket.resetAndDestroy()]) {
    const { server, stream, readable, writable } = await connect(t, framemask);
    const reader = readable.getReader();
    const writer = writable.getWriter();
    const reading = reader.read();
    stream.close({ closeCode: 4000 });
    lose(server);
    for (const promise of [stream.closed, reading, reader.closed, writer.closed]) {
      await isLost(t, promise);
    }
  }
  const { server: broken, socket } = await connectRaw(t, framemask);
  const ofBroken = WebSocketStream.from(broken);
  socket.write(Buffer.from([0xf1, 0x80, 0, 0, 0, 0]));
  t.match((await isLost(t, ofBroken.closed)).cause, {
    code: door === 'Connection' ? 'FRAMEMASK_ERR_RESERVED_BITS' : 'WS_ERR_UNEXPECTED_RSV_2_3'
  });
});

for (const transport of Object.keys(TRANSPORTS)) {
  forEachDoor(t, `a write that is lost rejects, as do those after it: ${transport}`, async (t, framemask) => {
    const wss = await listen(t, framemask, {}, transport);
    const client = new WebSocket(wss.url, TRANSPORTS[transport].client);
    const [[server]] = await Promise.all([once(wss, 'connection'), once(client, 'open')]);
    for (const end of [server, client]) end.pause();
    const [ofServer, ofClient] = [server, client].map((end) => WebSocketStream.from(end));
    const writers = [];
    for (const stream of [ofServer, ofClient]) writers.push((await stream.opened).writable.getWriter());
    const writes = writers.map((writer) => [writer.write(new Uint8Array(50e6)), writer.write('later')]);
    await turn();
    server.terminate();
    for (const [i, { closed }] of [ofServer, ofClient].entries()) {
      const error = await isLost(t, closed);
      for (const write of [...writes[i], writers[i].write('word'), writers[i].closed]) {
        t.equal(await write.catch((thrown) => thrown), error);
      }
    }
  });
}

forEachDoor(
  t,
  "a write that the peer's Close frame and end cut off is one to a closed stream",
  async (t, framemask) => {
    const { server, socket } = await connectRaw(t, framemask);
    const stream = WebSocketStream.from(server);
    const writer = (await stream.opened).writable.getWriter();
    const write = writer.write(new Uint8Array(50e6));
    const next = writer.write('next');
    socket.write(frame(CLOSE, closePayload(1000), { key: KEY }));
    await until(() => server.readyState === WebSocket.CLOSING);
    socket.resetAndDestroy();
    t.match(await stream.closed.catch((error) => error), { name: 'WebSocketError', closeCode: 1000 });
    const error = await write.catch((thrown) => thrown);
    t.match(error, { constructor: DOMException, name: 'InvalidStateError' });
    for (const later of [next, writer.write('word')]) t.equal(await later.catch((thrown) => thrown), error);
  }
);

forEachDoor(
  t,
  'a write that has left before the own Close frame resolves, one after it rejects',
  async (t, framemask) => {
    const { server, stream, writable } = await connect(t, framemask);
    const writer = writable.getWriter();
    server.pause();
    const before = writer.write(new Uint8Array(50e6));
    const after = writer.write('after');
    await turn();
    stream.close();
    server.resume();
    await before;
    await t.rejects(after, { name: 'InvalidStateError' });
    t.same(await stream.closed, { closeCode: 1005, reason: '' });
    const { stream: another, writable: idle } = await connect(t, framemask);
    another.close();
    await t.rejects(idle.getWriter().write('after'), { name: 'InvalidStateError' });
    t.same(await another.closed, { closeCode: 1005, reason: '' });
  }
);

t.test('a handshake that fails rejects both promises, and nobody needs to hear it', async (t) => {
  const { url } = await listen(t, framemask, { verifyClient: () => false });
  const refused = new WebSocketStream(url);
  await isLost(t, refused.opened);
  t.match((await refused.closed.catch((error) => error)).cause, { message: 'Unexpected server response: 401' });
  const left = new WebSocketStream((await listen(t, framemask)).url);
  left.close();
  await isLost(t, left.opened);
  await isLost(t, left.closed);
  t.throws(() => new WebSocketStream('no address'), SyntaxError);
  t.throws(() => new WebSocketStream(url, { protocols: ['a', 'a'] }), SyntaxError);
});

t.test('a signal ends the handshake, and nothing after it', async (t) => {
  const wss = await listen(t, framemask);
  const { url } = wss;
  const reason = new Error('enough');
  const never = new WebSocketStream(url, { signal: AbortSignal.abort(reason) });
  t.equal(never.url, url);
  never.close();
  const controller = new AbortController();
  const early = new WebSocketStream(url, { signal: controller.signal });
  controller.abort(reason);
  for (const { opened, closed } of [never, early]) {
    await t.rejects(opened, reason);
    await t.rejects(closed, reason);
  }
  const { signal } = new AbortController();
  const refused = new WebSocketStream('ws://127.0.0.1:1', { signal });
  await t.rejects(refused.opened, { closeCode: 1006 });
  t.same(getEventListeners(signal, 'abort'), [], 'a handshake that has failed leaves its signal');
  const late = new AbortController();
  const stream = new WebSocketStream(url, { signal: late.signal, headers: { 'x-test': '1' } });
  const [[socket, request]] = await Promise.all([once(wss, 'connection'), stream.opened]);
  t.equal(request.headers['x-test'], '1', 'other options are those of a WebSocket');
  late.abort(reason);
  socket.close(3000, 'later');
  t.same(await stream.closed, { closeCode: 3000, reason: 'later' });
});

t.test('a signal that is none is a TypeError, and opens no connection', async (t) => {
  const { wss, stream } = await connectEcho(t, framemask);
  const [websocket] = wss.clients;
  const message = /"options.signal" argument must be an AbortSignal/;
  for (const signal of [null, 5, {}]) {
    t.throws(() => new WebSocketStream(wss.url, { signal }), { code: 'ERR_INVALID_ARG_TYPE', message });
    t.throws(() => messages(websocket, { signal }), message);
    await t.rejects(drained(websocket, { signal }), message);
    await t.rejects(sendStream(websocket, ['a'], { signal }), message);
  }
  t.same([...wss.clients], [websocket]);
  stream.close();
  await stream.closed;
});

t.test('from() takes open and opening WebSockets, of ws, too', async (t) => {
  for (const implementation of Object.values(IMPLEMENTATIONS)) {
    const { server, client } = await connectPair(t, implementation);
    server.binaryType = 'arraybuffer';
    const { readable, writable } = await WebSocketStream.from(server).opened;
    client.send(Buffer.from('abc'));
    t.same((await readable.getReader().read()).value, new Uint8Array(Buffer.from('abc')));
    const heard = once(client, 'message');
    await writable.getWriter().write('text');
    t.equal(String((await heard)[0]), 'text');
    client.close();
    await once(server, 'close');
    t.throws(() => WebSocketStream.from(server), { name: 'InvalidStateError' });
  }
  const opening = WebSocketStream.from(new WebSocket((await listen(t, framemask)).url));
  await opening.opened;
  opening.close();
  t.throws(() => WebSocketStream.from({}), TypeError);
});

forEachDoor(t, 'a reader that does not read stops the peer', async (t, framemask) => {
  for (const [options, transport] of [[{}], [{ sharedReads: false }], [{}, 'TLS']]) {
    const { server, readable, stream } = await connect(t, framemask, options, transport);
    const chunk = Buffer.alloc(64 * 1024, 1);
    // More than the buffers of two sockets hold.
    const count = 400;
    for (let i = 0; i < count; i++) server.send(chunk);
    server.send('last');
    const reader = readable.getReader();
    await reader.read();
    await turn();
    t.ok(server.bufferedAmount > (count / 2) * chunk.length, `${server.bufferedAmount} bytes wait at the sender`);
    for (let i = 1; i < count; i++) if (!chunk.equals((await reader.read()).value)) t.fail(`chunk ${i}`);
    t.equal((await reader.read()).value, 'last');
    server.close();
    t.equal((await stream.closed).closeCode, 1005);
  }
});

/** The ways to close a connection whose stream has paused it: not that of plain ws. */
const CLOSES = {
  // A number, as in browsers.
  'close()': (stream) => stream.close({ closeCode: '3000' }),
  'close() of the WebSocket': (_stream, peer) => peer.close(3000)
};

for (const [door, implementation] of Object.entries(ALL)) {
  for (const [name, close] of Object.entries(CLOSES).slice(0, door === 'ws' ? 1 : 2)) {
    t.test(`${name} does not wait for a reader, ${door}`, async (t) => {
      const { server, client } = await connectPair(t, implementation);
      const stream = WebSocketStream.from(server);
      const { readable } = await stream.opened;
      for (let i = 0; i < 400; i++) client.send(Buffer.alloc(64 * 1024));
      await readable.getReader().read();
      await turn();
      close(stream, server);
      t.equal((await stream.closed).closeCode, 3000);
    });
  }
}

forEachDoor(t, 'a writer waits for a peer that does not read', async (t, framemask) => {
  const { server, stream, writable } = await connect(t, framemask);
  server.pause();
  const writer = writable.getWriter();
  const chunk = new Uint8Array(8000);
  let written = 0;
  const writing = (async () => {
    for (;;) {
      await writer.write(chunk);
      written++;
    }
  })().catch(() => {});
  // The socket's buffers are full when nothing has been written for some turns.
  for (let before = -1, turns = 0; turns < 100; turns++) {
    if (written !== before) turns = 0;
    before = written;
    await turn();
  }
  const heard = [];
  server.on('message', (data) => heard.push(data.length));
  await writer.abort(new WebSocketError('', { closeCode: 4000 }));
  await writing;
  server.resume();
  t.equal((await stream.closed).closeCode, 4000, 'abort does not wait for the peer');
  t.ok(heard.length >= written && heard.length <= written + 1, 'what was written has come');
});

t.test('the class below it takes connections alone', async (t) => {
  const { constructor: Base } = Object.getPrototypeOf(WebSocketStream.prototype);
  t.throws(() => new Base('ws://127.0.0.1/'), { name: 'TypeError', message: /WebSocketStream.from/ });
});
