'use strict';

const assert = require('node:assert/strict');
const { constants, deflateRawSync, inflateRaw } = require('node:zlib');
const t = require('tap');
const { forEachCase } = require('../../support/cases');
const { DECODER_CASES, ROLES, createDecoders, everyByte, forEachDecoder } = require('../../support/decoders');
const { framesFor } = require('../../support/frames');
const { createRandom, seed } = require('../../support/random');
const { assertEvents, binary, eventsOf, record, string } = require('../../support/recorder');
const { TRIES_ALL, titleOf } = require('../../support/sample');
const { createStreamMaker, randomCuts } = require('../../support/streams');
const { runSource } = require('../../support/websockets');

// Which handler is called for what, with which arguments, in which order.

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

t.test('onFrame is called for a frame with a bad payload, not for one with a bad header or in a wrong place', (t) => {
  forEachDecoder(({ decode, f }) => {
    const error = (code, closeCode) => ['error', code, closeCode];
    const cases = [
      { name: 'a reserved opcode', bad: f.frame(3, 'a'), events: [error('OPCODE', 1002)] },
      { name: 'a wrong place', bad: f.continuation('a'), events: [error('CONTINUATION', 1002)] },
      { name: 'too big', bad: f.text('abc'), events: [error('MESSAGE_TOO_BIG', 1009)] },
      { name: 'bad text', bad: f.text(Buffer.of(0xff)), events: [['frame', 0x81, '\xff'], error('UTF8', 1007)] },
      { name: 'a bad code', bad: f.close(1), events: [['frame', 0x88, '\x00\x01'], error('CLOSE_CODE', 1002)] }
    ];
    const delivered = [];
    forEachCase(cases, ({ bad, events }) => {
      for (const onMessage of [(data) => delivered.push(data), undefined]) {
        assert.deepEqual(decode([bad, f.text('x')], { frames: true, maxPayload: 2, onMessage }), events);
      }
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

// The matrix of the flow-control tests: each backend, role, stream, set of handlers, and way to cut
// the stream.

const SILENT = { onMessage: undefined, onPing: undefined, onPong: undefined, onClose: undefined };

/**
 * Sets of handlers: for messages, for messages and frames, for frames alone, and with text as
 * Buffers.
 */
const VARIANTS = [{}, { frames: true }, { frames: true, ...SILENT }, { text: 'buffer' }];

/**
 * A stream that ends with a Close frame, with each kind of event, and one that ends with an error.
 */
const STREAMS = {
  close: (f) => [
    f.text('Hello'),
    f.text('again'),
    f.binary('b'),
    f.ping('p'),
    f.text('é'),
    f.text('one ', { fin: false }),
    f.pong(''),
    f.continuation('two ', { fin: false }),
    f.continuation('three'),
    f.binary('x'.repeat(300)),
    f.text(''),
    f.text('y'.repeat(2000)),
    f.ping(''),
    f.close(1000, 'bye'),
    f.text('late')
  ],
  error: (f) => [f.text('a'), f.text('b', { fin: false }), f.ping('c'), f.text('d'), f.text('late')]
};

/** @returns {Object<string, Buffer[]>} ways to cut a stream into chunks */
function chunkings(frames) {
  const bytes = Buffer.concat(frames);
  const pieces = (size) => {
    const chunks = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
    return chunks;
  };
  return {
    'one chunk': [bytes],
    'a chunk for each frame': frames,
    'a chunk for each byte': pieces(1),
    'chunks of 7 bytes': pieces(7),
    'chunks of 100 bytes': pieces(100)
  };
}

/**
 * @typedef {object} StreamCase
 * @property {string} name
 * @property {Buffer[]} chunks of the stream; a decoder is to get copies, because it unmasks in
 *   place
 * @property {Array[]} expected the events of the stream
 * @property {(options?: object) => ReturnType<typeof import('../../support/recorder').record>} record
 */

/** @returns {Generator<StreamCase>} */
function* streamCases() {
  for (const { name, f, decodeCut, record } of DECODER_CASES) {
    for (const [ending, make] of Object.entries(STREAMS)) {
      const frames = make(f);
      for (const variant of VARIANTS) {
        const expected = decodeCut(Buffer.concat(frames), [], variant);
        for (const [how, chunks] of Object.entries(chunkings(frames))) {
          const handlers = `handlers {${Object.keys(variant)}}`;
          yield {
            name: `${name}, stream with ${ending}, ${handlers}, ${how}`,
            chunks,
            expected,
            record: (options) => record({ ...variant, ...options })
          };
        }
      }
    }
  }
}

/** @param {(one: StreamCase) => void} check */
function forEachStream(check) {
  forEachCase(streamCases(), check);
}

/**
 * How many events there are when the event at `k` has thrown. If it is the call of `onFrame`, the
 * message of that frame follows still: nothing is lost.
 */
function endOfFrame(expected, k) {
  const next = expected[k + 1];
  const together = expected[k][0] === 'frame' && next !== undefined && next[0] !== 'frame' && next[0] !== 'error';
  return together ? k + 2 : k + 1;
}

/** Whether nothing follows an event. */
function isEnd([type]) {
  return type === 'close' || type === 'error';
}

/** 600 frames in a chunk, and one that begins behind them and ends in a chunk of its own. */
function manyFrames(f) {
  const frames = Array.from({ length: 600 }, (_, i) => (i % 11 === 0 ? f.ping(String(i)) : f.text(String(i))));
  const bytes = Buffer.concat([...frames, f.binary('across chunks')]);
  return [bytes.subarray(0, bytes.length - 5), bytes.subarray(bytes.length - 5)];
}

/**
 * @returns {number[]} the events of `manyFrames` that a test tries one by one. A sample has those
 * about the ends of the frame tables, of 256 frames each, and every fifth.
 */
function someOf(events) {
  const isTried = (k) => TRIES_ALL || (k + 2) % 256 < 5 || k > 597 || (k + seed) % 5 === 0;
  return [...events.keys()].filter(isTried);
}

// A decoder may be paused, resumed or stopped at any time: nothing is lost, delivered twice or out
// of order.

const fresh = (chunk) => Buffer.from(chunk);

t.test('pause in a handler holds what follows until resume', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    for (let k = 0; k < expected.length; k++) {
      const after = (_event, decoder) => {
        if (events.length === k + 1) decoder.pause();
      };
      const { decoder, events, intact } = record({ after });
      const results = chunks.map((chunk) => decoder.write(fresh(chunk)));
      assertEvents(events, expected.slice(0, k + 1), `paused at event ${k}`);
      if (isEnd(expected[k])) {
        assert.ok(!decoder.paused && decoder.closed, `at event ${k}: a decoder that has ended is not paused`);
      } else {
        assert.ok(decoder.paused && !decoder.closed, `at event ${k}: paused`);
        assert.equal(results.at(-1), false, `paused at event ${k}: write returns false`);
      }
      decoder.resume();
      assert.ok(!decoder.paused, `paused at event ${k}: resumed`);
      assertEvents(events, expected, `resumed after event ${k}`);
      assert.ok(intact(), `paused at event ${k}: a Buffer has changed after it was delivered`);
    }
  });
  t.end();
});

t.test('pause and resume in one handler change nothing, and deliver nothing inside it', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    const after = (_event, decoder) => {
      const before = events.length;
      decoder.resume();
      decoder.pause();
      decoder.pause();
      decoder.resume();
      decoder.write(Buffer.alloc(0));
      assert.equal(events.length, before, 'events inside a handler');
    };
    const { decoder, events } = record({ after });
    for (const chunk of chunks) assert.ok(decoder.write(fresh(chunk)), 'write returns true');
    assertEvents(events, expected);
  });
  t.end();
});

