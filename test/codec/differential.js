'use strict';

// A short run of fuzz/differential.js, and each difference that it takes for meant: what framemask says, and what ws.

const t = require('tap');
const { constants } = require('node:buffer');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const {
  DIFFERENCES,
  Decoder,
  JavascriptDecoder,
  compare,
  decode,
  explain,
  receive
} = require('../../fuzz/differential');
const { CLOSE, KEY, TEXT, frame, framesFor } = require('../support/frames');
const { ROLES, seed } = require('../support/recorder');

const SCRIPT = path.join(__dirname, '../../fuzz/differential.js');
const LIMITS = { rsv1: false, maxPayload: 2 ** 20, maxFragments: 100 };

/**
 * @param {object} t
 * @param {string} name of the difference, '' for none
 * @param {(frames: object) => Buffer[]} make
 * @param {string[]} ours events as fuzz/differential.js writes them
 * @param {string[]} theirs
 * @param {object} [limits]
 */
function check(t, name, make, ours, theirs, limits) {
  for (const role of ROLES) {
    const bytes = Buffer.concat(make(framesFor(role)));
    const options = { role, ...LIMITS, ...limits };
    t.strictSame(receive(options, bytes, []), theirs, `${role}: ws`);
    for (const DecoderClass of [Decoder, JavascriptDecoder]) {
      const said = decode(DecoderClass, options, bytes, []);
      t.strictSame(said.events, ours, `${role}: framemask`);
      t.equal(explain(said, theirs, bytes), name);
      // Whoever would say something else could not call it that.
      for (const wrong of [[], ['c1000 '], ['e1011'], ['tx'], [...ours, 'tx'], ['tx', ...ours]]) {
        if (JSON.stringify(wrong) === JSON.stringify(ours)) continue;
        t.equal(explain({ events: wrong, error: '' }, ours, bytes), undefined, `${wrong} for ${ours}`);
      }
    }
  }
}

const withoutEnd = (bytes, missing) => bytes.subarray(0, bytes.length - missing);

