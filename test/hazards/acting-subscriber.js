'use strict';

// A subscriber of the tracing channels may use codecs: the one that its record is about, in the
// middle of a message too, and others.

const assert = require('node:assert/strict');
const { channel } = require('node:diagnostics_channel');
const t = require('tap');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');
const { assertBytes, forEachCase } = require('../support/cases');
const { forEachDecoder } = require('../support/decoders');
const { BINARY, CONTINUATION, PING, TEXT, frame } = require('../support/frames');

const FRAMES = 'framemask:frame';
const MESSAGES = 'framemask:message';

/** Calls `act` for the records of a channel while `work` runs. A subscriber's error is not lost. */
function tracing(name, act, work) {
  const errors = [];
  const subscriber = (record) => {
    try {
      act(record);
    } catch (error) {
      errors.push(error);
    }
  };
  const subject = channel(name);
  subject.subscribe(subscriber);
  try {
    work();
  } finally {
    subject.unsubscribe(subscriber);
  }
  if (errors.length !== 0) throw errors[0];
}

const SENDS = [
  { name: 'short text', send: (encoder) => encoder.text('hello'), bytes: frame(TEXT, 'hello') },
  { name: 'long text', send: (encoder) => encoder.text('x'.repeat(9000)), bytes: frame(TEXT, 'x'.repeat(9000)) },
  { name: 'bytes', send: (encoder) => encoder.binary(Buffer.alloc(300)), bytes: frame(BINARY, Buffer.alloc(300)) },
  {
    name: 'bytes that are not copied',
    send: (encoder) => encoder.binary(Buffer.alloc(40_000)),
    bytes: frame(BINARY, Buffer.alloc(40_000))
  },
  { name: 'a ping', send: (encoder) => encoder.ping('p'), bytes: frame(PING, 'p') },
  { name: 'a prepared message', send: (encoder) => encoder.prepared(prepare('hello')), bytes: frame(TEXT, 'hello') }
];

t.test('a subscriber sends on another connection', (t) => {
  forEachCase([FRAMES, MESSAGES], (name) => {
    forEachCase(SENDS, ({ send, bytes }) => {
      forEachCase([true, false], (recycle) => {
        const observed = new Encoder({ role: 'server', recycle, connectionId: 'observed' });
        const dashboard = new Encoder({ role: 'server', recycle, connectionId: 'dashboard' });
        let sent = 0;
        const act = ({ connection }) => {
          if (connection !== 'observed') return;
          dashboard.text(`record ${sent++}`);
        };
        tracing(name, act, () => {
          for (let i = 0; i < 3; i++) send(observed);
        });
        const records = Array.from({ length: sent }, (_, i) => frame(TEXT, `record ${i}`));
        assertBytes(Buffer.concat(observed.take()), Buffer.concat([bytes, bytes, bytes]), 'the observed connection');
        assertBytes(Buffer.concat(dashboard.take()), Buffer.concat(records), 'the dashboard');
        assert.equal(sent, bytes[0] === 0x89 && name === MESSAGES ? 0 : 3);
      });
    });
  });
  t.end();
});

t.test('a subscriber sends on the connection of its record, takes its bytes, or closes it', (t) => {
  forEachCase(SENDS, ({ send, bytes }) => {
    const encoder = new Encoder({ role: 'server' });
    let depth = 0;
    tracing(
      FRAMES,
      () => {
        if (depth++ === 0) encoder.ping('inside');
      },
      () => send(encoder)
    );
    assertBytes(Buffer.concat(encoder.take()), Buffer.concat([bytes, frame(PING, 'inside')]));

    const taken = [];
    tracing(
      FRAMES,
      () => taken.push(...encoder.take()),
      () => send(encoder)
    );
    assertBytes(Buffer.concat(taken), bytes, 'taken by the subscriber');
    assert.equal(encoder.pending, 0);

    tracing(
      FRAMES,
      () => encoder.close(1000),
      () => send(encoder)
    );
    assert.equal(encoder.closed, true);
    assert.equal(send(encoder), false);
    assertBytes(Buffer.concat(encoder.take()), Buffer.concat([bytes, frame(8, Buffer.from([3, 232]))]));
  });
  t.end();
});

