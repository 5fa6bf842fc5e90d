'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachCase, testCases } = require('../../support/cases');
const { DECODER_CASES, ROLES, chunkings, createDecoders, testDecoders } = require('../../support/decoders');
const { framesFor } = require('../../support/frames');
const { createRandom, seed } = require('../../support/random');
const { assertEvents, binary, eventsOf, record, string, textBuffer } = require('../../support/recorder');
const { TRIES_ALL, titleOf } = require('../../support/sample');
const { createStreamMaker, randomCuts } = require('../../support/streams');
const { withSubscriber } = require('../../support/subscribers');
const { runSource } = require('../../support/websockets');

// Which handler is called for what, with which arguments, in which order; and handlers that pause,
// stop, throw, write to their own decoder or feed others: nothing is lost, delivered twice or out
// of order.

/** Streams: each frame, what onFrame gets of it, and the event that follows, if one does. */
const STREAMS = {
  'each kind of frame': (f) => [
    [f.text('Hello'), ['frame', 0x81, 'Hello'], string('Hello')],
    [f.text('again'), ['frame', 0x81, 'again'], string('again')],
    [f.text('é'), ['frame', 0x81, '\xc3\xa9'], string('é')],
    [f.binary('b'), ['frame', 0x82, 'b'], binary('b')],
    [f.ping('p'), ['frame', 0x89, 'p'], ['ping', 'p']],
    [f.text('f', { fin: false }), ['frame', 0x01, 'f']],
    [f.pong(''), ['frame', 0x8a, ''], ['pong', '']],
    [f.continuation('', { fin: false }), ['frame', 0x00, '']],
    [f.continuation('g'), ['frame', 0x80, 'g'], string('fg')],
    [f.binary('h', { fin: false }), ['frame', 0x02, 'h']],
    [f.continuation('i'.repeat(200)), ['frame', 0x80, 'i'.repeat(200)], binary(`h${'i'.repeat(200)}`)],
    [f.text('j'.repeat(300)), ['frame', 0x81, 'j'.repeat(300)], string('j'.repeat(300))],
    [f.text('', { fin: false }), ['frame', 0x01, '']],
    [f.continuation(''), ['frame', 0x80, ''], string('')],
    [f.ping(''), ['frame', 0x89, ''], ['ping', '']],
    [f.close(1000, 'k'), ['frame', 0x88, '\x03\xe8k'], ['close', 1000, 'k']],
    [f.text('late')]
  ],
  'an error': (f) => [
    [f.text('a'), ['frame', 0x81, 'a'], string('a')],
    [f.text('b', { fin: false }), ['frame', 0x01, 'b']],
    [f.ping('c'), ['frame', 0x89, 'c'], ['ping', 'c']],
    [f.text('d'), ['error', 'INTERLEAVED', 1002]],
    [f.text('late')]
  ]
};

const CONTROLS = { onPing: undefined, onPong: undefined, onClose: undefined };
const SILENT = { onMessage: undefined, ...CONTROLS };
const isOneOf =
  (...kinds) =>
  ([kind]) =>
    kinds.includes(kind);

const isNoMessage = ([kind]) => kind !== 'string' && kind !== 'binary';

/** Sets of handlers, and which events each sees. */
const VARIANTS = [
  { handlers: 'all but onFrame', options: {}, sees: ([kind]) => kind !== 'frame' },
  { handlers: 'onFrame before those of control frames', options: { frames: true }, sees: isNoMessage },
  { handlers: 'only onFrame', options: { frames: true, ...SILENT }, sees: isOneOf('frame', 'error') },
  { handlers: 'only onMessage', options: CONTROLS, sees: isOneOf('string', 'binary', 'error') },
  { handlers: 'only onError', options: SILENT, sees: isOneOf('error') },
  { handlers: 'text as Buffers', options: { text: 'buffer' }, sees: ([kind]) => kind !== 'frame', asBuffers: true }
];