t.test('stop in a handler drops all that follows', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    for (let k = 0; k < expected.length; k++) {
      const after = (_event, decoder) => {
        if (events.length === k + 1) decoder.stop();
      };
      const { decoder, events } = record({ after });
      for (const chunk of chunks) assert.ok(decoder.write(fresh(chunk)), `stopped at event ${k}: write returns true`);
      decoder.resume();
      assert.ok(decoder.closed, `stopped at event ${k}: closed`);
      assertEvents(events, expected.slice(0, k + 1), `stopped at event ${k}`);
    }
  });
  t.end();
});

t.test(titleOf('pause, stop or an error at any of 600 frames of one chunk', `every fifth, seed ${seed}`), (t) => {
  forEachDecoder(({ decodeCut, f, record }) => {
    const chunks = manyFrames(f);
    const expected = decodeCut(Buffer.concat(chunks), []);
    assert.equal(expected.length, 601, 'events in one chunk');
    for (const k of someOf(expected)) {
      const run = (act) => {
        let caught = 0;
        const after = (_event, decoder) => {
          if (events.length === k + 1) act(decoder);
        };
        const { decoder, events } = record({ after });
        for (const chunk of chunks) {
          try {
            decoder.write(fresh(chunk));
          } catch {
            assertEvents(events, expected.slice(0, k + 1), `thrown at event ${k}`);
            caught++;
          }
        }
        return { decoder, events, caught };
      };
      const paused = run((decoder) => decoder.pause());
      assertEvents(paused.events, expected.slice(0, k + 1), `paused at event ${k}`);
      paused.decoder.resume();
      assertEvents(paused.events, expected, `resumed after event ${k}`);
      const stopped = run((decoder) => decoder.stop());
      assertEvents(stopped.events, expected.slice(0, k + 1), `stopped at event ${k}`);
      const thrown = run(() => {
        throw new Error('from a handler');
      });
      assert.equal(thrown.caught, 1, `thrown at event ${k}: how often write threw`);
      thrown.decoder.resume();
      assertEvents(thrown.events, expected, `thrown at event ${k}, then resumed`);
    }
  });
  t.end();
});

