'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachDecoder } = require('../../support/decoders');
const { BINARY } = require('../../support/frames');
const { binary, string } = require('../../support/recorder');

t.test('5.4: joins the fragments of a message', (t) => {
  forEachDecoder(({ decode, f }) => {
    const start = (payload, make = f.text) => make(payload, { fin: false });
    const more = (payload) => f.continuation(payload, { fin: false });
    assert.deepEqual(decode([start('Hel'), f.continuation('lo')]), [string('Hello')], 'two fragments');
    assert.deepEqual(
      decode([start('a'), more('b'), more(''), more('c'), f.continuation(''), f.text('d')]),
      [string('abc'), string('d')],
      'some of them empty'
    );
    assert.deepEqual(decode([start(''), more(''), f.continuation('')]), [string('')], 'all of them empty, text');
    assert.deepEqual(decode([start('', f.binary), f.continuation('')]), [binary('')], 'all of them empty, binary');
    for (const size of [20, 100, 200, 5000]) {
      const payloads = Array.from({ length: 9 }, (_, i) => Buffer.alloc(size + i, 65 + i));
      const frames = payloads.map((payload, i) => f.frame(i === 0 ? BINARY : 0, payload, { fin: i === 8 }));
      assert.deepEqual(decode(frames), [binary(Buffer.concat(payloads).toString())], `nine of ${size} bytes and more`);
    }
  });
  t.end();
});

t.test('5.4: delivers control frames between fragments at once', (t) => {
  forEachDecoder(({ decode, f }) => {
    assert.deepEqual(
      decode([
        f.binary('x', { fin: false }),
        f.ping('1'),
        f.continuation('y', { fin: false }),
        f.pong('2'),
        f.ping(''),
        f.continuation('z')
      ]),
      [['ping', '1'], ['pong', '2'], ['ping', ''], binary('xyz')]
    );
  });
  t.end();
});

t.test('5.4: takes a Close frame inside a fragmented message', (t) => {
  forEachDecoder(({ decode, f }) => {
    assert.deepEqual(decode([f.text('unfinished', { fin: false }), f.close(1000, 'bye'), f.continuation('x')]), [
      ['close', 1000, 'bye']
    ]);
  });
  t.end();
});

t.test('5.4: fragments may cut a character anywhere', (t) => {
  const text = Buffer.from('κόσμε😀');
  forEachDecoder(({ decode, f }) => {
    for (let cut = 0; cut <= text.length; cut++) {
      assert.deepEqual(
        decode([f.text(text.subarray(0, cut), { fin: false }), f.continuation(text.subarray(cut))]),
        [string('κόσμε😀')],
        `after ${cut} bytes`
      );
    }
  });
  t.end();
});

t.test('5.4: refuses a message that begins inside another', (t) => {
  forEachDecoder(({ decode, f }) => {
    const start = f.text('a', { fin: false });
    const seconds = { text: f.text('b'), 'a first fragment': f.binary('b', { fin: false }), 'empty text': f.text('') };
    for (const [name, second] of Object.entries(seconds)) {
      assert.deepEqual(decode([start, second]), [['error', 'INTERLEAVED', 1002]], name);
      assert.deepEqual(
        decode([start, f.ping(''), second]),
        [
          ['ping', ''],
          ['error', 'INTERLEAVED', 1002]
        ],
        `${name}, after a Ping frame`
      );
    }
  });
  t.end();
});

t.test('5.4: refuses a continuation frame after the last fragment', (t) => {
  forEachDecoder(({ decode, f }) => {
    assert.deepEqual(decode([f.text('a', { fin: false }), f.continuation('b'), f.continuation('c')]), [
      string('ab'),
      ['error', 'CONTINUATION', 1002]
    ]);
  });
  t.end();
});

t.test('with fragmentLengths, onMessage finds the length of each fragment', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    const seen = [];
    const decoder = new Decoder({
      role,
      fragmentLengths: true,
      onMessage(data) {
        seen.push([data.length, this.fragmentLengths]);
      }
    });
    const frames = [
      f.binary('abc', { fin: false }),
      f.continuation('', { fin: false }),
      f.continuation('de'),
      f.binary('f')
    ];
    decoder.write(Buffer.concat(frames));
    for (const frame of frames) for (const byte of frame) decoder.write(Buffer.of(byte));
    const each = [
      [5, [3, 0, 2]],
      [1, undefined]
    ];
    assert.deepEqual(seen, [...each, ...each]);
    assert.equal(decoder.fragmentLengths, undefined, 'outside of onMessage');
  });
  t.end();
});
