'use strict';

const { once } = require('node:events');
const { deflateRawSync } = require('node:zlib');
const t = require('tap');
const { FrameError } = require('../../lib/shared/errors');
const { toWsError } = require('../../lib/ws/frame-errors');
const { isBusy } = require('../../lib/ws/internals');
const { BINARY, CLOSE, CONTINUATION, PING, TEXT, frame, framesFor } = require('../support/frames');
const { MEMORIES } = require('../support/memories');
const { until } = require('../support/promises');
const { uncaughtMessages } = require('../support/uncaught');
const websockets = require('../support/websockets');
const { hasWs } = require('../support/ws-version');

const { IMPLEMENTATIONS, connectPair, connectRaw, connectRawServer, deliver, record, settled } = websockets;
const framemask = IMPLEMENTATIONS['framemask/ws'];
const f = framesFor('server');
const masked = f.frame;

// Each test runs with ws and with framemask/ws, which must do the same.

/** Older versions neither send nor receive Blobs. */
const hasBlobs = hasWs('8.18.0');

/** What `send` takes, and what arrives. */
const DATA = [
  { name: 'a string', data: 'héllo', expected: 'héllo', isBinary: false },
  { name: 'no characters', data: '', expected: '', isBinary: false },
  { name: 'a long string', data: 'ö'.repeat(70_000), expected: 'ö'.repeat(70_000), isBinary: false },
  { name: 'a Buffer', data: Buffer.from('abc'), expected: 'abc', isBinary: true },
  { name: 'an empty Buffer', data: Buffer.alloc(0), expected: '', isBinary: true },
  { name: 'a large Buffer', data: Buffer.alloc(70_000, 'x'), expected: 'x'.repeat(70_000), isBinary: true },
  { name: 'a Uint8Array', data: Uint8Array.of(97, 98), expected: 'ab', isBinary: true },
  { name: 'a Uint16Array', data: Uint16Array.of(0x6161), expected: 'aa', isBinary: true },
  { name: 'a DataView', data: new DataView(new Uint8Array([97, 98, 99]).buffer, 1), expected: 'bc', isBinary: true },
  { name: 'an ArrayBuffer', data: new Uint8Array([97, 98]).buffer, expected: 'ab', isBinary: true },
  { name: 'a number', data: 42, expected: '42', isBinary: false },
  { name: 'zero', data: 0, expected: '0', isBinary: false },
  { name: 'an array', data: [97, 98], expected: 'ab', isBinary: true },
  { name: 'nothing', data: undefined, expected: '', isBinary: true },
  { name: 'null', data: null, expected: '', isBinary: true },
  { name: 'a string as binary', data: 'abc', options: { binary: true }, expected: 'abc', isBinary: true },
  { name: 'bytes as text', data: Buffer.from('abc'), options: { binary: false }, expected: 'abc', isBinary: false },
  { name: 'options without effect', data: 'abc', options: { compress: false }, expected: 'abc', isBinary: false },
  { name: 'fin, given', data: 'abc', options: { fin: true }, expected: 'abc', isBinary: false },
  { name: 'undefined', data: Buffer.from('ab'), options: { binary: undefined }, expected: 'ab', isBinary: false },
  { name: 'options that are null', data: 'abc', options: null, expected: 'abc', isBinary: false },
  // What follows it waits in ws's Sender.
  ...(hasBlobs ? [{ name: 'a Blob', data: new Blob(['blob']), expected: 'blob', isBinary: true }] : []),
  { name: 'a string after a Blob', data: 'abc', expected: 'abc', isBinary: false },
  { name: 'bytes after it', data: 'abc', options: { binary: true }, expected: 'abc', isBinary: true }
];

/** Has a WebSocket send data in each way that ws has. */
const SENDS = {
  send: (from, data, done) => from.send(data, done),
  text: (from, data, done) => from.send(data, { binary: false }, done),
  'compress: false': (from, data, done) => from.send(data, { compress: false }, done),
  fragments(from, data, done) {
    from.send(data, { fin: false });
    from.send(data, done);
  },
  ping: (from, data, done) => from.ping(data, undefined, done),
  pong: (from, data, done) => from.pong(data, undefined, done)
};

/** The values of binaryType, and the classes of data. */
const TYPES = { nodebuffer: Buffer, arraybuffer: ArrayBuffer, ...(hasBlobs && { blob: Blob }), fragments: Array };

