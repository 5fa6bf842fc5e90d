'use strict';

// framemask/ws beside ws as a program sees it from outside: own keys, and every method with
// arguments of every type.

const { once } = require('node:events');
const { Duplex } = require('node:stream');
const { isDeepStrictEqual } = require('node:util');
const t = require('tap');
const { unmask } = require('../../index.js');
const { IMPLEMENTATIONS, connectPair, connectRaw } = require('../support/websockets');

const { ws, 'framemask/ws': framemask } = IMPLEMENTATIONS;

/** The exports that ws does not have. */
const ADDED = ['connectionId', 'report'];
/** What framemask/ws inherits from ws's classes, as any subclass of them would. */
const INHERITED = {
  WebSocket: ['close', 'emitClose', 'pause', 'ping', 'pong', 'resume', 'terminate'],
  WebSocketServer: ['address', 'close', 'completeUpgrade', 'shouldHandle']
};
/** What it has itself in place of properties that ws assigns to each instance. */
const ACCESSORS = { WebSocket: ['_req', '_socket'], WebSocketServer: [] };

/** A value of each type. Buffers and options of their own: who sends them may change them. */
const VALUES = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  false: () => false,
  zero: () => 0,
  number: () => 1000,
  fraction: () => -1.5,
  NaN: () => Number.NaN,
  bigint: () => 10n,
  'no text': () => '',
  text: () => 'text',
  encoding: () => 'utf8',
  symbol: () => Symbol('s'),
  function: () => () => {},
  array: () => [1, 2],
  Date: () => new Date(0),
  Map: () => new Map([[1, 2]]),
  Error: () => Object.assign(new Error('e'), { stack: 'e' }),
  Buffer: () => Buffer.from('bytes'),
  'empty Buffer': () => Buffer.alloc(0),
  'long Buffer': () => Buffer.alloc(126, 'a'),
  ArrayBuffer: () => new ArrayBuffer(3),
  // ws 8.17 puts memory that is not initialized into a Close frame for longer elements.
  Int8Array: () => new Int8Array(2),
  DataView: () => new DataView(new ArrayBuffer(3)),
  object: () => ({}),
  'object without prototype': () => Object.create(null),
  binary: () => ({ binary: true }),
  'not binary': () => ({ binary: 0 }),
  'binary undefined': () => ({ binary: undefined }),
  compressed: () => ({ compress: true, binary: true }),
  'not compressed': () => ({ compress: false }),
  masked: () => ({ mask: true }),
  'not masked': () => ({ mask: false }),
  'first fragment': () => ({ fin: false }),
  inherited: () => Object.create({ binary: true, compress: false, fin: false, mask: true }),
  getters: () =>
    Object.create(null, { binary: { get: () => true, enumerable: true }, fin: { get: () => true, enumerable: true } })
};
const names = Object.keys(VALUES);

/** @returns {unknown[]} what a call returns or throws, to be compared */
function outcome(call) {
  try {
    const result = call();
    return ['returns', typeof result === 'object' && result !== null ? result.constructor.name : result];
  } catch (error) {
    return ['throws', error.constructor.name, error.code, error.message];
  }
}

/** A WebSocket over a Duplex, which keeps what is written. */
function open({ WebSocket }) {
  const written = [];
  const duplex = new Duplex({
    read() {},
    write(chunk, _encoding, callback) {
      written.push(chunk);
      callback();
    }
  });
  const socket = new WebSocket(null, undefined, { closeTimeout: 60_000 });
  socket.on('error', () => {});
  socket.setSocket(duplex, Buffer.alloc(0), {});
  return { socket, written };
}

/** @returns {string} what was written, with a frame that is masked unmasked */
function show(written) {
  const bytes = Buffer.concat(written);
  if (bytes[1] > 127) {
    const start = { 254: 4, 255: 10 }[bytes[1]] ?? 2;
    unmask(bytes.subarray(start + 4), bytes.subarray(start, start + 4));
    bytes.fill(0, start, start + 4);
  }
  return bytes.toString('latin1');
}

/** @returns {Promise<object>} what each call does, by its name */
async function callAll(implementation, calls) {
  const results = {};
  for (const [name, call] of Object.entries(calls)) {
    const { socket, written } = open(implementation);
    const result = outcome(() => call(socket, implementation));
    results[name] = { result, written, socket };
  }
  // Replies, and what was held back.
  await new Promise(setImmediate);
  const shown = {};
  for (const [name, { result, written, socket }] of Object.entries(results)) {
    shown[name] = [...result, show(written), socket.readyState, socket.binaryType, socket.isPaused];
    socket.terminate();
  }
  return shown;
}

