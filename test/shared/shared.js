'use strict';

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
const vm = require('node:vm');
const t = require('tap');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');
const { FrameError, invalidState, invalidType, outOfRange } = require('../../lib/shared/errors');
const nodeModules = require('../../lib/shared/node-modules');
const { isSendableCloseCode } = require('../../lib/shared/protocol');
const { mayBeSent } = require('../support/frames');

const CONSTRUCTORS = [
  [invalidType('key', 'a Buffer', 1), TypeError, 'INVALID_ARG_TYPE', 'must be a Buffer, but was the number 1'],
  [outOfRange('key', 'a whole number', 1.5), RangeError, 'OUT_OF_RANGE', 'must be a whole number, but was 1.5'],
  [outOfRange('key', 'so', -0), RangeError, 'OUT_OF_RANGE', 'must be so, but was -0'],
  [outOfRange('key', 'so', 2n ** 64n), RangeError, 'OUT_OF_RANGE', 'must be so, but was 18446744073709551616n'],
  [outOfRange('key', 'so', '3 bytes long'), RangeError, 'OUT_OF_RANGE', 'must be so, but was 3 bytes long']
];

t.test('invalidType and outOfRange make an error that names the argument', async (t) => {
  for (const [error, Class, code, message] of CONSTRUCTORS) {
    t.type(error, Class);
    t.match(error, { code: `ERR_${code}`, message: `The "key" argument ${message}` });
  }
});

t.test('an error describes any value on a short line', async () => {
  class Socket {}
  const unnamed = new (class {})();
  const throwing = {
    get constructor() {
      throw new Error('not for you');
    }
  };
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const cases = [
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'the boolean true'],
    [-0, 'the number -0'],
    [Number.NaN, 'the number NaN'],
    [2n ** 70n, 'the bigint 1180591620717411303424n'],
    [Symbol('s'), 'the symbol Symbol(s)'],
    ['', "the string ''"],
    ['a\nb', "the string 'a\\nb'"],
    ['x'.repeat(24), `the string '${'x'.repeat(24)}'`],
    ['x'.repeat(1e6), `the string '${'x'.repeat(24)}...'`],
    [() => {}, 'a function'],
    [class A {}, 'a function'],
    [{}, 'an instance of Object'],
    [[], 'an instance of Array'],
    [new Socket(), 'an instance of Socket'],
    [new (vm.runInNewContext('Date'))(), 'an instance of Date'],
    [unnamed, 'an object'],
    [Object.create(null), 'an object'],
    [{ constructor: null }, 'an object'],
    [{ constructor: { name: 7 } }, 'an object'],
    [{ constructor: { name: 'n'.repeat(1e6) } }, `an instance of ${'n'.repeat(64)}`],
    [throwing, 'an object'],
    [revoked, 'an object']
  ];
  for (const [i, [value, expected]] of cases.entries()) {
    assert.equal(invalidType('key', 'a Buffer', value).message.replace(/^.* but was /, ''), expected, `value ${i}`);
  }
});

t.test('invalidState and FrameError make an error with a code', async (t) => {
  const state = invalidState('the connection is closed');
  t.match(state, { name: 'Error', code: 'ERR_INVALID_STATE', message: 'the connection is closed' });
  const error = new FrameError('INVALID_UTF8', 1007, 'a text message is not UTF-8');
  t.type(error, Error);
  t.match(error, { name: 'FrameError', code: 'FRAMEMASK_ERR_INVALID_UTF8', closeCode: 1007 });
  t.same(Object.keys(error), ['code', 'closeCode', 'firstByte', 'length', 'receivedCode']);
  t.match(inspect(error), /^FrameError: a text message is not UTF-8\n/);
});

const onOneLine = (value) => inspect(value, { breakLength: Number.POSITIVE_INFINITY });

t.test('inspect shows the public state, and fields of a subclass without an underscore', async (t) => {
  const decoder = new Decoder({ role: 'server' });
  t.equal(
    onOneLine(decoder),
    "Decoder { role: 'server', closed: false, paused: false, framesRead: 0, context: undefined }"
  );
  decoder.pause();
  t.match(inspect(decoder), /paused: true/);
  const encoder = new Encoder({ role: 'client' });
  encoder.text('abc');
  t.equal(onOneLine(encoder), "Encoder { role: 'client', closed: false, pending: 9 }");
  encoder.close();
  t.match(inspect(encoder), /closed: true/);
  t.equal(onOneLine(prepare('abc')), 'PreparedMessage { length: 3 }');

  class Mine extends Encoder {
    name = 'mine';
    _hidden = 1;
  }
  t.equal(onOneLine(new Mine({ role: 'server' })), "Mine { role: 'server', closed: false, pending: 0, name: 'mine' }");
});

t.test('a context that has the decoder is a circle, and depth counts', async (t) => {
  const connection = { decoder: null };
  connection.decoder = new Decoder({ role: 'server', context: connection });
  t.match(
    inspect(connection, { depth: null }),
    /^<ref \*1> \{\n {2}decoder: Decoder \{\n(.*\n)* +context: \[Circular \*1\]/
  );
  t.match(inspect(connection.decoder, { depth: null }), /context: \[Circular \*1\]/);
  t.equal(inspect([[connection]], { depth: 1 }), '[ [ [Object] ] ]');
  t.equal(inspect([connection], { depth: 1 }), '[ { decoder: [Decoder] } ]');
});

t.test('shows what there is without the method, and the prototypes', async (t) => {
  t.match(inspect(new Encoder({ role: 'server' }), { customInspect: false }), /_sequence: 0/);
  t.ok(inspect(new Decoder({ role: 'server' }), { showHidden: true }));
  for (const { prototype } of [Decoder, Encoder, prepare('').constructor]) t.type(inspect(prototype), 'string');
});

t.test('the modules are the same by process.getBuiltinModule and by require', async (t) => {
  const { getBuiltinModule } = process;
  t.teardown(() => {
    process.getBuiltinModule = getBuiltinModule;
  });
  const names = Object.keys(nodeModules);
  t.ok(names.includes('crypto'));
  // Node.js before 20.16 does not have the function.
  process.getBuiltinModule = undefined;
  const required = t.mockRequire('../../lib/shared/node-modules');
  const asked = [];
  process.getBuiltinModule = (id) => {
    asked.push(id);
    return require(id);
  };
  const got = t.mockRequire('../../lib/shared/node-modules');
  for (const name of names) {
    t.equal(required[name], nodeModules[name], `${name}, by require`);
    t.equal(got[name], nodeModules[name], `${name}, by process.getBuiltinModule`);
  }
  t.equal(asked.length, names.length, 'each is asked for once: some when the program first needs them');
});

// acceptsFirstByte is tested in test/codec/scan.js, beside readHeader, which names the rule that
// is broken.

t.test('7.4: isSendableCloseCode knows each of 65,536 codes', async () => {
  for (let code = 0; code < 65536; code++) assert.equal(isSendableCloseCode(code), mayBeSent(code), `code ${code}`);
});