const DEFLATE = { perMessageDeflate: { threshold: 0 } };
const SETTINGS = {
  plain: { client: { perMessageDeflate: false } },
  deflate: { server: DEFLATE, client: DEFLATE },
  'deflate without takeover': {
    server: { perMessageDeflate: { serverNoContextTakeover: true, clientNoContextTakeover: true, threshold: 10 } }
  },
  'a mask of its own': { client: { perMessageDeflate: false, generateMask: (mask) => mask.fill(7) } }
};

for (const [setting, options] of Object.entries(SETTINGS)) {
  t.test(`${setting}: a client masks no memory of the program`, async (t) => {
    const { server, client } = await connectPair(t, framemask, options);
    for (const [kind, make] of Object.entries(MEMORIES)) {
      for (const [way, send] of Object.entries(SENDS)) {
        for (const size of ['ping', 'pong'].includes(way) ? [8, 104] : [8, 1000, 40_000]) {
          const { data, seen } = make(size);
          seen.fill(65);
          const arrived = once(server, ['ping', 'pong'].includes(way) ? way : 'message');
          await new Promise((resolve) => send(client, data, resolve));
          const [received] = await arrived;
          const expected = Buffer.alloc(way === 'fragments' ? size * 2 : size, 65);
          t.ok(seen.equals(Buffer.alloc(size, 65)) && expected.equals(received), `${kind}, ${way}, ${size} bytes`);
        }
      }
    }
  });
}

for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
  for (const [setting, options] of Object.entries(SETTINGS)) {
    t.test(`${name}, ${setting}: each kind of data arrives, in the order of send, both ways`, async (t) => {
      const { server, client } = await connectPair(t, implementation, options);
      for (const from of [client, server]) {
        const to = from === client ? server : client;
        const called = [];
        const received = record(to, DATA.length);
        for (const [i, { data, options }] of DATA.entries()) {
          const callback = (error) => called.push(error ? error.message : i);
          if (options === undefined) from.send(data, callback);
          else from.send(data, options, callback);
        }
        const events = await received;
        for (const [i, { name, expected, isBinary }] of DATA.entries()) {
          const [, data, wasBinary] = events[i];
          t.equal(wasBinary, isBinary, name);
          t.ok(data.toString() === expected, `${name}: the data`);
        }
        t.same(called, [...DATA.keys()], 'the callbacks');
        t.equal(from.bufferedAmount, 0);
      }
    });

    t.test(`${name}, ${setting}: fragments, control frames between them, and a closing handshake`, async (t) => {
      const { server, client } = await connectPair(t, implementation, options);
      for (const end of [server, client]) end.binaryType = 'fragments';
      const events = record(server);
      client.send('a', { fin: false });
      client.ping('1');
      client.send('b', { fin: false });
      client.pong('2');
      client.send('', { fin: true });
      client.send(Buffer.from('xy'), { fin: false });
      client.send(Buffer.alloc(0), { fin: false });
      client.send(Buffer.from('z'));
      client.send(Buffer.from('single'));
      client.close(3000, 'bye');
      const [code, reason] = await once(client, 'close');
      t.same([code, reason.toString()], [3000, 'bye']);
      const strings = (data) => (Array.isArray(data) ? data.map(String) : String(data));
      const seen = (await events).map(([event, data, ...rest]) => [event, strings(data), ...rest]);
      t.same(seen, [
        ['ping', '1'],
        ['pong', '2'],
        ['message', 'ab', false],
        ['message', ['xy', 'z'], true],
        ['message', ['single'], true],
        ['close', '3000', 'bye']
      ]);
    });

    t.test(`${name}, ${setting}: binaryType, changed between messages`, async (t) => {
      const { server, client } = await connectPair(t, implementation, options);
      for (const binaryType of [...Object.keys(TYPES), 'nodebuffer']) {
        for (const size of [0, 5, 70_000]) {
          server.binaryType = binaryType;
          const [data] = await deliver(client, server, Buffer.alloc(size, 'x'));
          const given = Array.isArray(data) ? Buffer.concat(data) : data;
          const bytes = given instanceof Blob ? Buffer.from(await given.arrayBuffer()) : Buffer.from(given);
          t.ok(bytes.equals(Buffer.alloc(size, 'x')), `${binaryType}, ${size} bytes`);
          t.equal(data.constructor, TYPES[binaryType], `${binaryType}, ${size} bytes: the type`);
        }
      }
    });
  }

  t.test(`${name}: text and binary are told apart by listeners of the browsers' kind`, async (t) => {
    const { server, client } = await connectPair(t, implementation);
    const seen = [];
    server.onmessage = ({ data }) => seen.push(data);
    for (const data of ['text', Buffer.from('binary')]) await deliver(client, server, data);
    t.same(seen, ['text', Buffer.from('binary')]);
  });

  t.test(`${name}: send throws before the connection is open, and fails by its callback afterwards`, async (t) => {
    const { client } = await connectPair(t, implementation);
    const early = new implementation.WebSocket('ws://127.0.0.1:1');
    early.on('error', () => {});
    t.throws(() => early.send('x'), /readyState 0/);
    early.terminate();
    t.equal(early.bufferedAmount, 0);
    client.close();
    const failed = new Promise((resolve) => client.send('late', resolve));
    t.match(await failed, /readyState 2/);
    t.equal(client.bufferedAmount > 0, true, 'it counts as buffered');
    await once(client, 'close');
    const atLast = new Promise((resolve) => client.send('later', resolve));
    t.match(await atLast, /readyState 3/);
  });

  t.test(`${name}: with allowSynchronousEvents false, each event has a turn of its own`, async (t) => {
    const { server, client } = await connectPair(t, implementation, { server: { allowSynchronousEvents: false } });
    let turn = 0;
    let isOver = false;
    (function count() {
      turn++;
      if (!isOver) setImmediate(count);
    })();
    const turns = [];
    for (const event of ['ping', 'pong', 'message']) server.on(event, () => turns.push(turn));
    const closed = once(server, 'close');
    client.send('a');
    client.ping();
    client.send(Buffer.from('b'));
    client.pong();
    client.close();
    await closed;
    isOver = true;
    t.equal(turns.length, 4);
    t.equal(new Set(turns).size, 4, 'four turns');
  });
}

