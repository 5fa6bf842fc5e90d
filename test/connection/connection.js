'use strict';

// A Connection on each transport, with a peer that writes raw frames.

const { once } = require('node:events');
const { Duplex } = require('node:stream');
const { inspect } = require('node:util');
const t = require('tap');
const { Connection, prepare } = require('../..');
const { BINARY, TEXT, framesFor } = require('../support/frames');
const { until } = require('../support/promises');
const { forEachEnd, memoryPair, openRaw } = require('../support/stream-pairs');

const text = (f, ...payloads) => payloads.map((payload) => f.text(payload));

forEachEnd(t, 'receives and sends messages and control frames', async (t, open, role) => {
  const { connection, events, peer, closed } = await open();
  const f = peer.frames;
  t.match(connection, {
    role,
    readyState: Connection.OPEN,
    protocol: '',
    bufferedAmount: 0,
    closeCode: null,
    closeReason: ''
  });
  t.equal(connection.deflate, null);
  peer.write(...text(f, 'Hello'), f.binary('bytes'), f.ping('p'), f.pong('q'), ...f.fragments(TEXT, ['in ', 'two']));
  await until(() => events.length === 5);
  t.same(events, [
    ['message', 'Hello'],
    ['message', 'bytes'],
    ['ping', 'p'],
    ['pong', 'q'],
    ['message', 'in two']
  ]);
  t.equal(connection.send('text'), true);
  connection.send(Buffer.from('binary'));
  connection.send(new Uint16Array([0x4141]));
  connection.send('as bytes', { binary: true });
  connection.send(Buffer.from('as text'), { binary: false });
  connection.send('in ', { fin: false });
  connection.ping('ping');
  connection.send('two');
  connection.pong('pong');
  connection.ping();
  t.same(await peer.until(10), [
    ['pong', 'p'],
    ['text', 'text'],
    ['binary', 'binary'],
    ['binary', 'AA'],
    ['binary', 'as bytes'],
    ['text', 'as text'],
    ['ping', 'ping'],
    ['text', 'in two'],
    ['pong', 'pong'],
    ['ping', '']
  ]);
  if (role === 'server') {
    connection.send(prepare('to all'));
    t.same((await peer.until(11)).at(-1), ['text', 'to all']);
  } else {
    t.throws(() => connection.send(prepare('to all')), { code: 'ERR_INVALID_STATE' });
  }
  const count = peer.events.length;
  connection.close(4000, 'bye');
  t.equal(connection.readyState, Connection.CLOSING);
  connection.close(1000);
  t.same((await peer.until(count + 1)).at(-1), ['close', 4000, 'bye']);
  peer.write(...text(f, 'late'), f.close(4001, 'bye, too'));
  if (role === 'server') await until(() => peer.events.at(-1)[0] === 'end');
  peer.stream.end();
  t.same((await closed).slice(5), [
    ['message', 'late'],
    ['close', 4001, 'bye, too']
  ]);
  t.match(connection, { readyState: Connection.CLOSED, closeCode: 4001, closeReason: 'bye, too' });
});

forEachEnd(t, 'a message stays as it is when others are read', async (t, open) => {
  const kept = [];
  const { peer } = await open({ onMessage: (data) => kept.push(data) });
  const payloads = ['first', 'other', 'third'];
  for (const [i, payload] of payloads.entries()) {
    peer.write(peer.frames.binary(payload));
    await until(() => kept.length > i);
  }
  t.same(kept.map(String), payloads);
});

forEachEnd(t, 'the peer closes', async (t, open, role) => {
  for (const [code, reason] of [[1001, 'away'], [undefined]]) {
    const { connection, events, peer, closed } = await open();
    const f = peer.frames;
    peer.write(...text(f, 'last'), f.close(code, reason), ...text(f, 'ignored'), f.close(1002));
    t.same((await peer.until(1))[0], ['close', code ?? 1005, '']);
    // 7.1.1: the server ends the transport first.
    if (role === 'server') t.same((await peer.until(2))[1], ['end']);
    peer.stream.end();
    await closed;
    t.equal(connection.framesRead, 2);
    t.same(events, [
      ['message', 'last'],
      ['close', code ?? 1005, reason ?? '']
    ]);
  }
});

forEachEnd(t, '7.1.7: the peer breaks a rule', async (t, open) => {
  const { events, peer, closed } = await open({ maxPayload: 10 });
  const f = peer.frames;
  peer.write(...text(f, 'good', 'longer than that', 'ignored'));
  t.same(await peer.until(2), [['close', 1009, ''], ['end']]);
  peer.stream.end();
  await closed;
  t.same(events, [
    ['message', 'good'],
    ['error', 'FRAMEMASK_ERR_MESSAGE_TOO_BIG'],
    ['close', 1006, '']
  ]);
});

