'use strict';

// A short run of fuzz/differential.js; and for each accepted difference what framemask and ws make
// of some streams.

const assert = require('node:assert/strict');
const { constants } = require('node:buffer');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const t = require('tap');
const { DIFFERENCES, checkStream, run } = require('../differential');
const { forEachCase } = require('../../test/support/cases');
const { ROLES } = require('../../test/support/decoders');
const { CLOSE, framesFor } = require('../../test/support/frames');
const { createRandom, seed } = require('../../test/support/random');
const { TRIES_ALL } = require('../../test/support/sample');
const { minimise } = require('../program');

const ROOT = path.join(__dirname, '../..');
const LONGEST = constants.MAX_STRING_LENGTH;
const NONE = 'none';

const withoutEnd = (bytes, missing) => bytes.subarray(0, bytes.length - missing);
const badText = (f) => f.text(Buffer.from([0x61, 0xff]), { fin: false });
const cutText = (f) => f.text(Buffer.from([0xc3]), { fin: false });
const amid = (f) => f.text('a', { fin: false });
const two = (f) => [amid(f), f.continuation('b', { fin: false })];
const huge = { maxPayload: 2 ** 30 };

/**
 * By the name of the difference: how the frames are made, the events of framemask and of ws as
 * fuzz/differential.js writes them, and limits of both.
 *
 * @type {Record<string, [(frames: object) => Buffer[], string[], string[], object?][]>}
 */
const CASES = {
  'a length that is not minimal': [
    [(f) => [f.text('a'), f.text('b', { lengthSize: 2 })], ['ta', 'e1002'], ['ta', 'tb']],
    [(f) => [f.binary('b', { lengthSize: 8 }), f.ping('')], ['e1002'], ['bb', 'P']],
    [(f) => [f.text('', { fin: false }), f.continuation('b', { lengthSize: 8 })], ['e1002'], ['tb']],
    [(f) => [f.binary('abc', { lengthSize: 2 })], ['e1002'], ['e1009'], { maxPayload: 2 }]
  ],
  'the most significant bit of a length': [
    [(f) => [f.ping('a'), f.text('', { length: 2n ** 63n })], ['Pa', 'e1002'], ['Pa', 'e1009']],
    [(f) => [f.text('', { length: 2n ** 64n - 1n })], ['e1002'], ['e1009']]
  ],
  'text is checked as it arrives': [
    [(f) => [badText(f), f.ping('b'), f.continuation('c')], ['e1007'], ['Pb', 'e1007']],
    [(f) => [f.text('a'), badText(f)], ['ta', 'e1007'], ['ta']],
    [(f) => [badText(f), f.close(1000)], ['e1007'], ['c1000 ']],
    [(f) => [badText(f), f.frame(3)], ['e1007'], ['e1002']],
    [(f) => [badText(f), f.continuation('b'.repeat(9))], ['e1007'], ['e1009'], { maxPayload: 5 }],
    [(f) => [f.text(Buffer.from([0xff]), { length: 9 })], ['e1007'], []]
  ],
  'the first byte is checked alone': [
    [(f) => [f.text('a'), Buffer.from([0x83])], ['ta', 'e1002'], ['ta']],
    [() => [Buffer.from([0x91])], ['e1002'], []],
    [() => [Buffer.from([0x09])], ['e1002'], []]
  ],
  "a frame's place and length are checked when its header is complete": [
    [(f) => [f.text('a'), f.continuation('', { length: 300 }).subarray(0, 3)], ['ta'], ['ta', 'e1002']],
    [(f) => [amid(f), f.text('', { length: 300 }).subarray(0, 2)], [], ['e1002']]
  ],
  'a Close frame with a payload of one byte is refused when it is complete': [
    [(f) => [f.ping(''), withoutEnd(f.frame(CLOSE, 'x'), 1)], ['P'], ['P', 'e1002']]
  ],
  'one fragment too many is refused by its header': [
    [(f) => [...two(f), withoutEnd(f.continuation('c'), 1)], ['e1008'], [], { maxFragments: 2 }]
  ],
  'text that is longer than the longest string is refused by its header': [
    [(f) => [f.ping(''), f.text('', { length: LONGEST + 1 })], ['P', 'e1009'], ['P'], huge],
    [(f) => [amid(f), f.continuation('', { length: LONGEST })], ['e1009'], [], huge]
  ],
  [NONE]: [
    // If ws finds another error in the frame, the two agree.
    [(f) => [f.continuation('b', { lengthSize: 2 })], ['e1002'], ['e1002']],
    [(f) => [f.text('', { length: 2n ** 63n - 1n })], ['e1009'], ['e1009']],
    // A character that is cut may still be completed.
    [(f) => [cutText(f), f.ping(''), f.continuation('a'), f.text('b')], ['P', 'e1007'], ['P', 'e1007']],
    [() => [Buffer.from([0x81])], [], []],
    [(f) => [f.text('a'), f.continuation('', { length: 300 })], ['ta', 'e1002'], ['ta', 'e1002']],
    [(f) => [f.ping(''), f.frame(CLOSE, 'x')], ['P', 'e1002'], ['P', 'e1002']],
    [(f) => [...two(f), f.continuation('c')], ['e1008'], ['e1008'], { maxFragments: 2 }],
    [(f) => [f.text('', { length: LONGEST })], [], [], huge],
    [(f) => [amid(f), f.continuation('', { length: LONGEST - 1 })], [], [], huge],
    [(f) => [f.binary('', { length: LONGEST + 1 })], [], [], huge],
    // Other implementations differ here.
    [(f) => [f.close(1014, 'x')], ['c1014 x'], ['c1014 x']],
    [(f) => [f.close(1004)], ['e1002'], ['e1002']],
    [(f) => [f.close(1005, Buffer.from([0xff]))], ['e1002'], ['e1002']],
    [(f) => [f.close(1000, Buffer.from([0xff]))], ['e1007'], ['e1007']],
    [(f) => [amid(f), f.close(1000)], ['c1000 '], ['c1000 ']],
    [(f) => [amid(f), f.ping('b'), f.continuation('c')], ['Pb', 'tac'], ['Pb', 'tac']],
    [(f) => [f.text('', { rsv: 0x40 })], ['e1002'], ['e1002']],
    [(f) => [f.text('a', { rsv: 0x40 }), f.text('b')], ['ta', 'tb'], ['ta', 'tb'], { rsv1: true, frames: true }],
    [(f) => [f.text(Buffer.from([0xff]), { rsv: 0x40 })], ['e1007'], ['e1007'], { rsv1: true, frames: true }],
    [(f) => [f.text('abc')], ['e1009'], ['e1009'], { maxPayload: 2 }]
  ]
};