// Listeners that throw, pause, close and end the connection while a chunk is decoded.

const TEXTS = ['a', 'b', 'c', 'd'];

for (const deflate of [{}, DEFLATE]) {
  for (const allowSynchronousEvents of [true, false]) {
    const title = `${Object.keys(deflate)}, synchronous events ${allowSynchronousEvents}`;
    t.test(`framemask/ws goes on after a listener that throws: ${title}`, async (t) => {
      const options = { server: { ...deflate, allowSynchronousEvents }, client: deflate };
      const { server, client } = await connectPair(t, framemask, options);
      const seen = [];
      const errors = await uncaughtMessages(async () => {
        server.on('message', (data) => {
          seen.push(data.toString());
          throw new Error(`at ${data}`);
        });
        for (const text of TEXTS) client.send(text);
        client.send(Buffer.from('binary'));
        client.close();
        await once(client, 'close');
      });
      const texts = [...TEXTS, 'binary'];
      t.same(seen, texts);
      const expected = texts.map((text) => `at ${text}`);
      t.same(errors, expected);
    });
  }
}

/** What a listener does at the second of four messages that come in one chunk. */
const ACTIONS = {
  pause: (ws) => {
    ws.pause();
    setTimeout(() => ws.resume(), 20);
  },
  close: (ws) => ws.close(3001, 'enough'),
  terminate: (ws) => ws.terminate(),
  'send after close': (ws) => {
    ws.close();
    ws.send('too late', () => {});
  },
  'remove all listeners': (ws) => ws.removeAllListeners('message')
};

/** Has ws and framemask/ws each play a scene. @returns what both did, which must be the same */
async function playBoth(t, play) {
  const [theirs, ours] = [await play(IMPLEMENTATIONS.ws), await play(framemask)];
  t.same(ours, theirs);
  return ours;
}

for (const [action, act] of Object.entries(ACTIONS)) {
  t.test(`a listener that does this amid a chunk, as with ws: ${action}`, async (t) => {
    const { events } = await playBoth(t, async (implementation) => {
      const { server, socket } = await connectRaw(t, implementation);
      const recorded = record(server);
      const states = [];
      server.on('message', (data) => {
        states.push(server.readyState, server.isPaused);
        if (data.toString() === 'b') act(server);
      });
      const answers = [];
      socket.on('data', (chunk) => answers.push(chunk));
      socket.write(Buffer.concat(TEXTS.map((text) => masked(TEXT, text))));
      await settled();
      socket.end(masked(PING, 'late'));
      const events = await recorded;
      await settled();
      return { events, states, answers: Buffer.concat(answers).toString('hex') };
    });
    t.ok(events.length > 1);
  });
}

/** How a connection ends while the server has paused it. */
const ENDS = {
  reset: ({ socket }) => socket.resetAndDestroy(),
  'a FIN': ({ socket }) => socket.destroy(),
  terminate: ({ server }) => server.terminate()
};

