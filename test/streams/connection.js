'use strict';

// Where the streams of a Connection differ from those of a WebSocket.

const diagnostics = require('node:diagnostics_channel');
const { once } = require('node:events');
const { Readable } = require('node:stream');
const t = require('tap');
const { Connection, WebSocketStream, drained, messages, prepare, sendStream } = require('../..');
const { kPeer } = require('../../lib/streams/peer');
const framemask = require('../../ws.js');
const { BINARY, KEY, TEXT, frame } = require('../support/frames');
const { until, withResolvers } = require('../support/promises');
const { memoryPair } = require('../support/stream-pairs');

/** A server's Connection on a stream in memory, and the stream of its peer. */
function open(options, own) {
  const [stream, peer] = memoryPair();
  const connection = new Connection(stream, 'server', { onError() {}, closeTimeout: 20, ...options }, own);
  const frames = [];
  peer.on('data', (bytes) => frames.push(bytes));
  return { connection, peer, frames, write: (...args) => peer.write(frame(...args, { key: KEY })) };
}

const take = async (iterator) => (await iterator.next()).value;

t.test('both doors export the same functions', (t) => {
  for (const [name, value] of Object.entries({ drained, messages, sendStream })) t.equal(framemask[name], value);
  t.equal(Object.getPrototypeOf(framemask.WebSocketStream), WebSocketStream);
  t.end();
});

t.test('a loop that begins in the turn of the constructor gets all, and ends after onClose', async (t) => {
  const events = [];
  const { connection, write, peer } = open({ onClose: (code) => events.push(code) });
  const loop = (async () => {
    for await (const { data, isBinary } of connection) events.push(isBinary ? [...data] : data);
    events.push('end');
  })();
  write(TEXT, 'a');
  write(BINARY, Buffer.of(1, 2));
  peer.end(frame(8, Buffer.of(3, 232), { key: KEY }));
  await loop;
  // The Close frame was in the same turn.
  t.same(events, [1000, 'a', [1, 2], 'end']);
  t.same(await messages(connection).next(), { value: undefined, done: true });
});

t.test('paused: true holds the messages until a loop begins', async (t) => {
  const { connection, write } = open({}, { paused: true });
  write(TEXT, 'early');
  await new Promise(setImmediate);
  const iterator = messages(connection);
  t.same(await take(iterator), { data: 'early', isBinary: false });
  t.notOk(connection.paused);
  await iterator.return();
  t.ok(connection.paused, 'the loop has been left');
  write(TEXT, 'later');
  t.same(await take(messages(connection)), { data: 'later', isBinary: false });
});

t.test('text: buffer comes as a string in a loop', async (t) => {
  const { connection, write } = open({ text: 'buffer' });
  const iterator = messages(connection);
  write(TEXT, 'é');
  t.same(await take(iterator), { data: 'é', isBinary: false });
});

t.test('a Connection with onMessage or onPart refuses loops and web streams', (t) => {
  for (const name of ['onMessage', 'onPart']) {
    const { connection } = open({ [name]() {} });
    for (const begin of [() => messages(connection), () => WebSocketStream.from(connection)]) {
      t.throws(begin, { code: 'ERR_INVALID_STATE', message: /onMessage or onPart/ });
    }
  }
  t.end();
});

t.test('what is neither a Connection nor a WebSocket is a TypeError', async (t) => {
  for (const value of [undefined, null, {}, new Readable()]) {
    t.throws(() => messages(value), { code: 'ERR_INVALID_ARG_TYPE', message: /"peer"/ });
    await t.rejects(drained(value), { code: 'ERR_INVALID_ARG_TYPE' });
  }
});

t.test('a loss that a loop hears is not warned of; one that nobody hears is', async (t) => {
  const warned = [];
  const warn = ({ code }) => warned.push(code);
  process.on('warning', warn);
  for (const isHeard of [true, false]) {
    const { connection, write } = open({ onError: undefined });
    const next = isHeard ? messages(connection).next() : null;
    write(3, '');
    await next?.catch(({ code }) => t.equal(code, 'FRAMEMASK_ERR_OPCODE'));
    await until(() => connection.readyState === 3);
    await new Promise(setImmediate);
    t.same(warned, isHeard ? [] : ['FRAMEMASK_WARN_LOST']);
  }
  process.off('warning', warn);
});

t.test('partsFrom: long messages are streams, and hold what follows', async (t) => {
  const { connection, write, peer } = open({ partsFrom: 1000, heartbeat: 30 });
  const iterator = messages(connection, { streams: true });
  write(TEXT, 'short');
  const long = frame(TEXT, 'é'.repeat(50_000), { key: KEY });
  for (const part of [long.subarray(0, 40_000), long.subarray(40_000)]) peer.write(part);
  write(TEXT, 'after');
  t.equal((await take(iterator)).data, 'short');
  const { data: stream, isBinary } = await take(iterator);
  t.notOk(isBinary);
  connection.pause();
  connection.resume();
  t.ok(stream.readableLength < 40_000, 'a part that its reader has not taken');
  let text = '';
  for await (const part of stream.setEncoding('utf8')) text += part;
  t.equal(text, 'é'.repeat(50_000));
  t.equal((await take(iterator)).data, 'after');
  write(BINARY, Buffer.alloc(2000));
  write(TEXT, 'last');
  (await take(iterator)).data.destroy();
  t.equal((await take(iterator)).data, 'last');
  await iterator.return();
  t.equal(connection.readyState, 1);
  connection.terminate();
});

