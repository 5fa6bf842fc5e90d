'use strict';

// What a peer does wrong has the same consequences with framemask/ws as with ws.

const { once } = require('node:events');
const t = require('tap');
const { FrameError } = require('../../lib/shared/errors');
const { toWsError } = require('../../lib/ws/frame-errors');
const { isBusy, receiverOptions } = require('../../lib/ws/internals');
const { BINARY, CLOSE, PING, TEXT, frame } = require('../support/frames');
const { IMPLEMENTATIONS, connectPair, connectRaw, connectRawServer, record } = require('../support/websockets');
const { hasWs } = require('../support/ws-version');

const masked = (opcode, data, options) => frame(opcode, data, { key: Buffer.from([1, 2, 3, 4]), ...options });

/** What a client sends that it must not. */
const BAD = [
  { name: 'RSV1', bytes: masked(TEXT, 'a', { rsv: 0x40 }) },
  { name: 'RSV2', bytes: masked(TEXT, 'a', { rsv: 0x20 }) },
  { name: 'RSV1 on a Ping frame', bytes: masked(PING, 'a', { rsv: 0x40 }), options: { perMessageDeflate: true } },
  { name: 'a reserved opcode', bytes: masked(3, 'a') },
  { name: 'a reserved opcode with RSV1', bytes: masked(5, 'a', { rsv: 0x40 }), options: { perMessageDeflate: true } },
  { name: 'a fragmented Ping frame', bytes: masked(PING, 'a', { fin: false }) },
  { name: 'a long Ping frame', bytes: masked(PING, Buffer.alloc(126)) },
  { name: 'a very long Ping frame', bytes: masked(PING, Buffer.alloc(70_000)) },
  { name: 'no mask', bytes: frame(TEXT, 'a') },
  { name: 'a long Ping frame without a mask', bytes: frame(PING, Buffer.alloc(200)) },
  { name: 'nothing to continue', bytes: masked(0, 'a') },
  { name: 'a message in a message', bytes: Buffer.concat([masked(TEXT, 'a', { fin: false }), masked(BINARY, 'b')]) },
  { name: 'too big a message', bytes: masked(BINARY, Buffer.alloc(101)), options: { maxPayload: 100 } },
  {
    name: 'too big a message in fragments',
    bytes: Buffer.concat([masked(BINARY, Buffer.alloc(60), { fin: false }), masked(0, Buffer.alloc(60))]),
    options: { maxPayload: 100 }
  },
  { name: 'a length of 2^53', bytes: masked(BINARY, 'a', { length: 2n ** 53n }) },
  { name: 'a length of 2^63', bytes: masked(BINARY, 'a', { length: 2n ** 63n }) },
  {
    name: 'too many fragments',
    bytes: Buffer.concat([0, 1, 2].map((i) => masked(i === 0 ? TEXT : 0, 'a', { fin: i === 2 }))),
    options: { maxFragments: 2 },
    since: '8.21.0'
  },
  { name: 'bad text', bytes: masked(TEXT, Buffer.from([0xff])) },
  { name: 'a Close frame of one byte', bytes: masked(CLOSE, 'a') },
  { name: 'a bad close code', bytes: masked(CLOSE, Buffer.from([0x03, 0xee])) },
  { name: 'a bad reason', bytes: masked(CLOSE, Buffer.from([0x03, 0xe8, 0xff])) },
  {
    name: 'bad compressed data',
    bytes: masked(TEXT, Buffer.from([0xff, 0xff, 0xff]), { rsv: 0x40 }),
    options: { perMessageDeflate: true }
  },
  {
    name: 'compressed data that grows beyond maxPayload',
    bytes: masked(TEXT, require('node:zlib').deflateRawSync(Buffer.alloc(5000)), { rsv: 0x40 }),
    options: { perMessageDeflate: true, maxPayload: 100 }
  },
  {
    name: 'compressed fragments that grow beyond maxPayload together',
    bytes: Buffer.concat(
      [0, 1].map((i) => {
        const bytes = require('node:zlib').deflateRawSync(Buffer.alloc(60), { finishFlush: 2 });
        const piece = i === 0 ? bytes : bytes.subarray(0, -4);
        return masked(i === 0 ? TEXT : 0, piece, { rsv: i === 0 ? 0x40 : 0, fin: i === 1 });
      })
    ),
    options: { perMessageDeflate: true, maxPayload: 100 }
  },
  {
    name: 'compressed text that is not UTF-8',
    bytes: masked(TEXT, require('node:zlib').deflateRawSync(Buffer.from([0xff, 0xff])), { rsv: 0x40 }),
    options: { perMessageDeflate: true }
  }
].filter(({ since = '8.0.0' }) => hasWs(since));

