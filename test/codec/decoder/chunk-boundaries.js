'use strict';

// A decoder delivers the same for any way to cut a stream into chunks.

const t = require('tap');
const { forEachCase } = require('../../support/cases');
const { ROLES, createDecoders, everyByte, testDecoders } = require('../../support/decoders');
const { BINARY, TEXT } = require('../../support/frames');
const { createRandom, seed } = require('../../support/random');
const { assertEvents, eventsOf, sameEvents } = require('../../support/recorder');
const { TRIES_ALL, titleOf } = require('../../support/sample');
const { createStreamMaker, randomCuts, steps } = require('../../support/streams');

/** Compares the events of a stream that was cut to those of the stream in one chunk. */
function assertSame(actual, expected, cuts) {
  if (!sameEvents(actual, expected)) assertEvents(actual, expected, `cut at ${cuts.slice(0, 30)}`);
}

/** Where to cut `length` bytes into pieces of `size`. */
const piecesOf = (length, size) => steps(size, length, size);

const SHORT = {
  'each kind of frame': (f) => [
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
  'a message inside another': (f) => [f.text('one', { fin: false }), f.ping('x'), f.text('two'), f.text('late')],
  'bytes after a Close frame': (f) => [f.ping(''), f.close(), f.ping('late'), f.frame(3)],
  'a bad Close frame': (f) => [f.ping(''), f.close(1005, 'x'), f.ping('late')],
  'a frame that is not complete': (f) => [f.text('one'), f.binary('12345', { length: 1000 })]
};

/** Whether a stream is cut at two places; what lies between may be in one header or character. */
function isTried(one, two) {
  return TRIES_ALL || two - one < 10 || (one + two + seed) % 5 === 0;
}

for (const [name, make] of Object.entries(SHORT)) {
  const title = `${name}: cut at every place, and at every two places`;
  testDecoders(titleOf(title, `every fifth of those that are 10 bytes apart, seed ${seed}`), ({ decodeCut, f }) => {
    const bytes = Buffer.concat(make(f));
    for (const options of [{}, { text: 'buffer' }, { frames: true }]) {
      const expected = decodeCut(bytes, [], options);
      const check = (cuts) => assertSame(decodeCut(bytes, cuts, options), expected, cuts);
      for (let one = 0; one <= bytes.length; one++) {
        for (let two = one; two <= bytes.length; two++) if (isTried(one, two)) check([one, two]);
      }
      for (let size = 1; size < 20; size++) check(piecesOf(bytes.length, size));
    }
  });
}

/** @returns {Set<number>} the places that are at most 25 bytes away from an edge */
function placesAround(edges, length) {
  const places = edges.flatMap((edge) => Array.from({ length: 51 }, (_, i) => edge + i - 25));
  return new Set(places.filter((at) => at >= 0 && at <= length));
}

testDecoders('long payloads: cut at every place near an edge, and into pieces of many sizes', ({ decodeCut, f }) => {
  for (const length of [125, 126, 300, 65535, 65536, 70001]) {
    const data = Buffer.alloc(length);
    for (let i = 0; i < length; i++) data[i] = (i * 31 + (i >> 8)) & 255;
    const text = Buffer.from('κόσμε '.repeat(Math.ceil(length / 11))).subarray(0, length);
    const payloads = [
      { name: `${length} bytes of text`, opcode: TEXT, payload: text },
      { name: `${length} bytes of binary data`, opcode: BINARY, payload: data }
    ];
    forEachCase(payloads, ({ opcode, payload }) => {
      const bytes = Buffer.concat([f.ping('a'), f.frame(opcode, payload), f.ping('b'), f.binary('c')]);
      const expected = decodeCut(bytes, []);
      const check = (cuts) => assertSame(decodeCut(bytes, cuts), expected, cuts);
      for (const at of placesAround([0, bytes.length - payload.length, bytes.length - 20], bytes.length)) check([at]);
      const short = [1, 2, 3, 23, 24, 25, 47, 48, 63, 64, 65, 100];
      const long = [1000, 1023, 4096, 16384, 65536];
      for (const size of length < 1000 ? short : long) check(piecesOf(bytes.length, size));
    });
  }
  const long = f.text('x'.repeat(70000));
  const cuts = everyByte(long.length);
  assertSame(decodeCut(long, cuts), decodeCut(long, []), cuts);
});

const VARIANTS = [
  {},
  { text: 'buffer' },
  { frames: true },
  { frames: true, rsv1: true },
  { maxPayload: 100 },
  { maxFragments: 2, text: 'buffer' }
];

const STREAMS = TRIES_ALL ? 3000 : 500;

t.test(`${STREAMS} random streams, cut at random (seed ${seed})`, async (t) => {
  const decoders = createDecoders();
  const random = createRandom(seed);
  const makeStream = createStreamMaker(random, { rsv1: true, longest: 5000 });
  const endings = {};
  for (let i = 0; i < STREAMS; i++) {
    const role = ROLES[random(2)];
    const options = { role, ...VARIANTS[random(VARIANTS.length)] };
    const bytes = makeStream(role);
    const ways = [[], randomCuts(random, bytes.length), randomCuts(random, bytes.length)];
    if (bytes.length < 3000) ways.push(everyByte(bytes.length));
    const events = eventsOf(decoders[0].Decoder, options, bytes);
    for (const { name, Decoder } of decoders) {
      const what = `FRAMEMASK_TEST_SEED=${seed}, stream ${i}, ${name}, ${JSON.stringify(options)}`;
      forEachCase([{ name: what, Decoder }], () => {
        for (const cuts of ways) assertSame(eventsOf(Decoder, options, bytes, cuts), events, cuts);
      });
    }
    const last = events.at(-1);
    const ending = last?.[0] === 'error' ? last[1] : (last?.[0] ?? 'nothing');
    endings[ending] = (endings[ending] ?? 0) + 1;
  }
  for (const ending of ['string', 'binary', 'ping', 'close', 'UTF8', 'OPCODE', 'CONTINUATION', 'MESSAGE_TOO_BIG']) {
    t.ok(endings[ending] > 0, `some streams end with ${ending}`);
  }
});