/** The event of text that is delivered as a Buffer. */
const asBuffer = (event) => (event[0] === 'string' ? textBuffer(Buffer.from(event[1])) : event);

/**
 * @yields {object} each decoder, stream, set of handlers, and way to cut the stream: `chunks`, of
 *   which a decoder is to get copies, because it unmasks in place, the events, and `record`
 */
function* streamCases() {
  for (const { name, f, record } of DECODER_CASES) {
    for (const [ending, make] of Object.entries(STREAMS)) {
      const stream = make(f);
      const frames = stream.map(([frame]) => frame);
      for (const { handlers, options, sees, asBuffers = false } of VARIANTS) {
        const seen = stream.flatMap(([, ...events]) => events).filter(sees);
        const expected = asBuffers ? seen.map(asBuffer) : seen;
        for (const [how, chunks] of Object.entries(chunkings(frames))) {
          yield {
            name: `${name}, stream with ${ending}, ${handlers}, ${how}`,
            chunks,
            expected,
            record: (more) => record({ ...options, ...more })
          };
        }
      }
    }
  }
}

const fresh = (chunk) => Buffer.from(chunk);

testDecoders('onFrame gets frames with any payload, not with a bad header or place', ({ decode, f }) => {
  const error = (code, closeCode) => ['error', code, closeCode];
  const cases = [
    { name: 'a reserved opcode', bad: f.frame(3, 'a'), events: [error('OPCODE', 1002)] },
    { name: 'a wrong place', bad: f.continuation('a'), events: [error('CONTINUATION', 1002)] },
    { name: 'too big', bad: f.text('abc'), events: [error('MESSAGE_TOO_BIG', 1009)] },
    {
      name: 'bad text',
      bad: f.text(Buffer.of(0xff)),
      events: [
        ['frame', 0x81, '\xff'],
        ['frame', 0x81, 'x']
      ]
    },
    { name: 'a bad code', bad: f.close(1), events: [['frame', 0x88, '\x00\x01'], error('CLOSE_CODE', 1002)] }
  ];
  forEachCase(cases, ({ bad, events }) => {
    assert.deepEqual(decode([bad, f.text('x')], { frames: true, maxPayload: 2 }), events);
  });
});

const NAMES = ['onMessage', 'onPing', 'onPong', 'onClose', 'onError'];

testDecoders('`this` of each handler is the decoder, with its context', ({ Decoder, f, role }) => {
  const context = { name: 'connection' };
  forEachCase([NAMES, ['onFrame', ...NAMES.slice(1)], ['onFrame']], (names) => {
    const seen = new Set();
    const note = (name) =>
      function () {
        assert.equal(this, decoder, name);
        assert.equal(this.context, context, `${name}: the context`);
        seen.add(name);
      };
    const handlers = Object.fromEntries(names.map((name) => [name, note(name)]));
    let decoder = new Decoder({ role, context, onError() {}, ...handlers });
    decoder.write(Buffer.concat([f.text('a'), f.binary(''), f.text('é'), f.ping(''), f.pong(''), f.close(1000)]));
    decoder = new Decoder({ role, context, onError() {}, ...handlers });
    decoder.write(f.frame(3));
    assert.deepEqual([...seen].sort(), [...names].sort(), 'the handlers that were called');
  });
  assert.equal(new Decoder({ role }).context, undefined, 'no context by default');
});

