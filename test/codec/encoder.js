'use strict';

const t = require('tap');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');
const { closePayload, framesFor, frame, TEXT, BINARY, CLOSE, PING, PONG, CONTINUATION } = require('../support/frames');
const { createDecoders, record } = require('../support/recorder');

/** All that an encoder has collected, as one Buffer. */
const bytesOf = (encoder) => Buffer.concat(encoder.take());

/** Unmasks a client's frames with the keys that are in them, and checks that no two are alike. */
function unmasked(bytes) {
  const frames = [];
  const keys = new Set();
  for (let position = 0; position < bytes.length; ) {
    const first = bytes[position];
    if ((bytes[position + 1] & 0x80) === 0) throw new Error('A frame is not masked');
    let length = bytes[position + 1] & 0x7f;
    let start = position + 2;
    if (length === 126) {
      length = bytes.readUInt16BE(start);
      start += 2;
    } else if (length === 127) {
      length = Number(bytes.readBigUInt64BE(start));
      start += 8;
    }
    const key = bytes.subarray(start, start + 4);
    if (keys.has(key.toString('hex'))) throw new Error('A masking key is used twice');
    keys.add(key.toString('hex'));
    start += 4;
    const payload = Buffer.from(bytes.subarray(start, start + length)).map((byte, i) => byte ^ key[i & 3]);
    frames.push(frame(first & 15, payload, { fin: first >= 128, rsv: first & 0x70 }));
    position = start + length;
  }
  return Buffer.concat(frames);
}

t.test('the examples of RFC 6455 section 5.7', (t) => {
  const server = new Encoder({ role: 'server' });
  server.text('Hello');
  t.equal(bytesOf(server).toString('hex'), '810548656c6c6f', 'a single-frame unmasked text message');
  server.text('Hel', { fin: false });
  server.continuation('lo');
  t.equal(bytesOf(server).toString('hex'), '010348656c80026c6f', 'a fragmented unmasked text message');
  server.ping('Hello');
  t.equal(bytesOf(server).toString('hex'), '890548656c6c6f', 'an unmasked ping request');
  server.binary(Buffer.alloc(256));
  t.equal(bytesOf(server).subarray(0, 4).toString('hex'), '827e0100', '256 bytes in one unmasked frame');
  server.binary(Buffer.alloc(65536));
  t.equal(bytesOf(server).subarray(0, 10).toString('hex'), '827f0000000000010000', '64 KiB in one unmasked frame');
  t.end();
});

t.test('every length comes out with the shortest header, masked or not', (t) => {
  for (const length of [0, 1, 63, 64, 125, 126, 127, 4095, 16383, 16384, 32767, 32768, 65535, 65536, 200_001]) {
    const data = Buffer.from(Array.from({ length }, (_, i) => (i * 7) & 255));
    const before = Buffer.from(data);
    const ascii = 'x'.repeat(length);
    const text = Buffer.from('é€😀a'.repeat(length / 4 + 1)).subarray(0, length);
    const string = text.toString();
    for (const role of ['server', 'client']) {
      const encoder = new Encoder({ role });
      encoder.binary(data);
      encoder.text(ascii);
      encoder.text(string);
      t.equal(
        encoder.pending,
        encoder.take().reduce((sum, { length }) => sum + length, 0),
        'pending counts the bytes'
      );
      t.equal(encoder.pending, 0);
      encoder.binary(data);
      encoder.text(ascii);
      encoder.text(string);
      const expected = Buffer.concat([frame(BINARY, data), frame(TEXT, ascii), frame(TEXT, string)]);
      const bytes = bytesOf(encoder);
      t.ok((role === 'client' ? unmasked(bytes) : bytes).equals(expected), `${length} bytes, ${role}`);
    }
    t.ok(data.equals(before), 'the data is as it was');
  }
  t.end();
});