forEachEnd(t, 'the peer ends its half without a Close frame, and gets the replies', async (t, open) => {
  const { connection, peer, closed } = await open({
    onMessage(data) {
      this.send(data);
    }
  });
  peer.stream.end(Buffer.concat(text(peer.frames, 'Hello')));
  t.same(await peer.until(2), [['text', 'Hello'], ['end']]);
  t.same(await closed, [['close', 1006, '']]);
  t.equal(connection.closeCode, 1006);
});

forEachEnd(t, 'terminate drops the connection', async (t, open) => {
  const { connection, peer, closed } = await open({
    onMessage() {
      this.terminate();
    }
  });
  peer.write(...text(peer.frames, 'a', 'b', 'c'));
  t.same(await closed, [['close', 1006, '']]);
  await until(() => peer.stream.readableEnded || peer.stream.destroyed);
  connection.terminate();
  connection.close();
  t.equal(connection.readyState, 3);
});

forEachEnd(t, 'pause holds back what has been read, until resume', async (t, open) => {
  const { connection, events, peer, closed } = await open({
    onMessage(data) {
      events.push(['message', data]);
      if (data === '2') this.pause();
    }
  });
  const f = peer.frames;
  peer.write(...text(f, '1', '2', '3', '4'), f.ping('held'), f.close(1000));
  await until(() => events.length === 2);
  t.equal(connection.paused, true);
  connection.send('sent meanwhile');
  t.same(await peer.until(1), [['text', 'sent meanwhile']]);
  connection.resume();
  connection.pause();
  await new Promise(setImmediate);
  t.equal(events.length, 2, 'paused again');
  connection.resume();
  connection.resume();
  t.equal(events.length, 2, 'nothing is delivered within resume()');
  t.same(await peer.until(3), [
    ['text', 'sent meanwhile'],
    ['pong', 'held'],
    ['close', 1000, '']
  ]);
  connection.pause();
  t.equal(connection.paused, false, 'all has been read');
  peer.stream.end();
  await closed;
  t.same(
    events.map(([, value]) => value),
    ['1', '2', '3', '4', 'held', 1000]
  );
});

forEachEnd(
  t,
  'paused from the beginning, it loses nothing, even if the peer is gone',
  async (t, open, _role, transport) => {
    const { connection, events, peer, closed } = await open({}, { paused: true });
    peer.stream.end(Buffer.concat([...text(peer.frames, 'first'), peer.frames.close(1000)]));
    if (transport === 'TCP') await until(() => peer.stream.bytesWritten > 0);
    await new Promise((resolve) => setTimeout(resolve, 20));
    t.same(events, []);
    t.equal(connection.paused, true);
    connection.resume();
    t.same(await closed, [
      ['message', 'first'],
      ['close', 1000, '']
    ]);
  }
);

t.test('a connection that is lost during a pause', async (t) => {
  for (const ends of ['resume', 'terminate']) {
    const { connection, events, peer, closed, stream } = await openRaw(t, 'memory', 'server', {}, { paused: true });
    for (const frame of text(peer.frames, 'first', 'second')) peer.write(frame);
    stream.destroy(new Error('lost'));
    await new Promise((resolve) => stream.on('close', resolve));
    t.same(events, []);
    t.equal(connection.readyState, 2);
    connection[ends]();
    await closed;
    const messages = ends === 'resume' ? ['first', 'second'].map((data) => ['message', data]) : [];
    t.same(events, [...messages, ['error', undefined], ['close', 1006, '']]);
  }
});

forEachEnd(t, 'the replies of a read leave in one write, from 128 KiB on at once', async (t, open, role) => {
  const payload = 'x'.repeat(1000);
  const { stream, peer } = await open({
    onMessage(data) {
      this.send(data);
    }
  });
  const writes = [];
  const { write } = stream;
  stream.write = function (chunk, ...rest) {
    writes.push(chunk.length);
    return write.call(this, chunk, ...rest);
  };
  const f = peer.frames;
  peer.write(...text(f, ...Array(50).fill(payload)));
  await peer.until(50);
  const sum = writes.reduce((a, b) => a + b, 0);
  t.equal(sum, 50 * (role === 'server' ? 1004 : 1008));
  t.ok(writes.length < 10, `${writes.length} writes`);
  const large = await open({
    onMessage(data) {
      const written = large.stream.bytesWritten ?? 0;
      t.equal(this.send('y'.repeat(140_000)) || true, true);
      if (large.stream.bytesWritten !== undefined) t.ok(large.stream.bytesWritten > written, 'at once');
      this.send(data);
    }
  });
  large.peer.write(...text(f, 'z'));
  t.same((await large.peer.until(2))[1], ['text', 'z']);
});

