'use strict';

// Which handler is called for what, with which arguments, in which order.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachCase } = require('../../support/cases');
const { everyByte, forEachDecoder } = require('../../support/decoders');
const { binary, string } = require('../../support/recorder');
const { runSource } = require('../../support/websockets');

/**
 * A stream with each kind of frame: the frame, what onFrame gets of it, and the event that follows,
 * if one does.
 */
const streamOf = (f) => [
  [f.text('Hello'), ['frame', 0x81, 'Hello'], string('Hello')],
  [f.text('é'), ['frame', 0x81, '\xc3\xa9'], string('é')],
  [f.binary('b'), ['frame', 0x82, 'b'], binary('b')],
  [f.ping('p'), ['frame', 0x89, 'p'], ['ping', 'p']],
  [f.text('f', { fin: false }), ['frame', 0x01, 'f']],
  [f.pong(''), ['frame', 0x8a, ''], ['pong', '']],
  [f.continuation('', { fin: false }), ['frame', 0x00, '']],
  [f.continuation('g'), ['frame', 0x80, 'g'], string('fg')],
  [f.binary('h', { fin: false }), ['frame', 0x02, 'h']],
  [f.continuation('i'.repeat(200)), ['frame', 0x80, 'i'.repeat(200)], binary(`h${'i'.repeat(200)}`)],
  [f.text('j'.repeat(2000)), ['frame', 0x81, 'j'.repeat(2000)], string('j'.repeat(2000))],
  [f.text('', { fin: false }), ['frame', 0x01, '']],
  [f.continuation(''), ['frame', 0x80, ''], string('')],
  [f.close(1000, 'k'), ['frame', 0x88, '\x03\xe8k'], ['close', 1000, 'k']]
];

const isMessage = ([kind]) => kind === 'string' || kind === 'binary';
const CONTROLS = { onPing: undefined, onPong: undefined, onClose: undefined };

/** Handlers, and which of all events they see. */
const HANDLERS = [
  { name: 'onFrame before each message', options: { frames: true }, sees: () => true },
  {
    name: 'only onFrame',
    options: { frames: true, onMessage: undefined, ...CONTROLS },
    sees: ([kind]) => kind === 'frame'
  },
  { name: 'only onMessage', options: CONTROLS, sees: isMessage },
  { name: 'no handlers', options: { onMessage: undefined, ...CONTROLS }, sees: () => false }
];

for (const { name, options, sees } of HANDLERS) {
  t.test(`the calls of handlers: ${name}`, (t) => {
    forEachDecoder(({ decodeCut, f }) => {
      const stream = streamOf(f);
      const bytes = Buffer.concat(stream.map(([frame]) => frame));
      const expected = stream.flatMap(([, ...events]) => events).filter(sees);
      const boundaries = [];
      for (const [frame] of stream.slice(0, -1)) boundaries.push((boundaries.at(-1) ?? 0) + frame.length);
      assert.deepEqual(decodeCut(bytes, [], options), expected, 'one chunk');
      assert.deepEqual(decodeCut(bytes, boundaries, options), expected, 'a chunk for each frame');
      assert.deepEqual(decodeCut(bytes, everyByte(bytes.length), options), expected, 'a chunk for each byte');
    });
    t.end();
  });
}

t.test('onFrame is not called for a frame with a bad header or in a wrong place', (t) => {
  forEachDecoder(({ decode, f }) => {
    const delivered = [];
    const cases = [
      { name: 'with onMessage', onMessage: (data) => delivered.push(data) },
      { name: 'without onMessage', onMessage: undefined }
    ];
    forEachCase(cases, ({ onMessage }) => {
      const options = { frames: true, onMessage };
      const decodeBad = (bad) => decode([bad, f.text('late')], options);
      assert.deepEqual(decodeBad(f.frame(3, 'a')), [['error', 'OPCODE', 1002]], 'a reserved opcode');
      assert.deepEqual(decodeBad(f.continuation('a')), [['error', 'CONTINUATION', 1002]], 'a wrong place');
      const tooBig = decode([f.text('ab'), f.ping('')], { ...options, maxPayload: 1 });
      assert.deepEqual(tooBig, [['error', 'MESSAGE_TOO_BIG', 1009]], 'a message that is too big');
    });
    assert.deepEqual(delivered, [], 'messages');
  });
  t.end();
});

