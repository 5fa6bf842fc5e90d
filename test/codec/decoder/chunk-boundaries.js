'use strict';

// However a stream is cut into chunks, the same comes of it.

const t = require('tap');
const { createRandom } = require('../../support/garbage');
const { BINARY, TEXT, framesFor } = require('../../support/frames');
const { ROLES, createDecoders, eventsOf, seed } = require('../../support/recorder');
const { createStreamMaker, randomCuts } = require('../../support/streams');

const DECODERS = createDecoders();

/**
 * What may come of a stream. `onFrame` is told of a frame when all of it is there; bad text ends the decoding before that
 * if it comes in pieces. So the frame that holds it is told of or not; whatever else comes is the same.
 */
function accepted(events) {
  const [frame, error] = events.slice(-2);
  const early = error?.[1] === 'UTF8' && frame[0] === 'frame' && frame[1] !== 0x88;
  return (early ? [events, [...events.slice(0, -2), error]] : [events]).map((events) => JSON.stringify(events));
}

/** @throws if a stream that is cut gives something else than in one piece */
function check(Decoder, options, bytes, expected, cuts) {
  const actual = eventsOf(Decoder, options, bytes, cuts);
  if (expected.includes(JSON.stringify(actual))) return;
  const whole = JSON.parse(expected[0]);
  const i = actual.findIndex((event, i) => JSON.stringify(event) !== JSON.stringify(whole[i]));
  const [is, should] = [actual, whole].map((events) => JSON.stringify(events.at(i))?.slice(0, 200));
  throw new Error(`cut at ${cuts.slice(0, 30)}: event ${i} of ${actual.length} is ${is}, not ${should}`);
}

const every = (length, size) => {
  const cuts = [];
  for (let at = size; at < length; at += size) cuts.push(at);
  return cuts;
};

const SHORT = {
  'all kinds of frame': (f) => [
    f.text('Hello'),
    f.ping('p'),
    f.text('κ', { fin: false }),
    f.pong(''),
    f.continuation('😀'),
    f.binary('', { fin: false }),
    f.continuation(Buffer.from([255])),
    f.close(1000, 'é')
  ],
  'a message without a payload': (f) => [f.text('', { fin: false }), f.continuation(''), f.text(''), f.binary('')],
  'bad text': (f) => [f.text('good'), f.text(Buffer.from('c3a9e282ac80', 'hex')), f.text('late')],
  'bad text in fragments': (f) => [f.text(Buffer.from('e2', 'hex'), { fin: false }), f.ping(''), f.continuation('a')],
  'text that ends inside a character': (f) => [f.text(Buffer.from('61f09f98', 'hex')), f.text('late')],
  'a bad header': (f) => [f.binary('one'), f.text('two', { rsv: 0x20 }), f.text('late')],
  'a bad length': (f) => [f.binary('one'), f.text('two', { lengthSize: 8 }), f.text('late')],
  'a bad place': (f) => [f.text('one', { fin: false }), f.ping('x'), f.text('two'), f.text('late')],
  'bytes after a Close frame': (f) => [f.ping(''), f.close(), f.ping('late'), f.frame(3)],
  'a bad Close frame': (f) => [f.ping(''), f.close(1005, 'x'), f.ping('late')],
  'a frame that never ends': (f) => [f.text('one'), f.binary('12345', { length: 1000 })]
};

t.test('short streams, cut at every place, and at every two', (t) => {
  for (const { name, Decoder } of DECODERS) {
    for (const role of ROLES) {
      for (const [what, make] of Object.entries(SHORT)) {
        const bytes = Buffer.concat(make(framesFor(role)));
        for (const options of [{ role }, { role, text: 'buffer' }, { role, frames: true }]) {
          const expected = accepted(eventsOf(Decoder, options, bytes));
          for (let one = 0; one <= bytes.length; one++) {
            for (let two = one; two <= bytes.length; two++) check(Decoder, options, bytes, expected, [one, two]);
          }
          for (let size = 1; size < 20; size++) check(Decoder, options, bytes, expected, every(bytes.length, size));
        }
        t.pass(`${name}, ${role}: ${what}`);
      }
    }
  }
  t.end();
});

