'use strict';

// A sink may deliver at once, and what it calls may send and flush on the same connection.

const assert = require('node:assert/strict');
const t = require('tap');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { assertBytes, forEachCase } = require('../support/cases');
const { BINARY, PING, TEXT, frame } = require('../support/frames');

/** A sink that calls `during` in its first writes. */
function sinkOf(during, times = 1) {
  const written = [];
  return {
    written,
    writable: true,
    writableLength: 0,
    write(bytes) {
      written.push(Buffer.from(bytes));
      if (written.length <= times) during();
      return true;
    }
  };
}

t.test('frames that are sent and flushed during a write follow the frames being written', (t) => {
  forEachCase([true, false], (recycle) => {
    const large = Buffer.alloc(40_000, 7);
    const encoder = new Encoder({ role: 'server', recycle });
    const sink = sinkOf(() => {
      encoder.ping('inside');
      assert.equal(encoder.flush(sink), true);
      encoder.text('and more');
    });
    encoder.binary(large);
    encoder.text('behind');
    encoder.flush(sink);
    const expected = [frame(BINARY, large), frame(TEXT, 'behind'), frame(PING, 'inside'), frame(TEXT, 'and more')];
    assertBytes(Buffer.concat(sink.written), Buffer.concat(expected));
    assert.equal(encoder.pending, 0);
  });
  t.end();
});

t.test('a sink that throws leaves the encoder able to send', (t) => {
  forEachCase([true, false], (recycle) => {
    const encoder = new Encoder({ role: 'server', recycle });
    const broken = {
      writable: true,
      writableLength: 0,
      write() {
        throw new Error('broken');
      }
    };
    encoder.text('lost');
    assert.throws(() => encoder.flush(broken), { message: 'broken' });
    assert.equal(encoder.pending, 0);
    const sink = sinkOf(() => {}, 0);
    encoder.text('next');
    encoder.flush(sink);
    assertBytes(Buffer.concat(sink.written), frame(TEXT, 'next'));
  });
  t.end();
});

t.test('two ends that answer each other in memory', (t) => {
  const received = [];
  const ends = ['server', 'client'].map((role) => ({ role, encoder: new Encoder({ role, recycle: true }) }));
  for (const [i, end] of ends.entries()) {
    end.decoder = new Decoder({
      role: end.role,
      onMessage(data) {
        received.push(`${end.role} ${data.length}`);
        if (received.length >= 40) return;
        end.encoder.text('x'.repeat(received.length * 1000));
        end.encoder.flush(end.sink);
      }
    });
    // Copies, because a Decoder unmasks in place.
    const write = (bytes) => ends[1 - i].decoder.write(Buffer.from(bytes));
    end.sink = { writable: true, writableLength: 0, write: (bytes) => write(bytes) };
  }
  ends[1].encoder.text('begin');
  ends[1].encoder.flush(ends[1].sink);
  const expected = Array.from(
    { length: 40 },
    (_, i) => `${i % 2 === 0 ? 'server' : 'client'} ${i === 0 ? 5 : i * 1000}`
  );
  t.same(received, expected);
  t.end();
});
