'use strict';

const assert = require('node:assert/strict');
const { channel } = require('node:diagnostics_channel');
const t = require('tap');
const framemask = require('../../index');
const { createCodecBackend } = require('../../lib/codec/backend');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');
const { runInPool } = require('../../lib/deflate/concurrency-limiter');
const { frameId } = require('../../lib/frame-id');
const { Queue } = require('../../lib/shared/queue');
const { assertBytes, forEachCase, testCases } = require('../support/cases');
const { decoderOver, encoderOver } = require('../support/codecs');
const { countMoved } = require('../support/count-moved');
const { forEachDecoder, testDecoders } = require('../support/decoders');
const { agree } = require('../support/deflate');
const { BINARY, CONTINUATION, PING, TEXT, frame } = require('../support/frames');
const { nativeKernels } = require('../support/natives');

// A handler, a subscriber or a sink may transfer any memory that it is given, to a worker for
// example. What is lost with that memory ends its decoder with one error; no other connection
// notices.

const DETACHED = 'FRAMEMASK_ERR_DETACHED';

/** A copy whose memory is its own: what lies in Node's pool can't be transferred. */
function fresh(bytes) {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

function transfer(bytes) {
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
}

testDecoders(t, 'an empty payload is memory of its own', ({ Decoder, role, f }) => {
  const empties = [f.binary(''), f.text(''), f.ping(''), f.pong(''), f.close()];
  const fragments = [f.binary('', { fin: false }), f.continuation('')];
  forEachCase([...empties, Buffer.concat(fragments)], (bytes) => {
    const options = { role, text: 'buffer', onMessage: transfer, onPing: transfer, onPong: transfer, onError() {} };
    for (let at = 0; at <= bytes.length; at++) {
      const decoder = new Decoder({ ...options, onFrame: (_first, memory) => at % 2 === 0 && transfer(memory) });
      decoder.write(fresh(bytes.subarray(0, at)));
      decoder.write(fresh(bytes.subarray(at)));
    }
    const encoder = new Encoder({ role: 'server' });
    for (const add of ['ping', 'pong', 'close']) encoder[add]();
    assert.ok(encoder.pending > 0, 'other connections go on');
    assertBytes(Buffer.concat(encoder.take()), Buffer.from('89008a008800', 'hex'));
  });
});

testDecoders(t, 'frames after a transferred one end the decoder with one error', ({ Decoder, role, f }) => {
  const first = f.binary('first');
  forEachCase(
    [
      { name: 'text', rest: [f.text('pending')] },
      { name: 'text that is not ASCII', rest: [f.text('é')] },
      { name: 'binary', rest: [f.binary('pending'), f.binary('more')] },
      { name: 'a ping', rest: [f.ping('ping')] },
      { name: 'a fragment', rest: [f.text('begin', { fin: false }), f.continuation('end')] },
      { name: 'half a frame', rest: [f.binary('pending').subarray(0, 9)] },
      { name: 'half a header', rest: [f.binary('pending').subarray(0, 1)] },
      { name: 'hundreds of frames', rest: Array(600).fill(f.text('x')) }
    ],
    ({ rest }) => {
      const errors = [];
      const messages = [];
      const decoder = new Decoder({
        role,
        onMessage(data) {
          messages.push(data.length);
          if (messages.length === 1) transfer(data);
        },
        onError: (error) => errors.push([error.code, error.closeCode])
      });
      decoder.write(fresh(Buffer.concat([first, ...rest])));
      assert.deepEqual(messages, [5]);
      assert.deepEqual(errors, [[DETACHED, 1011]]);
      assert.equal(decoder.closed, true);
      decoder.write(f.ping());
      assert.equal(errors.length, 1, 'one error');
    }
  );
  const alone = [];
  const decoder = new Decoder({
    role,
    onMessage(data) {
      alone.push(data.toString());
      transfer(data);
    }
  });
  for (let i = 0; i < 3; i++) decoder.write(fresh(first));
  assert.deepEqual(alone, ['first', 'first', 'first'], 'chunks with nothing after it');
});

testDecoders(t, 'a chunk that is transferred while the decoder is paused', ({ Decoder, role, f }) => {
  const errors = [];
  const decoder = new Decoder({
    role,
    onMessage() {
      decoder.pause();
    },
    onError: (error) => errors.push(error.code)
  });
  const held = fresh(f.text('later'));
  decoder.write(fresh(Buffer.concat([f.text('now'), f.text('then')])));
  decoder.write(held);
  transfer(held);
  decoder.resume();
  assert.deepEqual(errors, [], 'the chunk before it is there');
  decoder.resume();
  assert.deepEqual(errors, [DETACHED]);
});

testDecoders(t, 'onFrame may transfer what it is shown: a gathered payload, then or later', ({ Decoder, role, f }) => {
  forEachCase([f.text('hello'), f.binary('hello'), f.ping('hello')], (bytes) => {
    const errors = [];
    const onMessage = () => assert.fail('delivered');
    const decoder = new Decoder({
      role,
      onFrame: (_first, memory) => transfer(memory),
      onMessage,
      onPing: onMessage,
      onError: (error) => errors.push(error.code)
    });
    for (const byte of bytes) decoder.write(Buffer.of(byte));
    assert.deepEqual(errors, [DETACHED]);
  });
  let kept = null;
  const errors = [];
  const decoder = new Decoder({
    role,
    onFrame(_first, memory) {
      kept ??= memory;
    },
    onMessage: () => assert.fail('delivered'),
    onError: (error) => errors.push(error.code)
  });
  for (const byte of f.text('hello', { fin: false })) decoder.write(Buffer.of(byte));
  transfer(kept);
  decoder.write(f.continuation('world'));
  assert.deepEqual(errors, [DETACHED], 'between two fragments');
});

testDecoders(t, 'text that onFrame has seen is not gathered in memory that serves others', ({ Decoder, role, f }) => {
  const shown = new Set();
  const onFrame = (_first, memory) => shown.add(memory.buffer);
  const bytes = f.text('a'.repeat(60_000));
  for (let i = 0; i < 3; i++) {
    const decoder = new Decoder({ role, onFrame, onMessage() {} });
    for (let at = 0; at < bytes.length; at += 20_000) decoder.write(fresh(bytes.subarray(at, at + 20_000)));
  }
  assert.equal(shown.size, 3);
});

t.test('take and sinks get memory of their connection alone', async () => {
  const sinkOf = (received, options) => ({
    writable: true,
    writableLength: 0,
    write(bytes) {
      received.push(Buffer.from(bytes));
      transfer(bytes);
      return true;
    },
    ...options
  });
  forEachCase([true, false], (recycle) => {
    for (const role of ['server', 'client']) {
      const own = new Encoder({ role, recycle });
      const other = new Encoder({ role, recycle });
      for (let i = 0; i < 20; i++) {
        other.text(`text ${i} of another connection`);
        own.binary(Buffer.alloc(100 * i));
        for (const bytes of own.take()) transfer(bytes);
        own.binary(Buffer.alloc(1000 * i));
        own.flush(sinkOf([]));
        own.ping('after');
        own.flush(sinkOf([], { writableLength: 7 }));
      }
      const sent = other.take();
      assert.equal(Buffer.concat(sent).length, 570 + 20 * (role === 'server' ? 2 : 6));
      assert.doesNotThrow(() => own.text('goes on'));
    }
  });
});

testCases(
  t,
  'memory that is transferred while frames wait in it costs its own connection those frames',
  ['server', 'client'],
  (role) => {
    const own = new Encoder({ role });
    const other = new Encoder({ role });
    own.text('first');
    const [first] = own.take();
    own.text('lost');
    other.text('of another connection');
    transfer(first);
    own.text('after the lost frame');
    assert.throws(() => own.take(), TypeError);
    assert.equal(own.pending, 0, 'pending');
    const size = role === 'server' ? 2 : 6;
    for (const text of ['goes on', 'and on']) {
      own.text(text);
      assert.equal(Buffer.concat(own.take()).length, size + text.length, text);
    }
    assert.equal(Buffer.concat(other.take()).length, size + 21, 'the other connection');
  }
);

t.test('frames that a sink has transferred away with earlier ones are lost, and no other bytes are sent', async (t) => {
  for (const send of [(encoder) => encoder.take(), (encoder) => encoder.flush({ write: () => assert.fail('sent') })]) {
    const encoder = new Encoder({ role: 'server' });
    encoder.text('first');
    const [first] = encoder.take();
    encoder.text('in the same memory');
    transfer(first);
    encoder.text('after it');
    t.throws(() => send(encoder), TypeError);
    encoder.text('later');
    t.same(encoder.take(), [Buffer.from('\x81\x05later', 'latin1')]);
  }
});

t.test('detached data is refused by both roles, with a code', async () => {
  forEachCase(['server', 'client'], (role) => {
    const encoder = new Encoder({ role });
    const gone = (bytes) => {
      transfer(bytes);
      return bytes;
    };
    const error = { code: 'ERR_INVALID_ARG_TYPE', message: /detached/ };
    for (const size of [10, 100_000]) {
      assert.throws(() => encoder.binary(gone(Buffer.allocUnsafeSlow(size))), error, 'a Buffer');
      assert.throws(() => encoder.text(gone(Buffer.allocUnsafeSlow(size))), error, 'text');
      assert.throws(() => encoder.binary(gone(new Float64Array(size))), error, 'another view');
      assert.throws(() => encoder.binary(gone(new DataView(new ArrayBuffer(size)))), error, 'a DataView');
      assert.throws(() => encoder.binary(gone(new Uint8Array(size)).buffer), error, 'an ArrayBuffer');
      assert.throws(() => prepare(gone(Buffer.allocUnsafeSlow(size))), error, 'prepare');
    }
    assert.throws(() => encoder.ping(gone(Buffer.allocUnsafeSlow(10))), error, 'a ping');
    assert.throws(() => encoder.close(1000, gone(Buffer.allocUnsafeSlow(10))), error, 'a reason');
    assert.equal(encoder.pending, 0);
    assert.equal(encoder.closed, false);
  });
  forEachDecoder(({ Decoder, role }) => {
    const chunk = Buffer.allocUnsafeSlow(10);
    transfer(chunk);
    const decoder = new Decoder({ role });
    assert.throws(() => decoder.write(chunk), { code: 'ERR_INVALID_ARG_TYPE', message: /detached/ });
    decoder.write(Buffer.alloc(0));
    assert.equal(decoder.closed, false);
  });
});

// A subscriber of the tracing channels may use codecs: the one that its record is about, in the
// middle of a message too, and others.

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
  { name: 'a prepared message', send: (encoder) => encoder.addPrepared(prepare('hello')), bytes: frame(TEXT, 'hello') }
];

