'use strict';

// Each test runs with ws and with framemask/ws, which must do the same.

const { once } = require('node:events');
const t = require('tap');
const { IMPLEMENTATIONS, connectPair, record } = require('../support/websockets');
const { hasWs } = require('../support/ws-version');

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
  {
    name: 'binary, but undefined',
    data: Buffer.from('ab'),
    options: { binary: undefined },
    expected: 'ab',
    isBinary: false
  },
  { name: 'options that are null', data: 'abc', options: null, expected: 'abc', isBinary: false },
  // What follows it waits in ws's Sender.
  ...(hasBlobs ? [{ name: 'a Blob', data: new Blob(['blob']), expected: 'blob', isBinary: true }] : []),
  { name: 'a string behind a Blob', data: 'abc', expected: 'abc', isBinary: false },
  { name: 'bytes behind it', data: 'abc', options: { binary: true }, expected: 'abc', isBinary: true }
];

const DEFLATE = { server: { perMessageDeflate: { threshold: 0 } }, client: { perMessageDeflate: { threshold: 0 } } };
const SETTINGS = {
  plain: { client: { perMessageDeflate: false } },
  deflate: DEFLATE,
  'deflate without takeover': {
    server: { perMessageDeflate: { serverNoContextTakeover: true, clientNoContextTakeover: true, threshold: 10 } }
  },
  'a mask of its own': {
    client: { perMessageDeflate: false, generateMask: (mask) => mask.fill(7) }
  }
};

for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
  for (const [setting, options] of Object.entries(SETTINGS)) {
    t.test(`${name}, ${setting}: each kind of data arrives, in the order of send, both ways`, async (t) => {
      const { server, client } = await connectPair(t, implementation, options);
      for (const [from, to] of [
        [client, server],
        [server, client]
      ]) {
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
      const types = ['nodebuffer', 'arraybuffer', ...(hasBlobs ? ['blob'] : []), 'fragments', 'nodebuffer'];
      for (const binaryType of types) {
        for (const size of [0, 5, 70_000]) {
          server.binaryType = binaryType;
          const received = once(server, 'message');
          client.send(Buffer.alloc(size, 'x'));
          const [data] = await received;
          const given = Array.isArray(data) ? Buffer.concat(data) : data;
          const bytes = given instanceof Blob ? Buffer.from(await given.arrayBuffer()) : Buffer.from(given);
          t.ok(bytes.equals(Buffer.alloc(size, 'x')), `${binaryType}, ${size} bytes`);
          const is = { nodebuffer: Buffer.isBuffer, fragments: Array.isArray };
          is.arraybuffer = (value) => value instanceof ArrayBuffer;
          is.blob = (value) => value instanceof Blob;
          t.ok(is[binaryType](data), `${binaryType}, ${size} bytes: the type`);
        }
      }
    });
  }

  t.test(`${name}: text and binary are told apart by listeners of the browsers' kind`, async (t) => {
    const { server, client } = await connectPair(t, implementation);
    const seen = [];
    const two = new Promise((resolve) => {
      server.onmessage = ({ data }) => seen.push(data) === 2 && resolve();
    });
    client.send('text');
    client.send(Buffer.from('binary'));
    await two;
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
    const { server, client } = await connectPair(t, implementation, {
      server: { allowSynchronousEvents: false },
      client: { perMessageDeflate: false }
    });
    let turn = 0;
    let counting = true;
    (function count() {
      turn++;
      if (counting) setImmediate(count);
    })();
    const turns = [];
    server.on('ping', () => turns.push(turn));
    server.on('pong', () => turns.push(turn));
    const closed = new Promise((resolve) => server.on('close', resolve));
    server.on('message', (data) => {
      turns.push(turn);
      if (data.toString() === 'throw') throw new Error('from a listener');
    });
    client.send('a');
    client.ping();
    client.send(Buffer.from('b'));
    client.pong();
    client.close();
    await closed;
    counting = false;
    t.equal(turns.length, 4);
    t.equal(new Set(turns).size, 4, 'four turns');
  });
}