t.test('pause outside of handlers holds all chunks until resume', (t) => {
  forEachDecoder(({ f, record }) => {
    const { decoder, events } = record();
    decoder.resume();
    assert.equal(decoder.paused, false, 'resume without pause');
    assert.equal(decoder.closed, false, 'resume without pause');
    decoder.pause();
    decoder.pause();
    assert.equal(decoder.paused, true, 'paused');
    const results = [f.text('a'), Buffer.alloc(0), f.text('b')].map((chunk) => decoder.write(chunk));
    assert.deepEqual(results, [false, false, false], 'what write returns while paused');
    assert.deepEqual(events, [], 'events while paused');
    decoder.resume();
    assert.equal(decoder.paused, false, 'paused after resume');
    assert.deepEqual(events, [string('a'), string('b')], 'events after resume');
    assert.equal(decoder.write(f.text('c')), true, 'what write returns after resume');
    assert.deepEqual(events.at(-1), string('c'), 'an event after resume');

    const bytes = Buffer.concat([f.text('d', { fin: false }), f.continuation('e')]);
    for (let i = 0; i < bytes.length; i++) {
      decoder.write(fresh(bytes.subarray(i, i + 1)));
      decoder.pause();
      decoder.resume();
    }
    assert.deepEqual(events.slice(3), [string('de')], 'inside a header, a payload and a message');
  });
  t.end();
});

t.test('stop outside of handlers drops what is held, and ends the decoder for good', (t) => {
  forEachDecoder(({ f, record }) => {
    const { decoder, events } = record();
    decoder.pause();
    decoder.write(f.text('held'));
    decoder.stop();
    decoder.stop();
    assert.equal(decoder.closed, true, 'closed');
    assert.equal(decoder.paused, false, 'paused after stop');
    decoder.pause();
    assert.equal(decoder.paused, false, 'a decoder that has ended cannot be paused');
    decoder.resume();
    assert.equal(decoder.write(f.text('late')), true, 'what write returns after stop');
    assert.deepEqual(events, [], 'events after stop');

    const parts = {
      'a header': f.text('abc').subarray(0, 3),
      'a payload': f.text('abc').subarray(0, f.text('').length + 2),
      'a message': f.text('abc', { fin: false })
    };
    for (const [where, part] of Object.entries(parts)) {
      const other = record();
      other.decoder.write(fresh(part));
      other.decoder.stop();
      other.decoder.write(f.text('late'));
      assert.deepEqual(other.events, [], `stopped inside ${where}`);
    }
  });
  t.end();
});

// A handler that throws: write or resume throws the error, and the decoder goes on with the next
// frame when it is resumed.

t.test('an error from a handler leaves the rest for resume', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    for (let k = 0; k < expected.length; k++) {
      const thrown = new Error('from a handler');
      const after = () => {
        if (events.length === k + 1) throw thrown;
      };
      const { decoder, events } = record({ after });
      let caught = 0;
      for (const chunk of chunks) {
        try {
          decoder.write(fresh(chunk));
        } catch (error) {
          if (error !== thrown) throw error;
          assertEvents(events, expected.slice(0, endOfFrame(expected, k)), `thrown at event ${k}`);
          caught++;
        }
      }
      assert.equal(caught, 1, `thrown at event ${k}: how often write threw`);
      decoder.resume();
      assertEvents(events, expected, `thrown at event ${k}, then resumed`);
    }
  });
  t.end();
});