for (const [end, act] of Object.entries(ENDS)) {
  t.test(`a paused connection sees its end at once: ${end}`, async (t) => {
    await playBoth(t, async (implementation) => {
      const { server, socket } = await connectRaw(t, implementation);
      const first = once(server, 'message');
      socket.write(masked(TEXT, 'before'));
      await first;
      const events = record(server);
      server.pause();
      if (act !== ENDS['a FIN']) {
        socket.write(masked(TEXT, 'meanwhile'));
        await until(() => server._socket.readableLength !== 0);
      }
      act({ server, socket });
      return events;
    });
  });
}

const noLimit = !hasWs('8.23.0') && 'ws has maxPendingAutoPongs since 8.23';
t.test('a peer that never reads the automatic pongs is dropped', { skip: noLimit }, async (t) => {
  for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
    for (const count of [60, 70]) {
      const { server, socket } = await connectRaw(t, implementation, { maxPendingAutoPongs: 60 });
      socket.write(Buffer.concat(Array(count).fill(masked(PING, 'p'))));
      await settled();
      t.equal(server.readyState !== 1, count > 60, `${name}: ${count} pings in a chunk`);
    }
  }
});

t.test('without autoPong nothing is answered', async (t) => {
  const { server, socket } = await connectRaw(t, framemask, { autoPong: false });
  const ping = once(server, 'ping');
  const answers = [];
  socket.on('data', (chunk) => answers.push(chunk));
  socket.write(masked(PING, 'p'));
  t.equal(String((await ping)[0]), 'p');
  await settled();
  t.same(answers, []);
});

t.test('an empty message that a listener transfers harms no other', async (t) => {
  const { server, client } = await connectPair(t, framemask);
  for (let i = 0; i < 3; i++) {
    const [data] = await deliver(client, server, Buffer.alloc(0));
    t.equal(data.length, 0);
    t.doesNotThrow(() => structuredClone(data, { transfer: [data.buffer] }), `message ${i}`);
    client.ping();
    await once(server, 'ping');
  }
});

// What a peer does wrong has the same consequences with framemask/ws as with ws.

const LIMIT = { maxPayload: 100 };
const COMPRESSING = { perMessageDeflate: true };
const BOTH = { ...COMPRESSING, ...LIMIT };
const compressed = (payload) => masked(TEXT, payload, { rsv: 0x40 });
const zeros = (length, options) => deflateRawSync(Buffer.alloc(length), options);
const fragments = (pieces, rsv) => Buffer.concat(f.fragments(TEXT, pieces, rsv));

/** What a client sends that it must not, and the options of the server. */
const BAD = {
  RSV1: [masked(TEXT, 'a', { rsv: 0x40 })],
  RSV2: [masked(TEXT, 'a', { rsv: 0x20 })],
  'RSV1 on a Ping frame': [masked(PING, 'a', { rsv: 0x40 }), COMPRESSING],
  'a reserved opcode': [masked(3, 'a')],
  'a reserved opcode with RSV1': [masked(5, 'a', { rsv: 0x40 }), COMPRESSING],
  'a fragmented Ping frame': [masked(PING, 'a', { fin: false })],
  'a long Ping frame': [masked(PING, Buffer.alloc(126))],
  'a very long Ping frame': [masked(PING, Buffer.alloc(70_000))],
  'no mask': [frame(TEXT, 'a')],
  'a long Ping frame without a mask': [frame(PING, Buffer.alloc(200))],
  'nothing to continue': [masked(CONTINUATION, 'a')],
  'a message in a message': [Buffer.concat([masked(TEXT, 'a', { fin: false }), masked(BINARY, 'b')])],
  'too big a message': [masked(BINARY, Buffer.alloc(101)), LIMIT],
  'too big a message in fragments': [fragments([Buffer.alloc(60), Buffer.alloc(60)]), LIMIT],
  'a length of 2^53': [masked(BINARY, 'a', { length: 2n ** 53n })],
  'a length of 2^63': [masked(BINARY, 'a', { length: 2n ** 63n })],
  ...(hasWs('8.21.0') && { 'too many fragments': [fragments(['a', 'a', 'a']), { maxFragments: 2 }] }),
  'bad text': [masked(TEXT, Buffer.from([0xff]))],
  'a Close frame of one byte': [masked(CLOSE, 'a')],
  'a bad close code': [masked(CLOSE, Buffer.from([0x03, 0xee]))],
  'a bad reason': [masked(CLOSE, Buffer.from([0x03, 0xe8, 0xff]))],
  'bad compressed data': [compressed(Buffer.from([0xff, 0xff, 0xff])), COMPRESSING],
  'compressed data that grows beyond maxPayload': [compressed(zeros(5000)), BOTH],
  'compressed fragments that grow beyond maxPayload together': [
    fragments([zeros(60, { finishFlush: 2 }), zeros(60, { finishFlush: 2 }).subarray(0, -4)], 0x40),
    BOTH
  ],
  'compressed text that is not UTF-8': [compressed(deflateRawSync(Buffer.from([0xff, 0xff]))), COMPRESSING]
};