const seen = {};
for (const [name, implementation] of Object.entries(IMPLEMENTATIONS)) {
  seen[name] = {};
  for (const { name: title, bytes, options } of BAD) {
    t.test(`${name}: a client sends ${title}`, async (t) => {
      const { server, socket } = await connectRaw(t, implementation, { maxFragments: 0, ...options });
      const events = record(server);
      const sent = [];
      // The server's Close frame.
      socket.on('data', (chunk) => {
        sent.push(chunk);
        socket.end();
      });
      socket.write(Buffer.concat([masked(TEXT, 'before'), bytes, masked(TEXT, 'behind')]));
      const found = await events;
      seen[name][title] = [found, Buffer.concat(sent).toString('hex')];
      t.equal(found.at(-1)[0], 'close');
    });
  }
}

t.test('framemask/ws has the same events, errors and answers as ws', (t) => {
  for (const { name } of BAD) t.same(seen['framemask/ws'][name], seen.ws[name], name);
  t.end();
});

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
      const received = once(server, 'message');
      client.send(Buffer.alloc(200_000));
      t.equal((await received)[0].length, 200_000, name);
    }
  }
});

t.test('errors that this ws does not have look like its own', (t) => {
  const [symbol] = Object.getOwnPropertySymbols(toWsError(new FrameError('UTF8', 1007, '')));
  // Before 8.21 ws limits no fragments; a first byte without fault stands for that here.
  for (const [code, expected] of [
    ['OPCODE', 'FRAMEMASK_ERR_OPCODE'],
    ['DETACHED', 'FRAMEMASK_ERR_DETACHED']
  ]) {
    const error = new FrameError(code, 1011, 'the message');
    error.firstByte = 0x81;
    const found = toWsError(error);
    t.match(found, { message: 'Invalid WebSocket frame: the message', code: expected });
    t.equal(found[symbol], 1011);
  }
  const control = new FrameError('MASK_MISSING', 1002, '');
  control.firstByte = 0x89;
  control.length = 126;
  t.equal(toWsError(control).code, 'WS_ERR_INVALID_CONTROL_PAYLOAD_LENGTH', 'ws looks at that first');
  t.end();
});

t.test('what older versions of ws lack is made up for', (t) => {
  t.equal(receiverOptions({}).maxFragments, 16 * 1024);
  t.equal(isBusy({ _deflating: true }), true);
  t.equal(isBusy({ _deflating: false }), false);
  t.end();
});

t.test('framemask/ws refuses a length that is not minimal, with its own code', async (t) => {
  const { server, socket } = await connectRaw(t, IMPLEMENTATIONS['framemask/ws']);
  const events = record(server);
  socket.write(masked(TEXT, 'a', { lengthSize: 2 }));
  const chunk = (await once(socket, 'data'))[0];
  socket.end();
  t.equal(chunk.toString('hex'), '880203ea', 'a Close frame with 1002');
  const [[, name, message, code]] = await events;
  t.same([name, code], ['RangeError', 'FRAMEMASK_ERR_LENGTH_NOT_MINIMAL']);
  t.match(message, /Invalid WebSocket frame: /);
});
