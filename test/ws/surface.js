'use strict';

const { once } = require('node:events');
const path = require('node:path');
const { Duplex } = require('node:stream');
const { isDeepStrictEqual } = require('node:util');
const t = require('tap');
const { kernel, unmask } = require('../../index.js');
const { isSupported } = require('../../lib/ws/load-ws');
const { setRegistered } = require('../../lib/ws/copies');
const { IMPLEMENTATIONS, connectPair, connectRaw, listen, runSource } = require('../support/websockets');

// framemask/ws beside ws as a program sees it from outside: own keys, and every method with
// arguments of every type.

const { ws, 'framemask/ws': framemask } = IMPLEMENTATIONS;

/** The exports that ws does not have. */
const ADDED = 'connectionId drained messages report sendStream WebSocketError WebSocketStream'.split(' ');
/** What framemask/ws inherits from ws's classes, as any subclass of them would. */
const INHERITED = {
  WebSocket: ['pause', 'resume'],
  WebSocketServer: ['address', 'close', 'shouldHandle']
};
/** What it has beside: properties that ws assigns to each instance, and a method. */
const ADDED_KEYS = { WebSocket: ['_req', '_socket'], WebSocketServer: ['shutDown'] };

const GETTER = { get: () => true, enumerable: true };

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
  getters: () => Object.create(null, { binary: GETTER, fin: GETTER })
};

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
  const write = (chunk, _encoding, callback) => callback(written.push(chunk) && null);
  const duplex = new Duplex({ read() {}, write });
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

/**
 * @returns {Promise<object>} what each call does with a value of each type in the place of X, by
 *   its name
 */
async function callAll(implementation, calls, names) {
  const results = [];
  for (const [title, call] of Object.entries(calls)) {
    for (const name of names) {
      const { socket, written } = open(implementation);
      const result = outcome(() => call(socket, VALUES[name](), implementation));
      results.push({ name: title.replace('X', name), result, written, socket });
    }
  }
  // Replies, and what was held back.
  await new Promise(setImmediate);
  const shown = {};
  for (const { name, result, written, socket } of results) {
    shown[name] = [...result, show(written), socket.readyState, socket.binaryType, socket.isPaused];
    socket.terminate();
  }
  return shown;
}