for (const { name, why } of [...DIFFERENCES, { name: NONE, why: 'framemask and ws agree' }]) {
  t.test(`${name}: ${why}`, (t) => {
    forEachCase(ROLES, (role) => {
      forEachCase(CASES[name], ([make, ours, theirs, limits]) => {
        const stream = {
          role,
          maxPayload: 2 ** 20,
          maxFragments: 100,
          ...limits,
          bytes: Buffer.concat(make(framesFor(role)))
        };
        const { difference, ...events } = checkStream(stream, createRandom(seed), () => {});
        assert.deepEqual({ ours: events.ours, theirs: events.theirs }, { ours, theirs });
        assert.equal(difference, name === NONE ? '' : name);
      });
    });
    t.end();
  });
}

const ROUNDS = TRIES_ALL ? 3000 : 600;

t.test(`${ROUNDS} random streams (seed ${seed})`, async (t) => {
  const { rounds, counts } = await run({ seed, rounds: ROUNDS });
  t.equal(rounds, ROUNDS);
  for (const ending of ['open', 'close', 'UTF8', 'RESERVED_BITS', 'CONTINUATION', 'MESSAGE_TOO_BIG', 'MASK_MISSING']) {
    t.ok(counts[`ends: ${ending}`] > 0, `some streams end with ${ending}`);
  }
  t.ok(counts.transfers > 0 && counts.records > 0, 'handlers and subscribers act');
  const one = await run({ seed: 7, from: 20, rounds: 1 });
  t.same(one, await run({ seed: 7, from: 20, rounds: 1 }), 'a seed and a number make one round');
});

t.test('a finding becomes smaller, and is repeated by its numbers', async (t) => {
  const round = (random) => {
    const numbers = Array.from({ length: 40 }, () => random(10));
    if (numbers.filter((number) => number > 6).length > 1) throw new Error(numbers.join(''));
  };
  const { message } = await minimise(round, createRandom(1));
  t.match(message, /^0*[7-9]0*[7-9]0*$/);
});

t.test('the options and exit codes of a fuzzer', (t) => {
  const runProgram = (...args) =>
    spawnSync(process.execPath, [path.join(ROOT, 'fuzz/differential.js'), ...args], { encoding: 'utf8' });
  const good = runProgram('--rounds', '20', '--seed', '1');
  t.equal(good.status, 0, good.stderr);
  t.match(good.stdout, /^20 rounds/);
  t.match(good.stderr, /seed 1/);
  const help = runProgram('--help');
  t.equal(help.status, 0);
  t.match(help.stdout, /--seconds/);
  for (const args of [['--rounds', 'many'], ['--seed', ''], ['--colour'], ['more']]) {
    const wrong = runProgram(...args);
    t.equal(wrong.status, 2, `exit code: ${args.join(' ')}`);
    t.match(wrong.stderr, /Usage/, `stderr: ${args.join(' ')}`);
  }
  t.end();
});

t.test('a decoder that loses its Ping frames is found', (t) => {
  const script = `
    const decoder = require('./lib/codec/decoder');
    decoder.Decoder = class extends decoder.Decoder {
      constructor(options) {
        super({ ...options, onPing: undefined });
      }
    };
    require('./fuzz/differential').run({ seed: 1, rounds: 300 });
  `;
  const { status, stderr } = spawnSync(process.execPath, ['-e', script], { cwd: ROOT, encoding: 'utf8' });
  t.equal(status, 1);
  t.match(stderr, /seed 1, round \d+/);
  t.end();
});