const TESTS = {
  'a length that is not minimal': (t, name) => {
    check(t, name, (f) => [f.text('a'), f.text('b', { lengthSize: 2 })], ['ta', 'e1002'], ['ta', 'tb']);
    check(t, name, (f) => [f.binary('b', { lengthSize: 8 }), f.ping('')], ['e1002'], ['bb', 'P']);
    check(t, name, (f) => [f.text('', { fin: false }), f.continuation('b', { lengthSize: 8 })], ['e1002'], ['tb']);
    check(t, name, (f) => [f.binary('abc', { lengthSize: 2 })], ['e1002'], ['e1009'], { maxPayload: 2 });
    // Where ws finds another error in it, the two agree.
    check(t, '', (f) => [f.continuation('b', { lengthSize: 2 })], ['e1002'], ['e1002']);
  },
  'the most significant bit of a length': (t, name) => {
    check(t, name, (f) => [f.ping('a'), f.text('', { length: 2n ** 63n })], ['Pa', 'e1002'], ['Pa', 'e1009']);
    check(t, name, (f) => [f.text('', { length: 2n ** 64n - 1n })], ['e1002'], ['e1009']);
    check(t, '', (f) => [f.text('', { length: 2n ** 63n - 1n })], ['e1009'], ['e1009']);
  },
  'text is judged as it comes': (t, name) => {
    const start = (f) => f.text(Buffer.from([0x61, 0xff]), { fin: false });
    check(t, name, (f) => [start(f), f.ping('b'), f.continuation('c')], ['e1007'], ['Pb', 'e1007']);
    check(t, name, (f) => [f.text('a'), start(f)], ['ta', 'e1007'], ['ta']);
    check(t, name, (f) => [start(f), f.close(1000)], ['e1007'], ['c1000 ']);
    check(t, name, (f) => [start(f), f.frame(3)], ['e1007'], ['e1002']);
    check(t, name, (f) => [start(f), f.continuation('b'.repeat(9))], ['e1007'], ['e1009'], { maxPayload: 5 });
    check(t, name, (f) => [f.text(Buffer.from([0xff]), { length: 9 })], ['e1007'], []);
    // A character that is cut may still be completed, and is judged by what comes instead.
    const cut = (f) => f.text(Buffer.from([0xc3]), { fin: false });
    check(t, '', (f) => [cut(f), f.ping(''), f.continuation('a'), f.text('b')], ['P', 'e1007'], ['P', 'e1007']);
  },
  'a first byte is judged alone': (t, name) => {
    check(t, name, (f) => [f.text('a'), Buffer.from([0x83])], ['ta', 'e1002'], ['ta']);
    check(t, name, () => [Buffer.from([0x91])], ['e1002'], []);
    check(t, name, () => [Buffer.from([0x09])], ['e1002'], []);
    check(t, '', () => [Buffer.from([0x81])], [], []);
  },
  "a frame's place and size are judged when its header is whole": (t, name) => {
    const more = (f, length) => f.continuation('', { length }).subarray(0, 3);
    check(t, name, (f) => [f.text('a'), more(f, 300)], ['ta'], ['ta', 'e1002']);
    check(t, name, (f) => [f.text('a', { fin: false }), f.text('', { length: 300 }).subarray(0, 2)], [], ['e1002']);
    // On a server, the masking key comes after the length.
    const options = { role: 'server', ...LIMITS, maxPayload: 5 };
    for (const length of [6, 300, 70000]) {
      const bytes = withoutEnd(frame(TEXT, '', { key: KEY, length }), 1);
      t.strictSame(receive(options, bytes, []), ['e1009']);
      t.strictSame(decode(Decoder, options, bytes, []).events, []);
      t.equal(explain({ events: [], error: '' }, ['e1009'], bytes), name);
    }
    check(t, '', (f) => [f.text('a'), f.continuation('', { length: 300 })], ['ta', 'e1002'], ['ta', 'e1002']);
  },
  'a Close frame of one byte is judged when it is there': (t, name) => {
    check(t, name, (f) => [f.ping(''), withoutEnd(f.frame(CLOSE, 'x'), 1)], ['P'], ['P', 'e1002']);
    check(t, '', (f) => [f.ping(''), f.frame(CLOSE, 'x')], ['P', 'e1002'], ['P', 'e1002']);
  },
  'one fragment too many is refused by its header': (t, name) => {
    const limits = { maxFragments: 2 };
    const start = (f) => [f.text('a', { fin: false }), f.continuation('b', { fin: false })];
    check(t, name, (f) => [...start(f), withoutEnd(f.continuation('c'), 1)], ['e1008'], [], limits);
    check(t, '', (f) => [...start(f), f.continuation('c')], ['e1008'], ['e1008'], limits);
  },
  'a length beyond 2^53 - 1 counts before the place of its frame': (t, name) => {
    const length = 2n ** 53n;
    check(t, name, (f) => [f.ping(''), f.continuation('', { length })], ['P', 'e1009'], ['P', 'e1002']);
    check(t, name, (f) => [f.text('a', { fin: false }), f.binary('', { length })], ['e1009'], ['e1002']);
    check(t, '', (f) => [f.text('a', { fin: false }), f.continuation('', { length })], ['e1009'], ['e1009']);
  },
  'text that no string can hold is refused by its header': (t, name) => {
    const limits = { maxPayload: 2 ** 30 };
    const longest = constants.MAX_STRING_LENGTH;
    const start = (f) => f.text('a', { fin: false });
    check(t, name, (f) => [f.ping(''), f.text('', { length: longest + 1 })], ['P', 'e1009'], ['P'], limits);
    check(t, name, (f) => [start(f), f.continuation('', { length: longest })], ['e1009'], [], limits);
    check(t, '', (f) => [f.text('', { length: longest })], [], [], limits);
    check(t, '', (f) => [start(f), f.continuation('', { length: longest - 1 })], [], [], limits);
    check(t, '', (f) => [f.binary('', { length: longest + 1 })], [], [], limits);
  }
};