t.test('long payloads, cut at every place near an edge, and into pieces of many sizes', (t) => {
  for (const { name, Decoder } of DECODERS) {
    for (const role of ROLES) {
      const f = framesFor(role);
      for (const length of [125, 126, 300, 65535, 65536, 70001]) {
        const data = Buffer.alloc(length);
        for (let i = 0; i < length; i++) data[i] = (i * 31 + (i >> 8)) & 255;
        const text = Buffer.from('κόσμε '.repeat(Math.ceil(length / 11))).subarray(0, length);
        for (const opcode of [TEXT, BINARY]) {
          const payload = opcode === TEXT ? text : data;
          const bytes = Buffer.concat([f.ping('a'), f.frame(opcode, payload), f.ping('b'), f.binary('c')]);
          const options = { role };
          const expected = accepted(eventsOf(Decoder, options, bytes));
          const edges = [0, bytes.length - payload.length, bytes.length - 20, bytes.length];
          for (const edge of edges) {
            for (let at = Math.max(0, edge - 25); at <= Math.min(bytes.length, edge + 25); at++) {
              check(Decoder, options, bytes, expected, [at]);
            }
          }
          const sizes =
            length < 1000 ? [1, 2, 3, 23, 24, 25, 47, 48, 63, 64, 65, 100] : [1000, 1023, 4096, 16384, 65536];
          for (const size of sizes) check(Decoder, options, bytes, expected, every(bytes.length, size));
        }
      }
      const long = f.text('x'.repeat(70000));
      check(Decoder, { role }, long, accepted(eventsOf(Decoder, { role }, long)), every(long.length, 1));
      t.pass(`${name}, ${role}`);
    }
  }
  t.end();
});

t.test('hundreds of frames in a chunk', (t) => {
  for (const { name, Decoder } of DECODERS) {
    for (const role of ROLES) {
      const f = framesFor(role);
      const frames = [];
      for (let i = 0; i < 600; i++) {
        frames.push(i % 7 === 0 ? f.text(`é${i}`) : i % 5 === 0 ? f.ping(String(i)) : f.text(String(i)));
      }
      const bytes = Buffer.concat(frames);
      const events = eventsOf(Decoder, { role }, bytes);
      const expected = accepted(events);
      t.equal(events.length, 600, `${name}, ${role}`);
      for (let at = 0; at <= bytes.length; at += 3) check(Decoder, { role }, bytes, expected, [at]);
      for (let size = 1; size < 60; size++) check(Decoder, { role }, bytes, expected, every(bytes.length, size));
    }
  }
  t.end();
});

t.test(`random streams, cut at random (seed ${seed})`, (t) => {
  const random = createRandom(seed);
  const makeStream = createStreamMaker(random, { rsv1: true, longest: 5000 });
  const variants = [
    {},
    { text: 'buffer' },
    { rsv1: true },
    { frames: true },
    { frames: true, onMessage: undefined, rsv1: true },
    { maxPayload: 100 },
    { maxFragments: 2, text: 'buffer' }
  ];
  const tally = {};
  for (let i = 0; i < 3000; i++) {
    const role = ROLES[random(2)];
    const options = { role, ...variants[random(variants.length)] };
    const bytes = makeStream(role);
    const cuts = [randomCuts(random, bytes.length), randomCuts(random, bytes.length)];
    if (bytes.length < 3000) cuts.push(every(bytes.length, 1));
    try {
      const events = eventsOf(DECODERS[0].Decoder, options, bytes);
      const expected = accepted(events);
      for (const { Decoder } of DECODERS) {
        check(Decoder, options, bytes, expected, []);
        for (const where of cuts) check(Decoder, options, bytes, expected, where);
      }
      const last = events.at(-1);
      const kind = last?.[0] === 'error' ? last[1] : (last?.[0] ?? 'nothing');
      tally[kind] = (tally[kind] ?? 0) + 1;
    } catch (error) {
      t.fail(`seed ${seed}, stream ${i}, ${JSON.stringify(options)}: ${error.message.slice(0, 2000)}`);
      break;
    }
  }
  t.comment(JSON.stringify(tally));
  for (const kind of ['string', 'binary', 'ping', 'close', 'UTF8', 'OPCODE', 'CONTINUATION', 'MESSAGE_TOO_BIG']) {
    t.ok(tally[kind] > 0, `streams that ended with ${kind}`);
  }
  t.end();
});
