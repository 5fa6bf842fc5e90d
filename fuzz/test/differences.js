'use strict';

// The differences between ws and framemask/ws that are meant to stay: those that fuzz/ws.js
// accepts, and the rows of the table in docs/ws.md. Each test shows what both do.

const t = require('tap');
const { DIFFERENCES } = require('../ws/differences');
const { deflateByZlib } = require('../../test/support/deflate');
const { CONTINUATION, PING, TEXT, frame } = require('../../test/support/frames');
const { IMPLEMENTATIONS, connectPair, connectRaw, settled, uncaught } = require('../../test/support/websockets');
const { hasWs } = require('../../test/support/ws-version');

const KEY = Buffer.from([1, 2, 3, 4]);
const masked = (opcode, data, options) => frame(opcode, data, { key: KEY, ...options });
const hex = (digits) => Buffer.from(digits, 'hex');

/** @returns {string[]} what a WebSocket emits from now on: the event, and the data or error code */
function listEvents(websocket) {
  const events = [];
  for (const name of ['message', 'ping', 'pong']) websocket.on(name, (data) => events.push(`${name} ${data}`));
  websocket.on('error', ({ code }) => events.push(`error ${code}`));
  return events;
}

/**
 * @param {Buffer[]} chunks of a client, which come in one turn
 * @param {number} [count] how many events to wait for, because ws inflates in the thread pool
 * @returns {(t: object, implementation: object) => Promise<string[]>} gives what a server emits
 */
const eventsFor = (chunks, options, count) => async (t, implementation) => {
  const { server } = await connectRaw(t, implementation, options);
  const events = listEvents(server);
  for (const chunk of chunks) server._socket.emit('data', Buffer.from(chunk));
  do await settled();
  while (events.length < count);
  return events;
};

const compressed = (...payloads) => [Buffer.concat(payloads.map((payload) => masked(TEXT, payload, { rsv: 0x40 })))];

/** Runs several one after the other. */
const each =
  (...observers) =>
  async (t, implementation) => {
    const results = [];
    for (const observe of observers) results.push(await observe(t, implementation));
    return results;
  };

/**
 * By their names in fuzz/ws/differences.js, or other ones: a function, and its result for both.
 *
 * @type {Record<string, [(t: object, implementation: object) => Promise<unknown>,
 *   { ws: unknown, framemask: unknown, since?: string }]>}
 */