t.test('sends outside of a read leave at the end of the turn, from 16 KiB on at once', async (t) => {
  const { connection, stream, peer } = await openRaw(t, 'TCP', 'server');
  for (let i = 0; i < 10; i++) connection.send('x'.repeat(1000));
  t.equal(stream.bytesWritten, 0);
  t.equal(connection.bufferedAmount, 10_040);
  await new Promise(process.nextTick);
  t.equal(stream.bytesWritten, 10_040);
  connection.send('y'.repeat(16 * 1024));
  t.equal(stream.bytesWritten, 10_040 + 16 * 1024 + 4);
  await peer.until(11);
});

forEachEnd(t, 'terminate sends what was sent before it', async (t, open) => {
  const { connection, peer } = await open();
  connection.send('first');
  await peer.until(1);
  connection.send('z'.repeat(10_000), { fin: false });
  connection.send('z', { fin: true });
  connection.terminate();
  t.same((await peer.until(2))[1], ['text', 'z'.repeat(10_001)]);
});

forEachEnd(t, 'bytes may be changed after send, but 16 KiB and more of a server', async (t, open, role) => {
  const { connection, peer } = await open();
  const sizes = [10, 16_000, ...(role === 'client' ? [100_000] : [])];
  for (const size of sizes) {
    const bytes = Buffer.alloc(size, 'a');
    connection.send(bytes);
    bytes.fill('b');
  }
  t.same(
    await peer.until(sizes.length),
    sizes.map((size) => ['binary', 'a'.repeat(size)])
  );
});

