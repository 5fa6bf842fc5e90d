'use strict';

// Good frames: messages and control frames of any length and content.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachCase } = require('../../support/cases');
const { createDecoders, forEachDecoder } = require('../../support/decoders');
const { BINARY, CLOSE, CONTINUATION, KEY, TEXT, closePayload, frame } = require('../../support/frames');
const { binary, eventsOf, string } = require('../../support/recorder');

t.test('5.6: delivers text as a string and binary data as a Buffer', (t) => {
  forEachDecoder(({ decode, f }) => {
    assert.deepEqual(decode([f.text('Hello')]), [string('Hello')], 'text');
    assert.deepEqual(decode([f.text('')]), [string('')], 'empty text');
    assert.deepEqual(decode([f.binary('')]), [binary('')], 'empty binary');
    assert.deepEqual(decode([f.binary(Buffer.from([0, 255, 128]))]), [binary('\x00\xff\x80')], 'binary');
  });
  t.end();
});

t.test('8.1: delivers every character, byte order marks and replacement characters too', (t) => {
  forEachDecoder(({ decode, f }) => {
    for (const text of ['κόσμε 😀 \ufeff\ufffd\0', '\ufeffa', 'a\ufffdb', '\ufffd']) {
      assert.deepEqual(decode([f.text(text)]), [string(text)], JSON.stringify(text));
    }
  });
  t.end();
});

t.test('5.5.2, 5.5.3: delivers Ping and Pong frames with their payload', (t) => {
  forEachDecoder(({ decode, f }) => {
    assert.deepEqual(decode([f.ping(''), f.ping('p'), f.pong(Buffer.alloc(125, 1)), f.pong('')]), [
      ['ping', ''],
      ['ping', 'p'],
      ['pong', '\x01'.repeat(125)],
      ['pong', '']
    ]);
  });
  t.end();
});

t.test('5.2: takes a payload of any length', (t) => {
  forEachDecoder(({ decode, f }) => {
    for (const length of [1, 47, 48, 125, 126, 127, 128, 1000, 1023, 1024, 1025, 65535, 65536, 70000]) {
      const text = 'x'.repeat(length);
      assert.deepEqual(
        decode([f.text(text), f.binary(text), f.ping('p')]),
        [string(text), binary(text), ['ping', 'p']],
        `${length} bytes of ASCII`
      );
      const wide = `${'x'.repeat(length - 1)}é`;
      assert.deepEqual(
        decode([f.text(wide), f.text('a'), f.text(wide)]),
        [string(wide), string('a'), string(wide)],
        `${length} characters, one of them not ASCII`
      );
    }
  });
  t.end();
});

t.test('5.7: decodes the examples of the RFC', (t) => {
  const EXAMPLES = [
    ['client', '810548656c6c6f', string('Hello')],
    ['server', '818537fa213d7f9f4d5158', string('Hello')],
    ['client', '010348656c80026c6f', string('Hello')],
    ['client', '890548656c6c6f', ['ping', 'Hello']],
    ['server', '8a8537fa213d7f9f4d5158', ['pong', 'Hello']],
    ['client', `827e0100${'07'.repeat(256)}`, binary('\x07'.repeat(256))],
    ['client', `827f0000000000010000${'07'.repeat(65536)}`, binary('\x07'.repeat(65536))]
  ];
  forEachDecoder(({ decode, role }) => {
    for (const [reader, hex, event] of EXAMPLES) {
      if (reader === role) assert.deepEqual(decode([Buffer.from(hex, 'hex')]), [event], hex.slice(0, 28));
    }
  });
  t.end();
});

t.test('5.3: unmasks with a key of zeroes, and payloads of zeroes', (t) => {
  const zero = Buffer.alloc(4);
  forEachCase(createDecoders(), ({ Decoder }) => {
    const decode = (...frames) => eventsOf(Decoder, { role: 'server' }, Buffer.concat(frames));
    for (const length of [0, 5, 30, 70, 300]) {
      for (const key of [zero, KEY]) {
        const text = 'z'.repeat(length);
        assert.deepEqual(
          decode(
            frame(BINARY, Buffer.alloc(length), { key }),
            frame(TEXT, text, { key }),
            frame(TEXT, text, { key, fin: false }),
            frame(CONTINUATION, text, { key })
          ),
          [binary('\0'.repeat(length)), string(text), string(text + text)],
          `${length} bytes, key ${key.toString('hex')}`
        );
      }
    }
    const close = frame(CLOSE, closePayload(1001), { key: zero });
    assert.deepEqual(decode(close), [['close', 1001, '']], 'a Close frame, a key of zeroes');
  });
  t.end();
});

