'use strict';

// No empty Buffer of framemask's own reaches a program, which may transfer it: all connections use
// it.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const t = require('tap');
const { Encoder, prepare } = require('../../index');
const { forEachCase } = require('../support/cases');
const { assertSent } = require('../support/codecs');
const { DECODER_CASES } = require('../support/decoders');
const { agree, deflateByZlib } = require('../support/deflate');
const { frame } = require('../support/frames');
const { until } = require('../support/promises');
const { IMPLEMENTATIONS, TRANSPORTS, connectPair } = require('../support/websockets');
const { hasWs } = require('../support/ws-version');

const framemask = IMPLEMENTATIONS['framemask/ws'];
const { WebSocketStream, messages } = framemask;

const memoryOf = (data) => data.buffer ?? data;

function transfer(data) {
  const memory = memoryOf(data);
  structuredClone(memory, { transfer: [memory] });
}

/**
 * @returns {(data: ArrayBuffer | Uint8Array) => void} transfers empty data, which nothing before
 *   has shared
 */
function createTransfer() {
  const seen = new Set();
  return (data) => {
    assert.equal(data.byteLength, 0);
    assert.ok(!seen.has(memoryOf(data)), 'memory of its own');
    seen.add(memoryOf(data));
    transfer(data);
  };
}

/** @returns {Buffer[][]} frames without data, in chunks */
function emptyFrames(f) {
  const rsv = 0x40;
  const plain = [f.binary(''), f.text(''), f.ping(''), f.pong(''), f.close(), f.close(1000)];
  const deflated = ['', deflateByZlib('')].flatMap((payload) => [f.binary(payload, { rsv }), f.text(payload, { rsv })]);
  const fragments = [0, rsv].map((bits) => f.fragments(2, ['', ''], bits));
  const all = [...plain.map((one) => [one]), ...deflated.map((one) => [one]), ...fragments];
  return all.flatMap((frames) => {
    const bytes = Buffer.concat(frames);
    return [frames, [bytes], [...bytes].map((byte) => Buffer.of(byte))];
  });
}

/** Memory of its own: that of Node's pool can't be transferred. */
const fresh = (bytes) => Buffer.from(Uint8Array.from(bytes).buffer);

t.test('the codec: payloads, messages, parts, reasons, and frames', async () => {
  const decoders = [];
  forEachCase(DECODER_CASES, ({ Decoder, role, f }) => {
    const own = createTransfer();
    const ownEmpty = (data) => data.length === 0 && own(data);
    const handlers = { onPing: own, onPong: own, onClose: (_code, _reason, bytes) => own(bytes) };
    const options = { role, text: 'buffer', ...handlers, onError: assert.fail };
    const ways = {
      onMessage: { onMessage: own },
      borrowed: { onMessage: own, borrowed: true },
      onFrame: { onFrame: (_firstByte, bytes) => ownEmpty(bytes), rsv1: true },
      onPart: { onPart: own },
      partsFrom: { onPart: assert.fail, onMessage: own, partsFrom: 1 }
    };
    forEachCase(ways, (way) => {
      forEachCase([0, 1000], (threadPoolFrom) => {
        const deflate = 'onFrame' in way ? null : agree({ threadPoolFrom })[role];
        for (const chunks of emptyFrames(f)) {
          const decoder = new Decoder({ ...options, ...way, deflate });
          for (const chunk of chunks) decoder.write(fresh(chunk));
          decoders.push(decoder);
        }
      });
    });
    for (const bytes of [prepare('').frame, prepare(Buffer.alloc(0)).frame]) assert.equal(bytes.length, 2);
  });
  await until(() => decoders.every((decoder) => !decoder.inflating));
  const encoder = new Encoder({ role: 'server' });
  for (const add of ['ping', 'pong', 'close']) encoder[add]();
  assertSent(encoder, frame(9), frame(10), frame(8));
});

const DEFLATE = { perMessageDeflate: { threshold: 0 } };
const SETTINGS = {
  plain: {},
  deflate: { server: DEFLATE, client: DEFLATE },
  'in turns': { server: { allowSynchronousEvents: false } },
  ...Object.fromEntries(Object.keys(TRANSPORTS).map((transport) => [transport, { transport }]))
};

/** What framemask/ws has, and not ws, or what ws gives as memory: each takes empty data. */
const EXITS = {
  async arraybuffer(server) {
    server.binaryType = 'arraybuffer';
    return (await once(server, 'message'))[0];
  },
  iterator: async (server) => (await messages(server).next()).value.data,
  async WebSocketStream(server) {
    const { readable } = await WebSocketStream.from(server).opened;
    return (await readable.getReader().read()).value;
  }
};

/** ws gives all listeners one empty Buffer. */
const ofWs = new IMPLEMENTATIONS.ws.WebSocket(null, undefined, {})._closeMessage;

// Before the Buffer of ws is transferred, below.
for (const [setting, options] of Object.entries(SETTINGS)) {
  t.test(`framemask/ws, ${setting}: data for a program are not ws's`, async (t) => {
    const all = [];
    for (const [exit, take] of Object.entries(EXITS)) {
      for (const data of [Buffer.alloc(0), undefined]) {
        const { server, client } = await connectPair(t, framemask, options);
        const taken = take(server);
        client.send(data);
        const given = await taken;
        t.not(memoryOf(given), ofWs.buffer, exit);
        all.push(given);
        client.terminate();
      }
    }
    all.forEach(createTransfer());
  });
}

for (const [setting, options] of Object.entries(SETTINGS)) {
  t.test(`framemask/ws, ${setting}: ws's empty Buffer may be transferred`, async (t) => {
    const { server, client } = await connectPair(t, framemask, options);
    for (let round = 0; round < 2; round++) {
      for (const [from, to] of [
        [client, server],
        [server, client]
      ]) {
        for (const [event, method] of [
          ['ping', 'ping'],
          ['pong', 'pong'],
          ['message', 'send']
        ]) {
          from[method]();
          const [data] = await once(to, event);
          t.equal(data.length, 0, event);
          transfer(data);
        }
      }
    }
    server.send('text');
    t.equal(String((await once(client, 'message'))[0]), 'text');
    server.close();
    const [code, reason] = await once(client, 'close');
    t.same([code, reason.length], [1005, 0]);
  });
}

if (hasWs('8.18.0')) {
  t.test('framemask/ws: blob and fragments hold none', async (t) => {
    const { server, client } = await connectPair(t, framemask);
    for (const [binaryType, expected] of Object.entries({ blob: new Blob([]), fragments: [] })) {
      server.binaryType = binaryType;
      client.send(Buffer.alloc(0));
      t.same((await once(server, 'message'))[0], expected);
    }
  });
}
