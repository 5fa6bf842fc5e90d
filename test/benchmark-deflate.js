'use strict';

// `node benchmark/deflate.js FILE` measures the messages of a file.

const path = require('node:path');
const t = require('tap');
const { parseMessages } = require('../benchmark/support/messages');
const { runScript } = require('./support/run-script');

const script = path.join(__dirname, '../benchmark/deflate.js');

t.test('messages are lines, or the values of a JSON array', (t) => {
  const parse = (text) => parseMessages(text).map(String);
  t.same(parse('{"a":1}\r\n\n[2]\n[3]\n'), ['{"a":1}', '[2]', '[3]']);
  t.same(parse('["é", {"a": 1}, "", 2]\n'), ['é', '{"a":1}', '2']);
  t.same(parse('{"a":1}'), ['{"a":1}']);
  t.throws(() => parse('\n'), RangeError);
  t.end();
});

t.test('the messages of a file are measured, and those below the threshold counted', async (t) => {
  const file = path.join(t.testdir({ 'own.txt': `${'short '.repeat(100)}\n${'long '.repeat(1000)}\n` }), 'own.txt');
  const printed = await runScript(script, [file, '--quick', '--rounds', '1']);
  for (const row of ['compress', 'inflate'].flatMap((what) => [
    `${what} own.txt, no takeover`,
    `${what} own.txt, takeover`
  ])) {
    t.match(printed, row);
  }
  t.match(printed, /2 messages of 600 to 5000 bytes.* 1 of them go out uncompressed by default/);
});