t.test('strings whose length in bytes takes a longer header than their length in characters', (t) => {
  for (const string of ['é'.repeat(63), 'é'.repeat(125), '€'.repeat(42), '😀'.repeat(32), '\ud800', 'é'.repeat(4096)]) {
    for (const role of ['server', 'client']) {
      const encoder = new Encoder({ role });
      encoder.text(string);
      const bytes = bytesOf(encoder);
      t.ok((role === 'client' ? unmasked(bytes) : bytes).equals(frame(TEXT, string)), `${string.length} characters`);
    }
  }
  t.end();
});

t.test('bytes of any kind', (t) => {
  const encoder = new Encoder({ role: 'server' });
  const shared = new SharedArrayBuffer(3);
  new Uint8Array(shared).set([7, 8, 9]);
  encoder.binary(new Uint16Array([0x0201, 0x0403]));
  encoder.binary(new DataView(Uint8Array.of(1, 2, 3, 4).buffer, 1, 2));
  encoder.binary(Uint8Array.of(5, 6).buffer);
  encoder.binary(shared);
  encoder.text(Buffer.from('€'));
  t.ok(
    bytesOf(encoder).equals(
      Buffer.concat([
        frame(BINARY, Buffer.from(new Uint16Array([0x0201, 0x0403]).buffer)),
        frame(BINARY, [2, 3]),
        frame(BINARY, [5, 6]),
        frame(BINARY, [7, 8, 9]),
        frame(TEXT, '€')
      ])
    )
  );
  t.end();
});

t.test('a server sends large data from where it lies, a client only data that it was given', (t) => {
  const data = Buffer.alloc(16384, 1);
  const server = new Encoder({ role: 'server' });
  server.binary(data);
  t.equal(server.take()[1], data);

  const client = new Encoder({ role: 'client' });
  client.binary(data, { owned: true });
  const [header, payload] = client.take();
  t.equal(payload, data);
  t.notOk(data.equals(Buffer.alloc(16384, 1)), 'it has been masked in place');
  t.ok(unmasked(Buffer.concat([header, payload])).equals(frame(BINARY, Buffer.alloc(16384, 1))));
  t.end();
});

t.test('fragments: one message at a time, control frames in between', (t) => {
  const encoder = new Encoder({ role: 'server' });
  t.throws(() => encoder.continuation('x'), {
    code: 'ERR_INVALID_STATE',
    message: /no fragmented message to continue/
  });
  t.ok(encoder.text('a', { fin: false, rsv1: true }));
  t.throws(() => encoder.text('x'), { code: 'ERR_INVALID_STATE', message: /has not ended/ });
  t.throws(() => encoder.binary(Buffer.alloc(1)), { code: 'ERR_INVALID_STATE' });
  t.throws(() => encoder.prepared(prepare('x')), { code: 'ERR_INVALID_STATE' });
  t.ok(encoder.ping('p'));
  t.ok(encoder.continuation('b', { fin: false }));
  t.ok(encoder.continuation(Buffer.from('c'), { owned: true }));
  t.ok(encoder.text('next', {}));
  t.ok(
    bytesOf(encoder).equals(
      Buffer.concat([
        frame(TEXT, 'a', { fin: false, rsv: 0x40 }),
        frame(PING, 'p'),
        frame(CONTINUATION, 'b', { fin: false }),
        frame(CONTINUATION, 'c'),
        frame(TEXT, 'next')
      ])
    )
  );
  t.end();
});

t.test('after a Close frame nothing is taken', (t) => {
  const encoder = new Encoder({ role: 'server' });
  t.notOk(encoder.closed);
  t.ok(encoder.close(1000, 'bye'));
  t.ok(encoder.closed);
  t.notOk(encoder.close(1000));
  t.notOk(encoder.close());
  t.notOk(encoder.text('x'));
  t.notOk(encoder.binary(Buffer.alloc(1)));
  t.notOk(encoder.continuation('x'));
  t.notOk(encoder.ping());
  t.notOk(encoder.pong());
  t.notOk(encoder.prepared(prepare('x')));
  t.ok(bytesOf(encoder).equals(frame(CLOSE, closePayload(1000, 'bye'))));
  t.end();
});