t.test('each of the errors from all handlers is thrown once', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    const after = () => {
      throw new Error(`event ${events.length}`);
    };
    const { decoder, events } = record({ after });
    const attempt = (work) => {
      const before = events.length;
      try {
        work();
      } catch (error) {
        // If onFrame and onMessage of one frame throw, this is the error of onMessage.
        if (error.message !== `event ${events.length}`) throw error;
        return true;
      }
      assert.equal(events.length, before, 'events whose errors were lost');
      return false;
    };
    for (const chunk of chunks) attempt(() => decoder.write(fresh(chunk)));
    while (attempt(() => decoder.resume()));
    assertEvents(events, expected);
  });
  t.end();
});

t.test('an error from onError or onClose leaves the decoder closed, and comes once', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    const endings = { onError: f.frame(3), onClose: f.close(1000) };
    for (const [name, bytes] of Object.entries(endings)) {
      for (const before of [[], [f.text('a'), f.text('b')]]) {
        const what = `${name}, after ${before.length} messages`;
        let calls = 0;
        const decoder = new Decoder({
          role,
          [name]() {
            calls++;
            throw new Error(name);
          }
        });
        assert.throws(() => decoder.write(Buffer.concat([...before, bytes, f.text('late')])), { message: name }, what);
        assert.equal(decoder.closed, true, what);
        assert.equal(decoder.write(f.text('late')), true, what);
        decoder.resume();
        assert.equal(calls, 1, what);
      }
    }
  });
  t.end();
});

// Handlers that write to their own decoder, feed other decoders, or give memory away.

const f = framesFor('server');

t.test('what a handler writes is delivered after the chunk at hand', (t) => {
  forEachDecoder(({ decodeCut, f, record }) => {
    const frames = STREAMS.close(f).slice(0, -2);
    const extra = [f.ping('extra'), f.text('of many'), f.text('frames')];
    for (const variant of VARIANTS) {
      const first = decodeCut(Buffer.concat(frames), [], variant);
      const second = decodeCut(Buffer.concat(extra), [], variant);
      for (let k = 0; k < first.length; k++) {
        const what = `handlers {${Object.keys(variant)}}, written at event ${k}`;
        const after = (_event, decoder) => {
          if (events.length !== k + 1) return;
          // Two pieces: the second is written while the first waits.
          const bytes = Buffer.concat(extra);
          assert.equal(decoder.write(bytes.subarray(0, 5)), true, what);
          decoder.write(bytes.subarray(5));
          assert.equal(events.length, k + 1, `${what}: delivered inside the handler`);
        };
        const { decoder, events } = record({ ...variant, after });
        decoder.write(Buffer.concat(frames));
        assert.deepEqual(events, [...first, ...second], what);
      }
    }
  });
  t.end();
});

t.test('a handler may write for each message that it gets: no recursion', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    let left = 20000;
    const decoder = new Decoder({
      role,
      onMessage() {
        if (left-- > 0) decoder.write(f.text('more'));
      }
    });
    decoder.write(f.text('more'));
    assert.equal(left, -1);
  });
  t.end();
});

// Each level is inside a chunk of many frames, so it needs a frame table of its own.
t.test('a handler may feed other decoders, whose handlers feed others', (t) => {
  const texts = Array.from({ length: 12 }, (_, i) => `text ${i}`);
  forEachCase(createDecoders(), ({ Decoder }) => {
    let decoders = 0;
    const feed = (depth) => {
      // Frames of another size on each level, so that a frame table of another level would be a
      // wrong one.
      const own = texts.map((text) => `${text}${'.'.repeat(depth)}`);
      const seen = [];
      const decoder = new Decoder({
        role: 'server',
        onMessage(text) {
          seen.push(text);
          if (depth > 0) feed(depth - 1);
        }
      });
      decoder.write(Buffer.concat(own.map((text) => f.text(text))));
      decoders++;
      assert.deepEqual(seen, own, `level ${depth}`);
    };
    feed(3);
    assert.equal(decoders, 1 + 12 + 144 + 1728, 'how many decoders there were');
  });
  t.end();
});

