'use strict';

// Tracers replace functions of ws, as dd-trace and opentelemetry-instrumentation-ws do, or its
// export: before framemask/ws is loaded, or later. They must see what they see with plain ws.

const { once } = require('node:events');
const path = require('node:path');
const t = require('tap');
const { IMPLEMENTATIONS, connectPair, deliver } = require('../support/websockets');

const { ws, 'framemask/ws': framemask } = IMPLEMENTATIONS;
const OWN = [path.join(__dirname, '../../ws.js'), path.join(__dirname, '../../lib/ws', path.sep)];

/** @returns {object} framemask/ws, loaded once more */
function loadAgain() {
  for (const file of Object.keys(require.cache)) {
    if (OWN.some((own) => file.startsWith(own))) delete require.cache[file];
  }
  return require('../../ws.js');
}

/** The property of a Receiver in which ws keeps its WebSocket. */
function websocketOf(receiver) {
  const key = Object.getOwnPropertySymbols(receiver).find((key) => receiver[key] instanceof ws.WebSocket);
  return receiver[key];
}

const nameOf = (websocket) => (websocket._isServer ? 'server' : 'client');
const show = (data) => (data instanceof Blob ? 'Blob' : Buffer.from(data).toString());

/** Has a function log its call, and call the one that was there. */
const logging = (describe) => (original, log) =>
  function (...args) {
    log(describe(this, ...args));
    return original.apply(this, args);
  };

const listensBy = (on, log) =>
  function (event, listener) {
    if (event !== 'message') return on.call(this, event, listener);
    return on.call(this, event, function (data, isBinary) {
      const websocket = websocketOf(this);
      log(`${nameOf(websocket)} receives ${show(data)} ${isBinary} ${websocket._sender._socket.remotePort > 0}`);
      listener.call(this, data, isBinary);
      log('its listeners have run');
    });
  };

/** What dd-trace replaces. */
const WRAPPERS = {
  WebSocket: {
    send: logging(
      (websocket, data, options, callback) =>
        `${nameOf(websocket)} sends ${show(data)} ${JSON.stringify(options)} ${typeof callback} ` +
        `${websocket._sender._socket.remotePort > 0}`
    ),
    close: logging(
      (websocket, code) =>
        `${nameOf(websocket)} closes ${code} ${websocket._closeFrameReceived} ${websocket._closeFrameSent}`
    ),
    setSocket: logging((websocket) => `${nameOf(websocket)} has a socket`)
  },
  WebSocketServer: {
    handleUpgrade: (handleUpgrade, log) =>
      function (request, socket, head, callback) {
        log(`server upgrades ${request.url}`);
        return handleUpgrade.call(this, request, socket, head, (...args) => {
          log('server has upgraded');
          return callback(...args);
        });
      },
    emit: logging((_server, event) => `server emits ${event}`)
  },
  Receiver: { on: listensBy, addListener: listensBy }
};

/** Replaces functions of ws until the test ends. */
function trace(t, { WebSocket, WebSocketServer, Receiver }, log) {
  for (const [name, target] of Object.entries({ WebSocket, WebSocketServer, Receiver })) {
    for (const [method, wrap] of Object.entries(WRAPPERS[name])) {
      const before = Object.getOwnPropertyDescriptor(target.prototype, method);
      target.prototype[method] = wrap(target.prototype[method], log);
      t.teardown(() => {
        delete target.prototype[method];
        if (before !== undefined) Object.defineProperty(target.prototype, method, before);
      });
    }
  }
}

/** Talks over a connection, one message at a time. */
async function talk(t, implementation, log, options) {
  const { server, client } = await connectPair(t, implementation, { server: options });
  server.on('message', (data, isBinary) => {
    log(`a listener gets ${show(data)}`);
    server.send(data, { binary: isBinary });
  });
  for (const args of [['text'], [Buffer.from('bytes')], ['options', { binary: true }], ['callback', () => {}]]) {
    const answer = once(client, 'message');
    client.send(...args);
    await answer;
  }
  server.binaryType = 'arraybuffer';
  const answer = once(client, 'message');
  client.send(Buffer.from('ArrayBuffer'));
  await answer;
  const closed = once(server, 'close');
  client.close(1000, 'done');
  await closed;
}