async function compareCalls(t, calls) {
  const [theirs, ours] = [await callAll(ws, calls), await callAll(framemask, calls)];
  const differ = Object.keys(calls).filter((name) => !isDeepStrictEqual(ours[name], theirs[name]));
  const pick = (results) => Object.fromEntries(differ.map((name) => [name, results[name]]));
  t.same(pick(ours), pick(theirs));
}

t.test('the exports are own properties, as those of ws, and additions', async (t) => {
  t.same(Object.keys(framemask), [...Object.keys(ws), ...ADDED]);
  for (const name of Object.keys(ws)) {
    const [ours, theirs] = [framemask, ws].map((object) => Object.getOwnPropertyDescriptor(object, name));
    t.same({ ...ours, value: null }, { ...theirs, value: null }, name);
  }
  t.equal({ ...framemask }.PerMessageDeflate, ws.PerMessageDeflate);
  t.equal(framemask.WebSocket, framemask);
  t.equal(framemask.Server, framemask.WebSocketServer);

  const theirs = Object.keys(await import(require.resolve('ws/package.json').replace('package.json', 'wrapper.mjs')));
  const module = await import('../../ws.mjs');
  // Those that this version of ws does not have are undefined. `Server` is in ws's CommonJS alone.
  const ours = Object.keys(module).filter((name) => module[name] !== undefined);
  t.same(ours.sort(), [...theirs, 'Server', ...ADDED].sort());
  for (const name of theirs) t.equal(module[name], name === 'default' ? framemask : framemask[name], `ESM: ${name}`);
});

t.test('the classes and prototypes have the own keys of ws, but for what they inherit', (t) => {
  for (const name of ['WebSocket', 'WebSocketServer']) {
    const [ours, theirs] = [framemask, ws].map((library) => Object.getOwnPropertyNames(library[name].prototype));
    t.same(theirs.filter((key) => !ours.includes(key)).sort(), INHERITED[name], name);
    t.same(ours.filter((key) => !theirs.includes(key)).sort(), ACCESSORS[name], name);
    t.same(
      Object.keys(framemask[name].prototype).sort(),
      Object.keys(ws[name].prototype).sort(),
      `${name}: those that are enumerable`
    );
  }
  for (const name of ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED']) {
    t.same(
      Object.getOwnPropertyDescriptor(framemask.prototype, name),
      Object.getOwnPropertyDescriptor(ws.prototype, name)
    );
  }
  t.end();
});

t.test('methods with one argument of each type', async (t) => {
  const calls = {};
  for (const method of ['send', 'ping', 'pong', 'close']) {
    for (const name of names) calls[`${method}(${name})`] = (socket) => socket[method](VALUES[name]());
  }
  for (const method of ['pause', 'resume', 'terminate', 'on', 'addEventListener', 'removeEventListener', 'emit'])
    for (const name of names) calls[`${method}(${name})`] = (socket) => socket[method](VALUES[name](), () => {});
  for (const property of ['binaryType', 'onmessage', 'onopen', 'readyState', 'bufferedAmount', 'url', 'protocol']) {
    for (const name of names) {
      calls[`${property} = ${name}`] = (socket) => {
        socket[property] = VALUES[name]();
        return String(socket[property]);
      };
    }
  }
  await compareCalls(t, calls);
});

t.test('methods with a second and third argument of each type', async (t) => {
  const calls = {};
  for (const method of ['send', 'ping', 'pong']) {
    for (const name of names) {
      calls[`${method}(text, ${name})`] = (socket) => socket[method]('hello', VALUES[name]());
      calls[`${method}(Buffer, ${name})`] = (socket) => socket[method](Buffer.from('hello'), VALUES[name]());
      calls[`${method}(text, undefined, ${name})`] = (socket) => socket[method]('hello', undefined, VALUES[name]());
      calls[`${method}(Buffer, options, ${name})`] = (socket) =>
        socket[method](Buffer.from('hello'), method === 'send' ? { binary: false } : false, VALUES[name]());
    }
  }
  for (const name of names) {
    calls[`close(1000, ${name})`] = (socket) => socket.close(1000, VALUES[name]());
    calls[`addEventListener(message, ${name})`] = (socket) => socket.addEventListener('message', VALUES[name]());
    calls[`addEventListener(message, listener, ${name})`] = (socket) =>
      socket.addEventListener('message', () => {}, VALUES[name]());
    calls[`removeEventListener(message, ${name})`] = (socket) => socket.removeEventListener('message', VALUES[name]());
  }
  await compareCalls(t, calls);
});