testDecoders('framesRead is exact in each handler, in any chunks, with a subscriber and without', ({ f, record }) => {
  const many = Array.from({ length: 600 }, (_, i) => (i % 7 === 0 ? f.ping('') : f.text(String(i % 100))));
  const fragments = [f.text('a', { fin: false }), f.ping('b'), f.continuation('', { fin: false }), f.continuation('c')];
  const bytes = Buffer.concat([...many, ...fragments, f.binary('x'.repeat(100)), f.close(1000)]);
  const ofMany = many.map((_, i) => i + 1);
  const check = (size, frames) => {
    const seen = [];
    const { decoder } = record({ frames, after: (_event, { framesRead }) => seen.push(framesRead) });
    assert.equal(decoder.framesRead, 0);
    for (let at = 0; at < bytes.length; at += size) decoder.write(fresh(bytes.subarray(at, at + size)));
    assert.equal(decoder.framesRead, 606, 'after write');
    const perFrame = [...ofMany, 601, 602, 603, 604, 605, 606];
    if (frames) assert.deepEqual([...new Set(seen)], perFrame, `chunks of ${size}, frames`);
    else assert.deepEqual(seen, [...ofMany, 602, 604, 605, 606], `chunks of ${size}, messages`);
  };
  const checkAll = () => {
    for (const size of [1, 10, 1000, bytes.length]) for (const frames of [false, true]) check(size, frames);
  };
  checkAll();
  withSubscriber('framemask:frame', () => {}, checkAll);
});

const isNode = process.versions.bun === undefined && process.versions.deno === undefined;

t.test('the first Decoder without handlers is warned of, unless it is traced', { skip: !isNode }, async (t) => {
  const warnings = async (code) => {
    const start = `const { Decoder } = require('./index.js');
      const { channel } = require('node:diagnostics_channel');
      process.on('warning', ({ message }) => console.log(message));`;
    return (await runSource(start + code, ['--no-warnings'])).stdout;
  };
  const warning = 'A Decoder without handlers delivers nothing: give the constructor onMessage or others\n';
  const [assigned, some, traced] = await Promise.all([
    warnings("for (const role of ['client', 'server']) new Decoder({ role }).onMessage = console.log;"),
    warnings(`for (const name of ['onMessage', 'onPart', 'onFrame', 'onPing', 'onPong', 'onClose', 'onError'])
      new Decoder({ role: 'client', [name]() {} });`),
    warnings("channel('framemask:message').subscribe(() => {}); new Decoder({ role: 'client' });")
  ]);
  t.equal(assigned, warning, 'once');
  t.equal(some, '');
  t.equal(traced, '');
});

/**
 * How many events there are when the event at `k` has paused or thrown. If it is the call of
 * `onFrame` for a control frame, the frame's own handler follows still: nothing is lost.
 */
function endOfFrame(expected, k) {
  const isTogether = expected[k][0] === 'frame' && ['ping', 'pong', 'close'].includes(expected[k + 1]?.[0]);
  return isTogether ? k + 2 : k + 1;
}

/** Decodes a stream whose handler calls `act` at the event `k`. */
function runTo(k, { chunks, record }, act) {
  const { decoder, events, intact } = record({
    after(_event, decoder) {
      if (events.length === k + 1) act(decoder);
    }
  });
  const results = chunks.map((chunk) => decoder.write(fresh(chunk)));
  return { decoder, events, intact, results };
}

/** Checks a handler that pauses, stops or throws at the event `k` of a stream. */
function checkInterruptions(k, one) {
  const { chunks, expected, record } = one;
  const throughFrame = expected.slice(0, endOfFrame(expected, k));
  const [kind, firstByte] = throughFrame.at(-1);
  const isEnd = ['close', 'error'].includes(kind) || firstByte === 0x88;

  const paused = runTo(k, one, (decoder) => decoder.pause());
  assertEvents(paused.events, throughFrame, `paused at event ${k}`);
  assert.equal(paused.decoder.paused, !isEnd, `paused at event ${k}, unless it has ended`);
  assert.equal(paused.decoder.closed, isEnd, `paused at event ${k}: closed`);
  assert.equal(paused.results.at(-1), isEnd, `paused at event ${k}: what write returns`);
  paused.decoder.resume();
  assert.ok(!paused.decoder.paused, `paused at event ${k}: resumed`);
  assertEvents(paused.events, expected, `resumed after event ${k}`);
  assert.ok(paused.intact(), `paused at event ${k}: a Buffer has changed after it was delivered`);

  const stopped = runTo(k, one, (decoder) => decoder.stop());
  assert.ok(!stopped.results.includes(false), `stopped at event ${k}: write returns true`);
  stopped.decoder.resume();
  assert.ok(stopped.decoder.closed, `stopped at event ${k}: closed`);
  assertEvents(stopped.events, expected.slice(0, k + 1), `stopped at event ${k}`);

  const thrown = new Error('from a handler');
  let caught = 0;
  const { decoder, events } = record({
    after() {
      if (events.length === k + 1) throw thrown;
    }
  });
  for (const chunk of chunks) {
    try {
      decoder.write(fresh(chunk));
    } catch (error) {
      if (error !== thrown) throw error;
      assertEvents(events, throughFrame, `thrown at event ${k}`);
      if (isEnd) assert.equal(decoder.closed, true, `thrown at event ${k}: closed`);
      caught++;
    }
  }
  assert.equal(caught, 1, `thrown at event ${k}: how often write threw`);
  decoder.resume();
  assertEvents(events, expected, `thrown at event ${k}, then resumed`);
}