const OPTIONS = {
  'the defaults': {},
  'allowSynchronousEvents: false': { allowSynchronousEvents: false },
  compression: { perMessageDeflate: { threshold: 0 } }
};

/** @returns {Promise<object>} what a tracer logs, for each of OPTIONS */
async function logsOf(t, implementation, logger) {
  const logs = {};
  for (const [name, options] of Object.entries(OPTIONS)) {
    logs[name] = [];
    logger.log = (line) => logs[name].push(line);
    await talk(t, implementation, (line) => logger.log(line), options);
  }
  return logs;
}

t.test('functions of ws that are replaced before or after framemask/ws is loaded', async (t) => {
  const logger = {};
  trace(t, ws, (line) => logger.log(line));
  const expected = await logsOf(t, ws, logger);
  t.match(expected['the defaults'].join(), 'server receives text false true,a listener gets text,server sends text');
  t.same(await logsOf(t, framemask, logger), expected, 'later');
  t.same(await logsOf(t, loadAgain(), logger), expected, 'before');
});

t.test('an export of ws that is replaced before framemask/ws is loaded', async (t) => {
  const entry = require.cache[require.resolve('ws')];
  t.teardown(() => {
    entry.exports = ws;
  });
  const log = [];
  class Traced extends ws {
    constructor(...args) {
      super(...args);
      log.push(`new ${nameOf(this)}`);
      this.once('open', () => log.push('open'));
    }
  }
  Traced.prototype.send = function (data, ...rest) {
    log.push(`sends ${show(data)}`);
    return ws.prototype.send.call(this, data, ...rest);
  };
  entry.exports = Traced;
  const ours = loadAgain();
  t.same(Object.keys(ours), Object.keys(framemask));
  const logs = [];
  for (const implementation of [Traced, ours]) {
    for (const name of ['its own', 'WebSocket']) {
      const { WebSocketServer } = implementation;
      const WebSocket = name === 'WebSocket' ? implementation.WebSocket : implementation;
      const { server, client } = await connectPair(t, { WebSocketServer, WebSocket });
      t.equal(String((await deliver(client, server, 'hello'))[0]), 'hello');
    }
    logs.push(log.splice(0));
  }
  t.same(logs[0], ['new client', 'open', 'sends hello']);
  t.same(logs[1], logs[0]);
});

t.test("a listener in place of ws's own hears messages, though it emits them as ws does", async (t) => {
  for (const [library, implementation] of Object.entries(IMPLEMENTATIONS)) {
    const heard = [];
    const { setSocket } = ws.prototype;
    ws.prototype.setSocket = function (...args) {
      setSocket.apply(this, args);
      this._receiver.removeAllListeners('message').on('message', (data, isBinary) => {
        heard.push(String(data));
        this.emit('message', data, isBinary);
      });
    };
    t.teardown(() => {
      ws.prototype.setSocket = setSocket;
    });
    const { server, client } = await connectPair(t, implementation);
    await deliver(client, server, 'hello');
    t.same(heard, ['hello'], library);
    ws.prototype.setSocket = setSocket;
  }
});

t.test('a listener that is added to the Receiver hears messages, too', async (t) => {
  for (const [library, implementation] of Object.entries(IMPLEMENTATIONS)) {
    const { server, client } = await connectPair(t, implementation);
    const heard = [];
    server._receiver.on('message', (data, isBinary) => heard.push(`${data} ${isBinary}`));
    await deliver(client, server, 'hello');
    await new Promise(setImmediate);
    t.same(heard, ['hello false'], library);
  }
});