async function compareCalls(t, calls, names = Object.keys(VALUES)) {
  const theirs = await callAll(ws, calls, names);
  const ours = await callAll(framemask, calls, names);
  t.equal(Object.keys(ours).length, Object.keys(calls).length * names.length);
  const differ = Object.keys(theirs).filter((name) => !isDeepStrictEqual(ours[name], theirs[name]));
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

t.test('the classes and prototypes have the own keys of ws, but for what they inherit', async (t) => {
  for (const name of ['WebSocket', 'WebSocketServer']) {
    const [ours, theirs] = [framemask, ws].map((library) => Object.getOwnPropertyNames(library[name].prototype));
    t.same(theirs.filter((key) => !ours.includes(key)).sort(), INHERITED[name], name);
    t.same(ours.filter((key) => !theirs.includes(key)).sort(), ADDED_KEYS[name], name);
    const enumerable = [framemask, ws].map((library) => Object.keys(library[name].prototype).sort());
    t.same(enumerable[0], enumerable[1], `${name}: those that are enumerable`);
  }
  for (const name of ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED']) {
    const [ours, theirs] = [framemask, ws].map(({ prototype }) => Object.getOwnPropertyDescriptor(prototype, name));
    t.same(ours, theirs);
  }
});

t.test('methods with one argument of each type', async (t) => {
  const calls = {};
  for (const method of ['send', 'ping', 'pong', 'close']) {
    calls[`${method}(X)`] = (socket, value) => socket[method](value);
  }
  for (const method of ['pause', 'resume', 'terminate', 'on', 'addEventListener', 'removeEventListener', 'emit']) {
    calls[`${method}(X, listener)`] = (socket, value) => socket[method](value, () => {});
  }
  for (const property of ['binaryType', 'onmessage', 'onopen', 'readyState', 'bufferedAmount', 'url', 'protocol']) {
    calls[`${property} = X`] = (socket, value) => {
      socket[property] = value;
      return String(socket[property]);
    };
  }
  await compareCalls(t, calls);
});

t.test('methods with a second and third argument of each type', async (t) => {
  const calls = {
    'close(1000, X)': (socket, value) => socket.close(1000, value),
    'addEventListener(message, X)': (socket, value) => socket.addEventListener('message', value),
    'addEventListener(message, listener, X)': (socket, value) => socket.addEventListener('message', () => {}, value),
    'removeEventListener(message, X)': (socket, value) => socket.removeEventListener('message', value)
  };
  for (const method of ['send', 'ping', 'pong']) {
    const options = method === 'send' ? { binary: false } : false;
    calls[`${method}(text, X)`] = (socket, value) => socket[method]('hello', value);
    calls[`${method}(Buffer, X)`] = (socket, value) => socket[method](Buffer.from('hello'), value);
    calls[`${method}(text, undefined, X)`] = (socket, value) => socket[method]('hello', undefined, value);
    calls[`${method}(Buffer, options, X)`] = (socket, value) => socket[method](Buffer.from('hello'), options, value);
  }
  await compareCalls(t, calls);
});

t.test('what ws lacks refuses arguments of a wrong type, with a code', async (t) => {
  const { client } = await connectPair(t, framemask);
  const { WebSocketStream, connectionId, drained, messages, sendStream } = framemask;
  const calls = {
    connectionId,
    messages,
    drained,
    sendStream: (value) => sendStream(value, ['x']),
    from: (value) => WebSocketStream.from(value),
    'options of messages': (value) => messages(client, value ?? null),
    'options of drained': (value) => drained(client, value ?? null),
    'options of sendStream': (value) => sendStream(client, ['x'], value ?? null),
    'options of WebSocketStream': (value) => new WebSocketStream('ws://127.0.0.1:1', value ?? 1),
    below: (value) => drained(client, { below: value ?? null }),
    source: (value) => sendStream(client, value),
    chunk: (value) => sendStream(client, [value]),
    closeInfo: (value) => WebSocketStream.from(client).close(value ?? 1),
    highWaterMark: (value) => messages(client, { highWaterMark: value ?? 1 }),
    mark: (value) => messages(client, { lowWaterMark: { bytes: value ?? 'a' } })
  };
  const codes = { below: 'ERR_OUT_OF_RANGE', mark: 'ERR_OUT_OF_RANGE' };
  for (const [name, call] of Object.entries(calls)) {
    for (const wrong of [undefined, null, true, Symbol('s'), 10n, 'text']) {
      if (name === 'chunk' && wrong === 'text') continue;
      // A source that fails ends its connection.
      const error = await (async () => call(wrong))().catch((thrown) => thrown);
      t.equal(error?.code, codes[name] ?? 'ERR_INVALID_ARG_TYPE', `${name}, ${String(wrong)}`);
    }
  }
  t.equal(client.readyState, framemask.OPEN);
});

t.test('methods before the connection is open, and after it is closed', async (t) => {
  const calls = {};
  for (const method of ['send', 'ping', 'pong', 'close', 'pause', 'resume', 'terminate']) {
    calls[`${method}(X), closed`] = (socket, value) => {
      socket.terminate();
      return `${socket[method](value)} ${socket.bufferedAmount}`;
    };
    calls[`${method}(X), connecting`] = (_socket, value, { WebSocket }) => {
      const socket = new WebSocket(null, undefined, {});
      return method === 'close' || method === 'terminate' ? undefined : socket[method](value);
    };
  }
  await compareCalls(t, calls, ['text', 'Buffer', 'undefined', 'function', 'symbol']);
});

t.test('constructors and functions with arguments of each type', async (t) => {
  // An address that no program can listen to.
  const address = 'ws://127.0.0.1:0';
  const ignoreErrors = (socket) => socket.on('error', () => {});
  await compareCalls(t, {
    'new WebSocket(X)': (_, value, { WebSocket }) => ignoreErrors(new WebSocket(value)),
    'new WebSocket(address, X)': (_, value, { WebSocket }) => ignoreErrors(new WebSocket(address, value)),
    'new WebSocket(address, [], X)': (_, value, { WebSocket }) => ignoreErrors(new WebSocket(address, [], value)),
    'new WebSocketServer(X)': (_, value, { WebSocketServer }) => new WebSocketServer(value),
    'new WebSocketServer(noServer, X)': (_, value, { WebSocketServer }) =>
      new WebSocketServer({ noServer: true }, value),
    'handleUpgrade(X)': (_, value, { WebSocketServer }) =>
      new WebSocketServer({ noServer: true }).handleUpgrade({ headers: {} }, value, Buffer.alloc(0), () => {}),
    'createWebSocketStream(socket, X)': (socket, value, { createWebSocketStream }) =>
      createWebSocketStream(socket, value)
  });
});

t.test('what a client sends arrives as with ws', async (t) => {
  const received = {};
  for (const [library, implementation] of Object.entries(IMPLEMENTATIONS)) {
    const { server, client } = await connectPair(t, implementation);
    const messages = [];
    received[library] = messages;
    server.on('message', (data, isBinary) => messages.push([String(data), isBinary]));
    const outcomes = Object.keys(VALUES)
      // A fragment that begins would join the next message; ws breaks the frame of a wrong
      // callback.
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

// Which ws framemask/ws takes, and what it leaves alone.

t.test('versions of ws from 8.17.1 on are supported, below 9', async (t) => {
  for (const version of ['8.17.1', '8.17.2', '8.18.0', '8.23.0', '8.100.0']) t.ok(isSupported(version), version);
  for (const version of ['7.5.10', '8.17.0', '8.16.5', '9.0.0']) t.notOk(isSupported(version), version);
});

const INCOMPLETE = `
  class WebSocket { constructor() { Object.assign(this, {
    _receiver: 0, _sender: 0, _socket: 0, _extensions: 0, _isServer: 0,
    _closeCode: 0, _closeMessage: 0, _closeFrameReceived: 0 }); } emitClose() {} setSocket() {} }
  class Receiver { constructor() { Object.assign(this, {
    _maxPayload: 0, _skipUTF8Validation: 0, _allowSynchronousEvents: 0 }); } _write() {} }
  class Sender { constructor() { Object.assign(this, { _firstFragment: 0, _bufferedBytes: 0 }); } }
  module.exports = { WebSocket, Receiver, Sender };`;

/** The packages ws that are refused, and the errors. */
const REFUSED = {
  'none at all': [{}, /framemask\/ws works on ws, which is not installed: run `npm install ws`/],
  'one of an unsupported version': [
    { ws: { 'package.json': '{ "version": "7.5.10" }', 'index.js': '' } },
    /framemask\/ws works on ws 8\.17\.1 to 8\.x, and ws 7\.5\.10 is installed/
  ],
  'one before 8.10, which does not export its package.json': [
    { ws: { 'package.json': '{ "version": "8.2.0", "exports": "./index.js" }', 'index.js': '' } },
    /framemask\/ws works on ws 8\.17\.1 to 8\.x, and ws (8\.9 or older|8\.2\.0) is installed.*"overrides"/
  ],
  'framemask/ws itself, by an alias': [
    {
      ws: {
        'package.json': '{ "version": "8.23.0" }',
        'index.js': `module.exports = require(${JSON.stringify(require.resolve('../../ws.js'))});`
      }
    },
    /framemask\/ws is given itself in place of ws: an alias of 'ws' holds for framemask's files, too/
  ],
  'its file for browsers': [
    { ws: { 'package.json': '{ "name": "ws", "version": "8.23.0" }', 'index.js': 'module.exports = function () {};' } },
    /framemask\/ws is given the file of ws for browsers.*customExportConditions/
  ],
  'framemask, under the name of ws': [
    { ws: { 'package.json': '{ "name": "framemask", "version": "4.2.0" }', 'index.js': '' } },
    /is framemask, by an alias \(ws@npm:framemask\): framemask\/ws works on ws beside it/
  ],
  'one without a private part that is needed': [
    { ws: { 'package.json': '{ "version": "8.99.0" }', 'index.js': INCOMPLETE } },
    /framemask\/ws can't work with this ws: its Sender lacks sendFrame/
  ]
};

for (const [name, [packages, expected]] of Object.entries(REFUSED)) {
  t.test(`the ws that is installed is refused by an error that says so: ${name}`, async (t) => {
    const folder = t.testdir({
      node_modules: packages,
      'copy.js': `
        const Module = require('node:module');
        const resolve = Module._resolveFilename;
        Module._resolveFilename = function (request, ...rest) {
          if (/^#ws(\\/|$)/.test(request)) {
            return resolve.call(this, request.slice(1), { id: 'x', filename: __filename, paths: [__dirname + '/node_modules'] });
          }
          return resolve.call(this, request, ...rest);
        };`
    });
    const { status, stderr } = await runSource("require('./ws.js')", ['--require', path.join(folder, 'copy.js')]);
    t.equal(status, 1);
    t.match(stderr, expected);
    if (expected.source.includes('works on')) t.match(stderr, "code: 'FRAMEMASK_ERR_WS'");
  });
}

const isOther = (process.versions.bun ?? process.versions.deno) !== undefined && 'Node.js stands for Bun in these';

/**
 * What framemask/ws finds in Bun, which has a module of its own for ws: what that one's Receiver
 * does, and the rest.
 */
const IN_BUN = {
  'whose module does not work, loads the ws that is installed': [
    { receiver: "throw Error('Not supported yet in Bun')" },
    { status: 0, stdout: 'that of the path\n', stderr: /^$/ }
  ],
  'takes a ws that works as it is: that of a bundle': [
    { receiver: 'return new ws.Receiver();' },
    { status: 0, stdout: 'that of require\n', stderr: /^$/ }
  ],
  'without the files of ws says what Bun does and what to do': [
    { receiver: 'throw Error()', before: "Module.createRequire = () => { throw Error('none'); };" },
    { status: 1, stderr: /framemask\/ws works on the package ws, in whose place Bun puts a module of its own/ }
  ]
};

for (const [name, [{ receiver, before = '' }, expected]] of Object.entries(IN_BUN)) {
  t.test(`framemask/ws in Bun ${name}`, { skip: isOther }, async (t) => {
    const result = await runSource(`
      const Module = require('node:module');
      const { _load } = Module;
      const ws = require('ws');
      const ofBun = Object.assign(class extends ws {}, { Receiver: class { constructor() { ${receiver} } } });
      Module._load = (request, ...others) => (request === '#ws' ? ofBun : _load(request, ...others));
      Object.defineProperty(process, 'versions', { value: { ...process.versions, bun: '1.4.5' } });
      ${before}
      console.log(require('./lib/ws/load-ws').loadWs() === ofBun ? 'that of require' : 'that of the path');
    `);
    t.match(result, expected);
  });
}

t.test('report() says what is at work, and whether framemask/ws/register was loaded', async (t) => {
  const report = framemask.report();
  // Bun and Deno have sockets of their own, Deno has a zlib of its own.
  const { bun, deno } = process.versions;
  const reads = bun === undefined && deno === undefined ? 'shared' : 'events';
  t.match(report, { ws: require('ws/package.json').version, reads, deflate: deno === undefined ? 'framemask' : 'ws' });
  t.equal(report.kernel, kernel);
  t.equal(report.registered, false);
  setRegistered('8.23.0');
  t.match(framemask.report(), { registered: true, copies: [] });
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
  t.equal(connections.shared, before.shared + (reads === 'shared' ? 3 : 0), "all but one server's end");
  const after = framemask.report().connections.shared;
  const alone = new framemask.WebSocket(made.client.url, [], { sharedReads: false });
  await once(alone, 'open');
  t.equal(framemask.report().connections.shared - after, reads === 'shared' ? 1 : 0, 'options behind protocols count');
  alone.terminate();
  made.client.terminate();
  connections.opened = 0;
  t.not(framemask.report().connections.opened, 0, 'a copy of the counts');
});

t.test('an option of its own whose name has a slip is refused, and options of ws are not', async (t) => {
  const slip = (owner, name, meant) => ({
    name: 'TypeError',
    code: 'ERR_INVALID_ARG_VALUE',
    message: `Unknown option "${name}" of ${owner}. Did you mean "${meant}"?`
  });
  for (const name of ['sharedRead', 'sharedreads', 'shareReads']) {
    const create = () => new framemask.WebSocketServer({ noServer: true, [name]: false });
    t.throws(create, slip('WebSocketServer', name, 'sharedReads'));
    t.throws(
      () => new framemask.WebSocket('ws://127.0.0.1:1', { [name]: false }),
      slip('WebSocket', name, 'sharedReads')
    );
  }
  for (const name of ['contextTakover', 'contextTakeOver']) {
    const options = { perMessageDeflate: { [name]: false } };
    const error = slip('perMessageDeflate', name, 'contextTakeover');
    t.throws(() => new framemask.WebSocketServer({ noServer: true, ...options }), error);
    t.throws(() => new framemask.WebSocket('ws://127.0.0.1:1', options), error);
    t.throws(() => new framemask.WebSocket('ws://127.0.0.1:1', [], options), error);
  }
  for (const [name, meant] of [
    ['streamForm', 'streamFrom'],
    ['HTTP2', 'http2']
  ]) {
    const error = slip('WebSocket', name, meant);
    t.throws(() => new framemask.WebSocket('ws://127.0.0.1:1', { [name]: 1 }), error);
    t.throws(() => new framemask.WebSocket('ws://127.0.0.1:1', [], { [name]: 1 }), error);
    t.throws(() => new framemask.WebSocketStream('ws://127.0.0.1:1', { [name]: 1 }), error);
  }
  for (const name of ['sharedReads', 'contextTakeover']) {
    const error = {
      code: 'ERR_INVALID_ARG_TYPE',
      message: `The "options.${name}" argument must be a boolean, but was the string 'no'`
    };
    const options = { [name]: 'no', perMessageDeflate: { [name]: 'no' } };
    t.throws(() => new framemask.WebSocketServer({ noServer: true, ...options }), error);
    t.throws(() => new framemask.WebSocket('ws://127.0.0.1:1', options), error);
    t.throws(() => new framemask.WebSocket('ws://127.0.0.1:1', [], options), error);
  }
  const { options } = new ws.WebSocketServer({ noServer: true, perMessageDeflate: { threshold: 1 } });
  t.ok(new framemask.WebSocketServer({ ...options, noServer: true, other: 1 }));
  for (const none of [undefined, null, 5]) t.throws(() => new framemask.WebSocketServer(none), /"port", "server"/);
});

t.test('beside plain ws in one process, neither changes the other', async (t) => {
  const namesOf = () =>
    [ws, ws.Receiver, ws.Sender].map(({ prototype }) => Object.getOwnPropertyNames(prototype).sort());
  const before = namesOf();
  const server = await listen(t, framemask);
  server.on('connection', (socket) => socket.on('message', (data) => socket.send(String(data))));
  const client = new ws(server.url);
  await once(client, 'open');
  client.send('from plain ws');
  t.equal(String((await once(client, 'message'))[0]), 'from plain ws');
  t.notOk(client instanceof framemask);
  t.notOk(Object.hasOwn(client._sender, 'sendFrame'));
  t.notOk(Object.hasOwn(client._receiver, '_write'));

  const plain = await connectPair(t, ws);
  plain.server.on('message', (data) => plain.server.send(String(data)));
  plain.client.send('both plain');
  t.equal(String((await once(plain.client, 'message'))[0]), 'both plain');
  t.same(namesOf(), before);
});

t.test("a server's option WebSocket is used as it is", async (t) => {
  class Own extends framemask {}
  const { server } = await connectPair(t, framemask, { server: { WebSocket: Own } });
  t.ok(server instanceof Own);
});

t.test('the package names ws as an optional peer of any version, for programs that use it as bufferutil', async (t) => {
  const { peerDependencies, peerDependenciesMeta } = require('../../package.json');
  t.equal(peerDependencies.ws, '*');
  t.equal(peerDependenciesMeta.ws.optional, true);
});

t.test('NODE_DEBUG=framemask shows the first connection, and why masking is JavaScript', async (t) => {
  const { url } = await listen(t, ws);
  const client = `
    const { WebSocket, WebSocketServer } = require('./ws.js');
    const connect = (url) => new WebSocket(url).on('open', () => process.exit());`;
  const debug = { NODE_DEBUG: 'framemask', FRAMEMASK_REQUIRE_NATIVE: '' };
  const cases = {
    client: [`connect(${JSON.stringify(url)});`, { FRAMEMASK_KERNEL: 'js' }, []],
    // node-gyp-build looks there for another addon.
    server: [
      `const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () =>
        connect('ws://127.0.0.1:' + server.address().port));`,
      { FRAMEMASK_PREBUILD: '/nowhere', FRAMEMASK_KERNEL: '' },
      [/^the addon does not load, so masking is JavaScript: /]
    ]
  };
  for (const [role, [source, env, more]] of Object.entries(cases)) {
    const { stderr } = await runSource(client + source, [], { ...debug, ...env });
    const lines = stderr.split('\n').filter((line) => line.startsWith('FRAMEMASK'));
    const first = new RegExp(`^first connection: a ${role} of ws \\S+, kernel js$`);
    t.match(
      lines.map((line) => line.replace(/^\w+ \d+: /, '')),
      [...more, first],
      role
    );
    t.equal(lines.length, 1 + more.length, role);
  }
});