const CASES = {
  'text is refused at its first bad byte': [
    eventsFor([Buffer.concat([masked(TEXT, hex('ff'), { fin: false }), masked(PING, 'p')])]),
    { ws: ['ping p'], framemask: ['error WS_ERR_INVALID_UTF8'] }
  ],
  'a length that is not minimal is refused': [
    eventsFor([masked(TEXT, 'a', { lengthSize: 2 })]),
    { ws: ['message a'], framemask: ['error FRAMEMASK_ERR_LENGTH_NOT_MINIMAL'] }
  ],
  'a mistake in a header that is cut is found some bytes earlier or later': [
    // A reserved opcode, and a continuation of nothing.
    each(eventsFor([hex('83')]), eventsFor([hex('0080')])),
    { ws: [[], ['error WS_ERR_INVALID_OPCODE']], framemask: [['error WS_ERR_INVALID_OPCODE'], []] }
  ],
  'a frame with a mistake in its header, and in the wrong place, is refused for its header': [
    each(eventsFor([frame(CONTINUATION, 'a')]), eventsFor([masked(CONTINUATION, 'a', { length: 2n ** 63n })])),
    {
      ws: [['error WS_ERR_INVALID_OPCODE'], ['error WS_ERR_INVALID_OPCODE']],
      framemask: [['error WS_ERR_EXPECTED_MASK'], ['error WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH']]
    }
  ],
  'nothing is parsed behind an error': [
    // The others wait while the first message has a turn of its own.
    eventsFor([masked(TEXT, 'a'), hex('8380'), masked(PING, 'b'), masked(TEXT, 'c')], {
      allowSynchronousEvents: false
    }),
    {
      ws: ['message a', 'error WS_ERR_INVALID_OPCODE', 'ping b'],
      framemask: ['message a', 'error WS_ERR_INVALID_OPCODE']
    }
  ],
  'messages behind a final block that ends with its message are inflated': [
    // The header of a final block that is stored, whose length is in the tail.
    eventsFor(compressed(hex('01'), deflateByZlib('a')), { perMessageDeflate: true }, 2),
    { ws: ['message ', 'message '], framemask: ['message ', 'message a'] }
  ],
  'messages behind an empty compressed one are inflated': [
    each(
      eventsFor(compressed('', deflateByZlib('a')), { perMessageDeflate: true }, 2),
      // A stored block of eight bytes, of which each tail gives four to ws.
      eventsFor(compressed(hex('000800f7ff'), ''), { perMessageDeflate: true, skipUTF8Validation: true }, 2)
    ),
    {
      ws: [
        ['message ', 'error Z_DATA_ERROR'],
        ['message \0\0\ufffd\ufffd', 'message \0\0\ufffd\ufffd']
      ],
      framemask: [
        ['message ', 'message a'],
        ['message \0\0\ufffd\ufffd', 'message ']
      ]
    }
  ],
  'callbacks of joined writes come a tick later': [
    async (t, implementation) => {
      const { server } = await connectRaw(t, implementation);
      const stream = implementation.createWebSocketStream(server).on('error', () => {});
      const called = [];
      stream.write('before', () => called.push('written'));
      stream.end();
      stream.write('too late', () => called.push('refused'));
      await settled();
      return called;
    },
    { ws: ['written', 'refused'], framemask: ['refused', 'written'] }
  ],
  'compressed messages are sent and received at once': [
    async (t, implementation) => {
      const options = { perMessageDeflate: { threshold: 0 } };
      const { server } = await connectPair(t, implementation, { server: options });
      const sent = new Promise((resolve) => server.send('a'.repeat(100), resolve));
      server.terminate();
      const error = await sent;
      return error ? error.message : 'sent';
    },
    { ws: 'The socket was closed while data was being compressed', framemask: 'sent' }
  ],
  'a connection goes on after a listener that throws': [
    async (t, implementation) => {
      const { server, socket } = await connectRaw(t, implementation);
      const seen = [];
      server.on('message', (data) => {
        seen.push(String(data));
        throw new Error(`at ${data}`);
      });
      const errors = await uncaught(async () => {
        socket.write(Buffer.concat([masked(TEXT, 'a'), masked(TEXT, 'b')]));
        await settled();
        socket.write(masked(TEXT, 'c'));
        await settled();
      });
      return [seen, errors.map(({ message }) => message)];
    },
    {
      ws: [['a'], ['at a']],
      framemask: [
        ['a', 'b', 'c'],
        ['at a', 'at b', 'at c']
      ]
    }
  ],
  'maxBufferedChunks has no effect': [
    eventsFor(
      Array.from(masked(TEXT, 'abcd'), (byte) => Buffer.from([byte])),
      { maxBufferedChunks: 2 }
    ),
    { ws: ['error WS_ERR_TOO_MANY_BUFFERED_PARTS'], framemask: ['message abcd'], since: '8.21.0' }
  ],
  "with binaryType 'fragments' all fragments of a message share one memory": [
    async (t, implementation) => {
      const { server, client } = await connectPair(t, implementation);
      server.binaryType = 'fragments';
      const received = new Promise((resolve) => server.on('message', resolve));
      // Each comes in a chunk of its own, from which ws copies nothing.
      for (const fin of [false, true]) {
        client.send(Buffer.alloc(1000), { fin });
        await settled();
      }
      const [first, second] = await received;
      return first.buffer === second.buffer;
    },
    { ws: false, framemask: true }
  ]
};

for (const [title, [observe, { ws, framemask, since = '8.0.0' }]] of Object.entries(CASES)) {
  t.test(title, { skip: !hasWs(since) && `ws has it since ${since}` }, async (t) => {
    t.same(await observe(t, IMPLEMENTATIONS.ws), ws, 'ws');
    t.same(await observe(t, IMPLEMENTATIONS['framemask/ws']), framemask, 'framemask/ws');
  });
}

t.test('each difference that fuzz/ws.js accepts has a test here', (t) => {
  const untested = DIFFERENCES.filter(({ name }) => !Object.hasOwn(CASES, name));
  t.same(untested, []);
  t.end();
});