testCases(t, 'a subscriber sends on another connection', [FRAMES, MESSAGES], (name) => {
  forEachCase(SENDS, ({ send, bytes }) => {
    forEachCase([true, false], (recycle) => {
      const observed = new Encoder({ role: 'server', recycle, trace: { id: 'observed' } });
      const dashboard = new Encoder({ role: 'server', recycle, trace: { id: 'dashboard' } });
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

testCases(
  t,
  'a subscriber sends on the connection of its record, takes its bytes, or closes it',
  SENDS,
  ({ send, bytes }) => {
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
    send(encoder);
    assertBytes(Buffer.concat(encoder.take()), Buffer.concat([bytes, frame(8, Buffer.from([3, 232]))]));
  }
);

t.test('records of messages are whole, whoever subscribes, sends and unsubscribes in the middle', async (t) => {
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
});

testDecoders(
  t,
  'a decoder that a subscriber stops delivers nothing, one that it pauses holds all',
  ({ Decoder, role, f }) => {
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
  }
);

testDecoders(t, 'a decoder that a subscriber writes to or resumes stays in order', ({ Decoder, role, f }) => {
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

testDecoders(t, 'a subscriber that decodes with another decoder', ({ Decoder: DecoderOver, role, f }) => {
  const events = [];
  const inner = [];
  const other = new Decoder({ role, onMessage: (data) => inner.push(data) });
  const decoder = new DecoderOver({ role, trace: { id: 'outer' }, onMessage: (data) => events.push(data) });
  const act = ({ connection }) => {
    if (connection === 'outer') other.write(Buffer.concat([f.text('in'), f.text('side')]));
  };
  tracing(FRAMES, act, () => decoder.write(Buffer.concat([f.text('one'), f.text('two'), f.text('three')])));
  assert.deepEqual(events, ['one', 'two', 'three']);
  assert.deepEqual(inner, ['in', 'side', 'in', 'side', 'in', 'side']);
});

// A sink may deliver at once, and what it calls may send and flush on the same connection.

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

testCases(
  t,
  'frames that are sent and flushed during a write follow the frames being written',
  [true, false],
  (recycle) => {
    const large = Buffer.alloc(40_000, 7);
    const encoder = new Encoder({ role: 'server', recycle });
    const sink = sinkOf(() => {
      encoder.ping('inside');
      assert.equal(encoder.flush(sink), true);
      encoder.text('and more');
    });
    encoder.binary(large);
    encoder.text('after');
    encoder.flush(sink);
    const expected = [frame(BINARY, large), frame(TEXT, 'after'), frame(PING, 'inside'), frame(TEXT, 'and more')];
    assertBytes(Buffer.concat(sink.written), Buffer.concat(expected));
    assert.equal(encoder.pending, 0);
  }
);

testCases(t, 'a sink that throws leaves the encoder able to send', [true, false], (recycle) => {
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

t.test('two ends that answer each other in memory', async (t) => {
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
});

// On Deno, Buffer.prototype.utf8Slice refuses a start after the end, so reading the reason of an
// empty Close frame threw out of `write`.

/** Makes the methods that read strings as strict as Deno's until the test ends. */
function refuseReversedRanges(t) {
  for (const name of ['utf8Slice', 'latin1Slice']) {
    const slice = Buffer.prototype[name];
    t.teardown(() => {
      Buffer.prototype[name] = slice;
    });
    Buffer.prototype[name] = function (start = 0, end = this.length) {
      if (start > end || end > this.length) throw new RangeError('Index out of range');
      return slice.call(this, start, end);
    };
  }
}

function backends() {
  return [{ name: 'js', native: null }, ...nativeKernels()].map(({ name, native }) => ({
    name,
    backend: createCodecBackend(native)
  }));
}

t.test('close() without a code arrives as 1005, in both roles', async (t) => {
  refuseReversedRanges(t);
  forEachCase(backends(), ({ backend }) => {
    const DecoderOver = decoderOver(backend);
    const EncoderOver = encoderOver(backend);
    forEachCase(['server', 'client'], (role) => {
      const encoder = new EncoderOver({ role });
      encoder.close();
      const bytes = Buffer.concat(encoder.take());
      assert.equal(bytes.length, role === 'server' ? 2 : 6);
      forEachCase([bytes.length, 1], (size) => {
        const closed = [];
        const decoder = new DecoderOver({
          role: role === 'server' ? 'client' : 'server',
          onClose: (code, reason, bytes) => closed.push([code, reason, bytes.length])
        });
        for (let i = 0; i < bytes.length; i += size) decoder.write(Buffer.from(bytes.subarray(i, i + size)));
        assert.deepEqual(closed, [[1005, '', 0]]);
        assert.equal(decoder.closed, true);
      });
    });
  });
});

// 5.4: a continuation frame that continues nothing, and a message inside another, are refused as
// such (1002), however long they say that they are, in one piece and byte by byte.

testDecoders(t, '5.4: the rule of continuation comes before the limits of a length', ({ decode, f }) => {
  forEachCase([0n, 125n, 65_536n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 62n], (length) => {
    const options = { maxPayload: 1000 };
    const continuation = f.continuation('', { length, fin: false });
    assert.deepEqual(decode([continuation], options), [['error', 'CONTINUATION', 1002]]);
    const inside = [f.text('a', { fin: false }), f.binary('', { length })];
    assert.deepEqual(decode(inside, options), [['error', 'INTERLEAVED', 1002]]);
    if (length > 1000n) {
      assert.deepEqual(decode([f.binary('', { length })], options), [['error', 'MESSAGE_TOO_BIG', 1009]]);
      const continued = [f.text('a', { fin: false }), continuation];
      assert.deepEqual(decode(continued, options), [['error', 'MESSAGE_TOO_BIG', 1009]]);
    }
  });
});

// What waits in line. Taking each off an array would move all others: 200,000 took 37 s.

t.test('chunks that are held by pause are delivered in order, without moving each other', async (t) => {
  const COUNT = 1000;
  const cases = [];
  forEachDecoder((over) => cases.push(over));
  for (const { Decoder, role, f } of cases) {
    const lengths = [];
    const decoder = new Decoder({ role, onMessage: (data) => lengths.push(data.length) });
    decoder.pause();
    for (let i = 0; i < COUNT; i++) decoder.write(f.binary(Buffer.alloc(i % 100)));
    const moved = await countMoved(() => decoder.resume());
    t.same(
      lengths,
      Array.from({ length: COUNT }, (_, i) => i % 100)
    );
    t.ok(moved <= COUNT, `${moved} moves`);
  }
});

t.test('a queue keeps order and moves each item a bounded number of times', async (t) => {
  const queue = new Queue();
  let pushed = 0;
  let shifted = 0;
  const moved = await countMoved(() => {
    for (let round = 0; round < 1000; round++) {
      for (let i = 0; i < 30; i++) queue.push(pushed++);
      for (let i = 0; i < 29; i++) assert.equal(queue.shift(), shifted++);
      assert.deepEqual([queue.length, queue.last], [pushed - shifted, pushed - 1]);
      // Items that have left must not fill the memory of a queue that is never empty.
      assert.ok(queue._items.length <= 2 * queue.length, `${queue._items.length} places`);
    }
    while (shifted < pushed) assert.equal(queue.shift(), shifted++);
  });
  t.same([queue.length, queue.last, queue.shift()], [0, undefined, null]);
  t.ok(moved <= pushed, `${moved} moves for ${pushed} items`);
});

t.test('messages after one in the thread pool leave without moving each other', async (t) => {
  const COUNT = 2000;
  const { server, client } = agree({ threshold: 0, threadPoolFrom: 1000 });
  let onDeflated;
  const deflated = new Promise((resolve) => {
    onDeflated = resolve;
  });
  const encoder = new Encoder({ role: 'server', deflate: server, onDeflated });
  const sent = ['x'.repeat(1000), ...Array.from({ length: COUNT }, (_, i) => `${i}`)];
  for (const [i, text] of sent.entries()) encoder.text(text, { compress: i === 0 });
  const moved = await countMoved(() => deflated);
  t.ok(moved <= COUNT, `${moved} moves`);
  const received = [];
  const decoder = new Decoder({ role: 'client', deflate: client, onMessage: (text) => received.push(text) });
  for (const bytes of encoder.take()) decoder.write(Buffer.from(bytes));
  t.same(received, sent);
});

t.test('jobs that wait for the thread pool begin in order, without moving each other', async (t) => {
  const COUNT = 2000;
  const begun = [];
  const moved = await countMoved(
    () =>
      new Promise((resolve) => {
        for (let i = 0; i < COUNT; i++) {
          runInPool((done) => {
            begun.push(i);
            if (begun.length === COUNT) resolve();
            setImmediate(done);
          });
        }
      })
  );
  t.ok(moved <= 2 * COUNT, `${moved} moves`);
  t.same(begun, [...Array(COUNT).keys()]);
});

// Values that are of a right type and yet unusual.

t.test('a huge BigInt, string or number of digits makes no huge message', async () => {
  const huge = 10n ** 300_000n;
  const { Decoder, Encoder, formatFrameId, mask, prepare, unmask } = framemask;
  const bytes = Buffer.alloc(16);
  const encoder = new Encoder({ role: 'server' });
  const calls = {
    mask: () => mask(bytes, bytes.subarray(4), bytes, huge, 4),
    unmask: () => unmask(huge, bytes),
    phase: () => unmask(bytes, bytes.subarray(0, 4), huge),
    text: () => encoder.text(huge),
    close: () => encoder.close(huge),
    prepare: () => prepare(huge),
    option: () => new Decoder({ role: 'server', maxPayload: huge }),
    role: () => new Decoder({ role: huge }),
    frameId: () => frameId({ version: huge }),
    formatFrameId: () => formatFrameId(bytes, huge)
  };
  forEachCase(Object.keys(calls), (name) => {
    assert.throws(calls[name], ({ message }) => message.length < 200, name);
  });
});

t.test('ids of version 7 ascend under a clock with fractions', async (t) => {
  const { now } = Date;
  t.teardown(() => {
    Date.now = now;
  });
  let time = now.call(Date) + 1000;
  Date.now = () => {
    time += 0.0625;
    return time;
  };
  let last = '';
  for (let i = 0; i < 10_000; i++) {
    const id = frameId({ version: 7 });
    assert.ok(id > last, `id ${i} is ${id}, after ${last}`);
    last = id;
  }
});