t.test('records of messages are whole, whoever subscribes, sends and unsubscribes in the middle', (t) => {
  const encoder = new Encoder({ role: 'server' });
  encoder.text('ab', { fin: false });
  encoder.ping('not counted');
  encoder.continuation('cde', { fin: false });
  const records = [];
  tracing(
    MESSAGES,
    (record) => records.push(record),
    () => encoder.continuation('f')
  );
  t.match(records, [{ length: 6, fragments: 3, sequence: 4, binary: false }]);

  records.length = 0;
  let depth = 0;
  tracing(
    MESSAGES,
    (record) => records.push(record),
    () => {
      tracing(
        FRAMES,
        ({ opcode }) => {
          if (opcode === CONTINUATION && depth++ === 0) {
            encoder.binary('x'.repeat(0) || Buffer.alloc(9), { fin: false });
            encoder.continuation(Buffer.alloc(1));
          }
        },
        () => {
          encoder.text('ab', { fin: false });
          encoder.continuation('c');
        }
      );
    }
  );
  t.match(records, [
    { length: 10, fragments: 2, sequence: 8, binary: true },
    { length: 3, fragments: 2, sequence: 6, binary: false }
  ]);
  t.end();
});

t.test('a decoder that a subscriber stops delivers nothing, one that it pauses holds all', (t) => {
  forEachDecoder(({ Decoder, role, f }) => {
    const frames = [f.text('one'), f.ping('p'), f.text('tw', { fin: false }), f.continuation('o'), f.binary('three')];
    const kinds = [
      { name: 'one chunk', chunks: [Buffer.concat(frames)] },
      { name: 'a chunk for each frame', chunks: frames },
      { name: 'byte by byte', chunks: Array.from(Buffer.concat(frames), (byte) => Buffer.of(byte)) }
    ];
    const create = (events, withFrames) =>
      new Decoder({
        role,
        onMessage: (data) => events.push(data.toString()),
        onPing: (data) => events.push(data.toString()),
        onFrame: withFrames ? (first) => events.push(first) : undefined
      });
    forEachCase(kinds, ({ chunks }) => {
      forEachCase([FRAMES, MESSAGES], (name) => {
        for (const withFrames of [false, true]) {
          const all = [];
          const whole = create(all, withFrames);
          for (const chunk of chunks) whole.write(Buffer.from(chunk));

          const events = [];
          const decoder = create(events, withFrames);
          let before = null;
          const hold = () => {
            assert.equal(before, null, 'a record while the decoder is paused');
            before = events.length;
            decoder.pause();
          };
          const resume = () => {
            while (decoder.paused) {
              assert.equal(events.length, before, 'an event while the decoder is paused');
              before = null;
              decoder.resume();
            }
          };
          tracing(name, hold, () => {
            for (const chunk of chunks) {
              decoder.write(Buffer.from(chunk));
              resume();
            }
          });
          assert.deepEqual(events, all, `paused at each record, onFrame: ${withFrames}`);

          for (let at = 0; at < 4; at++) {
            const few = [];
            const stopped = create(few, withFrames);
            let records = 0;
            let length = null;
            const stop = () => {
              if (records++ !== at) return;
              stopped.stop();
              length = few.length;
            };
            tracing(name, stop, () => {
              for (const chunk of chunks) stopped.write(Buffer.from(chunk));
            });
            if (length !== null) assert.equal(few.length, length, `stopped at record ${at}, onFrame: ${withFrames}`);
          }
        }
      });
    });
  });
  t.end();
});

t.test('a decoder that a subscriber writes to or resumes stays in order', (t) => {
  forEachDecoder(({ Decoder, role, f }) => {
    const events = [];
    const decoder = new Decoder({ role, onMessage: (data) => events.push(data) });
    let records = 0;
    const act = () => {
      decoder.resume();
      if (records++ === 0) decoder.write(Buffer.from(f.text('later')));
    };
    tracing(FRAMES, act, () => decoder.write(Buffer.concat([f.text('first'), f.text('second')])));
    assert.deepEqual(events, ['first', 'second', 'later']);
  });
  t.end();
});

t.test('a subscriber that decodes with another decoder', (t) => {
  forEachDecoder(({ Decoder: DecoderOver, role, f }) => {
    const events = [];
    const inner = [];
    const other = new Decoder({ role, onMessage: (data) => inner.push(data) });
    const decoder = new DecoderOver({ role, connectionId: 'outer', onMessage: (data) => events.push(data) });
    const act = ({ connection }) => {
      if (connection === 'outer') other.write(Buffer.concat([f.text('in'), f.text('side')]));
    };
    tracing(FRAMES, act, () => decoder.write(Buffer.concat([f.text('one'), f.text('two'), f.text('three')])));
    assert.deepEqual(events, ['one', 'two', 'three']);
    assert.deepEqual(inner, ['in', 'side', 'in', 'side', 'in', 'side']);
  });
  t.end();
});