// Short ASCII texts that lie close together become slices of one string: nothing may come between
// them.
t.test('delivers many short texts of one chunk, and any frames between them', (t) => {
  forEachDecoder(({ decodeCut, f }) => {
    for (const size of [0, 1, 16, 100, 124]) {
      const texts = Array.from({ length: 700 }, (_, i) => String(i).padEnd(size, '.').slice(0, size));
      assert.deepEqual(decodeCut(Buffer.concat(texts.map((text) => f.text(text))), []), texts.map(string), `${size}`);
    }
    const kinds = [
      [f.text('ascii'), string('ascii')],
      [f.text('é'), string('é')],
      [f.text(''), string('')],
      [f.binary('b'), binary('b')],
      [f.ping('p'), ['ping', 'p']],
      [f.text('l'.repeat(1030)), string('l'.repeat(1030))],
      [Buffer.concat([f.text('f', { fin: false }), f.pong(''), f.continuation('g')]), ['pong', ''], string('fg')]
    ];
    for (let i = 0; i < 7 ** 3; i++) {
      const order = [i % 7, Math.floor(i / 7) % 7, Math.floor(i / 49), 0];
      const chosen = order.map((kind) => kinds[kind]);
      assert.deepEqual(
        decodeCut(Buffer.concat(chosen.map(([bytes]) => bytes)), []),
        chosen.flatMap(([, ...events]) => events),
        `kinds ${order}`
      );
    }
  });
  t.end();
});

t.test('short texts that lie close together are read as one string of at most 1 KiB', (t) => {
  forEachDecoder(({ f, record }) => {
    const { decoder, events } = record();
    const chunk = Buffer.concat(Array(900).fill(f.text('a')));
    const lengths = [];
    chunk.latin1Slice = (start, end) => {
      lengths.push(end - start);
      return Buffer.prototype.latin1Slice.call(chunk, start, end);
    };
    decoder.write(chunk);
    assert.deepEqual(events, Array(900).fill(string('a')), 'the texts');
    assert.ok(lengths.length <= 10, `${lengths.length} strings for 900 texts`);
    assert.ok(
      lengths.every((length) => length <= 1024),
      `strings of ${lengths} characters`
    );
  });
  t.end();
});

t.test('a chunk of few texts is delivered as well behind a chunk of many', (t) => {
  forEachDecoder(({ f, record }) => {
    for (const count of [3, 20, 300]) {
      const { decoder, events } = record();
      const many = Array.from({ length: count }, (_, i) => String(i % 10));
      const few = ['x'.repeat(100), 'y'.repeat(100), 'z'.repeat(100)];
      decoder.write(Buffer.concat(many.map((text) => f.text(text))));
      decoder.write(Buffer.concat(few.map((text) => f.text(text))));
      assert.deepEqual(events, [...many, ...few].map(string), `behind ${count} texts`);
    }
  });
  t.end();
});

t.test("text: 'buffer' delivers text as a Buffer, checked as UTF-8", (t) => {
  forEachDecoder(({ Decoder, decode, f, role }) => {
    const options = { text: 'buffer' };
    for (const text of ['', 'ascii', 'x'.repeat(300), 'κόσμε 😀 \ufffd', `${'y'.repeat(500)}é`]) {
      const bytes = Buffer.from(text);
      const event = ['text', bytes.toString('latin1'), false];
      assert.deepEqual(decode([f.text(bytes)], options), [event], text);
      assert.deepEqual(
        decode([f.text(bytes), f.binary('b'), f.text(bytes)], options),
        [event, binary('b'), event],
        `${text}, beside binary data`
      );
      const start = f.text(bytes.subarray(0, 3), { fin: false });
      assert.deepEqual(decode([start, f.continuation(bytes.subarray(3))], options), [event], `${text}, in fragments`);
    }

    const kinds = [];
    const decoder = new Decoder({ role, ...options, onMessage: (data) => kinds.push(Buffer.isBuffer(data)) });
    decoder.write(Buffer.concat([f.text('a'), f.text('b', { fin: false }), f.continuation('c'), f.binary('')]));
    decoder.write(f.text('d'));
    assert.deepEqual(kinds, [true, true, true, true], 'all are Buffers');
    const strings = new Decoder({ role, text: 'string', onMessage: (data) => kinds.push(typeof data) });
    strings.write(f.text('d'));
    assert.equal(kinds.at(-1), 'string', "text: 'string', the default");
  });
  t.end();
});

t.test('a Buffer that is delivered is a view of the chunk, or has memory of its own', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    const got = [];
    const decoder = new Decoder({ role, onMessage: (data) => got.push(data), onPing: (data) => got.push(data) });
    const chunk = Buffer.concat([f.binary('abc'), f.ping('def')]);
    decoder.write(chunk);
    assert.equal(got.length, 2, 'messages of one chunk');
    assert.ok(
      got.every((data) => Buffer.isBuffer(data) && data.buffer === chunk.buffer),
      'views'
    );
    const cut = f.binary('ghi');
    decoder.write(cut.subarray(0, 4));
    decoder.write(cut.subarray(4));
    assert.equal(got[2].toString(), 'ghi', 'a message of two chunks: its bytes');
    assert.notEqual(got[2].buffer, cut.buffer, 'a message of two chunks: its memory');
  });
  t.end();
});