testCases('pause, stop or an error in any handler', streamCases(), (one) => {
  for (const k of one.expected.keys()) checkInterruptions(k, one);
});

/**
 * Whether an event of 600 frames is tried. A sample has those about the ends of the frame tables,
 * of 256 frames each, and every fifth.
 */
const isTried = (k) => TRIES_ALL || (k + 2) % 256 < 5 || k > 597 || (k + seed) % 5 === 0;

const OF_600 = titleOf('pause, stop or an error at any of 600 frames of one chunk', `every fifth, seed ${seed}`);

testDecoders(OF_600, ({ f, record }) => {
  const texts = Array.from({ length: 600 }, (_, i) => String(i));
  const frames = texts.map((text, i) => (i % 11 === 0 ? f.ping(text) : f.text(text)));
  const expected = texts.map((text, i) => (i % 11 === 0 ? ['ping', text] : string(text)));
  expected.push(binary('across chunks'));
  // The last frame ends in a chunk of its own.
  const bytes = Buffer.concat([...frames, f.binary('across chunks')]);
  const chunks = [bytes.subarray(0, bytes.length - 5), bytes.subarray(bytes.length - 5)];
  for (const k of expected.keys()) if (isTried(k)) checkInterruptions(k, { chunks, expected, record });
});

testCases('pause and resume in a handler deliver nothing inside it', streamCases(), ({ chunks, expected, record }) => {
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

testDecoders('pause outside of handlers holds all chunks until resume', ({ f, record }) => {
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

testDecoders('stop outside of handlers drops what is held, and ends the decoder for good', ({ f, record }) => {
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

  const frame = f.text('abc', { fin: false });
  forEachCase([2, frame.length - 1, frame.length], (end) => {
    const other = record();
    other.decoder.write(fresh(frame.subarray(0, end)));
    other.decoder.stop();
    other.decoder.write(f.text('late'));
    assert.deepEqual(other.events, [], 'stopped inside a header, a payload or a message');
  });
});

testCases('each of the errors from all handlers is thrown once', streamCases(), ({ chunks, expected, record }) => {
  const after = () => {
    throw new Error(`event ${events.length}`);
  };
  const { decoder, events } = record({ after });
  const attempt = (work) => {
    const before = events.length;
    try {
      work();
    } catch (error) {
      // If onFrame and onPing of one frame throw, this is the error of onPing.
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

testDecoders('what a handler writes is delivered after the chunk at hand', ({ decodeCut, f, record }) => {
  const frames = STREAMS['each kind of frame'](f)
    .slice(0, -2)
    .map(([frame]) => frame);
  const extra = [f.ping('extra'), f.text('of many'), f.text('frames')];
  for (const { handlers, options } of VARIANTS) {
    const first = decodeCut(Buffer.concat(frames), [], options);
    const second = decodeCut(Buffer.concat(extra), [], options);
    for (let k = 0; k < first.length; k++) {
      const what = `${handlers}, written at event ${k}`;
      const after = (_event, decoder) => {
        if (events.length !== k + 1) return;
        // Two pieces: the second is written while the first waits.
        const bytes = Buffer.concat(extra);
        assert.equal(decoder.write(bytes.subarray(0, 5)), true, what);
        decoder.write(bytes.subarray(5));
        assert.equal(events.length, k + 1, `${what}: delivered inside the handler`);
      };
      const { decoder, events } = record({ ...options, after });
      decoder.write(Buffer.concat(frames));
      assert.deepEqual(events, [...first, ...second], what);
    }
  }
});

testDecoders('a handler may write for each message that it gets: no recursion', ({ f, record }) => {
  const after = (_event, decoder) => events.length < 20_000 && decoder.write(f.text('more'));
  const { decoder, events } = record({ after });
  decoder.write(f.text('more'));
  assert.equal(events.length, 20_000);
});

// Each level is inside a chunk of many frames, so it needs a frame table of its own. Four tables
// are kept for later.
testDecoders('a handler may feed other decoders, whose handlers feed others', ({ f, record }) => {
  let decoders = 0;
  const feed = (depth) => {
    // Frames of another size on each level, so that a frame table of another level would be a
    // wrong one.
    const texts = Array.from({ length: 4 }, (_, i) => `text ${i}${'.'.repeat(depth)}`);
    const { decoder, events } = record({ after: () => depth > 0 && feed(depth - 1) });
    decoder.write(Buffer.concat(texts.map((text) => f.text(text))));
    decoders++;
    assert.deepEqual(events, texts.map(string), `level ${depth}`);
  };
  feed(4);
  assert.equal(decoders, 1 + 4 + 16 + 64 + 256, 'how many decoders there were');
});

testDecoders('a paused decoder keeps its frames while another decoder works', ({ f, record }) => {
  const texts = Array.from({ length: 300 }, (_, i) => `text ${i}`);
  const chunk = Buffer.concat(texts.map((text) => f.text(text)));
  const others = Buffer.concat(Array.from({ length: 300 }, (_, i) => f.binary('x'.repeat(1 + (i % 100)))));
  for (const at of [0, 255, 256, 299]) {
    const { decoder, events } = record({ after: () => events.length === at + 1 && decoder.pause() });
    decoder.write(fresh(chunk));
    record().decoder.write(fresh(others));
    decoder.resume();
    assertEvents(events, texts.map(string), `paused at event ${at}`);
  }
});

const RUNS = TRIES_ALL ? 3000 : 1000;

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

t.test(`handlers that pause, throw and feed others at random deliver the same (seed ${seed})`, async (t) => {
  const decoders = createDecoders();
  const random = createRandom(seed);
  const makeStream = createStreamMaker(random, { rsv1: true, longest: 3000 });
  const few = Buffer.concat(Array(9).fill(framesFor('client').text('for another decoder')));
  let calls = 0;

  function checkStream(Decoder) {
    const role = ROLES[random(2)];
    const { options: variant } = VARIANTS[random(VARIANTS.length)];
    const options = { role, rsv1: variant.frames === true && random(3) > 0, ...variant };
    const bytes = makeStream(role);
    const cuts = [...randomCuts(random, bytes.length), bytes.length];
    const other = new Decoder({ role: 'client', onMessage() {} });
    const after = (_event, decoder) => {
      calls++;
      const kind = random(8);
      if (kind === 3) other.write(Buffer.from(few));
      if ([0, 2, 4].includes(kind)) decoder.pause();
      if (kind === 2) decoder.resume();
      if ([1, 4].includes(kind)) throw new Error('from a handler');
    };
    const expected = eventsOf(Decoder, options, bytes);
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
    const { name, Decoder } = decoders[i % decoders.length];
    forEachCase([`FRAMEMASK_TEST_SEED=${seed}, stream ${i}, ${name}`], () => checkStream(Decoder));
  }
  t.ok(calls > RUNS, `${calls} calls of handlers`);
});