t.test('a decoder that throws inside the handler of another', (t) => {
  const texts = Array.from({ length: 12 }, (_, i) => `text ${i}`);
  const chunk = Buffer.concat(texts.map((text) => f.text(text)));
  forEachCase(createDecoders(), ({ Decoder }) => {
    const { decoder: inner, events } = record(Decoder, {
      role: 'server',
      after: ([, text]) => {
        if (text === 'text 3') throw new Error('from the inner one');
        if (text === 'text 7') inner.pause();
      }
    });
    const outer = [];
    const decoder = new Decoder({
      role: 'server',
      onMessage(text) {
        outer.push(text);
        if (text === 'text 2') inner.write(fresh(chunk));
        if (text === 'text 5' || text === 'text 9') inner.resume();
      }
    });
    assert.throws(() => decoder.write(fresh(chunk)), { message: 'from the inner one' });
    assert.equal(events.length, 4, 'events of the inner one when it has thrown');
    assert.equal(outer.length, 3, 'events of the outer one when the inner one has thrown');
    decoder.resume();
    assert.deepEqual(outer, texts, 'the outer one, resumed');
    assert.deepEqual(
      events.map(([, text]) => text),
      texts,
      'the inner one, resumed by the outer one'
    );
  });
  t.end();
});

t.test('two decoders that feed each other: each finishes its chunk first', (t) => {
  forEachCase(createDecoders(), ({ Decoder }) => {
    const log = [];
    const pair = ['a', 'b'].map(
      (own, i) =>
        new Decoder({
          role: 'server',
          onMessage(text) {
            log.push(`${own}${text}`);
            if (Number(text) > 0) pair[1 - i].write(Buffer.concat([f.text(String(text - 1)), f.text('0')]));
          }
        })
    );
    pair[0].write(Buffer.concat([f.text('3'), f.text('0')]));
    assert.deepEqual(log, ['a3', 'b2', 'b0', 'a0', 'a1', 'b0', 'b0', 'a0']);
  });
  t.end();
});

t.test('a paused decoder keeps its frames while other decoders work', (t) => {
  const texts = Array.from({ length: 300 }, (_, i) => `text ${i}`);
  const chunk = Buffer.concat(texts.map((text) => f.text(text)));
  const others = Buffer.concat(Array.from({ length: 300 }, (_, i) => f.binary('x'.repeat(1 + (i % 100)))));
  forEachCase(createDecoders(), ({ Decoder }) => {
    for (const at of [0, 1, 100, 254, 255, 256, 298, 299]) {
      const held = Array.from({ length: 3 }, () => {
        const after = (_event, decoder) => {
          if (events.length === at + 1) decoder.pause();
        };
        const { decoder, events } = record(Decoder, { role: 'server', after });
        decoder.write(fresh(chunk));
        return { decoder, events };
      });
      record(Decoder, { role: 'server' }).decoder.write(fresh(others));
      for (const { decoder, events } of held) {
        decoder.resume();
        assert.deepEqual(
          events.map(([, text]) => text),
          texts,
          `paused at event ${at}`
        );
      }
    }
  });
  t.end();
});

// The rest of such a chunk is lost. The next chunk is decoded.

const DECODERS = createDecoders();
const RUNS = 3000;

/** Calls `work`; returns whether it threw no error of a handler. */
function attempt(work) {
  try {
    work();
    return true;
  } catch (error) {
    if (error.message !== 'from a handler') throw error;
    return false;
  }
}

t.test(`handlers that pause, throw and feed others at random deliver the same (seed ${seed})`, (t) => {
  const random = createRandom(seed);
  const makeStream = createStreamMaker(random, { rsv1: true, longest: 3000 });
  const few = Buffer.concat(Array(9).fill(framesFor('client').text('for another decoder')));
  let calls = 0;

  function checkStream() {
    const role = ROLES[random(2)];
    const options = { role, rsv1: random(3) > 0, ...VARIANTS[random(VARIANTS.length)] };
    const bytes = makeStream(role);
    const cuts = [...randomCuts(random, bytes.length), bytes.length];
    const { Decoder } = DECODERS[random(DECODERS.length)];
    const other = new Decoder({ role: 'client', onMessage() {} });
    const after = (_event, decoder) => {
      calls++;
      switch (random(8)) {
        case 0:
          decoder.pause();
          break;
        case 1:
          throw new Error('from a handler');
        case 2:
          decoder.pause();
          decoder.resume();
          break;
        case 3:
          other.write(Buffer.from(few));
          break;
        case 4:
          decoder.pause();
          throw new Error('from a handler');
        default:
      }
    };
    // With the same cuts: they decide whether onFrame is called for bad text (see
    // chunk-boundaries.js).
    const expected = eventsOf(Decoder, options, bytes, cuts.slice(0, -1));
    const { decoder, events, intact } = record(Decoder, { ...options, after });
    let start = 0;
    for (const end of cuts) {
      const { paused } = decoder;
      const before = events.length;
      attempt(() => decoder.write(Buffer.from(bytes.subarray(start, end))));
      assert.ok(!paused || events.length === before, 'an event while paused');
      if (random(2) === 0) attempt(() => decoder.resume());
      start = end;
    }
    while (!attempt(() => decoder.resume()) || decoder.paused);
    assert.deepEqual(events, expected);
    assert.ok(intact(), 'a Buffer has changed after it was delivered');
  }

  for (let i = 0; i < RUNS; i++) {
    try {
      checkStream();
    } catch (error) {
      error.message = `FRAMEMASK_TEST_SEED=${seed}, stream ${i}: ${error.message}`;
      throw error;
    }
  }
  t.ok(calls > RUNS, `${calls} calls of handlers`);
  t.end();
});

