'use strict';

const { inspect } = require('node:util');
const t = require('tap');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');

const onOneLine = (value) => inspect(value, { breakLength: Number.POSITIVE_INFINITY });

t.test('inspecting a codec shows its public state', (t) => {
  const decoder = new Decoder({ role: 'server' });
  t.equal(
    onOneLine(decoder),
    "Decoder { role: 'server', closed: false, paused: false, borrowed: false, context: undefined }"
  );
  decoder.pause();
  t.match(inspect(decoder), /paused: true/);
  const encoder = new Encoder({ role: 'client' });
  encoder.text('abc');
  t.equal(onOneLine(encoder), "Encoder { role: 'client', closed: false, pending: 9 }");
  encoder.close();
  t.match(inspect(encoder), /closed: true/);
  t.equal(onOneLine(prepare('abc')), 'PreparedMessage { length: 3 }');
  t.end();
});

t.test('of a subclass, its name and its fields but those with an underscore', (t) => {
  class Mine extends Encoder {
    name = 'mine';
    _hidden = 1;
  }
  t.equal(onOneLine(new Mine({ role: 'server' })), "Mine { role: 'server', closed: false, pending: 0, name: 'mine' }");
  t.end();
});

t.test('a context that has the decoder is a circle, and depth counts', (t) => {
  const connection = { decoder: null };
  connection.decoder = new Decoder({ role: 'server', context: connection });
  t.match(
    inspect(connection, { depth: null }),
    /^<ref \*1> \{\n {2}decoder: Decoder \{\n(.*\n)* +context: \[Circular \*1\]/
  );
  t.match(inspect(connection.decoder, { depth: null }), /context: \[Circular \*1\]/);
  t.equal(inspect([[connection]], { depth: 1 }), '[ [ [Object] ] ]');
  t.equal(inspect([connection], { depth: 1 }), '[ { decoder: [Decoder] } ]');
  t.end();
});

t.test('shows what there is without the method, and the prototypes', (t) => {
  t.match(inspect(new Encoder({ role: 'server' }), { customInspect: false }), /_sequence: 0/);
  t.ok(inspect(new Decoder({ role: 'server' }), { showHidden: true }));
  for (const { prototype } of [Decoder, Encoder, prepare('').constructor]) t.type(inspect(prototype), 'string');
  t.end();
});