t.test('methods before the connection is open, and after it is closed', async (t) => {
  const calls = {};
  for (const method of ['send', 'ping', 'pong', 'close', 'pause', 'resume', 'terminate']) {
    for (const name of ['text', 'Buffer', 'undefined', 'function', 'symbol']) {
      calls[`${method}(${name}), closed`] = (socket) => {
        socket.terminate();
        const result = socket[method](VALUES[name]());
        return `${result} ${socket.bufferedAmount}`;
      };
      calls[`${method}(${name}), connecting`] = (_socket, { WebSocket }) => {
        const socket = new WebSocket(null, undefined, {});
        return method === 'close' || method === 'terminate' ? undefined : socket[method](VALUES[name]());
      };
    }
  }
  await compareCalls(t, calls);
});

t.test('constructors and functions with arguments of each type', async (t) => {
  const calls = {};
  for (const name of names) {
    // An address that no program can listen to.
    const address = 'ws://127.0.0.1:0';
    const connect = (socket) => {
      socket.on('error', () => {});
      return socket;
    };
    calls[`new WebSocket(${name})`] = (_, { WebSocket }) => connect(new WebSocket(VALUES[name]()));
    calls[`new WebSocket(address, ${name})`] = (_, { WebSocket }) => connect(new WebSocket(address, VALUES[name]()));
    calls[`new WebSocket(address, [], ${name})`] = (_, { WebSocket }) =>
      connect(new WebSocket(address, [], VALUES[name]()));
    calls[`new WebSocketServer(${name})`] = (_, { WebSocketServer }) => new WebSocketServer(VALUES[name]());
    calls[`new WebSocketServer({ noServer }, ${name})`] = (_, { WebSocketServer }) =>
      new WebSocketServer({ noServer: true }, VALUES[name]());
    calls[`handleUpgrade(${name})`] = (_, { WebSocketServer }) =>
      new WebSocketServer({ noServer: true }).handleUpgrade({ headers: {} }, VALUES[name](), Buffer.alloc(0), () => {});
    calls[`createWebSocketStream(socket, ${name})`] = (socket, { createWebSocketStream }) =>
      createWebSocketStream(socket, VALUES[name]());
  }
  await compareCalls(t, calls);
});

t.test('what a client sends arrives as with ws', async (t) => {
  const received = {};
  for (const [library, implementation] of Object.entries(IMPLEMENTATIONS)) {
    const { server, client } = await connectPair(t, implementation);
    const messages = [];
    received[library] = messages;
    server.on('message', (data, isBinary) => messages.push([String(data), isBinary]));
    const outcomes = names
      // A fragment that begins would join the next message; ws breaks the frame of a wrong callback.
      .filter((name) => name !== 'first fragment' && name !== 'not masked')
      .map((name) => outcome(() => client.send('hello', VALUES[name]())));
    client.close();
    await once(server, 'close');
    messages.push(outcomes);
  }
  t.same(received['framemask/ws'], received.ws);
});

t.test('an inherited option `compress` counts for nothing', async (t) => {
  for (const [library, implementation] of Object.entries(IMPLEMENTATIONS)) {
    const { server, socket } = await connectRaw(t, implementation, { perMessageDeflate: { threshold: 0 } });
    for (const options of [Object.create({ compress: false }), { compress: false }, 10]) {
      server.send('hello', options);
      const [bytes] = await once(socket, 'data');
      t.equal(bytes[0], options.compress === false && Object.hasOwn(options, 'compress') ? 0x81 : 0xc1, library);
    }
  }
});

t.test('a subclass sees each call of `send` once', async (t) => {
  for (const [library, { WebSocket }] of Object.entries(IMPLEMENTATIONS)) {
    let calls = 0;
    class Own extends WebSocket {
      send(...args) {
        calls++;
        super.send(...args);
      }
    }
    const { socket } = open({ WebSocket: Own });
    await new Promise((resolve) => socket.send('hello', resolve));
    t.equal(calls, 1, library);
  }
});