for (const [title, [bytes, options]] of Object.entries(BAD)) {
  t.test(`a client sends ${title}`, async (t) => {
    const { events } = await playBoth(t, async (implementation) => {
      const { server, socket } = await connectRaw(t, implementation, { maxFragments: 0, ...options });
      const recorded = record(server);
      const sent = [];
      // The server's Close frame.
      socket.on('data', (chunk) => {
        sent.push(chunk);
        socket.end();
      });
      socket.write(Buffer.concat([masked(TEXT, 'before'), bytes, masked(TEXT, 'after')]));
      return { events: await recorded, sent: Buffer.concat(sent).toString('hex') };
    });
    t.equal(events.at(-1)[0], 'close');
  });
}

for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
  t.test(`${name}: a server that masks`, async (t) => {
    const { client, socket } = await connectRawServer(t, implementation, { perMessageDeflate: false });
    const error = once(client, 'error');
    socket.write(masked(TEXT, 'a'));
    t.match((await error)[0], { code: 'WS_ERR_UNEXPECTED_MASK' });
  });

  t.test(`${name}: with skipUTF8Validation bad text and bad reasons are delivered`, async (t) => {
    const { server, socket } = await connectRaw(t, implementation, { skipUTF8Validation: true });
    const events = record(server);
    socket.write(Buffer.concat([masked(TEXT, Buffer.from([0xff])), masked(CLOSE, Buffer.from([0x03, 0xe8, 0xff]))]));
    const [[, data], [, code, reason]] = await events;
    t.same(data, Buffer.from([0xff]));
    t.same([code, reason], [1000, '\ufffd']);
  });
}

t.test('maxPayload 0 is no limit, for compressed messages too', async (t) => {
  for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
    for (const perMessageDeflate of [false, true]) {
      const { server, client } = await connectPair(t, implementation, { server: { maxPayload: 0, perMessageDeflate } });
      t.equal((await deliver(client, server, Buffer.alloc(200_000)))[0].length, 200_000, name);
    }
  }
});

t.test('errors that this ws does not have look like its own', async (t) => {
  const [symbol] = Object.getOwnPropertySymbols(toWsError(new FrameError('UTF8', 1007, '')));
  // Before 8.21 ws limits no fragments; a first byte without fault stands for that here.
  for (const code of ['OPCODE', 'DETACHED']) {
    const error = new FrameError(code, 1011, 'the message');
    error.firstByte = 0x81;
    const found = toWsError(error);
    t.match(found, { message: 'Invalid WebSocket frame: the message', code: `FRAMEMASK_ERR_${code}` });
    t.equal(found[symbol], 1011);
  }
  const control = new FrameError('MASK_MISSING', 1002, '');
  control.firstByte = 0x89;
  control.length = 126;
  t.equal(toWsError(control).code, 'WS_ERR_INVALID_CONTROL_PAYLOAD_LENGTH', 'ws looks at that first');
});

t.test('what older versions of ws lack is made up for', async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  const events = record(server);
  // Before 8.21.
  server._receiver._maxFragments = undefined;
  const fragments = Array(16 * 1024).fill(masked(CONTINUATION, 'a', { fin: false }));
  socket.write(Buffer.concat([masked(TEXT, 'a', { fin: false }), ...fragments]));
  const [chunk] = await once(socket, 'data');
  socket.end();
  t.equal(chunk.toString('hex'), '880203f0', 'a Close frame with 1008 for 16,385 fragments');
  const [[, , message]] = await events;
  t.match(message, /fragments/);
  t.equal(isBusy({ _deflating: true }), true);
  t.equal(isBusy({ _deflating: false }), false);
});

t.test('framemask/ws refuses a length that is not minimal, with its own code', async (t) => {
  const { server, socket } = await connectRaw(t, framemask);
  const events = record(server);
  socket.write(masked(TEXT, 'a', { lengthSize: 2 }));
  const chunk = (await once(socket, 'data'))[0];
  socket.end();
  t.equal(chunk.toString('hex'), '880203ea', 'a Close frame with 1002');
  const [[, name, message, code]] = await events;
  t.same([name, code], ['RangeError', 'FRAMEMASK_ERR_LENGTH_NOT_MINIMAL']);
  t.match(message, /Invalid WebSocket frame: /);
});