t.test('a stream whose message is cut, or breaks a rule, has an error', async (t) => {
  for (const [end, code] of [
    [(peer) => peer.end(), 'FRAMEMASK_ERR_INCOMPLETE'],
    [(peer) => peer.write(frame(TEXT, 'x', { key: KEY })), 'FRAMEMASK_ERR_INTERLEAVED']
  ]) {
    const { connection, peer } = open({ partsFrom: 0 });
    const iterator = messages(connection, { streams: true });
    peer.write(frame(TEXT, 'begin', { key: KEY, fin: false }));
    const { data: stream } = await take(iterator);
    const failed = once(stream, 'error');
    stream.resume();
    await new Promise(setImmediate);
    end(peer);
    t.equal((await failed)[0].code, code);
  }
});

t.test('a loop without streams gathers parts; without a loop they are dropped', async (t) => {
  const { connection, write } = open({ partsFrom: 10 });
  write(TEXT, 'nobody reads this');
  await new Promise(setImmediate);
  const iterator = messages(connection);
  write(TEXT, 'gathered from its parts');
  t.same(await take(iterator), { data: 'gathered from its parts', isBinary: false });
});

t.test('framemask:close counts the messages and bytes of a loop', async (t) => {
  for (const [options, streams] of [
    [{}, false],
    [{ partsFrom: 2 }, true]
  ]) {
    const closed = withResolvers();
    const note = (record) => closed.resolve(record);
    diagnostics.subscribe('framemask:close', note);
    const { connection, write } = open(options);
    const iterator = messages(connection, { streams });
    write(TEXT, 'one');
    const { data } = await take(iterator);
    data.resume?.();
    connection.terminate();
    t.match(await closed.promise, { messagesReceived: 1, bytesReceived: 3 });
    diagnostics.unsubscribe('framemask:close', note);
  }
});

t.test('send() amid a stream waits, is counted, and refuses fragments', async (t) => {
  const [stream, peer] = memoryPair();
  const received = [];
  let drains = 0;
  const server = new Connection(stream, 'server', { onDrain: () => drains++ });
  const client = new Connection(peer, 'client', { onMessage: (data) => received.push(`${data.length}`) });
  const gate = withResolvers();
  const sent = sendStream(
    server,
    (async function* () {
      yield 'one';
      await gate.promise;
      yield '!';
    })()
  );
  await new Promise(setImmediate);
  t.throws(() => server.send('x', { fin: false }), { code: 'ERR_INVALID_STATE' });
  t.throws(() => server.send(5), { code: 'ERR_INVALID_ARG_TYPE' });
  t.throws(() => server.send('x', {}, 5), { code: 'ERR_INVALID_ARG_TYPE' });
  const short = Buffer.from('short');
  t.equal(server.send(short), true);
  short.fill(0);
  t.equal(server.send(prepare('prepared')), true);
  t.equal(server.bufferedAmount, 13);
  t.equal(server.send(Buffer.alloc(70_000)), false, 'wait for onDrain');
  const left = new Promise((resolve) => server.send('last', resolve));
  gate.resolve();
  await sent;
  t.notOk(await left);
  await until(() => received.length === 5);
  t.same(received, ['4', '5', '8', '70000', '4']);
  await until(() => drains > 0);
  t.equal(server.bufferedAmount, 0);
  for (const end of [server, client]) end.terminate();
});

t.test('messages that wait for a stream are told when the connection is lost', async (t) => {
  const { connection } = open();
  const gate = withResolvers();
  const sent = sendStream(
    connection,
    (async function* () {
      yield 'a';
      await gate.promise;
    })()
  );
  await new Promise(setImmediate);
  const waits = new Promise((resolve) => connection.send('b', resolve));
  connection.terminate();
  gate.resolve();
  await t.rejects(sent, { code: 'FRAMEMASK_ERR_NOT_OPEN' });
  t.equal((await waits).code, 'FRAMEMASK_ERR_NOT_OPEN');
});

t.test('web streams of a Connection know its protocol and extensions', async (t) => {
  const { connection } = open({}, { protocol: 'chat' });
  const stream = WebSocketStream.from(connection);
  t.match(await stream.opened, { protocol: 'chat', extensions: '' });
  t.equal(stream.url, '');
  connection.terminate();
  await t.rejects(stream.closed, { name: 'WebSocketError', closeCode: 1006 });
  t.throws(() => WebSocketStream.from(connection), { name: 'InvalidStateError' });
  t.equal(connection[kPeer], connection[kPeer]);
});
