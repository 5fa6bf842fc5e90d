'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { extension: wsExtension } = require('ws');
const { parseExtensions } = require('../../lib/shared/header-lists');
const { createRandom, seed } = require('../support/random');

t.test('9.1: reads names, parameters and values', async () => {
  const one = (name, ...parameters) => ({ name, parameters });
  assert.deepEqual(parseExtensions('a'), [one('a')]);
  const two = [one('a', ['b', null], ['c', '1']), one('d', ['e', '2'])];
  assert.deepEqual(parseExtensions(' a ;\tb ; c=1 , d;e="2" '), two);
  assert.deepEqual(parseExtensions('a;b="\\1\\0"'), [one('a', ['b', '10'])], 'quoted pairs');
  assert.deepEqual(parseExtensions('a;b =\t1; c= "2"'), [one('a', ['b', '1'], ['c', '2'])], 'implied LWS');
  assert.deepEqual(parseExtensions(',a, ,b\t,'), [one('a'), one('b')], 'null elements');
  assert.deepEqual(parseExtensions('a;__proto__=1'), [one('a', ['__proto__', '1'])]);
});

t.test('9.1: refuses what is not the ABNF', async (t) => {
  const elements = ['', ' ', ',', ', ,', 'a b', 'a;', 'a;;b', 'a="b"', 'é', 'a\n', '"a"'];
  const values = [
    '=1',
    'b=',
    'b= ',
    'b =',
    'b = = 1',
    'b=1=2',
    'b="',
    'b="1',
    'b=""',
    'b="\\',
    'b="1 2"',
    'b="1"2',
    'b="é"'
  ];
  for (const header of [...elements, ...values.map((value) => `a;${value}`)]) {
    t.equal(parseExtensions(header), null, JSON.stringify(header));
  }
});

/** As ws has them: the extensions of one name together, and the values of one parameter. */
function groupAsWs(extensions) {
  const byName = Object.create(null);
  for (const { name, parameters } of extensions) {
    const values = Object.create(null);
    for (const [key, value] of parameters) values[key] = [...(values[key] ?? []), value ?? true];
    byName[name] = [...(byName[name] ?? []), values];
  }
  return byName;
}

/** ws takes neither spaces beside "=" nor null elements. */
const asWsHasIt = (header) =>
  header
    .replace(/[ \t]*=[ \t]*/g, '=')
    .split(',')
    .filter((element) => element.trim() !== '')
    .join(',')
    .trim();

t.test(`9.1: reads what ws reads, and refuses what it refuses (seed ${seed})`, async () => {
  const random = createRandom(seed);
  const pieces = ['a', 'bc', '1', ';', ',', '=', '"', '\\', ' ', '\t', 'é', '!', '{'];
  for (let i = 0; i < 50_000; i++) {
    let header = 'x';
    for (let n = random(12); n > 0; n--) header += pieces[random(pieces.length)];
    header = header.trim(); // ws refuses white space at the end
    let expected = null;
    try {
      expected = wsExtension.parse(asWsHasIt(header));
    } catch {
      // It is refused.
    }
    const got = parseExtensions(header);
    assert.deepEqual(got === null ? null : groupAsWs(got), expected, JSON.stringify(header));
  }
});

t.test('a header of 128 KiB, eight times what Node.js accepts, takes less than a second', async (t) => {
  const size = 1 << 17;
  for (const header of [
    `a${' '.repeat(size)}b`,
    `a;b="${'\\'.repeat(size)}`,
    `a;b="${'x'.repeat(size)}"`,
    `a${';b'.repeat(size / 2)}`,
    `a${',a'.repeat(size / 2)}`,
    `${'a'.repeat(size)}é`
  ]) {
    const start = process.cpuUsage();
    parseExtensions(header);
    const { user, system } = process.cpuUsage(start);
    t.ok(user + system < 1_000_000, JSON.stringify(header.slice(0, 8)));
  }
});