for (const { name, why } of DIFFERENCES) {
  t.test(`${name}: ${why}`, (t) => {
    TESTS[name](t, name);
    t.end();
  });
}

t.test('a test for each, and no other', (t) => {
  t.strictSame(
    Object.keys(TESTS),
    DIFFERENCES.map(({ name }) => name)
  );
  t.end();
});

t.test('where others differ, these two agree', (t) => {
  check(t, '', (f) => [f.close(1014, 'x')], ['c1014 x'], ['c1014 x']);
  check(t, '', (f) => [f.close(1004)], ['e1002'], ['e1002']);
  check(t, '', (f) => [f.close(1005, Buffer.from([0xff]))], ['e1002'], ['e1002']);
  check(t, '', (f) => [f.close(1000, Buffer.from([0xff]))], ['e1007'], ['e1007']);
  check(t, '', (f) => [f.text('a', { fin: false }), f.close(1000)], ['c1000 '], ['c1000 ']);
  check(t, '', (f) => [f.text('a', { fin: false }), f.ping('b'), f.continuation('c')], ['Pb', 'tac'], ['Pb', 'tac']);
  check(t, '', (f) => [f.text('', { rsv: 0x40 })], ['e1002'], ['e1002']);
  check(t, '', (f) => [f.text('a', { rsv: 0x40 }), f.text('b')], ['ta', 'tb'], ['ta', 'tb'], { rsv1: true });
  check(t, '', (f) => [f.text(Buffer.from([0xff]), { rsv: 0x40 })], ['e1007'], ['e1007'], { rsv1: true });
  check(t, '', (f) => [f.text('abc')], ['e1009'], ['e1009'], { maxPayload: 2 });
  t.end();
});

t.test(`random streams (seed ${seed})`, (t) => {
  const shown = [];
  const { streams, endings, differences } = compare({ seed, streams: 5000, progress: (done) => shown.push(done) });
  t.equal(streams, 5000);
  t.ok(shown.length > 0);
  t.comment(JSON.stringify({ endings, differences }));
  for (const ending of ['open', 'close', 'UTF8', 'RESERVED_BITS', 'CONTINUATION', 'MESSAGE_TOO_BIG', 'MASK_MISSING']) {
    t.ok(endings[ending] > 0, ending);
  }
  // The same seed, the same streams; each can be had alone.
  t.strictSame(compare({ seed: 7, from: 20, streams: 1 }), compare({ seed: 7, from: 20, streams: 1 }));
  t.equal(compare({ seed: 7, streams: 100000, seconds: 0 }).streams, 256);
  t.end();
});

t.test('the program', (t) => {
  const run = (...args) => spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' });
  const good = run('--streams', '300', '--seed', '1');
  t.equal(good.status, 0, good.stderr);
  t.match(good.stdout, /^300 streams/);
  t.match(good.stderr, /seed 1/);
  const help = run('--help');
  t.equal(help.status, 0);
  t.match(help.stdout, /--seconds/);
  for (const args of [['--streams', 'many'], ['--seed', ''], ['--colour'], ['more']]) {
    const wrong = run(...args);
    t.equal(wrong.status, 2, args.join(' '));
    t.match(wrong.stderr, /Usage/);
  }
  // A decoder that loses its pings.
  const spoil =
    "require('./lib/codec/decoder').Decoder.prototype._deliverControl = () => {}; require('./fuzz/differential')";
  const spoilt = spawnSync(process.execPath, ['-e', `${spoil}.compare({ seed: 1, streams: 300 })`], {
    cwd: path.join(__dirname, '../..'),
    encoding: 'utf8'
  });
  t.equal(spoilt.status, 1);
  t.match(spoilt.stderr, /seed 1, stream \d+/);
  t.end();
});