t.test('onFrame is called for a frame whose payload is wrong, and then onError', (t) => {
  forEachDecoder(({ decode, f }) => {
    const delivered = [];
    const cases = [
      { name: 'with onMessage', onMessage: (data) => delivered.push(data) },
      { name: 'without onMessage', onMessage: undefined }
    ];
    forEachCase(cases, ({ onMessage }) => {
      const decodeBad = (bad) => decode([bad, f.text('late')], { frames: true, onMessage });
      const text = ['frame', 0x81, '\xff'];
      assert.deepEqual(decodeBad(f.text(Buffer.from([0xff]))), [text, ['error', 'UTF8', 1007]], 'bad text');
      const close = ['frame', 0x88, '\x00\x01'];
      assert.deepEqual(decodeBad(f.close(1)), [close, ['error', 'CLOSE_CODE', 1002]], 'a bad close code');
    });
    assert.deepEqual(delivered, [], 'messages');
  });
  t.end();
});

t.test('onFrame gets a Buffer and the range of the payload in it', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    const calls = [];
    const decoder = new Decoder({
      role,
      context: 'the connection',
      onFrame(_first, data, start, end) {
        calls.push(this.context, Buffer.isBuffer(data), end - start);
      }
    });
    decoder.write(f.text('abc'));
    assert.deepEqual(calls, ['the connection', true, 3]);
  });
  t.end();
});

t.test('`this` of each handler is the decoder, with its context', (t) => {
  const NAMES = ['onMessage', 'onPing', 'onPong', 'onClose', 'onError'];
  forEachDecoder(({ Decoder, f, role }) => {
    const connection = { name: 'connection' };
    const seen = [];
    let decoder;
    const note = (name) =>
      function () {
        seen.push([name, this === decoder, this.context === connection]);
      };
    const handlers = Object.fromEntries(NAMES.map((name) => [name, note(name)]));
    decoder = new Decoder({ role, context: connection, ...handlers });
    decoder.write(Buffer.concat([f.text('a'), f.binary(''), f.text('é'), f.ping(''), f.pong(''), f.close(1000)]));
    decoder = new Decoder({ role, context: connection, ...handlers });
    decoder.write(f.frame(3));
    const expected = ['onMessage', 'onMessage', ...NAMES].map((name) => [name, true, true]);
    assert.deepEqual(seen, expected, 'each call: the handler, whether `this` is right, and the context');
    assert.equal(new Decoder({ role }).context, undefined, 'no context by default');
  });
  t.end();
});

const isNode = process.versions.bun === undefined && process.versions.deno === undefined;

t.test(
  'the first Decoder without handlers is warned of, unless its frames are traced',
  { skip: !isNode },
  async (t) => {
    const warnings = async (code) => {
      const start = `const { Decoder } = require('./index.js');
      const { channel } = require('node:diagnostics_channel');
      process.on('warning', ({ message }) => console.log(message));`;
      return (await runSource(start + code, ['--no-warnings'])).stdout;
    };
    const warning = 'A Decoder without handlers delivers nothing: give the constructor onMessage or others\n';
    const [assigned, some, traced] = await Promise.all([
      warnings("for (const role of ['client', 'server']) new Decoder({ role }).onMessage = console.log;"),
      warnings(`for (const name of ['onMessage', 'onFrame', 'onPing', 'onPong', 'onClose', 'onError'])
      new Decoder({ role: 'client', [name]() {} });`),
      warnings("channel('framemask:message').subscribe(() => {}); new Decoder({ role: 'client' });")
    ]);
    t.equal(assigned, warning, 'once');
    t.equal(some, '');
    t.equal(traced, '');
  }
);