t.test('options and arguments are checked', async (t) => {
  const [stream] = memoryPair();
  const refuses = (options, error, own) => t.throws(() => new Connection(stream, 'server', options, own), error);
  t.throws(() => new Connection({}, 'server'), { code: 'ERR_INVALID_ARG_TYPE' });
  t.throws(() => new Connection(stream, 'peer'), { code: 'ERR_INVALID_ARG_TYPE' });
  refuses(null, { code: 'ERR_INVALID_ARG_TYPE' }, {});
  refuses({ onMessage: 'x' }, { code: 'ERR_INVALID_ARG_TYPE' });
  refuses({ onmessage() {} }, { code: 'ERR_INVALID_ARG_VALUE' });
  refuses({ maxPayload: -1 }, { code: 'ERR_OUT_OF_RANGE' });
  refuses({ text: 'bytes' }, { code: 'ERR_INVALID_ARG_TYPE' });
  refuses({ maxBackpressure: 1.5 }, { code: 'ERR_OUT_OF_RANGE' });
  refuses({ closeTimeout: 2 ** 31 }, { code: 'ERR_OUT_OF_RANGE' });
  refuses({ heartbeat: '1' }, { code: 'ERR_INVALID_ARG_TYPE' });
  refuses({ autoPong: 1 }, { code: 'ERR_INVALID_ARG_TYPE' });
  refuses({}, { code: 'ERR_INVALID_ARG_TYPE' }, { deflate: {} });
  refuses({}, { code: 'ERR_INVALID_ARG_TYPE' }, { paused: 1 });
  refuses({}, { code: 'ERR_INVALID_ARG_TYPE' }, 1);
  t.equal(stream.eventNames().length, memoryPair()[0].eventNames().length, 'no listener is left');

  const connection = new Connection(stream, 'server', undefined);
  t.throws(() => connection.send(null), { code: 'ERR_INVALID_ARG_TYPE' });
  t.throws(() => connection.send('a', 1), { code: 'ERR_INVALID_ARG_TYPE' });
  t.throws(() => connection.send('a', {}, 1), { code: 'ERR_INVALID_ARG_TYPE' });
  t.throws(() => connection.ping('x'.repeat(126)), { code: 'ERR_OUT_OF_RANGE' });
  t.throws(() => connection.close(1005, 'reason'), { code: 'ERR_OUT_OF_RANGE' });
  t.equal(connection.readyState, 1);
  t.match(inspect(connection), /^Connection \{\s+role: 'server',\s+readyState: 1,\s+bufferedAmount: 0,/);
  t.notMatch(inspect(connection), /Memory/);
  connection.terminate();
});

t.test('options that change count for later connections', async (t) => {
  const options = { maxPayload: 3 };
  const seen = async () => {
    const { events, peer, closed } = await openRaw(t, 'memory', 'server', options);
    peer.write(...text(peer.frames, 'four'), peer.frames.close());
    peer.stream.end();
    await closed;
    return events[0][0];
  };
  const direct = (shared) => {
    const [stream, other] = memoryPair();
    const errors = [];
    shared.onError = (error) => errors.push(error.code);
    new Connection(stream, 'client', shared);
    other.write(Buffer.from('810461626364', 'hex'));
    return new Promise((resolve) => setImmediate(() => resolve(errors.length)));
  };
  t.equal(await seen(), 'error');
  // The peer does not answer the Close frame.
  const shared = { maxPayload: 3, closeTimeout: 1 };
  t.equal(await direct(shared), 1);
  t.equal(await direct(shared), 1);
  shared.maxPayload = 4;
  t.equal(await direct(shared), 0);
});

t.test('parts of messages, text as bytes, and no handlers at all', async (t) => {
  const parts = [];
  const { peer, events, closed } = await openRaw(t, 'memory', 'client', {
    partsFrom: 4,
    text: 'buffer',
    onPart: (data, isBinary, isLast) => parts.push([data.length, isBinary, isLast])
  });
  const f = peer.frames;
  peer.write(...text(f, 'abc'), ...f.fragments(BINARY, ['1234', '5']), f.close());
  peer.stream.end();
  await closed;
  t.same(parts, [
    [4, true, false],
    [1, true, true]
  ]);
  t.same(events[0], ['message', 'abc']);
  const [stream, other] = memoryPair();
  const connection = new Connection(stream, 'client');
  other.write(Buffer.concat([...text(f, 'a'), f.ping('b'), Buffer.from([0xff, 0xff])]));
  other.end();
  await once(stream, 'close');
  t.equal(connection.closeCode, 1006);
  const [partsOnly, third] = memoryPair();
  new Connection(partsOnly, 'client', { onPart: (data) => parts.push(data) });
  third.write(Buffer.concat(text(f, 'whole')));
  await until(() => parts.at(-1) === 'whole');
});

/** Streams that carry no connection any more, of which no event tells, and how they come to it. */
const OVER = {
  'destroyed and closed': [{}, (stream) => stream.destroy()],
  'read to its end': [{}, (stream) => stream.push(null) || stream.resume()],
  'ended by this end': [{}, (stream) => stream.end()],
  "destroyed without 'close'": [{ emitClose: false }, (stream) => stream.destroy()],
  'failed, and not destroyed': [{ autoDestroy: false }, (stream) => stream.emit('error', new Error('broken'))]
};

for (const [title, [options, act]] of Object.entries(OVER)) {
  // The peer of a socket that its program ends answers with its own end.
  for (const when of title === 'ended by this end' ? ['before'] : ['before', 'after']) {
    t.test(`a stream that is ${title} ${when} it is a connection`, async (t) => {
      const stream = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done(), ...options });
      const isError = title.startsWith('failed');
      if (isError) stream.on('error', () => {});
      if (when === 'before') {
        act(stream);
        // As a server's parser does: an error is noted by the end that it makes.
        if (isError) stream.end();
        await new Promise(setImmediate);
      }
      const events = [];
      const closed = new Promise((resolve) => {
        const connection = new Connection(stream, 'server', {
          heartbeat: 60_000,
          onError: ({ message }) => events.push(message),
          onClose(code) {
            events.push(code);
            resolve(this);
          }
        });
        if (when === 'before') t.equal(connection.send('x'), false);
        events.push('open');
        if (when === 'after') act(stream);
      });
      const connection = await closed;
      await new Promise(setImmediate);
      t.same(events, when === 'after' && isError ? ['open', 'broken', 1006] : ['open', 1006]);
      t.equal(connection.send('x'), false);
      t.equal(stream.destroyed, true);
    });
  }
}

t.test('a stream that its program has paused before is read', async () => {
  const [stream, peer] = memoryPair();
  stream.pause();
  const heard = [];
  const connection = new Connection(stream, 'server', { onMessage: (data) => heard.push(data) });
  peer.write(framesFor('server').text('hello'));
  await until(() => heard.length === 1);
  peer.end();
  await until(() => connection.readyState === 3);
});

t.test('autoPong: false leaves the answers to the program', async (t) => {
  const { connection, peer } = await openRaw(t, 'memory', 'server', {
    autoPong: false,
    onPing(payload) {
      this.pong(`own ${payload}`);
    }
  });
  peer.write(peer.frames.ping('a'));
  t.same(await peer.until(1), [['pong', 'own a']]);
  connection.terminate();
  t.equal(connection.pong('late'), false);
  t.equal(connection.ping('late'), false);
});