// An extension that answers later, such as permessage-deflate: onMessage pauses the decoder and
// inflates, and the callback resumes it. Later messages wait.

/** What an inflater must add to a message (RFC 7692 section 7.2.2). */
const TAIL = Buffer.from('0000ffff', 'hex');

/** permessage-deflate without context takeover (RFC 7692 section 7.2.1). */
function deflate(text) {
  const bytes = deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH });
  return bytes.subarray(0, bytes.length - TAIL.length);
}

/**
 * A third of the messages is compressed, some of those in two fragments with a Ping frame between
 * them.
 */
function createStream(f) {
  const frames = [];
  const expected = [];
  for (let i = 0; i < 200; i++) {
    const text = `message ${i} `.repeat(1 + (i % 9));
    if (i % 3 === 1) {
      frames.push(f.text(text));
      expected.push(text);
    } else if (i % 3 === 2) {
      frames.push(f.ping(text.slice(0, 60)));
      expected.push(`ping ${text.slice(0, 60)}`);
    } else if (i % 2 === 0) {
      frames.push(f.text(deflate(text), { rsv: 0x40 }));
      expected.push(text);
    } else {
      const data = deflate(text);
      const half = data.length >> 1;
      frames.push(f.text(data.subarray(0, half), { rsv: 0x40, fin: false }));
      frames.push(f.ping(`during ${i}`), f.continuation(data.subarray(half)));
      expected.push(`ping during ${i}`, text);
    }
  }
  frames.push(f.close(1000));
  expected.push('close 1000');
  return { bytes: Buffer.concat(frames), expected };
}

/**
 * Decodes a stream in chunks of `size` bytes. A `heedful` caller writes nothing to a decoder that
 * is paused.
 *
 * @returns {Promise<string[]>} what was delivered
 */
function inflateStream({ Decoder, role }, bytes, size, heedful) {
  return new Promise((resolve, reject) => {
    const got = [];
    let at = 0;
    const decoder = new Decoder({
      role,
      rsv1: true,
      onMessage(data, _isBinary, rsv1) {
        if (!rsv1) {
          got.push(data);
          return;
        }
        this.pause();
        const before = got.length;
        inflateRaw(Buffer.concat([data, TAIL]), { finishFlush: constants.Z_SYNC_FLUSH }, (error, inflated) => {
          if (error) return reject(error);
          if (got.length !== before) return reject(new Error(`${got.at(-1)} was delivered before ${inflated}`));
          got.push(String(inflated));
          this.resume();
          writeOn();
        });
      },
      onPing: (payload) => got.push(`ping ${payload}`),
      onClose(code) {
        got.push(`close ${code}`);
        resolve(got);
      },
      onError: reject
    });

    function writeOn() {
      while (at < bytes.length && !(heedful && decoder.paused)) {
        decoder.write(Buffer.from(bytes.subarray(at, at + size)));
        at += size;
      }
    }
    writeOn();
  });
}

for (const one of DECODER_CASES) {
  t.test(`an extension that answers later: messages stay in order, ${one.name}`, async (t) => {
    const { bytes, expected } = createStream(one.f);
    for (const size of [bytes.length, 1000, 64, 1]) {
      for (const heedful of size === 1 ? [true] : [true, false]) {
        const got = await inflateStream(one, bytes, size, heedful);
        assert.deepEqual(got, expected, `chunks of ${size} bytes, ${heedful ? '' : 'not '}waiting while paused`);
      }
    }
    t.end();
  });
}
