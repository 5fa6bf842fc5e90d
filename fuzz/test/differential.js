'use strict';

// A short run of fuzz/differential.js; and for each accepted difference what framemask and ws make
// of some streams.

const assert = require('node:assert/strict');
const { constants } = require('node:buffer');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const t = require('tap');
const { DIFFERENCES, Decoder, JavascriptDecoder, compare, decode, explain, receive } = require('../differential');
const { forEachCase } = require('../../test/support/cases');
const { ROLES } = require('../../test/support/decoders');
const { CLOSE, KEY, TEXT, frame, framesFor } = require('../../test/support/frames');
const { seed } = require('../../test/support/random');
const { TRIES_ALL } = require('../../test/support/sample');

const ROOT = path.join(__dirname, '../..');
const SCRIPT = path.join(ROOT, 'fuzz/differential.js');
const LIMITS = { rsv1: false, maxPayload: 2 ** 20, maxFragments: 100 };

/**
 * @param {string} name of the difference, '' for none
 * @param {(frames: object) => Buffer[]} make
 * @param {string[]} ours the events of framemask, as fuzz/differential.js writes them
 * @param {string[]} theirs the events of ws
 * @param {object} [limits]
 */
function check(name, make, ours, theirs, limits) {
  forEachCase(ROLES, (role) => {
    const bytes = Buffer.concat(make(framesFor(role)));
    const options = { role, ...LIMITS, ...limits };
    assert.deepEqual(receive(options, bytes, []), theirs, 'ws');
    forEachCase([Decoder, JavascriptDecoder], (DecoderClass) => {
      const result = decode(DecoderClass, options, bytes, []);
      assert.deepEqual(result.events, ours, 'framemask');
      assert.equal(explain(result, theirs, bytes), name, 'the difference');
      // Other events are not accepted under this name.
      for (const wrong of [[], ['c1000 '], ['e1011'], ['tx'], [...ours, 'tx'], ['tx', ...ours]]) {
        if (JSON.stringify(wrong) === JSON.stringify(ours)) continue;
        assert.equal(explain({ events: wrong, error: '' }, ours, bytes), undefined, `[${wrong}] for [${ours}]`);
      }
    });
  });
}

const withoutEnd = (bytes, missing) => bytes.subarray(0, bytes.length - missing);

const TESTS = {
  'a length that is not minimal': (name) => {
    check(name, (f) => [f.text('a'), f.text('b', { lengthSize: 2 })], ['ta', 'e1002'], ['ta', 'tb']);
    check(name, (f) => [f.binary('b', { lengthSize: 8 }), f.ping('')], ['e1002'], ['bb', 'P']);
    check(name, (f) => [f.text('', { fin: false }), f.continuation('b', { lengthSize: 8 })], ['e1002'], ['tb']);
    check(name, (f) => [f.binary('abc', { lengthSize: 2 })], ['e1002'], ['e1009'], { maxPayload: 2 });
    // If ws finds another error in the frame, the two agree.
    check('', (f) => [f.continuation('b', { lengthSize: 2 })], ['e1002'], ['e1002']);
  },
  'the most significant bit of a length': (name) => {
    check(name, (f) => [f.ping('a'), f.text('', { length: 2n ** 63n })], ['Pa', 'e1002'], ['Pa', 'e1009']);
    check(name, (f) => [f.text('', { length: 2n ** 64n - 1n })], ['e1002'], ['e1009']);
    check('', (f) => [f.text('', { length: 2n ** 63n - 1n })], ['e1009'], ['e1009']);
  },
  'text is checked as it arrives': (name) => {
    const start = (f) => f.text(Buffer.from([0x61, 0xff]), { fin: false });
    check(name, (f) => [start(f), f.ping('b'), f.continuation('c')], ['e1007'], ['Pb', 'e1007']);
    check(name, (f) => [f.text('a'), start(f)], ['ta', 'e1007'], ['ta']);
    check(name, (f) => [start(f), f.close(1000)], ['e1007'], ['c1000 ']);
    check(name, (f) => [start(f), f.frame(3)], ['e1007'], ['e1002']);
    check(name, (f) => [start(f), f.continuation('b'.repeat(9))], ['e1007'], ['e1009'], { maxPayload: 5 });
    check(name, (f) => [f.text(Buffer.from([0xff]), { length: 9 })], ['e1007'], []);
    // A character that is cut may still be completed.
    const cut = (f) => f.text(Buffer.from([0xc3]), { fin: false });
    check('', (f) => [cut(f), f.ping(''), f.continuation('a'), f.text('b')], ['P', 'e1007'], ['P', 'e1007']);
  },
  'the first byte is checked alone': (name) => {
    check(name, (f) => [f.text('a'), Buffer.from([0x83])], ['ta', 'e1002'], ['ta']);
    check(name, () => [Buffer.from([0x91])], ['e1002'], []);
    check(name, () => [Buffer.from([0x09])], ['e1002'], []);
    check('', () => [Buffer.from([0x81])], [], []);
  },
  "a frame's place and length are checked when its header is complete": (name) => {
    const more = (f, length) => f.continuation('', { length }).subarray(0, 3);
    check(name, (f) => [f.text('a'), more(f, 300)], ['ta'], ['ta', 'e1002']);
    check(name, (f) => [f.text('a', { fin: false }), f.text('', { length: 300 }).subarray(0, 2)], [], ['e1002']);
    // On a server the masking key follows the length.
    const options = { role: 'server', ...LIMITS, maxPayload: 5 };
    for (const length of [6, 300, 70000]) {
      const bytes = withoutEnd(frame(TEXT, '', { key: KEY, length }), 1);
      assert.deepEqual(receive(options, bytes, []), ['e1009'], `ws, ${length} bytes`);
      assert.deepEqual(decode(Decoder, options, bytes, []).events, [], `framemask, ${length} bytes`);
      assert.equal(explain({ events: [], error: '' }, ['e1009'], bytes), name, `the difference, ${length} bytes`);
    }
    check('', (f) => [f.text('a'), f.continuation('', { length: 300 })], ['ta', 'e1002'], ['ta', 'e1002']);
  },
  'a Close frame with a payload of one byte is refused when it is complete': (name) => {
    check(name, (f) => [f.ping(''), withoutEnd(f.frame(CLOSE, 'x'), 1)], ['P'], ['P', 'e1002']);
    check('', (f) => [f.ping(''), f.frame(CLOSE, 'x')], ['P', 'e1002'], ['P', 'e1002']);
  },
  'one fragment too many is refused by its header': (name) => {
    const limits = { maxFragments: 2 };
    const start = (f) => [f.text('a', { fin: false }), f.continuation('b', { fin: false })];
    check(name, (f) => [...start(f), withoutEnd(f.continuation('c'), 1)], ['e1008'], [], limits);
    check('', (f) => [...start(f), f.continuation('c')], ['e1008'], ['e1008'], limits);
  },
  'text that is longer than the longest string is refused by its header': (name) => {
    const limits = { maxPayload: 2 ** 30 };
    const longest = constants.MAX_STRING_LENGTH;
    const start = (f) => f.text('a', { fin: false });
    check(name, (f) => [f.ping(''), f.text('', { length: longest + 1 })], ['P', 'e1009'], ['P'], limits);
    check(name, (f) => [start(f), f.continuation('', { length: longest })], ['e1009'], [], limits);
    check('', (f) => [f.text('', { length: longest })], [], [], limits);
    check('', (f) => [start(f), f.continuation('', { length: longest - 1 })], [], [], limits);
    check('', (f) => [f.binary('', { length: longest + 1 })], [], [], limits);
  }
};

