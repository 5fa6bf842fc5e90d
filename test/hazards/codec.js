'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const framemask = require('../../index');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');
const { MAX_JOBS, runInPool } = require('../../lib/deflate/contexts');
const { frameId } = require('../../lib/frame-id');
const { Queue } = require('../../lib/shared/queue');
const { assertBytes, forEachCase, testCases } = require('../support/cases');
const { assertSent, encoderOver } = require('../support/codecs');
const { collectGarbage } = require('../support/collect-garbage');
const { countMoved } = require('../support/count-moved');
const {
  DECODER_CASES,
  ROLES,
  chunkings,
  createDecoders,
  forEachDecoder,
  testDecoders
} = require('../support/decoders');
const { agree, deflateByZlib } = require('../support/deflate');
const { BINARY, CLOSE, CONTINUATION, PING, TEXT, closePayload, frame } = require('../support/frames');
const { MEMORIES } = require('../support/memories');
const { until } = require('../support/promises');
const { string } = require('../support/recorder');
const { withSubscriber } = require('../support/subscribers');

// A handler, a subscriber or a sink may transfer any memory that it is given, to a worker for
// example. What is lost with that memory ends its decoder with one error; no other connection
// notices.

const LOST = ['error', 'DETACHED', 1011];

/** A copy whose memory is its own: what lies in Node's pool can't be transferred. */
function fresh(bytes) {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

function transfer(bytes) {
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
}

testDecoders('frames after a transferred one end the decoder with one error', ({ f, record }) => {
  const takeFirst = () => {
    const one = record({
      onMessage(data) {
        one.events.push(String(data));
        if (one.events.length === 1) transfer(data);
      }
    });
    return one;
  };
  const first = f.binary('first');
  const rests = {
    text: [f.text('pending')],
    'text that is not ASCII': [f.text('é')],
    binary: [f.binary('pending'), f.binary('more')],
    'a ping': [f.ping('ping')],
    'a fragment': [f.text('begin', { fin: false }), f.continuation('end')],
    'half a frame': [f.binary('pending').subarray(0, 9)],
    'half a header': [f.binary('pending').subarray(0, 1)],
    'hundreds of frames': Array(600).fill(f.text('x'))
  };
  forEachCase(rests, (rest) => {
    const { decoder, events } = takeFirst();
    decoder.write(fresh(Buffer.concat([first, ...rest])));
    assert.deepEqual(events, ['first', LOST]);
    assert.equal(decoder.closed, true);
    decoder.write(f.ping());
    assert.equal(events.length, 2, 'one error');
  });
  const { decoder, events } = takeFirst();
  for (let i = 0; i < 3; i++) decoder.write(fresh(first));
  assert.deepEqual(events, ['first', 'first', 'first'], 'chunks with nothing after it');
});

testDecoders('a chunk that is transferred while the decoder is paused', ({ f, record }) => {
  const { decoder, events } = record({ after: (_event, decoder) => decoder.pause() });
  const held = fresh(f.text('later'));
  decoder.write(fresh(Buffer.concat([f.text('now'), f.text('then')])));
  decoder.write(held);
  transfer(held);
  decoder.resume();
  assert.deepEqual(events, ['now', 'then'].map(string), 'the chunk before it is there');
  decoder.resume();
  assert.deepEqual(events.slice(2), [LOST]);
});

testDecoders('a chunk that a subscriber transfers, or that is transferred while it pauses', ({ f, record, role }) => {
  const read = (name, pauses, chunks, options) => {
    const { decoder, events } = record({ text: 'buffer', ...options });
    const last = fresh(chunks.pop());
    const subscriber = ({ error }) => {
      if (pauses) decoder.pause();
      else if (!error) transfer(last);
    };
    withSubscriber(name, subscriber, () => {
      for (const chunk of [...chunks, last]) decoder.write(chunk);
    });
    if (pauses) transfer(last);
    decoder.resume();
    return events;
  };
  const deflate = agree({ threadPoolFrom: Infinity })[role];
  const compressed = f.binary(deflateByZlib(Buffer.from('hello')), { rsv: 0x40 });
  const cutFrame = f.binary('hello');
  const seen = [];
  // Throws if the memory is detached.
  const see = ({ buffer, byteOffset, length }) => seen.push(String(Buffer.from(buffer, byteOffset, length)));
  for (const name of ['framemask:frame', 'framemask:message']) {
    for (const pauses of [false, true]) {
      forEachCase([f.text('hello'), f.binary('hello'), compressed], (frame) => {
        assert.deepEqual(read(name, pauses, [frame], { deflate }), [LOST]);
        const options = { frames: true, rsv1: true };
        assert.deepEqual(read(name, pauses, [frame], options), [LOST], 'with onFrame');
      });
      const cut = [Buffer.from(cutFrame.subarray(0, -3)), cutFrame.subarray(-3)];
      assert.deepEqual(read(name, pauses, cut, { onPart: see }), [LOST], 'in parts');
      assert.deepEqual(read('framemask:message', pauses, [f.binary('')], { onMessage: see }), [], 'empty');
    }
  }
  assert.deepEqual(seen.splice(0), ['he', '', 'he', '', 'he', '', 'he', '']);
  const fragments = Buffer.concat([f.text('part', { fin: false }), f.continuation('')]);
  assert.deepEqual(read('framemask:message', true, [fragments], { onPart: see }), [], 'an empty part');
  assert.deepEqual(seen, ['part', '']);
});

testDecoders('onFrame may transfer the payload that it gets: only that of a control frame is lost', ({ f, record }) => {
  const shown = [];
  const onFrame = (_first, bytes, start, end) => {
    shown.push(bytes.latin1Slice(start, end));
    transfer(bytes);
  };
  const fragments = [f.text('hello', { fin: false }), f.continuation('world')];
  forEachCase([[f.text('hello')], [f.binary('hello')], fragments], (frames) => {
    const { decoder, events } = record({ frames: true, onFrame });
    for (const byte of Buffer.concat(frames)) decoder.write(Buffer.of(byte));
    assert.deepEqual([shown.splice(0), events], [['hello', 'world'].slice(0, frames.length), []]);
  });
  const { decoder, events } = record({ frames: true, onFrame });
  for (const byte of f.ping('hello')) decoder.write(Buffer.of(byte));
  assert.deepEqual([shown, events], [['hello'], [LOST]]);
});

testDecoders('text that onFrame has seen is not gathered in memory that serves others', ({ Decoder, role, f }) => {
  const shown = new Set();
  const onFrame = (_first, memory) => shown.add(memory.buffer);
  const bytes = f.text('a'.repeat(60_000));
  for (let i = 0; i < 3; i++) {
    const decoder = new Decoder({ role, onFrame });
    for (let at = 0; at < bytes.length; at += 20_000) decoder.write(fresh(bytes.subarray(at, at + 20_000)));
  }
  assert.equal(shown.size, 3);
});

t.test('the memory of a chunk that a sink keeps holds no bytes of another connection', (t) => {
  const sinkOf = (chunks) => ({ writable: true, writableLength: 0, write: (chunk) => chunks.push(chunk) > 0 });
  // The second encoder uses more than half of a slab of 4 or 64 KiB, and gives it away.
  for (const length of [1200, 16_000]) {
    const first = new Encoder({ role: 'server', recycle: true });
    for (let i = 0; i < 3; i++) first.binary(Buffer.alloc(length, 'S'));
    first.flush(sinkOf([]));
    const second = new Encoder({ role: 'server' });
    for (let i = 0; i < 3; i++) second.binary(Buffer.alloc(length - 100, 'b'));
    const chunks = [];
    second.flush(sinkOf(chunks));
    t.ok(chunks.length > 0);
    for (const { buffer } of chunks) t.notOk(Buffer.from(buffer).includes('S'), `${buffer.byteLength} bytes`);
  }
  t.end();
});

testCases('take and sinks get memory of their connection alone', [true, false], (recycle) => {
  const sinkOf = (writableLength) => ({
    writableLength,
    write(bytes) {
      transfer(bytes);
      return true;
    }
  });
  for (const role of ROLES) {
    const own = new Encoder({ role, recycle });
    const other = new Encoder({ role, recycle });
    const texts = Array.from({ length: 20 }, (_, i) => `text ${i} of another connection`);
    for (const [i, text] of texts.entries()) {
      other.text(text);
      own.binary(Buffer.alloc(100 * i));
      for (const bytes of own.take()) transfer(bytes);
      own.binary(Buffer.alloc(1000 * i));
      own.flush(sinkOf(0));
      own.ping('after');
      own.flush(sinkOf(7));
    }
    assertSent(other, ...texts.map((text) => frame(TEXT, text)));
    assert.doesNotThrow(() => own.text('goes on'));
  }
});

testCases('frames that wait in transferred memory are lost, and no others', ROLES, (role) => {
  const sends = {
    take: (encoder) => encoder.take(),
    flush: (encoder) => encoder.flush({ write: () => assert.fail('sent') })
  };
  forEachCase(sends, (send) => {
    const own = new Encoder({ role });
    const other = new Encoder({ role });
    own.text('first');
    const [first] = own.take();
    own.text('lost');
    other.text('of another connection');
    transfer(first);
    own.text('after the lost frame');
    assert.throws(() => send(own), TypeError);
    assert.equal(own.pending, 0, 'pending');
    for (const text of ['goes on', 'and on']) {
      own.text(text);
      assertSent(own, frame(TEXT, text));
    }
    assertSent(other, frame(TEXT, 'of another connection'));
  });
});

testCases('the frames after a payload that is gone are not sent as its bytes', [true, false], (recycle) => {
  // Each returns the memory that waits to be sent.
  const adds = {
    data(encoder, data) {
      encoder.binary(data);
      return data;
    },
    pieces(encoder, data) {
      encoder.addFramed([frame(BINARY, data).subarray(0, 4), data]);
      return data;
    },
    prepared(encoder, data) {
      const message = prepare(data);
      encoder.addPrepared(message);
      const [memory] = encoder.take();
      encoder.addPrepared(message);
      return memory;
    }
  };
  const sends = {
    take: (encoder) => encoder.take(),
    flush: (encoder) => encoder.flush({ writableLength: 0, write: () => assert.fail('sent') })
  };
  forEachCase(adds, (add) => {
    forEachCase(sends, (send) => {
      const encoder = new Encoder({ role: 'server', recycle });
      const memory = add(encoder, fresh(Buffer.alloc(20_000)));
      encoder.text('after');
      transfer(memory);
      assert.throws(() => send(encoder), { code: 'ERR_INVALID_STATE', message: /transferred/ });
      encoder.text('goes on');
      assertSent(encoder, frame(TEXT, 'goes on'));
    });
  });
});

testCases('a client masks no memory of the program', MEMORIES, (make) => {
  const { client } = agree({ threadPoolFrom: Infinity });
  const sends = {
    binary: (encoder, data) => encoder.binary(data),
    text: (encoder, data) => encoder.text(data),
    fragments(encoder, data) {
      encoder.binary(data, { fin: false });
      encoder.continuation(data);
    }
  };
  const sendsShort = {
    ping: (encoder, data) => encoder.ping(data),
    pong: (encoder, data) => encoder.pong(data),
    close: (encoder, data) => encoder.close(1000, data)
  };
  for (const { backend } of createDecoders()) {
    const EncoderOver = encoderOver(backend);
    for (const options of [{}, { recycle: true }, { deflate: client }]) {
      forEachCase([8, 104, 20_000, 70_000], (size) => {
        forEachCase({ ...sends, ...(size < 124 ? sendsShort : {}) }, (send) => {
          const { data, seen } = make(size);
          seen.fill(65);
          const encoder = new EncoderOver({ role: 'client', ...options });
          send(encoder, data);
          encoder.take();
          assertBytes(seen, Buffer.alloc(size, 65));
          encoder.stop();
        });
      });
    }
  }
});

t.test('detached data is refused by both roles, with a code', async () => {
  forEachCase(ROLES, (role) => {
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
  withSubscriber(name, subscriber, work);
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

testCases('a subscriber sends on another connection', [FRAMES, MESSAGES], (name) => {
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
      assertSent(observed, bytes, bytes, bytes);
      assertSent(dashboard, ...records);
      assert.equal(sent, bytes[0] === 0x89 && name === MESSAGES ? 0 : 3);
    });
  });
});

testCases('a subscriber uses the encoder of its record', SENDS, ({ send, bytes }) => {
  const encoder = new Encoder({ role: 'server' });
  const sendTraced = (act) => tracing(FRAMES, act, () => send(encoder));
  let depth = 0;
  sendTraced(() => depth++ === 0 && encoder.ping('inside'));
  assertSent(encoder, bytes, frame(PING, 'inside'));

  const taken = [];
  sendTraced(() => taken.push(...encoder.take()));
  assertBytes(Buffer.concat(taken), bytes, 'taken by the subscriber');
  assert.equal(encoder.pending, 0);

  sendTraced(() => encoder.close(1000));
  assert.equal(encoder.closed, true);
  send(encoder);
  assertSent(encoder, bytes, frame(CLOSE, closePayload(1000)));
});

t.test('records of messages are whole, whoever subscribes, sends and unsubscribes in the middle', async (t) => {
  const encoder = new Encoder({ role: 'server' });
  const recordsOf = (work) => {
    const records = [];
    tracing(MESSAGES, (record) => records.push(record), work);
    return records;
  };
  encoder.text('ab', { fin: false });
  encoder.ping('not counted');
  encoder.continuation('cde', { fin: false });
  const one = recordsOf(() => encoder.continuation('f'));
  t.match(one, [{ length: 6, fragments: 3, sequence: 4, binary: false }]);

  let depth = 0;
  const sendInside = ({ opcode }) => {
    if (opcode !== CONTINUATION || depth++ > 0) return;
    encoder.binary(Buffer.alloc(9), { fin: false });
    encoder.continuation(Buffer.alloc(1));
  };
  const two = recordsOf(() =>
    tracing(FRAMES, sendInside, () => {
      encoder.text('ab', { fin: false });
      encoder.continuation('c');
    })
  );
  t.match(two, [
    { length: 10, fragments: 2, sequence: 8, binary: true },
    { length: 3, fragments: 2, sequence: 6, binary: false }
  ]);
});

testDecoders('a decoder that a subscriber stops delivers nothing, one that it pauses holds all', ({ f, record }) => {
  const frames = [f.text('one'), f.ping('p'), f.text('tw', { fin: false }), f.continuation('o'), f.binary('three')];
  const check = (chunks, name, options) => {
    const write = (decoder, afterEach = () => {}) => {
      for (const chunk of chunks) {
        decoder.write(Buffer.from(chunk));
        afterEach();
      }
    };
    const all = record(options);
    write(all.decoder);

    const { decoder, events } = record(options);
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
    tracing(name, hold, () => write(decoder, resume));
    assert.deepEqual(events, all.events, 'paused at each record');

    for (let at = 0; at < (name === FRAMES ? 5 : 3); at++) {
      const { decoder: stopped, events: few } = record(options);
      let records = 0;
      let length = null;
      const stop = () => {
        if (records++ !== at) return;
        stopped.stop();
        length = few.length;
      };
      tracing(name, stop, () => write(stopped));
      assert.equal(few.length, length, `stopped at record ${at}`);
    }
  };
  forEachCase(chunkings(frames), (chunks) => {
    forEachCase([FRAMES, MESSAGES], (name) => {
      forEachCase([{ frames: false }, { frames: true }], (options) => check(chunks, name, options));
    });
  });
});

testDecoders('a decoder that a subscriber writes to or resumes stays in order', ({ f, record }) => {
  const { decoder, events } = record();
  let records = 0;
  const act = () => {
    decoder.resume();
    if (records++ === 0) decoder.write(Buffer.from(f.text('later')));
  };
  tracing(FRAMES, act, () => decoder.write(Buffer.concat([f.text('first'), f.text('second')])));
  assert.deepEqual(events, ['first', 'second', 'later'].map(string));
});

testDecoders('a subscriber that decodes with another decoder', ({ f, record }) => {
  const inner = record();
  const outer = record({ trace: { id: 'outer' } });
  const act = ({ connection }) => {
    if (connection === 'outer') inner.decoder.write(Buffer.concat([f.text('in'), f.text('side')]));
  };
  tracing(FRAMES, act, () => outer.decoder.write(Buffer.concat(['one', 'two', 'three'].map((text) => f.text(text)))));
  assert.deepEqual(outer.events, ['one', 'two', 'three'].map(string));
  assert.deepEqual(inner.events, ['in', 'side', 'in', 'side', 'in', 'side'].map(string));
});

// A sink may deliver at once, and what it calls may send and flush on the same connection.

testCases('frames that are flushed during a write follow those being written', [true, false], (recycle) => {
  const large = Buffer.alloc(40_000, 7);
  const encoder = new Encoder({ role: 'server', recycle });
  const written = [];
  const sink = {
    writableLength: 0,
    write(bytes) {
      written.push(Buffer.from(bytes));
      if (written.length > 1) return true;
      encoder.ping('inside');
      assert.equal(encoder.flush(sink), true);
      encoder.text('and more');
      return true;
    }
  };
  encoder.binary(large);
  encoder.text('after');
  encoder.flush(sink);
  const expected = [frame(BINARY, large), frame(TEXT, 'after'), frame(PING, 'inside'), frame(TEXT, 'and more')];
  assertBytes(Buffer.concat(written), Buffer.concat(expected));
  assert.equal(encoder.pending, 0);
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

t.test('close() without a code arrives as 1005, in both roles', async (t) => {
  refuseReversedRanges(t);
  forEachDecoder(({ backend, decode, role }) => {
    const EncoderOver = encoderOver(backend);
    const encoder = new EncoderOver({ role: role === 'server' ? 'client' : 'server' });
    encoder.close();
    const closed = [];
    decode(encoder.take(), { onClose: (...args) => closed.push(args) });
    assert.deepEqual(closed, Array(2).fill([1005, '', Buffer.alloc(0)]), 'in one chunk and byte by byte');
  });
});

// 5.4: a continuation frame that continues nothing, and a message inside another, are refused as
// such (1002), however long they say that they are, in one piece and byte by byte.

testDecoders('5.4: the rule of continuation comes before the limits of a length', ({ check, f }) => {
  forEachCase([0n, 125n, 65_536n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 62n], (length) => {
    const options = { maxPayload: 1000 };
    const continuation = f.continuation('', { length, fin: false });
    check([continuation], [['error', 'CONTINUATION', 1002]], 'events', options);
    const inside = [f.text('a', { fin: false }), f.binary('', { length })];
    check(inside, [['error', 'INTERLEAVED', 1002]], 'events', options);
    if (length > 1000n) {
      check([f.binary('', { length })], [['error', 'MESSAGE_TOO_BIG', 1009]], 'events', options);
      const continued = [f.text('a', { fin: false }), continuation];
      check(continued, [['error', 'MESSAGE_TOO_BIG', 1009]], 'events', options);
    }
  });
});

// What waits in line. Taking each off an array would move all others: 200,000 took 37 s.

t.test('chunks that are held by pause are delivered in order, without moving each other', async (t) => {
  const texts = Array.from({ length: 1000 }, (_, i) => '.'.repeat(i % 100));
  for (const { name, f, record } of DECODER_CASES) {
    const { decoder, events } = record();
    decoder.pause();
    for (const text of texts) decoder.write(f.text(text));
    const moved = await countMoved(() => decoder.resume());
    t.same(events, texts.map(string), name);
    t.ok(moved <= texts.length, `${name}: ${moved} moves`);
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
        t.equal(begun.length, 10, 'at once');
      })
  );
  t.ok(moved <= 2 * COUNT, `${moved} moves`);
  t.same(begun, [...Array(COUNT).keys()]);
});

t.test('jobs that end at once, as of closed connections, do not nest in each other', async (t) => {
  const COUNT = 20_000;
  let ended = 0;
  for (let i = 0; i < MAX_JOBS; i++) runInPool(setImmediate);
  await new Promise((resolve) => {
    for (let i = 0; i < COUNT; i++) {
      runInPool((done) => {
        done();
        if (++ended === COUNT) resolve();
      });
    }
    t.equal(ended, 0, 'they wait');
  });
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
  forEachCase(calls, (call) => {
    assert.throws(call, ({ message }) => message.length < 200);
  });
});

/** In a function of its own: one that waits may keep what it has read. */
function breakRule(bytes) {
  const context = {};
  new Decoder({ role: 'server', context, onMessage() {}, onError() {} }).write(Buffer.from(bytes));
  return new WeakRef(context);
}

t.test('nothing keeps a decoder, or its context, whose peer has broken a rule', async (t) => {
  for (const [rule, bytes] of Object.entries({
    'a reserved bit': [0xff, 0xff],
    'no mask': [0x81, 0x01, 0x61],
    'the highest bit of a length': [0x82, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0],
    'text that is not UTF-8': [0x81, 0x81, 0, 0, 0, 0, 0xff]
  })) {
    const held = breakRule(bytes);
    await until(() => {
      collectGarbage();
      return held.deref() === undefined;
    });
    t.pass(rule);
  }
});