t.test('Close frames: none, every code that may be sent, no other', (t) => {
  const sendable = (code) =>
    (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
  for (let code = 0; code < 6000; code++) {
    const encoder = new Encoder({ role: 'server' });
    if (sendable(code)) {
      encoder.close(code);
      if (!bytesOf(encoder).equals(frame(CLOSE, closePayload(code)))) t.fail(`close code ${code}`);
    } else if (!throwsCode(() => encoder.close(code), 'ERR_OUT_OF_RANGE') || encoder.pending !== 0 || encoder.closed) {
      t.fail(`close code ${code} was taken`);
    }
  }
  const encoder = new Encoder({ role: 'server' });
  t.throws(() => encoder.close('1000'), { code: 'ERR_INVALID_ARG_TYPE', message: /"code" .* '1000'/ });
  t.throws(() => encoder.close(undefined, 'why'), { code: 'ERR_INVALID_ARG_TYPE', message: /"code"/ });
  t.throws(() => encoder.close(1000, 7), { code: 'ERR_INVALID_ARG_TYPE', message: /"reason"/ });
  t.throws(() => encoder.close(1000, '€'.repeat(42)), { code: 'ERR_OUT_OF_RANGE', message: /"reason" .* 126 bytes/ });
  t.throws(() => encoder.close(1000.5), { code: 'ERR_OUT_OF_RANGE' });
  t.notOk(encoder.closed);
  t.ok(encoder.close(4999, Buffer.from('x'.repeat(123))));
  t.ok(bytesOf(encoder).equals(frame(CLOSE, closePayload(4999, 'x'.repeat(123)))));

  const bare = new Encoder({ role: 'server' });
  t.ok(bare.close());
  t.ok(bytesOf(bare).equals(frame(CLOSE)));
  t.end();
});

function throwsCode(call, code) {
  try {
    call();
  } catch (error) {
    return error.code === code;
  }
  return false;
}

t.test('control frames hold 125 bytes', (t) => {
  const encoder = new Encoder({ role: 'client' });
  t.ok(encoder.ping(Buffer.alloc(125)));
  t.ok(encoder.pong('x'.repeat(125)));
  t.ok(encoder.pong());
  t.throws(() => encoder.ping(Buffer.alloc(126)), { code: 'ERR_OUT_OF_RANGE', message: /"data" .* 126 bytes long/ });
  t.throws(() => encoder.pong('é'.repeat(63)), { code: 'ERR_OUT_OF_RANGE' });
  t.throws(() => encoder.pong(7), { code: 'ERR_INVALID_ARG_TYPE' });
  const expected = [frame(PING, Buffer.alloc(125)), frame(PONG, 'x'.repeat(125)), frame(PONG)];
  t.ok(unmasked(bytesOf(encoder)).equals(Buffer.concat(expected)));
  t.end();
});

t.test('wrong arguments are named, and nothing is taken', (t) => {
  const encoder = new Encoder({ role: 'client' });
  const notBytes = { code: 'ERR_INVALID_ARG_TYPE', message: /"data" argument must be a Buffer or other bytes/ };
  const notData = {
    code: 'ERR_INVALID_ARG_TYPE',
    message: /"data" argument must be a string, a Buffer or other bytes/
  };
  for (const data of [undefined, null, 7, 7n, true, Symbol('x'), {}, [1], () => {}, { byteLength: 3 }]) {
    t.throws(() => encoder.text(data), notData);
    t.throws(() => encoder.binary(data), notBytes);
  }
  t.throws(() => encoder.binary('text'), notBytes);
  t.throws(() => encoder.prepared({ frame: Buffer.alloc(2) }), { code: 'ERR_INVALID_ARG_TYPE', message: /prepare/ });
  t.throws(() => encoder.prepared(prepare('x')), { code: 'ERR_INVALID_STATE', message: /server role/ });
  t.throws(() => prepare(7), { code: 'ERR_INVALID_ARG_TYPE', message: /"data"/ });
  t.equal(encoder.pending, 0);
  for (const options of [undefined, null, 'server', {}, { role: 'peer' }]) {
    t.throws(() => new Encoder(options), { code: 'ERR_INVALID_ARG_TYPE', message: /"options(\.role)?"/ });
  }
  t.throws(() => new Encoder({ role: 'server', recycle: 1 }), { message: /"options.recycle"/ });
  t.throws(() => new Encoder({ role: 'server', writable: {} }), { message: /"options.writable"/ });
  t.throws(() => new Encoder({ role: 'server', connectionId: 1 }), { message: /"options.connectionId"/ });
  t.end();
});

t.test('prepared messages are framed once, and shared', (t) => {
  const small = prepare('hé');
  const binary = prepare(Uint8Array.of(1, 2));
  const text = prepare(Buffer.from('utf8'), { binary: false, rsv1: true });
  const large = prepare('x'.repeat(70_000));
  t.equal(small.length, 3);
  t.ok(small.frame.equals(frame(TEXT, 'hé')));
  t.ok(binary.frame.equals(frame(BINARY, [1, 2])));
  t.ok(text.frame.equals(frame(TEXT, 'utf8', { rsv: 0x40 })));
  t.ok(large.frame.equals(frame(TEXT, 'x'.repeat(70_000))));

  const encoder = new Encoder({ role: 'server' });
  t.ok(encoder.prepared(small));
  const [first] = encoder.take();
  encoder.prepared(small);
  t.equal(encoder.take()[0], first, 'alone it is not copied');
  encoder.text('before');
  encoder.prepared(small);
  encoder.prepared(large);
  t.equal(encoder.pending, 8 + 5 + 70_010);
  const chunks = encoder.take();
  t.equal(chunks.length, 2, 'a small one is copied behind what is there');
  t.ok(chunks[1].equals(large.frame));
  t.ok(chunks[0].equals(Buffer.concat([frame(TEXT, 'before'), frame(TEXT, 'hé')])));
  t.end();
});

t.test('what an encoder sends a decoder takes, in both roles and on every engine', (t) => {
  const events = [
    ['string', 'short', false, false],
    ['string', 'länger '.repeat(900), false, false],
    ['binary', 'b'.repeat(40_000), false],
    ['ping', 'are you there'],
    ['string', 'in pieces', false, false],
    ['close', 1001, 'going']
  ];
  for (const { name, Decoder } of createDecoders()) {
    for (const role of ['server', 'client']) {
      class EncoderOver extends Encoder {}
      EncoderOver.prototype._backend = Decoder.prototype._backend;
      const encoder = new EncoderOver({ role });
      encoder.text('short');
      encoder.text('länger '.repeat(900));
      encoder.binary(Buffer.alloc(40_000, 'b'));
      encoder.ping('are you there');
      encoder.text('in', { fin: false });
      encoder.continuation(' pie', { fin: false });
      encoder.continuation('ces');
      encoder.close(1001, 'going');
      const recorder = record(Decoder, { role: role === 'server' ? 'client' : 'server' });
      for (const chunk of encoder.take()) recorder.decoder.write(Buffer.from(chunk));
      t.same(recorder.events, events, `${name}, ${role}`);
    }
  }
  t.end();
});

t.test('many encoders take turns in one slab', (t) => {
  const encoders = Array.from({ length: 5 }, () => new Encoder({ role: 'server' }));
  const expected = encoders.map(() => []);
  for (let i = 0; i < 3000; i++) {
    const which = (i * i + (i >> 3)) % 5;
    const text = `${i} `.repeat(i % 40);
    encoders[which].text(text);
    expected[which].push(framesFor('client').text(text));
  }
  for (const [i, encoder] of encoders.entries()) t.ok(bytesOf(encoder).equals(Buffer.concat(expected[i])));
  t.end();
});