for (const { name, why } of DIFFERENCES) {
  t.test(`${name}: ${why}`, (t) => {
    TESTS[name](name);
    t.end();
  });
}

t.test('each accepted difference has a test', (t) => {
  t.same(
    Object.keys(TESTS),
    DIFFERENCES.map(({ name }) => name)
  );
  t.end();
});

t.test('framemask and ws agree where other implementations differ', (t) => {
  check('', (f) => [f.close(1014, 'x')], ['c1014 x'], ['c1014 x']);
  check('', (f) => [f.close(1004)], ['e1002'], ['e1002']);
  check('', (f) => [f.close(1005, Buffer.from([0xff]))], ['e1002'], ['e1002']);
  check('', (f) => [f.close(1000, Buffer.from([0xff]))], ['e1007'], ['e1007']);
  check('', (f) => [f.text('a', { fin: false }), f.close(1000)], ['c1000 '], ['c1000 ']);
  check('', (f) => [f.text('a', { fin: false }), f.ping('b'), f.continuation('c')], ['Pb', 'tac'], ['Pb', 'tac']);
  check('', (f) => [f.text('', { rsv: 0x40 })], ['e1002'], ['e1002']);
  check('', (f) => [f.text('a', { rsv: 0x40 }), f.text('b')], ['ta', 'tb'], ['ta', 'tb'], { rsv1: true });
  check('', (f) => [f.text(Buffer.from([0xff]), { rsv: 0x40 })], ['e1007'], ['e1007'], { rsv1: true });
  check('', (f) => [f.text('abc')], ['e1009'], ['e1009'], { maxPayload: 2 });
  t.end();
});

const STREAMS = TRIES_ALL ? 5000 : 1000;

t.test(`framemask and ws agree on ${STREAMS} random streams (seed ${seed})`, (t) => {
  const shown = [];
  const { streams, endings } = compare({ seed, streams: STREAMS, progress: (done) => shown.push(done) });
  t.equal(streams, STREAMS);
  t.ok(shown.length > 0, 'progress was shown');
  for (const ending of ['open', 'close', 'UTF8', 'RESERVED_BITS', 'CONTINUATION', 'MESSAGE_TOO_BIG', 'MASK_MISSING']) {
    t.ok(endings[ending] > 0, `some streams end with ${ending}`);
  }
  const [one, again] = [0, 1].map(() => compare({ seed: 7, from: 20, streams: 1 }));
  t.same(one, again, 'a seed and a number make one stream');
  t.equal(compare({ seed: 7, streams: 100000, seconds: 0 }).streams, 256, 'a limit on the time');
  t.end();
});

t.test('fuzz/differential.js: its options and exit codes', (t) => {
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
    t.equal(wrong.status, 2, `exit code: ${args.join(' ')}`);
    t.match(wrong.stderr, /Usage/, `stderr: ${args.join(' ')}`);
  }
  t.end();
});

t.test('fuzz/differential.js finds a decoder that loses its Ping frames', (t) => {
  const script = `
    const decoder = require('./lib/codec/decoder');
    decoder.Decoder = class extends decoder.Decoder {
      constructor(options) {
        super({ ...options, onPing: undefined });
      }
    };
    require('./fuzz/differential').compare({ seed: 1, streams: 300 });
  `;
  const { status, stderr } = spawnSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' });
  t.equal(status, 1);
  t.match(stderr, /seed 1, stream \d+/);
  t.end();
});
